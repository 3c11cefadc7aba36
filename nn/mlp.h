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
 * A network is a plain value: copy it freely, there is nothing to free. The store holds its parameters,
 * drift.0.weight, drift.0.bias, drift.1.weight ..., and must outlive it. Errors stick to the store, and pass to the
 * tape when the network is applied. Threads may apply it at once, each on a tape of its own; one thread at a time may
 * add networks to a store.
 */
#ifndef HASTINGS_NN_MLP_H
#define HASTINGS_NN_MLP_H

#include <hastings/nn/linear.h>

/** An activation. */
typedef enum {
    HS_RELU,     /**< max(x, 0) */
    HS_TANH,     /**< hyperbolic tangent */
    HS_SIGMOID,  /**< 1 / (1 + e^-x) */
    HS_SOFTPLUS, /**< log(1 + e^x) */
    HS_GELU,     /**< x times the normal distribution function of x */
    HS_IDENTITY  /**< x itself */
} hs_activation;

HS_API const char *hs_activation_name(hs_activation activation); /**< "relu", "tanh" and so on */

/** Records the activation of x, elementwise. */
HS_API hs_var hs_activate_at(hs_activation activation, hs_var x, const char *at);
#define hs_activate(...) hs_activate_at(__VA_ARGS__, HS_HERE)

/** Options of a network. in and out, and width unless depth is 0, must be at least 1; other zeros are defaults. */
typedef struct {
    const char *name;    /**< NULL: "mlp", "mlp2", "mlp3" ..., the first free name */
    size_t in, out;      /**< lengths of the vectors that it reads and returns */
    size_t width, depth; /**< width and number of the hidden layers; depth 0 is one linear map */
    hs_activation activation; /**< follows every hidden layer */
    hs_init init; /**< initialiser of the weights; zeroed: hs_init_lecun(), also for the biases */
    double output_scale; /**< multiplies the initial numbers of the output layer; 0 means 1 */
    bool zero_output;    /**< starts the output layer at zero, so that the network is 0 */
} hs_mlp_options;

/** A network. */
typedef struct {
    hs_params *store;         /**< holds its parameters */
    int32_t first;            /**< index of the first one: weight, bias, weight, bias ... follow */
    size_t depth;             /**< number of hidden layers */
    hs_activation activation; /**< follows every hidden layer */
} hs_mlp;

/** Adds a network's parameters to a store. */
HS_API hs_mlp hs_mlp_new(hs_params *ps, const hs_mlp_options *options);

/** Returns layer i = 0 .. depth; layer `depth` is the output layer. */
HS_API hs_linear hs_mlp_layer(const hs_mlp *net, size_t i);

/** Records the network of a vector x [in], of any extent: a vector [out]. */
HS_API hs_var hs_mlp_apply_at(const hs_mlp *net, hs_var x, const char *at);
#define hs_mlp_apply(...) hs_mlp_apply_at(__VA_ARGS__, HS_HERE)

#endif
