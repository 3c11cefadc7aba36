/* Passes `tails`, `bias_sums` and `groups`: nodes that are computed in the step of another.
 *
 * A node joins the step of its users when they are all in one step already: then no one else needs its value, and it is
 * never stored. */
#include "passes_internal.h"

#include <string.h>

/* ---- Pass: tails ----------------------------------------------------------------------------- */

/* A layer, or one of each row of a matrix of the batch: the forms whose kernels can do more. */
static bool takes_tail(const hs_plan *plan, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    plan_layer layer;
    return hs__graph_is_layer(plan->graph, id, &layer) ||
           (node->op == OP_matmul && node->extent != HS_SHARED &&
            node_at(plan, node->input[1])->extent == HS_SHARED && !node->attributes->transpose[0]);
}

static bool ends_in(const hs_shape *shape, size_t length)
{
    return shape->rank > 0 && shape->dim[shape->rank - 1] == length;
}

/* Whether a shared value has a number for each output of a layer, the same for all rows if there are several. */
static bool is_bias(const hs_plan *plan, int32_t product, const graph_node *value)
{
    const hs_shape *shape = &node_at(plan, product)->shape;
    const size_t rows = shape->dim[1] == 1 ? 1 : shape->dim[0];
    const size_t outputs = shape->dim[0] * shape->dim[1] / rows;
    return value->extent == HS_SHARED && value->count == outputs &&
           (rows == 1 || ends_in(&value->shape, outputs));
}

/* If `id` is a product, or a view of all of one, that only one node uses: the product. Else -1. */
static int32_t product_behind(const hs_plan *plan, int32_t id)
{
    for (;; id = node_at(plan, id)->input[0]) {
        const graph_node *node = node_at(plan, id);
        const int32_t product = takes_tail(plan, id) ? id : scheduled(plan, id)->product;
        if (node->uses != 1 || node->output)
            return -1;
        if (product >= 0 || node->op != OP_reshape)
            return product;
    }
}

/* Puts the nodes from `from` back to the product into the product's step, which stores node `last` now. */
static void extend_product(const hs_plan *plan, plan_schedule *schedule, int32_t product,
                           int32_t from, int32_t last)
{
    bool end = false;
    while (!end) {
        schedule_node *s = &schedule->node[from];
        end = from == product || s->product == product;
        s->making = FUSED_INTO;
        s->product = product;
        if (!end)
            from = node_at(plan, from)->input[0];
    }
    schedule->node[last].product = product;
    schedule->tail[product].last = last;
}

/* Whether the tail of a product can take in a node that has the product, so far, as operand i. */
static bool joins_tail(const hs_plan *plan, const graph_node *node, int i, int32_t product,
                       product_tail *tail)
{
    const int32_t other = node->inputs == 2 ? node->input[1 - i] : -1;
    const graph_node *o = other >= 0 ? node_at(plan, other) : NULL;
    const hs_activation_kind act =
        (hs_activation_kind)(hs__op_table[node->op].traits >> ACTIVATION_SHIFT);
    if (tail->act != HS_ACT_NONE || tail->gate >= 0)
        return false;
    if (node->op == OP_add && is_bias(plan, product, o) && tail->bias < 0)
        tail->bias = other;
    else if (node->op == OP_add && is_alike(o, node) && tail->add < 0 && other != node->input[i])
        tail->add = other;
    else if (node->op == OP_gate && is_alike(o, node) && i == 0)
        tail->gate = other;
    else if (node->inputs == 1 && act != HS_ACT_NONE)
        tail->act = act;
    else
        return false;
    return true;
}

/* Takes a node into the step of a product that one of its operands is. */
static void extend_tail(const hs_plan *plan, plan_schedule *schedule, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    for (int i = node->inputs - 1; i >= 0; i--) {
        const int32_t in = node->input[i], product = product_behind(plan, in);
        const graph_node *operand = node_at(plan, in);
        if (product >= 0 && operand->count == node->count && operand->extent == node->extent &&
            joins_tail(plan, node, i, product, &schedule->tail[product])) {
            extend_product(plan, schedule, product, in, id);
            return;
        }
    }
}

bool hs__schedule_tails(const hs_plan *plan, plan_schedule *schedule)
{
    bool *summed = hs__pass_alloc(plan, (size_t)plan->graph->nodes + 1, sizeof *summed);
    if (!summed)
        return hs__plan_no_memory(plan);
    hs__graph_find_summed_softplus(plan->graph, summed);
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        /* A summed softplus stays with the sum, whose kernel takes fewer logarithms. */
        if (!is_unused(node) && node->stage == STAGE_SHARD && !summed[id] &&
            schedule->node[id].making == BY_STEP && hs__op_table[node->op].kind == KIND_ELEMENTWISE)
            extend_tail(plan, schedule, id);
    }
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        schedule_node *s = &schedule->node[id];
        if (s->making == FUSED_INTO)
            s->host = schedule->tail[s->product].last;
    }
    return true;
}

/* ---- Pass: bias_sums ------------------------------------------------------------------------- */

/* A whole vector of the batch that is summed over it: its owner, or -1. */
static int32_t whole_vector(const hs_plan *plan, int32_t id, size_t count)
{
    const int32_t owner = hs__schedule_owner(plan->schedule, id);
    const graph_node *node = node_at(plan, owner);
    const bool whole = node->count == count && node_at(plan, id)->count == count;
    return whole && node->extent != HS_SHARED ? owner : -1;
}

/* For each vector of the batch, a product summed over the batch that has it as its left factor; or -1. */
static void find_products(const hs_plan *plan, int32_t *product)
{
    memset(product, -1, (size_t)plan->graph->nodes * sizeof *product);
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        if (is_unused(node) || node->op != OP_matmul || !node->sums_batch)
            continue;
        const bool transposed = node->attributes->transpose[0];
        const size_t summed = node_at(plan, node->input[0])->shape.dim[transposed ? 0 : 1];
        const int32_t left = whole_vector(plan, node->input[0], summed * node->shape.dim[0]);
        if (left >= 0 && (summed == 1 || transposed))
            product[left] = id;
    }
}

/* The product that can make a sum over the batch too; or -1. */
static int32_t product_for(const hs_plan *plan, int32_t sum, const int32_t *product)
{
    const graph_node *node = node_at(plan, sum);
    if (is_unused(node) || node->op != OP_sum_to || !node->sums_batch)
        return -1;
    const graph_node *in = node_at(plan, node->input[0]);
    const int32_t of = whole_vector(plan, node->input[0], in->count);
    const int32_t by = of >= 0 ? product[of] : -1;
    const bool same = by >= 0 && plan->schedule->tail[by].left_sum < 0 &&
                      node->count == node_at(plan, by)->shape.dim[0] &&
                      (node->count == in->count ||
                       (ends_in(&in->shape, node->count) && ends_in(&node->shape, node->count)));
    return same ? by : -1;
}

/* The gradient of a layer's weights is the batch's sum of dy x', that of its bias the sum of dy: the product makes both.
 * If the layer had several rows, dy is a matrix of one row for each. */
bool hs__schedule_bias_sums(const hs_plan *plan, plan_schedule *schedule)
{
    if (plan->request->factors)
        return true; /* the product may not be computed: outer_products.c */
    int32_t *product = hs__pass_alloc(plan, (size_t)plan->graph->nodes + 1, sizeof *product);
    if (!product)
        return hs__plan_no_memory(plan);
    find_products(plan, product);
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const int32_t by = product_for(plan, id, product);
        if (by < 0)
            continue;
        schedule->tail[by].left_sum = id;
        schedule->node[id].making = FUSED_INTO;
        schedule->node[id].host = by;
    }
    return true;
}

/* ---- Pass: groups ---------------------------------------------------------------------------- */

/* Whether an elementwise node can be computed in the step of `root`, in which all its users are. */
static bool joins_group(const hs_plan *plan, int32_t id, int32_t root)
{
    const graph_node *node = node_at(plan, id), *host = node_at(plan, root);
    const schedule_node *s = scheduled(plan, id), *h = scheduled(plan, root);
    if (s->making != BY_STEP || !is_elementwise(node) || s->product >= 0 || node->output)
        return false;
    /* the iteration of a group spans its root, or the value that its root sums */
    const graph_node *space = host->op == OP_sum_to ? node_at(plan, host->input[0]) : host;
    return ((is_elementwise(host) && h->product < 0) || host->op == OP_sum_to) &&
           host->stage == node->stage && h->making == BY_STEP && is_alike(space, node) &&
           h->group_size < MAX_GROUP;
}

bool hs__schedule_groups(const hs_plan *plan, plan_schedule *schedule)
{
    enum { NONE = -1, SEVERAL = -2 };
    const size_t nodes = (size_t)plan->graph->nodes + 1;
    /* the one step that all users of a node are in */
    int32_t *user = hs__pass_alloc(plan, nodes, sizeof *user);
    if (!user)
        return hs__plan_no_memory(plan);
    memset(user, NONE, nodes * sizeof *user);
    for (int32_t id = plan->graph->nodes - 1; id >= 0; id--) {
        const graph_node *node = node_at(plan, id);
        schedule_node *s = &schedule->node[id];
        if (is_unused(node))
            continue;
        if (user[id] >= 0 && joins_group(plan, id, user[id])) {
            schedule_node *host = &schedule->node[user[id]];
            s->making = FUSED_INTO;
            s->host = user[id];
            host->group_size++;
            host->group_first = id; /* ids fall in this walk */
        }
        const int32_t step = s->making == FUSED_INTO ? s->host : id;
        for (int i = 0; i < node->inputs; i++) {
            int32_t *u = &user[node->input[i]];
            *u = *u == NONE || *u == step ? step : SEVERAL;
        }
    }
    return true;
}
