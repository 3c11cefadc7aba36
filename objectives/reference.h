/**
 * Reference problems: a target with exact draws and a proposal with one number, its step. The
 * optimum of an objective on them is known up to a Monte-Carlo error, which is known too.
 *
 *     hs_session *s = hs_session_new(NULL);
 *     hs_reference walk = hs_reference_walk(s, 1000);          // random walk on N(0, I), d = 1000
 *     hs_objective o = hs_ab_initio(0.18125);
 *     hs_optimum best;
 *     if (!hs_reference_optimum(&walk, &o, &(hs_reference_options){ .rows = 1000000 }, &best))
 *         printf("accepts %.4f(%.4f)\n", best.acceptance, best.acceptance_error);
 *
 * Any other proposal with a step size will do:
 *
 *     hs_reference mine = { .target = target, .proposal = hs_mala(s, target, NULL) };
 *
 * Rows are independent: x is an exact draw of the target, y a draw of the proposal. All steps are
 * judged by the same draws (common random numbers): a search sees a smooth function, and equal
 * seeds give equal results. Rows run in blocks; the scatter of the blocks gives the Monte-Carlo
 * error.
 *
 * The optimum is the zero of the mean derivative of the loss, found by a bracketing secant method.
 * Newton's method would need the second derivative of the expected loss, which is not the expected
 * second derivative, because log alpha has a kink. The derivative is exact for targets of
 * continuous density.
 *
 * A failure fails the session of the target. The functions leave the step at the value they report.
 * The session owns target and proposal, and its thread calls.
 */
#ifndef HASTINGS_OBJECTIVES_REFERENCE_H
#define HASTINGS_OBJECTIVES_REFERENCE_H

#include <hastings/mcmc/transition.h>

/** Reference problem. */
typedef struct {
    const char *name;        /**< name in messages; NULL: the target's */
    const hs_target *target; /**< target with exact draws */
    const hs_proposal
        *proposal;     /**< proposal with a step size (hs_proposal_step()) of one number */
    double acceptance; /**< acceptance rate that theory calls optimal; only fits use it */

    /* For a problem that a symmetry reduces to fewer dimensions. */
    size_t dim; /**< number of dimensions that the problem stands for; 0: the target's */
    /** Noise instead of standard normals, from streams `stream` to stream + HS_DRAW_STREAMS - 1;
     *  NULL: standard normals. */
    hs_var (*noise)(void *self, hs_tape *tape, uint32_t stream);
    void *self; /**< first argument of noise */
} hs_reference;

/**
 * Random walk on a standard normal in dim >= 2 dimensions, with the optimal acceptance 0.234 of dim
 * to infinity (Roberts, Gelman and Gilks 1997).
 *
 * By rotation all depends on |x|^2, x.n and |n|^2 alone, so the problem lives in the plane of n and
 * x: x = (a, b), n = (c, 0), where a is normal, and b and c are chi-distributed with dim - 1 and
 * dim degrees of freedom. A row has exactly the distribution of dim dimensions, at the same cost in
 * any.
 */
HS_API hs_reference hs_reference_walk(hs_session *s, size_t dim);
/** MALA in the same way, with the optimal acceptance 0.574 (Roberts and Rosenthal 1998). */
HS_API hs_reference hs_reference_mala(hs_session *s, size_t dim);

/** Options of the functions below; may be NULL. */
typedef struct {
    size_t rows;      /**< number of rows; 0: 200000 */
    size_t blocks;    /**< number of blocks, at least 2; 0: 40 */
    uint64_t seed;    /**< seed of all draws; 0: the session's */
    double tolerance; /**< tolerance of the logarithm of the step; 0: 1e-6 */
} hs_reference_options;

/** Figures of a problem at one step. Each _error is a standard error. */
typedef struct {
    double step;                         /**< the step */
    double loss, loss_error;             /**< mean loss */
    double slope, slope_error;           /**< d loss / d log step */
    double acceptance, acceptance_error; /**< mean alpha */
    double msjd, msjd_error;             /**< mean of alpha |y - x|^2 */
    double log_alpha, log_alpha_error;   /**< mean log alpha */
    double curvature;                    /**< d slope / d log step; hs_reference_evaluate(): 0 */
    double acceptance_slope; /**< d acceptance / d log step; hs_reference_evaluate(): 0 */
    int runs;                /**< passes over all rows */
} hs_optimum;

/** Evaluates the problem at a given step, without curvature and acceptance_slope. */
HS_API hs_status hs_reference_evaluate(const hs_reference *r, const hs_objective *o, double step,
                                       const hs_reference_options *options,
                                       hs_optimum *at) HS_MUST_CHECK;

/** Finds the minimum of an objective, from the present step on. The errors of the other figures
 *  include that of the step. An adapted number of the objective stays as it is. HS_EINVAL if the
 *  derivative does not change its sign within a factor of 1e5. */
HS_API hs_status hs_reference_optimum(const hs_reference *r, const hs_objective *o,
                                      const hs_reference_options *options,
                                      hs_optimum *best) HS_MUST_CHECK;

/** Finds the step of a given mean acceptance, which must fall as steps grow. */
HS_API hs_status hs_reference_tune(const hs_reference *r, double acceptance, const hs_objective *o,
                                   const hs_reference_options *options,
                                   hs_optimum *at) HS_MUST_CHECK;

#endif
