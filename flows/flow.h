/**
 * Flows: invertible maps x = T(z) of a vector, with the logarithm of their volume change.
 *
 * A flow is written for one chain: z and x are vectors [dim] of any extent, and log |det dT/dz| is a scalar. Both
 * directions are recorded on a tape, so they can be differentiated.
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_flow *flow = hs_flow_compose_new(ps, "target", (hs_flow *[]){
 *         hs_flow_nice_new(ps, &(hs_nice_options){
 *             .dim = 3, .couplings = 4, .width = 16, .depth = 2 }),      // flows/coupling.h
 *         hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = 3 }) }, 2); // flows/elementary.h
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var log_det, z = hs_normal(tape, HS_ROW, hs_dims(3), 0);
 *     hs_var x = hs_flow_forward(flow, z, &log_det);
 *     hs_var loss = hs_neg(hs_mean_rows(hs_flow_log_density(flow, data)));
 *     ...                                    // plans, training
 *     hs_tape_free(tape);
 *     hs_flow_free(flow);                    // and its parts
 *     hs_params_free(ps);
 *
 * Errors stick: a constructor's error stays with the store, and passes to every tape on which the flow is used. A
 * constructor returns NULL only without memory (the store then says so) or without a store. Every function here takes
 * a NULL flow, which fails with HS_ENOMEM, so no result needs a test.
 *
 * The store holds a flow's numbers and must outlive it. Tapes keep nothing of a flow: free it as soon as everything
 * is recorded. A flow never changes. Any number of threads may record it at once, each on a tape of its own, if the
 * user's functions in it allow that.
 *
 * A flow of the user's own, here x = exp(z), is two functions:
 *
 *     static hs_var forward(void *self, hs_var z, hs_var *log_det)
 *     {
 *         (void)self;
 *         *log_det = hs_sum_last(z);
 *         return hs_exp(z);
 *     }
 *     static hs_var inverse(void *self, hs_var x, hs_var *log_det)
 *     {
 *         (void)self;
 *         (void)log_det;                     // not set: derived from forward's
 *         return hs_log(x);
 *     }
 *     hs_flow *positive = hs_flow_new(ps, &(hs_flow_spec){
 *         .name = "exp", .dim = 3, .forward = forward, .inverse = inverse });
 */
#ifndef HASTINGS_FLOWS_FLOW_H
#define HASTINGS_FLOWS_FLOW_H

#include <hastings/autograd/ops.h>
#include <hastings/nn/params.h>

typedef struct hs_flow hs_flow; /**< a flow */

/**
 * One direction of a flow: takes a vector x [dim], returns a vector [dim], and stores the log |det| of its own
 * Jacobian, a scalar, in *log_det, which is never NULL. It may leave *log_det alone if the other direction sets it,
 * or if the flow preserves volume.
 */
typedef hs_var (*hs_flow_map)(void *self, hs_var x, hs_var *log_det);

/** A flow of the user's own. */
typedef struct {
    const char *name;            /**< for messages (copied); NULL: "flow" */
    size_t dim;                  /**< length of the vectors */
    void *self;                  /**< the first argument of all three functions */
    hs_flow_map forward;         /**< x = T(z); a direction that is never used may be NULL */
    hs_flow_map inverse;         /**< z = T^-1(x) */
    void (*release)(void *self); /**< NULL, or called once: when the flow is freed or not made */
    bool preserves_volume;       /**< log |det| is 0 everywhere: neither direction sets it */
} hs_flow_spec;

/** Makes a flow of the user's own, which owns spec->self. */
HS_API hs_flow *hs_flow_new(hs_params *ps, const hs_flow_spec *spec);
HS_API void hs_flow_free(hs_flow *flow); /**< frees a flow and its parts; NULL is allowed */

HS_API size_t hs_flow_dim(const hs_flow *flow); /**< the length of the vectors; 0 for NULL */
/** Returns the name, which the flow owns; "" for NULL. */
HS_API const char *hs_flow_name(const hs_flow *flow);

/* ---- Composition: the new flow owns its parts from the call on, even if it cannot be made --- */

/** Composes n >= 1 flows of one dimension: flows[0] first, then flows[1] and so on, so that forward is
 *  T_n-1(... T_0(z)). A NULL name is "composition". */
HS_API hs_flow *hs_flow_compose_new(hs_params *ps, const char *name, hs_flow *const *flows,
                                    size_t n);

HS_API hs_flow *hs_flow_identity_new(hs_params *ps, size_t dim); /**< makes the identity x = z */

/** Makes the inverse of a flow: forward and inverse change places. */
HS_API hs_flow *hs_flow_inverse_new(hs_params *ps, hs_flow *flow);

/* ---- Recording ---------------------------------------------------------------------------- */

/** Records x = T(z) for z [dim], and stores log |det dT/dz| at z, a scalar, in *log_det, which may be NULL. A constant
 *  log |det| has extent shared. */
HS_API hs_var hs_flow_forward_at(const hs_flow *flow, hs_var z, hs_var *log_det, const char *at);
#define hs_flow_forward(...) hs_flow_forward_at(__VA_ARGS__, HS_HERE)

/** Records z = T^-1(x) for x [dim], and stores log |det dT^-1/dx| at x in *log_det, which may be NULL: it is minus the
 *  log |det| of forward at z. */
HS_API hs_var hs_flow_inverse_at(const hs_flow *flow, hs_var x, hs_var *log_det, const char *at);
#define hs_flow_inverse(...) hs_flow_inverse_at(__VA_ARGS__, HS_HERE)

/** Records the log density of T(z) at x [dim], z being standard normal: a scalar. */
HS_API hs_var hs_flow_log_density_at(const hs_flow *flow, hs_var x, const char *at);
#define hs_flow_log_density(...) hs_flow_log_density_at(__VA_ARGS__, HS_HERE)

#endif
