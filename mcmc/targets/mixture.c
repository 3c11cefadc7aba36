/* Gaussian mixtures, and the cross, which is one. */
#include <hastings/mcmc/targets/targets.h>

#include <math.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE at

typedef struct {
    const char *at;
    size_t dim;
    target_array means; /* [components][dim], as the next two */
    target_array sds;
    target_array inverse;   /* 1 / sds */
    target_array constants; /* [components]: log of weight / (sds (2 pi)^(dim / 2)) */
    target_array lower;     /* [components]: sums of the weights before a component, */
    target_array upper;     /* and with it */
} mixture;

static hs_var log_density(void *self, hs_var x)
{
    const mixture *m = self;
    const char *at = m->at;
    hs_var z = hs_mul(hs_sub(x, hs__target_array_at(&m->means, x.tape, at)),
                      hs__target_array_at(&m->inverse, x.tape, at));
    hs_var squares = hs_scale(hs_sum_last(hs_square(z)), -0.5);
    return hs_logsumexp(hs_add(squares, hs__target_array_at(&m->constants, x.tape, at)), 0);
}

/* A vector of zeros and a one chooses a component; matrix products pick rows of the tables. */
static hs_var draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const mixture *m = self;
    const char *at = m->at;
    hs_var u = hs_uniform(tape, extent, hs_scalar_shape(), stream);
    hs_var which = hs_sub(hs_ge(u, hs__target_array_at(&m->lower, tape, at)),
                          hs_ge(u, hs__target_array_at(&m->upper, tape, at)));
    hs_var mean = hs_matmul(which, hs__target_array_at(&m->means, tape, at));
    hs_var sd = hs_matmul(which, hs__target_array_at(&m->sds, tape, at));
    return hs_add(mean, hs_mul(sd, hs_normal(tape, extent, hs_dims(m->dim), stream + 1)));
}

/* Reads weights that are right to six digits, and makes them add up to 1. */
static bool weigh(hs_session *s, mixture *m, const char *name, const hs_mixture_options *o,
                  double *constants)
{
    const size_t n = o->components;
    double *lower = hs__target_array_new(s, &m->lower, "lower", hs_dims(n));
    double *upper = hs__target_array_new(s, &m->upper, "upper", hs_dims(n));
    double total = 0, before = 0;
    if (!lower || !upper || (o->weights && !hs__all_positive(s, m->at, "weight", o->weights, n)))
        return false;
    for (size_t k = 0; k < n; k++)
        total += o->weights ? o->weights[k] : 1;
    if (o->weights && fabs(total - 1) > 1e-6)
        return SESSION_FALSE(s, HS_EINVAL, "target \"%s\": the weights add up to %g, and not to 1",
                             name, total);
    for (size_t k = 0; k < n; k++) {
        const double weight = (o->weights ? o->weights[k] : 1) / total;
        constants[k] = log(weight) - 0.5 * HS_LOG_2PI * (double)m->dim;
        lower[k] = before;
        upper[k] = before += weight;
    }
    upper[n - 1] = 2; /* above any uniform number */
    return hs__target_array_finish(s, &m->lower) && hs__target_array_finish(s, &m->upper);
}

static hs_target *mixture_new(hs_session *s, const char *name, const char *at, size_t dim,
                              const hs_mixture_options *o)
{
    const size_t n = o->components;
    mixture *m = hs_session_alloc(s, sizeof *m);
    if (!m || !hs__target_check_dim(s, name, dim, 1))
        return NULL;
    *m = (mixture){ .at = at, .dim = dim };
    if (n == 0 || !o->means || (o->sd != 0) + !!o->component_sds + !!o->sds > 1)
        return SESSION_NULL(
            s, HS_EINVAL,
            n == 0      ? "target \"%s\" has no components"
            : !o->means ? "target \"%s\" has no means"
                        : "target \"%s\": only one of sd, component_sds and sds can be given",
            name);
    const hs_shape table = hs_dims(n, dim);
    double *sds = hs__target_array_new(s, &m->sds, "sd", table);
    double *inverse = hs__target_array_new(s, &m->inverse, "1 / sd", table);
    double *constants = hs__target_array_new(s, &m->constants, "log constants", hs_dims(n));
    if (!sds || !inverse || !constants ||
        !hs__all_finite(s, m->at, "coordinate of means", o->means, n * dim) ||
        !hs__target_array_copy(s, &m->means, "means", table, o->means) ||
        !weigh(s, m, name, o, constants))
        return NULL;
    const double sd = o->sd != 0 ? o->sd : 1;
    for (size_t i = 0; i < n * dim; i++)
        sds[i] = o->sds ? o->sds[i] : o->component_sds ? o->component_sds[i / dim] : sd;
    if (!hs__all_positive(s, m->at, "standard deviation", sds, n * dim))
        return NULL;
    for (size_t i = 0; i < n * dim; i++) {
        inverse[i] = 1 / sds[i];
        constants[i / dim] -= log(sds[i]);
    }
    if (!hs__target_array_finish(s, &m->sds) || !hs__target_array_finish(s, &m->inverse) ||
        !hs__target_array_finish(s, &m->constants))
        return NULL;
    return hs_target_new(
        s, &(hs_target_spec){
               .name = name, .dim = dim, .self = m, .log_density = log_density, .draw = draw });
}

hs_target *hs_target_mixture(hs_session *s, size_t dim, const hs_mixture_options *options)
{
    const hs_mixture_options o = options ? *options : (hs_mixture_options){ 0 };
    return mixture_new(s, "mixture", "target \"mixture\"", dim, &o);
}

hs_target *hs_target_cross(hs_session *s, const hs_cross_options *options)
{
    const hs_cross_options o = options ? *options : (hs_cross_options){ 0 };
    const double r = o.radius != 0 ? o.radius : 4, variance = o.variance != 0 ? o.variance : 0.5;
    if (!hs__all_positive(s, "target \"cross\"", "radius", &r, 1) ||
        !hs__all_positive(s, "target \"cross\"", "variance", &variance, 1))
        return NULL;
    const double centres[] = { r, 0, -r, 0, 0, r, 0, -r };
    return mixture_new(
        s, "cross", "target \"cross\"", 2,
        &(hs_mixture_options){ .components = 4, .means = centres, .sd = sqrt(variance) });
}
