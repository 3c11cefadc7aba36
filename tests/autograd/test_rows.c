/* Layers that are applied to each row of a matrix, and gradients of slices: the numbers are those of a plan that keeps
 * every node apart. */
#include "support/hs_check.h"
#include "support/many_cores.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"

#include <string.h>

enum { IN = 3, WIDTH = 5, OUTPUTS = 6 };

typedef struct {
    size_t starts, rows_per_start, shard_starts, rows;
} batch;

static const batch batches[] = {
    { 1, 50, 0, 4 }, { 5, 7, 2, 4 },
    { 3, 1, 0, 2 },  { 1, 1, 0, 4 }, /* one lane: nothing is padded */
    { 2, 40, 0, 1 },
};
enum { BATCHES = sizeof batches / sizeof *batches };

typedef struct {
    hs_tape *tape;
    hs_var w[2], b, output[OUTPUTS];
} problem;

static problem make_problem(hs_dtype dtype, size_t rows)
{
    problem p = { .tape = hs_tape_new(dtype) };
    p.w[0] = hs_input(p.tape, "w0", HS_SHARED, hs_dims(WIDTH, IN));
    p.w[1] = hs_input(p.tape, "w1", HS_SHARED, hs_dims(WIDTH, WIDTH));
    p.b = hs_input(p.tape, "b", HS_SHARED, hs_dims(WIDTH));
    hs_var n = hs_normal(p.tape, HS_ROW, hs_dims(rows * IN), 1),
           s = hs_normal(p.tape, HS_START, hs_dims(IN), 2);
    hs_var all = hs_tanh(hs_mul(n, n));
    hs_var x = hs_reshape(all, hs_dims(rows, IN));
    hs_var h = hs_relu(hs_add(hs_matmul_t(x, false, p.w[0], true), p.b));
    hs_var g = hs_tanh(hs_add(hs_add(hs_matmul(h, p.w[1]), p.b), h));
    hs_var y = hs_softplus(
        hs_add(hs_matmul_t(g, false, p.w[1], true), hs_reshape(p.b, hs_dims(1, WIDTH))));
    /* slices, whose gradients are joined again, and one that is left out */
    hs_var some = hs_const(p.tape, 0);
    for (size_t k = 0; k + 1 < rows; k++)
        some = hs_add(some, hs_sum_last(hs_mul(hs_slice(all, 0, k * IN, (k + 1) * IN), s)));
    hs_var loss = hs_mean_rows(hs_add(hs_sum(hs_square(y), HS_ALL), some)), slope[4];
    hs_grad(loss, (hs_var[]){ p.w[0], p.w[1], p.b, n }, 4, slope);
    const hs_var outputs[OUTPUTS] = { loss, y, slope[0], slope[1], slope[2], slope[3] };
    memcpy(p.output, outputs, sizeof outputs);
    return p;
}

static hs_plan *make_plan(const problem *p, const batch *b, int threads, bool trace)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, p->output, OUTPUTS,
                                         &(hs_plan_options){ .starts = b->starts,
                                                             .rows_per_start = b->rows_per_start,
                                                             .shard_starts = b->shard_starts,
                                                             .threads = threads,
                                                             .trace = trace });
    ck_assert_msg(!status, "%s", hs_tape_error(p->tape));
    return plan;
}

static void run(hs_plan *plan, const problem *p, hs_dtype dtype)
{
    const hs_var inputs[] = { p->w[0], p->w[1], p->b };
    double data[3][WIDTH * WIDTH]; /* room for either type */
    for (uint32_t i = 0; i < 3; i++) {
        hs_random_rows(dtype, HS_NORMAL, (hs_address){ .seed = 3, .stream = i }, 0, 1,
                       WIDTH * WIDTH, data[i]);
        hs_plan_set(plan, inputs[i], data[i]);
    }
    ck_assert_msg(!hs_plan_run(plan, &(hs_run){ .seed = 5 }), "%s", hs_plan_error(plan));
}

static size_t numbers_of(const problem *p, const batch *b, int output)
{
    const hs_shape shape = hs_var_shape(p->output[output]);
    return hs_shape_count(&shape) *
           (hs_var_extent(p->output[output]) == HS_SHARED ? 1 : b->starts * b->rows_per_start);
}

static double at(hs_dtype dtype, const void *v, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

START_TEST(numbers_are_those_of_single_steps)
{
    const batch *b = &batches[_i / 2];
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const problem p = make_problem(dtype, b->rows);
    hs_plan *apart = make_plan(&p, b, 1, true), *one = make_plan(&p, b, 1, false),
            *several = make_plan(&p, b, 3, false);
    run(apart, &p, dtype);
    run(one, &p, dtype);
    run(several, &p, dtype);
    for (int o = 0; o < OUTPUTS; o++) {
        const void *wanted = hs_plan_get(apart, p.output[o]), *got = hs_plan_get(one, p.output[o]);
        const size_t n = numbers_of(&p, b, o);
        double most = 1e-3;
        for (size_t i = 0; i < n; i++)
            most = fmax(most, fabs(at(dtype, wanted, i)));
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(fabs(at(dtype, got, i) - at(dtype, wanted, i)) <=
                              (dtype == HS_F32 ? 5e-6 : 1e-13) * most,
                          "batch %d, output %d, %zu: %.15g, not %.15g", _i / 2, o, i,
                          at(dtype, got, i), at(dtype, wanted, i));
        ck_assert_mem_eq(got, hs_plan_get(several, p.output[o]), n * hs_dtype_size(dtype));
    }
    hs_plan_free(apart);
    hs_plan_free(one);
    hs_plan_free(several);
    hs_tape_free(p.tape);
}
END_TEST

static bool has_op(const hs_plan *plan, op_code op)
{
    bool found = false;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++)
        found = found || node_at(plan, plan->code->step[STAGE_SHARD][i].node)->op == op;
    return found;
}

/* Bias, addend, gate and activation are the products', and their products' biases' gradients; gradients of slices
 * that are next to each other are no longer sums. */
START_TEST(rows_take_as_few_steps_as_vectors)
{
    const problem p = make_problem(HS_F32, 4), q = make_problem(HS_F32, 1);
    hs_plan *matrix = make_plan(&p, &batches[0], 1, false),
            *vector = make_plan(&q, &batches[0], 1, false);
    size_t products[2] = { 0, 0 }, biases[2] = { 0, 0 };
    for (int k = 0; k < 2; k++) {
        const hs_plan *plan = k ? vector : matrix;
        for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++) {
            const plan_step *step = &plan->code->step[STAGE_SHARD][i];
            products[k] += step->kind == STEP_PRODUCT;
            biases[k] += step->kind == STEP_PRODUCT && step->as.product.tail.left_sum >= 0;
        }
    }
    ck_assert_uint_eq(products[0], products[1]);
    ck_assert_uint_ge(biases[0], 2);
    ck_assert(has_op(matrix, OP_concat));
    hs_plan_free(matrix);
    hs_plan_free(vector);
    hs_tape_free(p.tape);
    hs_tape_free(q.tape);
}
END_TEST

static Suite *rows_suite(void)
{
    Suite *suite = suite_create("rows");
    TCase *tests = tcase_create("rows");
    tcase_add_loop_test(tests, numbers_are_those_of_single_steps, 0, 2 * BATCHES);
    tcase_add_test(tests, rows_take_as_few_steps_as_vectors);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(rows_suite())
