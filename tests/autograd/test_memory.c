/* Memory: none is taken by a run, and every failure to get some is a status: no crash, no leak. */
#include "support/hs_check.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"

#include <stdatomic.h>
#include <string.h>

/* ---- An allocator that counts, and fails when told to ------------------------------------------
 */

static atomic_long served, live, fail_at; /* fail_at < 0: never; else every one from that on */
static bool only_one;                     /* fails only that one */

static void *allocate(size_t bytes, void *context)
{
    (void)context;
    const long number = atomic_fetch_add(&served, 1), limit = atomic_load(&fail_at);
    if (limit >= 0 && (only_one ? number == limit : number >= limit))
        return NULL;
    void *block = aligned_alloc(HS_ALIGN, bytes);
    if (block) {
        atomic_fetch_add(&live, 1);
        memset(block, 0xa5, bytes); /* nobody may count on zeros */
    }
    return block;
}

static void release(void *block, void *context)
{
    (void)context;
    atomic_fetch_sub(&live, 1);
    free(block);
}

static void count_from_here(long limit)
{
    atomic_store(&served, 0);
    atomic_store(&fail_at, limit);
}

static void begin(void)
{
    hs_set_allocator(&(hs_allocator){ allocate, release, NULL });
    atomic_store(&live, 0);
    count_from_here(-1);
}

static void end(void)
{
    hs_set_allocator(NULL);
}

/* ---- Something of everything --------------------------------------------------------------------
 */

static double value(const double *x, size_t n, void *context)
{
    (void)context;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i] / 2;
    return sum;
}

static void gradient(const double *x, size_t n, double *g, void *context)
{
    (void)context;
    memcpy(g, x, n * sizeof *x);
}

static void product(const double *x, const double *v, size_t n, double *p, void *context)
{
    (void)x, (void)context;
    memcpy(p, v, n * sizeof *v);
}

static const hs_function quadratic = { "quadratic", value, gradient, product, NULL, true };

enum { IN = 3, WIDE = 5, STARTS = 6, ROWS = 3 };

typedef struct {
    hs_tape *tape;
    hs_var x, w, loss, gradient[2], rows;
} model;

static double w_data[WIDE * IN], x_data[STARTS * IN];

static model record(hs_dtype dtype)
{
    static const void *base = w_data;
    model m = { .tape = hs_tape_new(dtype) };
    m.x = hs_input(m.tape, "x", HS_START, hs_dims(IN));
    m.w = hs_bound(m.tape, "w", hs_dims(WIDE, IN), &base, 0);
    hs_var y = hs_add(m.x, hs_normal(m.tape, HS_ROW, hs_dims(IN), 1));
    hs_var h = hs_softplus(hs_add(hs_matmul(m.w, y), hs_const(m.tape, 0.1)));
    h = hs_gather(h, 0, ((const size_t[]){ 0, 4, 2 }), 3);
    h = hs_concat(((hs_var[]){ h, y, m.x }), 3, 0);
    h = hs_permute(hs_reshape(h, hs_dims(3, 3)), ((const int[]){ 1, 0 }));
    m.rows = hs_name(hs_logsumexp(hs_softmax(h, 0), HS_ALL), "rows");
    m.rows = hs_add(m.rows, hs_call(&quadratic, y));
    m.rows = hs_add(m.rows, hs_dot(hs_tensor(m.tape, hs_dims(IN), x_data), y));
    m.loss = hs_mean_rows(m.rows);
    hs_grad(m.loss, ((hs_var[]){ m.w, m.x }), 2, m.gradient);
    return m;
}

/* The whole way; returns the first status that is not HS_OK. */
static hs_status go_through(hs_dtype dtype, bool trace, FILE *sink)
{
    model m = record(dtype);
    hs_plan *plan = NULL;
    hs_message message = { "" };
    hs_status status =
        hs_plan_new(&plan, ((hs_var[]){ m.loss, m.gradient[0], m.gradient[1], m.rows }), 4,
                    &(hs_plan_options){ .starts = STARTS,
                                        .rows_per_start = ROWS,
                                        .shard_starts = 2,
                                        .threads = 2,
                                        .trace = trace,
                                        .message = &message });
    if (status == HS_OK) {
        hs_plan_set(plan, m.x, x_data);
        status = hs_plan_run(plan, &(hs_run){ .seed = 1 });
        hs_plan_print(plan, sink);
        hs_plan_dot(plan, sink);
    } else {
        /* No plan, and a reason. */
        if (plan || message.text[0] == '\0')
            status = HS_OK;
    }
    hs_tape_print(m.tape, sink);
    hs_tape_dot(m.tape, sink);
    hs_plan_free(plan);
    hs_tape_free(m.tape);
    return status;
}

static hs_status check_gradients(FILE *sink)
{
    (void)sink;
    model m = record(HS_F64);
    hs_gradcheck_report report;
    const hs_status status = hs_gradcheck(
        m.loss, ((hs_var[]){ m.x, m.w }), ((const double *const[]){ x_data, w_data }), 2,
        &(hs_gradcheck_options){ .order = 2, .starts = STARTS, .rows_per_start = ROWS }, &report);
    hs_tape_free(m.tape);
    return status == HS_OK && !(report.worst < 1e-6) ? HS_ENONFINITE : status;
}

static void fill(void)
{
    for (int i = 0; i < WIDE * IN; i++)
        w_data[i] = sin(i + 1);
    for (int i = 0; i < STARTS * IN; i++)
        x_data[i] = cos(i + 1);
}

/* ---- Tests -------------------------------------------------------------------------------------
 */

START_TEST(runs_take_no_memory)
{
    fill();
    for (int trace = 0; trace < 2; trace++)
        for (int threads = 1; threads <= 3; threads++) {
            begin();
            model m = record(HS_F64);
            hs_plan *plan;
            ck_assert_int_eq(hs_plan_new(&plan, ((hs_var[]){ m.loss, m.gradient[0], m.rows }), 3,
                                         &(hs_plan_options){ .starts = STARTS,
                                                             .threads = threads,
                                                             .rows_per_start = ROWS,
                                                             .shard_starts = (size_t)threads,
                                                             .trace = trace }),
                             HS_OK);
            const long before = atomic_load(&served);
            ck_assert_int_gt((int)before, 0);
            ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_EINVAL); /* nor does a failure */
            hs_plan_set(plan, m.x, x_data);
            for (int i = 0; i < 10; i++)
                ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .step = (uint64_t)i }), HS_OK);
            hs_nonfinite found;
            ck_assert(!hs_plan_nonfinite(plan, &found));
            ck_assert_ptr_nonnull(hs_plan_get(plan, m.rows));
            ck_assert(atomic_load(&served) == before);
            hs_plan_free(plan);
            hs_tape_free(m.tape);
            ck_assert(atomic_load(&live) == 0);
            end();
        }
}
END_TEST

/* Fails the n-th allocation for all n: that one alone, and it and all that follow. */
static void fail_each(hs_status (*whole)(FILE *sink))
{
    fill();
    FILE *sink = tmpfile();
    begin();
    ck_assert_int_eq(whole(sink), HS_OK);
    const long all = atomic_load(&served);
    ck_assert(atomic_load(&live) == 0);
    ck_assert(all > 10);
    for (int way = 0; way < 2; way++) {
        only_one = way == 0;
        long silent = -1, leaked = -1, other = -1;
        for (long n = 0; n < all; n++) {
            rewind(sink);
            count_from_here(n);
            const hs_status status = whole(sink);
            if (status == HS_OK)
                silent = n;
            else if (status != HS_ENOMEM)
                other = n;
            if (atomic_load(&live) != 0)
                leaked = n;
            atomic_store(&live, 0);
        }
        ck_assert_msg(silent < 0, "allocation %ld of %ld failed, and nothing was said", silent,
                      all);
        ck_assert_msg(leaked < 0, "allocation %ld of %ld failed: a leak", leaked, all);
        ck_assert_msg(other < 0, "allocation %ld of %ld failed: another status", other, all);
    }
    only_one = false;
    count_from_here(-1); /* and then all is well again */
    ck_assert_int_eq(whole(sink), HS_OK);
    ck_assert(atomic_load(&live) == 0);
    end();
    fclose(sink);
}

static hs_status plan_f64(FILE *sink)
{
    return go_through(HS_F64, false, sink);
}

static hs_status plan_traced(FILE *sink)
{
    return go_through(HS_F64, true, sink);
}

START_TEST(failures_of_plans)
{
    fail_each(plan_f64);
}
END_TEST

START_TEST(failures_of_traced_plans)
{
    fail_each(plan_traced);
}
END_TEST

START_TEST(failures_of_gradient_checks)
{
    fail_each(check_gradients);
}
END_TEST

/* A tape long enough for its arrays to grow several times. */
static hs_status long_tape_with(const char *always)
{
    static const void *base = w_data;
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var y = hs_input(tape, "x", HS_ROW, hs_dims(IN)), g, w = hs_const(tape, 0);
    for (size_t i = 0; i < 60; i++) {
        w = hs_bound(tape, "a name that takes some room in the arena", hs_dims(1), &base,
                     8 * (i % 15) + 120 * (i / 15));
        y = hs_tanh(hs_mul(hs_slice(hs_pad(y, 0, 1, 1), 0, 1, 4), w));
    }
    hs_grad(hs_tanh(hs_sum_last(y)), &w, 1, &g); /* a sum that can be taken apart */
    hs_plan *plan;
    hs_status status =
        hs_plan_new(&plan, &g, 1, &(hs_plan_options){ .starts = 3, .always = always });
    hs_plan_free(plan);
    hs_tape_free(tape);
    return status;
}

static hs_status long_tape(FILE *sink)
{
    (void)sink;
    return long_tape_with("");
}

static hs_status long_tape_of_loops(FILE *sink)
{
    (void)sink;
    return long_tape_with("loops,expand");
}

START_TEST(failures_of_long_tapes)
{
    fail_each(long_tape);
}
END_TEST

/* Of one row, with two layers that share their matrix. */
static hs_status twins(FILE *sink)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var w = hs_tensor(tape, hs_dims(WIDE, IN), w_data), y[2];
    for (uint32_t i = 0; i < 2; i++)
        y[i] = hs_tanh(hs_matmul(w, hs_normal(tape, HS_ROW, hs_dims(IN), i)));
    hs_plan *plan;
    hs_status status = hs_plan_new(&plan, y, 2, NULL);
    if (status == HS_OK) {
        ck_assert(plan->code->step[STAGE_SHARD][2].paired);
        hs_plan_print(plan, sink);
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    return status;
}

START_TEST(failures_of_twins)
{
    fail_each(twins);
}
END_TEST

START_TEST(failures_of_sweeps)
{
    fail_each(long_tape_of_loops);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("memory");
    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, runs_take_no_memory);
    tcase_add_test(tests, failures_of_plans);
    tcase_add_test(tests, failures_of_traced_plans);
    tcase_add_test(tests, failures_of_gradient_checks);
    tcase_add_test(tests, failures_of_long_tapes);
    tcase_add_test(tests, failures_of_twins);
    tcase_add_test(tests, failures_of_sweeps);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(memory_suite())
