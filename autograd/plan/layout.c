/* Fifth pass: how the batch is cut into shards, and where each value is stored. */
#include "plan_internal.h"

#include <math.h>

#include <stdint.h>
#include <string.h>

/* Lanes are padded to whole cache lines; a single lane is not padded, and then vectors run over
 * features. */
static size_t pad_lanes(const hs_plan *plan, size_t lanes)
{
    const size_t line = HS_ALIGN / plan->element;
    return lanes == 1 ? 1 : (lanes + line - 1) / line * line;
}

/* Bytes of `count` features of `stride` numbers each, aligned; false if they cannot be counted. */
static bool value_bytes(const hs_plan *plan, size_t count, size_t stride, size_t *bytes)
{
    if (!hs_size_mul(count, stride, bytes) || !hs_size_mul(*bytes, plan->element, bytes) ||
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

static void needed_by(hs_plan *plan, int32_t id, const plan_node *by)
{
    plan_node *owner = &plan->node[hs__plan_owner(plan, id)];
    const int32_t at = owner->local ? by->rank : by->position;
    if (owner->last < at)
        owner->last = at;
}

static void note_uses(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        const plan_node *node = &plan->node[id];
        if (node->output) /* a view is stored where the view stands in the order */
            needed_by(plan, id, node);
        if (is_unused(node) || node->making == BY_VIEW || node->making == BY_OUTSIDE)
            continue;
        for (int i = 0; i < node->inputs; i++)
            needed_by(plan, node->input[i],
                      node->making == BY_OTHER ? &plan->node[node->host] : node);
    }
}

static void find_lifetimes(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++)
        plan->node[id].last = plan->node[id].position;
    note_uses(plan);
    /* What only steps of the same sweep need; and up to which of them. */
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        node->local = node->in_sweep && node->count == plan->sweep_length &&
                      node->extent != HS_SHARED && !node->output && node->last == node->position;
        if (node->local)
            node->last = node->rank;
    }
    note_uses(plan);
}

/* ---- Memory of a shard ---------------------------------------------------------------------- */

typedef struct {
    size_t offset, end;
    int32_t last;
} live_block;

/* Puts every value of the batch, or every local one, at the lowest offset that is free as long as it is needed. */
static bool place_values(hs_plan *plan, bool local, size_t *total)
{
    live_block *live = hs_alloc((size_t)(plan->nodes + 1) * sizeof *live);
    if (!live)
        return false;
    int32_t blocks = 0; /* sorted by offset */
    bool ok = true;
    *total = 0;
    for (int32_t k = 0; ok && k < plan->nodes; k++) {
        plan_node *node = &plan->node[plan->order[k]];
        if (is_unused(node) || node->making != BY_STEP || node->extent == HS_SHARED ||
            node->local != local)
            continue;
        const int32_t now = local ? node->rank : node->position;
        size_t bytes;
        if (!value_bytes(plan, local ? plan->sweep_chunk : node->count, plan->stride[node->extent],
                         &bytes)) {
            ok = false;
            break;
        }
        int32_t kept = 0;
        for (int32_t i = 0; i < blocks; i++)
            if (live[i].last >= now)
                live[kept++] = live[i];
        blocks = kept;
        size_t offset = 0;
        int32_t place_at = 0;
        while (place_at < blocks && live[place_at].offset - offset < bytes)
            offset = live[place_at++].end;
        memmove(live + place_at + 1, live + place_at, (size_t)(blocks - place_at) * sizeof *live);
        live[place_at] = (live_block){ offset, offset + bytes, node->last };
        blocks++;
        node->at = (place){ local ? IN_CHUNK : IN_SHARD, 0, offset };
        ok = offset <= (size_t)PTRDIFF_MAX - bytes;
        if (ok && *total < offset + bytes)
            *total = offset + bytes;
    }
    hs_free(live);
    return ok;
}

/* ---- Values that are not of the batch ------------------------------------------------------- */

static bool place_shared(hs_plan *plan)
{
    plan->shared_bytes = 0;
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (is_unused(node) || node->extent != HS_SHARED)
            continue;
        if (node->sum >= 0)
            node->at = (place){ IN_SUM, node->sum, 0 };
        else if (node->op == OP_constant || node->making == BY_STEP) {
            node->at = (place){ IN_SHARED, 0, 0 };
            if (!take(plan, node->count, &plan->shared_bytes, &node->at.offset))
                return false;
        }
    }
    return true;
}

static void place_views(hs_plan *plan)
{
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_node *node = &plan->node[id];
        if (is_unused(node) || node->making != BY_VIEW)
            continue;
        const plan_node *host = &plan->node[node->host];
        node->at = host->at;
        if (node->op == OP_slice) {
            size_t features = node->attributes->first;
            for (int i = node->attributes->axis + 1; i < host->shape.rank; i++)
                features *= host->shape.dim[i];
            node->at.offset += features * plan->stride[node->extent] * plan->element;
        }
    }
}

static bool place_sums(hs_plan *plan)
{
    if (!plan->sum) {
        plan->sum = hs_arena_alloc(&plan->arena, (size_t)(plan->sums + 1) * sizeof *plan->sum);
        if (!plan->sum)
            return false;
        memset(plan->sum, 0, (size_t)(plan->sums + 1) * sizeof *plan->sum);
    }
    for (int32_t id = 0; id < plan->nodes; id++)
        if (plan->node[id].sum >= 0 && !is_unused(&plan->node[id]))
            plan->sum[plan->node[id].sum].count = plan->node[id].count;
    plan->sum_bytes = 0;
    for (int32_t i = 0; i < plan->sums; i++)
        if (!take(plan, plan->sum[i].count, &plan->sum_bytes, &plan->sum[i].offset))
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
    MOST_BINS = 8,
    MOST_BIN_BYTES = 64 * 1024 * 1024,
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
    const size_t n = plan->rows_per_start;
    if (n == 1) {
        const size_t apart = plan->starts / CHAINS_LEAST,
                     needed = (plan->starts + ROWS_WANTED - 1) / ROWS_WANTED;
        const size_t shards = needed > 1 || apart < 2 ? needed : 2;
        /* whole halves of cache lines, as products take lanes: those that are not full are the last shard's */
        const size_t half = HS_ALIGN / plan->element / 2;
        const size_t each = ((plan->starts + shards - 1) / shards + half - 1) / half * half;
        return each < plan->starts ? each : plan->starts;
    }
    double least = 1;
    const size_t most = 2 * ROWS_WANTED / n < plan->starts ? 2 * ROWS_WANTED / n : plan->starts;
    for (size_t starts = 1; starts <= most; starts++)
        least = fmin(least, padding_share(plan, starts * n));
    size_t best =
        1; /* the more rows, the fewer calls of kernels, which cost most where networks are small */
    for (size_t starts = 1; starts <= most; starts++)
        if (padding_share(plan, starts * n) <= least + 0.02)
            best = starts;
    /* no larger than as many shards need: of 5 and 3 start points, one thread would wait for the other */
    const size_t shards = (plan->starts + best - 1) / best;
    return (plan->starts + shards - 1) / shards;
}

static bool set_shards(hs_plan *plan, size_t shard_starts)
{
    plan->shard_starts = shard_starts < plan->starts ? shard_starts : plan->starts;
    plan->shards = (plan->starts + plan->shard_starts - 1) / plan->shard_starts;
    plan->stride[HS_SHARED] = 1;
    plan->stride[HS_START] = pad_lanes(plan, plan->shard_starts);
    plan->stride[HS_ROW] = pad_lanes(plan, plan->shard_starts * plan->rows_per_start);
    plan->sweep_chunk = plan->sweep_length ? hs__sweep_choose_chunk(plan) : 0;
    return place_values(plan, false, &plan->shard_bytes) &&
           place_values(plan, true, &plan->chunk_bytes);
}

bool hs__plan_lay_out(hs_plan *plan, size_t shard_starts)
{
    find_lifetimes(plan);
    bool ok = set_shards(plan, shard_starts ? shard_starts : choose_shard_starts(plan));
    while (ok && !shard_starts && plan->shard_starts > 1 &&
           plan->shard_bytes > (plan->shards < FEW_SHARDS ? CACHE_BYTES : MOST_BYTES) &&
           (plan->shard_starts + 1) / 2 * plan->rows_per_start >= ROWS_LEAST)
        ok = set_shards(plan, (plan->shard_starts + 1) / 2);
    if (!ok || !place_sums(plan) || !place_shared(plan))
        return hs__plan_no_memory(plan);
    place_views(plan);
    size_t bins = plan->shards < MOST_BINS ? plan->shards : MOST_BINS;
    while (bins > 2 && plan->sum_bytes > MOST_BIN_BYTES / bins)
        bins /= 2;
    plan->bins = (int)bins;
    return true;
}
