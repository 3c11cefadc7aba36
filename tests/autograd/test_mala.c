/* The Metropolis-adjusted Langevin step on the tape: its drift is a gradient, and training the step
 * size differentiates through it. Numbers are those of facts.md, sections 3 and 9. */
#include "support/hs_check.h"

#include <hastings.h>

typedef hs_var target(hs_var x);

/* log density of N(0, I). */
static hs_var gaussian(hs_var x)
{
    const double d = (double)hs_var_shape(x).dim[0];
    return hs_shift(hs_scale(hs_dot(x, x), -0.5), -0.5 * d * log(2 * acos(-1)));
}

/* Three Gaussians of different weights and widths, far enough apart for the Hessian to change. */
static hs_var mixture(hs_var x)
{
    enum { PARTS = 3, MOST = 16 };
    const size_t d = hs_var_shape(x).dim[0];
    double mean[PARTS * MOST], width[PARTS], weight[PARTS];
    for (size_t k = 0; k < PARTS; k++) {
        for (size_t i = 0; i < d; i++)
            mean[k * d + i] = 1.5 * sin(1.0 + (double)(3 * k + i));
        width[k] = -0.5 / (0.5 + 0.25 * (double)k);
        weight[k] = log(0.2 + 0.2 * (double)k) - 0.5 * (double)d * log(0.5 + 0.25 * (double)k);
    }
    hs_var apart = hs_sub(x, hs_tensor(x.tape, hs_dims(PARTS, d), mean));
    hs_var square = hs_sum_last(hs_square(apart));
    return hs_logsumexp(hs_add(hs_mul(square, hs_tensor(x.tape, hs_dims(PARTS), width)),
                               hs_tensor(x.tape, hs_dims(PARTS), weight)),
                        0);
}

static hs_var score(target *log_pi, hs_var x)
{
    hs_var slope;
    hs_grad(log_pi(x), &x, 1, &slope);
    return slope;
}

/* log N(y; x + tau s, 2 tau I) */
static hs_var log_density(hs_var y, hs_var x, hs_var s, hs_var tau)
{
    const double d = (double)hs_var_shape(x).dim[0];
    hs_var rest = hs_sub(y, hs_add(x, hs_mul(tau, s)));
    hs_var quadratic = hs_div(hs_dot(rest, rest), hs_scale(tau, 4));
    return hs_neg(hs_add(quadratic, hs_scale(hs_log(hs_scale(tau, 4 * acos(-1))), 0.5 * d)));
}

typedef struct {
    hs_tape *tape;
    hs_var theta; /* log tau */
    hs_var kl, log_ratio, log_alpha, loss, slope, ratio_slope, accepted;
} step;

static step record(target *log_pi, size_t d, bool stopped)
{
    step m = { .tape = hs_tape_new(HS_F64) };
    m.theta = hs_input(m.tape, "theta", HS_SHARED, hs_scalar_shape());
    hs_var tau = hs_exp(m.theta), x = hs_normal(m.tape, HS_START, hs_dims(d), 1);
    hs_var n = hs_normal(m.tape, HS_ROW, hs_dims(d), 2), forward = score(log_pi, x);
    hs_var y = hs_add(hs_add(x, hs_mul(tau, forward)), hs_mul(hs_sqrt(hs_scale(tau, 2)), n));
    hs_var backward = score(log_pi, y);
    if (stopped)
        backward = hs_stop(backward);
    hs_var g_forward = log_density(y, x, forward, tau),
           g_reverse = log_density(x, y, backward, tau);
    m.kl = hs_sub(g_forward, log_pi(y));
    m.log_ratio = hs_sub(hs_add(log_pi(y), g_reverse), hs_add(log_pi(x), g_forward));
    m.log_alpha = hs_min(m.log_ratio, hs_const(m.tape, 0));
    m.accepted = hs_mean_rows(hs_exp(m.log_alpha));
    m.loss = hs_mean_rows(hs_sub(m.kl, hs_scale(m.log_alpha, 0.18125 * (double)d)));
    hs_grad(m.loss, &m.theta, 1, &m.slope);
    hs_grad(hs_mean_rows(m.log_ratio), &m.theta, 1, &m.ratio_slope);
    return m;
}

static hs_plan *plan_of(const step *m, const hs_var *outputs, size_t n, size_t starts, size_t rows)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(
        &plan, outputs, n, &(hs_plan_options){ .starts = starts, .rows_per_start = rows });
    ck_assert_msg(status == HS_OK, "%s", hs_tape_error(m->tape));
    return plan;
}

/* Fourth-order difference of an output along theta, on the same noise. */
static double difference(hs_plan *plan, const step *m, hs_var output, double theta)
{
    const double weight[] = { 1, -8, 8, -1 }, shift[] = { -2, -1, 1, 2 }, h = 1e-4;
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double at = theta + shift[i] * h;
        hs_plan_set(plan, m->theta, &at);
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 7 }), HS_OK);
        sum += weight[i] * hs_plan_scalar(plan, output);
    }
    return sum / (12 * h);
}

START_TEST(slopes_match_differences)
{
    target *const targets[] = { gaussian, mixture };
    const size_t dims[] = { 1, 2, 5, 16 };
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 4; i++)
            for (int stopped = 0; stopped < 2; stopped++) {
                step m = record(targets[t], dims[i], stopped);
                const hs_var outputs[] = { m.loss, m.slope, m.ratio_slope };
                hs_plan *plan = plan_of(&m, outputs, 3, 7, 5);
                const double theta = log(0.3);
                hs_plan_set(plan, m.theta, &theta);
                ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 7 }), HS_OK);
                const double slope = hs_plan_scalar(plan, m.slope);
                const double expected = difference(plan, &m, m.loss, theta);
                if (stopped) /* what is dropped matters */
                    ck_assert_msg(fabs(slope - expected) > 1e-3 * fabs(expected),
                                  "target %d, d = %zu: %.12g and %.12g", t, dims[i], slope,
                                  expected);
                else
                    ck_assert_msg(hs_close(slope, expected, 1e-6, 1e-8),
                                  "target %d, d = %zu: %.12g and %.12g", t, dims[i], slope,
                                  expected);
                hs_plan_free(plan);
                hs_tape_free(m.tape);
            }
}
END_TEST

/* The drift itself, and its derivative, in the closed form of the Gaussian: -x and -v. */
START_TEST(score_and_hessian_of_a_gaussian)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(4), 1), v = hs_normal(tape, HS_START, hs_dims(4), 2);
    hs_var s = score(gaussian, x), hv, third;
    hs_grad(hs_dot(s, v), &x, 1, &hv);
    hs_grad(hs_dot(hv, hv), &x, 1, &third);
    hs_var bad =
        hs_add(hs_sum_last(hs_square(hs_add(s, x))), hs_sum_last(hs_square(hs_add(hv, v))));
    bad = hs_add(bad, hs_sum_last(hs_abs(third)));
    hs_var total = hs_sum_rows(bad);
    hs_plan *plan;
    ck_assert_int_eq(
        hs_plan_new(&plan, &total, 1, &(hs_plan_options){ .starts = 5, .rows_per_start = 3 }),
        HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    ck_assert_double_lt(hs_plan_scalar(plan, total), 1e-25);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(loss_at_the_optimum)
{
    step m = record(gaussian, 100, false);
    hs_var kl = hs_mean_rows(m.kl), log_alpha = hs_mean_rows(m.log_alpha);
    const hs_var outputs[] = { kl, log_alpha, m.loss, m.slope, m.accepted };
    hs_plan *plan = plan_of(&m, outputs, 5, 20000, 1);
    const double theta = log(0.3095);
    hs_plan_set(plan, m.theta, &theta);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 3 }), HS_OK);
    ck_assert_close(hs_plan_scalar(plan, kl), 28.76, 0, 0.15);
    ck_assert_close(hs_plan_scalar(plan, log_alpha), -0.940, 0, 0.03);
    ck_assert_close(hs_plan_scalar(plan, m.loss), 45.8, 0, 0.6);
    ck_assert_close(hs_plan_scalar(plan, m.accepted), 0.543, 0, 0.01);
    ck_assert_close(hs_plan_scalar(plan, m.slope), 0, 0, 1.5); /* the optimum; sd .38 d per row */
    hs_plan_free(plan);
    hs_tape_free(m.tape);
}
END_TEST

START_TEST(dropping_the_second_order_is_no_small_error)
{
    const double expected[] = { -2.06, -80.5 }, tolerance[] = { 0.15, 1.0 }, theta = log(0.14);
    for (int stopped = 0; stopped < 2; stopped++) {
        step m = record(gaussian, 1000, stopped);
        hs_plan *plan = plan_of(&m, &m.ratio_slope, 1, 4000, 1);
        hs_plan_set(plan, m.theta, &theta);
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 2 }), HS_OK);
        ck_assert_close(hs_plan_scalar(plan, m.ratio_slope), expected[stopped], 0,
                        tolerance[stopped]);
        hs_plan_free(plan);
        hs_tape_free(m.tape);
    }
}
END_TEST

static Suite *mala_suite(void)
{
    Suite *suite = suite_create("mala");
    TCase *tests = tcase_create("mala");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, slopes_match_differences);
    tcase_add_test(tests, score_and_hessian_of_a_gaussian);
    tcase_add_test(tests, loss_at_the_optimum);
    tcase_add_test(tests, dropping_the_second_order_is_no_small_error);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(mala_suite())
