/* Switch `joint_dots`: scalar products of the same few values of a loop, made together. The gradients of a walk's step
 * sizes need those of draws, moves and proposals with each other. One by one, each would fetch its values from the
 * second-level cache again; together, every value is loaded once. */
#include "plan_internal.h"

#include <string.h>

/* The program of a step that sums products over features, and may be one of several; or NULL. */
static const program *sum_of_products(const plan_step *step, const loop_step *part)
{
    const program *p = program_of(step);
    return p && p->product_sum && p->dims == 1 && part->sum >= 0 && step->out.kind != IN_SUM ? p
                                                                                             : NULL;
}

/* Whether all values of a step's sum are still there when the value of rank `rank` is made in the chunk's memory. */
static bool lasts_until(const hs_plan *plan, const plan_step *step, int32_t rank)
{
    const graph_node *product = node_at(plan, node_at(plan, step->node)->input[0]);
    bool lasts = true;
    for (int i = 0; i < product->inputs; i++) {
        const layout_node *value =
            &plan->layout->node[hs__schedule_owner(plan->schedule, product->input[i])];
        lasts = lasts && (!value->local || value->last_use >= rank);
    }
    return lasts;
}

static bool is_same_place(place a, place b)
{
    return a.kind == b.kind && a.index == b.index && a.offset == b.offset;
}

/* The index of a value among the vectors, which it joins if there is room; or -1. */
static int index_of(joint_dots *dots, const program_operand *value)
{
    for (int i = 0; i < dots->vectors; i++)
        if (is_same_place(dots->vector[i].at, value->at))
            return i;
    if (dots->vectors == DOT_VECTORS)
        return -1;
    dots->vector[dots->vectors] = *value;
    return dots->vectors++;
}

/* Adds the sum of a step to the joint ones, if it fits in. */
static bool join(joint_dots *dots, const plan_step *step, int32_t sum)
{
    const program *p = step->as.program;
    const program_operand *a = &p->operand[-1 - p->step->source[0]],
                          *b = &p->operand[-1 - p->step->source[1]];
    const bool by_number = b->mode == OPERAND_ROWS;
    if (by_number && dots->numbers && !is_same_place(dots->number.at, b->at))
        return false;
    const joint_dots before = *dots;
    const int i = index_of(dots, a), j = by_number ? i : index_of(dots, b);
    const int low = i < j ? i : j, high = i < j ? j : i;
    const int k = by_number ? DOT_PAIRS + high : high * (high + 1) / 2 + low;
    if (low < 0 || dots->sum[k] >= 0) { /* no room, or there already, with its factors exchanged */
        *dots = before;
        return false;
    }
    if (by_number) {
        dots->numbers = true;
        dots->number = *b;
        dots->stride = row_stride(p, b);
    }
    dots->sum[k] = sum;
    return true;
}

bool hs__joint_dots_make(const hs_plan *plan, plan_loop *loop, const plan_step *step)
{
    joint_dots *dots = hs__plan_alloc(plan, 1, sizeof *dots);
    if (!dots)
        return false;
    memset(dots->sum, -1, sizeof dots->sum);
    /* The last step that sums products, and the rank of the last local value that is made up to there. */
    int32_t end = -1, last_made = -1, wanted = 0;
    for (int32_t k = 0; k < loop->steps; k++)
        if (sum_of_products(&step[k], &loop->part[k]))
            end = k;
    for (int32_t k = 0; k <= end; k++)
        if (plan->layout->node[step[k].node].local)
            last_made = scheduled(plan, step[k].node)->rank;
    for (int32_t k = 0; k <= end; k++) {
        loop_step *part = &loop->part[k];
        const program *p = sum_of_products(&step[k], part);
        dots->lanes = step[end].as.program->inner;
        part->joint = p && p->inner == dots->lanes && lasts_until(plan, &step[k], last_made) &&
                      join(dots, &step[k], part->sum);
        wanted += part->joint;
        dots->last = part->joint ? k : dots->last;
    }
    /* More than two in three of the sums that are made must be wanted: with fewer, loads are saved but multiply-adds
     * lost. */
    const int made = dots->vectors * (dots->vectors + 1) / 2 + (dots->numbers ? dots->vectors : 0);
    if (wanted >= 2 && 3 * wanted > 2 * made)
        loop->dots = dots;
    for (int32_t k = 0; k <= end && !loop->dots; k++)
        loop->part[k].joint = false;
    return true;
}

void hs__joint_dots_run(const joint_dots *dots, run_state *state, size_t first, size_t count,
                        char *out, size_t apart)
{
    const void *vector[DOT_VECTORS];
    for (int i = 0; i < dots->vectors; i++)
        vector[i] = operand_from(state, &dots->vector[i], first);
    const void *number = dots->numbers ? operand_from(state, &dots->number, first) : NULL;
    state->plan->request->batch->joint_dots(dots->lanes, count, dots->vectors, vector, number,
                                            dots->stride, out, apart);
}
