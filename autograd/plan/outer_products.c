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

/* The sum over the batch that a step adds to, or NULL. */
static code_sum *sum_of(const plan_code *code, const plan_step *step)
{
    return step->kind == STEP_STORE || step->out.kind != IN_SUM ? NULL
                                                                : &code->sum[step->out.index];
}

/* Counts the products that add to each sum. */
static void count_products(const plan_code *code)
{
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        for (int32_t k = 0; k < code->steps[stage]; k++) {
            const plan_step *step = &code->step[stage][k];
            code_sum *sum = sum_of(code, step);
            if (!sum)
                continue;
            sum->products++;
            if (stage != STAGE_SHARD || !hs__is_outer_product(step) || step->out.offset)
                sum->whole = true;
        }
}

/* Sums that other nodes read have to be computed. */
static void leave_out_read(const hs_plan *plan, const plan_code *code)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        for (int k = 0; k < node->inputs && !is_unused(node); k++) {
            const int32_t sum = scheduled(plan, node->input[k])->sum;
            if (sum >= 0 && scheduled(plan, id)->sum != sum)
                code->sum[sum].whole = true;
        }
    }
}

/* Lets the steps of a sum keep their factors. */
static bool keep_factors(const hs_plan *plan, plan_code *code, code_sum *sum)
{
    const size_t element = plan->request->element;
    const void **a = hs__plan_alloc(plan, 2 * sum->products, sizeof *a);
    sum->factors = hs__plan_alloc(plan, 1, sizeof *sum->factors);
    if (!a || !sum->factors)
        return false;
    *sum->factors = (hs_factors){ .a = a, .b = a + sum->products };
    for (int32_t k = 0; k < code->steps[STAGE_SHARD]; k++) {
        plan_step *step = &code->step[STAGE_SHARD][k];
        product_step *p = &step->as.product;
        if (sum_of(code, step) != sum)
            continue;
        p->factor[0] = hs__plan_alloc(plan, p->m, element);
        p->factor[1] = hs__plan_alloc(plan, p->n, element);
        if (!p->factor[0] || !p->factor[1])
            return false;
        a[sum->factors->count] = p->factor[0];
        a[sum->factors->count++ + sum->products] = p->factor[1];
        sum->factors->rows = p->m;
        sum->factors->columns = p->n;
        step->run = run_factors;
    }
    return true;
}

bool hs__code_keep_factors(const hs_plan *plan, plan_code *code)
{
    if (!plan->request->factors)
        return true;
    count_products(code);
    leave_out_read(plan, code);
    for (size_t o = 0; o < plan->request->outputs; o++) {
        const int32_t id = plan->graph->output[o], number = scheduled(plan, id)->sum;
        code_sum *sum = number >= 0 ? &code->sum[number] : NULL;
        if (sum && !sum->whole && sum->products && !sum->factors &&
            node_at(plan, id)->count >= WORTH_FACTORS && !keep_factors(plan, code, sum))
            return false;
    }
    return true;
}
