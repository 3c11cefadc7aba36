/* The inside of a tape; seen by autograd/ alone. */
#ifndef HASTINGS_AUTOGRAD_TAPE_INTERNAL_H
#define HASTINGS_AUTOGRAD_TAPE_INTERNAL_H

#include <hastings/autograd/ops.h>
#include <hastings/autograd/tape.h>
#include <hastings/tensor/memory.h>

typedef enum {
#define HS_LEAF(name, doc)                                        OP_##name,
#define HS_UNARY(name, traits, domain, kernel, ga, doc)           OP_##name,
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)      OP_##name,
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc) OP_##name,
#define HS_OP(name, traits, ga, example, doc)                     OP_##name,
#include <hastings/autograd/ops.def>
    OP_COUNT
} op_code;

/* Traits of ops, as in the table; the kind of an activation stands above the others. */
enum { COMMUTES = 1, JOINS = 2, COSTLY = 4, ONE_EXTENT = 8, ACTIVATION_SHIFT = 8 };

typedef enum { KIND_LEAF, KIND_ELEMENTWISE, KIND_OTHER } op_kind;

typedef struct {
    const char *name;
    op_kind kind;
    int arity; /* of elementwise ops */
    unsigned traits;
    const char *doc;
} op_info;

extern const op_info hs__op_table[OP_COUNT];

/* The facts about an op besides its inputs. There is no padding, so that equal attributes have equal bytes. */
typedef struct {
    double number; /* constant */
    int axis;      /* max_over, logsumexp, slice, pad, concat, gather, scatter */
    int order;     /* polygamma */
    int permutation[HS_MAX_RANK];
    size_t first, end;   /* slice: first, end; pad: before, after */
    const size_t *index; /* gather, scatter: as long as the axis of the result (of the input) */
    size_t index_count;
    bool transpose[2];       /* matmul */
    bool filler[2];          /* in place of padding */
    uint32_t stream;         /* normal, uniform */
    const void *data;        /* tensor: values in the tape's dtype */
    const void *const *base; /* bound: its place is *base + offset */
    size_t offset;
    const hs_function *function;
} op_attributes;

_Static_assert(sizeof(op_attributes) == sizeof(double) + (2 + HS_MAX_RANK) * sizeof(int) +
                                            4 * sizeof(size_t) + 4 * sizeof(void *) + 8,
               "op_attributes has padding");

typedef struct {
    op_code op;
    hs_extent extent;
    int inputs;
    const int32_t *input; /* in the tape's arena */
    hs_shape shape;
    op_attributes *attributes; /* in the arena; NULL if it has none */
    const char *name;
    const char *at;
} tape_node;

struct hs_tape {
    hs_dtype dtype;
    hs_status status;
    char error[512];
    hs_arena arena;
    tape_node *node;
    int32_t size, capacity;
    int32_t *bound; /* ids of all bound leaves, by their places: one place has one node */
    int32_t bound_size, bound_capacity;
};

enum { MAX_TAPE = 1 << 24 };

static inline const tape_node *node_of(hs_var x)
{
    return &x.tape->node[x.id];
}

static inline hs_var poison(hs_tape *tape)
{
    return (hs_var){ tape, -1 };
}

/* True if the attributes of two nodes of one op and shape are equal. `bytes` is the size of their value: that of a
 * constant tensor is among the attributes. */
bool hs__attributes_equal(const op_attributes *a, const op_attributes *b, size_t bytes);

/* Appends a node. `attributes` may be NULL. */
hs_var hs__tape_append(hs_tape *tape, op_code op, hs_extent extent, hs_shape shape,
                       const hs_var *inputs, int n, const op_attributes *attributes,
                       const char *at);

/* True if all inputs can be used and belong to one tape. Otherwise that tape has an error, if there is one, and the
 * caller returns poison(). */
bool hs__inputs_ok(const hs_var *inputs, int n, const char *op, const char *at);

static inline hs_extent widest(hs_extent a, hs_extent b)
{
    return a > b ? a : b;
}

/* "x" [2, 3] row: a value for messages. The macros' texts last as long as the block around them. */
enum { VAR_TEXT = HS_SHAPE_TEXT + 80 };
const char *hs__var_text(hs_var x, char text[VAR_TEXT]);
#define VAR_TEXT_OF(x)       hs__var_text(x, (char[VAR_TEXT]){ "" })
#define SHAPE_TEXT_OF(shape) hs_shape_text(shape, (char[HS_SHAPE_TEXT]){ "" })

/* The product of matrices, either transposed, summed over the batch down to `extent`. */
hs_var hs__matmul_to(hs_var x, bool tx, hs_var y, bool ty, hs_extent extent, const char *at);

/* Records the gradients of node `y` given the gradient g of its value, for every input i with
 * needed[i], into gradient[i] (id -1: zero). In rules.c. */
void hs__record_gradients(hs_var y, hs_var g, const bool *needed, hs_var *gradient);

#endif
