/* A run: the jobs of an experiment, and what they share. */
#ifndef HASTINGS_EXPERIMENTS_RUN_INTERNAL_H
#define HASTINGS_EXPERIMENTS_RUN_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include <hastings/experiments/job_internal.h>

enum { MOST_REFERENCES = 32 };

typedef struct {
    const char *target;
    hs_points points;
} reference;

typedef struct {
    const hs_run_options *options;
    const char *out;
    json_t *experiment; /* as it is run: filtered, with the user's data */
    json_t *settings;   /* of the command line */
    bool quick, stan_csv;
    int threads, workers;
    char command[512];
    time_t started;
    double seconds_before; /* of the runs that this one goes on with */

    job *jobs;
    json_t **records; /* of jobs that ended; NULL: not yet */
    size_t n;
    reference references[MOST_REFERENCES];
    size_t n_references;

    pthread_mutex_t lock; /* of all below, of records, and of the watcher */
    size_t next, done;
    bool stop;
} run;

/* Seconds that the jobs which are left will take, by trying a few steps of each kind; NaN if not known. */
double run_estimate(const run *r);

/* The whole result.json; the caller owns it. */
json_t *run_result(const run *r, bool finished);

#endif
