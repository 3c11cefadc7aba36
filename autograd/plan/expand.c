/* Pass `expand`: sums over features, taken apart.
 *
 * The gradient of a loss that is a function of sums over features, such as log densities, is made of more such sums,
 *     sum_i u_i (g v_i + h w_i),
 * where g and h are numbers of each row that depend on the sums of the loss. As it stands on the tape, u, v and w are
 * kept until g and h are known, and gone through again. But the same is
 *     g sum_i u_i v_i + h sum_i u_i w_i,
 * whose sums can be made together with those of the loss: in one way through memory, which keeps nothing.
 *
 * So values that depend on a sum over features are written as linear combinations, with one number for each row as
 * factors, of values that do not, or that need one sum less. A sum of such a value is the combination of the sums. */
#include "passes_internal.h"

#include <string.h>

enum { MOST_TERMS = 8, MOST_DEPTH = 400 };

/* factor * vector, added up over what the factor or the vector has more of than the value that this is a term of: a
 * value of the start can be a sum over its rows. */
typedef struct {
    int32_t factor; /* one number for each row, start or batch; -1: it is 1 */
    int32_t vector;
} form_term;

struct linear_form {
    int terms; /* 0: it is not a linear combination of few values */
    form_term term[MOST_TERMS];
};
typedef struct linear_form linear_form;

static const linear_form no_form = { 0 };

static const graph_node *at(const graph_builder *b, int32_t id)
{
    return &b->graph->node[id];
}

/* ---- Factors --------------------------------------------------------------------------------- */

static hs_extent factor_extent(const graph_builder *b, int32_t factor)
{
    return factor < 0 ? HS_SHARED : at(b, factor)->extent;
}

static hs_extent term_extent(const graph_builder *b, const form_term *t)
{
    return widest(factor_extent(b, t->factor), at(b, t->vector)->extent);
}

/* A factor as a node. */
static int32_t made_factor(graph_builder *b, int32_t factor)
{
    return factor < 0 ? hs__graph_constant(b, 1) : factor;
}

/* op on two factors. */
static int32_t combine(graph_builder *b, op_code op, int32_t x, int32_t y)
{
    const hs_shape scalar = hs_scalar_shape();
    x = made_factor(b, x);
    return hs__graph_make(b, op, x, y, widest(at(b, x)->extent, at(b, y)->extent), &scalar);
}

static int32_t times(graph_builder *b, int32_t x, int32_t y)
{
    return x < 0 ? y : y < 0 ? x : combine(b, OP_mul, x, y);
}

static int32_t negative(graph_builder *b, int32_t factor)
{
    return times(b, factor, hs__graph_constant(b, -1));
}

/* ---- Terms ----------------------------------------------------------------------------------- */

/* Takes factors and signs off a vector. */
static form_term without_factors(graph_builder *b, int32_t vector)
{
    form_term t = { -1, vector };
    for (;;) {
        const graph_node v = *at(b, t.vector);
        int32_t factor = -1, rest = -1;
        if (v.op == OP_neg) {
            rest = v.input[0];
            factor = hs__graph_constant(b, -1);
        }
        for (int i = 0; v.op == OP_mul && i < 2 && rest < 0; i++)
            if (at(b, v.input[i])->count == 1) {
                factor = v.input[i];
                rest = v.input[1 - i];
            }
        if (rest < 0 || !has_shape(at(b, rest), &v.shape) ||
            widest(factor_extent(b, factor), at(b, rest)->extent) != v.extent)
            return t;
        t.factor = times(b, t.factor, factor);
        t.vector = rest;
    }
}

/* The same, and off the factors of a product or square, so that equal products are found to be equal. */
static form_term simple_term(graph_builder *b, int32_t vector)
{
    form_term t = without_factors(b, vector);
    const graph_node v = *at(b, t.vector);
    if (v.op != OP_mul && v.op != OP_square)
        return t;
    form_term part[2];
    for (int i = 0; i < 2; i++)
        part[i] = without_factors(b, v.input[v.op == OP_square ? 0 : i]);
    if (part[0].factor < 0 && part[1].factor < 0)
        return t;
    const hs_extent extent = widest(at(b, part[0].vector)->extent, at(b, part[1].vector)->extent);
    const int32_t factor = times(b, part[0].factor, part[1].factor);
    if (widest(extent, at(b, factor)->extent) != v.extent ||
        (!has_shape(at(b, part[0].vector), &v.shape) &&
         !has_shape(at(b, part[1].vector), &v.shape)))
        return t;
    t.vector = hs__graph_make(b, OP_mul, part[0].vector, part[1].vector, extent, &v.shape);
    t.factor = times(b, t.factor, factor);
    return t;
}

/* Adds a term; false if there are too many. */
static bool add_term(graph_builder *b, linear_form *form, form_term t)
{
    for (int i = 0; i < form->terms; i++) {
        form_term *other = &form->term[i];
        if (other->vector != t.vector || term_extent(b, other) != term_extent(b, &t))
            continue;
        t.factor = made_factor(b, t.factor);
        other->factor = combine(b, OP_add, other->factor, t.factor);
        return true;
    }
    if (form->terms == MOST_TERMS)
        return false;
    form->term[form->terms++] = t;
    return true;
}

static const linear_form *form_of(graph_builder *b, int32_t id, int depth);

/* Operand `id` of x as a combination; none if it is not as long as x. */
static linear_form operand_form(graph_builder *b, const graph_node *x, int32_t id, int depth)
{
    const graph_node operand = *at(b, id);
    linear_form form = { .terms = 1 };
    if (has_shape(&operand, &x->shape) && operand.level == x->level) {
        form = *form_of(b, id, depth + 1);
    } else if (has_shape(&operand, &x->shape)) {
        form.term[0] = simple_term(b, id);
    } else if (operand.count == 1) {
        const int32_t one = hs__graph_constant(b, 1);
        form.term[0].factor = id;
        form.term[0].vector = hs__graph_make(b, OP_broadcast, one, -1, HS_SHARED, &x->shape);
    } else {
        return no_form;
    }
    /* What is the same for several rows cannot be a sum over them for each. */
    for (int i = 0; i < form.terms; i++)
        if (operand.extent < x->extent && term_extent(b, &form.term[i]) > operand.extent)
            return no_form;
    return form;
}

/* x = a + b or a - b */
static linear_form form_of_sum(graph_builder *b, const graph_node *x, int depth)
{
    const hs_shape scalar = hs_scalar_shape();
    linear_form form = { 0 };
    for (int k = 0; k < 2; k++) {
        const linear_form part = operand_form(b, x, x->input[k], depth);
        if (!part.terms)
            return no_form;
        for (int i = 0; i < part.terms; i++) {
            form_term t = part.term[i];
            if (k && x->op == OP_sub)
                t.factor = negative(b, t.factor);
            /* A row's share of what is the same for all of them. */
            if (term_extent(b, &t) < x->extent)
                t.factor = hs__graph_make(b, OP_broadcast, made_factor(b, t.factor), -1, x->extent,
                                          &scalar);
            if (!add_term(b, &form, t))
                return no_form;
        }
    }
    return form;
}

/* x = op(a, b), linear in operand k; the other has one number, or is known before. */
static linear_form form_of_multiple(graph_builder *b, const graph_node *x, int k, int depth)
{
    const int32_t by = x->input[1 - k];
    const graph_node other = *at(b, by);
    linear_form form = { 0 };
    if (!has_shape(at(b, x->input[k]), &x->shape) || (other.count != 1 && other.level == x->level))
        return no_form;
    const linear_form part = operand_form(b, x, x->input[k], depth);
    for (int i = 0; i < part.terms; i++) {
        form_term t = part.term[i];
        if (other.count == 1)
            t.factor = x->op == OP_mul ? times(b, t.factor, by) : combine(b, x->op, t.factor, by);
        else {
            const hs_extent extent = widest(at(b, t.vector)->extent, other.extent);
            const form_term made =
                simple_term(b, hs__graph_make(b, x->op, t.vector, by, extent, &x->shape));
            t = (form_term){ times(b, t.factor, made.factor), made.vector };
        }
        if (term_extent(b, &t) < x->extent || !add_term(b, &form, t))
            return no_form;
    }
    return form;
}

static const linear_form *form_of(graph_builder *b, int32_t id, int depth)
{
    if (at(b, id)->form)
        return at(b, id)->form;
    const graph_node x = *at(b, id);
    linear_form form = { 0 };
    if (depth < MOST_DEPTH)
        switch (x.op) {
        case OP_add:
        case OP_sub:
            form = form_of_sum(b, &x, depth);
            break;
        case OP_mul:
        case OP_div:
        case OP_gate:
            form = form_of_multiple(b, &x, 0, depth);
            if (!form.terms && x.op == OP_mul)
                form = form_of_multiple(b, &x, 1, depth);
            break;
        case OP_neg:
            form = operand_form(b, &x, x.input[0], depth);
            for (int i = 0; i < form.terms; i++)
                form.term[i].factor = negative(b, form.term[i].factor);
            break;
        case OP_sum_to: /* over the rows of a start */
            if (x.extent == HS_START && has_shape(at(b, x.input[0]), &x.shape))
                form = operand_form(b, &x, x.input[0], depth);
            break;
        default:
            break;
        }
    linear_form *kept = form.terms ? hs__graph_alloc(b, sizeof *kept) : NULL;
    if (kept)
        *kept = form;
    return b->graph->node[id].form = kept ? kept : &no_form;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* A node that has the value of a sum over all features, which is taken apart; as a rule returns it. */
static int32_t expand_sum(graph_builder *b, const graph_node *sum)
{
    const int32_t of = sum->input[0];
    const graph_node x = *at(b, of);
    const hs_extent extent = sum->extent;
    if (sum->count != 1 || x.count == 1)
        return NO_NODE;
    linear_form form = { .terms = 1 };
    if (x.level > 0)
        form = *form_of(b, of, 0);
    else
        form.term[0] = simple_term(b, of);
    if (form.terms == 0 || (form.terms == 1 && form.term[0].vector == of))
        return NO_NODE;
    b->expanded = b->expanded || x.level > 0;
    int32_t total[3] = { -1, -1, -1 }; /* by extent */
    for (int i = 0; i < form.terms; i++) {
        const form_term t = form.term[i];
        const hs_extent fe = factor_extent(b, t.factor), ve = at(b, t.vector)->extent;
        /* With a number for each row, the vector is summed for each row apart. */
        const hs_extent se = fe > extent || ve < extent ? ve : extent, pe = widest(fe, se);
        int32_t part = hs__graph_make(b, OP_sum_to, t.vector, -1, se, &sum->shape);
        if (t.factor >= 0)
            part = hs__graph_make(b, OP_mul, t.factor, part, pe, &sum->shape);
        total[pe] =
            total[pe] < 0 ? part : hs__graph_make(b, OP_add, total[pe], part, pe, &sum->shape);
    }
    int32_t result = -1;
    for (int k = HS_ROW; k >= (int)extent; k--)
        if (total[k] >= 0) {
            const int32_t part =
                k > (int)extent ? hs__graph_make(b, OP_sum_to, total[k], -1, extent, &sum->shape)
                                : total[k];
            result =
                result < 0 ? part : hs__graph_make(b, OP_add, result, part, extent, &sum->shape);
        }
    return result;
}

/* ---- Cost ------------------------------------------------------------------------------------ */

/* A rough cost of running a graph, as a number of numbers that elementwise ops make. */
static bool find_cost(const hs_plan *plan, const plan_graph *graph, double *cost)
{
    /* For each op its call; for each number that is kept while a sum is completed writing and reading it. */
    enum { OF_NODE = 512, OF_KEPT = 2 };
    const plan_request *request = plan->request;
    const double starts = (double)request->starts;
    const double copies[] = { 1, starts, starts * (double)request->rows_per_start };
    const size_t nodes = (size_t)graph->nodes + 1;
    bool *live = hs__pass_alloc(plan, nodes, sizeof *live);
    bool *kept = hs__pass_alloc(plan, nodes, sizeof *kept);
    if (!live || !kept)
        return false;
    *cost = 0;
    for (size_t i = 0; i < request->outputs; i++)
        live[graph->output[i]] = true;
    for (int32_t id = graph->nodes - 1; id >= 0; id--) {
        const graph_node *node = &graph->node[id];
        const bool sums = node->op == OP_sum_to;
        if (!live[id])
            continue;
        const graph_node *space = sums ? &graph->node[node->input[0]] : node;
        const double numbers = copies[space->extent] * (double)space->count;
        for (int i = 0; i < node->inputs; i++) {
            const int32_t in = node->input[i];
            live[in] = true;
            kept[in] = kept[in] || (!sums && graph->node[in].level < node->level);
        }
        if (is_elementwise(node) || sums)
            *cost += OF_NODE + numbers;
        if (kept[id] && node->extent != HS_SHARED)
            *cost += OF_KEPT * numbers;
    }
    return true;
}

/* ---- The pass -------------------------------------------------------------------------------- */

static int32_t expand_node(graph_builder *b, graph_node *node)
{
    const int32_t other = runs_pass(b->plan, PASS_simplify) ? hs__simplify_node(b, node) : NO_NODE;
    return other == NO_NODE && node->op == OP_sum_to ? expand_sum(b, node) : other;
}

/* Where there are products of the batch, they take the time. */
static bool has_products(const plan_graph *graph)
{
    const graph_node *node = graph->node;
    for (int32_t id = 0; id < graph->nodes; id++)
        if (node[id].op == OP_matmul && (node[node[id].input[0]].extent != HS_SHARED ||
                                         node[node[id].input[1]].extent != HS_SHARED))
            return true;
    return false;
}

bool hs__graph_expand(const hs_plan *plan, plan_graph *graph)
{
    if (has_products(graph))
        return true;
    plan_graph made;
    graph_builder b = { .plan = plan, .graph = &made, .rule = expand_node };
    double before, after;
    if (!hs__graph_rewrite(&b, graph))
        return false;
    const bool ok = find_cost(plan, graph, &before) && find_cost(plan, &made, &after);
    const bool keep = ok && b.expanded && (after < before || runs_always(plan, PASS_expand));
    hs_free(keep ? graph->node : made.node);
    if (keep)
        *graph = made;
    return ok || hs__plan_no_memory(plan);
}
