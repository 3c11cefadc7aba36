/* Kernels that plans are made of, compiled for each instruction set and number type. Pointers are
 * to numbers of that type. */
#ifndef HASTINGS_AUTOGRAD_PLAN_KERNELS_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_KERNELS_INTERNAL_H

#include "../tape_internal.h"

/* out[i] = op(a[i], b[i], c[i]) for i < n, a multiple of `lanes`. Bit k of `scalars` says that
 * operand k is one number for all i. */
typedef void elementwise_kernel(size_t n, void *out, const void *a, const void *b, const void *c,
                                unsigned scalars, int order);

/* Vectors whose scalar products can be made together; pairs of them, a vector with itself included; and all sums, those of
 * each vector with one number a row included. */
enum {
    DOT_VECTORS = 3,
    DOT_PAIRS = DOT_VECTORS * (DOT_VECTORS + 1) / 2,
    DOT_SUMS = DOT_PAIRS + DOT_VECTORS
};

typedef struct {
    size_t lanes; /* numbers in a vector */
    elementwise_kernel *op[OP_COUNT];
} elementwise_kernels;

typedef struct {
    /* sum[i] += v[i] of each of `rows` rows of n numbers, with the rounding errors carried along in
     * error[i]; n a multiple of lanes. */
    void (*add_compensated)(size_t n, size_t rows, void *sum, void *error, const void *v);
    /* Likewise of softplus(v[i]), of rows at distances of `stride`; faster with the sigmoid of v, which may be NULL. */
    void (*add_softplus)(size_t n, size_t rows, size_t stride, void *sum, void *error,
                         const void *v, const void *sigmoid);
    /* out[i] = (add ? out[i] : 0) + sum over r < rows of a[r * n + i] b[r * n + i], n a multiple of lanes; or of
     * a[r * n + i] b[r * stride] if b has one number for each row. */
    void (*sum_products)(size_t n, size_t rows, void *out, const void *a, const void *b,
                         bool b_of_rows, size_t stride, bool add);
    /* The same sums for every two of `vectors` values v, 1 to DOT_VECTORS of them, and for each of them and `number`, which
     * has one for each row, if it is not NULL; to the same bits. Those of v[i] and v[j], j <= i, are sum number i (i + 1) / 2 + j,
     * those of v[i] and `number` are DOT_PAIRS + i; from one to the next, `apart` elements. Others are not written. */
    void (*joint_dots)(size_t n, size_t rows, int vectors, const void *const *v, const void *number,
                       size_t stride, void *out, size_t apart);
    /* sum[i] += v[i] for any n. */
    void (*add)(size_t n, void *sum, const void *v);
    /* The sum of v[r * stride + i] for r < rows and i < n, for any n; readable up to whole vectors. */
    double (*sum)(size_t n, size_t rows, size_t stride, const void *v);
    /* Likewise of softplus(v[r * stride + i]). */
    double (*sum_softplus)(size_t n, size_t rows, size_t stride, const void *v);
    /* out[f] = (add ? out[f] : 0) + sum over l < lanes of v[f * stride + l], whose lanes are padded
     * to whole vectors with anything. */
    void (*sum_lanes)(size_t features, size_t lanes, const void *v, size_t stride, void *out,
                      bool add);
    /* out[l] = v[l / repeat] for first <= l < first + n, stored from out[0]. */
    void (*expand)(size_t first, size_t n, void *out, const void *v, size_t repeat);
    /* out[r * n + i] = v[r * stride] for r < rows and i < n, a multiple of lanes. */
    void (*expand_rows)(size_t rows, size_t n, void *out, const void *v, size_t stride);
    /* Along an axis of `length` places: x[k * stride + i], out[i], i < n. */
    void (*max_over)(size_t n, size_t length, size_t stride, void *out, const void *x);
    void (*logsumexp)(size_t n, size_t length, size_t stride, void *out, const void *x);
    /* to[i * to_stride + j] = from[j * from_stride + i]: between rows of the user's arrays and lanes. */
    void (*transpose)(size_t rows, size_t columns, void *to, size_t to_stride, const void *from,
                      size_t from_stride);
    /* The number at place i as a double, and the reverse. */
    double (*get)(const void *v, size_t i);
    void (*put)(void *v, size_t i, double value);
} batch_kernels;

const elementwise_kernels *hs__elementwise_for(hs_dtype dtype);
const batch_kernels *hs__batch_for(hs_dtype dtype);

#endif
