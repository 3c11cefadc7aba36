/**
 * Elementary flows: scaling of each coordinate, and permutation of the coordinates.
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_flow *scale = hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = 3, .shift = true });
 *     hs_flow *reverse = hs_flow_permutation_new(ps, 3, NULL);
 *     hs_flow *both = hs_flow_compose_new(ps, NULL, (hs_flow *[]){ scale, reverse }, 2);
 *
 * Ownership, errors and threads are as for every flow: see flow.h.
 */
#ifndef HASTINGS_FLOWS_ELEMENTARY_H
#define HASTINGS_FLOWS_ELEMENTARY_H

#include <hastings/flows/flow.h>

/** A scaling: x = exp(log_scale) z + shift, coordinate by coordinate. */
typedef struct {
    const char *name;       /**< NULL: "scaling", "scaling2" ..., the first free name */
    size_t dim;             /**< length of the vectors */
    bool shift;             /**< has a shift; without it the shift is 0 */
    hs_init log_scale_init; /**< initialiser of log_scale; zeroed: 0, the identity */
    hs_init shift_init;     /**< initialiser of the shift; zeroed: 0 */
} hs_scaling_options;

/** Makes a scaling with the parameters name.log_scale [dim] and, if it has a shift, name.shift [dim]. */
HS_API hs_flow *hs_flow_scaling_new(hs_params *ps, const hs_scaling_options *options);

/** Makes the permutation x[i] = z[order[i]]. `order` (copied) has each of 0 .. dim-1 once; NULL reverses. */
HS_API hs_flow *hs_flow_permutation_new(hs_params *ps, size_t dim, const size_t *order);

/** Makes a permutation drawn uniformly from all; equal seeds give equal permutations. */
HS_API hs_flow *hs_flow_shuffle_new(hs_params *ps, size_t dim, uint64_t seed);

#endif
