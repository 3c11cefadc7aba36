/* The whole of a plan; seen by autograd/ alone.
 *
 * The passes of passes.def make a plan. Each of them fills one structure, and reads those before it, which are const:
 *     graph     graph_internal.h      the values, each once
 *     schedule  schedule_internal.h   which step computes a value, and the order of steps
 *     layout    layout_internal.h     shards, and the place of each value
 *     code      step_internal.h       kernel calls
 * run.c allocates the memory, and runs the steps. */
#ifndef HASTINGS_AUTOGRAD_PLAN_PLAN_INTERNAL_H
#define HASTINGS_AUTOGRAD_PLAN_PLAN_INTERNAL_H

#include "step_internal.h"

#include <hastings/tensor/message.h>
#include <hastings/tensor/threads.h>

#include <stdatomic.h>

/* The passes, in their order. */
typedef enum {
#define PASS(name, ...) PASS_##name,
#include "passes.def"
    PASS_COUNT
} plan_pass;

/* The request: fixed before the first pass. */
typedef struct {
    const hs_tape *tape;
    hs_dtype dtype;
    size_t element; /* bytes of a number */
    const elementwise_kernels *elementwise;
    const batch_kernels *batch;
    const hs_var *wanted; /* the outputs */
    size_t outputs;
    size_t starts, rows_per_start;
    size_t shard_starts; /* 0: chosen */
    int threads;         /* that a run may take; the pace decides */
    bool trace, factors;
    /* A bit for each pass: switched off; applied even where it does not pay. */
    unsigned without, always;
    bool (*interrupted)(void *context);
    void *context;
} plan_request;

/* The memory of an output, and of a sum over the batch. */
typedef struct {
    void *value; /* [rows][count] */
    bool owned;
    bool is_sum; /* the total of the sum over the batch is written to `value` directly */
} plan_output;

typedef struct {
    void *total;   /* the caller's memory, or the plan's */
    size_t offset; /* in an accumulator */
} plan_sum;

/* The memory of a plan, and its state between runs. */
typedef struct {
    plan_output *output;
    outside_value *outside;
    const void **outside_now;
    plan_sum *sum;
    size_t scratch_offset, workspace_bytes;
    char *workspace;      /* threads x workspace_bytes */
    bool *workspace_used; /* by its thread */
    char *shared;
    char *totals; /* sums that have no other place */
    bool found;   /* a traced run found */
    hs_nonfinite nonfinite;
    atomic_bool interrupted; /* the caller wants the run to end */
    char *accumulators; /* all but the first, which adds to the totals: layout.sum_bytes each */
    /* For the second of every two accumulators: how many of them are done. */
    atomic_int *shards_added;
} plan_memory;

struct hs_plan {
    const plan_request *request;
    const plan_graph *graph;
    const plan_schedule *schedule;
    const plan_layout *layout;
    const plan_code *code;
    plan_memory *memory;
    hs_arena *arena;     /* of everything that passes make */
    hs_arena *scratch;   /* of the present pass */
    hs_message *message; /* the error of making it, or of the last run */
    hs_status *status;   /* of making it */
    int threads;
    hs_pace pace;
};

/* Accessors for the three structures' views of a node. */
static inline const graph_node *node_at(const hs_plan *plan, int32_t id)
{
    return &plan->graph->node[id];
}

static inline const schedule_node *scheduled(const hs_plan *plan, int32_t id)
{
    return &plan->schedule->node[id];
}

static inline place place_of(const hs_plan *plan, int32_t id)
{
    return plan->layout->node[id].at;
}

/* The node over whose values a step goes: of a sum over the batch, its operand. */
static inline const graph_node *space_of(const hs_plan *plan, const plan_step *step)
{
    const graph_node *node = node_at(plan, step->node);
    return node->sums_batch ? node_at(plan, node->input[0]) : node;
}

static inline bool runs_pass(const hs_plan *plan, plan_pass pass)
{
    return !(plan->request->without >> pass & 1);
}

/* For tests: a pass applies wherever it can, even where it does not pay. */
static inline bool runs_always(const hs_plan *plan, plan_pass pass)
{
    return plan->request->always >> pass & 1;
}

/* Fails the plan with the place of a node; returns false. */
bool hs__plan_fail(const hs_plan *plan, hs_status status, int32_t node, const char *format, ...)
    HS_PRINTF(4, 5);
bool hs__plan_no_memory(const hs_plan *plan);

/* Zeroed memory that lives as long as the plan; NULL if there is none, which fails the plan. */
void *hs__plan_alloc(const hs_plan *plan, size_t count, size_t size);

/* True if the caller wants no more of the plan, which has failed then. */
bool hs__plan_is_interrupted(const hs_plan *plan);

/* Allocates the memory of a plan whose passes are done, and chooses its threads; and frees it. */
bool hs__plan_allocate(hs_plan *plan, const hs_plan_options *options);
void hs__plan_release(hs_plan *plan);

/* Number of values of an extent in the batch. */
size_t hs__plan_copies(const hs_plan *plan, hs_extent extent);

/* The address of a value in this run; and of an operand from one of its features on. */
static inline void *resolve(const run_state *state, place at)
{
    const plan_memory *memory = state->plan->memory;
    switch (at.kind) {
    case IN_SHARD:
        return state->workspace + at.offset;
    case IN_CHUNK:
        return state->chunk + at.offset;
    case IN_SHARED:
        return memory->shared + at.offset;
    case IN_SUM:
        if (state->accumulator)
            return state->accumulator + memory->sum[at.index].offset + at.offset;
        return (char *)memory->sum[at.index].total + at.offset;
    case IN_OUTSIDE:
    default:
        return (char *)(uintptr_t)memory->outside_now[at.index] + at.offset;
    }
}

static inline const char *operand_from(const run_state *state, const program_operand *operand,
                                       size_t feature)
{
    return (const char *)resolve(state, operand->at) +
           feature * operand->feature * state->plan->request->element;
}

#endif
