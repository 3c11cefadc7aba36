#include <hastings/mcmc/transition.h>

#undef HS_HERE
#define HS_HERE at

void hs_transitions_at(const hs_target *target, const hs_proposal *proposal, hs_var x, hs_var n,
                       hs_transition *t, const char *at)
{
    const size_t ways = hs_proposal_ways(proposal), dim = hs_target_dim(target);
    if (hs_proposal_dim(proposal) != dim)
        hs_tape_fail(
            x.tape, HS_ESHAPE, at, "target \"%s\" has %zu dimensions, and proposal \"%s\" has %zu",
            hs_target_name(target), dim, hs_proposal_name(proposal), hs_proposal_dim(proposal));
    hs_move moves[HS_MAX_WAYS];
    hs_proposal_moves(proposal, x, n, moves);
    hs_var log_pi_x = hs_target_log_density(target, x);
    const bool known = !hs_proposal_is_ratio_only(proposal);
    hs_var unknown = { x.tape, -1 };
    if (!known)
        unknown = hs_input(x.tape, "log density of a proposal that knows only a ratio", HS_ROW,
                           hs_scalar_shape());
    for (size_t k = 0; k < ways; k++) {
        const hs_move *m = &moves[k];
        hs_var log_pi_y = hs_target_log_density(target, m->y);
        /* Where g is symmetric its densities are one node, and are not computed for the ratio. */
        const bool cancels = m->log_g_fwd.id == m->log_g_rev.id;
        hs_var ratio = hs_sub(log_pi_y, log_pi_x);
        if (!cancels)
            ratio = hs_add(ratio, hs_sub(m->log_g_rev, m->log_g_fwd));
        t[k] = (hs_transition){
            .x = x,
            .y = m->y,
            .log_pi_x = log_pi_x,
            .log_pi_y = log_pi_y,
            .log_g_fwd = known ? m->log_g_fwd : unknown,
            .log_g_rev = known ? m->log_g_rev : unknown,
            .log_ratio = ratio,
            .log_alpha = hs_min(hs_const(x.tape, 0), ratio),
            .weight = m->weight,
            .adapted = { x.tape, -1 },
            .dim = dim,
            .original_dim = hs_target_original_dim(target),
        };
    }
}

hs_var hs_transition_jump_at(const hs_transition *t, const char *at)
{
    hs_var jump = hs_slice(hs_sub(t->y, t->x), 0, 0, t->original_dim);
    return hs_sum_last(hs_square(jump));
}
