/**
 * Matrix products over values stored feature-major: value[feature][lane], lanes contiguous.
 *
 * Lanes are the rows of a batch, so every product of a network has one of three forms:
 *
 *     hs_product_run      y[o][l]  = f(start + sum_k w(o,k) x[k][l])     forward, and input gradient
 *     hs_product_sum_run  dw[o][i] = sum_l dy[o][l] x[i][l]              weight gradient
 *     hs_product_lane_run y[m][n][l] = sum_k a(m,k)[l] b(k,n)[l]         both factors differ by lane
 *
 * The first two choose between tiles of our own and OpenBLAS by the figures of bench/products;
 * this is the one place where that is decided. Every result is a fixed function of the shapes and
 * numbers: it does not depend on threads.
 */
#ifndef HASTINGS_TENSOR_PRODUCT_H
#define HASTINGS_TENSOR_PRODUCT_H

#include <hastings/tensor/shape.h>

/** What is applied to a product's result while it is still in registers. */
typedef enum {
    HS_ACT_NONE,
    HS_ACT_RELU,
    HS_ACT_TANH,
    HS_ACT_SIGMOID,
    HS_ACT_SOFTPLUS,
    HS_ACT_GELU,
} hs_activation_kind;

/**
 * y[o * y_stride + l] = gate(act(start(o, l) + sum over k < in of w(o, k) * x[k * x_stride + l]))
 * for o < out, l < lanes, where
 *   w(o, k) = w[o * w_out + k * w_in]; one of w_out, w_in is 1,
 *   start   = bias[o] if bias, plus add[o * add_stride + l] if add, else 0 (add may be y itself),
 *   gate    = zero where gate[o * gate_stride + l] > 0 does not hold, if gate is given.
 * If lanes > 1, then x, y, add, gate and their strides are aligned to HS_ALIGN bytes, and the
 * kernel may compute (and write) lanes up to the next multiple of HS_ALIGN bytes.
 * If lanes == 1, strides of x, y, add and gate are 1: vectors run over features instead. Memory sets the pace then, and
 * a twin comes almost for nothing: another product by the same w, with x, y, bias, add, gate and act of its own, that is
 * computed in the same reading of w, to the same bits as alone.
 */
typedef struct hs_product {
    size_t out, in, lanes;
    const void *w;
    size_t w_out, w_in;
    const void *x;
    size_t x_stride;
    void *y;
    size_t y_stride;
    const void *bias;
    const void *add;
    size_t add_stride;
    const void *gate;
    size_t gate_stride;
    hs_activation_kind act;
    const struct hs_product
        *twin;   /* if lanes == 1, or NULL; y of neither is x, add or gate of the other */
    int threads; /* splits the outputs of a large product; 0 or 1: run here alone */
} hs_product;

HS_API void hs_product_run(hs_dtype dtype, const hs_product *product);

/**
 * dw[o * in + i] (+)= sum over l < lanes of dy[o * dy_stride + l] * x[i * x_stride + l], where
 * lanes is the true number of lanes: what lies in the padding is never used, not even a NaN.
 * If lanes > 1, dy, x and their strides are aligned as for hs_product; if lanes == 1 they need not.
 *
 * With db, also db[o] (+)= sum over l < lanes of dy[o * dy_stride + l]: a layer's bias has its gradient
 * from the same numbers as its weights, and they pass by only once.
 */
typedef struct {
    size_t out, in, lanes;
    const void *dy;
    size_t dy_stride;
    const void *x;
    size_t x_stride;
    void *dw;        /* out x in, contiguous, aligned to its elements only */
    bool accumulate; /* add to dw instead of overwriting it */
    void *db;        /* out numbers, or NULL */
    bool accumulate_db;
    void *scratch; /* hs_product_sum_scratch() bytes, aligned to HS_ALIGN; NULL if that is 0 */
    int threads;
    size_t terms;           /* if there are several such sums to add up, how many, */
    size_t dy_term, x_term; /* and from one to the next, elements */
} hs_product_sum;

HS_API void hs_product_sum_run(hs_dtype dtype, const hs_product_sum *product);

/** Bytes of scratch that a product of this size (out, in, lanes and terms are looked at) needs; may be 0. */
HS_API size_t hs_product_sum_scratch(hs_dtype dtype, const hs_product_sum *product);

/**
 * y[(o * n + j) * y_stride + l] = sum over k < in of a(o, k) * b(k, j) lane by lane, o < out,
 * j < n, where a(o, k) stands at a[(o * a_out + k * a_in) * a_stride + l], and b(k, j) at
 * b[(k * b_in + j * b_n) * b_stride + l]. A factor that is the same in all lanes has a_stride
 * (b_stride) 1 and a_shared (b_shared) set: its element is then a[o * a_out + k * a_in].
 * If lanes > 1, y and every factor that is not shared are aligned and padded as for hs_product.
 */
typedef struct {
    size_t out, in, n, lanes;
    const void *a;
    size_t a_out, a_in, a_stride;
    bool a_shared;
    const void *b;
    size_t b_in, b_n, b_stride;
    bool b_shared;
    void *y;
    size_t y_stride;
} hs_product_lane;

HS_API void hs_product_lane_run(hs_dtype dtype, const hs_product_lane *product);

/**
 * Plain row-major product of shared matrices: c (m x n, contiguous) = op(a) op(b), op transposing
 * if the flag is set; a is m x k (or k x m), b is k x n (or n x k), contiguous. Runs on OpenBLAS.
 */
HS_API void hs_product_shared_run(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                                  bool transpose_a, const void *b, bool transpose_b, void *c,
                                  bool accumulate);

#endif
