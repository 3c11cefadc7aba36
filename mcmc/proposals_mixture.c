/* Proposals with a discrete choice, whose ways of moving are enumerated. */
#include <hastings/mcmc/proposals.h>
#include <hastings/mcmc/parts_internal.h>

#include <math.h>

#include <hastings/tensor/memory.h>

#undef HS_HERE
#define HS_HERE "mixture proposal"

/* ---- Gaussians with weights that depend on the position ------------------------------------- */

enum { FULL_DIM = 16 }; /* correlations are solved for coordinate by coordinate on the tape */

typedef struct {
    size_t dim, components;
    bool full;
    hs_mlp weights;
    hs_param mean[HS_MAX_WAYS], log_sd[HS_MAX_WAYS], shear[HS_MAX_WAYS];
} position_mixture;

/* Component k is N(mean, D L (D L)^T): D the diagonal of sds, L lower triangular with ones on its
 * diagonal; row i of L left of the diagonal is row i of `shear`. */
static hs_var component_draw(const position_mixture *m, size_t k, hs_var n)
{
    hs_var e = n;
    if (m->full) {
        hs_var rows[FULL_DIM], shear = hs_param_var(n.tape, m->shear[k]);
        for (size_t i = 0; i < m->dim; i++) {
            rows[i] = hs_slice(n, 0, i, i + 1);
            for (size_t j = 0; j < i; j++) {
                hs_var l = hs_slice(hs_reshape(shear, hs_dims(m->dim * m->dim)), 0, i * m->dim + j,
                                    i * m->dim + j + 1);
                rows[i] = hs_add(rows[i], hs_mul(l, hs_slice(n, 0, j, j + 1)));
            }
        }
        e = hs_concat(rows, m->dim, 0);
    }
    return hs_add(hs_param_var(n.tape, m->mean[k]),
                  hs_mul(hs_exp(hs_param_var(n.tape, m->log_sd[k])), e));
}

static hs_var component_log_density(const position_mixture *m, size_t k, hs_var y)
{
    hs_var log_sd = hs_param_var(y.tape, m->log_sd[k]);
    hs_var e = hs_mul(hs_sub(y, hs_param_var(y.tape, m->mean[k])), hs_exp(hs_neg(log_sd)));
    if (m->full) { /* solve L n = e */
        hs_var rows[FULL_DIM], shear = hs_param_var(y.tape, m->shear[k]);
        for (size_t i = 0; i < m->dim; i++) {
            rows[i] = hs_slice(e, 0, i, i + 1);
            for (size_t j = 0; j < i; j++) {
                hs_var l = hs_slice(hs_reshape(shear, hs_dims(m->dim * m->dim)), 0, i * m->dim + j,
                                    i * m->dim + j + 1);
                rows[i] = hs_sub(rows[i], hs_mul(l, rows[j]));
            }
        }
        e = hs_concat(rows, m->dim, 0);
    }
    return hs_sub(hs_log_normal(e), hs_sum_last(log_sd));
}

static hs_var log_weights(const position_mixture *m, hs_var x)
{
    return hs_log_softmax(hs_mlp_apply(&m->weights, x), 0);
}

/* log of the sum over components of weight(x) N(y). */
static hs_var mixture_density(const position_mixture *m, hs_var log_weight, hs_var y)
{
    hs_var parts[HS_MAX_WAYS];
    for (size_t k = 0; k < m->components; k++)
        parts[k] = hs_reshape(component_log_density(m, k, y), hs_dims(1));
    return hs_logsumexp(hs_add(log_weight, hs_concat(parts, m->components, 0)), 0);
}

static void position_moves(void *self, hs_var x, hs_var n, hs_move *moves)
{
    const position_mixture *m = self;
    hs_var at_x = log_weights(m, x);
    for (size_t k = 0; k < m->components; k++) {
        hs_var y = component_draw(m, k, n);
        moves[k] = (hs_move){
            .y = y,
            .log_g_fwd = mixture_density(m, at_x, y),
            .log_g_rev = mixture_density(m, log_weights(m, y), x),
            .weight = hs_exp(hs_reshape(hs_slice(at_x, 0, k, k + 1), hs_scalar_shape())),
        };
    }
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
