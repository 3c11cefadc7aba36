/**
 * Mathematics on the tape. docs/ops.md lists every op with its derivative.
 *
 * Binary functions broadcast shapes (aligned at their last axes, as in NumPy) and extents (the
 * widest wins). Axes count from 0; negative ones from the end: -1 is the last.
 */
#ifndef HASTINGS_AUTOGRAD_OPS_H
#define HASTINGS_AUTOGRAD_OPS_H

#include <hastings/autograd/tape.h>

/* ---- Elementwise -------------------------------------------------------------------------- */

#define HS_DECLARE_1(name) hs_var hs_##name##_at(hs_var x, const char *at);
#define HS_DECLARE_2(name) hs_var hs_##name##_at(hs_var x, hs_var y, const char *at);

HS_DECLARE_1(copy)     /**< x itself, as a node of its own */
HS_DECLARE_1(neg)      /**< -x */
HS_DECLARE_1(abs)      /**< |x|; slope 0 at 0 */
HS_DECLARE_1(sign)     /**< -1, 0 or 1 */
HS_DECLARE_1(square)   /**< x^2 */
HS_DECLARE_1(recip)    /**< 1 / x */
HS_DECLARE_1(sqrt)     /**< square root */
HS_DECLARE_1(exp)      /**< e^x */
HS_DECLARE_1(expm1)    /**< e^x - 1, exact near 0 */
HS_DECLARE_1(log)      /**< natural logarithm */
HS_DECLARE_1(log1p)    /**< log(1 + x), exact near 0 */
HS_DECLARE_1(sin)      /**< sine */
HS_DECLARE_1(cos)      /**< cosine */
HS_DECLARE_1(tanh)     /**< hyperbolic tangent */
HS_DECLARE_1(sigmoid)  /**< 1 / (1 + e^-x) */
HS_DECLARE_1(softplus) /**< log(1 + e^x) */
HS_DECLARE_1(relu)     /**< max(x, 0); slope 0 at 0 */
HS_DECLARE_1(gelu)     /**< x times the normal distribution function of x */
HS_DECLARE_1(erf)      /**< error function */
HS_DECLARE_1(lgamma)   /**< log of the gamma function, x > 0 */
HS_DECLARE_2(add)      /**< x + y */
HS_DECLARE_2(sub)      /**< x - y */
HS_DECLARE_2(mul)      /**< x y */
HS_DECLARE_2(div)      /**< x / y */
HS_DECLARE_2(pow)      /**< x^y, x > 0 */
HS_DECLARE_2(max)      /**< the larger; at a tie the gradient goes to x */
HS_DECLARE_2(min)      /**< the smaller; at a tie the gradient goes to x */
HS_DECLARE_2(lt)       /**< 1 where x < y, else 0; likewise the next five */
HS_DECLARE_2(le)
HS_DECLARE_2(gt)
HS_DECLARE_2(ge)
HS_DECLARE_2(eq)
HS_DECLARE_2(ne)
HS_DECLARE_2(gate) /**< x where y > 0, else 0 */

#define hs_copy(x) hs_copy_at((x), HS_HERE)
#define hs_neg(x) hs_neg_at((x), HS_HERE)
#define hs_abs(x) hs_abs_at((x), HS_HERE)
#define hs_sign(x) hs_sign_at((x), HS_HERE)
#define hs_square(x) hs_square_at((x), HS_HERE)
#define hs_recip(x) hs_recip_at((x), HS_HERE)
#define hs_sqrt(x) hs_sqrt_at((x), HS_HERE)
#define hs_exp(x) hs_exp_at((x), HS_HERE)
#define hs_expm1(x) hs_expm1_at((x), HS_HERE)
#define hs_log(x) hs_log_at((x), HS_HERE)
#define hs_log1p(x) hs_log1p_at((x), HS_HERE)
#define hs_sin(x) hs_sin_at((x), HS_HERE)
#define hs_cos(x) hs_cos_at((x), HS_HERE)
#define hs_tanh(x) hs_tanh_at((x), HS_HERE)
#define hs_sigmoid(x) hs_sigmoid_at((x), HS_HERE)
#define hs_softplus(x) hs_softplus_at((x), HS_HERE)
#define hs_relu(x) hs_relu_at((x), HS_HERE)
#define hs_gelu(x) hs_gelu_at((x), HS_HERE)
#define hs_erf(x) hs_erf_at((x), HS_HERE)
#define hs_lgamma(x) hs_lgamma_at((x), HS_HERE)
#define hs_add(x, y) hs_add_at((x), (y), HS_HERE)
#define hs_sub(x, y) hs_sub_at((x), (y), HS_HERE)
#define hs_mul(x, y) hs_mul_at((x), (y), HS_HERE)
#define hs_div(x, y) hs_div_at((x), (y), HS_HERE)
#define hs_pow(x, y) hs_pow_at((x), (y), HS_HERE)
#define hs_max(x, y) hs_max_at((x), (y), HS_HERE)
#define hs_min(x, y) hs_min_at((x), (y), HS_HERE)
#define hs_lt(x, y) hs_lt_at((x), (y), HS_HERE)
#define hs_le(x, y) hs_le_at((x), (y), HS_HERE)
#define hs_gt(x, y) hs_gt_at((x), (y), HS_HERE)
#define hs_ge(x, y) hs_ge_at((x), (y), HS_HERE)
#define hs_eq(x, y) hs_eq_at((x), (y), HS_HERE)
#define hs_ne(x, y) hs_ne_at((x), (y), HS_HERE)
#define hs_gate(x, y) hs_gate_at((x), (y), HS_HERE)

/** The n-th derivative of the digamma function, x > 0, n >= 0. */
hs_var hs_polygamma_at(int n, hs_var x, const char *at);
#define hs_polygamma(n, x) hs_polygamma_at((n), (x), HS_HERE)

/** y where condition is not 0, else z. */
hs_var hs_select_at(hs_var condition, hs_var y, hs_var z, const char *at);
#define hs_select(condition, y, z) hs_select_at((condition), (y), (z), HS_HERE)

/* With a number: c x, x + c, c - x, x^c. */
hs_var hs_scale_at(hs_var x, double c, const char *at);
hs_var hs_shift_at(hs_var x, double c, const char *at);
hs_var hs_sub_from_at(double c, hs_var x, const char *at);
hs_var hs_power_at(hs_var x, double c, const char *at);
#define hs_scale(x, c) hs_scale_at((x), (c), HS_HERE)
#define hs_shift(x, c) hs_shift_at((x), (c), HS_HERE)
#define hs_sub_from(c, x) hs_sub_from_at((c), (x), HS_HERE)
#define hs_power(x, c) hs_power_at((x), (c), HS_HERE)

/** x, through which no gradient flows. */
HS_DECLARE_1(stop)
#define hs_stop(x) hs_stop_at((x), HS_HERE)

/* ---- Products ------------------------------------------------------------------------------- */

/** Matrix product of x and y: matrices, or vectors (y a column, x a row; the axis is dropped). */
HS_DECLARE_2(matmul)
#define hs_matmul(x, y) hs_matmul_at((x), (y), HS_HERE)

/** The same with either factor transposed first. */
hs_var hs_matmul_t_at(hs_var x, bool transpose_x, hs_var y, bool transpose_y, const char *at);
#define hs_matmul_t(x, transpose_x, y, transpose_y)                                                \
    hs_matmul_t_at((x), (transpose_x), (y), (transpose_y), HS_HERE)

/** Sum over the last axis of x y: the inner product of vectors. */
HS_DECLARE_2(dot)
#define hs_dot(x, y) hs_dot_at((x), (y), HS_HERE)

/* ---- Reductions: the axis is dropped --------------------------------------------------------- */

/** Stands for all axes at once. */
enum { HS_ALL = 1000 };

#define HS_DECLARE_AXIS(name) hs_var hs_##name##_at(hs_var x, int axis, const char *at);
HS_DECLARE_AXIS(sum)
HS_DECLARE_AXIS(mean)
HS_DECLARE_AXIS(max_over)
HS_DECLARE_AXIS(logsumexp)
HS_DECLARE_AXIS(softmax)     /**< keeps the axis */
HS_DECLARE_AXIS(log_softmax) /**< keeps the axis */
#define hs_sum(x, axis) hs_sum_at((x), (axis), HS_HERE)
#define hs_mean(x, axis) hs_mean_at((x), (axis), HS_HERE)
#define hs_max_over(x, axis) hs_max_over_at((x), (axis), HS_HERE)
#define hs_logsumexp(x, axis) hs_logsumexp_at((x), (axis), HS_HERE)
#define hs_softmax(x, axis) hs_softmax_at((x), (axis), HS_HERE)
#define hs_log_softmax(x, axis) hs_log_softmax_at((x), (axis), HS_HERE)
#define hs_sum_last(x) hs_sum_at((x), -1, HS_HERE)

/** Over the whole batch: a shared value. These are the ends of a tape: rows cannot use them. */
HS_DECLARE_1(sum_rows)
HS_DECLARE_1(mean_rows)
#define hs_sum_rows(x) hs_sum_rows_at((x), HS_HERE)
#define hs_mean_rows(x) hs_mean_rows_at((x), HS_HERE)

/* ---- Shapes --------------------------------------------------------------------------------- */

hs_var hs_reshape_at(hs_var x, hs_shape shape, const char *at);
#define hs_reshape(x, shape) hs_reshape_at((x), (shape), HS_HERE)

/** Result axis i is axis order[i] of x; `order` has as many entries as x has axes. */
hs_var hs_permute_at(hs_var x, const int *order, const char *at);
#define hs_permute(x, order) hs_permute_at((x), (order), HS_HERE)

/** Places first .. end-1 of an axis. */
hs_var hs_slice_at(hs_var x, int axis, size_t first, size_t end, const char *at);
#define hs_slice(x, axis, first, end) hs_slice_at((x), (axis), (first), (end), HS_HERE)

/** Zeros before and after, along an axis. */
hs_var hs_pad_at(hs_var x, int axis, size_t before, size_t after, const char *at);
#define hs_pad(x, axis, before, after) hs_pad_at((x), (axis), (before), (after), HS_HERE)

/** The n values of xs joined along an axis. */
hs_var hs_concat_at(const hs_var *xs, size_t n, int axis, const char *at);
#define hs_concat(xs, n, axis) hs_concat_at((xs), (n), (axis), HS_HERE)

/** Places index[0], index[1] ... of an axis. */
hs_var hs_gather_at(hs_var x, int axis, const size_t *index, size_t n, const char *at);
#define hs_gather(x, axis, index, n) hs_gather_at((x), (axis), (index), (n), HS_HERE)

/** The reverse: place i of the axis of x is added to place index[i] of an axis of `length` zeros. */
hs_var hs_scatter_at(hs_var x, int axis, const size_t *index, size_t length, const char *at);
#define hs_scatter(x, axis, index, length)                                                         \
    hs_scatter_at((x), (axis), (index), (length), HS_HERE)

/** x stretched to a shape and an extent. */
hs_var hs_broadcast_at(hs_var x, hs_shape shape, hs_extent extent, const char *at);
#define hs_broadcast(x, shape, extent) hs_broadcast_at((x), (shape), (extent), HS_HERE)

/** x summed down to a shape that broadcasts to its own, and to an extent no wider than its own. */
hs_var hs_sum_to_at(hs_var x, hs_shape shape, hs_extent extent, const char *at);
#define hs_sum_to(x, shape, extent) hs_sum_to_at((x), (shape), (extent), HS_HERE)

/* ---- Functions of the user's own: the derivatives of hs_call() ------------------------------- */

hs_var hs_call_grad_at(const hs_function *f, hs_var x, const char *at);
#define hs_call_grad(f, x) hs_call_grad_at((f), (x), HS_HERE)
hs_var hs_call_hvp_at(const hs_function *f, hs_var x, hs_var v, const char *at);
#define hs_call_hvp(f, x, v) hs_call_hvp_at((f), (x), (v), HS_HERE)

/* ---- Derivatives ---------------------------------------------------------------------------- */

/**
 * Records the gradient of y, summed over its batch, with respect to each of the n values in wrt,
 * and stores them in gradients[0 .. n-1], each of the shape and extent of its wrt. y has one
 * element. The gradients are ordinary values: they can be used in further ops and differentiated
 * again. A wrt that y does not depend on has gradient 0.
 */
void hs_grad_at(hs_var y, const hs_var *wrt, size_t n, hs_var *gradients, const char *at);
#define hs_grad(y, wrt, n, gradients) hs_grad_at((y), (wrt), (n), (gradients), HS_HERE)

#undef HS_DECLARE_1
#undef HS_DECLARE_2
#undef HS_DECLARE_AXIS

#endif
