/**
 * Figures as text, in the paper's manner, and how ours compare with the paper's.
 *
 *     char text[APP_FIGURE_TEXT];
 *     app_figure_text(0.6712, 0.031, text);                     // "0.67(3)"
 *
 *     double paper, paper_error, sigmas;
 *     if (app_figure_parse("8.2(1)e-3", &paper, &paper_error) == APP_FIGURE_VALUE) {
 *         const app_verdict v = app_figure_verdict(8.31e-3, sd, paper, paper_error, &sigmas);
 *         printf("%s, %.1f sigma\n", app_verdict_name(v), sigmas);
 *     }
 *
 * Digits in parentheses are the error of the last digits before them. Nothing here allocates or keeps
 * state, so that any thread may call.
 */
#ifndef HASTINGS_EXPERIMENTS_FIGURE_H
#define HASTINGS_EXPERIMENTS_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

/** The room for a figure as text. */
enum { APP_FIGURE_TEXT = 32 };

/** Writes the mean to the first digit of its error: "0.67(3)", "22(1)", "8.2(1)e-3", "1.644(2)e3". With an error
 *  that is NaN or zero, three significant digits: "0.661", "6.1e-4". A mean that is NaN is "-". Returns
 *  text. */
const char *app_figure_text(double mean, double error, char text[APP_FIGURE_TEXT]);

/** Kinds of printed figures. */
typedef enum {
    APP_FIGURE_NONE,  /**< no figure: "", "-", "--" */
    APP_FIGURE_VALUE, /**< a mean and an error: "0.67(3)", "1.00", "1.644(2)e3" */
    APP_FIGURE_BOUND, /**< "<4.73", ">2": mean is the bound */
    APP_FIGURE_RANGE, /**< "1e-3-1e-6": mean is the middle, error half the distance */
    APP_FIGURE_WRONG, /**< none of these */
} app_figure_kind;

/** Reads a printed figure. The error is the number in parentheses, and at least half a unit of the last
 *  printed digit. Both are NaN for APP_FIGURE_NONE and APP_FIGURE_WRONG; either pointer may be NULL. Only
 *  an APP_FIGURE_VALUE can be compared with another. */
app_figure_kind app_figure_parse(const char *text, double *mean, double *error);

/** The outcome of a comparison with the paper. */
typedef enum {
    APP_VERDICT_NONE,    /**< "-": one of the two is not there */
    APP_VERDICT_AGREES,  /**< z <= 2 */
    APP_VERDICT_CLOSE,   /**< z <= 3 */
    APP_VERDICT_DIFFERS, /**< z > 3 */
} app_verdict;

/** Compares by z = |ours - paper| / sqrt(s_ours^2 + s_paper^2). s_ours is the standard deviation
 *  between replications, at most 3 s_paper; NaN (one replication) stands for s_paper. If one figure
 *  is more than four times the other, they differ whatever their errors. `sigmas` gets z, or NaN if
 *  there is nothing to compare; it may be NULL. */
app_verdict app_figure_verdict(double ours, double s_ours, double paper, double s_paper,
                               double *sigmas);

/** "-", "agrees", "close", "differs". */
const char *app_verdict_name(app_verdict verdict);

/** The verdict of that name; APP_VERDICT_NONE for any other text, and NULL. */
app_verdict app_verdict_of(const char *name);

/** A figure divided by another, and the error of the ratio, of independent errors. An error that is NaN
 *  makes the error of the ratio NaN. */
void app_figure_ratio(double mean, double error, double by, double by_error, double *ratio,
                      double *ratio_error);

/** The figures that a job may have, and an experiment may show as columns. The table of chains comes first, in
 *  the order of hs_report_figure_at(). */
typedef enum {
#define HS_FIGURE(key, ...) APP_FIGURE_##key,
#include <hastings/mcmc/diagnostics/figures.def>
#define APP_FIGURE(key, ...) APP_FIGURE_##key,
#include <hastings/experiments/figures.def>
    APP_FIGURES /**< number of figures */
} app_figure_id;

/** A figure as a column. */
typedef struct {
    const char *key;   /**< name in files: "ess_per_proposal" */
    const char *title; /**< name in tables: "ESS/proposal" */
    const char *about; /**< a sentence, without a full stop */
    bool judged; /**< compared with the paper's figures: all but speeds, which are of the machine */
} app_column;

/** The i-th column; NULL after the last. */
const app_column *app_column_at(size_t i);

/** The figure with that key; APP_FIGURES if there is none, or if key is NULL. */
app_figure_id app_figure_find(const char *key);

/** Whether figures of that column are compared with the paper's; so are those of unknown columns. */
bool app_figure_judged(const char *column);

#endif
