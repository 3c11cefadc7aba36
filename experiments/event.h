/**
 * What a long run tells the one who watches it.
 *
 * A run is made of jobs (one training and its evaluation, say), of which up to `workers` go on at once,
 * each in a slot of its own. Events come from several threads, never two at a time.
 */
#ifndef HASTINGS_EXPERIMENTS_EVENT_H
#define HASTINGS_EXPERIMENTS_EVENT_H

#include <hastings/mcmc/train.h>

typedef enum {
    APP_RUN_BEGINS,   /**< jobs and workers are known; `estimate` says how long it may take */
    APP_JOB_BEGINS,   /**< a job takes the slot */
    APP_JOB_PROGRESS, /**< `progress` says how it is going */
    APP_JOB_ENDS,     /**< the slot is free again; `text` is a line on how it went */
    APP_RUN_MESSAGE,  /**< `text` is a sentence for the user, a warning say */
    APP_RUN_ENDS,
} app_event_kind;

typedef struct {
    app_event_kind kind;
    size_t slot, workers; /**< slot < workers */
    size_t job, jobs;     /**< job < jobs: its number; at the end of a job: jobs done */
    const char *label;    /**< of the job, "L=8, Ab Initio, 2 of 5" */
    const hs_progress
        *progress;    /**< of the phase that the job is in; NULL but for APP_JOB_PROGRESS */
    const char *text; /**< or NULL */
    double estimate;  /**< seconds left; NaN if not known */
    bool failed;      /**< of a job that ended */
} app_event;

/** Returns false to stop: jobs end at once, with what they have. */
typedef bool (*app_watch)(const app_event *event, void *context);

#endif
