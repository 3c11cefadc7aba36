/* Proposals with a discrete choice, whose ways of moving are enumerated. */
#include <hastings/mcmc/proposals/proposals.h>
#include "../parts_internal.h"
#include "../targets/targets_internal.h"

#include <math.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

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
        spread; /* D L of all components, [components dim][dim]; if diagonal the sds, [components dim] */
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

/* The inverses of I + S for all components, [components][dim][dim]. */
static hs_var inverses(const position_mixture *m, hs_var identity, hs_var s)
{
    const size_t d = m->dim, n = m->components;
    if (d <= 2)
        return hs_sub(identity, s);
    hs_var each[HS_MAX_WAYS] = { { 0 } };
    for (size_t k = 0; k < n; k++)
        each[k] =
            inverse_of_unit_lower(identity, hs_reshape(hs_slice(s, 0, k, k + 1), hs_dims(d, d)), d);
    return hs_reshape(hs_concat(each, n, 0), hs_dims(n, d, d));
}

static hs_var all_of(const hs_param *parts, size_t n, hs_tape *tape)
{
    hs_var part[HS_MAX_WAYS] = { { 0 } };
    for (size_t k = 0; k < n; k++)
        part[k] = hs_param_var(tape, parts[k]);
    return hs_concat(part, n, 0);
}

/* Joins the parameters of all components first: for few numbers, an op on all components costs no
 * more than on one. */
static stacked stack(const position_mixture *m, hs_tape *tape)
{
    const size_t d = m->dim, n = m->components;
    hs_var mean = all_of(m->mean, n, tape), sizes = all_of(m->log_sd, n, tape);
    stacked all = { .mean = mean,
                    .spread = hs_exp(sizes),
                    .whiten = hs_exp(hs_neg(sizes)),
                    .centre = sizes,
                    .volume = hs_shift(hs_sum_last(hs_reshape(sizes, hs_dims(n, d))),
                                       0.5 * HS_LOG_2PI * (double)d) };
    if (!m->full)
        return all;
    hs_var identity = hs__target_array_at(&m->identity, tape, HS_HERE);
    hs_var s = hs_mul(hs__target_array_at(&m->below, tape, HS_HERE),
                      hs_reshape(all_of(m->shear, n, tape), hs_dims(n, d, d)));
    hs_var spread = hs_mul(hs_reshape(all.spread, hs_dims(n, d, 1)), hs_add(identity, s));
    hs_var whiten = hs_mul(inverses(m, identity, s), hs_reshape(all.whiten, hs_dims(n, 1, d)));
    hs_var centre = hs_sum_last(hs_mul(whiten, hs_reshape(mean, hs_dims(n, 1, d))));
    all.spread = hs_reshape(spread, hs_dims(n * d, d));
    all.whiten = hs_reshape(whiten, hs_dims(n * d, d));
    all.centre = hs_reshape(centre, hs_dims(n * d));
    return all;
}

/* The draw of each component from the noise, [components dim]. */
static hs_var draw_all(const position_mixture *m, const stacked *all, hs_var n)
{
    if (m->full)
        return hs_add(hs_matmul(all->spread, n), all->mean);
    const hs_shape table = hs_dims(m->components, m->dim);
    hs_var spread = hs_reshape(all->spread, table), mean = hs_reshape(all->mean, table);
    return hs_reshape(hs_add(mean, hs_mul(spread, n)), hs_dims(m->components * m->dim));
}

/* The log density of each component at each row of y, [rows][components]. */
static hs_var log_densities(const position_mixture *m, const stacked *all, hs_var y)
{
    const size_t rows = hs_var_shape(y).dim[0], n = m->components, d = m->dim;
    hs_var z;
    if (m->full) {
        z = hs_sub(hs_matmul_t(y, false, all->whiten, true), all->centre);
        z = hs_reshape(z, hs_dims(rows, n, d));
    } else {
        const hs_shape table = hs_dims(n, d);
        z = hs_mul(hs_sub(hs_reshape(y, hs_dims(rows, 1, d)), hs_reshape(all->mean, table)),
                   hs_reshape(all->whiten, table));
    }
    return hs_sub(hs_scale(hs_sum_last(hs_square(z)), -0.5), all->volume);
}

/* The log weights at each row of x, [rows][components]. */
static hs_var log_weights(const position_mixture *m, hs_var x)
{
    for (size_t i = 0; i <= m->weights.depth; i++) {
        const hs_linear layer = hs_mlp_layer(&m->weights, i);
        x = hs_matmul_t(x, false, hs_param_var(x.tape, layer.weight), true);
        x = hs_add(x, hs_param_var(x.tape, layer.bias));
        if (i < m->weights.depth)
            x = hs_activate(m->weights.activation, x);
    }
    return hs_log_softmax(x, 1);
}

static hs_var number_at(hs_var x, size_t i)
{
    return hs_reshape(hs_slice(x, 0, i, i + 1), hs_scalar_shape());
}

/* All draws go through densities and network together, as rows of a matrix, unless the result is
 * long: a short step takes hardly longer for several draws than for one. */
static void position_moves(void *self, hs_var x, hs_var noise, hs_move *moves)
{
    enum { FEW = 4096 };
    const position_mixture *m = self;
    const size_t n = m->components, d = m->dim, together = n * n * d <= FEW ? n : 1;
    const stacked all = stack(m, x.tape);
    hs_var row = hs_reshape(x, hs_dims(1, d));
    hs_var weights_x = log_weights(m, row), densities_x = log_densities(m, &all, row);
    hs_var weight = hs_reshape(hs_exp(weights_x), hs_dims(n)), draws = draw_all(m, &all, noise);
    for (size_t first = 0; first < n; first += together) {
        hs_var y = hs_slice(draws, 0, first * d, (first + together) * d);
        y = hs_reshape(y, hs_dims(together, d));
        hs_var forward = hs_logsumexp(hs_add(weights_x, log_densities(m, &all, y)), 1);
        hs_var reverse = hs_logsumexp(hs_add(log_weights(m, y), densities_x), 1);
        for (size_t k = 0; k < together; k++)
            moves[first + k] = (hs_move){
                .y = hs_slice(draws, 0, (first + k) * d, (first + k + 1) * d),
                .log_g_fwd = number_at(forward, k),
                .log_g_rev = number_at(reverse, k),
                .weight = number_at(weight, first + k),
            };
    }
}

/* Makes the constant arrays for triangular factors; false after failing the session. */
static bool make_triangles(hs_session *s, position_mixture *m)
{
    const hs_shape square = hs_dims(m->dim, m->dim);
    double *identity = hs__target_array_new(s, &m->identity, "identity", square);
    double *below = hs__target_array_new(s, &m->below, "below the diagonal", square);
    for (size_t i = 0; identity && below && i < m->dim; i++)
        for (size_t j = 0; j <= i; j++)
            (i == j ? identity : below)[i * m->dim + j] = 1;
    return identity && below && hs__target_array_finish(s, &m->identity) &&
           hs__target_array_finish(s, &m->below);
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
    const hs_position_mixture_options *o = options ? options : &(hs_position_mixture_options){ 0 };
    const size_t components = o->components ? o->components : 4;
    const double sd = o->sd != 0 ? o->sd : 1;
    if (o->dim == 0 || components > HS_MAX_WAYS || !(sd > 0))
        return SESSION_NULL(s, HS_EINVAL,
                            o->dim == 0 ? "position mixture: the number of dimensions is missing"
                            : sd > 0    ? "position mixture: there can be at most 64 components"
                                        : "position mixture: the sd must be positive");
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
    if (hs_params_status(ps))
        return SESSION_NULL(s, hs_params_status(ps), "position mixture: %s", hs_params_error(ps));
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
    if (!hs__is_there(s, first, "kernel mixture", "first proposal") ||
        !hs__is_there(s, second, "kernel mixture", "second proposal"))
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
    bool log_step;
    const hs_param step = hs_proposal_step(first, &log_step);
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "kernel-mixture",
                                                   .dim = dim,
                                                   .self = m,
                                                   .params = hs_proposal_params(first),
                                                   .step = step,
                                                   .log_step = log_step,
                                                   .scale = hs_proposal_scale(first),
                                                   .normals = a > b ? a : b,
                                                   .gradients = hs_proposal_gradients(first) +
                                                                hs_proposal_gradients(second),
                                                   .ratio_only = hs_proposal_is_ratio_only(first) ||
                                                                 hs_proposal_is_ratio_only(second),
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
    if (!flow)
        return SESSION_NULL(s, HS_ENOMEM, "independent flow: there is no flow");
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "independent-flow",
                                                   .dim = hs_flow_dim(flow),
                                                   .self = flow,
                                                   .release = flow_release,
                                                   .params = params,
                                                   .log_density = flow_log_density,
                                                   .draw_scored = flow_draw_scored });
}
