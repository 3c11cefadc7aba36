/**
 * The library's targets: standard distributions, the test problems of the field, and Bayesian
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
 * Log densities include their constants: they integrate to 1, except that of the logistic
 * regression, whose constant is not known. All but that one can be drawn from exactly. Draws are
 * for starting points and tests; gradients do not flow through all of them.
 *
 * Options may be NULL, and what is zero in them has the default that is said beside it. Arrays are
 * copied. Wrong input makes the session fail, and the target is NULL. Targets belong to their
 * session, and their arrays too: tapes and plans read them in place, and must not run afterwards.
 */
#ifndef HASTINGS_MCMC_TARGETS_TARGETS_H
#define HASTINGS_MCMC_TARGETS_TARGETS_H

#include <hastings/mcmc/io/dataset.h>
#include <hastings/mcmc/target.h>

/* ---- Gaussian -------------------------------------------------------------------------------- */

/** At most one of sd, sds and covariance is given. */
typedef struct {
    const double *mean;       /**< [dim]; NULL: 0 */
    double sd;                /**< standard deviation of every coordinate; 0: 1 */
    const double *sds;        /**< [dim]: one for each */
    const double *covariance; /**< [dim][dim], symmetric and positive definite */
} hs_gaussian_options;

/** N(mean, covariance). */
HS_API hs_target *hs_target_gaussian(hs_session *s, size_t dim, const hs_gaussian_options *options);

/* ---- Independent coordinates with heavy tails ------------------------------------------------ */

/** At most one of scale and scales is given. All are centred at 0. */
typedef struct {
    double scale;         /**< of every coordinate; 0: 1 */
    const double *scales; /**< [dim]: one for each */
} hs_scale_options;

/** Density exp(-|x| / b) / 2b in each coordinate, with scale b; its variance is 2 b^2. */
HS_API hs_target *hs_target_laplace(hs_session *s, size_t dim, const hs_scale_options *options);

/** Density 1 / (pi b (1 + (x / b)^2)) in each coordinate, with scale b. It has no moments. */
HS_API hs_target *hs_target_cauchy(hs_session *s, size_t dim, const hs_scale_options *options);

/** Student's t in each coordinate, with `dof` > 0 degrees of freedom, which need not be whole. Its
 *  variance is scale^2 dof / (dof - 2), for dof > 2. */
HS_API hs_target *hs_target_student(hs_session *s, size_t dim, double dof,
                                    const hs_scale_options *options);

/* ---- Near-uniform ---------------------------------------------------------------------------- */

typedef struct {
    double log_odds; /**< of the uniform component against the normal; 0: 100 */

    /** Outside the box, the gradient (not the value) of the log density is multiplied by this
     *  (0: 1). With dim in its place, published acceptance rates of trained random walks are met
     *  that the true gradient does not give. Whatever else uses the score is then wrong. */
    double tail_pull;
} hs_uniform_options;

/**
 * Uniform on [0, 1]^dim with probability 1 / (1 + e^-log_odds), otherwise standard normal: positive
 * everywhere, so that logarithms and gradients exist. Outside the box the gradient is that of the
 * normal, -x; inside it is next to 0; on the boundary the log density jumps, by about log_odds and
 * the normal's own log density.
 *
 * With log_odds above 50 draws are all of the uniform component: the others are rarer than the
 * resolution of uniform numbers.
 */
HS_API hs_target *hs_target_uniform(hs_session *s, size_t dim, const hs_uniform_options *options);

/* ---- Gaussian mixtures ----------------------------------------------------------------------- */

/** At most one of sd, component_sds and sds is given. */
typedef struct {
    size_t components;
    const double *means;         /**< [components][dim] */
    const double *weights;       /**< [components], positive, of sum 1; NULL: all equal */
    double sd;                   /**< of every coordinate of every component; 0: 1 */
    const double *component_sds; /**< [components]: of every coordinate of that component */
    const double *sds;           /**< [components][dim] */
} hs_mixture_options;

/** The sum over components of weight N(mean, diag(sd^2)). */
HS_API hs_target *hs_target_mixture(hs_session *s, size_t dim, const hs_mixture_options *options);

typedef struct {
    double radius;   /**< of the centres; 0: 4 */
    double variance; /**< of each coordinate within a component; 0: 1/2 */
} hs_cross_options;

/** Four equal Gaussians in the plane, at (+-radius, 0) and (0, +-radius). For independent draws,
 *  E |x - x'|^2 = 2 radius^2 + 4 variance: 34 by default. */
HS_API hs_target *hs_target_cross(hs_session *s, const hs_cross_options *options);

/* ---- Bent ------------------------------------------------------------------------------------ */

typedef struct {
    double sd;        /**< of the first coordinate; 0: 10 */
    double curvature; /**< 0: 0.03, moderate; 0.1 is strong */
} hs_banana_options;

/** Haario, Saksman and Tamminen (1999): x0 ~ N(0, sd^2), x1 = curvature (x0^2 - sd^2) + N(0, 1),
 *  and the others N(0, 1); dim is at least 2. All means are 0. */
HS_API hs_target *hs_target_banana(hs_session *s, size_t dim, const hs_banana_options *options);

typedef struct {
    double sd; /**< of the first coordinate; 0: 3 */
} hs_funnel_options;

/** Neal (2003): v = x0 ~ N(0, sd^2), and the others N(0, e^v) given v; dim is at least 2. */
HS_API hs_target *hs_target_funnel(hs_session *s, size_t dim, const hs_funnel_options *options);

/* ---- Bayesian logistic regression ------------------------------------------------------------ */

typedef struct {
    double prior_sd; /**< of every weight, that of the intercept included; 0: 10 */
} hs_logistic_options;

/**
 * The posterior of the weights b of P(label 1 | x) = 1 / (1 + e^-(x . b)), with independent priors
 * N(0, prior_sd^2). One weight for each column of the data; neither features nor intercept are
 * changed or added here: see mcmc/io/dataset.h. The log density is that of labels and weights
 * together, with the prior's constant: it integrates to the evidence.
 *
 * The data are copied once, in the session's number type, and shared by all tapes; the logits of
 * all chains are one matrix product.
 */
HS_API hs_target *hs_target_logistic(hs_session *s, const hs_dataset *data,
                                     const hs_logistic_options *options);

/* ---- Laplace approximation ------------------------------------------------------------------- */

/**
 * The mode [dim] of any smooth target, by Newton's method from `start` (NULL: 0), and the
 * covariance [dim][dim] of the Gaussian that has the target's curvature there, for start points and
 * scales. In double precision, whatever the session's; mode and covariance may be NULL. The session
 * fails if no maximum is found.
 */
HS_API hs_status hs_laplace_approximation(hs_session *s, const hs_target *target,
                                          const double *start, double *mode, double *covariance);

#endif
