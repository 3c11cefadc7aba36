/* Effective sample size, R-hat, Monte-Carlo errors: golden values. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/mcmc/diagnostics/ess.h>

#include "support/hs_check.h"

static uint64_t random_state;

static double uniform(void) /* splitmix64; in (0, 1) */
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) / 4503599627370496.0;
}

static double normal(void)
{
    const double radius = sqrt(-2 * log(uniform()));
    return radius * cos(6.283185307179586477 * uniform());
}

/* ---- Golden values --------------------------------------------------------------------------- */

START_TEST(golden_vector)
{
    static const double expected[2][6] = {
        { 425.095643156, 438.16657687, 440.98468096, 363.219732493, 383.379912694, 1.00005396609 },
        { 1052.9780715, 1040.82399653, 1040.82399653, 170.942847618, 16.4298496671, 1.21117106914 },
    };
    for (int row = 0; row < 2; row++) {
        const double phi = row ? -0.95 : 0;
        double x[4][101];
        for (uint32_t m = 0; m < 4; m++) {
            uint32_t s = m + 1;
            for (int n = 0; n < 101; n++) {
                s = UINT32_C(1664525) * s + UINT32_C(1013904223);
                x[m][n] = (n ? phi * x[m][n - 1] : 0) + (s / 4294967296.0 - 0.5);
            }
        }
        const hs_series series = hs_series_of(x[0], 4, 101);
        hs_series_summary s;
        ck_assert_int_eq(hs_series_summarise(&series, &s), HS_OK);
        for (int kind = HS_ESS_RAW; kind <= HS_ESS_SD; kind++) {
            ck_assert_close(s.ess[kind], expected[row][kind], 1e-8, 0);
            ck_assert_int_eq(s.capped[kind], row == 1 && kind <= HS_ESS_BULK);
            double ess;
            bool capped;
            ck_assert_int_eq(hs_ess(&series, (hs_ess_kind)kind, &ess, &capped), HS_OK);
            ck_assert_double_eq(ess, s.ess[kind]);
            ck_assert_int_eq(capped, s.capped[kind]);
        }
        ck_assert_close(s.rhat, expected[row][5], 1e-8, 0);
    }
}
END_TEST

/* What ess.py writes, in its order. */
enum { FIGURES = 14 };

static void all_figures(const hs_series *series, double figure[FIGURES])
{
    hs_series_summary s;
    ck_assert_int_eq(hs_series_summarise(series, &s), HS_OK);
    memcpy(figure, s.ess, sizeof s.ess);
    double *rest = figure + HS_ESS_KINDS;
    ck_assert_int_eq(hs_ess_quantile(series, 0.1, &rest[0], NULL), HS_OK);
    ck_assert_int_eq(hs_ess_quantile(series, 0.5, &rest[1], NULL), HS_OK);
    ck_assert_int_eq(hs_rhat(series, &rest[2], &rest[3]), HS_OK);
    ck_assert_int_eq(hs_mcse(series, &rest[4], &rest[5]), HS_OK);
}

static int compare_file(FILE *file)
{
    static char line[1 << 16];
    static double x[1 << 12];
    int compared = 0;
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file)); /* the header */
    while (fgets(line, sizeof line, file)) {
        char *at = strchr(line, ',');
        *at++ = '\0';
        const size_t chains = strtoul(at, &at, 10), draws = strtoul(at + 1, &at, 10);
        ck_assert_uint_le(chains * draws, sizeof x / sizeof *x);
        double expected[FIGURES], figure[FIGURES];
        bool known[FIGURES];
        for (int i = 0; i < FIGURES; i++) {
            known[i] = *++at != ',';
            expected[i] = known[i] ? strtod(at, &at) : 0;
        }
        for (size_t i = 0; i < chains * draws; i++)
            x[i] = strtod(at + 1, &at);
        ck_assert_int_eq(*at, '\n');
        const hs_series series = hs_series_of(x, chains, draws);
        all_figures(&series, figure);
        for (int i = 0; i < FIGURES; i++) {
            if (!known[i])
                continue;
            ck_assert_msg((isnan(figure[i]) && isnan(expected[i])) ||
                              hs_close(figure[i], expected[i], 1e-8, 0),
                          "%s, figure %d: %.12g, ArviZ says %.12g", line, i, figure[i],
                          expected[i]);
            compared++;
        }
    }
    return compared;
}

START_TEST(as_arviz_says)
{
    FILE *file = fopen("tests/golden/ess.csv", "r");
    ck_assert_msg(file != NULL, "cannot read %s", "tests/golden/ess.csv");
    ck_assert_int_ge(compare_file(file), 1300);
    fclose(file);
}
END_TEST

START_TEST(as_arviz_says_here)
{
    const char *python = getenv("HS_PYTHON");
    char command[1200];
    snprintf(command, sizeof command, "%s -c 'import arviz' >/dev/null 2>&1",
             python ? python : "python3");
    if (system(command) != 0) {
        puts("skipped: comparison with ArviZ on other inputs (python3 with arviz < 1 is missing; "
             "HS_PYTHON names another interpreter)");
        return;
    }
    snprintf(command, sizeof command, "%s %s 7 2>/dev/null", python ? python : "python3",
             "tests/golden/ess.py");
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_int_ge(compare_file(pipe), 1300);
    ck_assert_int_eq(pclose(pipe), 0);
}
END_TEST

/* ---- Edges ----------------------------------------------------------------------------------- */

START_TEST(constant_series)
{
    const double x[2][5] = { { 3, 3, 3, 3, 3 }, { 3, 3, 3, 3, 3 } };
    const hs_series series = hs_series_of(x[0], 2, 5);
    hs_series_summary s;
    ck_assert_int_eq(hs_series_summarise(&series, &s), HS_OK);
    ck_assert(s.constant);
    ck_assert_double_eq(s.ess[HS_ESS_RAW], 10); /* as ArviZ */
    ck_assert_double_eq(s.ess[HS_ESS_BULK], 8); /* without the draw in the middle */
    ck_assert(!s.capped[HS_ESS_RAW]);
    ck_assert_double_nan(s.rhat);
    ck_assert_double_eq(s.mcse_mean, 0);
}
END_TEST

START_TEST(strides)
{
    random_state = 12;
    double x[4][50], y[50][3][4]; /* another layout, among other numbers */
    for (int m = 0; m < 4; m++)
        for (int n = 0; n < 50; n++)
            y[n][0][m] = y[n][2][m] = -(y[n][1][m] = x[m][n] = normal());
    const hs_series a = hs_series_of(x[0], 4, 50);
    const hs_series b = {
        .x = &y[0][1][0], .chains = 4, .draws = 50, .chain_stride = 1, .draw_stride = 12
    };
    for (int kind = 0; kind < HS_ESS_KINDS; kind++) {
        double ess[2];
        ck_assert_int_eq(hs_ess(&a, (hs_ess_kind)kind, &ess[0], NULL), HS_OK);
        ck_assert_int_eq(hs_ess(&b, (hs_ess_kind)kind, &ess[1], NULL), HS_OK);
        ck_assert_double_eq(ess[0], ess[1]);
    }
}
END_TEST

START_TEST(series_that_say_nothing)
{
    double x[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, ess, rhat;
    hs_series_summary s;
    hs_series short_one = hs_series_of(x, 4, 3), none = hs_series_of(NULL, 0, 0);
    ck_assert_int_eq(hs_ess(&short_one, HS_ESS_RAW, &ess, NULL), HS_OK);
    ck_assert_double_nan(ess);
    ck_assert_int_eq(hs_series_summarise(&none, &s), HS_OK);
    ck_assert_double_nan(s.ess[HS_ESS_TAIL]);
    ck_assert_double_nan(s.rhat);
    x[5] = (double)NAN;
    hs_series series = hs_series_of(x, 2, 6);
    ck_assert_int_eq(hs_rhat(&series, NULL, &rhat), HS_OK);
    ck_assert_double_nan(rhat);
    ck_assert_int_eq(hs_ess_quantile(&series, 0.5, &ess, NULL), HS_OK);
    ck_assert_double_nan(ess);
    x[5] = (double)INFINITY;
    ck_assert_int_eq(hs_ess(&series, HS_ESS_BULK, &ess, NULL), HS_OK);
    ck_assert_double_nan(ess);
    ck_assert_int_eq(hs_ess(&series, HS_ESS_KINDS, &ess, NULL), HS_EINVAL);
    ck_assert_int_eq(hs_ess_quantile(&series, 1.5, &ess, NULL), HS_EINVAL);
    ck_assert_int_eq(hs_ess(NULL, HS_ESS_RAW, &ess, NULL), HS_EINVAL);
}
END_TEST

START_TEST(autocorrelation)
{
    /* Directly summed and transformed lags agree with the definition. */
    random_state = 10;
    enum { N = 300 };
    double x[3 * N];
    for (int i = 0; i < 3 * N; i++)
        x[i] = (i % N ? 0.9 * x[i - 1] : 0) + normal();
    const hs_series series = hs_series_of(x, 3, N);
    double rho[N + 2], mean[3], grand = 0, spread = 0, a[N] = { 0 };
    ck_assert_int_eq(hs_autocorrelation(&series, N + 2, rho), HS_OK);
    for (int m = 0; m < 3; m++) {
        mean[m] = 0;
        for (int n = 0; n < N; n++)
            mean[m] += x[m * N + n] / N;
        grand += mean[m] / 3;
    }
    for (int m = 0; m < 3; m++) {
        spread += (mean[m] - grand) * (mean[m] - grand) / 2;
        for (int t = 0; t < N; t++)
            for (int n = 0; n + t < N; n++)
                a[t] += (x[m * N + n] - mean[m]) * (x[m * N + n + t] - mean[m]) / N / 3;
    }
    ck_assert_double_eq(rho[0], 1);
    for (int t = 1; t < N; t++)
        ck_assert_close(rho[t], 1 - (a[0] * N / (N - 1) - a[t]) / (a[0] + spread), 0, 1e-12);
    ck_assert_double_nan(rho[N]);
    ck_assert_double_nan(rho[N + 1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("ess");
    TCase *c = tcase_create("ess");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, golden_vector);
    tcase_add_test(c, as_arviz_says);
    tcase_add_test(c, as_arviz_says_here);
    tcase_add_test(c, constant_series);
    tcase_add_test(c, strides);
    tcase_add_test(c, series_that_say_nothing);
    tcase_add_test(c, autocorrelation);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
