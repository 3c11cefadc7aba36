/* The same bits for any number of threads: losses, gradients and values of rows, sharded or not. */
#include "support/hs_check.h"
#include "support/many_cores.h"

#include <hastings.h>

#include <string.h>

typedef struct {
    size_t in, width, depth, starts, rows_per_start, shard_starts;
} problem;

/* What a run gives: all outputs one after the other. */
typedef struct {
    size_t bytes, used;
    char *data;
} bits;

static void keep(bits *b, const void *data, size_t bytes)
{
    if (b->used + bytes > b->bytes) {
        b->bytes = 2 * (b->used + bytes);
        b->data = realloc(b->data, b->bytes);
    }
    memcpy(b->data + b->used, data, bytes);
    b->used += bytes;
}

/* A network with noise, values of every extent, a second derivative, and sums of several kinds. */
static bits outputs_of(const problem *p, hs_dtype dtype, int threads, int runs)
{
    enum { MOST = 8 };
    hs_tape *tape = hs_tape_new(dtype);
    const size_t rows = p->starts * p->rows_per_start, element = hs_dtype_size(dtype);
    const size_t weights = p->width * (p->in > p->width ? p->in : p->width);
    void *x_data = malloc(p->starts * p->in * element);
    hs_random_rows(dtype, HS_NORMAL, (hs_address){ .seed = 1, .stream = 1, .step = 1 }, 0,
                   p->starts, p->in, x_data);
    hs_var x = hs_input(tape, "x", HS_START, hs_dims(p->in));
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(p->in), 2), h = hs_add(x, hs_scale(n, 0.3));
    hs_var w[MOST], b[MOST], wrt[2 * MOST + 1], gradient[2 * MOST + 1];
    void *w_data[MOST], *b_data[MOST];
    for (size_t l = 0; l < p->depth; l++) {
        const size_t in = l ? p->width : p->in;
        w_data[l] = malloc(weights * element);
        b_data[l] = malloc(p->width * element);
        hs_random_rows(dtype, HS_UNIFORM, (hs_address){ .seed = 1, .stream = 2, .step = l }, 0, 1,
                       p->width * in, w_data[l]);
        hs_random_rows(dtype, HS_NORMAL, (hs_address){ .seed = 1, .stream = 3, .step = l }, 0, 1,
                       p->width, b_data[l]);
        w[l] = wrt[l] = hs_input(tape, "w", HS_SHARED, hs_dims(p->width, in));
        b[l] = wrt[p->depth + l] = hs_input(tape, "b", HS_SHARED, hs_dims(p->width));
        hs_var z = hs_add(hs_scale(hs_matmul(w[l], h), 2 / (double)in), b[l]);
        h = l % 2 ? hs_tanh(z) : hs_relu(z);
    }
    hs_var value = hs_logsumexp(h, 0), slope;
    hs_grad(value, &x, 1, &slope);
    hs_var each = hs_add(value, hs_sum_last(hs_square(slope)));
    hs_var loss = hs_mean_rows(each);
    wrt[2 * p->depth] = x;
    hs_grad(loss, wrt, 2 * p->depth + 1, gradient);
    hs_var outputs[2 * MOST + 5] = { loss, each, slope, h };
    memcpy(outputs + 4, gradient, (2 * p->depth + 1) * sizeof *gradient);
    hs_plan *plan;
    ck_assert_msg(hs_plan_new(&plan, outputs, 2 * p->depth + 5,
                              &(hs_plan_options){ .starts = p->starts,
                                                  .threads = threads,
                                                  .rows_per_start = p->rows_per_start,
                                                  .shard_starts = p->shard_starts }) == HS_OK,
                  "%s", hs_tape_error(tape));
    hs_plan_set(plan, x, x_data);
    for (size_t l = 0; l < p->depth; l++) {
        hs_plan_set(plan, w[l], w_data[l]);
        hs_plan_set(plan, b[l], b_data[l]);
    }
    bits all = { 0 };
    for (int i = 0; i < runs; i++) {
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 5, (uint64_t)i, 0 }), HS_OK);
        for (size_t o = 0; o < 2 * p->depth + 5; o++) {
            const hs_shape shape = hs_var_shape(outputs[o]);
            const hs_extent extent = hs_var_extent(outputs[o]);
            const size_t copies = extent == HS_SHARED ? 1 : extent == HS_START ? p->starts : rows;
            keep(&all, hs_plan_get(plan, outputs[o]), hs_shape_count(&shape) * copies * element);
        }
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    free(x_data);
    for (size_t l = 0; l < p->depth; l++) {
        free(w_data[l]);
        free(b_data[l]);
    }
    return all;
}

static void same_for_all_threads(const problem *p, hs_dtype dtype, int runs)
{
    static const int threads[] = { 2, 3, 8 };
    bits one = outputs_of(p, dtype, 1, runs);
    int finite = 1;
    for (size_t i = 0; i < one.used / hs_dtype_size(dtype); i++)
        finite = finite && (dtype == HS_F32 ? isfinite(((float *)(void *)one.data)[i])
                                            : isfinite(((double *)(void *)one.data)[i]));
    ck_assert_int_eq(finite, 1);
    for (int t = 0; t < 3; t++) {
        bits other = outputs_of(p, dtype, threads[t], runs);
        ck_assert_uint_eq(one.used, other.used);
        size_t at = 0;
        while (at < one.used && one.data[at] == other.data[at])
            at++;
        ck_assert_msg(
            at == one.used,
            "%s, %zu-%zux%zu, %zu x %zu rows, shards of %zu: byte %zu of %zu differs with "
            "%d threads",
            hs_dtype_name(dtype), p->in, p->width, p->depth, p->starts, p->rows_per_start,
            p->shard_starts, at, one.used, threads[t]);
        free(other.data);
    }
    free(one.data);
}

/* in, width, depth, starts, rows per start, starts in a shard */
static const problem small[] = {
    { 3, 5, 2, 1, 1, 0 },     { 3, 5, 2, 1, 2, 0 },    { 3, 5, 2, 2, 1, 1 },
    { 2, 16, 4, 8, 100, 0 },  { 3, 7, 2, 1, 1000, 0 }, { 3, 7, 2, 1000, 1, 0 },
    { 3, 7, 2, 37, 11, 5 },   { 3, 7, 2, 101, 3, 1 },  { 1, 6, 3, 257, 1, 16 },
    { 6, 21, 3, 13, 17, 2 },  { 3, 7, 2, 9, 1, 2 },    { 4, 33, 2, 3, 333, 0 },
    { 42, 84, 2, 800, 1, 0 },
};
enum { SMALL = sizeof small / sizeof *small };

START_TEST(sharded)
{
    same_for_all_threads(&small[_i], HS_F32, 3);
    same_for_all_threads(&small[_i], HS_F64, 3);
}
END_TEST

/* One shard: threads share the work inside of large products. */
static const problem large[] = {
    { 700, 900, 2, 1, 1, 0 },
    { 900, 701, 2, 1, 8, 0 },
    { 333, 512, 2, 3, 1, 3 },
    { 500, 640, 2, 40, 1, 40 },
};

START_TEST(inside_of_steps)
{
    same_for_all_threads(&large[_i], HS_F32, 1);
    same_for_all_threads(&large[_i], HS_F64, 1);
}
END_TEST

/* The rows' own values do not depend on how the batch is cut either. */
START_TEST(rows_do_not_depend_on_their_neighbours)
{
    problem p = { 5, 12, 3, 24, 4, 0 };
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(5), 1),
           w = hs_normal(tape, HS_SHARED, hs_dims(12, 5), 2);
    hs_var y = hs_softmax(hs_matmul(w, x), 0),
           z = hs_add(hs_sum_last(hs_mul(y, y)), hs_lgamma(hs_exp(hs_mean(y, 0))));
    static double first[96 * 12], now[96 * 12];
    for (size_t shard = 1; shard <= p.starts; shard++) {
        hs_plan *plan;
        ck_assert_int_eq(hs_plan_new(&plan, ((hs_var[]){ y, z }), 2,
                                     &(hs_plan_options){ .starts = p.starts,
                                                         .shard_starts = shard,
                                                         .rows_per_start = p.rows_per_start }),
                         HS_OK);
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 3, 0, 0 }), HS_OK);
        memcpy(shard == 1 ? first : now, hs_plan_get(plan, y), sizeof now);
        ck_assert_msg(shard == 1 || memcmp(first, now, sizeof now) == 0, "shards of %zu", shard);
        hs_plan_free(plan);
    }
    hs_tape_free(tape);
}
END_TEST

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, sharded, 0, SMALL);
    tcase_add_loop_test(tests, inside_of_steps, 0, (int)(sizeof large / sizeof *large));
    tcase_add_test(tests, rows_do_not_depend_on_their_neighbours);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(threads_suite())
