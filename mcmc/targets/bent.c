/* The banana and the funnel: all coordinates follow the first. */
#include <hastings/mcmc/targets/targets.h>

#include <math.h>

#include "targets_internal.h"

/* ---- Banana ---------------------------------------------------------------------------------- */

#undef HS_HERE
#define HS_HERE "target \"banana\""

typedef struct {
    size_t dim;
    double sd, curvature;
} banana;

/* curvature (x0^2 - sd^2), which the second coordinate follows */
static hs_var bend(const banana *b, hs_var first)
{
    return hs_scale(hs_shift(hs_square(first), -b->sd * b->sd), b->curvature);
}

static hs_var banana_log_density(void *self, hs_var x)
{
    const banana *b = self;
    hs_var first = hs_slice(x, 0, 0, 1), rest = hs_slice(x, 0, 1, b->dim);
    hs_var z = hs_scale(first, 1 / b->sd);
    hs_var second = hs_sub(hs_slice(rest, 0, 0, 1), bend(b, first));
    hs_var squares = hs_add(hs_sum_last(hs_square(z)), hs_sum_last(hs_square(second)));
    if (b->dim > 2)
        squares = hs_add(squares, hs_sum_last(hs_square(hs_slice(rest, 0, 1, b->dim - 1))));
    return hs_shift(hs_scale(squares, -0.5), -0.5 * HS_LOG_2PI * (double)b->dim - log(b->sd));
}

static hs_var banana_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const banana *b = self;
    hs_var n = hs_normal(tape, extent, hs_dims(b->dim), stream);
    hs_var first = hs_scale(hs_slice(n, 0, 0, 1), b->sd);
    hs_var second = hs_add(hs_slice(n, 0, 1, 2), bend(b, first));
    hs_var parts[3] = { first, second, n };
    if (b->dim > 2)
        parts[2] = hs_slice(n, 0, 2, b->dim);
    return hs_concat(parts, b->dim > 2 ? 3 : 2, 0);
}

hs_target *hs_target_banana(hs_session *s, size_t dim, const hs_banana_options *options)
{
    const hs_banana_options o = options ? *options : (hs_banana_options){ 0 };
    banana *b = hs_session_alloc(s, sizeof *b);
    if (!b)
        return NULL;
    *b = (banana){ dim, o.sd != 0 ? o.sd : 10, o.curvature != 0 ? o.curvature : 0.03 };
    if (!hs__target_check_dim(s, "banana", dim, 2) ||
        !hs__all_positive(s, HS_HERE, "standard deviation", &b->sd, 1) ||
        !hs__all_finite(s, HS_HERE, "curvature", &b->curvature, 1))
        return NULL;
    return hs_target_new(s, &(hs_target_spec){ .name = "banana",
                                               .dim = dim,
                                               .self = b,
                                               .log_density = banana_log_density,
                                               .draw = banana_draw });
}

/* ---- Funnel ---------------------------------------------------------------------------------- */

#undef HS_HERE
#define HS_HERE "target \"funnel\""

typedef struct {
    size_t dim;
    double sd;
} funnel;

static hs_var funnel_log_density(void *self, hs_var x)
{
    const funnel *f = self;
    const double others = (double)(f->dim - 1);
    hs_var v = hs_slice(x, 0, 0, 1), rest = hs_slice(x, 0, 1, f->dim);
    hs_var z = hs_mul(rest, hs_exp(hs_scale(v, -0.5)));
    hs_var first = hs_square(hs_scale(v, 1 / f->sd));
    hs_var squares = hs_add(hs_sum_last(hs_square(z)), hs_sum_last(first));
    hs_var twice = hs_add(squares, hs_scale(hs_sum_last(v), others)); /* log |det| of the others */
    return hs_shift(hs_scale(twice, -0.5), -0.5 * HS_LOG_2PI * (double)f->dim - log(f->sd));
}

static hs_var funnel_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const funnel *f = self;
    hs_var n = hs_normal(tape, extent, hs_dims(f->dim), stream);
    hs_var v = hs_scale(hs_slice(n, 0, 0, 1), f->sd);
    hs_var rest = hs_mul(hs_slice(n, 0, 1, f->dim), hs_exp(hs_scale(v, 0.5)));
    return hs_concat(((hs_var[]){ v, rest }), 2, 0);
}

hs_target *hs_target_funnel(hs_session *s, size_t dim, const hs_funnel_options *options)
{
    funnel *f = hs_session_alloc(s, sizeof *f);
    if (!f)
        return NULL;
    *f = (funnel){ dim, options && options->sd != 0 ? options->sd : 3 };
    if (!hs__target_check_dim(s, "funnel", dim, 2) ||
        !hs__all_positive(s, HS_HERE, "standard deviation", &f->sd, 1))
        return NULL;
    return hs_target_new(s, &(hs_target_spec){ .name = "funnel",
                                               .dim = dim,
                                               .self = f,
                                               .log_density = funnel_log_density,
                                               .draw = funnel_draw });
}
