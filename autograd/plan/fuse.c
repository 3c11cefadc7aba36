/* Second pass: which nodes are computed inside the kernel of another.
 *
 * A node joins the step of its users when they are all in one step already: then no one else needs
 * its value, and it is never stored. */
#include "plan_internal.h"

int32_t hs__plan_owner(const hs_plan *plan, int32_t id)
{
    while (plan->node[id].making == BY_VIEW)
        id = plan->node[id].host;
    return id;
}

/* Merging and simplifying leave nodes that nothing needs any more. */
static void count_uses(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++)
        plan->node[id].uses = 0;
    for (size_t i = 0; i < plan->outputs; i++)
        plan->node[plan->output[i].node].output = true;
    for (int32_t id = plan->nodes - 1; id >= 0; id--) {
        const plan_node *node = &plan->node[id];
        if (!node->output && node->uses == 0)
            continue;
        for (int i = 0; i < node->inputs; i++)
            plan->node[node->input[i]].uses++;
    }
}

/* A slice of consecutive features is a view of its source; so is any reshape, and a stop. */
static bool is_view(const hs_plan *plan, const plan_node *node)
{
    if (node->op == OP_reshape || node->op == OP_stop)
        return true;
    if (node->op != OP_slice)
        return false;
    const hs_shape *shape = &plan->node[node->input[0]].shape;
    for (int i = 0; i < node->attributes->axis; i++)
        if (shape->dim[i] != 1)
            return false;
    return true;
}

static void mark_simple(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        node->host = id;
        node->product = -1;
        node->sum = -1;
        node->group_size = 1;
        node->group_first = id;
        node->making = BY_STEP;
        if (is_unused(node))
            continue;
        if (node->op == OP_constant || node->op == OP_bound || node->op == OP_tensor ||
            (node->op == OP_input && node->extent == HS_SHARED))
            node->making = BY_OUTSIDE;
        else if (is_view(plan, node)) {
            node->making = BY_VIEW;
            node->host = node->input[0];
        }
    }
}

/* ---- Products --------------------------------------------------------------------------- */

static hs_activation_kind activation_of(op_code op)
{
    switch (op) {
    case OP_relu:
        return HS_ACT_RELU;
    case OP_tanh:
        return HS_ACT_TANH;
    case OP_sigmoid:
        return HS_ACT_SIGMOID;
    case OP_softplus:
        return HS_ACT_SOFTPLUS;
    case OP_gelu:
        return HS_ACT_GELU;
    default:
        return HS_ACT_NONE;
    }
}

bool hs__plan_is_layer(const hs_plan *plan, int32_t id, plan_layer *layer)
{
    const plan_node *node = &plan->node[id];
    if (node->op != OP_matmul || node->extent == HS_SHARED)
        return false;
    const bool *t = node->attributes->transpose;
    for (int i = 0; i < 2; i++) {
        const int32_t matrix = node->input[i], vector = node->input[1 - i];
        if (plan->node[matrix].extent != HS_SHARED || node->shape.dim[1 - i] != 1)
            continue;
        /* y = x B is B' x */
        *layer = (plan_layer){ id,          matrix,
                               vector,      i ? !t[1] : t[0],
                               node->count, plan->node[vector].count };
        return true;
    }
    return false;
}

bool hs__plan_layer_of(const hs_plan *plan, int32_t id, plan_layer *layer)
{
    const plan_node *node = &plan->node[id];
    return node->making == BY_STEP && node->stage == STAGE_SHARD && !is_unused(node) &&
           hs__plan_is_layer(plan, node->product >= 0 ? node->product : id, layer);
}

/* A layer, or one of each row of a matrix of the batch: the forms whose kernels can do more. */
static bool takes_tail(const hs_plan *plan, int32_t id)
{
    const plan_node *node = &plan->node[id];
    plan_layer layer;
    return hs__plan_is_layer(plan, id, &layer) ||
           (node->op == OP_matmul && node->extent != HS_SHARED &&
            plan->node[node->input[1]].extent == HS_SHARED && !node->attributes->transpose[0]);
}

static bool ends_in(const hs_shape *shape, size_t length)
{
    return shape->rank > 0 && shape->dim[shape->rank - 1] == length;
}

/* Whether a shared value has a number for each output of a layer, the same for all rows if there are several. */
static bool is_bias(const hs_plan *plan, int32_t product, const plan_node *value)
{
    const hs_shape *shape = &plan->node[product].shape;
    const size_t rows = shape->dim[1] == 1 ? 1 : shape->dim[0];
    const size_t outputs = shape->dim[0] * shape->dim[1] / rows;
    return value->extent == HS_SHARED && value->count == outputs &&
           (rows == 1 || ends_in(&value->shape, outputs));
}

/* If `id` is a product, or a view of all of one, that only one node uses: the product. Else -1. */
static int32_t product_behind(const hs_plan *plan, int32_t id)
{
    for (;;) {
        const plan_node *node = &plan->node[id];
        if (node->uses != 1 || node->output)
            return -1;
        if (takes_tail(plan, id))
            return id;
        if (node->product >= 0)
            return node->product;
        if (node->op != OP_reshape)
            return -1;
        id = node->input[0];
    }
}

/* Puts everything between the product and its new last node into the product's step. */
static void extend_product(hs_plan *plan, int32_t product, int32_t from, int32_t last)
{
    for (int32_t id = from;;) {
        plan_node *node = &plan->node[id];
        const bool end = id == product || node->product == product;
        node->making = BY_OTHER;
        node->product = product;
        if (end)
            break;
        id = node->input[0];
    }
    for (int32_t id = product; id <= last; id++)
        if (plan->node[id].product == product)
            plan->node[id].host = last;
    plan->node[last].product = product;
    plan->node[last].making = BY_STEP;
    plan->node[last].host = last;
}

/* A softplus that is only summed over features. The sum has a kernel for it, which takes fewer
 * logarithms than the product would. */
static bool is_summed_softplus(const hs_plan *plan, int32_t id)
{
    const plan_node *node = &plan->node[id];
    if (node->op != OP_softplus || node->uses != 1 || node->output)
        return false;
    for (int32_t user = id + 1; user < plan->nodes; user++)
        if (plan->node[user].op == OP_sum_to && plan->node[user].input[0] == id &&
            !is_unused(&plan->node[user]))
            return plan->node[user].extent == node->extent;
    return false;
}

/* Whether a product has this value, or a view of it, as a factor. */
static bool is_factor(const hs_plan *plan, int32_t id)
{
    for (int32_t user = id + 1; user < plan->nodes; user++) {
        const plan_node *node = &plan->node[user];
        for (int i = 0; i < node->inputs && !is_unused(node); i++)
            if (node->input[i] == id &&
                (node->op == OP_matmul || (is_view(plan, node) && is_factor(plan, user))))
                return true;
    }
    return false;
}

static bool is_alike(const plan_node *a, const plan_node *b)
{
    return a->extent == b->extent && hs_shape_equal(&a->shape, &b->shape);
}

/* The sigmoid of what a softplus is taken of, if it is stored for a product; or -1. Neither may be broadcast: all three
 * are then stored alike. */
static int32_t stored_sigmoid(const hs_plan *plan, int32_t softplus)
{
    const plan_node *of = &plan->node[softplus];
    for (int32_t id = 0; id < softplus && is_alike(&plan->node[of->input[0]], of); id++) {
        const plan_node *node = &plan->node[id];
        if (!is_unused(node) && node->op == OP_sigmoid && node->input[0] == of->input[0] &&
            is_alike(node, of) && is_factor(plan, id))
            return id;
    }
    return -1;
}

/* Gives a softplus that is only summed the sigmoid as a second input: the sum's kernel needs no exponentials then. */
static bool link_sigmoids(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        const int32_t sigmoid =
            !is_unused(node) && is_summed_softplus(plan, id) ? stored_sigmoid(plan, id) : -1;
        if (sigmoid < 0)
            continue;
        int32_t *input = hs_arena_alloc(&plan->arena, 2 * sizeof *input);
        if (!input)
            return hs__plan_no_memory(plan);
        input[0] = node->input[0];
        input[1] = sigmoid;
        node->input = input;
        node->inputs = 2;
        plan->node[sigmoid].uses++;
    }
    return true;
}

static void fuse_products(hs_plan *plan, product_tail *tail)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (is_unused(node) || node->stage != STAGE_SHARD || node->making != BY_STEP ||
            hs__op_table[node->op].kind != KIND_ELEMENTWISE || is_summed_softplus(plan, id))
            continue;
        for (int i = node->inputs - 1; i >= 0; i--) {
            const int32_t in = node->input[i];
            const int32_t product = product_behind(plan, in);
            if (product < 0 || plan->node[in].count != node->count ||
                plan->node[in].extent != node->extent)
                continue;
            product_tail *t = &tail[product];
            const int32_t other = node->inputs == 2 ? node->input[1 - i] : -1;
            const plan_node *o = other >= 0 ? &plan->node[other] : NULL;
            const bool fresh = t->act == HS_ACT_NONE && t->gate < 0;
            const bool full =
                o && o->extent == node->extent && hs_shape_equal(&o->shape, &node->shape);
            bool fits = false;
            if (node->op == OP_add && fresh && is_bias(plan, product, o) && t->bias < 0) {
                t->bias = other;
                fits = true;
            } else if (node->op == OP_add && fresh && full && t->add < 0 && other != in) {
                t->add = other;
                fits = true;
            } else if (node->op == OP_gate && fresh && full && i == 0) {
                t->gate = other;
                fits = true;
            } else if (node->inputs == 1 && fresh && activation_of(node->op) != HS_ACT_NONE) {
                t->act = activation_of(node->op);
                fits = true;
            }
            if (fits) {
                extend_product(plan, product, in, id);
                break;
            }
        }
    }
}

/* ---- Elementwise groups ------------------------------------------------------------------- */

/* The node that spans the iteration of a group: its root, or what its root sums. */
static const plan_node *space_of(const hs_plan *plan, const plan_node *root)
{
    return root->op == OP_sum_to ? &plan->node[root->input[0]] : root;
}

static void fuse_elementwise(hs_plan *plan, int32_t *user)
{
    /* user[id]: the one step that all users of id are in; -1 none seen yet, -2 more than one. */
    for (int32_t id = 0; id < plan->nodes; id++)
        user[id] = -1;
    for (int32_t id = plan->nodes - 1; id >= 0; id--) {
        plan_node *node = &plan->node[id];
        if (is_unused(node))
            continue;
        const int32_t root = user[id];
        if (node->making == BY_STEP && is_elementwise(node) && node->product < 0 && !node->output &&
            root >= 0) {
            plan_node *host = &plan->node[root];
            const plan_node *space = space_of(plan, host);
            const bool elementwise_host =
                (is_elementwise(host) && host->product < 0) || host->op == OP_sum_to;
            if (elementwise_host && host->stage == node->stage && host->making == BY_STEP &&
                space->extent == node->extent && hs_shape_equal(&space->shape, &node->shape) &&
                host->group_size < MAX_GROUP) {
                node->making = BY_OTHER;
                node->host = root;
                host->group_size++;
                host->group_first = id; /* ids fall in this walk */
            }
        }
        const int32_t step = node->making == BY_OTHER ? node->host : id;
        for (int i = 0; i < node->inputs; i++) {
            int32_t *u = &user[node->input[i]];
            *u = *u == -1 || *u == step ? step : -2;
        }
    }
}

/* ---- Sums over the batch ------------------------------------------------------------------- */

/* Numbers the sums, and lets a sum of two sums be one: both add into the same memory. */
static void merge_sums(hs_plan *plan)
{
    int32_t next = 0;
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (is_unused(node))
            continue;
        if (node->sums_batch)
            node->sum = next++;
        if (plan->trace || node->op != OP_add || node->stage != STAGE_AFTER ||
            node->making != BY_STEP)
            continue;
        const plan_node *a = &plan->node[node->input[0]], *b = &plan->node[node->input[1]];
        if (a->sum < 0 || b->sum < 0 || a->uses != 1 || b->uses != 1 || a->output || b->output ||
            a == b || !hs_shape_equal(&a->shape, &b->shape))
            continue;
        const int32_t kept = a->sum, gone = b->sum;
        for (int32_t k = 0; k < id; k++)
            if (plan->node[k].sum == gone)
                plan->node[k].sum = kept;
        node->sum = kept;
        node->making = BY_MERGE;
    }
    plan->sums = next;
}

/* ---- Gradients of biases -------------------------------------------------------------------- */

/* A whole vector of the batch that is summed over it: its owner, or -1. */
static int32_t whole_vector(const hs_plan *plan, int32_t id, size_t count)
{
    const int32_t owner = hs__plan_owner(plan, id);
    const plan_node *node = &plan->node[owner];
    return node->count == count && plan->node[id].count == count && node->extent != HS_SHARED
               ? owner
               : -1;
}

/* Numbers of the left factor of a product that are its rows' for each of the columns that are summed. */
static size_t summed_of_left(const hs_plan *plan, const plan_node *product)
{
    const bool *t = product->attributes->transpose;
    return plan->node[product->input[0]].shape.dim[t[0] ? 0 : 1];
}

/* The gradient of a layer's weights is the batch's sum of dy x', that of its bias the sum of dy: the product makes both.
 * If the layer had several rows, dy is a matrix of one row for each.
 * product[v]: a product that has v as its left factor. */
static void join_left_sums(hs_plan *plan, int32_t *product)
{
    if (plan->factors)
        return; /* then the product may not be computed: plan/factors.c */
    for (int32_t id = 0; id < plan->nodes; id++)
        product[id] = -1;
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        if (is_unused(node) || node->op != OP_matmul || !node->sums_batch)
            continue;
        const size_t rows = summed_of_left(plan, node);
        const int32_t left = whole_vector(plan, node->input[0], rows * node->shape.dim[0]);
        if (left >= 0 && (rows == 1 || node->attributes->transpose[0]))
            product[left] = id;
    }
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (is_unused(node) || node->op != OP_sum_to || !node->sums_batch)
            continue;
        const plan_node *in = &plan->node[node->input[0]];
        const int32_t of = whole_vector(plan, node->input[0], in->count);
        const int32_t by = of >= 0 ? product[of] : -1;
        if (by < 0 || plan->tail[by].left_sum >= 0 || node->count != plan->node[by].shape.dim[0] ||
            (node->count != in->count &&
             !(ends_in(&in->shape, node->count) && ends_in(&node->shape, node->count))))
            continue;
        plan->tail[by].left_sum = id;
        node->making = BY_OTHER;
        node->host = by;
    }
}

bool hs__plan_fuse(hs_plan *plan)
{
    const size_t nodes = (size_t)plan->nodes;
    plan->tail = hs_arena_alloc(&plan->arena, nodes * sizeof *plan->tail);
    int32_t *user = hs_alloc(nodes * sizeof *user);
    if (!plan->tail || !user) {
        hs_free(user);
        return hs__plan_no_memory(plan);
    }
    for (size_t id = 0; id < nodes; id++)
        plan->tail[id] = (product_tail){ -1, -1, -1, HS_ACT_NONE, -1 };
    count_uses(plan);
    mark_simple(plan);
    const bool ok = plan->trace || link_sigmoids(plan);
    if (!plan->trace)
        fuse_products(plan, plan->tail);
    merge_sums(plan);
    if (!plan->trace) {
        join_left_sums(plan, user);
        fuse_elementwise(plan, user);
    }
    hs_free(user);
    return ok;
}
