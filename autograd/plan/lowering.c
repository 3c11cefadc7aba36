/* Pass `steps`: the kernel calls that compute each stored node, in the order of the schedule. */
#include "passes_internal.h"

#include <hastings/tensor/random.h>

#include <string.h>

/* ---- Leaves and outputs ---------------------------------------------------------------------- */

/* Where the rows of a shard begin in an array of the user's that has a node's value for each row. */
static char *rows_of(const graph_node *node, const run_state *state, void *array)
{
    return (char *)array + state->first[node->extent] * node->count * state->plan->request->element;
}

static void run_load(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    plan->request->batch->transpose(node->count, state->lanes[node->extent],
                                    resolve(state, step->out), plan->layout->stride[node->extent],
                                    rows_of(node, state, resolve(state, step->in[0])), node->count);
}

static void run_store(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    plan->request->batch->transpose(
        state->lanes[node->extent], node->count,
        rows_of(node, state, plan->memory->output[step->as.output].value), node->count,
        resolve(state, step->in[0]), plan->layout->stride[node->extent]);
}

void hs__random_run_from(const plan_step *step, run_state *state, size_t first, size_t count,
                         size_t out_feature)
{
    const hs_plan *plan = state->plan;
    const plan_request *request = plan->request;
    const graph_node *node = node_at(plan, step->node);
    const hs_distribution d = node->op == OP_normal ? HS_NORMAL : HS_UNIFORM;
    const hs_address at = { state->run->seed, node->attributes->stream, state->run->step,
                            (uint32_t)first };
    const hs_extent extent = node->extent;
    const size_t stride = plan->layout->stride[extent];
    char *out = resolve(state, step->out);
    out += first * out_feature * request->element;
    uint64_t row = extent == HS_SHARED ? 0 : state->first[extent];
    if (extent == HS_ROW)
        row += state->run->first_row;
    else if (extent == HS_START)
        row += state->run->first_row / request->rows_per_start;
    if (stride == 1)
        hs_random_rows(request->dtype, d, at, (uint32_t)row, 1, count, out);
    else
        hs_random_lanes(request->dtype, d, at, (uint32_t)row, state->lanes[extent], count, out,
                        stride);
}

static void run_random(const plan_step *step, run_state *state)
{
    hs__random_run_from(step, state, 0, node_at(state->plan, step->node)->count, 0);
}

/* ---- Along an axis, and moves ---------------------------------------------------------------- */

static void max_over(const axis_step *s, char *y, const char *x)
{
    s->batch->max_over(s->inner, s->length, s->inner, y, x);
}

static void logsumexp(const axis_step *s, char *y, const char *x)
{
    s->batch->logsumexp(s->inner, s->length, s->inner, y, x);
}

static void slice(const axis_step *s, char *y, const char *x)
{
    memcpy(y, x + s->attributes->first * s->bytes, s->made * s->bytes);
}

static void pad(const axis_step *s, char *y, const char *x)
{
    const size_t before = s->attributes->first * s->bytes, bytes = s->length * s->bytes;
    memset(y, 0, before);
    memcpy(y + before, x, bytes);
    memset(y + before + bytes, 0, s->attributes->end * s->bytes);
}

static void gather(const axis_step *s, char *y, const char *x)
{
    for (size_t i = 0; i < s->made; i++)
        memcpy(y + i * s->bytes, x + s->attributes->index[i] * s->bytes, s->bytes);
}

static void scatter(const axis_step *s, char *y, const char *x)
{
    memset(y, 0, s->made * s->bytes);
    for (size_t i = 0; i < s->length; i++)
        s->batch->add(s->inner, y + s->attributes->index[i] * s->bytes, x + i * s->bytes);
}

static void run_axis(const plan_step *step, run_state *state)
{
    const axis_step *s = &step->as.axis;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < s->outer; o++)
        s->move(s, y + o * s->made * s->bytes, x + o * s->length * s->bytes);
}

static void run_concat(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const axis_step *s = &step->as.axis;
    const graph_node *node = node_at(plan, step->node);
    char *y = resolve(state, step->out);
    for (int i = 0; i < node->inputs; i++) {
        const graph_node *in = node_at(plan, node->input[i]);
        const size_t bytes = in->shape.dim[node->attributes->axis] * s->bytes;
        const char *x = resolve(state, place_of(plan, node->input[i]));
        for (size_t o = 0; o < s->outer; o++)
            memcpy(y + o * s->made * s->bytes, x + o * bytes, bytes);
        y += bytes;
    }
}

static void run_permute(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const graph_node *in = node_at(plan, node->input[0]);
    const size_t lanes = plan->layout->stride[node->extent], e = plan->request->element;
    size_t stride[HS_MAX_RANK] = { 0 }, length[HS_MAX_RANK] = { 1, 1, 1, 1 }, unit = lanes;
    size_t source[HS_MAX_RANK] = { 0 };
    for (int i = in->shape.rank - 1; i >= 0; i--) {
        source[i] = unit;
        unit *= in->shape.dim[i];
    }
    /* Right-aligned to four dimensions; the last is walked by a kernel, or lane by lane. */
    const int shift = HS_MAX_RANK - node->shape.rank;
    for (int i = 0; i < node->shape.rank; i++) {
        length[i + shift] = node->shape.dim[i];
        stride[i + shift] = source[node->attributes->permutation[i]];
    }
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    const size_t row = length[3] * lanes * e;
    for (size_t i = 0; i < length[0]; i++)
        for (size_t j = 0; j < length[1]; j++)
            for (size_t k = 0; k < length[2]; k++, y += row) {
                const char *from = x + (i * stride[0] + j * stride[1] + k * stride[2]) * e;
                if (stride[3] == lanes)
                    memcpy(y, from, row);
                else if (lanes == 1)
                    plan->request->batch->transpose(1, length[3], y, 0, from, stride[3]);
                else
                    for (size_t l = 0; l < length[3]; l++)
                        memcpy(y + l * lanes * e, from + l * stride[3] * e, lanes * e);
            }
}

/* ---- Functions of the user's own ------------------------------------------------------------- */

static void run_call(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const hs_function *f = node->attributes->function;
    const size_t n = node_at(plan, node->input[0])->count,
                 stride = plan->layout->stride[node->extent];
    const batch_kernels *batch = plan->request->batch;
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

bool hs__code_begins_sum(const hs_plan *plan, plan_code *code, int32_t id)
{
    const int32_t sum = scheduled(plan, id)->sum;
    if (sum < 0 || !node_at(plan, id)->sums_batch)
        return false;
    const bool first = !code->sum[sum].begun;
    code->sum[sum].begun = true;
    return first;
}

void hs__code_need_scratch(plan_code *code, size_t bytes)
{
    if (code->scratch_bytes < bytes)
        code->scratch_bytes = bytes;
}

/* The kinds of step that ops have which are neither elementwise, nor sums, nor products. */
static const struct {
    void (*run)(const plan_step *step, run_state *state);
    step_kind kind;
    void (*move)(const axis_step *s, char *made, const char *from);
} step_of[OP_COUNT] = {
    [OP_input] = { run_load, STEP_LOAD },
    [OP_normal] = { run_random, STEP_RANDOM },
    [OP_uniform] = { run_random, STEP_RANDOM },
    [OP_max_over] = { run_axis, STEP_AXIS, max_over },
    [OP_logsumexp] = { run_axis, STEP_AXIS, logsumexp },
    [OP_slice] = { run_axis, STEP_AXIS, slice },
    [OP_pad] = { run_axis, STEP_AXIS, pad },
    [OP_concat] = { run_concat, STEP_AXIS },
    [OP_gather] = { run_axis, STEP_AXIS, gather },
    [OP_scatter] = { run_axis, STEP_AXIS, scatter },
    [OP_permute] = { run_permute, STEP_PERMUTE },
    [OP_call] = { run_call, STEP_CALL },
    [OP_call_grad] = { run_call, STEP_CALL },
    [OP_call_hvp] = { run_call, STEP_CALL },
};

static axis_step axis_of(const hs_plan *plan, const graph_node *node)
{
    const int axis = node->attributes->axis;
    const hs_shape *in = &node_at(plan, node->input[0])->shape;
    axis_step s = { .outer = 1,
                    .length = in->dim[axis],
                    .made = node->shape.dim[axis],
                    .inner = plan->layout->stride[node->extent],
                    .attributes = node->attributes,
                    .batch = plan->request->batch,
                    .move = step_of[node->op].move };
    for (int i = 0; i < axis; i++)
        s.outer *= in->dim[i];
    for (int i = axis + 1; i < in->rank; i++)
        s.inner *= in->dim[i];
    s.bytes = s.inner * plan->request->element;
    return s;
}

static bool fill_step(const hs_plan *plan, plan_code *code, plan_step *step)
{
    const graph_node *node = node_at(plan, step->node);
    step->out = place_of(plan, step->node);
    for (int i = 0; i < node->inputs && i < 3; i++)
        step->in[i] = place_of(plan, node->input[i]);
    if (scheduled(plan, step->node)->product >= 0 || node->op == OP_matmul) {
        hs__product_make(plan, code, step);
        return true;
    }
    if (is_elementwise(node) || node->op == OP_sum_to) {
        step->kind = STEP_PROGRAM;
        step->run = hs__program_run;
        step->as.program = hs__program_make(plan, code, step->node, 0);
        return step->as.program != NULL;
    }
    step->run = step_of[node->op].run;
    step->kind = step_of[node->op].kind;
    if (!step->run)
        return hs__plan_fail(plan, HS_EINVAL, step->node, "%s has no kernel",
                             hs__op_table[node->op].name);
    if (step->kind == STEP_LOAD)
        step->in[0] = outside_place(node);
    else if (step->kind == STEP_AXIS)
        step->as.axis = axis_of(plan, node);
    else if (step->kind == STEP_CALL)
        hs__code_need_scratch(code,
                              (3 * node_at(plan, node->input[0])->count + 1) * sizeof(double));
    return true;
}

/* A new step of a stage, for which there is room. */
static plan_step *append_step(plan_code *code, plan_stage stage, int32_t node)
{
    plan_step *step = &code->step[stage][code->steps[stage]++];
    step->node = node;
    return step;
}

static bool has_step(const hs_plan *plan, int32_t id)
{
    return !is_unused(node_at(plan, id)) && scheduled(plan, id)->making == BY_STEP;
}

static bool make_step(const hs_plan *plan, plan_code *code, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    plan_step *step = append_step(code, node->stage, id);
    step->makes_value = !node->sums_batch;
    step->begins_sum = hs__code_begins_sum(plan, code, id);
    return fill_step(plan, code, step);
}

/* Makes the steps that copy an output of the batch from lanes to rows. */
static void make_stores(const hs_plan *plan, plan_code *code, int32_t id)
{
    for (size_t i = 0; node_at(plan, id)->output && i < plan->request->outputs; i++) {
        if (plan->graph->output[i] != id || node_at(plan, id)->extent == HS_SHARED)
            continue;
        plan_step *step = append_step(code, STAGE_SHARD, id);
        step->kind = STEP_STORE;
        step->run = run_store;
        step->in[0] = place_of(plan, id);
        step->as.output = i;
    }
}

/* Makes the steps of the nodes order[from .. end], which have one position: a loop, a pair, or one node. */
static bool make_position(const hs_plan *plan, plan_code *code, int32_t from, int32_t end)
{
    const int32_t *order = plan->schedule->order;
    const int32_t before = code->steps[STAGE_SHARD];
    for (int32_t i = from; i < end; i++)
        if (has_step(plan, order[i]) && !make_step(plan, code, order[i]))
            return false;
    plan_step *const first = code->step[STAGE_SHARD] + before;
    const int32_t made = code->steps[STAGE_SHARD] - before;
    const bool loop = scheduled(plan, order[from])->in_loop;
    if (loop && !hs__loop_make(plan, code, first, made))
        return false;
    if (!loop && made == 2)
        hs__product_pair(first);
    for (int32_t i = from; i < end; i++)
        make_stores(plan, code, order[i]);
    return true;
}

bool hs__code_make_steps(const hs_plan *plan, plan_code *code)
{
    const int32_t *order = plan->schedule->order, nodes = plan->graph->nodes;
    size_t room[STAGE_COUNT] = { [STAGE_SHARD] = plan->request->outputs };
    for (int32_t id = 0; id < nodes; id++)
        room[node_at(plan, id)->stage] += has_step(plan, id);
    for (int stage = 0; stage < STAGE_COUNT; stage++)
        if (!(code->step[stage] = hs__plan_alloc(plan, room[stage], sizeof(plan_step))))
            return false;
    code->sum = hs__plan_alloc(plan, (size_t)plan->schedule->sums, sizeof *code->sum);
    if (!code->sum)
        return false;
    for (int32_t from = 0, end; from < nodes; from = end) {
        const int32_t position = scheduled(plan, order[from])->position;
        for (end = from + 1; end < nodes && scheduled(plan, order[end])->position == position;)
            end++;
        if (!make_position(plan, code, from, end))
            return false;
    }
    return true;
}
