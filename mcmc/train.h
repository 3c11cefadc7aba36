/**
 * Training a proposal: the paper's Algorithms 1 and 2.
 *
 *     hs_training result;
 *     hs_train(s, target, proposal, &(hs_train_options){
 *         .objective = hs_ab_initio(0.18125), .starts = 8, .proposals = 100, .steps = 20000,
 *         .optimizer = { "adam", .rate = 3e-4 } }, &result);
 *     printf("loss %g, acceptance %g\n", result.loss, result.alpha);
 *
 * Each step draws `starts` start points, and `proposals` proposals from each of them. Then it moves
 * the proposal's parameters down the gradient of the mean loss. The start points are one of:
 *     exact draws of the target                     if no points are given,
 *     random picks from `points`                    if they are (Algorithm 1 on a stored chain),
 *     states of persistent chains                   with `online` (Algorithm 2): they start at
 *                                                   `points`, and make one transition with the
 *                                                   trained proposal after every step.
 * Seed and step address all draws: the same seed gives the same bits, for any number of threads.
 */
#ifndef HASTINGS_MCMC_TRAIN_H
#define HASTINGS_MCMC_TRAIN_H

#include <hastings/mcmc/transition.h>
#include <hastings/nn/optimizer.h>

/** The state of a long run, for progress callbacks. */
typedef struct {
    const char *what; /**< "train", "evaluate", "sample" or "tune" */
    uint64_t step;    /**< steps done */
    uint64_t steps;   /**< steps to do */
    double loss;      /**< mean since the last report; NaN where there is none */
    double alpha;     /**< mean acceptance probability since the last report */
    double adapted;   /**< the objective's adapted number */
    double seconds;   /**< time since the run began */
} hs_progress;

/** Returns false to stop the run, which then ends as if it had been that long. */
typedef bool (*hs_progress_function)(const hs_progress *progress, void *context);

/** Options of a training; zeros are the defaults. */
typedef struct {
    hs_objective objective; /**< the loss, which must be given */
    size_t starts;          /**< start points of a step, the paper's M; 0: 8 */
    size_t proposals;       /**< proposals from each start point, the paper's N; 0: 100 */
    uint64_t steps;         /**< 0: 20000 */
    uint64_t seed;          /**< of all draws; 0: the session's */

    /** Any optimiser, with its schedule, clipping and groups; zeroed: Adam with rate 3e-4. Rate 0
     *  is 3e-4 for Adam, and an optimiser's own default for others. A schedule that falls until
     *  step 0 falls until the last step. Threads are the session's, unless they are given. */
    hs_optimizer_options optimizer;

    const double *points; /**< [n_points][original dim] start points, or NULL */
    size_t n_points;      /**< number of points */
    bool online;          /**< train on persistent chains; needs at least `starts` points */

    /** How many times training goes on after a step whose loss or gradient is not finite: with the
     *  last parameters that were kept (every 100 steps), a fresh optimiser and other draws. The next
     *  such step stops the training with an error that says where the first such number arose. */
    size_t roll_backs;

    uint64_t report_every; /**< steps between reports; 0: a hundredth of all, and at least every
                                half second */
    hs_progress_function progress; /**< receives the reports; may be NULL */
    void *context;                 /**< passed to `progress` */

    const char *checkpoint; /**< NULL, or a file that holds the state of the training. If it exists
                                 when training begins, training goes on from it, to the same bits */
    uint64_t checkpoint_every; /**< steps between writes of the checkpoint, which is also written at
                                    the end; 0: 1000 */
} hs_train_options;

/** The most points that a curve has. */
enum { HS_CURVE = 256 };

/** The result of a training. */
typedef struct {
    uint64_t steps;        /**< steps taken altogether */
    bool stopped;          /**< the progress function stopped it */
    size_t rolled_back;    /**< number of roll-backs */
    const char *optimizer; /**< name of the optimiser */
    double rate;           /**< its learning rate, before the schedule */
    double loss;           /**< mean over the last tenth of the steps */
    double alpha;          /**< mean acceptance probability over the last tenth of the steps */
    double adapted;        /**< the objective's adapted number at the end */
    double seconds;        /**< time that it took, with the runs that it was resumed from */
    size_t points;         /**< points of the curve, each of which averages as many steps */
    double curve_step[HS_CURVE];  /**< the last step of each point */
    double curve_loss[HS_CURVE];  /**< mean loss of each point */
    double curve_alpha[HS_CURVE]; /**< mean acceptance probability of each point */
} hs_training;

/** Trains the proposal. `result` may be NULL. On failure the session has failed too, and the
 *  parameters are those of the last good step. */
HS_API hs_status hs_train(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                          const hs_train_options *options, hs_training *result);

/** Means over batches, each with its standard error. */
typedef struct {
    double loss;        /**< mean loss */
    double loss_error;  /**< its standard error */
    double alpha;       /**< mean acceptance probability */
    double alpha_error; /**< its standard error */
    double jump;        /**< mean of alpha |y - x|^2 */
    double jump_error;  /**< its standard error */
} hs_evaluation;

/** Evaluates an objective over `batches` batches of starts x proposals, without training, with draws
 *  of `seed` (0: the session's). Standard errors are those over batches. The progress function gets
 *  a report every half second (every report_every batches). If it stops the evaluation, the result
 *  is of the batches up to there. */
HS_API hs_status hs_evaluate(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                             const hs_train_options *options, size_t batches,
                             hs_evaluation *result);

#endif
