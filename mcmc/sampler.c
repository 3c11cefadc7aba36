#include <hastings/mcmc/sampler_internal.h>

#include <math.h>
#include <string.h>

#include <hastings/tensor/memory.h>

#undef HS_HERE
#define HS_HERE "sampler"

hs_var record_start(const hs_target *target, hs_tape *tape, hs_var *given)
{
    if (!given)
        return hs_target_draw(target, tape, HS_START, STREAM_START);
    const size_t original = hs_target_original_dim(target), dim = hs_target_dim(target);
    *given = hs_input(tape, "x", HS_START, hs_dims(original));
    if (original == dim)
        return *given;
    hs_var parts[2] = { *given,
                        hs_normal(tape, HS_START, hs_dims(dim - original), STREAM_AUXILIARY) };
    return hs_concat(parts, 2, 0);
}

/* Of the ways of moving, the one that a uniform number falls to: t[0] becomes it. Probabilities are
 * laid end to end; what rounding leaves over goes to the last. */
static void choose_way(hs_transition *t, size_t ways, hs_tape *tape)
{
    if (ways == 1)
        return;
    hs_var u = hs_uniform(tape, HS_ROW, hs_scalar_shape(), STREAM_WAY), before[HS_MAX_WAYS];
    before[0] = t[0].weight;
    for (size_t k = 1; k < ways; k++)
        before[k] = hs_add(before[k - 1], t[k].weight);
    hs_transition chosen = t[ways - 1];
    for (size_t k = ways - 1; k-- > 0;) {
        hs_var here = hs_lt(u, before[k]);
        chosen.y = hs_select(here, t[k].y, chosen.y);
        chosen.log_pi_y = hs_select(here, t[k].log_pi_y, chosen.log_pi_y);
        chosen.log_ratio = hs_select(here, t[k].log_ratio, chosen.log_ratio);
        chosen.log_alpha = hs_select(here, t[k].log_alpha, chosen.log_alpha);
    }
    t[0] = chosen;
}

static void record_step(sampler *sm, const hs_target *target, const hs_proposal *proposal)
{
    hs_tape *tape = sm->tape;
    hs_transition t[HS_MAX_WAYS];
    hs_var x = record_start(target, tape, &sm->x);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(proposal)), STREAM_NOISE);
    hs_transitions(target, proposal, x, n, t);
    choose_way(t, hs_proposal_ways(proposal), tape);
    /* The ratio minus itself is 0 where it is finite, else NaN: such points are never accepted. */
    hs_var finite = hs_eq(hs_sub(t->log_ratio, t->log_ratio), hs_const(tape, 0));
    hs_var zero = hs_const(tape, 0);
    hs_var log_u = hs_log(hs_uniform(tape, HS_ROW, hs_scalar_shape(), STREAM_ACCEPT));
    sm->accepted = hs_mul(finite, hs_lt(log_u, t->log_alpha));
    sm->alpha = hs_select(finite, hs_exp(t->log_alpha), zero);
    sm->jump = hs_select(finite, hs_mul(sm->alpha, hs_transition_jump(t)), zero);
    sm->log_pi = hs_select(sm->accepted, t->log_pi_y, t->log_pi_x);
    sm->log_pi_x = hs_copy(t->log_pi_x);
    sm->nonfinite = hs_sub_from(1, finite);
    sm->next = hs_select(sm->accepted, hs_slice(t->y, 0, 0, sm->dim), sm->x);
}

bool sampler_open(sampler *sm, const hs_target *target, const hs_proposal *proposal, size_t chains)
{
    *sm = (sampler){ .session = hs_target_session(target), .chains = chains };
    hs_session *s = sm->session;
    if (!target || !proposal || hs_session_status(s)) {
        hs_session_fail(s, HS_EINVAL, "sampling needs a target and a proposal");
        return false;
    }
    if (chains == 0) {
        hs_session_fail(s, HS_EINVAL, "sampling needs at least one chain");
        return false;
    }
    sm->dim = hs_target_original_dim(target);
    sm->tape = hs_tape_new(hs_session_dtype(s));
    record_step(sm, target, proposal);
    const hs_var outputs[] = { sm->next,   sm->alpha,    sm->accepted, sm->jump,
                               sm->log_pi, sm->log_pi_x, sm->nonfinite };
    const hs_plan_options options = { .starts = chains, .threads = hs_session_threads(s) };
    const hs_status status = hs_plan_new(&sm->plan, outputs, 7, &options);
    if (status) {
        hs_session_fail(s, status, "%s", hs_tape_error(sm->tape));
        sampler_close(sm);
        return false;
    }
    sm->state = hs_alloc_zero(chains * sm->dim, hs_dtype_size(hs_session_dtype(s)));
    if (!sm->state) {
        hs_session_fail(s, HS_ENOMEM, "out of memory");
        sampler_close(sm);
        return false;
    }
    hs_plan_set(sm->plan, sm->x, sm->state);
    return true;
}

void sampler_close(sampler *sm)
{
    hs_plan_free(sm->plan);
    hs_tape_free(sm->tape);
    hs_free(sm->state);
    *sm = (sampler){ 0 };
}

void sampler_set(sampler *sm, const double *points)
{
    for (size_t i = 0; i < sm->chains * sm->dim; i++) {
        if (hs_session_dtype(sm->session) == HS_F32)
            ((float *)sm->state)[i] = (float)points[i];
        else
            ((double *)sm->state)[i] = points[i];
    }
}

static double number_at(const sampler *sm, const void *values, size_t i)
{
    return hs_session_dtype(sm->session) == HS_F32 ? (double)((const float *)values)[i]
                                                   : ((const double *)values)[i];
}

void sampler_get(const sampler *sm, double *points)
{
    for (size_t i = 0; i < sm->chains * sm->dim; i++)
        points[i] = number_at(sm, sm->state, i);
}

double sampler_value(const sampler *sm, hs_var output, size_t index)
{
    return number_at(sm, hs_plan_get(sm->plan, output), index);
}

bool sampler_start_exactly(sampler *sm, const hs_target *target, uint64_t seed)
{
    hs_session *s = sm->session;
    hs_tape *tape = hs_tape_new(hs_session_dtype(s));
    hs_plan *plan = NULL;
    hs_var x = hs_slice(record_start(target, tape, NULL), 0, 0, sm->dim);
    hs_status status = hs_plan_new(&plan, &x, 1, &(hs_plan_options){ .starts = sm->chains });
    if (!status)
        status = hs_plan_run(plan, &(hs_run){ .seed = seed, .step = 0 });
    if (status)
        hs_session_fail(s, status, "%s", hs_tape_error(tape));
    else
        memcpy(sm->state, hs_plan_get(plan, x),
               sm->chains * sm->dim * hs_dtype_size(hs_session_dtype(s)));
    hs_plan_free(plan);
    hs_tape_free(tape);
    return !status;
}

bool sampler_step(sampler *sm, uint64_t seed, uint64_t step)
{
    const hs_status status = hs_plan_run(sm->plan, &(hs_run){ .seed = seed, .step = step });
    if (status) {
        hs_session_fail(sm->session, status, "%s", hs_plan_error(sm->plan));
        return false;
    }
    memcpy(sm->state, hs_plan_get(sm->plan, sm->next),
           sm->chains * sm->dim * hs_dtype_size(hs_session_dtype(sm->session)));
    return true;
}

bool sampler_check_start(sampler *sm)
{
    for (size_t c = 0; c < sm->chains; c++) {
        const double log_pi = sampler_value(sm, sm->log_pi_x, c);
        if (!isfinite(log_pi)) {
            hs_session_fail(
                sm->session, HS_ENONFINITE,
                "chain %zu: the log density at its start point is %g; chains must start "
                "where the density is positive and finite",
                c, log_pi);
            return false;
        }
    }
    return true;
}
