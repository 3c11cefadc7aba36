/* Sums of softplus, which plans compute with one logarithm for many numbers: against long doubles, wherever the numbers
 * come from; at the ends of the range; and the same bits for any number of threads. */
#include "support/hs_check.h"
#include "support/many_cores.h"
#include "support/math_reference.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"

/* What softplus is taken of, for lane l and feature f. */
typedef enum {
    PLAIN,        /* x[l][f] */
    SHIFTED,      /* x[l][f] + w[f] */
    WITH_SIGMOID, /* x[l][f], whose sigmoid a product needs */
    STARTS,       /* x[l / REPEAT][f] */
    SCALAR,       /* x[l] */
    SHARED,       /* w[f] */
    PRODUCT,      /* w[f] x[l] */
    LOGITS,       /* the same, and another product needs their sigmoid */
    COLUMNS,      /* x[l][f][0] and x[l][f][1], which are summed apart */
    ALL_ROWS,     /* x[l][f], summed over the lanes */
    FORMS
} argument_form;
enum { REPEAT = 3 };

/* Its size: a number of the data is this times one between -1 and 1, or minus this. */
typedef struct {
    double size;
    bool negative;
} range;

typedef struct {
    hs_dtype dtype;
    argument_form form;
    size_t lanes, features;
    hs_tape *tape;
    hs_var x, w, sum, other; /* other: an output besides, or sum again */
    hs_plan *plan;
    size_t x_count;
    void *x_data, *w_data;
} problem;

static bool has_sigmoid(const problem *p)
{
    return p->form == WITH_SIGMOID || p->form == LOGITS;
}

static double get(const problem *p, const void *v, size_t i)
{
    return p->dtype == HS_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

static void put(const problem *p, void *v, size_t i, double value)
{
    if (p->dtype == HS_F32)
        ((float *)v)[i] = (float)value;
    else
        ((double *)v)[i] = value;
}

static double in_range(range r, size_t i)
{
    return r.negative ? -r.size : r.size * sin(1.0 + 0.7 * (double)i);
}

static const char *always = ""; /* passes that apply everywhere */

static hs_plan *make_plan(const problem *p, int threads, size_t shard_starts)
{
    const size_t repeat = p->form == STARTS ? REPEAT : 1;
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, (hs_var[]){ p->sum, p->other }, 2,
                                         &(hs_plan_options){ .starts = p->lanes / repeat,
                                                             .rows_per_start = repeat,
                                                             .shard_starts = shard_starts,
                                                             .threads = threads,
                                                             .always = always });
    ck_assert_msg(!status, "%s", hs_tape_error(p->tape));
    return plan;
}

static problem make_problem(hs_dtype dtype, argument_form form, size_t lanes, size_t features,
                            range r)
{
    problem p = { .dtype = dtype, .form = form, .features = features };
    p.lanes = form == STARTS ? lanes * REPEAT : lanes;
    p.tape = hs_tape_new(dtype);
    const hs_shape vector = hs_dims(features), scalar = hs_dims(1);
    const bool product = form == PRODUCT || form == LOGITS, one = form == SCALAR || product;
    p.x = hs_input(p.tape, "x", form == STARTS ? HS_START : HS_ROW,
                   form == COLUMNS ? hs_dims(features, 2)
                   : one           ? scalar
                                   : vector);
    p.w = hs_input(p.tape, "w", HS_SHARED, product ? hs_dims(features, 1) : vector);
    hs_var t = p.x;
    switch (form) {
    case SHIFTED:
        t = hs_add(p.x, p.w);
        break;
    case STARTS:
    case SCALAR:
        t = hs_broadcast(p.x, vector, HS_ROW);
        break;
    case SHARED:
        t = hs_broadcast(p.w, vector, HS_ROW);
        break;
    case PRODUCT:
    case LOGITS:
        t = hs_matmul(p.w, p.x);
        break;
    default:
        break;
    }
    p.sum = hs_sum(hs_softplus(t), form == COLUMNS ? 0 : -1);
    if (form == ALL_ROWS)
        p.sum = hs_sum_rows(hs_softplus(t));
    p.other = p.sum;
    if (has_sigmoid(&p))
        p.other = hs_matmul(hs_reshape(p.w, hs_dims(1, features)),
                            hs_reshape(hs_sigmoid(t), hs_dims(features, 1)));
    p.x_count = lanes * (one ? 1 : features * (form == COLUMNS ? 2 : 1));
    p.x_data = hs_alloc(p.x_count * sizeof(double));
    p.w_data = hs_alloc(features * sizeof(double));
    for (size_t i = 0; i < p.x_count; i++)
        put(&p, p.x_data, i, in_range(r, i));
    for (size_t i = 0; i < features; i++)
        put(&p, p.w_data, i, product ? 0.5 : in_range(r, i + 5));
    p.plan = make_plan(&p, 1, lanes);
    return p;
}

static void free_problem(problem *p)
{
    hs_plan_free(p->plan);
    hs_tape_free(p->tape);
    hs_free(p->x_data);
    hs_free(p->w_data);
}

static const void *run(const problem *p, hs_plan *plan)
{
    if (p->form != SHARED)
        hs_plan_set(plan, p->x, p->x_data);
    if (p->form == SHIFTED || p->form == SHARED || p->form == PRODUCT || has_sigmoid(p))
        hs_plan_set(plan, p->w, p->w_data);
    ck_assert_msg(!hs_plan_run(plan, &(hs_run){ 0 }), "%s", hs_plan_error(plan));
    return hs_plan_get(plan, p->sum);
}

/* What softplus is taken of, rounded as the plan does. */
static double argument(const problem *p, size_t lane, size_t f, size_t column)
{
    const double w = get(p, p->w_data, f);
    double t = 0;
    switch (p->form) {
    case SCALAR:
        return get(p, p->x_data, lane);
    case SHARED:
        return w;
    case PRODUCT:
    case LOGITS:
        return w * get(p, p->x_data, lane); /* w is 1/2 */
    case COLUMNS:
        return get(p, p->x_data, (lane * p->features + f) * 2 + column);
    case STARTS:
        return get(p, p->x_data, lane / REPEAT * p->features + f);
    case SHIFTED:
        t = get(p, p->x_data, lane * p->features + f) + w;
        return p->dtype == HS_F32 ? (double)(float)t : t;
    default:
        return get(p, p->x_data, lane * p->features + f);
    }
}

/* Number `i` of the result. */
static double wanted(const problem *p, size_t i)
{
    long double sum = 0;
    if (p->form == ALL_ROWS)
        for (size_t l = 0; l < p->lanes; l++)
            sum += ref_softplus((long double)argument(p, l, i, 0), 0);
    const size_t columns = p->form == COLUMNS ? 2 : 1;
    for (size_t f = 0; f < p->features && p->form != ALL_ROWS; f++)
        sum += ref_softplus((long double)argument(p, i / columns, f, i % columns), 0);
    return (double)sum;
}

/* The error that is allowed, in units of 2^-24 or 2^-53. No term is negative, so relative errors do not grow where
 * terms are added. Of 64 factors, 32 go into either chain; every step rounds its product, by 1, and log(1 + q) changes
 * by no more than q does: 32, and 1 where the chains join. Of each factor: exp 8 (4 ulp), and the roundings of 1 + q
 * and of its product with e, 2. log1p 8; adding max(x, 0) 1; adding up the lanes of a vector 4; compensated sums, and
 * storing, 4. And what is below the smallest normal number, in any term, may be 0.
 *
 * From the sigmoid, log(1 + q) with q of -1/2 or more changes by up to twice as much as q, which is 1 / (2 log 2) = 0.72 of
 * |log(1 + q)| there: 1.44 for each rounding instead of 1; and so does the logarithm of the product, of 1/2 or less. The
 * sigmoid s is as far off as exp; where 1 - s is taken, softplus(x) is above log 2, and the change is 1.44 of it. */
static double allowed(const problem *p)
{
    const double chain = 32 + 1 + 8 + 2;
    return ((has_sigmoid(p) ? 1.44 * chain : chain) + 8 + 1 + 4 + 4) *
           (p->dtype == HS_F32 ? (double)FLT_EPSILON : DBL_EPSILON) / 2;
}

static bool is_close(const problem *p, double is, double should)
{
    const double smallest = p->dtype == HS_F32 ? (double)FLT_MIN : DBL_MIN;
    const size_t terms = p->form == ALL_ROWS ? p->lanes : p->features;
    return hs_close(is, should, allowed(p), (double)terms * smallest);
}

static void check(const problem *p)
{
    const void *sums = run(p, p->plan);
    const size_t n = p->form == ALL_ROWS  ? p->features
                     : p->form == COLUMNS ? 2 * p->lanes
                                          : p->lanes;
    for (size_t i = 0; i < n; i++) {
        const double is = get(p, sums, i), should = wanted(p, i);
        ck_assert_msg(is_close(p, is, should),
                      "form %d, %zu lanes, %zu features: sum %zu is %.17g, not %.17g (%.3g of what "
                      "is allowed)",
                      p->form, p->lanes, p->features, i, is, should,
                      fabs(is / should - 1) / allowed(p));
    }
}

/* Whether the softplus is part of the sum. */
static bool in_sum(const hs_plan *plan)
{
    bool found = false;
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t i = 0; i < plan->code->steps[stage]; i++) {
            const plan_step *step = &plan->code->step[stage][i];
            found = found || (program_of(step) && program_of(step)->sum_softplus);
        }
    return found;
}

/* Whether it is taken from the sigmoid. */
static bool from_sigmoid(const hs_plan *plan)
{
    bool found = false;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++) {
        const program *p = program_of(&plan->code->step[STAGE_SHARD][i]);
        found = found || (p && p->sum_softplus && p->sigmoid >= 0);
    }
    return found;
}

static const size_t lane_counts[] = { 1, 7, 50, 400, 1500 },
                    feature_counts[] = { 1, 5, 16, 33, 1000 };
enum { LANE_COUNTS = 5, FEATURE_COUNTS = 5 };

START_TEST(sums_are_right)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const argument_form form = _i / 2;
    const range ranges[] = {
        { 6, false }, { 1e4, false }, { 1e-3, false }, { dtype == HS_F32 ? 80 : 700, true }
    }; /* SHIFTED: 0 of both */
    for (int l = 0; l < LANE_COUNTS; l++)
        for (int f = 0; f < FEATURE_COUNTS; f++)
            for (int r = 0; r < (form == SHIFTED ? 3 : 4); r++) {
                const size_t lanes = lane_counts[l], features = feature_counts[f];
                if (lanes * features > 400000 && r)
                    continue; /* takes long */
                problem p = make_problem(dtype, form, lanes, features, ranges[r]);
                /* Where lanes are many, only stored values have tiles. */
                const bool several = form == ALL_ROWS || form == COLUMNS ? lanes > 1 : true;
                if (several && features > 1 && form != SHARED &&
                    (lanes <= 50 || form == PLAIN || form == PRODUCT || has_sigmoid(&p)))
                    ck_assert_msg(in_sum(p.plan), "form %d, %zu lanes, %zu features", form, lanes,
                                  features);
                ck_assert(from_sigmoid(p.plan) == (has_sigmoid(&p) && lanes > 1 && features > 1));
                check(&p);
                free_problem(&p);
            }
}
END_TEST

/* In sweeps, of many short chunks. */
START_TEST(sums_of_sweeps_are_right)
{
    always = "loops";
    const argument_form forms[] = { PLAIN, SHIFTED, STARTS, LOGITS };
    for (int l = 0; l < LANE_COUNTS; l++)
        for (int f = 0; f < 4; f++) {
            problem p = make_problem(_i ? HS_F64 : HS_F32, forms[f], lane_counts[l], 203,
                                     (range){ 6, false });
            ck_assert_uint_gt(p.plan->schedule->loop_length, 0);
            ck_assert(from_sigmoid(p.plan) == (forms[f] == LOGITS && p.lanes > 1));
            check(&p);
            free_problem(&p);
        }
    always = "";
}
END_TEST

/* Numbers that are not finite stay in their lane, and -infinity adds nothing. */
START_TEST(ends_of_the_range)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    for (int l = 0; l < LANE_COUNTS; l++) {
        const size_t lanes = lane_counts[l], features = 70;
        problem p = make_problem(dtype, _i / 2 ? WITH_SIGMOID : PLAIN, lanes, features,
                                 (range){ 6, false });
        for (size_t where = 0; where < features; where += 23) {
            const size_t lane = lanes / 2, at = lane * features + where;
            const double before = get(&p, p.x_data, at);
            const double odd[] = { (double)NAN, HUGE_VAL, -HUGE_VAL };
            for (int k = 0; k < 3; k++) {
                put(&p, p.x_data, at, odd[k]);
                const void *sums = run(&p, p.plan);
                for (size_t i = 0; i < lanes; i++) {
                    const double is = get(&p, sums, i);
                    if (i == lane && k == 0)
                        ck_assert(isnan(is));
                    else if (i == lane && k == 1)
                        ck_assert_double_eq(is, HUGE_VAL);
                    else
                        ck_assert(is_close(&p, is, wanted(&p, i)));
                }
            }
            put(&p, p.x_data, at, before);
        }
        for (size_t i = 0; i < p.x_count; i++)
            put(&p, p.x_data, i, -HUGE_VAL);
        const void *sums = run(&p, p.plan);
        for (size_t i = 0; i < lanes; i++)
            ck_assert_double_eq(get(&p, sums, i), 0);
        free_problem(&p);
    }
}
END_TEST

/* A softplus and a sigmoid of the same numbers, one or both of them broadcast, are not stored alike: the sum must not take
 * one from the other. Beside a traced plan, which fuses nothing. */
START_TEST(broadcasts_are_told_apart)
{
    enum { MANY = 256, LONG = 100 };
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    hs_tape *tape = hs_tape_new(dtype);
    hs_var x = hs_input(tape, "x", _i / 2 == 2 ? HS_START : HS_ROW,
                        _i / 2 == 0 ? hs_dims(LONG, 1) : hs_dims(LONG));
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(_i / 2 == 0 ? 2 : LONG, 1)), sum, other;
    if (_i / 2 == 0) { /* both alike */
        hs_var wide = hs_broadcast(x, hs_dims(LONG, 2), HS_ROW);
        other = hs_matmul(hs_sigmoid(wide), w);
        sum = hs_sum(hs_softplus(wide), 0);
    } else if (_i / 2 == 1) { /* to different shapes */
        other = hs_matmul(hs_sigmoid(hs_broadcast(x, hs_dims(2, LONG), HS_ROW)), w);
        sum = hs_sum(hs_softplus(hs_broadcast(x, hs_dims(4, LONG), HS_ROW)), 1);
    } else { /* to another extent */
        other = hs_matmul(hs_sigmoid(hs_broadcast(x, hs_dims(1, LONG), HS_ROW)), w);
        sum = hs_sum_last(hs_softplus(x));
    }
    const size_t count = _i / 2 == 0 ? 2 : _i / 2 == 1 ? 4 : 1;
    char *data = hs_alloc(MANY * LONG * sizeof(double)), *weights = hs_alloc(LONG * sizeof(double));
    const problem p = { .dtype = dtype };
    for (size_t i = 0; i < (size_t)MANY * LONG; i++)
        put(&p, data, i, 5 * sin(1.0 + (double)i));
    for (size_t i = 0; i < LONG; i++)
        put(&p, weights, i, 1);
    const void *sums[2];
    hs_plan *plan[2];
    for (int trace = 0; trace < 2; trace++) {
        ck_assert(!hs_plan_new(&plan[trace], (hs_var[]){ sum, other }, 2,
                               &(hs_plan_options){ .starts = MANY, .trace = trace }));
        hs_plan_set(plan[trace], x, data);
        hs_plan_set(plan[trace], w, weights);
        ck_assert(!hs_plan_run(plan[trace], &(hs_run){ 0 }));
        sums[trace] = hs_plan_get(plan[trace], sum);
    }
    for (size_t i = 0; i < MANY * count; i++)
        ck_assert_msg(hs_close(get(&p, sums[0], i), get(&p, sums[1], i), allowed(&p), 0),
                      "sum %zu of %d: %g, not %g", i, _i, get(&p, sums[0], i), get(&p, sums[1], i));
    for (int trace = 0; trace < 2; trace++)
        hs_plan_free(plan[trace]);
    hs_tape_free(tape);
    hs_free(data);
    hs_free(weights);
}
END_TEST

START_TEST(same_bits_for_any_number_of_threads)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    problem p = make_problem(dtype, (argument_form)(_i / 2), 401, 333, (range){ 6, false });
    hs_plan *one = make_plan(&p, 1, 0);
    const void *sums = run(&p, one);
    for (int threads = 2; threads <= 8; threads += 3) {
        hs_plan *several = make_plan(&p, threads, 0);
        ck_assert_mem_eq(run(&p, several), sums, p.lanes * hs_dtype_size(dtype));
        hs_plan_free(several);
    }
    hs_plan_free(one);
    free_problem(&p);
}
END_TEST

/* What is summed is softplus of a product or a square, which have a kernel of their own for sums. */
START_TEST(sums_of_softplus_of_products)
{
    enum { D = 300, ROWS = 50 };
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    static double x[ROWS * D], w[D];
    static float x_f32[ROWS * D], w_f32[D];
    for (size_t i = 0; i < ROWS * D; i++)
        x[i] = (double)(x_f32[i] = (float)sin(0.37 * (double)i));
    for (size_t i = 0; i < D; i++)
        w[i] = (double)(w_f32[i] = (float)cos(0.91 * (double)i));
    hs_tape *tape = hs_tape_new(dtype);
    hs_var a = hs_input(tape, "x", HS_ROW, hs_dims(D)),
           b = hs_input(tape, "w", HS_SHARED, hs_dims(D));
    hs_var sum[] = { hs_sum_last(hs_softplus(hs_square(a))),
                     hs_sum_last(hs_softplus(hs_mul(a, b))) };
    hs_plan *plan;
    ck_assert(!hs_plan_new(&plan, sum, 2,
                           &(hs_plan_options){ .starts = ROWS,
                                               .without = _i / 2 ? "" : "loops",
                                               .always = _i / 2 ? "loops" : "" }));
    hs_plan_set(plan, a, dtype == HS_F64 ? (void *)x : x_f32);
    hs_plan_set(plan, b, dtype == HS_F64 ? (void *)w : w_f32);
    ck_assert(!hs_plan_run(plan, &(hs_run){ .seed = 1 }));
    for (int k = 0; k < 2; k++)
        for (size_t r = 0; r < ROWS; r++) {
            double wanted = 0;
            for (size_t i = 0; i < D; i++)
                wanted += log1p(exp(x[r * D + i] * (k ? w[i] : x[r * D + i])));
            const void *found = hs_plan_get(plan, sum[k]);
            ck_assert_close(dtype == HS_F64 ? ((const double *)found)[r]
                                            : (double)((const float *)found)[r],
                            wanted, dtype == HS_F64 ? 1e-14 : 1e-6, 0);
        }
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

static Suite *softplus_suite(void)
{
    Suite *suite = suite_create("softplus");
    TCase *tests = tcase_create("softplus");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, sums_are_right, 0, 2 * FORMS);
    tcase_add_loop_test(tests, sums_of_sweeps_are_right, 0, 2);
    tcase_add_loop_test(tests, ends_of_the_range, 0, 4);
    tcase_add_loop_test(tests, broadcasts_are_told_apart, 0, 6);
    tcase_add_loop_test(tests, sums_of_softplus_of_products, 0, 4);
    tcase_add_loop_test(tests, same_bits_for_any_number_of_threads, 0, 6);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(softplus_suite())
