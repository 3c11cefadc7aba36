/* Fifth pass: the kernel calls that compute each stored node, in the order of the third. */
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

void random_run_from(const plan_step *step, run_state *state, size_t first, size_t count)
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
    random_run_from(step, state, 0, state->plan->node[step->node].count);
}

/* ---- Products ------------------------------------------------------------------------------- */

static const void *tail_value(const plan_step *step, run_state *state, int which, int32_t node)
{
    return node >= 0 ? resolve(state, step->tail_in[which]) : NULL;
}

/* Lanes for products: the true ones, except that a last shard of one lane in padded storage counts
 * as two, since one lane means to products that there is no padding. */
static size_t product_lanes(const run_state *state, hs_extent extent)
{
    const size_t lanes = state->lanes[extent];
    return lanes == 1 && state->plan->stride[extent] > 1 ? 2 : lanes;
}

/* Shared matrix times a vector of the batch. */
static hs_product layer_of(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *product = &plan->node[plan->node[step->node].product];
    const hs_extent extent = product->extent;
    const bool left =
        plan->node[product->input[0]].extent == HS_SHARED && product->shape.dim[1] == 1;
    const bool t = product->attributes->transpose[left ? 0 : 1];
    const size_t out = left ? step->m : step->n, in = step->k;
    /* w(o, k) is A(o, k), or B(k, o) for a row vector times B. */
    const bool by_out = left ? !t : t;
    const size_t stride = plan->stride[extent];
    return (hs_product){
        .out = out,
        .in = in,
        .lanes = product_lanes(state, extent),
        .w = resolve(state, step->in[left ? 0 : 1]),
        .w_out = by_out ? in : 1,
        .w_in = by_out ? 1 : out,
        .x = resolve(state, step->in[left ? 1 : 0]),
        .x_stride = stride,
        .y = resolve(state, step->out),
        .y_stride = stride,
        .bias = tail_value(step, state, 0, step->tail.bias),
        .add = tail_value(step, state, 1, step->tail.add),
        .add_stride = stride,
        .gate = tail_value(step, state, 2, step->tail.gate),
        .gate_stride = stride,
        .act = step->tail.act,
        .threads = state->threads,
    };
}

static void run_layer(const plan_step *step, run_state *state)
{
    const hs_product p = layer_of(step, state);
    hs_product_run(state->plan->dtype, &p);
}

static const void *further(const void *value, size_t numbers, const hs_plan *plan)
{
    return value ? (const char *)value + numbers * plan->element : NULL;
}

/* Where the features of a value of a sweep begin: there may be no more of it than the present chunk. */
static const void *from_feature(const void *value, place at, size_t first, size_t stride,
                                const hs_plan *plan)
{
    return at.kind == IN_CHUNK ? value : further(value, first * stride, plan);
}

void layer_run_from(const plan_step *step, run_state *state, size_t first, size_t count)
{
    const hs_plan *plan = state->plan;
    hs_product p = layer_of(step, state);
    p.out = count;
    p.w = further(p.w, first * p.w_out, plan);
    p.y = (char *)p.y + first * step->out_feature * plan->element;
    p.bias = further(p.bias, first, plan);
    p.add = from_feature(p.add, step->tail_in[1], first, p.add_stride, plan);
    p.gate = from_feature(p.gate, step->tail_in[2], first, p.gate_stride, plan);
    hs_product_run(plan->dtype, &p);
}

void layer_sum_from(const plan_step *step, run_state *state, size_t first, size_t count, void *out,
                    bool begins, bool with_start)
{
    const hs_plan *plan = state->plan;
    hs_product p = layer_of(step, state);
    const bool left = p.w == resolve(state, step->in[0]);
    p.in = count;
    p.w = further(p.w, first * p.w_in, plan);
    p.x = from_feature(p.x, step->in[left ? 1 : 0], first, p.x_stride, plan);
    p.y = out;
    if (!begins || !with_start)
        p.bias = NULL;
    if (!begins)
        p.add = out;
    else if (!with_start)
        p.add = NULL;
    hs_product_run(plan->dtype, &p);
}

/* Shared matrix times a matrix of the batch, whose columns and lanes are lanes alike. */
static void run_wide_layer(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const bool t = node->attributes->transpose[0];
    const size_t stride = plan->stride[node->extent] * step->n;
    const hs_product p = {
        .out = step->m,
        .in = step->k,
        .lanes = stride,
        .w = resolve(state, step->in[0]),
        .w_out = t ? 1 : step->k,
        .w_in = t ? step->m : 1,
        .x = resolve(state, step->in[1]),
        .x_stride = stride,
        .y = resolve(state, step->out),
        .y_stride = stride,
        .threads = state->threads,
    };
    hs_product_run(plan->dtype, &p);
}

/* Matrix of the batch times a shared one: a product for each of its rows. */
static void run_row_layers(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[plan->node[step->node].product];
    const bool t = node->attributes->transpose[1];
    const size_t stride = plan->stride[node->extent], row = stride * plan->element;
    const char *x = resolve(state, step->in[0]);
    const char *add = tail_value(step, state, 1, step->tail.add);
    const char *gate = tail_value(step, state, 2, step->tail.gate);
    char *y = resolve(state, step->out);
    for (size_t i = 0; i < step->m; i++) {
        const hs_product p = {
            .out = step->n,
            .in = step->k,
            .lanes = product_lanes(state, node->extent),
            .w = resolve(state, step->in[1]),
            .w_out = t ? step->k : 1,
            .w_in = t ? 1 : step->n,
            .x = x + i * step->k * row,
            .x_stride = stride,
            .y = y + i * step->n * row,
            .y_stride = stride,
            .bias = tail_value(step, state, 0, step->tail.bias),
            .add = add ? add + i * step->n * row : NULL,
            .add_stride = stride,
            .gate = gate ? gate + i * step->n * row : NULL,
            .gate_stride = stride,
            .act = step->tail.act,
            .threads = state->threads,
        };
        hs_product_run(plan->dtype, &p);
    }
}

static void run_lane_product(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const bool *t = node->attributes->transpose;
    const bool a_shared = plan->node[node->input[0]].extent == HS_SHARED;
    const bool b_shared = plan->node[node->input[1]].extent == HS_SHARED;
    const size_t stride = plan->stride[node->extent];
    const hs_product_lane p = {
        .out = step->m,
        .in = step->k,
        .n = step->n,
        .lanes = product_lanes(state, node->extent),
        .a = resolve(state, step->in[0]),
        .a_out = t[0] ? 1 : step->k,
        .a_in = t[0] ? step->m : 1,
        .a_stride = a_shared ? 1 : stride,
        .a_shared = a_shared,
        .b = resolve(state, step->in[1]),
        .b_in = t[1] ? 1 : step->n,
        .b_n = t[1] ? step->k : 1,
        .b_stride = b_shared ? 1 : stride,
        .b_shared = b_shared,
        .y = resolve(state, step->out),
        .y_stride = stride,
    };
    hs_product_lane_run(plan->dtype, &p);
}

static void run_shared_product(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    hs_product_shared_run(plan->dtype, step->m, step->n, step->k, resolve(state, step->in[0]),
                          node->attributes->transpose[0], resolve(state, step->in[1]),
                          node->attributes->transpose[1], resolve(state, step->out),
                          adds(step, state));
}

/* The product summed over the batch: a weight gradient. */
static void run_product_sum(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_node *node = &plan->node[step->node];
    const bool *t = node->attributes->transpose;
    const hs_extent extent = plan->node[node->input[0]].extent;
    const size_t stride = plan->stride[extent];
    const hs_product_sum p = {
        .out = step->m,
        .in = step->n,
        .lanes = state->lanes[extent],
        .dy = resolve(state, step->in[0]),
        .dy_stride = (t[0] ? 1 : step->k) * stride,
        .x = resolve(state, step->in[1]),
        .x_stride = (t[1] ? step->k : 1) * stride,
        .dw = resolve(state, step->out),
        .accumulate = !(step->first_in_sum && state->first_shard),
        .db = step->tail.left_sum >= 0 ? resolve(state, step->left_sum) : NULL,
        .accumulate_db = !(step->first_in_left_sum && state->first_shard),
        .scratch = state->scratch,
        .threads = state->threads,
        .terms = step->k,
        .dy_term = (t[0] ? step->m : 1) * stride,
        .x_term = (t[1] ? 1 : step->n) * stride,
    };
    hs_product_sum_run(plan->dtype, &p);
}

bool is_outer_product(const plan_step *step)
{
    return step->run == run_product_sum && step->k == 1;
}

/* Whether the next step for a node begins a sum over the batch. */
static bool begins_sum(const hs_plan *plan, int32_t id)
{
    const plan_node *node = &plan->node[id];
    if (node->sum < 0 || !node->sums_batch)
        return false;
    const bool first = !plan->sum[node->sum].begun;
    plan->sum[node->sum].begun = true;
    return first;
}

static void need_scratch(hs_plan *plan, size_t bytes)
{
    if (plan->scratch_bytes < bytes)
        plan->scratch_bytes = bytes;
}

static void make_product(hs_plan *plan, plan_step *step)
{
    const plan_node *last = &plan->node[step->node];
    const int32_t id = last->product >= 0 ? last->product : step->node;
    plan->node[step->node].product = id;
    const plan_node *node = &plan->node[id];
    const plan_node *a = &plan->node[node->input[0]], *b = &plan->node[node->input[1]];
    const bool *t = node->attributes->transpose;
    step->m = node->shape.dim[0];
    step->n = node->shape.dim[1];
    step->k = a->shape.dim[t[0] ? 0 : 1];
    step->in[0] = a->at;
    step->in[1] = b->at;
    step->tail = plan->tail[id];
    const int32_t tail[3] = { step->tail.bias, step->tail.add, step->tail.gate };
    for (int i = 0; i < 3; i++)
        if (tail[i] >= 0)
            step->tail_in[i] = plan->node[tail[i]].at;
    if (step->tail.left_sum >= 0) {
        step->left_sum = plan->node[step->tail.left_sum].at;
        step->first_in_left_sum = begins_sum(plan, step->tail.left_sum);
    }
    const hs_extent batch = widest(a->extent, b->extent);
    const bool flat = plan->stride[batch] == 1;
    step->flops = 2 * (double)step->m * (double)step->n * (double)step->k;
    if (batch == HS_SHARED) {
        step->run = run_shared_product;
    } else if (node->sums_batch) {
        step->run =
            flat && step->k > 1 && step->tail.left_sum < 0 ? run_shared_product : run_product_sum;
        /* The last shard may be shorter, and be computed in another way. */
        const size_t rows = batch == HS_ROW ? plan->rows_per_start : 1;
        const size_t short_starts = plan->starts - (plan->shards - 1) * plan->shard_starts;
        need_scratch(
            plan, hs_product_sum_scratch(plan->dtype, step->m, step->n, plan->shard_starts * rows));
        need_scratch(plan,
                     hs_product_sum_scratch(plan->dtype, step->m, step->n, short_starts * rows));
    } else if ((a->extent == HS_SHARED && step->n == 1) ||
               (b->extent == HS_SHARED && step->m == 1)) {
        step->run = run_layer;
    } else if (flat && step->node == id) {
        step->run = run_shared_product;
    } else if (a->extent == HS_SHARED && !t[1]) {
        step->run = run_wide_layer;
    } else if (b->extent == HS_SHARED && !t[0]) {
        step->run = run_row_layers;
    } else {
        step->run = run_lane_product;
    }
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

static bool make_step(hs_plan *plan, plan_step *step)
{
    const plan_node *node = &plan->node[step->node];
    step->what = op_table[node->op].name;
    step->out = node->at;
    for (int i = 0; i < node->inputs && i < 3; i++)
        step->in[i] = plan->node[node->input[i]].at;
    if (node->product >= 0 || node->op == OP_matmul) {
        step->what = "matmul";
        make_product(plan, step);
        return true;
    }
    if (is_elementwise(node) || node->op == OP_sum_to) {
        step->run = program_run;
        step->program = program_make(plan, step, 0);
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
        need_scratch(plan, (3 * in->count + 1) * sizeof(double));
        return true;
    default:
        return plan_fail(plan, HS_EINVAL, step->node, "%s has no kernel", step->what);
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
        return plan_no_memory(plan);
    step->makes_value = !node->sums_batch;
    step->first_in_sum = begins_sum(plan, id);
    return make_step(plan, step);
}

static bool make_stores(hs_plan *plan, int32_t id)
{
    for (size_t i = 0; i < plan->outputs && plan->node[id].extent != HS_SHARED; i++) {
        if (plan->output[i].node != id)
            continue;
        plan_step *step = append_step(plan, STAGE_SHARD, id);
        if (!step)
            return plan_no_memory(plan);
        step->what = "store";
        step->run = run_store;
        step->in[0] = plan->node[id].at;
        step->m = i;
    }
    return true;
}

bool plan_make_steps(hs_plan *plan)
{
    for (int32_t from = 0, end; from < plan->nodes; from = end) {
        /* Nodes with the same position are a sweep. */
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
        if (sweep &&
            !sweep_make(plan, plan->step[STAGE_SHARD] + before, plan->steps[STAGE_SHARD] - before))
            return false;
        for (int32_t i = from; i < end; i++)
            if (!is_unused(&plan->node[plan->order[i]]) && !make_stores(plan, plan->order[i]))
                return false;
    }
    return true;
}
