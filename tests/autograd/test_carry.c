/* What a step computes of x and of y alike becomes an input, and nothing else does. */
#include <hastings.h>

#include "support/hs_check.h"

enum { DIM = 3, ROWS = 5 };

static hs_tape *tape;
static hs_var x, n, y;

static void begin(void)
{
    tape = hs_tape_new(HS_F64);
    x = hs_input(tape, "x", HS_ROW, hs_dims(DIM));
    n = hs_normal(tape, HS_ROW, hs_dims(DIM), 1);
}

static void end(void)
{
    hs_tape_free(tape);
}

static const double weights[2 * DIM] = { 1, -2, 0.5, 0.3, 1.5, -1 };

/* A costly vector [2] of a point; recorded anew with every call. */
static hs_var layer(hs_var at)
{
    return hs_tanh(hs_matmul(hs_tensor(tape, hs_dims(2, DIM), weights), at));
}

static size_t remember(hs_var *values, size_t count, hs_carried **list)
{
    return hs_carry(&(hs_succession){ .x = x, .y = &y, .ways = 1 }, values, count, list);
}

static void fill(double *to, size_t count, double scale)
{
    for (size_t i = 0; i < count; i++)
        to[i] = scale * (double)((i * 7 + 3) % 11) - 1;
}

/* The value of the whole step, as recorded and with inputs that hold what is known of x, and what is known of y. */
START_TEST(same_values)
{
    begin();
    hs_var of_x = layer(x);
    y = hs_add(x, hs_mul(n, hs_sum_last(of_x)));
    hs_var value = hs_sub(hs_sum_last(hs_square(layer(y))), hs_sum_last(hs_exp(layer(x)))),
           before = value;
    hs_carried *list;
    ck_assert_uint_eq(remember(&value, 1, &list), 1);
    ck_assert_int_eq(hs_tape_status(tape), HS_OK);
    double points[ROWS * DIM], known[ROWS * 2];
    fill(points, ROWS * DIM, 0.3);
    hs_plan *look, *plan, *whole;
    const hs_plan_options options = { .starts = ROWS };
    const hs_var outputs[] = { value, list[0].at_y[0] }, all[] = { before, layer(y) };
    ck_assert_int_eq(hs_plan_new(&look, &list[0].at_x, 1, &options), HS_OK);
    ck_assert_int_eq(hs_plan_new(&plan, outputs, 2, &options), HS_OK);
    ck_assert_int_eq(hs_plan_new(&whole, all, 2, &options), HS_OK);
    hs_plan_set(look, x, points);
    hs_plan_set(plan, x, points);
    hs_plan_set(whole, x, points);
    hs_plan_set(plan, list[0].input, known);
    ck_assert_int_eq(hs_plan_run(look, &(hs_run){ .seed = 2 }), HS_OK);
    memcpy(known, hs_plan_get(look, list[0].at_x), sizeof known);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 2 }), HS_OK);
    ck_assert_int_eq(hs_plan_run(whole, &(hs_run){ .seed = 2 }), HS_OK);
    for (int o = 0; o < 2; o++) {
        const double *a = hs_plan_get(plan, outputs[o]), *b = hs_plan_get(whole, all[o]);
        for (int i = 0; i < ROWS * (o + 1); i++)
            ck_assert_close(a[i], b[i], 1e-13, 1e-13);
    }
    hs_plan_free(look);
    hs_plan_free(plan);
    hs_plan_free(whole);
    end();
}
END_TEST

/* Whether layer(x) is remembered by a step of this y whose value is f. */
static size_t known_with(hs_var f)
{
    hs_carried *list;
    const int32_t id = f.id;
    const size_t count = remember(&f, 1, &list);
    ck_assert_int_eq(hs_tape_status(tape), HS_OK);
    ck_assert(count > 0 || f.id == id);
    return count;
}

START_TEST(nothing_to_remember)
{
    begin(); /* y's is not recorded */
    y = hs_add(x, n);
    ck_assert_uint_eq(known_with(hs_sum_last(layer(x))), 0);
    end();

    begin(); /* recorded, but not needed */
    y = hs_add(x, n);
    layer(y);
    ck_assert_uint_eq(known_with(hs_sum_last(layer(x))), 0);
    end();

    begin(); /* of another function */
    y = hs_add(x, n);
    ck_assert_uint_eq(known_with(hs_add(hs_sum_last(hs_neg(layer(x))), hs_sum_last(hs_exp(y)))), 0);
    end();

    begin(); /* cheap */
    y = hs_add(x, n);
    ck_assert_uint_eq(known_with(hs_sub(hs_exp(x), hs_mul(n, hs_exp(y)))), 0);
    end();

    begin(); /* of x and the noise, which is another in the next step */
    y = hs_add(x, n);
    ck_assert_uint_eq(known_with(hs_sub(layer(hs_mul(x, n)), layer(hs_mul(y, n)))), 0);
    end();

    begin(); /* y is a function of x */
    y = hs_neg(x);
    ck_assert_uint_eq(known_with(hs_sub(layer(x), layer(y))), 0);
    end();
}
END_TEST

/* Constants are compared by value, and permutations; derivatives are remembered like everything else. */
START_TEST(found)
{
    begin();
    y = hs_add(x, n);
    hs_var both[2] = { x, y }, value[2];
    for (int i = 0; i < 2; i++) {
        const size_t order[] = { 2, 0, 1 };
        hs_var f = hs_sum_last(layer(hs_gather(both[i], 0, order, DIM)));
        hs_grad(f, &both[i], 1, &value[i]);
    }
    ck_assert_uint_eq(known_with(hs_sub(hs_mul(n, value[0]), value[1])), 1);
    end();

    begin(); /* a mean over all chains, of which some move, is not known, but what it is of */
    y = hs_add(x, n);
    ck_assert_uint_eq(known_with(hs_sub(hs_mean_rows(hs_sum_last(layer(x))),
                                        hs_mean_rows(hs_sum_last(layer(y))))),
                      1);
    end();

    begin(); /* a part of a joined value is the part */
    hs_var more = hs_normal(tape, HS_ROW, hs_dims(2), 2);
    hs_var wide = hs_concat(((hs_var[]){ x, more }), 2, 0);
    hs_var moved = hs_add(wide, hs_normal(tape, HS_ROW, hs_dims(DIM + 2), 3));
    y = hs_slice(moved, 0, 0, DIM);
    ck_assert_uint_eq(known_with(hs_sub(hs_mul(layer(hs_slice(wide, 0, 0, DIM)), more),
                                        layer(hs_slice(moved, 0, 0, DIM)))),
                      1);
    end();
}
END_TEST

/* Bound values count as constant unless they are said to change. */
START_TEST(changing)
{
    const double numbers[2 * DIM] = { 1, 2, 3, 4, 5, 6 };
    const void *const base = numbers;
    for (size_t changes = 0; changes < 2; changes++) {
        begin();
        y = hs_add(x, n);
        hs_var w = hs_bound(tape, "w", hs_dims(2, DIM), &base, 0);
        hs_var f = hs_sub(hs_sum_last(hs_matmul(w, x)),
                          hs_mul(hs_sum_last(hs_matmul(w, y)), hs_sum_last(n)));
        hs_carried *list;
        ck_assert_uint_eq(hs_carry(&(hs_succession){ x, &y, 1, &w, changes }, &f, 1, &list),
                          1 - changes);
        end();
    }
}
END_TEST

/* With several ways of moving, what is known must be known of all. */
START_TEST(ways)
{
    for (int recorded = 1; recorded <= 2; recorded++) {
        begin();
        const hs_var to[2] = { hs_add(x, n), hs_sub(x, hs_scale(n, 2)) };
        hs_var f = hs_mul(hs_sum_last(layer(x)), hs_sum_last(n));
        for (int k = 0; k < recorded; k++)
            f = hs_add(f, hs_sum_last(layer(to[k])));
        hs_carried *list;
        ck_assert_uint_eq(hs_carry(&(hs_succession){ .x = x, .y = to, .ways = 2 }, &f, 1, &list),
                          recorded == 2);
        if (recorded == 2)
            ck_assert(list[0].at_y[0].id != list[0].at_y[1].id);
        end();
    }
}
END_TEST

START_TEST(wrong_input)
{
    begin();
    hs_carried *list;
    y = hs_slice(hs_add(x, n), 0, 0, DIM - 1);
    hs_var f = hs_sum_last(y);
    ck_assert_uint_eq(remember(&f, 1, &list), 0);
    ck_assert_int_eq(hs_tape_status(tape), HS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "cannot become \"x\" [3] (row)"));
    end();
}
END_TEST

/* ---- What is computed from what --------------------------------------------------------------- */

START_TEST(values_that_need_others)
{
    hs_tape *own = hs_tape_new(HS_F64), *other = hs_tape_new(HS_F64);
    hs_var a = hs_input(own, "a", HS_ROW, hs_dims(3));
    hs_var b = hs_input(own, "b", HS_ROW, hs_dims(3));
    hs_var sum = hs_sum_last(hs_exp(hs_add(a, hs_const(own, 1)))), both = hs_mul(sum, b);
    ck_assert(hs_var_needs(a, a));
    ck_assert(hs_var_needs(sum, a));
    ck_assert(!hs_var_needs(sum, b));
    ck_assert(hs_var_needs(both, a));
    ck_assert(hs_var_needs(both, sum));
    ck_assert(!hs_var_needs(sum, both));
    ck_assert(!hs_var_needs(both, hs_input(other, "a", HS_ROW, hs_dims(3))));
    ck_assert(!hs_var_needs((hs_var){ own, -1 }, a));
    hs_tape_free(own);
    hs_tape_free(other);
}
END_TEST

static Suite *remember_suite(void)
{
    Suite *suite = suite_create("autograd_remember");
    TCase *t = tcase_create("carry");
    tcase_add_test(t, values_that_need_others);
    tcase_add_test(t, same_values);
    tcase_add_test(t, nothing_to_remember);
    tcase_add_test(t, found);
    tcase_add_test(t, changing);
    tcase_add_test(t, ways);
    tcase_add_test(t, wrong_input);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(remember_suite())
