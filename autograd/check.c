#include "tape_internal.h"

#include <hastings/autograd/check.h>
#include <hastings/autograd/plan.h>
#include <hastings/tensor/random.h>

#include <math.h>
#include <string.h>

typedef struct {
    const hs_var *wrt;
    size_t n, checked;
    double **data; /* copies of the values, moved one element at a time */
    size_t *count; /* numbers in each */
    double **v;    /* directions, of the same sizes */
    hs_var *along; /* inputs that hold the directions */
    hs_run run;
    hs_plan_options batch;
} checker;

static size_t numbers_of(const checker *c, hs_var x)
{
    const hs_shape shape = hs_var_shape(x);
    const size_t starts = c->batch.starts ? c->batch.starts : 1;
    const size_t rows = c->batch.rows_per_start ? c->batch.rows_per_start : 1;
    const hs_extent extent = hs_var_extent(x);
    return hs_shape_count(&shape) *
           (extent == HS_SHARED ? 1 : starts * (extent == HS_ROW ? rows : 1));
}

/* Makes a plan of outputs and sets all inputs. */
static hs_status open_plan(checker *c, const hs_var *outputs, size_t n, hs_plan **plan)
{
    const hs_status status = hs_plan_new(plan, outputs, n, &c->batch);
    for (size_t i = 0; !status && i < c->n; i++) {
        hs_plan_set(*plan, c->wrt[i], c->data[i]);
        hs_plan_set(*plan, c->along[i], c->v[i]);
    }
    return status;
}

/* Fourth-order central difference of the plan's scalar along one number. */
static hs_status difference(checker *c, hs_plan *plan, hs_var total, double *x, double step,
                            double *slope)
{
    const double at = *x, h = step * fmax(1, fabs(at));
    const double weight[4] = { 1, -8, 8, -1 }, shift[4] = { -2, -1, 1, 2 };
    hs_status status = HS_OK;
    *slope = 0;
    for (int i = 0; i < 4 && !status; i++) {
        *x = at + shift[i] * h;
        status = hs_plan_run(plan, &c->run);
        *slope += weight[i] * hs_plan_scalar(plan, total);
    }
    *x = at;
    *slope /= 12 * h;
    return status;
}

/* Compares the recorded gradients of y, summed over its batch, with differences. */
static hs_status compare(checker *c, hs_var y, const hs_var *gradient, int order,
                         hs_gradcheck_report *report)
{
    hs_var total = hs_sum_rows_at(y, "hs_gradcheck");
    hs_plan *plan = NULL, *slopes = NULL;
    hs_status status = open_plan(c, &total, 1, &plan);
    if (!status)
        status = open_plan(c, gradient, c->checked, &slopes);
    if (!status)
        status = hs_plan_run(slopes, &c->run);
    if (!status)
        status = hs_plan_run(plan, &c->run);
    double largest = 0;
    const double floor = status ? 0 : 1e-6 * fabs(hs_plan_scalar(plan, total));
    for (size_t i = 0; !status && i < c->checked; i++) {
        const double *found = hs_plan_get(slopes, gradient[i]);
        for (size_t k = 0; k < c->count[i]; k++)
            largest = fmax(largest, fabs(found[k]));
    }
    for (size_t i = 0; !status && i < c->checked; i++) {
        const double *found = hs_plan_get(slopes, gradient[i]);
        for (size_t k = 0; !status && k < c->count[i]; k++) {
            /* Steep functions want short steps, flat ones long: the step that agrees best counts.
             * A wrong gradient agrees with none. */
            double error = (double)INFINITY, expected = 0;
            for (double step = 1e-3; !status && step > 1e-6 && error > 1e-8; step /= 10) {
                double slope;
                status = difference(c, plan, total, &c->data[i][k], step, &slope);
                const double scale = fmax(fmax(fabs(slope), fabs(found[k])), 1e-3 * largest);
                const double off = fabs(found[k] - slope) / fmax(fmax(scale, floor), 1e-9);
                if (off < error || step == 1e-3) {
                    error = isnan(off) ? (double)INFINITY : off;
                    expected = slope;
                }
            }
            if (error > report->worst)
                *report = (hs_gradcheck_report){ error, order, i, k, found[k], expected };
        }
    }
    hs_plan_free(plan);
    hs_plan_free(slopes);
    return status;
}

/* The sum over all wrt of gradient . v. */
static hs_var directional(checker *c, const hs_var *gradient)
{
    const char *at = "hs_gradcheck";
    hs_var sum = { NULL, -1 };
    for (size_t i = 0; i < c->checked; i++) {
        hs_var product = hs_mul_at(gradient[i], c->along[i], at);
        hs_var part = hs_sum_to_at(product, hs_scalar_shape(), HS_SHARED, at);
        sum = i ? hs_add_at(sum, part, at) : part;
    }
    return sum;
}

static hs_status check_orders(checker *c, hs_var y, int order, hs_gradcheck_report *report)
{
    hs_tape *tape = y.tape;
    const char *at = "hs_gradcheck";
    hs_var *gradient = hs_alloc(2 * c->n * sizeof *gradient), *second = gradient + c->n;
    if (!gradient)
        return HS_ENOMEM;
    for (size_t i = 0; i < c->n; i++)
        c->along[i] =
            hs_input_at(tape, "direction", hs_var_extent(c->wrt[i]), hs_var_shape(c->wrt[i]), at);
    hs_grad_at(y, c->wrt, c->checked, gradient, at);
    hs_status status = hs_tape_status(tape);
    if (!status)
        status = compare(c, y, gradient, 1, report);
    if (!status && order > 1) {
        hs_var slope = directional(c, gradient);
        hs_grad_at(slope, c->wrt, c->checked, second, at);
        status = hs_tape_status(tape);
        if (!status)
            status = compare(c, slope, second, 2, report);
    }
    hs_free(gradient);
    return status;
}

hs_status hs_gradcheck(hs_var y, const hs_var *wrt, const double *const *values, size_t n,
                       const hs_gradcheck_options *options, hs_gradcheck_report *report)
{
    static const hs_gradcheck_options defaults;
    options = options ? options : &defaults;
    *report = (hs_gradcheck_report){ 0 };
    if (!y.tape || hs_tape_status(y.tape))
        return hs_tape_status(y.tape);
    if (options->held >= n) {
        hs_tape_fail(y.tape, HS_EINVAL, "hs_gradcheck", "%zu inputs of %zu are held: none is left",
                     options->held, n);
        return HS_EINVAL;
    }
    if (y.tape->dtype != HS_F64) {
        hs_tape_fail(y.tape, HS_EDTYPE, "hs_gradcheck", "gradients are checked in f64, not in f32");
        return HS_EDTYPE;
    }
    checker c = {
        .wrt = wrt, .n = n, .checked = n - options->held, .run = { .seed = options->seed }
    };
    c.batch = (hs_plan_options){ .starts = options->starts,
                                 .rows_per_start = options->rows_per_start,
                                 .shard_starts = options->shard_starts,
                                 .threads = 1 };
    hs_arena memory = { NULL };
    c.data = hs_arena_alloc(&memory, n * sizeof *c.data);
    c.v = hs_arena_alloc(&memory, n * sizeof *c.v);
    c.count = hs_arena_alloc(&memory, n * sizeof *c.count);
    c.along = hs_arena_alloc(&memory, n * sizeof *c.along);
    hs_status status = c.data && c.v && c.count && c.along ? HS_OK : HS_ENOMEM;
    for (size_t i = 0; !status && i < n; i++) {
        c.count[i] = numbers_of(&c, wrt[i]);
        c.data[i] = hs_arena_alloc(&memory, c.count[i] * sizeof(double));
        c.v[i] = hs_arena_alloc(&memory, c.count[i] * sizeof(double));
        if (!c.data[i] || !c.v[i]) {
            status = HS_ENOMEM;
            break;
        }
        memcpy(c.data[i], values[i], c.count[i] * sizeof(double));
        hs_random_rows(HS_F64, HS_NORMAL,
                       (hs_address){ .seed = options->seed, .stream = 30000, .step = i }, 0, 1,
                       c.count[i], c.v[i]);
    }
    if (!status)
        status = check_orders(&c, y, options->order, report);
    hs_arena_free(&memory);
    return status;
}
