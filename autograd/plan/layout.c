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
    return lanes == 1 ? 1 : times_to_cover(lanes, line) * line;
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

static void remove_gap(free_space *f, byte_run *gap)
{
    f->gaps--;
    memmove(gap, gap + 1, (size_t)(f->gap + f->gaps - gap) * sizeof *gap);
}

/* Frees a block, and joins it with the gaps around it. */
static void add_gap(free_space *f, size_t offset, size_t end)
{
    byte_run *gap = f->gap; /* the last is always behind */
    while (gap->offset < offset)
        gap++;
    if (gap->offset == end) {
        gap->offset = offset;
    } else {
        memmove(gap + 1, gap, (size_t)(f->gap + f->gaps - gap) * sizeof *gap);
        *gap = (byte_run){ offset, end, -1 };
        f->gaps++;
    }
    if (gap > f->gap && gap[-1].end == offset) {
        gap[-1].end = gap->end;
        remove_gap(f, gap);
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
    if (gap->offset == gap->end)
        remove_gap(f, gap);
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
    hs_free(space.gap);
    hs_free(space.block);
    hs_free(space.ending);
    return ok;
}

/* ---- Values that are not of the batch, and views -------------------------------------------- */

/* The place of a view: its host's, and further features if it is a slice. */
static place place_in_host(const hs_plan *plan, const plan_layout *layout, int32_t id)
{
    const graph_node *node = node_at(plan, id);
    const int32_t host = scheduled(plan, id)->host;
    const hs_shape *shape = &node_at(plan, host)->shape;
    place at = layout->node[host].at;
    if (node->op == OP_slice) {
        size_t features = node->attributes->first;
        for (int i = node->attributes->axis + 1; i < shape->rank; i++)
            features *= shape->dim[i];
        at.offset += features * layout->stride[node->extent] * plan->request->element;
    }
    return at;
}

static bool place_others(const hs_plan *plan, plan_layout *layout)
{
    const size_t sums = (size_t)plan->schedule->sums;
    layout->shared_bytes = layout->sum_bytes = 0;
    layout->sum_count = hs__plan_alloc(plan, sums, sizeof *layout->sum_count);
    if (!layout->sum_count)
        return false;
    for (int32_t id = 0; id < plan->graph->nodes; id++) {
        const graph_node *node = node_at(plan, id);
        const schedule_node *s = scheduled(plan, id);
        place *at = &layout->node[id].at;
        if (is_unused(node))
            continue;
        if (s->making == VIEW_OF) {
            *at = place_in_host(plan, layout, id);
        } else if (s->sum >= 0) {
            *at = (place){ IN_SUM, s->sum, 0 };
            layout->sum_count[s->sum] = node->count;
        } else if (s->making == OUTSIDE && node->op != OP_constant) {
            *at = outside_place(node);
        } else if (node->extent == HS_SHARED && (s->making == BY_STEP || node->op == OP_constant)) {
            *at = (place){ IN_SHARED, 0, 0 };
            if (!take(plan, node->count, &layout->shared_bytes, &at->offset))
                return false;
        }
    }
    size_t offset;
    for (size_t i = 0; i < sums; i++)
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
    const size_t n = plan->request->rows_per_start, all = plan->request->starts;
    if (n == 1) {
        const size_t needed = times_to_cover(all, ROWS_WANTED);
        const size_t shards = needed > 1 || all < 2 * CHAINS_LEAST ? needed : 2;
        /* Whole halves of cache lines, as products take lanes: those that are not full are the last shard's. */
        const size_t half = HS_ALIGN / plan->request->element / 2;
        return least(times_to_cover(times_to_cover(all, shards), half) * half, all);
    }
    const size_t most = least(2 * ROWS_WANTED / n, all);
    double padding = 1;
    for (size_t starts = 1; starts <= most; starts++)
        padding = fmin(padding, padding_share(plan, starts * n));
    /* The more rows, the fewer calls of kernels, which cost most where networks are small. */
    size_t best = 1;
    for (size_t starts = 1; starts <= most; starts++)
        if (padding_share(plan, starts * n) <= padding + 0.02)
            best = starts;
    /* No larger than as many shards need: of 5 and 3 start points, one thread would wait for the other. */
    return times_to_cover(all, times_to_cover(all, best));
}

static bool set_shards(const hs_plan *plan, plan_layout *layout, size_t shard_starts)
{
    const plan_request *request = plan->request;
    layout->shard_starts = least(shard_starts, request->starts);
    layout->shards = times_to_cover(request->starts, layout->shard_starts);
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
    layout->node = hs__plan_alloc(plan, (size_t)plan->graph->nodes, sizeof *layout->node);
    if (!layout->node)
        return false;
    find_lifetimes(plan, layout);
    bool ok = set_shards(plan, layout, wanted ? wanted : choose_shard_starts(plan));
    while (ok && !wanted && layout->shard_starts > 1 &&
           layout->shard_bytes > (layout->shards < FEW_SHARDS ? CACHE_BYTES : MOST_BYTES) &&
           (layout->shard_starts + 1) / 2 * plan->request->rows_per_start >= ROWS_LEAST)
        ok = set_shards(plan, layout, (layout->shard_starts + 1) / 2);
    if (!ok || !place_others(plan, layout))
        return hs__plan_no_memory(plan);
    size_t accumulators = least(layout->shards, MOST_ACCUMULATORS);
    while (accumulators > 2 && layout->sum_bytes > MOST_SUM_BYTES / accumulators)
        accumulators /= 2;
    layout->accumulators = (int)accumulators;
    return true;
}
