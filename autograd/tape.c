#include "tape_internal.h"

#include <stdarg.h>
#include <string.h>

#include <hastings/tensor/number.h>
#include <hastings/tensor/product.h>

/* Words of the column `traits` besides those of tape_internal.h. */
enum { PLAIN };
#define ACTS(kind) (HS_ACT_##kind << ACTIVATION_SHIFT)

const op_info hs__op_table[OP_COUNT] = {
#define HS_LEAF(name, doc) [OP_##name] = { #name, KIND_LEAF, 0, PLAIN, doc },
#define ELEMENTWISE(name, arity, traits, doc)                                                      \
    [OP_##name] = { #name, KIND_ELEMENTWISE, arity, traits, doc },
#define HS_UNARY(name, traits, domain, kernel, ga, doc)           ELEMENTWISE(name, 1, traits, doc)
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)      ELEMENTWISE(name, 2, traits, doc)
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc) ELEMENTWISE(name, 3, traits, doc)
#define HS_OP(name, traits, ga, example, doc)                     [OP_##name] = { #name, KIND_OTHER, 0, traits, doc },
#include <hastings/autograd/ops.def>
};

const char *hs_extent_name(hs_extent extent)
{
    static const char *const names[] = { "shared", "start", "row" };
    return (unsigned)extent <= HS_ROW ? names[extent] : "invalid";
}

hs_tape *hs_tape_new(hs_dtype dtype)
{
    hs_tape *tape = hs_alloc_zero(1, sizeof *tape);
    if (tape)
        tape->dtype = dtype;
    return tape;
}

void hs_tape_free(hs_tape *tape)
{
    if (!tape)
        return;
    hs_arena_free(&tape->arena);
    hs_free(tape->node);
    hs_free(tape->bound);
    hs_free(tape);
}

hs_dtype hs_tape_dtype(const hs_tape *tape)
{
    return tape ? tape->dtype : HS_F64;
}

hs_status hs_tape_status(const hs_tape *tape)
{
    return tape ? tape->status : HS_ENOMEM;
}

const char *hs_tape_error(const hs_tape *tape)
{
    return tape ? tape->error : "out of memory: there is no tape";
}

size_t hs_tape_size(const hs_tape *tape)
{
    return tape ? (size_t)tape->size : 0;
}

hs_var hs_tape_fail(hs_tape *tape, hs_status status, const char *at, const char *format, ...)
{
    if (tape && tape->status == HS_OK) {
        tape->status = status;
        const int used = snprintf(tape->error, sizeof tape->error, "%s: ", at);
        va_list arguments;
        va_start(arguments, format);
        if (used >= 0 && (size_t)used < sizeof tape->error)
            vsnprintf(tape->error + used, sizeof tape->error - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return poison(tape);
}

bool hs_var_ok(hs_var x)
{
    return x.tape && x.tape->status == HS_OK && x.id >= 0 && x.id < x.tape->size;
}

hs_shape hs_var_shape(hs_var x)
{
    return hs_var_ok(x) ? node_of(x)->shape : hs_scalar_shape();
}

hs_extent hs_var_extent(hs_var x)
{
    return hs_var_ok(x) ? node_of(x)->extent : HS_SHARED;
}

hs_var hs_name(hs_var x, const char *name)
{
    if (!hs_var_ok(x) || !name)
        return x;
    const char *copy = hs_arena_string(&x.tape->arena, name);
    if (!copy)
        return hs_tape_fail(x.tape, HS_ENOMEM, "hs_name", "out of memory");
    x.tape->node[x.id].name = copy;
    return x;
}

const char *hs__var_text(hs_var x, char text[VAR_TEXT])
{
    const tape_node *node = node_of(x);
    const char *quote = node->name ? "\"" : "";
    snprintf(text, VAR_TEXT, "%s%.40s%s %s (%s)", quote,
             node->name ? node->name : hs__op_table[node->op].name, quote,
             SHAPE_TEXT_OF(&node->shape), hs_extent_name(node->extent));
    return text;
}

bool hs__inputs_ok(const hs_var *inputs, int n, const char *op, const char *at)
{
    hs_tape *tape = NULL;
    for (int i = 0; i < n && !tape; i++)
        tape = inputs[i].tape;
    for (int i = 0; i < n; i++) {
        hs_tape *other = inputs[i].tape;
        const bool alike = other && other->dtype == tape->dtype;
        if (other == tape && hs_tape_status(tape))
            return false;
        if (other == tape && inputs[i].id >= 0 && inputs[i].id < tape->size)
            continue;
        const char *fault = !other          ? "belongs to no tape" /* there was no memory for it */
                            : other == tape ? "is not a value of its tape"
                            : alike         ? "is a value of another tape"
                                    : "is a value of another tape, and of another number type";
        const hs_status status = other && !alike ? HS_EDTYPE : HS_EINVAL;
        hs_tape_fail(tape, status, at, "%s: operand %d %s", op, i + 1, fault);
        hs_tape_fail(other, status, at, "%s: operand %d %s", op, i + 1, fault);
        return false;
    }
    return tape != NULL;
}

bool hs_var_needs(hs_var x, hs_var of)
{
    if (!hs_var_ok(x) || !hs_var_ok(of) || x.tape != of.tape || x.id < of.id)
        return false;
    const tape_node *node = x.tape->node;
    bool *needed = hs_alloc_zero((size_t)x.id + 1, sizeof *needed);
    if (!needed)
        return false;
    needed[x.id] = true;
    for (int32_t id = x.id; id > of.id; id--)
        for (int i = 0; needed[id] && i < node[id].inputs; i++)
            needed[node[id].input[i]] = true;
    const bool found = needed[of.id];
    hs_free(needed);
    return found;
}

bool hs_tape_streams(const hs_tape *tape, size_t from, uint32_t *least, uint32_t *largest)
{
    bool found = false;
    for (size_t i = from; i < hs_tape_size(tape); i++) {
        const tape_node *node = &tape->node[i];
        if (node->op != OP_normal && node->op != OP_uniform)
            continue;
        const uint32_t stream = node->attributes->stream;
        *least = found && *least < stream ? *least : stream;
        *largest = found && *largest > stream ? *largest : stream;
        found = true;
    }
    return found;
}

bool hs__attributes_equal(const op_attributes *a, const op_attributes *b, size_t bytes)
{
    if (!a || !b)
        return a == b;
    op_attributes p = *a, q = *b;
    p.data = q.data = NULL;
    p.index = q.index = NULL;
    return memcmp(&p, &q, sizeof p) == 0 && !a->data == !b->data && !a->index == !b->index &&
           (!a->data || a->data == b->data || memcmp(a->data, b->data, bytes) == 0) &&
           (!a->index || a->index == b->index ||
            memcmp(a->index, b->index, a->index_count * sizeof *a->index) == 0);
}

/* Makes room for one more element in a list; returns where it is now, or NULL. */
static void *reserve(void *list, int32_t size, int32_t *capacity, size_t element)
{
    if (size < *capacity || *capacity > INT32_MAX / 2)
        return size < *capacity ? list : NULL;
    const int32_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown = hs_grow(list, (size_t)size * element, (size_t)wanted * element);
    *capacity = grown ? wanted : *capacity;
    return grown;
}

/* Says why a shape is not valid. */
static hs_var refuse_shape(hs_tape *tape, const hs_shape *shape, const char *name, const char *at)
{
    bool empty = false;
    if (shape->rank < 0 || shape->rank > HS_MAX_RANK)
        return hs_tape_fail(tape, HS_ESHAPE, at, "%s: a shape has 0 to %d axes", name, HS_MAX_RANK);
    for (int i = 0; i < shape->rank; i++)
        empty = empty || shape->dim[i] == 0;
    return hs_tape_fail(tape, empty ? HS_ESHAPE : HS_EOVERFLOW, at,
                        empty ? "%s: shape %s has an empty axis"
                              : "%s: shape %s has more elements than memory can hold",
                        name, SHAPE_TEXT_OF(shape));
}

hs_var hs__tape_append(hs_tape *tape, op_code op, hs_extent extent, hs_shape shape,
                       const hs_var *inputs, int n, const op_attributes *attributes, const char *at)
{
    const char *name = hs__op_table[op].name;
    if (!tape || tape->status != HS_OK)
        return poison(tape);
    if ((unsigned)extent > HS_ROW)
        return hs_tape_fail(tape, HS_EEXTENT, at,
                            "%s: extent %d is none of HS_SHARED, HS_START, HS_ROW", name,
                            (int)extent);
    if (!hs_shape_valid(&shape))
        return refuse_shape(tape, &shape, name, at);
    if (tape->size >= MAX_TAPE)
        return hs_tape_fail(tape, HS_EOVERFLOW, at, "%s: the tape is full (%d nodes)", name,
                            (int)MAX_TAPE);
    int32_t *input = n ? hs_arena_alloc(&tape->arena, (size_t)n * sizeof *input) : NULL;
    op_attributes *kept = attributes ? hs_arena_alloc(&tape->arena, sizeof *attributes) : NULL;
    tape_node *node = reserve(tape->node, tape->size, &tape->capacity, sizeof *node);
    tape->node = node ? node : tape->node;
    if ((n && !input) || (attributes && !kept) || !node)
        return hs_tape_fail(tape, HS_ENOMEM, at, "%s: out of memory", name);
    for (int i = 0; i < n; i++)
        input[i] = inputs[i].id;
    if (attributes)
        *kept = *attributes;
    node[tape->size] = (tape_node){ op, extent, n, input, shape, kept, .at = at };
    return (hs_var){ tape, tape->size++ };
}

static hs_var leaf(hs_tape *tape, op_code op, hs_extent extent, hs_shape shape,
                   const op_attributes *attributes, const char *at)
{
    return hs__tape_append(tape, op, extent, shape, NULL, 0, attributes, at);
}

hs_var hs_input_at(hs_tape *tape, const char *name, hs_extent extent, hs_shape shape,
                   const char *at)
{
    return hs_name(leaf(tape, OP_input, extent, shape, NULL, at), name);
}

/* The index, among the bound leaves, of the first whose place is not before *base + offset. */
static int32_t find_bound(const hs_tape *tape, const void *const *base, size_t offset)
{
    int32_t low = 0, high = tape->bound_size;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const op_attributes *a = tape->node[tape->bound[middle]].attributes;
        const bool before =
            a->base == base ? a->offset < offset : (uintptr_t)a->base < (uintptr_t)base;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

hs_var hs_bound_at(hs_tape *tape, const char *name, hs_shape shape, const void *const *base,
                   size_t offset, const char *at)
{
    if (!tape || tape->status != HS_OK)
        return poison(tape);
    const int32_t i = find_bound(tape, base, offset);
    const tape_node *node = i < tape->bound_size ? &tape->node[tape->bound[i]] : NULL;
    if (node && node->attributes->base == base && node->attributes->offset == offset)
        return hs_shape_equal(&node->shape, &shape)
                   ? (hs_var){ tape, tape->bound[i] }
                   : hs_tape_fail(tape, HS_ESHAPE, at,
                                  "bound: \"%s\" was recorded with shape %s, and now with %s",
                                  name ? name : "", SHAPE_TEXT_OF(&node->shape),
                                  SHAPE_TEXT_OF(&shape));
    int32_t *bound = reserve(tape->bound, tape->bound_size, &tape->bound_capacity, sizeof *bound);
    if (!bound)
        return hs_tape_fail(tape, HS_ENOMEM, at, "bound: out of memory");
    tape->bound = bound;
    const op_attributes attributes = { .base = base, .offset = offset };
    hs_var x = leaf(tape, OP_bound, HS_SHARED, shape, &attributes, at);
    if (x.id >= 0) {
        memmove(bound + i + 1, bound + i, (size_t)(tape->bound_size++ - i) * sizeof *bound);
        bound[i] = x.id;
    }
    return hs_name(x, name);
}

hs_var hs_const_at(hs_tape *tape, double value, const char *at)
{
    return leaf(tape, OP_constant, HS_SHARED, hs_scalar_shape(),
                &(op_attributes){ .number = value }, at);
}

hs_var hs_tensor_at(hs_tape *tape, hs_shape shape, const double *values, const char *at)
{
    if (!tape || tape->status != HS_OK)
        return poison(tape);
    void *data = NULL;
    if (hs_shape_valid(&shape)) { /* otherwise hs__tape_append() reports the shape */
        const size_t count = hs_shape_count(&shape);
        data = hs_arena_alloc(&tape->arena, count * hs_dtype_size(tape->dtype));
        if (!data)
            return hs_tape_fail(tape, HS_ENOMEM, at, "tensor: out of memory");
        hs_numbers_set(tape->dtype, data, count, values);
    }
    return leaf(tape, OP_tensor, HS_SHARED, shape, &(op_attributes){ .data = data }, at);
}

static hs_var random_leaf(hs_tape *tape, op_code op, hs_extent extent, hs_shape shape,
                          uint32_t stream, const char *at)
{
    if (stream >= 1u << 15)
        return hs_tape_fail(tape, HS_EINVAL, at, "%s: stream %u is not below 32768",
                            hs__op_table[op].name, (unsigned)stream);
    return leaf(tape, op, extent, shape, &(op_attributes){ .stream = stream }, at);
}

hs_var hs_normal_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                    const char *at)
{
    return random_leaf(tape, OP_normal, extent, shape, stream, at);
}

hs_var hs_uniform_at(hs_tape *tape, hs_extent extent, hs_shape shape, uint32_t stream,
                     const char *at)
{
    return random_leaf(tape, OP_uniform, extent, shape, stream, at);
}
