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
    hs_shape shape = node_of(x[0])->shape, unused;
    hs_extent extent = node_of(x[0])->extent;
    for (int i = 1; i < n; i++) {
        const hs_shape *other = &node_of(x[i])->shape;
        if (!hs_shape_broadcast(&shape, other, &shape)) {
            /* Name the first operand that clashes with this one, or the common shape so far. */
            int k = 0;
            while (k < i && hs_shape_broadcast(&node_of(x[k])->shape, other, &unused))
                k++;
            return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                                "%s: %s and %s do not broadcast: from the last axis on, lengths "
                                "must be equal or 1",
                                hs__op_table[op].name,
                                k < i ? VAR_TEXT_OF(x[k]) : SHAPE_TEXT_OF(&shape),
                                VAR_TEXT_OF(x[i]));
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
    return elementwise(OP_polygamma, &x, 1, &(op_attributes){ .order = n }, at);
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

/* Appends a node with one operand, and its extent. */
static hs_var append(op_code op, hs_var x, hs_shape shape, const op_attributes *attributes,
                     const char *at)
{
    return hs__tape_append(x.tape, op, node_of(x)->extent, shape, &x, 1, attributes, at);
}

hs_var hs_stop_at(hs_var x, const char *at)
{
    return hs__inputs_ok(&x, 1, "stop", at) ? append(OP_stop, x, node_of(x)->shape, NULL, at)
                                            : poison(x.tape);
}

/* ---- Products ------------------------------------------------------------------------------- */

/* The product of matrices, summed over the batch down to `extent`. If one factor has a narrower extent, the other is
 * summed before the product, which is less work. Two factors of one extent are summed inside the product if the result
 * is shared, and after it if there is one per start. */
static hs_var product(hs_var x, bool tx, hs_var y, bool ty, hs_extent extent, const char *at)
{
    const hs_extent ex = node_of(x)->extent, ey = node_of(y)->extent;
    if (extent < ey && ex < ey)
        return product(x, tx, hs_sum_to(y, node_of(y)->shape, widest(ex, extent)), ty, extent, at);
    if (extent < ex && ey < ex)
        return product(hs_sum_to(x, node_of(x)->shape, widest(ey, extent)), tx, y, ty, extent, at);
    if (extent == HS_START && ex == HS_ROW) {
        hs_var rows = product(x, tx, y, ty, HS_ROW, at);
        return hs_sum_to(rows, hs_var_shape(rows), HS_START);
    }
    if (!hs_var_ok(x) || !hs_var_ok(y))
        return poison(x.tape);
    const hs_shape *sx = &node_of(x)->shape, *sy = &node_of(y)->shape;
    const hs_shape shape = hs_dims(sx->dim[tx], sy->dim[!ty]);
    return hs__tape_append(x.tape, OP_matmul, extent, shape, (hs_var[]){ x, y }, 2,
                           &(op_attributes){ .transpose = { tx, ty } }, at);
}

hs_var hs_matmul_t_at(hs_var x, bool tx, hs_var y, bool ty, const char *at)
{
    if (!hs__inputs_ok((hs_var[]){ x, y }, 2, "matmul", at))
        return poison(x.tape);
    hs_shape sx = node_of(x)->shape, sy = node_of(y)->shape, shape = hs_scalar_shape();
    if (sx.rank < 1 || sx.rank > 2 || sy.rank < 1 || sy.rank > 2)
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "matmul: operands must be vectors or matrices, and are %s and %s",
                            VAR_TEXT_OF(x), VAR_TEXT_OF(y));
    /* A vector on the left is a row, on the right a column; a transposed one the other way. */
    const bool vector_x = sx.rank == 1, vector_y = sy.rank == 1;
    if (vector_x)
        sx = tx ? hs_dims(sx.dim[0], 1) : hs_dims(1, sx.dim[0]);
    if (vector_y)
        sy = ty ? hs_dims(1, sy.dim[0]) : hs_dims(sy.dim[0], 1);
    x = hs_reshape(x, sx);
    y = hs_reshape(y, sy);
    if (!hs_var_ok(x) || !hs_var_ok(y))
        return poison(x.tape);
    if (sx.dim[!tx] != sy.dim[ty])
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "matmul: %s%s has %zu columns, and %s%s has %zu rows: they must agree",
                            VAR_TEXT_OF(x), tx ? " transposed" : "", sx.dim[!tx], VAR_TEXT_OF(y),
                            ty ? " transposed" : "", sy.dim[ty]);
    hs_var z = product(x, tx, y, ty, widest(node_of(x)->extent, node_of(y)->extent), at);
    if (!vector_x)
        shape.dim[shape.rank++] = sx.dim[tx];
    if (!vector_y)
        shape.dim[shape.rank++] = sy.dim[!ty];
    return hs_reshape(z, shape);
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

/* The axis of x counted from 0, or -1 after failing the tape. */
static int axis_of(hs_var x, int axis, const char *op, const char *at)
{
    if (!hs__inputs_ok(&x, 1, op, at))
        return -1;
    const int rank = node_of(x)->shape.rank;
    const int resolved = axis < 0 ? axis + rank : axis;
    if (resolved >= 0 && resolved < rank)
        return resolved;
    hs_tape_fail(x.tape, HS_ESHAPE, at, "%s: there is no axis %d in %s", op, axis, VAR_TEXT_OF(x));
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

/* sum_to takes a value to a narrower shape and extent, broadcast to a wider. */
static hs_var resize(op_code op, hs_var x, hs_shape shape, hs_extent extent, const char *at)
{
    const char *name = hs__op_table[op].name;
    const bool widens = op == OP_broadcast;
    const char *const refusal = widens ? "does not stretch" : "cannot be summed";
    if (!hs__inputs_ok(&x, 1, name, at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    hs_shape wide;
    if (!hs_shape_broadcast(&node->shape, &shape, &wide) ||
        !hs_shape_equal(&wide, widens ? &shape : &node->shape))
        return hs_tape_fail(x.tape, HS_ESHAPE, at, "%s: %s %s to %s", name, VAR_TEXT_OF(x), refusal,
                            SHAPE_TEXT_OF(&shape));
    if (widens ? extent < node->extent : extent > node->extent)
        return hs_tape_fail(x.tape, HS_EEXTENT, at, "%s: %s %s to extent %s", name, VAR_TEXT_OF(x),
                            refusal, hs_extent_name(extent));
    if (hs_shape_equal(&shape, &node->shape) && extent == node->extent)
        return x;
    return hs__tape_append(x.tape, op, extent, shape, &x, 1, NULL, at);
}

hs_var hs_sum_to_at(hs_var x, hs_shape shape, hs_extent extent, const char *at)
{
    return resize(OP_sum_to, x, shape, extent, at);
}

hs_var hs_broadcast_at(hs_var x, hs_shape shape, hs_extent extent, const char *at)
{
    return resize(OP_broadcast, x, shape, extent, at);
}

hs_var hs_sum_at(hs_var x, int axis, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "sum", at))
        return poison(x.tape);
    if (axis == HS_ALL)
        return hs_sum_to(x, hs_scalar_shape(), node_of(x)->extent);
    if ((axis = axis_of(x, axis, "sum", at)) < 0)
        return poison(x.tape);
    const hs_shape shape = node_of(x)->shape;
    hs_var sum = hs_sum_to(x, flattened_axis(&shape, axis), node_of(x)->extent);
    return hs_reshape(sum, without_axis(&shape, axis));
}

hs_var hs_mean_at(hs_var x, int axis, const char *at)
{
    hs_var sum = hs_sum(x, axis);
    const hs_shape before = hs_var_shape(x), after = hs_var_shape(sum);
    const double ratio = (double)hs_shape_count(&before) / (double)hs_shape_count(&after);
    return hs_scale(sum, 1 / ratio);
}

/* max_over and logsumexp are recorded with the axis kept at length 1. */
static hs_var over_axis(op_code op, hs_var x, int axis, bool keep, const char *at)
{
    if (!hs__inputs_ok(&x, 1, hs__op_table[op].name, at))
        return poison(x.tape);
    if (axis == HS_ALL) {
        x = hs_reshape(x, hs_dims(hs_shape_count(&node_of(x)->shape)));
        axis = 0;
    }
    if ((axis = axis_of(x, axis, hs__op_table[op].name, at)) < 0)
        return poison(x.tape);
    const hs_shape shape = node_of(x)->shape;
    hs_var y = append(op, x, flattened_axis(&shape, axis), &(op_attributes){ .axis = axis }, at);
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
    hs_var count = hs__tape_append(x.tape, OP_count, HS_SHARED, hs_scalar_shape(), NULL, 0,
                                   &(op_attributes){ .axis = (int)extent }, at);
    return hs_div(hs_sum_rows(x), count);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

hs_var hs_reshape_at(hs_var x, hs_shape shape, const char *at)
{
    if (!hs__inputs_ok(&x, 1, "reshape", at))
        return poison(x.tape);
    const tape_node *node = node_of(x);
    if (hs_shape_equal(&shape, &node->shape))
        return x;
    if (hs_shape_valid(&shape) && hs_shape_count(&shape) != hs_shape_count(&node->shape))
        return hs_tape_fail(x.tape, HS_ESHAPE, at, "reshape: %s has %zu elements, and %s has %zu",
                            VAR_TEXT_OF(x), hs_shape_count(&node->shape), SHAPE_TEXT_OF(&shape),
                            hs_shape_count(&shape));
    return append(OP_reshape, x, shape, NULL, at);
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
        if (order[i] < 0 || order[i] >= shape.rank || seen & 1u << order[i])
            return hs_tape_fail(x.tape, HS_EINVAL, at,
                                "permute: order of %s must name each axis once; entry %d is %d",
                                VAR_TEXT_OF(x), i, order[i]);
        seen |= 1u << order[i];
        attributes.permutation[i] = order[i];
        shape.dim[i] = node->shape.dim[order[i]];
    }
    return append(OP_permute, x, shape, &attributes, at);
}

hs_var hs_slice_at(hs_var x, int axis, size_t first, size_t end, const char *at)
{
    if ((axis = axis_of(x, axis, "slice", at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    if (first >= end || end > shape.dim[axis])
        return hs_tape_fail(x.tape, HS_ESHAPE, at,
                            "slice: places %zu to %zu of axis %d are not a range in %s", first, end,
                            axis, VAR_TEXT_OF(x));
    if (first == 0 && end == shape.dim[axis])
        return x;
    shape.dim[axis] = end - first;
    const op_attributes attributes = { .axis = axis, .first = first, .end = end };
    return append(OP_slice, x, shape, &attributes, at);
}

hs_var hs_pad_at(hs_var x, int axis, size_t before, size_t after, const char *at)
{
    if ((axis = axis_of(x, axis, "pad", at)) < 0)
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
    return append(OP_pad, x, shape, &attributes, at);
}

hs_var hs_concat_at(const hs_var *xs, size_t n, int axis, const char *at)
{
    enum { MOST = 4096 };
    if (n == 0 || n > MOST)
        return hs_tape_fail(n ? xs[0].tape : NULL, HS_EINVAL, at,
                            "concat: joins 1 to %d values, not %zu", (int)MOST, n);
    if (!hs__inputs_ok(xs, (int)n, "concat", at) || (axis = axis_of(xs[0], axis, "concat", at)) < 0)
        return poison(xs[0].tape);
    hs_shape shape = node_of(xs[0])->shape;
    hs_extent extent = node_of(xs[0])->extent;
    for (size_t i = 1; i < n; i++) {
        hs_shape other = node_of(xs[i])->shape;
        const size_t length = other.rank == shape.rank ? other.dim[axis] : 0;
        other.dim[axis] = shape.dim[axis];
        if (!hs_shape_equal(&shape, &other))
            return hs_tape_fail(xs[0].tape, HS_ESHAPE, at,
                                "concat: %s and %s differ in more than axis %d", VAR_TEXT_OF(xs[0]),
                                VAR_TEXT_OF(xs[i]), axis);
        if (shape.dim[axis] > (size_t)-1 - length)
            return hs_tape_fail(xs[0].tape, HS_EOVERFLOW, at,
                                "concat: the joined axis is longer than can be counted");
        shape.dim[axis] += length;
        extent = widest(extent, node_of(xs[i])->extent);
    }
    if (n == 1)
        return xs[0];
    return hs__tape_append(xs[0].tape, OP_concat, extent, shape, xs, (int)n,
                           &(op_attributes){ .axis = axis }, at);
}

/* gather takes the places index[i] of an axis, scatter adds to them; the axis of the result has `length` places. */
static hs_var indexed(op_code op, hs_var x, int axis, const size_t *index, size_t length,
                      const char *at)
{
    const char *name = hs__op_table[op].name;
    if ((axis = axis_of(x, axis, name, at)) < 0)
        return poison(x.tape);
    hs_shape shape = node_of(x)->shape;
    const size_t of_x = shape.dim[axis];
    const size_t n = op == OP_gather ? length : of_x, end = op == OP_gather ? of_x : length;
    for (size_t i = 0; i < n; i++)
        if (index[i] >= end)
            return hs_tape_fail(x.tape, HS_EINVAL, at,
                                "%s: index %zu is %zu, and must be below %zu: %s", name, i,
                                index[i], end, VAR_TEXT_OF(x));
    size_t *kept = n <= (size_t)-1 / 16 ? hs_arena_alloc(&x.tape->arena, n * sizeof *kept) : NULL;
    if (!kept)
        return hs_tape_fail(x.tape, HS_ENOMEM, at, "%s: out of memory", name);
    if (n)
        memcpy(kept, index, n * sizeof *kept);
    shape.dim[axis] = length;
    return append(op, x, shape, &(op_attributes){ .axis = axis, .index = kept, .index_count = n },
                  at);
}

hs_var hs_gather_at(hs_var x, int axis, const size_t *index, size_t n, const char *at)
{
    return indexed(OP_gather, x, axis, index, n, at);
}

hs_var hs_scatter_at(hs_var x, int axis, const size_t *index, size_t length, const char *at)
{
    return indexed(OP_scatter, x, axis, index, length, at);
}

/* ---- Functions of the user's own ------------------------------------------------------------ */

static hs_var call(op_code op, const hs_function *f, const hs_var *x, int n, const char *at)
{
    static const char *const what[] = { "value", "gradient", "Hessian-vector product" };
    if (!hs__inputs_ok(x, n, "call", at))
        return poison(x[0].tape);
    const hs_shape shape = node_of(x[0])->shape;
    const hs_var last = x[n - 1];
    const int order = (int)op - (int)OP_call;
    const bool given[] = { f && f->value, f && f->gradient, f && f->hessian_vector };
    const char *name = f && f->name ? f->name : "?";
    if (!given[order])
        return hs_tape_fail(x[0].tape, HS_EINVAL, at,
                            "call: function \"%s\" has no %s, which is needed here", name,
                            what[order]);
    if (shape.rank != 1)
        return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                            "call: function \"%s\" takes a vector, and is given %s", name,
                            VAR_TEXT_OF(x[0]));
    if (!hs_shape_equal(&shape, &node_of(last)->shape))
        return hs_tape_fail(x[0].tape, HS_ESHAPE, at,
                            "call: point %s and direction %s differ in shape", VAR_TEXT_OF(x[0]),
                            VAR_TEXT_OF(last));
    return hs__tape_append(x[0].tape, op, widest(node_of(x[0])->extent, node_of(last)->extent),
                           op == OP_call ? hs_scalar_shape() : shape, x, n,
                           &(op_attributes){ .function = f }, at);
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
