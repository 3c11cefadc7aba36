/**
 * Fits of an objective's coefficients to reference problems (reference.h): the coefficients with
 * which the objective's optimum accepts as theory says that it should.
 *
 *     hs_session *s = hs_session_new(NULL);
 *     hs_reference both[] = { hs_reference_walk(s, 1000), hs_reference_mala(s, 1000) };
 *     hs_fit fit;
 *     hs_status status = hs_fit_newton(&both[0], NULL, NULL, &fit);
 *     if (!status)
 *         printf("A = %.4f(%.4f)\n", fit.coefficient[0], fit.error[0]);
 *     status = hs_fit_least_squares(both, 2, NULL, NULL, &fit);
 *
 * For coefficients A, alpha_i(A) is the acceptance of problem i at the minimum of the objective.
 * All fits minimise the sum over problems of (alpha_i(A) - alpha_i)^2, and differ in how; alpha_i
 * is the problem's `acceptance`. The slope d alpha / d A is by implicit differentiation: the
 * optimal step moves by -(d slope / d A) / curvature.
 *
 * All but the stochastic fit use the same draws throughout: they find the minimum for these draws,
 * and `error` says how far that may be from the exact one. Equal seeds give equal results. Errors
 * are the session's. The problems' steps are changed.
 */
#ifndef HASTINGS_OBJECTIVES_FIT_H
#define HASTINGS_OBJECTIVES_FIT_H

#include <hastings/objectives/reference.h>

enum { HS_FIT_COEFFICIENTS = 4, HS_FIT_PROBLEMS = 16 };

/** Objectives that differ in `count` coefficients. */
typedef struct {
    hs_objective (*make)(const double *coefficient);
    size_t count;
    double start[HS_FIT_COEFFICIENTS]; /**< where the search begins; not 0 */
} hs_objective_family;

/** Ab Initio with C(d) = A d, and A d log d, from a given A on. */
HS_API hs_objective_family hs_ab_initio_family(double a);
HS_API hs_objective_family hs_ab_initio_log_family(double a);

typedef struct {
    hs_reference_options
        sampling;     /**< of each problem; those of a stochastic fit, of one iteration */
    int iterations;   /**< at most; 0: 20, or 60 for the stochastic fit */
    double tolerance; /**< relative: of the last step, 0: 1e-4; of the error of the stochastic fit,
                           0: 1e-3 */
} hs_fit_options;

typedef struct {
    size_t count;
    double coefficient[HS_FIT_COEFFICIENTS];
    double error[HS_FIT_COEFFICIENTS];  /**< standard errors, of Monte Carlo alone */
    double acceptance[HS_FIT_PROBLEMS]; /**< alpha_i there; of the stochastic fit, the last */
    double misfit;                      /**< root of the sum of squares */
    double curvature; /**< largest distance of an alpha_i(A) from its straight line */
    int iterations;
    bool converged; /**< the tolerance was reached */
} hs_fit;

/**
 * Newton-Raphson on one problem and one coefficient: A -= (alpha(A) - alpha) / (d alpha / d A). A
 * step that would change the sign of A is replaced by half the way to 0. It stops when a step is
 * smaller than tolerance |A|. A NULL family is Ab Initio from A = 0.2 on, here and below.
 */
HS_API hs_status hs_fit_newton(const hs_reference *r, const hs_objective_family *family,
                               const hs_fit_options *options, hs_fit *fit) HS_MUST_CHECK;

/**
 * The paper's balanced fit: straight lines through alpha_i(A) at five A from `low` to `high`, and
 * the A at which the sum of squares of the lines is smallest.
 */
HS_API hs_status hs_fit_linear(const hs_reference *r, size_t n, double low, double high,
                               const hs_objective_family *family, const hs_fit_options *options,
                               hs_fit *fit) HS_MUST_CHECK;

/**
 * Levenberg-Marquardt: the step p solves (J'J + lambda diag(J'J)) p = -J'(alpha(A) - alpha). It is
 * taken if the sum of squares falls, and lambda divided by 10; else lambda is multiplied by 10.
 * Coefficients without an optimum count as a sum that does not fall. It stops when a step is
 * smaller than tolerance |A|, or lambda above 1e8.
 */
HS_API hs_status hs_fit_least_squares(const hs_reference *r, size_t n,
                                      const hs_objective_family *family,
                                      const hs_fit_options *options, hs_fit *fit) HS_MUST_CHECK;

/**
 * Stochastic Levenberg-Marquardt (in the manner of Bergou et al. 2018): every iteration has draws
 * of its own, few of them. A step is judged on the draws that it was computed from; it is taken if
 * the sum of squares falls by at least a tenth of what the linear model foretold, and lambda
 * divided by 4 (not below 1e-3); else lambda is multiplied by 4. The coefficients are the mean over
 * the second half of the iterations, whose scatter, in 4 consecutive batches, is the error. It
 * stops when there are at least 16 iterations and the errors are below tolerance |A|.
 */
HS_API hs_status hs_fit_stochastic(const hs_reference *r, size_t n,
                                   const hs_objective_family *family, const hs_fit_options *options,
                                   hs_fit *fit) HS_MUST_CHECK;

#endif
