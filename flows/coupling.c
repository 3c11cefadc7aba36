#include <hastings/flows/coupling.h>

#include <math.h>
#include <stdio.h>

#include <hastings/flows/elementary.h>
#include <hastings/tensor/memory.h>

#include "flow_internal.h"

#undef HS_HERE
#define HS_HERE at

typedef struct {
    hs_network own; /* the user's network; apply is NULL without one */
    hs_mlp net;
    hs_param constant; /* instead of a network of an empty half */
} coupling;

typedef struct {
    const char *name; /* the flow's name */
    size_t length[2]; /* of the halves */
    size_t n;
    bool affine, first_half;
    double bound;
    coupling each[];
} stack;

/* The half that coupling i moves. */
static int moved_by(const stack *s, size_t i)
{
    return i % 2 == 0 ? !s->first_half : s->first_half;
}

/* The length of its network's result. */
static size_t network_out(const stack *s, size_t i)
{
    return (s->affine ? 2 : 1) * s->length[moved_by(s, i)];
}

static hs_var network(const stack *s, size_t i, hs_tape *tape, hs_var read, const char *at)
{
    const coupling *c = &s->each[i];
    if (!s->length[!moved_by(s, i)])
        return hs_param_var(tape, c->constant);
    if (!c->own.apply)
        return hs_mlp_apply(&c->net, read);
    hs_var y = c->own.apply(c->own.self, read);
    if (hs_tape_status(tape) != HS_OK)
        return y;
    const hs_shape shape = hs_var_shape(y), expected = hs_dims(network_out(s, i));
    char wanted[HS_SHAPE_TEXT], given[HS_SHAPE_TEXT];
    if (!hs_var_ok(y) || y.tape != tape)
        return hs_tape_fail(tape, HS_EINVAL, at,
                            "network %zu of flow \"%s\" returned no value of its tape", i, s->name);
    if (!hs_shape_equal(&shape, &expected))
        return hs_tape_fail(tape, HS_ESHAPE, at,
                            "network %zu of flow \"%s\" returned %s, but must return a vector %s",
                            i, s->name, hs_shape_text(&shape, given),
                            hs_shape_text(&expected, wanted));
    return y;
}

/* Moves the half x by coupling i, forward or back, and adds to *log_det unless log_det is NULL. */
static hs_var move(const stack *s, size_t i, bool inverse, hs_var x, hs_var read, hs_var *log_det,
                   const char *at)
{
    const size_t length = s->length[moved_by(s, i)];
    hs_var f = network(s, i, x.tape, read, at);
    if (!hs_var_ok(f))
        return f;
    if (!s->affine)
        return inverse ? hs_sub(x, f) : hs_add(x, f);
    hs_var log_scale = hs_slice(f, 0, 0, length), shift = hs_slice(f, 0, length, 2 * length);
    if (isfinite(s->bound))
        log_scale = hs_scale(hs_tanh(hs_scale(log_scale, 1 / s->bound)), s->bound);
    if (inverse)
        log_scale = hs_neg(log_scale);
    if (log_det) {
        hs_var sum = hs_sum_last(log_scale);
        *log_det = log_det->tape ? hs_add(*log_det, sum) : sum;
    }
    if (inverse)
        return hs_mul(hs_sub(x, shift), hs_exp(log_scale));
    return hs_add(hs_mul(x, hs_exp(log_scale)), shift);
}

static hs_var stack_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const stack *s = self;
    const size_t h = s->length[0], dim = h + s->length[1];
    hs_var half[2] = { x, x }; /* an empty half[0] is not used */
    if (h) {
        half[0] = hs_slice(x, 0, 0, h);
        half[1] = hs_slice(x, 0, h, dim);
    }
    for (size_t k = 0; k < s->n && hs_var_ok(half[0]) && hs_var_ok(half[1]); k++) {
        const size_t i = inverse ? s->n - 1 - k : k;
        const int moved = moved_by(s, i);
        if (s->length[moved])
            half[moved] = move(s, i, inverse, half[moved], half[!moved], log_det, at);
    }
    if (log_det && !log_det->tape)
        *log_det = hs_const(x.tape, 0);
    return h ? hs_concat(half, 2, 0) : half[1];
}

static void release_networks(const hs_network *networks, size_t n)
{
    for (size_t i = 0; networks && i < n; i++)
        if (networks[i].release)
            networks[i].release(networks[i].self);
}

static void stack_release(void *self)
{
    stack *s = self;
    for (size_t i = 0; i < s->n; i++)
        release_networks(&s->each[i].own, 1);
    hs_free(s);
}

static void check(hs_params *ps, const char *name, const hs_coupling_options *options, size_t n)
{
    hs__flow_check_dim(ps, name, options->dim);
    if (!(options->bound >= 0))
        hs_params_fail(ps, HS_EINVAL, "flow \"%s\" has bound %g: it must be positive", name,
                       options->bound);
    for (size_t i = 0; options->networks && i < n; i++)
        if (!options->networks[i].apply)
            hs_params_fail(ps, HS_EINVAL, "network %zu of flow \"%s\" has no function", i, name);
    if (options->networks && options->dim == 1)
        hs_params_fail(ps, HS_EINVAL,
                       "flow \"%s\" has dimension 1, which leaves its networks nothing to read",
                       name);
}

static void add_network(hs_params *ps, const char *name, stack *s, size_t i,
                        const hs_coupling_options *options)
{
    char part[FLOW_NAME_BUFFER + 32];
    coupling *c = &s->each[i];
    const size_t out = network_out(s, i), in = s->length[!moved_by(s, i)];
    if (c->own.apply || !out)
        return;
    if (!in) {
        snprintf(part, sizeof part, "%s.%zu.constant", name, i);
        c->constant = hs_params_add(ps, part, hs_dims(out), hs_init_zero());
        return;
    }
    snprintf(part, sizeof part, "%s.%zu", name, i);
    c->net = hs_mlp_new(ps, &(hs_mlp_options){ .name = part,
                                               .in = in,
                                               .out = out,
                                               .width = options->width,
                                               .depth = options->depth,
                                               .activation = options->activation,
                                               .init = options->init,
                                               .output_scale = options->output_scale,
                                               .zero_output = options->zero_output });
}

static hs_flow *stack_new(hs_params *ps, const char *name, const hs_coupling_options *options,
                          bool affine)
{
    static const flow_kind kind = { stack_map, stack_release };
    const size_t n = options->couplings ? options->couplings : 1;
    check(ps, name, options, n);
    stack *s = hs_alloc_zero(1, hs_size_add(sizeof *s, hs_size_product(n, sizeof *s->each)));
    if (!s) {
        release_networks(options->networks, n);
        return hs__flow_make(ps, &kind, name, options->dim, !affine, NULL);
    }
    s->length[0] = options->dim / 2;
    s->length[1] = options->dim - s->length[0];
    s->n = n;
    s->affine = affine;
    s->first_half = options->first_half;
    s->bound = options->bound != 0 ? options->bound : 2;
    for (size_t i = 0; i < n; i++) {
        if (options->networks)
            s->each[i].own = options->networks[i];
        if (hs_params_status(ps) == HS_OK)
            add_network(ps, name, s, i, options);
    }
    hs_flow *flow = hs__flow_make(ps, &kind, name, options->dim, !affine, s);
    if (flow)
        s->name = flow->name;
    return flow;
}

static hs_flow *coupling_new(hs_params *ps, const char *stem, const hs_coupling_options *options,
                             bool affine)
{
    char buffer[FLOW_NAME_BUFFER];
    const char *name = hs__flow_name(ps, options->name, stem, buffer);
    hs_flow *flow = stack_new(ps, name, options, affine);
    if (!options->scale)
        return flow;
    hs_flow *scaling =
        hs_flow_scaling_new(ps, &(hs_scaling_options){ .name = name, .dim = options->dim });
    return hs_flow_compose_new(ps, name, (hs_flow *[]){ flow, scaling }, 2);
}

hs_flow *hs_flow_nice_new(hs_params *ps, const hs_nice_options *options)
{
    return coupling_new(ps, "nice", options, false);
}

hs_flow *hs_flow_affine_new(hs_params *ps, const hs_affine_options *options)
{
    return coupling_new(ps, "affine", options, true);
}
