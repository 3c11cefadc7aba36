#include "flow_internal.h"

#include <stdio.h>
#include <string.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

#undef HS_HERE
#define HS_HERE at

hs_flow *hs__flow_make(hs_params *ps, const flow_kind *kind, const char *name, size_t dim,
                       bool preserves_volume, void *self)
{
    hs_flow *flow = ps && self ? hs_alloc_zero(1, sizeof *flow) : NULL;
    if (!flow) {
        hs_params_fail(ps, HS_ENOMEM, "out of memory for flow \"%s\"", name);
        if (self)
            kind->release(self);
        return NULL;
    }
    snprintf(flow->name, sizeof flow->name, "%s", name);
    flow->dim = dim;
    flow->store = ps;
    flow->kind = kind;
    flow->self = self;
    flow->preserves_volume = preserves_volume;
    return flow;
}

void hs__flow_check_dim(hs_params *ps, const char *name, size_t dim)
{
    const hs_shape shape = hs_dims(dim);
    if (!hs_shape_valid(&shape))
        hs_params_fail(ps, HS_ESHAPE, "flow \"%s\" has dimension %zu: %s", name, dim,
                       dim ? "too large" : "it must be at least 1");
}

static bool name_taken(hs_params *ps, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < hs_params_count(ps); i++) {
        const char *other = hs_param_name(hs_params_at(ps, i));
        if (strncmp(other, name, length) == 0 && other[length] == '.')
            return true;
    }
    return false;
}

const char *hs__flow_name(hs_params *ps, const char *given, const char *stem,
                          char buffer[FLOW_NAME_BUFFER])
{
    if (given)
        return given;
    snprintf(buffer, FLOW_NAME_BUFFER, "%s", stem);
    for (int number = 2; name_taken(ps, buffer); number++)
        snprintf(buffer, FLOW_NAME_BUFFER, "%s%d", stem, number);
    return buffer;
}

void hs_flow_free(hs_flow *flow)
{
    if (!flow)
        return;
    flow->kind->release(flow->self);
    hs_free(flow);
}

size_t hs_flow_dim(const hs_flow *flow)
{
    return flow ? flow->dim : 0;
}

const char *hs_flow_name(const hs_flow *flow)
{
    return flow ? flow->name : "";
}

static const char *const direction_name[2] = { "forward", "inverse" };

/* Maps x and checks the results. A NULL log_det is not wanted; one that the flow does not set has no tape. */
static hs_var map(const hs_flow *flow, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const char *place = direction_name[inverse];
    char wanted[HS_SHAPE_TEXT], given[HS_SHAPE_TEXT];
    hs_var unwanted;
    *(log_det ? log_det : &unwanted) = (hs_var){ NULL, -1 };
    const hs_var y = flow->kind->map(flow->self, inverse, x, log_det, at);
    const hs_var term = log_det ? *log_det : unwanted;
    const hs_shape shape = hs_var_shape(y), expected = hs_dims(flow->dim);
    const hs_shape of_term = hs_var_shape(term), scalar = hs_scalar_shape();
    if (hs_tape_status(x.tape) != HS_OK)
        return y;
    if (!hs_var_ok(y) || y.tape != x.tape)
        return hs_tape_fail(x.tape, HS_EINVAL, at,
                            "%s of flow \"%s\" returned no value of its tape", place, flow->name);
    if (!hs_shape_equal(&shape, &expected))
        return hs_tape_fail(
            x.tape, HS_ESHAPE, at, "%s of flow \"%s\" returned %s, but must return a vector %s",
            place, flow->name, hs_shape_text(&shape, given), hs_shape_text(&expected, wanted));
    if (term.tape && (!hs_var_ok(term) || term.tape != x.tape))
        return hs_tape_fail(x.tape, HS_EINVAL, at,
                            "%s of flow \"%s\" gave a log-determinant that is no value of its tape",
                            place, flow->name);
    if (term.tape && !hs_shape_equal(&of_term, &scalar))
        return hs_tape_fail(
            x.tape, HS_ESHAPE, at,
            "%s of flow \"%s\" gave a log-determinant of shape %s, but it must be a scalar", place,
            flow->name, hs_shape_text(&of_term, given));
    return y;
}

/* True if the flow can be applied to x; otherwise the tape says why not. */
static bool usable(const hs_flow *flow, bool inverse, hs_var x, const char *at)
{
    const hs_shape shape = hs_var_shape(x), expected = hs_dims(hs_flow_dim(flow));
    char wanted[HS_SHAPE_TEXT], given[HS_SHAPE_TEXT];
    if (!flow)
        hs_tape_fail(x.tape, HS_ENOMEM, at, "out of memory: there is no flow");
    else if (hs_params_status(flow->store) != HS_OK)
        hs_tape_fail(x.tape, hs_params_status(flow->store), at, "parameter store: %s",
                     hs_params_error(flow->store));
    else if (hs_var_ok(x) && !hs_shape_equal(&shape, &expected))
        hs_tape_fail(x.tape, HS_ESHAPE, at, "%s of flow \"%s\" takes a vector %s, but was given %s",
                     direction_name[inverse], flow->name, hs_shape_text(&expected, wanted),
                     hs_shape_text(&shape, given));
    return hs_var_ok(x);
}

/* Derives log |det| from the other direction: log |det T| at z = -log |det T^-1| at T(z), and vice versa. */
static hs_var derive(const hs_flow *flow, bool inverse, hs_var y, const char *at)
{
    hs_var other;
    map(flow, !inverse, y, &other, at);
    if (other.tape)
        return hs_neg(other);
    return hs_tape_fail(y.tape, HS_EINVAL, at,
                        "flow \"%s\" gives no log-determinant in either direction; if it preserves "
                        "volume, its specification must say so",
                        flow->name);
}

static hs_var apply(const hs_flow *flow, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const bool constant = flow && flow->preserves_volume;
    hs_var y = { x.tape, -1 };
    if (usable(flow, inverse, x, at))
        y = map(flow, inverse, x, constant ? NULL : log_det, at);
    if (log_det && !hs_var_ok(y))
        *log_det = y;
    else if (log_det && constant)
        *log_det = hs_const(x.tape, 0);
    else if (log_det && !log_det->tape)
        *log_det = derive(flow, inverse, y, at);
    return y;
}

hs_var hs_flow_forward_at(const hs_flow *flow, hs_var z, hs_var *log_det, const char *at)
{
    return apply(flow, false, z, log_det, at);
}

hs_var hs_flow_inverse_at(const hs_flow *flow, hs_var x, hs_var *log_det, const char *at)
{
    return apply(flow, true, x, log_det, at);
}

hs_var hs_flow_log_density_at(const hs_flow *flow, hs_var x, const char *at)
{
    hs_var log_det, z = hs_flow_inverse(flow, x, &log_det);
    hs_var log_normal = hs_shift(hs_scale(hs_sum_last(hs_square(z)), -0.5),
                                 -0.5 * HS_LOG_2PI * (double)hs_flow_dim(flow));
    return flow && flow->preserves_volume ? log_normal : hs_add(log_normal, log_det);
}

static hs_var user_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const hs_flow_spec *spec = self;
    const hs_flow_map f = inverse ? spec->inverse : spec->forward;
    hs_var unwanted = { NULL, -1 };
    if (f)
        return f(spec->self, x, log_det ? log_det : &unwanted);
    return hs_tape_fail(x.tape, HS_EINVAL, at,
                        "flow \"%s\" has no %s, which is asked for or gives the log-determinant",
                        spec->name, direction_name[inverse]);
}

static void user_release(void *self)
{
    hs_flow_spec *spec = self;
    if (spec->release)
        spec->release(spec->self);
    hs_free(spec);
}

hs_flow *hs_flow_new(hs_params *ps, const hs_flow_spec *spec)
{
    static const flow_kind kind = { user_map, user_release };
    const char *name = spec->name ? spec->name : "flow";
    hs_flow_spec *copy = hs_alloc(sizeof *copy);
    if (copy)
        *copy = *spec;
    else if (spec->release)
        spec->release(spec->self);
    hs__flow_check_dim(ps, name, spec->dim);
    hs_flow *flow = hs__flow_make(ps, &kind, name, spec->dim, spec->preserves_volume, copy);
    if (flow)
        copy->name = flow->name; /* the caller may free its own */
    return flow;
}
