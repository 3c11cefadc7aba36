/**
 * Training a proposal: the paper's Algorithms 1 and 2.
 *
 *     hs_training result;
 *     hs_train(s, target, proposal, &(hs_train_options){
 *         .objective = hs_ab_initio(0.18125), .starts = 8, .proposals = 100, .steps = 20000 }, &result);
 *     printf("loss %g, acceptance %g\n", result.loss, result.alpha);
 *
 * Each step draws `starts` start points, and `proposals` proposals from each, and moves the proposal's
 * parameters down the gradient of the mean loss. Start points are
 *     exact draws of the target                     if no points are given,
 *     picked at random from `points`                if they are (Algorithm 1 on a stored chain), or
 *     the states of persistent chains that start at `points` and make one transition with the
 *     trained proposal after every step             with `online` (Algorithm 2).
 * All draws are addressed by seed and step: same seed, same bits, for any number of threads.
 */
#ifndef HASTINGS_MCMC_TRAIN_H
#define HASTINGS_MCMC_TRAIN_H

#include <hastings/mcmc/transition.h>
#include <hastings/nn/optimizer.h>

/** How a long run is going: passed to progress callbacks. */
typedef struct {
    const char *what; /**< "train", "evaluate", "sample" or "tune" */
    uint64_t step, steps;
    double loss;    /**< mean since the last report; NaN where there is none */
    double alpha;   /**< mean acceptance probability since the last report */
    double adapted; /**< the objective's adapted number */
    double seconds; /**< since the run began */
} hs_progress;

/** Returns false to stop the run, which then ends as if it had been that long. */
typedef bool (*hs_progress_function)(const hs_progress *progress, void *context);

typedef struct {
    hs_objective objective;
    size_t starts, proposals; /**< M and N; 0: 8 and 100 */
    uint64_t steps;           /**< 0: 20000 */
    hs_schedule schedule;     /**< of Adam; rate 0: 3e-4 */
    double clip_norm;         /**< 0: gradients are not clipped */
    uint64_t seed;            /**< of all draws; 0: the session's */

    const double *points; /**< [n_points][original dim] or NULL */
    size_t n_points;
    bool online; /**< needs at least `starts` points */

    /** A step whose loss or gradient is not finite stops the training with an error that says where the
     *  first such number arose. If this is set, that many times the parameters go back to the last that
     *  were kept (every 100 steps), with a fresh optimiser, and training goes on with other draws. */
    size_t roll_backs;

    uint64_t
        report_every; /**< steps between reports; 0: a hundredth of all, and at least every half
                                second */
    hs_progress_function progress;
    void *context;

    const char *checkpoint; /**< NULL, or a file that holds the state of the training, written every
                                   checkpoint_every steps (0: 1000) and at the end; if it is there
                                   when training begins, training goes on from it, to the same bits */
    uint64_t checkpoint_every;
} hs_train_options;

enum { HS_CURVE = 256 };

typedef struct {
    uint64_t steps;     /**< taken altogether */
    bool stopped;       /**< by the progress function */
    size_t rolled_back; /**< how many times */
    double loss, alpha; /**< means over the last tenth of the steps */
    double adapted;
    double seconds; /**< that it took, with the runs that it was resumed from */
    size_t points;  /**< of the curve: means of loss and acceptance over equal runs of steps */
    double curve_step[HS_CURVE], curve_loss[HS_CURVE], curve_alpha[HS_CURVE];
} hs_training;

/** Trains the proposal. `result` may be NULL. On failure the session has failed too, and the parameters
 *  are those of the last good step. */
HS_API hs_status hs_train(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                          const hs_train_options *options, hs_training *result);

/** The mean of an objective over `batches` batches of starts x proposals, without training, with its
 *  standard error over start points' batches; drawn with `seed` (0: the session's). The progress
 *  function is told every half second (every report_every batches); if it stops the evaluation, the
 *  result is of the batches up to there. */
typedef struct {
    double loss, loss_error, alpha, alpha_error, jump, jump_error;
} hs_evaluation;
HS_API hs_status hs_evaluate(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                             const hs_train_options *options, size_t batches,
                             hs_evaluation *result);

#endif
