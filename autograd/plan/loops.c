/* Passes `order` and `loops`: the order of steps. A loop is a number of steps over long vectors that are run together,
 * chunk by chunk of the vectors' features.
 *
 * A value of 1000 features in 64 lanes takes 256 KB, and each step over it would fetch it from the second-level
 * cache or from memory again. Steps that only need a feature to make the same feature can share one way through
 * memory; a sum over features cannot be used before its end. So steps are put in order by time: those of a loop at
 * an even time, everything else at the odd times in between.
 *
 * Where there are products, loops go over the vectors that tall matrices make, such as the logits of a regression's
 * data. A chunk of logits is made from as many rows of the matrix, used, and multiplied by the same rows on the way
 * back, while both are in the cache. */
#include "passes_internal.h"

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/threads.h>

#include <string.h>

enum {
    LEAST_BYTES = 16384,   /* of a value that is worth a loop where there are no products */
    CHUNK_BYTES = 65536,   /* of the part of it that is worked on at a time */
    MATRIX_BYTES = 393216, /* of the rows of a matrix that are */
    TALL = 8,              /* a matrix is tall if it has this many times as many rows as columns */
};

enum { MOST_PIECES = 8, MOST_PARTS_BYTES = 8 << 20, TILE_ROWS = 48 };

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- Which, and in which order ---------------------------------------------------------------- */

/* Whether one side of a matrix is much longer than the other. A pass that applies always takes any matrix. */
static bool is_tall(const hs_plan *plan, size_t rows, size_t columns)
{
    return runs_always(plan, PASS_loops) || columns * TALL <= rows;
}

/* The length of the vector that a step goes over; 0 if it does not go over one. */
static size_t vector_length(const hs_plan *plan, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    const graph_node *space = node->op == OP_sum_to ? node_at(plan, node->input[0]) : node;
    const schedule_node *s = scheduled(plan, id);
    const bool kind = node->op == OP_normal || node->op == OP_uniform || node->op == OP_sum_to ||
                      (is_elementwise(node) && s->product < 0);
    return kind && s->making == BY_STEP && node->stage == STAGE_SHARD && !is_unused(node) &&
                   space->extent != HS_SHARED && space->shape.rank == 1 &&
                   (node->count == 1 || node->count == space->count)
               ? space->count
               : 0;
}

/* A step in a loop: it goes over the long vector, or is a layer whose matrix makes or sums it. */
typedef enum { NOT_IN_LOOP, GOES_OVER_VECTOR, MAKES_VECTOR, SUMS_VECTOR } loop_role;

static loop_role role_of(const hs_plan *plan, int32_t id)
{
    const size_t length = plan->schedule->loop_length;
    plan_layer layer;
    if (length <= 1)
        return NOT_IN_LOOP;
    if (vector_length(plan, id) == length)
        return GOES_OVER_VECTOR;
    if (!hs__schedule_layer(plan, id, &layer))
        return NOT_IN_LOOP;
    if (layer.out == length && is_tall(plan, layer.out, layer.in))
        return MAKES_VECTOR;
    const product_tail *tail = &plan->schedule->tail[layer.product];
    const bool sums = layer.in == length && is_tall(plan, layer.in, layer.out) &&
                      tail->act == HS_ACT_NONE && tail->gate < 0;
    return sums ? SUMS_VECTOR : NOT_IN_LOOP;
}

/* The length of the longest vectors; where there are products, of the longest that tall matrices make. */
static size_t choose_length(const hs_plan *plan, bool *products)
{
    size_t longest = 0, made = 0;
    plan_layer layer;
    *products = false;
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        longest = most(longest, vector_length(plan, id));
        if (node->op == OP_matmul && node->stage == STAGE_SHARD && !is_unused(node))
            *products = true;
        if (hs__schedule_layer(plan, id, &layer) && is_tall(plan, layer.out, layer.in))
            made = most(made, layer.out);
    }
    return *products ? made : longest;
}

/* Features of a chunk, if a feature of the widest values has so many bytes. A chunk of the values, and as many rows of
 * the matrices that make them, should stay in the cache. */
static size_t chunk_for(const hs_plan *plan, size_t feature_bytes)
{
    const size_t element = plan->request->element;
    const size_t line = HS_ALIGN / element; /* where vectors of one lane are cut */
    size_t chunk = runs_always(plan, PASS_loops) ? 0 : CHUNK_BYTES / feature_bytes, columns = 0;
    plan_layer layer;
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        if (role_of(plan, id) > GOES_OVER_VECTOR && hs__schedule_layer(plan, id, &layer))
            columns = most(columns, least(layer.out, layer.in));
    if (columns)
        chunk = least(chunk, MATRIX_BYTES / (columns * element));
    const size_t unit = columns && chunk >= TILE_ROWS ? TILE_ROWS : line;
    return most(chunk / unit, 1) * unit;
}

/* Whether loops of the schedule's length pay. Products keep a small value in the cache by themselves: a loop with one
 * chunk would only add its own cost. */
static bool is_worth_it(const hs_plan *plan, bool products)
{
    const plan_request *request = plan->request;
    const size_t typical = least(request->starts * request->rows_per_start, 256);
    const size_t length = plan->schedule->loop_length, bytes = typical * request->element;
    return runs_always(plan, PASS_loops) ||
           (products ? length > chunk_for(plan, bytes) : length * bytes >= LEAST_BYTES);
}

/* The times after which a step may come, for what it needs feature by feature, and for what it needs whole. */
typedef struct {
    int32_t by_feature, whole;
} needs;

static int32_t later(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The first time of the given parity that is not before `time`. */
static int32_t next_of_parity(int32_t time, int32_t odd)
{
    return time + ((time ^ odd) & 1);
}

/* A whole value under another name, or in another shape: what holds for it holds for the view. */
static bool is_alias(const hs_plan *plan, int32_t id)
{
    const schedule_node *s = scheduled(plan, id);
    return s->making == VIEW_OF && node_at(plan, id)->count == node_at(plan, s->host)->count;
}

/* When each node is computed; before everything: -1. Returns the latest time. */
static int32_t find_times(const hs_plan *plan, int32_t *time, needs *need)
{
    int32_t latest = -1;
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        need[id] = (needs){ -1, -1 };
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        const int32_t by = s->making == FUSED_INTO ? s->host : id;
        time[id] = -1;
        if (node->stage != STAGE_SHARD || is_unused(node))
            continue;
        for (int i = 0; i < node->inputs; i++) {
            const int32_t in = node->input[i];
            if (scheduled(plan, in)->making == FUSED_INTO)
                continue; /* its inputs are inputs of the same step */
            const bool all = node->op == OP_matmul && role_of(plan, by) == MAKES_VECTOR;
            const bool by_feature = time[in] % 2 == 0 && !all &&
                                    node_at(plan, in)->count == plan->schedule->loop_length;
            int32_t *after = by_feature ? &need[by].by_feature : &need[by].whole;
            *after = later(*after, time[in]);
        }
        const needs *n = &need[id];
        if (is_alias(plan, id))
            time[id] = later(n->by_feature, n->whole);
        else if (role_of(plan, id))
            time[id] = next_of_parity(later(n->by_feature, n->whole + 1), 0);
        else
            time[id] = next_of_parity(later(n->by_feature, n->whole), 1);
        latest = later(latest, time[id]);
    }
    return latest;
}

/* Nodes by time; at the same time first the steps of the loop, and then views of their values, each in the order of
 * the tape: turn 2 (time + 1) or the one after it. `end` has a zero for each turn, and one more. */
static void sort_by_time(const hs_plan *plan, plan_schedule *schedule, const int32_t *time,
                         int32_t turns, int32_t *end)
{
    const int32_t nodes = plan->graph->nodes;
    for (int32_t id = 0; id < nodes; id++) {
        schedule_node *node = &schedule->node[id];
        node->in_loop = role_of(plan, id) != NOT_IN_LOOP;
        node->position = 2 * (time[id] + 1) + !node->in_loop;
        end[node->position + 1]++;
    }
    for (int32_t turn = 0; turn < turns; turn++)
        end[turn + 1] += end[turn];
    for (int32_t id = 0; id < nodes; id++) {
        schedule_node *node = &schedule->node[id];
        node->rank = end[node->position]++;
        schedule->order[node->rank] = id;
    }
    /* Steps of a loop share a position. */
    int32_t position = -1, turn = -1;
    for (int32_t i = 0; i < nodes; i++) {
        schedule_node *node = &schedule->node[schedule->order[i]];
        position += !node->in_loop || node->position != turn;
        turn = node->position;
        node->position = position;
    }
}

static bool set_order_by_time(const hs_plan *plan, plan_schedule *schedule)
{
    const size_t nodes = (size_t)plan->graph->nodes + 1;
    int32_t *time = hs__pass_alloc(plan, nodes, sizeof *time);
    needs *need = hs__pass_alloc(plan, nodes, sizeof *need);
    if (!time || !need)
        return hs__plan_no_memory(plan);
    const int32_t turns = 2 * (find_times(plan, time, need) + 2);
    int32_t *end = hs__pass_alloc(plan, (size_t)turns + 1, sizeof *end);
    if (!end)
        return hs__plan_no_memory(plan);
    sort_by_time(plan, schedule, time, turns, end);
    return true;
}

bool hs__schedule_order(const hs_plan *plan, plan_schedule *schedule)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        schedule->order[id] = schedule->node[id].position = schedule->node[id].rank = id;
    return true;
}

bool hs__schedule_loops(const hs_plan *plan, plan_schedule *schedule)
{
    bool products;
    schedule->loop_length = choose_length(plan, &products);
    if (!is_worth_it(plan, products))
        schedule->loop_length = 0;
    return !schedule->loop_length || set_order_by_time(plan, schedule);
}

/* ---- Making ----------------------------------------------------------------------------------- */

static size_t result_numbers(const hs_plan *plan, const graph_node *node)
{
    const size_t element = plan->request->element;
    return hs_align_up(node->count * plan->layout->stride[node->extent] * element) / element;
}

size_t hs__loop_choose_chunk(const hs_plan *plan, const plan_layout *layout)
{
    size_t widest = 1;
    for (int e = 0; e < 3; e++)
        widest = most(widest, layout->stride[e]);
    return chunk_for(plan, widest * plan->request->element);
}

static size_t chunks_of(const hs_plan *plan)
{
    const size_t length = plan->schedule->loop_length, chunk = plan->layout->loop_chunk;
    return (length + chunk - 1) / chunk;
}

/* The programs of a step for a whole chunk, and for the last one if it is shorter. */
static bool make_programs(const hs_plan *plan, plan_code *code, plan_loop *loop, plan_step *step,
                          loop_step *part)
{
    const size_t length = plan->schedule->loop_length, chunk = plan->layout->loop_chunk;
    const size_t sizes[2] = { chunk, length % chunk };
    for (int which = length < chunk; which < 2 && sizes[which]; which++) {
        program *p = hs__program_make(plan, code, step->node, sizes[which]);
        if (!p)
            return false;
        *(which ? &part->rest : &step->as.program) = p;
        loop->scratch = most(loop->scratch, hs__program_scratch(plan, p));
    }
    return true;
}

/* Sums that are made at a time. */
static size_t results_of(const plan_loop *loop)
{
    return loop->dots ? DOT_SUMS : 1;
}

/* Sets a step's part in the loop. */
static bool make_part(const hs_plan *plan, plan_code *code, plan_loop *loop, plan_step *step,
                      loop_step *part)
{
    const graph_node *node = node_at(plan, step->node);
    const loop_role role = role_of(plan, step->node);
    const bool sums = role == GOES_OVER_VECTOR && node->count == 1;
    *part = (loop_step){
        .sum = sums ? loop->sums++ : -1,
        .parts = role == SUMS_VECTOR,
        .part = loop->part_bytes,
        .out_feature =
            plan->layout->node[step->node].local ? 0 : plan->layout->stride[node->extent],
    };
    if (sums)
        loop->sum_numbers = most(loop->sum_numbers, result_numbers(plan, node));
    if (part->parts)
        loop->part_bytes += result_numbers(plan, node) * plan->request->element;
    return step->kind != STEP_PROGRAM || make_programs(plan, code, loop, step, part);
}

bool hs__loop_make(const hs_plan *plan, plan_code *code, plan_step *step, int32_t steps)
{
    plan_loop *loop = hs_arena_alloc(plan->arena, sizeof *loop);
    loop_step *part = hs_arena_alloc(plan->arena, (size_t)steps * sizeof *part);
    if (!loop || !part)
        return hs__plan_no_memory(plan);
    *loop = (plan_loop){ .steps = steps, .part = part };
    for (int32_t i = 0; i < steps; i++)
        if (!make_part(plan, code, loop, &step[i], &part[i]))
            return false;
    if (runs_pass(plan, PASS_joint_dots) && !hs__joint_dots_make(plan, loop, step))
        return false;
    /* Products of each piece are kept apart: with other shards to work on, there is one piece. */
    const bool alone = plan->layout->accumulators == 1;
    loop->pieces = least(MOST_PIECES, chunks_of(plan));
    if (loop->part_bytes)
        loop->pieces = alone ? least(loop->pieces, MOST_PARTS_BYTES / loop->part_bytes + 1) : 1;
    loop->threads = alone ? least((size_t)plan->request->threads, loop->pieces) : 1;
    /* For each thread the values of a chunk, the programs' scratch and the results of sums; for each piece its sums
     * and their errors, and, but for the first, its products. */
    const size_t sum_bytes = loop->sum_numbers * plan->request->element;
    loop->scratch =
        plan->layout->chunk_bytes + hs_align_up(loop->scratch) + results_of(loop) * sum_bytes;
    hs__code_need_scratch(code, loop->threads * loop->scratch +
                                    loop->pieces * (size_t)loop->sums * 2 * sum_bytes +
                                    (loop->pieces - 1) * loop->part_bytes);
    step->loop = loop;
    return true;
}

/* ---- Running ---------------------------------------------------------------------------------- */

typedef struct {
    const plan_loop *loop;
    const plan_step *step; /* the loop's, the first of them */
    const run_state *state;
    const hs_plan *plan;
    const batch_kernels *batch;
    size_t sum_bytes; /* of the numbers of a sum */
    char *sums;       /* [pieces][sums][2][sum_bytes]: sums and their errors */
    char *parts;      /* [pieces - 1][part_bytes]: products of all pieces but the first */
} loop_job;

static char *sum_of(const loop_job *j, size_t piece, int32_t sum)
{
    return j->sums + (piece * (size_t)j->loop->sums + (size_t)sum) * 2 * j->sum_bytes;
}

static void add_to_sum(const loop_job *j, size_t piece, int32_t sum, const char *v)
{
    char *to = sum_of(j, piece, sum);
    j->batch->add_compensated(j->loop->sum_numbers, 1, to, to + j->sum_bytes, v);
}

/* Where a piece adds up its part of the product of step i. */
static char *part_of(const loop_job *j, size_t piece, int32_t i)
{
    return piece ? j->parts + (piece - 1) * j->loop->part_bytes + j->loop->part[i].part
                 : resolve(j->state, j->step[i].out);
}

/* A chunk: features from `first` on, of a piece that it may begin. */
typedef struct {
    size_t piece, first, count;
    bool begins;
} loop_chunk;

static void run_dots(const loop_job *j, const loop_chunk *c, run_state *state, char *results)
{
    const joint_dots *dots = j->loop->dots;
    hs__joint_dots_run(dots, state, c->first, c->count, results, j->loop->sum_numbers);
    for (size_t k = 0; k < DOT_SUMS; k++)
        if (dots->sum[k] >= 0)
            add_to_sum(j, c->piece, dots->sum[k], results + k * j->sum_bytes);
}

static void run_program(const loop_job *j, int32_t i, const loop_chunk *c, run_state *state,
                        char *result)
{
    const plan_step *step = &j->step[i];
    const loop_step *part = &j->loop->part[i];
    const program *p = c->count < j->plan->layout->loop_chunk ? part->rest : step->as.program;
    if (part->joint) {
        if (i == j->loop->dots->last)
            run_dots(j, c, state, result);
    } else if (part->sum >= 0) {
        hs__program_run_from(p, state, c->first, result, false);
        add_to_sum(j, c->piece, part->sum, result);
    } else {
        char *out = resolve(state, step->out);
        out += c->first * part->out_feature * j->plan->request->element;
        hs__program_run_from(p, state, c->first, out, adds(step, state));
    }
}

static void run_chunk(const loop_job *j, const loop_chunk *c, run_state *state, char *result)
{
    for (int32_t i = 0; i < j->loop->steps; i++) {
        const plan_step *step = &j->step[i];
        const loop_step *part = &j->loop->part[i];
        if (step->kind == STEP_PROGRAM)
            run_program(j, i, c, state, result);
        else if (step->kind == STEP_RANDOM)
            hs__random_run_from(step, state, c->first, c->count, part->out_feature);
        else if (part->parts)
            hs__layer_sum_from(step, state, c->first, c->count, part_of(j, c->piece, i), c->begins,
                               c->piece == 0);
        else
            hs__layer_run_from(step, state, c->first, c->count, part->out_feature);
    }
}

static void run_piece(int piece_, void *context)
{
    const loop_job *j = context;
    const plan_loop *loop = j->loop;
    const size_t piece = (size_t)piece_, results = results_of(loop) * j->sum_bytes;
    const size_t length = j->plan->schedule->loop_length, chunk = j->plan->layout->loop_chunk;
    const unsigned denormals = hs_flush_denormals();
    run_state state = *j->state;
    state.threads = 1;
    state.chunk = state.scratch + (size_t)hs_thread_index() * loop->scratch;
    state.scratch = state.chunk + j->plan->layout->chunk_bytes;
    char *result = state.chunk + loop->scratch - results;
    memset(result, 0, results); /* sums are added up in whole vectors */
    memset(sum_of(j, piece, 0), 0, (size_t)loop->sums * 2 * j->sum_bytes);
    const size_t chunks = chunks_of(j->plan);
    const size_t begin = chunks * piece / loop->pieces, end = chunks * (piece + 1) / loop->pieces;
    for (size_t i = begin; i < end; i++) {
        const size_t first = i * chunk, count = least(length - first, chunk);
        run_chunk(j, &(loop_chunk){ piece, first, count, i == begin }, &state, result);
    }
    hs_restore_denormals(denormals);
}

/* Adds up the pieces' parts of step i, and puts the total where it belongs. */
static void finish_step(const loop_job *j, int32_t i)
{
    const loop_step *part = &j->loop->part[i];
    const plan_step *step = &j->step[i];
    const graph_node *node = node_at(j->plan, step->node);
    const size_t lanes = j->plan->layout->stride[node->extent];
    for (size_t piece = 1; piece < j->loop->pieces; piece++) {
        if (part->parts)
            j->batch->add(node->count * lanes, part_of(j, 0, i), part_of(j, piece, i));
        if (part->sum >= 0)
            add_to_sum(j, 0, part->sum, sum_of(j, piece, part->sum));
    }
    if (part->sum < 0)
        return;
    char *out = resolve(j->state, step->out), *total = sum_of(j, 0, part->sum);
    if (adds(step, j->state))
        j->batch->add(lanes, out, total);
    else
        memcpy(out, total, lanes * j->plan->request->element);
}

void hs__loop_run(const plan_step *step, run_state *state)
{
    const plan_loop *loop = step->loop;
    const plan_request *request = state->plan->request;
    loop_job j = { .loop = loop,
                   .step = step,
                   .state = state,
                   .plan = state->plan,
                   .batch = request->batch,
                   .sum_bytes = loop->sum_numbers * request->element,
                   .sums = state->scratch + loop->threads * loop->scratch };
    j.parts = sum_of(&j, loop->pieces, 0);
    hs_parallel_for((int)least((size_t)state->threads, loop->threads), (int)loop->pieces, run_piece,
                    &j);
    for (int32_t i = 0; i < loop->steps; i++)
        finish_step(&j, i);
}
