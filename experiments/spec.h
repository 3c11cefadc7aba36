/**
 * Targets, proposals and optimisers from text: a kind, and options after commas.
 *
 *     hs_target *t = app_spec_target(s, "gaussian,dim=100,sd=2");
 *     hs_target *l = app_spec_target(s, "logistic,data=german,augment=21");
 *     hs_proposal *p = app_spec_proposal(s, t, "multi-scheme,couplings=8,width=16,depth=4", 0);
 *
 * The kinds and their options are tables, which `hastings list` prints and messages quote; adding a
 * kind is adding a row. Wrong text makes the session fail with a sentence that names what is wrong and
 * what would be right.
 */
#ifndef HASTINGS_EXPERIMENTS_SPEC_H
#define HASTINGS_EXPERIMENTS_SPEC_H

#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/targets/targets.h>
#include <hastings/nn/optimizer.h>

hs_target *app_spec_target(hs_session *s, const char *text);

/** Makes a proposal of the target's dimension. Another `replica` gives other initial numbers.
 *  Options about the target's scale (mean, sd) come from `points` [n][original dim], draws of the
 *  target; NULL: those of a standard normal. */
hs_proposal *app_spec_proposal(hs_session *s, const hs_target *target, const char *text,
                               uint64_t replica, const double *points, size_t n);

/** An optimiser from text, "sgd,momentum=0.9"; false, and the message says why, if it cannot be read. */
bool app_spec_optimizer(const char *text, hs_optimizer_options *optimizer, hs_message *message);

/** A size is a count that cannot be 0. */
typedef enum {
    APP_SPEC_COUNT,
    APP_SPEC_SIZE,
    APP_SPEC_NUMBER,
    APP_SPEC_FLAG,
    APP_SPEC_TEXT
} app_spec_type;

typedef struct {
    const char *name;
    app_spec_type type;
    const char *standard; /**< the default, as text */
    const char *doc;      /**< one line */
} app_spec_option;

enum { APP_SPEC_OPTIONS = 12 };

typedef struct {
    const char *kind;
    const char *doc;
    app_spec_option options[APP_SPEC_OPTIONS]; /**< up to the first without a name */
} app_spec_entry;

/** The i-th kind; NULL after the last. */
const app_spec_entry *app_spec_targets(size_t i);
const app_spec_entry *app_spec_proposals(size_t i);
const app_spec_entry *app_spec_optimizers(size_t i);

/** The entry of `list` that is nearest to `name` in spelling; NULL if none is near. For messages. */
const char *app_nearest(const char *name, const char *(*list)(size_t i, void *context),
                        void *context);

/** Finds a file that came with the program ("data", "german.csv"), in order: $HASTINGS_HOME/FOLDER,
 *  ../share/hastings/FOLDER beside the program, the source tree. True, and the path, if it is there. */
bool app_find_file(const char *folder, const char *name, char path[4096]);

#endif
