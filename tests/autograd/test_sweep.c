/* Sweeps over long vectors: the numbers are those of a plan that keeps every node apart, and the same bits for any
 * number of threads. */
#include "support/hs_check.h"
#include "support/many_cores.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"

#include <string.h>

typedef struct {
    size_t starts, rows_per_start, shard_starts, dim;
} batch;

static const batch batches[] = {
    { 1, 50, 0, 1000 }, { 1, 50, 0, 1001 },                    /* whole chunks and a rest */
    { 1, 7, 0, 5003 },  { 3, 40, 0, 700 },  { 5, 30, 2, 403 }, /* a last shard of fewer starts */
    { 3, 1, 0, 20011 }, { 1, 1, 0, 40000 }, /* one lane: vectors run over features */
};
enum { BATCHES = sizeof batches / sizeof *batches, OUTPUTS = 8 };

typedef struct {
    hs_tape *tape;
    hs_var x, w, output[OUTPUTS];
    size_t x_numbers, w_numbers;
} problem;

/* Two sweeps forward, since the second needs a sum of the first, and more for the gradients: sums over features,
 * over lanes, over both, for each start and for all; values that leave a sweep as outputs, whole and in part. */
static problem make_problem(hs_dtype dtype, size_t d)
{
    problem p = { .tape = hs_tape_new(dtype), .x_numbers = d, .w_numbers = d };
    p.x = hs_input(p.tape, "x", HS_START, hs_dims(d));
    p.w = hs_input(p.tape, "w", HS_SHARED, hs_dims(d));
    hs_var s = hs_normal(p.tape, HS_START, hs_dims(d), 4),
           n = hs_normal(p.tape, HS_ROW, hs_dims(d), 5);
    hs_var y = hs_add(hs_mul(p.x, s), hs_scale(n, 0.3));
    hs_var q = hs_scale(hs_sum_last(hs_square(y)), 1 / (double)d);
    hs_var a = hs_sin(y), view = hs_stop(a); /* between steps of a sweep that need its value */
    hs_var local = hs_add(hs_sum_last(hs_mul(a, n)), hs_sum_last(hs_mul(hs_square(view), s)));
    hs_var z = hs_mul(hs_tanh(y), hs_mul(hs_exp(hs_neg(q)), p.w));
    hs_var part = hs_slice(z, 0, d / 3, d / 2);
    hs_var r = hs_add(hs_sum_last(hs_mul(z, n)), hs_sum_last(hs_square(part)));
    r = hs_add(r, hs_scale(local, 0.01));
    hs_var loss = hs_mean_rows(hs_sub(r, hs_scale(hs_sum_last(s), 0.1)));
    hs_var slope[2], gradient_of_slope[1];
    hs_grad(loss, (hs_var[]){ p.x, p.w }, 2, slope);
    hs_grad(hs_sum_rows(hs_sum_last(hs_square(slope[0]))), &p.w, 1, gradient_of_slope);
    const hs_var all[OUTPUTS] = { loss, slope[0], slope[1], gradient_of_slope[0], z, part, q, r };
    memcpy(p.output, all, sizeof all);
    return p;
}

/* A regression, whose logits are made by a tall matrix and summed by its transpose, in several products of one sweep:
 * with bias, addend, gate and activation, at starts and at rows; and what follows from the results in a second one. */
static problem make_regression(hs_dtype dtype, size_t d)
{
    enum { K = 5 };
    problem p = { .tape = hs_tape_new(dtype), .x_numbers = K, .w_numbers = d * K };
    p.x = hs_input(p.tape, "x", HS_START, hs_dims(K));
    p.w = hs_input(p.tape, "w", HS_SHARED, hs_dims(d, K));
    hs_var w = hs_shift(p.w, -0.5), bias = hs_sum(w, 1);
    hs_var b = hs_add(p.x, hs_scale(hs_normal(p.tape, HS_ROW, hs_dims(K), 5), 0.3));
    hs_var logits = hs_matmul(w, b), at_start = hs_matmul(w, p.x);
    hs_var misfit = hs_sum_last(hs_softplus(logits));
    hs_var score;
    hs_grad(misfit, &b, 1, &score);
    score = hs_scale(score, 1 / (double)d);
    hs_var kept = hs_relu(hs_add(hs_matmul(w, score), bias)); /* leaves its sweep */
    hs_var both = hs_sigmoid(hs_add(hs_matmul(w, hs_tanh(score)), logits));
    hs_var back =
        hs_add(hs_matmul(hs_tanh(at_start), w), b); /* a row times the matrix, and an addend */
    hs_var gated = hs_gate(hs_matmul(w, back), logits);
    hs_var r =
        hs_add(hs_sum_last(hs_mul(kept, both)), hs_sum_last(hs_square(hs_scale(gated, 0.1))));
    r = hs_add(hs_scale(r, 1 / (double)d), hs_scale(misfit, 1 / (double)d));
    hs_var loss = hs_mean_rows(r), slope[2];
    hs_grad(loss, (hs_var[]){ p.x, p.w }, 2, slope);
    const hs_var all[OUTPUTS] = { loss,     slope[0],
                                  slope[1], score,
                                  kept,     hs_scale(back, 1 / (double)d),
                                  r,        hs_slice(at_start, 0, 0, d / 2) };
    memcpy(p.output, all, sizeof all);
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

static void run(hs_plan *plan, const problem *p, const void *x, const void *w)
{
    hs_plan_set(plan, p->x, x);
    hs_plan_set(plan, p->w, w);
    ck_assert_msg(!hs_plan_run(plan, &(hs_run){ .seed = 3, .step = 8, .first_row = 120 }), "%s",
                  hs_plan_error(plan));
}

static size_t numbers_of(const problem *p, const batch *b, int output)
{
    const hs_extent extent = hs_var_extent(p->output[output]);
    const hs_shape shape = hs_var_shape(p->output[output]);
    return hs_shape_count(&shape) * (extent == HS_SHARED  ? 1
                                     : extent == HS_START ? b->starts
                                                          : b->starts * b->rows_per_start);
}

static double at(hs_dtype dtype, const void *v, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/* The largest difference relative to the largest number. */
static double difference(hs_dtype dtype, const void *a, const void *b, size_t n)
{
    double off = 0, most = 1e-300;
    for (size_t i = 0; i < n; i++) {
        off = fmax(off, fabs(at(dtype, a, i) - at(dtype, b, i)));
        most = fmax(most, fabs(at(dtype, b, i)));
    }
    return off / most;
}

static bool has_sweeps(const hs_plan *plan)
{
    bool found = false;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++)
        found = found || plan->code->step[STAGE_SHARD][i].loop;
    return found;
}

START_TEST(numbers_are_those_of_single_steps)
{
    const batch *b = &batches[_i / 4];
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const problem p = _i / 2 % 2 ? make_regression(dtype, b->dim) : make_problem(dtype, b->dim);
    ck_assert_msg(!hs_tape_status(p.tape), "%s", hs_tape_error(p.tape));
    void *x = hs_alloc(b->starts * p.x_numbers * 8), *w = hs_alloc(p.w_numbers * 8);
    hs_random_rows(dtype, HS_UNIFORM, (hs_address){ .seed = 1 }, 0, b->starts, p.x_numbers, x);
    hs_random_rows(dtype, HS_UNIFORM, (hs_address){ .seed = 2 }, 0, 1, p.w_numbers, w);
    hs_plan *apart = make_plan(&p, b, 1, true), *one = make_plan(&p, b, 1, false);
    ck_assert(has_sweeps(one) && !has_sweeps(apart));
    run(apart, &p, x, w);
    run(one, &p, x, w);
    for (int o = 0; o < OUTPUTS; o++) {
        const double off = difference(dtype, hs_plan_get(one, p.output[o]),
                                      hs_plan_get(apart, p.output[o]), numbers_of(&p, b, o));
        ck_assert_msg(off < (dtype == HS_F32 ? 2e-5 : 1e-13), "case %d, output %d: off by %g", _i,
                      o, off);
    }
    for (int threads = 2; threads <= 8; threads += 3) {
        hs_plan *several = make_plan(&p, b, threads, false);
        run(several, &p, x, w);
        run(several, &p, x, w); /* nothing is left from the first run */
        for (int o = 0; o < OUTPUTS; o++)
            ck_assert_mem_eq(hs_plan_get(several, p.output[o]), hs_plan_get(one, p.output[o]),
                             numbers_of(&p, b, o) * hs_dtype_size(dtype));
        hs_plan_free(several);
    }
    hs_plan_free(apart);
    hs_plan_free(one);
    hs_free(x);
    hs_free(w);
    hs_tape_free(p.tape);
}
END_TEST

/* Values that no other sweep needs take the memory of a chunk: less than that of one of them. */
START_TEST(local_values_take_little_memory)
{
    enum { D = 100000, ROWS = 64 };
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(D), 1), y = hs_exp(hs_scale(n, 0.1));
    hs_var both = hs_add(hs_sum_last(hs_mul(n, y)), hs_sum_last(hs_square(y)));
    hs_var mean = hs_mean_rows(both);
    hs_plan *plan;
    ck_assert(!hs_plan_new(&plan, &mean, 1, &(hs_plan_options){ .rows_per_start = ROWS }));
    ck_assert(has_sweeps(plan));
    ck_assert_uint_lt(plan->memory->workspace_bytes, D * ROWS * sizeof(float) / 10);
    ck_assert(!hs_plan_run(plan, &(hs_run){ .seed = 1 }));
    const double a = 0.1,
                 wanted = D * exp(a * a / 2) * a + D * exp(2 * a * a); /* E n e^an + E e^2an */
    ck_assert_close(hs_plan_scalar(plan, mean), wanted, 0.002, 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

/* Scalar products of values of a sweep with each other, which are made together: to the bits that they have one by one.
 * Case 1 has more values than a Gram matrix takes; in case 2, the memory of n is used again before the others are there;
 * in case 3, two sums are the same but for the order of factors; in case 4, most sums of the matrix are not wanted. */
enum { GRAM_CASES = 5, MOST_GRAM = 10 };

static size_t gram_outputs(int which, hs_tape *tape, size_t d, hs_var *sum)
{
    hs_var s = hs_normal(tape, HS_START, hs_dims(d), 1), n = hs_normal(tape, HS_ROW, hs_dims(d), 2);
    hs_var early = hs_sum_last(hs_square(n));
    hs_var y = hs_add(s, hs_scale(n, 0.3)), r = hs_sin(y), q = hs_exp(hs_cos(r));
    const hs_var all[GRAM_CASES][MOST_GRAM][2] = {
        { { n, n }, { y, y }, { r, r }, { y, r }, { n, r }, { n, y }, { r, s }, { y, s } },
        { { n, n },
          { y, y },
          { r, r },
          { n, q },
          { y, q },
          { q, q },
          { n, y },
          { r, n },
          { r, y } },
        { { q, q }, { q, r }, { r, r } },
        { { n, y }, { y, n }, { n, n }, { y, y } },
        { { n, n }, { y, y }, { r, r } },
    };
    size_t count = 0;
    for (; count < MOST_GRAM && all[which][count][0].tape; count++)
        sum[count] = hs_sum_last(hs_mul(all[which][count][0], all[which][count][1]));
    if (which == 2)
        sum[count++] = early;
    return count;
}

static int count_joint(const hs_plan *plan)
{
    int joint = 0;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++) {
        const plan_loop *loop = plan->code->step[STAGE_SHARD][i].loop;
        for (int32_t k = 0; loop && k < loop->steps; k++)
            joint += loop->part[k].joint;
    }
    return joint;
}

static int count_printed(const hs_plan *plan, const char *what)
{
    static char text[20000];
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    hs_plan_print(plan, out);
    fclose(out);
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static hs_plan *run_sums(const hs_var *sum, size_t count, size_t rows, int threads, bool together)
{
    hs_plan *plan;
    ck_assert(!hs_plan_new(&plan, sum, count,
                           &(hs_plan_options){ .rows_per_start = rows,
                                               .threads = threads,
                                               .without = together ? "" : "joint_dots" }));
    ck_assert(!hs_plan_run(plan, &(hs_run){ .seed = 5 }));
    return plan;
}

START_TEST(sums_made_together_have_the_same_bits)
{
    static const int together[GRAM_CASES] = { 8, 6, 3, 3, 0 };
    const int which = _i / 8;
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    static const size_t lengths[] = { 2048, 1003, 1009,
                                      1025 }; /* the last two: a chunk and one more, f64 and f32 */
    const size_t d = lengths[_i / 2 % 4], rows = 50;
    hs_tape *tape = hs_tape_new(dtype);
    hs_var sum[MOST_GRAM];
    const size_t count = gram_outputs(which, tape, d, sum);
    ck_assert_msg(!hs_tape_status(tape), "%s", hs_tape_error(tape));
    hs_plan *apart = run_sums(sum, count, rows, 1, false);
    ck_assert_int_eq(count_joint(apart), 0);
    for (int threads = 1; threads <= 2; threads++) {
        hs_plan *all = run_sums(sum, count, rows, threads, true);
        ck_assert_int_eq(count_joint(all), together[which]);
        ck_assert_int_eq(count_printed(all, ", with others"), together[which]);
        for (size_t i = 0; i < count; i++)
            ck_assert_mem_eq(hs_plan_get(all, sum[i]), hs_plan_get(apart, sum[i]),
                             rows * hs_dtype_size(dtype));
        hs_plan_free(all);
    }
    hs_plan_free(apart);
    hs_tape_free(tape);
}
END_TEST

static Suite *sweep_suite(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tests = tcase_create("sweep");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, numbers_are_those_of_single_steps, 0, 4 * BATCHES);
    tcase_add_test(tests, local_values_take_little_memory);
    tcase_add_loop_test(tests, sums_made_together_have_the_same_bits, 0, 8 * GRAM_CASES);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(sweep_suite())
