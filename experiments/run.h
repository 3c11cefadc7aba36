/**
 * Running experiments: files that say what to train and compare, to a folder of results. Both are
 * described in docs/formats.md.
 *
 *     hs_message message;
 *     json_t *cross = app_experiment_load("cross", &message);
 *     if (!cross || app_experiment_run(cross, &(app_run_options){ .out = "out" }, &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     json_decref(cross);
 */
#ifndef HASTINGS_EXPERIMENTS_RUN_H
#define HASTINGS_EXPERIMENTS_RUN_H

#include <jansson.h>

#include <hastings/experiments/event.h>
#include <hastings/nn/file.h>

/** The experiment of that name, or of the file if `name` has a slash or ends in .json, checked: every
 *  key known, every target, proposal and objective readable as text. NULL, and a sentence that names
 *  the file and the place in it (or the nearest name), if it cannot be had. */
json_t *app_experiment_load(const char *name, hs_message *message);

/** The name of the i-th experiment that came with the program, in alphabetical order, in name; false
 *  after the last. */
bool app_experiment_name(size_t i, char name[64]);

/** The settings of a job: those of the experiment, of its case and row (or NULL), of a quick run, and
 *  `own` ones. Later ones win. The caller owns the result: json_decref(). */
json_t *app_settings_merge(const json_t *experiment, const json_t *kase, const json_t *row,
                           bool quick, json_t *own);

typedef struct {
    const char *out; /**< folder; made if it is not there, refused if it has something in it */
    bool resume;     /**< go on with the run in `out`, whose result.json says what it is */
    bool quick;
    json_t *settings; /**< NULL, or an object with settings that override the file's */
    const char
        *objectives;     /**< NULL, or only the rows with these, by commas: "ab-initio,gsm-60". One
                                 that no row has becomes a row */
    const char *cases;   /**< NULL, or only cases with these names, or patterns such as "*d=100", by
                               commas */
    const char *data;    /**< NULL, or a CSV file for logistic targets instead of their own */
    const char *label;   /**< NULL, or the name of its column with labels */
    int threads;         /**< 0: all */
    bool stan_csv;       /**< write chains as CmdStan CSV too */
    const char *command; /**< for result.json; NULL: "" */
    app_watch watch;     /**< NULL: nobody watches */
    void *context;
    /** NULL, or asked many times a second, also while there is nothing to tell the watcher, by several threads:
     *  true stops the run */
    bool (*interrupted)(void *context);
} app_run_options;

/** Runs it. HS_OK also if it was stopped by `watch` or if jobs failed: result.json says "partial" then.
 *  HS_EINVAL for options that make no sense, HS_EIO for files. With `resume`, experiment is ignored and
 *  may be NULL. */
hs_status app_experiment_run(json_t *experiment, const app_run_options *options,
                             hs_message *message) HS_MUST_CHECK;

#endif
