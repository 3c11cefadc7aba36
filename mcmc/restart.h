/**
 * Restarts: train from several initialisations and keep the best proposal.
 *
 *     static hs_proposal *make(hs_session *s, uint64_t replica, void *context)
 *     {
 *         (void)context;
 *         return hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = 2, .couplings = 8,
 *                                                               .replica = replica });
 *     }
 *     hs_restarts report;
 *     hs_proposal *best = hs_train_restarts(s, target, make, NULL, 5, &options, &report);
 *
 * The best try has the lowest training objective on new batches. No test metric takes part in the
 * choice, so later measurements of the winner are not flattered by it. The target acceptance of an
 * objective is a constraint: a try that misses it by more than 0.03 wins only if all miss it, and
 * then the nearest wins. The session owns all proposals, and its thread calls.
 */
#ifndef HASTINGS_MCMC_RESTART_H
#define HASTINGS_MCMC_RESTART_H

#include <hastings/mcmc/train.h>

/** Most tries of hs_train_restarts(). */
enum { HS_MOST_RESTARTS = 64 };

/** Makes the proposal of one try; each `replica` (0, 1, 2 ...) must give other initial numbers. */
typedef hs_proposal *(*hs_proposal_maker)(hs_session *s, uint64_t replica, void *context);

/** Result of hs_train_restarts(). All tries are judged on the same new batches, with one value of
 *  the objective's adapted number: the final one of the first try that attained its acceptance.
 *  Before there is such a try, each is judged with its own. */
typedef struct {
    size_t tries; /**< number of tries made */
    size_t best;  /**< index of the winner */
    double loss
        [HS_MOST_RESTARTS]; /**< loss of each try; infinity if it was not finite, NaN if the session
                                              was interrupted before it could be judged */
    double loss_error[HS_MOST_RESTARTS]; /**< standard error of the loss */
    double alpha[HS_MOST_RESTARTS];      /**< mean acceptance probability of each try */
    hs_training training;                /**< training of the winner */
} hs_restarts;

/** Trains up to `tries` proposals and returns the best; NULL if all fail, or if the session does.
 *  Try k has seed options->seed + k, hence batches of its own. A try that the progress function
 *  stops is the last. A checkpoint path in the options gets ".try0", ".try1" ... appended. `report`
 *  may be NULL. */
HS_API hs_proposal *hs_train_restarts(hs_session *s, const hs_target *target,
                                      hs_proposal_maker make, void *context, size_t tries,
                                      const hs_train_options *options, hs_restarts *report);

#endif
