/* Reverse-mode differentiation: walks the tape backwards and records gradients as more tape. */
#include "tape_internal.h"

#undef HS_HERE
#define HS_HERE at

/* Brings g to the shape and extent of x: sums over axes and rows that x lacks, and stretches g over those that g lacks. */
static hs_var conform(hs_var g, hs_var x, const char *at)
{
    if (!hs_var_ok(g))
        return g;
    const hs_shape shape = hs_var_shape(x);
    const hs_extent extent = hs_var_extent(x);
    hs_shape wide;
    if (hs_shape_broadcast(&shape, &node_of(g)->shape, &wide))
        g = hs_broadcast(g, wide, widest(extent, node_of(g)->extent));
    return hs_sum_to(g, shape, extent);
}

static hs_var zeros_like(hs_var x, const char *at)
{
    return hs_broadcast(hs_const(x.tape, 0), hs_var_shape(x), hs_var_extent(x));
}

/* Marks the nodes up to `last` that depend on any of wrt. */
static void mark_dependents(const hs_tape *tape, const hs_var *wrt, size_t n, int32_t last,
                            bool *depends)
{
    for (size_t i = 0; i < n; i++)
        if (wrt[i].id <= last)
            depends[wrt[i].id] = true;
    for (int32_t id = 0; id <= last; id++) {
        const tape_node *node = &tape->node[id];
        if (node->op == OP_stop)
            continue;
        for (int i = 0; i < node->inputs && !depends[id]; i++)
            depends[id] = depends[node->input[i]];
    }
}

/* gradient[id] += share, the gradient through one use of the node. */
static void add_share(hs_var *gradient, int32_t id, hs_var share, const char *at)
{
    if (share.id < 0) /* zero */
        return;
    share = conform(share, (hs_var){ share.tape, id }, at);
    gradient[id] = gradient[id].id < 0 ? share : hs_add(gradient[id], share);
}

static void walk_back(hs_tape *tape, int32_t last, const bool *depends, hs_var *gradient)
{
    enum { MOST = 4096 }; /* inputs of one node: hs_concat's limit */
    bool needed[MOST];
    hs_var share[MOST];
    for (int32_t id = last; id >= 0 && tape->status == HS_OK; id--) {
        const tape_node node = tape->node[id];
        if (!depends[id] || gradient[id].id < 0 || node.inputs == 0 || node.op == OP_stop)
            continue;
        bool any = false;
        for (int i = 0; i < node.inputs; i++) {
            needed[i] = depends[node.input[i]];
            share[i] = poison(tape);
            any = any || needed[i];
        }
        if (!any)
            continue;
        hs__record_gradients((hs_var){ tape, id }, gradient[id], needed, share);
        for (int i = 0; i < node.inputs; i++)
            if (needed[i])
                add_share(gradient, node.input[i], share[i], node.at);
    }
}

/* Records the gradients; `gradients` may be the memory of `wrt`. */
static void record_grad(hs_var y, const hs_var *wrt, size_t n, hs_var *gradients, const char *at)
{
    hs_tape *tape = y.tape;
    const size_t size = (size_t)tape->size;
    bool *depends = hs_alloc_zero(size, sizeof *depends);
    hs_var *gradient = hs_alloc(size * sizeof *gradient);
    if (depends && gradient) {
        for (size_t id = 0; id < size; id++)
            gradient[id] = poison(tape);
        mark_dependents(tape, wrt, n, y.id, depends);
        gradient[y.id] = hs_broadcast(hs_const(tape, 1), hs_var_shape(y), hs_var_extent(y));
        walk_back(tape, y.id, depends, gradient);
        for (size_t i = 0; i < n; i++) {
            const bool found = wrt[i].id <= y.id && gradient[wrt[i].id].id >= 0;
            gradients[i] = found ? gradient[wrt[i].id] : zeros_like(wrt[i], at);
        }
    } else {
        hs_tape_fail(tape, HS_ENOMEM, at, "grad: out of memory");
    }
    hs_free(depends);
    hs_free(gradient);
}

void hs_grad_at(hs_var y, const hs_var *wrt, size_t n, hs_var *gradients, const char *at)
{
    bool ok = hs__inputs_ok(&y, 1, "grad", at);
    for (size_t i = 0; i < n && ok; i++)
        ok = hs__inputs_ok((hs_var[]){ y, wrt[i] }, 2, "grad", at);
    if (ok && hs_shape_count(&node_of(y)->shape) != 1)
        hs_tape_fail(y.tape, HS_ESHAPE, at,
                     "grad: the gradient of %s is not defined: it must have one element; sum it "
                     "first",
                     VAR_TEXT_OF(y));
    else if (ok)
        record_grad(y, wrt, n, gradients, at);
    for (size_t i = 0; i < n && hs_tape_status(y.tape); i++)
        gradients[i] = poison(y.tape);
}
