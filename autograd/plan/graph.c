/* First pass: the nodes that the outputs need, without repetitions and identities. */
#include "graph_internal.h"

#include <stdarg.h>
#include <string.h>

bool hs__plan_fail(hs_plan *plan, hs_status status, int32_t node, const char *format, ...)
{
    const tape_node *where = &plan->tape->node[plan->node[node].tape_id];
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hs_tape_fail(plan->tape, status, where->at, "plan: %s", text);
    return false;
}

bool hs__plan_no_memory(hs_plan *plan)
{
    hs_tape_fail(plan->tape, HS_ENOMEM, "hs_plan_new", "out of memory");
    return false;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_node(const plan_node *node)
{
    uint64_t hash = mix((uint64_t)node->op, (uint64_t)node->extent);
    for (int i = 0; i < node->inputs; i++)
        hash = mix(hash, (uint64_t)node->input[i]);
    hash = mix(hash, node->count);
    uint64_t bits;
    memcpy(&bits, &node->number, sizeof bits);
    return mix(hash, bits);
}

static bool same_node(const hs_plan *plan, const plan_node *a, const plan_node *b)
{
    if (a->op != b->op || a->extent != b->extent || a->inputs != b->inputs ||
        !hs_shape_equal(&a->shape, &b->shape) || memcmp(&a->number, &b->number, sizeof a->number))
        return false;
    for (int i = 0; i < a->inputs; i++)
        if (a->input[i] != b->input[i])
            return false;
    if (a->op == OP_input)
        return a->tape_id == b->tape_id;
    return hs__attributes_equal(a->attributes, b->attributes, a->count * plan->element);
}

static int32_t append(hs_plan *plan, const plan_node *node)
{
    if (plan->nodes == plan->capacity) {
        const int32_t capacity = plan->capacity ? plan->capacity * 2 : 128;
        plan_node *grown = hs_grow(plan->node, (size_t)plan->nodes * sizeof *grown,
                                   (size_t)capacity * sizeof *grown);
        if (!grown)
            return -1;
        plan->node = grown;
        plan->capacity = capacity;
    }
    plan->node[plan->nodes] = *node;
    return plan->nodes++;
}

/* The sums over features that a value needs one after the other. */
static int32_t level_of(const hs_plan *plan, const plan_node *node)
{
    int32_t level = 0;
    bool joins = node->op == OP_matmul || node->op == OP_max_over || node->op == OP_logsumexp ||
                 node->op == OP_call || node->op == OP_call_grad || node->op == OP_call_hvp;
    for (int i = 0; i < node->inputs; i++) {
        const plan_node *in = &plan->node[node->input[i]];
        joins = joins || (node->op == OP_sum_to && !has_shape(in, &node->shape));
        level = in->level > level ? in->level : level;
    }
    return level + joins;
}

/* The free slot for a node, or the slot of an equal one. */
static uint32_t slot_of(const hs_plan *plan, const node_table *table, const plan_node *node)
{
    uint32_t at = (uint32_t)hash_node(node) & table->mask;
    while (table->slot[at] >= 0 && !same_node(plan, &plan->node[table->slot[at]], node))
        at = (at + 1) & table->mask;
    return at;
}

/* Makes room for one more node: half of the slots stay free. */
static bool grow_table(const hs_plan *plan, node_table *table)
{
    if ((uint32_t)plan->nodes < table->mask / 2)
        return true;
    const uint32_t slots = table->mask ? 2 * (table->mask + 1) : 256;
    int32_t *slot = hs_alloc(slots * sizeof *slot);
    if (!slot)
        return false;
    memset(slot, -1, slots * sizeof *slot);
    hs_free(table->slot);
    table->slot = slot;
    table->mask = slots - 1;
    for (int32_t id = 0; id < plan->nodes; id++)
        slot[slot_of(plan, table, &plan->node[id])] = id;
    return true;
}

int32_t hs__graph_find(hs_plan *plan, node_table *table, const plan_node *node)
{
    if (!grow_table(plan, table))
        return -1;
    const uint32_t at = slot_of(plan, table, node);
    if (table->slot[at] < 0) {
        table->slot[at] = append(plan, node);
        if (table->slot[at] >= 0)
            plan->node[table->slot[at]].level = level_of(plan, node);
    }
    return table->slot[at];
}

/* Ops that take all their operands at one extent get the narrower ones stretched. */
static bool stretch_inputs(hs_plan *plan, node_table *table, plan_node *node)
{
    const bool lane_product = node->op == OP_matmul && node->extent != HS_SHARED &&
                              plan->node[node->input[0]].extent != HS_SHARED &&
                              plan->node[node->input[1]].extent != HS_SHARED;
    if (!lane_product && node->op != OP_concat && node->op != OP_call_hvp)
        return true;
    for (int i = 0; i < node->inputs; i++) {
        const plan_node *x = &plan->node[node->input[i]];
        if (x->extent == node->extent)
            continue;
        int32_t *source = hs_arena_alloc(&plan->arena, sizeof *source);
        if (!source)
            return false;
        *source = node->input[i];
        const plan_node wide = { .op = OP_broadcast,
                                 .extent = node->extent,
                                 .shape = x->shape,
                                 .count = x->count,
                                 .inputs = 1,
                                 .input = source,
                                 .tape_id = node->tape_id };
        if ((node->input[i] = hs__graph_find(plan, table, &wide)) < 0)
            return false;
    }
    return true;
}

int32_t hs__graph_add(hs_plan *plan, node_table *table, plan_node *node)
{
    const int32_t other = hs__graph_simplify(plan, table, node);
    if (other != -1)
        return other < 0 ? -1 : other;
    return stretch_inputs(plan, table, node) ? hs__graph_find(plan, table, node) : -1;
}

int32_t hs__graph_make(hs_plan *plan, node_table *table, op_code op, int32_t a, int32_t b,
                       hs_extent extent, const hs_shape *shape, int32_t tape_id)
{
    int32_t *input = hs_arena_alloc(&plan->arena, 2 * sizeof *input);
    if (!input)
        return -1;
    input[0] = a;
    input[1] = b;
    plan_node node = { .op = op,
                       .extent = extent,
                       .shape = *shape,
                       .count = hs_shape_count(shape),
                       .inputs = b < 0 ? 1 : 2,
                       .input = input,
                       .tape_id = tape_id };
    return hs__graph_add(plan, table, &node);
}

static int32_t add_node(hs_plan *plan, node_table *table, int32_t tape_id, const int32_t *map)
{
    const tape_node *from = &plan->tape->node[tape_id];
    plan_node node = { .op = from->op,
                       .extent = from->extent,
                       .shape = from->shape,
                       .count = hs_shape_count(&from->shape),
                       .inputs = from->inputs,
                       .attributes = from->attributes,
                       .tape_id = tape_id };
    if (node.op == OP_constant)
        return hs__graph_constant(plan, table, from->attributes->number, tape_id);
    if (from->inputs) {
        node.input = hs_arena_alloc(&plan->arena, (size_t)from->inputs * sizeof *node.input);
        if (!node.input)
            return -1;
        for (int i = 0; i < from->inputs; i++)
            node.input[i] = map[from->input[i]];
    }
    /* A traced plan keeps every node apart, so that the first bad one can be named. */
    if (plan->trace && node.op != OP_count)
        return stretch_inputs(plan, table, &node) ? hs__graph_find(plan, table, &node) : -1;
    /* A sum of softplus may be taken from the sigmoid, if a gradient needs that too: then it comes first. */
    if (node.op == OP_softplus && hs__graph_make(plan, table, OP_sigmoid, node.input[0], -1,
                                                 node.extent, &node.shape, tape_id) < 0)
        return -1;
    return hs__graph_add(plan, table, &node);
}

static void mark_live(const hs_plan *plan, bool *live)
{
    const tape_node *tape = plan->tape->node;
    int32_t last = -1;
    for (size_t i = 0; i < plan->outputs; i++) {
        live[plan->output[i].var.id] = true;
        if (plan->output[i].var.id > last)
            last = plan->output[i].var.id;
    }
    for (int32_t id = last; id >= 0; id--)
        for (int i = 0; live[id] && i < tape[id].inputs; i++)
            live[tape[id].input[i]] = true;
}

/* Decides when each node is computed, and refuses what would need two passes over the batch. */
static bool assign_stages(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        bool batch_input = false, late_input = false;
        for (int i = 0; i < node->inputs; i++) {
            const plan_node *x = &plan->node[node->input[i]];
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

/* Values that lie in memory outside of the plan. */
static bool list_outsides(hs_plan *plan)
{
    int32_t count = 0;
    for (int32_t id = 0; id < plan->nodes; id++)
        count += plan->node[id].op == OP_bound || plan->node[id].op == OP_tensor ||
                 plan->node[id].op == OP_input;
    plan->outside = hs_arena_alloc(&plan->arena, (size_t)(count + 1) * sizeof *plan->outside);
    plan->outside_now =
        hs_arena_alloc(&plan->arena, (size_t)(count + 1) * sizeof *plan->outside_now);
    if (!plan->outside || !plan->outside_now)
        return false;
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (node->op != OP_bound && node->op != OP_tensor && node->op != OP_input)
            continue;
        const op_attributes *a = node->attributes;
        plan->outside[plan->outsides] = (outside_value){ node->tape_id, a ? a->data : NULL,
                                                         a ? a->base : NULL, a ? a->offset : 0 };
        node->at = node->at_outside = (place){ IN_OUTSIDE, plan->outsides++, 0 };
    }
    return true;
}

/* Makes the nodes of the outputs. */
static bool build(hs_plan *plan, const bool *live, int32_t *map, bool expands, bool *expanded)
{
    node_table table = { .expands = expands };
    bool ok = true;
    plan->node = NULL;
    plan->nodes = plan->capacity = 0;
    for (int32_t id = 0; ok && id < plan->tape->size; id++) {
        if (!live[id])
            continue;
        map[id] = add_node(plan, &table, id, map);
        ok = map[id] >= 0;
    }
    for (size_t i = 0; ok && i < plan->outputs; i++)
        plan->output[i].node = map[plan->output[i].var.id];
    hs_free(table.slot);
    *expanded = table.expanded;
    return ok;
}

/* Where there are products, they take the time. */
static bool has_products(const hs_plan *plan)
{
    bool found = false;
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        found =
            found || (node->op == OP_matmul && (plan->node[node->input[0]].extent != HS_SHARED ||
                                                plan->node[node->input[1]].extent != HS_SHARED));
    }
    return found;
}

/* Makes the graph again with sums taken apart, and keeps it if it costs less. */
static bool try_expanding(hs_plan *plan, const bool *live, int32_t *map)
{
    plan_node *const node = plan->node;
    const int32_t nodes = plan->nodes, capacity = plan->capacity;
    double before, after;
    bool expanded;
    bool ok = hs__graph_cost(plan, &before) && build(plan, live, map, true, &expanded) &&
              hs__graph_cost(plan, &after);
    const bool keep = ok && expanded && (after < before || hs__graph_always_expands);
    if (keep) {
        hs_free(node);
        return true;
    }
    if (plan->node != node)
        hs_free(plan->node);
    plan->node = node;
    plan->nodes = nodes;
    plan->capacity = capacity;
    return ok;
}

bool hs__plan_build_graph(hs_plan *plan)
{
    const size_t size = (size_t)plan->tape->size;
    bool *live = hs_alloc_zero(size, sizeof *live), expanded;
    int32_t *map = hs_alloc(size * sizeof *map);
    int32_t *output = hs_alloc((plan->outputs + 1) * sizeof *output);
    bool ok = live && map && output;
    if (ok) {
        mark_live(plan, live);
        for (size_t id = 0; id < size; id++)
            plan->nodes_live += live[id];
        ok = build(plan, live, map, false, &expanded);
    }
    for (size_t i = 0; ok && i < plan->outputs; i++)
        output[i] = plan->output[i].node;
    if (ok && !plan->trace && !has_products(plan)) {
        const plan_node *const first = plan->node;
        ok = try_expanding(plan, live, map);
        for (size_t i = 0; plan->node == first && i < plan->outputs; i++)
            plan->output[i].node = output[i];
    }
    hs_free(live);
    hs_free(map);
    hs_free(output);
    ok = ok && list_outsides(plan);
    return ok ? assign_stages(plan) : hs__plan_no_memory(plan);
}
