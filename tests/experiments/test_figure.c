/* Figures as text: as the paper prints them, and read back. */
#include <stdio.h>
#include <string.h>

#include <hastings/experiments/figure.h>

#include "support/hs_check.h"

#define NONE ((double)NAN)

START_TEST(texts)
{
    static const struct {
        double mean, error;
        const char *text;
    } cases[] = {
        { 0.6712, 0.031, "0.67(3)" },
        { 21.7, 1.2, "22(1)" },
        { 6.1e-4, 1.1e-4, "6(1)e-4" },
        { 8.24e-3, 1e-4, "8.2(1)e-3" },
        { 1643.9, 2.1, "1.644(2)e3" },
        { 738.3, 6, "738(6)" },
        { 0.0119, 0.001, "0.012(1)" },
        { 0.9, 0.003, "0.900(3)" },
        { 0.37, 0.0003, "0.3700(3)" },
        { 1e-10, 1e-10, "1(1)e-10" },
        { 5.24e5, 3e4, "5.2(3)e5" },
        /* rounding carries into another decade */
        { 0.6712, 0.0096, "0.67(1)" },
        { 0.99971, 0.0005, "0.9997(5)" },
        { 0.99996, 0.0005, "1.0000(5)" },
        { 9.999e-3, 1e-4, "0.0100(1)" },
        { 9.7e-4, 1e-4, "1.0(1)e-3" },
        { 999.7, 1, "1.000(1)e3" },
        { 0.97, 0.1, "1.0(1)" },
        /* the error is not smaller than the mean */
        { 0.3, 0.2, "0.3(2)" },
        { 0.02, 0.1, "0.0(1)" },
        { -0.02, 0.1, "0.0(1)" },
        { 2e-5, 3e-3, "0(3)e-3" },
        { 0, 0.02, "0.00(2)" },
        { 740, 60, "7.4(6)e2" },
        /* no error, or none that matters */
        { 0.661, NONE, "0.661" },
        { 6.1e-4, NONE, "6.1e-4" },
        { 0.66, NONE, "0.66" },
        { 21.43, NONE, "21.4" },
        { 22, NONE, "22" },
        { 1643.9, NONE, "1.64e3" },
        { 999.6, NONE, "1e3" },
        { 0.09996, NONE, "0.1" },
        { 1, 0, "1" },
        { 0, NONE, "0" },
        { -2.5, NONE, "-2.5" },
        { 1, 1e-300, "1" },
        { -1.5, 0.25, "-1.5(2)" },
        { 0.5, (double)INFINITY, "0.5" },
        { 0.6, 7e-10, "0.6" },
        { -1.2345671e-300, 3e-306, "-1.234567(3)e-300" },
        { NONE, 1, "-" },
        { (double)INFINITY, 1, "inf" },
        { -(double)INFINITY, 1, "-inf" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[APP_FIGURE_TEXT];
        ck_assert_str_eq(app_figure_text(cases[i].mean, cases[i].error, text), cases[i].text);
        ck_assert_ptr_eq(app_figure_text(cases[i].mean, cases[i].error, text), text);
    }
}
END_TEST

/* Every form that is printed in the paper's tables. */
START_TEST(printed)
{
    static const struct {
        const char *text;
        app_figure_kind kind;
        double mean, error;
    } cases[] = {
        { "0.67(3)", APP_FIGURE_VALUE, 0.67, 0.03 },
        { "22(1)", APP_FIGURE_VALUE, 22, 1 },
        { "6(1)e-4", APP_FIGURE_VALUE, 6e-4, 1e-4 },
        { "6.1(3)e-4", APP_FIGURE_VALUE, 6.1e-4, 0.3e-4 },
        { "8.2(1)e-3", APP_FIGURE_VALUE, 8.2e-3, 1e-4 },
        { "8.18(7)e-3", APP_FIGURE_VALUE, 8.18e-3, 7e-5 },
        { "1.644(2)e3", APP_FIGURE_VALUE, 1644, 2 },
        { "5.2(3)e5", APP_FIGURE_VALUE, 5.2e5, 0.3e5 },
        { "1(1)e-10", APP_FIGURE_VALUE, 1e-10, 1e-10 },
        { "3.700(3)", APP_FIGURE_VALUE, 3.7, 0.003 },
        { "0.3700(3)", APP_FIGURE_VALUE, 0.37, 0.0003 },
        { "7.33(7)", APP_FIGURE_VALUE, 7.33, 0.07 },
        { "0.574", APP_FIGURE_VALUE, 0.574, 0.0005 },
        { "1.00", APP_FIGURE_VALUE, 1, 0.005 },
        { "1.000", APP_FIGURE_VALUE, 1, 0.0005 },
        { "0.11(0)", APP_FIGURE_VALUE, 0.11, 0.005 },
        { "166(0)", APP_FIGURE_VALUE, 166, 0.5 },
        { "0.56(10)", APP_FIGURE_VALUE, 0.56, 0.1 },
        { "5(1)e+2", APP_FIGURE_VALUE, 500, 100 },
        { "-1.5(2)", APP_FIGURE_VALUE, -1.5, 0.2 },
        { " 0.4(1) ", APP_FIGURE_VALUE, 0.4, 0.1 },
        { "<4.73", APP_FIGURE_BOUND, 4.73, 0.005 },
        { "1e-3-1e-6", APP_FIGURE_RANGE, 0.5 * (1e-3 + 1e-6), 0.5 * (1e-3 - 1e-6) },
        { "--", APP_FIGURE_NONE, NONE, NONE },
        { "-", APP_FIGURE_NONE, NONE, NONE },
        { "", APP_FIGURE_NONE, NONE, NONE },
        { NULL, APP_FIGURE_NONE, NONE, NONE },
        { "about 3", APP_FIGURE_WRONG, NONE, NONE },
        { "0.67(3", APP_FIGURE_WRONG, NONE, NONE },
        { "0.67()", APP_FIGURE_WRONG, NONE, NONE },
        { "0.67(3)x", APP_FIGURE_WRONG, NONE, NONE },
        { "1.2.3", APP_FIGURE_WRONG, NONE, NONE },
        { "1e", APP_FIGURE_WRONG, NONE, NONE },
        { "1e-", APP_FIGURE_WRONG, NONE, NONE },
        { "1e-3-", APP_FIGURE_WRONG, NONE, NONE },
        { "1e99999999999", APP_FIGURE_WRONG, NONE, NONE },
        { ".", APP_FIGURE_WRONG, NONE, NONE },
        { "<", APP_FIGURE_WRONG, NONE, NONE },
        { "0.1111111111111111111111111111111", APP_FIGURE_WRONG, NONE, NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double mean = 7, error = 7;
        const app_figure_kind kind = app_figure_parse(cases[i].text, &mean, &error);
        ck_assert_msg(kind == cases[i].kind, "\"%s\" is read as kind %d", cases[i].text, kind);
        if (isnan(cases[i].mean)) {
            ck_assert(isnan(mean) && isnan(error));
        } else {
            ck_assert_close(mean, cases[i].mean, 1e-15, 0);
            ck_assert_close(error, cases[i].error, 1e-14, 0);
        }
        ck_assert_int_eq(app_figure_parse(cases[i].text, NULL, NULL), kind);
    }
}
END_TEST

/* What is written is read as what it was, to the digits that it has. */
START_TEST(round_trips)
{
    for (int i = 0; i < 4000; i++) {
        const double mean = (i % 2 ? -1 : 1) * pow(10, -8 + 16 * fmod(i * 0.61803398875, 1));
        const double error = fabs(mean) * pow(10, -5 + 6 * fmod(i * 0.7548776662, 1));
        char text[APP_FIGURE_TEXT];
        double m, e;
        app_figure_text(mean, error, text);
        ck_assert_msg(app_figure_parse(text, &m, &e) == APP_FIGURE_VALUE, "%s", text);
        ck_assert_msg(e > 0.66 * error && e < 1.34 * error, "%s for an error of %g", text, error);
        ck_assert_msg(fabs(m - mean) <= 0.5001 * e, "%s for a mean of %.17g", text, mean);
    }
}
END_TEST

START_TEST(verdicts)
{
    double z;
    /* 0.28 against 0.33(5): 0.05 / sqrt(0.03^2 + 0.05^2) */
    ck_assert_int_eq(app_figure_verdict(0.28, 0.03, 0.33, 0.05, &z), APP_VERDICT_AGREES);
    ck_assert_close(z, 0.857492925712544, 1e-12, 0);
    /* one replication: the paper's scatter stands for ours */
    ck_assert_int_eq(app_figure_verdict(0.28, NONE, 0.33, 0.05, &z), APP_VERDICT_AGREES);
    ck_assert_close(z, 0.7071067811865476, 1e-12, 0);
    ck_assert_int_eq(app_figure_verdict(0.28, 100, 0.33, 0.005, &z),
                     APP_VERDICT_DIFFERS); /* however wide */
    ck_assert_double_eq_tol(z, 0.05 / (0.005 * sqrt(10)), 1e-9);
    ck_assert_int_eq(app_figure_verdict(3, 0, 1, 1, &z), APP_VERDICT_AGREES); /* z = 2 */
    ck_assert_int_eq(app_figure_verdict(3.01, 0, 1, 1, &z), APP_VERDICT_CLOSE);
    ck_assert_int_eq(app_figure_verdict(-2, 0, 1, 1, &z), APP_VERDICT_CLOSE); /* z = 3 */
    ck_assert_close(z, 3, 0, 0);
    ck_assert_int_eq(app_figure_verdict(4.01, 0, 1, 1, NULL), APP_VERDICT_DIFFERS);
    ck_assert_int_eq(app_figure_verdict(1, 0, 1, 0, &z), APP_VERDICT_AGREES);
    ck_assert_int_eq(app_figure_verdict(1, 0, 2, 0, &z), APP_VERDICT_DIFFERS);
    ck_assert_int_eq(app_figure_verdict(5e-4, NONE, 0.18, 0.08, &z), APP_VERDICT_DIFFERS);
    ck_assert_int_eq(app_figure_verdict(5e-4, NONE, 1e-3, 1e-3, &z), APP_VERDICT_AGREES);
    ck_assert_int_eq(app_figure_verdict(NONE, 1, 2, 1, &z), APP_VERDICT_NONE);
    ck_assert(isnan(z));
    ck_assert_int_eq(app_figure_verdict(1, 1, NONE, NONE, &z), APP_VERDICT_NONE);
    for (app_verdict v = APP_VERDICT_NONE; v <= APP_VERDICT_DIFFERS; v++)
        ck_assert_int_eq(app_verdict_of(app_verdict_name(v)), v);
    ck_assert_int_eq(app_verdict_of(NULL), APP_VERDICT_NONE);
    ck_assert_int_eq(app_verdict_of("agree"), APP_VERDICT_NONE);
}
END_TEST

START_TEST(ratios)
{
    double ratio, error;
    app_figure_ratio(2, 0.1, 4, 0.4, &ratio, &error);
    ck_assert_close(ratio, 0.5, 1e-15, 0);
    ck_assert_close(error, 0.5 * sqrt(0.05 * 0.05 + 0.1 * 0.1), 1e-12, 0);
    app_figure_ratio(2, NONE, 4, 0.4, &ratio, &error);
    ck_assert_close(ratio, 0.5, 1e-15, 0);
    ck_assert(isnan(error));
    ck_assert(app_figure_judged("msjd"));
    ck_assert(!app_figure_judged("gradients_per_second"));
    ck_assert(!app_figure_judged("samples_per_second"));
    ck_assert(!app_figure_judged(NULL));
}
END_TEST

static Suite *figure_suite(void)
{
    Suite *suite = suite_create("experiments_figure");
    TCase *tests = tcase_create("figure");
    tcase_add_test(tests, texts);
    tcase_add_test(tests, printed);
    tcase_add_test(tests, round_trips);
    tcase_add_test(tests, verdicts);
    tcase_add_test(tests, ratios);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(figure_suite())
