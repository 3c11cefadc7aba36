/* Plans: making them from their passes, and running them. */
#include "plan_internal.h"

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/threads.h>

#include <math.h>
#include <string.h>

/* ---- Making --------------------------------------------------------------------------------- */

static bool set_batch(hs_plan *plan, const hs_plan_options *options)
{
    plan->starts = options->starts ? options->starts : 1;
    plan->rows_per_start = options->rows_per_start ? options->rows_per_start : 1;
    plan->trace = options->trace;
    plan->factors =
        options->factors && plan->starts == 1 && plan->rows_per_start == 1 && !options->trace;
    plan->threads = options->threads > 0 ? options->threads : hs_threads_default();
    size_t rows;
    if (!hs_size_mul(plan->starts, plan->rows_per_start, &rows) || rows > UINT32_MAX) {
        hs_tape_fail(plan->tape, HS_EOVERFLOW, "hs_plan_new",
                     "%zu starts of %zu rows each are more than %lu rows", plan->starts,
                     plan->rows_per_start, (unsigned long)UINT32_MAX);
        return false;
    }
    return true;
}

/* Number of values of an extent in the batch. */
static size_t batch_count(const hs_plan *plan, hs_extent extent)
{
    return extent == HS_SHARED ? 1 : plan->starts * (extent == HS_ROW ? plan->rows_per_start : 1);
}

/* Bins hold sums in the order of the outputs, which are gradients in the order of the parameters: a thread that adds a
 * part of the bins has that part of the gradients in its cache, where the optimiser's threads look for it. */
static void order_sums(hs_plan *plan)
{
    size_t offset = 0;
    for (size_t i = 0; i < plan->outputs; i++)
        if (plan->output[i].is_sum) {
            batch_sum *sum = &plan->sum[plan->node[plan->output[i].node].sum];
            sum->offset = offset;
            offset += hs_align_up(sum->count * plan->element);
        }
    for (int32_t i = 0; i < plan->sums; i++)
        if (!plan->sum[i].into) {
            plan->sum[i].offset = offset;
            offset += hs_align_up(plan->sum[i].count * plan->element);
        }
}

static bool allocate_outputs(hs_plan *plan, void *const *into)
{
    for (size_t i = 0; i < plan->outputs; i++) {
        plan_output *output = &plan->output[i];
        const plan_node *node = &plan->node[output->node];
        size_t numbers;
        if (into && into[i] && node->extent != HS_SHARED)
            return hs__plan_fail(
                plan, HS_EEXTENT, output->node,
                "only a shared output can be written into the caller's memory, and "
                "output %zu has extent %s",
                i, hs_extent_name(node->extent));
        output->value = into ? into[i] : NULL;
        output->owned = !output->value;
        if (output->owned) {
            if (!hs_size_mul(node->count, batch_count(plan, node->extent), &numbers) ||
                !(output->value = hs_alloc_zero(numbers, plan->element)))
                return hs__plan_no_memory(plan);
        }
        /* A sum over the batch can be totalled where it is wanted. */
        if (node->sum >= 0 && !plan->sum[node->sum].into &&
            node->count == plan->sum[node->sum].count) {
            plan->sum[node->sum].into = output->value;
            output->is_sum = true;
        }
    }
    order_sums(plan);
    return !plan->factors || hs__plan_keep_factors(plan);
}

/* A rough guess of the seconds that one run takes on one thread. */
static double guess_seconds(const hs_plan *plan)
{
    double seconds = 0;
    for (int32_t i = 0; i < plan->steps[STAGE_SHARD]; i++) {
        const plan_step *step = &plan->step[STAGE_SHARD][i];
        const plan_node *node = &plan->node[step->node];
        const plan_node *space = node->sums_batch ? &plan->node[node->input[0]] : node;
        const double rows = (double)batch_count(plan, space->extent);
        const program *p = step->program;
        const double passes = p ? p->steps + p->sum_softplus + 1 : 1;
        seconds += 5e-8 * (double)plan->shards + 1e-11 * step->flops * rows +
                   (step->flops > 0 ? 0 : 3e-10 * passes * (double)space->count * rows);
    }
    return seconds;
}

/* Threads cost more than they bring in runs of a few microseconds, and far more on a busy machine.
 * Results do not depend on this choice. */
static void limit_threads(hs_plan *plan, int wanted)
{
    const double worth_it = 2e-5;
    if (wanted <= 0 && guess_seconds(plan) < worth_it)
        plan->threads = 1;
    if (plan->bins > 1 && plan->threads > plan->bins)
        plan->threads = plan->bins;
}

static bool allocate_workspaces(hs_plan *plan)
{
    plan->scratch_offset = hs_align_up(plan->shard_bytes);
    plan->workspace_bytes = plan->scratch_offset + hs_align_up(plan->scratch_bytes) + HS_ALIGN;
    const size_t workspaces = plan->bins > 1 ? (size_t)plan->threads : 1;
    size_t bytes;
    if (!hs_size_mul(workspaces, plan->workspace_bytes, &bytes))
        return hs__plan_no_memory(plan);
    plan->workspace = hs_alloc(bytes);
    plan->workspace_used = hs_alloc_zero(workspaces, sizeof *plan->workspace_used);
    plan->shared = hs_alloc_zero(1, plan->shared_bytes + HS_ALIGN);
    size_t totals = 0; /* of sums that are not wanted elsewhere */
    for (int32_t i = 0; i < plan->sums; i++)
        if (!plan->sum[i].into)
            totals += hs_align_up(plan->sum[i].count * plan->element);
    plan->totals = hs_alloc_zero(1, totals + HS_ALIGN);
    if (!hs_size_mul((size_t)plan->bins - 1, plan->sum_bytes, &bytes))
        return hs__plan_no_memory(plan);
    plan->bin_sums = hs_alloc(bytes); /* the first shard of a bin fills it */
    plan->bins_done = hs_alloc((size_t)plan->bins * sizeof *plan->bins_done);
    for (int bin = 0; plan->bins_done && bin < plan->bins; bin++)
        atomic_init(&plan->bins_done[bin], 0);
    if (!plan->bins_done || !plan->workspace || !plan->workspace_used || !plan->shared ||
        !plan->totals || !plan->bin_sums)
        return hs__plan_no_memory(plan);
    char *total = plan->totals;
    for (int32_t i = 0; i < plan->sums; i++)
        if (!plan->sum[i].into) {
            plan->sum[i].into = total;
            total += hs_align_up(plan->sum[i].count * plan->element);
        }
    for (int32_t id = 0; id < plan->nodes; id++)
        if (plan->node[id].op == OP_constant && !is_unused(&plan->node[id]))
            plan->batch->put(plan->shared + plan->node[id].at.offset, 0, plan->node[id].number);
    return true;
}

static bool check_outputs(const hs_var *outputs, size_t n)
{
    if (n == 0 || !outputs[0].tape)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!hs__inputs_ok((hs_var[]){ outputs[0], outputs[i] }, 2, "plan", "hs_plan_new"))
            return false;
    return true;
}

hs_status hs_plan_new(hs_plan **plan_, const hs_var *outputs, size_t n,
                      const hs_plan_options *options)
{
    static const hs_plan_options defaults;
    options = options ? options : &defaults;
    *plan_ = NULL;
    if (!check_outputs(outputs, n)) {
        const hs_status status = n ? hs_tape_status(outputs[0].tape) : HS_EINVAL;
        return status ? status : HS_EINVAL;
    }
    hs_tape *tape = outputs[0].tape;
    hs_plan *plan = hs_alloc_zero(1, sizeof *plan);
    if (!plan) {
        hs_tape_fail(tape, HS_ENOMEM, "hs_plan_new", "out of memory");
        tape->status = HS_OK;
        return HS_ENOMEM;
    }
    plan->tape = tape;
    plan->dtype = tape->dtype;
    plan->element = hs_dtype_size(tape->dtype);
    plan->elementwise = hs__elementwise_for(tape->dtype);
    plan->batch = hs__batch_for(tape->dtype);
    plan->output = hs_alloc_zero(n, sizeof *plan->output);
    bool ok = plan->output ? set_batch(plan, options) : hs__plan_no_memory(plan);
    if (plan->output) {
        plan->outputs = n;
        for (size_t i = 0; i < n; i++)
            plan->output[i].var = outputs[i];
    }
    ok = ok && hs__plan_build_graph(plan) && hs__plan_fuse(plan) && hs__plan_set_order(plan) &&
         hs__plan_pair_layers(plan) && hs__plan_lay_out(plan, options->shard_starts) &&
         hs__plan_make_steps(plan) && allocate_outputs(plan, options->into);
    if (ok)
        limit_threads(plan, options->threads);
    ok = ok && allocate_workspaces(plan);
    if (!ok) {
        /* The tape is sound: its error says what is wrong with this plan, but does not stick. */
        const hs_status status = tape->status;
        tape->status = HS_OK;
        hs_plan_free(plan);
        return status;
    }
    *plan_ = plan;
    return HS_OK;
}

void hs_plan_free(hs_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->outputs; i++)
        if (plan->output[i].owned)
            hs_free(plan->output[i].value);
    hs_free(plan->output);
    hs_free(plan->node);
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        hs_free(plan->step[stage]);
    hs_free(plan->workspace);
    hs_free(plan->workspace_used);
    hs_free(plan->shared);
    hs_free(plan->totals);
    hs_free(plan->bin_sums);
    hs_free(plan->bins_done);
    hs_arena_free(&plan->arena);
    hs_free(plan);
}

/* ---- Running -------------------------------------------------------------------------------- */

void hs_plan_set(hs_plan *plan, hs_var input, const void *data)
{
    for (int32_t i = 0; plan && i < plan->outsides; i++)
        if (input.tape == plan->tape && plan->outside[i].tape_id == input.id)
            plan->outside[i].data = data;
}

static bool find_outsides(hs_plan *plan)
{
    for (int32_t i = 0; i < plan->outsides; i++) {
        const outside_value *value = &plan->outside[i];
        plan->outside_now[i] = value->data;
        if (!value->data && value->base && *value->base)
            plan->outside_now[i] = (const char *)*value->base + value->offset;
        if (!plan->outside_now[i]) {
            char text[VAR_TEXT];
            snprintf(plan->error, sizeof plan->error,
                     "%s: input %s has no data: call hs_plan_set() before hs_plan_run()",
                     plan->tape->node[value->tape_id].at,
                     hs__var_text((hs_var){ plan->tape, value->tape_id }, text));
            return false;
        }
    }
    return true;
}

/* Looks for a non-finite number in the value of a node; the first that is found is kept. */
static void inspect(hs_plan *plan, const run_state *state, int32_t id, place at)
{
    const plan_node *node = &plan->node[id];
    if (plan->found)
        return;
    const size_t lanes = state->lanes[node->extent], stride = plan->stride[node->extent];
    const void *value = resolve(state, at);
    for (size_t lane = 0; lane < lanes; lane++)
        for (size_t i = 0; i < node->count; i++) {
            const double x = plan->batch->get(value, i * stride + lane);
            if (isfinite(x))
                continue;
            const tape_node *where = &plan->tape->node[node->tape_id];
            plan->found = true;
            plan->nonfinite = (hs_nonfinite){
                .node = { plan->tape, node->tape_id },
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
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        if (!is_unused(node) && (sums ? node->sums_batch : node->making == BY_OUTSIDE))
            inspect(plan, state, id, node->at);
    }
}

static void run_stage(hs_plan *plan, plan_stage stage, run_state *state)
{
    for (int32_t i = 0; i < plan->steps[stage]; i++) {
        const plan_step *step = &plan->step[stage][i];
        if (step->sweep) {
            hs__sweep_run(step, state);
            i += step->sweep->steps - 1;
            continue;
        }
        step->run(step, state);
        i += step->has_twin;
        if (plan->trace && step->makes_value)
            inspect(plan, state, step->node, step->out);
    }
}

typedef struct {
    hs_plan *plan;
    const hs_run *run;
    int threads;
} run_request;

/* A thread's workspace. The thread clears it itself, the first time: padding must hold numbers, and the memory is
 * then near to its core. */
static char *workspace_of(hs_plan *plan, size_t worker)
{
    char *workspace = plan->workspace + worker * plan->workspace_bytes;
    if (!plan->workspace_used[worker])
        memset(workspace, 0, plan->workspace_bytes);
    plan->workspace_used[worker] = true;
    return workspace;
}

static char *sum_of_bin(const hs_plan *plan, int32_t sum, int bin)
{
    return bin ? plan->bin_sums + (size_t)(bin - 1) * plan->sum_bytes + plan->sum[sum].offset
               : plan->sum[sum].into;
}

/* Adds the sums of one bin to those of another; bytes from .. until of all sums, seen as one row. */
static void add_bin(const hs_plan *plan, int to, int other, size_t from, size_t until)
{
    const size_t element = plan->element;
    for (int32_t i = 0; i < plan->sums; i++) {
        const size_t offset = plan->sum[i].offset, end = offset + plan->sum[i].count * element;
        const size_t lo = from > offset ? from : offset, hi = until < end ? until : end;
        if (lo < hi)
            plan->batch->add((hi - lo) / element, sum_of_bin(plan, i, to) + (lo - offset),
                             sum_of_bin(plan, i, other) + (lo - offset));
    }
}

/* Bins are added in pairs, pairs of pairs, and so on: who is done with the second of two adds them, while they are in its
 * cache, for neighbours are mostly run by one thread. The last two are left for all threads together. */
static void add_neighbours(const hs_plan *plan, int bin)
{
    for (int step = 1; 2 * step < plan->bins; step *= 2) {
        const int low = bin / (2 * step) * (2 * step), high = low + step;
        bin = low;
        if (high >= plan->bins)
            continue;
        if (atomic_fetch_add_explicit(&plan->bins_done[high], 1, memory_order_acq_rel) == 0)
            return; /* the other is not done yet */
        atomic_store_explicit(&plan->bins_done[high], 0, memory_order_relaxed);
        add_bin(plan, low, high, 0, plan->sum_bytes);
    }
}

/* Runs the shards of one bin, in order, into the bin's sums. */
static void run_bin(int bin, void *context)
{
    const run_request *request = context;
    hs_plan *plan = request->plan;
    const unsigned denormals = hs_flush_denormals();
    const size_t worker = plan->bins > 1 ? (size_t)hs_thread_index() : 0;
    run_state state = { .plan = plan, .run = request->run, .threads = request->threads };
    state.workspace = workspace_of(plan, worker);
    state.scratch = state.workspace + plan->scratch_offset;
    state.bin = bin ? plan->bin_sums + (size_t)(bin - 1) * plan->sum_bytes : NULL;
    state.first_shard = true;
    state.lanes[HS_SHARED] = 1;
    const size_t first = plan->shards * (size_t)bin / (size_t)plan->bins;
    const size_t end = plan->shards * ((size_t)bin + 1) / (size_t)plan->bins;
    for (size_t shard = first; shard < end; shard++) {
        const size_t start = shard * plan->shard_starts;
        const size_t left = plan->starts - start;
        const size_t starts = left < plan->shard_starts ? left : plan->shard_starts;
        state.first[HS_START] = start;
        state.first[HS_ROW] = start * plan->rows_per_start;
        state.lanes[HS_START] = starts;
        state.lanes[HS_ROW] = starts * plan->rows_per_start;
        run_stage(plan, STAGE_SHARD, &state);
        state.first_shard = false;
    }
    add_neighbours(plan, bin);
    hs_restore_denormals(denormals);
}

enum { TOTAL_BLOCK = 16384 }; /* numbers added up by one thread at a time */

/* Adds a block of the sums of the last two bins. */
static void add_last(int block, void *context)
{
    const run_request *request = context;
    const hs_plan *plan = request->plan;
    const size_t from = (size_t)block * TOTAL_BLOCK * plan->element;
    int last = 1;
    while (2 * last < plan->bins)
        last *= 2;
    add_bin(plan, 0, last, from, from + TOTAL_BLOCK * plan->element);
}

static void copy_outputs(hs_plan *plan, const run_state *state)
{
    for (size_t i = 0; i < plan->outputs; i++) {
        const plan_output *output = &plan->output[i];
        const plan_node *node = &plan->node[output->node];
        if (node->extent == HS_SHARED && !output->is_sum)
            memcpy(output->value, resolve(state, node->at), node->count * plan->element);
    }
}

hs_status hs_plan_run(hs_plan *plan, const hs_run *run)
{
    if (!plan)
        return HS_EINVAL;
    plan->error[0] = '\0';
    plan->found = false;
    const uint64_t last_row = run->first_row + plan->starts * plan->rows_per_start;
    if (last_row > (uint64_t)UINT32_MAX + 1 || last_row < run->first_row || run->step >> 48) {
        snprintf(
            plan->error, sizeof plan->error,
            "hs_plan_run: rows up to %llu in step %llu: rows are numbered below 2^32, and steps "
            "below 2^48",
            (unsigned long long)last_row, (unsigned long long)run->step);
        return HS_EOVERFLOW;
    }
    if (!find_outsides(plan))
        return HS_EINVAL;
    const bool inside = plan->bins == 1; /* one bin: threads work inside of steps */
    const int threads = hs_pace_begin(&plan->pace, plan->threads);
    run_request request = { plan, run, inside ? threads : 1 };
    run_state state = { .plan = plan, .run = run, .threads = threads, .lanes = { 1, 0, 0 } };
    state.workspace = workspace_of(plan, 0);
    state.scratch = state.workspace + plan->scratch_offset;
    state.first_shard = true;
    if (plan->trace)
        inspect_others(plan, &state, false);
    const unsigned denormals = hs_flush_denormals();
    run_stage(plan, STAGE_BEFORE, &state);
    if (plan->steps[STAGE_SHARD]) {
        /* A traced run looks at shards in order, so that the first bad row is the first. */
        hs_parallel_for(inside || plan->trace ? 1 : threads, plan->bins, run_bin, &request);
        if (plan->bins > 1 && plan->sum_bytes) {
            const size_t block = (size_t)TOTAL_BLOCK * plan->element;
            hs_parallel_for(threads, (int)((plan->sum_bytes + block - 1) / block), add_last,
                            &request);
        }
    }
    if (plan->trace)
        inspect_others(plan, &state, true);
    run_stage(plan, STAGE_AFTER, &state);
    hs_restore_denormals(denormals);
    copy_outputs(plan, &state);
    hs_pace_end(&plan->pace);
    return HS_OK;
}

/* ---- Results -------------------------------------------------------------------------------- */

const void *hs_plan_get(const hs_plan *plan, hs_var output)
{
    for (size_t i = 0; plan && i < plan->outputs; i++)
        if (plan->output[i].var.tape == output.tape && plan->output[i].var.id == output.id)
            return plan->output[i].value;
    return NULL;
}

const hs_factors *hs_plan_factors(const hs_plan *plan, hs_var output)
{
    for (size_t i = 0; plan && i < plan->outputs; i++) {
        const plan_output *o = &plan->output[i];
        if (o->var.tape == output.tape && o->var.id == output.id && o->is_sum)
            return plan->sum[plan->node[o->node].sum].factors;
    }
    return NULL;
}

double hs_plan_scalar(const hs_plan *plan, hs_var output)
{
    const void *value = hs_plan_get(plan, output);
    return value ? plan->batch->get(value, 0) : (double)NAN;
}

const char *hs_plan_error(const hs_plan *plan)
{
    return plan ? plan->error : "there is no plan";
}

bool hs_plan_nonfinite(const hs_plan *plan, hs_nonfinite *found)
{
    if (plan->found)
        *found = plan->nonfinite;
    return plan->found;
}

/* Bytes of the matrix of step i, if it is a layer and none before it in its sweep, or its twin, reads the same. */
static double bytes_of_matrix(const hs_plan *plan, int32_t i)
{
    const plan_step *step = plan->step[STAGE_SHARD];
    plan_layer layer, other;
    if (step[i].flops == 0 || !hs__plan_layer_of(plan, step[i].node, &layer))
        return 0;
    const int32_t position = plan->node[step[i].node].position;
    for (int32_t k = i - 1; k >= 0 && plan->node[step[k].node].position == position; k--)
        if (hs__plan_layer_of(plan, step[k].node, &other) && other.matrix == layer.matrix)
            return 0;
    return (double)plan->node[layer.matrix].count * (double)plan->element;
}

hs_plan_facts hs_plan_describe(const hs_plan *plan)
{
    hs_plan_facts facts = { .nodes = plan->nodes_live,
                            .shards = plan->shards,
                            .shard_starts = plan->shard_starts,
                            .bytes_per_shard = plan->workspace_bytes };
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t i = 0; i < plan->steps[stage]; i++) {
            const plan_step *step = &plan->step[stage][i];
            const plan_node *node = &plan->node[step->node];
            hs_extent batch = node->extent;
            if (node->sums_batch)
                batch = plan->node[node->input[0]].extent;
            facts.steps++;
            facts.flops += step->flops * (double)batch_count(plan, batch);
            facts.matrix_bytes += stage == STAGE_SHARD ? bytes_of_matrix(plan, i) : 0;
        }
    return facts;
}
