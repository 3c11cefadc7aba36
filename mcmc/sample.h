/**
 * Sampling: Metropolis-Hastings chains of any proposal, all moved at once.
 *
 *     hs_chains *c = hs_sample(s, target, proposal, &(hs_sample_options){ .chains = 5, .draws = 1000 });
 *     hs_report report;
 *     if (c && !hs_diagnose(c, NULL, &report, NULL)) ...           // diagnose.h
 *
 * A proposal whose log density, or whose ratio, is not finite is rejected and counted. Auxiliary
 * coordinates are drawn anew before each proposal and are not kept. A chain's draws depend on the seed
 * and its number alone: not on threads, nor on how many other chains run, to the last bit, except that
 * a chain that runs alone is computed with vectors over coordinates and may differ in rounding.
 */
#ifndef HASTINGS_MCMC_SAMPLE_H
#define HASTINGS_MCMC_SAMPLE_H

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/train.h>

typedef struct {
    size_t chains; /**< 0: 5 */
    size_t draws;  /**< of each chain; 0: 1000 */
    size_t warmup; /**< draws before those, which are thrown away */
    size_t thin;   /**< keeps one draw of so many; 0: 1 */
    const double
        *points; /**< where chains start: [n_points][original dim], one for each chain, or more
                               than that, and then picked at random. NULL: exact draws of the target */
    size_t n_points;
    uint64_t seed;      /**< 0: the session's */
    const char *stream; /**< NULL, or a .npy file that draws go to instead of memory: hs_sample()
                               returns chains whose counts are true, and whose x is NULL */
    hs_progress_function progress; /**< told about a hundred times; returns false to stop early */
    void *context;
} hs_sample_options;

/** Samples. The chains belong to the session; NULL if it fails. When stopped early by the progress
 *  function, the chains have the draws made so far. */
HS_API hs_chains *hs_sample(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                            const hs_sample_options *options);

#endif
