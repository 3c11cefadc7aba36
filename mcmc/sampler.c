#include "parts_internal.h"
#include "sampler_internal.h"

#include <math.h>
#include <string.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>
#include <hastings/tensor/random.h>

#undef HS_HERE
#define HS_HERE "sampler"

hs_var hs__record_start(const hs_target *target, hs_tape *tape, hs_extent extent, hs_var *given)
{
    if (!given)
        return hs_target_draw(target, tape, extent, STREAM_START);
    const size_t original = hs_target_original_dim(target), dim = hs_target_dim(target);
    *given = hs_input(tape, "x", extent, hs_dims(original));
    if (original == dim)
        return *given;
    hs_var parts[2] = { *given,
                        hs_normal(tape, extent, hs_dims(dim - original), STREAM_AUXILIARY) };
    return hs_concat(parts, 2, 0);
}

size_t hs__pick_start(uint64_t seed, uint64_t step, size_t row, size_t n)
{
    const hs_address at = { .seed = seed, .stream = STREAM_PICK, .step = step };
    const double u = hs_random_at(HS_F64, HS_UNIFORM, at, (uint32_t)row, 0);
    const size_t pick = (size_t)(u * (double)n);
    return pick < n ? pick : n - 1;
}

/* Chooses a way of moving by a uniform number: here[k] is 1 if the way is k or one before. The
 * probabilities lie end to end; the last way gets the remainder of rounding. */
static void choose_way(const hs_transition *t, size_t ways, hs_tape *tape, hs_var *here)
{
    if (ways == 1)
        return;
    hs_var u = hs_uniform(tape, HS_ROW, hs_scalar_shape(), STREAM_WAY), before = t[0].weight;
    for (size_t k = 0; k + 1 < ways; k++) {
        here[k] = hs_lt(u, before);
        before = hs_add(before, t[k + 1].weight);
    }
}

/* The value of the chosen way. */
static hs_var of_way(const hs_var *here, size_t ways, const hs_var *value)
{
    hs_var chosen = value[ways - 1];
    for (size_t k = ways - 1; k-- > 0;)
        chosen = hs_select(here[k], value[k], chosen);
    return chosen;
}

static hs_transition chosen_transition(const hs_var *here, size_t ways, const hs_transition *t)
{
    hs_transition chosen = t[ways - 1];
    for (size_t k = ways - 1; k-- > 0;) {
        chosen.y = hs_select(here[k], t[k].y, chosen.y);
        chosen.log_pi_y = hs_select(here[k], t[k].log_pi_y, chosen.log_pi_y);
        chosen.log_ratio = hs_select(here[k], t[k].log_ratio, chosen.log_ratio);
        chosen.log_alpha = hs_select(here[k], t[k].log_alpha, chosen.log_alpha);
    }
    return chosen;
}

/* Makes the known values inputs, and finds them at the next state. False without memory. */
static bool remember(sampler *sm, const hs_var *y, const hs_var *here, size_t ways,
                     hs_params *changing)
{
    hs_tape *tape = sm->tape;
    const size_t parameters = changing ? hs_params_count(changing) : 0;
    hs_var values[SAMPLER_OUTPUTS + HS_MAX_WAYS], *chosen = values + SAMPLER_OUTPUTS;
    hs_var *parameter = hs_alloc((parameters + 1) * sizeof *parameter);
    if (!parameter)
        return false;
    for (size_t i = 0; i < parameters; i++)
        parameter[i] = hs_param_var(tape, hs_params_at(changing, i));
    memcpy(values, sm->output, sizeof sm->output);
    memcpy(chosen, here, (ways - 1) * sizeof *here);
    sm->knows = hs_carry(&(hs_succession){ sm->x, y, ways, parameter, parameters }, values,
                         SAMPLER_OUTPUTS + ways - 1, &sm->known);
    hs_free(parameter);
    memcpy(sm->output, values, sizeof sm->output);
    sm->next_known = hs_alloc((sm->knows + 1) * sizeof *sm->next_known);
    for (size_t i = 0; sm->next_known && i < sm->knows; i++)
        sm->next_known[i] =
            hs_select(sm->accepted, of_way(chosen, ways, sm->known[i].at_y), sm->known[i].input);
    return sm->next_known != NULL;
}

/* All values of the batch are rows, at x as at y: each start has one proposal. */
static bool record_step(sampler *sm, const hs_target *target, const hs_proposal *proposal,
                        sampler_memory memory)
{
    hs_tape *tape = sm->tape;
    const size_t ways = hs_proposal_ways(proposal);
    hs_transition ways_of_moving[HS_MAX_WAYS];
    hs_var here[HS_MAX_WAYS], y[HS_MAX_WAYS];
    hs_var x = hs__record_start(target, tape, HS_ROW, &sm->x);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(proposal)), STREAM_NOISE);
    hs_transitions(target, proposal, x, n, ways_of_moving);
    for (size_t k = 0; k < ways; k++)
        y[k] =
            x.id == sm->x.id ? ways_of_moving[k].y : hs_slice(ways_of_moving[k].y, 0, 0, sm->dim);
    choose_way(ways_of_moving, ways, tape, here);
    const hs_transition t = chosen_transition(here, ways, ways_of_moving);
    /* The ratio minus itself is 0 where it is finite, else NaN: such points are never accepted. */
    hs_var finite = hs_eq(hs_sub(t.log_ratio, t.log_ratio), hs_const(tape, 0));
    hs_var zero = hs_const(tape, 0);
    hs_var log_u = hs_log(hs_uniform(tape, HS_ROW, hs_scalar_shape(), STREAM_ACCEPT));
    sm->accepted = hs_mul(finite, hs_lt(log_u, t.log_alpha));
    sm->alpha = hs_select(finite, hs_exp(t.log_alpha), zero);
    sm->jump = hs_select(finite, hs_mul(sm->alpha, hs_transition_jump(&t)), zero);
    sm->log_pi = hs_select(sm->accepted, t.log_pi_y, t.log_pi_x);
    sm->log_pi_x = hs_copy(t.log_pi_x);
    sm->nonfinite = hs_sub_from(1, finite);
    sm->next = hs_select(sm->accepted, of_way(here, ways, y), sm->x);
    return memory == FORGETS ||
           remember(sm, y, here, ways,
                    memory == REMEMBERS_TARGET ? hs_proposal_params(proposal) : NULL);
}

/* Asked by plans; hs_plan_options.interrupted. */
static bool is_interrupted(void *context)
{
    const sampler *sm = context;
    return !sm->finishes && hs_session_interrupted(sm->session);
}

bool hs__sampler_was_interrupted(sampler *sm)
{
    const bool was = hs_session_status(sm->session) == HS_EINTERRUPTED;
    if (was)
        hs_session_clear(sm->session);
    return was;
}

static hs_status make_plan(sampler *sm, hs_message *message)
{
    const hs_plan_options options = { .starts = sm->chains,
                                      .threads = hs_session_threads(sm->session),
                                      .interrupted = is_interrupted,
                                      .context = sm,
                                      .message = message };
    hs_var *outputs = hs_alloc((SAMPLER_OUTPUTS + sm->knows) * sizeof *outputs);
    if (!outputs)
        return HS_ENOMEM;
    memcpy(outputs, sm->output, sizeof sm->output);
    for (size_t i = 0; i < sm->knows; i++)
        outputs[SAMPLER_OUTPUTS + i] = sm->next_known[i];
    hs_status status = hs_plan_new(&sm->plan, outputs, SAMPLER_OUTPUTS + sm->knows, &options);
    for (size_t i = 0; i < sm->knows; i++)
        outputs[i] = sm->known[i].at_x;
    if (!status && sm->knows)
        status = hs_plan_new(&sm->look, outputs, sm->knows, &options);
    hs_free(outputs);
    return status;
}

static size_t known_bytes(const sampler *sm, size_t i)
{
    const hs_shape shape = hs_var_shape(sm->known[i].input);
    return hs_size_product(sm->chains, hs_shape_count(&shape),
                           hs_dtype_size(hs_session_dtype(sm->session)));
}

static hs_status no_memory(const sampler *sm, size_t bytes, hs_message *message)
{
    return hs_memory_fail(message, bytes, "out of memory for the states of %zu chains", sm->chains);
}

static hs_status allocate(sampler *sm, hs_message *message)
{
    const size_t bytes =
        hs_size_product(sm->chains, sm->dim, hs_dtype_size(hs_session_dtype(sm->session)));
    sm->state = hs_alloc_zero(1, bytes);
    sm->known_now = hs_alloc_zero(sm->knows + 1, sizeof *sm->known_now);
    if (!sm->state || !sm->known_now)
        return no_memory(sm, bytes, message);
    hs_plan_set(sm->plan, sm->x, sm->state);
    hs_plan_set(sm->look, sm->x, sm->state);
    for (size_t i = 0; i < sm->knows; i++) {
        sm->known_now[i] = hs_alloc_zero(1, known_bytes(sm, i));
        if (!sm->known_now[i])
            return no_memory(sm, known_bytes(sm, i), message);
        hs_plan_set(sm->plan, sm->known[i].input, sm->known_now[i]);
    }
    return HS_OK;
}

bool hs__sampler_open(sampler *sm, const hs_target *target, const hs_proposal *proposal,
                      size_t chains, sampler_memory memory)
{
    *sm = (sampler){ .session = hs_target_session(target), .chains = chains };
    hs_session *s = sm->session;
    sm->dim = hs_target_original_dim(target);
    sm->tape = hs_tape_new(hs_session_dtype(s));
    hs_message message = { "out of memory" };
    hs_status status =
        record_step(sm, target, proposal, memory) ? make_plan(sm, &message) : HS_ENOMEM;
    if (!status)
        status = allocate(sm, &message);
    if (status) {
        hs_session_fail(s, status, "%s", message.text);
        hs__sampler_close(sm);
        return false;
    }
    return true;
}

void hs__sampler_close(sampler *sm)
{
    for (size_t i = 0; sm->known_now && i < sm->knows; i++)
        hs_free(sm->known_now[i]);
    hs_free(sm->known_now);
    hs_free(sm->next_known);
    hs_plan_free(sm->plan);
    hs_plan_free(sm->look);
    hs_tape_free(sm->tape);
    hs_free(sm->state);
    *sm = (sampler){ 0 };
}

void hs__sampler_set(sampler *sm, const double *points)
{
    sm->looked = false;
    hs_numbers_set(hs_session_dtype(sm->session), sm->state, sm->chains * sm->dim, points);
}

void hs__sampler_get(const sampler *sm, double *points)
{
    hs_numbers_get(hs_session_dtype(sm->session), sm->state, sm->chains * sm->dim, points);
}

double hs__sampler_value(const sampler *sm, hs_var output, size_t index)
{
    return hs_number_get(hs_session_dtype(sm->session), hs_plan_get(sm->plan, output), index);
}

bool hs__sampler_start_exactly(sampler *sm, const hs_target *target, uint64_t seed)
{
    hs_session *s = sm->session;
    hs_tape *tape = hs_tape_new(hs_session_dtype(s));
    hs_plan *plan = NULL;
    hs_var x = hs_slice(hs__record_start(target, tape, HS_START, NULL), 0, 0, sm->dim);
    hs_message message;
    hs_status status = hs_plan_new(&plan, &x, 1,
                                   &(hs_plan_options){ .starts = sm->chains,
                                                       .interrupted = hs_session_interrupted,
                                                       .context = s,
                                                       .message = &message });
    if (!status)
        status = hs_plan_run(plan, &(hs_run){ .seed = seed, .step = 0 });
    if (status)
        hs_session_fail(s, status, "%s", plan ? hs_plan_error(plan) : message.text);
    else
        memcpy(sm->state, hs_plan_get(plan, x),
               sm->chains * sm->dim * hs_dtype_size(hs_session_dtype(s)));
    hs_plan_free(plan);
    hs_tape_free(tape);
    sm->looked = false;
    return !status;
}

/* Keeps the known values that a plan computed at the state. */
static void keep_knowledge(sampler *sm, const hs_plan *plan)
{
    for (size_t i = 0; i < sm->knows; i++)
        memcpy(sm->known_now[i],
               hs_plan_get(plan, plan == sm->look ? sm->known[i].at_x : sm->next_known[i]),
               known_bytes(sm, i));
}

bool hs__sampler_step(sampler *sm, uint64_t seed, uint64_t step)
{
    hs_status status = HS_OK;
    if (sm->look && !sm->looked) {
        status = hs_plan_run(sm->look, &(hs_run){ .seed = seed });
        if (!status)
            keep_knowledge(sm, sm->look);
        sm->looked = !status;
    }
    if (!status)
        status = hs_plan_run(sm->plan, &(hs_run){ .seed = seed, .step = step });
    if (status)
        return SESSION_FALSE(sm->session, status, "%s", hs_plan_error(sm->plan));
    keep_knowledge(sm, sm->plan);
    memcpy(sm->state, hs_plan_get(sm->plan, sm->next),
           sm->chains * sm->dim * hs_dtype_size(hs_session_dtype(sm->session)));
    return true;
}

bool hs__sampler_check_start(sampler *sm)
{
    for (size_t c = 0; c < sm->chains; c++) {
        const double log_pi = hs__sampler_value(sm, sm->log_pi_x, c);
        if (!isfinite(log_pi))
            return SESSION_FALSE(sm->session, HS_ENONFINITE,
                                 "chain %zu: the log density at its start point is %g; chains must "
                                 "start where the density is positive and finite",
                                 c, log_pi);
    }
    return true;
}
