/* Gradients of weights that stay factors, where the batch has one row: hs_plan_options.factors. */
#include "passes_internal.h"

#include <string.h>

enum { WORTH_FACTORS = 1 << 16 }; /* numbers that would not stay in a cache near by */

static void run_factors(const plan_step *step, run_state *state)
{
    const size_t element = state->plan->request->element;
    const product_step *product = &step->as.product;
    memcpy(product->factor[0], resolve(state, step->in[0]), product->m * element);
    memcpy(product->factor[1], resolve(state, step->in[1]), product->n * element);
}

/* Counts, for each sum over the batch, the steps that add to it; 0 if one of them is no outer product. */
static void count_products(const plan_code *code, int32_t sums, size_t *count)
{
    bool *other = (bool *)(count + sums);
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t k = 0; k < code->steps[stage]; k++) {
            const plan_step *step = &code->step[stage][k];
            if (step->kind == STEP_STORE || step->out.kind != IN_SUM)
                continue;
            count[step->out.index]++;
            if (stage != STAGE_SHARD || !hs__is_outer_product(step) || step->out.offset)
                other[step->out.index] = true;
        }
    for (int32_t i = 0; i < sums; i++)
        count[i] = other[i] ? 0 : count[i];
}

/* Sums that other nodes read have to be computed. */
static void leave_out_read(const hs_plan *plan, size_t *count)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        for (int k = 0; k < node->inputs && !is_unused(node); k++) {
            const int32_t sum = scheduled(plan, node->input[k])->sum;
            if (sum >= 0 && scheduled(plan, id)->sum != sum)
                count[sum] = 0;
        }
    }
}

/* Lets the steps of a sum keep their factors. */
static bool keep_factors(const hs_plan *plan, plan_code *code, int32_t sum, size_t count)
{
    const void **a = hs_arena_alloc(plan->arena, 2 * count * sizeof *a), **b = a + count;
    hs_factors *factors = hs_arena_alloc(plan->arena, sizeof *factors);
    if (!a || !factors)
        return false;
    *factors = (hs_factors){ .count = count, .a = a, .b = b };
    size_t at = 0;
    for (int32_t k = 0; k < code->steps[STAGE_SHARD]; k++) {
        plan_step *step = &code->step[STAGE_SHARD][k];
        product_step *product = &step->as.product;
        if (step->kind == STEP_STORE || step->out.kind != IN_SUM || step->out.index != sum)
            continue;
        for (int i = 0; i < 2; i++) {
            const size_t numbers = i ? product->n : product->m;
            product->factor[i] = hs_arena_alloc(plan->arena, numbers * plan->request->element);
            if (!product->factor[i])
                return false;
        }
        factors->rows = product->m;
        factors->columns = product->n;
        a[at] = product->factor[0];
        b[at++] = product->factor[1];
        step->run = run_factors;
    }
    code->factors[sum] = factors;
    return true;
}

bool hs__code_keep_factors(const hs_plan *plan, plan_code *code)
{
    if (!plan->request->factors)
        return true;
    const int32_t sums = plan->schedule->sums;
    size_t *count = hs_alloc_zero((size_t)sums + 1, sizeof *count + sizeof(bool));
    bool ok = count != NULL;
    if (ok) {
        count_products(code, sums, count);
        leave_out_read(plan, count);
    }
    for (size_t o = 0; ok && o < plan->request->outputs; o++) {
        const int32_t id = plan->graph->output[o], sum = scheduled(plan, id)->sum;
        if (sum >= 0 && count[sum] && !code->factors[sum] &&
            node_at(plan, id)->count >= WORTH_FACTORS)
            ok = keep_factors(plan, code, sum, count[sum]);
    }
    hs_free(count);
    return ok ? true : hs__plan_no_memory(plan);
}
