/**
 * Draws of a target: exact ones where it has them, else picked from a long chain of tuned HMC.
 *
 *     app_points points;
 *     if (hs_points_draw(&points, s, target, &(hs_points_options){ .count = 1000 }) == HS_OK) ...
 *     app_points_free(&points);
 */
#ifndef HASTINGS_EXPERIMENTS_POINTS_H
#define HASTINGS_EXPERIMENTS_POINTS_H

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/sample.h>
#include <hastings/mcmc/target.h>

typedef struct {
    size_t n, dim; /**< original coordinates */
    double *x;     /**< [n][dim] */
} app_points;

void app_points_free(app_points *points);

/** n exact draws; the session fails if the target has none. */
hs_status app_points_exact(app_points *points, hs_session *s, const hs_target *target, size_t n,
                           uint64_t seed);

typedef struct {
    size_t proposals;  /**< proposals of all chains together; 0: 500000 */
    size_t chains;     /**< number of chains; 0: 100 */
    size_t warmup;     /**< tuning steps, thrown away; 0: 1000 */
    double acceptance; /**< acceptance to tune for; 0: 0.65 */
    uint64_t seed;
    hs_progress_function progress;
    void *context;
} app_reference_chain_options;

/** A long chain of HMC, tuned in step size and mass matrix, as points; of more than 20 million
 *  numbers, equally spaced draws are kept. If the watcher stops it, the
 *  points are those so far, or none. */
hs_status app_points_reference(app_points *points, hs_session *s, const hs_target *target,
                               const app_reference_chain_options *options);

/** Means and standard deviations [dim] of the coordinates. */
void app_points_moments(const app_points *points, double *mean, double *sd);

/** Saves points as .npy, and reads them back. */
hs_status app_points_save(const app_points *points, const char *path, hs_message *message);
hs_status app_points_load(app_points *points, const char *path, hs_message *message);

/** Chains of independent points picked at random, as perfect sampling would give. With exact draws
 *  of the target, pass as many points as draws. The caller owns the chains. */
hs_status app_points_resample(hs_chains **chains, const app_points *points, size_t count,
                              size_t draws, uint64_t seed, hs_message *message);

#endif
