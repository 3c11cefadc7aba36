/* A run: the jobs of an experiment, and what they share. */
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
    bool needed; /* the target cannot be drawn from */
    app_points points;
} reference;

typedef struct {
    const app_run_options *options;
    const char *out;
    json_t *experiment; /* as it is run: filtered, with the user's data */
    json_t *settings;   /* of the command line */
    json_t *before;     /* records of the run that this one goes on with; NULL: none */
    bool quick, stan_csv;
    int threads, workers;
    char command[512];
    time_t started;
    double seconds_before; /* of the runs that this one goes on with */
    int folder;            /* open and locked as long as this runs; -1: not yet */

    job *jobs;
    json_t **records; /* of jobs that ended; NULL: not yet */
    size_t n;
    reference references[MOST_REFERENCES];
    size_t n_references;

    pthread_mutex_t lock; /* of all below, of records, and of the watcher */
    size_t next, done;
    bool stop;
} run;

/* The text of a key; NULL if there is none. */
const char *app_text_of(const json_t *object, const char *key);

/* What is to be run: the experiment as the options have it, or that of the run which goes on. */
hs_status app_run_shape(run *r, const json_t *given, hs_message *m);
hs_status app_run_take_over(run *r, hs_message *m);

/* The jobs of it, without records. */
hs_status app_run_plan(run *r, hs_message *m);

/* Makes the folder and those in it, and locks it: HS_EIO if that cannot be, HS_EINVAL if there is something in it, or
 * another run is at work there. */
hs_status app_run_make_folder(run *r, hs_message *m);

/* Tells the watcher; false if the run is to stop. */
bool app_run_tell(run *r, app_event e);

/* Whom the progress of a job is reported for. */
typedef struct {
    run *run;
    size_t job, slot;
    const char *label;
} ticket;
bool app_run_on_progress(const hs_progress *p, void *ticket);

/* Every target can be made: files are there and sound. Before anything is written. */
hs_status app_run_check_targets(run *r, hs_message *m);

/* Long chains that stand for targets which cannot be drawn from, for the jobs that need them. */
hs_status app_run_make_references(run *r, hs_message *m);

/* Seconds that the jobs which are left will take, by trying a few steps of each kind; NaN if not known. */
double app_run_estimate(const run *r);

/* The whole result.json; the caller owns it. */
json_t *app_run_result(const run *r, bool finished);

#endif
