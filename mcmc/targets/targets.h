/**
 * The library's own targets: standard distributions, the test problems of the field, and Bayesian
 * logistic regression.
 *
 *     hs_target *cross = hs_target_cross(s, NULL);
 *     hs_target *wide = hs_target_gaussian(s, 2, &(hs_gaussian_options){
 *         .mean = (double[]){ 1, 2 }, .covariance = (double[]){ 4, 1,
 *                                                               1, 1 } });
 *     hs_target *german = hs_target_logistic(s, data, NULL);       // mcmc/io/dataset.h
 *
 *     hs_var x = hs_target_draw(wide, tape, HS_START, 0);           // exact
 *     hs_var log_pi = hs_target_log_density(wide, x);
 *
 * Densities integrate to 1 and have exact draws. The logistic regression is the exception: its
 * constant is unknown, and it has no draws. Draws are for start points and tests; not all of them
 * let gradients through.
 *
 * Options may be NULL; a zero in them is the default stated beside it. Arrays are copied. Wrong
 * input makes the session fail and gives NULL. The session owns targets and their arrays, and its
 * thread calls. Tapes and plans read the arrays in place: none may run after hs_session_free().
 */
#ifndef HASTINGS_MCMC_TARGETS_TARGETS_H
#define HASTINGS_MCMC_TARGETS_TARGETS_H

#include <hastings/mcmc/io/dataset.h>
#include <hastings/mcmc/target.h>

/* ---- Gaussian -------------------------------------------------------------------------------- */

/** Options of hs_target_gaussian(): at most one of sd, sds and covariance. */
typedef struct {
    const double *mean;       /**< [dim]: mean; NULL: 0 */
    double sd;                /**< standard deviation of every coordinate; 0: 1 */
    const double *sds;        /**< [dim]: standard deviation of each coordinate */
    const double *covariance; /**< [dim][dim]: covariance, symmetric and positive definite */
} hs_gaussian_options;

/** Gaussian N(mean, covariance). */
HS_API hs_target *hs_target_gaussian(hs_session *s, size_t dim, const hs_gaussian_options *options);

/* ---- Independent coordinates with heavy tails ------------------------------------------------ */

/** Options of the targets below, all centred at 0: at most one of scale and scales. */
typedef struct {
    double scale;         /**< scale of every coordinate; 0: 1 */
    const double *scales; /**< [dim]: scale of each coordinate */
} hs_scale_options;

/** Laplace: density exp(-|x| / b) / 2b in each coordinate, with scale b and variance 2 b^2. */
HS_API hs_target *hs_target_laplace(hs_session *s, size_t dim, const hs_scale_options *options);

/** Cauchy: density 1 / (pi b (1 + (x / b)^2)) in each coordinate, with scale b and no moments. */
HS_API hs_target *hs_target_cauchy(hs_session *s, size_t dim, const hs_scale_options *options);

/** Student's t in each coordinate, with any `dof` > 0 degrees of freedom. Its variance is
 *  scale^2 dof / (dof - 2), for dof > 2. */
HS_API hs_target *hs_target_student(hs_session *s, size_t dim, double dof,
                                    const hs_scale_options *options);

/* ---- Near-uniform ---------------------------------------------------------------------------- */

/** Options of hs_target_uniform(). */
typedef struct {
    double log_odds; /**< log odds of the uniform component against the normal; 0: 100 */

    /** Factor of the gradient (not of the value) of the log density outside the box; 0: 1. A factor
     *  of dim gives published acceptance rates of trained random walks, which the true gradient
     *  does not give. It falsifies every other use of the score. */
    double tail_pull;
} hs_uniform_options;

/**
 * Uniform on [0, 1]^dim with probability 1 / (1 + e^-log_odds), otherwise standard normal: positive
 * everywhere, so that logarithms and gradients exist. Outside the box the gradient is the normal's,
 * -x; inside it is next to 0. On the boundary the log density jumps, by about log_odds and the
 * normal's own log density.
 *
 * Above log_odds 50, all draws come from the uniform component: the others are rarer than the
 * resolution of uniform numbers.
 */
HS_API hs_target *hs_target_uniform(hs_session *s, size_t dim, const hs_uniform_options *options);

/* ---- Gaussian mixtures ----------------------------------------------------------------------- */

/** Options of hs_target_mixture(): at most one of sd, component_sds and sds. */
typedef struct {
    size_t components;           /**< number of components; required */
    const double *means;         /**< [components][dim]: means; required */
    const double *weights;       /**< [components]: weights, positive, of sum 1; NULL: all equal */
    double sd;                   /**< sd of every coordinate of every component; 0: 1 */
    const double *component_sds; /**< [components]: sd of every coordinate of one component */
    const double *sds;           /**< [components][dim]: sd of each coordinate */
} hs_mixture_options;

/** Gaussian mixture: the sum over components of weight N(mean, diag(sd^2)). */
HS_API hs_target *hs_target_mixture(hs_session *s, size_t dim, const hs_mixture_options *options);

/** Options of hs_target_cross(). */
typedef struct {
    double radius;   /**< distance of the centres from 0; 0: 4 */
    double variance; /**< variance of each coordinate within a component; 0: 1/2 */
} hs_cross_options;

/** Cross: four equal Gaussians in the plane, at (+-radius, 0) and (0, +-radius). Independent draws
 *  have E |x - x'|^2 = 2 radius^2 + 4 variance: 34 by default. */
HS_API hs_target *hs_target_cross(hs_session *s, const hs_cross_options *options);

/* ---- Bent ------------------------------------------------------------------------------------ */

/** Options of hs_target_banana(). */
typedef struct {
    double sd;        /**< sd of the first coordinate; 0: 10 */
    double curvature; /**< bend of the second coordinate; 0: 0.03, moderate; 0.1 is strong */
} hs_banana_options;

/** Banana of Haario, Saksman and Tamminen (1999): x0 ~ N(0, sd^2), x1 = curvature (x0^2 - sd^2) +
 *  N(0, 1), and the others N(0, 1); dim is at least 2. All means are 0. */
HS_API hs_target *hs_target_banana(hs_session *s, size_t dim, const hs_banana_options *options);

/** Options of hs_target_funnel(). */
typedef struct {
    double sd; /**< sd of the first coordinate; 0: 3 */
} hs_funnel_options;

/** Funnel of Neal (2003): v = x0 ~ N(0, sd^2), and the others N(0, e^v) given v; dim >= 2. */
HS_API hs_target *hs_target_funnel(hs_session *s, size_t dim, const hs_funnel_options *options);

/* ---- Bayesian logistic regression ------------------------------------------------------------ */

/** Options of hs_target_logistic(). */
typedef struct {
    double prior_sd; /**< sd of the prior of every weight, the intercept included; 0: 10 */
} hs_logistic_options;

/**
 * Bayesian logistic regression: the posterior of the weights b of P(label 1 | x) =
 * 1 / (1 + e^-(x . b)), with independent priors N(0, prior_sd^2). Each column of the data has one
 * weight; mcmc/io/dataset.h scales columns and adds an intercept, this target does not. The log
 * density is that of labels and weights together, with the prior's constant: it integrates to the
 * evidence. All tapes share one copy of the data, in the session's number type. The logits of all
 * chains are one matrix product.
 */
HS_API hs_target *hs_target_logistic(hs_session *s, const hs_dataset *data,
                                     const hs_logistic_options *options);

/* ---- Laplace approximation ------------------------------------------------------------------- */

/** Finds the mode [dim] of any smooth target by Newton's method from `start` (NULL: 0), and the
 *  covariance [dim][dim] of the Gaussian with the target's curvature there: for start points and
 *  scales. It works in double precision, whatever the session's; mode and covariance may be NULL.
 *  The session fails with HS_EINVAL if there is no maximum to be found. */
HS_API hs_status hs_laplace_approximation(hs_session *s, const hs_target *target,
                                          const double *start, double *mode, double *covariance);

#endif
