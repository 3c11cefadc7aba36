/* Third pass: the order of steps. And sweeps: steps over long vectors that are run together, chunk by chunk of the
 * vectors' features.
 *
 * A value of 1000 features in 64 lanes takes 256 KB, and each step over it would fetch it from the second-level
 * cache or from memory again. Steps that only need a feature to make the same feature can share one way through
 * memory; a sum over features cannot be used before its end. So steps are put in order by time: those of a sweep at
 * an even time, everything else at the odd times in between.
 *
 * Where there are products, sweeps go over what tall matrices make, such as the logits of a regression's data: a chunk
 * of them is made from as many rows of the matrix, used, and multiplied by the same rows on the way back, while both
 * are in the cache. */
#include "plan_internal.h"

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/threads.h>

#include <string.h>

/* Bytes of a value that is worth it, and of the part of it that is worked on at a time. Tests set them to 0, and so
 * have sweeps everywhere, of many chunks. */
size_t hs__sweep_least_bytes = 16384, hs__sweep_chunk_bytes = 65536,
       hs__sweep_matrix_bytes = 393216;

/* A matrix is tall if it has this many times as many rows as columns. */
size_t hs__sweep_tall = 8;

enum { MOST_PIECES = 8, MOST_PARTS_BYTES = 8 << 20, TILE_ROWS = 48 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- Which, and in which order ---------------------------------------------------------------- */

/* The length of the vector that a step goes over; 0 if it does not go over one. */
static size_t vector_length(const hs_plan *plan, const plan_node *node)
{
    const plan_node *space = node->op == OP_sum_to ? &plan->node[node->input[0]] : node;
    const bool kind = node->op == OP_normal || node->op == OP_uniform || node->op == OP_sum_to ||
                      (is_elementwise(node) && node->product < 0);
    if (!kind || node->making != BY_STEP || node->stage != STAGE_SHARD || is_unused(node) ||
        space->extent == HS_SHARED || space->shape.rank != 1 ||
        (node->count != 1 && node->count != space->count))
        return 0;
    return space->count;
}

/* What a product by a shared matrix does to a long vector. */
typedef enum { NEITHER, MAKES_VECTOR, SUMS_VECTOR } product_role;

static product_role role_of(const hs_plan *plan, int32_t id)
{
    plan_layer layer;
    if (plan->sweep_length <= 1 || !hs__plan_layer_of(plan, id, &layer))
        return NEITHER;
    if (layer.out == plan->sweep_length && layer.in * hs__sweep_tall <= layer.out)
        return MAKES_VECTOR;
    const product_tail *tail = &plan->tail[layer.product];
    return layer.in == plan->sweep_length && layer.out * hs__sweep_tall <= layer.in &&
                   tail->act == HS_ACT_NONE && tail->gate < 0
               ? SUMS_VECTOR
               : NEITHER;
}

static bool is_sweepable(const hs_plan *plan, int32_t id)
{
    return plan->sweep_length > 1 && (vector_length(plan, &plan->node[id]) == plan->sweep_length ||
                                      role_of(plan, id) != NEITHER);
}

/* Of vectors of this length, the bytes of one that a sweep keeps in the cache; and if they are summed by a matrix too, as
 * they were made by one, those of the matrix. */
static size_t bytes_near(const hs_plan *plan, size_t length)
{
    const size_t rows = plan->starts * plan->rows_per_start, typical = rows < 256 ? rows : 256;
    size_t columns = 0;
    plan_layer layer;
    for (int32_t id = 0; id < plan->nodes; id++)
        if (hs__plan_layer_of(plan, id, &layer) && layer.in == length &&
            layer.out * hs__sweep_tall <= layer.in && layer.out > columns)
            columns = layer.out;
    return length * (typical + columns) * plan->element;
}

/* The longest vectors, if they are worth it; where there are products, the longest that tall matrices make. */
static size_t choose_length(const hs_plan *plan)
{
    size_t longest = 0, made = 0;
    plan_layer layer;
    bool products = false;
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        const size_t length = vector_length(plan, node);
        longest = length > longest ? length : longest;
        if (node->op == OP_matmul && node->stage == STAGE_SHARD && !is_unused(node))
            products = true;
        if (hs__plan_layer_of(plan, id, &layer) && layer.in * hs__sweep_tall <= layer.out &&
            layer.out > made)
            made = layer.out;
    }
    const size_t length = products ? made : longest;
    return bytes_near(plan, length) >= hs__sweep_least_bytes ? length : 0;
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
static bool is_alias(const hs_plan *plan, const plan_node *node)
{
    return node->making == BY_VIEW && node->count == plan->node[node->host].count;
}

/* When each node is computed; before everything: -1. */
static void find_times(const hs_plan *plan, int32_t *time, needs *need)
{
    for (int32_t id = 0; id < plan->nodes; id++)
        need[id] = (needs){ -1, -1 };
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        const int32_t by = node->making == BY_OTHER ? node->host : id;
        time[id] = -1;
        if (node->stage != STAGE_SHARD || is_unused(node))
            continue;
        for (int i = 0; i < node->inputs; i++) {
            const plan_node *in = &plan->node[node->input[i]];
            const int32_t t = time[node->input[i]];
            if (in->making == BY_OTHER)
                continue; /* what it needs is needed by the same step */
            const bool all = node->op == OP_matmul && role_of(plan, by) == MAKES_VECTOR;
            if (t % 2 == 0 && in->count == plan->sweep_length && !all)
                need[by].by_feature = later(need[by].by_feature, t);
            else
                need[by].whole = later(need[by].whole, t);
        }
        const needs *n = &need[id];
        if (is_alias(plan, node))
            time[id] = later(n->by_feature, n->whole);
        else if (is_sweepable(plan, id))
            time[id] = next_of_parity(later(n->by_feature, n->whole + 1), 0);
        else
            time[id] = next_of_parity(later(n->by_feature, n->whole), 1);
    }
}

/* Nodes by time; at the same time first the steps of the sweep, and then views of their values, each in the order of
 * the tape: turn 2 (time + 1) or the one after it. `end` has room for the ends of all turns, and one more. */
static void sort_by_time(hs_plan *plan, const int32_t *time, int32_t turns, int32_t *end)
{
    memset(end, 0, ((size_t)turns + 1) * sizeof *end);
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        node->in_sweep = is_sweepable(plan, id);
        node->position = 2 * (time[id] + 1) + !node->in_sweep;
        end[node->position + 1]++;
    }
    for (int32_t turn = 0; turn < turns; turn++)
        end[turn + 1] += end[turn];
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        node->rank = end[node->position]++;
        plan->order[node->rank] = id;
    }
    /* Steps of a sweep share a position. */
    int32_t position = -1, turn = -1;
    for (int32_t i = 0; i < plan->nodes; i++) {
        plan_node *node = &plan->node[plan->order[i]];
        position += !node->in_sweep || node->position != turn;
        turn = node->position;
        node->position = position;
    }
}

static bool set_order_by_time(hs_plan *plan)
{
    const size_t nodes = (size_t)plan->nodes;
    int32_t *time = hs_alloc((nodes + 1) * sizeof *time), *end = NULL;
    needs *need = hs_alloc((nodes + 1) * sizeof *need);
    bool ok = time && need;
    if (ok) {
        int32_t latest = -1;
        find_times(plan, time, need);
        for (size_t id = 0; id < nodes; id++)
            latest = later(latest, time[id]);
        const int32_t turns = 2 * (latest + 2);
        end = hs_alloc(((size_t)turns + 1) * sizeof *end);
        ok = end != NULL;
        if (ok)
            sort_by_time(plan, time, turns, end);
    }
    hs_free(time);
    hs_free(need);
    hs_free(end);
    return ok ? true : hs__plan_no_memory(plan);
}

bool hs__plan_set_order(hs_plan *plan)
{
    plan->order = hs_arena_alloc(&plan->arena, ((size_t)plan->nodes + 1) * sizeof *plan->order);
    if (!plan->order)
        return hs__plan_no_memory(plan);
    for (int32_t id = 0; id < plan->nodes; id++)
        plan->order[id] = plan->node[id].position = plan->node[id].rank = id;
    plan->sweep_length = plan->trace ? 0 : choose_length(plan);
    return !plan->sweep_length || set_order_by_time(plan);
}

/* ---- Making ----------------------------------------------------------------------------------- */

static size_t result_numbers(const hs_plan *plan, const plan_node *node)
{
    return hs_align_up(node->count * plan->stride[node->extent] * plan->element) / plan->element;
}

/* Bytes of a feature of the widest values. */
static size_t feature_bytes(const hs_plan *plan)
{
    size_t widest = 1;
    for (int e = 0; e < 3; e++)
        widest = plan->stride[e] > widest ? plan->stride[e] : widest;
    return widest * plan->element;
}

/* A chunk of the values, and as many rows of the matrices that make them, should stay in the cache. */
size_t hs__sweep_choose_chunk(const hs_plan *plan)
{
    const size_t line = HS_ALIGN / plan->element; /* where vectors of one lane are cut */
    size_t widest = 0;
    plan_layer layer;
    for (int32_t id = 0; id < plan->nodes; id++)
        if (role_of(plan, id) != NEITHER && hs__plan_layer_of(plan, id, &layer)) {
            const size_t columns = least(layer.out, layer.in);
            widest = columns > widest ? columns : widest;
        }
    size_t chunk = hs__sweep_chunk_bytes / feature_bytes(plan);
    if (widest)
        chunk = least(chunk, hs__sweep_matrix_bytes / (widest * plan->element));
    const size_t unit = widest && chunk >= TILE_ROWS ? TILE_ROWS : line;
    return chunk > unit ? chunk / unit * unit : unit;
}

static size_t chunks_of(const hs_plan *plan)
{
    return (plan->sweep_length + plan->sweep_chunk - 1) / plan->sweep_chunk;
}

static bool make_programs(hs_plan *plan, plan_sweep *sweep, plan_step *step, program **rest)
{
    const size_t left = plan->sweep_length % plan->sweep_chunk;
    const size_t sizes[2] = { plan->sweep_chunk, left };
    for (int part = 0; part < 2; part++) {
        if (sizes[part] == 0 || (part == 0 && plan->sweep_length < plan->sweep_chunk))
            continue;
        program *p = hs__program_make(plan, step, sizes[part]);
        if (!p)
            return false;
        *(part ? rest : &step->program) = p;
        const size_t scratch = hs__program_scratch(plan, p);
        sweep->scratch = sweep->scratch > scratch ? sweep->scratch : scratch;
    }
    return true;
}

/* Sums that are made at a time. */
static size_t results_of(const plan_sweep *sweep)
{
    return sweep->gram ? GRAM_SUMS : 1;
}

bool hs__sweep_make(hs_plan *plan, plan_step *step, int32_t steps)
{
    plan_sweep *sweep = hs_arena_alloc(&plan->arena, sizeof *sweep);
    program **rest = hs_arena_alloc(&plan->arena, (size_t)steps * sizeof *rest);
    if (!sweep || !rest)
        return hs__plan_no_memory(plan);
    *sweep = (plan_sweep){ .steps = steps, .rest = rest };
    memset(rest, 0, (size_t)steps * sizeof *rest);
    for (int32_t i = 0; i < steps; i++) {
        const plan_node *node = &plan->node[step[i].node];
        const product_role role = role_of(plan, step[i].node);
        const bool sums = role == NEITHER && node->count == 1;
        step[i].sweep_sum = sums ? sweep->sums++ : -1;
        step[i].sweep_parts = role == SUMS_VECTOR;
        step[i].sweep_part = sweep->part_bytes;
        step[i].out_feature = node->local ? 0 : plan->stride[node->extent];
        if (sums && result_numbers(plan, node) > sweep->sum_numbers)
            sweep->sum_numbers = result_numbers(plan, node);
        if (role == SUMS_VECTOR)
            sweep->part_bytes += result_numbers(plan, node) * plan->element;
        if (step[i].program && !make_programs(plan, sweep, &step[i], &rest[i]))
            return false;
    }
    if (!hs__gram_make(plan, sweep, step))
        return false;
    /* Products of each piece are kept apart: with other shards to work on, there is one piece. */
    sweep->pieces = least(MOST_PIECES, chunks_of(plan));
    if (sweep->part_bytes)
        sweep->pieces =
            plan->bins > 1 ? 1 : least(sweep->pieces, MOST_PARTS_BYTES / sweep->part_bytes + 1);
    sweep->threads = plan->bins == 1 ? least((size_t)plan->threads, sweep->pieces) : 1;
    /* For each thread the values of a chunk, the programs' scratch and the results of sums; for each piece its sums
     * and their errors, and, but for the first, its products. */
    const size_t sum_bytes = sweep->sum_numbers * plan->element;
    sweep->scratch =
        plan->chunk_bytes + hs_align_up(sweep->scratch) + results_of(sweep) * sum_bytes;
    const size_t total = sweep->threads * sweep->scratch +
                         sweep->pieces * (size_t)sweep->sums * 2 * sum_bytes +
                         (sweep->pieces - 1) * sweep->part_bytes;
    if (plan->scratch_bytes < total)
        plan->scratch_bytes = total;
    step->sweep = sweep;
    return true;
}

/* ---- Running ---------------------------------------------------------------------------------- */

typedef struct {
    const plan_step *step;
    const run_state *state;
    char *sums;  /* [pieces][sums][2][sum_numbers]: sums and their errors */
    char *parts; /* [pieces - 1][part_bytes]: products of all pieces but the first */
} sweep_job;

static char *sum_of(const sweep_job *j, size_t piece, int32_t sum)
{
    const plan_sweep *sweep = j->step->sweep;
    return j->sums + (piece * (size_t)sweep->sums + (size_t)sum) * 2 * sweep->sum_numbers *
                         j->state->plan->element;
}

static void add_to_sum(const sweep_job *j, size_t piece, int32_t sum, const char *v)
{
    const hs_plan *plan = j->state->plan;
    const size_t n = j->step->sweep->sum_numbers;
    char *to = sum_of(j, piece, sum);
    plan->batch->add_compensated(n, 1, to, to + n * plan->element, v);
}

/* Where a piece adds up its part of a product. */
static char *part_of(const sweep_job *j, size_t piece, const plan_step *step)
{
    return piece ? j->parts + (piece - 1) * j->step->sweep->part_bytes + step->sweep_part
                 : resolve(j->state, step->out);
}

static void run_product(const sweep_job *j, size_t piece, const plan_step *step, size_t first,
                        size_t count, bool begins, run_state *state)
{
    if (step->sweep_parts)
        hs__layer_sum_from(step, state, first, count, part_of(j, piece, step), begins, piece == 0);
    else
        hs__layer_run_from(step, state, first, count);
}

static void run_gram(const sweep_job *j, size_t piece, size_t first, size_t count, run_state *state,
                     char *results)
{
    const plan_sweep *sweep = j->step->sweep;
    hs__gram_run(sweep->gram, state, first, count, results, sweep->sum_numbers);
    for (size_t k = 0; k < GRAM_SUMS; k++)
        if (sweep->gram->sum[k] >= 0)
            add_to_sum(j, piece, sweep->gram->sum[k],
                       results + k * sweep->sum_numbers * state->plan->element);
}

static void run_chunk(const sweep_job *j, size_t piece, size_t first, bool begins, run_state *state,
                      char *result)
{
    const plan_sweep *sweep = j->step->sweep;
    const size_t left = state->plan->sweep_length - first, chunk = state->plan->sweep_chunk;
    for (int32_t i = 0; i < sweep->steps; i++) {
        const plan_step *step = &j->step[i];
        if (state->plan->node[step->node].product >= 0) {
            run_product(j, piece, step, first, least(left, chunk), begins, state);
            continue;
        }
        if (!step->program) {
            hs__random_run_from(step, state, first, least(left, chunk));
            continue;
        }
        const program *p = left < chunk ? sweep->rest[i] : step->program;
        if (step->in_gram) {
            if (i == sweep->gram->last)
                run_gram(j, piece, first, least(left, chunk), state, result);
            continue;
        }
        if (step->sweep_sum >= 0) {
            hs__program_run_from(p, state, first, result, false);
            add_to_sum(j, piece, step->sweep_sum, result);
            continue;
        }
        char *out = resolve(state, step->out);
        hs__program_run_from(p, state, first,
                             out + first * step->out_feature * state->plan->element,
                             adds(step, state));
    }
}

static void run_piece(int piece_, void *context)
{
    const sweep_job *j = context;
    const hs_plan *plan = j->state->plan;
    const plan_sweep *sweep = j->step->sweep;
    const size_t piece = (size_t)piece_, sum_bytes = sweep->sum_numbers * plan->element;
    const unsigned denormals = hs_flush_denormals();
    run_state state = *j->state;
    state.threads = 1;
    state.chunk = state.scratch + (size_t)hs_thread_index() * sweep->scratch;
    state.scratch = state.chunk + plan->chunk_bytes;
    char *result = state.chunk + sweep->scratch - results_of(sweep) * sum_bytes;
    /* what a sum leaves is added up in whole vectors */
    memset(result, 0, results_of(sweep) * sum_bytes);
    if (sweep->sums)
        memset(sum_of(j, piece, 0), 0, (size_t)sweep->sums * 2 * sum_bytes);
    const size_t chunks = chunks_of(plan);
    const size_t begin = chunks * piece / sweep->pieces, end = chunks * (piece + 1) / sweep->pieces;
    for (size_t chunk = begin; chunk < end; chunk++)
        run_chunk(j, piece, chunk * plan->sweep_chunk, chunk == begin, &state, result);
    hs_restore_denormals(denormals);
}

/* Adds up what the pieces have of a product. */
static void add_parts(const sweep_job *j, const plan_step *step)
{
    const hs_plan *plan = j->state->plan;
    const plan_node *node = &plan->node[step->node];
    for (size_t piece = 1; piece < j->step->sweep->pieces; piece++)
        plan->batch->add(node->count * plan->stride[node->extent], part_of(j, 0, step),
                         part_of(j, piece, step));
}

void hs__sweep_run(const plan_step *step, run_state *state)
{
    const hs_plan *plan = state->plan;
    const plan_sweep *sweep = step->sweep;
    char *sums = state->scratch + sweep->threads * sweep->scratch;
    sweep_job j = { step, state, sums,
                    sums + sweep->pieces * (size_t)sweep->sums * 2 * sweep->sum_numbers *
                               plan->element };
    hs_parallel_for((int)least((size_t)state->threads, sweep->threads), (int)sweep->pieces,
                    run_piece, &j);
    for (int32_t i = 0; i < sweep->steps; i++) {
        const int32_t sum = step[i].sweep_sum;
        if (step[i].sweep_parts)
            add_parts(&j, &step[i]);
        if (sum < 0)
            continue;
        for (size_t piece = 1; piece < sweep->pieces; piece++)
            add_to_sum(&j, 0, sum, sum_of(&j, piece, sum));
        const plan_node *node = &plan->node[step[i].node];
        const size_t numbers = plan->stride[node->extent];
        char *out = resolve(state, step[i].out);
        if (adds(&step[i], state))
            plan->batch->add(numbers, out, sum_of(&j, 0, sum));
        else
            memcpy(out, sum_of(&j, 0, sum), numbers * plan->element);
    }
}
