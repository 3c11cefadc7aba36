/* Finds the values that the tape computes of x and of y alike: looks up each node of x with y in the place of x. */
#include "tape_internal.h"

#include <hastings/autograd/carry.h>

#include <string.h>

/* The leaves that a node is computed from. OF_OTHERS: draws, other inputs, changing values. */
typedef enum { OF_CONSTANTS, OF_X, OF_OTHERS } origin;

typedef struct {
    hs_arena memory; /* of the arrays below */
    hs_tape *tape;
    const hs_succession *s;
    int32_t size;
    int32_t *same; /* the first node that computes the same value */
    int32_t *slot; /* these first nodes by hash, open addressing; -1 is free */
    uint32_t mask;
    int32_t *image; /* [ways][size]: the counterpart of a node, with y for x; -1 if there is none */
    int32_t *map;   /* the node that takes the place of this one */
    int32_t *recorded; /* a live node that equals this one, after `map` */
    int32_t *in;       /* inputs of the node to look up */
    unsigned char *origin;
    bool *costly, *live, *kept, *wanted;
} search;

static bool allocate(search *f)
{
    const size_t size = (size_t)f->size, images = f->s->ways * size * sizeof *f->image;
    size_t most = 1;
    for (int32_t id = 0; id < f->size; id++)
        if ((size_t)f->tape->node[id].inputs > most)
            most = (size_t)f->tape->node[id].inputs;
    for (f->mask = 63; f->mask < 2 * size; f->mask = 2 * f->mask + 1)
        ;
    const size_t slots = ((size_t)f->mask + 1) * sizeof *f->slot;
    f->same = hs_arena_alloc(&f->memory, size * sizeof *f->same);
    f->slot = hs_arena_alloc(&f->memory, slots);
    f->image = hs_arena_alloc(&f->memory, images);
    f->map = hs_arena_alloc(&f->memory, size * sizeof *f->map);
    f->recorded = hs_arena_alloc(&f->memory, size * sizeof *f->recorded);
    f->in = hs_arena_alloc(&f->memory, most * sizeof *f->in);
    f->origin = hs_arena_alloc(&f->memory, size * sizeof *f->origin);
    f->costly = hs_arena_alloc(&f->memory, 4 * size * sizeof *f->costly);
    if (!f->same || !f->slot || !f->image || !f->map || !f->recorded || !f->in || !f->origin ||
        !f->costly)
        return false;
    f->live = f->costly + size;
    f->kept = f->live + size;
    f->wanted = f->kept + size;
    memset(f->slot, -1, slots);
    memset(f->image, -1, images);
    memset(f->origin, 0, size * sizeof *f->origin);
    memset(f->costly, 0, 4 * size * sizeof *f->costly);
    return true;
}

/* ---- Equal nodes ------------------------------------------------------------------------------ */

/* The slot of the node that equals `node` with inputs f->in; a free slot if there is none. */
static int32_t *look_up(const search *f, const tape_node *node)
{
    uint64_t hash = (uint64_t)node->op * 31 + hs_shape_count(&node->shape);
    for (int i = 0; i < node->inputs; i++)
        hash = (hash ^ (uint64_t)f->in[i]) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & f->mask;
    for (; f->slot[at] >= 0; at = (at + 1) & f->mask) {
        const tape_node *other = &f->tape->node[f->slot[at]];
        bool equal =
            other->op == node->op && other->extent == node->extent &&
            other->inputs == node->inputs && hs_shape_equal(&other->shape, &node->shape) &&
            hs__attributes_equal(other->attributes, node->attributes,
                                 hs_shape_count(&node->shape) * hs_dtype_size(f->tape->dtype));
        for (int i = 0; equal && i < node->inputs; i++)
            equal = f->same[other->input[i]] == f->in[i];
        if (equal)
            break;
    }
    return &f->slot[at];
}

/* The part of a concat that a slice takes out again; -1 if the node is no slice, or not of one whole part. */
static int32_t part_taken(const search *f, const tape_node *node)
{
    const tape_node *joined = node->op == OP_slice ? &f->tape->node[f->same[node->input[0]]] : NULL;
    if (!joined || joined->op != OP_concat || joined->attributes->axis != node->attributes->axis)
        return -1;
    size_t first = 0;
    for (int i = 0; i < joined->inputs; i++) {
        const tape_node *part = &f->tape->node[joined->input[i]];
        if (first == node->attributes->first && part->extent == node->extent &&
            hs_shape_equal(&part->shape, &node->shape))
            return f->same[joined->input[i]];
        first += part->shape.dim[node->attributes->axis];
    }
    return -1;
}

static void find_equals(search *f)
{
    for (int32_t id = 0; id < f->size; id++) {
        const tape_node *node = &f->tape->node[id];
        const int32_t part = part_taken(f, node);
        f->same[id] = part >= 0 ? part : id;
        if (part >= 0 || node->op == OP_input) /* no two inputs are the same */
            continue;
        for (int i = 0; i < node->inputs; i++)
            f->in[i] = f->same[node->input[i]];
        int32_t *slot = look_up(f, node);
        if (*slot < 0)
            *slot = id;
        f->same[id] = *slot;
    }
}

/* ---- Values that may be carried ------------------------------------------------------------------ */

static bool is_changing(const search *f, int32_t id)
{
    for (size_t i = 0; i < f->s->n_changing; i++)
        if (f->s->changing[i].id == id)
            return true;
    return false;
}

static origin origin_of_leaf(const search *f, int32_t id)
{
    const op_code op = f->tape->node[id].op;
    if (id == f->s->x.id)
        return OF_X;
    return op == OP_input || op == OP_normal || op == OP_uniform || is_changing(f, id)
               ? OF_OTHERS
               : OF_CONSTANTS;
}

/* A sum over the batch is OF_OTHERS: some of its rows move, others do not. */
static void find_origins(search *f)
{
    for (int32_t id = 0; id < f->size; id++) {
        const tape_node *node = &f->tape->node[id];
        if (f->same[id] != id) {
            f->origin[id] = f->origin[f->same[id]];
            f->costly[id] = f->costly[f->same[id]];
            continue;
        }
        f->costly[id] = hs__op_table[node->op].traits & COSTLY;
        if (node->inputs == 0)
            f->origin[id] = (unsigned char)origin_of_leaf(f, id);
        for (int i = 0; i < node->inputs; i++) {
            const int32_t in = f->same[node->input[i]];
            if (f->origin[in] > f->origin[id])
                f->origin[id] = f->origin[in];
            if (f->tape->node[in].extent > node->extent)
                f->origin[id] = OF_OTHERS;
            f->costly[id] = f->costly[id] || (f->costly[in] && f->origin[in] == OF_X);
        }
    }
}

static void find_images(search *f, size_t way)
{
    int32_t *image = f->image + way * (size_t)f->size;
    for (int32_t id = 0; id < f->size; id++) {
        const tape_node *node = &f->tape->node[id];
        if (f->same[id] != id)
            continue;
        if (id == f->s->x.id)
            image[id] = f->same[f->s->y[way].id];
        else if (f->origin[id] == OF_CONSTANTS)
            image[id] = id;
        if (f->origin[id] != OF_X || id == f->s->x.id)
            continue;
        bool all = true;
        for (int i = 0; i < node->inputs && all; i++) {
            f->in[i] = image[f->same[node->input[i]]];
            all = f->in[i] >= 0;
        }
        if (all)
            image[id] = *look_up(f, node);
    }
}

/* Marks the nodes that `values` need as live. A kept node needs no inputs: if it is live, it is wanted. */
static void mark_live(search *f, const hs_var *values, size_t n)
{
    memset(f->live, 0, (size_t)f->size);
    for (size_t i = 0; i < n; i++)
        f->live[values[i].id] = true;
    for (int32_t id = f->size - 1; id >= 0; id--) {
        if (!f->live[id])
            continue;
        const tape_node *node = &f->tape->node[id];
        f->wanted[f->same[id]] = f->kept[f->same[id]];
        for (int i = 0; i < node->inputs && !f->kept[f->same[id]]; i++)
            f->live[node->input[i]] = true;
    }
}

/* Keep a value only if its counterpart at y is computed anyway. Keep none if y is a function of x: values of y would be
 * values of x themselves. */
static void find_kept(search *f)
{
    for (size_t way = 0; way < f->s->ways; way++)
        if (f->origin[f->s->y[way].id] != OF_OTHERS)
            return;
    bool *computed = f->wanted; /* borrowed: marks nodes that equal a live one */
    for (int32_t id = 0; id < f->size; id++)
        computed[f->same[id]] = computed[f->same[id]] || f->live[id];
    for (int32_t id = 0; id < f->size; id++) {
        f->kept[id] = f->origin[id] == OF_X && f->costly[id] && f->same[id] == id;
        for (size_t way = 0; way < f->s->ways && f->kept[id]; way++) {
            const int32_t image = f->image[way * (size_t)f->size + (size_t)id];
            f->kept[id] = image >= 0 && computed[image];
        }
    }
    memset(f->wanted, 0, (size_t)f->size);
}

/* ---- The new values ---------------------------------------------------------------------------- */

/* Makes an input for each wanted node, and records the nodes that depend on one anew. */
static void replace(search *f, const char *at)
{
    hs_var inputs[4096]; /* of one node: hs_concat's limit */
    for (int32_t id = 0; id < f->size; id++) {
        const tape_node node = f->tape->node[id]; /* the list may move */
        const int32_t first = f->same[id];
        f->map[id] = id;
        if (f->wanted[first]) {
            f->map[id] = first < id
                             ? f->map[first]
                             : hs_input_at(f->tape, "carried", node.extent, node.shape, at).id;
            continue;
        }
        bool changed = false;
        for (int i = 0; i < node.inputs && f->live[id]; i++) {
            inputs[i] = (hs_var){ f->tape, f->map[node.input[i]] };
            changed = changed || inputs[i].id != node.input[i];
        }
        if (changed) {
            hs_var anew = hs__tape_append(f->tape, node.op, node.extent, node.shape, inputs,
                                          node.inputs, node.attributes, node.at);
            f->map[id] = hs_name(anew, node.name).id;
        }
        if (f->tape->status != HS_OK)
            return;
    }
}

static size_t make_list(search *f, hs_carried **list)
{
    size_t count = 0;
    for (int32_t id = 0; id < f->size; id++)
        count += f->wanted[id];
    hs_carried *made = hs_arena_alloc(&f->tape->arena, (count + 1) * sizeof *made);
    hs_var *at_y = hs_arena_alloc(&f->tape->arena, (count * f->s->ways + 1) * sizeof *at_y);
    if (!made || !at_y) {
        hs_tape_fail(f->tape, HS_ENOMEM, "hs_carry", "out of memory");
        return 0;
    }
    for (int32_t id = f->size - 1; id >= 0; id--)
        if (f->live[id])
            f->recorded[f->same[id]] = f->map[id];
    *list = made;
    for (int32_t id = 0; id < f->size; id++) {
        if (!f->wanted[id])
            continue;
        *made++ = (hs_carried){ { f->tape, f->map[id] }, { f->tape, id }, at_y };
        for (size_t way = 0; way < f->s->ways; way++) {
            const int32_t image = f->image[way * (size_t)f->size + (size_t)id];
            *at_y++ = (hs_var){ f->tape, f->recorded[image] };
        }
    }
    return count;
}

static bool check(const hs_succession *s, const hs_var *values, size_t n, const char *at)
{
    bool ok = hs__inputs_ok(&s->x, 1, "carry", at);
    for (size_t i = 0; ok && i < n; i++)
        ok = hs__inputs_ok((hs_var[]){ s->x, values[i] }, 2, "carry", at);
    for (size_t i = 0; ok && i < s->ways; i++) {
        if (!hs__inputs_ok((hs_var[]){ s->x, s->y[i] }, 2, "carry", at))
            return false;
        const tape_node *x = node_of(s->x), *y = node_of(s->y[i]);
        ok = x->op == OP_input && x->extent != HS_SHARED && x->extent == y->extent &&
             hs_shape_equal(&x->shape, &y->shape);
        if (!ok)
            hs_tape_fail(s->x.tape, HS_ESHAPE, at,
                         "carry: %s cannot become %s, which must be an input of the batch, and of "
                         "the same shape and extent",
                         VAR_TEXT_OF(s->y[i]), VAR_TEXT_OF(s->x));
    }
    return ok;
}

size_t hs_carry_at(const hs_succession *s, hs_var *values, size_t n, hs_carried **list,
                   const char *at)
{
    *list = NULL;
    if (!check(s, values, n, at))
        return 0;
    search f = { .tape = s->x.tape, .s = s, .size = s->x.tape->size };
    size_t count = 0;
    if (allocate(&f)) {
        find_equals(&f);
        find_origins(&f);
        for (size_t way = 0; way < s->ways; way++)
            find_images(&f, way);
        mark_live(&f, values, n);
        find_kept(&f);
        mark_live(&f, values, n);
        replace(&f, at);
        if (f.tape->status == HS_OK)
            count = make_list(&f, list);
        for (size_t i = 0; i < n && f.tape->status == HS_OK; i++)
            values[i].id = f.map[values[i].id];
    } else {
        hs_tape_fail(s->x.tape, HS_ENOMEM, at, "carry: out of memory");
    }
    hs_arena_free(&f.memory);
    return count;
}
