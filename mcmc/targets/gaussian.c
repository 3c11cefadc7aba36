#include <hastings/mcmc/targets/targets.h>

#include <math.h>
#include <string.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE "target \"gaussian\""

/* z = (x - mean) / sd or L^-1 (x - mean), with covariance L L'. */
typedef struct {
    size_t dim;
    enum { ISOTROPIC, DIAGONAL, FULL } kind;
    double sd;
    bool centred;        /* the mean is 0 */
    target_array mean;   /* [dim] */
    target_array factor; /* [dim]: sd, or [dim][dim]: L */
    target_array whiten; /* its inverse */
    double log_constant; /* of the density */
} gaussian;

static hs_var log_density(void *self, hs_var x)
{
    const gaussian *g = self;
    hs_var z = g->centred ? x : hs_sub(x, hs__target_array_at(&g->mean, x.tape, HS_HERE));
    if (g->kind == FULL)
        z = hs_matmul(hs__target_array_at(&g->whiten, x.tape, HS_HERE), z);
    else if (g->kind == DIAGONAL)
        z = hs_mul(z, hs__target_array_at(&g->whiten, x.tape, HS_HERE));
    else if (g->sd != 1)
        z = hs_scale(z, 1 / g->sd);
    return hs_shift(hs_scale(hs_dot(z, z), -0.5), g->log_constant);
}

static hs_var draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const gaussian *g = self;
    hs_var x = hs_normal(tape, extent, hs_dims(g->dim), stream);
    if (g->kind == FULL)
        x = hs_matmul(hs__target_array_at(&g->factor, tape, HS_HERE), x);
    else if (g->kind == DIAGONAL)
        x = hs_mul(x, hs__target_array_at(&g->factor, tape, HS_HERE));
    else if (g->sd != 1)
        x = hs_scale(x, g->sd);
    return g->centred ? x : hs_add(x, hs__target_array_at(&g->mean, tape, HS_HERE));
}

static bool diagonal(hs_session *s, gaussian *g, const double *sds)
{
    g->kind = DIAGONAL;
    if (!hs__all_positive(s, HS_HERE, "standard deviation", sds, g->dim) ||
        !hs__target_array_copy(s, &g->factor, "sd", hs_dims(g->dim), sds))
        return false;
    double *inverse = hs__target_array_new(s, &g->whiten, "1 / sd", hs_dims(g->dim));
    if (!inverse)
        return false;
    for (size_t i = 0; i < g->dim; i++) {
        inverse[i] = 1 / sds[i];
        g->log_constant -= log(sds[i]);
    }
    return hs__target_array_finish(s, &g->whiten);
}

static bool symmetric(hs_session *s, const double *covariance, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const double lower = covariance[i * n + j], upper = covariance[j * n + i];
            const double scale = sqrt(covariance[i * n + i] * covariance[j * n + j]);
            if (fabs(lower - upper) > 1e-9 * scale)
                return SESSION_FALSE(s, HS_EINVAL,
                                     "target \"gaussian\": the covariance is not symmetric: "
                                     "[%zu][%zu] is %g, and [%zu][%zu] is %g",
                                     i, j, lower, j, i, upper);
        }
    return true;
}

static bool full(hs_session *s, gaussian *g, const double *covariance)
{
    g->kind = FULL;
    const size_t n = g->dim;
    const hs_shape shape = hs_dims(n, n);
    double *factor = hs__target_array_new(s, &g->factor, "factor", shape);
    double *inverse = hs__target_array_new(s, &g->whiten, "inverse factor", shape);
    if (!factor || !inverse || !hs__all_finite(s, HS_HERE, "covariance", covariance, n * n) ||
        !symmetric(s, covariance, n))
        return false;
    memcpy(factor, covariance, n * n * sizeof *factor);
    if (!hs__cholesky_factor(factor, n))
        return SESSION_FALSE(s, HS_EINVAL,
                             "target \"gaussian\": the covariance is not positive definite");
    hs__cholesky_invert(factor, n, inverse);
    for (size_t i = 0; i < n; i++)
        g->log_constant -= log(factor[i * n + i]);
    return hs__target_array_finish(s, &g->factor) && hs__target_array_finish(s, &g->whiten);
}

hs_target *hs_target_gaussian(hs_session *s, size_t dim, const hs_gaussian_options *options)
{
    const hs_gaussian_options o = options ? *options : (hs_gaussian_options){ 0 };
    if ((o.sd != 0) + !!o.sds + !!o.covariance > 1)
        return SESSION_NULL(s, HS_EINVAL,
                            "target \"gaussian\": only one of sd, sds and covariance can be given");
    gaussian *g = hs_session_alloc(s, sizeof *g);
    if (!g || !hs__target_check_dim(s, "gaussian", dim, 1))
        return NULL;
    *g = (gaussian){ .dim = dim,
                     .kind = ISOTROPIC,
                     .sd = o.sd != 0 ? o.sd : 1,
                     .centred = !o.mean,
                     .log_constant = -0.5 * HS_LOG_2PI * (double)dim };
    if (o.mean && (!hs__all_finite(s, HS_HERE, "mean", o.mean, dim) ||
                   !hs__target_array_copy(s, &g->mean, "mean", hs_dims(dim), o.mean)))
        return NULL;
    if (o.covariance || o.sds) {
        if (!(o.sds ? diagonal(s, g, o.sds) : full(s, g, o.covariance)))
            return NULL;
    } else {
        if (!hs__all_positive(s, HS_HERE, "standard deviation", &g->sd, 1))
            return NULL;
        g->log_constant -= (double)dim * log(g->sd);
    }
    return hs_target_new(
        s,
        &(hs_target_spec){
            .name = "gaussian", .dim = dim, .self = g, .log_density = log_density, .draw = draw });
}
