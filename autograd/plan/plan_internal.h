/* The making of plans; seen by autograd/ alone.
 *
 * A plan is made in passes, each in a file of its own:
 *     plan/graph.c    the live part of the tape, equal nodes merged, identities removed
 *                     (plan/simplify.c), sums over features taken apart (plan/expand.c)
 *     plan/fuse.c     which nodes are computed inside another's kernel
 *     plan/sweep.c    which steps go over long vectors together, and hence their order (plan/gram.c: which
 *                     sums of theirs are made together)
 *     plan/twins.c    which products share a reading of their matrix, and hence their order too
 *     plan/layout.c   how the batch is cut, and where each value is stored
 *     plan/steps.c    the kernel calls, in order (plan/program.c: elementwise groups;
 *                     plan/products.c: matrix products; plan/factors.c: gradients that are not
 *                     computed)
 *     plan/run.c      running them (plan/program_run.c: elementwise groups)
 */
#ifndef HASTINGS_AUTOGRAD_PLAN_PLAN_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_PLAN_INTERNAL_H

#include "kernels_internal.h"

#include <hastings/autograd/plan.h>
#include <hastings/tensor/product.h>
#include <hastings/tensor/random.h>
#include <hastings/tensor/threads.h>

#include <stdatomic.h>

/* When a node is computed: once before the batch, for each shard, or once after the batch, when
 * the sums over the batch are known. */
typedef enum { STAGE_BEFORE, STAGE_SHARD, STAGE_AFTER, STAGE_COUNT } plan_stage;

/* Where a value is. */
typedef enum {
    IN_SHARD,   /* workspace of the thread: offset bytes from its start */
    IN_CHUNK,   /* likewise, but of a chunk of its features at a time */
    IN_SHARED,  /* workspace of the plan */
    IN_SUM,     /* what is summed over the batch: sum number `index` */
    IN_OUTSIDE, /* memory of the caller or the tape: outside[index] */
} place_kind;

typedef struct {
    place_kind kind;
    int32_t index;
    size_t offset; /* bytes */
} place;

/* How a node's value comes to be. */
typedef enum {
    BY_STEP,    /* a step of its own computes it */
    BY_OTHER,   /* computed inside the step of `host` and stored nowhere */
    BY_VIEW,    /* part or whole of the value of `host`, under another shape */
    BY_OUTSIDE, /* it is there already */
    BY_MERGE,   /* a sum of sums over the batch, added up in place */
} node_making;

typedef struct {
    op_code op;
    hs_extent extent;
    hs_shape shape;
    size_t count;
    int inputs;
    int32_t *input;
    const op_attributes *attributes;
    double number;                  /* constants */
    int32_t level;                  /* the sums over features that it needs one after the other */
    const struct linear_form *form; /* while the graph is made: see plan/expand.c */
    int32_t tape_id;
    int32_t uses; /* by other nodes */
    bool output;
    bool sums_batch; /* its value is complete only after all shards */
    plan_stage stage;

    node_making making;
    int32_t host;
    int32_t group_size;  /* nodes computed in the step of this one, itself included, */
    int32_t group_first; /* and the first of them */
    int32_t product;     /* the matmul whose step computes this node, or -1 */
    int32_t sum;         /* number of the sum over the batch, or -1 */
    place at;
    place at_outside; /* inputs of the batch: the caller's rows */
    int32_t position; /* in the order of steps; those of a sweep have the same, and twins */
    int32_t rank;     /* in the order of nodes */
    bool in_sweep;    /* computed chunk by chunk, */
    bool local;   /* and needed in the same sweep only: there is never more than a chunk of it */
    int32_t last; /* position up to which the value is needed, or rank if it is local */
} plan_node;

/* What a fused product applies to its result, and the node that stands for that result. */
typedef struct {
    int32_t bias, add, gate; /* nodes, or -1 */
    hs_activation_kind act;
    int32_t left_sum; /* of a product summed over the batch: the sum of its left factor, or -1 */
} product_tail;

typedef struct plan_step plan_step;
typedef struct run_state run_state;

/* Nodes in one elementwise program. Each but the last fills an operand of another, so a group of
 * ternary nodes reads at most 2 * MAX_GROUP + 1 values from outside. */
enum { MAX_GROUP = 32, MAX_OPERANDS = 2 * MAX_GROUP + 1, MAX_STEPS = MAX_GROUP + 1 };

/* An operand of an elementwise program. */
typedef enum {
    OPERAND_VECTOR, /* a number for each place of the inner dimension */
    OPERAND_SCALAR, /* one number for all of a block */
    OPERAND_EXPAND, /* one for each start point, repeated over its lanes */
    OPERAND_ROWS,   /* one for each row of a tile */
} operand_mode;
enum { LOOP_DIMS = HS_MAX_RANK };

typedef struct {
    place at;
    operand_mode mode;
    size_t stride[2][LOOP_DIMS]; /* kept and summed dimensions; in elements */
    size_t repeat;               /* OPERAND_EXPAND: lanes per element */
    size_t feature;              /* elements from one feature of a vector to the next */
} program_operand;

typedef struct {
    op_code op;
    int order;
    int result;    /* register */
    int source[3]; /* >= 0: register; < 0: operand -1 - source */
    unsigned scalars;
} program_step;

/* A group of elementwise nodes, run over blocks small enough for the first-level cache; and what
 * is done with the result. The loops: over kept dimensions, blocks of the inner dimension (unless
 * that one is summed), summed dimensions, and the program. Where the inner dimension is short, a
 * block is a tile: several rows, which are places of the innermost of the other loops. */
typedef struct {
    int dims[2]; /* number of kept and of summed outer dimensions */
    size_t length[2][LOOP_DIMS];
    size_t inner;           /* length of the innermost dimension, padding included */
    bool inner_lanes;       /* the innermost dimension is the lanes of the batch */
    hs_extent lanes_extent; /* of the iteration, if inner_lanes */
    bool inner_summed;
    bool lane_sum;     /* nothing but a sum over lanes, which has a kernel of its own */
    bool product_sum;  /* nothing but a sum over features of products of two values: likewise */
    bool sum_softplus; /* what is summed is softplus of the result, */
    int sigmoid;       /* of which this operand is the sigmoid, or -1 */
    bool inner_starts; /* sums the lanes of each start point apart */
    size_t
        tile; /* rows of a tile; 1: none; more than fit into a block if a value is summed in place */
    size_t out_stride[LOOP_DIMS]; /* kept dimensions */
    int operands, steps, registers;
    program_operand *operand;
    program_step *step;
    int result; /* register or operand that holds the value: as program_step.source */
} program;

enum { BLOCK_BYTES = 4096 }; /* of a block: a few of them fit into the first-level cache */

/* Which loop the rows of a tile belong to: summed dimensions are inside of kept ones. */
static inline int tile_kind(const program *p)
{
    return p->dims[1] ? 1 : 0;
}

/* Distance in elements between an operand's numbers for neighbouring rows of a tile. */
static inline size_t row_stride(const program *p, const program_operand *operand)
{
    const int kind = tile_kind(p);
    return operand->stride[kind][p->dims[kind] - 1];
}

/* Sums over features of products of the same few values, made in one way through them. */
typedef struct {
    program_operand vector[GRAM_VECTORS], number;
    int vectors;
    bool numbers;           /* there is a `number` */
    size_t lanes;           /* padding included */
    size_t stride;          /* of it, from one feature to the next */
    int32_t last;           /* the step of the sweep that makes all of them: the last one's */
    int32_t sum[GRAM_SUMS]; /* of the sweep, for each sum of the kernel; -1: not wanted */
} plan_gram;

/* Consecutive steps over vectors of the same length, run chunk by chunk of its features: a chunk of every value
 * fits into the cache, where the next step finds it. Steps that sum over features have a place for the sum of each
 * piece, a number of consecutive chunks; pieces may run on threads of their own. */
typedef struct {
    int32_t steps, sums;
    size_t pieces, threads; /* that there is scratch for */
    program **rest;         /* of each step: for features that do not fill a chunk, or NULL */
    size_t sum_numbers;     /* room for the result of a sum */
    size_t part_bytes;      /* for the products of a piece that sum over features */
    size_t scratch;         /* bytes, of a thread */
    plan_gram *gram;        /* or NULL */
} plan_sweep;

struct plan_step {
    void (*run)(const plan_step *step, run_state *state);
    const char *what;
    int32_t node;
    bool makes_value;  /* its node's value is complete after it */
    bool first_in_sum; /* begins a sum over the batch: overwrites in the first shard of a bin */
    bool first_in_left_sum; /* the same for tail.left_sum */
    place out;
    place in[3];
    program *program;
    bool has_twin;      /* computes the next one too */
    plan_sweep *sweep;  /* if it is the first of one */
    int32_t sweep_sum;  /* number of the sum in its sweep, or -1 */
    bool in_gram;       /* made with others, by the Gram matrix of its sweep */
    bool sweep_parts;   /* a product that sums over the features of its sweep: */
    size_t sweep_part;  /* where its result is among those of a piece */
    size_t out_feature; /* elements from one feature of the result to the next */
    size_t m, n, k;     /* matmul; of a layer, its outputs, 1 and its inputs */
    hs_extent
        extent; /* of its factors; here, as steps run faster than their nodes come from memory */
    bool transpose[2];           /* its factors; of a layer, the matrix is the first */
    size_t outer, length, inner; /* ops along an axis: [outer][length][inner] */
    product_tail tail;
    place tail_in[3]; /* bias, add, gate */
    place left_sum;
    double flops;    /* per lane */
    void *factor[2]; /* where the factors of a product are kept, if it is not computed */
};

/* A sum over the batch: its place in the block that every bin has. */
typedef struct {
    size_t count, offset;
    void *into; /* where its total goes: the caller's memory, or the plan's */
    bool begun;
    hs_factors *factors; /* that stand for it, or NULL */
} batch_sum;

typedef struct {
    hs_var var;
    int32_t node;
    void *value; /* [rows][count] */
    bool owned;
    bool is_sum; /* its total is written to `value` directly */
} plan_output;

typedef struct {
    int32_t tape_id;         /* of the leaf */
    const void *data;        /* set by hs_plan_set(), or the tape's own */
    const void *const *base; /* bound: where to look, unless data is set */
    size_t offset;
} outside_value;

struct hs_plan {
    hs_tape *tape;
    hs_dtype dtype;
    size_t element; /* bytes of a number */
    hs_arena arena;
    const elementwise_kernels *elementwise;
    const batch_kernels *batch;

    size_t starts, rows_per_start;
    int threads; /* that a run may take; the pace decides */
    hs_pace pace;
    bool trace, factors;

    plan_node *node;
    product_tail *tail; /* per node, for those that are products */
    int32_t nodes, capacity;
    size_t nodes_live;
    int32_t *order;      /* all nodes, in the order of their steps */
    size_t sweep_length; /* of the vectors that sweeps go over; 0: there are none */
    size_t sweep_chunk;  /* and of the part that is worked on at a time */
    size_t chunk_bytes;  /* for the values of a chunk */

    plan_output *output;
    size_t outputs;
    outside_value *outside;
    int32_t outsides;

    /* Layout. stride[e] is the distance between features of a value of extent e: 1 if there is one
     * lane, else lanes padded to whole cache lines. */
    size_t shard_starts, shards;
    size_t stride[3];
    size_t shard_bytes, scratch_offset, workspace_bytes, shared_bytes;
    batch_sum *sum;
    int32_t sums;
    size_t sum_bytes;
    int bins; /* groups of consecutive shards, each summed in order; bins are added in pairs */

    plan_step *step[STAGE_COUNT];
    int32_t steps[STAGE_COUNT];
    int32_t step_capacity[STAGE_COUNT];
    size_t scratch_bytes;

    char *workspace;      /* threads x workspace_bytes */
    bool *workspace_used; /* by its thread */
    char *shared;
    char *bin_sums; /* of all bins but the first, which adds to the totals: sum_bytes each */
    atomic_int
        *bins_done; /* for the second of every two that are added: how many of them are done */
    char *totals;   /* sums that have no other place */
    const void **outside_now;

    char error[512];
    bool found;
    hs_nonfinite nonfinite;
};

struct run_state {
    const hs_plan *plan;
    const hs_run *run;
    char *workspace;
    char *scratch;
    char *chunk;      /* values of the present chunk */
    char *bin;        /* this bin's sums; NULL: the totals themselves */
    bool first_shard; /* of the bin */
    size_t first[3];  /* number of the first start, row of the shard: by extent */
    size_t lanes[3];  /* true lanes: 1, starts, rows */
    int threads;      /* to use inside a step */
};

/* The address of a value in this run. */
static inline void *resolve(const run_state *state, place at)
{
    const hs_plan *plan = state->plan;
    switch (at.kind) {
    case IN_SHARD:
        return state->workspace + at.offset;
    case IN_CHUNK:
        return state->chunk + at.offset;
    case IN_SHARED:
        return plan->shared + at.offset;
    case IN_SUM:
        if (state->bin)
            return state->bin + plan->sum[at.index].offset + at.offset;
        return (char *)plan->sum[at.index].into + at.offset;
    case IN_OUTSIDE:
    default:
        return (char *)(uintptr_t)plan->outside_now[at.index] + at.offset;
    }
}

/* The passes; each returns false after failing the tape. */
bool hs__plan_build_graph(hs_plan *plan);
extern bool
    hs__graph_always_expands; /* tests set it: sums are taken apart even if that costs more */
bool hs__plan_fuse(hs_plan *plan);
bool hs__plan_set_order(hs_plan *plan);
bool hs__plan_pair_layers(hs_plan *plan);
bool hs__plan_lay_out(hs_plan *plan, size_t shard_starts);
bool hs__plan_make_steps(hs_plan *plan);

/* Of sums that are outputs and nothing but products: keeps the factors instead of computing them. */
bool hs__plan_keep_factors(hs_plan *plan);

/* Makes the step of a matrix product, with what was fused into it; and lets a layer's step compute the next one too. */
void hs__product_make(hs_plan *plan, plan_step *step);
void hs__product_pair(plan_step *step);

/* Whether the next step for a node begins a sum over the batch; and asks for bytes of scratch. */
bool hs__plan_begins_sum(const hs_plan *plan, int32_t id);
void hs__plan_need_scratch(hs_plan *plan, size_t bytes);

/* Whether a step adds the product of a column and a row to a sum over the batch. */
bool hs__is_outer_product(const plan_step *step);

/* The program for the step of an elementwise node or a sum; for the first `features` of its vector, or all if 0. */
program *hs__program_make(hs_plan *plan, const plan_step *step, size_t features);
void hs__program_run(const plan_step *step, run_state *state);
/* Runs a program for features from `first` on. */
void hs__program_run_from(const program *p, run_state *state, size_t first, char *out, bool add);
size_t hs__program_scratch(const hs_plan *plan, const program *p);

/* Draws a part of a random vector. */
void hs__random_run_from(const plan_step *step, run_state *state, size_t first, size_t count);

/* Shared matrix times a vector of the batch: `count` features of the result from `first` on; and the part of the result
 * that as many features of the vector make, added to what is in `out`, or beginning it (with_start: with bias and addend). */
void hs__layer_run_from(const plan_step *step, run_state *state, size_t first, size_t count);
void hs__layer_sum_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        void *out, bool begins, bool with_start);

/* Makes a sweep of steps that were made one by one. */
bool hs__sweep_make(hs_plan *plan, plan_step *step, int32_t steps);
void hs__sweep_run(const plan_step *step, run_state *state);
size_t hs__sweep_choose_chunk(const hs_plan *plan);

/* Looks for sums of a sweep that can be made together; and makes those of `count` features from `first` on, `apart` numbers
 * from one to the next. */
bool hs__gram_make(hs_plan *plan, plan_sweep *sweep, plan_step *step);
extern bool hs__gram_allowed; /* tests unset it */
void hs__gram_run(const plan_gram *gram, run_state *state, size_t first, size_t count, char *out,
                  size_t apart);
extern size_t hs__sweep_least_bytes, hs__sweep_chunk_bytes, hs__sweep_matrix_bytes, hs__sweep_tall;

/* Whether a result is added to what is there: parts of a sum over the batch are, except for the first. */
static inline bool adds(const plan_step *step, const run_state *state)
{
    return step->out.kind == IN_SUM && !(step->first_in_sum && state->first_shard);
}

/* Fails the tape with the place of a node. */
bool hs__plan_fail(hs_plan *plan, hs_status status, int32_t node, const char *format, ...)
    HS_PRINTF(4, 5);
bool hs__plan_no_memory(hs_plan *plan);

/* True for a node that nothing needs any more. */
static inline bool is_unused(const plan_node *node)
{
    return node->uses == 0 && !node->output;
}

/* The node whose buffer holds the value of `id`, following views. */
int32_t hs__plan_owner(const hs_plan *plan, int32_t id);

/* A product of a shared matrix with a vector of the batch: their nodes, and its own. */
typedef struct {
    int32_t product, matrix, vector;
    bool transposed; /* the matrix is */
    size_t out, in;
} plan_layer;

/* Whether a node is a layer; and whether the step of one computes one. */
bool hs__plan_is_layer(const hs_plan *plan, int32_t id, plan_layer *layer);
bool hs__plan_layer_of(const hs_plan *plan, int32_t id, plan_layer *layer);

static inline bool is_elementwise(const plan_node *node)
{
    return hs__op_table[node->op].kind == KIND_ELEMENTWISE || node->op == OP_broadcast;
}

#endif
