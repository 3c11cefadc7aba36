/* The multi-scheme proposal, set by hand to the special cases of the paper's appendix, is the random
 * walk, MALA on a normal target, the independent sampler and MALA in the latent space. */
#include "support/mcmc_catalogue.h"

enum { ROWS = 200, MAX_DIM = 5 };

typedef struct {
    double y[ROWS][MAX_DIM], fwd[ROWS], rev[ROWS], elsewhere[ROWS];
} outcome;

/* From x, with the noise of row r; and the density at another point. */
static outcome run(const hs_proposal *p, const double *x)
{
    outcome o;
    const size_t dim = hs_proposal_dim(p);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var from = hs_input(tape, "x", HS_START, hs_dims(dim));
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(dim), 3),
           other = hs_normal(tape, HS_ROW, hs_dims(dim), 4);
    hs_move m;
    hs_proposal_moves(p, from, n, &m);
    hs_var there = hs_proposal_log_density(p, hs_scale(other, 2), from);
    hs_var out[] = { m.y, m.log_g_fwd, hs_broadcast(m.log_g_rev, hs_scalar_shape(), HS_ROW),
                     there };
    hs_plan *plan;
    ck_assert_msg(hs_plan_new(&plan, out, 4, &(hs_plan_options){ .rows_per_start = ROWS }) == HS_OK,
                  "%s", hs_tape_error(tape));
    hs_plan_set(plan, from, x);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 6 }), HS_OK);
    const double *y = hs_plan_get(plan, m.y);
    for (size_t r = 0; r < ROWS; r++)
        memcpy(o.y[r], y + r * dim, dim * sizeof *y);
    memcpy(o.fwd, hs_plan_get(plan, out[1]), sizeof o.fwd);
    memcpy(o.rev, hs_plan_get(plan, out[2]), sizeof o.rev);
    memcpy(o.elsewhere, hs_plan_get(plan, out[3]), sizeof o.elsewhere);
    hs_plan_free(plan);
    hs_tape_free(tape);
    return o;
}

static void same(const hs_proposal *a, const hs_proposal *b, const char *name)
{
    const double x[3][MAX_DIM] = { { 0, 0, 0, 0, 0 },
                                   { 0.7, -1.3, 2, 0.1, -4 },
                                   { -3, 5, 0.01, 1, 1 } };
    const size_t dim = hs_proposal_dim(a);
    for (int i = 0; i < 3; i++) {
        const outcome p = run(a, x[i]), q = run(b, x[i]);
        double worst = 0;
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t k = 0; k < dim; k++)
                worst = fmax(worst, fabs(p.y[r][k] - q.y[r][k]));
            worst = fmax(worst, fabs(p.fwd[r] - q.fwd[r]) / (1 + fabs(q.fwd[r])));
            worst = fmax(worst, fabs(p.rev[r] - q.rev[r]) / (1 + fabs(q.rev[r])));
            worst = fmax(worst, fabs(p.elsewhere[r] - q.elsewhere[r]) / (1 + fabs(q.elsewhere[r])));
        }
        ck_assert_msg(worst < 1e-10, "%s, %zu-D, x %d: differs by %g", name, dim, i, worst);
    }
}

/* The target N(mean, sd^2) of the schemes, in up to 3 dimensions. */
static mt_normal normal_of(size_t dim)
{
    mt_normal t = { .dim = dim };
    memcpy(t.mean, mt_start_mean, sizeof mt_start_mean);
    memcpy(t.sd, mt_start_sd, sizeof mt_start_sd);
    return t;
}

static hs_multi_scheme_options scheme(size_t dim, hs_scheme start, size_t couplings, size_t depth)
{
    return (hs_multi_scheme_options){ .dim = dim,
                                      .couplings = couplings,
                                      .width = 2 * dim,
                                      .depth = depth,
                                      .start = start,
                                      .mean = mt_start_mean,
                                      .sd = mt_start_sd,
                                      .step = 0.6,
                                      .noise = -1 };
}

static hs_var resample_draw(void *self, hs_var x, hs_var n)
{
    const mt_normal *t = self;
    return hs_add(hs_tensor(x.tape, hs_dims(t->dim), t->mean),
                  hs_mul(hs_tensor(x.tape, hs_dims(t->dim), t->sd), n));
}

static hs_var resample_density(void *self, hs_var y, hs_var x)
{
    (void)x;
    return mt_normal_density(self, y);
}

START_TEST(starts_without_noise_are_the_schemes)
{
    const size_t dim = 1 + (size_t)_i % 3, couplings = dim > 1 ? (size_t)_i / 3 : 0;
    const size_t depth = 1 + (size_t)_i / 3;
    hs_session *s = mt_session(2);
    mt_normal t = normal_of(dim);
    const hs_target *target = mt_target_normal(s, &t);
    const double step = 0.6;
    hs_multi_scheme_options o = scheme(dim, HS_AS_RANDOM_WALK, couplings, depth);
    same(hs_multi_scheme(s, &o),
         hs_random_walk(s, &(hs_walk_options){ .dim = dim, .step = step, .scale = mt_start_sd }),
         "random walk");
    o.start = HS_AS_MALA;
    same(hs_multi_scheme(s, &o),
         hs_mala(s, target, &(hs_walk_options){ .step = step * step / 2, .scale = mt_start_sd }),
         "MALA");
    o.start = HS_AS_RESAMPLING;
    same(hs_multi_scheme(s, &o),
         hs_proposal_new(s, &(hs_proposal_spec){ .name = "resample",
                                                 .dim = dim,
                                                 .self = &t,
                                                 .draw = resample_draw,
                                                 .log_density = resample_density }),
         "resampling");
    o.start = HS_AS_LATENT; /* with a flow that is the identity: MALA on N(0, 1) */
    same(hs_multi_scheme(s, &o),
         hs_mala(s, mt_target_standard(s, dim), &(hs_walk_options){ .step = step * step / 2 }),
         "latent");
    ck_session_ok(s);
    hs_session_free(s);
}
END_TEST

/* With the default step and no mean and sd. */
START_TEST(defaults_are_those_of_the_standard_normal)
{
    hs_session *s = mt_session(2);
    hs_multi_scheme_options o = { .dim = 4, .start = HS_AS_RANDOM_WALK, .noise = -1 };
    same(hs_multi_scheme(s, &o), hs_random_walk(s, &(hs_walk_options){ .dim = 4 }), "walk");
    o.start = HS_AS_MALA;
    const double step = 2.38 / 2;
    same(hs_multi_scheme(s, &o),
         hs_mala(s, mt_target_standard(s, 4), &(hs_walk_options){ .step = step * step / 2 }),
         "MALA");
    ck_session_ok(s);
    hs_session_free(s);
}
END_TEST

/* ---- By hand, with hs_param_set: depth 0 does not exist, so identity networks of relu ----------- */

static void set(hs_params *ps, const char *name, const double *values)
{
    const hs_param p = hs_params_find(ps, name);
    ck_assert_msg(p.index >= 0, "no parameter %s", name);
    hs_param_set(p, values);
}

/* A network of one hidden layer [relu(x), relu(-x)] in two dimensions: x -> M x + c. */
static void set_net(hs_params *ps, const char *net, const double m[4], const double c[2])
{
    char name[64];
    const double first[8] = { 1, 0, 0, 1, -1, 0, 0, -1 }, zero[4] = { 0, 0, 0, 0 };
    const double last[8] = { m[0], m[1], -m[0], -m[1], m[2], m[3], -m[2], -m[3] };
    snprintf(name, sizeof name, "%s.0.weight", net);
    set(ps, name, first);
    snprintf(name, sizeof name, "%s.0.bias", net);
    set(ps, name, zero);
    snprintf(name, sizeof name, "%s.1.weight", net);
    set(ps, name, last);
    snprintf(name, sizeof name, "%s.1.bias", net);
    set(ps, name, c);
}

static hs_proposal *by_hand(hs_session *s)
{
    return hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = 2, .width = 4, .depth = 1 });
}

/* MALA on the correlated normal: the mean x + tau P (m - x), P the precision, set into mu_d. */
START_TEST(mala_on_a_correlated_normal_by_hand)
{
    hs_session *s = mt_session(3);
    const hs_target *t = mt_target_correlated(s);
    const double tau = 0.15, r = mt_corr_rho, *sd = mt_corr_sd, q = 1 / (1 - r * r);
    const double prec[4] = { q / (sd[0] * sd[0]), -q * r / (sd[0] * sd[1]),
                             -q * r / (sd[0] * sd[1]), q / (sd[1] * sd[1]) };
    const double m[4] = { 1 - tau * prec[0], -tau * prec[1], -tau * prec[2], 1 - tau * prec[3] };
    const double c[2] = { tau * (prec[0] * mt_corr_mean[0] + prec[1] * mt_corr_mean[1]),
                          tau * (prec[2] * mt_corr_mean[0] + prec[3] * mt_corr_mean[1]) };
    const double none[4] = { 0, 0, 0, 0 }, log_sd[2] = { 0.5 * log(2 * tau), 0.5 * log(2 * tau) };
    hs_proposal *p = by_hand(s);
    hs_params *ps = hs_proposal_params(p);
    set_net(ps, "mu_l", none, none);
    set_net(ps, "sigma_l", none, none);
    set_net(ps, "mu_d", m, c);
    set_net(ps, "sigma_d", none, log_sd);
    same(p, hs_mala(s, t, &(hs_walk_options){ .step = tau }), "MALA by hand");
    /* the same scale in the latent space instead: sigma_d sigma_l is what counts */
    set_net(ps, "sigma_l", none, log_sd);
    set_net(ps, "sigma_d", none, none);
    same(p, hs_mala(s, t, &(hs_walk_options){ .step = tau }), "MALA by hand, latent scale");
    hs_session_free(s);
}
END_TEST

/* mu_l = (M) z shifts in the latent space; with sigma_d = s the mean is mu_d + s mu_l. */
START_TEST(latent_and_data_means_add_up)
{
    hs_session *s = mt_session(3);
    const double none[4] = { 0, 0, 0, 0 }, half[4] = { 0.5, 0, 0, 0.5 },
                 log_2[2] = { log(2), log(2) };
    const double log_step[2] = { log(0.35), log(0.35) };
    hs_proposal *p = by_hand(s);
    hs_params *ps = hs_proposal_params(p);
    set_net(ps, "mu_l", half, none); /* 2 (x / 2 + 0.35 n) = x + 0.7 n */
    set_net(ps, "sigma_l", none, log_step);
    set_net(ps, "mu_d", none, none);
    set_net(ps, "sigma_d", none, log_2);
    same(p, hs_random_walk(s, &(hs_walk_options){ .dim = 2, .step = 0.7 }), "latent walk");
    hs_session_free(s);
}
END_TEST

/* The paper's Eq. 4 in plain C, with a flow and random networks, against the library. */
static void net_in_c(hs_params *ps, const char *net, size_t depth, size_t in, const double *x,
                     double *out)
{
    double h[16], next[16];
    memcpy(h, x, in * sizeof *x);
    size_t n = in;
    for (size_t l = 0; l <= depth; l++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%zu.weight", net, l);
        const hs_param w = hs_params_find(ps, name);
        const hs_shape shape = hs_param_shape(w);
        snprintf(name, sizeof name, "%s.%zu.bias", net, l);
        const double *weight = hs_param_values(w),
                     *bias = hs_param_values(hs_params_find(ps, name));
        ck_assert(shape.rank == 2 && shape.dim[1] == n && shape.dim[0] <= 16);
        for (size_t i = 0; i < shape.dim[0]; i++) {
            next[i] = bias[i];
            for (size_t j = 0; j < n; j++)
                next[i] += weight[i * n + j] * h[j];
            next[i] = l < depth ? fmax(next[i], 0) : next[i];
        }
        n = shape.dim[0];
        memcpy(h, next, n * sizeof *h);
    }
    memcpy(out, h, n * sizeof *h);
}

/* Three coordinates, of which one is odd: coupling 0 moves the even ones, 1 the odd one, 2 the even ones. */
static void flow_in_c(hs_params *ps, double *z, int sign)
{
    for (int k = 0; k < 3; k++) {
        const int i = sign > 0 ? k : 2 - k;
        char net[32];
        double move[2];
        snprintf(net, sizeof net, "flow.%d", i);
        const double even[2] = { z[0], z[2] };
        if (i == 1) {
            net_in_c(ps, net, 2, 2, even, move);
            z[1] += sign * move[0];
        } else {
            net_in_c(ps, net, 2, 1, z + 1, move);
            z[0] += sign * move[0];
            z[2] += sign * move[1];
        }
    }
}

START_TEST(equation_4_in_plain_c)
{
    hs_session *s = mt_session(5);
    const hs_target *t = mt_target_modes(s, 3);
    hs_proposal *p = mk_networks_flow(s, t);
    hs_params *ps = hs_proposal_params(p);
    const double x[3] = { 0.4, -1.2, 0.9 };
    const outcome o = run(p, x);
    double latent[3], mu_l[3], log_l[3], mu_d[3], log_d[3], worst = 0;
    memcpy(latent, x, sizeof latent);
    flow_in_c(ps, latent, -1);
    net_in_c(ps, "mu_l", 2, 3, latent, mu_l);
    net_in_c(ps, "sigma_l", 2, 3, latent, log_l);
    net_in_c(ps, "mu_d", 2, 3, x, mu_d);
    net_in_c(ps, "sigma_d", 2, 3, x, log_d);
    for (uint32_t r = 0; r < ROWS; r++) {
        double z[3], log_g = -1.5 * mt_log_2pi;
        for (uint32_t i = 0; i < 3; i++) {
            const double n = hs_random_at(HS_F64, HS_NORMAL,
                                          (hs_address){ .seed = 6, .stream = 3, .step = 0 }, r, i);
            z[i] = mu_l[i] + exp(log_l[i]) * n;
            log_g -= 0.5 * n * n + log_l[i] + log_d[i];
        }
        flow_in_c(ps, z, 1);
        for (int i = 0; i < 3; i++)
            worst = fmax(worst, fabs(o.y[r][i] - (mu_d[i] + exp(log_d[i]) * z[i])));
        worst = fmax(worst, fabs(o.fwd[r] - log_g));
    }
    ck_assert_msg(worst < 1e-10, "differs by %g", worst);
    hs_session_free(s);
}
END_TEST

/* Noise is there, is small, differs between replicas, and is repeatable. */
START_TEST(noise_and_replicas)
{
    hs_session *s = mt_session(7), *again = mt_session(7);
    hs_multi_scheme_options o = { .dim = 2, .start = HS_AS_RANDOM_WALK, .step = 0.5 };
    const double x[MAX_DIM] = { 0.3, -0.6 };
    const outcome a = run(hs_multi_scheme(s, &o), x), b = run(hs_multi_scheme(again, &o), x);
    o.replica = 1;
    const outcome c = run(hs_multi_scheme(s, &o), x);
    o.noise = -1;
    const outcome d = run(hs_multi_scheme(s, &o), x);
    ck_session_ok(s);
    ck_assert_mem_eq(&a.fwd, &b.fwd, sizeof a.fwd);
    double other = 0, clean = 0;
    for (size_t r = 0; r < ROWS; r++) {
        other = fmax(other, fabs(a.y[r][0] - c.y[r][0]));
        clean = fmax(clean, fabs(a.y[r][0] - d.y[r][0]));
    }
    ck_assert_msg(other > 1e-6 && clean > 1e-6 && clean < 0.2, "%g %g", other, clean);
    hs_session_free(s);
    hs_session_free(again);
}
END_TEST

static Suite *schemes_suite(void)
{
    Suite *suite = suite_create("mcmc schemes");
    TCase *tcase = tcase_create("special cases");
    tcase_add_loop_test(tcase, starts_without_noise_are_the_schemes, 0, 12);
    tcase_add_test(tcase, defaults_are_those_of_the_standard_normal);
    tcase_add_test(tcase, mala_on_a_correlated_normal_by_hand);
    tcase_add_test(tcase, latent_and_data_means_add_up);
    tcase_add_test(tcase, equation_4_in_plain_c);
    tcase_add_test(tcase, noise_and_replicas);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(schemes_suite())
