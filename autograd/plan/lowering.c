/* Pass `steps`: the kernel calls that compute each stored node, in the order of the schedule. */
#include "passes_internal.h"

#include <hastings/tensor/random.h>

#include <string.h>

/* ---- Leaves --------------------------------------------------------------------------------- */

static void run_load(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const char *rows = resolve(state, step->in[0]);
    rows += state->first[node->extent] * node->count * plan->request->element;
    plan->request->batch->to_lanes(node->count, state->lanes[node->extent], rows,
                                   resolve(state, step->out), plan->layout->stride[node->extent]);
}

void hs__random_run_from(const plan_step *step, run_state *state, size_t first, size_t count,
                         size_t out_feature)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const hs_distribution d = node->op == OP_normal ? HS_NORMAL : HS_UNIFORM;
    const hs_address at = { state->run->seed, node->attributes->stream, state->run->step,
                            (uint32_t)first };
    const hs_extent extent = node->extent;
    char *out = resolve(state, step->out);
    out += first * out_feature * plan->request->element;
    uint64_t row = extent == HS_SHARED ? 0 : state->first[extent];
    if (extent == HS_ROW)
        row += state->run->first_row;
    else if (extent == HS_START)
        row += state->run->first_row / plan->request->rows_per_start;
    if (plan->layout->stride[extent] == 1)
        hs_random_rows(plan->request->dtype, d, at, (uint32_t)row, 1, count, out);
    else
        hs_random_lanes(plan->request->dtype, d, at, (uint32_t)row, state->lanes[extent], count,
                        out, plan->layout->stride[extent]);
}

static void run_random(const plan_step *step, run_state *state)
{
    hs__random_run_from(step, state, 0, node_at(state->plan, step->node)->count, 0);
}

/* ---- Along an axis, and moves ---------------------------------------------------------------- */

static void run_over_axis(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    const size_t segment = step->as.axis.inner * plan->request->element;
    for (size_t o = 0; o < step->as.axis.outer; o++) {
        if (node_at(plan, step->node)->op == OP_max_over)
            plan->request->batch->max_over(step->as.axis.inner, step->as.axis.length,
                                           step->as.axis.inner, y + o * segment,
                                           x + o * step->as.axis.length * segment);
        else
            plan->request->batch->logsumexp(step->as.axis.inner, step->as.axis.length,
                                            step->as.axis.inner, y + o * segment,
                                            x + o * step->as.axis.length * segment);
    }
}

/* slice and pad: a run of places of each [length][inner] block. */
static void run_slice(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const size_t segment = step->as.axis.inner * plan->request->element;
    const size_t length = node->shape.dim[node->attributes->axis];
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->as.axis.outer; o++)
        memcpy(y + o * length * segment,
               x + (o * step->as.axis.length + node->attributes->first) * segment,
               length * segment);
}

static void run_pad(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const op_attributes *a = node_at(plan, step->node)->attributes;
    const size_t segment = step->as.axis.inner * plan->request->element;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->as.axis.outer; o++) {
        memset(y, 0, a->first * segment);
        memcpy(y + a->first * segment, x, step->as.axis.length * segment);
        memset(y + (a->first + step->as.axis.length) * segment, 0, a->end * segment);
        x += step->as.axis.length * segment;
        y += (a->first + step->as.axis.length + a->end) * segment;
    }
}

static void run_concat(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const int axis = node->attributes->axis;
    const size_t segment = step->as.axis.inner * plan->request->element;
    char *y = resolve(state, step->out);
    size_t first = 0;
    for (int i = 0; i < node->inputs; i++) {
        const graph_node *in = node_at(plan, node->input[i]);
        const size_t length = in->shape.dim[axis];
        const char *x = resolve(state, place_of(plan, node->input[i]));
        for (size_t o = 0; o < step->as.axis.outer; o++)
            memcpy(y + (o * step->as.axis.length + first) * segment, x + o * length * segment,
                   length * segment);
        first += length;
    }
}

static void run_gather(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const op_attributes *a = node_at(plan, step->node)->attributes;
    const size_t segment = step->as.axis.inner * plan->request->element;
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    for (size_t o = 0; o < step->as.axis.outer; o++)
        for (size_t i = 0; i < a->index_count; i++)
            memcpy(y + (o * a->index_count + i) * segment,
                   x + (o * step->as.axis.length + a->index[i]) * segment, segment);
}

static void run_scatter(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const op_attributes *a = node->attributes;
    const size_t segment = step->as.axis.inner * plan->request->element;
    const size_t length = node->shape.dim[a->axis];
    const char *x = resolve(state, step->in[0]);
    char *y = resolve(state, step->out);
    memset(y, 0, step->as.axis.outer * length * segment);
    for (size_t o = 0; o < step->as.axis.outer; o++)
        for (size_t i = 0; i < a->index_count; i++)
            plan->request->batch->add(step->as.axis.inner, y + (o * length + a->index[i]) * segment,
                                      x + (o * a->index_count + i) * segment);
}

static void run_permute(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const graph_node *in = node_at(plan, node->input[0]);
    const size_t lanes = plan->layout->stride[node->extent];
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
    const size_t e = plan->request->element;
    for (size_t i = 0; i < length[0]; i++)
        for (size_t j = 0; j < length[1]; j++)
            for (size_t k = 0; k < length[2]; k++) {
                const char *from = x + (i * stride[0] + j * stride[1] + k * stride[2]) * e;
                if (lanes == 1) {
                    plan->request->batch->copy(length[3], y, 1, from, stride[3]);
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

/* Copies an output of the batch from lanes to rows. */
static void run_store(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    char *rows = plan->memory->output[step->as.output].value;
    rows += state->first[node->extent] * node->count * plan->request->element;
    plan->request->batch->to_rows(node->count, state->lanes[node->extent],
                                  resolve(state, step->in[0]), plan->layout->stride[node->extent],
                                  rows);
}

/* ---- The list -------------------------------------------------------------------------------- */

bool hs__code_begins_sum(const hs_plan *plan, plan_code *code, int32_t id)
{
    const int32_t sum = scheduled(plan, id)->sum;
    if (sum < 0 || !node_at(plan, id)->sums_batch)
        return false;
    const bool first = !code->begun[sum];
    code->begun[sum] = true;
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
} step_of[OP_COUNT] = {
    [OP_input] = { run_load, STEP_LOAD },
    [OP_normal] = { run_random, STEP_RANDOM },
    [OP_uniform] = { run_random, STEP_RANDOM },
    [OP_max_over] = { run_over_axis, STEP_AXIS },
    [OP_logsumexp] = { run_over_axis, STEP_AXIS },
    [OP_slice] = { run_slice, STEP_AXIS },
    [OP_pad] = { run_pad, STEP_AXIS },
    [OP_concat] = { run_concat, STEP_AXIS },
    [OP_gather] = { run_gather, STEP_AXIS },
    [OP_scatter] = { run_scatter, STEP_AXIS },
    [OP_permute] = { run_permute, STEP_PERMUTE },
    [OP_call] = { run_call, STEP_CALL },
    [OP_call_grad] = { run_call, STEP_CALL },
    [OP_call_hvp] = { run_call, STEP_CALL },
};

/* [outer][length][inner], inner in elements with lanes and padding; of the first operand, but for concat. */
static axis_step axis_of(const hs_plan *plan, const graph_node *node)
{
    const graph_node *of = node->op == OP_concat ? node : node_at(plan, node->input[0]);
    const int axis = node->attributes->axis;
    axis_step s = { 1, of->shape.dim[axis], plan->layout->stride[node->extent] };
    for (int i = 0; i < axis; i++)
        s.outer *= of->shape.dim[i];
    for (int i = axis + 1; i < of->shape.rank; i++)
        s.inner *= of->shape.dim[i];
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

static plan_step *append_step(plan_code *code, plan_stage stage, int32_t node)
{
    if (code->steps[stage] == code->capacity[stage]) {
        if (code->capacity[stage] > INT32_MAX / 2)
            return NULL;
        const int32_t capacity = code->capacity[stage] ? 2 * code->capacity[stage] : 64;
        plan_step *grown = hs_grow(code->step[stage], (size_t)code->steps[stage] * sizeof *grown,
                                   (size_t)capacity * sizeof *grown);
        if (!grown)
            return NULL;
        code->step[stage] = grown;
        code->capacity[stage] = capacity;
    }
    plan_step *step = &code->step[stage][code->steps[stage]++];
    memset(step, 0, sizeof *step);
    step->node = node;
    return step;
}

static bool make_step(const hs_plan *plan, plan_code *code, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    plan_step *step = append_step(code, node->stage, id);
    if (!step)
        return hs__plan_no_memory(plan);
    step->makes_value = !node->sums_batch;
    step->begins_sum = hs__code_begins_sum(plan, code, id);
    return fill_step(plan, code, step);
}

static bool make_stores(const hs_plan *plan, plan_code *code, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    for (size_t i = 0; node->output && node->extent != HS_SHARED && i < plan->request->outputs;
         i++) {
        if (plan->graph->output[i] != id)
            continue;
        plan_step *step = append_step(code, STAGE_SHARD, id);
        if (!step)
            return hs__plan_no_memory(plan);
        step->kind = STEP_STORE;
        step->run = run_store;
        step->in[0] = place_of(plan, id);
        step->as.output = i;
    }
    return true;
}

/* Makes the steps of the nodes order[from .. end], which have one position: a loop, a pair, or one node. */
static bool make_position(const hs_plan *plan, plan_code *code, int32_t from, int32_t end)
{
    const int32_t *order = plan->schedule->order;
    const int32_t before = code->steps[STAGE_SHARD];
    for (int32_t i = from; i < end; i++)
        if (!is_unused(node_at(plan, order[i])) && scheduled(plan, order[i])->making == BY_STEP &&
            !make_step(plan, code, order[i]))
            return false;
    plan_step *const first = code->step[STAGE_SHARD] + before;
    const int32_t made = code->steps[STAGE_SHARD] - before;
    const bool loop = scheduled(plan, order[from])->in_loop;
    if (loop && !hs__loop_make(plan, code, first, made))
        return false;
    if (!loop && made == 2)
        hs__product_pair(first);
    for (int32_t i = from; i < end; i++)
        if (!is_unused(node_at(plan, order[i])) && !make_stores(plan, code, order[i]))
            return false;
    return true;
}

bool hs__code_make_steps(const hs_plan *plan, plan_code *code)
{
    const size_t sums = (size_t)plan->schedule->sums + 1;
    const int32_t *order = plan->schedule->order, nodes = plan->graph->nodes;
    code->begun = hs_arena_alloc(plan->arena, sums * sizeof *code->begun);
    code->factors = hs_arena_alloc(plan->arena, sums * sizeof *code->factors);
    if (!code->begun || !code->factors)
        return hs__plan_no_memory(plan);
    memset(code->begun, 0, sums * sizeof *code->begun);
    for (size_t i = 0; i < sums; i++)
        code->factors[i] = NULL;
    for (int32_t from = 0, end; from < nodes; from = end) {
        const int32_t position = scheduled(plan, order[from])->position;
        for (end = from + 1; end < nodes && scheduled(plan, order[end])->position == position;)
            end++;
        if (!make_position(plan, code, from, end))
            return false;
    }
    return true;
}
