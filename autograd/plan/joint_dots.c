/* Sums of a sweep over products of the same few values, such as those that gradients of a walk's step sizes need: the
 * scalar products of draws, moves and proposals with each other. One by one, each would fetch its values from the
 * second-level cache again; together, every value is loaded once. */
#include "plan_internal.h"

bool hs__gram_allowed = true;

/* More than two in three of the sums that are made must be wanted: with fewer, loads are saved but multiply-adds lost. */
static bool is_worth_it(int wanted, int made)
{
    return hs__gram_allowed && wanted >= 2 && 3 * wanted > 2 * made;
}

/* The sum of products of a step that may be one of several; or NULL. */
static const program *sum_of_products(const plan_step *step)
{
    const program *p = step->program;
    return p && p->product_sum && p->dims[0] == 0 && step->sweep_sum >= 0 &&
                   step->out.kind != IN_SUM
               ? p
               : NULL;
}

/* Whether all values of a step's sum are still there when the value of rank `rank` is made in the chunk's memory. */
static bool lasts_until(const hs_plan *plan, const plan_step *step, int32_t rank)
{
    const plan_node *product = &plan->node[plan->node[step->node].input[0]];
    bool lasts = true;
    for (int i = 0; i < product->inputs; i++) {
        const plan_node *value = &plan->node[hs__plan_owner(plan, product->input[i])];
        lasts = lasts && (!value->local || value->last >= rank);
    }
    return lasts;
}

static bool is_same_place(place a, place b)
{
    return a.kind == b.kind && a.index == b.index && a.offset == b.offset;
}

/* The place of a value among those of the Gram matrix, which it joins if there is room; or -1. */
static int index_of(plan_gram *gram, const program_operand *value)
{
    for (int i = 0; i < gram->vectors; i++)
        if (is_same_place(gram->vector[i].at, value->at))
            return i;
    if (gram->vectors == GRAM_VECTORS)
        return -1;
    gram->vector[gram->vectors] = *value;
    return gram->vectors++;
}

/* Adds the sum of a step to those of the matrix, if it fits in. */
static bool join(plan_gram *gram, const plan_step *step)
{
    const program *p = step->program;
    const program_operand *a = &p->operand[-1 - p->step->source[0]],
                          *b = &p->operand[-1 - p->step->source[1]];
    const bool by_number = b->mode == OPERAND_ROWS;
    if (by_number && gram->numbers && !is_same_place(gram->number.at, b->at))
        return false;
    const plan_gram before = *gram;
    const int i = index_of(gram, a), j = by_number ? i : index_of(gram, b);
    const int low = i < j ? i : j, high = i < j ? j : i;
    const int k = by_number ? GRAM_PAIRS + high : high * (high + 1) / 2 + low;
    if (low < 0 || gram->sum[k] >= 0) { /* no room, or there already, with its factors exchanged */
        *gram = before;
        return false;
    }
    if (by_number) {
        gram->numbers = true;
        gram->number = *b;
        gram->stride = row_stride(p, b);
    }
    gram->sum[k] = step->sweep_sum;
    return true;
}

bool hs__gram_make(hs_plan *plan, plan_sweep *sweep, plan_step *step)
{
    plan_gram gram = { .last = -1 };
    int32_t end = -1, wanted = 0, last_made = -1;
    for (int k = 0; k < GRAM_SUMS; k++)
        gram.sum[k] = -1;
    for (int32_t k = 0; k < sweep->steps; k++)
        if (sum_of_products(&step[k]))
            end = k;
    for (int32_t k = 0; k <= end; k++)
        if (plan->node[step[k].node].local)
            last_made = plan->node[step[k].node].rank;
    for (int32_t k = 0; k <= end; k++) {
        const program *p = sum_of_products(&step[k]);
        if (!p || p->inner != step[end].program->inner || !lasts_until(plan, &step[k], last_made) ||
            !join(&gram, &step[k]))
            continue;
        step[k].in_gram = true;
        gram.last = k;
        wanted++;
    }
    const int made = gram.vectors * (gram.vectors + 1) / 2 + (gram.numbers ? gram.vectors : 0);
    if (!is_worth_it(wanted, made)) {
        for (int32_t k = 0; k <= end; k++)
            step[k].in_gram = false;
        return true;
    }
    gram.lanes = step[end].program->inner;
    sweep->gram = hs_arena_alloc(&plan->arena, sizeof *sweep->gram);
    if (!sweep->gram)
        return hs__plan_no_memory(plan);
    *sweep->gram = gram;
    return true;
}

void hs__gram_run(const plan_gram *gram, run_state *state, size_t first, size_t count, char *out,
                  size_t apart)
{
    const size_t element = state->plan->element;
    const void *vector[GRAM_VECTORS], *number = NULL;
    for (int i = 0; i < gram->vectors; i++)
        vector[i] = (const char *)resolve(state, gram->vector[i].at) +
                    first * gram->vector[i].feature * element;
    if (gram->numbers)
        number =
            (const char *)resolve(state, gram->number.at) + first * gram->number.feature * element;
    state->plan->batch->gram(gram->lanes, count, gram->vectors, vector, number, gram->stride, out,
                             apart);
}
