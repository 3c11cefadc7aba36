#include <hastings/mcmc/tune.h>

#include <math.h>

#include "parts_internal.h"
#include "sampler_internal.h"
#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/random.h>

/* Dual averaging (Nesterov 2009, as in Hoffman and Gelman 2014, section 3.2) of log step. */
typedef struct {
    double target, mu, log_step, log_mean, error;
    double n;
} averaging;

static void averaging_start(averaging *a, double step, double target)
{
    *a = (averaging){
        .target = target, .mu = log(10 * step), .log_step = log(step), .log_mean = log(step)
    };
}

static double averaging_step(averaging *a, double alpha)
{
    const double gamma = 0.05, t0 = 10, kappa = 0.75;
    a->n += 1;
    const double w = 1 / (a->n + t0);
    a->error = (1 - w) * a->error + w * (a->target - alpha);
    a->log_step = a->mu - sqrt(a->n) / gamma * a->error;
    const double eta = pow(a->n, -kappa);
    a->log_mean = eta * a->log_step + (1 - eta) * a->log_mean;
    return exp(a->log_step);
}

/* Variance of each coordinate over chains and steps (Welford). */
typedef struct {
    double n, *mean, *m2;
} variances;

static void variances_add(variances *v, const double *points, size_t chains, size_t dim)
{
    for (size_t c = 0; c < chains; c++) {
        v->n += 1;
        for (size_t i = 0; i < dim; i++) {
            const double x = points[c * dim + i], d = x - v->mean[i];
            v->mean[i] += d / v->n;
            v->m2[i] += d * (x - v->mean[i]);
        }
    }
}

typedef struct {
    hs_session *session;
    hs_tune_options options;
    sampler sampler;
    hs_param step, scale;
    bool log_step; /* the parameter is the logarithm of the step */
    variances spread;
    double *points, *sds;
    double begin, last_report;
} tuner;

static bool start_chains(tuner *t, const hs_target *target)
{
    const hs_tune_options *o = &t->options;
    if (o->points) {
        hs__sampler_set(&t->sampler, o->points);
        return true;
    }
    if (hs_target_can_draw(target))
        return hs__sampler_start_exactly(&t->sampler, target, o->seed);
    hs_random_rows(HS_F64, HS_NORMAL,
                   (hs_address){ .seed = o->seed, .stream = STREAM_START, .step = 0 }, 0, o->chains,
                   t->sampler.dim, t->points);
    hs__sampler_set(&t->sampler, t->points);
    return true;
}

static double get_step(const tuner *t)
{
    double step;
    hs_param_get(t->step, &step);
    return t->log_step ? exp(step) : fabs(step);
}

static void set_step(const tuner *t, double step)
{
    const double value = t->log_step ? log(step) : step;
    hs_param_set(t->step, &value);
}

/* The sds, shrunk a little towards a small number as in Stan, become the scale. */
static void set_scale(tuner *t)
{
    const double n = t->spread.n;
    for (size_t i = 0; i < t->sampler.dim; i++) {
        const double variance = t->spread.m2[i] / (n - 1);
        t->sds[i] = sqrt(n / (n + 5) * variance + 1e-3 * 5 / (n + 5));
    }
    hs_param_set(t->scale, t->sds);
    t->spread.n = 0;
    for (size_t i = 0; i < t->sampler.dim; i++)
        t->spread.mean[i] = t->spread.m2[i] = 0;
}

static bool report(tuner *t, uint64_t step, double alpha)
{
    const hs_tune_options *o = &t->options;
    if (hs_session_interrupted(t->session))
        return false;
    const double now = o->progress ? hs_seconds() : 0;
    const bool due =
        step % ((o->steps + 49) / 50) == 0 || step == o->steps || now - t->last_report > 0.5;
    if (!o->progress || !due)
        return true;
    t->last_report = now;
    const hs_progress p = {
        "tune", step, o->steps, (double)NAN, alpha, (double)NAN, now - t->begin
    };
    return o->progress(&p, o->context);
}

/* Sets the mass matrix at a tenth, a quarter and half of the steps, and finds the step anew. */
static bool run(tuner *t, hs_tuning *result)
{
    const hs_tune_options *o = &t->options;
    t->begin = t->last_report = hs_seconds();
    double step, tail = 0;
    size_t tail_count = 0;
    averaging a;
    step = get_step(t);
    averaging_start(&a, step, o->acceptance);
    for (uint64_t i = 0; i < o->steps; i++) {
        if (!hs__sampler_step(&t->sampler, o->seed, i)) {
            if (!hs__sampler_was_interrupted(&t->sampler))
                return false;
            break;
        }
        if (i == 0 && !hs__sampler_check_start(&t->sampler))
            return false;
        double alpha = 0;
        for (size_t c = 0; c < o->chains; c++)
            alpha += hs__sampler_value(&t->sampler, t->sampler.alpha, c) / (double)o->chains;
        step = averaging_step(&a, alpha);
        set_step(t, step);
        if (i >= o->steps - (o->steps + 3) / 4) {
            tail += alpha;
            tail_count++;
        }
        if (t->spread.mean && i >= o->steps / 20) {
            hs__sampler_get(&t->sampler, t->points);
            variances_add(&t->spread, t->points, o->chains, t->sampler.dim);
            const bool due = i == o->steps / 10 || i == o->steps / 4 || i == o->steps / 2;
            if (due && t->spread.n >= 10) {
                set_scale(t);
                step = exp(a.log_mean);
                averaging_start(&a, step, o->acceptance);
            }
        }
        if (!report(t, i + 1, alpha))
            break;
    }
    result->step = exp(a.log_mean);
    result->alpha = tail_count ? tail / (double)tail_count : (double)NAN;
    set_step(t, result->step);
    return true;
}

hs_status hs_tune(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                  const hs_tune_options *options, hs_tuning *result)
{
    hs_tuning unwanted;
    tuner t = { .session = s, .options = options ? *options : (hs_tune_options){ 0 } };
    hs_tune_options *o = &t.options;
    o->chains = o->chains ? o->chains : 16;
    o->steps = o->steps ? o->steps : 1000;
    o->acceptance = o->acceptance != 0 ? o->acceptance : 0.65;
    o->seed = o->seed ? o->seed : hs_session_seed(s);
    if (hs_session_status(s))
        return hs_session_status(s);
    if (!hs__is_there(s, target, "tuning", "target") ||
        !hs__is_there(s, proposal, "tuning", "proposal"))
        return hs_session_status(s);
    if (!hs__check_steps(s, "tuning", o->steps))
        return hs_session_status(s);
    if (!(o->acceptance > 0 && o->acceptance < 1))
        return hs_session_fail(s, HS_EINVAL, "tuning: the acceptance must lie between 0 and 1");
    t.step = hs_proposal_step(proposal, &t.log_step);
    t.scale = hs_proposal_scale(proposal);
    const hs_shape shape = hs_param_shape(t.step);
    if (t.step.index < 0 || hs_shape_count(&shape) != 1)
        return hs_session_fail(s, HS_EINVAL,
                               "tuning: proposal \"%s\" has no step size of one number",
                               hs_proposal_name(proposal));
    if (!hs__sampler_open(&t.sampler, target, proposal, o->chains, REMEMBERS_TARGET))
        return hs_session_status(s);
    const size_t dim = t.sampler.dim;
    const size_t numbers = hs_size_product(hs_size_add(o->chains, 3), dim);
    double *memory = hs_alloc_zero(numbers, sizeof *memory);
    if (memory) {
        t.points = memory;
        t.sds = memory + o->chains * dim;
        if (!o->keep_scale && t.scale.index >= 0 && dim == hs_target_dim(target)) {
            t.spread.mean = t.sds + dim;
            t.spread.m2 = t.sds + 2 * dim;
        }
        if (start_chains(&t, target) && run(&t, result ? result : &unwanted) && o->last)
            hs__sampler_get(&t.sampler, o->last);
    } else {
        hs_session_no_memory(s, hs_size_product(numbers, sizeof *memory),
                             "tuning: out of memory for %zu chains", o->chains);
    }
    hs_free(memory);
    hs__sampler_close(&t.sampler);
    return hs_session_status(s);
}
