/* Pass `pairs`: layers that are computed together.
 *
 * With one row in the batch, the time of a layer is that of reading its matrix. Two layers with the same matrix, neither
 * of which needs the other, share one reading, such as the layers of a flow's inverse at two points. So steps are
 * put in an order that makes partners meet: a layer whose partner is still to come waits until no other layer can
 * be computed. Loops stay where they are, and steps move between them only. */
#include "passes_internal.h"

/* Candidates times nodes: beyond that, a second or more, there are no pairs. */
static const double most_work = 2e8;

/* A layer with the matrix of another. */
typedef struct {
    int32_t node, matrix;
    int32_t next; /* candidate with the same matrix, round and round */
    bool transposed;
} candidate;

typedef struct {
    const hs_plan *plan;
    const plan_schedule *old; /* the order so far */
    candidate *candidate;     /* in the order of nodes */
    int32_t candidates;
    int32_t *number;       /* of each node among the candidates, or -1 */
    uint64_t *needed;      /* [nodes][words]: a bit for each candidate that a node needs */
    uint64_t *layers_done; /* [words]: a bit for each candidate */
    size_t words;
    bool *done;
    int32_t *order;    /* the new one, */
    int32_t placed;    /* as far as it is known */
    int32_t from, end; /* nodes of the old order, between loops, that are put in order now */
    int32_t *position;
} pair_search;

static bool is_same_matrix(const candidate *a, const candidate *b)
{
    return a->matrix == b->matrix && a->transposed == b->transposed;
}

/* Keeps the layers that share their matrix, and links those that do. */
static void find_candidates(pair_search *s)
{
    int32_t layers = 0;
    for (int32_t i = 0; i < s->plan->graph->nodes; i++) {
        const int32_t id = s->old->order[i];
        plan_layer layer;
        s->number[id] = -1;
        if (!s->old->node[id].in_loop && hs__schedule_layer(s->plan, id, &layer))
            s->candidate[layers++] = (candidate){ id, layer.matrix, -1, layer.transposed };
    }
    for (int32_t i = 0; i < layers; i++) {
        const candidate c = s->candidate[i];
        bool shares = false;
        for (int32_t k = 0; k < layers && !shares; k++)
            shares = (k < s->candidates || k > i) && is_same_matrix(&s->candidate[k], &c);
        if (!shares)
            continue;
        const int32_t number = s->candidates++;
        s->candidate[number] = c;
        s->candidate[number].next = number;
        s->number[c.node] = number;
        for (int32_t k = number - 1; k >= 0; k--)
            if (is_same_matrix(&s->candidate[k], &c)) {
                s->candidate[number].next = s->candidate[k].next;
                s->candidate[k].next = number;
                break;
            }
    }
}

static uint64_t *needed_by(const pair_search *s, int32_t id)
{
    return s->needed + (size_t)id * s->words;
}

static void set_bit(uint64_t *bits, int32_t number)
{
    if (number >= 0)
        bits[number / 64] |= (uint64_t)1 << number % 64;
}

static void find_needed(pair_search *s)
{
    for (int32_t id = 0; id < s->plan->graph->nodes; id++) {
        const graph_node *node = node_at(s->plan, id);
        for (int i = 0; i < node->inputs; i++) {
            for (size_t word = 0; word < s->words; word++)
                needed_by(s, id)[word] |= needed_by(s, node->input[i])[word];
            set_bit(needed_by(s, id), s->number[node->input[i]]);
        }
    }
}

static bool needs_layer(const pair_search *s, int32_t id, int32_t number)
{
    return needed_by(s, id)[number / 64] >> number % 64 & 1;
}

/* Whether a node is computed by a step of its own, or is part of the value of one. Others, which are computed before or
 * after all of these, inside one of them or not at all, may stand anywhere in their order, even before what they need. */
static bool is_step(const pair_search *s, int32_t id)
{
    const graph_node *node = node_at(s->plan, id);
    return node->stage == STAGE_SHARD && s->old->node[id].making != FUSED_INTO && !is_unused(node);
}

/* Whether all that a node needs of other steps is done, also by way of nodes that are computed inside its own. */
static bool has_inputs(const pair_search *s, int32_t id)
{
    const graph_node *node = node_at(s->plan, id);
    for (int i = 0; i < node->inputs; i++) {
        const int32_t in = node->input[i];
        if (s->done[in] || node_at(s->plan, in)->stage != STAGE_SHARD)
            continue;
        if (is_step(s, in) || !has_inputs(s, in))
            return false;
        s->done[in] = true;
    }
    return true;
}

static void put(pair_search *s, int32_t id, bool with_last)
{
    const int32_t at = s->placed++;
    s->order[at] = id;
    s->position[at] = at == 0 ? 0 : s->position[at - 1] + !with_last;
    s->done[id] = is_step(s, id);
    set_bit(s->layers_done, s->number[id]);
}

static bool is_to_do(const pair_search *s, int32_t number)
{
    const int32_t id = s->candidate[number].node, rank = s->old->node[id].rank;
    return rank >= s->from && rank < s->end && !s->done[id];
}

/* Whether a layer needs no candidate that is still to do. */
static bool is_ready(const pair_search *s, int32_t number)
{
    const uint64_t *bits = needed_by(s, s->candidate[number].node);
    for (size_t word = 0; word < s->words; word++)
        if (bits[word] & ~s->layers_done[word])
            return false;
    return true;
}

/* A layer with the matrix of `a` that does not need `a`: one that is ready, or else one that will be; or -1. */
static int32_t partner_of(const pair_search *s, int32_t a, bool *ready)
{
    int32_t later = -1;
    for (int32_t b = s->candidate[a].next; b != a; b = s->candidate[b].next) {
        if (!is_to_do(s, b) || needs_layer(s, s->candidate[b].node, a))
            continue;
        *ready = is_ready(s, b);
        if (*ready)
            return b;
        later = b;
    }
    return later;
}

/* Puts the steps that can be done, of those that stood before `end` in the old order. */
static void put_others(pair_search *s, int32_t end)
{
    for (int32_t i = s->from; i < end; i++) {
        const int32_t id = s->old->order[i];
        if (s->number[id] < 0 && is_step(s, id) && !s->done[id] && has_inputs(s, id))
            put(s, id, false);
    }
}

/* Puts a layer, and before it what it needs; and its partner, if b is one. */
static void put_layer(pair_search *s, int32_t a, int32_t b)
{
    const int32_t id = s->candidate[a].node, partner = b >= 0 ? s->candidate[b].node : id;
    const int32_t rank = s->old->node[id].rank, other = s->old->node[partner].rank;
    put_others(s, rank > other ? rank : other);
    put(s, id, false);
    if (partner != id)
        put(s, partner, true);
}

/* Puts the next layer, with its partner if both are ready; one that may have a partner later only if there is no other. */
static bool put_next(pair_search *s)
{
    int32_t first = -1, single = -1;
    for (int32_t a = 0; a < s->candidates; a++) {
        if (!is_to_do(s, a) || !is_ready(s, a))
            continue;
        bool both = false;
        const int32_t partner = partner_of(s, a, &both);
        if (both) {
            put_layer(s, a, partner);
            return true;
        }
        first = first < 0 ? a : first;
        single = single < 0 && partner < 0 ? a : single;
    }
    if (first >= 0)
        put_layer(s, single >= 0 ? single : first, -1);
    return first >= 0;
}

static void order_stretch(pair_search *s)
{
    for (int32_t i = s->from; i < s->end; i++)
        if (!is_step(s, s->old->order[i]))
            put(s, s->old->order[i], false);
    while (put_next(s))
        ;
    put_others(s, s->end);
}

static void order_all(pair_search *s)
{
    const int32_t nodes = s->plan->graph->nodes;
    for (s->from = 0; s->from < nodes; s->from = s->end) {
        const schedule_node *first = &s->old->node[s->old->order[s->from]];
        for (s->end = s->from; s->end < nodes; s->end++) {
            const int32_t id = s->old->order[s->end];
            const schedule_node *node = &s->old->node[id];
            if (node->in_loop != first->in_loop ||
                (first->in_loop && node->position != first->position))
                break;
            if (first->in_loop)
                put(s, id, s->end > s->from);
        }
        if (!first->in_loop)
            order_stretch(s);
    }
}

static bool allocate(pair_search *s, size_t nodes)
{
    s->candidate = hs__pass_alloc(s->plan, nodes, sizeof *s->candidate);
    s->number = hs__pass_alloc(s->plan, nodes, sizeof *s->number);
    s->done = hs__pass_alloc(s->plan, nodes, sizeof *s->done);
    s->order = hs__pass_alloc(s->plan, nodes, sizeof *s->order);
    s->position = hs__pass_alloc(s->plan, nodes, sizeof *s->position);
    return s->candidate && s->number && s->done && s->order && s->position;
}

static bool allocate_bits(pair_search *s, size_t nodes)
{
    s->words = ((size_t)s->candidates + 63) / 64;
    s->needed = hs__pass_alloc(s->plan, nodes, s->words * sizeof *s->needed);
    s->layers_done = hs__pass_alloc(s->plan, s->words, sizeof *s->layers_done);
    return s->needed && s->layers_done;
}

bool hs__schedule_pairs(const hs_plan *plan, plan_schedule *schedule)
{
    if (plan->request->starts * plan->request->rows_per_start > 1)
        return true;
    const int32_t nodes = plan->graph->nodes;
    pair_search s = { .plan = plan, .old = schedule };
    if (!allocate(&s, (size_t)nodes + 1))
        return hs__plan_no_memory(plan);
    find_candidates(&s);
    if (!s.candidates || (double)s.candidates * (double)nodes >= most_work)
        return true;
    if (!allocate_bits(&s, (size_t)nodes))
        return hs__plan_no_memory(plan);
    find_needed(&s);
    order_all(&s);
    /* Anything that never became ready would be left out: better no pairs than that. */
    for (int32_t i = 0; s.placed == nodes && i < nodes; i++) {
        schedule->order[i] = s.order[i];
        schedule->node[s.order[i]].rank = i;
        schedule->node[s.order[i]].position = s.position[i];
    }
    return true;
}
