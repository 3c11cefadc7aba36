/**
 * Initialisers: the numbers that a parameter starts from.
 *
 *     hs_params *ps = hs_params_new(HS_F32, 1);
 *     hs_param w = hs_params_add(ps, "w", hs_dims(16, 4), hs_init_he());
 *     hs_param b = hs_params_add(ps, "b", hs_dims(16), hs_init_constant(0.1));
 *
 * A weight has shape [out, in]: its fan-in is the product of all axes but the first, its fan-out the first axis. The
 * fan-in of a vector is its length. Random initialisers draw from the seed of the store and the name of the parameter
 * alone: a network starts from the same numbers whatever other networks there are, and an f32 store has the numbers of
 * the f64 store, rounded.
 *
 * An initialiser is a plain value: there is nothing to free. Any thread may call.
 */
#ifndef HASTINGS_NN_INIT_H
#define HASTINGS_NN_INIT_H

#include <hastings/tensor/api.h>

#include <stddef.h>

/** A kind of initialiser. */
typedef enum {
    HS_INIT_DEFAULT,  /**< a zeroed hs_init: HS_INIT_LECUN, but see linear.h for biases */
    HS_INIT_CONSTANT, /**< hs_init_constant() */
    HS_INIT_VALUES,   /**< hs_init_values() */
    HS_INIT_NORMAL,   /**< hs_init_normal() */
    HS_INIT_UNIFORM,  /**< hs_init_uniform() */
    HS_INIT_LECUN,    /**< hs_init_lecun() */
    HS_INIT_HE,       /**< hs_init_he() */
    HS_INIT_GLOROT    /**< hs_init_glorot() */
} hs_init_kind;

/** An initialiser, made by the functions below, or zeroed for the default. */
typedef struct {
    hs_init_kind kind;    /**< the kind */
    double number;        /**< the constant, standard deviation or half-width */
    const double *values; /**< row-major numbers of HS_INIT_VALUES, read by hs_params_add() alone */
    double factor;        /**< multiplies the numbers; 0 means 1 */
    size_t fan_in;        /**< the fan-in; 0: taken from the shape */
} hs_init;

HS_API hs_init hs_init_zero(void);             /**< zeros */
HS_API hs_init hs_init_constant(double value); /**< one number everywhere */

/** Given numbers, as many as the shape has elements. The caller keeps them until hs_params_add() has returned. */
HS_API hs_init hs_init_values(const double *values);

HS_API hs_init hs_init_normal(double sd); /**< normal with mean 0 and standard deviation sd */
HS_API hs_init hs_init_uniform(double half_width); /**< uniform on (-half_width, half_width) */

/** Uniform on +-1 / sqrt(fan-in): the default of PyTorch's linear layers. */
HS_API hs_init hs_init_lecun(void);

/** Normal with variance 2 / fan-in, for relu (He et al. 2015). */
HS_API hs_init hs_init_he(void);

/** Uniform on +-sqrt(6 / (fan-in + fan-out)), for tanh (Glorot and Bengio 2010). */
HS_API hs_init hs_init_glorot(void);

/** `init` with all numbers multiplied by `factor`. */
HS_API hs_init hs_init_scaled(hs_init init, double factor);

#endif
