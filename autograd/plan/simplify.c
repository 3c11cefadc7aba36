/* Still the first pass: nodes whose values others have, and nodes that are simpler than those on the tape. */
#include "graph_internal.h"

int32_t hs__graph_constant(hs_plan *plan, node_table *table, double number, int32_t tape_id)
{
    const plan_node node = { .op = OP_constant, .count = 1, .number = number, .tape_id = tape_id };
    return hs__graph_find(plan, table, &node);
}

static int32_t constant_or_none(hs_plan *plan, node_table *table, double number, int32_t tape_id)
{
    const int32_t id = hs__graph_constant(plan, table, number, tape_id);
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

static void become(plan_node *node, op_code op, int32_t a, int32_t b)
{
    node->op = op;
    node->inputs = b < 0 ? 1 : 2;
    node->input[0] = a;
    if (b >= 0)
        node->input[1] = b;
}

/* The node under a reshape, or the node itself. */
static int32_t under_reshape(const hs_plan *plan, int32_t id)
{
    return plan->node[id].op == OP_reshape ? plan->node[id].input[0] : id;
}

/* Which operand of the multiplication that makes operand i of a product is one number, for the batch or for each row,
 * while the other has the shape of the result; SIGN if it is a negation, -1 if none is. */
enum { SIGN = 2 };
static int factor_of(const hs_plan *plan, const plan_node *product, int i)
{
    const plan_node *scaled = &plan->node[under_reshape(plan, product->input[i])];
    if (scaled->op == OP_neg && stands_for(plan, scaled->input[0], scaled))
        return SIGN;
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
        const int32_t factor = k == SIGN ? -1 : plan->node[scaled].input[k];
        int32_t *inputs = hs_arena_alloc(&plan->arena, 3 * sizeof *inputs);
        if (!inputs)
            return false;
        int32_t vector = inputs[2] = plan->node[scaled].input[k == 0];
        if (in != scaled) {
            plan_node shaped = plan->node[in];
            shaped.input = inputs + 2;
            vector = hs__graph_find(plan, table, &shaped);
        }
        plan_node product = *node;
        product.input = inputs;
        inputs[i] = vector;
        inputs[1 - i] = node->input[1 - i];
        const int32_t made = vector < 0 ? -1 : hs__graph_find(plan, table, &product);
        if (made < 0)
            return false;
        node->attributes = plan->node[scaled].attributes;
        if (k == SIGN)
            become(node, OP_neg, made, -1);
        else
            become(node, OP_mul, factor < made ? factor : made, factor < made ? made : factor);
        return true;
    }
    return true;
}

/* The parts that a value is joined from along an axis: itself, unless it is so joined. */
static int parts_of(const hs_plan *plan, int32_t id, int axis, const int32_t **parts)
{
    const plan_node *node = &plan->node[id];
    const bool joined = node->op == OP_concat && node->attributes->axis == axis;
    *parts = joined ? node->input : NULL;
    return joined ? node->inputs : 1;
}

/* Two values padded with zeros, of which one begins where the other ends, as gradients of slices: their sum is both
 * joined, and padded if they do not fill everything. Returns what hs__graph_simplify() does. */
static int32_t join_pads(hs_plan *plan, node_table *table, plan_node *node)
{
    const plan_node *pad[2] = { &plan->node[node->input[0]], &plan->node[node->input[1]] };
    for (int i = 0; i < 2; i++)
        if (pad[i]->op != OP_pad || pad[i]->extent != node->extent ||
            !has_shape(pad[i], &node->shape))
            return -1;
    const int axis = pad[0]->attributes->axis;
    if (pad[1]->attributes->axis != axis)
        return -1;
    const int low = pad[0]->attributes->first > pad[1]->attributes->first;
    const plan_node below = *pad[low], above = *pad[1 - low];
    const int32_t ends[2] = { below.input[0], above.input[0] };
    hs_shape shape = plan->node[ends[0]].shape;
    if (below.attributes->first + shape.dim[axis] != above.attributes->first)
        return -1;
    shape.dim[axis] += plan->node[ends[1]].shape.dim[axis];
    const int32_t *parts[2];
    const int count[2] = { parts_of(plan, ends[0], axis, &parts[0]),
                           parts_of(plan, ends[1], axis, &parts[1]) };
    op_attributes *attributes = hs_arena_alloc(&plan->arena, 2 * sizeof *attributes);
    int32_t *input =
        hs_arena_alloc(&plan->arena, (size_t)(count[0] + count[1] + 1) * sizeof *input);
    if (!attributes || !input)
        return -2;
    for (int k = 0, at = 0; k < 2; k++)
        for (int i = 0; i < count[k]; i++)
            input[at++] = parts[k] ? parts[k][i] : ends[k];
    attributes[0] = attributes[1] = (op_attributes){ .axis = axis };
    plan_node joined = { .op = OP_concat,
                         .extent = node->extent,
                         .shape = shape,
                         .count = hs_shape_count(&shape),
                         .inputs = count[0] + count[1],
                         .input = input,
                         .attributes = &attributes[0],
                         .tape_id = node->tape_id };
    const int32_t id = hs__graph_add(plan, table, &joined);
    if (id < 0)
        return -2;
    attributes[1].first = below.attributes->first;
    attributes[1].end = above.attributes->end;
    if (attributes[1].first == 0 && attributes[1].end == 0)
        return id;
    node->op = OP_pad;
    node->inputs = 1;
    node->input[0] = id;
    node->attributes = &attributes[1];
    return -1;
}

/* If `id` is a constant times a value: that value, and the constant. */
static int32_t constant_multiple(const hs_plan *plan, int32_t id, double *constant)
{
    const plan_node *node = &plan->node[id];
    *constant = -1;
    if (node->op == OP_neg)
        return node->input[0];
    for (int i = 0; node->op == OP_mul && i < 2; i++)
        if (plan->node[node->input[i]].op == OP_constant) {
            *constant = in_type(plan, plan->node[node->input[i]].number);
            return node->input[1 - i];
        }
    return -1;
}

/* Makes `node` a constant times a value; false without memory. */
static bool become_multiple(hs_plan *plan, node_table *table, plan_node *node, double constant,
                            int32_t of)
{
    int32_t factor = -1;
    if (constant != -1 && (factor = hs__graph_constant(plan, table, constant, node->tape_id)) < 0)
        return false;
    become(node, factor < 0 ? OP_neg : OP_mul, of, factor);
    return true;
}

/* Products of constants stay far from the ends of f32's range, where rounding would be coarse. */
static bool is_moderate(double x)
{
    return (x > 1e-15 && x < 1e15) || (x < -1e-15 && x > -1e15);
}

/* (-a) b as a (-b), where b has fewer numbers; input i of the product is -a. False without memory. */
static bool negate_smaller(hs_plan *plan, node_table *table, plan_node *node, int i)
{
    const int32_t a = plan->node[node->input[i]].input[0];
    const plan_node b = plan->node[node->input[1 - i]];
    const int32_t negative = hs__graph_make(plan, table, OP_neg, node->input[1 - i], -1, b.extent,
                                            &b.shape, node->tape_id);
    if (negative >= 0)
        become(node, OP_mul, a, negative);
    return negative >= 0;
}

/* Constants are gathered in front of a value, and signs become those of additions: gradients of squares are
 * c x + c x. Sets *changed if there was something to rewrite; false without memory. */
static bool gather_constants(hs_plan *plan, node_table *table, plan_node *node, bool *changed)
{
    const int32_t *in = node->input;
    double c = 1, d = 1;
    int32_t of = -1;
    *changed = true;
    switch (node->op) {
    case OP_add:
        if (in[0] == in[1]) {
            of = constant_multiple(plan, in[0], &c);
            if (of >= 0 && is_moderate(c))
                return become_multiple(plan, table, node, 2 * c, of);
            return become_multiple(plan, table, node, 2, in[0]);
        }
        for (int i = 0; i < 2; i++)
            if (plan->node[in[i]].op == OP_neg) {
                become(node, OP_sub, in[1 - i], plan->node[in[i]].input[0]);
                return true;
            }
        break;
    case OP_sub:
        if (plan->node[in[1]].op == OP_neg) {
            become(node, OP_add, in[0], plan->node[in[1]].input[0]);
            return true;
        }
        break;
    case OP_mul:
        if (in[0] == in[1]) {
            become(node, OP_square, in[0], -1);
            return true;
        }
        for (int i = 0; i < 2 && of < 0; i++)
            if (plan->node[in[i]].op == OP_constant) {
                c = in_type(plan, plan->node[in[i]].number);
                of = in[1 - i];
            } else if (plan->node[in[i]].op == OP_neg && plan->node[in[i]].count == node->count &&
                       plan->node[in[1 - i]].count < node->count)
                return negate_smaller(plan, table, node, i);
        break;
    case OP_neg:
        c = -1;
        of = in[0];
        break;
    default:
        break;
    }
    const int32_t under = of < 0 ? -1 : constant_multiple(plan, of, &d);
    if (under >= 0 && is_moderate(c) && is_moderate(d))
        return become_multiple(plan, table, node, in_type(plan, c * d), under);
    if (node->op == OP_mul && of >= 0 && c == -1)
        return become_multiple(plan, table, node, c, of);
    *changed = false;
    return true;
}

static int32_t simplify_once(hs_plan *plan, node_table *table, plan_node *node)
{
    int32_t *in = node->input;
    if (hs__op_table[node->op].kind == KIND_ELEMENTWISE) {
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
        return join_pads(plan, table, node);
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
    case OP_sum_to:
        return table->expands ? hs__graph_expand_sum(plan, table, node) : -1;
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

int32_t hs__graph_simplify(hs_plan *plan, node_table *table, plan_node *node)
{
    for (bool changed = true;;) {
        const int32_t other = simplify_once(plan, table, node);
        if (other != -1)
            return other;
        if (!gather_constants(plan, table, node, &changed))
            return -2;
        if (!changed)
            return -1;
    }
}
