/* One job: a cell of an experiment, once. */
#ifndef HASTINGS_EXPERIMENTS_JOB_INTERNAL_H
#define HASTINGS_EXPERIMENTS_JOB_INTERNAL_H

#include "experiment_internal.h"
#include <hastings/experiments/points.h>
#include <hastings/experiments/record.h>
#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/restart.h>

enum { JOB_TEXT = 192, JOB_PATH = 4096 };

/* What a job is. */
typedef struct {
    const json_t *experiment, *kase, *row;
    const char *target, *proposal;   /* as text; proposal may be NULL */
    const char *objective, *sampler; /* one of them is NULL */
    settings set;
    size_t replication; /* from 1 */
    uint64_t seed;
    char id[JOB_TEXT], label[JOB_TEXT];

    const char *out; /* folder of the run */
    int threads;
    bool stan_csv;
    const app_points *reference; /* stands for draws of the target; NULL: it can be drawn from */
    bool first_of_cell;          /* whose figures are drawn */

    hs_progress_function progress; /* returns false when the run is to stop */
    void *context;
    bool (*interrupted)(void *run); /* hs_session_options.interrupted */
    void *run;
} job;

/* What a job works with while it runs. */
typedef struct {
    const job *job;
    hs_session *session;
    hs_target *target;
    app_points points; /* draws of the target: the reference's, or exact ones that are owned */
    app_record *record;
    uint64_t attempt; /* of the training that is going on, from 0 */
    bool stopped;     /* by the watcher: what there is, is partial */
} work;

/* The record of a job that has not run, which the caller owns; NULL without memory. */
app_record *app_job_record(const job *j);

/* Runs a job, and returns its record, which the caller owns; NULL without memory. */
app_record *app_job_run(const job *j);

/* The progress function of all that a job does, whose context is its `work`. Whatever was going on when
 * the run was stopped, the job is partial. */
bool app_job_on_progress(const hs_progress *p, void *work);

/* The sampler's part: the proposal of an objective, trained; HMC, tuned; or one whose step was solved
 * for. NULL if the session failed, or if it was stopped before there was one. */
hs_proposal *app_job_train(work *w);
hs_proposal *app_job_tune_hmc(work *w);
hs_proposal *app_job_solve_step(work *w, double acceptance);
hs_proposal *app_job_best_step(work *w);
void app_job_fit(work *w);

/* The proposal's step size, if it has one that is one number. */
bool app_job_get_step(const hs_proposal *p, double *step);

/* Means over proposals from independent start points. */
bool app_job_evaluate(work *w, const hs_proposal *p, const hs_objective *o, size_t proposals,
                      uint64_t seed, hs_evaluation *e);

/* Figures of densities and weights, if the experiment asks for them. */
void app_job_draw_density(work *w, const hs_proposal *p);
void app_job_draw_weights(work *w, const hs_proposal *p);

/* The text of a key; NULL if there is none. */
const char *app_text_of(const json_t *object, const char *key);

/* A path in the run's folder; false if it is too long, which fails the session. */
bool app_job_path(const work *w, char path[JOB_PATH], const char *folder, const char *ending);

#endif
