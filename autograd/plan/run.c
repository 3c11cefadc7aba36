/* Running of plans, and their results. */
#include "plan_internal.h"

#include <hastings/tensor/cpu.h>

#include <math.h>
#include <string.h>

/* ---- Running -------------------------------------------------------------------------------- */

void hs_plan_set(hs_plan *plan, hs_var input, const void *data)
{
    for (int32_t i = 0; plan && i < plan->graph->outsides; i++)
        if (input.tape == plan->request->tape && plan->memory->outside[i].tape_id == input.id)
            plan->memory->outside[i].data = data;
}

static hs_status find_outsides(const hs_plan *plan)
{
    const hs_tape *tape = plan->request->tape;
    const void **now = plan->memory->outside_now;
    for (int32_t i = 0; i < plan->graph->outsides; i++) {
        const outside_value *value = &plan->memory->outside[i];
        now[i] = value->data;
        if (!value->data && value->base && *value->base)
            now[i] = (const char *)*value->base + value->offset;
        if (!now[i]) {
            char text[VAR_TEXT];
            return hs_message_fail(
                plan->message, HS_EINVAL,
                "%s: input %s has no data: call hs_plan_set() before hs_plan_run()",
                tape->node[value->tape_id].at,
                hs__var_text((hs_var){ (hs_tape *)(uintptr_t)tape, value->tape_id }, text));
        }
    }
    return HS_OK;
}

/* Looks for a non-finite number in the value of a node; the first that is found is kept. */
static void inspect(const run_state *state, int32_t id, place at)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, id);
    const size_t lanes = state->lanes[node->extent], stride = plan->layout->stride[node->extent];
    const void *value = resolve(state, at);
    for (size_t k = 0; !plan->memory->found && k < lanes * node->count; k++) {
        const size_t lane = k / node->count, i = k % node->count;
        const double x = plan->request->batch->get(value, i * stride + lane);
        if (isfinite(x))
            continue;
        const tape_node *where = &plan->request->tape->node[node->tape_id];
        plan->memory->found = true;
        plan->memory->nonfinite = (hs_nonfinite){
            .node = { plan->request->wanted[0].tape, node->tape_id },
            .op = hs__op_table[node->op].name,
            .name = where->name ? where->name : "",
            .at = where->at,
            .row = state->first[node->extent] + lane,
            .coordinate = i,
            .value = x,
        };
    }
}

/* Values that no step makes: those of the caller before the batch, sums over it afterwards. */
static void inspect_others(const run_state *state, bool sums)
{
    const hs_plan *plan = state->plan;
    for (int32_t id = 0; plan->request->trace && id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        if (!is_unused(node) && (sums ? node->sums_batch : scheduled(plan, id)->making == OUTSIDE))
            inspect(state, id, place_of(plan, id));
    }
}

static void run_stage(plan_stage stage, run_state *state)
{
    const plan_code *code = state->plan->code;
    for (int32_t i = 0; i < code->steps[stage]; i++) {
        const plan_step *step = &code->step[stage][i];
        if (step->loop) {
            hs__loop_run(step, state);
            i += step->loop->steps - 1;
            continue;
        }
        step->run(step, state);
        i += step->paired;
        if (state->plan->request->trace && step->makes_value)
            inspect(state, step->node, step->out);
    }
}

/* Whether the caller wants the run to end. Its own thread is the only one that asks. */
static bool is_interrupted(const hs_plan *plan)
{
    const plan_request *request = plan->request;
    atomic_bool *interrupted = &plan->memory->interrupted;
    if (request->interrupted && hs_thread_index() == 0 && request->interrupted(request->context))
        atomic_store_explicit(interrupted, true, memory_order_relaxed);
    return atomic_load_explicit(interrupted, memory_order_relaxed);
}

/* Gives a thread its workspace. It clears it itself, the first time: padding must hold numbers, and the memory is then
 * near to its core. */
static void use_workspace(run_state *state, size_t worker)
{
    const plan_memory *memory = state->plan->memory;
    state->workspace = memory->workspace + worker * memory->workspace_bytes;
    state->scratch = state->workspace + memory->scratch_offset;
    if (!memory->workspace_used[worker])
        memset(state->workspace, 0, memory->workspace_bytes);
    memory->workspace_used[worker] = true;
}

/* The sums of accumulator i; NULL for the first, which are the totals. */
static char *accumulator_at(const hs_plan *plan, int i)
{
    return i ? plan->memory->accumulators + (size_t)(i - 1) * plan->layout->sum_bytes : NULL;
}

static char *sum_in(const hs_plan *plan, int32_t sum, int accumulator)
{
    char *sums = accumulator_at(plan, accumulator);
    return sums ? sums + plan->memory->sum[sum].offset : plan->memory->sum[sum].total;
}

/* Adds the sums of one accumulator to those of another; bytes from .. until of all sums, seen as one row. */
static void add_sums(const hs_plan *plan, int to, int other, size_t from, size_t until)
{
    const size_t element = plan->request->element;
    for (int32_t i = 0; i < plan->schedule->sums; i++) {
        const size_t offset = plan->memory->sum[i].offset;
        const size_t end = offset + plan->layout->sum_count[i] * element;
        const size_t lo = from > offset ? from : offset, hi = least(until, end);
        if (lo < hi)
            plan->request->batch->add((hi - lo) / element, sum_in(plan, i, to) + (lo - offset),
                                      sum_in(plan, i, other) + (lo - offset));
    }
}

/* Accumulators are added in pairs, pairs of pairs, and so on: who is done with the second of two adds them, while they
 * are in its cache, for neighbours are mostly run by one thread. The last two are left for all threads together. */
static void add_neighbours(const hs_plan *plan, int i)
{
    const int accumulators = plan->layout->accumulators;
    atomic_int *added = plan->memory->shards_added;
    for (int step = 1; 2 * step < accumulators; step *= 2) {
        const int low = i / (2 * step) * (2 * step), high = low + step;
        i = low;
        if (high >= accumulators)
            continue;
        if (atomic_fetch_add_explicit(&added[high], 1, memory_order_acq_rel) == 0)
            return; /* the other is not done yet */
        atomic_store_explicit(&added[high], 0, memory_order_relaxed);
        add_sums(plan, low, high, 0, plan->layout->sum_bytes);
    }
}

/* Runs the shards of accumulator i, in order. */
static void run_shards(int i, void *context)
{
    run_state state = *(const run_state *)context;
    const hs_plan *plan = state.plan;
    const plan_layout *layout = plan->layout;
    const size_t accumulators = (size_t)layout->accumulators, n = plan->request->rows_per_start;
    const unsigned denormals = hs_flush_denormals();
    use_workspace(&state, accumulators > 1 ? (size_t)hs_thread_index() : 0);
    state.accumulator = accumulator_at(plan, i);
    const size_t first = layout->shards * (size_t)i / accumulators;
    const size_t end = layout->shards * ((size_t)i + 1) / accumulators;
    for (size_t shard = first; shard < end && !is_interrupted(plan); shard++) {
        const size_t start = shard * layout->shard_starts;
        state.first[HS_START] = start;
        state.first[HS_ROW] = start * n;
        state.lanes[HS_START] = least(plan->request->starts - start, layout->shard_starts);
        state.lanes[HS_ROW] = state.lanes[HS_START] * n;
        run_stage(STAGE_SHARD, &state);
        state.first_shard = false;
    }
    add_neighbours(plan, i);
    hs_restore_denormals(denormals);
}

enum { TOTAL_BLOCK = 16384 }; /* numbers added up by one thread at a time */

/* Adds a block of the sums of the last two accumulators. */
static void add_last(int block, void *context)
{
    const hs_plan *plan = ((const run_state *)context)->plan;
    const size_t bytes = TOTAL_BLOCK * plan->request->element, from = (size_t)block * bytes;
    int last = 1;
    while (2 * last < plan->layout->accumulators)
        last *= 2;
    add_sums(plan, 0, last, from, from + bytes);
}

/* Runs all shards, and adds up their sums. */
static void run_batch(run_state state)
{
    const hs_plan *plan = state.plan;
    const plan_layout *layout = plan->layout;
    const bool inside = layout->accumulators == 1; /* threads work inside of steps */
    const int threads = state.threads;
    if (!plan->code->steps[STAGE_SHARD])
        return;
    state.threads = inside ? threads : 1;
    /* A traced run looks at shards in order, so that the first bad row is the first. */
    hs_parallel_for(inside || plan->request->trace ? 1 : threads, layout->accumulators, run_shards,
                    &state);
    const size_t blocks =
        times_to_cover(layout->sum_bytes, (size_t)TOTAL_BLOCK * plan->request->element);
    if (!inside && blocks)
        hs_parallel_for(threads, (int)blocks, add_last, &state);
}

static void copy_outputs(const run_state *state)
{
    const hs_plan *plan = state->plan;
    for (size_t i = 0; i < plan->request->outputs; i++) {
        const plan_output *output = &plan->memory->output[i];
        const int32_t id = plan->graph->output[i];
        const graph_node *node = node_at(plan, id);
        if (node->extent == HS_SHARED && !output->is_sum)
            memcpy(output->value, resolve(state, place_of(plan, id)),
                   node->count * plan->request->element);
    }
}

/* Rows and steps need addresses for their draws. */
static hs_status check_address(const hs_plan *plan, const hs_run *run)
{
    const uint64_t last_row =
        run->first_row + plan->request->starts * plan->request->rows_per_start;
    if (last_row > (uint64_t)UINT32_MAX + 1 || last_row < run->first_row || run->step >> 48)
        return hs_message_fail(
            plan->message, HS_EOVERFLOW,
            "hs_plan_run: rows up to %llu in step %llu: rows are numbered below 2^32, and steps "
            "below 2^48",
            (unsigned long long)last_row, (unsigned long long)run->step);
    return HS_OK;
}

hs_status hs_plan_run(hs_plan *plan, const hs_run *run)
{
    if (!plan)
        return HS_EINVAL;
    hs_message_clear(plan->message);
    plan->memory->found = false;
    plan->memory->interrupted = false;
    hs_status status = check_address(plan, run);
    if (!status)
        status = find_outsides(plan);
    if (status)
        return status;
    run_state state = { .plan = plan,
                        .run = run,
                        .lanes = { 1, 0, 0 },
                        .first_shard = true,
                        .threads = hs_pace_begin(&plan->pace, plan->threads) };
    use_workspace(&state, 0);
    inspect_others(&state, false);
    const unsigned denormals = hs_flush_denormals();
    run_stage(STAGE_BEFORE, &state);
    run_batch(state);
    inspect_others(&state, true);
    run_stage(STAGE_AFTER, &state);
    hs_restore_denormals(denormals);
    copy_outputs(&state);
    hs_pace_end(&plan->pace);
    if (plan->memory->interrupted)
        return hs_message_fail(plan->message, HS_EINTERRUPTED, "hs_plan_run: interrupted");
    return HS_OK;
}

/* ---- Results -------------------------------------------------------------------------------- */

/* The number of an output; -1 if there is no such output. */
static int find_output(const hs_plan *plan, hs_var output)
{
    for (size_t i = 0; plan && i < plan->request->outputs; i++) {
        const hs_var var = plan->request->wanted[i];
        if (var.tape == output.tape && var.id == output.id)
            return (int)i;
    }
    return -1;
}

const void *hs_plan_get(const hs_plan *plan, hs_var output)
{
    const int i = find_output(plan, output);
    return i < 0 ? NULL : plan->memory->output[i].value;
}

const hs_factors *hs_plan_factors(const hs_plan *plan, hs_var output)
{
    const int i = find_output(plan, output);
    return i < 0 || !plan->memory->output[i].is_sum
               ? NULL
               : plan->code->sum[scheduled(plan, plan->graph->output[i])->sum].factors;
}

double hs_plan_scalar(const hs_plan *plan, hs_var output)
{
    const void *value = hs_plan_get(plan, output);
    return value ? plan->request->batch->get(value, 0) : (double)NAN;
}

const char *hs_plan_error(const hs_plan *plan)
{
    return plan ? plan->message->text : "there is no plan";
}

bool hs_plan_nonfinite(const hs_plan *plan, hs_nonfinite *found)
{
    if (plan->memory->found)
        *found = plan->memory->nonfinite;
    return plan->memory->found;
}

/* Bytes of the matrix of step i, if it is a layer and none before it at its position reads the same. */
static double bytes_of_matrix(const hs_plan *plan, int32_t i)
{
    const plan_step *step = plan->code->step[STAGE_SHARD];
    plan_layer layer, other;
    if (flops_of(&step[i]) == 0 || !hs__schedule_layer(plan, step[i].node, &layer))
        return 0;
    const int32_t position = scheduled(plan, step[i].node)->position;
    for (int32_t k = i - 1; k >= 0 && scheduled(plan, step[k].node)->position == position; k--)
        if (hs__schedule_layer(plan, step[k].node, &other) && other.matrix == layer.matrix)
            return 0;
    return (double)node_at(plan, layer.matrix)->count * (double)plan->request->element;
}

hs_plan_facts hs_plan_describe(const hs_plan *plan)
{
    hs_plan_facts facts = { .nodes = plan->graph->live,
                            .shards = plan->layout->shards,
                            .shard_starts = plan->layout->shard_starts,
                            .bytes_per_shard = plan->memory->workspace_bytes };
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t i = 0; i < plan->code->steps[stage]; i++) {
            const plan_step *step = &plan->code->step[stage][i];
            facts.steps++;
            facts.flops +=
                flops_of(step) * (double)hs__plan_copies(plan, space_of(plan, step)->extent);
            facts.matrix_bytes += stage == STAGE_SHARD ? bytes_of_matrix(plan, i) : 0;
        }
    return facts;
}
