/* The layout: the third structure of a plan. It says how the batch is cut into shards, and where each value is.
 *
 * Passes of the layout (passes.def) fill it. It is const when they are done. */
#ifndef HASTINGS_AUTOGRAD_PLAN_LAYOUT_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_LAYOUT_INTERNAL_H

#include "schedule_internal.h"

/* Where a value is. */
typedef enum {
    IN_SHARD,   /* workspace of the thread: offset bytes from its start */
    IN_CHUNK,   /* likewise, but there is only the present chunk of its features */
    IN_SHARED,  /* workspace of the plan */
    IN_SUM,     /* accumulator of the thread: sum number `index` */
    IN_OUTSIDE, /* memory of the caller or the tape: outside[index] */
} place_kind;

typedef struct {
    place_kind kind;
    int32_t index;
    size_t offset; /* bytes */
} place;

typedef struct {
    place at;
    bool local;       /* only steps of one loop need it: there is never more than a chunk of it */
    int32_t last_use; /* position up to which the value is needed, or rank if it is local */
} layout_node;

typedef struct {
    layout_node *node; /* for each node of the graph */
    size_t shard_starts, shards;
    /* By extent, the distance between the features of a value: 1 if there is one lane, else lanes padded to whole
     * cache lines. */
    size_t stride[3];
    size_t loop_chunk;  /* features of a long vector that are worked on at a time */
    size_t chunk_bytes; /* for the local values of a chunk */
    size_t shard_bytes, shared_bytes;
    size_t *sum_count; /* numbers of each sum over the batch; 0: merged into another */
    size_t sum_bytes;  /* of all of them: an accumulator */
    int accumulators; /* each takes sums of consecutive shards, in order; they are added in pairs */
} plan_layout;

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many times `unit` cover a number. */
static inline size_t times_to_cover(size_t number, size_t unit)
{
    return (number + unit - 1) / unit;
}

static inline place outside_place(const graph_node *node)
{
    return (place){ IN_OUTSIDE, node->outside, 0 };
}

/* Features of a chunk of a loop, from the strides. */
size_t hs__loop_choose_chunk(const hs_plan *plan, const plan_layout *layout);

#endif
