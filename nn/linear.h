/**
 * A linear layer: y = W x + b, with W of shape [out, in] and b of shape [out].
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_linear layer = hs_linear_new(ps, "first", 2, 16, NULL);   // first.weight, first.bias
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
 *     hs_var h = hs_tanh(hs_linear_apply(&layer, x));              // [16]
 *
 * A layer is a plain value: copy it freely, there is nothing to free. Its numbers live in the
 * store, which must outlive it; errors stick to the store, and pass to the tape when it is applied.
 */
#ifndef HASTINGS_NN_LINEAR_H
#define HASTINGS_NN_LINEAR_H

#include <hastings/nn/params.h>

typedef struct {
    hs_param weight;
    hs_param bias; /**< index -1 without one */
    bool has_bias;
} hs_linear;

typedef struct {
    hs_init weight; /**< zeroed: hs_init_lecun() */
    hs_init bias;   /**< zeroed: +-1 / sqrt(in) like the weight's default, or 0 if a weight
                         initialiser is given */
    bool no_bias;
} hs_linear_options;

/** Adds a layer's parameters, name.weight and name.bias, to a store. A NULL name is "linear";
 *  options may be NULL. */
HS_API hs_linear hs_linear_new(hs_params *ps, const char *name, size_t in, size_t out,
                               const hs_linear_options *options);

/** The layer of a vector [in], of any extent: a vector [out]. */
HS_API hs_var hs_linear_apply_at(const hs_linear *layer, hs_var x, const char *at);
#define hs_linear_apply(...) hs_linear_apply_at(__VA_ARGS__, HS_HERE)

#endif
