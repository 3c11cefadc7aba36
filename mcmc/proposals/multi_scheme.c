/* The multi-scheme proposal (Eq. 4 of the paper), and first networks that compute a scheme. */
#include <hastings/mcmc/proposals/proposals.h>
#include "../parts_internal.h"

#include <math.h>
#include <string.h>

#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/random.h>

#undef HS_HERE
#define HS_HERE "multi-scheme proposal"

enum { MU_L, SIGMA_L, MU_D, SIGMA_D, NETWORKS };

typedef struct {
    hs_flow *flow;
    hs_mlp net[NETWORKS]; /* those of sigma give its logarithm */
} multi_scheme;

/* ---- The proposal --------------------------------------------------------------------------- */

static hs_var draw_scored(void *self, hs_var x, hs_var n, hs_var *log_g)
{
    const multi_scheme *m = self;
    hs_var latent = hs_flow_inverse(m->flow, x, NULL), log_det;
    hs_var log_l = hs_mlp_apply(&m->net[SIGMA_L], latent),
           log_d = hs_mlp_apply(&m->net[SIGMA_D], x);
    hs_var z = hs_add(hs_mlp_apply(&m->net[MU_L], latent), hs_mul(hs_exp(log_l), n));
    hs_var t = hs_flow_forward(m->flow, z, &log_det);
    hs_var volume = hs_add(hs_sum_last(hs_add(log_l, log_d)), log_det);
    *log_g = hs_sub(hs_log_normal(n), volume);
    return hs_add(hs_mlp_apply(&m->net[MU_D], x), hs_mul(hs_exp(log_d), t));
}

static hs_var log_density(void *self, hs_var y, hs_var x)
{
    const multi_scheme *m = self;
    hs_var latent = hs_flow_inverse(m->flow, x, NULL), log_det;
    hs_var log_l = hs_mlp_apply(&m->net[SIGMA_L], latent),
           log_d = hs_mlp_apply(&m->net[SIGMA_D], x);
    hs_var t = hs_mul(hs_sub(y, hs_mlp_apply(&m->net[MU_D], x)), hs_exp(hs_neg(log_d)));
    hs_var z = hs_flow_inverse(m->flow, t, &log_det);
    hs_var n = hs_mul(hs_sub(z, hs_mlp_apply(&m->net[MU_L], latent)), hs_exp(hs_neg(log_l)));
    hs_var volume = hs_sum_last(hs_add(log_l, log_d));
    return hs_add(hs_sub(hs_log_normal(n), volume), log_det);
}

/* ---- Where training begins ------------------------------------------------------------------ */

/* Sets a relu network to x -> slope x + offset: the first hidden layer holds the positive and the
 * negative part of x, the others pass them on. All weights get noise, so that training can move the
 * unused ones away from zero. False without memory. */
static bool set_affine(const hs_mlp *net, size_t dim, size_t width, double slope,
                       const double *offset, double noise, uint64_t seed, uint32_t stream)
{
    for (size_t l = 0; l <= net->depth; l++) {
        const hs_linear layer = hs_mlp_layer(net, l);
        const size_t in = l ? width : dim, out = l < net->depth ? width : dim;
        double *w = hs_alloc(in * out * sizeof *w), *b = hs_alloc_zero(out, sizeof *b);
        if (w && b) {
            const hs_address at = { .seed = seed, .stream = stream, .step = l };
            hs_random_rows(HS_F64, HS_NORMAL, at, 0, 1, in * out, w);
            for (size_t i = 0; i < in * out; i++)
                w[i] *= noise / sqrt((double)in);
            for (size_t i = 0; i < dim; i++) {
                if (net->depth == 0) {
                    w[i * in + i] += slope;
                } else if (l == 0) {
                    w[i * in + i] += 1;
                    w[(dim + i) * in + i] -= 1;
                } else if (l < net->depth) {
                    w[i * in + i] += 1;
                    w[(dim + i) * in + dim + i] += 1;
                } else {
                    w[i * in + i] += slope;
                    w[i * in + dim + i] -= slope;
                }
            }
            for (size_t i = 0; l == net->depth && i < dim; i++)
                b[i] = offset[i];
            hs_param_set(layer.weight, w);
            hs_param_set(layer.bias, b);
        }
        const bool ok = w && b;
        hs_free(w);
        hs_free(b);
        if (!ok)
            return false;
    }
    return true;
}

/* Sets all networks, to a slope and a vector of offsets each. */
static bool set_scheme(hs_session *s, const multi_scheme *m, const hs_multi_scheme_options *o,
                       size_t width)
{
    const size_t d = o->dim;
    const double step = o->step > 0 ? o->step : 2.38 / sqrt((double)d);
    const double tau = step * step / 2; /* on a target of unit variance */
    const double noise = o->noise == 0 ? 0.01 : o->noise < 0 ? 0 : o->noise;
    double *offset = hs_alloc_zero(d, NETWORKS * sizeof *offset), slope[NETWORKS] = { 0 };
    if (!offset)
        return SESSION_FALSE(s, HS_ENOMEM, "out of memory");
    double *log_l = offset + SIGMA_L * d, *mu_d = offset + MU_D * d, *log_d = offset + SIGMA_D * d;
    for (size_t i = 0; i < d; i++) {
        const double mean = o->mean ? o->mean[i] : 0, sd = o->sd ? o->sd[i] : 1;
        log_d[i] = log(sd);
        switch (o->start) {
        case HS_AS_RESAMPLING:
            mu_d[i] = mean;
            break;
        case HS_AS_RANDOM_WALK:
            slope[MU_D] = 1;
            log_d[i] += log(step);
            break;
        case HS_AS_MALA: /* the score of N(mean, sd^2) is (mean - x) / sd^2 */
            slope[MU_D] = 1 - tau;
            mu_d[i] = tau * mean;
            log_d[i] += log(step);
            break;
        case HS_AS_LATENT: /* MALA for N(0, 1) in the flow's space, which is that of (x - mean) / sd only if mean is 0 and sd is 1 */
            slope[MU_L] = 1 - tau;
            log_l[i] = log(step);
            log_d[i] = 0;
            break;
        case HS_AS_NETWORKS:
        default:
            break;
        }
    }
    bool ok = true;
    for (uint32_t k = 0; k < NETWORKS && ok; k++)
        ok = set_affine(&m->net[k], d, width, slope[k], offset + k * d, noise,
                        hs_session_seed(s) + o->replica, 32000 + k);
    hs_free(offset);
    if (!ok)
        hs_session_fail(s, HS_ENOMEM, "out of memory");
    return ok;
}

/* ---- Making it ------------------------------------------------------------------------------ */

static void release(void *self)
{
    hs_flow_free(((multi_scheme *)self)->flow);
}

static bool check_options(hs_session *s, const hs_multi_scheme_options *o, size_t width)
{
    if (o->dim == 0)
        hs_session_fail(s, HS_EINVAL, "multi-scheme: the number of dimensions is missing");
    else if (o->couplings && o->dim < 2)
        hs_session_fail(s, HS_EINVAL, "multi-scheme: couplings need at least two dimensions");
    else if (o->start != HS_AS_NETWORKS && o->activation != HS_RELU)
        hs_session_fail(s, HS_EINVAL, "multi-scheme: only relu networks can start as a scheme");
    else if (o->start != HS_AS_NETWORKS && width / 2 < o->dim)
        hs_session_fail(s, HS_EINVAL,
                        "multi-scheme: to start as a scheme in %zu dimensions, networks must be at "
                        "least %zu wide, and are %zu",
                        o->dim, hs_size_product(2, o->dim), width);
    return hs_session_status(s) == HS_OK &&
           hs__all_positive(s, "multi-scheme", "sd", o->sd, o->dim);
}

/* The flow with couplings between even and odd coordinates. The halves of an augmented target are
 * its own and its auxiliary coordinates: couplings between halves would mix its own only by way of
 * the auxiliary ones, which trains worse (docs/results.md, Heart). A permutation before and its
 * inverse behind keep idle couplings the identity. */
static hs_flow *interleaved(hs_params *ps, hs_flow *nice, size_t dim)
{
    if (dim < 3) /* even and odd are the halves */
        return nice;
    size_t *order = hs_alloc_zero(dim, 2 * sizeof *order);
    if (!order) {
        hs_params_fail(ps, HS_ENOMEM, "out of memory");
        return nice;
    }
    size_t *back = order + dim;
    for (size_t i = 0; i < dim; i++)
        order[i] = i % 2 ? i / 2 : dim / 2 + i / 2;
    for (size_t i = 0; i < dim; i++)
        back[order[i]] = i;
    hs_flow *parts[] = { hs_flow_permutation_new(ps, dim, back), nice,
                         hs_flow_permutation_new(ps, dim, order) };
    hs_free(order);
    return hs_flow_compose_new(ps, NULL, parts, 3);
}

hs_proposal *hs_multi_scheme(hs_session *s, const hs_multi_scheme_options *options)
{
    const hs_multi_scheme_options *o = options ? options : &(hs_multi_scheme_options){ 0 };
    const size_t width = o->width ? o->width : 16, depth = o->depth ? o->depth : 4;
    if (!check_options(s, o, width))
        return NULL;
    hs_params *ps = hs_session_params(s, o->replica);
    multi_scheme *m = hs_session_alloc(s, sizeof *m);
    if (!ps || !m)
        return NULL;
    const bool quiet = o->start != HS_AS_NETWORKS;
    if (o->couplings)
        m->flow = interleaved(
            ps,
            hs_flow_nice_new(
                ps, &(hs_nice_options){ .name = "flow",
                                        .dim = o->dim,
                                        .couplings = o->couplings,
                                        .width = o->coupling_width ? o->coupling_width : width,
                                        .depth = o->coupling_depth ? o->coupling_depth : depth,
                                        .activation = o->activation,
                                        .init = o->init,
                                        .zero_output = quiet }),
            o->dim);
    else
        m->flow = hs_flow_identity_new(ps, o->dim);
    hs_mlp_options net = { .in = o->dim,
                           .out = o->dim,
                           .width = width,
                           .depth = depth,
                           .activation = o->activation,
                           .init = quiet ? hs_init_zero()
                                         : o->init }; /* set_scheme() sets all of them */
    static const char *const names[NETWORKS] = { "mu_l", "sigma_l", "mu_d", "sigma_d" };
    for (int k = 0; k < NETWORKS; k++) {
        net.name = names[k];
        m->net[k] = hs_mlp_new(ps, &net);
    }
    if (!hs_session_own(s, m, release))
        return NULL;
    if (hs_params_status(ps))
        return SESSION_NULL(s, hs_params_status(ps), "multi-scheme: %s", hs_params_error(ps));
    if (quiet && !set_scheme(s, m, o, width))
        return NULL;
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "multi-scheme",
                                                   .dim = o->dim,
                                                   .self = m,
                                                   .params = ps,
                                                   .log_density = log_density,
                                                   .draw_scored = draw_scored });
}
