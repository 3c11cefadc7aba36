/* Hamiltonian Monte Carlo: leapfrog steps, recorded one after the other. With the momentum flipped
 * at the end, the map is its own inverse and preserves volume. The densities of the move are
 * therefore those of the first and the last momentum. */
#include <hastings/mcmc/proposals/proposals.h>
#include "../parts_internal.h"

#include <math.h>

#undef HS_HERE
#define HS_HERE "HMC"

enum { MOST_LEAPFROGS = 10000 }; /* each is recorded on the tape */

typedef struct {
    const hs_target *target;
    size_t leapfrogs, dim;
    double jitter;
    hs_param step, scale;
} hmc;

static void hmc_moves(void *self, hs_var x, hs_var n, hs_move *move)
{
    const hmc *h = self;
    hs_var step = hs_param_var(x.tape, h->step), scale = hs_param_var(x.tape, h->scale);
    hs_var momentum = hs_slice(n, 0, 0, h->dim);
    if (h->jitter >
        0) { /* the last normal becomes uniform on (-1, 1): 2 Phi(n) - 1 = erf(n / sqrt 2) */
        hs_var u = hs_erf(hs_scale(hs_slice(n, 0, h->dim, h->dim + 1), 0.70710678118654752440));
        step = hs_mul(step, hs_shift(hs_scale(u, h->jitter), 1));
    }
    hs_var reach = hs_mul(step, scale); /* x moves by reach p, p by reach score */
    hs_var y = x, p = momentum;
    for (size_t i = 0; i < h->leapfrogs; i++) {
        p = hs_add(p, hs_mul(hs_scale(reach, i ? 1 : 0.5), hs_target_score(h->target, y)));
        y = hs_add(y, hs_mul(reach, p));
    }
    p = hs_add(p, hs_mul(hs_scale(reach, 0.5), hs_target_score(h->target, y)));
    *move = (hs_move){ .y = y,
                       .log_g_fwd = hs_log_normal(momentum),
                       .log_g_rev = hs_log_normal(p),
                       .weight = hs_const(x.tape, 1) };
}

hs_proposal *hs_hmc(hs_session *s, const hs_target *target, const hs_hmc_options *options)
{
    const hs_hmc_options *o = options ? options : &(hs_hmc_options){ 0 };
    if (!hs__is_there(s, target, "HMC", "target"))
        return NULL;
    const size_t dim = hs_target_dim(target);
    const double step = o->step != 0 ? o->step : 0.5 * pow((double)dim, -0.25);
    if (!(step > 0) || !isfinite(step))
        return SESSION_NULL(s, HS_EINVAL, "HMC: the step must be positive, and is %g", step);
    if (o->jitter >= 1)
        return SESSION_NULL(s, HS_EINVAL, "HMC: the jitter must be below 1, and is %g", o->jitter);
    if (o->leapfrogs > MOST_LEAPFROGS)
        return SESSION_NULL(s, HS_EINVAL,
                            "HMC: %zu integrator steps of a proposal, and there can be at most %d",
                            o->leapfrogs, (int)MOST_LEAPFROGS);
    if (!hs__all_positive(s, "HMC", "scale", o->scale, dim))
        return NULL;
    hs_params *ps = hs_session_params(s, 0);
    hmc *h = hs_session_alloc(s, sizeof *h);
    if (!ps || !h)
        return NULL;
    h->target = target;
    h->dim = dim;
    h->jitter = o->jitter == 0 ? 0.5 : o->jitter > 0 ? o->jitter : 0;
    h->leapfrogs = o->leapfrogs ? o->leapfrogs : 5;
    h->step = hs_params_add(ps, "step", hs_scalar_shape(), hs_init_constant(step));
    h->scale = hs_params_add(ps, "scale", hs_dims(dim),
                             o->scale ? hs_init_values(o->scale) : hs_init_constant(1));
    if (hs_params_status(ps))
        return SESSION_NULL(s, hs_params_status(ps), "HMC: %s", hs_params_error(ps));
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "hmc",
                                                   .dim = dim,
                                                   .self = h,
                                                   .params = ps,
                                                   .step = h->step,
                                                   .scale = h->scale,
                                                   .normals = dim + (h->jitter > 0),
                                                   .gradients = h->leapfrogs,
                                                   .ratio_only = true,
                                                   .ways = 1,
                                                   .moves = hmc_moves });
}
