#include "parts_internal.h"
#include "targets/targets_internal.h"
#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>

#include <hastings/tensor/memory.h>

/* Values recorded for a caller carry the caller's place. */
#undef HS_HERE
#define HS_HERE at

struct hs_target {
    hs_session *session;
    hs_target_spec spec;
};

/* The fault of a description, or NULL. */
static const char *fault_of(const hs_target_spec *spec)
{
    if (!spec->log_density)
        return "has no log density";
    if (spec->dim == 0)
        return "has no dimensions";
    const hs_shape shape = hs_dims(spec->dim);
    if (!hs_shape_valid(&shape))
        return "has more dimensions than there can be";
    if (spec->auxiliary > spec->dim)
        return "has more auxiliary coordinates than coordinates";
    return NULL;
}

hs_target *hs_target_new(hs_session *s, const hs_target_spec *spec)
{
    const char *name = spec->name ? spec->name : "target", *fault = fault_of(spec), *kept;
    if (fault)
        hs_session_fail(s, HS_EINVAL, "target \"%s\" %s", name, fault);
    hs_target *t = hs__part_new(s, sizeof *t, name, &kept, spec->self, spec->release);
    if (!t)
        return NULL;
    *t = (hs_target){ s, *spec };
    t->spec.name = kept;
    return t;
}

const char *hs_target_name(const hs_target *t)
{
    return t ? t->spec.name : "";
}

size_t hs_target_dim(const hs_target *t)
{
    return t ? t->spec.dim : 0;
}

size_t hs_target_original_dim(const hs_target *t)
{
    return t ? t->spec.dim - t->spec.auxiliary : 0;
}

bool hs_target_can_draw(const hs_target *t)
{
    return t && t->spec.draw;
}

hs_session *hs_target_session(const hs_target *t)
{
    return t ? t->session : NULL;
}

hs_var hs_target_log_density_at(const hs_target *t, hs_var x, const char *at)
{
    if (!t)
        return hs_tape_fail(x.tape, HS_EINVAL, at, "log density: there is no target");
    const hs_target_spec *spec = &t->spec;
    if (!hs__is_vector(x, spec->dim, "target", spec->name, "x", at))
        return (hs_var){ x.tape, -1 };
    const size_t from = hs_tape_size(x.tape);
    hs_var log_pi = spec->log_density(spec->self, x);
    hs__check_streams(x.tape, from, "target", spec->name, at);
    return hs__scalar(log_pi, "target", spec->name, "the log density", at);
}

hs_var hs_target_score_at(const hs_target *t, hs_var x, const char *at)
{
    hs_var score = { x.tape, -1 };
    hs_grad(hs_target_log_density(t, x), &x, 1, &score);
    return score;
}

hs_var hs_target_draw_at(const hs_target *t, hs_tape *tape, hs_extent extent, uint32_t stream,
                         const char *at)
{
    if (!hs_target_can_draw(t))
        return hs_tape_fail(tape, HS_EINVAL, at,
                            "target \"%s\" cannot be sampled directly: give start points, or a "
                            "chain to draw them from",
                            hs_target_name(t));
    const size_t from = hs_tape_size(tape);
    hs_var x = t->spec.draw(t->spec.self, tape, extent, stream);
    const uint32_t last = stream + HS_DRAW_STREAMS - (t->spec.auxiliary ? 0 : 1);
    uint32_t least, largest;
    if (hs_tape_streams(tape, from, &least, &largest) && (least < stream || largest > last))
        return hs_tape_fail(tape, HS_EINVAL, at,
                            "target \"%s\" draws on stream %u; its streams are `stream` to "
                            "`stream` + %u, here %u to %u",
                            t->spec.name, (unsigned)(least < stream ? least : largest),
                            (unsigned)(last - stream), (unsigned)stream, (unsigned)last);
    const bool fits = hs__is_vector(x, t->spec.dim, "target", t->spec.name, "a draw", at);
    return fits ? x : (hs_var){ tape, -1 };
}

/* ---- Augmentation --------------------------------------------------------------------------- */

typedef struct {
    const hs_target *base;
    size_t auxiliary;
    const hs_flow *flow;
} wrapped;

static const char *const at_augmented = "augmented target";

static hs_var augmented_log_density(void *self, hs_var x)
{
    const wrapped *w = self;
    const char *at = at_augmented;
    const size_t d = hs_target_dim(w->base), dim = d + w->auxiliary;
    hs_var density = hs_target_log_density(w->base, hs_slice(x, 0, 0, d));
    return hs_add(density, hs_log_normal(hs_slice(x, 0, d, dim)));
}

static hs_var augmented_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const wrapped *w = self;
    const char *at = at_augmented;
    hs_var parts[2] = { hs_target_draw(w->base, tape, extent, stream),
                        hs_normal(tape, extent, hs_dims(w->auxiliary), stream + HS_DRAW_STREAMS) };
    return hs_concat(parts, 2, 0);
}

hs_target *hs_target_augment(hs_session *s, const hs_target *base, size_t n)
{
    if (!hs__is_there(s, base, "augmentation", "target"))
        return NULL;
    if (n == 0 || base->spec.auxiliary)
        return SESSION_NULL(s, HS_EINVAL,
                            n ? "target \"%s\" has auxiliary coordinates already"
                              : "target \"%s\" is to be augmented by no coordinates",
                            base->spec.name);
    wrapped *w = hs_session_alloc(s, sizeof *w);
    if (!w)
        return NULL;
    *w = (wrapped){ base, n, NULL };
    return hs_target_new(s, &(hs_target_spec){ .name = base->spec.name,
                                               .dim = hs_size_add(base->spec.dim, n),
                                               .self = w,
                                               .log_density = augmented_log_density,
                                               .draw = base->spec.draw ? augmented_draw : NULL,
                                               .auxiliary = n });
}

/* ---- Plain C -------------------------------------------------------------------------------- */

static hs_var function_log_density(void *self, hs_var x)
{
    return hs_call_at(self, x, "target in C");
}

hs_target *hs_target_from_function(hs_session *s, size_t dim, const hs_function *f)
{
    hs_function *copy = hs_session_alloc(s, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *f;
    return hs_target_new(
        s, &(hs_target_spec){
               .name = f->name, .dim = dim, .self = copy, .log_density = function_log_density });
}

/* ---- Through a diffeomorphism ---------------------------------------------------------------- */

static hs_var pulled_log_density(void *self, hs_var z)
{
    const wrapped *w = self;
    const char *at = "pulled-back target";
    hs_var log_det, x = hs_flow_forward(w->flow, z, &log_det);
    return hs_add(hs_target_log_density(w->base, x), log_det);
}

static hs_var pulled_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const wrapped *w = self;
    const char *at = "pulled-back target";
    return hs_flow_inverse(w->flow, hs_target_draw(w->base, tape, extent, stream), NULL);
}

hs_target *hs_target_pull_back(hs_session *s, const hs_target *base, const hs_flow *flow)
{
    if (!hs__is_there(s, base, "pull-back", "target") ||
        !hs__is_there(s, flow, "pull-back", "flow"))
        return NULL;
    if (hs_flow_dim(flow) != base->spec.dim)
        return SESSION_NULL(s, HS_ESHAPE, "target \"%s\" has %zu dimensions, and the flow %zu",
                            base->spec.name, base->spec.dim, hs_flow_dim(flow));
    wrapped *w = hs_session_alloc(s, sizeof *w);
    if (!w)
        return NULL;
    *w = (wrapped){ base, 0, flow };
    return hs_target_new(s, &(hs_target_spec){ .name = base->spec.name,
                                               .dim = base->spec.dim,
                                               .self = w,
                                               .log_density = pulled_log_density,
                                               .draw = base->spec.draw ? pulled_draw : NULL });
}
