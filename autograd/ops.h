/**
 * Mathematics on the tape. docs/ops.md lists every op with its derivative.
 *
 *     hs_var y = hs_tanh(hs_add(hs_matmul(w, x), b)), slope;        // w [m, n], x [n], b [m]
 *     hs_grad(hs_sum_last(y), &x, 1, &slope);                       // [n]
 *
 * Functions of several values broadcast shapes (aligned at their last axes, as in NumPy) and extents (the widest
 * wins). Axes count from 0; negative ones count from the end: -1 is the last. Errors stick to the tape, which owns
 * every result and belongs to one thread while it is recorded (see tape.h).
 */
#ifndef HASTINGS_AUTOGRAD_OPS_H
#define HASTINGS_AUTOGRAD_OPS_H

#include <hastings/autograd/tape.h>

/* ---- Elementwise -------------------------------------------------------------------------- */

#define HS_DECLARE_1(name) HS_API hs_var hs_##name##_at(hs_var x, const char *at);
#define HS_DECLARE_2(name) HS_API hs_var hs_##name##_at(hs_var x, hs_var y, const char *at);

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
HS_DECLARE_2(lt)       /**< 1 where x < y, else 0 */
HS_DECLARE_2(le)       /**< 1 where x <= y, else 0 */
HS_DECLARE_2(gt)       /**< 1 where x > y, else 0 */
HS_DECLARE_2(ge)       /**< 1 where x >= y, else 0 */
HS_DECLARE_2(eq)       /**< 1 where x = y, else 0 */
HS_DECLARE_2(ne)       /**< 1 where x differs from y, else 0 */
HS_DECLARE_2(gate)     /**< x where y > 0, else 0 */

#define hs_copy(...)     hs_copy_at(__VA_ARGS__, HS_HERE)
#define hs_neg(...)      hs_neg_at(__VA_ARGS__, HS_HERE)
#define hs_abs(...)      hs_abs_at(__VA_ARGS__, HS_HERE)
#define hs_sign(...)     hs_sign_at(__VA_ARGS__, HS_HERE)
#define hs_square(...)   hs_square_at(__VA_ARGS__, HS_HERE)
#define hs_recip(...)    hs_recip_at(__VA_ARGS__, HS_HERE)
#define hs_sqrt(...)     hs_sqrt_at(__VA_ARGS__, HS_HERE)
#define hs_exp(...)      hs_exp_at(__VA_ARGS__, HS_HERE)
#define hs_expm1(...)    hs_expm1_at(__VA_ARGS__, HS_HERE)
#define hs_log(...)      hs_log_at(__VA_ARGS__, HS_HERE)
#define hs_log1p(...)    hs_log1p_at(__VA_ARGS__, HS_HERE)
#define hs_sin(...)      hs_sin_at(__VA_ARGS__, HS_HERE)
#define hs_cos(...)      hs_cos_at(__VA_ARGS__, HS_HERE)
#define hs_tanh(...)     hs_tanh_at(__VA_ARGS__, HS_HERE)
#define hs_sigmoid(...)  hs_sigmoid_at(__VA_ARGS__, HS_HERE)
#define hs_softplus(...) hs_softplus_at(__VA_ARGS__, HS_HERE)
#define hs_relu(...)     hs_relu_at(__VA_ARGS__, HS_HERE)
#define hs_gelu(...)     hs_gelu_at(__VA_ARGS__, HS_HERE)
#define hs_erf(...)      hs_erf_at(__VA_ARGS__, HS_HERE)
#define hs_lgamma(...)   hs_lgamma_at(__VA_ARGS__, HS_HERE)
#define hs_add(...)      hs_add_at(__VA_ARGS__, HS_HERE)
#define hs_sub(...)      hs_sub_at(__VA_ARGS__, HS_HERE)
#define hs_mul(...)      hs_mul_at(__VA_ARGS__, HS_HERE)
#define hs_div(...)      hs_div_at(__VA_ARGS__, HS_HERE)
#define hs_pow(...)      hs_pow_at(__VA_ARGS__, HS_HERE)
#define hs_max(...)      hs_max_at(__VA_ARGS__, HS_HERE)
#define hs_min(...)      hs_min_at(__VA_ARGS__, HS_HERE)
#define hs_lt(...)       hs_lt_at(__VA_ARGS__, HS_HERE)
#define hs_le(...)       hs_le_at(__VA_ARGS__, HS_HERE)
#define hs_gt(...)       hs_gt_at(__VA_ARGS__, HS_HERE)
#define hs_ge(...)       hs_ge_at(__VA_ARGS__, HS_HERE)
#define hs_eq(...)       hs_eq_at(__VA_ARGS__, HS_HERE)
#define hs_ne(...)       hs_ne_at(__VA_ARGS__, HS_HERE)
#define hs_gate(...)     hs_gate_at(__VA_ARGS__, HS_HERE)

/** The n-th derivative of the digamma function, x > 0, n >= 0. */
HS_API hs_var hs_polygamma_at(int n, hs_var x, const char *at);
#define hs_polygamma(...) hs_polygamma_at(__VA_ARGS__, HS_HERE)

/** y where condition is not 0, else z. */
HS_API hs_var hs_select_at(hs_var condition, hs_var y, hs_var z, const char *at);
#define hs_select(...) hs_select_at(__VA_ARGS__, HS_HERE)

HS_API hs_var hs_scale_at(hs_var x, double c, const char *at);    /**< c x */
HS_API hs_var hs_shift_at(hs_var x, double c, const char *at);    /**< x + c */
HS_API hs_var hs_sub_from_at(double c, hs_var x, const char *at); /**< c - x */
HS_API hs_var hs_power_at(hs_var x, double c, const char *at);    /**< x^c, x > 0 */
#define hs_scale(...)    hs_scale_at(__VA_ARGS__, HS_HERE)
#define hs_shift(...)    hs_shift_at(__VA_ARGS__, HS_HERE)
#define hs_sub_from(...) hs_sub_from_at(__VA_ARGS__, HS_HERE)
#define hs_power(...)    hs_power_at(__VA_ARGS__, HS_HERE)

/** x itself; no gradient flows through it. */
HS_DECLARE_1(stop)
#define hs_stop(...) hs_stop_at(__VA_ARGS__, HS_HERE)

/* ---- Products ------------------------------------------------------------------------------- */

/** The matrix product of x [m, k] and y [k, n]: [m, n]. A vector x is a row and a vector y a column, whose axis of
 *  length 1 is dropped from the result. */
HS_DECLARE_2(matmul)
#define hs_matmul(...) hs_matmul_at(__VA_ARGS__, HS_HERE)

/** The matrix product after either factor is transposed. */
HS_API hs_var hs_matmul_t_at(hs_var x, bool transpose_x, hs_var y, bool transpose_y,
                             const char *at);
#define hs_matmul_t(...) hs_matmul_t_at(__VA_ARGS__, HS_HERE)

/** The sum of x y over the last axis: the inner product of vectors. */
HS_DECLARE_2(dot)
#define hs_dot(...) hs_dot_at(__VA_ARGS__, HS_HERE)

/* ---- Reductions: the result lacks the axis ---------------------------------------------------- */

/** An axis that stands for all axes at once; softmax and log_softmax do not take it. */
enum { HS_ALL = 1000 };

#define HS_DECLARE_AXIS(name) HS_API hs_var hs_##name##_at(hs_var x, int axis, const char *at);
HS_DECLARE_AXIS(sum)         /**< the sum along an axis */
HS_DECLARE_AXIS(mean)        /**< the mean along an axis */
HS_DECLARE_AXIS(max_over)    /**< the largest along an axis; ties share the gradient */
HS_DECLARE_AXIS(logsumexp)   /**< log of the sum of e^x along an axis, without overflow */
HS_DECLARE_AXIS(softmax)     /**< e^x over its sum along an axis, which is kept */
HS_DECLARE_AXIS(log_softmax) /**< log of the softmax along an axis, which is kept */
#define hs_sum(...)         hs_sum_at(__VA_ARGS__, HS_HERE)
#define hs_mean(...)        hs_mean_at(__VA_ARGS__, HS_HERE)
#define hs_max_over(...)    hs_max_over_at(__VA_ARGS__, HS_HERE)
#define hs_logsumexp(...)   hs_logsumexp_at(__VA_ARGS__, HS_HERE)
#define hs_softmax(...)     hs_softmax_at(__VA_ARGS__, HS_HERE)
#define hs_log_softmax(...) hs_log_softmax_at(__VA_ARGS__, HS_HERE)
#define hs_sum_last(x)      hs_sum_at((x), -1, HS_HERE) /**< the sum along the last axis */

HS_DECLARE_1(sum_rows)  /**< the sum over the whole batch: shared, and rows cannot use it */
HS_DECLARE_1(mean_rows) /**< the mean over the whole batch: likewise */
#define hs_sum_rows(...)  hs_sum_rows_at(__VA_ARGS__, HS_HERE)
#define hs_mean_rows(...) hs_mean_rows_at(__VA_ARGS__, HS_HERE)

/* ---- Shapes --------------------------------------------------------------------------------- */

/** The elements of x, in the same order, in another shape. */
HS_API hs_var hs_reshape_at(hs_var x, hs_shape shape, const char *at);
#define hs_reshape(...) hs_reshape_at(__VA_ARGS__, HS_HERE)

/** x with its axes in another order: axis i of the result is axis order[i] of x. `order` names each axis once. */
HS_API hs_var hs_permute_at(hs_var x, const int *order, const char *at);
#define hs_permute(...) hs_permute_at(__VA_ARGS__, HS_HERE)

/** Places first .. end-1 of an axis of x. */
HS_API hs_var hs_slice_at(hs_var x, int axis, size_t first, size_t end, const char *at);
#define hs_slice(...) hs_slice_at(__VA_ARGS__, HS_HERE)

/** x between `before` and `after` zeros along an axis. */
HS_API hs_var hs_pad_at(hs_var x, int axis, size_t before, size_t after, const char *at);
#define hs_pad(...) hs_pad_at(__VA_ARGS__, HS_HERE)

/** The n values of xs (at most 4096), joined along an axis; their other axes are equal. */
HS_API hs_var hs_concat_at(const hs_var *xs, size_t n, int axis, const char *at);
#define hs_concat(...) hs_concat_at(__VA_ARGS__, HS_HERE)

/** Places index[0] .. index[n-1] (copied) of an axis of x. */
HS_API hs_var hs_gather_at(hs_var x, int axis, const size_t *index, size_t n, const char *at);
#define hs_gather(...) hs_gather_at(__VA_ARGS__, HS_HERE)

/** The reverse of gather: adds place i of an axis of x to place index[i] of an axis of `length` zeros. */
HS_API hs_var hs_scatter_at(hs_var x, int axis, const size_t *index, size_t length, const char *at);
#define hs_scatter(...) hs_scatter_at(__VA_ARGS__, HS_HERE)

/** x stretched to a shape and to an extent no narrower than its own. */
HS_API hs_var hs_broadcast_at(hs_var x, hs_shape shape, hs_extent extent, const char *at);
#define hs_broadcast(...) hs_broadcast_at(__VA_ARGS__, HS_HERE)

/** x summed to a shape that broadcasts to its own, and to an extent no wider than its own. */
HS_API hs_var hs_sum_to_at(hs_var x, hs_shape shape, hs_extent extent, const char *at);
#define hs_sum_to(...) hs_sum_to_at(__VA_ARGS__, HS_HERE)

/* ---- Functions of the user's own: the derivatives of hs_call() ------------------------------- */

/** The gradient [n] of f at x [n]. */
HS_API hs_var hs_call_grad_at(const hs_function *f, hs_var x, const char *at);
#define hs_call_grad(...) hs_call_grad_at(__VA_ARGS__, HS_HERE)
/** The product [n] of the Hessian of f at x [n] with v [n]. */
HS_API hs_var hs_call_hvp_at(const hs_function *f, hs_var x, hs_var v, const char *at);
#define hs_call_hvp(...) hs_call_hvp_at(__VA_ARGS__, HS_HERE)

/* ---- Derivatives ---------------------------------------------------------------------------- */

/**
 * Records the gradients of y, summed over its batch, with respect to the n values in wrt. gradients[i] has the shape
 * and extent of wrt[i]; it is 0 if y does not depend on wrt[i]. y has one element. A gradient is an ordinary value:
 * further ops can use it, and it can be differentiated again. `gradients` may be the memory of wrt.
 */
HS_API void hs_grad_at(hs_var y, const hs_var *wrt, size_t n, hs_var *gradients, const char *at);
#define hs_grad(...) hs_grad_at(__VA_ARGS__, HS_HERE)

#undef HS_DECLARE_1
#undef HS_DECLARE_2
#undef HS_DECLARE_AXIS

#endif
