#include <hastings/flows/elementary.h>

#include <stdio.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/random.h>

#include "flow_internal.h"

#undef HS_HERE
#define HS_HERE at

typedef struct {
    hs_param log_scale;
    hs_param shift;
    bool has_shift;
} scaling;

static hs_var scaling_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const scaling *s = self;
    hs_var log_scale = hs_param_var(x.tape, s->log_scale);
    if (inverse)
        log_scale = hs_neg(log_scale);
    if (log_det)
        *log_det = hs_sum_last(log_scale);
    if (inverse && s->has_shift)
        x = hs_sub(x, hs_param_var(x.tape, s->shift));
    x = hs_mul(x, hs_exp(log_scale));
    return !inverse && s->has_shift ? hs_add(x, hs_param_var(x.tape, s->shift)) : x;
}

static hs_param add_vector(hs_params *ps, const char *flow, const char *part, size_t dim,
                           hs_init init)
{
    char name[FLOW_NAME_BUFFER];
    snprintf(name, sizeof name, "%s.%s", flow, part);
    return hs_params_add(ps, name, hs_dims(dim),
                         init.kind == HS_INIT_DEFAULT ? hs_init_zero() : init);
}

hs_flow *hs_flow_scaling_new(hs_params *ps, const hs_scaling_options *options)
{
    static const flow_kind kind = { scaling_map, hs_free };
    char buffer[FLOW_NAME_BUFFER];
    const char *name = hs__flow_name(ps, options->name, "scaling", buffer);
    hs__flow_check_dim(ps, name, options->dim);
    scaling *s = hs_alloc_zero(1, sizeof *s);
    if (s) {
        s->log_scale = add_vector(ps, name, "log_scale", options->dim, options->log_scale_init);
        s->has_shift = options->shift;
        if (options->shift)
            s->shift = add_vector(ps, name, "shift", options->dim, options->shift_init);
    }
    return hs__flow_make(ps, &kind, name, options->dim, false, s);
}

typedef struct {
    size_t dim;
    size_t place[]; /* forward, then inverse */
} permutation;

static hs_var permutation_map(void *self, bool inverse, hs_var x, hs_var *log_det, const char *at)
{
    const permutation *p = self;
    (void)log_det;
    return hs_gather(x, 0, p->place + (inverse ? p->dim : 0), p->dim);
}

/* Allocates a permutation, whose forward places the caller fills in. Its length is 0 if the store has failed; NULL if
 * there is no memory. */
static permutation *permutation_room(hs_params *ps, const char *name, size_t dim)
{
    hs__flow_check_dim(ps, name, dim);
    const size_t length = hs_params_status(ps) == HS_OK ? dim : 0;
    permutation *p =
        hs_alloc_zero(1, hs_size_add(sizeof *p, hs_size_product(2, length, sizeof(size_t))));
    if (p)
        p->dim = length;
    return p;
}

/* Writes the inverse places. Fails the store if a place is used twice or out of range. */
static hs_flow *permutation_finish(hs_params *ps, const char *name, size_t dim, permutation *p)
{
    static const flow_kind kind = { permutation_map, hs_free };
    const size_t length = p ? p->dim : 0;
    for (size_t i = 0; i < length; i++)
        p->place[length + i] = length; /* not used yet */
    for (size_t i = 0; i < length; i++) {
        const size_t from = p->place[i];
        if (from >= length) {
            hs_params_fail(ps, HS_EINVAL,
                           "flow \"%s\" takes place %zu from place %zu of a vector of length %zu",
                           name, i, from, length);
            break;
        }
        if (p->place[length + from] < length) {
            hs_params_fail(ps, HS_EINVAL, "flow \"%s\" takes both place %zu and place %zu from %zu",
                           name, p->place[length + from], i, from);
            break;
        }
        p->place[length + from] = i;
    }
    return hs__flow_make(ps, &kind, name, dim, true, p);
}

hs_flow *hs_flow_permutation_new(hs_params *ps, size_t dim, const size_t *order)
{
    const char *name = order ? "permutation" : "reversal";
    permutation *p = permutation_room(ps, name, dim);
    for (size_t i = 0; p && i < p->dim; i++)
        p->place[i] = order ? order[i] : p->dim - 1 - i;
    return permutation_finish(ps, name, dim, p);
}

hs_flow *hs_flow_shuffle_new(hs_params *ps, size_t dim, uint64_t seed)
{
    enum { STREAM = 32766 }; /* far from the streams of most tapes */
    permutation *p = permutation_room(ps, "shuffle", dim);
    for (size_t i = 0; p && i < p->dim; i++) { /* Fisher and Yates, from the inside out */
        const double u = hs_random_at(HS_F64, HS_UNIFORM,
                                      (hs_address){ .seed = seed, .stream = STREAM, .step = 0 },
                                      (uint32_t)(i >> 20), (uint32_t)(i & 0xfffff));
        const size_t drawn = (size_t)(u * (double)(i + 1)), j = drawn < i ? drawn : i;
        p->place[i] = p->place[j];
        p->place[j] = i;
    }
    return permutation_finish(ps, "shuffle", dim, p);
}
