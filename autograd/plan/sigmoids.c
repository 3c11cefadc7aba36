/* Pass `sigmoids`: a sum of softplus(x) over features needs no exponentials if sigmoid(x) is stored, as the gradient of
 * a logistic regression does. The softplus gets the sigmoid as its second input. */
#include "passes_internal.h"

void hs__graph_find_summed_softplus(const plan_graph *graph, bool *summed)
{
    for (int32_t id = 0; id < graph->nodes; id++) {
        const graph_node *sum = &graph->node[id];
        summed[id] = false;
        if (is_unused(sum) || sum->op != OP_sum_to)
            continue;
        const graph_node *of = &graph->node[sum->input[0]];
        if (of->op == OP_softplus && of->uses == 1 && !of->output && of->extent == sum->extent)
            summed[sum->input[0]] = true;
    }
}

/* Marks the values that a product has as a factor, directly or by a view. */
static void find_factors(const plan_graph *graph, bool *factor)
{
    for (int32_t id = graph->nodes - 1; id >= 0; id--) {
        const graph_node *node = &graph->node[id];
        const bool passes_on =
            node->op == OP_matmul || (factor[id] && hs__graph_is_view(graph, node));
        for (int i = 0; passes_on && !is_unused(node) && i < node->inputs; i++)
            factor[node->input[i]] = true;
    }
}

/* For each value, the sigmoid of it that is stored for a product; or -1. It may not be broadcast: value, sigmoid and
 * softplus are then stored alike. */
static void find_sigmoids(const plan_graph *graph, const bool *factor, int32_t *sigmoid)
{
    for (int32_t id = 0; id < graph->nodes; id++) {
        const graph_node *node = &graph->node[id];
        sigmoid[id] = -1;
        if (!is_unused(node) && node->op == OP_sigmoid && factor[id] &&
            is_alike(node, &graph->node[node->input[0]]))
            sigmoid[node->input[0]] = id;
    }
}

bool hs__graph_link_sigmoids(const hs_plan *plan, plan_graph *graph)
{
    const size_t nodes = (size_t)graph->nodes + 1;
    bool *summed = hs__pass_alloc(plan, nodes, sizeof *summed);
    bool *factor = hs__pass_alloc(plan, nodes, sizeof *factor);
    int32_t *sigmoid = hs__pass_alloc(plan, nodes, sizeof *sigmoid);
    if (!summed || !factor || !sigmoid)
        return hs__plan_no_memory(plan);
    hs__graph_find_summed_softplus(graph, summed);
    find_factors(graph, factor);
    find_sigmoids(graph, factor, sigmoid);
    for (int32_t id = 0; id < graph->nodes; id++) {
        graph_node *node = &graph->node[id];
        if (!summed[id] || !is_alike(node, &graph->node[node->input[0]]))
            continue;
        const int32_t of = node->input[0], stored = sigmoid[of];
        if (stored < 0 || stored > id)
            continue;
        node->input = hs_arena_alloc(plan->arena, 2 * sizeof *node->input);
        if (!node->input)
            return hs__plan_no_memory(plan);
        node->input[0] = of;
        node->input[1] = stored;
        node->inputs = 2;
        graph->node[stored].uses++;
    }
    return true;
}
