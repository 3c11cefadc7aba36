/**
 * Parameters: named tensors that are trained, kept in one store.
 *
 * A store is one vector of values and one of gradients: an optimiser is one loop, and a file is one write. Parameters
 * are added once. Tapes bind to them, and every run reads the current values.
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_param slope = hs_params_add(ps, "slope", hs_dims(3), hs_init_normal(0.1));
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var x = hs_normal(tape, HS_ROW, hs_dims(3), 0);
 *     hs_var loss = hs_mean_rows(hs_square(hs_shift(hs_dot(hs_param_var(tape, slope), x), -1)));
 *     hs_plan *plan;
 *     hs_message message;
 *     hs_status status = hs_params_plan(&plan, loss, ps, NULL, 0,
 *                                       &(hs_plan_options){ .starts = 100, .message = &message });
 *     if (!status)
 *         status = hs_plan_run(plan, &(hs_run){ .seed = 1 });      // fills the gradients of ps
 *     else
 *         fprintf(stderr, "%s\n", message.text);
 *     hs_plan_free(plan);
 *     hs_tape_free(tape);
 *     hs_params_free(ps);
 *
 * Errors stick, as on a tape: the first one stays with the store, and later additions do nothing. It passes to every
 * tape that uses a parameter and to every optimiser step.
 *
 * The store owns values, gradients and names, and must outlive the tapes and plans that use it. One thread at a time
 * may change it (add, set, load, optimise); at other times any number of threads may read it and run plans that use
 * it.
 */
#ifndef HASTINGS_NN_PARAMS_H
#define HASTINGS_NN_PARAMS_H

#include <stdint.h>

#include <hastings/autograd/plan.h>
#include <hastings/autograd/tape.h>
#include <hastings/nn/init.h>

typedef struct hs_params hs_params; /**< a store of parameters */

/** One parameter of a store: small, passed by value, valid as long as the store. */
typedef struct {
    hs_params *store; /**< the store that it belongs to */
    int32_t index;    /**< its number in the store; -1 if there is no such parameter */
} hs_param;

/** The length of the longest name. Dots separate levels: "net.0.weight". */
enum { HS_NAME_LENGTH = 127 };

/** Returns an empty store, whose initialisers draw with `seed`; NULL if there is no memory. The caller frees it. */
HS_API hs_params *hs_params_new(hs_dtype dtype, uint64_t seed);
HS_API void hs_params_free(hs_params *ps); /**< frees a store; NULL is allowed */

/** Returns HS_OK, or the code of the first error. A NULL store is HS_ENOMEM. */
HS_API hs_status hs_params_status(const hs_params *ps);

/** Returns the first error as a sentence, "" if there was none. The store owns the text. */
HS_API const char *hs_params_error(const hs_params *ps);

/** Adds a parameter. Its name (copied) is not empty, and new to the store. Parameters can be added until a plan, an
 *  optimiser or a call first asks for the gradients: from then on others hold pointers. */
HS_API hs_param hs_params_add(hs_params *ps, const char *name, hs_shape shape, hs_init init);

/** Makes the store fail: for code that adds parameters and finds its input wrong. The store keeps only the first
 *  error. Returns a parameter that does not exist. */
HS_API hs_param hs_params_fail(hs_params *ps, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

HS_API hs_dtype hs_params_dtype(const hs_params *ps); /**< the number type; HS_F64 for NULL */

HS_API size_t hs_params_count(const hs_params *ps); /**< the number of parameters; 0 for NULL */
HS_API size_t hs_params_size(const hs_params *ps);  /**< the elements of all; 0 for NULL */
HS_API size_t hs_params_bytes(const hs_params *ps); /**< of each vector, padded; 0 for NULL */

HS_API hs_param hs_params_at(hs_params *ps, size_t i); /**< number i; index -1 if there is none */
/** Returns the parameter with a name; index -1 if there is none. */
HS_API hs_param hs_params_find(hs_params *ps, const char *name);

/** Returns the vector of values, in the store's dtype; NULL if the store is empty. Each parameter starts at a multiple
 *  of HS_ALIGN bytes; the padding is zero, and must stay so. The vector moves when a parameter is added. */
HS_API void *hs_params_values(hs_params *ps);
/** Returns the vector of gradients, laid out alike; NULL without parameters or memory. It never moves. */
HS_API void *hs_params_gradients(hs_params *ps);

/** Returns the gradient of parameter i as factors; NULL if the vector of gradients has it. A plan with the option
 *  `factors` leaves some gradients so (see hs_plan_factors()); optimisers take either form. */
HS_API const hs_factors *hs_params_factors(const hs_params *ps, size_t i);
/** Makes the store forget the factors of a plan; must be called before that plan is freed. NULL is allowed. */
HS_API void hs_params_forget_factors(hs_params *ps);

/** Copies all values to `values` [hs_params_size()], without padding. */
HS_API void hs_params_get(const hs_params *ps, double *values);
/** Sets all values from `values` [hs_params_size()]. */
HS_API void hs_params_set(hs_params *ps, const double *values);
/** Copies all gradients, those that are factors included, to `gradients` [hs_params_size()]. */
HS_API void hs_params_get_gradients(const hs_params *ps, double *gradients);

HS_API const char *hs_param_name(hs_param p); /**< its name, which the store owns; "" if none */
HS_API hs_shape hs_param_shape(hs_param p);   /**< its shape; an invalid one if there is none */

HS_API void *hs_param_values(hs_param p);    /**< its place in the vector of values, or NULL */
HS_API void *hs_param_gradients(hs_param p); /**< its place in the vector of gradients, or NULL */

HS_API void hs_param_get(hs_param p, double *values);       /**< copies its elements to `values` */
HS_API void hs_param_set(hs_param p, const double *values); /**< sets its elements from `values` */

/** Records the parameter as a shared value on a tape, which must have the dtype of the store. A second call
 *  returns the same value. */
HS_API hs_var hs_param_var_at(hs_tape *tape, hs_param p, const char *at);
#define hs_param_var(...) hs_param_var_at(__VA_ARGS__, HS_HERE)

/**
 * Makes a plan of a loss, the n_more values `more`, and the gradients of the loss with respect to all parameters of
 * the store. Every run writes the gradients into hs_params_gradients(). The loss is a shared scalar, as
 * hs_mean_rows() makes it. `more` may be NULL if n_more is 0; options may be NULL; options->into, if given, has 1 +
 * n_more entries. On failure *plan is NULL and options->message says why.
 */
HS_API hs_status hs_params_plan_at(hs_plan **plan, hs_var loss, hs_params *ps, const hs_var *more,
                                   size_t n_more, const hs_plan_options *options,
                                   const char *at) HS_MUST_CHECK;
#define hs_params_plan(...) hs_params_plan_at(__VA_ARGS__, HS_HERE)

#endif
