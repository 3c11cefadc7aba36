/* Pass `layout`: how the batch is cut into shards, and where each value is stored. */
#include "passes_internal.h"

#include <math.h>

#include <stdint.h>
#include <string.h>

/* Lanes are padded to whole cache lines; a single lane is not padded, and then vectors run over
 * features. */
static size_t pad_lanes(const hs_plan *plan, size_t lanes)
{
    const size_t line = HS_ALIGN / plan->request->element;
    return lanes == 1 ? 1 : (lanes + line - 1) / line * line;
}

/* Bytes of `count` features of `stride` numbers each, aligned; false if they cannot be counted. */
static bool value_bytes(const hs_plan *plan, size_t count, size_t stride, size_t *bytes)
{
    if (!hs_size_mul(count, stride, bytes) || !hs_size_mul(*bytes, plan->request->element, bytes) ||
        *bytes > (size_t)PTRDIFF_MAX - HS_ALIGN)
        return false;
    *bytes = hs_align_up(*bytes);
    return true;
}

/* Takes `count` numbers at the end of a block of *total bytes, and says where they are. */
static bool take(const hs_plan *plan, size_t count, size_t *total, size_t *offset)
{
    size_t bytes;
    if (!value_bytes(plan, count, 1, &bytes) || *total > (size_t)PTRDIFF_MAX - bytes)
        return false;
    *offset = *total;
    *total += bytes;
    return true;
}

/* ---- Lifetimes ---------------------------------------------------------------------------- */

static void needed_by(const hs_plan *plan, plan_layout *layout, int32_t id, const schedule_node *by)
{
    layout_node *owner = &layout->node[hs__schedule_owner(plan->schedule, id)];
    const int32_t at = owner->local ? by->rank : by->position;
    if (owner->last_use < at)
        owner->last_use = at;
}

static void note_uses(const hs_plan *plan, plan_layout *layout)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        if (node->output) /* a view is stored where the view stands in the order */
            needed_by(plan, layout, id, s);
        if (is_unused(node) || s->making == VIEW_OF || s->making == OUTSIDE)
            continue;
        for (int i = 0; i < node->inputs; i++)
            needed_by(plan, layout, node->input[i],
                      s->making == FUSED_INTO ? scheduled(plan, s->host) : s);
    }
}

static void find_lifetimes(const hs_plan *plan, plan_layout *layout)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        layout->node[id] = (layout_node){ .last_use = scheduled(plan, id)->position };
    note_uses(plan, layout);
    /* Values that only steps of the same loop need; and up to which of them. */
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        layout_node *l = &layout->node[id];
        l->local = s->in_loop && node->count == plan->schedule->loop_length &&
                   node->extent != HS_SHARED && !node->output && l->last_use == s->position;
        if (l->local)
            l->last_use = s->rank;
    }
    note_uses(plan, layout);
}

/* ---- Memory of a shard ---------------------------------------------------------------------- */

/* A run of bytes; as a value's block, in a list of those that end at one time. */
typedef struct {
    size_t offset, end;
    int32_t next;
} byte_run;

/* The free bytes of a workspace, and the blocks in use. */
typedef struct {
    byte_run *gap; /* by offset; the last has no end */
    byte_run *block;
    int32_t *ending; /* for each time, the first of the blocks whose last use it is, or -1 */
    int32_t gaps, blocks, now;
} free_space;

static bool open_space(free_space *f, size_t nodes)
{
    *f = (free_space){ .gap = hs_alloc((nodes + 1) * sizeof *f->gap),
                       .block = hs_alloc(nodes * sizeof *f->block),
                       .ending = hs_alloc(nodes * sizeof *f->ending),
                       .gaps = 1 };
    if (!f->gap || !f->block || !f->ending)
        return false;
    f->gap[0] = (byte_run){ 0, SIZE_MAX, -1 };
    memset(f->ending, -1, nodes * sizeof *f->ending);
    return true;
}

static void close_space(free_space *f)
{
    hs_free(f->gap);
    hs_free(f->block);
    hs_free(f->ending);
}

/* Frees a block, and joins it with the gaps around it. */
static void add_gap(free_space *f, size_t offset, size_t end)
{
    int32_t low = 0, high = f->gaps - 1; /* the last gap is always behind */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (f->gap[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    byte_run *after = &f->gap[low];
    const bool joins_before = low > 0 && after[-1].end == offset,
               joins_after = after->offset == end;
    const size_t behind = (size_t)(f->gaps - low);
    if (joins_before && joins_after) {
        after[-1].end = after->end;
        memmove(after, after + 1, (behind - 1) * sizeof *after);
        f->gaps--;
    } else if (joins_before) {
        after[-1].end = end;
    } else if (joins_after) {
        after->offset = offset;
    } else {
        memmove(after + 1, after, behind * sizeof *after);
        *after = (byte_run){ offset, end, -1 };
        f->gaps++;
    }
}

/* Takes the lowest free bytes from `now` until `last_use`; returns where they begin. */
static size_t take_block(free_space *f, size_t bytes, int32_t now, int32_t last_use)
{
    for (; f->now < now; f->now++)
        for (int32_t i = f->ending[f->now]; i >= 0; i = f->block[i].next)
            add_gap(f, f->block[i].offset, f->block[i].end);
    byte_run *gap = f->gap;
    while (gap->end - gap->offset < bytes)
        gap++;
    const size_t offset = gap->offset;
    gap->offset += bytes;
    if (gap->offset == gap->end) {
        memmove(gap, gap + 1, (size_t)(f->gap + f->gaps - 1 - gap) * sizeof *gap);
        f->gaps--;
    }
    f->block[f->blocks] = (byte_run){ offset, offset + bytes, f->ending[last_use] };
    f->ending[last_use] = f->blocks++;
    return offset;
}

/* Puts every value of the batch, or every local one, at the lowest offset that is free as long as it is needed. */
static bool place_values(const hs_plan *plan, plan_layout *layout, bool local, size_t *total)
{
    free_space space;
    bool ok = open_space(&space, (size_t)plan->graph->nodes + 1);
    *total = 0;
    for (int32_t k = 0; ok && k < plan->graph->nodes; k++) {
        const int32_t id = plan->schedule->order[k];
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        layout_node *l = &layout->node[id];
        size_t bytes;
        if (is_unused(node) || s->making != BY_STEP || node->extent == HS_SHARED ||
            l->local != local)
            continue;
        ok = value_bytes(plan, local ? layout->loop_chunk : node->count,
                         layout->stride[node->extent], &bytes);
        if (!ok)
            break;
        const size_t offset = take_block(&space, bytes, local ? s->rank : s->position, l->last_use);
        l->at = (place){ local ? IN_CHUNK : IN_SHARD, 0, offset };
        ok = offset <= (size_t)PTRDIFF_MAX - bytes;
        if (ok && *total < offset + bytes)
            *total = offset + bytes;
    }
    close_space(&space);
    return ok;
}

/* ---- Values that are not of the batch ------------------------------------------------------- */

static bool place_shared(const hs_plan *plan, plan_layout *layout)
{
    layout->shared_bytes = 0;
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        place *at = &layout->node[id].at;
        if (node->outside >= 0 && s->making == OUTSIDE)
            *at = outside_place(node);
        if (is_unused(node) || node->extent != HS_SHARED)
            continue;
        if (s->sum >= 0)
            *at = (place){ IN_SUM, s->sum, 0 };
        else if (node->op == OP_constant || s->making == BY_STEP) {
            *at = (place){ IN_SHARED, 0, 0 };
            if (!take(plan, node->count, &layout->shared_bytes, &at->offset))
                return false;
        }
    }
    return true;
}

static void place_views(const hs_plan *plan, plan_layout *layout)
{
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        place *at = &layout->node[id].at;
        if (is_unused(node) || s->making != VIEW_OF)
            continue;
        const graph_node *host = node_at(plan, s->host);
        *at = layout->node[s->host].at;
        if (node->op == OP_slice) {
            size_t features = node->attributes->first;
            for (int i = node->attributes->axis + 1; i < host->shape.rank; i++)
                features *= host->shape.dim[i];
            at->offset += features * layout->stride[node->extent] * plan->request->element;
        }
    }
}

static bool count_sums(const hs_plan *plan, plan_layout *layout)
{
    const int32_t sums = plan->schedule->sums;
    layout->sum_count = hs_arena_alloc(plan->arena, (size_t)(sums + 1) * sizeof(size_t));
    if (!layout->sum_count)
        return false;
    for (int32_t i = 0; i < sums; i++)
        layout->sum_count[i] = 0; /* a merged sum stays empty */
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        if (scheduled(plan, id)->sum >= 0 && !is_unused(node_at(plan, id)))
            layout->sum_count[scheduled(plan, id)->sum] = node_at(plan, id)->count;
    layout->sum_bytes = 0;
    size_t offset;
    for (int32_t i = 0; i < sums; i++)
        if (!take(plan, layout->sum_count[i], &layout->sum_bytes, &offset))
            return false;
    return true;
}

/* ---- The cut -------------------------------------------------------------------------------- */

enum {
    ROWS_WANTED = 256, /* enough to fill the tiles of products */
    ROWS_LEAST = 64,
    CHAINS_LEAST = 48, /* as many are worth a thread of their own, though vectors are less full */
    /* Values of a shard: beyond the first bound it is cut while there are few others, beyond the second in any case.
     * Full vectors and long sums are worth more than values that stay in the second-level cache, and threads more than
     * both: docs/performance.md. */
    CACHE_BYTES = 6 * 1024 * 1024,
    MOST_BYTES = 24 * 1024 * 1024,
    FEW_SHARDS = 4,
    MOST_ACCUMULATORS = 8,
    MOST_SUM_BYTES = 64 * 1024 * 1024,
};

static double padding_share(const hs_plan *plan, size_t rows)
{
    const size_t padded = pad_lanes(plan, rows);
    return (double)(padded - rows) / (double)padded;
}

/* Start points in a shard, at most: if its values do not fit into a cache, it is cut further, down to one, where
 * values of the start are plain vectors, the same for all lanes. The answer depends on the problem, never on the
 * threads. */
static size_t choose_shard_starts(const hs_plan *plan)
{
    const size_t n = plan->request->rows_per_start;
    if (n == 1) {
        const size_t apart = plan->request->starts / CHAINS_LEAST,
                     needed = (plan->request->starts + ROWS_WANTED - 1) / ROWS_WANTED;
        const size_t shards = needed > 1 || apart < 2 ? needed : 2;
        /* whole halves of cache lines, as products take lanes: those that are not full are the last shard's */
        const size_t half = HS_ALIGN / plan->request->element / 2;
        const size_t each =
            ((plan->request->starts + shards - 1) / shards + half - 1) / half * half;
        return each < plan->request->starts ? each : plan->request->starts;
    }
    double least = 1;
    const size_t most =
        2 * ROWS_WANTED / n < plan->request->starts ? 2 * ROWS_WANTED / n : plan->request->starts;
    for (size_t starts = 1; starts <= most; starts++)
        least = fmin(least, padding_share(plan, starts * n));
    size_t best =
        1; /* the more rows, the fewer calls of kernels, which cost most where networks are small */
    for (size_t starts = 1; starts <= most; starts++)
        if (padding_share(plan, starts * n) <= least + 0.02)
            best = starts;
    /* no larger than as many shards need: of 5 and 3 start points, one thread would wait for the other */
    const size_t shards = (plan->request->starts + best - 1) / best;
    return (plan->request->starts + shards - 1) / shards;
}

static bool set_shards(const hs_plan *plan, plan_layout *layout, size_t shard_starts)
{
    const plan_request *request = plan->request;
    layout->shard_starts = shard_starts < request->starts ? shard_starts : request->starts;
    layout->shards = (request->starts + layout->shard_starts - 1) / layout->shard_starts;
    layout->stride[HS_SHARED] = 1;
    layout->stride[HS_START] = pad_lanes(plan, layout->shard_starts);
    layout->stride[HS_ROW] = pad_lanes(plan, layout->shard_starts * request->rows_per_start);
    layout->loop_chunk = plan->schedule->loop_length ? hs__loop_choose_chunk(plan, layout) : 0;
    return place_values(plan, layout, false, &layout->shard_bytes) &&
           place_values(plan, layout, true, &layout->chunk_bytes);
}

bool hs__layout_make(const hs_plan *plan, plan_layout *layout)
{
    const size_t wanted = plan->request->shard_starts;
    layout->node =
        hs_arena_alloc(plan->arena, ((size_t)plan->graph->nodes + 1) * sizeof *layout->node);
    if (!layout->node)
        return hs__plan_no_memory(plan);
    find_lifetimes(plan, layout);
    bool ok = set_shards(plan, layout, wanted ? wanted : choose_shard_starts(plan));
    while (ok && !wanted && layout->shard_starts > 1 &&
           layout->shard_bytes > (layout->shards < FEW_SHARDS ? CACHE_BYTES : MOST_BYTES) &&
           (layout->shard_starts + 1) / 2 * plan->request->rows_per_start >= ROWS_LEAST)
        ok = set_shards(plan, layout, (layout->shard_starts + 1) / 2);
    if (!ok || !count_sums(plan, layout) || !place_shared(plan, layout))
        return hs__plan_no_memory(plan);
    place_views(plan, layout);
    size_t accumulators = layout->shards < MOST_ACCUMULATORS ? layout->shards : MOST_ACCUMULATORS;
    while (accumulators > 2 && layout->sum_bytes > MOST_SUM_BYTES / accumulators)
        accumulators /= 2;
    layout->accumulators = (int)accumulators;
    return true;
}
