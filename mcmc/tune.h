/**
 * Tuning HMC: the step size by dual averaging, the mass matrix from the variances of the chains.
 *
 *     hs_proposal *hmc = hs_hmc(s, target, NULL);
 *     hs_tune(s, target, hmc, &(hs_tune_options){ .chains = 50, .points = points });
 *
 * Tuning moves `chains` chains together. It is a warm-up: it throws their draws away, but returns
 * their last points, which are good places for chains to start.
 */
#ifndef HASTINGS_MCMC_TUNE_H
#define HASTINGS_MCMC_TUNE_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>
#include <hastings/mcmc/train.h>

/** Options of a tuning; zeros are the defaults. */
typedef struct {
    size_t chains;        /**< 0: 16 */
    size_t steps;         /**< transitions of each chain; 0: 1000 */
    double acceptance;    /**< mean acceptance to aim at; 0: 0.65 */
    bool keep_scale;      /**< leave the mass matrix as it is */
    const double *points; /**< [chains][original dim], where chains start; NULL: exact draws, or
                               normal draws about the origin where the target has none */
    double *last;         /**< NULL, or room for the last points of the chains */
    uint64_t seed;        /**< 0: the session's */
    hs_progress_function progress; /**< receives reports; may be NULL */
    void *context;                 /**< passed to `progress` */
} hs_tune_options;

/** The result of a tuning. */
typedef struct {
    double step;  /**< the step size, which the proposal has now */
    double alpha; /**< mean acceptance over the last quarter of the steps */
} hs_tuning;

/** Tunes the step size of a proposal (hs_proposal_step()), which must be one number, and its scale
 *  if it has one (hs_proposal_scale()). `result` may be NULL. */
HS_API hs_status hs_tune(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                         const hs_tune_options *options, hs_tuning *result);

#endif
