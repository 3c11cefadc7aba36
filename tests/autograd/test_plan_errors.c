/* Bad input to gradients, functions in C, plans and runs. */
#include "support/tape_errors.h"

/* ---- Derivatives ---------------------------------------------------------------------------- */

static void expect_grad_error(hs_var y, hs_var wrt, hs_status status, const char *says)
{
    hs_var g = y;
    hs_grad(y, &wrt, 1, &g);
    ck_assert(!hs_var_ok(g));
    ck_assert_msg(hs_tape_status(tape) == status, "%s", hs_tape_error(tape));
    ck_assert_msg(strstr(hs_tape_error(tape), says), "%s", hs_tape_error(tape));
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "autograd/test_plan_errors.c:"));
}

static double value(const double *x, size_t n, void *context)
{
    (void)n, (void)context;
    return x[0];
}

static void gradient(const double *x, size_t n, double *g, void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        g[i] = x[i];
}

static void product(const double *x, const double *v, size_t n, double *p, void *context)
{
    (void)x, (void)context;
    for (size_t i = 0; i < n; i++)
        p[i] = v[i];
}

static const hs_function no_gradient = { .name = "no_gradient", .value = value };
static const hs_function no_product = { .name = "no_product",
                                        .value = value,
                                        .gradient = gradient };
static const hs_function all = { "all", value, gradient, product, NULL, false };

START_TEST(gradients)
{
    begin();
    expect_grad_error(rows3, rows3, HS_ESHAPE, "grad: the gradient of \"rows3\" [3] (row)");
    begin();
    expect_grad_error(hs_exp(m23), m23, HS_ESHAPE, "[2, 3]");
    begin();
    expect_grad_error(hs_call(&no_gradient, rows3), rows3, HS_EINVAL,
                      "\"no_gradient\" has no gradient");
    begin();
    hs_var g, h, y = hs_call(&no_product, rows3);
    hs_grad(y, &rows3, 1, &g);
    ck_assert_int_eq(hs_tape_status(tape), HS_OK);
    expect_grad_error(hs_sum_last(g), rows3, HS_EINVAL,
                      "\"no_product\" has no Hessian-vector product");
    begin();
    y = hs_call(&all, rows3);
    hs_grad(y, &rows3, 1, &g);
    hs_grad(hs_sum_last(g), &rows3, 1, &h);
    ck_assert_int_eq(hs_tape_status(tape), HS_OK);
    expect_grad_error(hs_sum_last(h), rows3, HS_EINVAL, "third derivative of function \"all\"");
    begin(); /* but with respect to something that the function's point does not depend on: fine */
    hs_grad(hs_call(&all, rows3), &v3, 1, &g);
    ck_assert_int_eq(hs_tape_status(tape), HS_OK);
    ck_assert(hs_var_ok(g));
}
END_TEST

START_TEST(functions)
{
    FAILS(HS_EINVAL, hs_call(NULL, v3), "call", "value");
    FAILS(HS_EINVAL, hs_call(&(const hs_function){ .name = "empty" }, v3),
          "\"empty\" has no value");
    FAILS(HS_EINVAL, hs_call_grad(&no_gradient, v3), "\"no_gradient\" has no gradient");
    FAILS(HS_EINVAL, hs_call_hvp(&no_product, v3, v3), "Hessian-vector product");
    FAILS(HS_ESHAPE, hs_call(&all, m23), "\"all\" takes a vector", "[2, 3]");
    FAILS(HS_ESHAPE, hs_call(&all, scalar), "\"all\" takes a vector", "scalar");
    FAILS(HS_ESHAPE, hs_call_hvp(&all, v3, v4), "[3]", "[4]");
}
END_TEST

START_TEST(gradient_check_refuses)
{
    const double at[3] = { 1, 2, 3 };
    hs_gradcheck_report report;
    begin_with(HS_F32);
    ck_assert_int_eq(hs_gradcheck(hs_sum_last(v3), &v3, (const double *const[]){ at }, 1,
                                  &(hs_gradcheck_options){ 0 }, &report),
                     HS_EDTYPE);
    begin();
    ck_assert_int_eq(hs_gradcheck(v3, &v3, (const double *const[]){ at }, 1,
                                  &(hs_gradcheck_options){ 0 }, &report),
                     HS_ESHAPE);
    begin();
    ck_assert_int_eq(hs_gradcheck(hs_sum_last(v3), &v3, (const double *const[]){ at }, 1,
                                  &(hs_gradcheck_options){ .held = 1 }, &report),
                     HS_EINVAL);
    begin(); /* an input that is not fed */
    ck_assert_int_eq(hs_gradcheck(hs_sum_last(hs_mul(v3, rows3)), &v3,
                                  (const double *const[]){ at }, 1, &(hs_gradcheck_options){ 0 },
                                  &report),
                     HS_EINVAL);
}
END_TEST

/* ---- Plans ---------------------------------------------------------------------------------- */

static void plan_fails(hs_status status, const hs_var *outputs, size_t n,
                       const hs_plan_options *options, const char *says)
{
    hs_plan *plan = (hs_plan *)(void *)tape;
    hs_plan_options with = *options;
    hs_message message;
    char before[600];
    with.message = &message;
    snprintf(before, sizeof before, "%s", hs_tape_error(tape));
    const hs_status found = hs_plan_new(&plan, outputs, n, &with);
    ck_assert_msg(found == status, "%s instead of %s: %s", hs_status_text(found),
                  hs_status_text(status), message.text);
    ck_assert_ptr_null(plan);
    ck_assert_str_eq(hs_tape_error(tape), before); /* the message is the plan's own */
    ck_assert_msg(strstr(message.text, says), "\"%s\" does not say \"%s\"", message.text, says);
}

START_TEST(plans)
{
    begin();
    plan_fails(HS_EINVAL, &v3, 0, &(hs_plan_options){ 0 }, "no outputs");
    plan_fails(HS_EINVAL, NULL, 0, &(hs_plan_options){ 0 }, "no outputs");
    plan_fails(HS_EOVERFLOW, &rows3, 1,
               &(hs_plan_options){ .starts = SIZE_MAX, .rows_per_start = 3 },
               "18446744073709551615 starts of 3 rows");
    begin();
    plan_fails(HS_EOVERFLOW, &rows3, 1,
               &(hs_plan_options){ .starts = (size_t)1 << 32, .rows_per_start = (size_t)1 << 32 },
               "4294967296");
    begin();
    plan_fails(HS_EOVERFLOW, &rows3, 1, &(hs_plan_options){ .starts = (size_t)1 << 33 }, "rows");
    begin();
    double room[3];
    plan_fails(HS_EEXTENT, &rows3, 1,
               &(hs_plan_options){ .starts = 2, .into = (void *const[]){ room } }, "shared");
    begin();
    hs_var bad = hs_add(v3, v4);
    plan_fails(HS_ESHAPE, &bad, 1, &(hs_plan_options){ 0 }, "add");
    plan_fails(HS_ESHAPE, ((hs_var[]){ v3, bad }), 2, &(hs_plan_options){ 0 }, "add");
}
END_TEST

START_TEST(passes)
{
    begin();
    const hs_plan_options wrong[] = { { .without = "loop" },
                                      { .without = "loops,,fast" },
                                      { .without = "layout" }, /* not optional */
                                      { .always = "pairs, " /* a gap is no name */ "Loops" } };
    const char *const says[] = { "hs_plan_options.without: there is no optional pass \"loop\"; "
                                 "there are ",
                                 "\"fast\"", "\"layout\"", "hs_plan_options.always" };
    for (int i = 0; i < 4; i++)
        plan_fails(HS_EINVAL, &v3, 1, &wrong[i], says[i]);
    setenv("HASTINGS_PLAN_WITHOUT", "loops,magic", 1);
    plan_fails(HS_EINVAL, &v3, 1, &(hs_plan_options){ 0 },
               "HASTINGS_PLAN_WITHOUT: there is no optional pass \"magic\"");
    unsetenv("HASTINGS_PLAN_WITHOUT");
}
END_TEST

typedef struct {
    int looks, most;
} patience;

static bool lose_patience(void *context)
{
    patience *p = context;
    return ++p->looks > p->most;
}

/* However late the caller loses patience, there is no plan, and the caller is told why. */
START_TEST(interruptions)
{
    begin();
    hs_var y = rows3;
    for (int i = 0; i < 20000; i++)
        y = hs_sin(y);
    hs_var total = hs_sum(y, HS_ALL);
    patience p = { 0, 1 << 30 };
    const hs_plan_options options = { .interrupted = lose_patience, .context = &p };
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &total, 1, &options), HS_OK);
    hs_plan_free(plan);
    const int looks = p.looks;
    ck_assert_int_gt(looks, 20); /* within passes too */
    for (p.most = 0; p.most < looks; p.most++) {
        p.looks = 0;
        plan_fails(HS_EINTERRUPTED, &total, 1, &options, "interrupted");
    }
}
END_TEST

/* A run ends at any of its shards, on any number of threads, and the next one has the same bits as ever. */
START_TEST(interrupted_runs)
{
    enum { STARTS = 200 };
    hs_tape *own = hs_tape_new(HS_F64);
    hs_var x = hs_normal(own, HS_START, hs_dims(3), 1);
    hs_var mean = hs_mean_rows(hs_sum(hs_exp(x), HS_ALL));
    for (int threads = 1; threads <= 3; threads++) {
        patience p = { 0, 1 << 30 };
        hs_plan *plan;
        ck_assert_int_eq(hs_plan_new(&plan, &mean, 1,
                                     &(hs_plan_options){ .starts = STARTS,
                                                         .shard_starts = 4,
                                                         .threads = threads,
                                                         .interrupted = lose_patience,
                                                         .context = &p }),
                         HS_OK);
        p.looks = 0;
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
        const double whole = hs_plan_scalar(plan, mean);
        if (threads == 1)
            ck_assert_int_ge(p.looks, STARTS / 4);
        for (int most = 0; most < STARTS / 4; most++) {
            p = (patience){ 0, most };
            /* The calling thread may have few shards, or none, if others are faster. */
            const hs_status status = hs_plan_run(plan, &(hs_run){ .seed = 1 });
            ck_assert_int_eq(status, p.looks > most ? HS_EINTERRUPTED : HS_OK);
            ck_assert(threads > 1 || status == HS_EINTERRUPTED);
            p = (patience){ 0, 1 << 30 };
            ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
            ck_assert_double_eq(hs_plan_scalar(plan, mean), whole);
        }
        hs_plan_free(plan);
    }
    hs_tape_free(own);
}
END_TEST

/* A value that fits by itself, but not once for every row; and several that do not fit together. */
START_TEST(plans_larger_than_memory)
{
    const int swap[] = { 1, 0 };
    const hs_status any_of[] = { HS_EOVERFLOW, HS_ENOMEM };
    const size_t half = (size_t)1 << 28;
    for (int how = 0; how < 3; how++) {
        begin();
        hs_var y, one = hs_sum_last(rows3);
        if (how == 0) /* 2^56 numbers times 64 lanes: 2^65 bytes */
            y = hs_permute(hs_broadcast(one, hs_dims(half, half), HS_ROW), swap);
        else if (how == 1) /* the output itself */
            y = hs_broadcast(one, hs_dims(half, half), HS_ROW);
        else { /* shared: 4 of 2^62 bytes */
            y = hs_const(tape, 0);
            for (int i = 0; i < 4; i++) {
                hs_var part = hs_scale(hs_sum_last(v3), i + 2);
                part = hs_permute(hs_broadcast(part, hs_dims(2 * half, 2 * half), HS_SHARED), swap);
                y = hs_add(y, hs_sum(part, HS_ALL));
            }
        }
        y = how == 0 ? hs_sum(y, HS_ALL) : y;
        ck_assert_int_eq(hs_tape_status(tape), HS_OK);
        hs_plan *plan;
        hs_message message;
        const hs_status status =
            hs_plan_new(&plan, &y, 1, &(hs_plan_options){ .starts = 64, .message = &message });
        ck_assert_msg(status == any_of[0] || status == any_of[1], "way %d: %s", how,
                      hs_status_text(status));
        ck_assert_ptr_null(plan);
        ck_assert_str_ne(message.text, "");
    }
}
END_TEST

/* Outputs of 2.4 MB each fit by themselves, and not together. */
START_TEST(outputs_that_do_not_fit_together)
{
    begin();
    hs_plan *plan;
    hs_message message;
    const hs_var outputs[] = { hs_exp(rows3), hs_sin(rows3) };
    const hs_plan_options options = { .starts = 100, .rows_per_start = 1000, .message = &message };
    hs_memory_set_most(9000000);
    ck_assert_int_eq(hs_plan_new(&plan, outputs, 2, &options), HS_OK);
    hs_plan_free(plan);
    hs_memory_set_most(4000000);
    ck_assert_int_eq(hs_plan_new(&plan, outputs, 1, &options), HS_OK);
    hs_plan_free(plan);
    ck_assert_int_eq(hs_plan_new(&plan, outputs, 2, &options), HS_ENOMEM);
    hs_memory_set_most(0);
    ck_assert_ptr_null(plan);
    ck_assert_msg(strstr(message.text, "out of memory for 100 starts of 1000 rows each: ") &&
                      strstr(message.text, " are left"),
                  "%s", message.text);
}
END_TEST

START_TEST(missing_data)
{
    begin();
    const void *base = NULL;
    const double data[3] = { 1, 2, 3 };
    hs_var w = hs_bound(tape, "w", hs_dims(3), &base, 0);
    hs_var y = hs_mean_rows(hs_sum_last(hs_mul(hs_add(w, v3), rows3)));
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &y, 1, &(hs_plan_options){ 0 }), HS_OK);
    const hs_run run = { 0 };
    ck_assert_str_eq(hs_plan_error(plan), "");
    ck_assert_int_eq(hs_plan_run(plan, &run), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(hs_plan_error(plan), "no data"));
    ck_assert_ptr_nonnull(strstr(hs_plan_error(plan), "tape_errors.h:"));
    hs_plan_set(plan, v3, data);
    hs_plan_set(plan, rows3, data);
    ck_assert_int_eq(hs_plan_run(plan, &run), HS_EINVAL); /* the bound one */
    ck_assert_ptr_nonnull(strstr(hs_plan_error(plan), "\"w\" [3]"));
    base = data;
    ck_assert_int_eq(hs_plan_run(plan, &run), HS_OK);
    ck_assert_str_eq(hs_plan_error(plan), "");
    ck_assert_close(hs_plan_scalar(plan, y), 28, 1e-14, 0);
    hs_plan_set(plan, rows3, NULL);
    ck_assert_int_eq(hs_plan_run(plan, &run), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(hs_plan_error(plan), "\"rows3\" [3] (row)"));
    ck_assert_int_eq(hs_tape_status(tape), HS_OK); /* the tape is as good as before */
    ck_assert_ptr_null(hs_plan_get(plan, w));
    ck_assert(isnan(hs_plan_scalar(plan, w)));
    hs_plan_free(plan);
}
END_TEST

/* Rows (and other sums) that need a sum over the batch: the plan says so, and names the line. */
START_TEST(rows_cannot_use_a_sum_over_the_batch)
{
    for (int how = 0; how < 4; how++) {
        begin();
        hs_var total = hs_mean_rows(rows3), bad = total;
        const char *at = HS_HERE ": ";
        switch (how) {
        case 0:
            bad = hs_sub(rows3, total), at = HS_HERE ": ";
            break;
        case 1:
            bad = hs_matmul(hs_reshape(total, hs_dims(1, 3)), rows3), at = HS_HERE ": ";
            break;
        case 2:
            bad = hs_broadcast(hs_exp(total), hs_dims(3), HS_START), at = HS_HERE ": ";
            break;
        case 3:
            bad = hs_sum_rows(hs_mul(rows3, total)), at = NULL;
            break;
        }
        ck_assert_int_eq(hs_tape_status(tape), HS_OK);
        hs_plan *plan = (hs_plan *)(void *)tape;
        hs_message message;
        ck_assert_int_eq(
            hs_plan_new(&plan, &bad, 1, &(hs_plan_options){ .starts = 4, .message = &message }),
            HS_EEXTENT);
        ck_assert_ptr_null(plan);
        /* The message is the plan's; the tape itself is sound, and other plans of it can be made. */
        ck_assert_str_eq(hs_tape_error(tape), "");
        ck_assert_msg(!at || strstr(message.text, at) == message.text,
                      "\"%s\" does not begin with %s", message.text, at);
        ck_assert_ptr_nonnull(strstr(message.text, "sum over the whole batch"));
        ck_assert_int_eq(hs_plan_new(&plan, &total, 1, &(hs_plan_options){ .starts = 4 }), HS_OK);
        hs_plan_free(plan);
    }
}
END_TEST

static Suite *errors_suite(void)
{
    Suite *suite = suite_create("errors");
    TCase *tests = tcase_create("errors");
    tcase_add_checked_fixture(tests, NULL, forget);
    tcase_add_test(tests, gradients);
    tcase_add_test(tests, functions);
    tcase_add_test(tests, gradient_check_refuses);
    tcase_add_test(tests, plans);
    tcase_add_test(tests, passes);
    tcase_add_test(tests, interruptions);
    tcase_add_test(tests, interrupted_runs);
    tcase_add_test(tests, plans_larger_than_memory);
    tcase_add_test(tests, outputs_that_do_not_fit_together);
    tcase_add_test(tests, missing_data);
    tcase_add_test(tests, rows_cannot_use_a_sum_over_the_batch);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(errors_suite())
