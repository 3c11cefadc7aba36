/**
 * The tape: a small program over tensors, recorded once and run many times.
 *
 * Recording computes nothing. hs_add(a, b) appends a node, infers its shape, and returns a handle; a plan (plan.h)
 * runs the program. A value is written for ONE chain: the batch is implicit. The extent of a value says how many
 * copies of it a batch has:
 *
 *     HS_SHARED   one for all: parameters, constants, the data set
 *     HS_START    one per start point
 *     HS_ROW      one per proposal (every start point has the same number of them)
 *
 * The result of an op has the widest extent of its inputs: a value of the start point alone is computed once per start
 * point.
 *
 *     hs_tape *tape = hs_tape_new(HS_F64);
 *     hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
 *     hs_var loss = hs_mean_rows(hs_sum_last(hs_square(x)));
 *     hs_var slope;
 *     hs_grad(loss, &x, 1, &slope);                      // more tape
 *     if (hs_tape_status(tape) != HS_OK)
 *         fprintf(stderr, "%s\n", hs_tape_error(tape));
 *     hs_tape_free(tape);
 *
 * Errors stick: the first one (what, where in your source, which shapes) stays with the tape, and later calls on it do
 * nothing. The tape owns names, constants and nodes. One thread at a time may record on a tape or make plans of it.
 */
#ifndef HASTINGS_AUTOGRAD_TAPE_H
#define HASTINGS_AUTOGRAD_TAPE_H

#include <stdint.h>
#include <stdio.h>

#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>

typedef struct hs_tape hs_tape; /**< a tape */

/** A value on a tape: small, passed by value, valid as long as the tape. */
typedef struct {
    hs_tape *tape; /**< the tape that it belongs to */
    int32_t id;    /**< number of its node; -1 if the value is poisoned by an error */
} hs_var;

/** The number of copies of a value in a batch. */
typedef enum {
    HS_SHARED, /**< one for the whole batch */
    HS_START,  /**< one per start point */
    HS_ROW     /**< one per row, that is per proposal */
} hs_extent;

HS_API const char *hs_extent_name(hs_extent extent); /**< "shared", "start" or "row" */

#define HS_TEXT_(x) #x
#define HS_TEXT(x)  HS_TEXT_(x)
/** The place of a recording, for messages: "file.c:12". Every recording function hs_f(...) is a macro that passes it to
 *  hs_f_at(..., at). Code that records on behalf of its caller takes an `at` of its own and passes it on. */
#define HS_HERE __FILE__ ":" HS_TEXT(__LINE__)

/** Returns a new tape whose values all have one number type; NULL if there is no memory. The caller frees it. */
HS_API hs_tape *hs_tape_new(hs_dtype dtype);
/** Frees a tape and everything that it owns; NULL is allowed. A tape must outlive its plans. */
HS_API void hs_tape_free(hs_tape *tape);

HS_API hs_dtype hs_tape_dtype(const hs_tape *tape); /**< the number type; HS_F64 for NULL */

/** Returns HS_OK, or the code of the first error. A NULL tape is HS_ENOMEM. */
HS_API hs_status hs_tape_status(const hs_tape *tape);

/** Returns the first error as a sentence, "" if there was none. The tape owns the text. */
HS_API const char *hs_tape_error(const hs_tape *tape);

/** Makes the tape fail as if an op had failed: for code that records and finds its input wrong. The tape keeps
 *  only the first error. `at` is the place, usually HS_HERE. Returns a poisoned value. */
HS_API hs_var hs_tape_fail(hs_tape *tape, hs_status status, const char *at, const char *format, ...)
    HS_PRINTF(4, 5);

/** Returns the number of nodes recorded so far; 0 for NULL. */
HS_API size_t hs_tape_size(const hs_tape *tape);

/** Prints one line per node, and the error if there is one. */
HS_API void hs_tape_print(const hs_tape *tape, FILE *out);

/** Prints the tape in Graphviz's language: `dot -Tsvg`. */
HS_API void hs_tape_dot(const hs_tape *tape, FILE *out);

/** Returns the shape of a value; that of a scalar for a poisoned value. */
HS_API hs_shape hs_var_shape(hs_var x);
/** Returns the extent of a value; HS_SHARED for a poisoned value. */
HS_API hs_extent hs_var_extent(hs_var x);

/** True if the value can be used: it exists, on a tape without error. */
HS_API bool hs_var_ok(hs_var x);

/** True if `x` is computed from `of`, through any number of ops. False without memory to look. */
HS_API bool hs_var_needs(hs_var x, hs_var of);

/** The least and the largest stream of the draws that were recorded since the tape had `from` nodes; false if there are
 *  none. */
HS_API bool hs_tape_streams(const hs_tape *tape, size_t from, uint32_t *least, uint32_t *largest);

/** Gives a value a name (copied) for messages and prints, and returns the value. A NULL name changes nothing. */
HS_API hs_var hs_name(hs_var x, const char *name);

/* ---- Leaves ------------------------------------------------------------------------------- */

/** Records an input, which hs_plan_set() feeds to a plan before it runs. The name may be NULL. */
HS_API hs_var hs_input_at(hs_tape *tape, const char *name, hs_extent extent, hs_shape shape,
                          const char *at);
#define hs_input(...) hs_input_at(__VA_ARGS__, HS_HERE)

/** Records a shared value in the caller's memory, at *base + offset bytes, which every run reads anew. The same place
 *  gives the same value, so that its gradient counts all uses; another shape there is an error. */
HS_API hs_var hs_bound_at(hs_tape *tape, const char *name, hs_shape shape, const void *const *base,
                          size_t offset, const char *at);
#define hs_bound(...) hs_bound_at(__VA_ARGS__, HS_HERE)

/** Records a constant scalar. */
HS_API hs_var hs_const_at(hs_tape *tape, double value, const char *at);
#define hs_const(...) hs_const_at(__VA_ARGS__, HS_HERE)
/** Records a constant tensor, whose values (row-major) are copied. */
HS_API hs_var hs_tensor_at(hs_tape *tape, hs_shape shape, const double *values, const char *at);
#define hs_tensor(...) hs_tensor_at(__VA_ARGS__, HS_HERE)

/** Records standard normal draws, new in every step of a run. `stream` (< 32768) keeps apart the draws of one
 *  step: equal streams give equal numbers. */
HS_API hs_var hs_normal_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                           const char *at);
#define hs_normal(...) hs_normal_at(__VA_ARGS__, HS_HERE)
/** Records uniform draws from (0, 1), addressed in the same way. */
HS_API hs_var hs_uniform_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                            const char *at);
#define hs_uniform(...) hs_uniform_at(__VA_ARGS__, HS_HERE)

/* ---- Functions of the user's own ------------------------------------------------------------ */

/**
 * A scalar function of a vector in plain C, for a log density that is not written on the tape. Its functions get x [n]
 * of one row, in double precision, and several threads may call them at once. A derivative that is never asked for may
 * be NULL. The struct must outlive the tape.
 */
typedef struct {
    const char *name;                                          /**< for messages; may be NULL */
    double (*value)(const double *x, size_t n, void *context); /**< returns f(x) */
    /** Writes the gradient [n] at x. */
    void (*gradient)(const double *x, size_t n, double *gradient, void *context);
    /** Writes the product [n] of the Hessian at x with v [n]. */
    void (*hessian_vector)(const double *x, const double *v, size_t n, double *product,
                           void *context);
    void *context;         /**< the last argument of all three */
    bool constant_hessian; /**< f is quadratic: the Hessian is the same everywhere */
} hs_function;

/** Records f(x), a scalar, for a vector x [n]. */
HS_API hs_var hs_call_at(const hs_function *f, hs_var x, const char *at);
#define hs_call(...) hs_call_at(__VA_ARGS__, HS_HERE)

#endif
