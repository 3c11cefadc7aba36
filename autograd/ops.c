/* Recording functions: each checks its operands, infers shape and extent, and appends a node. */
#include "tape_internal.h"

#include <string.h>

/* Nodes recorded here on behalf of a caller carry the caller's place. */
#undef HS_HERE
#define HS_HERE at

/* ---- Elementwise -------------------------------------------------------------------------- */

static hs_var elementwise(op_code op, const hs_var *x, int n, const op_attributes *attributes,
                          const char *at)
{
    if (!hs__inputs_ok(x, n, hs__op_table[op].name, at))
        return poison(x[0].tape);
    hs_shape shape = node_of(x[0])->shape;
    hs_extent extent = node_of(x[0])->extent;
    for (int i = 1; i < n; i++) {
        if (!hs_shape_broadcast(&shape, &node_of(x[i])->shape, &shape)) {
            /* Name the first operand that clashes with this one, or the common shape so far. */
            char a[VAR_TEXT], b[VAR_TEXT], so_far[HS_SHAPE_TEXT];
            hs_shape unused;
            int k = 0;
            while (k < i &&
                   hs_shape_broadcast(&node_of(x[k])->shape, &node_of(x[i])->shape, &unused))
                k++;
            return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                                "%s: %s and %s do not broadcast: from the last axis on, lengths "
                                "must be equal or 1",
                                hs__op_table[op].name,
                                k < i ? hs__var_text(x[k], a) : hs_shape_text(&shape, so_far),
                                hs__var_text(x[i], b));
        }
        extent = widest(extent, node_of(x[i])->extent);
    }
    return hs__tape_append(x[0].tape, op, extent, shape, x, n, attributes, at);
}

#define HS_UNARY(name, traits, domain, kernel, ga, doc)                                            \
    hs_var hs_##name##_at(hs_var x, const char *at)                                                \
    {                                                                                              \
        return elementwise(OP_##name, &x, 1, NULL, at);                                            \
    }
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)                                       \
    hs_var hs_##name##_at(hs_var x, hs_var y, const char *at)                                      \
    {                                                                                              \
        return elementwise(OP_##name, (hs_var[]){ x, y }, 2, NULL, at);                            \
    }
#define HS_ORDERED(...) /* as the other ops, it has a function of its own below */
#include <hastings/autograd/ops.def>

hs_var hs_select_at(hs_var condition, hs_var y, hs_var z, const char *at)
{
    return elementwise(OP_select, (hs_var[]){ condition, y, z }, 3, NULL, at);
}

hs_var hs_polygamma_at(int n, hs_var x, const char *at)
{
    if (n < 0)
        return hs_tape_fail(x.tape, HS_EINVAL, at, "polygamma: order %d is negative", n);
    const op_attributes attributes = { .order = n };
    return elementwise(OP_polygamma, &x, 1, &attributes, at);
}

hs_var hs_scale_at(hs_var x, double c, const char *at)
{
    return hs_mul(x, hs_const(x.tape, c));
}

hs_var hs_shift_at(hs_var x, double c, const char *at)
{
    return hs_add(x, hs_const(x.tape, c));
}

hs_var hs_sub_from_at(double c, hs_var x, const char *at)
{
    return hs_sub(hs_const(x.tape, c), x);
}

hs_var hs_power_at(hs_var x, double c, const char *at)
{
    return hs_pow(x, hs_const(x.tape, c));
}

hs_var hs_stop_at(hs_var x, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "stop", at))
        return poison(x.tape);
    return hs__tape_append(x.tape, OP_stop, node_of(x)->extent, node_of(x)->shape, &x, 1, NULL, at);
}

/* ---- Products ------------------------------------------------------------------------------- */

/* The product of matrices, summed over the batch down to `extent`. If one factor has a narrower extent, the other is
 * summed before the product, which is less work. Two factors of one extent are summed inside the product if the result
 * is shared, and after it if there is one per start. */
static hs_var product(hs_var x, bool tx, hs_var y, bool ty, hs_extent extent, const char *at)
{
    const hs_extent ex = node_of(x)->extent, ey = node_of(y)->extent;
    if (extent < widest(ex, ey)) {
        if (ex < ey)
            return product(x, tx, hs_sum_to(y, node_of(y)->shape, widest(ex, extent)), ty, extent,
                           at);
        if (ey < ex)
            return product(hs_sum_to(x, node_of(x)->shape, widest(ey, extent)), tx, y, ty, extent,
                           at);
        if (extent == HS_START) {
            hs_var rows = product(x, tx, y, ty, HS_ROW, at);
            return hs_var_ok(rows) ? hs_sum_to(rows, node_of(rows)->shape, HS_START) : rows;
        }
    }
    if (!hs_var_ok(x) || !hs_var_ok(y))
        return poison(x.tape);
    const hs_shape *sx = &node_of(x)->shape, *sy = &node_of(y)->shape;
    const op_attributes attributes = { .transpose = { tx, ty } };
    return hs__tape_append(x.tape, OP_matmul, extent,
                           hs_dims(sx->dim[tx ? 1 : 0], sy->dim[ty ? 0 : 1]), (hs_var[]){ x, y }, 2,
                           &attributes, at);
}

/* The product of two matrices. */
static hs_var matrix_product(hs_var x, bool tx, hs_var y, bool ty, const char *at)
{
    const hs_shape mx = node_of(x)->shape, my = node_of(y)->shape;
    const size_t columns = mx.dim[tx ? 0 : 1], rows = my.dim[ty ? 1 : 0];
    char a[VAR_TEXT], b[VAR_TEXT];
    if (columns != rows)
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "matmul: %s%s has %zu columns, and %s%s has %zu rows: they must agree",
                            hs__var_text(x, a), tx ? " transposed" : "", columns,
                            hs__var_text(y, b), ty ? " transposed" : "", rows);
    return product(x, tx, y, ty, widest(node_of(x)->extent, node_of(y)->extent), at);
}

hs_var hs_matmul_t_at(hs_var x, bool tx, hs_var y, bool ty, const char *at)
{
    if (!hs__inputs_ok((hs_var[]){ x, y }, 2, "matmul", at))
        return poison(x.tape);
    const hs_shape sx = node_of(x)->shape, sy = node_of(y)->shape;
    char a[VAR_TEXT], b[VAR_TEXT];
    if (sx.rank < 1 || sx.rank > 2 || sy.rank < 1 || sy.rank > 2)
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "matmul: operands must be vectors or matrices, and are %s and %s",
                            hs__var_text(x, a), hs__var_text(y, b));
    /* A vector on the left is a row, on the right a column; a transposed one the other way. */
    const bool vector_x = sx.rank == 1, vector_y = sy.rank == 1;
    if (vector_x)
        x = hs_reshape(x, tx ? hs_dims(sx.dim[0], 1) : hs_dims(1, sx.dim[0]));
    if (vector_y)
        y = hs_reshape(y, ty ? hs_dims(1, sy.dim[0]) : hs_dims(sy.dim[0], 1));
    if (!hs_var_ok(x) || !hs_var_ok(y))
        return poison(x.tape);
    hs_var z = matrix_product(x, tx, y, ty, at);
    if (!hs_var_ok(z) || !(vector_x || vector_y))
        return z;
    const hs_shape sz = node_of(z)->shape;
    if (vector_x && vector_y)
        return hs_reshape(z, hs_scalar_shape());
    return hs_reshape(z, hs_dims(sz.dim[vector_x ? 1 : 0]));
}

hs_var hs_matmul_at(hs_var x, hs_var y, const char *at)
{
    return hs_matmul_t(x, false, y, false);
}

hs_var hs__matmul_to(hs_var x, bool tx, hs_var y, bool ty, hs_extent extent, const char *at)
{
    if (!hs__inputs_ok((hs_var[]){ x, y }, 2, "matmul", at))
        return poison(x.tape);
    return product(x, tx, y, ty, extent, at);
}

hs_var hs_dot_at(hs_var x, hs_var y, const char *at)
{
    return hs_sum(hs_mul(x, y), -1);
}

/* ---- Reductions ----------------------------------------------------------------------------- */

/* The axis counted from 0, or -1 after failing the tape. */
static int resolve_axis(hs_var x, int axis, const char *op, const char *at)
{
    const int rank = node_of(x)->shape.rank;
    const int resolved = axis < 0 ? axis + rank : axis;
    if (resolved >= 0 && resolved < rank)
        return resolved;
    char text[VAR_TEXT];
    hs_tape_fail(x.tape, HS_ESHAPE, at, "%s: there is no axis %d in %s", op, axis,
                 hs__var_text(x, text));
    return -1;
}

static hs_shape without_axis(const hs_shape *shape, int axis)
{
    hs_shape result = { 0, { 0 } };
    for (int i = 0; i < shape->rank; i++)
        if (i != axis)
            result.dim[result.rank++] = shape->dim[i];
    return result;
}

static hs_shape flattened_axis(const hs_shape *shape, int axis)
{
    hs_shape result = *shape;
    result.dim[axis] = 1;
    return result;
}

hs_var hs_sum_to_at(hs_var x, hs_shape shape, hs_extent extent, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "sum_to", at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    hs_shape wide;
    char a[VAR_TEXT], b[HS_SHAPE_TEXT];
    if (!hs_shape_broadcast(&node->shape, &shape, &wide) || !hs_shape_equal(&wide, &node->shape))
        return hs_tape_fail(x.tape, HS_ESHAPE, at, "sum_to: %s cannot be summed to %s",
                            hs__var_text(x, a), hs_shape_text(&shape, b));
    if (extent > node->extent)
        return hs_tape_fail(x.tape, HS_EEXTENT, at, "sum_to: %s cannot be summed to extent %s",
                            hs__var_text(x, a), hs_extent_name(extent));
    if (hs_shape_equal(&shape, &node->shape) && extent == node->extent)
        return x;
    return hs__tape_append(x.tape, OP_sum_to, extent, shape, &x, 1, NULL, at);
}

hs_var hs_sum_at(hs_var x, int axis, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "sum", at))
        return poison(x.tape);
    const hs_extent extent = node_of(x)->extent;
    if (axis == HS_ALL)
        return hs_sum_to(x, hs_scalar_shape(), extent);
    axis = resolve_axis(x, axis, "sum", at);
    if (axis < 0)
        return poison(x.tape);
    const hs_shape shape = node_of(x)->shape;
    hs_var sum = hs_sum_to(x, flattened_axis(&shape, axis), extent);
    return hs_reshape(sum, without_axis(&shape, axis));
}

hs_var hs_mean_at(hs_var x, int axis, const char *at)
{
    hs_var sum = hs_sum(x, axis);
    if (!hs_var_ok(sum))
        return sum;
    const double ratio =
        (double)hs_shape_count(&node_of(x)->shape) / (double)hs_shape_count(&node_of(sum)->shape);
    return hs_scale(sum, 1 / ratio);
}

/* max_over and logsumexp are recorded with the axis kept at length 1. */
static hs_var over_axis(op_code op, hs_var x, int axis, bool keep, const char *at)
{
    if (!hs__inputs_ok(&x, 1, hs__op_table[op].name, at))
        return poison(x.tape);
    if (axis == HS_ALL) {
        x = hs_reshape(x, hs_dims(hs_shape_count(&node_of(x)->shape)));
        if (!hs_var_ok(x))
            return x;
        axis = 0;
    }
    axis = resolve_axis(x, axis, hs__op_table[op].name, at);
    if (axis < 0)
        return poison(x.tape);
    const hs_shape shape = node_of(x)->shape;
    const op_attributes attributes = { .axis = axis };
    hs_var y = hs__tape_append(x.tape, op, node_of(x)->extent, flattened_axis(&shape, axis), &x, 1,
                               &attributes, at);
    return keep ? y : hs_reshape(y, without_axis(&shape, axis));
}

hs_var hs_max_over_at(hs_var x, int axis, const char *at)
{
    return over_axis(OP_max_over, x, axis, false, at);
}

hs_var hs_logsumexp_at(hs_var x, int axis, const char *at)
{
    return over_axis(OP_logsumexp, x, axis, false, at);
}

hs_var hs_log_softmax_at(hs_var x, int axis, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "log_softmax", at))
        return poison(x.tape);
    if (axis == HS_ALL)
        return hs_tape_fail(x.tape, HS_EINVAL, at, "log_softmax: name one axis, not HS_ALL");
    return hs_sub(x, over_axis(OP_logsumexp, x, axis, true, at));
}

hs_var hs_softmax_at(hs_var x, int axis, const char *at)
{
    return hs_exp(hs_log_softmax(x, axis));
}

hs_var hs_sum_rows_at(hs_var x, const char *at)
{
    return hs_sum_to(x, hs_var_shape(x), HS_SHARED);
}

hs_var hs_mean_rows_at(hs_var x, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "mean_rows", at))
        return poison(x.tape);
    const hs_extent extent = node_of(x)->extent;
    if (extent == HS_SHARED)
        return x;
    const op_attributes attributes = { .axis = (int)extent }; /* the extent to count */
    hs_var count =
        hs__tape_append(x.tape, OP_count, HS_SHARED, hs_scalar_shape(), NULL, 0, &attributes, at);
    return hs_div(hs_sum_rows(x), count);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

hs_var hs_broadcast_at(hs_var x, hs_shape shape, hs_extent extent, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "broadcast", at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    hs_shape wide;
    char a[VAR_TEXT], b[HS_SHAPE_TEXT];
    if (shape.rank < 0 || !hs_shape_broadcast(&node->shape, &shape, &wide) ||
        !hs_shape_equal(&wide, &shape))
        return hs_tape_fail(x.tape, HS_ESHAPE, at, "broadcast: %s does not stretch to %s",
                            hs__var_text(x, a), hs_shape_text(&shape, b));
    if (extent < node->extent)
        return hs_tape_fail(x.tape, HS_EEXTENT, at, "broadcast: %s does not stretch to extent %s",
                            hs__var_text(x, a), hs_extent_name(extent));
    if (hs_shape_equal(&shape, &node->shape) && extent == node->extent)
        return x;
    return hs__tape_append(x.tape, OP_broadcast, extent, shape, &x, 1, NULL, at);
}

hs_var hs_reshape_at(hs_var x, hs_shape shape, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "reshape", at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    if (hs_shape_equal(&shape, &node->shape))
        return x;
    if (hs_shape_valid(&shape) && hs_shape_count(&shape) != hs_shape_count(&node->shape)) {
        char a[VAR_TEXT], b[HS_SHAPE_TEXT];
        return hs_tape_fail(x.tape, HS_ESHAPE, at, "reshape: %s has %zu elements, and %s has %zu",
                            hs__var_text(x, a), hs_shape_count(&node->shape),
                            hs_shape_text(&shape, b), hs_shape_count(&shape));
    }
    return hs__tape_append(x.tape, OP_reshape, node->extent, shape, &x, 1, NULL, at);
}

hs_var hs_permute_at(hs_var x, const int *order, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "permute", at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    op_attributes attributes = { 0 };
    hs_shape shape = node->shape;
    unsigned seen = 0;
    for (int i = 0; i < shape.rank; i++) {
        if (order[i] < 0 || order[i] >= shape.rank || seen & 1u << order[i]) {
            char a[VAR_TEXT];
            return hs_tape_fail(x.tape, HS_EINVAL, at,
                                "permute: order of %s must name each axis once; entry %d is %d",
                                hs__var_text(x, a), i, order[i]);
        }
        seen |= 1u << order[i];
        attributes.permutation[i] = order[i];
        shape.dim[i] = node->shape.dim[order[i]];
    }
    return hs__tape_append(x.tape, OP_permute, node->extent, shape, &x, 1, &attributes, at);
}

hs_var hs_slice_at(hs_var x, int axis, size_t first, size_t end, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "slice", at) || (axis = resolve_axis(x, axis, "slice", at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    if (first >= end || end > shape.dim[axis]) {
        char a[VAR_TEXT];
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "slice: places %zu to %zu of axis %d are not a range in %s", first, end,
                            axis, hs__var_text(x, a));
    }
    if (first == 0 && end == shape.dim[axis])
        return x;
    shape.dim[axis] = end - first;
    const op_attributes attributes = { .axis = axis, .first = first, .end = end };
    return hs__tape_append(x.tape, OP_slice, node_of(x)->extent, shape, &x, 1, &attributes, at);
}

hs_var hs_pad_at(hs_var x, int axis, size_t before, size_t after, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "pad", at) || (axis = resolve_axis(x, axis, "pad", at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    const size_t limit = (size_t)-1 / 4;
    if (before > limit || after > limit)
        return hs_tape_fail(x.tape, HS_EOVERFLOW, at, "pad: %zu before and %zu after are too many",
                            before, after);
    if (before == 0 && after == 0)
        return x;
    shape.dim[axis] += before + after;
    const op_attributes attributes = { .axis = axis, .first = before, .end = after };
    return hs__tape_append(x.tape, OP_pad, node_of(x)->extent, shape, &x, 1, &attributes, at);
}

hs_var hs_concat_at(const hs_var *xs, size_t n, int axis, const char *at)
{
    enum { MOST = 4096 };
    if (n == 0 || n > MOST)
        return hs_tape_fail(n ? xs[0].tape : NULL, HS_EINVAL, at,
                            "concat: joins 1 to %d values, not %zu", (int)MOST, n);
    if (!hs__inputs_ok(xs, (int)n, "concat", at) ||
        (axis = resolve_axis(xs[0], axis, "concat", at)) < 0)
        return poison(xs[0].tape);
    hs_shape shape = node_of(xs[0])->shape;
    hs_extent extent = node_of(xs[0])->extent;
    for (size_t i = 1; i < n; i++) {
        hs_shape other = node_of(xs[i])->shape;
        const size_t length = other.rank == shape.rank ? other.dim[axis] : 0;
        other.dim[axis] = shape.dim[axis];
        if (!hs_shape_equal(&shape, &other)) {
            char a[VAR_TEXT], b[VAR_TEXT];
            return hs_tape_fail(xs[0].tape, HS_ESHAPE, at,
                                "concat: %s and %s differ in more than axis %d",
                                hs__var_text(xs[0], a), hs__var_text(xs[i], b), axis);
        }
        if (shape.dim[axis] > (size_t)-1 - length)
            return hs_tape_fail(xs[0].tape, HS_EOVERFLOW, at,
                                "concat: the joined axis is longer than can be counted");
        shape.dim[axis] += length;
        extent = widest(extent, node_of(xs[i])->extent);
    }
    if (n == 1)
        return xs[0];
    const op_attributes attributes = { .axis = axis };
    return hs__tape_append(xs[0].tape, OP_concat, extent, shape, xs, (int)n, &attributes, at);
}

/* Checks that all of `index` is below `length`, and copies it to the tape. */
static const size_t *keep_index(hs_var x, const char *op, const size_t *index, size_t n,
                                size_t length, const char *at)
{
    for (size_t i = 0; i < n; i++)
        if (index[i] >= length) {
            char a[VAR_TEXT];
            hs_tape_fail(x.tape, HS_EINVAL, at, "%s: index %zu is %zu, and must be below %zu: %s",
                         op, i, index[i], length, hs__var_text(x, a));
            return NULL;
        }
    size_t *kept = n <= (size_t)-1 / 16 ? hs_arena_alloc(&x.tape->arena, n * sizeof *kept) : NULL;
    if (!kept)
        hs_tape_fail(x.tape, HS_ENOMEM, at, "%s: out of memory", op);
    else if (n)
        memcpy(kept, index, n * sizeof *kept);
    return kept;
}

hs_var hs_gather_at(hs_var x, int axis, const size_t *index, size_t n, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "gather", at) || (axis = resolve_axis(x, axis, "gather", at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    index = keep_index(x, "gather", index, n, shape.dim[axis], at);
    if (!index)
        return poison(x.tape);
    const op_attributes attributes = { .axis = axis, .index = index, .index_count = n };
    shape.dim[axis] = n;
    return hs__tape_append(x.tape, OP_gather, node_of(x)->extent, shape, &x, 1, &attributes, at);
}

hs_var hs_scatter_at(hs_var x, int axis, const size_t *index, size_t length, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "scatter", at) || (axis = resolve_axis(x, axis, "scatter", at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    const size_t n = shape.dim[axis];
    index = keep_index(x, "scatter", index, n, length, at);
    if (!index)
        return poison(x.tape);
    const op_attributes attributes = { .axis = axis, .index = index, .index_count = n };
    shape.dim[axis] = length;
    return hs__tape_append(x.tape, OP_scatter, node_of(x)->extent, shape, &x, 1, &attributes, at);
}

/* ---- Functions of the user's own ------------------------------------------------------------ */

static hs_var call(op_code op, const hs_function *f, const hs_var *x, int n, const char *at)
{
    static const char *const what[] = { "value", "gradient", "Hessian-vector product" };
    if (!hs__inputs_ok(x, n, "call", at))
        return poison(x[0].tape);
    const hs_shape shape = node_of(x[0])->shape;
    const int order = (int)op - (int)OP_call;
    const bool given[] = { f && f->value, f && f->gradient, f && f->hessian_vector };
    char a[VAR_TEXT], b[VAR_TEXT];
    if (!given[order])
        return hs_tape_fail(x[0].tape, HS_EINVAL, at,
                            "call: function \"%s\" has no %s, which is needed here",
                            f && f->name ? f->name : "?", what[order]);
    if (shape.rank != 1)
        return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                            "call: function \"%s\" takes a vector, and is given %s",
                            f->name ? f->name : "?", hs__var_text(x[0], a));
    if (n == 2 && !hs_shape_equal(&shape, &node_of(x[1])->shape))
        return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                            "call: point %s and direction %s differ in shape",
                            hs__var_text(x[0], a), hs__var_text(x[1], b));
    hs_extent extent = node_of(x[0])->extent;
    if (n == 2)
        extent = widest(extent, node_of(x[1])->extent);
    const op_attributes attributes = { .function = f };
    return hs__tape_append(x[0].tape, op, extent, op == OP_call ? hs_scalar_shape() : shape, x, n,
                           &attributes, at);
}

hs_var hs_call_at(const hs_function *f, hs_var x, const char *at)
{
    return call(OP_call, f, &x, 1, at);
}

hs_var hs_call_grad_at(const hs_function *f, hs_var x, const char *at)
{
    return call(OP_call_grad, f, &x, 1, at);
}

hs_var hs_call_hvp_at(const hs_function *f, hs_var x, hs_var v, const char *at)
{
    return call(OP_call_hvp, f, (hs_var[]){ x, v }, 2, at);
}
