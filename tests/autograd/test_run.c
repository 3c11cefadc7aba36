/* Running plans: where outputs and inputs are, what moves between runs, draws, the search for
 * non-finite numbers, and prints. */
#include "support/hs_check.h"

#include <hastings.h>

#include <string.h>
#include <unistd.h>

static hs_plan *make_plan(const hs_var *outputs, size_t n, hs_plan_options options)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, outputs, n, &options);
    ck_assert_msg(status == HS_OK, "%s", hs_tape_error(outputs[0].tape));
    return plan;
}

static void run(hs_plan *plan)
{
    ck_assert_msg(hs_plan_run(plan, &(hs_run){ 0 }) == HS_OK, "%s", hs_plan_error(plan));
}

static const double *numbers(size_t n)
{
    static double data[100000];
    for (size_t i = 0; i < n; i++)
        data[i] = sin(1.0 + (double)i * 0.7);
    return data;
}

/* ---- Outputs and inputs -----------------------------------------------------------------------
 */

/* Every kind of output at once, over several cuts of the batch. */
START_TEST(outputs_are_laid_out_by_rows)
{
    const size_t batches[][3] = {
        { 1, 1, 0 }, { 4, 3, 0 }, { 5, 3, 2 }, { 1, 70, 0 }, { 33, 1, 8 }
    };
    for (int b = 0; b < 5; b++) {
        const size_t starts = batches[b][0], rows = starts * batches[b][1];
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2, 3));
        hs_var s = hs_input(tape, "s", HS_START, hs_dims(2));
        hs_var p = hs_input(tape, "p", HS_SHARED, hs_dims(3));
        hs_var t = hs_tensor(tape, hs_dims(2), (const double[]){ 5, 6 }), c = hs_const(tape, 7);
        hs_var view = hs_slice(hs_reshape(x, hs_dims(6)), 0, 1, 3), twice = hs_scale(x, 2);
        hs_var wide = hs_broadcast(c, hs_dims(2), HS_ROW), pv = hs_slice(p, 0, 1, 3);
        hs_var total = hs_sum_rows(s), part = hs_slice(total, 0, 1, 2),
               reshaped = hs_reshape(p, hs_dims(3, 1));
        double into_total[2] = { 0 }, into_again[2] = { 0 }, into_leaf[3] = { 0 },
               into_view[1] = { 0 };
        const hs_var outputs[] = { x,    s,  p,     t,     c, view, twice,
                                   wide, pv, total, total, p, part, reshaped };
        void *const into[] = { NULL, NULL, NULL,       NULL,       NULL,      NULL,      NULL,
                               NULL, NULL, into_total, into_again, into_leaf, into_view, NULL };
        hs_plan *plan = make_plan(outputs, 14,
                                  (hs_plan_options){ .starts = starts,
                                                     .rows_per_start = batches[b][1],
                                                     .shard_starts = batches[b][2],
                                                     .into = into });
        const double *d = numbers(600);
        hs_plan_set(plan, x, d), hs_plan_set(plan, s, d + 10), hs_plan_set(plan, p, d + 20);
        run(plan);
        ck_assert_int_eq(memcmp(hs_plan_get(plan, x), d, rows * 6 * sizeof *d), 0);
        ck_assert_int_eq(memcmp(hs_plan_get(plan, s), d + 10, starts * 2 * sizeof *d), 0);
        ck_assert_int_eq(memcmp(hs_plan_get(plan, p), d + 20, 3 * sizeof *d), 0);
        ck_assert_int_eq(memcmp(hs_plan_get(plan, reshaped), d + 20, 3 * sizeof *d), 0);
        ck_assert_int_eq(memcmp(hs_plan_get(plan, pv), d + 21, 2 * sizeof *d), 0);
        ck_assert_int_eq(memcmp(into_leaf, d + 20, 3 * sizeof *d), 0);
        const double *tv = hs_plan_get(plan, t), *vv = hs_plan_get(plan, view);
        const double *wv = hs_plan_get(plan, twice), *cv = hs_plan_get(plan, wide);
        ck_assert(tv[0] == 5 && tv[1] == 6 && hs_plan_scalar(plan, c) == 7);
        size_t wrong = 0;
        double sums[2] = { 0, 0 };
        for (size_t r = 0; r < rows; r++) {
            wrong += vv[2 * r] != d[6 * r + 1] || vv[2 * r + 1] != d[6 * r + 2];
            wrong += cv[2 * r] != 7 || cv[2 * r + 1] != 7;
            for (int k = 0; k < 6; k++)
                wrong += wv[6 * r + (size_t)k] != 2 * d[6 * r + (size_t)k];
        }
        for (size_t m = 0; m < starts; m++)
            sums[0] += d[10 + 2 * m], sums[1] += d[11 + 2 * m];
        ck_assert_uint_eq(wrong, 0);
        ck_assert_close(into_total[0], sums[0], 1e-13, 1e-13);
        ck_assert_close(into_total[1], sums[1], 1e-13, 1e-13);
        ck_assert_int_eq(memcmp(into_total, into_again, sizeof into_again), 0);
        ck_assert_double_eq(into_view[0], into_total[1]);
        hs_plan_free(plan);
        hs_tape_free(tape);
    }
}
END_TEST

/* Equal values under two names, each into memory of its own. */
START_TEST(equal_outputs_into_two_places)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
    hs_var a = hs_sum_rows(hs_exp(x)), b = hs_sum_rows(hs_exp(x)),
           rest = hs_add(a, hs_const(tape, 0));
    double room[3][2] = { { 0 } };
    hs_plan *plan =
        make_plan(((hs_var[]){ a, b, rest }), 3,
                  (hs_plan_options){ .starts = 20,
                                     .shard_starts = 3,
                                     .into = (void *const[]){ room[0], room[1], room[2] } });
    hs_plan_set(plan, x, numbers(40));
    for (int i = 0; i < 3; i++) /* repeated runs begin anew */
        run(plan);
    double sum = 0;
    for (int i = 0; i < 40; i += 2)
        sum += exp(numbers(40)[i]);
    ck_assert_close(room[0][0], sum, 1e-13, 0);
    ck_assert_int_eq(memcmp(room[0], room[1], sizeof room[0]), 0);
    ck_assert_int_eq(memcmp(room[0], room[2], sizeof room[0]), 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(bound_values_may_move)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    double first[] = { 1, 2, 3, 4 }, second[] = { 10, 20, 30, 40 }, third[] = { -1, -2 };
    const void *base = first;
    hs_var w = hs_bound(tape, "w", hs_dims(2), &base, 2 * sizeof(double));
    hs_var again = hs_bound(tape, "w", hs_dims(2), &base, 2 * sizeof(double));
    hs_var g, y = hs_sum_last(hs_mul(w, again));
    ck_assert_int_eq(w.id, again.id);
    hs_grad(y, &w, 1, &g);
    hs_plan *plan = make_plan(((hs_var[]){ y, g }), 2, (hs_plan_options){ 0 });
    run(plan);
    ck_assert_double_eq(hs_plan_scalar(plan, y), 25);
    ck_assert_double_eq(hs_plan_scalar(plan, g), 6); /* both uses */
    first[2] = 0;
    run(plan);
    ck_assert_double_eq(hs_plan_scalar(plan, y), 16);
    base = second;
    run(plan);
    ck_assert_double_eq(hs_plan_scalar(plan, y), 2500);
    hs_plan_set(plan, w, third);
    run(plan);
    ck_assert_double_eq(hs_plan_scalar(plan, y), 5);
    hs_plan_set(plan, w, NULL); /* back to where it is bound */
    run(plan);
    ck_assert_double_eq(hs_plan_scalar(plan, y), 2500);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(several_plans_and_a_growing_tape)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)), y = hs_sum_last(hs_exp(x)), more = y;
    hs_plan *small = make_plan(&y, 1, (hs_plan_options){ .starts = 2 });
    hs_plan *large = make_plan(&y, 1, (hs_plan_options){ .starts = 11, .rows_per_start = 3 });
    for (int i = 0; i < 5000; i++) /* the tape's arrays move */
        more = hs_tanh(more);
    hs_plan *last = make_plan(&more, 1, (hs_plan_options){ .starts = 2 });
    hs_plan *plans[] = { small, large, last };
    for (int i = 0; i < 3; i++)
        hs_plan_set(plans[i], x, numbers(99));
    for (int i = 2; i >= 0; i--)
        run(plans[i]);
    const double *a = hs_plan_get(small, y), *b = hs_plan_get(large, y);
    ck_assert_close(a[1], b[1], 1e-15, 0);
    ck_assert_close(a[0], exp(sin(1.0)) + exp(sin(1.7)) + exp(sin(2.4)), 1e-14, 0);
    FILE *sink = tmpfile();
    hs_plan_print(small, sink);
    hs_plan_dot(large, sink);
    fclose(sink);
    for (int i = 0; i < 3; i++)
        hs_plan_free(plans[i]);
    hs_tape_free(tape);
}
END_TEST

/* ---- Draws ----------------------------------------------------------------------------------- */

enum { COLUMNS = 5 };

static void draws(hs_dtype dtype, size_t starts, size_t per_start, size_t shard, hs_run at,
                  double *out, double *start_out)
{
    hs_tape *tape = hs_tape_new(dtype);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(COLUMNS), 3),
           u = hs_uniform(tape, HS_START, hs_dims(2), 4);
    hs_plan *plan = make_plan(
        ((hs_var[]){ n, u }), 2,
        (hs_plan_options){
            .starts = starts, .rows_per_start = per_start, .shard_starts = shard, .threads = 2 });
    ck_assert_int_eq(hs_plan_run(plan, &at), HS_OK);
    const void *row = hs_plan_get(plan, n), *start = hs_plan_get(plan, u);
    for (size_t i = 0; i < starts * per_start * COLUMNS; i++)
        out[i] = dtype == HS_F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
    for (size_t i = 0; i < starts * 2; i++)
        start_out[i] =
            dtype == HS_F32 ? (double)((const float *)start)[i] : ((const double *)start)[i];
    hs_plan_free(plan);
    hs_tape_free(tape);
}

START_TEST(draws_are_addressed)
{
    static double whole[300], part[300], whole_start[100], part_start[100];
    for (int d = 0; d < 2; d++) {
        const hs_dtype dtype = d ? HS_F64 : HS_F32;
        draws(dtype, 20, 3, 0, (hs_run){ 9, 4, 0 }, whole, whole_start);
        int wrong = 0;
        for (uint32_t r = 0; r < 60; r++)
            for (uint32_t c = 0; c < COLUMNS; c++)
                wrong += whole[r * COLUMNS + c] !=
                         hs_random_at(dtype, HS_NORMAL,
                                      (hs_address){ .seed = 9, .stream = 3, .step = 4 }, r, c);
        ck_assert_int_eq(wrong, 0);
        for (size_t first = 0; first < 20; first += 3) /* starts first .. 19 */
            for (size_t shard = 0; shard < 3; shard++) {
                const size_t starts = first % 2 ? 1 : 20 - first;
                draws(dtype, starts, 3, shard, (hs_run){ 9, 4, 3 * first }, part, part_start);
                ck_assert_int_eq(
                    memcmp(part, whole + 3 * first * COLUMNS, starts * 3 * COLUMNS * sizeof *part),
                    0);
                ck_assert_int_eq(
                    memcmp(part_start, whole_start + 2 * first, starts * 2 * sizeof *part), 0);
            }
        draws(dtype, 1, 1, 0, (hs_run){ 9, 4, 17 }, part, part_start); /* a single lane */
        ck_assert_int_eq(memcmp(part, whole + 17 * COLUMNS, COLUMNS * sizeof *part), 0);
        draws(dtype, 20, 3, 0, (hs_run){ 9, 5, 0 }, part, part_start);
        ck_assert_double_ne(part[0], whole[0]);
        draws(dtype, 20, 3, 0, (hs_run){ 8, 4, 0 }, part, part_start);
        ck_assert_double_ne(part[0], whole[0]);
    }
}
END_TEST

/* ---- Non-finite numbers ------------------------------------------------------------------------
 */

static hs_nonfinite trace(const hs_var *outputs, size_t n, size_t starts, size_t rows, hs_var x,
                          const double *data, bool expected)
{
    hs_nonfinite found = { .op = "" };
    hs_plan *plan =
        make_plan(outputs, n,
                  (hs_plan_options){
                      .starts = starts, .rows_per_start = rows, .shard_starts = 3, .trace = true });
    hs_plan_set(plan, x, data);
    run(plan);
    const bool is = hs_plan_nonfinite(plan, &found);
    ck_assert_msg(is == expected, "%s: %s %g in row %zu", is ? "found" : "not found", found.op,
                  found.value, found.row);
    hs_plan_free(plan);
    return found;
}

START_TEST(the_first_bad_node_is_named)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    const char *at;
    hs_var l = hs_name((at = HS_HERE, hs_log(hs_exp(x))), "the log");
    hs_var r = hs_sqrt(hs_add(l, hs_const(tape, 5))), loss = hs_mean_rows(hs_sum_last(r));
    double data[42];
    for (int i = 0; i < 42; i++)
        data[i] = 0.1 * i;
    trace(&loss, 1, 7, 2, x, data, false);
    data[3 * 9 + 2] = -1000; /* exp is 0, its log -inf, in row 9 */
    hs_nonfinite found = trace(&loss, 1, 7, 2, x, data, true);
    ck_assert_int_eq(found.node.id, l.id);
    ck_assert_str_eq(found.op, "log");
    ck_assert_str_eq(found.name, "the log");
    ck_assert_str_eq(found.at, at);
    ck_assert_uint_eq(found.row, 9);
    ck_assert_uint_eq(found.coordinate, 2);
    ck_assert(isinf(found.value) && found.value < 0);
    data[3 * 1 + 0] = -7; /* in an earlier row, the square root of -2 */
    found = trace(&loss, 1, 7, 2, x, data, true);
    ck_assert_str_eq(found.op, "sqrt");
    ck_assert_uint_eq(found.row, 1);
    ck_assert(isnan(found.value));
    data[0] = (double)NAN; /* data is data: it is found at the input, and nothing fails */
    found = trace(&loss, 1, 7, 2, x, data, true);
    ck_assert_int_eq(found.node.id, x.id);
    ck_assert_str_eq(found.name, "x");
    ck_assert_uint_eq(found.row, 0);
    /* Without trace nothing is looked for. */
    hs_plan *plan = make_plan(&loss, 1, (hs_plan_options){ .starts = 7, .rows_per_start = 2 });
    hs_plan_set(plan, x, data);
    run(plan);
    ck_assert(isnan(hs_plan_scalar(plan, loss)));
    ck_assert(!hs_plan_nonfinite(plan, &found));
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(bad_values_in_starts_parameters_and_sums)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    double data[6] = { 1, 2, 3, -1, 5, 6 };
    hs_var s = hs_input(tape, "s", HS_START, hs_dims(1)),
           x = hs_normal(tape, HS_ROW, hs_dims(1), 0);
    hs_var l = hs_log(s), y = hs_sum_rows(hs_add(l, x));
    hs_nonfinite found = trace(&y, 1, 6, 4, s, data, true);
    ck_assert_int_eq(found.node.id, l.id);
    ck_assert_uint_eq(found.row, 3); /* the number of the start */
    /* A parameter that is NaN is the first bad node, not whatever uses it. */
    double bad[2] = { 1, (double)NAN };
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(2)), wx = hs_sum_rows(hs_mul(hs_exp(w), x));
    found = trace(&wx, 1, 2, 2, w, bad, true);
    ck_assert_msg(found.node.id == w.id, "named %s", found.op);
    ck_assert_uint_eq(found.coordinate, 1);
    /* A sum that overflows, all of whose terms are finite. */
    double large[6] = { 1e308, 1e308, 1e308, 1, 1, 1 };
    hs_var sum = hs_sum_rows(s), half = hs_scale(sum, 0.5);
    found = trace(&half, 1, 6, 1, s, large, true);
    ck_assert_msg(found.node.id == sum.id, "named %s", found.op);
    found = trace(&sum, 1, 6, 1, s, large, true);
    ck_assert_int_eq(found.node.id, sum.id);
    hs_tape_free(tape);
}
END_TEST

/* Padding lanes may hold anything: they are not rows. */
START_TEST(padding_is_not_reported)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_scalar_shape());
    hs_var l = hs_log(x), r = hs_recip(x);
    hs_var wide = hs_broadcast(hs_add(l, r), hs_dims(12), HS_ROW), more = hs_scale(wide, 2);
    hs_var s = hs_sum_to(hs_exp(wide), hs_scalar_shape(), HS_START);
    const double data[] = { 1, 2, 3, 4, 5, 6 };
    for (size_t rows = 1; rows <= 3; rows++)
        trace(((hs_var[]){ l, r, more, s, wide, x }), 6, 6 / rows, rows, x, data, false);
    /* The same with values of a start beside those of rows, whose lanes are padded otherwise. */
    hs_var a = hs_abs(x), t = hs_input(tape, "t", HS_START, hs_dims(12)), la = hs_log(a);
    hs_var big = hs_add(t, hs_sum_to(la, hs_scalar_shape(), HS_START));
    hs_plan *plan = make_plan(
        ((hs_var[]){ t, big, hs_exp(big), la }), 4,
        (hs_plan_options){ .starts = 3, .rows_per_start = 3, .shard_starts = 3, .trace = true });
    hs_plan_set(plan, x, (const double[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9 });
    hs_plan_set(plan, t, numbers(36));
    run(plan);
    hs_nonfinite found = { .op = "" };
    const bool is = hs_plan_nonfinite(plan, &found);
    ck_assert_msg(!is, "%s %g in row %zu, coordinate %zu", found.op, found.value, found.row,
                  found.coordinate);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

/* ---- Prints ---------------------------------------------------------------------------------- */

static void print_network(FILE *out, int what)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "in \"quotes\" \\ \n line", HS_ROW, hs_dims(3));
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(4, 3)),
           b = hs_input(tape, "b", HS_SHARED, hs_dims(4));
    hs_var n = hs_normal(tape, HS_START, hs_dims(3), 12), g[2];
    hs_var y = hs_sum_last(hs_square(hs_relu(hs_add(hs_matmul(w, hs_add(x, n)), b))));
    hs_var loss = hs_mean_rows(y);
    hs_grad(loss, ((hs_var[]){ w, b }), 2, g);
    hs_plan *plan = make_plan(((hs_var[]){ loss, g[0], g[1], y }), 4,
                              (hs_plan_options){ .starts = 5, .rows_per_start = 2 });
    switch (what) {
    case 0:
        hs_tape_print(tape, out);
        break;
    case 1:
        hs_plan_print(plan, out);
        break;
    case 2:
        hs_tape_dot(tape, out);
        break;
    default:
        hs_plan_dot(plan, out);
        break;
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
}

static char *printed(int what)
{
    static char text[65536];
    FILE *file = tmpfile();
    print_network(file, what);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

START_TEST(prints_say_what_matters)
{
    const char *tape = printed(0);
    ck_assert_ptr_nonnull(strstr(tape, "matmul"));
    ck_assert_ptr_nonnull(strstr(tape, "row [3]"));
    ck_assert_ptr_nonnull(strstr(tape, "\"w\""));
    ck_assert_ptr_nonnull(strstr(tape, "stream 12"));
    ck_assert_ptr_nonnull(strstr(tape, "autograd/test_run.c:"));
    const char *plan = printed(1);
    ck_assert_ptr_nonnull(strstr(plan, "5 starts x 2 rows"));
    ck_assert_ptr_nonnull(strstr(plan, "for each shard"));
    ck_assert_ptr_nonnull(strstr(plan, "matmul+bias+relu"));
}
END_TEST

/* Every edge of a drawing joins two boxes that are in it. */
START_TEST(drawings_are_whole)
{
    for (int what = 2; what < 4; what++) {
        char *text = printed(what), box[64];
        ck_assert_int_eq(strncmp(text, "digraph", 7), 0);
        ck_assert_ptr_nonnull(strstr(text, "->"));
        for (const char *edge = text; (edge = strstr(edge, "\n  n")); edge++) {
            int from, to;
            if (sscanf(edge, "\n  n%d -> n%d;", &from, &to) != 2)
                continue;
            snprintf(box, sizeof box, "\n  n%d [label", from);
            ck_assert_msg(strstr(text, box), "%s: no box for n%d -> n%d",
                          what == 2 ? "tape" : "plan", from, to);
            snprintf(box, sizeof box, "\n  n%d [label", to);
            ck_assert_msg(strstr(text, box), "%s: no box for n%d <- n%d",
                          what == 2 ? "tape" : "plan", to, from);
        }
        if (access("/usr/bin/dot", X_OK) != 0)
            continue;
        FILE *dot = popen("/usr/bin/dot -Tsvg > /dev/null 2>&1", "w");
        ck_assert_ptr_nonnull(dot);
        print_network(dot, what);
        ck_assert_int_eq(pclose(dot), 0);
    }
}
END_TEST

static Suite *run_suite(void)
{
    Suite *suite = suite_create("runs");
    TCase *tests = tcase_create("runs");
    tcase_add_test(tests, outputs_are_laid_out_by_rows);
    tcase_add_test(tests, equal_outputs_into_two_places);
    tcase_add_test(tests, bound_values_may_move);
    tcase_add_test(tests, several_plans_and_a_growing_tape);
    tcase_add_test(tests, draws_are_addressed);
    tcase_add_test(tests, the_first_bad_node_is_named);
    tcase_add_test(tests, bad_values_in_starts_parameters_and_sums);
    tcase_add_test(tests, padding_is_not_reported);
    tcase_add_test(tests, prints_say_what_matters);
    tcase_add_test(tests, drawings_are_whole);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(run_suite())
