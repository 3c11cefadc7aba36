/* The schedule: how each value comes to be, and the sums over the batch. */
#include "passes_internal.h"

int32_t hs__schedule_owner(const plan_schedule *schedule, int32_t id)
{
    while (schedule->node[id].making == VIEW_OF)
        id = schedule->node[id].host;
    return id;
}

bool hs__schedule_layer(const hs_plan *plan, int32_t id, plan_layer *layer)
{
    const graph_node *node = node_at(plan, id);
    const schedule_node *s = scheduled(plan, id);
    return s->making == BY_STEP && node->stage == STAGE_SHARD && !is_unused(node) &&
           hs__graph_is_layer(plan->graph, s->product >= 0 ? s->product : id, layer);
}

/* ---- Pass: views ----------------------------------------------------------------------------- */

static node_making making_of(const plan_graph *graph, const graph_node *node)
{
    if (is_unused(node))
        return BY_STEP;
    if (node->op == OP_constant || node->op == OP_bound || node->op == OP_tensor ||
        (node->op == OP_input && node->extent == HS_SHARED))
        return OUTSIDE;
    return hs__graph_is_view(graph, node) ? VIEW_OF : BY_STEP;
}

bool hs__schedule_views(const hs_plan *plan, plan_schedule *schedule)
{
    const plan_graph *graph = plan->graph;
    const size_t nodes = (size_t)graph->nodes + 1;
    schedule->node = hs_arena_alloc(plan->arena, nodes * sizeof *schedule->node);
    schedule->tail = hs_arena_alloc(plan->arena, nodes * sizeof *schedule->tail);
    schedule->order = hs_arena_alloc(plan->arena, nodes * sizeof *schedule->order);
    if (!schedule->node || !schedule->tail || !schedule->order)
        return hs__plan_no_memory(plan);
    for (int32_t id = 0; id < graph->nodes; id++) {
        const node_making making = making_of(graph, &graph->node[id]);
        schedule->node[id] = (schedule_node){
            .making = making,
            .host = making == VIEW_OF ? graph->node[id].input[0] : id,
            .group_size = 1,
            .group_first = id,
            .product = -1,
            .sum = -1,
        };
        schedule->tail[id] = (product_tail){ -1, -1, -1, HS_ACT_NONE, -1, id };
    }
    return true;
}

/* ---- Passes: sums, merged_sums --------------------------------------------------------------- */

bool hs__schedule_sums(const hs_plan *plan, plan_schedule *schedule)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        if (!is_unused(node_at(plan, id)) && node_at(plan, id)->sums_batch)
            schedule->node[id].sum = schedule->sums++;
    return true;
}

/* The sum that another was merged into, at the end of the chain. */
static int32_t last_in_chain(int32_t *merged_into, int32_t sum)
{
    while (merged_into[sum] != sum)
        sum = merged_into[sum] = merged_into[merged_into[sum]];
    return sum;
}

/* Whether a node adds two sums over the batch that nothing else needs. */
static bool adds_two_sums(const hs_plan *plan, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    if (is_unused(node) || node->op != OP_add || node->stage != STAGE_AFTER ||
        scheduled(plan, id)->making != BY_STEP)
        return false;
    for (int i = 0; i < 2; i++) {
        const graph_node *in = node_at(plan, node->input[i]);
        if (scheduled(plan, node->input[i])->sum < 0 || in->uses != 1 || in->output ||
            !has_shape(in, &node_at(plan, node->input[0])->shape))
            return false;
    }
    return node->input[0] != node->input[1];
}

bool hs__schedule_merge_sums(const hs_plan *plan, plan_schedule *schedule)
{
    schedule_node *node = schedule->node;
    int32_t *into = hs__pass_alloc(plan, (size_t)schedule->sums + 1, sizeof *into);
    if (!into)
        return hs__plan_no_memory(plan);
    for (int32_t sum = 0; sum < schedule->sums; sum++)
        into[sum] = sum;
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        if (!adds_two_sums(plan, id))
            continue;
        const int32_t *in = node_at(plan, id)->input;
        node[id].sum = last_in_chain(into, node[in[0]].sum);
        node[id].making = ADDED_UP;
        into[last_in_chain(into, node[in[1]].sum)] = node[id].sum;
    }
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        if (node[id].sum >= 0)
            node[id].sum = last_in_chain(into, node[id].sum);
    return true;
}
