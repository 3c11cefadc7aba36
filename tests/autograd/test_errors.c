/* Bad input: every mistake gives its status and a sentence that says what, where and which shapes;
 * the first error stays, and nothing that follows it crashes. */
#include "support/tape_errors.h"

/* Place 9 does not exist in anything above. */
static const size_t nine[] = { 0, 9 };
static const int twice[] = { 1, 1 }, beyond[] = { 0, 2 }, negative[] = { 0, -1 };

START_TEST(shapes)
{
    FAILS(HS_ESHAPE, hs_add(v3, v4), "add", "\"v3\" [3]", "\"v4\" [4]");
    FAILS(HS_ESHAPE, hs_mul(rows3, v4), "mul", "\"rows3\" [3] (row)", "\"v4\" [4] (shared)");
    FAILS(HS_ESHAPE, hs_select(v3, scalar, v4), "select", "[4]");
    FAILS(HS_ESHAPE, hs_matmul(m23, v4), "matmul", "\"m23\" [2, 3]", "3 columns", "4 rows");
    FAILS(HS_ESHAPE, hs_matmul(m23, m23), "matmul", "[2, 3]");
    FAILS(HS_ESHAPE, hs_matmul_t(m23, true, v3, false), "matmul", "transposed", "2 columns");
    FAILS(HS_ESHAPE, hs_matmul(scalar, v3), "matmul", "vectors or matrices", "scalar");
    FAILS(HS_ESHAPE, hs_matmul(hs_reshape(m23, hs_dims(1, 2, 3)), v3), "matmul", "[1, 2, 3]");
    FAILS(HS_ESHAPE, hs_concat(((hs_var[]){ v3, m23 }), 2, 0), "concat", "[3]", "[2, 3]", "axis 0");
    FAILS(HS_ESHAPE, hs_concat(((hs_var[]){ m23, hs_reshape(m23, hs_dims(3, 2)) }), 2, 0), "concat",
          "[2, 3]", "[3, 2]");
    FAILS(HS_EINVAL, hs_concat(((hs_var[]){ v3 }), 5000, 0), "concat", "5000");
    FAILS(HS_ESHAPE, hs_reshape(m23, hs_dims(4)), "reshape", "\"m23\" [2, 3]", "6 elements", "[4]");
    FAILS(HS_ESHAPE, hs_slice(m23, 1, 2, 5), "slice", "2 to 5", "axis 1", "[2, 3]");
    FAILS(HS_ESHAPE, hs_slice(m23, 1, 2, 2), "slice", "2 to 2");
    FAILS(HS_ESHAPE, hs_slice(m23, 1, 2, 1), "slice", "2 to 1");
    FAILS(HS_EINVAL, hs_gather(m23, 1, nine, 2), "gather", "index 1 is 9", "below 3", "\"m23\"");
    FAILS(HS_EINVAL, hs_scatter(hs_slice(v3, 0, 0, 2), 0, nine, 9), "scatter", "9");
    FAILS(HS_EINVAL, hs_permute(m23, twice), "permute", "\"m23\" [2, 3]", "entry 1 is 1");
    FAILS(HS_EINVAL, hs_permute(m23, beyond), "permute", "entry 1 is 2");
    FAILS(HS_EINVAL, hs_permute(m23, negative), "permute", "entry 1 is -1");
}
END_TEST

START_TEST(axes)
{
    FAILS(HS_ESHAPE, hs_sum(m23, 2), "sum", "axis 2", "[2, 3]");
    FAILS(HS_ESHAPE, hs_sum(m23, -3), "sum", "axis -3");
    FAILS(HS_ESHAPE, hs_sum(scalar, 0), "sum", "axis 0", "scalar");
    FAILS(HS_ESHAPE, hs_sum_last(scalar), "sum", "axis -1");
    FAILS(HS_ESHAPE, hs_mean(m23, 2), "axis 2");
    FAILS(HS_ESHAPE, hs_max_over(v3, 1), "max_over", "axis 1");
    FAILS(HS_ESHAPE, hs_logsumexp(v3, 1), "logsumexp", "axis 1");
    FAILS(HS_ESHAPE, hs_softmax(v3, 1), "axis 1");
    FAILS(HS_EINVAL, hs_softmax(v3, HS_ALL), "HS_ALL");
    FAILS(HS_ESHAPE, hs_slice(v3, 1, 0, 1), "slice", "axis 1");
    FAILS(HS_ESHAPE, hs_pad(v3, -2, 0, 1), "pad", "axis -2");
    FAILS(HS_ESHAPE, hs_concat(((hs_var[]){ v3, v3 }), 2, 1), "concat", "axis 1");
    FAILS(HS_ESHAPE, hs_gather(v3, 1, nine, 1), "gather", "axis 1");
    FAILS(HS_ESHAPE, hs_scatter(v3, 1, nine, 10), "scatter", "axis 1");
    FAILS(HS_ESHAPE, hs_dot(v3, v4), "[3]", "[4]");
    FAILS(HS_EINVAL, hs_polygamma(-1, v3), "polygamma", "-1");
}
END_TEST

START_TEST(ranks_and_empty_axes)
{
    const hs_shape by_hand = { -7, { 0 } };
    FAILS(HS_ESHAPE, hs_input(tape, "x", HS_ROW, hs_dims(1, 2, 3, 4, 5)), "input", "0 to 4 axes");
    FAILS(HS_ESHAPE, hs_input(tape, "x", HS_ROW, by_hand), "input", "axes");
    FAILS(HS_ESHAPE, hs_input(tape, "x", HS_ROW, hs_dims(2, 0)), "input", "[2, 0]", "empty axis");
    FAILS(HS_ESHAPE, hs_tensor(tape, hs_dims(0), NULL), "tensor", "[0]", "empty");
    FAILS(HS_ESHAPE, hs_normal(tape, HS_ROW, hs_dims(0), 1), "normal", "empty");
    FAILS(HS_ESHAPE, hs_bound(tape, "w", hs_dims(3, 0), NULL, 0), "bound", "empty");
    FAILS(HS_ESHAPE, hs_reshape(v3, hs_dims(3, 0)), "reshape");
    FAILS(HS_ESHAPE, hs_reshape(v3, hs_dims(1, 1, 1, 1, 3)), "reshape", "axes");
    FAILS(HS_ESHAPE, hs_broadcast(v3, hs_dims(1, 1, 1, 1, 3), HS_ROW), "broadcast");
    FAILS(HS_ESHAPE, hs_sum_to(v3, hs_dims(1, 1, 1, 1, 3), HS_SHARED), "sum_to");
    FAILS(HS_ESHAPE, hs_gather(v3, 0, nine, 0), "gather", "empty");
    FAILS(HS_ESHAPE, hs_broadcast(v3, hs_dims(4), HS_SHARED), "broadcast", "\"v3\" [3]", "[4]");
    FAILS(HS_ESHAPE, hs_broadcast(m23, hs_dims(3), HS_SHARED), "broadcast", "[2, 3]", "[3]");
    FAILS(HS_ESHAPE, hs_sum_to(v3, hs_dims(2, 3), HS_SHARED), "sum_to", "[3]", "[2, 3]");
    FAILS(HS_ESHAPE, hs_sum_to(m23, hs_dims(2), HS_SHARED), "sum_to", "[2, 3]", "[2]");
}
END_TEST

static hs_var stretched(size_t rows, size_t columns)
{
    return hs_broadcast(scalar, hs_dims(rows, columns), HS_SHARED);
}

START_TEST(sizes_that_overflow)
{
    const size_t big = (size_t)1 << 40, most = ((size_t)1 << 59) - 1;
    FAILS(HS_EOVERFLOW, hs_input(tape, "x", HS_ROW, hs_dims(big, big)), "input",
          "[1099511627776, ");
    FAILS(HS_EOVERFLOW, hs_tensor(tape, hs_dims(big, big), NULL), "tensor");
    FAILS(HS_EOVERFLOW, hs_broadcast(scalar, hs_dims((size_t)1 << 60), HS_SHARED), "broadcast");
    FAILS(HS_EOVERFLOW, hs_pad(v3, 0, SIZE_MAX, 3), "pad");
    FAILS(HS_EOVERFLOW, hs_pad(v3, 0, SIZE_MAX / 8, 3), "pad");
    FAILS(HS_EOVERFLOW, hs_scatter(v3, 0, ((const size_t[]){ 0, 1, 2 }), SIZE_MAX), "scatter");
    FAILS(HS_EOVERFLOW, hs_add(stretched(big, 1), stretched(1, big)), "add");
    FAILS(HS_EOVERFLOW, hs_matmul(stretched(big, 1), stretched(1, big)), "matmul");
    /* The sum of the lengths does not fit a size_t, and what is left of it looks harmless. */
    begin();
    hs_var many[33], wide = hs_broadcast(scalar, hs_dims(most), HS_SHARED);
    for (int i = 0; i < 33; i++)
        many[i] = wide;
    ck_assert(!hs_var_ok(hs_concat(many, 33, 0)));
    ck_assert_int_eq(hs_tape_status(tape), HS_EOVERFLOW);
}
END_TEST

START_TEST(extents)
{
    FAILS(HS_EEXTENT, hs_sum_to(v3, hs_dims(3), HS_ROW), "sum_to", "\"v3\" [3] (shared)", "row");
    FAILS(HS_EEXTENT, hs_sum_to(starts3, hs_dims(3), HS_ROW), "sum_to", "(start)", "row");
    FAILS(HS_EEXTENT, hs_broadcast(rows3, hs_dims(3), HS_SHARED), "broadcast", "(row)", "shared");
    FAILS(HS_EEXTENT, hs_broadcast(rows3, hs_dims(3), HS_START), "broadcast", "(row)", "start");
    FAILS(HS_EEXTENT, hs_input(tape, "x", (hs_extent)7, hs_dims(3)), "input", "7", "HS_ROW");
    FAILS(HS_EEXTENT, hs_normal(tape, (hs_extent)3, hs_dims(3), 0), "normal", "3");
    FAILS(HS_EEXTENT, hs_broadcast(v3, hs_dims(3), (hs_extent)3), "broadcast");
    FAILS(HS_EINVAL, hs_normal(tape, HS_ROW, hs_dims(3), 32768), "normal", "32768");
    FAILS(HS_EINVAL, hs_uniform(tape, HS_ROW, hs_dims(3), UINT32_MAX), "uniform", "4294967295");
}
END_TEST

/* ---- Tapes ---------------------------------------------------------------------------------- */

START_TEST(mixing_tapes_and_number_types)
{
    const hs_dtype other_types[] = { HS_F64, HS_F32 };
    for (int i = 0; i < 2; i++) {
        const hs_status expected = i ? HS_EDTYPE : HS_EINVAL;
        hs_tape *other = hs_tape_new(other_types[i]);
        hs_var stranger = hs_input(other, "stranger", HS_ROW, hs_dims(3));
        begin();
        ck_assert(!hs_var_ok(hs_add(v3, stranger)));
        ck_assert_int_eq(hs_tape_status(tape), expected);
        ck_assert_int_eq(hs_tape_status(other), expected); /* it is in error as well */
        ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "another tape"));
        ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "autograd/test_errors.c:"));
        hs_tape_free(other);

        /* Each way in which a second value enters. */
        for (int how = 0; how < 7; how++) {
            begin();
            other = hs_tape_new(other_types[i]);
            stranger = hs_input(other, "stranger", HS_ROW, hs_dims(3));
            hs_var g;
            hs_plan *plan;
            switch (how) {
            case 0:
                hs_matmul(stranger, v3);
                break;
            case 1:
                hs_concat(((hs_var[]){ v3, stranger }), 2, 0);
                break;
            case 2:
                hs_select(v3, v3, stranger);
                break;
            case 3:
                hs_grad(hs_sum_last(v3), &stranger, 1, &g);
                break;
            case 4:
                hs_call_hvp(&(const hs_function){ .name = "f" }, v3, stranger);
                break;
            case 5:
                hs_matmul_t(v3, true, stranger, true);
                break;
            case 6:
                ck_assert_int_eq(
                    hs_plan_new(&plan, ((hs_var[]){ v3, stranger }), 2, &(hs_plan_options){ 0 }),
                    expected);
                ck_assert_ptr_null(plan);
                break;
            }
            ck_assert_msg(hs_tape_status(tape) == expected, "way %d: %s", how, hs_tape_error(tape));
            hs_tape_free(other);
        }
    }
}
END_TEST

START_TEST(the_first_error_stays)
{
    begin();
    hs_var bad = hs_add(v3, v4);
    const size_t size = hs_tape_size(tape);
    char first[512];
    snprintf(first, sizeof first, "%s", hs_tape_error(tape));
    hs_var g[2], x = hs_matmul(m23, v4);
    x = hs_reshape(hs_exp(hs_mul(bad, v3)), hs_dims(99));
    x = hs_sum(x, 77);
    x = hs_name(x, "name");
    x = hs_concat(((hs_var[]){ x, bad }), 2, 5);
    x = hs_permute(x, twice), x = hs_gather(x, 9, nine, 2), x = hs_softmax(x, 3);
    x = hs_mean(x, 4), x = hs_mean_rows(x), x = hs_sum_rows(x), x = hs_dot(x, v3), x = hs_stop(x);
    x = hs_scale(x, 2), x = hs_shift(x, 2), x = hs_power(x, 2), x = hs_sub_from(2, x);
    x = hs_select(x, x, x), x = hs_pad(x, 0, 1, 1), x = hs_scatter(x, 0, nine, 10);
    x = hs_input(tape, "new", HS_ROW, hs_dims(2)), x = hs_const(tape, 1);
    x = hs_tensor(tape, hs_dims(2), (const double[]){ 1, 2 });
    x = hs_normal(tape, HS_ROW, hs_dims(2), 0), x = hs_uniform(tape, HS_ROW, hs_dims(2), 0);
    x = hs_bound(tape, "w", hs_dims(2), NULL, 0);
    x = hs_tape_fail(tape, HS_EIO, HS_HERE, "another");
    hs_grad(v3, ((hs_var[]){ v3, bad }), 2, g); /* not a scalar, but that is not the first */
    ck_assert(!hs_var_ok(x) && !hs_var_ok(g[0]) && !hs_var_ok(g[1]) && !hs_var_ok(v3));
    ck_assert_int_eq(hs_tape_status(tape), HS_ESHAPE);
    ck_assert_str_eq(hs_tape_error(tape), first);
    ck_assert_uint_eq(hs_tape_size(tape), size);
    ck_assert_int_eq(hs_var_shape(x).rank, 0);
    ck_assert_int_eq(hs_var_extent(x), HS_SHARED);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &x, 1, &(hs_plan_options){ 0 }), HS_ESHAPE);
    ck_assert_ptr_null(plan);
    ck_assert_int_eq(hs_plan_new(&plan, &v3, 1, &(hs_plan_options){ 0 }), HS_ESHAPE);
    ck_assert_ptr_null(plan);
    const double at[3] = { 1, 2, 3 };
    hs_gradcheck_report report;
    ck_assert_int_eq(hs_gradcheck(x, &v3, (const double *const[]){ at }, 1,
                                  &(hs_gradcheck_options){ 0 }, &report),
                     HS_ESHAPE);
    ck_assert_str_eq(hs_tape_error(tape), first);
}
END_TEST

/* Where hs_tape_new() found no memory, everything goes on and nothing happens. */
START_TEST(a_tape_that_could_not_be_made)
{
    hs_tape *none = NULL;
    hs_var x = hs_input(none, "x", HS_ROW, hs_dims(3)), g;
    x = hs_add(x, hs_const(none, 1));
    x = hs_matmul(x, x), x = hs_sum(x, 0), x = hs_mean(x, 0), x = hs_mean_rows(x);
    x = hs_concat(((hs_var[]){ x, x }), 2, 0), x = hs_softmax(x, 0), x = hs_permute(x, twice);
    x = hs_gather(x, 0, nine, 2), x = hs_scatter(x, 0, nine, 10), x = hs_pad(x, 0, 1, 1);
    x = hs_slice(x, 0, 0, 1), x = hs_reshape(x, hs_dims(3)), x = hs_name(x, "n"), x = hs_stop(x);
    x = hs_broadcast(x, hs_dims(3), HS_ROW), x = hs_sum_to(x, hs_dims(3), HS_ROW);
    x = hs_tensor(none, hs_dims(2), (const double[]){ 1, 2 });
    x = hs_bound(none, "w", hs_dims(2), NULL, 0);
    x = hs_normal(none, HS_ROW, hs_dims(2), 0), x = hs_uniform(none, HS_ROW, hs_dims(2), 99999);
    x = hs_polygamma(-1, x), x = hs_call(NULL, x), x = hs_call_grad(NULL, x);
    x = hs_call_hvp(NULL, x, x), x = hs_logsumexp(x, HS_ALL);
    x = hs_tape_fail(none, HS_EIO, HS_HERE, "%d", 1);
    hs_grad(x, &x, 1, &g);
    ck_assert(!hs_var_ok(x) && !hs_var_ok(g));
    ck_assert_int_eq(hs_var_shape(x).rank, 0);
    ck_assert_int_eq(hs_tape_status(none), HS_ENOMEM);
    ck_assert_str_ne(hs_tape_error(none), "");
    ck_assert_uint_eq(hs_tape_size(none), 0);
    FILE *sink = tmpfile();
    hs_tape_print(none, sink);
    hs_tape_dot(none, sink);
    fclose(sink);
    hs_plan *plan;
    ck_assert_int_ne(hs_plan_new(&plan, &x, 1, &(hs_plan_options){ 0 }), HS_OK);
    ck_assert_ptr_null(plan);
    hs_plan_set(plan, x, NULL);
    ck_assert_ptr_null(hs_plan_get(plan, x));
    ck_assert(isnan(hs_plan_scalar(plan, x)));
    ck_assert_str_ne(hs_plan_error(plan), "");
    hs_plan_free(plan);
    hs_gradcheck_report report;
    ck_assert_int_eq(hs_gradcheck(x, &x, NULL, 1, &(hs_gradcheck_options){ 0 }, &report),
                     HS_ENOMEM);
    hs_tape_free(none);
    begin(); /* a value of no tape among others */
    ck_assert(!hs_var_ok(hs_add(v3, x)));
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "no tape"));
}
END_TEST

START_TEST(values_that_are_none)
{
    FAILS(HS_EINVAL, hs_exp(((hs_var){ tape, 12345 })), "exp", "not a value");
    FAILS(HS_EINVAL, hs_add(v3, ((hs_var){ tape, -1 })), "add", "operand 2");
    hs_plan *plan;
    begin();
    ck_assert_int_eq(hs_plan_new(&plan, &(hs_var){ tape, 999 }, 1, &(hs_plan_options){ 0 }),
                     HS_EINVAL);
    ck_assert_ptr_null(plan);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "not a value"));
}
END_TEST

/* ---- Places --------------------------------------------------------------------------------- */

/* A function without derivatives. */
static double value(const double *x, size_t n, void *context)
{
    (void)n, (void)context;
    return x[0];
}

static const hs_function no_gradient = { .name = "no_gradient", .value = value };

static const void *base;

static hs_var bind(size_t n)
{
    return hs_bound(tape, "w", hs_dims(n), &base, 8);
}

/* A function of a library that records for its caller. */
static hs_var layer_at(hs_var w, hs_var x, const char *at)
{
    return hs_tanh_at(hs_add_at(hs_matmul_at(w, x, at), hs_const_at(x.tape, 1, at), at), at);
}
#define layer(...) layer_at(__VA_ARGS__, HS_HERE)

START_TEST(places_are_the_users)
{
    FAILS(HS_ESHAPE, layer(m23, v4), "matmul", "\"m23\" [2, 3]");
    /* What ops record on behalf of the user, and gradients of what the user recorded. */
    FAILS(HS_ESHAPE, hs_log_softmax(m23, 5), "axis 5");
    begin();
    const char *at;
    hs_var g, y = (at = HS_HERE ": ", hs_call(&no_gradient, v3));
    hs_grad(hs_exp(y), &v3, 1, &g);
    expect_error(HS_EINVAL, at, (const char *const[]){ "no_gradient", NULL });
    FAILS(HS_ESHAPE, (bind(3), hs_bound(tape, "w", hs_dims(4), &base, 8)), "bound", "[3]", "[4]");
    begin();
    ck_assert_int_eq(bind(3).id, bind(3).id); /* one place is one value */
    /* A long name is cut, not overrun. */
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    begin();
    hs_name(v3, name), hs_name(v4, name);
    hs_add(v3, v4);
    ck_assert_uint_lt(strlen(hs_tape_error(tape)), 512);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "[4]"));
    begin();
    hs_tape_fail(tape, HS_EIO, "here", "%s", name);
    ck_assert_uint_lt(strlen(hs_tape_error(tape)), 512);
    ck_assert_int_eq(hs_tape_status(tape), HS_EIO);
}
END_TEST

static Suite *errors_suite(void)
{
    Suite *suite = suite_create("errors");
    TCase *tests = tcase_create("errors");
    tcase_add_checked_fixture(tests, NULL, forget);
    tcase_add_test(tests, shapes);
    tcase_add_test(tests, axes);
    tcase_add_test(tests, ranks_and_empty_axes);
    tcase_add_test(tests, sizes_that_overflow);
    tcase_add_test(tests, extents);
    tcase_add_test(tests, mixing_tapes_and_number_types);
    tcase_add_test(tests, the_first_error_stays);
    tcase_add_test(tests, a_tape_that_could_not_be_made);
    tcase_add_test(tests, values_that_are_none);
    tcase_add_test(tests, places_are_the_users);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(errors_suite())
