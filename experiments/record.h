/**
 * The record of a job: all that result.json, and work/JOB.json, say about it.
 *
 *     app_record *record = app_record_new();
 *     record->id = app_record_text(record, "%s-%d", name, 1);
 *     app_record_figure(record, APP_FIGURE_msjd, 21.4, NAN);
 *     json_t *json = app_record_json(record);                     // { "id": "cross-1", ...
 *     app_record *same = app_record_read(json, "result.json", &message);
 *
 * A field is one row of the lists below: the structs, writing and reading are made from them. A record owns all
 * that it points to, in memory that app_record_text() and app_record_alloc() give. It belongs to one thread at a
 * time.
 */
#ifndef HASTINGS_EXPERIMENTS_RECORD_H
#define HASTINGS_EXPERIMENTS_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include <hastings/experiments/figure.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/tensor/memory.h>

/** Whether a job has run. */
typedef enum {
    APP_JOB_PENDING, /**< "pending": not yet */
    APP_JOB_DONE,    /**< "done" */
    APP_JOB_PARTIAL, /**< "partial": it was stopped, and figures are of the draws that there were */
    APP_JOB_FAILED,  /**< "failed": `error` says why */
} app_job_state;

/** Numbers in a row. */
typedef struct {
    double *x; /**< [n]; NULL: they are not there */
    size_t n;  /**< number of numbers */
} app_numbers;

/** Structs in a row. */
typedef struct {
    void *items; /**< [n]; NULL: they are not there */
    size_t n;    /**< number of structs */
} app_list;

/** A figure of a job. */
typedef struct {
    bool known;   /**< whether the job has it; one that could not be computed is known as NaN */
    double value; /**< the figure */
    double error; /**< its standard error, "KEY_error" in files; NaN: not known */
} app_figure_value;

/* The fields: F(S, need, type, member, key, part, sentence), S the struct.
 *
 *     need   ALWAYS or MAYBE: whether a file must have the key
 *     type   TEXT         const char *; NULL: not there
 *            COUNT        uint64_t
 *            NUMBER       double; NaN is null in files
 *            NUMBERS      app_numbers
 *            PAIRS        app_numbers, which are pairs in files: [[0, 1], [2, 3]]
 *            STATE        app_job_state
 *            FIGURES      app_figure_value[APP_FIGURES]
 *            COORDINATES  app_numbers [dim][hs_coordinate_figure_at()]
 *            PART         app_PART *; NULL: not there
 *            LIST         app_list of app_PART
 */
/* clang-format off */
#define APP_CURVE_FIELDS(F, S) \
    F(S, ALWAYS, NUMBERS, step,  "step",  none, "gradient steps") \
    F(S, ALWAYS, NUMBERS, loss,  "loss",  none, "mean loss up to there") \
    F(S, ALWAYS, NUMBERS, alpha, "alpha", none, "mean acceptance up to there")

#define APP_TRY_FIELDS(F, S) \
    F(S, ALWAYS, NUMBER, loss,       "loss",       none, "loss on new draws") \
    F(S, ALWAYS, NUMBER, loss_error, "loss_error", none, "its standard error") \
    F(S, ALWAYS, NUMBER, alpha,      "alpha",      none, "acceptance on new draws")

#define APP_TRAINING_FIELDS(F, S) \
    F(S, ALWAYS, TEXT,   objective,   "objective",   none,  "the objective with its numbers") \
    F(S, ALWAYS, COUNT,  steps,       "steps",       none,  "gradient steps made") \
    F(S, ALWAYS, NUMBER, seconds,     "seconds",     none,  "time of the best try") \
    F(S, ALWAYS, NUMBER, loss,        "loss",        none,  "mean loss of the last steps") \
    F(S, ALWAYS, NUMBER, alpha,       "alpha",       none,  "mean acceptance of the last steps") \
    F(S, ALWAYS, NUMBER, adapted,     "adapted",     none,  "number that the objective adapts; NaN: it has none") \
    F(S, ALWAYS, COUNT,  rolled_back, "rolled_back", none,  "times that the training went back to a checkpoint") \
    F(S, MAYBE,  PART,   curve,       "curve",       curve, "course of the best try") \
    F(S, ALWAYS, LIST,   tries,       "tries",       try,   "all tries") \
    F(S, ALWAYS, COUNT,  best,        "best",        none,  "the try that was kept, from 0")

#define APP_REMARK_FIELDS(F, S) \
    F(S, ALWAYS, TEXT, name, "name", none, "name of the warning, as in HS_WARNING_LIST") \
    F(S, ALWAYS, TEXT, text, "text", none, "the sentence")

#define APP_DENSITY_FIELDS(F, S) \
    F(S, ALWAYS, TEXT,    file,   "file",   none, "the maps, [start][y][x]") \
    F(S, ALWAYS, NUMBERS, x,      "x",      none, "from, to") \
    F(S, ALWAYS, NUMBERS, y,      "y",      none, "from, to") \
    F(S, ALWAYS, PAIRS,   starts, "starts", none, "points that the proposal starts from")

#define APP_COMPONENT_FIELDS(F, S) \
    F(S, ALWAYS, NUMBERS, mean,       "mean",       none, "of two coordinates") \
    F(S, ALWAYS, PAIRS,   covariance, "covariance", none, "two rows of two")

#define APP_WEIGHTS_FIELDS(F, S) \
    F(S, ALWAYS, TEXT,    file,       "file",       none,      "the maps, [component][y][x]") \
    F(S, ALWAYS, NUMBERS, x,          "x",          none,      "from, to") \
    F(S, ALWAYS, NUMBERS, y,          "y",          none,      "from, to") \
    F(S, ALWAYS, LIST,    components, "components", component, "components of the mixture")

#define APP_RECORD_FIELDS(F, S) \
    F(S, ALWAYS, TEXT,        id,          "id",          none,     "name of the job's files") \
    F(S, ALWAYS, TEXT,        kase,        "case",        none,     "name of the case") \
    F(S, ALWAYS, TEXT,        row,         "row",         none,     "name of the row") \
    F(S, ALWAYS, COUNT,       replication, "replication", none,     "from 1") \
    F(S, ALWAYS, COUNT,       seed,        "seed",        none,     "seed of the job's random numbers") \
    F(S, ALWAYS, STATE,       state,       "state",       none,     "whether the job has run") \
    F(S, ALWAYS, TEXT,        error,       "error",       none,     "why it failed; empty if it did not") \
    F(S, MAYBE,  PART,        training,    "training",    training, "course of the training") \
    F(S, ALWAYS, FIGURES,     figure,      "figures",     none,     "the figures") \
    F(S, MAYBE,  LIST,        warnings,    "warnings",    remark,   "warnings of the diagnosis") \
    F(S, MAYBE,  COORDINATES, coordinates, "coordinates", none,     "diagnosis of each coordinate") \
    F(S, MAYBE,  TEXT,        chains,      "chains",      none,     "file with the draws") \
    F(S, MAYBE,  TEXT,        parameters,  "parameters",  none,     "file with the trained proposal") \
    F(S, MAYBE,  PART,        density,     "density",     density,  "density of the proposal as maps") \
    F(S, MAYBE,  PART,        weights,     "weights",     weights,  "weights of the mixture as maps")

#define APP_MEMBER(S, need, type, member, key, part, sentence) APP_MEMBER_##type(member, part)
#define APP_MEMBER_TEXT(member, part)        const char *member;
#define APP_MEMBER_COUNT(member, part)       uint64_t member;
#define APP_MEMBER_NUMBER(member, part)      double member;
#define APP_MEMBER_NUMBERS(member, part)     app_numbers member;
#define APP_MEMBER_PAIRS(member, part)       app_numbers member;
#define APP_MEMBER_STATE(member, part)       app_job_state member;
#define APP_MEMBER_FIGURES(member, part)     app_figure_value member[APP_FIGURES];
#define APP_MEMBER_COORDINATES(member, part) app_numbers member;
#define APP_MEMBER_PART(member, part)        app_##part *member;
#define APP_MEMBER_LIST(member, part)        app_list member;
/* clang-format on */

/** A training as a curve: APP_CURVE_FIELDS. */
typedef struct {
    APP_CURVE_FIELDS(APP_MEMBER, app_curve)
} app_curve;

/** A try of a training: APP_TRY_FIELDS. */
typedef struct {
    APP_TRY_FIELDS(APP_MEMBER, app_try)
} app_try;

/** A training: APP_TRAINING_FIELDS. */
typedef struct {
    APP_TRAINING_FIELDS(APP_MEMBER, app_training)
} app_training;

/** A warning: APP_REMARK_FIELDS. */
typedef struct {
    APP_REMARK_FIELDS(APP_MEMBER, app_remark)
} app_remark;

/** Maps of a density: APP_DENSITY_FIELDS. */
typedef struct {
    APP_DENSITY_FIELDS(APP_MEMBER, app_density)
} app_density;

/** A component of a mixture: APP_COMPONENT_FIELDS. */
typedef struct {
    APP_COMPONENT_FIELDS(APP_MEMBER, app_component)
} app_component;

/** Maps of weights: APP_WEIGHTS_FIELDS. */
typedef struct {
    APP_WEIGHTS_FIELDS(APP_MEMBER, app_weights)
} app_weights;

/** The record of a job: APP_RECORD_FIELDS. */
typedef struct {
    APP_RECORD_FIELDS(APP_MEMBER, app_record)
    bool no_memory;  /**< something is missing since there was no memory for it; not in files */
    hs_arena memory; /**< all that the fields point to; not in files */
} app_record;

/** An empty record, for a job that is pending; NULL without memory. */
app_record *app_record_new(void);

/** Frees a record and all that it owns; NULL is allowed. */
void app_record_free(app_record *r);

/** Zeroed memory that the record owns; NULL without memory, which sets no_memory. */
void *app_record_alloc(app_record *r, size_t count, size_t size);

/** Text that the record owns, in the manner of printf. */
const char *app_record_text(app_record *r, const char *format, ...) HS_PRINTF(2, 3);

/** So many numbers that the record owns, copied from x; zeros if x is NULL. */
app_numbers app_record_numbers(app_record *r, const double *x, size_t n);

/** Sets a figure; NaN is an error that is not known. */
void app_record_figure(app_record *r, app_figure_id id, double value, double error);

/** Takes over a diagnosis: its figures, warnings and coordinates. */
void app_record_diagnosis(app_record *r, const hs_report *report);

/** "pending", "done", "partial" or "failed". */
const char *app_job_state_name(app_job_state state);

/** The record for a file; the caller owns it. NULL without memory. */
json_t *app_record_json(const app_record *r);

/** Reads a record, which the caller owns. Keys that no field has are ignored. NULL, and a sentence that begins with
 *  `where` and names the key, if one is missing or has a value of another type. `m` may be NULL. */
app_record *app_record_read(const json_t *json, const char *where, hs_message *m);

#endif
