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
    const plan_request *request;
    const batch_kernels *batch;
    size_t element, block; /* bytes of a number, numbers of a block */
    char *registers, *sum, *error, *joined, *expanded, *tails;
    const char *base[MAX_OPERANDS]; /* of the operands */
    const char *now[MAX_OPERANDS];  /* at the present outer indices */
    /* Tiles: what the expanded block of an operand was made from, and for how many rows. */
    const char *expanded_from[MAX_OPERANDS];
    size_t expanded_rows[MAX_OPERANDS];
} runner;

static char *register_at(const runner *r, int i, size_t offset)
{
    return r->registers + (size_t)i * BLOCK_BYTES + offset;
}

/* Runs the steps for n numbers, a whole number of vectors. Operands are read at `at`; the last
 * result goes to `result` unless that is NULL. Returns where the result is. */
static const char *run_steps(const runner *r, size_t n, const char *const *at, size_t offset,
                             char *result)
{
    const program *p = r->p;
    for (int s = 0; s < p->steps; s++) {
        const program_step *step = &p->step[s];
        const void *source[3] = { NULL, NULL, NULL };
        for (int i = 0; i < hs__op_table[step->op].arity; i++)
            source[i] = step->source[i] >= 0 ? register_at(r, step->source[i], offset)
                                             : at[-1 - step->source[i]];
        char *to = s == p->steps - 1 && result ? result : register_at(r, step->result, offset);
        r->request->elementwise->op[step->op](n, to, source[0], source[1], source[2], step->scalars,
                                              step->order);
    }
    if (p->result < 0)
        return at[-1 - p->result];
    return p->steps && result ? result : register_at(r, p->result, offset);
}

/* Computes numbers first .. first+n-1 of the inner dimension. If `out` is given they are stored
 * there; the result is also where the return value points, readable up to whole vectors. */
static const char *run_block(runner *r, size_t first, size_t n, char *out)
{
    const program *p = r->p;
    const size_t element = r->element, lanes = r->request->elementwise->lanes;
    const char *at[MAX_OPERANDS];
    for (int k = 0; k < p->operands; k++) {
        const program_operand *operand = &p->operand[k];
        at[k] = r->now[k];
        if (operand->mode == OPERAND_VECTOR)
            at[k] += first * element;
        if (operand->mode == OPERAND_EXPAND) {
            char *wide = r->expanded + (size_t)k * BLOCK_BYTES;
            r->batch->expand(first, n, wide, r->now[k], operand->repeat);
            at[k] = wide;
        }
    }
    const size_t whole = n / lanes * lanes, rest = n - whole;
    if (rest == 0)
        return run_steps(r, n, at, 0, out);
    const char *result = whole ? run_steps(r, whole, at, 0, out) : NULL;
    /* The rest does not fill a vector: it goes through copies that do. */
    for (int k = 0; k < p->operands; k++)
        if (p->operand[k].mode != OPERAND_SCALAR) {
            char *tail = r->tails + (size_t)k * HS_ALIGN;
            at[k] = memcpy(tail, at[k] + whole * element, rest * element);
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
    const size_t n = p->inner;
    const char *at[MAX_OPERANDS];
    for (int k = 0; k < p->operands; k++) {
        const program_operand *operand = &p->operand[k];
        const size_t stride = row_stride(p, operand);
        const char *from = at[k] = r->now[k];
        if (operand->mode == OPERAND_SCALAR || is_whole(p, operand))
            continue;
        char *wide = r->expanded + (size_t)k * BLOCK_BYTES;
        at[k] = wide;
        if (r->expanded_from[k] == from && rows <= r->expanded_rows[k])
            continue; /* the same for all rows, as in the tile before */
        r->expanded_from[k] = stride ? NULL : from;
        r->expanded_rows[k] = rows;
        if (operand->mode == OPERAND_ROWS) {
            r->batch->expand_rows(rows, n, wide, from, stride);
            continue;
        }
        for (size_t row = 0; row < rows; row++, wide += n * r->element, from += stride * r->element)
            if (operand->mode == OPERAND_VECTOR)
                memcpy(wide, from, n * r->element);
            else
                r->batch->expand(0, n, wide, from, operand->repeat);
    }
    return run_steps(r, rows * n, at, 0, out);
}

/* Computes numbers first .. first+n-1 of a row, or of each row of a tile. */
static const char *compute(runner *r, size_t rows, size_t first, size_t n, char *out)
{
    return r->p->tile > 1 ? run_tile(r, rows, out) + first * r->element
                          : run_block(r, first, n, out);
}

/* Rows of the tile at an index, if a loop that is summed, or kept, goes from tile to tile. */
static size_t rows_at(const program *p, bool summed, const size_t *index)
{
    const int d = p->row_dim;
    return p->tile == 1 || p->summed[d] != summed ? 1 : least(p->length[d] - index[d], p->tile);
}

/* Advances the indices of the loops that are summed, or kept, a mixed-radix counter, by a number of rows; false after
 * the last. */
static bool next_index(const program *p, bool summed, size_t rows, size_t *index)
{
    for (int d = p->dims - 1; d >= 0; d--) {
        if (p->summed[d] != summed)
            continue;
        index[d] += rows;
        if (index[d] < p->length[d])
            return true;
        index[d] = 0;
        rows = 1;
    }
    return false;
}

/* Where the indices are, in bytes. */
static size_t offset_of(const program *p, const size_t *index, const size_t *stride, size_t element)
{
    size_t offset = 0;
    for (int d = 0; d < p->dims; d++)
        offset += index[d] * stride[d];
    return offset * element;
}

static void seek(runner *r, const size_t *index)
{
    const program *p = r->p;
    for (int k = 0; k < p->operands; k++)
        r->now[k] = r->base[k] + offset_of(p, index, p->operand[k].stride, r->element);
}

/* Distance between the results of neighbouring rows of a tile. */
static size_t row_out(const program *p)
{
    return p->row_dim < 0 ? 0 : p->out[p->row_dim];
}

/* Nothing is summed: stores the results, block by block. */
static void run_plain(runner *r, const size_t *index, size_t rows, char *out, bool add)
{
    const program *p = r->p;
    const size_t row = row_out(p) * r->element;
    seek(r, index);
    for (size_t first = 0; first < p->inner; first += r->block, out += r->block * r->element) {
        const size_t n = least(p->inner - first, r->block), bytes = n * r->element;
        const bool direct = !add && p->steps && (rows == 1 || row == bytes);
        const char *result = compute(r, rows, first, n, direct ? out : NULL);
        for (size_t i = 0; !direct && i < rows; i++)
            if (add)
                r->batch->add(n, out + i * row, result + i * bytes);
            else
                memcpy(out + i * row, result + i * bytes, bytes);
    }
}

/* Outer dimensions are summed: block by block of the inner one. */
static void run_outer_sum(runner *r, size_t *index, char *out, bool add)
{
    const program *p = r->p;
    const size_t lanes = r->request->elementwise->lanes;
    size_t rows;
    for (size_t first = 0; first < p->inner; first += r->block, out += r->block * r->element) {
        const size_t n = least(p->inner - first, r->block);
        const size_t padded = (n + lanes - 1) / lanes * lanes;
        memset(r->sum, 0, padded * r->element);
        memset(r->error, 0, padded * r->element);
        do {
            seek(r, index);
            rows = rows_at(p, true, index);
            const char *result = compute(r, rows, first, n, NULL);
            if (p->sum_softplus)
                r->batch->add_softplus(padded, rows, p->inner, r->sum, r->error, result,
                                       p->sigmoid < 0 ? NULL
                                                      : r->now[p->sigmoid] + first * r->element);
            else
                r->batch->add_compensated(padded, rows, r->sum, r->error, result);
        } while (next_index(p, true, rows, index));
        if (add)
            r->batch->add(n, out, r->sum);
        else
            memcpy(out, r->sum, n * r->element);
    }
}

/* The inner dimension is summed, up to its true length, in parts of `each` numbers with a total of their own; for each
 * of `rows` rows that are kept. */
static void run_inner_sum(runner *r, size_t *index, size_t rows, char *out, size_t length,
                          size_t each, double *total, bool add)
{
    const program *p = r->p;
    const batch_kernels *batch = r->batch;
    double (*const sum)(size_t, size_t, size_t, const void *) =
        p->sum_softplus ? batch->sum_softplus : batch->sum;
    const size_t parts = length / each;
    size_t tile;
    if (p->tile > 1 && !sums_outside(p)) {
        seek(r, index);
        const char *result = run_tile(r, rows, NULL);
        for (size_t row = 0; row < rows; row++, result += p->inner * r->element)
            for (size_t i = 0; i < parts; i++) {
                const size_t to = row * row_out(p) + i;
                const double part = sum(each, 1, 0, result + i * each * r->element);
                batch->put(out, to, part + (add ? batch->get(out, to) : 0));
            }
        return;
    }
    for (size_t i = 0; i < parts; i++)
        total[i] = add ? batch->get(out, i) : 0;
    do {
        seek(r, index);
        tile = rows_at(p, true, index);
        for (size_t first = 0; first < length; first += r->block) {
            const size_t n = least(p->inner - first, r->block), end = least(first + n, length);
            const char *result = compute(r, tile, first, n, NULL);
            for (size_t at = first, stop; at < end; at = stop) {
                const size_t part = at / each;
                stop = least((part + 1) * each, end);
                total[part] += sum(stop - at, tile, p->inner, result + (at - first) * r->element);
            }
        }
    } while (next_index(p, true, tile, index));
    for (size_t i = 0; i < parts; i++)
        batch->put(out, i, total[i]);
}

static void run_lane_sum(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const program_operand *v = &p->operand[0];
    state->plan->request->batch->sum_lanes(p->dims ? p->length[0] : 1,
                                           state->lanes[p->lanes_extent],
                                           operand_from(state, v, first), v->stride[0], out, add);
}

static void run_product_sum(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const plan_request *request = state->plan->request;
    const program_operand *a = &p->operand[-1 - p->step->source[0]],
                          *b = &p->operand[-1 - p->step->source[1]];
    const char *from_a = operand_from(state, a, first), *from_b = operand_from(state, b, first);
    const size_t element = request->element;
    size_t index[LOOP_DIMS] = { 0 };
    do {
        request->batch->sum_products(p->inner, p->length[p->row_dim],
                                     out + offset_of(p, index, p->out, element),
                                     from_a + offset_of(p, index, a->stride, element),
                                     from_b + offset_of(p, index, b->stride, element),
                                     b->mode == OPERAND_ROWS, row_stride(p, b), add);
    } while (next_index(p, false, 1, index));
}

static void run_loops(const program *p, run_state *state, size_t first, char *out, bool add)
{
    const plan_request *request = state->plan->request;
    runner r; /* not cleared: its lists are long, and most programs short */
    r.p = p;
    r.request = request;
    r.batch = request->batch;
    r.element = request->element;
    r.block = BLOCK_BYTES / request->element;
    r.registers = state->scratch;
    r.sum = register_at(&r, p->registers, 0);
    r.error = r.sum + BLOCK_BYTES;
    r.joined = r.error + BLOCK_BYTES;
    r.expanded = r.joined + BLOCK_BYTES;
    r.tails = r.expanded + (size_t)p->operands * BLOCK_BYTES;
    for (int k = 0; k < p->operands; k++) {
        r.base[k] = operand_from(state, &p->operand[k], first);
        r.expanded_from[k] = NULL;
    }
    const size_t length = p->inner_lanes ? state->lanes[p->lanes_extent] : p->inner;
    char *const starts = r.tails + (size_t)p->operands * HS_ALIGN; /* a total for each */
    double one;
    size_t index[LOOP_DIMS] = { 0 }, rows;
    do {
        char *to = out + offset_of(p, index, p->out, r.element);
        rows = rows_at(p, false, index);
        if (p->inner_starts)
            run_inner_sum(&r, index, rows, to, length, request->rows_per_start,
                          (double *)(void *)starts, add);
        else if (p->inner_summed)
            run_inner_sum(&r, index, rows, to, length, length, &one, add);
        else if (sums_outside(p))
            run_outer_sum(&r, index, to, add);
        else
            run_plain(&r, index, rows, to, add);
    } while (next_index(p, false, rows, index));
}

void hs__program_run_from(const program *p, run_state *state, size_t first, char *out, bool add)
{
    if (p->lane_sum)
        run_lane_sum(p, state, first, out, add);
    else if (p->product_sum)
        run_product_sum(p, state, first, out, add);
    else
        run_loops(p, state, first, out, add);
}

void hs__program_run(const plan_step *step, run_state *state)
{
    hs__program_run_from(step->as.program, state, 0, resolve(state, step->out), adds(step, state));
}
