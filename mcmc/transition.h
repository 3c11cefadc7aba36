/**
 * Transitions: the values that proposals and objectives share.
 *
 * An objective maps a transition to the loss of one sample. A new objective needs no change of any
 * proposal:
 *
 *     static hs_var ab_initio(const hs_transition *t, const hs_objective *o)
 *     {
 *         hs_var kl = hs_sub(t->log_g_fwd, t->log_pi_y);
 *         return hs_sub(kl, hs_scale(t->log_alpha, o->number[0] * (double)t->dim));
 *     }
 *
 * Transitions and objectives are plain structs without owned memory. The tape of x owns the
 * recorded values, and its thread calls.
 */
#ifndef HASTINGS_MCMC_TRANSITION_H
#define HASTINGS_MCMC_TRANSITION_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>

/** One transition of one chain. All values but x and y are scalars. */
typedef struct {
    hs_var x, y;               /**< start point and proposed point [dim] */
    hs_var log_pi_x, log_pi_y; /**< log densities of the target there */
    hs_var
        log_g_fwd; /**< log g(y | x). If the proposal knows only the ratio (ratio_only), an input that
                           nothing feeds: training and evaluation refuse a loss that uses it */
    hs_var log_g_rev;    /**< log g(x | y), likewise */
    hs_var log_ratio;    /**< log_pi_y + log_g_rev - log_pi_x - log_g_fwd */
    hs_var log_alpha;    /**< min(0, log_ratio): log acceptance probability. Its gradient is 0 where
                              it is 0 */
    hs_var weight;       /**< probability of this way of moving; 1 if it is the only one */
    hs_var adapted;      /**< adapted number of the objective, shared by all rows */
    size_t dim;          /**< length of x and y */
    size_t original_dim; /**< length without auxiliary coordinates */
} hs_transition;

/** Records the transitions from x [dim] with noise n into t, one for each way of moving; t has room
 *  for hs_proposal_ways(). */
HS_API void hs_transitions_at(const hs_target *target, const hs_proposal *proposal, hs_var x,
                              hs_var n, hs_transition *t, const char *at);
#define hs_transitions(...) hs_transitions_at(__VA_ARGS__, HS_HERE)

/** Records the squared jump |y - x|^2 over the original coordinates. */
HS_API hs_var hs_transition_jump_at(const hs_transition *t, const char *at);
#define hs_transition_jump(...) hs_transition_jump_at(__VA_ARGS__, HS_HERE)

/* ---- Objectives ----------------------------------------------------------------------------- */

/** Objective of a training, passed by value. Training minimises the mean of `loss` over the batch
 *  and, by weight, over the ways of moving. objectives/objectives.h makes the known ones. */
typedef struct hs_objective {
    const char *name;                                                     /**< name in reports */
    hs_var (*loss)(const hs_transition *t, const struct hs_objective *o); /**< records the loss */
    double number[4]; /**< coefficients of `loss`, with a meaning of its choice */

    /** Next value of the adapted number, computed after each step from its value and the mean
     *  acceptance probability. NULL: the objective adapts no number. */
    double (*adapt)(const struct hs_objective *o, double value, double mean_alpha);
    double adapted; /**< start value of the adapted number, which `loss` finds in t->adapted */

    /** Mean acceptance probability that `adapt` works towards; 0: none. A training that misses it
     *  has failed, whatever its loss: restart.h. */
    double acceptance;
} hs_objective;

#endif
