/* Gradients of weights that stay factors, where the batch has one row. */
#include "plan_internal.h"

#include <string.h>

enum { WORTH_FACTORS = 1 << 16 }; /* numbers that would not stay in a cache near by */

static void run_factors(const plan_step *step, run_state *state)
{
    const size_t element = state->plan->element;
    memcpy(step->factor[0], resolve(state, step->in[0]), step->m * element);
    memcpy(step->factor[1], resolve(state, step->in[1]), step->n * element);
}

/* Steps that add to sum `i`, if they are all outer products; else 0. */
static size_t count_factors(const hs_plan *plan, int32_t i)
{
    size_t count = 0;
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t k = 0; k < plan->steps[stage]; k++) {
            const plan_step *step = &plan->step[stage][k];
            if (step->out.kind != IN_SUM || step->out.index != i)
                continue;
            if (stage != STAGE_SHARD || !hs__is_outer_product(step) || step->out.offset)
                return 0;
            count++;
        }
    return count;
}

static bool is_read(const hs_plan *plan, int32_t sum)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        for (int k = 0; k < node->inputs && !is_unused(node); k++)
            if (plan->node[node->input[k]].sum == sum && node->sum != sum)
                return true;
    }
    return false;
}

bool hs__plan_keep_factors(hs_plan *plan)
{
    for (size_t o = 0; o < plan->outputs; o++) {
        const plan_node *node = &plan->node[plan->output[o].node];
        const size_t count = plan->output[o].is_sum ? count_factors(plan, node->sum) : 0;
        if (count == 0 || node->count < WORTH_FACTORS || is_read(plan, node->sum))
            continue;
        const void **a = hs_arena_alloc(&plan->arena, 2 * count * sizeof *a), **b = a + count;
        hs_factors *factors = hs_arena_alloc(&plan->arena, sizeof *factors);
        if (!a || !factors)
            return hs__plan_no_memory(plan);
        *factors = (hs_factors){ .count = count, .a = a, .b = b };
        size_t at = 0;
        for (int32_t k = 0; k < plan->steps[STAGE_SHARD]; k++) {
            plan_step *step = &plan->step[STAGE_SHARD][k];
            if (step->out.kind != IN_SUM || step->out.index != node->sum)
                continue;
            for (int i = 0; i < 2; i++) {
                step->factor[i] =
                    hs_arena_alloc(&plan->arena, (i ? step->n : step->m) * plan->element);
                if (!step->factor[i])
                    return hs__plan_no_memory(plan);
            }
            factors->rows = step->m;
            factors->columns = step->n;
            a[at] = step->factor[0];
            b[at++] = step->factor[1];
            step->run = run_factors;
        }
        plan->sum[node->sum].factors = factors;
    }
    return true;
}
