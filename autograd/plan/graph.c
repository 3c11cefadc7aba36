/* The graph: taken from the tape, rewritten node by node, and what holds for its nodes afterwards. */
#include "passes_internal.h"

#include <string.h>

/* ---- Equal nodes ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_node(const graph_node *node)
{
    const op_attributes *a = node->attributes;
    uint64_t bits, hash = mix((uint64_t)node->op, (uint64_t)node->extent);
    for (int i = 0; i < node->inputs; i++)
        hash = mix(hash, (uint64_t)node->input[i]);
    hash = mix(hash, node->count);
    if (a) { /* the ones that tell most nodes of an op apart */
        hash = mix(hash, a->offset + a->first);
        hash = mix(hash, (uint64_t)a->axis + ((uint64_t)a->stream << 32));
    }
    if (node->op == OP_input)
        hash = mix(hash, (uint64_t)node->tape_id);
    memcpy(&bits, &node->number, sizeof bits);
    return mix(hash, bits);
}

static bool is_equal(const graph_builder *b, const graph_node *x, const graph_node *y)
{
    if (x->op != y->op || x->inputs != y->inputs || !is_alike(x, y) ||
        memcmp(&x->number, &y->number, sizeof x->number))
        return false;
    for (int i = 0; i < x->inputs; i++)
        if (x->input[i] != y->input[i])
            return false;
    if (x->op == OP_input)
        return x->tape_id == y->tape_id;
    return hs__attributes_equal(x->attributes, y->attributes, x->count * b->plan->request->element);
}

/* The free slot for a node, or the slot of an equal one. */
static graph_slot *slot_of(const graph_builder *b, const graph_node *node, uint32_t hash)
{
    uint32_t at = hash & b->mask;
    while (b->slot[at].id >= 0 &&
           (b->slot[at].hash != hash || !is_equal(b, &b->graph->node[b->slot[at].id], node)))
        at = (at + 1) & b->mask;
    return &b->slot[at];
}

/* Makes room for one more node in the table: half of the slots stay free. */
static bool grow_table(graph_builder *b)
{
    if ((uint32_t)b->graph->nodes < b->mask / 2)
        return true;
    const uint32_t old = b->mask ? b->mask + 1 : 0, slots = old ? 2 * old : 256;
    graph_slot *slot = hs__pass_alloc(b->plan, slots, sizeof *slot);
    if (!slot)
        return false;
    memset(slot, -1, slots * sizeof *slot);
    for (uint32_t i = 0; i < old; i++) {
        uint32_t at = b->slot[i].hash & (slots - 1);
        if (b->slot[i].id < 0)
            continue;
        while (slot[at].id >= 0)
            at = (at + 1) & (slots - 1);
        slot[at] = b->slot[i];
    }
    b->slot = slot;
    b->mask = slots - 1;
    return true;
}

/* ---- New nodes ------------------------------------------------------------------------------- */

/* The sums over features that a value needs one after the other. */
static int32_t level_of(const plan_graph *graph, const graph_node *node)
{
    int32_t level = 0;
    bool joins = hs__op_table[node->op].traits & JOINS;
    for (int i = 0; i < node->inputs; i++) {
        const graph_node *in = &graph->node[node->input[i]];
        joins = joins || (node->op == OP_sum_to && !has_shape(in, &node->shape));
        level = in->level > level ? in->level : level;
    }
    return level + joins;
}

static bool grow_graph(graph_builder *b)
{
    plan_graph *graph = b->graph;
    if (graph->nodes < graph->capacity)
        return true;
    const size_t old = (size_t)graph->nodes, capacity = old ? 2 * old : 128;
    graph_node *node = hs_grow(graph->node, old * sizeof *node, capacity * sizeof *node);
    if (!node)
        return false;
    graph->node = node;
    graph->capacity = (int32_t)capacity;
    return true;
}

int32_t hs__graph_find(graph_builder *b, const graph_node *node)
{
    b->no_memory = b->no_memory || !grow_table(b) || !grow_graph(b);
    if (b->no_memory)
        return 0;
    plan_graph *graph = b->graph;
    const uint32_t hash = (uint32_t)hash_node(node);
    graph_slot *slot = slot_of(b, node, hash);
    if (slot->id < 0) {
        *slot = (graph_slot){ hash, graph->nodes++ };
        graph_node *new = &graph->node[slot->id];
        *new = *node;
        new->level = level_of(graph, node);
        new->form = NULL;
    }
    return slot->id;
}

int32_t hs__graph_add(graph_builder *b, graph_node *node)
{
    const int32_t other = b->rule ? b->rule(b, node) : NO_NODE;
    return other == NO_NODE ? hs__graph_find(b, node) : other;
}

void *hs__graph_alloc(graph_builder *b, size_t bytes)
{
    void *memory = hs_arena_alloc(b->plan->arena, bytes);
    b->no_memory = b->no_memory || !memory;
    return memory;
}

int32_t hs__graph_make_of(graph_builder *b, op_code op, int32_t *input, int n, hs_extent extent,
                          const hs_shape *shape, const op_attributes *attributes)
{
    graph_node node = { op, extent, *shape,     hs_shape_count(shape),
                        n,  input,  attributes, .tape_id = b->tape_id };
    return hs__graph_add(b, &node);
}

int32_t hs__graph_make(graph_builder *b, op_code op, int32_t x, int32_t y, hs_extent extent,
                       const hs_shape *shape)
{
    int32_t *input = hs__graph_alloc(b, 2 * sizeof *input);
    if (b->no_memory)
        return 0;
    input[0] = x;
    input[1] = y;
    return hs__graph_make_of(b, op, input, y < 0 ? 1 : 2, extent, shape, NULL);
}

int32_t hs__graph_constant(graph_builder *b, double number)
{
    return hs__graph_find(
        b, &(graph_node){ .op = OP_constant, .count = 1, .number = number, .tape_id = b->tape_id });
}

/* ---- Building -------------------------------------------------------------------------------- */

/* Adds a node of another graph, whose inputs are, as the map says, nodes of this one. */
static int32_t add_mapped(graph_builder *b, const graph_node *from, const int32_t *map)
{
    graph_node node = *from;
    if (node.inputs)
        node.input = hs__graph_alloc(b, (size_t)node.inputs * sizeof *node.input);
    for (int i = 0; !b->no_memory && i < node.inputs; i++)
        node.input[i] = map[from->input[i]];
    b->tape_id = node.tape_id;
    return b->no_memory ? 0 : hs__graph_add(b, &node);
}

/* Marks the nodes that the outputs need; returns their number. */
static size_t mark_live(const plan_graph *graph, size_t outputs, bool *live)
{
    size_t count = 0;
    for (size_t i = 0; i < outputs; i++)
        live[graph->output[i]] = true;
    for (int32_t id = graph->nodes - 1; id >= 0; id--) {
        count += live[id];
        for (int i = 0; live[id] && i < graph->node[id].inputs; i++)
            live[graph->node[id].input[i]] = true;
    }
    return count;
}

bool hs__graph_rewrite(graph_builder *b, const plan_graph *from)
{
    enum { NODES_BETWEEN_LOOKS = 4096 }; /* for an interruption */
    const size_t nodes = (size_t)from->nodes + 1, outputs = b->plan->request->outputs;
    plan_graph *to = b->graph;
    bool *live = hs__pass_alloc(b->plan, nodes, sizeof *live), interrupted = false;
    int32_t *map = hs__pass_alloc(b->plan, nodes, sizeof *map);
    *to = (plan_graph){ .output = hs_arena_alloc(b->plan->arena, outputs * sizeof *to->output) };
    bool ok = live && map && to->output;
    if (ok) {
        const size_t count = mark_live(from, outputs, live);
        to->live = from->live ? from->live : count;
    }
    for (int32_t id = 0; ok && id < from->nodes; id++) {
        if (id % NODES_BETWEEN_LOOKS == NODES_BETWEEN_LOOKS - 1)
            interrupted = hs__plan_is_interrupted(b->plan);
        if (live[id] && !interrupted)
            map[id] = add_mapped(b, &from->node[id], map);
        ok = !interrupted && !b->no_memory;
    }
    for (size_t i = 0; ok && i < outputs; i++)
        to->output[i] = map[from->output[i]];
    if (ok)
        return true;
    hs_free(to->node);
    to->node = NULL;
    return interrupted ? false : hs__plan_no_memory(b->plan);
}

bool hs__graph_replace(const hs_plan *plan, plan_graph *graph, graph_rule *rule)
{
    plan_graph made;
    if (!hs__graph_rewrite(&(graph_builder){ .plan = plan, .graph = &made, .rule = rule }, graph))
        return false;
    hs_free(graph->node);
    *graph = made;
    return true;
}

/* ---- Pass: nodes ----------------------------------------------------------------------------- */

/* The node of the tape; a number of copies is a constant of the plan. */
static graph_node taken_node(const plan_request *request, int32_t tape_id)
{
    const tape_node *from = &request->tape->node[tape_id];
    const op_attributes *a = from->attributes;
    graph_node node = { .op = from->op,
                        .extent = from->extent,
                        .shape = from->shape,
                        .count = hs_shape_count(&from->shape),
                        .inputs = from->inputs,
                        .input = (int32_t *)(uintptr_t)from->input,
                        .attributes = a,
                        .tape_id = tape_id };
    if (from->op == OP_constant || from->op == OP_count) {
        const size_t rows = a->axis == HS_ROW ? request->rows_per_start : 1;
        node.op = OP_constant;
        node.number = from->op == OP_constant ? a->number : (double)request->starts * (double)rows;
        node.attributes = NULL;
    }
    return node;
}

bool hs__graph_take_nodes(const hs_plan *plan, plan_graph *graph)
{
    const plan_request *request = plan->request;
    const size_t size = (size_t)request->tape->size;
    plan_graph all = { .node = hs__pass_alloc(plan, size, sizeof *all.node),
                       .nodes = request->tape->size,
                       .output = hs__pass_alloc(plan, request->outputs, sizeof *all.output) };
    if (!all.node || !all.output)
        return hs__plan_no_memory(plan);
    for (size_t id = 0; id < size; id++)
        all.node[id] = taken_node(request, (int32_t)id);
    for (size_t i = 0; i < request->outputs; i++)
        all.output[i] = request->wanted[i].id;
    return hs__graph_rewrite(&(graph_builder){ .plan = plan, .graph = graph }, &all);
}

/* ---- Pass: stretch --------------------------------------------------------------------------- */

/* Whether the kernel of a node takes all operands at one extent. */
static bool wants_one_extent(const plan_graph *graph, const graph_node *node)
{
    if (node->op != OP_matmul)
        return hs__op_table[node->op].traits & ONE_EXTENT;
    return node->extent != HS_SHARED && graph->node[node->input[0]].extent != HS_SHARED &&
           graph->node[node->input[1]].extent != HS_SHARED;
}

static int32_t stretch_node(graph_builder *b, graph_node *node)
{
    for (int i = 0; wants_one_extent(b->graph, node) && i < node->inputs; i++) {
        const graph_node *x = &b->graph->node[node->input[i]];
        if (x->extent == node->extent)
            continue;
        node->input[i] =
            hs__graph_make(b, OP_broadcast, node->input[i], -1, node->extent, &x->shape);
    }
    return NO_NODE;
}

bool hs__graph_stretch(const hs_plan *plan, plan_graph *graph)
{
    return hs__graph_replace(plan, graph, stretch_node);
}

/* ---- Pass: stages ---------------------------------------------------------------------------- */

static void count_uses(const hs_plan *plan, plan_graph *graph)
{
    for (size_t i = 0; i < plan->request->outputs; i++)
        graph->node[graph->output[i]].output = true;
    for (int32_t id = graph->nodes - 1; id >= 0; id--)
        for (int i = 0; !is_unused(&graph->node[id]) && i < graph->node[id].inputs; i++)
            graph->node[graph->node[id].input[i]].uses++;
}

bool hs__graph_set_stages(const hs_plan *plan, plan_graph *graph)
{
    count_uses(plan, graph);
    for (int32_t id = 0; id < graph->nodes; id++) {
        graph_node *node = &graph->node[id];
        const bool outside = node->op == OP_bound || node->op == OP_tensor || node->op == OP_input;
        bool batch_input = false, late_input = false;
        node->outside = outside ? graph->outsides++ : -1;
        for (int i = 0; i < node->inputs; i++) {
            const graph_node *x = &graph->node[node->input[i]];
            batch_input = batch_input || x->extent != HS_SHARED;
            late_input = late_input || x->sums_batch || x->stage == STAGE_AFTER;
        }
        node->sums_batch = node->extent == HS_SHARED && batch_input;
        const bool of_shard = node->extent != HS_SHARED || node->sums_batch;
        if (late_input && of_shard)
            return hs__plan_fail(
                plan, HS_EEXTENT, id,
                "%s: a value for each %s needs a sum over the whole batch, which is "
                "known only when all rows are done; compute the sum in a plan of its "
                "own and feed it to this one as a shared input",
                hs__op_table[node->op].name,
                hs_extent_name(node->extent == HS_SHARED ? HS_ROW : node->extent));
        node->stage = of_shard ? STAGE_SHARD : late_input ? STAGE_AFTER : STAGE_BEFORE;
    }
    return true;
}

/* ---- Kinds of nodes -------------------------------------------------------------------------- */

bool hs__graph_is_view(const plan_graph *graph, const graph_node *node)
{
    if (node->op == OP_reshape || node->op == OP_stop)
        return true;
    if (node->op != OP_slice)
        return false;
    const hs_shape *shape = &graph->node[node->input[0]].shape;
    for (int i = 0; i < node->attributes->axis; i++)
        if (shape->dim[i] != 1)
            return false;
    return true;
}

bool hs__graph_is_layer(const plan_graph *graph, int32_t id, plan_layer *layer)
{
    const graph_node *node = &graph->node[id];
    if (node->op != OP_matmul || node->extent == HS_SHARED)
        return false;
    const bool *t = node->attributes->transpose;
    for (int i = 0; i < 2; i++) {
        const int32_t matrix = node->input[i], vector = node->input[1 - i];
        if (graph->node[matrix].extent != HS_SHARED || node->shape.dim[1 - i] != 1)
            continue;
        /* y = x B is B' x */
        *layer = (plan_layer){ id,          matrix,
                               vector,      i ? !t[1] : t[0],
                               node->count, graph->node[vector].count };
        return true;
    }
    return false;
}
