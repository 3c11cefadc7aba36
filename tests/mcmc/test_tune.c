/* Tuning, and HMC as the sampler of reference chains. */
#include <hastings/mcmc/diagnostics/ess.h>

#include "support/mcmc_catalogue.h"

/* Mean acceptance probability of fresh chains of a proposal as it is. */
static double acceptance_of(hs_session *s, const hs_target *t, const hs_proposal *p)
{
    hs_chains *c =
        hs_sample(s, t, p, &(hs_sample_options){ .chains = 200, .draws = 100, .seed = 31 });
    ck_session_ok(s);
    double sum = 0;
    for (size_t i = 0; i < c->chains * c->draws; i++)
        sum += c->alpha[i];
    return sum / (double)(c->chains * c->draws);
}

typedef struct {
    const char *name;
    mt_maker *make;
    double goal;
} tuned;

static hs_proposal *hmc_default(hs_session *s, const hs_target *t)
{
    return hs_hmc(s, t, NULL);
}
static hs_proposal *hmc_tiny(hs_session *s, const hs_target *t)
{
    return hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 5, .step = 1e-5 });
}
static hs_proposal *hmc_huge(hs_session *s, const hs_target *t)
{
    return hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 5, .step = 1e3 });
}
static hs_proposal *mala_default(hs_session *s, const hs_target *t)
{
    return hs_mala(s, t, NULL);
}

static const tuned cases[] = {
    { "HMC", hmc_default, 0 },        { "HMC at 0.9", hmc_default, 0.9 },
    { "HMC from 1e-5", hmc_tiny, 0 }, { "HMC from 1e3", hmc_huge, 0 },
    { "MALA", mala_default, 0.574 },  { "walk", mk_walk, 0.234 },
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(the_step_reaches_the_acceptance)
{
    const tuned *c = &cases[_i];
    for (int k = 0; k < 3; k++) {
        hs_session *s = mt_session(11);
        mt_normal n = { .dim = 3, .mean = { 1, 2, 3 }, .sd = { 0.8, 1.3, 0.6 } };
        const hs_target *t = k == 0   ? mt_target_standard(s, 10)
                             : k == 1 ? mt_target_correlated(s)
                                      : mt_target_normal(s, &n);
        hs_proposal *p = c->make(s, t);
        hs_tuning result;
        ck_assert_msg(
            hs_tune(s, t, p,
                    &(hs_tune_options){ .acceptance = c->goal, .chains = 32, .steps = 1500 },
                    &result) == HS_OK,
            "%s: %s", c->name, hs_session_error(s));
        double step;
        hs_param_get(hs_params_find(hs_proposal_params(p), "step"), &step);
        ck_assert(step == result.step && step > 0);
        const double goal = c->goal != 0 ? c->goal : 0.65, found = acceptance_of(s, t, p);
        ck_assert_msg(fabs(found - goal) < 0.03, "%s on %s: acceptance %g, not %g, step %g",
                      c->name, hs_target_name(t), found, goal, step);
        ck_assert_msg(fabs(result.alpha - goal) < 0.05, "%s on %s: told %g", c->name,
                      hs_target_name(t), result.alpha);
        hs_session_free(s);
    }
}
END_TEST

START_TEST(the_mass_matrix_is_that_of_the_target)
{
    hs_session *s = mt_session(12);
    mt_normal n = { .dim = 4, .mean = { 5, -1, 0, 100 }, .sd = { 0.01, 1, 30, 3 } };
    const hs_target *t = mt_target_normal(s, &n);
    hs_proposal *p = hs_hmc(s, t, &(hs_hmc_options){ .step = 0.005 });
    hs_tuning result;
    double scale[4], last[40 * 4];
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .chains = 40, .last = last }, &result),
                     HS_OK);
    hs_param_get(hs_params_find(hs_proposal_params(p), "scale"), scale);
    for (int i = 0; i < 4; i++)
        ck_assert_msg(fabs(scale[i] / n.sd[i] - 1) < 0.15, "scale %d: %g, not %g", i, scale[i],
                      n.sd[i]);
    ck_assert_close(acceptance_of(s, t, p), 0.65, 0, 0.03);
    for (int i = 0; i < 160; i++) /* good places to start */
        ck_assert_double_lt(fabs(last[i] - n.mean[i % 4]) / n.sd[i % 4], 6);
    /* keep_scale leaves it alone */
    const double mine[4] = { 1, 2, 3, 4 };
    hs_param_set(hs_params_find(hs_proposal_params(p), "scale"), mine);
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .keep_scale = true, .steps = 50 }, NULL),
                     HS_OK);
    hs_param_get(hs_params_find(hs_proposal_params(p), "scale"), scale);
    ck_assert_mem_eq(scale, mine, sizeof scale);
    hs_session_free(s);
}
END_TEST

/* Mean of a function of the draws against its exact value, in Monte-Carlo errors. */
static double z_score(const hs_chains *c, double (*f)(const double *x), double exact)
{
    double *values = malloc(c->chains * c->draws * sizeof *values), sum = 0;
    for (size_t k = 0; k < c->chains; k++)
        for (size_t n = 0; n < c->draws; n++)
            sum += values[k * c->draws + n] = f(hs_chains_draw(c, k, n));
    hs_series series = hs_series_of(values, c->chains, c->draws);
    double error;
    ck_assert_int_eq(hs_mcse(&series, &error, NULL), HS_OK);
    free(values);
    return (sum / (double)(c->chains * c->draws) - exact) / error;
}

static double u_of(const double *x)
{
    return (x[0] - mt_corr_mean[0]) / mt_corr_sd[0];
}
static double v_of(const double *x)
{
    return (x[1] - mt_corr_mean[1]) / mt_corr_sd[1];
}
static double uu(const double *x)
{
    return u_of(x) * u_of(x);
}
static double vv(const double *x)
{
    return v_of(x) * v_of(x);
}
static double uv(const double *x)
{
    return u_of(x) * v_of(x);
}
static double tail(const double *x)
{
    return u_of(x) > 1.6448536269514722;
}

START_TEST(hmc_samples_a_correlated_normal)
{
    hs_session *s = mt_session(13);
    /* The same target without exact draws: chains start elsewhere, and the tuning is their warm-up. */
    const hs_target *t = hs_target_new(
        s, &(hs_target_spec){ .name = "blind", .dim = 2, .log_density = mt_correlated_density });
    hs_proposal *p = hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 7 });
    double last[16 * 2];
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .last = last }, NULL), HS_OK);
    hs_chains *c = hs_sample(
        s, t, p,
        &(hs_sample_options){ .chains = 16, .draws = 5000, .points = last, .n_points = 16 });
    ck_session_ok(s);
    const struct {
        double (*f)(const double *);
        double exact;
    } moments[] = { { u_of, 0 }, { v_of, 0 },         { uu, 1 },
                    { vv, 1 },   { uv, mt_corr_rho }, { tail, 0.05 } };
    for (int i = 0; i < 6; i++) {
        const double z = z_score(c, moments[i].f, moments[i].exact);
        ck_assert_msg(fabs(z) < 5, "moment %d: %g errors off", i, z);
    }
    ck_assert_uint_eq(c->gradients, 16 * 5000 * 7);
    hs_session_free(s);
}
END_TEST

/* ---- Corners ---------------------------------------------------------------------------------- */

/* A walk that trains the logarithm of its step has a parameter "log_step", which is negative. */
START_TEST(a_logarithmic_step_is_tuned_or_refused)
{
    hs_session *s = mt_session(14);
    const hs_target *t = mt_target_standard(s, 10);
    hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 10, .log_step = true });
    const hs_status status = hs_tune(s, t, p, &(hs_tune_options){ .acceptance = 0.3 }, NULL);
    double step;
    hs_param_get(hs_params_find(hs_proposal_params(p), "log_step"), &step);
    ck_assert_msg(isfinite(step), "the step became %g", step);
    if (status)
        ck_session_failed(s, HS_EINVAL, "step");
    else
        ck_assert_close(acceptance_of(s, t, p), 0.3, 0, 0.03);
    hs_session_free(s);
}
END_TEST

START_TEST(short_tunings_leave_finite_numbers)
{
    for (size_t chains = 1; chains <= 2; chains++)
        for (size_t steps = 1; steps <= 41; steps += 4) {
            hs_session *s = mt_session(15);
            const hs_target *t = mt_target_standard(s, 3);
            hs_proposal *p = hs_hmc(s, t, NULL);
            hs_tuning r;
            ck_assert_int_eq(
                hs_tune(s, t, p, &(hs_tune_options){ .chains = chains, .steps = steps }, &r),
                HS_OK);
            double scale[3];
            hs_param_get(hs_params_find(hs_proposal_params(p), "scale"), scale);
            ck_assert_msg(isfinite(r.step) && r.step > 0 && scale[0] > 0 && scale[2] > 0,
                          "%zu chains, %zu steps: step %g, scale %g %g", chains, steps, r.step,
                          scale[0], scale[2]);
            hs_session_free(s);
        }
}
END_TEST

static uint64_t told;
static bool stop_at_half(const hs_progress *p, void *context)
{
    (void)context;
    ck_assert(strcmp(p->what, "tune") == 0 && p->step > told && p->steps == 400);
    told = p->step;
    return p->step < 200;
}

START_TEST(progress_can_stop_it)
{
    hs_session *s = mt_session(16);
    const hs_target *t = mt_target_standard(s, 3);
    hs_proposal *p = hs_hmc(s, t, NULL);
    hs_tuning r;
    told = 0;
    ck_assert_int_eq(
        hs_tune(s, t, p, &(hs_tune_options){ .steps = 400, .progress = stop_at_half }, &r), HS_OK);
    ck_assert_uint_eq(told, 200);
    ck_assert(isfinite(r.step) && r.step > 0);
    hs_session_free(s);
}
END_TEST

START_TEST(tuning_repeats_for_any_number_of_threads)
{
    double first[4] = { 0 };
    for (int threads = 1; threads <= 8; threads += 3) {
        hs_session *s = hs_session_new(&(hs_session_options){ .seed = 17, .threads = threads });
        const hs_target *t = mt_target_modes(s, 3);
        hs_proposal *p = hs_hmc(s, t, NULL);
        ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .steps = 200 }, NULL), HS_OK);
        double found[4];
        hs_params_get(hs_proposal_params(p), found);
        if (threads == 1)
            memcpy(first, found, sizeof first);
        ck_assert_mem_eq(found, first, sizeof first);
        hs_session_free(s);
    }
}
END_TEST

static hs_var nowhere(void *self, hs_var x)
{
    (void)self;
    return hs_sum_last(hs_log(x));
}

/* y = x + pace n, where the proposal says that the parameter "pace" is its step, or does not. */
static hs_var paced_draw(void *self, hs_var x, hs_var n)
{
    return hs_add(x, hs_mul(hs_param_var(x.tape, *(const hs_param *)self), n));
}

static hs_var paced_log_density(void *self, hs_var y, hs_var x)
{
    hs_var pace = hs_param_var(x.tape, *(const hs_param *)self);
    return hs_sub(hs_log_normal(hs_div(hs_sub(y, x), pace)), hs_scale(hs_log(pace), 10));
}

START_TEST(a_proposal_says_what_its_step_is)
{
    hs_session *s = mt_session(24);
    const hs_target *t = mt_target_standard(s, 10);
    hs_params *ps = hs_session_params(s, 0);
    hs_param pace = hs_params_add(ps, "pace", hs_scalar_shape(), hs_init_constant(0.1));
    hs_param step = hs_params_add(ps, "step", hs_scalar_shape(), hs_init_constant(0.1));
    hs_proposal_spec spec = { .name = "paced",
                              .dim = 10,
                              .self = &pace,
                              .params = ps,
                              .draw = paced_draw,
                              .log_density = paced_log_density,
                              .symmetric = true };
    hs_proposal *silent = hs_proposal_new(s, &spec);
    ck_assert_int_lt(hs_proposal_step(silent, NULL).index, 0);
    ck_assert_int_lt(hs_proposal_scale(silent).index, 0);
    ck_assert_int_eq(hs_tune(s, t, silent, NULL, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "paced", "step size");
    spec.step = pace;
    hs_proposal *p = hs_proposal_new(s, &spec);
    hs_tuning found;
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .acceptance = 0.3 }, &found), HS_OK);
    ck_assert_close(acceptance_of(s, t, p), 0.3, 0, 0.03);
    double value;
    hs_param_get(pace, &value);
    ck_assert(value == found.step);
    hs_param_get(step, &value);
    ck_assert(value == 0.1);
    hs_session_free(s);
}
END_TEST

/* The library's proposals say it, and a mixture of kernels passes on its first part's. */
START_TEST(proposals_of_the_library_name_their_step)
{
    hs_session *s = mt_session(25);
    const hs_target *t = mt_target_standard(s, 3);
    const struct {
        hs_proposal *proposal;
        const char *step, *scale;
        bool is_log;
    } known[] = {
        { mk_walk(s, t), "step", "", false },
        { hs_random_walk(s, &(hs_walk_options){ .dim = 3, .log_step = true }), "log_step", "",
          true },
        { mk_mala(s, t), "step", "", false },
        { mk_hmc(s, t), "step", "scale", false },
        { mk_hmc_kernels(s, t), "step", "scale", false },
        { mk_networks(s, t), "", "", false },
        { NULL, "", "", false },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool is_log = true;
        ck_assert_str_eq(hs_param_name(hs_proposal_step(known[i].proposal, &is_log)),
                         known[i].step);
        ck_assert_str_eq(hs_param_name(hs_proposal_scale(known[i].proposal)), known[i].scale);
        ck_assert_int_eq(is_log, known[i].is_log);
    }
    hs_session_free(s);
}
END_TEST

START_TEST(bad_input_is_named)
{
    hs_session *s = mt_session(18);
    const hs_target *t = mt_target_standard(s, 2), *three = mt_target_standard(s, 3);
    const hs_target *half =
        hs_target_new(s, &(hs_target_spec){ .name = "half", .dim = 2, .log_density = nowhere });
    hs_proposal *p = hs_hmc(s, t, NULL);
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .acceptance = 1 }, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "acceptance");
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .acceptance = (double)NAN }, NULL),
                     HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "acceptance");
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .steps = SIZE_MAX - 50 }, NULL),
                     HS_EOVERFLOW);
    ck_session_failed(s, HS_EOVERFLOW, "tuning: more steps than can be counted");
    hs_memory_set_most(3000000);
    ck_assert_int_eq(hs_tune(s, t, p, &(hs_tune_options){ .chains = 100000 }, NULL), HS_ENOMEM);
    hs_memory_set_most(0);
    ck_session_failed(s, HS_ENOMEM, "out of memory for 100000 starts", "MB are needed", "left");
    ck_assert_int_eq(hs_tune(s, t, mk_mixture(s, t), NULL, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "step", "position-mixture");
    ck_assert_int_eq(hs_tune(s, t, mk_walk_diagonal(s, t), NULL, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "step", "random-walk");
    ck_assert_int_eq(hs_tune(s, three, p, NULL, NULL), HS_ESHAPE);
    ck_session_failed(s, HS_ESHAPE, "3", "2");
    ck_assert_int_eq(hs_tune(s, half, mk_walk(s, half), NULL, NULL), HS_ENONFINITE);
    ck_session_failed(s, HS_ENONFINITE, "chain ");
    ck_assert_int_eq(hs_tune(s, t, NULL, NULL, NULL), HS_EINVAL);
    hs_session_clear(s);
    ck_assert_int_eq(hs_tune(s, NULL, p, NULL, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "target");
    hs_session_free(s);
}
END_TEST

START_TEST(no_session_is_no_memory)
{
    ck_assert_int_eq(hs_tune(NULL, NULL, NULL, NULL, NULL), HS_ENOMEM);
}
END_TEST

static Suite *tune_suite(void)
{
    Suite *suite = suite_create("mcmc tune");
    TCase *tcase = tcase_create("tuning");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, the_step_reaches_the_acceptance, 0, CASES);
    tcase_add_test(tcase, the_mass_matrix_is_that_of_the_target);
    tcase_add_test(tcase, hmc_samples_a_correlated_normal);
    tcase_add_test(tcase, a_logarithmic_step_is_tuned_or_refused);
    tcase_add_test(tcase, short_tunings_leave_finite_numbers);
    tcase_add_test(tcase, progress_can_stop_it);
    tcase_add_test(tcase, tuning_repeats_for_any_number_of_threads);
    tcase_add_test(tcase, a_proposal_says_what_its_step_is);
    tcase_add_test(tcase, proposals_of_the_library_name_their_step);
    tcase_add_test(tcase, bad_input_is_named);
    tcase_add_test(tcase, no_session_is_no_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(tune_suite())
