/* Laplace, Cauchy and Student's t: independent coordinates x = scale z. */
#include <hastings/mcmc/targets/targets.h>

#include <math.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE at

typedef struct {
    const char *at;
    size_t dim;
    double dof;
    double scale;
    bool equal;           /* all scales are `scale` */
    target_array scales;  /* [dim], unless they are */
    target_array inverse; /* 1 / scales */
    double log_constant;
} heavy;

static hs_var standardised(const heavy *h, hs_var x)
{
    const char *at = h->at;
    if (!h->equal)
        return hs_mul(x, hs__target_array_at(&h->inverse, x.tape, at));
    return h->scale == 1 ? x : hs_scale(x, 1 / h->scale);
}

static hs_var scaled(const heavy *h, hs_var z)
{
    const char *at = h->at;
    if (!h->equal)
        return hs_mul(z, hs__target_array_at(&h->scales, z.tape, at));
    return h->scale == 1 ? z : hs_scale(z, h->scale);
}

/* A target whose density in each coordinate is e^log_constant f(x / scale) / scale. */
static hs_target *heavy_new(hs_session *s, const hs_target_spec *spec, const char *at, double dof,
                            const hs_scale_options *options, double log_constant)
{
    const hs_scale_options o = options ? *options : (hs_scale_options){ 0 };
    const size_t dim = spec->dim;
    heavy *h = hs_session_alloc(s, sizeof *h);
    if (!h || !hs__target_check_dim(s, spec->name, dim, 1))
        return NULL;
    if (o.scale != 0 && o.scales)
        return SESSION_NULL(s, HS_EINVAL,
                            "target \"%s\": only one of scale and scales can be given", spec->name);
    *h = (heavy){
        .at = at, .dim = dim, .dof = dof, .scale = o.scale != 0 ? o.scale : 1, .equal = !o.scales
    };
    const double *scales = o.scales ? o.scales : &h->scale;
    if (!hs__all_positive(s, at, "scale", scales, o.scales ? dim : 1))
        return NULL;
    h->log_constant = (double)dim * log_constant;
    if (h->equal) {
        h->log_constant -= (double)dim * log(h->scale);
    } else {
        double *inverse = hs__target_array_new(s, &h->inverse, "1 / scale", hs_dims(dim));
        if (!inverse || !hs__target_array_copy(s, &h->scales, "scale", hs_dims(dim), scales))
            return NULL;
        for (size_t i = 0; i < dim; i++) {
            inverse[i] = 1 / scales[i];
            h->log_constant -= log(scales[i]);
        }
        if (!hs__target_array_finish(s, &h->inverse))
            return NULL;
    }
    hs_target_spec complete = *spec;
    complete.self = h;
    return hs_target_new(s, &complete);
}

/* ---- Laplace --------------------------------------------------------------------------------- */

static hs_var laplace_log_density(void *self, hs_var x)
{
    const heavy *h = self;
    const char *at = h->at;
    return hs_sub_from(h->log_constant, hs_sum_last(hs_abs(standardised(h, x))));
}

/* An exponential number with a random sign. */
static hs_var laplace_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const heavy *h = self;
    const char *at = h->at;
    hs_var size = hs_log(hs_uniform(tape, extent, hs_dims(h->dim), stream));
    hs_var side = hs_uniform(tape, extent, hs_dims(h->dim), stream + 1);
    return scaled(h, hs_select(hs_lt(side, hs_const(tape, 0.5)), size, hs_neg(size)));
}

hs_target *hs_target_laplace(hs_session *s, size_t dim, const hs_scale_options *options)
{
    const hs_target_spec spec = {
        .name = "laplace", .dim = dim, .log_density = laplace_log_density, .draw = laplace_draw
    };
    return heavy_new(s, &spec, "target \"laplace\"", 0, options, -log(2));
}

/* ---- Cauchy ---------------------------------------------------------------------------------- */

static hs_var cauchy_log_density(void *self, hs_var x)
{
    const heavy *h = self;
    const char *at = h->at;
    hs_var z = standardised(h, x);
    return hs_sub_from(h->log_constant, hs_sum_last(hs_log1p(hs_square(z))));
}

/* tan(pi (u - 1/2)), by way of the distance to the nearer end of (0, 1): the far tails come from
 * small angles, whose sine is accurate. */
static hs_var cauchy_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const heavy *h = self;
    const char *at = h->at;
    hs_var u = hs_uniform(tape, extent, hs_dims(h->dim), stream);
    hs_var angle = hs_scale(hs_min(u, hs_sub_from(1, u)), pi);
    hs_var size = hs_div(hs_cos(angle), hs_sin(angle));
    return scaled(h, hs_mul(hs_sign(hs_shift(u, -0.5)), size));
}

hs_target *hs_target_cauchy(hs_session *s, size_t dim, const hs_scale_options *options)
{
    const hs_target_spec spec = {
        .name = "cauchy", .dim = dim, .log_density = cauchy_log_density, .draw = cauchy_draw
    };
    return heavy_new(s, &spec, "target \"cauchy\"", 1, options, -log(pi));
}

/* ---- Student's t ----------------------------------------------------------------------------- */

static hs_var student_log_density(void *self, hs_var x)
{
    const heavy *h = self;
    const char *at = h->at;
    hs_var terms = hs_log1p(hs_scale(hs_square(standardised(h, x)), 1 / h->dof));
    return hs_shift(hs_scale(hs_sum_last(terms), -0.5 * (h->dof + 1)), h->log_constant);
}

/* Bailey (1994), Box and Muller's method for t: sqrt(dof (u^(-2 / dof) - 1)) cos(2 pi v). */
static hs_var student_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const heavy *h = self;
    const char *at = h->at;
    hs_var u = hs_uniform(tape, extent, hs_dims(h->dim), stream);
    hs_var v = hs_uniform(tape, extent, hs_dims(h->dim), stream + 1);
    hs_var square = hs_scale(hs_expm1(hs_scale(hs_log(u), -2 / h->dof)), h->dof);
    return scaled(h, hs_mul(hs_sqrt(square), hs_cos(hs_scale(v, 2 * pi))));
}

hs_target *hs_target_student(hs_session *s, size_t dim, double dof, const hs_scale_options *options)
{
    const hs_target_spec spec = {
        .name = "student", .dim = dim, .log_density = student_log_density, .draw = student_draw
    };
    if (!hs__all_positive(s, "target \"student\"", "number of degrees of freedom", &dof, 1))
        return NULL;
    const double constant = lgamma((dof + 1) / 2) - lgamma(dof / 2) - 0.5 * log(dof * pi);
    return heavy_new(s, &spec, "target \"student\"", dof, options, constant);
}
