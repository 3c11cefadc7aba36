/* The schedule: the second structure of a plan. It says which values have a step of their own, which are computed
 * inside another's step, and the order of the steps.
 *
 * Passes of the schedule (passes.def) fill it. It is const when they are done. */
#ifndef HASTINGS_AUTOGRAD_PLAN_SCHEDULE_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_SCHEDULE_INTERNAL_H

#include "graph_internal.h"

#include <hastings/tensor/product.h>

/* How a value comes to be. */
typedef enum {
    BY_STEP,    /* a step of its own computes it */
    FUSED_INTO, /* the step of `host` computes it, and stores it nowhere */
    VIEW_OF,    /* part or whole of the value of `host` */
    OUTSIDE,    /* it is there already */
    ADDED_UP,   /* a sum of sums over the batch, which are added in one place */
} node_making;

typedef struct {
    node_making making;
    int32_t host;        /* FUSED_INTO, VIEW_OF: the other node */
    int32_t group_size;  /* nodes computed in the step of this one, itself included, */
    int32_t group_first; /* and the first of them */
    int32_t product;     /* the matmul whose step computes this node, or -1 */
    int32_t sum;         /* number of the sum over the batch, or -1 */
    int32_t rank;        /* in the order of nodes */
    int32_t position; /* in the order of steps; those of a loop share one, and paired layers too */
    bool in_loop;     /* computed chunk by chunk: see loops.c */
} schedule_node;

/* The rest of a product's step: the nodes that it takes in after the product itself. */
typedef struct {
    int32_t bias, add, gate; /* or -1 */
    hs_activation_kind act;
    int32_t left_sum; /* of a product summed over the batch: the sum of its left factor, or -1 */
    int32_t last; /* the node whose value the step stores: the product itself if it has no tail */
} product_tail;

/* Nodes in one elementwise program. Each but the last fills an operand of another, so a group of
 * ternary nodes reads at most 2 * MAX_GROUP + 1 values from outside. */
enum { MAX_GROUP = 32, MAX_OPERANDS = 2 * MAX_GROUP + 1, MAX_STEPS = MAX_GROUP + 1 };

typedef struct {
    schedule_node *node; /* for each node of the graph */
    product_tail *tail;  /* likewise; those of products count */
    int32_t *order;      /* all nodes, by rank */
    int32_t sums;        /* over the batch */
    size_t loop_length;  /* features of the vectors that loops go over; 0: there are no loops */
} plan_schedule;

/* The node whose buffer holds the value of `id`, following views. */
int32_t hs__schedule_owner(const plan_schedule *schedule, int32_t id);

/* Whether the step of a node computes a layer. */
bool hs__schedule_layer(const hs_plan *plan, int32_t id, plan_layer *layer);

#endif
