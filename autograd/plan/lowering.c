/* Sixth pass: the kernel calls that compute each stored node, in the order of the third and the fourth. */
#include "plan_internal.h"

#include <string.h>

/* ---- Leaves --------------------------------------------------------------------------------- */

static void run_load(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const char *rows = resolve(state, step->in[0]);
    rows += state->first[node->extent] * node->count * plan->element;
    plan->batch->to_lanes(node->count, state->lanes[node->extent], rows, resolve(state, step->out),
                          plan->stride[node->extent]);
}

void hs__random_run_from(const plan_step *step, run_state *state, size_t first, size_t count)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const hs_distribution d = node->op == OP_normal ? HS_NORMAL : HS_UNIFORM;
    const hs_address at = { state->run->seed, node->attributes->stream, state->run->step,
                            (uint32_t)first };
    const hs_extent extent = node->extent;
    char *out = resolve(state, step->out);
    out += first * step->out_feature * plan->element;
    uint64_t row = extent == HS_SHARED ? 0 : state->first[extent];
    if (extent == HS_ROW)
        row += state->run->first_row;
    else if (extent == HS_START)
        row += state->run->first_row / plan->rows_per_start;
    if (plan->stride[extent] == 1)
        hs_random_rows(plan->dtype, d, at, (uint32_t)row, 1, count, out);
    else
        hs_random_lanes(plan->dtype, d, at, (uint32_t)row, state->lanes[extent], count, out,
                        plan->stride[extent]);
}

static void run_random(const plan_step *step, run_state *state)
{
    hs__random_run_from(step, state, 0, state->plan->node[step->node].count);
}

/* ---- Along an axis, and moves ---------------------------------------------------------------- */

/* [outer][length][inner], inner in elements with lanes and padding. */
static void set_axis(const hs_plan *plan, plan_step *step, const hs_shape *shape, int axis,
                     hs_extent extent)
{
    step->outer = 1;
    step->inner = plan->stride[extent];
    for (int i = 0; i < axis; i++)
        step->outer *= shape->dim[i];
    for (int i = axis + 1; i < shape->rank; i++)
        step->inner *= shape->dim[i];
    step->length = shape->dim[axis];
}

static void run_over_axis(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    const size_t segment = step->inner * plan->element;
    for (size_t o = 0; o < step->outer; o++) {
        if (plan->node[step->node].op == OP_max_over)
            plan->batch->max_over(step->inner, step->length, step->inner, y + o * segment,
                                  x + o * step->length * segment);
        else
            plan->batch->logsumexp(step->inner, step->length, step->inner, y + o * segment,
                                   x + o * step->length * segment);
    }
}

/* slice and pad: a run of places of each [length][inner] block. */
static void run_slice(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const size_t segment = step->inner * plan->element;
    const size_t length = node->shape.dim[node->attributes->axis];
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->outer; o++)
        memcpy(y + o * length * segment, x + (o * step->length + node->attributes->first) * segment,
               length * segment);
}

static void run_pad(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const op_attributes *a = plan->node[step->node].attributes;
    const size_t segment = step->inner * plan->element;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->outer; o++) {
        memset(y, 0, a->first * segment);
        memcpy(y + a->first * segment, x, step->length * segment);
        memset(y + (a->first + step->length) * segment, 0, a->end * segment);
        x += step->length * segment;
        y += (a->first + step->length + a->end) * segment;
    }
}

static void run_concat(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const int axis = node->attributes->axis;
    const size_t segment = step->inner * plan->element;
    char *y = resolve(state, step->out);
    size_t first = 0;
    for (int i = 0; i < node->inputs; i++) {
        const plan_node *in = &plan->node[node->input[i]];
        const size_t length = in->shape.dim[axis];
        const char *x = resolve(state, in->at);
        for (size_t o = 0; o < step->outer; o++)
            memcpy(y + (o * step->length + first) * segment, x + o * length * segment,
                   length * segment);
        first += length;
    }
}

static void run_gather(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const op_attributes *a = plan->node[step->node].attributes;
    const size_t segment = step->inner * plan->element;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->outer; o++)
        for (size_t i = 0; i < a->index_count; i++)
            memcpy(y + (o * a->index_count + i) * segment,
                   x + (o * step->length + a->index[i]) * segment, segment);
}

static void run_scatter(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const op_attributes *a = node->attributes;
    const size_t segment = step->inner * plan->element;
    const size_t length = node->shape.dim[a->axis];
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    memset(y, 0, step->outer * length * segment);
    for (size_t o = 0; o < step->outer; o++)
        for (size_t i = 0; i < a->index_count; i++)
            plan->batch->add(step->inner, y + (o * length + a->index[i]) * segment,
                             x + (o * a->index_count + i) * segment);
}

static void run_permute(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const plan_node *in = &plan->node[node->input[0]];
    const size_t lanes = plan->stride[node->extent];
    size_t stride[HS_MAX_RANK] = { 0 }, length[HS_MAX_RANK] = { 1, 1, 1, 1 }, unit = lanes;
    size_t source[HS_MAX_RANK] = { 0 };
    for (int i = in->shape.rank - 1; i >= 0; i--) {
        source[i] = unit;
        unit *= in->shape.dim[i];
    }
    /* Right-aligned to four dimensions; the last is walked by the kernel, or lane by lane. */
    const int shift = HS_MAX_RANK - node->shape.rank;
    for (int i = 0; i < node->shape.rank; i++) {
        length[i + shift] = node->shape.dim[i];
        stride[i + shift] = source[node->attributes->permutation[i]];
    }
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    const size_t e = plan->element;
    for (size_t i = 0; i < length[0]; i++)
        for (size_t j = 0; j < length[1]; j++)
            for (size_t k = 0; k < length[2]; k++) {
                const char *from = x + (i * stride[0] + j * stride[1] + k * stride[2]) * e;
                if (lanes == 1) {
                    plan->batch->copy(length[3], y, 1, from, stride[3]);
                    y += length[3] * e;
                    continue;
                }
                for (size_t l = 0; l < length[3]; l++, y += lanes * e)
                    memcpy(y, from + l * stride[3] * e, lanes * e);
            }
}

/* ---- Functions of the user's own ------------------------------------------------------------- */

static void run_call(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const hs_function *f = node->attributes->function;
    const size_t n = plan->node[node->input[0]].count, stride = plan->stride[node->extent];
    const batch_kernels *batch = plan->batch;
    const void *point = resolve(state, step->in[0]);
    const void *direction = node->inputs == 2 ? resolve(state, step->in[1]) : NULL;
    void *out = resolve(state, step->out);
    double *x = (double *)(void *)state->scratch, *v = x + n, *result = v + n;
    for (size_t lane = 0; lane < state->lanes[node->extent]; lane++) {
        for (size_t i = 0; i < n; i++) {
            x[i] = batch->get(point, i * stride + lane);
            v[i] = direction ? batch->get(direction, i * stride + lane) : 0;
        }
        if (node->op == OP_call)
            result[0] = f->value(x, n, f->context);
        else if (node->op == OP_call_grad)
            f->gradient(x, n, result, f->context);
        else
            f->hessian_vector(x, v, n, result, f->context);
        for (size_t i = 0; i < node->count; i++)
            batch->put(out, i * stride + lane, result[i]);
    }
}

/* ---- The list -------------------------------------------------------------------------------- */

bool hs__plan_begins_sum(const hs_plan *plan, int32_t id)
{
    const plan_node *node = &plan->node[id];
    if (node->sum < 0 || !node->sums_batch)
        return false;
    const bool first = !plan->sum[node->sum].begun;
    plan->sum[node->sum].begun = true;
    return first;
}

void hs__plan_need_scratch(hs_plan *plan, size_t bytes)
{
    if (plan->scratch_bytes < bytes)
        plan->scratch_bytes = bytes;
}

static bool make_step(hs_plan *plan, plan_step *step)
{
    const plan_node *node = &plan->node[step->node];
    step->what = hs__op_table[node->op].name;
    step->out = node->at;
    for (int i = 0; i < node->inputs && i < 3; i++)
        step->in[i] = plan->node[node->input[i]].at;
    if (node->product >= 0 || node->op == OP_matmul) {
        step->what = "matmul";
        hs__product_make(plan, step);
        return true;
    }
    if (is_elementwise(node) || node->op == OP_sum_to) {
        step->run = hs__program_run;
        step->program = hs__program_make(plan, step, 0);
        return step->program != NULL;
    }
    const plan_node *in = node->inputs ? &plan->node[node->input[0]] : node;
    switch (node->op) {
    case OP_input:
        step->run = run_load;
        step->in[0] = node->at_outside;
        return true;
    case OP_normal:
    case OP_uniform:
        step->run = run_random;
        return true;
    case OP_max_over:
    case OP_logsumexp:
        step->run = run_over_axis;
        set_axis(plan, step, &in->shape, node->attributes->axis, node->extent);
        return true;
    case OP_slice:
        step->run = run_slice;
        set_axis(plan, step, &in->shape, node->attributes->axis, node->extent);
        return true;
    case OP_pad:
        step->run = run_pad;
        set_axis(plan, step, &in->shape, node->attributes->axis, node->extent);
        return true;
    case OP_concat:
        step->run = run_concat;
        set_axis(plan, step, &node->shape, node->attributes->axis, node->extent);
        return true;
    case OP_gather:
        step->run = run_gather;
        set_axis(plan, step, &in->shape, node->attributes->axis, node->extent);
        return true;
    case OP_scatter:
        step->run = run_scatter;
        set_axis(plan, step, &in->shape, node->attributes->axis, node->extent);
        return true;
    case OP_permute:
        step->run = run_permute;
        return true;
    case OP_call:
    case OP_call_grad:
    case OP_call_hvp:
        step->run = run_call;
        hs__plan_need_scratch(plan, (3 * in->count + 1) * sizeof(double));
        return true;
    default:
        return hs__plan_fail(plan, HS_EINVAL, step->node, "%s has no kernel", step->what);
    }
}

static plan_step *append_step(hs_plan *plan, plan_stage stage, int32_t node)
{
    if (plan->steps[stage] == plan->step_capacity[stage]) {
        const int32_t capacity = plan->step_capacity[stage] ? 2 * plan->step_capacity[stage] : 64;
        plan_step *grown = hs_grow(plan->step[stage], (size_t)plan->steps[stage] * sizeof *grown,
                                   (size_t)capacity * sizeof *grown);
        if (!grown)
            return NULL;
        plan->step[stage] = grown;
        plan->step_capacity[stage] = capacity;
    }
    plan_step *step = &plan->step[stage][plan->steps[stage]++];
    memset(step, 0, sizeof *step);
    step->node = node;
    return step;
}

/* Copies an output of the batch from lanes to rows. */
static void run_store(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    char *rows = plan->output[step->m].value;
    rows += state->first[node->extent] * node->count * plan->element;
    plan->batch->to_rows(node->count, state->lanes[node->extent], resolve(state, step->in[0]),
                         plan->stride[node->extent], rows);
}

static bool make_node(hs_plan *plan, int32_t id)
{
    const plan_node *node = &plan->node[id];
    plan_step *step = append_step(plan, node->stage, id);
    if (!step)
        return hs__plan_no_memory(plan);
    step->makes_value = !node->sums_batch;
    step->first_in_sum = hs__plan_begins_sum(plan, id);
    return make_step(plan, step);
}

static bool make_stores(hs_plan *plan, int32_t id)
{
    for (size_t i = 0; i < plan->outputs && plan->node[id].extent != HS_SHARED; i++) {
        if (plan->output[i].node != id)
            continue;
        plan_step *step = append_step(plan, STAGE_SHARD, id);
        if (!step)
            return hs__plan_no_memory(plan);
        step->what = "store";
        step->run = run_store;
        step->in[0] = plan->node[id].at;
        step->m = i;
    }
    return true;
}

bool hs__plan_make_steps(hs_plan *plan)
{
    for (int32_t from = 0, end; from < plan->nodes; from = end) {
        /* Nodes with the same position are a sweep, or twins. */
        const int32_t position = plan->node[plan->order[from]].position;
        const int32_t before = plan->steps[STAGE_SHARD];
        const bool sweep = plan->node[plan->order[from]].in_sweep;
        for (end = from; end < plan->nodes; end++) {
            const plan_node *node = &plan->node[plan->order[end]];
            if (node->position != position)
                break;
            if (!is_unused(node) && node->making == BY_STEP && !make_node(plan, plan->order[end]))
                return false;
        }
        plan_step *const first = plan->step[STAGE_SHARD] + before;
        const int32_t made = plan->steps[STAGE_SHARD] - before;
        if (sweep && !hs__sweep_make(plan, first, made))
            return false;
        if (!sweep && made == 2)
            hs__product_pair(first);
        for (int32_t i = from; i < end; i++)
            if (!is_unused(&plan->node[plan->order[i]]) && !make_stores(plan, plan->order[i]))
                return false;
    }
    return true;
}
