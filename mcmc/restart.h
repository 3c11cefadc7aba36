/**
 * Trainings from several initialisations, of which the best is kept.
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
 * The best is the one whose training objective is lowest on new batches: never a test metric, so what is
 * measured on it afterwards is not flattered by the choice. An objective with a target acceptance is a
 * constraint, and tries that are off it by more than 0.03 are kept only if all are: of those, the nearest.
 * The report says what each try came to.
 */
#ifndef HASTINGS_MCMC_RESTART_H
#define HASTINGS_MCMC_RESTART_H

#include <hastings/mcmc/train.h>

enum { HS_MOST_RESTARTS = 64 };

/** Makes the proposal for one try; `replica` (0, 1, 2 ...) must lead to other initial numbers. */
typedef hs_proposal *(*hs_proposal_maker)(hs_session *s, uint64_t replica, void *context);

typedef struct {
    size_t tries, best;
    /** Of each try, on the same new batches: loss, its standard error, acceptance. An objective's adapted
     *  number is held at what the first try that attained the acceptance ended with, so that all that did
     *  are judged alike; before there is one, it is the try's own. A try that failed with numbers that are
     *  not finite has a loss of infinity. */
    double loss[HS_MOST_RESTARTS], loss_error[HS_MOST_RESTARTS], alpha[HS_MOST_RESTARTS];
    hs_training training; /**< of the best */
} hs_restarts;

/** Trains `tries` proposals, try k with seed options->seed + k (so that tries differ in their batches
 *  too), and returns the best; NULL if all fail, or if the session does. `report` may be NULL.
 *  A checkpoint path in the options is used with ".try0", ".try1" ... appended. */
HS_API hs_proposal *hs_train_restarts(hs_session *s, const hs_target *target,
                                      hs_proposal_maker make, void *context, size_t tries,
                                      const hs_train_options *options, hs_restarts *report);

#endif
