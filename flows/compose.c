/* Composition, identity and inverse. */
#include "flow_internal.h"

#include <string.h>

#include <hastings/tensor/memory.h>

#undef HS_HERE
#define HS_HERE at

typedef struct {
    size_t n;
    hs_flow *part[];
} composition;

/* One part after the other; their log-determinants add up. */
static hs_var compose_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const composition *all = self;
    hs_var sum = { NULL, -1 };
    for (size_t i = 0; i < all->n; i++) {
        const hs_flow *part = all->part[inverse ? all->n - 1 - i : i];
        const bool counts = log_det && !part->preserves_volume;
        hs_var term;
        x = inverse ? hs_flow_inverse(part, x, counts ? &term : NULL)
                    : hs_flow_forward(part, x, counts ? &term : NULL);
        if (counts)
            sum = sum.tape ? hs_add(sum, term) : term;
    }
    if (log_det)
        *log_det = sum;
    return x;
}

static void compose_release(void *self)
{
    composition *all = self;
    for (size_t i = 0; i < all->n; i++)
        hs_flow_free(all->part[i]);
    hs_free(all);
}

static const flow_kind compose_kind = { compose_map, compose_release };

hs_flow *hs_flow_compose_new(hs_params *ps, const char *name, hs_flow *const *flows, size_t n)
{
    if (!name)
        name = "composition";
    composition *all = hs_alloc(hs_size_add(sizeof *all, hs_size_product(n, sizeof(hs_flow *))));
    bool complete = all && ps, preserves_volume = true;
    for (size_t i = 0; i < n; i++)
        complete = complete && flows[i];
    if (!complete) { /* a part could not be made, or there is no memory */
        hs_params_fail(ps, HS_ENOMEM, "out of memory for flow \"%s\" of %zu flows", name, n);
        for (size_t i = 0; i < n; i++)
            hs_flow_free(flows[i]);
        hs_free(all);
        return NULL;
    }
    if (n == 0)
        hs_params_fail(ps, HS_EINVAL,
                       "flow \"%s\" is composed of nothing: hs_flow_identity_new() makes that",
                       name);
    all->n = n;
    for (size_t i = 0; i < n; i++) {
        all->part[i] = flows[i];
        preserves_volume = preserves_volume && flows[i]->preserves_volume;
        if (flows[i]->dim != flows[0]->dim)
            hs_params_fail(ps, HS_ESHAPE,
                           "flow \"%s\" composes \"%s\" of dimension %zu and \"%s\" of dimension "
                           "%zu: they must be equal",
                           name, flows[0]->name, flows[0]->dim, flows[i]->name, flows[i]->dim);
    }
    return hs__flow_make(ps, &compose_kind, name, n ? flows[0]->dim : 0, preserves_volume, all);
}

hs_flow *hs_flow_identity_new(hs_params *ps, size_t dim)
{
    hs__flow_check_dim(ps, "identity", dim);
    composition *none = hs_alloc_zero(1, sizeof *none);
    return hs__flow_make(ps, &compose_kind, "identity", dim, true, none);
}

static hs_var inverse_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    return inverse ? hs_flow_forward(self, x, log_det) : hs_flow_inverse(self, x, log_det);
}

static void inverse_release(void *self)
{
    hs_flow_free(self);
}

hs_flow *hs_flow_inverse_new(hs_params *ps, hs_flow *flow)
{
    static const flow_kind kind = { inverse_map, inverse_release };
    char name[HS_NAME_LENGTH + 1] = "inverse of ";
    strncat(name, hs_flow_name(flow), sizeof name - strlen(name) - 1);
    return hs__flow_make(ps, &kind, name, hs_flow_dim(flow), flow && flow->preserves_volume, flow);
}
