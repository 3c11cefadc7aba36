/* Walks the tables of figures: each is wherever figures are. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/cli/commands/diagnosis.h>
#include <hastings/cli/report/table.h>
#include <hastings/experiments/record.h>
#include <hastings/experiments/run.h>
#include <hastings/mcmc/diagnostics/figures.h>
#include <hastings/mcmc/io/chains_file.h>

#include "support/hs_check.h"

/* Two chains of 40 draws in 3 dimensions, of which all is known. */
enum { CHAINS = 2, DRAWS = 40, DIM = 3 };
static double x[CHAINS * DRAWS * DIM], alpha[CHAINS * DRAWS], jump[CHAINS * DRAWS],
    log_pi[CHAINS * DRAWS];
static uint8_t accepted[CHAINS * DRAWS];

static hs_report report_of_chains(void)
{
    hs_report report;
    for (size_t i = 0; i < CHAINS * DRAWS; i++) {
        alpha[i] = 0.5 + 0.01 * (double)(i % 7);
        jump[i] = 0.3 * (double)(i % 5);
        log_pi[i] = -1 - (double)(i % 3);
        accepted[i] = i % 3 > 0;
        for (size_t k = 0; k < DIM; k++)
            x[i * DIM + k] = sin((double)(i * i) * (0.7 + 0.1 * (double)k));
    }
    const hs_chains c = { .chains = CHAINS,
                          .draws = DRAWS,
                          .dim = DIM,
                          .x = x,
                          .alpha = alpha,
                          .jump = jump,
                          .log_pi = log_pi,
                          .accepted = accepted,
                          .proposals = CHAINS * DRAWS,
                          .gradients = 3 * CHAINS * DRAWS,
                          .seconds = 0.25 };
    ck_assert_int_eq(hs_diagnose(&c, NULL, &report, NULL), HS_OK);
    return report;
}

static const char *contents(const char *path)
{
    static char text[200000];
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

START_TEST(test_reports)
{
    hs_report report = report_of_chains();
    app_record *record = app_record_new();
    app_record_diagnosis(record, &report);
    json_t *of_record = app_record_json(record);
    json_t *of_command = app_diagnosis_json(&report, NULL);
    char text[8192];
    FILE *f = tmpfile();
    ck_assert_int_eq(hs_report_print(f, &report), HS_OK);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (size_t i = 0; hs_report_figure_at(i); i++) {
        const hs_report_figure *figure = hs_report_figure_at(i);
        size_t worst;
        const double value = figure->value(&report, &worst);
        char words[128];
        ck_assert_msg(isfinite(value), "%s is not known", figure->key);
        ck_assert(worst < DIM || worst == SIZE_MAX);
        json_t *const all[] = { of_record, of_command };
        for (int k = 0; k < 2; k++) {
            const json_t *its = json_object_get(json_object_get(all[k], "figures"), figure->key);
            ck_assert_msg(hs_close(json_number_value(its), value, 1e-14, 0), "%s: %g is not %g",
                          figure->key, json_number_value(its), value);
        }
        if (!figure->line)
            continue;
        ck_assert_msg(strstr(text, figure->line) != NULL, "%s\n%s", figure->line, text);
        snprintf(words, sizeof words, figure->words, value);
        ck_assert_msg(strstr(text, words) != NULL, "%s\n%s", words, text);
    }
    for (size_t i = 0; hs_coordinate_figure_at(i); i++) {
        const hs_coordinate_figure *figure = hs_coordinate_figure_at(i);
        json_t *const all[] = { of_record, of_command };
        for (size_t k = 0; k < 2 * DIM; k++) {
            const json_t *list = json_object_get(all[k % 2], "coordinates");
            const double its =
                json_number_value(json_object_get(json_array_get(list, k / 2), figure->key));
            ck_assert_close(its, figure->value(&report.coordinate[k / 2]), 1e-14, 0);
        }
    }
    json_decref(of_record);
    json_decref(of_command);
    app_record_free(record);
    hs_report_free(&report);
}
END_TEST

/* Definitions of figures that are made from others. */
START_TEST(test_values)
{
    hs_report r = report_of_chains();
    double largest = 0, least = INFINITY, most = 0;
    for (size_t i = 0; i < DIM; i++) {
        const hs_series_summary *c = &r.coordinate[i];
        largest = fmax(largest, c->mcse_mean / c->sd);
        most = fmax(most, fmin(c->ess[HS_ESS_RAW], c->ess[HS_ESS_SQUARE_RAW]));
        least = fmin(least, fmin(c->ess[HS_ESS_RAW], c->ess[HS_ESS_SQUARE_RAW]));
    }
    app_record *record = app_record_new();
    app_record_diagnosis(record, &r);
    ck_assert_double_eq(record->figure[APP_FIGURE_mcse_over_sd].value, largest);
    ck_assert_double_eq(record->figure[APP_FIGURE_ess_per_proposal].value, least / 80);
    ck_assert_double_eq(record->figure[APP_FIGURE_ess_max].value, most / 80);
    ck_assert_double_eq(record->figure[APP_FIGURE_rhat].value, r.rhat);
    ck_assert_double_eq(record->figure[APP_FIGURE_rhat_split].value, r.rhat_split);
    ck_assert_double_eq(record->figure[APP_FIGURE_samples_per_second].value, 80 / 0.25);
    ck_assert(!record->figure[APP_FIGURE_loss].known);
    app_record_free(record);
    hs_report_free(&r);
}
END_TEST

START_TEST(test_columns)
{
    size_t n = 0, speeds = 0;
    for (; hs_report_figure_at(n); n++)
        ck_assert_str_eq(hs_report_figure_at(n)->key, app_column_at(n)->key);
    for (size_t i = 0; app_column_at(i); i++) {
        const app_column *c = app_column_at(i);
        ck_assert_uint_eq((size_t)app_figure_find(c->key), i);
        ck_assert(*c->title && *c->about && c->about[strlen(c->about) - 1] != '.');
        ck_assert_str_eq(app_column_title(c->key), c->title);
        /* Tests and scripts that compare runs leave out the figures that differ from run to run, by their names. */
        const size_t length = strlen(c->key);
        const bool by_name = length > 11 && !strcmp(c->key + length - 11, "_per_second");
        ck_assert_msg(c->judged == !by_name, "the key of a speed ends in _per_second, not so %s",
                      c->key);
        speeds += !c->judged;
    }
    ck_assert_uint_eq(APP_FIGURES, n + 4);
    ck_assert_uint_ge(speeds, 2);
    ck_assert_ptr_null(app_column_at(APP_FIGURES));
    ck_assert_int_eq(app_figure_find("ess"), APP_FIGURES);
    ck_assert_int_eq(app_figure_find(NULL), APP_FIGURES);
}
END_TEST

/* The list in docs/cli.md is what `hastings list figures` prints: the test `docs` compares them. */
START_TEST(test_documents)
{
    const char *list = strstr(contents("docs/cli.md"), "output of hastings list figures");
    ck_assert_ptr_nonnull(list);
    char line[80];
    for (size_t i = 0; app_column_at(i); i++) {
        snprintf(line, sizeof line, "\n  %s", app_column_at(i)->key);
        ck_assert_msg(strstr(list, line) != NULL, "docs/cli.md has no %s", line);
    }
    for (size_t i = 0; hs_coordinate_figure_at(i); i++) {
        snprintf(line, sizeof line, "\n  %s", hs_coordinate_figure_at(i)->key);
        ck_assert_msg(strstr(strstr(list, "of each coordinate"), line) != NULL,
                      "docs/cli.md has no %s", line);
    }
}
END_TEST

/* All figures can be columns, and a column that there is not is refused with the list of those that there are. */
START_TEST(test_experiments)
{
    char path[] = "/tmp/hastings_figures_XXXXXX";
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    json_t *columns = json_array();
    for (size_t i = 0; app_column_at(i); i++)
        json_array_append_new(columns, json_string(app_column_at(i)->key));
    json_t *e = json_load_file("tests/fixtures/cells.json", 0, NULL);
    json_object_set(e, "columns", columns);
    ck_assert_int_eq(json_dump_file(e, path, 0), 0);
    hs_message m = { "" };
    json_t *read = app_experiment_load(path, &m);
    ck_assert_msg(read != NULL, "%s", m.text);
    json_decref(read);
    json_array_append_new(columns, json_string("ess_per_hour"));
    ck_assert_int_eq(json_dump_file(e, path, 0), 0);
    ck_assert_ptr_null(app_experiment_load(path, &m));
    ck_assert_msg(strstr(m.text, "there is no column \"ess_per_hour\"; there are: ") != NULL, "%s",
                  m.text);
    for (size_t i = 0; app_column_at(i); i++)
        ck_assert_msg(strstr(m.text, app_column_at(i)->key) != NULL, "%s is not in %s",
                      app_column_at(i)->key, m.text);
    json_decref(columns);
    json_decref(e);
    remove(path);
    close(file);
}
END_TEST

static Suite *figures_suite(void)
{
    Suite *suite = suite_create("experiments_figures");
    TCase *tests = tcase_create("figures");
    tcase_add_test(tests, test_reports);
    tcase_add_test(tests, test_values);
    tcase_add_test(tests, test_columns);
    tcase_add_test(tests, test_documents);
    tcase_add_test(tests, test_experiments);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(figures_suite())
