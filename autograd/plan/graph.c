/* The graph: taken from the tape, rewritten node by node, and what holds for its nodes afterwards. */
#include "plan_internal.h"

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
    uint64_t hash = mix((uint64_t)node->op, (uint64_t)node->extent);
    for (int i = 0; i < node->inputs; i++)
        hash = mix(hash, (uint64_t)node->input[i]);
    hash = mix(hash, node->count);
    const op_attributes *a = node->attributes;
    if (a) /* the ones that tell most nodes of an op apart */
        hash =
            mix(mix(hash, a->offset + a->first), (uint64_t)a->axis + ((uint64_t)a->stream << 32));
    if (node->op == OP_input)
        hash = mix(hash, (uint64_t)node->tape_id);
    uint64_t bits;
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
    graph_slot *slot = hs_alloc(slots * sizeof *slot);
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
    hs_free(b->slot);
    b->slot = slot;
    b->mask = slots - 1;
    return true;
}

/* ---- New nodes ------------------------------------------------------------------------------- */

/* The sums over features that a value needs one after the other. */
static int32_t level_of(const plan_graph *graph, const graph_node *node)
{
    int32_t level = 0;
    bool joins = hs__op_table[node->op].traits & OP_JOINS_FEATURES;
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
    if (b->form) {
        const struct linear_form **form =
            hs_grow(b->form, (old + 1) * sizeof *form, (capacity + 1) * sizeof *form);
        if (!form)
            return false;
        b->form = form;
    }
    graph->capacity = (int32_t)capacity;
    return true;
}

static int32_t append(graph_builder *b, const graph_node *node)
{
    plan_graph *graph = b->graph;
    if (!grow_graph(b))
        return -1;
    const int32_t id = graph->nodes++;
    graph->node[id] = *node;
    graph->node[id].level = level_of(graph, node);
    if (b->form)
        b->form[id] = NULL;
    return id;
}

int32_t hs__graph_find(graph_builder *b, const graph_node *node)
{
    if (!grow_table(b))
        return -1;
    const uint32_t hash = (uint32_t)hash_node(node);
    graph_slot *slot = slot_of(b, node, hash);
    if (slot->id < 0)
        *slot = (graph_slot){ hash, append(b, node) };
    return slot->id;
}

int32_t hs__graph_add(graph_builder *b, graph_node *node)
{
    const int32_t other = b->rule ? b->rule(b, node) : NO_NODE;
    if (other == NO_NODE)
        return hs__graph_find(b, node);
    return other < 0 ? -1 : other;
}

int32_t hs__graph_make(graph_builder *b, op_code op, int32_t x, int32_t y, hs_extent extent,
                       const hs_shape *shape, int32_t tape_id)
{
    int32_t *input = hs_arena_alloc(b->plan->arena, 2 * sizeof *input);
    if (!input)
        return -1;
    input[0] = x;
    input[1] = y;
    graph_node node = { .op = op,
                        .extent = extent,
                        .shape = *shape,
                        .count = hs_shape_count(shape),
                        .inputs = y < 0 ? 1 : 2,
                        .input = input,
                        .tape_id = tape_id };
    return hs__graph_add(b, &node);
}

int32_t hs__graph_constant(graph_builder *b, double number, int32_t tape_id)
{
    const graph_node node = { .op = OP_constant, .count = 1, .number = number, .tape_id = tape_id };
    return hs__graph_find(b, &node);
}

/* ---- Building -------------------------------------------------------------------------------- */

/* Puts the inputs of a node, as the map says, into memory of its own. */
static bool map_inputs(const hs_plan *plan, graph_node *node, const int32_t *input,
                       const int32_t *map)
{
    if (node->inputs == 0)
        return true;
    node->input = hs_arena_alloc(plan->arena, (size_t)node->inputs * sizeof *node->input);
    for (int i = 0; node->input && i < node->inputs; i++)
        node->input[i] = map[input[i]];
    return node->input != NULL;
}

enum { NODES_BETWEEN_LOOKS = 4096 }; /* for an interruption */

static bool is_time_to_look(int32_t id)
{
    return id % NODES_BETWEEN_LOOKS == NODES_BETWEEN_LOOKS - 1;
}

/* Ends a building: outputs are those of the source, as the map says. Frees what is not needed any more. */
static bool finish(graph_builder *b, bool ok, const int32_t *output, int32_t *map, bool *live)
{
    const plan_request *request = b->plan->request;
    plan_graph *graph = b->graph;
    graph->output = hs_arena_alloc(b->plan->arena, request->outputs * sizeof *graph->output);
    for (size_t i = 0; ok && graph->output && i < request->outputs; i++)
        graph->output[i] = map[output ? output[i] : request->wanted[i].id];
    hs_free(map);
    hs_free(live);
    hs_free(b->slot);
    hs_free((void *)b->form);
    if (ok && graph->output)
        return true;
    hs_free(graph->node);
    graph->node = NULL;
    return *b->plan->status ? false : hs__plan_no_memory(b->plan);
}

bool hs__graph_rewrite(const hs_plan *plan, const plan_graph *from, plan_graph *to,
                       graph_rule *rule, bool *expanded)
{
    const size_t nodes = (size_t)from->nodes + 1;
    bool *live = hs_alloc_zero(nodes, sizeof *live);
    int32_t *map = hs_alloc(nodes * sizeof *map);
    *to = (plan_graph){ .live = from->live };
    graph_builder b = { .plan = plan, .graph = to, .rule = rule };
    b.form = expanded ? hs_alloc(sizeof *b.form) : NULL;
    bool ok = live && map && (b.form || !expanded);
    for (size_t i = 0; ok && i < plan->request->outputs; i++)
        live[from->output[i]] = true;
    for (int32_t id = from->nodes - 1; ok && id >= 0; id--)
        for (int i = 0; live[id] && i < from->node[id].inputs; i++)
            live[from->node[id].input[i]] = true;
    for (int32_t id = 0; ok && id < from->nodes; id++) {
        ok = !is_time_to_look(id) || !hs__plan_is_interrupted(plan);
        if (!ok || !live[id])
            continue;
        graph_node node = from->node[id];
        ok = map_inputs(plan, &node, from->node[id].input, map);
        map[id] = ok ? hs__graph_add(&b, &node) : -1;
        ok = map[id] >= 0;
    }
    if (expanded)
        *expanded = b.expanded;
    return finish(&b, ok, from->output, map, live);
}

bool hs__graph_replace(const hs_plan *plan, plan_graph *graph, graph_rule *rule)
{
    plan_graph made;
    if (!hs__graph_rewrite(plan, graph, &made, rule, NULL))
        return false;
    hs_free(graph->node);
    *graph = made;
    return true;
}

/* ---- Pass: nodes ----------------------------------------------------------------------------- */

static void mark_live(const plan_request *request, bool *live)
{
    const tape_node *tape = request->tape->node;
    for (size_t i = 0; i < request->outputs; i++)
        live[request->wanted[i].id] = true;
    for (int32_t id = request->tape->size - 1; id >= 0; id--)
        for (int i = 0; live[id] && i < tape[id].inputs; i++)
            live[tape[id].input[i]] = true;
}

static int32_t take_node(graph_builder *b, int32_t tape_id, const int32_t *map)
{
    const plan_request *request = b->plan->request;
    const tape_node *from = &request->tape->node[tape_id];
    if (from->op == OP_constant)
        return hs__graph_constant(b, from->attributes->number, tape_id);
    if (from->op == OP_count)
        return hs__graph_constant(b,
                                  (double)request->starts * (from->attributes->axis == HS_ROW
                                                                 ? (double)request->rows_per_start
                                                                 : 1.0),
                                  tape_id);
    graph_node node = { .op = from->op,
                        .extent = from->extent,
                        .shape = from->shape,
                        .count = hs_shape_count(&from->shape),
                        .inputs = from->inputs,
                        .attributes = from->attributes,
                        .tape_id = tape_id };
    return map_inputs(b->plan, &node, from->input, map) ? hs__graph_add(b, &node) : -1;
}

bool hs__graph_take_nodes(const hs_plan *plan, plan_graph *graph)
{
    const size_t size = (size_t)plan->request->tape->size + 1;
    bool *live = hs_alloc_zero(size, sizeof *live);
    int32_t *map = hs_alloc(size * sizeof *map);
    graph_builder b = { .plan = plan, .graph = graph };
    bool ok = live && map;
    if (ok)
        mark_live(plan->request, live);
    for (int32_t id = 0; ok && id < plan->request->tape->size; id++) {
        ok = !is_time_to_look(id) || !hs__plan_is_interrupted(plan);
        if (!ok || !live[id])
            continue;
        graph->live++;
        map[id] = take_node(&b, id, map);
        ok = map[id] >= 0;
    }
    return finish(&b, ok, NULL, map, live);
}

/* ---- Pass: stretch --------------------------------------------------------------------------- */

/* Whether the kernel of a node takes all operands at one extent. */
static bool wants_one_extent(const plan_graph *graph, const graph_node *node)
{
    if (node->op != OP_matmul)
        return hs__op_table[node->op].traits & OP_ONE_EXTENT;
    return node->extent != HS_SHARED && graph->node[node->input[0]].extent != HS_SHARED &&
           graph->node[node->input[1]].extent != HS_SHARED;
}

static int32_t stretch_node(graph_builder *b, graph_node *node)
{
    for (int i = 0; wants_one_extent(b->graph, node) && i < node->inputs; i++) {
        const graph_node *x = &b->graph->node[node->input[i]];
        if (x->extent == node->extent)
            continue;
        int32_t *source = hs_arena_alloc(b->plan->arena, sizeof *source);
        if (!source)
            return OUT_OF_MEMORY;
        *source = node->input[i];
        const graph_node wide = { .op = OP_broadcast,
                                  .extent = node->extent,
                                  .shape = x->shape,
                                  .count = x->count,
                                  .inputs = 1,
                                  .input = source,
                                  .tape_id = node->tape_id };
        if ((node->input[i] = hs__graph_find(b, &wide)) < 0)
            return OUT_OF_MEMORY;
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

/* Numbers the values that lie in memory outside of the plan. */
static void number_outsides(plan_graph *graph)
{
    for (int32_t id = 0; id < graph->nodes; id++) {
        graph_node *node = &graph->node[id];
        const bool outside = node->op == OP_bound || node->op == OP_tensor || node->op == OP_input;
        node->outside = outside ? graph->outsides++ : -1;
    }
}

bool hs__graph_set_stages(const hs_plan *plan, plan_graph *graph)
{
    count_uses(plan, graph);
    number_outsides(graph);
    for (int32_t id = 0; id < graph->nodes; id++) {
        graph_node *node = &graph->node[id];
        bool batch_input = false, late_input = false;
        for (int i = 0; i < node->inputs; i++) {
            const graph_node *x = &graph->node[node->input[i]];
            batch_input = batch_input || x->extent != HS_SHARED;
            late_input = late_input || x->sums_batch || x->stage == STAGE_AFTER;
        }
        node->sums_batch = node->extent == HS_SHARED && batch_input;
        if (late_input && (node->extent != HS_SHARED || node->sums_batch))
            return hs__plan_fail(
                plan, HS_EEXTENT, id,
                "%s: a value for each %s needs a sum over the whole batch, which is "
                "known only when all rows are done; compute the sum in a plan of its "
                "own and feed it to this one as a shared input",
                hs__op_table[node->op].name,
                hs_extent_name(node->extent == HS_SHARED ? HS_ROW : node->extent));
        node->stage = node->extent != HS_SHARED || node->sums_batch ? STAGE_SHARD
                      : late_input                                  ? STAGE_AFTER
                                                                    : STAGE_BEFORE;
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
