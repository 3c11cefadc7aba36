/**
 * Tuning HMC: step size by dual averaging, mass matrix from the variances of the chains.
 *
 *     hs_proposal *hmc = hs_hmc(s, target, NULL);
 *     hs_tune(s, target, hmc, &(hs_tune_options){ .chains = 50, .points = points });
 *
 * Tuning moves `chains` chains together; it is a warm-up: their draws are thrown away, but their last
 * points are returned, as good places for chains to start.
 */
#ifndef HASTINGS_MCMC_TUNE_H
#define HASTINGS_MCMC_TUNE_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>
#include <hastings/mcmc/train.h>

typedef struct {
    size_t chains;     /**< 0: 16 */
    size_t steps;      /**< 0: 1000 */
    double acceptance; /**< to aim at; 0: 0.65 */
    bool keep_scale;   /**< leave the mass matrix as it is */
    const double
        *points;   /**< [chains][original dim], where chains start; NULL: exact draws, or normal
                               draws about the origin where the target has none */
    double *last;  /**< NULL, or room for the last points of the chains */
    uint64_t seed; /**< 0: the session's */
    hs_progress_function progress;
    void *context;
} hs_tune_options;

typedef struct {
    double step;
    double alpha; /**< mean acceptance over the last quarter of the steps */
} hs_tuning;

/** Tunes the parameters "step" (or "log_step") and, if the proposal has it, "scale". `result` may be NULL. */
HS_API hs_status hs_tune(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                         const hs_tune_options *options, hs_tuning *result);

#endif
