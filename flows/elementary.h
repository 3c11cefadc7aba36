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

/** x = exp(log_scale) z + shift, coordinate by coordinate. */
typedef struct {
    const char *name; /**< NULL: "scaling", "scaling2" ..., the first that is free */
    size_t dim;
    bool shift;             /**< with a shift, which starts at 0 unless shift_init is given */
    hs_init log_scale_init; /**< zeroed: 0, the identity */
    hs_init shift_init;
} hs_scaling_options;

/** A scaling, whose parameters are name.log_scale and name.shift. */
HS_API hs_flow *hs_flow_scaling_new(hs_params *ps, const hs_scaling_options *options);

/** x[i] = z[order[i]], where `order` (copied) has each of 0 .. dim-1 once. A NULL order reverses.
 */
HS_API hs_flow *hs_flow_permutation_new(hs_params *ps, size_t dim, const size_t *order);

/** A permutation drawn from all, each as likely as the others: equal seeds give equal ones. */
HS_API hs_flow *hs_flow_shuffle_new(hs_params *ps, size_t dim, uint64_t seed);

#endif
