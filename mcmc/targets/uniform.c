#include <hastings/mcmc/targets/targets.h>

#include <math.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE "target \"uniform\""

typedef struct {
    size_t dim;
    double log_uniform, log_normal; /* logarithms of the components' probabilities */
    double tail_pull;
} uniform;

/* log(1 + e^x) */
static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static hs_var log_density(void *self, hs_var x)
{
    const uniform *u = self;
    const double constant = u->log_normal - 0.5 * HS_LOG_2PI * (double)u->dim;
    hs_var outside = hs_shift(hs_scale(hs_dot(x, x), -0.5), constant);
    /* log(e^log_uniform + e^outside) */
    hs_var inside = hs_shift(hs_softplus(hs_shift(outside, -u->log_uniform)), u->log_uniform);
    hs_var beyond = hs_gt(hs_abs(hs_shift(x, -0.5)), hs_const(x.tape, 0.5));
    if (u->tail_pull != 1) /* adds 0, with a gradient */
        outside = hs_add(outside, hs_scale(hs_sub(outside, hs_stop(outside)), u->tail_pull - 1));
    return hs_select(hs_sum_last(beyond), outside, inside);
}

static hs_var draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const uniform *u = self;
    hs_var x = hs_uniform(tape, extent, hs_dims(u->dim), stream);
    if (u->log_normal < -50)
        return x;
    hs_var choice = hs_uniform(tape, extent, hs_scalar_shape(), stream + 1);
    hs_var rare = hs_lt(choice, hs_const(tape, exp(u->log_normal)));
    return hs_select(rare, hs_normal(tape, extent, hs_dims(u->dim), stream + 2), x);
}

hs_target *hs_target_uniform(hs_session *s, size_t dim, const hs_uniform_options *options)
{
    const hs_uniform_options o = options ? *options : (hs_uniform_options){ 0 };
    const double log_odds = o.log_odds != 0 ? o.log_odds : 100;
    const double tail_pull = o.tail_pull != 0 ? o.tail_pull : 1;
    uniform *u = hs_session_alloc(s, sizeof *u);
    if (!u || !hs__target_check_dim(s, "uniform", dim, 1) ||
        !hs__all_finite(s, HS_HERE, "log odds", &log_odds, 1) ||
        !hs__all_positive(s, HS_HERE, "pull of the tail", &tail_pull, 1))
        return NULL;
    *u = (uniform){ dim, -softplus(-log_odds), -softplus(log_odds), tail_pull };
    return hs_target_new(
        s,
        &(hs_target_spec){
            .name = "uniform", .dim = dim, .self = u, .log_density = log_density, .draw = draw });
}
