/* Pass `simplify`: nodes whose values others have, and nodes that are simpler than those on the tape.
 *
 * Each op has a function of its own below, and a row in the table at the end. Functions are rules (graph_internal.h);
 * besides they may return LOOK_AGAIN, after rewriting the node into one that may be simplified further. */
#include "passes_internal.h"

#include <hastings/tensor/number.h>

#include <string.h>

enum { LOOK_AGAIN = -2 };

static const graph_node *at(const graph_builder *b, int32_t id)
{
    return &b->graph->node[id];
}

/* The value under any nodes of an op with one operand. */
static int32_t under(const graph_builder *b, op_code op, int32_t id)
{
    while (at(b, id)->op == op)
        id = at(b, id)->input[0];
    return id;
}

static bool is_constant(const graph_builder *b, int32_t id, double number)
{
    return at(b, id)->op == OP_constant && at(b, id)->number == number;
}

/* Whether the value of `id` has the shape and extent of `node`, so that it can stand for it. */
static bool stands_for(const graph_builder *b, int32_t id, const graph_node *node)
{
    return is_alike(at(b, id), node);
}

static int32_t itself_or_none(const graph_builder *b, int32_t id, const graph_node *node)
{
    return stands_for(b, id, node) ? id : NO_NODE;
}

/* The other operand, if one from operand `first` on is this constant, and the other can stand for the node. */
static int32_t without_constant(const graph_builder *b, const graph_node *node, int first,
                                double number)
{
    for (int i = first; i < 2; i++)
        if (is_constant(b, node->input[i], number) && stands_for(b, node->input[1 - i], node))
            return node->input[1 - i];
    return NO_NODE;
}

/* A constant as kernels see it. */
static double in_type(const graph_builder *b, double number)
{
    return b->plan->request->dtype == HS_F32 ? (double)(float)number : number;
}

static void become(graph_node *node, op_code op, int32_t x, int32_t y)
{
    node->op = op;
    node->inputs = y < 0 ? 1 : 2;
    node->input[0] = x;
    if (y >= 0)
        node->input[1] = y;
}

/* ---- Elementwise ops ------------------------------------------------------------------------- */

/* Whether all operands of an elementwise node are constants; the node's value, by its own kernel. */
static bool fold(const graph_builder *b, const graph_node *node, double *result)
{
    const plan_request *request = b->plan->request;
    enum { ALL_SCALARS = 7 };
    double operand[3] = { 0 }, value[HS_ALIGN / sizeof(double)];
    for (int i = 0; i < node->inputs; i++) {
        const graph_node *in = at(b, node->input[i]);
        if (in->op != OP_constant)
            return false;
        hs_number_set(request->dtype, &operand[i], 0, in->number);
    }
    request->elementwise->op[node->op](request->elementwise->lanes, value, &operand[0], &operand[1],
                                       &operand[2], ALL_SCALARS,
                                       node->attributes ? node->attributes->order : 0);
    *result = hs_number_get(request->dtype, value, 0);
    return true;
}

/* Of any elementwise node: kernels stretch operands themselves, constants are computed now, and operands that may
 * change places are ordered, so that equal nodes are found. */
static int32_t simplify_elementwise(graph_builder *b, graph_node *node)
{
    int32_t *in = node->input;
    for (int i = 0; i < node->inputs; i++)
        in[i] = under(b, OP_broadcast, in[i]);
    double number;
    if (fold(b, node, &number)) {
        const int32_t folded = hs__graph_constant(b, number);
        if (stands_for(b, folded, node))
            return folded;
        node->attributes = NULL;
        become(node, OP_broadcast, folded, -1);
        return NO_NODE;
    }
    if ((hs__op_table[node->op].traits & COMMUTES) && in[0] > in[1])
        become(node, node->op, in[1], in[0]);
    return NO_NODE;
}

/* If `id` is a constant times a value: that value, and the constant. */
static int32_t constant_multiple(const graph_builder *b, int32_t id, double *constant)
{
    const graph_node *node = at(b, id);
    *constant = -1;
    if (node->op == OP_neg)
        return node->input[0];
    for (int i = 0; node->op == OP_mul && i < 2; i++)
        if (at(b, node->input[i])->op == OP_constant) {
            *constant = in_type(b, at(b, node->input[i])->number);
            return node->input[1 - i];
        }
    return -1;
}

/* Makes `node` a constant times a value. */
static int32_t become_multiple(graph_builder *b, graph_node *node, double constant, int32_t of)
{
    if (constant == -1)
        become(node, OP_neg, of, -1);
    else
        become(node, OP_mul, of, hs__graph_constant(b, constant));
    return LOOK_AGAIN;
}

/* Products of constants stay far from the ends of f32's range, where rounding would be coarse. */
static bool is_moderate(double x)
{
    return (x > 1e-15 && x < 1e15) || (x < -1e-15 && x > -1e15);
}

/* `node` is c times a value: constants are gathered in front of it, and a factor -1 is a sign. */
static int32_t gather_constants(graph_builder *b, graph_node *node, double c, int32_t of)
{
    double d;
    const int32_t under = constant_multiple(b, of, &d);
    if (under >= 0 && is_moderate(c) && is_moderate(d))
        return become_multiple(b, node, in_type(b, c * d), under);
    return node->op == OP_mul && c == -1 ? become_multiple(b, node, c, of) : NO_NODE;
}

/* (-a) b as a (-b), where b has fewer numbers; input i of the product is -a. */
static int32_t negate_smaller(graph_builder *b, graph_node *node, int i)
{
    const int32_t a = at(b, node->input[i])->input[0];
    const graph_node other = *at(b, node->input[1 - i]);
    become(node, OP_mul, a,
           hs__graph_make(b, OP_neg, node->input[1 - i], -1, other.extent, &other.shape));
    return LOOK_AGAIN;
}

static int32_t simplify_copy(graph_builder *b, graph_node *node)
{
    return itself_or_none(b, node->input[0], node);
}

static int32_t simplify_neg(graph_builder *b, graph_node *node)
{
    const graph_node *of = at(b, node->input[0]);
    if (of->op == OP_neg && stands_for(b, of->input[0], node))
        return of->input[0];
    return gather_constants(b, node, -1, node->input[0]);
}

static int32_t simplify_mul(graph_builder *b, graph_node *node)
{
    const int32_t *in = node->input;
    const int32_t other = without_constant(b, node, 0, 1);
    if (other >= 0)
        return other;
    if (in[0] == in[1]) {
        become(node, OP_square, in[0], -1);
        return LOOK_AGAIN;
    }
    for (int i = 0; i < 2; i++) {
        const graph_node *factor = at(b, in[i]);
        if (factor->op == OP_constant)
            return gather_constants(b, node, in_type(b, factor->number), in[1 - i]);
        if (factor->op == OP_neg && factor->count == node->count &&
            at(b, in[1 - i])->count < node->count)
            return negate_smaller(b, node, i);
    }
    return NO_NODE;
}

static int32_t simplify_sub(graph_builder *b, graph_node *node)
{
    const int32_t *in = node->input;
    if (at(b, in[1])->op != OP_neg)
        return without_constant(b, node, 1, 0);
    become(node, OP_add, in[0], at(b, in[1])->input[0]);
    return LOOK_AGAIN;
}

static int32_t simplify_div(graph_builder *b, graph_node *node)
{
    return without_constant(b, node, 1, 1);
}

/* A sum of softplus may read the sigmoid, if a gradient needs that too: then it comes first. */
static int32_t simplify_softplus(graph_builder *b, graph_node *node)
{
    hs__graph_make(b, OP_sigmoid, node->input[0], -1, node->extent, &node->shape);
    return NO_NODE;
}

/* Writes the parts that a value is joined from along an axis, or itself, and returns their number. */
static int put_parts(const graph_builder *b, int32_t id, int axis, int32_t *parts)
{
    const graph_node *node = at(b, id);
    const bool joined = node->op == OP_concat && node->attributes->axis == axis;
    const int count = joined ? node->inputs : 1;
    memcpy(parts, joined ? node->input : &id, (size_t)count * sizeof *parts);
    return count;
}

/* Two values padded with zeros, of which one begins where the other ends, as gradients of slices: their sum is both
 * joined, and padded if they do not fill everything.  */
static int32_t join_pads(graph_builder *b, graph_node *node)
{
    const graph_node *pad[2] = { at(b, node->input[0]), at(b, node->input[1]) };
    for (int i = 0; i < 2; i++)
        if (pad[i]->op != OP_pad || !is_alike(pad[i], node) ||
            pad[i]->attributes->axis != pad[0]->attributes->axis)
            return NO_NODE;
    const int low = pad[0]->attributes->first > pad[1]->attributes->first;
    const op_attributes below = *pad[low]->attributes, above = *pad[1 - low]->attributes;
    const int32_t ends[2] = { pad[low]->input[0], pad[1 - low]->input[0] };
    hs_shape shape = at(b, ends[0])->shape;
    if (below.first + shape.dim[below.axis] != above.first)
        return NO_NODE;
    shape.dim[below.axis] += at(b, ends[1])->shape.dim[below.axis];
    op_attributes *attributes = hs__graph_alloc(b, 2 * sizeof *attributes);
    const size_t most = (size_t)at(b, ends[0])->inputs + (size_t)at(b, ends[1])->inputs + 2;
    int32_t *input = hs__graph_alloc(b, most * sizeof *input);
    if (b->no_memory)
        return NO_NODE;
    int count = put_parts(b, ends[0], below.axis, input);
    count += put_parts(b, ends[1], below.axis, input + count);
    attributes[0] = (op_attributes){ .axis = below.axis };
    attributes[1] = (op_attributes){ .axis = below.axis, .first = below.first, .end = above.end };
    const int32_t id =
        hs__graph_make_of(b, OP_concat, input, count, node->extent, &shape, &attributes[0]);
    if (below.first == 0 && above.end == 0)
        return id;
    become(node, OP_pad, id, -1);
    node->attributes = &attributes[1];
    return NO_NODE;
}

/* Gradients of squares are c x + c x. */
static int32_t double_value(graph_builder *b, graph_node *node)
{
    double c;
    const int32_t of = constant_multiple(b, node->input[0], &c);
    if (of >= 0 && is_moderate(c))
        return become_multiple(b, node, 2 * c, of);
    return become_multiple(b, node, 2, node->input[0]);
}

static int32_t simplify_add(graph_builder *b, graph_node *node)
{
    const int32_t *in = node->input;
    const int32_t other = without_constant(b, node, 0, 0);
    const int32_t joined = other >= 0 ? other : join_pads(b, node);
    if (joined != NO_NODE || node->op != OP_add)
        return joined;
    if (in[0] == in[1])
        return double_value(b, node);
    for (int i = 0; i < 2; i++)
        if (at(b, in[i])->op == OP_neg) {
            become(node, OP_sub, in[1 - i], at(b, in[i])->input[0]);
            return LOOK_AGAIN;
        }
    return NO_NODE;
}

/* ---- Other ops ------------------------------------------------------------------------------- */

static int32_t simplify_reshape(graph_builder *b, graph_node *node)
{
    const int32_t in = node->input[0] = under(b, OP_reshape, node->input[0]);
    const graph_node *of = at(b, in);
    if (of->op == OP_broadcast && at(b, of->input[0])->count == 1) { /* one number, any shape */
        become(node, OP_broadcast, of->input[0], -1);
        return NO_NODE;
    }
    return itself_or_none(b, in, node);
}

static int32_t simplify_broadcast(graph_builder *b, graph_node *node)
{
    node->input[0] = under(b, OP_broadcast, node->input[0]);
    return itself_or_none(b, node->input[0], node);
}

/* Which operand of the multiplication that makes operand i of a product is one number, for the batch or for each row,
 * while the other has the shape of the result; SIGN if it is a negation, -1 if none is. */
enum { SIGN = 2 };
static int factor_of(const graph_builder *b, const graph_node *product, int i)
{
    const graph_node *scaled = at(b, under(b, OP_reshape, product->input[i]));
    if (scaled->op == OP_neg && stands_for(b, scaled->input[0], scaled))
        return SIGN;
    for (int k = 0; scaled->op == OP_mul && k < 2; k++) {
        const graph_node *factor = at(b, scaled->input[k]);
        if (factor->count == 1 && factor->extent <= product->extent &&
            stands_for(b, scaled->input[1 - k], scaled))
            return k;
    }
    return -1;
}

/* Rewrites (number * vector) * shared matrix as number * (vector * matrix), if the result has fewer coordinates than
 * the vector. Gradients of sums make such products. */
static int32_t simplify_matmul(graph_builder *b, graph_node *node)
{
    for (int i = 0; i < 2; i++) {
        const int32_t in = node->input[i], scaled = under(b, OP_reshape, in);
        const int k = factor_of(b, node, i);
        if (k < 0 || at(b, scaled)->count <= node->count || node->extent == HS_SHARED ||
            at(b, node->input[1 - i])->extent != HS_SHARED)
            continue;
        const graph_node multiple = *at(b, scaled);
        int32_t *inputs = hs__graph_alloc(b, 3 * sizeof *inputs);
        if (b->no_memory)
            return NO_NODE;
        inputs[i] = inputs[2] = multiple.input[k == 0];
        inputs[1 - i] = node->input[1 - i];
        if (in != scaled) {
            graph_node shaped = *at(b, in);
            shaped.input = &inputs[2];
            inputs[i] = hs__graph_find(b, &shaped);
        }
        graph_node product = *node;
        product.input = inputs;
        const int32_t made = hs__graph_find(b, &product);
        const int32_t factor = multiple.input[k == SIGN ? 0 : k];
        node->attributes = multiple.attributes;
        if (k == SIGN)
            become(node, OP_neg, made, -1);
        else
            become(node, OP_mul, factor < made ? factor : made, factor < made ? made : factor);
        return NO_NODE;
    }
    return NO_NODE;
}

/* ---- The table ------------------------------------------------------------------------------- */

static graph_rule *const rule_of[OP_COUNT] = {
    [OP_copy] = simplify_copy,       [OP_stop] = simplify_copy,
    [OP_neg] = simplify_neg,         [OP_mul] = simplify_mul,
    [OP_add] = simplify_add,         [OP_sub] = simplify_sub,
    [OP_div] = simplify_div,         [OP_softplus] = simplify_softplus,
    [OP_reshape] = simplify_reshape, [OP_broadcast] = simplify_broadcast,
    [OP_matmul] = simplify_matmul,
};

int32_t hs__simplify_node(graph_builder *b, graph_node *node)
{
    int32_t found;
    do {
        found = NO_NODE;
        if (hs__op_table[node->op].kind == KIND_ELEMENTWISE)
            found = simplify_elementwise(b, node);
        if (found == NO_NODE && rule_of[node->op])
            found = rule_of[node->op](b, node);
    } while (found == LOOK_AGAIN && !b->no_memory);
    return found == LOOK_AGAIN ? NO_NODE : found;
}

bool hs__graph_simplify(const hs_plan *plan, plan_graph *graph)
{
    return hs__graph_replace(plan, graph, hs__simplify_node);
}
