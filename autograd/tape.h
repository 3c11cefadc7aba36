/**
 * The tape: a small program over tensors, recorded once and run many times.
 *
 * Recording computes nothing. hs_add(a, b) appends a node, infers its shape, and returns a handle;
 * a plan (plan.h) runs what was recorded. Values are written for ONE chain: the batch is implicit.
 * Each value has an extent that says how many copies of it a batch has:
 *
 *     HS_SHARED   one for all: parameters, constants, the data set
 *     HS_START    one per start point
 *     HS_ROW      one per proposal (every start point has the same number of them)
 *
 * An op's result has the widest extent of its inputs, so what depends on the start point alone is
 * computed once per start point.
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
 * Errors stick: the first one (what, where in your source, which shapes) stays with the tape and
 * later calls on it do nothing. A tape belongs to one thread while it is being recorded.
 */
#ifndef HASTINGS_AUTOGRAD_TAPE_H
#define HASTINGS_AUTOGRAD_TAPE_H

#include <stdint.h>
#include <stdio.h>

#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>

typedef struct hs_tape hs_tape;

/** A value on a tape: small, passed by value, valid as long as the tape. */
typedef struct {
    hs_tape *tape;
    int32_t id;
} hs_var;

typedef enum { HS_SHARED, HS_START, HS_ROW } hs_extent;

/** "shared", "start" or "row". */
HS_API const char *hs_extent_name(hs_extent extent);

/* Where a node was recorded, for messages: "file.c:12". Every recording function `hs_f(...)` is a
 * macro that passes HS_HERE to `hs_f_at(..., at)`; code that records on behalf of its caller takes
 * an `at` of its own and passes it on. */
#define HS_TEXT_(x) #x
#define HS_TEXT(x)  HS_TEXT_(x)
#define HS_HERE     __FILE__ ":" HS_TEXT(__LINE__)

/** A new tape whose values are all of one number type; NULL if there is no memory. */
HS_API hs_tape *hs_tape_new(hs_dtype dtype);
HS_API void hs_tape_free(hs_tape *tape);

HS_API hs_dtype hs_tape_dtype(const hs_tape *tape);

/** HS_OK, or the code of the first error. A NULL tape is HS_ENOMEM. */
HS_API hs_status hs_tape_status(const hs_tape *tape);

/** The first error as a sentence; "" if there was none. Owned by the tape. */
HS_API const char *hs_tape_error(const hs_tape *tape);

/** Makes the tape fail, as if an op had: for code that records and finds its input wrong. Only the
 *  first error is kept. Returns the poisoned value. */
HS_API hs_var hs_tape_fail(hs_tape *tape, hs_status status, const char *at, const char *format, ...)
    HS_PRINTF(4, 5);

/** Number of nodes recorded so far. */
HS_API size_t hs_tape_size(const hs_tape *tape);

/** Prints one line per node. */
HS_API void hs_tape_print(const hs_tape *tape, FILE *out);

/** Prints the tape in Graphviz's language: `dot -Tsvg`. */
HS_API void hs_tape_dot(const hs_tape *tape, FILE *out);

/** Facts about a value. A poisoned value is a shared scalar. */
HS_API hs_shape hs_var_shape(hs_var x);
HS_API hs_extent hs_var_extent(hs_var x);

/** True for a value that can be used: on a tape without error. */
HS_API bool hs_var_ok(hs_var x);

/** Gives a value a name for messages and prints; returns it. */
HS_API hs_var hs_name(hs_var x, const char *name);

/* ---- Leaves ------------------------------------------------------------------------------- */

/** A value fed to a plan before it runs: hs_plan_set(). */
HS_API hs_var hs_input_at(hs_tape *tape, const char *name, hs_extent extent, hs_shape shape,
                          const char *at);
#define hs_input(...) hs_input_at(__VA_ARGS__, HS_HERE)

/** A shared value that lives in the caller's memory, at *base + offset bytes, read anew in every
 *  run. The same place gives the same value: its gradient counts all uses. */
HS_API hs_var hs_bound_at(hs_tape *tape, const char *name, hs_shape shape, const void *const *base,
                          size_t offset, const char *at);
#define hs_bound(...) hs_bound_at(__VA_ARGS__, HS_HERE)

/** A constant scalar, and a constant tensor (copied; row-major). */
HS_API hs_var hs_const_at(hs_tape *tape, double value, const char *at);
#define hs_const(...) hs_const_at(__VA_ARGS__, HS_HERE)
HS_API hs_var hs_tensor_at(hs_tape *tape, hs_shape shape, const double *values, const char *at);
#define hs_tensor(...) hs_tensor_at(__VA_ARGS__, HS_HERE)

/** Standard normal, and uniform (0, 1) draws, new in every step of a run. `stream` (< 32768) keeps
 *  apart the draws of one step; equal streams give equal numbers. */
HS_API hs_var hs_normal_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                           const char *at);
#define hs_normal(...) hs_normal_at(__VA_ARGS__, HS_HERE)
HS_API hs_var hs_uniform_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                            const char *at);
#define hs_uniform(...) hs_uniform_at(__VA_ARGS__, HS_HERE)

/* ---- Functions of the user's own ------------------------------------------------------------ */

/**
 * A scalar function of a vector in plain C, for log densities that are not written on the tape.
 * All three are given one row's x of length n, in double precision, and may be called from several
 * threads at once. `gradient` writes n numbers, `hessian_vector` the product of the Hessian at x
 * with v. Derivatives that are never asked for may be NULL. The struct must outlive the tape.
 */
typedef struct {
    const char *name;
    double (*value)(const double *x, size_t n, void *context);
    void (*gradient)(const double *x, size_t n, double *gradient, void *context);
    void (*hessian_vector)(const double *x, const double *v, size_t n, double *product,
                           void *context);
    void *context;
    bool constant_hessian; /**< quadratic: the Hessian is the same everywhere */
} hs_function;

/** f(x): a scalar for the vector x. */
HS_API hs_var hs_call_at(const hs_function *f, hs_var x, const char *at);
#define hs_call(...) hs_call_at(__VA_ARGS__, HS_HERE)

#endif
