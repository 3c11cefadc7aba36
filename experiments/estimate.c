/* How long a run will take, by trying. */
#include <math.h>
#include <string.h>

#include "run_internal.h"
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/objectives/objectives.h>

#define TRIAL 0.15 /* seconds */

typedef struct {
    uint64_t first_step, step;
    double first, last;
} stopwatch;

/* The first step pays for what is made once. */
static bool on_step(const hs_progress *p, void *context)
{
    stopwatch *w = context;
    if (!w->first_step) {
        w->first_step = p->step;
        w->first = p->seconds;
    }
    w->step = p->step;
    w->last = p->seconds;
    return p->seconds - w->first < TRIAL;
}

static double seconds_a_step(const stopwatch *w)
{
    return w->step > w->first_step ? (w->last - w->first) / (double)(w->step - w->first_step)
                                   : (double)NAN;
}

/* Of a training of the job, on one thread; NaN if it cannot be tried. */
static double try_training(const run *r, const job *j)
{
    hs_objective o;
    stopwatch watch = { 0 };
    if (!j->objective || !j->proposal || hs_objective_parse(j->objective, &o, NULL, 0))
        return (double)NAN;
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1,
                                                          .float32 = j->set.float32,
                                                          .threads = 1,
                                                          .interrupted = r->options->interrupted,
                                                          .context = r->options->context });
    hs_target *target = app_spec_target(s, j->target);
    app_points points = { 0 };
    double *origin = NULL;
    if (target && hs_target_can_draw(target))
        (void)app_points_exact(&points, s, target, 64, 1);
    else if (target)
        origin =
            hs_session_alloc(s, hs_size_product(2, hs_target_original_dim(target), sizeof *origin));
    hs_proposal *p =
        target ? app_spec_proposal(s, target, j->proposal, 0, points.x, points.n) : NULL;
    if (p)
        hs_train(s, target, p,
                 &(hs_train_options){ .objective = o,
                                      .starts = j->set.starts,
                                      .proposals = j->set.proposals,
                                      .steps = j->set.steps,
                                      .optimizer = { j->set.optimizer.name, .rate = 1e-12 },
                                      .points = origin,
                                      .n_points = origin ? 2 : 0,
                                      .report_every = 1,
                                      .progress = on_step,
                                      .context = &watch },
                 NULL);
    app_points_free(&points);
    hs_session_free(s);
    return seconds_a_step(&watch);
}

/* Of a reference chain, if the job's target needs one, on all threads. */
static double try_reference(const run *r, const job *j)
{
    stopwatch watch = { 0 };
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1,
                                                          .threads = r->threads,
                                                          .interrupted = r->options->interrupted,
                                                          .context = r->options->context });
    hs_target *target = app_spec_target(s, j->target);
    double seconds = 0;
    if (target && !hs_target_can_draw(target)) {
        const size_t chains = j->set.reference_chains;
        double *origin = hs_session_alloc(
            s, hs_size_product(chains, hs_target_original_dim(target), sizeof *origin));
        const double steps =
            (double)j->set.reference_warmup + (double)j->set.reference_proposals / (double)chains;
        if (origin)
            hs_sample(s, target, hs_hmc(s, target, NULL),
                      &(hs_sample_options){ .chains = chains,
                                            .draws = 100,
                                            .points = origin,
                                            .n_points = chains,
                                            .progress = on_step,
                                            .context = &watch });
        seconds = steps * seconds_a_step(&watch);
    }
    hs_session_free(s);
    return seconds;
}

double app_run_estimate(const run *r)
{
    enum { FEW = 300 }; /* steps that are over before they could be measured */
    double all = 0, training = (double)NAN;
    const job *tried = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const job *j = &r->jobs[i];
        if (r->records[i] || !j->objective || j->set.steps < FEW)
            continue;
        /* Rows of a case cost about the same. */
        if (!tried || tried->kase != j->kase || tried->proposal != j->proposal) {
            training = try_training(r, j);
            all += try_reference(r, j);
            tried = j;
        }
        all += (double)(j->set.steps * j->set.restarts) * training / (double)r->workers;
    }
    return tried ? all : (double)NAN;
}
