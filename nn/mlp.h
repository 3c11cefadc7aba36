/**
 * A multilayer perceptron: linear layers with an activation between them.
 *
 *     hs_params *ps = hs_params_new(HS_F32, 1);
 *     hs_mlp net = hs_mlp_new(ps, &(hs_mlp_options){
 *         .name = "drift", .in = 2, .out = 2, .width = 32, .depth = 3 });
 *     hs_tape *tape = hs_tape_new(HS_F32);
 *     hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
 *     hs_var y = hs_mlp_apply(&net, x);               // written for one chain: [2] to [2]
 *
 * A network is a plain value: copy it freely, there is nothing to free. Its parameters,
 * drift.0.weight, drift.0.bias, drift.1.weight ..., live in the store, which must outlive it;
 * errors stick to the store, and pass to the tape when the network is applied.
 */
#ifndef HASTINGS_NN_MLP_H
#define HASTINGS_NN_MLP_H

#include <hastings/nn/linear.h>

typedef enum { HS_RELU, HS_TANH, HS_SIGMOID, HS_SOFTPLUS, HS_GELU, HS_IDENTITY } hs_activation;

/** "relu", "tanh" and so on. */
HS_API const char *hs_activation_name(hs_activation activation);

/** The activation of a value, elementwise. */
HS_API hs_var hs_activate_at(hs_activation activation, hs_var x, const char *at);
#define hs_activate(...) hs_activate_at(__VA_ARGS__, HS_HERE)

typedef struct {
    const char *name; /**< NULL: "mlp", "mlp2", "mlp3" ..., the first that is free */
    size_t in, out;
    size_t width, depth; /**< of the hidden layers, and their number; depth 0 is one linear map */
    hs_activation activation; /**< after every hidden layer */
    hs_init init;             /**< of the weights; zeroed: hs_init_lecun(), biases likewise */
    double output_scale;      /**< multiplies the initial numbers of the output layer; 0 means 1 */
    bool zero_output;         /**< starts the output layer at zero, so that the network is 0 */
} hs_mlp_options;

typedef struct {
    hs_params *store;
    int32_t first; /**< its parameters are first, first + 1, ...: weight, bias, weight, bias ... */
    size_t depth;
    hs_activation activation;
} hs_mlp;

/** Adds a network's parameters to a store. */
HS_API hs_mlp hs_mlp_new(hs_params *ps, const hs_mlp_options *options);

/** The layer with number i = 0 .. depth; that with number depth is the output layer. */
HS_API hs_linear hs_mlp_layer(const hs_mlp *net, size_t i);

/** The network of a vector [in], of any extent: a vector [out]. */
HS_API hs_var hs_mlp_apply_at(const hs_mlp *net, hs_var x, const char *at);
#define hs_mlp_apply(...) hs_mlp_apply_at(__VA_ARGS__, HS_HERE)

#endif
