/**
 * Parameters: named tensors that are trained, kept in one store.
 *
 * A store is one vector of values and one of gradients, so an optimiser is one loop and a file one
 * write. Parameters are added once; tapes bind to them and read the current values in every run.
 *
 *     hs_params *ps = hs_params_new(HS_F64, 1);
 *     hs_param slope = hs_params_add(ps, "slope", hs_dims(3), hs_init_normal(0.1));
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var x = hs_normal(tape, HS_ROW, hs_dims(3), 0);
 *     hs_var loss = hs_mean_rows(hs_square(hs_shift(hs_dot(hs_param_var(tape, slope), x), -1)));
 *     hs_plan *plan;
 *     hs_status status = hs_params_plan(&plan, loss, ps, NULL, 0,
 *                                       &(hs_plan_options){ .starts = 100 });
 *     if (!status)
 *         status = hs_plan_run(plan, &(hs_run){ .seed = 1 });      // fills the gradients of ps
 *     else
 *         fprintf(stderr, "%s\n", hs_tape_error(tape));
 *     hs_plan_free(plan);
 *     hs_tape_free(tape);
 *     hs_params_free(ps);
 *
 * Errors stick, as on a tape: the first one stays with the store, later additions do nothing, and
 * it is passed on to every tape that uses a parameter and to every optimiser step.
 *
 * The store owns values, gradients and names, and must outlive the tapes and plans that use it. It
 * belongs to one thread while it is changed (added to, set, loaded, optimised); otherwise any
 * number of threads may read it and run plans that use it.
 */
#ifndef HASTINGS_NN_PARAMS_H
#define HASTINGS_NN_PARAMS_H

#include <stdint.h>

#include <hastings/autograd/plan.h>
#include <hastings/autograd/tape.h>
#include <hastings/nn/init.h>

typedef struct hs_params hs_params;

/** One parameter of a store: small, passed by value, valid as long as the store. */
typedef struct {
    hs_params *store;
    int32_t index; /**< -1 if there is no such parameter */
} hs_param;

/** The longest name; "net.0.weight" and so on: dots separate levels. */
enum { HS_NAME_LENGTH = 127 };

/** An empty store, whose initialisers draw with `seed`; NULL if there is no memory. */
HS_API hs_params *hs_params_new(hs_dtype dtype, uint64_t seed);
HS_API void hs_params_free(hs_params *ps);

/** HS_OK, or the code of the first error. A NULL store is HS_ENOMEM. */
HS_API hs_status hs_params_status(const hs_params *ps);

/** The first error as a sentence; "" if there was none. Owned by the store. */
HS_API const char *hs_params_error(const hs_params *ps);

/** Adds a parameter. Its name is not empty, and new to the store. Parameters can be added until the
 *  gradients are first asked for (by a plan, an optimiser or a call): others hold pointers then. */
HS_API hs_param hs_params_add(hs_params *ps, const char *name, hs_shape shape, hs_init init);

/** Makes the store fail: for code that adds parameters and finds its input wrong. Only the first
 *  error is kept. Returns a parameter that does not exist. */
HS_API hs_param hs_params_fail(hs_params *ps, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

HS_API hs_dtype hs_params_dtype(const hs_params *ps);

/** Number of parameters, and of their elements altogether. */
HS_API size_t hs_params_count(const hs_params *ps);
HS_API size_t hs_params_size(const hs_params *ps);

/** The parameter with number i, and with a name; index -1 if there is none. */
HS_API hs_param hs_params_at(hs_params *ps, size_t i);
HS_API hs_param hs_params_find(hs_params *ps, const char *name);

/**
 * The vectors, in the store's dtype. Each parameter starts at a multiple of HS_ALIGN bytes; what
 * lies between is zero, and must stay so. The values move when a parameter is added, the gradients
 * never. NULL if the store is empty or there is no memory for them.
 */
HS_API void *hs_params_values(hs_params *ps);
HS_API void *hs_params_gradients(hs_params *ps);

/**
 * A plan with the option `factors` leaves some gradients as factors (hs_plan_factors()), and the vector above without
 * them. Optimisers take either. The store forgets them by a call of hs_params_forget_factors(), which must come before
 * the plan is freed.
 */
HS_API const hs_factors *hs_params_factors(const hs_params *ps, size_t i);
HS_API void hs_params_forget_factors(hs_params *ps);

/** Bytes of each vector, with padding. */
HS_API size_t hs_params_bytes(const hs_params *ps);

/** All elements as doubles, hs_params_size() of them, without padding. */
HS_API void hs_params_get(const hs_params *ps, double *values);
HS_API void hs_params_set(hs_params *ps, const double *values);
HS_API void hs_params_get_gradients(const hs_params *ps, double *gradients);

/** Facts about one parameter; "" and an invalid shape if there is no such parameter. */
HS_API const char *hs_param_name(hs_param p);
HS_API hs_shape hs_param_shape(hs_param p);

/** Its place in the vectors; NULL if there is none. */
HS_API void *hs_param_values(hs_param p);
HS_API void *hs_param_gradients(hs_param p);

/** Its elements as doubles. */
HS_API void hs_param_get(hs_param p, double *values);
HS_API void hs_param_set(hs_param p, const double *values);

/** The parameter as a shared value on a tape, which must have the dtype of the store. Asked for
 *  twice, it is the same value. */
HS_API hs_var hs_param_var_at(hs_tape *tape, hs_param p, const char *at);
#define hs_param_var(...) hs_param_var_at(__VA_ARGS__, HS_HERE)

/**
 * A plan that computes a loss, `more` values, and the gradients of the loss with respect to all
 * parameters of the store, which every run writes into hs_params_gradients(). The loss is a shared
 * scalar, as made by hs_mean_rows(). `more` may be NULL if n_more is 0; options->into, if given,
 * has 1 + n_more entries. On failure *plan is NULL and hs_tape_error() of the loss's tape says why.
 */
HS_API hs_status hs_params_plan_at(hs_plan **plan, hs_var loss, hs_params *ps, const hs_var *more,
                                   size_t n_more, const hs_plan_options *options,
                                   const char *at) HS_MUST_CHECK;
#define hs_params_plan(...) hs_params_plan_at(__VA_ARGS__, HS_HERE)

#endif
