#include <hastings/mcmc/sampler_internal.h>
#include <hastings/mcmc/targets_internal.h>

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
    if (sm->knows >= KNOWS_LOG_PI) {
        sm->known_log_pi = hs_input(tape, "log density of x", HS_START, hs_scalar_shape());
        hs_tape_note(tape, target, TARGET_LOG_DENSITY, x, sm->known_log_pi);
    }
    if (sm->knows >= KNOWS_SCORE) {
        sm->known_score = hs_input(tape, "score of x", HS_START, hs_dims(sm->dim));
        hs_tape_note(tape, target, TARGET_SCORE, x, sm->known_score);
    }
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
    if (sm->knows >= KNOWS_SCORE) /* which the proposal has recorded already, for the way back */
        sm->next_score = hs_select(sm->accepted, hs_target_score(target, t->y), sm->known_score);
}

static sampler_knowledge can_know(const hs_target *target, const hs_proposal *proposal)
{
    if (hs_target_dim(target) != hs_target_original_dim(target))
        return KNOWS_NOTHING;
    return hs_proposal_gradients(proposal) && hs_proposal_ways(proposal) == 1 ? KNOWS_SCORE
                                                                              : KNOWS_LOG_PI;
}

/* A plan for what the sampler has to know where its state was set. */
static hs_status open_look(sampler *sm, const hs_target *target)
{
    if (sm->knows == KNOWS_NOTHING)
        return HS_OK;
    const size_t size = hs_dtype_size(hs_session_dtype(sm->session));
    sm->log_pi_now = hs_alloc_zero(sm->chains, size);
    sm->score_now = hs_alloc_zero(sm->chains * sm->dim, size);
    sm->look_tape = hs_tape_new(hs_session_dtype(sm->session));
    if (!sm->log_pi_now || !sm->score_now)
        return HS_ENOMEM;
    sm->look_x = hs_input(sm->look_tape, "x", HS_START, hs_dims(sm->dim));
    sm->look_log_pi = hs_copy(hs_target_log_density(target, sm->look_x));
    sm->look_score = sm->look_log_pi;
    if (sm->knows >= KNOWS_SCORE)
        sm->look_score = hs_target_score(target, sm->look_x);
    const hs_var outputs[] = { sm->look_log_pi, sm->look_score };
    const hs_status status = hs_plan_new(
        &sm->look, outputs, sm->knows >= KNOWS_SCORE ? 2 : 1,
        &(hs_plan_options){ .starts = sm->chains, .threads = hs_session_threads(sm->session) });
    hs_plan_set(sm->look, sm->look_x, sm->state);
    hs_plan_set(sm->plan, sm->known_log_pi, sm->log_pi_now);
    if (sm->knows >= KNOWS_SCORE)
        hs_plan_set(sm->plan, sm->known_score, sm->score_now);
    return status;
}

/* Keeps what the plan says of the target at the state. */
static void keep_knowledge(sampler *sm, const hs_plan *plan, hs_var log_pi, hs_var score)
{
    const size_t size = hs_dtype_size(hs_session_dtype(sm->session));
    if (sm->knows >= KNOWS_LOG_PI)
        memcpy(sm->log_pi_now, hs_plan_get(plan, log_pi), sm->chains * size);
    if (sm->knows >= KNOWS_SCORE)
        memcpy(sm->score_now, hs_plan_get(plan, score), sm->chains * sm->dim * size);
}

bool sampler_open(sampler *sm, const hs_target *target, const hs_proposal *proposal, size_t chains,
                  bool remember)
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
    sm->knows = remember ? can_know(target, proposal) : KNOWS_NOTHING;
    sm->tape = hs_tape_new(hs_session_dtype(s));
    record_step(sm, target, proposal);
    const hs_var outputs[] = { sm->next,   sm->alpha,    sm->accepted,  sm->jump,
                               sm->log_pi, sm->log_pi_x, sm->nonfinite, sm->next_score };
    const hs_plan_options options = { .starts = chains, .threads = hs_session_threads(s) };
    hs_status status = hs_plan_new(&sm->plan, outputs, sm->knows >= KNOWS_SCORE ? 8 : 7, &options);
    if (status) {
        hs_session_fail(s, status, "%s", hs_tape_error(sm->tape));
        sampler_close(sm);
        return false;
    }
    sm->state = hs_alloc_zero(chains * sm->dim, hs_dtype_size(hs_session_dtype(s)));
    status = sm->state ? open_look(sm, target) : HS_ENOMEM;
    if (status) {
        hs_session_fail(s, status, "%s",
                        status == HS_ENOMEM ? "out of memory" : hs_tape_error(sm->look_tape));
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
    hs_plan_free(sm->look);
    hs_tape_free(sm->look_tape);
    hs_free(sm->state);
    hs_free(sm->log_pi_now);
    hs_free(sm->score_now);
    *sm = (sampler){ 0 };
}

void sampler_set(sampler *sm, const double *points)
{
    sm->looked = false;
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
    sm->looked = false;
    return !status;
}

bool sampler_step(sampler *sm, uint64_t seed, uint64_t step)
{
    hs_status status = HS_OK;
    if (sm->look && !sm->looked) {
        status = hs_plan_run(sm->look, &(hs_run){ .seed = seed });
        if (!status)
            keep_knowledge(sm, sm->look, sm->look_log_pi, sm->look_score);
        sm->looked = !status;
    }
    if (!status)
        status = hs_plan_run(sm->plan, &(hs_run){ .seed = seed, .step = step });
    if (status) {
        hs_session_fail(sm->session, status, "%s", hs_plan_error(sm->plan));
        return false;
    }
    keep_knowledge(sm, sm->plan, sm->log_pi, sm->next_score);
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
