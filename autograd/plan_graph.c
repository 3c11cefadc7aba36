/* First pass: the nodes that the outputs need, without repetitions and identities. */
#include "plan_internal.h"

#include <stdarg.h>
#include <string.h>

bool plan_fail(hs_plan *plan, hs_status status, int32_t node, const char *format, ...)
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

bool plan_no_memory(hs_plan *plan)
{
    hs_tape_fail(plan->tape, HS_ENOMEM, "hs_plan_new", "out of memory");
    return false;
}

/* A hash table of nodes by what they compute, open addressing; -1 is free. */
typedef struct {
    int32_t *slot;
    uint32_t mask;
} node_table;

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
    return attributes_equal(a->attributes, b->attributes, a->count * plan->element);
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

/* The number of an equal node, new or old; -1 without memory. */
static int32_t find_or_append(hs_plan *plan, node_table *table, const plan_node *node)
{
    uint32_t at = (uint32_t)hash_node(node) & table->mask;
    for (; table->slot[at] >= 0; at = (at + 1) & table->mask)
        if (same_node(plan, &plan->node[table->slot[at]], node))
            return table->slot[at];
    return table->slot[at] = append(plan, node);
}

static int32_t add_constant(hs_plan *plan, node_table *table, double number, int32_t tape_id)
{
    const plan_node node = { .op = OP_constant, .count = 1, .number = number, .tape_id = tape_id };
    return find_or_append(plan, table, &node);
}

static int32_t constant_or_none(hs_plan *plan, node_table *table, double number, int32_t tape_id)
{
    const int32_t id = add_constant(plan, table, number, tape_id);
    return id < 0 ? -2 : id;
}

static bool is_constant(const hs_plan *plan, int32_t id, double number)
{
    return plan->node[id].op == OP_constant && plan->node[id].number == number;
}

/* True if the value of `id` has the shape and extent of `node`, so that it can stand for it. */
static bool stands_for(const hs_plan *plan, int32_t id, const plan_node *node)
{
    const plan_node *x = &plan->node[id];
    return x->extent == node->extent && hs_shape_equal(&x->shape, &node->shape);
}

/* A constant as kernels see it. */
static double in_type(const hs_plan *plan, double number)
{
    return plan->dtype == HS_F32 ? (double)(float)number : number;
}

/* Folds an op on constants; false if it is not one of the few that gradients make. */
static bool fold(op_code op, double a, double b, double *result)
{
    switch (op) {
    case OP_add:
        *result = a + b;
        return true;
    case OP_sub:
        *result = a - b;
        return true;
    case OP_mul:
        *result = a * b;
        return true;
    case OP_div:
        *result = a / b;
        return true;
    case OP_neg:
        *result = -a;
        return true;
    case OP_square:
        *result = a * a;
        return true;
    default:
        return false;
    }
}

/* The node under a reshape, or the node itself. */
static int32_t under_reshape(const hs_plan *plan, int32_t id)
{
    return plan->node[id].op == OP_reshape ? plan->node[id].input[0] : id;
}

/* Which operand of the multiplication that makes operand i of a product is one number, for the batch or for each row,
 * while the other has the shape of the result; -1: none is. */
static int factor_of(const hs_plan *plan, const plan_node *product, int i)
{
    const plan_node *scaled = &plan->node[under_reshape(plan, product->input[i])];
    for (int k = 0; scaled->op == OP_mul && k < 2; k++) {
        const plan_node *factor = &plan->node[scaled->input[k]];
        if (factor->count == 1 && factor->extent <= product->extent &&
            stands_for(plan, scaled->input[1 - k], scaled))
            return k;
    }
    return -1;
}

/* Rewrites (number * vector) * shared matrix as number * (vector * matrix), if the result has fewer coordinates than
 * the vector. Gradients of sums make such products. False without memory. */
static bool pull_factor_out(hs_plan *plan, node_table *table, plan_node *node)
{
    for (int i = 0; i < 2; i++) {
        const int32_t in = node->input[i], scaled = under_reshape(plan, in);
        const int k = factor_of(plan, node, i);
        if (k < 0 || plan->node[scaled].count <= node->count || node->extent == HS_SHARED ||
            plan->node[node->input[1 - i]].extent != HS_SHARED)
            continue;
        const int32_t factor = plan->node[scaled].input[k];
        int32_t *inputs = hs_arena_alloc(&plan->arena, 3 * sizeof *inputs);
        if (!inputs)
            return false;
        int32_t vector = inputs[2] = plan->node[scaled].input[1 - k];
        if (in != scaled) {
            plan_node shaped = plan->node[in];
            shaped.input = inputs + 2;
            vector = find_or_append(plan, table, &shaped);
        }
        plan_node product = *node;
        product.input = inputs;
        inputs[i] = vector;
        inputs[1 - i] = node->input[1 - i];
        const int32_t made = vector < 0 ? -1 : find_or_append(plan, table, &product);
        if (made < 0)
            return false;
        node->op = OP_mul;
        node->attributes = plan->node[scaled].attributes;
        node->input[0] = factor < made ? factor : made;
        node->input[1] = factor < made ? made : factor;
        return true;
    }
    return true;
}

/* An existing node that has the value of `node`; -1 if there is none, -2 without memory. May rewrite
 * `node` into a simpler one. */
static int32_t simplify(hs_plan *plan, node_table *table, plan_node *node)
{
    int32_t *in = node->input;
    if (op_table[node->op].kind == KIND_ELEMENTWISE) {
        /* Elementwise kernels stretch their operands themselves. */
        for (int i = 0; i < node->inputs; i++)
            while (plan->node[in[i]].op == OP_broadcast)
                in[i] = plan->node[in[i]].input[0];
        double number;
        const plan_node *a = &plan->node[in[0]], *b = &plan->node[in[node->inputs - 1]];
        if (a->op == OP_constant && b->op == OP_constant && node->inputs <= 2 &&
            fold(node->op, in_type(plan, a->number), in_type(plan, b->number), &number)) {
            const int32_t folded =
                constant_or_none(plan, table, in_type(plan, number), node->tape_id);
            if (folded < 0 || stands_for(plan, folded, node))
                return folded;
            node->op = OP_broadcast;
            node->inputs = 1;
            in[0] = folded;
            return -1;
        }
        if ((node->op == OP_add || node->op == OP_mul) && in[0] > in[1]) {
            const int32_t swap = in[0];
            in[0] = in[1];
            in[1] = swap;
        }
    }
    switch (node->op) {
    case OP_copy:
    case OP_stop:
        return stands_for(plan, in[0], node) ? in[0] : -1;
    case OP_neg:
        if (plan->node[in[0]].op == OP_neg && stands_for(plan, plan->node[in[0]].input[0], node))
            return plan->node[in[0]].input[0];
        return -1;
    case OP_mul:
        for (int i = 0; i < 2; i++)
            if (is_constant(plan, in[i], 1) && stands_for(plan, in[1 - i], node))
                return in[1 - i];
        return -1;
    case OP_add:
        for (int i = 0; i < 2; i++)
            if (is_constant(plan, in[i], 0) && stands_for(plan, in[1 - i], node))
                return in[1 - i];
        return -1;
    case OP_sub:
        return is_constant(plan, in[1], 0) && stands_for(plan, in[0], node) ? in[0] : -1;
    case OP_div:
        return is_constant(plan, in[1], 1) && stands_for(plan, in[0], node) ? in[0] : -1;
    case OP_reshape:
        while (plan->node[in[0]].op == OP_reshape)
            in[0] = plan->node[in[0]].input[0];
        if (plan->node[in[0]].op == OP_broadcast &&
            plan->node[plan->node[in[0]].input[0]].count == 1) { /* one number, any shape */
            node->op = OP_broadcast;
            in[0] = plan->node[in[0]].input[0];
            return -1;
        }
        return stands_for(plan, in[0], node) ? in[0] : -1;
    case OP_broadcast:
        while (plan->node[in[0]].op == OP_broadcast)
            in[0] = plan->node[in[0]].input[0];
        return stands_for(plan, in[0], node) ? in[0] : -1;
    case OP_matmul:
        return pull_factor_out(plan, table, node) ? -1 : -2;
    case OP_count:
        return constant_or_none(plan, table,
                                (double)plan->starts * (node->attributes->axis == HS_ROW
                                                            ? (double)plan->rows_per_start
                                                            : 1.0),
                                node->tape_id);
    default:
        return -1;
    }
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
        if ((node->input[i] = find_or_append(plan, table, &wide)) < 0)
            return false;
    }
    return true;
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
    if (node.op == OP_constant) {
        const int32_t id = add_constant(plan, table, from->attributes->number, tape_id);
        return id;
    }
    if (from->inputs) {
        node.input = hs_arena_alloc(&plan->arena, (size_t)from->inputs * sizeof *node.input);
        if (!node.input)
            return -1;
        for (int i = 0; i < from->inputs; i++)
            node.input[i] = map[from->input[i]];
    }
    /* A traced plan keeps every node apart, so that the first bad one can be named. */
    if (!plan->trace || node.op == OP_count) {
        const int32_t other = simplify(plan, table, &node);
        if (other != -1)
            return other < 0 ? -1 : other;
    }
    if (!stretch_inputs(plan, table, &node))
        return -1;
    return find_or_append(plan, table, &node);
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
            return plan_fail(plan, HS_EEXTENT, id,
                             "%s: a value for each %s needs a sum over the whole batch, which is "
                             "known only when all rows are done; compute the sum in a plan of its "
                             "own and feed it to this one as a shared input",
                             op_table[node->op].name,
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

bool plan_build_graph(hs_plan *plan)
{
    const size_t size = (size_t)plan->tape->size;
    uint32_t slots = 64;
    while (slots < 4 * size)
        slots *= 2;
    bool *live = hs_alloc_zero(size, sizeof *live);
    int32_t *map = hs_alloc(size * sizeof *map);
    node_table table = { hs_alloc(slots * sizeof *table.slot), slots - 1 };
    bool ok = live && map && table.slot;
    if (ok) {
        memset(table.slot, -1, slots * sizeof *table.slot);
        mark_live(plan, live);
        for (int32_t id = 0; ok && id < (int32_t)size; id++) {
            if (!live[id])
                continue;
            plan->nodes_live++;
            map[id] = add_node(plan, &table, id, map);
            ok = map[id] >= 0;
        }
    }
    for (size_t i = 0; ok && i < plan->outputs; i++)
        plan->output[i].node = map[plan->output[i].var.id];
    hs_free(live);
    hs_free(map);
    hs_free(table.slot);
    ok = ok && list_outsides(plan);
    return ok ? assign_stages(plan) : plan_no_memory(plan);
}
