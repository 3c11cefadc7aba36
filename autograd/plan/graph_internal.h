/* The graph: the first structure of a plan. It has the values that the outputs need, each once.
 *
 * Passes of the graph (passes.def) rewrite it node by node. It is const when they are done. */
#ifndef HASTINGS_AUTOGRAD_PLAN_GRAPH_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_GRAPH_INTERNAL_H

#include "../tape_internal.h"

#include <hastings/autograd/plan.h>

/* When a value is computed: once before the batch, for each shard, or once after the batch, when the sums over the
 * batch are known. */
typedef enum { STAGE_BEFORE, STAGE_SHARD, STAGE_AFTER, STAGE_COUNT } plan_stage;

typedef struct {
    op_code op;
    hs_extent extent;
    hs_shape shape;
    size_t count; /* numbers of one copy */
    int inputs;
    int32_t *input; /* smaller ids than the node's own */
    const op_attributes *attributes;
    double number;   /* of a constant */
    int32_t tape_id; /* the node of the tape that it comes from: for messages and prints */
    int32_t level;   /* sums over features that it needs one after the other */
    const struct linear_form *form; /* for expand.c */
    /* Valid after the last rewrite: */
    int32_t outside; /* index of the memory outside of the plan that holds the value, or -1 */
    plan_stage stage;
    bool sums_batch; /* the value is complete only after all shards */
    bool output;
    int32_t uses; /* by other nodes */
} graph_node;

/* Memory outside of the plan: of the caller, or of the tape. */
typedef struct {
    int32_t tape_id;         /* of the leaf */
    const void *data;        /* set by hs_plan_set(), or the tape's own */
    const void *const *base; /* bound: where to look, unless data is set */
    size_t offset;
} outside_value;

typedef struct {
    graph_node *node; /* in an order in which they can be computed */
    int32_t nodes, capacity;
    int32_t *output; /* the node of each output */
    size_t live;     /* nodes of the tape that the outputs need; 0: those of the graph */
    int32_t outsides;
} plan_graph;

/* True for a node that nothing needs any more. */
static inline bool is_unused(const graph_node *node)
{
    return node->uses == 0 && !node->output;
}

static inline bool is_elementwise(const graph_node *node)
{
    return hs__op_table[node->op].kind == KIND_ELEMENTWISE || node->op == OP_broadcast;
}

static inline bool has_shape(const graph_node *node, const hs_shape *shape)
{
    return hs_shape_equal(&node->shape, shape);
}

/* Whether the values of two nodes are stored alike. */
static inline bool is_alike(const graph_node *a, const graph_node *b)
{
    return a->extent == b->extent && has_shape(a, &b->shape);
}

/* A product of a shared matrix with a vector of the batch: their nodes, and its own. */
typedef struct {
    int32_t product, matrix, vector;
    bool transposed; /* the matrix is */
    size_t out, in;
} plan_layer;

/* Whether a node is a layer. */
bool hs__graph_is_layer(const plan_graph *graph, int32_t id, plan_layer *layer);

/* Whether a node is another's value under another shape, or a contiguous part of it. */
bool hs__graph_is_view(const plan_graph *graph, const graph_node *node);

/* Marks the softplus nodes that are only summed over features: a sum has a kernel for them. */
void hs__graph_find_summed_softplus(const plan_graph *graph, bool *summed);

/* ---- Rewriting ------------------------------------------------------------------------------- */

typedef struct graph_builder graph_builder;

/* Looks at a node before it joins the graph; its inputs are of the new graph. Returns an existing node with the same
 * value; or NO_NODE, and then `node`, which the rule may have rewritten, joins. */
typedef int32_t graph_rule(graph_builder *b, graph_node *node);
enum { NO_NODE = -1 };

/* A slot of the table of nodes: unlike hashes need no look at the nodes. */
typedef struct {
    uint32_t hash;
    int32_t id; /* -1: free */
} graph_slot;

/* A graph while it is made: equal nodes are found by hashing. */
struct graph_builder {
    const hs_plan *plan;
    plan_graph *graph;
    graph_rule *rule; /* NULL: nodes join as they are */
    graph_slot *slot; /* open addressing */
    uint32_t mask;
    int32_t tape_id; /* where new nodes come from */
    bool expanded;   /* expand.c took a sum apart */
    bool no_memory;  /* what is made from now on is node 0: all of it is thrown away */
};

/* Makes the builder's graph from another: every node that the outputs need goes through the rule. */
bool hs__graph_rewrite(graph_builder *b, const plan_graph *from);

/* The same in place. */
bool hs__graph_replace(const hs_plan *plan, plan_graph *graph, graph_rule *rule);

/* The number of an equal node, new or old. */
int32_t hs__graph_find(graph_builder *b, const graph_node *node);

/* The same after the builder's rule. */
int32_t hs__graph_add(graph_builder *b, graph_node *node);

/* The same for an op on n values, whose array lives as long as the plan. */
int32_t hs__graph_make_of(graph_builder *b, op_code op, int32_t *input, int n, hs_extent extent,
                          const hs_shape *shape, const op_attributes *attributes);

/* The same for an op on one value, or on two unless y < 0. */
int32_t hs__graph_make(graph_builder *b, op_code op, int32_t x, int32_t y, hs_extent extent,
                       const hs_shape *shape);
int32_t hs__graph_constant(graph_builder *b, double number);

/* Memory that lives as long as the plan. */
void *hs__graph_alloc(graph_builder *b, size_t bytes);

/* The rule of the pass `simplify`, which `expand` applies too. */
graph_rule hs__simplify_node;

#endif
