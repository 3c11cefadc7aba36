/**
 * Reference problems: a target that can be sampled and a proposal with one number, its step, on
 * which the optimum of an objective can be found exactly, up to a known Monte-Carlo error.
 *
 *     hs_session *s = hs_session_new(NULL);
 *     hs_reference walk = hs_reference_walk(s, 1000);          // random walk on N(0, I), d = 1000
 *     hs_objective o = hs_ab_initio(0.18125);
 *     hs_optimum best;
 *     if (!hs_reference_optimum(&walk, &o, &(hs_reference_options){ .rows = 1000000 }, &best))
 *         printf("accepts %.4f(%.4f)\n", best.acceptance, best.acceptance_error);
 *
 * or any other, of which `step` is the parameter called so:
 *
 *     hs_reference mine = { .target = target, .proposal = hs_mala(s, target, NULL) };
 *
 * Rows are independent: x is an exact draw of the target, y a draw of the proposal, and all steps
 * are judged by the same draws (common random numbers), so that a search sees a smooth function and
 * equal seeds give equal results. The rows are run in blocks, whose scatter is the Monte-Carlo
 * error.
 *
 * The optimum is where the mean of the loss's derivative is 0, found by a bracketing secant method:
 * Newton's would need the second derivative of the expected loss, which is not the expected second
 * derivative, because log alpha has a kink. The derivative is exact for targets of continuous
 * density.
 *
 * Errors are the session's. These functions change the value of `step`, which ends where they say.
 */
#ifndef HASTINGS_OBJECTIVES_REFERENCE_H
#define HASTINGS_OBJECTIVES_REFERENCE_H

#include <hastings/mcmc/transition.h>

typedef struct {
    const char *name;        /**< for messages; NULL: those of target and proposal */
    const hs_target *target; /**< one that can be drawn from */
    const hs_proposal *proposal;
    hs_param step;     /**< one positive number; zeroed: the proposal's "step" */
    bool log_step;     /**< that number is the logarithm of the step */
    double acceptance; /**< the acceptance rate that theory calls optimal: only fits use it */

    /** For problems that a symmetry reduces to fewer dimensions: the d that they stand for (0: that
     * of the target), and what the noise is instead of standard normals (streams `stream` to stream
     * + HS_DRAW_STREAMS - 1 are free for it). */
    size_t dim;
    hs_var (*noise)(void *self, hs_tape *tape, uint32_t stream);
    void *self;
} hs_reference;

/**
 * Random walk and MALA on a standard normal in d >= 2 dimensions, with the optimal acceptances
 * 0.234 (Roberts, Gelman and Gilks 1997) and 0.574 (Roberts and Rosenthal 1998) of d to infinity.
 *
 * By rotation all depends on |x|^2, x.n and |n|^2 alone, so these live in the plane of n and x: x =
 * (a, b), n = (c, 0), with a normal and b and c chi-distributed with d - 1 and d degrees of
 * freedom. A row costs the same in any dimension, and is distributed exactly as in d dimensions.
 */
HS_API hs_reference hs_reference_walk(hs_session *s, size_t dim);
HS_API hs_reference hs_reference_mala(hs_session *s, size_t dim);

typedef struct {
    size_t rows;      /**< 0: 200000 */
    size_t blocks;    /**< that rows are run in, at least 2; 0: 40 */
    uint64_t seed;    /**< 0: the session's */
    double tolerance; /**< in the logarithm of the step; 0: 1e-6 */
} hs_reference_options;

/** What a problem is like at one step. Each _error is a standard error. */
typedef struct {
    double step;
    double loss, loss_error;
    double slope, slope_error;           /**< d loss / d log step */
    double acceptance, acceptance_error; /**< mean alpha */
    double msjd, msjd_error;             /**< mean of alpha |y - x|^2 */
    double log_alpha, log_alpha_error;
    double curvature;        /**< d slope / d log step, and */
    double acceptance_slope; /**< d acceptance / d log step: 0 if not asked for */
    int runs;                /**< passes over all rows that it took */
} hs_optimum;

/** At the step given: all but curvature and acceptance_slope. */
HS_API hs_status hs_reference_evaluate(const hs_reference *r, const hs_objective *o, double step,
                                       const hs_reference_options *options,
                                       hs_optimum *at) HS_MUST_CHECK;

/** At the minimum of an objective, searched from the present step on. The errors of acceptance and
 * MSJD include that of the step. An objective with an adapted number keeps it as it is. HS_EINVAL
 * if the derivative does not change its sign within a factor of 1e5. */
HS_API hs_status hs_reference_optimum(const hs_reference *r, const hs_objective *o,
                                      const hs_reference_options *options,
                                      hs_optimum *best) HS_MUST_CHECK;

/** At the step with a given mean acceptance, which must fall as steps grow. */
HS_API hs_status hs_reference_tune(const hs_reference *r, double acceptance, const hs_objective *o,
                                   const hs_reference_options *options,
                                   hs_optimum *at) HS_MUST_CHECK;

#endif
