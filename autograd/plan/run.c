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
static void inspect(hs_plan *plan, const run_state *state, int32_t id, place at)
{
    const graph_node *node = node_at(plan, id);
    if (plan->found)
        return;
    const size_t lanes = state->lanes[node->extent], stride = plan->layout->stride[node->extent];
    const void *value = resolve(state, at);
    for (size_t lane = 0; lane < lanes; lane++)
        for (size_t i = 0; i < node->count; i++) {
            const double x = plan->request->batch->get(value, i * stride + lane);
            if (isfinite(x))
                continue;
            const tape_node *where = &plan->request->tape->node[node->tape_id];
            plan->found = true;
            plan->nonfinite = (hs_nonfinite){
                .node = { plan->request->wanted[0].tape, node->tape_id },
                .op = hs__op_table[node->op].name,
                .name = where->name ? where->name : "",
                .at = where->at,
                .row = state->first[node->extent] + lane,
                .coordinate = i,
                .value = x,
            };
            return;
        }
}

/* Values that no step makes: those of the caller before the batch, sums over it afterwards. */
static void inspect_others(hs_plan *plan, const run_state *state, bool sums)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        if (!is_unused(node) && (sums ? node->sums_batch : scheduled(plan, id)->making == OUTSIDE))
            inspect(plan, state, id, place_of(plan, id));
    }
}

static void run_stage(hs_plan *plan, plan_stage stage, run_state *state)
{
    const plan_code *code = plan->code;
    for (int32_t i = 0; i < code->steps[stage]; i++) {
        const plan_step *step = &code->step[stage][i];
        if (step->loop) {
            hs__loop_run(step, state);
            i += step->loop->steps - 1;
            continue;
        }
        step->run(step, state);
        i += step->paired;
        if (plan->request->trace && step->makes_value)
            inspect(plan, state, step->node, step->out);
    }
}

typedef struct {
    hs_plan *plan;
    const hs_run *run;
    int threads;
    atomic_bool interrupted;
} run_request;

/* Whether the caller wants the run to end. Its own thread is the only one that asks. */
static bool is_interrupted(run_request *request)
{
    const plan_request *plan = request->plan->request;
    if (plan->interrupted && hs_thread_index() == 0 && plan->interrupted(plan->context))
        atomic_store_explicit(&request->interrupted, true, memory_order_relaxed);
    return atomic_load_explicit(&request->interrupted, memory_order_relaxed);
}

/* A thread's workspace. The thread clears it itself, the first time: padding must hold numbers, and the memory is
 * then near to its core. */
static char *workspace_of(const hs_plan *plan, size_t worker)
{
    const plan_memory *memory = plan->memory;
    char *workspace = memory->workspace + worker * memory->workspace_bytes;
    if (!memory->workspace_used[worker])
        memset(workspace, 0, memory->workspace_bytes);
    memory->workspace_used[worker] = true;
    return workspace;
}

/* The sums of accumulator i; NULL for the first, which are the totals. */
static char *accumulator_at(const hs_plan *plan, int i)
{
    return i ? plan->memory->accumulators + (size_t)(i - 1) * plan->layout->sum_bytes : NULL;
}

static char *sum_in(const hs_plan *plan, int32_t sum, int accumulator)
{
    char *sums = accumulator_at(plan, accumulator);
    return sums ? sums + plan->memory->sum_offset[sum] : plan->memory->total[sum];
}

/* Adds the sums of one accumulator to those of another; bytes from .. until of all sums, seen as one row. */
static void add_sums(const hs_plan *plan, int to, int other, size_t from, size_t until)
{
    const size_t element = plan->request->element;
    for (int32_t i = 0; i < plan->schedule->sums; i++) {
        const size_t offset = plan->memory->sum_offset[i];
        const size_t end = offset + plan->layout->sum_count[i] * element;
        const size_t lo = from > offset ? from : offset, hi = until < end ? until : end;
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
    run_request *request = context;
    hs_plan *plan = request->plan;
    const plan_layout *layout = plan->layout;
    const size_t accumulators = (size_t)layout->accumulators, n = plan->request->rows_per_start;
    const unsigned denormals = hs_flush_denormals();
    run_state state = { .plan = plan, .run = request->run, .threads = request->threads };
    state.workspace = workspace_of(plan, accumulators > 1 ? (size_t)hs_thread_index() : 0);
    state.scratch = state.workspace + plan->memory->scratch_offset;
    state.accumulator = accumulator_at(plan, i);
    state.first_shard = true;
    state.lanes[HS_SHARED] = 1;
    const size_t first = layout->shards * (size_t)i / accumulators;
    const size_t end = layout->shards * ((size_t)i + 1) / accumulators;
    for (size_t shard = first; shard < end && !is_interrupted(request); shard++) {
        const size_t start = shard * layout->shard_starts, left = plan->request->starts - start;
        const size_t starts = left < layout->shard_starts ? left : layout->shard_starts;
        state.first[HS_START] = start;
        state.first[HS_ROW] = start * n;
        state.lanes[HS_START] = starts;
        state.lanes[HS_ROW] = starts * n;
        run_stage(plan, STAGE_SHARD, &state);
        state.first_shard = false;
    }
    add_neighbours(plan, i);
    hs_restore_denormals(denormals);
}

enum { TOTAL_BLOCK = 16384 }; /* numbers added up by one thread at a time */

/* Adds a block of the sums of the last two accumulators. */
static void add_last(int block, void *context)
{
    const run_request *request = context;
    const hs_plan *plan = request->plan;
    const size_t bytes = TOTAL_BLOCK * plan->request->element, from = (size_t)block * bytes;
    int last = 1;
    while (2 * last < plan->layout->accumulators)
        last *= 2;
    add_sums(plan, 0, last, from, from + bytes);
}

static void copy_outputs(hs_plan *plan, const run_state *state)
{
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

/* Runs all shards, and adds up their sums. */
static void run_batch(hs_plan *plan, run_request *request, int threads)
{
    const plan_layout *layout = plan->layout;
    const bool inside = layout->accumulators == 1; /* threads work inside of steps */
    if (!plan->code->steps[STAGE_SHARD])
        return;
    request->threads = inside ? threads : 1;
    /* A traced run looks at shards in order, so that the first bad row is the first. */
    hs_parallel_for(inside || plan->request->trace ? 1 : threads, layout->accumulators, run_shards,
                    request);
    if (inside || !layout->sum_bytes)
        return;
    const size_t block = (size_t)TOTAL_BLOCK * plan->request->element;
    hs_parallel_for(threads, (int)((layout->sum_bytes + block - 1) / block), add_last, request);
}

hs_status hs_plan_run(hs_plan *plan, const hs_run *run)
{
    if (!plan)
        return HS_EINVAL;
    hs_message_clear(plan->message);
    plan->found = false;
    hs_status status = check_address(plan, run);
    if (!status)
        status = find_outsides(plan);
    if (status)
        return status;
    const bool trace = plan->request->trace;
    const int threads = hs_pace_begin(&plan->pace, plan->threads);
    run_request request = { .plan = plan, .run = run };
    run_state state = { .plan = plan, .run = run, .threads = threads, .lanes = { 1, 0, 0 } };
    state.workspace = workspace_of(plan, 0);
    state.scratch = state.workspace + plan->memory->scratch_offset;
    state.first_shard = true;
    if (trace)
        inspect_others(plan, &state, false);
    const unsigned denormals = hs_flush_denormals();
    run_stage(plan, STAGE_BEFORE, &state);
    run_batch(plan, &request, threads);
    if (trace)
        inspect_others(plan, &state, true);
    run_stage(plan, STAGE_AFTER, &state);
    hs_restore_denormals(denormals);
    copy_outputs(plan, &state);
    hs_pace_end(&plan->pace);
    if (request.interrupted)
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
               : plan->code->factors[scheduled(plan, plan->graph->output[i])->sum];
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
    if (plan->found)
        *found = plan->nonfinite;
    return plan->found;
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
            const graph_node *node = node_at(plan, step->node);
            hs_extent batch = node->extent;
            if (node->sums_batch)
                batch = node_at(plan, node->input[0])->extent;
            facts.steps++;
            facts.flops += flops_of(step) * (double)hs__plan_copies(plan, batch);
            facts.matrix_bytes += stage == STAGE_SHARD ? bytes_of_matrix(plan, i) : 0;
        }
    return facts;
}
