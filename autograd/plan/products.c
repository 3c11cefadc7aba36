/* Matrix products as steps: which kernel computes a product, and its operands. */
#include "plan_internal.h"

/* Lanes for products: the true ones, except that a last shard of one lane in padded storage counts
 * as two, since one lane means to products that there is no padding. */
static size_t product_lanes(const run_state *state, hs_extent extent)
{
    const size_t lanes = state->lanes[extent];
    return lanes == 1 && state->plan->layout->stride[extent] > 1 ? 2 : lanes;
}

/* Shared matrix, which is operand `matrix`, times a vector of the batch. As the second operand it multiplies a row. */
static hs_product layer_of(const plan_step *step, run_state *state, int matrix)
{
    const product_step *s = &step->as.product;
    const bool by_input = matrix ? !s->transpose[1] : s->transpose[0];
    const size_t out = matrix ? s->n : s->m, stride = state->plan->layout->stride[s->extent];
    return (hs_product){
        .out = out,
        .in = s->k,
        .lanes = product_lanes(state, s->extent),
        .w = resolve(state, step->in[matrix]),
        .w_out = by_input ? 1 : s->k,
        .w_in = by_input ? out : 1,
        .x = resolve(state, step->in[!matrix]),
        .x_stride = stride,
        .y = resolve(state, step->out),
        .y_stride = stride,
        .bias = s->tail.bias >= 0 ? resolve(state, s->tail_in[0]) : NULL,
        .add = s->tail.add >= 0 ? resolve(state, s->tail_in[1]) : NULL,
        .add_stride = stride,
        .gate = s->tail.gate >= 0 ? resolve(state, s->tail_in[2]) : NULL,
        .gate_stride = stride,
        .act = s->tail.act,
        .threads = state->threads,
    };
}

static void run_layer(const plan_step *step, run_state *state)
{
    const hs_product p = layer_of(step, state, 0);
    hs_product_run(state->plan->request->dtype, &p);
}

static void run_pair(const plan_step *step, run_state *state)
{
    const hs_product partner = layer_of(step + 1, state, 0);
    hs_product p = layer_of(step, state, 0);
    p.twin = &partner;
    hs_product_run(state->plan->request->dtype, &p);
}

void hs__product_pair(plan_step *step)
{
    step->paired = true;
    step->run = run_pair;
}

static void *further(const void *value, size_t numbers, const hs_plan *plan)
{
    return value ? (char *)(uintptr_t)value + numbers * plan->request->element : NULL;
}

/* Where the features of a value of a loop begin: there may be no more of it than the present chunk. */
static const void *from_feature(const void *value, place at, size_t first, size_t stride,
                                const hs_plan *plan)
{
    return at.kind == IN_CHUNK ? value : further(value, first * stride, plan);
}

void hs__layer_run_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        size_t out_feature)
{
    const hs_plan *plan = state->plan;
    const place *tail_in = step->as.product.tail_in;
    hs_product p = layer_of(step, state, 0);
    p.out = count;
    p.w = further(p.w, first * p.w_out, plan);
    p.y = further(p.y, first * out_feature, plan);
    p.bias = further(p.bias, first, plan);
    p.add = from_feature(p.add, tail_in[1], first, p.add_stride, plan);
    p.gate = from_feature(p.gate, tail_in[2], first, p.gate_stride, plan);
    hs_product_run(plan->request->dtype, &p);
}

void hs__layer_sum_from(const plan_step *step, run_state *state, size_t first, size_t count,
                        void *out, bool begins, bool with_start)
{
    const hs_plan *plan = state->plan;
    hs_product p = layer_of(step, state, 0);
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
    hs_product_run(plan->request->dtype, &p);
}

/* Shared matrix times a matrix of the batch, whose columns and lanes are lanes alike. */
static void run_wide_layer(const plan_step *step, run_state *state)
{
    hs_product p = layer_of(step, state, 0);
    p.lanes = p.x_stride = p.y_stride = p.y_stride * step->as.product.n;
    hs_product_run(state->plan->request->dtype, &p);
}

/* Matrix of the batch times a shared one: a product for each of its rows. */
static void run_row_layers(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    hs_product p = layer_of(step, state, 1);
    const size_t row_in = p.in * p.x_stride, row_out = p.out * p.y_stride;
    for (size_t i = 0; i < step->as.product.m; i++) {
        hs_product_run(plan->request->dtype, &p);
        p.x = further(p.x, row_in, plan);
        p.y = further(p.y, row_out, plan);
        p.add = further(p.add, row_out, plan);
        p.gate = further(p.gate, row_out, plan);
    }
}

static void run_lane_product(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const graph_node *node = node_at(plan, step->node);
    const product_step *s = &step->as.product;
    const bool *t = s->transpose;
    const bool a_shared = node_at(plan, node->input[0])->extent == HS_SHARED;
    const bool b_shared = node_at(plan, node->input[1])->extent == HS_SHARED;
    const size_t stride = plan->layout->stride[node->extent];
    const hs_product_lane p = {
        .out = s->m,
        .in = s->k,
        .n = s->n,
        .lanes = product_lanes(state, node->extent),
        .a = resolve(state, step->in[0]),
        .a_out = t[0] ? 1 : s->k,
        .a_in = t[0] ? s->m : 1,
        .a_stride = a_shared ? 1 : stride,
        .a_shared = a_shared,
        .b = resolve(state, step->in[1]),
        .b_in = t[1] ? 1 : s->n,
        .b_n = t[1] ? s->k : 1,
        .b_stride = b_shared ? 1 : stride,
        .b_shared = b_shared,
        .y = resolve(state, step->out),
        .y_stride = stride,
    };
    hs_product_lane_run(plan->request->dtype, &p);
}

static void run_shared_product(const plan_step *step, run_state *state)
{
    const product_step *s = &step->as.product;
    hs_product_shared_run(state->plan->request->dtype, s->m, s->n, s->k,
                          resolve(state, step->in[0]), s->transpose[0], resolve(state, step->in[1]),
                          s->transpose[1], resolve(state, step->out), adds(step, state));
}

/* The product summed over the batch: a weight gradient. */
static void run_product_sum(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const product_step *s = &step->as.product;
    const bool *t = s->transpose;
    const size_t stride = plan->layout->stride[s->extent];
    const hs_product_sum p = {
        .out = s->m,
        .in = s->n,
        .lanes = state->lanes[s->extent],
        .dy = resolve(state, step->in[0]),
        .dy_stride = (t[0] ? 1 : s->k) * stride,
        .x = resolve(state, step->in[1]),
        .x_stride = (t[1] ? s->k : 1) * stride,
        .dw = resolve(state, step->out),
        .accumulate = !(step->begins_sum && state->first_shard),
        .db = s->tail.left_sum >= 0 ? resolve(state, s->left_sum) : NULL,
        .accumulate_db = !(s->begins_left_sum && state->first_shard),
        .scratch = state->scratch,
        .threads = state->threads,
        .terms = s->k,
        .dy_term = (t[0] ? s->m : 1) * stride,
        .x_term = (t[1] ? 1 : s->n) * stride,
    };
    hs_product_sum_run(plan->request->dtype, &p);
}

bool hs__is_outer_product(const plan_step *step)
{
    return step->run == run_product_sum && step->as.product.k == 1;
}

/* Scratch for a product summed over the batch. The last shard may be shorter, and be computed in another way. */
static void need_sum_scratch(const hs_plan *plan, plan_code *code, const product_step *p)
{
    const plan_layout *layout = plan->layout;
    const size_t rows = p->extent == HS_ROW ? plan->request->rows_per_start : 1;
    const size_t short_starts = plan->request->starts - (layout->shards - 1) * layout->shard_starts;
    const size_t lanes[2] = { layout->shard_starts * rows, short_starts * rows };
    hs_product_sum sum = { .out = p->m, .in = p->n, .terms = p->k };
    for (int i = 0; i < 2; i++) {
        sum.lanes = lanes[i];
        hs__code_need_scratch(code, hs_product_sum_scratch(plan->request->dtype, &sum));
    }
}

/* Sizes, factors and tail of the product of node `id`. */
static void describe_product(const hs_plan *plan, plan_code *code, plan_step *step, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    const graph_node *a = node_at(plan, node->input[0]), *b = node_at(plan, node->input[1]);
    const bool *t = node->attributes->transpose;
    product_step *p = &step->as.product;
    *p = (product_step){ .m = node->shape.dim[0],
                         .n = node->shape.dim[1],
                         .k = a->shape.dim[t[0] ? 0 : 1],
                         .extent = widest(a->extent, b->extent),
                         .transpose = { t[0], t[1] },
                         .tail = plan->schedule->tail[id] };
    step->in[0] = place_of(plan, node->input[0]);
    step->in[1] = place_of(plan, node->input[1]);
    const int32_t tail[3] = { p->tail.bias, p->tail.add, p->tail.gate };
    for (int i = 0; i < 3; i++)
        if (tail[i] >= 0)
            p->tail_in[i] = place_of(plan, tail[i]);
    if (p->tail.left_sum >= 0) {
        p->left_sum = place_of(plan, p->tail.left_sum);
        p->begins_left_sum = hs__code_begins_sum(plan, code, p->tail.left_sum);
    }
}

void hs__product_make(const hs_plan *plan, plan_code *code, plan_step *step)
{
    const int32_t of = scheduled(plan, step->node)->product, id = of >= 0 ? of : step->node;
    const graph_node *node = node_at(plan, id);
    product_step *p = &step->as.product;
    plan_layer layer;
    step->kind = STEP_PRODUCT;
    describe_product(plan, code, step, id);
    const bool flat = plan->layout->stride[p->extent] == 1;
    if (p->extent == HS_SHARED) {
        step->run = run_shared_product;
    } else if (node->sums_batch) {
        step->run = flat && p->k > 1 && p->tail.left_sum < 0 ? run_shared_product : run_product_sum;
        need_sum_scratch(plan, code, p);
    } else if (hs__graph_is_layer(plan->graph, id, &layer)) {
        step->run = run_layer;
        p->m = layer.out;
        p->n = 1;
        step->in[0] = place_of(plan, layer.matrix);
        step->in[1] = place_of(plan, layer.vector);
        p->transpose[0] = layer.transposed;
    } else if (flat && step->node == id) {
        step->run = run_shared_product;
    } else if (node_at(plan, node->input[0])->extent == HS_SHARED && !p->transpose[1]) {
        step->run = run_wide_layer;
    } else if (node_at(plan, node->input[1])->extent == HS_SHARED && !p->transpose[0]) {
        step->run = run_row_layers;
    } else {
        step->run = run_lane_product;
    }
}
