/* The making of a plan's graph: plan/graph.c takes nodes from the tape, plan/simplify.c makes single ones simpler,
 * plan/expand.c takes sums over features apart. */
#ifndef HASTINGS_AUTOGRAD_PLAN_GRAPH_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_GRAPH_INTERNAL_H

#include "plan_internal.h"

/* A hash table of nodes by what they compute, open addressing; -1 is free. */
typedef struct {
    int32_t *slot;
    uint32_t mask;
    bool expands;   /* sums are taken apart where that can be done, */
    bool expanded;  /* and some were */
    bool no_memory; /* while they were */
} node_table;

/* The number of an equal node, new or old; -1 without memory. */
int32_t hs__graph_find(hs_plan *plan, node_table *table, const plan_node *node);

/* The same for the simplest node that has the value of `node`. */
int32_t hs__graph_add(hs_plan *plan, node_table *table, plan_node *node);

/* The same for an op on one value, or on two unless b < 0. */
int32_t hs__graph_make(hs_plan *plan, node_table *table, op_code op, int32_t a, int32_t b,
                       hs_extent extent, const hs_shape *shape, int32_t tape_id);
int32_t hs__graph_constant(hs_plan *plan, node_table *table, double number, int32_t tape_id);

/* An existing node that has the value of `node`; -1 if there is none, -2 without memory. May rewrite `node` into a
 * simpler one. */
int32_t hs__graph_simplify(hs_plan *plan, node_table *table, plan_node *node);

/* The same for a sum over all features. */
int32_t hs__graph_expand_sum(hs_plan *plan, node_table *table, const plan_node *sum);

/* What running the graph costs, roughly, as a number of numbers that elementwise ops make. */
bool hs__graph_cost(const hs_plan *plan, double *cost);

static inline bool has_shape(const plan_node *node, const hs_shape *shape)
{
    return hs_shape_equal(&node->shape, shape);
}

#endif
