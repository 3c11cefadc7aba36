/**
 * Replications: the same experiment with other random numbers, and the mean of its figures.
 *
 *     static bool experiment(uint64_t replica, double *figure, void *context)
 *     {
 *         hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 + replica });
 *         ...                                            // train, sample, diagnose
 *         figure[0] = report.acceptance;
 *         figure[1] = report.ess_per_proposal;
 *         hs_session_free(s);
 *         return ok;
 *     }
 *     hs_figure f[2];
 *     hs_status status = hs_replicate(5, experiment, NULL, f, 2);
 *     printf("acceptance %.3f(%.3f)\n", f[0].mean, f[0].error);
 *
 * Replicas run one after the other on the calling thread; each may use all threads. Any thread may
 * call. The caller owns all memory.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_REPLICATE_H
#define HASTINGS_MCMC_DIAGNOSTICS_REPLICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hastings/tensor/status.h>

/** A figure over the replicas that gave one. */
typedef struct {
    double mean;  /**< mean; NaN for no replicas */
    double sd;    /**< standard deviation between replicas (ddof 1); NaN for fewer than two */
    double error; /**< standard error of the mean, sd / sqrt(count); NaN for fewer than two */
    size_t count; /**< number of replicas that gave the figure */
} hs_figure;

/** Most figures of a replica. */
enum { HS_MOST_FIGURES = 32 };

/** Runs replica 0, 1, 2 ... and stores its figures, of which a NaN is left out. False stops: this
 *  replica does not count, and none follow. */
typedef bool (*hs_replica)(uint64_t replica, double *figure, void *context);

/** Runs up to `replicas` replicas of n figures. HS_EINVAL for no replicas, for more figures than
 *  HS_MOST_FIGURES, or if the first replica stops. */
HS_API hs_status hs_replicate(size_t replicas, hs_replica run, void *context, hs_figure *figures,
                              size_t n) HS_MUST_CHECK;

#endif
