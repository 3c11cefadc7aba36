/* A run: the jobs of an experiment, and their shared state. */
#ifndef HASTINGS_EXPERIMENTS_RUN_INTERNAL_H
#define HASTINGS_EXPERIMENTS_RUN_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include "job_internal.h"

enum { MOST_REFERENCES = 32 };

typedef struct {
    const char *target;
    const job *first; /* of those with this target: the chain's file and settings are its */
    size_t dim;
    bool needed; /* the target has no exact draws */
    app_points points;
} reference;

typedef struct {
    const app_run_options *options;
    const char *out;
    json_t *experiment; /* as it is run: filtered, with the user's data */
    json_t *settings;   /* of the command line */
    json_t *before;     /* records of the resumed run; NULL: none */
    bool quick, stan_csv;
    int threads, workers;
    char command[512];
    time_t started;
    double seconds_before; /* of the resumed runs */
    int folder;            /* open and locked as long as this runs; -1: not yet */

    job *jobs;
    app_record **records; /* of jobs that ended; NULL: not yet */
    size_t n;
    reference references[MOST_REFERENCES];
    size_t n_references;

    pthread_mutex_t lock; /* of all below, of records, and of the watcher */
    size_t next, done;
    bool stop;
} run;

/* Sets the experiment to run: as the options change it, or as the resumed run had it. */
hs_status app_run_shape(run *r, const json_t *given, hs_message *m);
hs_status app_run_take_over(run *r, hs_message *m);

/* The jobs of it, without records. */
hs_status app_run_plan(run *r, hs_message *m);

/* Makes the folder and those in it, and locks it: HS_EIO if that cannot be, HS_EINVAL if there is something in it, or
 * another run is at work there. */
hs_status app_run_make_folder(run *r, hs_message *m);

/* Says that the folder of a run to resume has no result.json, and what to do. */
hs_status app_run_lacks_result(const run *r, hs_message *m);

/* Tells the watcher; false if the run is to stop. */
bool app_run_tell(run *r, app_event e);

/* Whether the run is to stop; hs_session_options.interrupted, whose context is the run. */
bool app_run_is_over(void *run);

/* The job for which progress is reported. */
typedef struct {
    run *run;
    size_t job, slot;
    const char *label;
} ticket;
bool app_run_on_progress(const hs_progress *p, void *ticket);

/* Checks that every target can be made, with sound files, before the run writes anything. */
hs_status app_run_check_targets(run *r, hs_message *m);

/* Makes the reference chains: long chains that replace exact draws, for targets that have none. */
hs_status app_run_make_references(run *r, hs_message *m);

/* Estimates the seconds of the remaining jobs by trying a few steps of each kind; NaN if not known.
 * */
double app_run_estimate(const run *r);

/* The whole result.json; the caller owns it. */
json_t *app_run_result(const run *r, bool finished);

#endif
