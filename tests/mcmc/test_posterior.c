/* Logistic regression: HMC, a long random walk and the Laplace approximation agree where they should, and
 * the spread of the posterior is the known one. And restarts, on a target where they matter. */
#include "support/hs_check.h"

#include <hastings.h>

#include <string.h>

enum { CHAINS = 40, MOST = 32 };

typedef struct {
    double mean[MOST], sd[MOST], error[MOST]; /* of each coordinate; error is that of the mean */
    double spread;                            /* 2 tr(covariance) */
    double correlation;                       /* of the first two coordinates */
} summary;

static summary summarise(const hs_chains *c)
{
    summary s = { { 0 }, { 0 }, { 0 }, 0, 0 };
    hs_report report;
    hs_message message;
    ck_assert_msg(!hs_diagnose(c, NULL, &report, &message), "%s", message.text);
    const size_t n = c->chains * c->draws;
    double product = 0;
    for (size_t i = 0; i < c->dim; i++) {
        for (size_t k = 0; k < n; k++)
            s.mean[i] += c->x[k * c->dim + i] / (double)n;
        for (size_t k = 0; k < n; k++)
            s.sd[i] += pow(c->x[k * c->dim + i] - s.mean[i], 2) / (double)n;
        s.spread += 2 * s.sd[i];
        s.sd[i] = sqrt(s.sd[i]);
        s.error[i] = s.sd[i] / sqrt(report.coordinate[i].ess[HS_ESS_MEAN]);
    }
    for (size_t k = 0; k < n; k++)
        product += (c->x[k * c->dim] - s.mean[0]) * (c->x[k * c->dim + 1] - s.mean[1]) / (double)n;
    s.correlation = product / (s.sd[0] * s.sd[1]);
    hs_report_free(&report);
    return s;
}

typedef struct {
    const char *path;
    double spread, tolerance; /* 2 tr(covariance), by importance sampling round the mode */
} posterior;

static const posterior posteriors[] = { { "data/pima.csv", 0.2124, 0.03 },
                                        { "data/ripley.csv", 0.5471, 0.03 },
                                        { "data/german.csv", 0.3700, 0.03 } };

START_TEST(samplers_agree)
{
    const posterior *p = &posteriors[_i];
    hs_dataset *data;
    hs_message message;
    ck_assert_msg(!hs_dataset_load_csv(&data, p->path, NULL, &message), "%s", message.text);
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 5 });
    hs_target *target = hs_target_logistic(s, data, NULL);
    const size_t d = hs_target_dim(target);
    static double mode[MOST], covariance[MOST * MOST], points[CHAINS * MOST], sd[MOST];
    hs_laplace_approximation(s, target, NULL, mode, covariance);
    for (size_t i = 0; i < d; i++)
        sd[i] = sqrt(covariance[i * d + i]);
    for (size_t i = 0; i < CHAINS * d; i++)
        points[i] = mode[i % d];

    hs_proposal *hmc = hs_hmc(s, target, NULL);
    hs_tune(s, target, hmc,
            &(hs_tune_options){ .chains = CHAINS, .steps = 400, .points = points, .last = points },
            NULL);
    const hs_sample_options options = {
        .chains = CHAINS, .draws = 500, .points = points, .n_points = CHAINS
    };
    const summary by_hmc = summarise(hs_sample(s, target, hmc, &options));
    hs_proposal *walk = hs_random_walk(s, &(hs_walk_options){ .dim = d, .scale = sd });
    hs_tune(
        s, target, walk,
        &(hs_tune_options){
            .chains = CHAINS, .steps = 400, .points = points, .acceptance = 0.25, .last = points },
        NULL);
    hs_sample_options longer = options;
    longer.draws = 1000;
    longer.thin = 20;
    const summary by_walk = summarise(hs_sample(s, target, walk, &longer));
    ck_assert_msg(!hs_session_status(s), "%s", hs_session_error(s));

    for (size_t i = 0; i < d; i++) {
        const double off = fabs(by_hmc.mean[i] - by_walk.mean[i]);
        ck_assert_msg(off < 5 * hypot(by_hmc.error[i], by_walk.error[i]),
                      "%s: mean %zu: HMC %g(%g), walk %g(%g)", p->path, i, by_hmc.mean[i],
                      by_hmc.error[i], by_walk.mean[i], by_walk.error[i]);
        ck_assert_close(by_hmc.sd[i], by_walk.sd[i], 0.06, 0);
        /* The posterior is nearly normal: its mean is near the mode, and its sd near Laplace's. */
        ck_assert_close(by_hmc.mean[i], mode[i], 0, 0.4 * sd[i]);
        ck_assert_close(by_hmc.sd[i], sd[i], 0.12, 0);
    }
    ck_assert_close(by_hmc.correlation, by_walk.correlation, 0, 0.06);
    ck_assert_close(by_hmc.correlation, covariance[1] / (sd[0] * sd[1]), 0, 0.1);
    ck_assert_close(by_hmc.spread, p->spread, p->tolerance, 0);
    hs_session_free(s);
    hs_dataset_free(data);
}
END_TEST

/* ---- Restarts ---------------------------------------------------------------------------------- */

/* Walks whose steps begin ever farther from the best: 20 steps of training do not bring them back. */
static hs_proposal *make_walk(hs_session *s, uint64_t replica, void *context)
{
    const double *steps = context;
    return hs_random_walk(s, &(hs_walk_options){ .dim = 4, .step = steps[replica] });
}

START_TEST(the_best_try_is_kept)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 3 });
    hs_target *target = hs_target_gaussian(s, 4, NULL);
    double steps[] = { 0.05, 1.2, 20 };
    const hs_train_options options = { .objective = hs_ab_initio(0.18125), .steps = 20 };
    hs_restarts report;
    hs_proposal *best = hs_train_restarts(s, target, make_walk, steps, 3, &options, &report);
    ck_assert_msg(!hs_session_status(s), "%s", hs_session_error(s));
    ck_assert_uint_eq(report.tries, 3);
    ck_assert_uint_eq(report.best, 1);
    ck_assert(report.loss[1] < report.loss[0] && report.loss[1] < report.loss[2]);
    ck_assert(report.loss_error[1] > 0 && report.alpha[0] > report.alpha[1]);
    double step;
    hs_param_get(hs_params_find(hs_proposal_params(best), "step"), &step);
    ck_assert_close(step, 1.2, 0.05, 0);
    ck_assert_uint_eq(report.training.steps, 20);
    ck_assert_ptr_null(hs_train_restarts(s, target, make_walk, steps, 0, &options, &report));
    ck_assert_int_eq(hs_session_status(s), HS_EINVAL);
    hs_session_free(s);
}
END_TEST

/* At a small b the lower loss is that of small steps, which accept too much. */
START_TEST(a_try_that_attains_its_acceptance_goes_before_a_lower_loss)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 3 });
    hs_target *target = hs_target_gaussian(s, 4, NULL);
    double steps[] = { 0.55, 1.2, 20 };
    const hs_train_options options = { .objective = hs_gsm(0.3), .steps = 20 };
    hs_restarts report;
    ck_assert_ptr_nonnull(hs_train_restarts(s, target, make_walk, steps, 3, &options, &report));
    ck_assert_uint_eq(report.best, 1);
    ck_assert_close(report.alpha[1], 0.3, 0, 0.03);
    ck_assert(report.alpha[0] > 0.5 && report.loss[0] < report.loss[1]);
    double far_off[] = { 0.05, 20 }; /* none attains it: 0 is nearer to 0.3 than 1 */
    ck_assert_ptr_nonnull(hs_train_restarts(s, target, make_walk, far_off, 2, &options, &report));
    ck_assert_uint_eq(report.best, 1);
    ck_assert(report.loss[0] < report.loss[1]);
    hs_session_free(s);
}
END_TEST

/* Its ratios are not numbers where x > 6, which walks of long steps reach. */
static hs_var bounded_density(void *self, hs_var x)
{
    (void)self;
    hs_var bound = hs_sum_last(hs_log(hs_sub_from(6, x)));
    return hs_add(hs_scale(hs_dot(x, x), -0.5), hs_scale(bound, 1e-9));
}

static hs_var long_steps(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_neg(t->log_g_fwd);
}

static hs_proposal *make_log_walk(hs_session *s, uint64_t replica, void *context)
{
    (void)context;
    return hs_random_walk(
        s, &(hs_walk_options){ .dim = 1, .step = replica ? 0.6 : 50, .log_step = true });
}

START_TEST(a_try_without_a_known_acceptance_goes_last)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
    hs_target *target = hs_target_new(
        s, &(hs_target_spec){ .name = "bounded", .dim = 1, .log_density = bounded_density });
    const double points[] = { -1, -0.5, 0, 0.2, 0.4, 0.6, 1, 1.5 };
    const hs_train_options options = {
        .objective = { .name = "long steps", .loss = long_steps, .acceptance = 0.8 },
        .points = points,
        .n_points = 8,
        .steps = 1
    };
    hs_restarts report;
    hs_train_restarts(s, target, make_log_walk, NULL, 2, &options, &report);
    ck_assert_msg(!hs_session_status(s), "%s", hs_session_error(s));
    ck_assert(isnan(report.alpha[0]) && isfinite(report.loss[0]));
    ck_assert_uint_eq(report.best, 1);
    hs_session_free(s);
}
END_TEST

/* A target in plain C: its gradient serves HMC, which leaves its moments in place. */
static double quartic(const double *x, size_t n, void *context)
{
    (void)context;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum -= x[i] * x[i] * x[i] * x[i] / 4;
    return sum;
}

static void quartic_gradient(const double *x, size_t n, double *gradient, void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        gradient[i] = -x[i] * x[i] * x[i];
}

START_TEST(a_target_in_plain_c)
{
    static const hs_function f = { .name = "quartic",
                                   .value = quartic,
                                   .gradient = quartic_gradient };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 2 });
    hs_target *target = hs_target_from_function(s, 2, &f);
    hs_proposal *hmc = hs_hmc(s, target, &(hs_hmc_options){ .step = 0.6 });
    double points[2 * CHAINS] = { 0 };
    hs_chains *c = hs_sample(
        s, target, hmc,
        &(hs_sample_options){
            .chains = CHAINS, .draws = 2000, .warmup = 50, .points = points, .n_points = CHAINS });
    ck_assert_msg(c, "%s", hs_session_error(s));
    double square = 0;
    for (size_t i = 0; i < CHAINS * 2000; i++)
        square += c->x[2 * i] * c->x[2 * i] / (CHAINS * 2000);
    /* E x^2 = 2 Gamma(3/4) / Gamma(1/4) under exp(-x^4 / 4) */
    ck_assert_close(square, 2 * tgamma(0.75) / tgamma(0.25), 0.02, 0);
    hs_session_free(s);
}
END_TEST

/* ---- Replications ------------------------------------------------------------------------------- */

static bool count_up(uint64_t replica, double *figure, void *context)
{
    figure[0] = (double)(replica + 1);
    figure[1] = replica == 1 ? (double)NAN : 5;
    return replica < *(const uint64_t *)context;
}

START_TEST(replications_are_averaged)
{
    hs_figure f[2];
    uint64_t most = 100;
    ck_assert_int_eq(hs_replicate(4, count_up, &most, f, 2), HS_OK);
    ck_assert_close(f[0].mean, 2.5, 1e-15, 0);
    ck_assert_close(f[0].sd, sqrt(5.0 / 3), 1e-14, 0);
    ck_assert_close(f[0].error, sqrt(5.0 / 12), 1e-14, 0);
    ck_assert(f[1].count == 3 && f[1].mean == 5 && f[1].sd == 0);
    most = 1;
    ck_assert_int_eq(hs_replicate(4, count_up, &most, f, 2), HS_OK);
    ck_assert(f[0].count == 1 && f[0].mean == 1 && isnan(f[0].error));
    most = 0;
    ck_assert_int_eq(hs_replicate(4, count_up, &most, f, 2), HS_EINVAL);
    ck_assert_int_eq(hs_replicate(0, count_up, &most, f, 2), HS_EINVAL);
}
END_TEST

static Suite *posterior_suite(void)
{
    Suite *suite = suite_create("mcmc posterior");
    TCase *tests = tcase_create("posterior");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, samplers_agree, 0, sizeof posteriors / sizeof *posteriors);
    tcase_add_test(tests, the_best_try_is_kept);
    tcase_add_test(tests, a_try_that_attains_its_acceptance_goes_before_a_lower_loss);
    tcase_add_test(tests, a_try_without_a_known_acceptance_goes_last);
    tcase_add_test(tests, a_target_in_plain_c);
    tcase_add_test(tests, replications_are_averaged);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(posterior_suite())
