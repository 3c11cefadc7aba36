/**
 * A linear layer: y = W x + b, with W of shape [out, in] and b of shape [out].
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_linear layer = hs_linear_new(ps, "first", 2, 16, NULL);   // first.weight, first.bias
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
 *     hs_var h = hs_tanh(hs_linear_apply(&layer, x));              // [16]
 *
 * A layer is a plain value: copy it freely, there is nothing to free. The store holds its numbers and must outlive
 * it. Errors stick to the store, and pass to the tape when the layer is applied. Threads may apply it at once, each
 * on a tape of its own; one thread at a time may add layers to a store.
 */
#ifndef HASTINGS_NN_LINEAR_H
#define HASTINGS_NN_LINEAR_H

#include <hastings/nn/params.h>

/** A linear layer. */
typedef struct {
    hs_param weight; /**< W [out, in] */
    hs_param bias;   /**< b [out]; index -1 without one */
    bool has_bias;   /**< adds the bias */
} hs_linear;

/** Options of a layer; zeros are the defaults. */
typedef struct {
    hs_init weight; /**< initialiser of W; zeroed: hs_init_lecun() */
    hs_init bias; /**< initialiser of b; zeroed: uniform on +-1 / sqrt(in), as W's default is, or 0
                         if `weight` is given */
    bool no_bias; /**< y = W x */
} hs_linear_options;

/** Adds a layer's parameters, name.weight [out, in] and name.bias [out], to a store. A NULL name is "linear".
 *  Options may be NULL. */
HS_API hs_linear hs_linear_new(hs_params *ps, const char *name, size_t in, size_t out,
                               const hs_linear_options *options);

/** Records the layer of a vector x [in], of any extent: a vector [out]. */
HS_API hs_var hs_linear_apply_at(const hs_linear *layer, hs_var x, const char *at);
#define hs_linear_apply(...) hs_linear_apply_at(__VA_ARGS__, HS_HERE)

#endif
