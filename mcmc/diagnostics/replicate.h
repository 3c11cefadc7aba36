/**
 * Replications: the same experiment with other random numbers, and what it comes to on average.
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
 * Replicas run one after the other; each may use all threads.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_REPLICATE_H
#define HASTINGS_MCMC_DIAGNOSTICS_REPLICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hastings/tensor/status.h>

/** A figure over replicas that gave one: mean, sd between replicas (ddof 1) and standard error of the mean,
 *  sd / sqrt(count); the last two are NaN for fewer than two replicas. */
typedef struct {
    double mean, sd, error;
    size_t count;
} hs_figure;

enum { HS_MOST_FIGURES = 32 };

/** Runs replica 0, 1, 2 ... and stores its figures; a NaN is left out. Returns false to stop: that replica
 *  does not count, and none follow. */
typedef bool (*hs_replica)(uint64_t replica, double *figure, void *context);

/** Runs up to `replicas` replicas of n figures. HS_EINVAL for no replicas, or more figures than
 *  HS_MOST_FIGURES, or if the first replica stops. */
HS_API hs_status hs_replicate(size_t replicas, hs_replica run, void *context, hs_figure *figures,
                              size_t n) HS_MUST_CHECK;

#endif
