/* Fits of Ab Initio's coefficient. */
#include "problems.h"

#include <string.h>

#include <hastings/objectives/fit.h>
#include <hastings/objectives/objectives.h>

/* The exact coefficients at d = 1000, from 1.6e7 samples in another program: errors 0.00004. */
static const double exact_walk = 0.18157, exact_mala = 0.24981;

static const hs_fit_options options = { .sampling = { .rows = 50000 } };

START_TEST(newton_on_one_problem)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference r = _i ? hs_reference_mala(s, 1000) : hs_reference_walk(s, 1000);
    hs_fit fit;
    ck_assert_int_eq(hs_fit_newton(&r, NULL, &options, &fit), HS_OK);
    ck_assert(fit.converged);
    ck_assert_int_le(fit.iterations, 5);
    ck_assert_close(fit.acceptance[0], r.acceptance, 0, 1e-5);
    ck_assert_double_lt(fit.error[0], 0.0015);
    ck_assert_close(fit.coefficient[0], _i ? exact_mala : exact_walk, 0, 4 * fit.error[0]);
    /* The paper's coefficients were fitted by hand, to acceptances with an error of about 0.004. */
    ck_assert_close(fit.coefficient[0], _i ? 0.25324 : 0.18125, 0.02, 0);

    /* The loss is linear in A, so that at the step of the right acceptance A is a quotient of
     * slopes: slope(A) = slope(0) - A (slope(0) - slope(1)). The same draws give the same A. */
    const hs_objective kl = hs_kl(), one = hs_ab_initio(1);
    hs_reference_options same = options.sampling;
    same.seed = 1 + 0x9E3779B97F4A7C15u;
    hs_optimum at_kl, at_one;
    ck_assert_int_eq(hs_reference_tune(&r, r.acceptance, &kl, &same, &at_kl), HS_OK);
    ck_assert_int_eq(hs_reference_evaluate(&r, &one, at_kl.step, &same, &at_one), HS_OK);
    ck_assert_close(fit.coefficient[0], at_kl.slope / (at_kl.slope - at_one.slope), 0, 2e-5);
    hs_session_free(s);
}
END_TEST

START_TEST(newton_from_afar)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference r = hs_reference_walk(s, 100);
    const hs_fit_options few = { .sampling = { .rows = 20000 } };
    const hs_objective_family low = hs_ab_initio_family(0.01), high = hs_ab_initio_family(3);
    const hs_objective_family logarithm = hs_ab_initio_log_family(0.05);
    hs_fit a, b, c;
    ck_assert_int_eq(hs_fit_newton(&r, &low, &few, &a), HS_OK);
    ck_assert_int_eq(hs_fit_newton(&r, &high, &few, &b), HS_OK);
    ck_assert_int_eq(hs_fit_newton(&r, &logarithm, &few, &c), HS_OK);
    ck_assert(a.converged && b.converged && c.converged);
    ck_assert_close(a.coefficient[0], b.coefficient[0], 1e-3, 0);
    ck_assert_close(a.coefficient[0], c.coefficient[0] * log(100), 1e-3, 0);
    hs_session_free(s);
}
END_TEST

/* 0.21510 to two digits: the paper's lines were fitted to its own, noisy coefficients. */
START_TEST(balanced_fits_agree)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference both[] = { hs_reference_walk(s, 1000), hs_reference_mala(s, 1000) };
    const hs_fit_options few = { .sampling = { .rows = 20000 } };
    hs_fit line, square, noisy;
    ck_assert_int_eq(hs_fit_linear(both, 2, 0.18, 0.255, NULL, &few, &line), HS_OK);
    ck_assert_int_eq(hs_fit_least_squares(both, 2, NULL, &few, &square), HS_OK);
    ck_assert_int_eq(
        hs_fit_stochastic(both, 2, NULL, &(hs_fit_options){ .sampling = { .rows = 5000 } }, &noisy),
        HS_OK);
    ck_assert(line.converged && square.converged && noisy.converged);
    ck_assert_double_lt(line.curvature, 0.004);
    ck_assert_close(line.coefficient[0], square.coefficient[0], 0.015, 0);
    ck_assert_close(square.coefficient[0], 0.2099, 0, 4 * square.error[0]);
    ck_assert_close(noisy.coefficient[0], 0.2099, 0, 0.001 + 4 * noisy.error[0]);
    ck_assert_close(square.coefficient[0], 0.2151, 0, 0.0065);
    /* It lies between: random walks accept too much, MALA too little. */
    ck_assert_double_gt(square.acceptance[0], 0.26);
    ck_assert_double_lt(square.acceptance[1], 0.545);
    ck_assert_close(square.misfit,
                    hypot(square.acceptance[0] - 0.234, square.acceptance[1] - 0.574), 1e-9, 0);
    hs_session_free(s);
}
END_TEST

/* Two coefficients: with a d + b sqrt(d) problems of two dimensions are fitted at once. */
static hs_var loss_of_two(const hs_transition *t, const hs_objective *o)
{
    const double d = (double)t->dim, c = o->number[0] * d + o->number[1] * sqrt(d);
    return hs_sub(hs_sub(t->log_g_fwd, t->log_pi_y), hs_scale(t->log_alpha, c));
}

static hs_objective make_two(const double *a)
{
    return (hs_objective){ .name = "two", .loss = loss_of_two, .number = { a[0], a[1] } };
}

START_TEST(two_coefficients)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    const hs_reference r[] = { hs_reference_walk(s, 10), hs_reference_walk(s, 100),
                               hs_reference_walk(s, 1000) };
    const hs_objective_family two = { .make = make_two, .count = 2, .start = { 0.2, 0.01 } };
    const hs_fit_options few = { .sampling = { .rows = 20000 } };
    const hs_fit_options fewer = { .sampling = { .rows = 5000 }, .tolerance = 0.05 };
    hs_fit all, exact, noisy;
    ck_assert_int_eq(hs_fit_least_squares(r + 1, 2, &two, &few, &exact), HS_OK);
    ck_assert_close(exact.acceptance[0], 0.234, 0, 1e-4);
    ck_assert_close(exact.acceptance[1], 0.234, 0, 1e-4);
    ck_assert_int_eq(hs_fit_least_squares(r, 3, &two, &few, &all), HS_OK);
    ck_assert(all.converged && all.misfit < 0.02);
    ck_assert_int_eq(hs_fit_stochastic(r + 1, 2, &two, &fewer, &noisy), HS_OK);
    for (int j = 0; j < 2; j++)
        ck_assert_close(noisy.coefficient[j], exact.coefficient[j], 0.01,
                        5 * hypot(noisy.error[j], exact.error[j]));
    hs_session_free(s);
}
END_TEST

START_TEST(fits_repeat)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 9 });
    hs_session *other = hs_session_new(&(hs_session_options){ .seed = 9, .threads = 3 });
    const hs_reference a = hs_reference_mala(s, 50), b = hs_reference_mala(other, 50);
    const hs_fit_options few = { .sampling = { .rows = 5000 } };
    hs_fit first, second;
    ck_assert_int_eq(hs_fit_newton(&a, NULL, &few, &first), HS_OK);
    ck_assert_int_eq(hs_fit_newton(&b, NULL, &few, &second), HS_OK);
    ck_assert_double_eq(first.coefficient[0], second.coefficient[0]);
    hs_session_free(s);
    hs_session_free(other);
}
END_TEST

static void refused(hs_session *s, hs_status status, const char *message)
{
    ck_assert_int_eq(status, HS_EINVAL);
    ck_assert_msg(strstr(hs_session_error(s), message) != NULL, "%s", hs_session_error(s));
    hs_session_clear(s);
}

START_TEST(bad_fits_are_refused)
{
    hs_session *s = hs_session_new(NULL);
    hs_reference r[HS_FIT_PROBLEMS + 1];
    for (int i = 0; i <= HS_FIT_PROBLEMS; i++)
        r[i] = hs_reference_walk(s, 10);
    const hs_objective_family two = { .make = make_two, .count = 2, .start = { 0.2, 0.01 } };
    hs_fit fit;
    refused(s, hs_fit_least_squares(r, HS_FIT_PROBLEMS + 1, NULL, &options, &fit), "at most 16");
    refused(s, hs_fit_least_squares(r, 1, &two, &options, &fit), "2 coefficients cannot be fitted");
    refused(s, hs_fit_linear(r, 1, 0.3, 0.2, NULL, &options, &fit), "low < high");
    r[0].acceptance = 0;
    refused(s, hs_fit_newton(r, NULL, &options, &fit), "its optimal acceptance");
    const hs_objective_family negative = hs_ab_initio_family(-1);
    refused(s, hs_fit_newton(r + 1, &negative, &options, &fit),
            "A, the coefficient, is -1 and must lie in [0, inf)");
    ck_assert_int_eq(hs_fit_stochastic(r, 0, NULL, &options, &fit), HS_EINVAL);
    hs_session_free(s);
}
END_TEST

static Suite *fit_suite(void)
{
    Suite *suite = suite_create("objectives: fit");
    TCase *tests = tcase_create("fit");
    tcase_add_loop_test(tests, newton_on_one_problem, 0, 2);
    tcase_add_test(tests, newton_from_afar);
    tcase_add_test(tests, balanced_fits_agree);
    tcase_add_test(tests, two_coefficients);
    tcase_add_test(tests, fits_repeat);
    tcase_add_test(tests, bad_fits_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(fit_suite())
