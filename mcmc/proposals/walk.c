/* Random walk and MALA, with one step size or one for each coordinate. */
#include <hastings/mcmc/proposals/proposals.h>
#include "../parts_internal.h"

#include <math.h>
#include <string.h>

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
    const char *at;
    hs_param step;
    bool log_step;
    const double *scale;     /* or NULL */
    const hs_target *target; /* of MALA; NULL: a random walk */
    size_t dim;
} walk;

/* The steps, positive: a step that training takes below zero walks as its absolute value does. */
static hs_var step_of(const walk *w, hs_tape *tape)
{
    const char *at = w->at;
    hs_var step = hs_param_var(tape, w->step);
    step = w->log_step ? hs_exp(step) : hs_abs(step);
    if (!w->scale)
        return step;
    hs_var scale = hs_tensor(tape, hs_dims(w->dim), w->scale);
    return hs_mul(step, w->target ? hs_square(scale) : scale);
}

/* Mean and standard deviations of y, given x. */
static void moments(const walk *w, hs_var x, hs_var *mean, hs_var *sd)
{
    const char *at = w->at;
    *mean = x;
    *sd = step_of(w, x.tape);
    if (w->target) { /* the step is tau */
        *mean = hs_add(x, hs_mul(*sd, hs_target_score(w->target, x)));
        *sd = hs_sqrt(hs_scale(*sd, 2));
    }
}

/* Sum over coordinates of log(sd), whether there is one or one for each. */
static hs_var log_volume(const walk *w, hs_var sd)
{
    const char *at = w->at;
    const hs_shape shape = hs_var_shape(sd);
    hs_var sum = hs_sum(hs_log(sd), HS_ALL);
    return hs_shape_count(&shape) == 1 ? hs_scale(sum, (double)w->dim) : sum;
}

static hs_var draw_scored(void *self, hs_var x, hs_var n, hs_var *log_g)
{
    const walk *w = self;
    const char *at = w->at;
    hs_var mean, sd;
    moments(w, x, &mean, &sd);
    *log_g = hs_sub(hs_log_normal(n), log_volume(w, sd));
    return hs_add(mean, hs_mul(sd, n));
}

static hs_var log_density(void *self, hs_var y, hs_var x)
{
    const walk *w = self;
    const char *at = w->at;
    hs_var mean, sd;
    moments(w, x, &mean, &sd);
    return hs_sub(hs_log_normal(hs_mul(hs_sub(y, mean), hs_recip(sd))), log_volume(w, sd));
}

/* `step` is the default; `at` is the name in messages. */
static hs_proposal *walk_new(hs_session *s, const hs_target *target, size_t dim, double step,
                             const hs_walk_options *options, const char *name, const char *at)
{
    const hs_walk_options o = options ? *options : (hs_walk_options){ 0 };
    step = o.step != 0 ? o.step : step;
    if (dim == 0)
        return SESSION_NULL(s, HS_EINVAL, "%s: the number of dimensions is missing", at);
    if (!(step > 0) || !isfinite(step))
        return SESSION_NULL(s, HS_EINVAL, "%s: the step must be positive, and is %g", at, step);
    if (!hs__all_positive(s, at, "scale", o.scale, dim))
        return NULL;
    hs_params *ps = hs_session_params(s, 0);
    walk *w = hs_session_alloc(s, sizeof *w);
    double *scale = o.scale ? hs_session_alloc(s, hs_size_product(dim, sizeof *scale)) : NULL;
    if (!ps || !w || (o.scale && !scale))
        return NULL;
    if (scale)
        memcpy(scale, o.scale, dim * sizeof *scale);
    *w = (walk){ .at = at, .log_step = o.log_step, .scale = scale, .target = target, .dim = dim };
    w->step = hs_params_add(ps, o.log_step ? "log_step" : "step",
                            o.diagonal ? hs_dims(dim) : hs_scalar_shape(),
                            hs_init_constant(o.log_step ? log(step) : step));
    if (hs_params_status(ps))
        return SESSION_NULL(s, hs_params_status(ps), "%s: %s", at, hs_params_error(ps));
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = name,
                                                   .dim = dim,
                                                   .self = w,
                                                   .params = ps,
                                                   .step = w->step,
                                                   .log_step = w->log_step,
                                                   .gradients = target != NULL,
                                                   .log_density = log_density,
                                                   .draw_scored = draw_scored,
                                                   .symmetric = !target });
}

hs_proposal *hs_random_walk(hs_session *s, const hs_walk_options *options)
{
    const size_t dim = options ? options->dim : 0;
    const double step = 2.38 / sqrt((double)dim);
    return walk_new(s, NULL, dim, step, options, "random-walk", "random walk");
}

hs_proposal *hs_mala(hs_session *s, const hs_target *target, const hs_walk_options *options)
{
    if (!hs__is_there(s, target, "MALA", "target"))
        return NULL;
    const size_t dim = hs_target_dim(target);
    return walk_new(s, target, dim, 1.4 * pow((double)dim, -1.0 / 3), options, "mala", "MALA");
}
