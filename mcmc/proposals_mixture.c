/* Proposals with a discrete choice, whose ways of moving are enumerated. */
#include <hastings/mcmc/proposals.h>
#include <hastings/mcmc/parts_internal.h>
#include <hastings/mcmc/targets_internal.h>

#include <math.h>

#include <hastings/tensor/memory.h>

#undef HS_HERE
#define HS_HERE "mixture proposal"

/* ---- Gaussians with weights that depend on the position ------------------------------------- */

enum { FULL_DIM = 16 }; /* most coordinates that can be correlated */

typedef struct {
    size_t dim, components;
    bool full;
    hs_mlp weights;
    hs_param mean[HS_MAX_WAYS], log_sd[HS_MAX_WAYS], shear[HS_MAX_WAYS];
    target_array identity, below; /* [dim][dim]: ones on the diagonal, and below it */
} position_mixture;

/* All components at once, on one tape. Component k is N(mean, D L (D L)^T): D the diagonal of sds, L lower
 * triangular with ones on its diagonal; row i of L left of the diagonal is row i of `shear`. */
typedef struct {
    hs_var mean; /* [components dim] */
    hs_var
        spread; /* D L of all, [components dim][dim]; of a diagonal one the sds, [components dim] */
    hs_var whiten; /* L^-1 D^-1 in the same way */
    hs_var centre; /* whiten times mean, if full */
    hs_var volume; /* [components]: log of the normal density's divisor */
} stacked;

/* (I + S)^-1 = (I - S)(I + S^2)(I + S^4) ..., of a strictly lower triangular S, of which power dim is 0. */
static hs_var inverse_of_unit_lower(hs_var identity, hs_var s, size_t dim)
{
    hs_var power = hs_neg(s), inverse = hs_add(identity, power);
    for (size_t covered = 2; covered < dim; covered *= 2) {
        power = hs_matmul(power, power);
        inverse = hs_matmul(inverse, hs_add(identity, power));
    }
    return inverse;
}

static stacked stack(const position_mixture *m, hs_tape *tape)
{
    const size_t d = m->dim, n = m->components;
    hs_var mean[HS_MAX_WAYS], log_sd[HS_MAX_WAYS];
    hs_var spread[HS_MAX_WAYS], whiten[HS_MAX_WAYS], centre[HS_MAX_WAYS];
    for (size_t k = 0; k < n; k++) {
        mean[k] = hs_param_var(tape, m->mean[k]);
        log_sd[k] = hs_param_var(tape, m->log_sd[k]);
        if (!m->full)
            continue;
        hs_var identity = target_array_at(&m->identity, tape, HS_HERE);
        hs_var s =
            hs_mul(target_array_at(&m->below, tape, HS_HERE), hs_param_var(tape, m->shear[k]));
        spread[k] = hs_mul(hs_reshape(hs_exp(log_sd[k]), hs_dims(d, 1)), hs_add(identity, s));
        whiten[k] = hs_mul(inverse_of_unit_lower(identity, s, d), hs_exp(hs_neg(log_sd[k])));
        centre[k] = hs_matmul(whiten[k], mean[k]);
    }
    hs_var sizes = hs_concat(log_sd, n, 0);
    const bool full = m->full;
    return (stacked){
        .mean = hs_concat(mean, n, 0),
        .spread = full ? hs_concat(spread, n, 0) : hs_exp(sizes),
        .whiten = full ? hs_concat(whiten, n, 0) : hs_exp(hs_neg(sizes)),
        .centre = full ? hs_concat(centre, n, 0) : sizes,
        .volume =
            hs_shift(hs_sum_last(hs_reshape(sizes, hs_dims(n, d))), 0.5 * log_2pi * (double)d),
    };
}

/* What each component makes of the noise, [components dim]. */
static hs_var draw_all(const position_mixture *m, const stacked *all, hs_var n)
{
    if (m->full)
        return hs_add(hs_matmul(all->spread, n), all->mean);
    const hs_shape table = hs_dims(m->components, m->dim);
    hs_var spread = hs_reshape(all->spread, table), mean = hs_reshape(all->mean, table);
    return hs_reshape(hs_add(mean, hs_mul(spread, n)), hs_dims(m->components * m->dim));
}

/* The log density of each component at y, [components]. */
static hs_var log_densities(const position_mixture *m, const stacked *all, hs_var y)
{
    const hs_shape table = hs_dims(m->components, m->dim);
    hs_var z =
        m->full ? hs_reshape(hs_sub(hs_matmul(all->whiten, y), all->centre), table)
                : hs_mul(hs_sub(y, hs_reshape(all->mean, table)), hs_reshape(all->whiten, table));
    return hs_sub(hs_scale(hs_sum_last(hs_square(z)), -0.5), all->volume);
}

static hs_var log_weights(const position_mixture *m, hs_var x)
{
    return hs_log_softmax(hs_mlp_apply(&m->weights, x), 0);
}

static void position_moves(void *self, hs_var x, hs_var n, hs_move *moves)
{
    const position_mixture *m = self;
    const stacked all = stack(m, x.tape);
    hs_var weights_x = log_weights(m, x), densities_x = log_densities(m, &all, x);
    hs_var draws = draw_all(m, &all, n);
    for (size_t k = 0; k < m->components; k++) {
        hs_var y = hs_slice(draws, 0, k * m->dim, (k + 1) * m->dim);
        moves[k] = (hs_move){
            .y = y,
            .log_g_fwd = hs_logsumexp(hs_add(weights_x, log_densities(m, &all, y)), 0),
            .log_g_rev = hs_logsumexp(hs_add(log_weights(m, y), densities_x), 0),
            .weight = hs_exp(hs_reshape(hs_slice(weights_x, 0, k, k + 1), hs_scalar_shape())),
        };
    }
}

/* The arrays that triangular factors are made with; false after failing the session. */
static bool make_triangles(hs_session *s, position_mixture *m)
{
    const hs_shape square = hs_dims(m->dim, m->dim);
    double *identity = target_array_new(s, &m->identity, "identity", square);
    double *below = target_array_new(s, &m->below, "below the diagonal", square);
    for (size_t i = 0; identity && below && i < m->dim; i++)
        for (size_t j = 0; j <= i; j++)
            (i == j ? identity : below)[i * m->dim + j] = 1;
    return identity && below && target_array_finish(s, &m->identity) &&
           target_array_finish(s, &m->below);
}

static hs_param add_numbered(hs_params *ps, const char *name, size_t k, hs_shape shape,
                             hs_init init)
{
    char text[64];
    snprintf(text, sizeof text, "%s.%zu", name, k);
    return hs_params_add(ps, text, shape, init);
}

hs_proposal *hs_position_mixture(hs_session *s, const hs_position_mixture_options *options)
{
    static const hs_position_mixture_options defaults;
    const hs_position_mixture_options *o = options ? options : &defaults;
    const size_t components = o->components ? o->components : 4;
    const double sd = o->sd != 0 ? o->sd : 1;
    if (o->dim == 0 || components > HS_MAX_WAYS || !(sd > 0)) {
        hs_session_fail(s, HS_EINVAL,
                        o->dim == 0 ? "position mixture: the number of dimensions is missing"
                        : sd > 0    ? "position mixture: there can be at most 64 components"
                                    : "position mixture: the sd must be positive");
        return NULL;
    }
    hs_params *ps = hs_session_params(s, o->replica);
    position_mixture *m = hs_session_alloc(s, sizeof *m);
    if (!ps || !m)
        return NULL;
    m->dim = o->dim;
    m->components = components;
    m->full = !o->diagonal && o->dim > 1 && o->dim <= FULL_DIM;
    if (m->full && !make_triangles(s, m))
        return NULL;
    for (size_t k = 0; k < components; k++) {
        m->mean[k] =
            add_numbered(ps, "mean", k, hs_dims(o->dim),
                         o->means ? hs_init_values(o->means + k * o->dim) : hs_init_normal(1));
        m->log_sd[k] = add_numbered(ps, "log_sd", k, hs_dims(o->dim), hs_init_constant(log(sd)));
        if (m->full)
            m->shear[k] = add_numbered(ps, "shear", k, hs_dims(o->dim, o->dim), hs_init_zero());
    }
    m->weights = hs_mlp_new(ps, &(hs_mlp_options){ .name = "weights",
                                                   .in = o->dim,
                                                   .out = components,
                                                   .width = o->width ? o->width : 16,
                                                   .depth = o->depth ? o->depth : 4,
                                                   .activation = o->activation,
                                                   .zero_output = true });
    if (hs_params_status(ps)) {
        hs_session_fail(s, hs_params_status(ps), "position mixture: %s", hs_params_error(ps));
        return NULL;
    }
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "position-mixture",
                                                   .dim = o->dim,
                                                   .self = m,
                                                   .params = ps,
                                                   .ways = components,
                                                   .moves = position_moves });
}

/* ---- Mixtures of kernels -------------------------------------------------------------------- */

typedef struct {
    const hs_proposal *part[2];
    double p;
} kernel_mixture;

static void kernel_moves(void *self, hs_var x, hs_var n, hs_move *moves)
{
    const kernel_mixture *m = self;
    size_t first = 0;
    for (int i = 0; i < 2; i++) {
        const size_t ways = hs_proposal_ways(m->part[i]), normals = hs_proposal_normals(m->part[i]);
        hs_proposal_moves(m->part[i], x, hs_slice(n, 0, 0, normals), moves + first);
        for (size_t k = first; k < first + ways; k++)
            moves[k].weight = hs_scale(moves[k].weight, i ? 1 - m->p : m->p);
        first += ways;
    }
}

hs_proposal *hs_kernel_mixture(hs_session *s, const hs_proposal *first, const hs_proposal *second,
                               double p)
{
    if (!is_there(s, first, "kernel mixture", "first proposal") ||
        !is_there(s, second, "kernel mixture", "second proposal"))
        return NULL;
    const size_t ways = hs_proposal_ways(first) + hs_proposal_ways(second);
    const size_t dim = hs_proposal_dim(first), other = hs_proposal_dim(second);
    if (!(p > 0 && p < 1) || dim != other || ways > HS_MAX_WAYS) {
        if (dim != other)
            hs_session_fail(s, HS_ESHAPE, "kernel mixture: \"%s\" has %zu dimensions, \"%s\" %zu",
                            hs_proposal_name(first), dim, hs_proposal_name(second), other);
        else
            hs_session_fail(s, HS_EINVAL,
                            ways > HS_MAX_WAYS
                                ? "kernel mixture: there can be at most 64 ways of moving"
                                : "kernel mixture: the probability must lie between 0 and 1");
        return NULL;
    }
    kernel_mixture *m = hs_session_alloc(s, sizeof *m);
    if (!m)
        return NULL;
    *m = (kernel_mixture){ { first, second }, p };
    const size_t a = hs_proposal_normals(first), b = hs_proposal_normals(second);
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "kernel-mixture",
                                                   .dim = dim,
                                                   .self = m,
                                                   .params = hs_proposal_params(first),
                                                   .normals = a > b ? a : b,
                                                   .gradients = hs_proposal_gradients(first) +
                                                                hs_proposal_gradients(second),
                                                   .ways = ways,
                                                   .moves = kernel_moves });
}

/* ---- Independent draws from a flow ----------------------------------------------------------- */

static hs_var flow_draw_scored(void *self, hs_var x, hs_var n, hs_var *log_g)
{
    (void)x;
    hs_var log_det, y = hs_flow_forward((const hs_flow *)self, n, &log_det);
    *log_g = hs_sub(hs_log_normal(n), log_det);
    return y;
}

static hs_var flow_draw(void *self, hs_var x, hs_var n)
{
    hs_var log_g;
    return flow_draw_scored(self, x, n, &log_g);
}

static hs_var flow_log_density(void *self, hs_var y, hs_var x)
{
    (void)x;
    return hs_flow_log_density((const hs_flow *)self, y);
}

static void flow_release(void *self)
{
    hs_flow_free(self);
}

hs_proposal *hs_independent_flow(hs_session *s, hs_flow *flow, hs_params *params)
{
    if (!flow) {
        hs_session_fail(s, HS_ENOMEM, "independent flow: there is no flow");
        return NULL;
    }
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "independent-flow",
                                                   .dim = hs_flow_dim(flow),
                                                   .self = flow,
                                                   .release = flow_release,
                                                   .params = params,
                                                   .draw = flow_draw,
                                                   .log_density = flow_log_density,
                                                   .draw_scored = flow_draw_scored });
}
