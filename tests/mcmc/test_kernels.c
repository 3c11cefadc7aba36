/* Kernels: one transition from exact draws leaves their distribution as it was, and a wrong log g is
 * found out by the same check. */
#include "support/mcmc_catalogue.h"

enum { CHAINS = 40000, BINS = 8, MAX_DIM = 3 };

/* ---- The check ------------------------------------------------------------------------------- */

/* Mean over chains of f(after) - f(before), in units of its error. */
typedef struct {
    double sum, square, n;
} differences;

static void add(differences *d, double value)
{
    d->sum += value;
    d->square += value * value;
    d->n++;
}

static double z_of(const differences *d)
{
    const double mean = d->sum / d->n, variance = d->square / d->n - mean * mean;
    return variance > 0 ? mean / sqrt(variance / d->n) : 0;
}

typedef struct {
    double worst, balance, moved; /* largest |z|, that of detailed balance, share that moved */
    double nonfinite;             /* share of proposals */
} verdict;

static size_t bin_of(double x)
{
    const double place = floor((x + 3) / 6 * BINS);
    return (size_t)fmin(fmax(place, 0), BINS - 1);
}

/* Moments, products, marginal probabilities and a wave, of one step; in stationarity the pairs (before,
 * after) are also as likely as (after, before) for a reversible kernel. */
static verdict judge(const double *before, const hs_chains *c)
{
    enum { QUANTILES = 7, MOST = MAX_DIM * (3 + QUANTILES) + 4 };
    static const double edge[QUANTILES] = { -2, -1.2, -0.6, 0, 0.6, 1.2, 2 };
    static double pairs[BINS][BINS];
    differences d[MOST] = { { 0, 0, 0 } };
    memset(pairs, 0, sizeof pairs);
    verdict v = { 0, 0, 0, (double)c->nonfinite / (double)c->chains };
    for (size_t r = 0; r < c->chains; r++) {
        const double *x = before + r * c->dim, *y = hs_chains_draw(c, r, 0);
        size_t k = 0;
        double sx = 0, sy = 0;
        for (size_t i = 0; i < c->dim; i++) {
            add(&d[k++], y[i] - x[i]);
            add(&d[k++], y[i] * y[i] - x[i] * x[i]);
            add(&d[k++], y[i] * y[(i + 1) % c->dim] - x[i] * x[(i + 1) % c->dim]);
            for (size_t q = 0; q < QUANTILES; q++)
                add(&d[k++], (y[i] < edge[q]) - (x[i] < edge[q]));
            sx += x[i] * (double)(i + 1);
            sy += y[i] * (double)(i + 1);
        }
        add(&d[k++], cos(sy) - cos(sx));
        add(&d[k++], sin(2 * sy) - sin(2 * sx));
        pairs[bin_of(x[0])][bin_of(y[0])]++;
        v.moved += (x[0] != y[0]) / (double)c->chains;
    }
    for (size_t k = 0; k < MOST; k++)
        v.worst = fmax(v.worst, d[k].n > 0 ? fabs(z_of(&d[k])) : 0);
    for (size_t i = 0; i < BINS; i++)
        for (size_t j = 0; j < i; j++) {
            const double n = pairs[i][j] + pairs[j][i];
            if (n >= 10)
                v.balance = fmax(v.balance, fabs(pairs[i][j] - pairs[j][i]) / sqrt(n));
        }
    return v;
}

static verdict one_step(hs_session *s, const hs_target *t, const hs_proposal *p, uint64_t seed)
{
    ck_session_ok(s);
    double *points = mt_exact_points(s, t, CHAINS, seed);
    hs_chains *c = hs_sample(
        s, t, p,
        &(hs_sample_options){
            .chains = CHAINS, .draws = 1, .points = points, .n_points = CHAINS, .seed = seed + 1 });
    ck_session_ok(s);
    ck_assert_uint_eq(c->proposals, CHAINS);
    const verdict v = judge(points, c);
    free(points);
    return v;
}

static void expect_invariant(hs_session *s, const hs_target *t, const hs_proposal *p,
                             const char *name)
{
    const verdict v = one_step(s, t, p, 100);
    ck_assert_msg(v.worst < 5 && v.balance < 5,
                  "%s on %s, %zu-D: moments change by %.2f errors, detailed balance by %.2f", name,
                  hs_target_name(t), hs_target_dim(t), v.worst, v.balance);
    ck_assert_msg(v.moved > 0.01 && v.nonfinite == 0, "%s on %s: only %g moved, %g not finite",
                  name, hs_target_name(t), v.moved, v.nonfinite);
}

/* ---- Every proposal, on several targets ------------------------------------------------------- */

START_TEST(every_kernel_leaves_its_target_invariant)
{
    const mt_entry *e = &mt_catalogue[_i];
    for (size_t dim = e->least; dim <= MAX_DIM; dim++) {
        hs_session *s = mt_session(13 + dim);
        const hs_target *t = mt_target_modes(s, dim);
        expect_invariant(s, t, e->make(s, t), e->name);
        hs_session_free(s);
    }
    hs_session *s = mt_session(17);
    const hs_target *t = mt_target_correlated(s);
    expect_invariant(s, t, e->make(s, t), e->name);
    hs_session_free(s);
}
END_TEST

/* Networks exactly as they are initialised, other seeds and activations. */
START_TEST(untrained_networks_leave_the_target_invariant)
{
    for (int i = 0; i < 3; i++) {
        hs_session *s = mt_session(30 + (uint64_t)i);
        const hs_target *t = mt_target_modes(s, 2);
        const hs_proposal *p = hs_multi_scheme(
            s, &(hs_multi_scheme_options){ .dim = 2,
                                           .couplings = 4,
                                           .init = i == 2 ? hs_init_glorot() : (hs_init){ 0 },
                                           .activation = i == 0   ? HS_RELU
                                                         : i == 1 ? HS_GELU
                                                                  : HS_TANH,
                                           .replica = (uint64_t)i });
        expect_invariant(s, t, p, "untrained");
        hs_session_free(s);
    }
}
END_TEST

/* With auxiliary coordinates the kernel of (x, a) leaves x invariant, if a is drawn anew. */
START_TEST(augmented_kernels_leave_the_target_invariant)
{
    mt_maker *const makers[] = { mk_networks_flow, mk_mala, mk_walk,   mk_as_latent,
                                 mk_mixture,       mk_hmc,  mk_kernels };
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        hs_session *s = mt_session(40 + i);
        const hs_target *t = hs_target_augment(s, mt_target_modes(s, i % 2 ? 2 : 1), i % 2 ? 1 : 2);
        ck_assert_uint_eq(hs_target_original_dim(t), i % 2 ? 2 : 1);
        expect_invariant(s, t, makers[i](s, t), "augmented");
        hs_session_free(s);
    }
}
END_TEST

START_TEST(pulled_back_targets_and_targets_in_c_are_left_invariant)
{
    hs_session *s = mt_session(50);
    hs_params *ps = hs_session_params(s, 9);
    hs_flow *flow = hs_flow_affine_new(
        ps, &(hs_affine_options){
                .dim = 2, .couplings = 2, .width = 5, .depth = 1, .activation = HS_TANH });
    const hs_target *t = hs_target_pull_back(s, mt_target_modes(s, 2), flow);
    expect_invariant(s, t, mk_mala(s, t), "MALA, pulled back");
    expect_invariant(s, t, mk_walk(s, t), "walk, pulled back");
    hs_flow_free(flow);
    hs_session_free(s);
}
END_TEST

START_TEST(float32_kernels_leave_the_target_invariant)
{
    hs_session *s = mt_session(60);
    const hs_target *t = mt_target_modes(s, 2);
    double *points = mt_exact_points(s, t, CHAINS, 4);
    for (size_t i = 0; i < CHAINS * 2; i++)
        points[i] = (double)(float)points[i];
    hs_session *narrow = hs_session_new(&(hs_session_options){ .seed = 60, .float32 = true });
    const hs_target *u = mt_target_modes(narrow, 2);
    mt_maker *const makers[] = { mk_walk, mk_mala, mk_networks_flow, mk_mixture, mk_hmc };
    for (size_t i = 0; i < 5; i++) {
        hs_chains *c = hs_sample(
            narrow, u, makers[i](narrow, u),
            &(hs_sample_options){
                .chains = CHAINS, .draws = 1, .points = points, .n_points = CHAINS, .seed = 5 });
        ck_session_ok(narrow);
        const verdict v = judge(points, c);
        ck_assert_msg(v.worst < 5 && v.balance < 5 && v.moved > 0.02, "%zu: %g %g %g", i, v.worst,
                      v.balance, v.moved);
    }
    free(points);
    hs_session_free(narrow);
    hs_session_free(s);
}
END_TEST

/* ---- The check finds mistakes ----------------------------------------------------------------- */

typedef enum {
    RIGHT,
    SIGN,
    FACTOR,
    NO_VOLUME,
    NO_REVERSE,
    FLAT_SCALE,
    SYMMETRIC,
    MISTAKES
} mistake;
static const char *const mistake_name[] = { "none",
                                            "sign",
                                            "factor",
                                            "no volume",
                                            "no reverse",
                                            "scale at the wrong point",
                                            "said to be symmetric" };

typedef struct {
    const hs_proposal *base;
    mistake which;
} wrong;

/* log g of the networks, with one mistake. */
static void wrong_moves(void *self, hs_var x, hs_var n, hs_move *m)
{
    const wrong *w = self;
    hs_proposal_moves(w->base, x, n, m);
    hs_var fwd = m->log_g_fwd, rev = m->log_g_rev;
    const double d = (double)hs_proposal_dim(w->base);
    switch (w->which) {
    case SIGN:
        m->log_g_fwd = hs_neg(fwd);
        m->log_g_rev = hs_neg(rev);
        break;
    case FACTOR:
        m->log_g_fwd = hs_scale(fwd, 0.7);
        m->log_g_rev = hs_scale(rev, 0.7);
        break;
    case NO_VOLUME: /* the density of the noise, not of y */
        m->log_g_fwd = hs_log_normal(n);
        break;
    case NO_REVERSE:
        m->log_g_rev = hs_const(x.tape, -0.5 * d * mt_log_2pi);
        break;
    case FLAT_SCALE: /* the density of y given x taken for both */
        m->log_g_rev = hs_proposal_log_density(w->base, m->y, x);
        break;
    case SYMMETRIC:
        m->log_g_rev = m->log_g_fwd;
        break;
    case RIGHT:
    case MISTAKES:
    default:
        break;
    }
}

START_TEST(mistakes_in_log_g_are_found)
{
    hs_session *s = mt_session(70);
    const hs_target *t = mt_target_modes(s, 1);
    wrong w = { mk_networks(s, t), (mistake)_i };
    const hs_proposal *p = hs_proposal_new(
        s, &(hs_proposal_spec){
               .name = "wrong", .dim = 1, .self = &w, .ways = 1, .moves = wrong_moves });
    const verdict v = one_step(s, t, p, 100);
    if (_i == RIGHT)
        ck_assert_msg(v.worst < 5 && v.balance < 5, "%g %g", v.worst, v.balance);
    else
        ck_assert_msg(v.worst > 8 && v.balance > 5, "%s: only %g and %g errors", mistake_name[_i],
                      v.worst, v.balance);
    hs_session_free(s);
}
END_TEST

/* A user's walk with scale s(x) that forgets log s(x), the Jacobian of its draw. */
static hs_var no_jacobian(void *net, hs_var y, hs_var x)
{
    return hs_log_normal(hs_div(hs_sub(y, x), mt_scale(net, x)));
}

START_TEST(a_forgotten_jacobian_is_found)
{
    hs_session *s = mt_session(80);
    const hs_target *t = mt_target_modes(s, 1);
    hs_params *ps = hs_session_params(s, 0);
    hs_mlp net = hs_mlp_new(ps, &(hs_mlp_options){ .in = 1,
                                                   .out = 1,
                                                   .width = 8,
                                                   .depth = 2,
                                                   .activation = HS_TANH,
                                                   .init = hs_init_normal(0.7) });
    for (int forget = 0; forget < 2; forget++) {
        const hs_proposal *p = hs_proposal_new(
            s, &(hs_proposal_spec){ .dim = 1,
                                    .self = &net,
                                    .params = ps,
                                    .draw = mt_walk_draw,
                                    .log_density = forget ? no_jacobian : mt_walk_log_density });
        const verdict v = one_step(s, t, p, 200);
        ck_assert_msg(forget ? v.worst > 8 : v.worst < 5, "%d: %g", forget, v.worst);
    }
    hs_session_free(s);
}
END_TEST

/* HMC whose momentum is not refreshed would be deterministic; one whose acceptance forgets the kinetic
 * energy is not invariant. */
static void cold_moves(void *self, hs_var x, hs_var n, hs_move *m)
{
    hs_proposal_moves(self, x, n, m);
    m->log_g_rev = m->log_g_fwd;
}

START_TEST(hmc_without_kinetic_energy_is_found)
{
    hs_session *s = mt_session(90);
    const hs_target *t = mt_target_modes(s, 1);
    hs_proposal *base = hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 2, .step = 1.1 });
    const hs_proposal *p =
        hs_proposal_new(s, &(hs_proposal_spec){ .name = "cold",
                                                .dim = 1,
                                                .self = base,
                                                .normals = hs_proposal_normals(base),
                                                .ways = 1,
                                                .moves = cold_moves });
    const verdict right = one_step(s, t, base, 300), cold = one_step(s, t, p, 300);
    ck_assert_msg(right.worst < 5 && right.balance < 5, "%g %g", right.worst, right.balance);
    ck_assert_msg(cold.worst > 8, "%g", cold.worst);
    hs_session_free(s);
}
END_TEST

static Suite *kernels_suite(void)
{
    Suite *suite = suite_create("mcmc kernels");
    TCase *tcase = tcase_create("invariance");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, every_kernel_leaves_its_target_invariant, 0, MT_ENTRIES);
    tcase_add_test(tcase, untrained_networks_leave_the_target_invariant);
    tcase_add_test(tcase, augmented_kernels_leave_the_target_invariant);
    tcase_add_test(tcase, pulled_back_targets_and_targets_in_c_are_left_invariant);
    tcase_add_test(tcase, float32_kernels_leave_the_target_invariant);
    tcase_add_loop_test(tcase, mistakes_in_log_g_are_found, 0, MISTAKES);
    tcase_add_test(tcase, a_forgotten_jacobian_is_found);
    tcase_add_test(tcase, hmc_without_kinetic_energy_is_found);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(kernels_suite())
