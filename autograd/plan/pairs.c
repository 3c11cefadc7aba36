/* Pass `pairs`: layers that are computed together.
 *
 * With one row in the batch, the time of a layer is that of reading its matrix. Two layers with the same matrix, neither
 * of which needs the other, share one reading, such as the layers of a flow's inverse at two points. So the first
 * is put off until the second, and all nodes that need it go behind both. Loops stay where they are: no layer is
 * put off beyond the next one. */
#include "passes_internal.h"

#include <string.h>

/* Layers times nodes: beyond that, a second or more, there are no pairs. */
static const double most_work = 2e8;

typedef struct {
    const hs_plan *plan;
    plan_schedule *schedule;
    int32_t *partner; /* of each node: the other layer of its pair, or -1 */
    int32_t *behind;  /* nodes that go behind a pair */
    bool *
        waits; /* of each node: it needs the layer that is put off, or is the partner of one that does */
} pair_search;

/* Partners may have smaller numbers than the nodes that they wait for, so it takes several rounds. */
static void mark_waiting(pair_search *s, int32_t layer)
{
    const plan_graph *graph = s->plan->graph;
    s->waits[layer] = true;
    for (bool again = true; again;) {
        again = false;
        for (int32_t id = 0; id < graph->nodes; id++) {
            const graph_node *node = &graph->node[id];
            bool waits = s->partner[id] >= 0 && s->waits[s->partner[id]];
            for (int i = 0; i < node->inputs && !waits; i++)
                waits = s->waits[node->input[i]];
            again = again || (waits && !s->waits[id] && s->partner[id] >= 0);
            s->waits[id] = s->waits[id] || waits;
        }
    }
}

/* The rank of the last layer with the same matrix, before the next loop, that has no partner and does not wait; or -1. */
static int32_t partner_of(const pair_search *s, const plan_layer *layer, int32_t rank)
{
    int32_t found = -1;
    plan_layer other;
    for (int32_t i = rank + 1; i < s->plan->graph->nodes; i++) {
        const int32_t id = s->schedule->order[i];
        if (s->schedule->node[id].in_loop)
            break;
        if (!s->waits[id] && s->partner[id] < 0 && hs__schedule_layer(s->plan, id, &other) &&
            other.matrix == layer->matrix && other.transposed == layer->transposed)
            found = i;
    }
    return found;
}

static void join(pair_search *s, int32_t first, int32_t second)
{
    int32_t *order = s->schedule->order, at = first, moved = 0;
    const int32_t a = order[first], b = order[second];
    for (int32_t i = first + 1; i < second; i++)
        if (s->waits[order[i]])
            s->behind[moved++] = order[i];
        else
            order[at++] = order[i];
    order[at++] = a;
    order[at++] = b;
    memcpy(order + at, s->behind, (size_t)moved * sizeof *order);
    s->partner[a] = b;
    s->partner[b] = a;
}

/* Joins the layer of this rank with another; false if there is none. */
static bool pair_layer(pair_search *s, int32_t rank)
{
    const int32_t id = s->schedule->order[rank];
    plan_layer layer;
    if (s->schedule->node[id].in_loop || s->partner[id] >= 0 ||
        !hs__schedule_layer(s->plan, id, &layer))
        return false;
    memset(s->waits, 0, (size_t)s->plan->graph->nodes * sizeof *s->waits);
    if (partner_of(s, &layer, rank) < 0)
        return false;
    mark_waiting(s, id);
    const int32_t second = partner_of(s, &layer, rank);
    if (second >= 0)
        join(s, rank, second);
    return second >= 0;
}

/* Steps of a loop share a position, and so does a pair. */
static void set_positions(const pair_search *s)
{
    int32_t position = -1, loop = -1, last = -1;
    for (int32_t rank = 0; rank < s->plan->graph->nodes; rank++) {
        const int32_t id = s->schedule->order[rank];
        schedule_node *node = &s->schedule->node[id];
        const bool same_loop = node->in_loop && node->position == loop;
        loop = node->in_loop ? node->position : -1;
        position += !same_loop && (last < 0 || s->partner[id] != last);
        node->position = position;
        node->rank = rank;
        last = id;
    }
}

static int32_t count_layers(const hs_plan *plan)
{
    int32_t layers = 0;
    plan_layer layer;
    for (int32_t id = 0; id < plan->graph->nodes; id++)
        layers += hs__schedule_layer(plan, id, &layer);
    return layers;
}

bool hs__schedule_pairs(const hs_plan *plan, plan_schedule *schedule)
{
    const int32_t nodes = plan->graph->nodes;
    if (plan->request->starts * plan->request->rows_per_start > 1 ||
        (double)count_layers(plan) * nodes >= most_work)
        return true;
    pair_search s = { .plan = plan, .schedule = schedule };
    s.partner = hs__pass_alloc(plan, (size_t)nodes + 1, sizeof *s.partner);
    s.behind = hs__pass_alloc(plan, (size_t)nodes + 1, sizeof *s.behind);
    s.waits = hs__pass_alloc(plan, (size_t)nodes + 1, sizeof *s.waits);
    if (!s.partner || !s.behind || !s.waits)
        return hs__plan_no_memory(plan);
    memset(s.partner, -1, (size_t)nodes * sizeof *s.partner);
    for (int32_t rank = 0; rank < nodes; rank += !pair_layer(&s, rank))
        ;
    set_positions(&s);
    return true;
}
