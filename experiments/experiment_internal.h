/* Parts of experiments, for the files of this folder. */
#ifndef HASTINGS_EXPERIMENTS_EXPERIMENT_INTERNAL_H
#define HASTINGS_EXPERIMENTS_EXPERIMENT_INTERNAL_H

#include <jansson.h>

#include <hastings/experiments/run.h>
#include <hastings/nn/optimizer.h>

enum { MOST_REPLICATIONS = 1000 };

typedef struct {
    size_t steps, starts, proposals, restarts, chains, draws, evaluations, replications, workers;
    size_t reference_proposals, reference_chains, reference_warmup;
    double rate, reference_acceptance; /* a rate of 0 is the optimiser's */
    hs_optimizer_options optimizer;
    bool online, float32;
    uint64_t seed;
} settings;

/* Checks settings and reads them over the defaults; json may be NULL. False, with a sentence that
 * begins with `where`, if a key is unknown or a value is wrong. */
bool app_settings_read(const json_t *json, settings *s, const char *where, hs_message *m);

/* Checks an experiment; sentences begin with `path`. The narrowed experiment of a run is not whole:
 * it may name cases and rows that it lacks. */
bool app_experiment_check(const json_t *e, const char *path, bool is_whole, hs_message *m);

bool app_is_sampler(const char *text);
bool app_is_fit_text(const char *text); /* problems of a fit: "walk", "mala", "both" */

/* The entry of a list that has this name; NULL if none. */
const json_t *app_find_named(const json_t *list, const char *name);

/* For app_nearest(): the i-th of an array of words that ends with NULL. */
const char *app_nth_word(size_t i, void *words);

#endif
