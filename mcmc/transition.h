/**
 * A transition: all that proposals and objectives share.
 *
 * An objective is a function of a transition to a per-sample loss; swapping objectives, or inventing
 * one, never touches a proposal.
 *
 *     static hs_var ab_initio(const hs_transition *t, const hs_objective *o)
 *     {
 *         hs_var kl = hs_sub(t->log_g_fwd, t->log_pi_y);
 *         return hs_sub(kl, hs_scale(t->log_alpha, o->number[0] * (double)t->dim));
 *     }
 */
#ifndef HASTINGS_MCMC_TRANSITION_H
#define HASTINGS_MCMC_TRANSITION_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>

typedef struct {
    hs_var x, y;               /**< start and proposed point [dim] */
    hs_var log_pi_x, log_pi_y; /**< log densities of the target: scalars, as all that follow */
    hs_var log_g_fwd;          /**< log g(y | x) */
    hs_var log_g_rev;          /**< log g(x | y) */
    hs_var log_ratio;          /**< log_pi_y + log_g_rev - log_pi_x - log_g_fwd */
    hs_var log_alpha;    /**< min(0, log_ratio): log of the acceptance probability. Where it is
                                    0, so is its gradient */
    hs_var weight;       /**< probability of this way of moving; 1 if there is one */
    hs_var adapted;      /**< the objective's adapted number, a shared scalar: hs_objective */
    size_t dim;          /**< of x and y */
    size_t original_dim; /**< without auxiliary coordinates */
} hs_transition;

/** Records the transitions from x [dim] with noise n, one for each way in which the proposal moves,
 *  into t, which has room for hs_proposal_ways(). */
HS_API void hs_transitions_at(const hs_target *target, const hs_proposal *proposal, hs_var x,
                              hs_var n, hs_transition *t, const char *at);
#define hs_transitions(...) hs_transitions_at(__VA_ARGS__, HS_HERE)

/** Squared jump |y - x|^2 over the original coordinates. */
HS_API hs_var hs_transition_jump_at(const hs_transition *t, const char *at);
#define hs_transition_jump(...) hs_transition_jump_at(__VA_ARGS__, HS_HERE)

/* ---- Objectives ----------------------------------------------------------------------------- */

/**
 * What a training minimises: the mean over the batch, and over ways of moving by weight, of `loss`.
 * Passed by value; objectives/objectives.h makes the ones that are known.
 */
typedef struct hs_objective {
    const char *name;
    hs_var (*loss)(const hs_transition *t, const struct hs_objective *o);
    double number[4]; /**< coefficients, whatever they mean to `loss` */

    /** If not NULL, a number that is adapted between steps: it starts at `adapted`, `loss` finds it in
     *  t->adapted, and after each step it becomes adapt(o, value, mean acceptance probability). */
    double (*adapt)(const struct hs_objective *o, double value, double mean_alpha);
    double adapted;

    /** 0, or the mean acceptance probability that `adapt` works towards: a training that has missed it
     *  has failed, whatever its loss (restart.h). */
    double acceptance;
} hs_objective;

#endif
