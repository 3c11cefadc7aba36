/* Running of elementwise groups, block by block or tile by tile. */
#include "plan_internal.h"

#include <string.h>

/* Scratch: registers, a sum and its error, a joined block, expanded operands, a vector for each operand's tail, and
 * a sum for each start point. */
size_t hs__program_scratch(const hs_plan *plan, const program *p)
{
    return (size_t)(p->registers + 3 + p->operands) * BLOCK_BYTES + (size_t)p->operands * HS_ALIGN +
           (p->inner_starts ? hs_align_up(plan->layout->shard_starts * sizeof(double)) : 0);
}

typedef struct {
    const program *p;
    const hs_plan *plan;
    char *registers, *sum, *error, *joined, *expanded, *tails;
    const char *base[MAX_OPERANDS]; /* of the operands */
    const char *now[MAX_OPERANDS];  /* at the present outer indices */
    /* Tiles: what the expanded block of an operand was made from, and for how many rows. */
    const char *expanded_from[MAX_OPERANDS];
    size_t expanded_rows[MAX_OPERANDS];
} runner;

/* Runs the steps for n numbers, a whole number of vectors. Operands are read at `at`; the last
 * result goes to `result` unless that is NULL. Returns where the result is. */
static const char *run_steps(const runner *r, size_t n, const char *const *at, size_t offset,
                             char *result)
{
    const program *p = r->p;
    for (int s = 0; s < p->steps; s++) {
        const program_step *step = &p->step[s];
        const void *source[3] = { NULL, NULL, NULL };
        const int arity = hs__op_table[step->op].arity;
        for (int i = 0; i < arity; i++)
            source[i] = step->source[i] >= 0
                            ? r->registers + (size_t)step->source[i] * BLOCK_BYTES + offset
                            : at[-1 - step->source[i]];
        char *to = s == p->steps - 1 && result
                       ? result
                       : r->registers + (size_t)step->result * BLOCK_BYTES + offset;
        r->plan->request->elementwise->op[step->op](n, to, source[0], source[1], source[2],
                                                    step->scalars, step->order);
    }
    if (p->result < 0)
        return at[-1 - p->result];
    return p->steps && result ? result : r->registers + (size_t)p->result * BLOCK_BYTES + offset;
}

/* Computes numbers first .. first+n-1 of the inner dimension. If `out` is given they are stored
 * there; the result is also where the return value points, readable up to whole vectors. */
static const char *run_block(runner *r, size_t first, size_t n, char *out)
{
    const program *p = r->p;
    const hs_plan *plan = r->plan;
    const size_t element = plan->request->element, lanes = plan->request->elementwise->lanes;
    const char *at[MAX_OPERANDS];
    for (int k = 0; k < p->operands; k++) {
        const program_operand *operand = &p->operand[k];
        at[k] = r->now[k];
        if (operand->mode == OPERAND_VECTOR)
            at[k] += first * element;
        if (operand->mode == OPERAND_EXPAND) {
            char *wide = r->expanded + (size_t)k * BLOCK_BYTES;
            plan->request->batch->expand(first, n, wide, r->now[k], operand->repeat);
            at[k] = wide;
        }
    }
    const size_t whole = n / lanes * lanes, rest = n - whole;
    if (rest == 0)
        return run_steps(r, n, at, 0, out);
    const char *result = whole ? run_steps(r, whole, at, 0, out) : NULL;
    /* What is left does not fill a vector: it goes through copies that do. */
    for (int k = 0; k < p->operands; k++)
        if (p->operand[k].mode != OPERAND_SCALAR) {
            char *tail = r->tails + (size_t)k * HS_ALIGN;
            memcpy(tail, at[k] + whole * element, rest * element);
            at[k] = tail;
        }
    const char *tail = run_steps(r, lanes, at, whole * element, NULL);
    if (out) {
        memcpy(out + whole * element, tail, rest * element);
        return out;
    }
    if (p->result >= 0)
        return tail - whole * element; /* both parts are in one register */
    /* The value is an operand itself: put its two parts together. */
    if (whole)
        memcpy(r->joined, result, whole * element);
    memcpy(r->joined + whole * element, tail, lanes * element);
    return r->joined;
}

/* Computes `rows` rows, of all of the inner dimension each, one after the other. */
static const char *run_tile(runner *r, size_t rows, char *out)
{
    const program *p = r->p;
    const hs_plan *plan = r->plan;
    const size_t element = plan->request->element, n = p->inner;
    const char *at[MAX_OPERANDS];
    for (int k = 0; k < p->operands; k++) {
        const program_operand *operand = &p->operand[k];
        const size_t stride = row_stride(p, operand);
        at[k] = r->now[k];
        if (operand->mode == OPERAND_SCALAR || (operand->mode == OPERAND_VECTOR && stride == n))
            continue;
        char *wide = r->expanded + (size_t)k * BLOCK_BYTES;
        at[k] = wide;
        if (r->expanded_from[k] == r->now[k] && rows <= r->expanded_rows[k])
            continue; /* the same for all rows, as in the tile before */
        r->expanded_from[k] = stride ? NULL : r->now[k];
        r->expanded_rows[k] = rows;
        if (operand->mode == OPERAND_ROWS) {
            plan->request->batch->expand_rows(rows, n, wide, r->now[k], stride);
            continue;
        }
        for (size_t row = 0; row < rows; row++) {
            char *to = wide + row * n * element;
            const char *from = r->now[k] + row * stride * element;
            if (operand->mode == OPERAND_VECTOR)
                memcpy(to, from, n * element);
            else
                plan->request->batch->expand(0, n, to, from, operand->repeat);
        }
    }
    return run_steps(r, rows * n, at, 0, out);
}

/* Rows of the tile at an index of the loop that it belongs to. */
static size_t rows_at(const program *p, int kind, const size_t *index)
{
    if (p->tile == 1 || kind != tile_kind(p))
        return 1;
    const int last = p->dims[kind] - 1;
    const size_t left = p->length[kind][last] - index[last];
    return left < p->tile ? left : p->tile;
}

/* Advances the indices of a loop, a mixed-radix counter, by a number of rows; false after the last. */
static bool next_index(const program *p, int kind, size_t rows, size_t *index)
{
    for (int d = p->dims[kind] - 1; d >= 0; d--) {
        index[d] += rows;
        if (index[d] < p->length[kind][d])
            return true;
        index[d] = 0;
        rows = 1;
    }
    return false;
}

static void seek(runner *r, const size_t *kept, const size_t *summed)
{
    for (int k = 0; k < r->p->operands; k++) {
        const program_operand *operand = &r->p->operand[k];
        size_t offset = 0;
        for (int d = 0; d < r->p->dims[0]; d++)
            offset += kept[d] * operand->stride[0][d];
        for (int d = 0; d < r->p->dims[1]; d++)
            offset += summed[d] * operand->stride[1][d];
        r->now[k] = r->base[k] + offset * r->plan->request->element;
    }
}

/* The inner dimension is kept: block by block, sums what there is to sum, and stores. */
static void run_kept(runner *r, const size_t *kept, size_t rows, char *out, bool add)
{
    const program *p = r->p;
    const batch_kernels *batch = r->plan->request->batch;
    const size_t element = r->plan->request->element, lanes = r->plan->request->elementwise->lanes;
    const size_t block = BLOCK_BYTES / element;
    size_t summed[LOOP_DIMS] = { 0 };
    if (!p->dims[1])
        seek(r, kept, summed);
    for (size_t first = 0; first < p->inner; first += block) {
        const size_t n = p->inner - first < block ? p->inner - first : block;
        char *to = out + first * element;
        if (!p->dims[1]) {
            const size_t row_out = p->dims[0] ? p->out_stride[p->dims[0] - 1] : 0;
            const bool direct = !add && p->steps && (rows == 1 || row_out == n);
            const char *result = p->tile > 1 ? run_tile(r, rows, direct ? to : NULL)
                                             : run_block(r, first, n, direct ? to : NULL);
            for (size_t row = 0; !direct && row < rows; row++) {
                char *row_to = to + row * row_out * element;
                if (add)
                    batch->add(n, row_to, result + row * n * element);
                else
                    memcpy(row_to, result + row * n * element, n * element);
            }
            continue;
        }
        const size_t padded = (n + lanes - 1) / lanes * lanes;
        memset(r->sum, 0, padded * element);
        memset(r->error, 0, padded * element);
        size_t tile;
        do {
            seek(r, kept, summed);
            tile = rows_at(p, 1, summed);
            const char *result = p->tile > 1 ? run_tile(r, tile, NULL) + first * element
                                             : run_block(r, first, n, NULL);
            if (p->sum_softplus)
                batch->add_softplus(padded, tile, p->inner, r->sum, r->error, result,
                                    p->sigmoid < 0 ? NULL : r->now[p->sigmoid] + first * element);
            else
                batch->add_compensated(padded, tile, r->sum, r->error, result);
        } while (next_index(p, 1, tile, summed));
        if (add)
            batch->add(n, to, r->sum);
        else
            memcpy(to, r->sum, n * element);
    }
}

/* The inner dimension is summed, up to its true length; for each of `rows` rows that are kept. */
static void run_summed(runner *r, const size_t *kept, size_t rows, char *out, size_t length,
                       bool add)
{
    const program *p = r->p;
    const hs_plan *plan = r->plan;
    const batch_kernels *batch = plan->request->batch;
    double (*const sum)(size_t, size_t, size_t, const void *) =
        p->sum_softplus ? batch->sum_softplus : batch->sum;
    const size_t block = BLOCK_BYTES / plan->request->element;
    size_t summed[LOOP_DIMS] = { 0 };
    if (p->tile > 1 && !p->dims[1]) {
        seek(r, kept, summed);
        const char *result = run_tile(r, rows, NULL);
        const size_t row_out = p->out_stride[p->dims[0] - 1];
        for (size_t row = 0; row < rows; row++) {
            const double total =
                sum(length, 1, 0, result + row * p->inner * plan->request->element);
            batch->put(out, row * row_out, total + (add ? batch->get(out, row * row_out) : 0));
        }
        return;
    }
    double total = add ? batch->get(out, 0) : 0;
    size_t tile;
    do {
        seek(r, kept, summed);
        tile = rows_at(p, 1, summed);
        if (p->tile > 1) {
            total += sum(length, tile, p->inner, run_tile(r, tile, NULL));
            continue;
        }
        for (size_t first = 0; first < length; first += block) {
            const size_t left = p->inner - first, n = left < block ? left : block;
            const char *result = run_block(r, first, n, NULL);
            total += sum(length - first < n ? length - first : n, 1, 0, result);
        }
    } while (next_index(p, 1, tile, summed));
    batch->put(out, 0, total);
}

/* Lanes are summed for each start point apart: `repeat` lanes each. */
static void run_starts(runner *r, const size_t *kept, size_t rows, char *out, size_t length,
                       double *totals)
{
    const program *p = r->p;
    const batch_kernels *batch = r->plan->request->batch;
    const size_t element = r->plan->request->element, block = BLOCK_BYTES / element;
    const size_t repeat = r->plan->request->rows_per_start, starts = length / repeat;
    size_t summed[LOOP_DIMS] = { 0 };
    if (p->tile > 1 && !p->dims[1]) {
        seek(r, kept, summed);
        const char *result = run_tile(r, rows, NULL);
        const size_t row_out = p->out_stride[p->dims[0] - 1];
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < starts; i++)
                batch->put(
                    out, row * row_out + i,
                    batch->sum(repeat, 1, 0, result + (row * p->inner + i * repeat) * element));
        return;
    }
    for (size_t i = 0; i < starts; i++)
        totals[i] = 0;
    size_t tile;
    do {
        seek(r, kept, summed);
        tile = rows_at(p, 1, summed);
        if (p->tile > 1) {
            const char *result = run_tile(r, tile, NULL);
            for (size_t i = 0; i < starts; i++)
                totals[i] += batch->sum(repeat, tile, p->inner, result + i * repeat * element);
            continue;
        }
        for (size_t first = 0; first < length; first += block) {
            const size_t left = p->inner - first, n = left < block ? left : block;
            const char *result = run_block(r, first, n, NULL);
            const size_t end = first + n < length ? first + n : length;
            for (size_t lane = first; lane < end;) {
                const size_t start = lane / repeat, until = (start + 1) * repeat;
                const size_t stop = until < end ? until : end;
                totals[start] += batch->sum(stop - lane, 1, 0, result + (lane - first) * element);
                lane = stop;
            }
        }
    } while (next_index(p, 1, tile, summed));
    for (size_t i = 0; i < starts; i++)
        batch->put(out, i, totals[i]);
}

static void run_lane_sum(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const program_operand *v = &p->operand[0];
    const char *from = resolve(state, v->at);
    state->plan->request->batch->sum_lanes(
        p->dims[0] ? p->length[0][0] : 1, state->lanes[p->lanes_extent],
        from + first * v->feature * state->plan->request->element, v->stride[0][0], out, add);
}

static void run_product_sum(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const size_t element = state->plan->request->element;
    const program_operand *v[2];
    const char *from[2];
    for (int i = 0; i < 2; i++) {
        v[i] = &p->operand[-1 - p->step->source[i]];
        from[i] = (const char *)resolve(state, v[i]->at) + first * v[i]->feature * element;
    }
    size_t kept[LOOP_DIMS] = { 0 };
    do {
        size_t offset[3] = { 0, 0, 0 };
        for (int d = 0; d < p->dims[0]; d++) {
            offset[0] += kept[d] * v[0]->stride[0][d];
            offset[1] += kept[d] * v[1]->stride[0][d];
            offset[2] += kept[d] * p->out_stride[d];
        }
        state->plan->request->batch->sum_products(
            p->inner, p->length[1][0], out + offset[2] * element, from[0] + offset[0] * element,
            from[1] + offset[1] * element, v[1]->mode == OPERAND_ROWS, row_stride(p, v[1]), add);
    } while (next_index(p, 0, 1, kept));
}

void hs__program_run_from(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const hs_plan *plan = state->plan;
    if (p->lane_sum) {
        run_lane_sum(p, state, first, out, add);
        return;
    }
    if (p->product_sum) {
        run_product_sum(p, state, first, out, add);
        return;
    }
    runner r; /* not cleared: its lists are long, and most programs short */
    r.p = p;
    r.plan = plan;
    r.registers = state->scratch;
    r.sum = r.registers + (size_t)p->registers * BLOCK_BYTES;
    r.error = r.sum + BLOCK_BYTES;
    r.joined = r.error + BLOCK_BYTES;
    r.expanded = r.joined + BLOCK_BYTES;
    r.tails = r.expanded + (size_t)p->operands * BLOCK_BYTES;
    for (int k = 0; k < p->operands; k++) {
        r.base[k] = (const char *)resolve(state, p->operand[k].at) +
                    first * p->operand[k].feature * plan->request->element;
        r.expanded_from[k] = NULL;
    }
    const size_t length = p->inner_lanes ? state->lanes[p->lanes_extent] : p->inner;
    size_t kept[LOOP_DIMS] = { 0 }, rows;
    do {
        size_t offset = 0;
        for (int d = 0; d < p->dims[0]; d++)
            offset += kept[d] * p->out_stride[d];
        char *to = out + offset * plan->request->element;
        rows = rows_at(p, 0, kept);
        if (p->inner_starts)
            run_starts(&r, kept, rows, to, length,
                       (double *)(void *)(r.tails + (size_t)p->operands * HS_ALIGN));
        else if (p->inner_summed)
            run_summed(&r, kept, rows, to, length, add);
        else
            run_kept(&r, kept, rows, to, add);
    } while (next_index(p, 0, rows, kept));
}

void hs__program_run(const plan_step *step, run_state *state)
{
    hs__program_run_from(step->as.program, state, 0, resolve(state, step->out), adds(step, state));
}
