/**
 * Fits of an objective's coefficients to reference problems (reference.h), such that the
 * objective's optimum has the acceptance that theory calls optimal.
 *
 *     hs_session *s = hs_session_new(NULL);
 *     hs_reference both[] = { hs_reference_walk(s, 1000), hs_reference_mala(s, 1000) };
 *     hs_fit fit;
 *     hs_status status = hs_fit_newton(&both[0], NULL, NULL, &fit);
 *     if (!status)
 *         printf("A = %.4f(%.4f)\n", fit.coefficient[0], fit.error[0]);
 *     status = hs_fit_least_squares(both, 2, NULL, NULL, &fit);
 *
 * For coefficients A, alpha_i(A) is the acceptance of problem i at the minimum of the objective,
 * and alpha_i the problem's `acceptance`. All fits minimise the sum over problems of (alpha_i(A) -
 * alpha_i)^2, each by its own method. The slope d alpha / d A comes from implicit differentiation:
 * the optimal step moves by -(d slope / d A) / curvature.
 *
 * All fits but the stochastic one use the same draws throughout. They find the minimum for these
 * draws; `error` estimates its distance from the exact one. Equal seeds give equal results. A
 * failed fit fails the session. Fits change the problems' steps. The caller owns all structs, and
 * the session's thread calls.
 */
#ifndef HASTINGS_OBJECTIVES_FIT_H
#define HASTINGS_OBJECTIVES_FIT_H

#include <hastings/objectives/reference.h>

/** Limits of fits. */
enum {
    HS_FIT_COEFFICIENTS = 4, /**< most coefficients */
    HS_FIT_PROBLEMS = 16,    /**< most problems */
};

/** Family of objectives that differ in `count` coefficients. */
typedef struct {
    hs_objective (*make)(const double *coefficient); /**< makes one objective */
    size_t count;                                    /**< number of coefficients */
    double start[HS_FIT_COEFFICIENTS];               /**< start of the search; not 0 */
} hs_objective_family;

/** Ab Initio with C(d) = A d, searched from A = a. */
HS_API hs_objective_family hs_ab_initio_family(double a);
/** Ab Initio with C(d) = A d log d, searched from A = a. */
HS_API hs_objective_family hs_ab_initio_log_family(double a);

/** Options of all fits; may be NULL. */
typedef struct {
    hs_reference_options sampling; /**< draws of each problem; stochastic: of each iteration too */
    int iterations;                /**< most iterations; 0: 20, or 60 for the stochastic fit */
    double tolerance;              /**< relative: of the last step, 0: 1e-4; stochastic: of the
                                        error, 0: 1e-3 */
} hs_fit_options;

/** Result of a fit. */
typedef struct {
    size_t count;                            /**< number of coefficients */
    double coefficient[HS_FIT_COEFFICIENTS]; /**< fitted coefficients A */
    double error[HS_FIT_COEFFICIENTS];       /**< standard errors, of Monte Carlo alone */
    double acceptance[HS_FIT_PROBLEMS];      /**< alpha_i(A); of the stochastic fit, the last */
    double misfit;                           /**< root of the sum of squares */
    double curvature; /**< hs_fit_linear(): largest distance of an alpha_i(A) from its line */
    int iterations;   /**< iterations made */
    bool converged;   /**< true if the tolerance was reached */
} hs_fit;

/** Newton-Raphson on one problem and one coefficient: A -= (alpha(A) - alpha) / (d alpha / d A). If
 *  a step would change the sign of A, half the way to 0 replaces it. The fit stops when a step is
 *  smaller than tolerance |A|. A NULL family is Ab Initio from A = 0.2, here and below. */
HS_API hs_status hs_fit_newton(const hs_reference *r, const hs_objective_family *family,
                               const hs_fit_options *options, hs_fit *fit) HS_MUST_CHECK;

/** The paper's balanced fit, of one coefficient: straight lines through alpha_i(A) at five A from
 *  `low` to `high`, and the A at which the sum of squares of the lines is smallest. */
HS_API hs_status hs_fit_linear(const hs_reference *r, size_t n, double low, double high,
                               const hs_objective_family *family, const hs_fit_options *options,
                               hs_fit *fit) HS_MUST_CHECK;

/** Levenberg-Marquardt: the step p solves (J'J + lambda diag(J'J)) p = -J'(alpha(A) - alpha). If
 *  the sum of squares does not rise, the step is taken and lambda divided by 10; otherwise, or if
 *  an objective has no optimum there, lambda is multiplied by 10. The fit stops when a step is
 *  smaller than tolerance |A|, or lambda is above 1e8. */
HS_API hs_status hs_fit_least_squares(const hs_reference *r, size_t n,
                                      const hs_objective_family *family,
                                      const hs_fit_options *options, hs_fit *fit) HS_MUST_CHECK;

/** Stochastic Levenberg-Marquardt (in the manner of Bergou et al. 2018): every iteration has few
 *  draws, of its own. A step is judged on the draws it was computed from. If the sum of squares
 *  falls by at least a tenth of the linear model's prediction, the step is taken and lambda divided
 *  by 4 (not below 1e-3); otherwise lambda is multiplied by 4. The coefficients are the mean over
 *  the second half of the iterations; its error is the scatter of 4 consecutive batches. The fit
 *  makes 16 to 1000 iterations, and stops when the errors are below tolerance |A|. */
HS_API hs_status hs_fit_stochastic(const hs_reference *r, size_t n,
                                   const hs_objective_family *family, const hs_fit_options *options,
                                   hs_fit *fit) HS_MUST_CHECK;

#endif
