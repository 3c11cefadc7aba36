/* A tape evaluated node by node, row by row, in plain double loops that share no code with plans:
 * what plans must compute. For tests. */
#ifndef HASTINGS_TESTS_SUPPORT_TAPE_INTERPRETER_H
#define HASTINGS_TESTS_SUPPORT_TAPE_INTERPRETER_H

#include "autograd/tape_internal.h"
#include <hastings/tensor/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct {
    const hs_tape *tape;
    size_t starts, rows_per_start;
    uint64_t seed, step, first_row;
    const double *(*leaf)(int32_t id, void *context); /* data of inputs and bound values */
    void *context;
    double **value;  /* by node: [copies][count] */
    double nearness; /* comparisons of numbers this close (relatively) are fragile, */
    bool fragile;    /* since rounding may decide them: then nothing can be said */
    bool is_maximum; /* the second operand is the largest of the first, or the first itself */
} interpreter;

static size_t ti_copies(const interpreter *ti, hs_extent extent)
{
    return extent == HS_SHARED ? 1 : ti->starts * (extent == HS_ROW ? ti->rows_per_start : 1);
}

/* The copy of a value of extent `to` that copy i of a value of extent `from` goes with. */
static size_t ti_copy(const interpreter *ti, hs_extent from, size_t i, hs_extent to)
{
    if (to == HS_SHARED)
        return 0;
    return from == HS_ROW && to == HS_START ? i / ti->rows_per_start : i;
}

static void ti_unravel(const hs_shape *shape, size_t flat, size_t *index)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        index[i] = flat % shape->dim[i];
        flat /= shape->dim[i];
    }
}

static size_t ti_ravel(const hs_shape *shape, const size_t *index)
{
    size_t flat = 0;
    for (int i = 0; i < shape->rank; i++)
        flat = flat * shape->dim[i] + index[i];
    return flat;
}

/* Element `flat` of shape `wide` is which element of `narrow`, broadcast to it? */
static size_t ti_narrow(const hs_shape *wide, size_t flat, const hs_shape *narrow)
{
    size_t index[HS_MAX_RANK] = { 0 }, part[HS_MAX_RANK] = { 0 };
    ti_unravel(wide, flat, index);
    for (int i = 0; i < narrow->rank; i++)
        part[i] = narrow->dim[i] == 1 ? 0 : index[i + wide->rank - narrow->rank];
    return ti_ravel(narrow, part);
}

static double ti_compare(interpreter *ti, double a, double b)
{
    /* Numbers that came about in different ways may be equal here and not in a plan; but what is 0
     * or 1 is so everywhere, and a maximum is one of its numbers. */
    const bool surely_equal = a == b && (ti->is_maximum || a == 0 || fabs(a) == 1);
    if (!surely_equal && fabs(a - b) < ti->nearness * (1 + fabs(a)))
        ti->fragile = true;
    return a - b;
}

static double ti_elementwise(interpreter *ti, op_code op, double a, double b, double c)
{
    switch (op) {
    case OP_copy:
        return a;
    case OP_neg:
        return -a;
    case OP_abs:
        return fabs(a) + 0 * ti_compare(ti, a, 0);
    case OP_sign:
        return ti_compare(ti, a, 0) > 0 ? 1 : a < 0 ? -1 : 0;
    case OP_square:
        return a * a;
    case OP_recip:
        return 1 / a;
    case OP_sqrt:
        return sqrt(a);
    case OP_exp:
        return exp(a);
    case OP_expm1:
        return expm1(a);
    case OP_log:
        return log(a);
    case OP_log1p:
        return log1p(a);
    case OP_sin:
        return sin(a);
    case OP_cos:
        return cos(a);
    case OP_tanh:
        return tanh(a);
    case OP_sigmoid:
        return 1 / (1 + exp(-a));
    case OP_softplus:
        return fmax(a, 0) + log1p(exp(-fabs(a)));
    case OP_relu:
        return ti_compare(ti, a, 0) > 0 ? a : 0;
    case OP_gelu:
        return 0.5 * a * erfc(-a * 0.70710678118654752440);
    case OP_erf:
        return erf(a);
    case OP_add:
        return a + b;
    case OP_sub:
        return a - b;
    case OP_mul:
        return a * b;
    case OP_div:
        return a / b;
    case OP_pow:
        return pow(a, b);
    case OP_max:
        return ti_compare(ti, a, b) >= 0 ? a : b;
    case OP_min:
        return ti_compare(ti, a, b) <= 0 ? a : b;
    case OP_lt:
        return ti_compare(ti, a, b) < 0;
    case OP_le:
        return ti_compare(ti, a, b) <= 0;
    case OP_gt:
        return ti_compare(ti, a, b) > 0;
    case OP_ge:
        return ti_compare(ti, a, b) >= 0;
    case OP_eq:
        return ti_compare(ti, a, b) == 0;
    case OP_ne:
        return ti_compare(ti, a, b) != 0;
    case OP_gate:
        return ti_compare(ti, b, 0) > 0 ? a : 0;
    case OP_select:
        return ti_compare(ti, a, 0) != 0 ? b : c;
    default:
        abort(); /* an op that the interpreter does not know */
    }
}

static void ti_matmul(const interpreter *ti, const tape_node *node, double *out)
{
    const tape_node *x = &ti->tape->node[node->input[0]], *y = &ti->tape->node[node->input[1]];
    const bool *t = node->attributes->transpose;
    const size_t m = node->shape.dim[0], n = node->shape.dim[1], inner = x->shape.dim[t[0] ? 0 : 1];
    const hs_extent extent = widest(x->extent, y->extent);
    for (size_t i = 0; i < ti_copies(ti, extent); i++) {
        const double *a = ti->value[node->input[0]] + ti_copy(ti, extent, i, x->extent) * m * inner;
        const double *b = ti->value[node->input[1]] + ti_copy(ti, extent, i, y->extent) * n * inner;
        double *to = out + ti_copy(ti, extent, i, node->extent) * m * n;
        for (size_t r = 0; r < m; r++)
            for (size_t c = 0; c < n; c++)
                for (size_t k = 0; k < inner; k++)
                    to[r * n + c] +=
                        a[t[0] ? k * m + r : r * inner + k] * b[t[1] ? c * inner + k : k * n + c];
    }
}

static void ti_sum(const interpreter *ti, const tape_node *node, double *out)
{
    const tape_node *x = &ti->tape->node[node->input[0]];
    const size_t wide = hs_shape_count(&x->shape), narrow = hs_shape_count(&node->shape);
    for (size_t i = 0; i < ti_copies(ti, x->extent); i++)
        for (size_t k = 0; k < wide; k++)
            out[ti_copy(ti, x->extent, i, node->extent) * narrow +
                ti_narrow(&x->shape, k, &node->shape)] += ti->value[node->input[0]][i * wide + k];
}

/* Moves, and ops along an axis: element k of one copy. */
static double ti_moved(const interpreter *ti, const tape_node *node, size_t copy, size_t k)
{
    const op_attributes *a = node->attributes;
    const tape_node *in = &ti->tape->node[node->input[0]];
    const double *x = ti->value[node->input[0]] +
                      ti_copy(ti, node->extent, copy, in->extent) * hs_shape_count(&in->shape);
    size_t at[HS_MAX_RANK] = { 0 }, from[HS_MAX_RANK] = { 0 };
    ti_unravel(&node->shape, k, at);
    for (int i = 0; i < HS_MAX_RANK; i++)
        from[i] = at[i];
    double sum = 0, most = -INFINITY;
    switch (node->op) {
    case OP_reshape:
    case OP_stop:
        return x[k];
    case OP_broadcast:
        return x[ti_narrow(&node->shape, k, &in->shape)];
    case OP_permute:
        for (int i = 0; i < node->shape.rank; i++)
            from[a->permutation[i]] = at[i];
        return x[ti_ravel(&in->shape, from)];
    case OP_slice:
        from[a->axis] += a->first;
        return x[ti_ravel(&in->shape, from)];
    case OP_pad:
        if (at[a->axis] < a->first || at[a->axis] >= a->first + in->shape.dim[a->axis])
            return 0;
        from[a->axis] -= a->first;
        return x[ti_ravel(&in->shape, from)];
    case OP_gather:
        from[a->axis] = a->index[at[a->axis]];
        return x[ti_ravel(&in->shape, from)];
    case OP_scatter:
        for (from[a->axis] = 0; from[a->axis] < a->index_count; from[a->axis]++)
            if (a->index[from[a->axis]] == at[a->axis])
                sum += x[ti_ravel(&in->shape, from)];
        return sum;
    case OP_concat:
        for (int i = 0; i < node->inputs; i++) {
            const tape_node *part = &ti->tape->node[node->input[i]];
            const size_t length = part->shape.dim[a->axis];
            if (from[a->axis] < length)
                return ti->value[node->input[i]][ti_copy(ti, node->extent, copy, part->extent) *
                                                     hs_shape_count(&part->shape) +
                                                 ti_ravel(&part->shape, from)];
            from[a->axis] -= length;
        }
        abort();
    case OP_max_over:
    case OP_logsumexp:
        for (from[a->axis] = 0; from[a->axis] < in->shape.dim[a->axis]; from[a->axis]++)
            most = fmax(most, x[ti_ravel(&in->shape, from)]);
        if (node->op == OP_max_over)
            return most;
        for (from[a->axis] = 0; from[a->axis] < in->shape.dim[a->axis]; from[a->axis]++)
            sum += exp(x[ti_ravel(&in->shape, from)] - most);
        return most + log(sum);
    default:
        abort();
    }
}

static double ti_random(const interpreter *ti, const tape_node *node, size_t copy, size_t k)
{
    const uint64_t row = node->extent == HS_ROW     ? ti->first_row + copy
                         : node->extent == HS_START ? ti->first_row / ti->rows_per_start + copy
                                                    : 0;
    return hs_random_at(
        ti->tape->dtype, node->op == OP_normal ? HS_NORMAL : HS_UNIFORM,
        (hs_address){ .seed = ti->seed, .stream = node->attributes->stream, .step = ti->step },
        (uint32_t)row, (uint32_t)k);
}

static double ti_leaf(const interpreter *ti, const tape_node *node, int32_t id, size_t i, size_t k)
{
    const op_attributes *a = node->attributes;
    switch (node->op) {
    case OP_constant:
        return ti->tape->dtype == HS_F32 ? (double)(float)a->number : a->number;
    case OP_tensor:
        return ti->tape->dtype == HS_F32 ? (double)((const float *)a->data)[k]
                                         : ((const double *)a->data)[k];
    case OP_count:
        return (double)ti_copies(ti, (hs_extent)a->axis);
    case OP_normal:
    case OP_uniform:
        return ti_random(ti, node, i, k);
    default:
        return ti->leaf(id, ti->context)[i * hs_shape_count(&node->shape) + k];
    }
}

static void ti_node(interpreter *ti, int32_t id)
{
    const tape_node *node = &ti->tape->node[id];
    const size_t count = hs_shape_count(&node->shape), copies = ti_copies(ti, node->extent);
    double *out = ti->value[id] = calloc(copies * count, sizeof *out);
    if (node->op == OP_matmul) {
        ti_matmul(ti, node, out);
        return;
    }
    if (node->op == OP_sum_to) {
        ti_sum(ti, node, out);
        return;
    }
    ti->is_maximum = node->inputs == 2 && (node->input[0] == node->input[1] ||
                                           ti->tape->node[node->input[1]].op == OP_max_over);
    for (size_t i = 0; i < copies; i++)
        for (size_t k = 0; k < count; k++) {
            double in[3] = { 0 };
            if (hs__op_table[node->op].kind == KIND_LEAF) {
                out[i * count + k] = ti_leaf(ti, node, id, i, k);
                continue;
            }
            if (hs__op_table[node->op].kind != KIND_ELEMENTWISE) {
                out[i * count + k] = ti_moved(ti, node, i, k);
                continue;
            }
            for (int j = 0; j < node->inputs; j++) {
                const tape_node *x = &ti->tape->node[node->input[j]];
                in[j] = ti->value[node->input[j]][ti_copy(ti, node->extent, i, x->extent) *
                                                      hs_shape_count(&x->shape) +
                                                  ti_narrow(&node->shape, k, &x->shape)];
            }
            out[i * count + k] = ti_elementwise(ti, node->op, in[0], in[1], in[2]);
        }
}

static void ti_run(interpreter *ti)
{
    ti->value = calloc((size_t)ti->tape->size, sizeof *ti->value);
    for (int32_t id = 0; id < ti->tape->size; id++)
        ti_node(ti, id);
}

static void ti_free(interpreter *ti)
{
    for (int32_t id = 0; id < ti->tape->size; id++)
        free(ti->value[id]);
    free(ti->value);
}

#endif
