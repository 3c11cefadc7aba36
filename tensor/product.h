/**
 * Matrix products of values stored feature-major: value[feature][lane], lanes contiguous.
 *
 * Lanes are the rows of a batch, so every product of a network has one of three forms:
 *
 *     hs_product_run      y[o][l]  = f(start + sum_k w(o,k) x[k][l])     forward, and input gradient
 *     hs_product_sum_run  dw[o][i] = sum_l dy[o][l] x[i][l]              weight gradient
 *     hs_product_lane_run y[m][n][l] = sum_k a(m,k)[l] b(k,n)[l]         both factors differ by lane
 *
 * This one place chooses between tiles of our own and OpenBLAS, by the figures of bench/products. A result is a fixed
 * function of shapes and numbers: it does not depend on threads.
 *
 *     hs_product_run(HS_F32, &(hs_product){              // y = relu(w x + bias), w 16 x 4 row-major
 *         .out = 16, .in = 4, .lanes = 64, .w = w, .w_out = 4, .w_in = 1, .x = x, .x_stride = 64,
 *         .y = y, .y_stride = 64, .bias = bias, .act = HS_ACT_RELU });
 *
 * The caller owns all memory. Any number of threads may call at once, each with outputs of its own.
 */
#ifndef HASTINGS_TENSOR_PRODUCT_H
#define HASTINGS_TENSOR_PRODUCT_H

#include <hastings/tensor/shape.h>

/** The activation of a product's result, applied while the result is still in registers. */
typedef enum {
    HS_ACT_NONE,     /**< x itself */
    HS_ACT_RELU,     /**< max(x, 0) */
    HS_ACT_TANH,     /**< hyperbolic tangent */
    HS_ACT_SIGMOID,  /**< 1 / (1 + e^-x) */
    HS_ACT_SOFTPLUS, /**< log(1 + e^x) */
    HS_ACT_GELU,     /**< x times the normal distribution function of x */
} hs_activation_kind;

/**
 * y[o * y_stride + l] = gate(act(start(o, l) + sum over k < in of w(o, k) * x[k * x_stride + l]))
 * for o < out, l < lanes, where
 *   w(o, k) = w[o * w_out + k * w_in]; one of w_out, w_in is 1,
 *   start   = bias[o] if bias, plus add[o * add_stride + l] if add, else 0,
 *   gate    = zero where gate[o * gate_stride + l] > 0 does not hold, if gate is given.
 * If lanes > 1, then x, y, add, gate and their strides are aligned to HS_ALIGN bytes, and the kernel may compute and
 * write lanes up to the next multiple of HS_ALIGN bytes.
 * If lanes == 1, the strides of x, y, add and gate are 1: vectors run over features. Memory sets the pace, so a twin
 * is almost free: a second product by the same w, with its own x, y, bias, add, gate and act, and the bits it has alone.
 */
typedef struct hs_product {
    size_t out, in, lanes;  /**< outputs, inputs and lanes */
    const void *w;          /**< weights [out][in] or [in][out] */
    size_t w_out, w_in;     /**< strides of w by output and by input; one of them is 1 */
    const void *x;          /**< inputs [in][x_stride] */
    size_t x_stride;        /**< numbers from one input to the next */
    void *y;                /**< results [out][y_stride] */
    size_t y_stride;        /**< numbers from one output to the next */
    const void *bias;       /**< [out], or NULL */
    const void *add;        /**< [out][add_stride], or NULL; may be y itself */
    size_t add_stride;      /**< numbers from one output to the next */
    const void *gate;       /**< [out][gate_stride], or NULL */
    size_t gate_stride;     /**< numbers from one output to the next */
    hs_activation_kind act; /**< applied before the gate */
    const struct hs_product
        *twin;   /**< NULL, or if lanes == 1 the twin; no y is x, add or gate of the other */
    int threads; /**< may share a large product; 0 or 1: the calling thread alone */
} hs_product;

/** Computes a product, and its twin. */
HS_API void hs_product_run(hs_dtype dtype, const hs_product *product);

/**
 * dw[o * in + i] (+)= sum over l < lanes of dy[o * dy_stride + l] * x[i * x_stride + l], and with db also db[o] (+)=
 * sum over l < lanes of dy[o * dy_stride + l]: the gradients of a layer's weights and of its bias in one reading of
 * dy. `lanes` is the true number of lanes: padding is never used, not even a NaN. If lanes > 1, dy, x and their
 * strides are aligned as for hs_product; if lanes == 1 they need not be.
 */
typedef struct {
    size_t out, in, lanes; /**< outputs, inputs and lanes */
    const void *dy;        /**< gradients of the outputs [out][dy_stride] */
    size_t dy_stride;      /**< numbers from one output to the next */
    const void *x;         /**< inputs [in][x_stride] */
    size_t x_stride;       /**< numbers from one input to the next */
    void *dw;              /**< [out][in], contiguous, aligned to its elements only */
    bool accumulate;       /**< adds to dw instead of overwriting it */
    void *db;              /**< [out], or NULL */
    bool accumulate_db;    /**< adds to db instead of overwriting it */
    void *scratch; /**< hs_product_sum_scratch() bytes, aligned to HS_ALIGN; NULL if that is 0 */
    int threads;   /**< may share a large sum; 0 or 1: the calling thread alone */
    size_t terms;  /**< number of such sums to add up; 0 means 1 */
    size_t dy_term, x_term; /**< numbers from one term's dy, or x, to the next one's */
} hs_product_sum;

/** Computes the sums over lanes. */
HS_API void hs_product_sum_run(hs_dtype dtype, const hs_product_sum *product);

/** Returns the bytes of scratch that a product of this out, in, lanes and terms needs; may be 0. */
HS_API size_t hs_product_sum_scratch(hs_dtype dtype, const hs_product_sum *product);

/**
 * y[(o * n + j) * y_stride + l] = sum over k < in of a(o, k) * b(k, j) lane by lane, for o < out, j < n, where
 * a(o, k) stands at a[(o * a_out + k * a_in) * a_stride + l], and b(k, j) at b[(k * b_in + j * b_n) * b_stride + l].
 * A factor that is the same in all lanes has a_stride (b_stride) 1 and a_shared (b_shared) set: its element is then
 * a[o * a_out + k * a_in]. If lanes > 1, y and every other factor are aligned and padded as for hs_product.
 */
typedef struct {
    size_t out, in, n, lanes;     /**< rows of a, columns of a, columns of b, and lanes */
    const void *a;                /**< the first factor, out x in */
    size_t a_out, a_in, a_stride; /**< its strides by row and column, in elements, and by element */
    bool a_shared;                /**< it is the same in all lanes */
    const void *b;                /**< the second factor, in x n */
    size_t b_in, b_n, b_stride;   /**< its strides by row and column, in elements, and by element */
    bool b_shared;                /**< it is the same in all lanes */
    void *y;                      /**< the product [out][n][y_stride] */
    size_t y_stride;              /**< numbers from one element to the next */
} hs_product_lane;

/** Computes a product lane by lane, on the calling thread. */
HS_API void hs_product_lane_run(hs_dtype dtype, const hs_product_lane *product);

/**
 * Computes c = op(a) op(b) for contiguous row-major matrices on OpenBLAS, or adds the product to c if `accumulate`.
 * c is m x n. op transposes a matrix whose flag is set: a is m x k (or k x m), b is k x n (or n x k).
 */
HS_API void hs_product_shared_run(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                                  bool transpose_a, const void *b, bool transpose_b, void *c,
                                  bool accumulate);

#endif
