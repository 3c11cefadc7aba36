/* Random walk and MALA, with one step size or one for each coordinate. */
#include <hastings/mcmc/proposals/proposals.h>
#include "../parts_internal.h"

#include <math.h>

#include <hastings/tensor/random.h>

#undef HS_HERE
#define HS_HERE at

static void release_params(void *ps)
{
    hs_params_free(ps);
}

hs_params *hs_session_params(hs_session *s, uint64_t replica)
{
    if (hs_session_status(s))
        return NULL;
    /* Seeds of replicas must differ from the seeds of neighbouring sessions. */
    const uint64_t seed = hs_session_seed(s) + replica * 0x9e3779b97f4a7c15u;
    hs_params *ps = hs_params_new(hs_session_dtype(s), seed);
    if (!ps)
        hs_session_fail(s, HS_ENOMEM, "out of memory");
    return hs_session_own(s, ps, release_params) ? ps : NULL;
}

typedef struct {
    hs_param step;
    bool log_step;
    const double *scale; /* or NULL */
    const hs_target *target;
    size_t dim;
} walk;

/* The steps: a scalar or a vector, positive. A trained step that crosses zero is the same walk as its
 * absolute value. */
static hs_var step_of(const walk *w, hs_tape *tape, int power, const char *at)
{
    hs_var step = hs_param_var(tape, w->step);
    step = w->log_step ? hs_exp(step) : hs_abs(step);
    if (!w->scale)
        return step;
    hs_var scale = hs_tensor(tape, hs_dims(w->dim), w->scale);
    return hs_mul(step, power == 2 ? hs_square(scale) : scale);
}

/* Sum over coordinates of log(step), whether there is one step or one for each. */
static hs_var log_volume(hs_var step, size_t dim, const char *at)
{
    const hs_shape shape = hs_var_shape(step);
    hs_var sum = hs_sum(hs_log(step), HS_ALL);
    return hs_shape_count(&shape) == 1 ? hs_scale(sum, (double)dim) : sum;
}

static hs_var walk_draw_scored(void *self, hs_var x, hs_var n, hs_var *log_g)
{
    const walk *w = self;
    const char *at = "random walk";
    hs_var step = step_of(w, x.tape, 1, at);
    *log_g = hs_sub(hs_log_normal(n), log_volume(step, w->dim, at));
    return hs_add(x, hs_mul(step, n));
}

static hs_var walk_draw(void *self, hs_var x, hs_var n)
{
    hs_var log_g;
    return walk_draw_scored(self, x, n, &log_g);
}

static hs_var walk_log_density(void *self, hs_var y, hs_var x)
{
    const walk *w = self;
    const char *at = "random walk";
    hs_var step = step_of(w, x.tape, 1, at);
    return hs_sub(hs_log_normal(hs_mul(hs_sub(y, x), hs_recip(step))),
                  log_volume(step, w->dim, at));
}

static void mala_moments(const walk *w, hs_var x, hs_var *mean, hs_var *sd, const char *at)
{
    hs_var tau = step_of(w, x.tape, 2, at);
    *mean = hs_add(x, hs_mul(tau, hs_target_score(w->target, x)));
    *sd = hs_sqrt(hs_scale(tau, 2));
}

static hs_var mala_draw_scored(void *self, hs_var x, hs_var n, hs_var *log_g)
{
    const walk *w = self;
    const char *at = "MALA";
    hs_var mean, sd;
    mala_moments(w, x, &mean, &sd, at);
    *log_g = hs_sub(hs_log_normal(n), log_volume(sd, w->dim, at));
    return hs_add(mean, hs_mul(sd, n));
}

static hs_var mala_draw(void *self, hs_var x, hs_var n)
{
    hs_var log_g;
    return mala_draw_scored(self, x, n, &log_g);
}

static hs_var mala_log_density(void *self, hs_var y, hs_var x)
{
    const walk *w = self;
    const char *at = "MALA";
    hs_var mean, sd;
    mala_moments(w, x, &mean, &sd, at);
    return hs_sub(hs_log_normal(hs_mul(hs_sub(y, mean), hs_recip(sd))), log_volume(sd, w->dim, at));
}

/* Checks and keeps the common options; NULL after failing the session. */
static walk *walk_new(hs_session *s, const hs_walk_options *o, size_t dim, double step,
                      const char *name, hs_params **ps)
{
    step = o->step != 0 ? o->step : step;
    if (!(step > 0) || !isfinite(step)) {
        hs_session_fail(s, HS_EINVAL, "%s: the step must be positive, and is %g", name, step);
        return NULL;
    }
    if (dim == 0) {
        hs_session_fail(s, HS_EINVAL, "%s: the number of dimensions is missing", name);
        return NULL;
    }
    if (!hs__all_positive(s, name, "scale", o->scale, dim))
        return NULL;
    *ps = hs_session_params(s, 0);
    walk *w = hs_session_alloc(s, sizeof *w);
    if (!*ps || !w)
        return NULL;
    w->dim = dim;
    w->log_step = o->log_step;
    const double start = o->log_step ? log(step) : step;
    w->step =
        hs_params_add(*ps, o->log_step ? "log_step" : "step",
                      o->diagonal ? hs_dims(dim) : hs_scalar_shape(), hs_init_constant(start));
    if (o->scale) {
        double *scale = hs_session_alloc(s, dim * sizeof *scale);
        for (size_t i = 0; scale && i < dim; i++)
            scale[i] = o->scale[i];
        w->scale = scale;
    }
    if (hs_params_status(*ps))
        hs_session_fail(s, hs_params_status(*ps), "%s: %s", name, hs_params_error(*ps));
    return hs_session_status(s) ? NULL : w;
}

hs_proposal *hs_random_walk(hs_session *s, const hs_walk_options *options)
{
    static const hs_walk_options defaults;
    const hs_walk_options *o = options ? options : &defaults;
    hs_params *ps;
    walk *w =
        walk_new(s, o, o->dim, 2.38 / sqrt((double)(o->dim ? o->dim : 1)), "random walk", &ps);
    if (!w)
        return NULL;
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "random-walk",
                                                   .dim = o->dim,
                                                   .self = w,
                                                   .params = ps,
                                                   .step = w->step,
                                                   .log_step = w->log_step,
                                                   .draw = walk_draw,
                                                   .log_density = walk_log_density,
                                                   .draw_scored = walk_draw_scored,
                                                   .symmetric = true });
}

hs_proposal *hs_mala(hs_session *s, const hs_target *target, const hs_walk_options *options)
{
    static const hs_walk_options defaults;
    const hs_walk_options *o = options ? options : &defaults;
    if (!hs__is_there(s, target, "MALA", "target"))
        return NULL;
    const size_t dim = hs_target_dim(target);
    hs_params *ps;
    walk *w = walk_new(s, o, dim, 1.4 * pow((double)dim, -1.0 / 3), "MALA", &ps);
    if (!w)
        return NULL;
    w->target = target;
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "mala",
                                                   .dim = dim,
                                                   .self = w,
                                                   .params = ps,
                                                   .step = w->step,
                                                   .log_step = w->log_step,
                                                   .gradients = 1,
                                                   .draw = mala_draw,
                                                   .log_density = mala_log_density,
                                                   .draw_scored = mala_draw_scored });
}
