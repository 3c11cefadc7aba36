/* Fourth pass: which layers are computed together.
 *
 * With one row in the batch, the time of a layer is that of reading its matrix. Two layers with the same matrix, neither
 * of which needs the other, share one reading: twins, such as the layers of a flow's inverse at two points. So steps are
 * put in an order that makes twins meet: layers wait until nothing else can be done, and a layer whose twin is still to
 * come is the last that is taken. Sweeps stay where they are, and steps move between them only. */
#include "plan_internal.h"

#include <string.h>

/* A layer with the matrix of another. */
typedef struct {
    int32_t node, matrix;
    bool transposed;
} candidate;

typedef struct {
    hs_plan *plan;
    candidate *candidate;
    int32_t candidates;
    int32_t *number;  /* of each node among the candidates, or -1 */
    uint64_t *needed; /* [nodes][words]: a bit for each candidate that a node needs */
    size_t words;
    bool *done;
    int32_t *order; /* the new one, */
    int32_t placed; /* as far as it is known */
    int32_t *position;
} twin_search;

static bool is_same_matrix(const candidate *a, const candidate *b)
{
    return a->matrix == b->matrix && a->transposed == b->transposed;
}

static void find_candidates(twin_search *s)
{
    const hs_plan *plan = s->plan;
    int32_t layers = 0;
    for (int32_t id = 0; id < plan->nodes; id++) {
        plan_layer layer;
        s->number[id] = -1;
        if (!plan->node[id].in_sweep && plan_layer_of(plan, id, &layer))
            s->candidate[layers++] = (candidate){ id, layer.matrix, layer.transposed };
    }
    for (int32_t i = 0; i < layers; i++) {
        bool shares = false;
        for (int32_t k = 0; k < layers && !shares; k++)
            shares = k != i && is_same_matrix(&s->candidate[i], &s->candidate[k]);
        if (shares)
            s->number[s->candidate[i].node] = s->candidates++;
    }
    for (int32_t i = 0; i < layers; i++)
        if (s->number[s->candidate[i].node] >= 0)
            s->candidate[s->number[s->candidate[i].node]] = s->candidate[i];
}

static void find_needed(twin_search *s)
{
    for (int32_t id = 0; id < s->plan->nodes; id++) {
        const plan_node *node = &s->plan->node[id];
        uint64_t *bits = s->needed + (size_t)id * s->words;
        for (int i = 0; i < node->inputs; i++)
            for (size_t word = 0; word < s->words; word++)
                bits[word] |= s->needed[(size_t)node->input[i] * s->words + word];
        if (s->number[id] >= 0)
            bits[s->number[id] / 64] |= (uint64_t)1 << s->number[id] % 64;
    }
}

static bool needs_layer(const twin_search *s, int32_t id, int32_t number)
{
    return s->needed[(size_t)id * s->words + (size_t)number / 64] >> number % 64 & 1;
}

/* What is computed before or after all of these steps, inside one of them or not at all may stand anywhere in their order,
 * and may stand before what it needs. */
static bool is_step(const plan_node *node)
{
    return node->stage == STAGE_SHARD && node->making != BY_OTHER && !is_unused(node);
}

/* Whether all that a node needs of other steps is done, also by way of nodes that are computed inside its own. */
static bool has_inputs(const twin_search *s, int32_t id)
{
    const plan_node *node = &s->plan->node[id];
    for (int i = 0; i < node->inputs; i++) {
        const int32_t in = node->input[i];
        if (s->done[in] || s->plan->node[in].stage != STAGE_SHARD)
            continue;
        if (is_step(&s->plan->node[in]) || !has_inputs(s, in))
            return false;
        s->done[in] = true;
    }
    return true;
}

static bool is_ready(const twin_search *s, int32_t id)
{
    return !s->done[id] && has_inputs(s, id);
}

static void put(twin_search *s, int32_t id, bool with_last)
{
    const int32_t at = s->placed++;
    s->order[at] = id;
    s->position[at] = at == 0 ? 0 : s->position[at - 1] + !with_last;
    s->done[id] = is_step(&s->plan->node[id]);
}

/* Nodes from .. end of the old order, between sweeps. */
typedef struct {
    int32_t from, end;
} stretch;

/* A layer with the matrix of layer `a` that may become its twin: it is ready, or will be, and without `a`. -1: none. */
static int32_t twin_of(const twin_search *s, const stretch *in, int32_t a, bool ready)
{
    for (int32_t b = 0; b < s->candidates; b++) {
        const int32_t id = s->candidate[b].node, rank = s->plan->node[id].rank;
        if (b != a && is_same_matrix(&s->candidate[a], &s->candidate[b]) && rank >= in->from &&
            rank < in->end && !s->done[id] && !needs_layer(s, id, a) && (!ready || is_ready(s, id)))
            return b;
    }
    return -1;
}

/* Puts the next layer, with its twin if both are ready; one that may have a twin later only if there is no other. */
static bool put_layer(twin_search *s, const stretch *in)
{
    int32_t first = -1, single = -1;
    for (int32_t i = in->from; i < in->end; i++) {
        const int32_t id = s->plan->order[i], a = s->number[id];
        if (a < 0 || !is_ready(s, id))
            continue;
        const int32_t twin = twin_of(s, in, a, true);
        if (twin >= 0) {
            put(s, id, false);
            put(s, s->candidate[twin].node, true);
            return true;
        }
        first = first < 0 ? id : first;
        if (single < 0 && twin_of(s, in, a, false) < 0)
            single = id;
    }
    if (first >= 0)
        put(s, single >= 0 ? single : first, false);
    return first >= 0;
}

static void put_others(twin_search *s, const stretch *in, bool steps)
{
    for (int32_t i = in->from; i < in->end; i++) {
        const int32_t id = s->plan->order[i];
        if (is_step(&s->plan->node[id]) == steps && s->number[id] < 0 &&
            (!steps || is_ready(s, id)))
            put(s, id, false);
    }
}

static void order_stretch(twin_search *s, const stretch *in)
{
    put_others(s, in, false);
    do
        put_others(s, in, true);
    while (put_layer(s, in));
}

static void order_all(twin_search *s)
{
    const hs_plan *plan = s->plan;
    for (int32_t from = 0, end; from < plan->nodes; from = end) {
        const plan_node *first = &plan->node[plan->order[from]];
        for (end = from; end < plan->nodes; end++) {
            const plan_node *node = &plan->node[plan->order[end]];
            if (node->in_sweep != first->in_sweep ||
                (first->in_sweep && node->position != first->position))
                break;
            if (first->in_sweep)
                put(s, plan->order[end], end > from);
        }
        if (!first->in_sweep)
            order_stretch(s, &(stretch){ from, end });
    }
}

bool plan_pair_layers(hs_plan *plan)
{
    if (plan->trace || plan->starts * plan->rows_per_start > 1)
        return true;
    const size_t nodes = (size_t)plan->nodes + 1;
    twin_search s = { .plan = plan,
                      .candidate = hs_alloc(nodes * sizeof *s.candidate),
                      .number = hs_alloc(nodes * sizeof *s.number),
                      .done = hs_alloc_zero(nodes, sizeof *s.done),
                      .order = hs_alloc(nodes * sizeof *s.order),
                      .position = hs_alloc(nodes * sizeof *s.position) };
    bool ok = s.candidate && s.number && s.done && s.order && s.position;
    if (ok)
        find_candidates(&s);
    if (ok && s.candidates) {
        s.words = ((size_t)s.candidates + 63) / 64;
        s.needed = hs_alloc_zero(nodes * s.words, sizeof *s.needed);
        ok = s.needed != NULL;
    }
    if (ok && s.candidates) {
        find_needed(&s);
        order_all(&s);
        /* Anything that never became ready would be left out: better no twins than that. */
        for (int32_t i = 0; s.placed == plan->nodes && i < plan->nodes; i++) {
            plan->order[i] = s.order[i];
            plan->node[s.order[i]].rank = i;
            plan->node[s.order[i]].position = s.position[i];
        }
    }
    hs_free(s.candidate);
    hs_free(s.number);
    hs_free(s.done);
    hs_free(s.order);
    hs_free(s.position);
    hs_free(s.needed);
    return ok ? true : plan_no_memory(plan);
}
