/* Matrix products as steps: which kernel computes a product, and its operands. */
#include "plan_internal.h"

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
    const bool t = step->transpose[0];
    const size_t stride = state->plan->stride[step->extent];
    return (hs_product){
        .out = step->m,
        .in = step->k,
        .lanes = product_lanes(state, step->extent),
        .w = resolve(state, step->in[0]),
        .w_out = t ? 1 : step->k,
        .w_in = t ? step->m : 1,
        .x = resolve(state, step->in[1]),
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

static void run_twins(const plan_step *step, run_state *state)
{
    const hs_product twin = layer_of(step + 1, state);
    hs_product p = layer_of(step, state);
    p.twin = &twin;
    hs_product_run(state->plan->dtype, &p);
}

void hs__product_pair(plan_step *step)
{
    step->has_twin = true;
    step->run = run_twins;
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

void hs__layer_run_from(const plan_step *step, run_state *state, size_t first, size_t count)
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

void hs__layer_sum_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        void *out, bool begins, bool with_start)
{
    const hs_plan *plan = state->plan;
    hs_product p = layer_of(step, state);
    p.in = count;
    p.w = further(p.w, first * p.w_in, plan);
    p.x = from_feature(p.x, step->in[1], first, p.x_stride, plan);
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
    const bool t = step->transpose[0];
    const size_t stride = plan->stride[step->extent] * step->n;
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
    const bool t = step->transpose[1];
    const size_t stride = plan->stride[step->extent], row = stride * plan->element;
    const char *x = resolve(state, step->in[0]);
    const char *add = tail_value(step, state, 1, step->tail.add);
    const char *gate = tail_value(step, state, 2, step->tail.gate);
    char *y = resolve(state, step->out);
    for (size_t i = 0; i < step->m; i++) {
        const hs_product p = {
            .out = step->n,
            .in = step->k,
            .lanes = product_lanes(state, step->extent),
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
    const bool *t = step->transpose;
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
    hs_product_shared_run(state->plan->dtype, step->m, step->n, step->k,
                          resolve(state, step->in[0]), step->transpose[0],
                          resolve(state, step->in[1]), step->transpose[1],
                          resolve(state, step->out), adds(step, state));
}

/* The product summed over the batch: a weight gradient. */
static void run_product_sum(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const bool *t = step->transpose;
    const size_t stride = plan->stride[step->extent];
    const hs_product_sum p = {
        .out = step->m,
        .in = step->n,
        .lanes = state->lanes[step->extent],
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

bool hs__is_outer_product(const plan_step *step)
{
    return step->run == run_product_sum && step->k == 1;
}

void hs__product_make(hs_plan *plan, plan_step *step)
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
        step->first_in_left_sum = hs__plan_begins_sum(plan, step->tail.left_sum);
    }
    const hs_extent batch = widest(a->extent, b->extent);
    const bool flat = plan->stride[batch] == 1;
    plan_layer layer;
    step->extent = batch;
    step->transpose[0] = t[0];
    step->transpose[1] = t[1];
    step->flops = 2 * (double)step->m * (double)step->n * (double)step->k;
    if (batch == HS_SHARED) {
        step->run = run_shared_product;
    } else if (node->sums_batch) {
        step->run =
            flat && step->k > 1 && step->tail.left_sum < 0 ? run_shared_product : run_product_sum;
        /* The last shard may be shorter, and be computed in another way. */
        const size_t rows = batch == HS_ROW ? plan->rows_per_start : 1;
        const size_t short_starts = plan->starts - (plan->shards - 1) * plan->shard_starts;
        const size_t lanes[2] = { plan->shard_starts * rows, short_starts * rows };
        for (int i = 0; i < 2; i++)
            hs__plan_need_scratch(
                plan, hs_product_sum_scratch(plan->dtype, &(hs_product_sum){ .out = step->m,
                                                                             .in = step->n,
                                                                             .lanes = lanes[i],
                                                                             .terms = step->k }));
    } else if (hs__plan_is_layer(plan, id, &layer)) {
        step->run = run_layer;
        step->m = layer.out;
        step->n = 1;
        step->in[0] = plan->node[layer.matrix].at;
        step->in[1] = plan->node[layer.vector].at;
        step->transpose[0] = layer.transposed;
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
