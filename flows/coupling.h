/**
 * Coupling flows: stacks of couplings. A coupling moves one half of the vector by a network of the other half, so it
 * is easy to invert whatever the network.
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_flow *nice = hs_flow_nice_new(ps, &(hs_nice_options){
 *         .dim = 5, .couplings = 8, .width = 16, .depth = 3, .scale = true });
 *     hs_flow *affine = hs_flow_affine_new(ps, &(hs_affine_options){
 *         .dim = 5, .couplings = 4, .width = 32, .depth = 2, .activation = HS_TANH,
 *         .zero_output = true });                    // starts as the identity
 *
 * The halves are the first floor(dim / 2) coordinates, a, and the rest, b. Couplings alternate: number i = 0, 1 ...
 * moves b by a network of a if i is even, and a by a network of b if i is odd (`first_half` exchanges the two). The
 * halves stay apart through all couplings and are joined once, at the end.
 *
 * In dimension 1 a is empty. A network of nothing is a constant: a learned vector, which starts at 0. Couplings that
 * would move a do nothing.
 *
 * Ownership, errors and threads are as for every flow: see flow.h.
 */
#ifndef HASTINGS_FLOWS_COUPLING_H
#define HASTINGS_FLOWS_COUPLING_H

#include <hastings/flows/flow.h>
#include <hastings/nn/mlp.h>

/** A network of the user's own. */
typedef struct {
    hs_var (*apply)(void *self, hs_var x); /**< maps one half to the vector that moves the other */
    void *self;                            /**< the first argument of both functions */
    void (*release)(void *self); /**< NULL, or called once: when the flow is freed or not made */
} hs_network;

/** The options of both kinds of coupling. */
typedef struct {
    const char *name; /**< NULL: "nice" or "affine", "nice2" ..., the first free name */
    size_t dim;       /**< length of the vectors */
    size_t couplings; /**< number of couplings; 0 means 1 */
    bool first_half;  /**< coupling 0 moves the first half */
    bool scale;       /**< a scaling (elementary.h) with parameter name.log_scale follows */
    double bound;     /**< bound of an affine coupling's |log scale|: 0 means 2, INFINITY none */

    size_t width, depth;        /**< of each network, as in hs_mlp_options */
    hs_activation activation;   /**< of each network, as in hs_mlp_options */
    hs_init init;               /**< of each network, as in hs_mlp_options */
    double output_scale;        /**< of each network, as in hs_mlp_options */
    bool zero_output;           /**< of each network, as in hs_mlp_options */
    const hs_network *networks; /**< NULL, or [couplings] networks instead (copied); the flow owns
                                     their self */
} hs_coupling_options;

typedef hs_coupling_options hs_nice_options;   /**< options of hs_flow_nice_new() */
typedef hs_coupling_options hs_affine_options; /**< options of hs_flow_affine_new() */

/** Makes additive couplings (NICE, Dinh et al. 2015): b = b + f_i(a) or a = a + f_i(b), log |det| 0. The parameters of
 *  f_i are name.i.0.weight, name.i.0.bias, name.i.1.weight ...; in dimension 1, name.i.constant. */
HS_API hs_flow *hs_flow_nice_new(hs_params *ps, const hs_nice_options *options);

/** Makes affine couplings (RealNVP, Dinh et al. 2017): b = exp(s) b + t, log |det| the sum of all s. The network's
 *  result has twice the length of the moved half: first r, with s = bound tanh(r / bound), then t. */
HS_API hs_flow *hs_flow_affine_new(hs_params *ps, const hs_affine_options *options);

#endif
