#include <hastings/objectives/reference.h>
#include <hastings/tensor/number.h>

#include <math.h>

/* The standard normal in d dimensions, seen in the plane of x and the noise. A proposal's noise is
 * (c, 0) and the target's draw (a, b), with c = |n|, a = x.n / |n|, b = |x - a n / |n||. Log
 * densities are those in d dimensions. */

#undef HS_HERE
#define HS_HERE "reference problem"

typedef struct {
    size_t dim;
    hs_param step;
} plane;

/* Draws the square root of a chi-squared number [1]: a gamma number by Marsaglia and Tsang (2000),
 * the first of several tries that is accepted. A try fails with a probability below 0.01 (0.0015
 * from 40 degrees on), all with less than 1e-11. Few degrees are summed up. */
static hs_var chi(hs_tape *tape, size_t degrees, uint32_t stream)
{
    const size_t few = 6, tries = degrees < 40 ? 6 : 4;
    if (degrees <= few) {
        hs_var z = hs_normal(tape, HS_ROW, hs_dims(degrees), stream);
        return hs_reshape(hs_sqrt(hs_sum_last(hs_square(z))), hs_dims(1));
    }
    const double a = 0.5 * (double)degrees - 1.0 / 3, c = 1 / sqrt(9 * a);
    hs_var z = hs_normal(tape, HS_ROW, hs_dims(tries), stream);
    hs_var u = hs_uniform(tape, HS_ROW, hs_dims(tries), stream + 1);
    hs_var w = hs_shift(hs_scale(z, c), 1), v = hs_mul(w, hs_square(w));
    /* accepted: w > 0 and log u < z^2 / 2 + a - a v + a log v */
    hs_var log_v = hs_scale(hs_log(hs_max(w, hs_const(tape, 1e-30))), 3);
    hs_var bound = hs_add(hs_scale(hs_square(z), 0.5), hs_scale(hs_shift(hs_sub(log_v, v), 1), a));
    hs_var accepted = hs_mul(hs_gt(w, hs_const(tape, 0)), hs_lt(hs_log(u), bound));
    hs_var chosen = hs_const(tape, 1);
    for (size_t i = tries; i-- > 0;)
        chosen = hs_select(hs_slice(accepted, 0, i, i + 1), hs_slice(v, 0, i, i + 1), chosen);
    return hs_sqrt(hs_scale(chosen, 2 * a));
}

static hs_var log_normal(hs_var square, size_t dim)
{
    return hs_shift(hs_scale(square, -0.5), -0.5 * HS_LOG_2PI * (double)dim);
}

static hs_var target_log_density(void *self, hs_var x)
{
    const plane *p = self;
    return log_normal(hs_sum_last(hs_square(x)), p->dim);
}

static hs_var target_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const plane *p = self;
    if (extent != HS_ROW)
        return hs_tape_fail(tape, HS_EEXTENT, HS_HERE, "draws are one per row");
    return hs_concat(((hs_var[]){ hs_normal(tape, HS_ROW, hs_dims(1), stream),
                                  chi(tape, p->dim - 1, stream + 1) }),
                     2, 0);
}

static hs_var noise(void *self, hs_tape *tape, uint32_t stream)
{
    const plane *p = self;
    return hs_pad(chi(tape, p->dim, stream), 0, 0, 1);
}

/* The proposals are Gaussians around a mean. */
static hs_var log_gaussian(const plane *p, hs_var y, hs_var mean, hs_var variance)
{
    hs_var square = hs_div(hs_sum_last(hs_square(hs_sub(y, mean))), variance);
    return hs_sub(log_normal(square, p->dim), hs_scale(hs_log(variance), 0.5 * (double)p->dim));
}

static hs_var walk_step(const plane *p, hs_tape *tape)
{
    return hs_exp(hs_param_var(tape, p->step));
}

static hs_var walk_draw(void *self, hs_var x, hs_var n)
{
    return hs_add(x, hs_mul(walk_step(self, x.tape), n));
}

static hs_var walk_log_density(void *self, hs_var y, hs_var x)
{
    return log_gaussian(self, y, x, hs_square(walk_step(self, x.tape)));
}

/* The score of N(0, I) is -x. */
static hs_var mala_mean(hs_var tau, hs_var x)
{
    return hs_mul(hs_sub_from(1, tau), x);
}

static hs_var mala_draw(void *self, hs_var x, hs_var n)
{
    hs_var tau = walk_step(self, x.tape);
    return hs_add(mala_mean(tau, x), hs_mul(hs_sqrt(hs_scale(tau, 2)), n));
}

static hs_var mala_log_density(void *self, hs_var y, hs_var x)
{
    hs_var tau = walk_step(self, x.tape);
    return log_gaussian(self, y, mala_mean(tau, x), hs_scale(tau, 2));
}

static void release_params(void *params)
{
    hs_params_free(params);
}

static hs_reference gaussian(hs_session *s, size_t dim, hs_proposal_spec spec, double step,
                             double acceptance)
{
    const hs_reference none = { .name = spec.name };
    if (dim < 2) {
        hs_session_fail(s, HS_EINVAL, "reference problem \"%s\": it needs at least 2 dimensions",
                        spec.name);
        return none;
    }
    plane *p = hs_session_alloc(s, sizeof *p);
    hs_params *params = p ? hs_params_new(hs_session_dtype(s), 0) : NULL;
    if (!p || !params) {
        hs_session_fail(s, HS_ENOMEM, "out of memory");
        return none;
    }
    *p = (plane){ dim,
                  hs_params_add(params, "step", hs_scalar_shape(), hs_init_constant(log(step))) };
    if (!hs_session_own(s, params, release_params))
        return none;
    spec.dim = spec.normals = 2;
    spec.self = p;
    spec.params = params;
    spec.step = p->step;
    spec.log_step = true;
    return (hs_reference){
        .name = spec.name,
        .acceptance = acceptance,
        .dim = dim,
        .noise = noise,
        .self = p,
        .target = hs_target_new(s, &(hs_target_spec){ .name = "standard normal",
                                                      .dim = 2,
                                                      .self = p,
                                                      .draw = target_draw,
                                                      .log_density = target_log_density }),
        .proposal = hs_proposal_new(s, &spec),
    };
}

hs_reference hs_reference_walk(hs_session *s, size_t dim)
{
    return gaussian(s, dim,
                    (hs_proposal_spec){ .name = "random walk on a standard normal",
                                        .draw = walk_draw,
                                        .log_density = walk_log_density,
                                        .symmetric = true },
                    2.38 / sqrt((double)dim), 0.234);
}

hs_reference hs_reference_mala(hs_session *s, size_t dim)
{
    return gaussian(s, dim,
                    (hs_proposal_spec){ .name = "MALA on a standard normal",
                                        .draw = mala_draw,
                                        .log_density = mala_log_density },
                    1.4 / cbrt((double)dim), 0.574);
}
