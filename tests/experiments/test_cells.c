/* Cells of results: means, errors, ratios and verdicts, against numbers that were computed by hand. */
#include "support/run_common.h"

/* Gives a job other figures; NaN: null. */
static void doctor(const char *id, double acceptance, double msjd)
{
    char path[256];
    hs_message m;
    snprintf(path, sizeof path, "%s/work/%s.json", out, id);
    json_t *record = app_json_read(path, &m);
    ck_assert_msg(record != NULL, "%s", m.text);
    json_t *figures = json_object_get(record, "figures");
    json_object_set_new(figures, "acceptance", json_real(acceptance));
    json_object_set_new(figures, "msjd", isnan(msjd) ? json_null() : json_real(msjd));
    ck_assert_int_eq(app_json_save(path, record, &m), HS_OK);
    json_decref(record);
}

static void check_cell(const json_t *r, const char *kase, const char *row, const char *column,
                       double mean, double sd, double error, double sigmas, const char *verdict,
                       const char *text, const char *note)
{
    const json_t *c = find_cell(r, kase, row, column);
    ck_assert_msg(c != NULL, "there is no cell %s, %s, %s", kase, row, column);
    const double expected[] = { mean, sd, error, sigmas };
    static const char *const keys[] = { "mean", "sd", "error", "sigmas" };
    for (int i = 0; i < 4; i++) {
        const json_t *value = json_object_get(c, keys[i]);
        if (isnan(expected[i]))
            ck_assert_msg(json_is_null(value), "%s, %s, %s: %s is not null", kase, row, column,
                          keys[i]);
        else
            ck_assert_msg(hs_close(json_number_value(value), expected[i], 1e-9, 1e-12),
                          "%s, %s, %s: %s is %.12g, not %.12g", kase, row, column, keys[i],
                          json_number_value(value), expected[i]);
    }
    ck_assert_str_eq(app_text_of(c, "verdict"), verdict);
    ck_assert_str_eq(app_text_of(c, "text"), text);
    ck_assert_str_eq(app_text_of(c, "note"), note);
}

START_TEST(test_cells)
{
    const double none = (double)NAN;
    json_decref(run("cells", (app_run_options){ 0 }));
    const double acceptance[3] = { 0.5, 0.6, 0.7 }, jump[3] = { 1, 2, 3 },
                 best[3] = { 3.6, 4, 4.4 };
    for (int i = 0; i < 3; i++) {
        char id[64];
        snprintf(id, sizeof id, "plain-a-%d", i + 1);
        doctor(id, acceptance[i], jump[i]);
        snprintf(id, sizeof id, "ratio-a-%d", i + 1);
        doctor(id, acceptance[i], jump[i]);
        snprintf(id, sizeof id, "ratio-i.i.d.-%d", i + 1);
        doctor(id, 1, best[i]);
        snprintf(id, sizeof id, "plain-i.i.d.-%d", i + 1);
        doctor(id, 1, i == 1 ? none : 8 + i); /* 8 and 10 */
    }
    doctor("plain-b-1", 0.11, 2.1);
    json_t *r = run(NULL, (app_run_options){ .resume = true });
    ck_assert_str_eq(app_text_of(r, "state"), "complete");

    /* |0.6 - 0.75| / sqrt(0.1^2 + 0.05^2) */
    check_cell(r, "plain", "A", "acceptance", 0.6, 0.1, 0.1 / sqrt(3), 0.15 / hypot(0.1, 0.05),
               "agrees", "0.6(1)", "one");
    /* z = 7 / sqrt(1 + 9) = 2.2, but 9 is more than four times 2. */
    check_cell(r, "plain", "A", "msjd", 2, 1, 1 / sqrt(3), 7 / sqrt(10), "differs", "2(1)", "one");
    /* One replication: the paper's error stands for ours, 0.03 / (sqrt(2) 0.01) = 2.1. */
    check_cell(r, "plain", "B", "acceptance", 0.11, none, none, 3 / sqrt(2), "close", "0.11", "");
    /* Without an error, half a unit: 0.1 / (sqrt(2) 0.05). */
    check_cell(r, "plain", "B", "msjd", 2.1, none, none, sqrt(2), "agrees", "2.1", "");
    /* A figure that is null is not counted: mean 9, sd sqrt(2). */
    check_cell(r, "plain", "I.I.D.", "msjd", 9, sqrt(2), 1, 1 / sqrt(3), "agrees", "9(1)", "");
    check_cell(r, "plain", "I.I.D.", "acceptance", 1, 0, 0, none, "-", "1", "");
    /* (2 / 4) +- 1/4 and 0.05 against (3 / 10) +- 1/10 and 0.03; a bound is not compared. */
    check_cell(r, "ratio", "A", "msjd", 2, 1, 1 / sqrt(3),
               0.2 / hypot(hypot(0.25, 0.05), hypot(0.1, 0.03)), "agrees", "2(1)", "two");
    check_cell(r, "ratio", "A", "acceptance", 0.6, 0.1, 0.1 / sqrt(3), none, "-", "0.6(1)", "two");
    check_cell(r, "ratio", "I.I.D.", "msjd", 4, 0.4, 0.4 / sqrt(3), none, "-", "4.0(4)", "three");
    ck_assert_str_eq(app_text_of(find_cell(r, "ratio", "A", "msjd"), "ratio_to"), "I.I.D.");
    /* Speeds are not judged, and what is not run has no cell. */
    ck_assert_str_eq(app_text_of(find_cell(r, "plain", "A", "gradients_per_second"), "verdict"),
                     "-");
    ck_assert_ptr_null(find_cell(r, "ratio", "B", "msjd"));
    ck_assert_uint_eq(json_array_size(json_object_get(r, "cells")), 15);
    ck_assert_uint_eq(
        json_array_size(json_object_get(find_cell(r, "plain", "I.I.D.", "msjd"), "values")), 2);
    const json_t *c = find_cell(r, "plain", "A", "acceptance");
    ck_assert_str_eq(app_text_of(c, "paper"), "0.75(5)");
    ck_assert_double_eq(json_number_value(json_object_get(c, "paper_value")), 0.75);
    ck_assert_close(json_number_value(json_object_get(c, "paper_error")), 0.05, 1e-12, 0);
    json_decref(r);
}
END_TEST

/* The row that others are compared with is not run: nothing is judged by absolute numbers. */
START_TEST(test_cells_without_the_compared_row)
{
    json_t *e = experiment("cells"), *rows = json_object_get(e, "rows");
    json_object_set_new(json_array_get(rows, 2), "cases", json_pack("[s]", "plain"));
    hs_message m;
    ck_assert_int_eq(app_experiment_run(e, &(app_run_options){ .out = out, .threads = 1 }, &m),
                     HS_OK);
    json_t *r = result();
    ck_assert_str_eq(app_text_of(find_cell(r, "ratio", "A", "msjd"), "verdict"), "-");
    json_decref(r);
    json_decref(e);
}
END_TEST

static Suite *cells_suite(void)
{
    Suite *suite = suite_create("cells");
    TCase *t = tcase_create("cells");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, test_cells);
    tcase_add_test(t, test_cells_without_the_compared_row);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(cells_suite())
