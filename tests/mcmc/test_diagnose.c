/* Reports on chains: the paper's figures, and which chains are warned of. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/tensor/memory.h>

#include "support/hs_check.h"
#include "support/scarce_memory.h"

/* ---- Chains to judge ------------------------------------------------------------------------- */

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

static hs_chains *new_chains(size_t chains, size_t draws, size_t dim, unsigned keep)
{
    hs_chains *c;
    hs_message message;
    ck_assert_msg(hs_chains_new(&c, chains, draws, dim, keep, &message) == HS_OK, "%s",
                  message.text);
    return c;
}

static hs_chains *ar1(size_t chains, size_t draws, size_t dim, double phi)
{
    hs_chains *c = new_chains(chains, draws, dim, 0);
    for (size_t m = 0; m < chains; m++)
        for (size_t i = 0; i < dim; i++)
            for (size_t n = 0; n < draws; n++)
                hs_chains_draw(c, m, n)[i] =
                    n ? phi * hs_chains_draw(c, m, n - 1)[i] + sqrt(1 - phi * phi) * normal()
                      : normal();
    return c;
}

/* The cross: centres (+-4, 0), (0, +-4), covariance I/2. Proposals, taken with a fixed chance: */
typedef enum {
    INDEPENDENT,
    FLIP,
    SAME
} move; /* anywhere; in the opposite component; in the same */

/* starts: the axis of each chain; NULL: at random. */
static hs_chains *on_cross(move kind, double accept, const int *starts)
{
    hs_chains *c = new_chains(5, 1000, 2, 0);
    for (size_t m = 0; m < c->chains; m++) {
        int axis = starts ? starts[m] : uniform() < 0.5;
        double sign = uniform() < 0.5 ? -4 : 4, x[2] = { 0, 0 };
        for (size_t n = 0; n < c->draws; n++) {
            if (n == 0 || uniform() < accept) {
                if (kind == INDEPENDENT)
                    axis = uniform() < 0.5;
                if (kind == INDEPENDENT)
                    sign = uniform() < 0.5 ? -4 : 4;
                if (kind == FLIP)
                    sign = -sign;
                x[axis] = sign + normal() * sqrt(0.5);
                x[1 - axis] = normal() * sqrt(0.5);
            }
            memcpy(hs_chains_draw(c, m, n), x, sizeof x);
        }
    }
    return c;
}

static hs_report diagnose(const hs_chains *c)
{
    hs_report report;
    hs_message message;
    ck_assert_msg(hs_diagnose(c, NULL, &report, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
    return report;
}

static unsigned warnings_of(hs_chains *c)
{
    hs_report report = diagnose(c);
    const unsigned warnings = report.warnings;
    hs_report_free(&report);
    hs_chains_free(c);
    return warnings;
}

/* ---- The paper's figures --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and median over 60 runs of the least ESS / S of x and x^2; kinds of x and of x^2. */
static void cross_figures(move kind, double accept, hs_ess_kind x, hs_ess_kind x2, double *mean,
                          double *median)
{
    double figure[60];
    *mean = 0;
    for (int run = 0; run < 60; run++) {
        hs_chains *c = on_cross(kind, accept, NULL);
        hs_report report = diagnose(c);
        const double a = report.ess[x].min, b = report.ess[x2].min;
        figure[run] = (a < b ? a : b) / 5000;
        if (x == HS_ESS_RAW)
            ck_assert_double_eq(figure[run], report.ess_per_proposal);
        *mean += figure[run] / 60;
        hs_report_free(&report);
        hs_chains_free(c);
    }
    qsort(figure, 60, sizeof *figure, by_value);
    *median = (figure[29] + figure[30]) / 2;
}

START_TEST(figures_of_the_paper)
{
    random_state = 1;
    double mean, median;
    cross_figures(INDEPENDENT, 1, HS_ESS_RAW, HS_ESS_SQUARE_RAW, &mean, &median);
    ck_assert_close(mean, 0.948, 0, 0.02); /* sd 0.04 a run */
    cross_figures(FLIP, 0.975, HS_ESS_RAW, HS_ESS_SQUARE_RAW, &mean, &median);
    ck_assert_close(median, 5.9e-4, 0, 0.2e-4);
    cross_figures(SAME, 0.92, HS_ESS_RAW, HS_ESS_SQUARE_RAW, &mean, &median);
    ck_assert_close(median, 5.2e-4, 0, 0.1e-4);
    cross_figures(FLIP, 0.975, HS_ESS_MEAN, HS_ESS_SQUARE_MEAN, &mean, &median);
    ck_assert_close(median, 1.20e-3, 0, 0.04e-3);
    cross_figures(SAME, 0.92, HS_ESS_MEAN, HS_ESS_SQUARE_MEAN, &mean, &median);
    ck_assert_close(median, 1.06e-3, 0, 0.03e-3);
}
END_TEST

/* ---- Warnings -------------------------------------------------------------------------------- */

static const int both_axes[5] = { 0, 1, 0, 1, 0 };

START_TEST(non_ergodic_chains_are_named)
{
    random_state = 2;
    for (int run = 0; run < 10; run++) {
        ck_assert_uint_ne(warnings_of(on_cross(FLIP, 0.975, both_axes)) & HS_WARN_NONERGODIC, 0);
        ck_assert_uint_ne(warnings_of(on_cross(FLIP, 1, both_axes)) & HS_WARN_NONERGODIC, 0);
        ck_assert_uint_ne(warnings_of(on_cross(FLIP, 0.5, both_axes)) & HS_WARN_NONERGODIC, 0);
        ck_assert_uint_ne(warnings_of(ar1(4, 1000, 1, -0.95)) & HS_WARN_NONERGODIC, 0);
        ck_assert_uint_ne(warnings_of(ar1(4, 1000, 1, -0.95)) & HS_WARN_CAPPED, 0);
    }
}
END_TEST

START_TEST(ergodic_chains_are_not)
{
    static const double phis[] = { 0.3, 0.5, 0.8, 0.9, 0.99, 0.999, -0.3, -0.5 };
    random_state = 3;
    for (int run = 0; run < 10; run++) {
        for (size_t chains = 1; chains <= 4; chains += 3) {
            ck_assert_uint_eq(warnings_of(ar1(chains, 1000, 10, 0)), 0);
            for (size_t i = 0; i < sizeof phis / sizeof *phis; i++) {
                const unsigned found = warnings_of(ar1(chains, 1000, 3, phis[i]));
                ck_assert_uint_eq(found & HS_WARN_NONERGODIC, 0);
                if (phis[i] >= 0.99) /* slow, and told so */
                    ck_assert_uint_ne(found & HS_WARN_FEW_DRAWS, 0);
            }
        }
        ck_assert_uint_eq(warnings_of(on_cross(INDEPENDENT, 1, both_axes)), 0);
        /* Stuck in a component: the chains disagree, but nothing looks good. */
        const unsigned stuck = warnings_of(on_cross(SAME, 0.92, both_axes));
        ck_assert_uint_eq(stuck, HS_WARN_RHAT | HS_WARN_FEW_DRAWS);
    }
}
END_TEST

START_TEST(disagreement_alone_is_enough)
{
    /* Antithetic pairs round 0 with a scale of their own: the mean looks perfect. */
    random_state = 4;
    hs_chains *c = new_chains(4, 400, 1, 0);
    for (size_t m = 0; m < 4; m++)
        for (size_t n = 0; n < 400; n++)
            *hs_chains_draw(c, m, n) =
                n % 2 ? -*hs_chains_draw(c, m, n - 1) : (double)(1 + 3 * (m % 2)) * normal();
    hs_report report = diagnose(c);
    ck_assert_uint_ne(report.warnings & HS_WARN_NONERGODIC, 0);
    ck_assert_double_gt(report.rhat, 1.1);
    ck_assert_double_lt(report.rhat_split, 1.01);
    hs_message sentence;
    ck_assert(hs_report_warning(&report, HS_WARN_NONERGODIC, &sentence));
    ck_assert_ptr_nonnull(strstr(sentence.text, "this chain looks non-ergodic: in coordinate 0 "));
    ck_assert(!hs_report_warning(&report, HS_WARN_CONSTANT, &sentence));
    ck_assert_str_eq(sentence.text, "");
    hs_report_free(&report);
    hs_chains_free(c);
}
END_TEST

START_TEST(chains_that_never_move)
{
    random_state = 5;
    hs_chains *c = ar1(3, 50, 3, 0);
    for (size_t i = 0; i < 150; i++)
        c->x[3 * i + 1] = 7;
    hs_report report = diagnose(c);
    ck_assert_uint_ne(report.warnings & HS_WARN_CONSTANT, 0);
    ck_assert_uint_eq(report.constant, 1);
    ck_assert_uint_eq(report.constant_first, 1);
    ck_assert_double_eq(report.ess_per_proposal, 0);
    ck_assert_double_eq(report.ess[HS_ESS_BULK].min, 0);
    ck_assert_uint_eq(report.ess[HS_ESS_BULK].worst, 1);
    ck_assert_double_nan(report.coordinate[1].rhat);
    ck_assert(isfinite(report.rhat));
    hs_report_free(&report);
    hs_chains_free(c);
}
END_TEST

START_TEST(numbers_too_large_to_square)
{
    random_state = 6;
    hs_chains *c = ar1(2, 50, 1, 0);
    for (size_t i = 0; i < 100; i++)
        c->x[i] *= 1e200;
    hs_report report = diagnose(c);
    ck_assert_double_nan(report.ess_per_proposal);
    ck_assert_uint_ne(report.warnings & HS_WARN_UNDEFINED, 0);
    ck_assert_uint_eq(report.warnings & HS_WARN_NONERGODIC, 0);
    ck_assert(isfinite(report.ess[HS_ESS_BULK].min)); /* ranks know no scale */
    hs_report_free(&report);
    hs_chains_free(c);
}
END_TEST

/* ---- Reports --------------------------------------------------------------------------------- */

START_TEST(figures_of_a_report)
{
    random_state = 7;
    hs_chains *c = new_chains(2, 10, 3, HS_KEEP_ALL);
    for (size_t i = 0; i < 60; i++)
        c->x[i] = normal();
    for (size_t i = 0; i < 20; i++) {
        c->alpha[i] = (double)i / 20;
        c->jump[i] = (double)i;
        c->accepted[i] = i % 4 == 0;
        c->log_pi[i] = -(double)i;
    }
    c->gradients = 60;
    c->nonfinite = 3;
    c->seconds = 2;
    hs_report report = diagnose(c);
    ck_assert_close(report.acceptance, 0.475, 1e-15, 0);
    ck_assert_close(report.accepted, 0.25, 1e-15, 0);
    ck_assert_close(report.msjd, 9.5, 1e-15, 0);
    ck_assert_close(report.mean_log_pi, -9.5, 1e-15, 0);
    double jump = 0;
    for (size_t m = 0; m < 2; m++)
        for (size_t n = 0; n < 9; n++)
            for (size_t i = 0; i < 3; i++)
                jump += pow(hs_chains_draw(c, m, n + 1)[i] - hs_chains_draw(c, m, n)[i], 2) / 18;
    ck_assert_close(report.realised_jump, jump, 1e-14, 0);
    ck_assert_uint_eq(report.proposals, 20);
    ck_assert_double_eq(hs_report_per_proposal(&report, 10), 0.5);
    ck_assert_double_eq(hs_report_per_second(&report, 10), 5);
    ck_assert_double_eq(hs_report_per_gradient(&report, 30), 0.5);
    ck_assert_uint_ne(report.warnings & HS_WARN_NONFINITE, 0);
    for (int kind = 0; kind < HS_ESS_KINDS; kind++) {
        double sorted[3];
        for (int i = 0; i < 3; i++)
            sorted[i] = report.coordinate[i].ess[kind];
        ck_assert_double_eq(report.coordinate[report.ess[kind].worst].ess[kind],
                            report.ess[kind].min);
        qsort(sorted, 3, sizeof *sorted, by_value);
        ck_assert_double_eq(sorted[0], report.ess[kind].min);
        ck_assert_double_eq(sorted[1], report.ess[kind].median);
        ck_assert_double_eq(sorted[2], report.ess[kind].max);
    }
    hs_report_free(&report);
    const hs_diagnose_options options = { .coordinates = 1, .skip = 5 };
    ck_assert_int_eq(hs_diagnose(c, &options, &report, NULL), HS_OK);
    ck_assert_uint_eq(report.dim, 1);
    ck_assert_uint_eq(report.draws, 5);
    ck_assert_uint_eq(report.proposals, 10);
    ck_assert_close(report.msjd, (7 + 17) / 2.0, 1e-15, 0);
    hs_report_free(&report);
    hs_chains_free(c);
}
END_TEST

START_TEST(what_is_printed)
{
    hs_chains *c = on_cross(FLIP, 0.975, both_axes);
    hs_report report = diagnose(c);
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(hs_report_print(file, &report), HS_OK);
    char text[8192];
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    static const char *const parts[] = { "5 chains of 1000 draws in 2 dimensions",
                                         "bulk of x^2",
                                         "ESS per proposal",
                                         "R-hat: 1.",
                                         "warning: this chain looks non-ergodic: in coordinate",
                                         "warning: the chains do not agree",
                                         "warning: too few effective draws",
                                         "note: an ESS marked * is at its cap" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(text, parts[i]), "\"%s\" is not in\n%s", parts[i], text);
    hs_report empty = { 0 };
    ck_assert_int_eq(hs_report_print(stdout, &empty), HS_EINVAL);
    hs_report_free(&report);
    hs_chains_free(c);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    random_state = 8;
    hs_chains *c = ar1(3, 301, 20, 0.5);
    hs_report one, many;
    ck_assert_int_eq(hs_diagnose(c, &(hs_diagnose_options){ .threads = 1 }, &one, NULL), HS_OK);
    ck_assert_int_eq(hs_diagnose(c, &(hs_diagnose_options){ .threads = 4 }, &many, NULL), HS_OK);
    for (size_t i = 0; i < 20; i++)
        ck_assert_mem_eq(one.coordinate[i].ess, many.coordinate[i].ess, sizeof one.coordinate->ess);
    hs_report_free(&one);
    hs_report_free(&many);
    hs_chains_free(c);
}
END_TEST

/* ---- Bad input ------------------------------------------------------------------------------- */

static void assert_refused(const hs_chains *c, const hs_diagnose_options *options, hs_status status,
                           const char *part)
{
    hs_report report;
    hs_message message;
    ck_assert_int_eq(hs_diagnose(c, options, &report, &message), status);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_ptr_null(report.coordinate);
}

START_TEST(bad_chains)
{
    random_state = 9;
    assert_refused(NULL, NULL, HS_EINVAL, "there are no chains");
    assert_refused(&(hs_chains){ 0 }, NULL, HS_EINVAL, "there are no chains");
    hs_chains *c = ar1(2, 3, 2, 0);
    assert_refused(c, NULL, HS_EINVAL, "at least 4 draws a chain, there are 3");
    hs_chains_free(c);
    c = ar1(2, 10, 2, 0);
    assert_refused(c, &(hs_diagnose_options){ .skip = 7 }, HS_EINVAL, "there are 3 after those");
    assert_refused(c, &(hs_diagnose_options){ .skip = 11 }, HS_EINVAL, "there are 0 after those");
    assert_refused(c, &(hs_diagnose_options){ .coordinates = 3 }, HS_EINVAL, "there are 2");
    hs_chains_draw(c, 1, 6)[1] = (double)NAN;
    assert_refused(c, NULL, HS_ENONFINITE, "draw 6 of chain 1 is nan in coordinate 1");
    hs_chains_draw(c, 1, 6)[1] = -(double)INFINITY;
    assert_refused(c, NULL, HS_ENONFINITE, "draw 6 of chain 1 is -inf in coordinate 1");
    hs_report report;
    ck_assert_int_eq(hs_diagnose(c, NULL, NULL, NULL), HS_EINVAL);
    ck_assert_int_eq(hs_diagnose(c, &(hs_diagnose_options){ .coordinates = 1 }, &report, NULL),
                     HS_OK); /* the other coordinate is fine */
    hs_report_free(&report);
    hs_report_free(NULL);
    hs_chains_free(c);
}
END_TEST

START_TEST(memory_runs_out)
{
    random_state = 11;
    double x[2][600]; /* slow: the transform is needed */
    for (size_t i = 0; i < 1200; i++)
        x[i / 600][i % 600] = i % 600 ? x[i / 600][i % 600 - 1] + normal() : 0;
    hs_chains c = { .chains = 2, .draws = 600, .dim = 1, .x = x[0] };
    hs_set_allocator(&limited);
    hs_report report;
    hs_message message;
    hs_status status = HS_ENOMEM;
    int failures = -1;
    for (int blocks = 0; status == HS_ENOMEM; blocks++, failures++) {
        blocks_left = blocks;
        status = hs_diagnose(&c, &(hs_diagnose_options){ .threads = 1 }, &report, &message);
        if (status == HS_ENOMEM) {
            ck_assert_ptr_nonnull(strstr(message.text, "out of memory"));
            ck_assert_int_eq(living, 0);
        }
    }
    ck_assert_int_eq(status, HS_OK);
    ck_assert_int_ge(failures, 10);
    hs_report_free(&report);
    ck_assert_int_eq(living, 0);
    hs_set_allocator(NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("diagnose");
    TCase *c = tcase_create("diagnose");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, figures_of_the_paper);
    tcase_add_test(c, non_ergodic_chains_are_named);
    tcase_add_test(c, ergodic_chains_are_not);
    tcase_add_test(c, disagreement_alone_is_enough);
    tcase_add_test(c, chains_that_never_move);
    tcase_add_test(c, numbers_too_large_to_square);
    tcase_add_test(c, figures_of_a_report);
    tcase_add_test(c, what_is_printed);
    tcase_add_test(c, threads_do_not_matter);
    tcase_add_test(c, bad_chains);
    tcase_add_test(c, memory_runs_out);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
