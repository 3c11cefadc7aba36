/* The memory of a plan: outputs, sums over the batch, workspaces. */
#include "plan_internal.h"

#include <string.h>

#include <hastings/tensor/memory.h>

void *hs__plan_alloc(const hs_plan *plan, size_t count, size_t size)
{
    const size_t bytes = hs_size_product(count, size);
    void *block = hs_arena_alloc(plan->arena, bytes);
    if (!block)
        hs__plan_no_memory(plan);
    return block ? memset(block, 0, bytes) : NULL;
}

size_t hs__plan_copies(const hs_plan *plan, hs_extent extent)
{
    const plan_request *request = plan->request;
    return extent == HS_SHARED ? 1
                               : request->starts * (extent == HS_ROW ? request->rows_per_start : 1);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static size_t output_bytes(const hs_plan *plan, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    return hs_size_product(node->count, hs__plan_copies(plan, node->extent),
                           plan->request->element);
}

static bool allocate_output(const hs_plan *plan, size_t i, void *into)
{
    plan_output *output = &plan->memory->output[i];
    const int32_t id = plan->graph->output[i], sum = scheduled(plan, id)->sum;
    const graph_node *node = node_at(plan, id);
    if (into && node->extent != HS_SHARED)
        return hs__plan_fail(plan, HS_EEXTENT, id,
                             "only a shared output can be written into the caller's memory, and "
                             "output %zu has extent %s",
                             i, hs_extent_name(node->extent));
    output->owned = !into;
    output->value = into ? into : hs_alloc_zero(1, output_bytes(plan, id));
    if (!output->value)
        return hs__plan_no_memory(plan);
    /* A sum over the batch can be totalled where it is wanted. */
    if (sum >= 0 && !plan->memory->sum[sum].total) {
        plan->memory->sum[sum].total = output->value;
        output->is_sum = true;
    }
    return true;
}

static bool allocate_outputs(const hs_plan *plan, void *const *into)
{
    const size_t outputs = plan->request->outputs;
    plan->memory->output = hs_alloc_zero(outputs, sizeof *plan->memory->output);
    if (!plan->memory->output)
        return hs__plan_no_memory(plan);
    for (size_t i = 0; i < outputs; i++)
        if (!allocate_output(plan, i, into ? into[i] : NULL))
            return false;
    return true;
}

/* ---- Sums over the batch --------------------------------------------------------------------- */

/* Gives a sum the next place in the accumulators. */
static void place_sum(const hs_plan *plan, int32_t sum, size_t *offset)
{
    plan->memory->sum[sum].offset = *offset;
    *offset += hs_align_up(plan->layout->sum_count[sum] * plan->request->element);
}

/* The first accumulator is the totals. */
static size_t accumulator_bytes(const hs_plan *plan)
{
    return hs_size_product((size_t)plan->layout->accumulators - 1, plan->layout->sum_bytes);
}

/* Accumulators hold sums in the order of the outputs, which are gradients in the order of the parameters: a thread that
 * adds a part of the accumulators has that part of the gradients in its cache, where the optimiser's threads look for it.
 * The other sums follow, and have their totals in memory of the plan. */
static bool allocate_sums(const hs_plan *plan)
{
    plan_memory *memory = plan->memory;
    const size_t accumulators = (size_t)plan->layout->accumulators;
    size_t offset = 0;
    for (size_t i = 0; i < plan->request->outputs; i++)
        if (memory->output[i].is_sum)
            place_sum(plan, scheduled(plan, plan->graph->output[i])->sum, &offset);
    const size_t others = offset;
    memory->totals = hs_alloc_zero(1, plan->layout->sum_bytes - others + HS_ALIGN);
    if (!memory->totals)
        return false;
    for (int32_t i = 0; i < plan->schedule->sums; i++)
        if (!memory->sum[i].total) {
            place_sum(plan, i, &offset);
            memory->sum[i].total = memory->totals + (memory->sum[i].offset - others);
        }
    memory->accumulators = hs_alloc(accumulator_bytes(plan)); /* the first shard of each fills it */
    memory->shards_added = hs_alloc(accumulators * sizeof *memory->shards_added);
    for (size_t i = 0; memory->shards_added && i < accumulators; i++)
        atomic_init(&memory->shards_added[i], 0);
    return memory->accumulators && memory->shards_added;
}

/* ---- Workspaces ------------------------------------------------------------------------------ */

static void measure_workspace(const hs_plan *plan)
{
    plan_memory *memory = plan->memory;
    memory->scratch_offset = hs_align_up(plan->layout->shard_bytes);
    memory->workspace_bytes =
        memory->scratch_offset + hs_align_up(plan->code->scratch_bytes) + HS_ALIGN;
}

static size_t count_workspaces(const hs_plan *plan)
{
    return plan->layout->accumulators > 1 ? (size_t)plan->threads : 1;
}

static bool allocate_workspaces(const hs_plan *plan)
{
    plan_memory *memory = plan->memory;
    const plan_layout *layout = plan->layout;
    const size_t workspaces = count_workspaces(plan);
    memory->workspace = hs_alloc(hs_size_product(workspaces, memory->workspace_bytes));
    memory->workspace_used = hs_alloc_zero(workspaces, sizeof *memory->workspace_used);
    memory->shared = hs_alloc_zero(1, layout->shared_bytes + HS_ALIGN);
    return memory->workspace && memory->workspace_used && memory->shared;
}

/* Writes constants, and lists the values that lie in memory outside of the plan. */
static void fill_leaves(const hs_plan *plan)
{
    plan_memory *memory = plan->memory;
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const op_attributes *a = node->attributes;
        if (node->op == OP_constant && !is_unused(node))
            plan->request->batch->put(memory->shared + place_of(plan, id).offset, 0, node->number);
        if (node->outside >= 0)
            memory->outside[node->outside] =
                (outside_value){ node->tape_id, a ? a->data : NULL, a ? a->base : NULL,
                                 a ? a->offset : 0 };
    }
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* A rough guess of the seconds that one run takes on one thread. */
static double guess_seconds(const hs_plan *plan)
{
    double seconds = 0;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++) {
        const plan_step *step = &plan->code->step[STAGE_SHARD][i];
        const graph_node *space = space_of(plan, step);
        const double rows = (double)hs__plan_copies(plan, space->extent), flops = flops_of(step);
        const program *p = program_of(step);
        const double passes = p ? p->steps + p->sum_softplus + 1 : 1;
        seconds += 5e-8 * (double)plan->layout->shards + 1e-11 * flops * rows +
                   (flops > 0 ? 0 : 3e-10 * passes * (double)space->count * rows);
    }
    return seconds;
}

/* Threads cost more than they bring in runs of a few microseconds, and far more on a busy machine.
 * Results do not depend on this choice. */
static int choose_threads(const hs_plan *plan, int wanted)
{
    const double worth_it = 2e-5;
    const int threads = wanted <= 0 && guess_seconds(plan) < worth_it ? 1 : plan->request->threads;
    const int most = plan->layout->accumulators;
    return most > 1 && threads > most ? most : threads;
}

/* All large blocks are counted before the first is taken: each of them may fit where all do not. */
static bool check_total(const hs_plan *plan, void *const *into)
{
    const plan_request *request = plan->request;
    size_t bytes =
        hs_size_add(hs_size_product(count_workspaces(plan), plan->memory->workspace_bytes),
                    hs_size_add(accumulator_bytes(plan), plan->layout->shared_bytes));
    for (size_t i = 0; i < request->outputs; i++)
        if (!into || !into[i])
            bytes = hs_size_add(bytes, output_bytes(plan, plan->graph->output[i]));
    if (bytes <= hs_memory_left())
        return true;
    *plan->status = hs_memory_fail(plan->message, bytes,
                                   "hs_plan_new: out of memory for %zu starts of %zu rows each",
                                   request->starts, request->rows_per_start);
    return false;
}

bool hs__plan_allocate(hs_plan *plan, const hs_plan_options *options)
{
    const size_t sums = (size_t)plan->schedule->sums, outsides = (size_t)plan->graph->outsides;
    plan_memory *memory = plan->memory;
    memory->sum = hs__plan_alloc(plan, sums, sizeof *memory->sum);
    memory->outside = hs__plan_alloc(plan, outsides, sizeof *memory->outside);
    memory->outside_now = hs__plan_alloc(plan, outsides, sizeof(void *));
    if (!memory->sum || !memory->outside || !memory->outside_now)
        return false;
    plan->threads = choose_threads(plan, options->threads);
    measure_workspace(plan);
    if (!check_total(plan, options->into) || !allocate_outputs(plan, options->into))
        return false;
    if (!allocate_sums(plan) || !allocate_workspaces(plan))
        return hs__plan_no_memory(plan);
    fill_leaves(plan);
    return true;
}

void hs__plan_release(hs_plan *plan)
{
    plan_memory *memory = plan->memory;
    for (size_t i = 0; memory->output && i < plan->request->outputs; i++)
        if (memory->output[i].owned)
            hs_free(memory->output[i].value);
    hs_free(memory->output);
    hs_free(memory->workspace);
    hs_free(memory->workspace_used);
    hs_free(memory->shared);
    hs_free(memory->totals);
    hs_free(memory->accumulators);
    hs_free(memory->shards_added);
}
