/**
 * What commands that train and sample begin with: a session, a target, and draws of it.
 *
 *     app_problem p;
 *     int code = app_problem_open(&p, call, &(app_problem_options){ .target = "cross", .seed = 1 });
 *     if (!code)
 *         ...                              // p.session, p.target, p.points
 *     app_problem_close(&p);
 */
#ifndef HASTINGS_CLI_COMMANDS_PROBLEM_H
#define HASTINGS_CLI_COMMANDS_PROBLEM_H

#include <hastings/cli/commands/command.h>
#include <hastings/cli/terminal/progress.h>
#include <hastings/experiments/points.h>
#include <hastings/mcmc/train.h>

typedef struct {
    const char *target; /**< as text */
    uint64_t seed;
    bool float32;
    size_t
        reference; /**< proposals of the HMC chains that replace exact draws, if the target has none */
    size_t jobs; /**< number of jobs that follow, for the bars */
    app_bars *bars;
} app_problem_options;

typedef struct {
    hs_session *session;
    hs_target *target;
    app_points points; /**< exact draws, or draws of the HMC chains */
    bool exact;
    size_t jobs; /**< number of jobs done: 1 if HMC chains were needed */
} app_problem;

/** Opens a problem; returns an exit code and prints the error. Close it in any case. */
int app_problem_open(app_problem *p, const app_call *call, const app_problem_options *options);
void app_problem_close(app_problem *p);

/** Options of training, from --steps, --starts, --proposals, --rate and --online; start points are exact
 *  draws, or the problem's points. */
hs_train_options app_problem_training(const app_problem *p, const app_call *call, app_bars *bars);

/** Reads an objective from text; false, and a printed error, if the text is wrong. */
bool app_read_objective(const app_call *call, const char *text, hs_objective *o);

/** Reads the optimiser of --optimizer and --rate; false, and a printed error, if one is wrong. */
bool app_read_optimizer(const app_call *call, hs_optimizer_options *o);

/** Sets path to the first free one of folder/stem + ending, folder/stem-2 + ending, stem-3 ... */
bool app_free_name(char *path, size_t size, const char *folder, const char *stem,
                   const char *ending);

#endif
