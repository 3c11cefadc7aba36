/**
 * Sampling: Metropolis-Hastings chains of any proposal, all moved at once.
 *
 *     hs_chains *c = hs_sample(s, target, proposal, &(hs_sample_options){ .draws = 5000 });
 *     hs_report report;
 *     if (c && !hs_diagnose(c, NULL, &report, NULL)) ...           // diagnostics/diagnose.h
 *
 * A proposal with a log density or a ratio that is not finite is rejected and counted. Auxiliary
 * coordinates are drawn anew before each proposal and are not kept. The draws of a chain depend on
 * the seed and on its number alone, to the last bit: not on threads, nor on how many other chains
 * run. One exception: a chain that runs alone is computed with vectors over coordinates, and may
 * differ in rounding. The session owns the chains; its thread calls.
 */
#ifndef HASTINGS_MCMC_SAMPLE_H
#define HASTINGS_MCMC_SAMPLE_H

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/train.h>

/** Options of hs_sample(). */
typedef struct {
    size_t chains; /**< number of chains; 0: 5 */
    size_t draws;  /**< draws kept of each chain; 0: 1000 */
    size_t warmup; /**< transitions thrown away before the first draw */
    size_t thin;   /**< transitions for each draw; 0: 1 */
    /** Start points, [n_points][original dim]: one for each chain in order; if there are more, each
     *  chain picks one at random. NULL: exact draws of the target. */
    const double *points;
    size_t n_points;    /**< number of points, at least `chains` if points are given */
    uint64_t seed;      /**< seed of all draws; 0: the session's */
    const char *stream; /**< .npy file that takes the draws instead of memory; NULL: memory */
    hs_progress_function progress; /**< called about a hundred times, and every half
                                        second; may be NULL */
    void *context;                 /**< argument of progress */
} hs_sample_options;

/** Samples; NULL if the session fails. Options may be NULL. The session owns the chains. If the
 *  progress function stops the run, they have the draws made so far. With a stream, their counts
 *  are true and x is NULL; after an error the file keeps the draws made before. */
HS_API hs_chains *hs_sample(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                            const hs_sample_options *options);

#endif
