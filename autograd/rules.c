/* Derivative rules: each is written in ops, so that gradients can be differentiated again. */
#include "tape_internal.h"

/* Nodes of a gradient carry the place of the node that they differentiate. */
#undef HS_HERE
#define HS_HERE           at

#define HS_2_OVER_SQRT_PI 1.12837916709551257389615890312154517

/* The arguments of a function below: the node y with its attributes, the gradient g of y, the inputs that need a
 * gradient, and the place for these gradients. Each function returns the gradient of the first input. */
typedef struct {
    hs_var y, g;
    const bool *needed;
    hs_var *gradient;
    const tape_node *node; /* only valid until something is recorded */
    op_attributes attributes;
    const char *at;
} rule_call;

static hs_var input(const rule_call *r, int i)
{
    return (hs_var){ r->y.tape, r->y.tape->node[r->y.id].input[i] };
}

/* Standard normal distribution function of a plus a times its density: the slope of gelu. */
static hs_var gelu_slope(hs_var a, const char *at)
{
    const double root_half = 0.70710678118654752440, density0 = 0.39894228040143267794;
    hs_var cdf = hs_scale(hs_shift(hs_erf(hs_scale(a, root_half)), 1), 0.5);
    hs_var density = hs_scale(hs_exp(hs_scale(hs_square(a), -0.5)), density0);
    return hs_add(cdf, hs_mul(a, density));
}

static hs_var max_gradient(hs_var a, hs_var y, hs_var g, const char *at)
{
    hs_var largest = hs_eq(a, y);
    hs_var ties = hs_sum_to(largest, hs_var_shape(y), hs_var_extent(y));
    return hs_mul(largest, hs_div(g, ties));
}

static hs_var matmul_gradients(const rule_call *r)
{
    const char *at = r->at;
    const bool tx = r->attributes.transpose[0], ty = r->attributes.transpose[1];
    const hs_var x = input(r, 0), y = input(r, 1), g = r->g;
    const hs_extent ex = hs_var_extent(x), ey = hs_var_extent(y);
    if (r->needed[0])
        r->gradient[0] =
            tx ? hs__matmul_to(y, ty, g, true, ex, at) : hs__matmul_to(g, false, y, !ty, ex, at);
    if (r->needed[1])
        r->gradient[1] =
            ty ? hs__matmul_to(g, true, x, tx, ey, at) : hs__matmul_to(x, !tx, g, false, ey, at);
    return r->gradient[0];
}

static hs_var permute_gradient(const rule_call *r)
{
    const char *at = r->at;
    int inverse[HS_MAX_RANK] = { 0 };
    for (int i = 0; i < r->node->shape.rank; i++)
        inverse[r->attributes.permutation[i]] = i;
    return hs_permute(r->g, inverse);
}

static hs_var concat_gradients(const rule_call *r)
{
    const char *at = r->at;
    const int n = r->node->inputs, axis = r->attributes.axis;
    size_t first = 0;
    for (int i = 0; i < n; i++) {
        const size_t length = hs_var_shape(input(r, i)).dim[axis];
        if (r->needed[i])
            r->gradient[i] = hs_slice(r->g, axis, first, first + length);
        first += length;
    }
    return r->gradient[0];
}

static hs_var call_hvp_gradients(const rule_call *r)
{
    const char *at = r->at;
    const hs_function *f = r->attributes.function;
    if (r->needed[1]) /* the Hessian is symmetric */
        r->gradient[1] = hs_call_hvp(f, input(r, 0), r->g);
    if (!r->needed[0] || f->constant_hessian)
        return r->gradient[0];
    return hs_tape_fail(r->y.tape, HS_EINVAL, at,
                        "call: the third derivative of function \"%s\" is needed, and functions in "
                        "C have two",
                        f->name ? f->name : "?");
}

void hs__record_gradients(hs_var y, hs_var g, const bool *needed, hs_var *gradient)
{
    const tape_node *node = node_of(y);
    const char *at = node->at;
    const op_attributes attributes = node->attributes ? *node->attributes : (op_attributes){ 0 };
    const rule_call call = { y, g, needed, gradient, node, attributes, at };
    const int n = attributes.order;
    hs_var in[3] = { { NULL, 0 } };
    for (int i = 0; i < 3 && i < node->inputs; i++)
        in[i] = input(&call, i);
    const hs_var a = in[0], b = in[1], c = in[2], ZERO = poison(y.tape);
    (void)c; /* no row needs it yet */
    const size_t length = hs_var_shape(a).dim[attributes.axis];
#define GRADIENT(i, value)                                                                         \
    if (needed[i])                                                                                 \
    gradient[i] = value
    switch (node->op) {
#define RULE(name, ...)                                                                            \
    case OP_##name:                                                                                \
        __VA_ARGS__;                                                                               \
        break;
#define HS_UNARY(name, traits, domain, kernel, ga, doc) RULE(name, gradient[0] = ga)
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)                                       \
    RULE(name, GRADIENT(0, ga); GRADIENT(1, gb))
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc)                                  \
    RULE(name, GRADIENT(0, ga); GRADIENT(1, gb); GRADIENT(2, gc))
#define HS_OP(name, traits, ga, example, doc) RULE(name, gradient[0] = ga)
#include <hastings/autograd/ops.def>
    default:
        break;
    }
}
