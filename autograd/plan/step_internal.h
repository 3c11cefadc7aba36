/* Steps: the kernel calls that a plan is lowered to, and their running. */
#ifndef HASTINGS_AUTOGRAD_PLAN_STEP_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_STEP_INTERNAL_H

#include "kernels_internal.h"
#include "layout_internal.h"

typedef struct plan_step plan_step;
typedef struct run_state run_state;

/* ---- Elementwise programs -------------------------------------------------------------------- */

/* An operand of an elementwise program. */
typedef enum {
    OPERAND_VECTOR, /* a number for each place of the inner dimension */
    OPERAND_SCALAR, /* one number for all of a block */
    OPERAND_EXPAND, /* one for each start point, repeated over its lanes */
    OPERAND_ROWS,   /* one for each row of a tile */
} operand_mode;
enum { LOOP_DIMS = HS_MAX_RANK + 1 }; /* the lanes of the batch are the last */

typedef struct {
    place at;
    operand_mode mode;
    size_t stride[LOOP_DIMS]; /* in elements */
    size_t repeat;            /* OPERAND_EXPAND: lanes per element */
    size_t feature;           /* elements from one feature of a vector to the next */
} program_operand;

typedef struct {
    op_code op;
    int order;
    int result;    /* register */
    int source[3]; /* >= 0: register; < 0: operand -1 - source */
    unsigned scalars;
} program_step;

/* A group of elementwise nodes, run over blocks small enough for the first-level cache, and the
 * use of the result. The loops: over kept dimensions, blocks of the inner dimension (unless that
 * one is summed), summed dimensions, and the program. Where the inner dimension is short, a block
 * is a tile: several rows, which are places of the innermost of the other loops. */
typedef struct {
    int dims; /* of the loops outside of the innermost one, outermost first */
    size_t length[LOOP_DIMS];
    size_t out[LOOP_DIMS]; /* strides of the result */
    bool summed[LOOP_DIMS];
    int row_dim; /* the loop whose places are rows of tiles: the last that is summed, or kept; -1: none */
    size_t inner;           /* length of the innermost dimension, padding included */
    bool inner_lanes;       /* the innermost dimension is the lanes of the batch */
    hs_extent lanes_extent; /* of the iteration, if inner_lanes */
    bool inner_summed;
    bool lane_sum;     /* nothing but a sum over lanes, which has a kernel of its own */
    bool product_sum;  /* nothing but a sum over features of products of two values: likewise */
    bool sum_softplus; /* the sum is one of softplus of the result, */
    int sigmoid;       /* of which this operand is the sigmoid, or -1 */
    bool inner_starts; /* sums the lanes of each start point apart */
    size_t tile;       /* rows; 1: none; more than fit into a block if a value is summed in place */
    int operands, steps, registers;
    program_operand *operand;
    program_step *step;
    int result; /* register or operand that holds the value: as program_step.source */
} program;

enum { BLOCK_BYTES = 4096 }; /* of a block: a few of them fit into the first-level cache */

/* Whether a loop outside of the innermost one is summed. */
static inline bool sums_outside(const program *p)
{
    return p->row_dim >= 0 && p->summed[p->row_dim];
}

/* Distance in elements between an operand's numbers for neighbouring rows of a tile. */
static inline size_t row_stride(const program *p, const program_operand *operand)
{
    return operand->stride[p->row_dim];
}

/* Whether the rows of a tile are whole vectors of an operand, one after the other. */
static inline bool is_whole(const program *p, const program_operand *operand)
{
    return operand->mode == OPERAND_VECTOR && row_stride(p, operand) == p->inner;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* Sums over features of products of the same few values, made in one way through them. */
typedef struct {
    program_operand vector[DOT_VECTORS], number;
    int vectors;
    bool numbers;          /* there is a `number` */
    size_t lanes;          /* padding included */
    size_t stride;         /* of `number`, from one feature to the next */
    int32_t last;          /* the step of the loop that makes all of the sums: the last of theirs */
    int32_t sum[DOT_SUMS]; /* of the loop, for each sum of the kernel; -1: not wanted */
} joint_dots;

/* A step's part in a loop. */
typedef struct {
    program *rest;      /* for features that do not fill a chunk, or NULL */
    int32_t sum;        /* number of its sum in the loop, or -1 */
    bool joint;         /* its sum is one of the joint dots */
    bool parts;         /* a product that sums over the features of the loop: */
    size_t part;        /* place of its result among those of a piece */
    size_t out_feature; /* elements from one feature of the result to the next */
} loop_step;

/* Consecutive steps over vectors of the same length, run chunk by chunk of its features: a chunk of every value
 * fits into the cache, where the next step finds it. Steps that sum over features have a place for the sum of each
 * piece, a number of consecutive chunks; pieces may run on threads of their own. */
typedef struct {
    int32_t steps, sums;
    loop_step *part;        /* of each step */
    size_t pieces, threads; /* that there is scratch for */
    size_t sum_numbers;     /* room for the result of a sum */
    size_t part_bytes;      /* for the products of a piece that sum over features */
    size_t scratch;         /* bytes, of a thread */
    joint_dots *dots;       /* or NULL */
} plan_loop;

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The kinds of steps, and the member of the union that each has. */
typedef enum {
    STEP_LOAD,    /* an input of the batch, from rows to lanes */
    STEP_STORE,   /* an output of the batch, from lanes to rows: output */
    STEP_RANDOM,  /* draws */
    STEP_PROGRAM, /* elementwise nodes and sums: program */
    STEP_PRODUCT, /* a matrix product: product */
    STEP_AXIS,    /* an op along an axis: axis */
    STEP_PERMUTE, /* axes in another order */
    STEP_CALL,    /* a function in C */
} step_kind;

/* An op along an axis reads [outer][length][inner], and makes [outer][made][inner]. concat reads several of these. */
typedef struct axis_step {
    size_t outer, length, made;
    size_t inner, bytes; /* elements, lanes and padding included; and their bytes */
    const op_attributes *attributes;
    const batch_kernels *batch;
    void (*move)(const struct axis_step *s, char *made, const char *from); /* for one of `outer` */
} axis_step;

typedef struct {
    size_t m, n, k;    /* of a layer: its outputs, 1 and its inputs */
    hs_extent extent;  /* the wider one of its factors */
    bool transpose[2]; /* its factors; of a layer, the matrix is the first */
    product_tail tail;
    place tail_in[3]; /* bias, add, gate */
    place left_sum;
    bool begins_left_sum;
    void *factor[2]; /* where the factors of an outer product are kept, if it is not computed */
} product_step;

struct plan_step {
    void (*run)(const plan_step *step, run_state *state);
    step_kind kind;
    int32_t node;
    bool makes_value; /* its node's value is complete after it */
    bool begins_sum;  /* of a sum over the batch: overwrites in an accumulator's first shard */
    bool paired;      /* computes the next step's layer too */
    plan_loop *loop;  /* if the step is the first of one */
    place out;
    place in[3];
    union {
        size_t output;
        program *program;
        product_step product;
        axis_step axis;
    } as;
};

/* The steps of a sum over the batch. */
typedef struct {
    bool begun;          /* a step of it was made */
    bool whole;          /* a step of it is no outer product, or another node reads it */
    size_t products;     /* outer products that add to it */
    hs_factors *factors; /* if it is not computed */
} code_sum;

typedef struct {
    plan_step *step[STAGE_COUNT];
    int32_t steps[STAGE_COUNT];
    size_t scratch_bytes; /* that the neediest step takes */
    code_sum *sum;
} plan_code;

static inline const program *program_of(const plan_step *step)
{
    return step->kind == STEP_PROGRAM ? step->as.program : NULL;
}

/* Of a lane. */
static inline double flops_of(const plan_step *step)
{
    const product_step *p = &step->as.product;
    return step->kind == STEP_PRODUCT ? 2 * (double)p->m * (double)p->n * (double)p->k : 0;
}

/* Whether the next step for a node begins a sum over the batch; and asks for bytes of scratch. */
bool hs__code_begins_sum(const hs_plan *plan, plan_code *code, int32_t id);
void hs__code_need_scratch(plan_code *code, size_t bytes);

/* Makes the step of a matrix product with its tail; and lets a layer's step compute the next one too. */
void hs__product_make(const hs_plan *plan, plan_code *code, plan_step *step);
void hs__product_pair(plan_step *step);

/* Whether a step adds the product of a column and a row to a sum over the batch. */
bool hs__is_outer_product(const plan_step *step);

/* The program for the step of an elementwise node or a sum; for the first `features` of its vector, or all if 0. */
program *hs__program_make(const hs_plan *plan, plan_code *code, int32_t id, size_t features);
size_t hs__program_scratch(const hs_plan *plan, const program *p);

/* Makes a loop of steps that were made one by one; and finds its sums that can be made together. */
bool hs__loop_make(const hs_plan *plan, plan_code *code, plan_step *step, int32_t steps);
bool hs__joint_dots_make(const hs_plan *plan, plan_loop *loop, const plan_step *step);

/* ---- Running --------------------------------------------------------------------------------- */

struct run_state {
    const hs_plan *plan;
    const hs_run *run;
    char *workspace;
    char *scratch;
    char *chunk;       /* values of the present chunk */
    char *accumulator; /* sums of the shards so far; NULL: the totals themselves */
    bool first_shard;  /* of the accumulator */
    size_t first[3];   /* number of the first start, row of the shard: by extent */
    size_t lanes[3];   /* true lanes: 1, starts, rows */
    int threads;       /* to use inside a step */
};

/* Runs a program; and for features from `first` on. */
void hs__program_run(const plan_step *step, run_state *state);
void hs__program_run_from(const program *p, run_state *state, size_t first, char *out, bool add);

/* Draws `count` features of a random vector from `first` on. */
void hs__random_run_from(const plan_step *step, run_state *state, size_t first, size_t count,
                         size_t out_feature);

/* Shared matrix times a vector of the batch: `count` features of the result from `first` on; and the part of the result
 * that as many features of the vector make, added to `out`, or beginning it (with_start: with bias and addend). */
void hs__layer_run_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        size_t out_feature);
void hs__layer_sum_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        void *out, bool begins, bool with_start);

void hs__loop_run(const plan_step *step, run_state *state);

/* Makes the joint dots of `count` features from `first` on, `apart` numbers from one sum to the next. */
void hs__joint_dots_run(const joint_dots *dots, run_state *state, size_t first, size_t count,
                        char *out, size_t apart);

/* Whether a result is added to the value that is there: parts of a sum over the batch are, except for the first. */
static inline bool adds(const plan_step *step, const run_state *state)
{
    return step->out.kind == IN_SUM && !(step->begins_sum && state->first_shard);
}

#endif
