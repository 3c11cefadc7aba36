/* The exact optima of random walk and MALA, found by root search on common random numbers. Expected
 * values were computed independently, with an error of 0.001 in the acceptance. */
#include "problems.h"

#include <string.h>

#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/targets/targets.h>
#include <hastings/mcmc/train.h>
#include <hastings/objectives/objectives.h>
#include <hastings/objectives/reference.h>

static void expect(const hs_reference *r, hs_objective o, size_t rows, double acceptance,
                   double tolerance, double msjd)
{
    hs_optimum best;
    char text[HS_OBJECTIVE_TEXT];
    const hs_session *s = hs_target_session(r->target);
    ck_assert_msg(!hs_reference_optimum(r, &o, &(hs_reference_options){ .rows = rows }, &best),
                  "%s", hs_session_error(s));
    hs_objective_text(&o, text);
    ck_assert_msg(fabs(best.acceptance - acceptance) < tolerance + 4 * best.acceptance_error,
                  "%s, %s: accepts %.4f(%.4f), not %.3f", hs_target_name(r->target), text,
                  best.acceptance, best.acceptance_error, acceptance);
    ck_assert_double_lt(best.acceptance_error, 0.004);
    ck_assert_msg(msjd == 0 || fabs(best.msjd - msjd) < 0.003 * msjd + 4 * best.msjd_error,
                  "%s: MSJD %.4f(%.4f), not %.3f", text, best.msjd, best.msjd_error, msjd);
}

/* ---- Gaussian target, all objectives
 * ------------------------------------------------------------- */

static hs_objective speed(double b)
{
    return hs_gsm_with(&(hs_target_acceptance){ .acceptance = 0.5, .b = b });
}

START_TEST(walk_on_a_gaussian)
{
    const size_t rows = 60000;
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference d100 = hs_reference_walk(s, 100), d1000 = hs_reference_walk(s, 1000);
    expect(&d100, hs_ab_initio(0.18125), rows, 0.247, 0.001, 1.311);
    expect(&d100, hs_ab_initio(0.21510), rows, 0.285, 0.001, 0);
    expect(&d100, hs_ab_initio(0.25324), rows, 0.323, 0.001, 0);
    expect(&d100, hs_msjd(), rows, 0.236, 0.001, 1.312);
    expect(&d100, hs_l2hmc(1), rows, 0.584, 0.001, 0);
    expect(&d100, hs_l2hmc_guarded(1, 0), rows, 0.584, 0.001, 0);
    expect(&d100, hs_l2hmc(0.1), rows, 0.338, 0.002, 0);
    expect(&d100, speed(4.15), rows, 0.3, 0.003, 1.28);
    expect(&d100, speed(1.14), rows, 0.6, 0.003, 0.66);
    expect(&d100, speed(0.134), rows, 0.9, 0.003, 0);
    expect(&d1000, hs_ab_initio(0.18125), rows, 0.233, 0.001, 1.32);
    expect(&d1000, hs_msjd(), rows, 0.234, 0.001, 1.32);
    expect(&d1000, hs_l2hmc(1), rows, 0.581, 0.001, 0);
    hs_session_free(s);
}
END_TEST

START_TEST(mala_on_a_gaussian)
{
    const size_t rows = 60000;
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference d100 = hs_reference_mala(s, 100), d1000 = hs_reference_mala(s, 1000);
    expect(&d100, hs_ab_initio(0.18125), rows, 0.543, 0.001, 38.56);
    expect(&d100, hs_ab_initio(0.21510), rows, 0.575, 0.001, 0);
    expect(&d100, hs_ab_initio(0.25324), rows, 0.605, 0.001, 0);
    expect(&d100, hs_msjd(), rows, 0.542, 0.001, 38.56);
    expect(&d100, hs_l2hmc(1), rows, 0.543, 0.001, 38.6);
    expect(&d100, speed(12.4), rows, 0.3, 0.004, 0);
    expect(&d1000, hs_ab_initio(0.18125), rows, 0.505, 0.001, 165.6);
    expect(&d1000, hs_msjd(), rows, 0.556, 0.001, 166.9);
    expect(&d1000, hs_l2hmc(1), rows, 0.556, 0.001, 166.6);
    hs_session_free(s);
}
END_TEST

/* Scout's objective at rest is Ab Initio with A = 1 / b. */
START_TEST(scout_is_ab_initio)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference r = hs_reference_walk(s, 100);
    const hs_objective a = hs_ab_initio(0.18125);
    const hs_objective b =
        hs_scout_with(&(hs_target_acceptance){ .acceptance = 0.5, .b = 1 / 0.18125 });
    hs_optimum of_a, of_b;
    ck_assert_int_eq(hs_reference_optimum(&r, &a, NULL, &of_a), HS_OK);
    ck_assert_int_eq(hs_reference_optimum(&r, &b, NULL, &of_b), HS_OK);
    ck_assert_close(of_b.acceptance, of_a.acceptance, 1e-5, 0);
    hs_session_free(s);
}
END_TEST

/* ---- Any target
 * ---------------------------------------------------------------------------------- */

static hs_reference full_problem(hs_session *s, test_density density, size_t dim, bool mala,
                                 bool stopped, double step)
{
    const hs_target *target = make_target(s, density, dim);
    return (hs_reference){ .target = target,
                           .proposal = make_proposal(s, dim, mala ? target : NULL, stopped, step) };
}

START_TEST(full_problems_have_the_same_optima)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    const hs_reference walk = full_problem(s, NORMAL, 100, false, false, 0.5);
    const hs_reference mala = full_problem(s, NORMAL, 100, true, false, 0.1);
    expect(&walk, hs_ab_initio(0.18125), 20000, 0.247, 0.001, 1.311);
    expect(&walk, hs_msjd(), 20000, 0.236, 0.001, 1.312);
    expect(&mala, hs_ab_initio(0.18125), 20000, 0.543, 0.001, 38.56);
    expect(&mala, hs_l2hmc(1), 20000, 0.543, 0.001, 38.6);
    hs_session_free(s);
}
END_TEST

START_TEST(walk_on_laplace_and_cauchy)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    const hs_reference laplace = full_problem(s, LAPLACE, 100, false, false, 0.24);
    const hs_reference cauchy = full_problem(s, CAUCHY, 100, false, false, 0.3);
    expect(&laplace, hs_ab_initio(0.18125), 20000, 0.2305, 0.001, 1.483);
    expect(&laplace, hs_msjd(), 20000, 0.217, 0.002, 1.484);
    expect(&laplace, hs_l2hmc(1), 20000, 0.569, 0.001, 0.78);
    expect(&cauchy, hs_ab_initio(0.18125), 20000, 0.237, 0.001, 2.725);
    expect(&cauchy, hs_msjd(), 20000, 0.227, 0.002, 2.728);
    expect(&cauchy, hs_l2hmc(1), 20000, 0.512, 0.001, 1.78);
    hs_session_free(s);
}
END_TEST

/* The library's own, whose parameter is the step, or its logarithm. */
START_TEST(library_proposals_are_problems)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    const hs_target *target = hs_target_gaussian(s, 100, NULL);
    const hs_walk_options raw = { .dim = 100 }, logarithm = { .dim = 100, .log_step = true };
    const hs_reference walk = { .target = target, .proposal = hs_random_walk(s, &raw) };
    const hs_reference mala = { .target = target, .proposal = hs_mala(s, target, &logarithm) };
    expect(&walk, hs_ab_initio(0.18125), 20000, 0.247, 0.001, 1.311);
    expect(&mala, hs_ab_initio(0.18125), 20000, 0.543, 0.001, 38.56);
    hs_session_free(s);
}
END_TEST

/* Trained with a target acceptance, proposals reach it: the feedback has the right sign. */
START_TEST(training_reaches_the_target_acceptance)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    const hs_target *target = make_target(s, NORMAL, 20);
    const hs_objective objective = _i % 2 ? hs_scout(0.3) : hs_gsm(0.3);
    const double start = _i < 2 ? 0.05 : 2;
    const hs_proposal *walk =
        hs_random_walk(s, &(hs_walk_options){ .dim = 20, .step = start, .log_step = true });
    hs_training result;
    ck_assert_int_eq(hs_train(s, target, walk,
                              &(hs_train_options){ .objective = objective,
                                                   .starts = 8,
                                                   .proposals = 20,
                                                   .steps = 4000,
                                                   .optimizer = { .rate = 5e-3 } },
                              &result),
                     HS_OK);
    ck_assert_close(result.alpha, 0.3, 0, 0.02);
    ck_assert(result.adapted > 1 && result.adapted < 20);
    hs_session_free(s);
}
END_TEST

/* If the score at y is held constant the optimum is elsewhere. */
START_TEST(mala_needs_second_derivatives)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    const hs_reference stopped = full_problem(s, NORMAL, 100, true, true, 0.1);
    expect(&stopped, hs_ab_initio(0.18125), 20000, 0.923, 0.002, 0);
    expect(&stopped, hs_msjd(), 20000, 0.979, 0.002, 0);
    hs_session_free(s);
}
END_TEST

/* ---- The machinery
 * -------------------------------------------------------------------------------- */

START_TEST(few_dimensions_are_reduced_exactly)
{
    static const size_t dims[] = { 2, 3, 8, 12, 41 };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 4 });
    const hs_objective o = hs_ab_initio(0.18125);
    const hs_reference_options options = { .rows = 100000 };
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int mala = 0; mala < 2; mala++) {
            const size_t d = dims[i];
            const hs_reference a = mala ? hs_reference_mala(s, d) : hs_reference_walk(s, d);
            const hs_reference b = full_problem(s, NORMAL, d, mala, false, 0.3);
            hs_optimum of_a, of_b;
            ck_assert_int_eq(hs_reference_evaluate(&a, &o, 0.4, &options, &of_a), HS_OK);
            ck_assert_int_eq(hs_reference_evaluate(&b, &o, 0.4, &options, &of_b), HS_OK);
            ck_assert_close(of_a.loss, of_b.loss, 0, 5 * hypot(of_a.loss_error, of_b.loss_error));
            ck_assert_close(of_a.slope, of_b.slope, 0,
                            5 * hypot(of_a.slope_error, of_b.slope_error));
            ck_assert_close(of_a.acceptance, of_b.acceptance, 0,
                            5 * hypot(of_a.acceptance_error, of_b.acceptance_error));
            ck_assert_close(of_a.msjd, of_b.msjd, 0, 5 * hypot(of_a.msjd_error, of_b.msjd_error));
        }
    hs_session_free(s);
}
END_TEST

/* The errors that are reported are those that are made: 30 seeds. */
START_TEST(errors_are_as_reported)
{
    hs_session *s = hs_session_new(NULL);
    const hs_reference r = hs_reference_walk(s, 100);
    const hs_objective o = hs_ab_initio(0.18125);
    enum { SEEDS = 30 };
    double mean = 0, square = 0, reported = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        hs_optimum best;
        ck_assert_int_eq(hs_reference_optimum(
                             &r, &o, &(hs_reference_options){ .rows = 10000, .seed = seed }, &best),
                         HS_OK);
        mean += best.acceptance / SEEDS;
        square += best.acceptance * best.acceptance / SEEDS;
        reported += best.acceptance_error / SEEDS;
    }
    const double scatter = sqrt(SEEDS * (square - mean * mean) / (SEEDS - 1));
    ck_assert_close(scatter, reported, 0.5, 0); /* chi with 29 degrees: 4 sigma */
    ck_assert_close(mean, 0.2473, 0, 0.0005 + 4 * reported / sqrt(SEEDS));
    hs_session_free(s);
}
END_TEST

START_TEST(steps_for_an_acceptance)
{
    static const struct {
        bool mala;
        size_t dim;
        double step, msjd;
    } cases[] = { { false, 100, 0.2391, 1.312 },
                  { false, 1000, 0.0752, 1.320 },
                  { true, 100, 0.2939, 38.44 },
                  { true, 1000, 0.1361, 166.7 } };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_objective o = hs_msjd();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hs_reference r =
            cases[i].mala ? hs_reference_mala(s, cases[i].dim) : hs_reference_walk(s, cases[i].dim);
        hs_optimum at;
        ck_assert_int_eq(hs_reference_tune(&r, r.acceptance, &o, NULL, &at), HS_OK);
        ck_assert_close(at.acceptance, r.acceptance, 1e-6, 0);
        ck_assert_close(at.step, cases[i].step, 0.005, 0);
        ck_assert_close(at.msjd, cases[i].msjd, 0.002, 4 * at.msjd_error);
    }
    hs_session_free(s);
}
END_TEST

static void refuses(hs_session *s, const hs_reference *r, hs_objective o, const char *message)
{
    hs_optimum best;
    ck_assert_int_ne(hs_reference_optimum(r, &o, &(hs_reference_options){ .rows = 1000 }, &best),
                     HS_OK);
    ck_assert_msg(strstr(hs_session_error(s), message) != NULL, "%s", hs_session_error(s));
    hs_session_clear(s);
}

static hs_var no_draw_density(void *self, hs_var x)
{
    (void)self;
    return hs_log_normal(x);
}

START_TEST(bad_problems_are_refused)
{
    hs_session *s = hs_session_new(NULL);
    const hs_reference good = full_problem(s, NORMAL, 4, false, false, 0.5);
    hs_reference r = good;
    r.target = hs_target_new(s, &(hs_target_spec){ .dim = 4, .log_density = no_draw_density });
    refuses(s, &r, hs_msjd(), "cannot be sampled directly");
    r = good;
    r.proposal = make_proposal(s, 5, NULL, false, 0.5);
    refuses(s, &r, hs_msjd(), "has 4 dimensions, and proposal \"test\" has 5");
    r = good;
    r.proposal = NULL;
    refuses(s, &r, hs_msjd(), "its proposal has no step size");
    refuses(s, &good, hs_ab_initio(-1), "A, the coefficient, is -1 and must lie in [0, inf)");
    hs_reference negative = full_problem(s, NORMAL, 4, false, false, -1);
    refuses(s, &negative, hs_msjd(), "its step is not positive");
    /* A random walk's divergence is smallest at a step of 1. */
    hs_optimum best;
    const hs_objective kl = hs_kl();
    ck_assert_int_eq(hs_reference_optimum(&good, &kl, NULL, &best), HS_OK);
    ck_assert_close(best.step, 1, 0.01, 0);
    /* The likelihood of a random walk only grows as its steps get smaller. */
    refuses(s, &good, hs_nll(), "no solution is found");
    hs_reference small = hs_reference_walk(s, 1);
    refuses(s, &good, kl, "at least 2 dimensions");
    ck_assert_ptr_null(small.target);
    hs_session_free(s);
}
END_TEST

static Suite *optima_suite(void)
{
    Suite *suite = suite_create("objectives: optima");
    TCase *tests = tcase_create("optima");
    tcase_add_test(tests, walk_on_a_gaussian);
    tcase_add_test(tests, mala_on_a_gaussian);
    tcase_add_test(tests, scout_is_ab_initio);
    tcase_add_test(tests, full_problems_have_the_same_optima);
    tcase_add_test(tests, walk_on_laplace_and_cauchy);
    tcase_add_test(tests, library_proposals_are_problems);
    tcase_add_loop_test(tests, training_reaches_the_target_acceptance, 0, 4);
    tcase_add_test(tests, mala_needs_second_derivatives);
    tcase_add_test(tests, few_dimensions_are_reduced_exactly);
    tcase_add_test(tests, errors_are_as_reported);
    tcase_add_test(tests, steps_for_an_acceptance);
    tcase_add_test(tests, bad_problems_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(optima_suite())
