/* Random tapes for tests: small graphs of most ops, whose values stay small. */
#ifndef HASTINGS_TESTS_SUPPORT_RANDOM_TAPE_H
#define HASTINGS_TESTS_SUPPORT_RANDOM_TAPE_H

#include <hastings.h>

#include <stdlib.h>
#include <string.h>

/* ---- Random choices ------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t draw(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return (size_t)(draw() % n);
}

static bool chance(int percent)
{
    return (int)below(100) < percent;
}

static double real(double lo, double hi)
{
    return lo + (hi - lo) * (double)(draw() >> 11) * 0x1p-53;
}

/* ---- A random tape -------------------------------------------------------------------------- */

enum { MOST_VALUES = 160, MOST_LEAVES = 80, MOST_OUTPUTS = 100 };

typedef struct {
    hs_tape *tape;
    hs_var value[MOST_VALUES]; /* small numbers all: each is a bounded function of others */
    int values;
    struct {
        hs_var var;
        double *wide;     /* data in double, rounded to the tape's type */
        void *data;       /* the same in the tape's type */
        const void *base; /* for bound values */
    } leaf[MOST_LEAVES];
    int leaves;
    size_t starts, rows_per_start;
    hs_var output[MOST_OUTPUTS];
    size_t outputs;
} graph;

static size_t copies_of(const graph *g, hs_extent extent)
{
    return extent == HS_SHARED ? 1 : g->starts * (extent == HS_ROW ? g->rows_per_start : 1);
}

static hs_shape random_shape(int rank)
{
    static const size_t lengths[] = { 1, 1, 2, 2, 3, 3, 4, 5, 7 };
    hs_shape shape = { rank, { 0 } };
    for (int i = 0; i < rank; i++)
        shape.dim[i] = rank == 1 && chance(20) ? 8 + below(30) : lengths[below(rank > 2 ? 5 : 9)];
    return shape;
}

static hs_extent random_extent(void)
{
    static const hs_extent extents[] = { HS_SHARED, HS_START, HS_START, HS_ROW, HS_ROW };
    return extents[below(5)];
}

/* A leaf that is fed: an input, or a bound value. */
static hs_var fed_leaf(graph *g, hs_shape shape, hs_extent extent)
{
    const int i = g->leaves++;
    const size_t n = hs_shape_count(&shape) * copies_of(g, extent);
    const bool narrow = hs_tape_dtype(g->tape) == HS_F32;
    g->leaf[i].wide = malloc(n * sizeof(double));
    g->leaf[i].data = malloc(n * sizeof(double));
    for (size_t k = 0; k < n; k++) {
        const double x = real(-1.5, 1.5);
        g->leaf[i].wide[k] = narrow ? (double)(float)x : x;
        if (narrow)
            ((float *)g->leaf[i].data)[k] = (float)x;
        else
            ((double *)g->leaf[i].data)[k] = x;
    }
    g->leaf[i].base = g->leaf[i].data;
    return g->leaf[i].var = extent == HS_SHARED && chance(50)
                                ? hs_bound(g->tape, "bound", shape, &g->leaf[i].base, 0)
                                : hs_input(g->tape, "input", extent, shape);
}

static hs_var new_leaf(graph *g, hs_shape shape, hs_extent extent)
{
    double numbers[4096];
    switch (below(10)) {
    case 0:
        return hs_normal(g->tape, extent, shape, (uint32_t)below(3));
    case 1:
        return hs_uniform(g->tape, extent, shape, (uint32_t)below(3));
    case 2:
        for (size_t i = 0; i < hs_shape_count(&shape); i++)
            numbers[i] = real(-1, 1);
        return hs_tensor(g->tape, shape, numbers);
    case 3:
        return hs_broadcast(hs_const(g->tape, real(-1, 1)), shape, extent);
    default:
        return g->leaves < MOST_LEAVES ? fed_leaf(g, shape, extent)
                                       : hs_normal(g->tape, extent, shape, 7);
    }
}

static hs_var any_value(const graph *g)
{
    return chance(50) && g->values > 4 ? g->value[g->values - 1 - (int)below(4)]
                                       : g->value[below((size_t)g->values)];
}

/* A value that broadcasts with x. */
static hs_var partner(graph *g, hs_var x)
{
    hs_shape shape = hs_var_shape(x), both;
    for (int i = 0; i < 6; i++) {
        hs_var y = any_value(g);
        const hs_shape other = hs_var_shape(y);
        if (hs_shape_broadcast(&shape, &other, &both) && hs_shape_count(&both) <= 120)
            return y;
    }
    for (int i = 0; i < shape.rank; i++)
        if (chance(25))
            shape.dim[i] = 1;
    const int drop = (int)below((size_t)shape.rank + 1);
    if (chance(40)) {
        shape.rank -= drop;
        memmove(shape.dim, shape.dim + drop, (size_t)shape.rank * sizeof *shape.dim);
    }
    return new_leaf(g, shape, random_extent());
}

static hs_var random_unary(hs_var x)
{
    switch (below(25)) {
    case 0:
        return hs_neg(x);
    case 1:
        return hs_abs(x);
    case 2:
        return hs_sign(x);
    case 3:
        return hs_scale(hs_square(x), 0.3);
    case 4:
        return hs_recip(hs_shift(hs_square(x), 1));
    case 5:
        return hs_sqrt(hs_shift(hs_square(x), 0.5));
    case 6:
        return hs_exp(hs_tanh(x));
    case 7:
        return hs_expm1(hs_tanh(x));
    case 8:
        return hs_log(hs_shift(hs_softplus(x), 0.2));
    case 9:
        return hs_log1p(hs_square(x));
    case 10:
        return hs_sin(x);
    case 11:
        return hs_cos(x);
    case 12:
        return hs_tanh(x);
    case 13:
        return hs_sigmoid(x);
    case 14:
        return hs_softplus(x);
    case 15:
        return hs_relu(x);
    case 16:
        return hs_gelu(x);
    case 17:
        return hs_erf(x);
    case 18:
        return hs_stop(x);
    case 19:
        return hs_copy(x);
    case 20:
        return hs_scale(x, real(-1, 1));
    case 21:
        return hs_shift(x, real(-1, 1));
    case 22:
        return hs_sub_from(real(-1, 1), x);
    case 23:
        return hs_power(hs_shift(hs_sigmoid(x), 0.4), 1.5);
    default:
        return hs_neg(hs_neg(x));
    }
}

static hs_var random_binary(graph *g, hs_var x, hs_var y)
{
    switch (below(17)) {
    case 0:
    case 1:
        return hs_scale(hs_add(x, y), 0.7);
    case 2:
        return hs_sub(hs_tanh(x), y);
    case 3:
    case 4:
        return hs_mul(hs_tanh(x), y);
    case 5:
        return hs_div(x, hs_shift(hs_square(y), 0.7));
    case 6:
        return hs_pow(hs_shift(hs_sigmoid(x), 0.4), hs_tanh(y));
    case 7:
        return hs_max(x, y);
    case 8:
        return hs_min(x, y);
    case 9:
        return hs_lt(x, y);
    case 10:
        return hs_le(x, y);
    case 11:
        return hs_gt(x, y);
    case 12:
        return hs_ge(x, y);
    case 13:
        return chance(50) ? hs_eq(x, y) : hs_ne(x, y);
    case 14:
        return hs_gate(x, y);
    case 15: {
        hs_var condition = hs_gt(x, y);
        return hs_select(condition, y, hs_tanh(partner(g, condition)));
    }
    default:
        return hs_tanh(hs_add(x, y));
    }
}

/* x as a vector or matrix times something that fits, followed as often as not by a bias and an
 * activation, which plans fuse. */
static hs_var random_matmul(graph *g, hs_var x)
{
    hs_shape shape = hs_var_shape(x);
    const size_t count = hs_shape_count(&shape);
    if (shape.rank == 0 || shape.rank > 2 || chance(20))
        x = hs_reshape(x, chance(50) || shape.rank == 0
                              ? hs_dims(count)
                              : hs_dims(shape.dim[0], count / shape.dim[0]));
    shape = hs_var_shape(x);
    const bool tx = chance(40), ty = chance(40), left = chance(60);
    const size_t other = 1 + below(chance(15) ? 40 : 6);
    /* The length that x is summed over, as a left (right) factor. */
    const size_t inner = shape.rank == 1 ? shape.dim[0]
                         : left          ? shape.dim[tx ? 0 : 1]
                                         : shape.dim[ty ? 1 : 0];
    const bool transposed = left ? ty : tx;
    hs_shape fits = left == transposed ? hs_dims(other, inner) : hs_dims(inner, other);
    if (chance(25))
        fits = hs_dims(inner);
    hs_var y = new_leaf(g, fits, chance(60) ? HS_SHARED : random_extent());
    hs_var z = left ? hs_matmul_t(x, tx, y, ty) : hs_matmul_t(y, tx, x, ty);
    z = hs_scale(z, 1 / (double)inner);
    if (chance(50))
        z = hs_add(z, partner(g, z));
    switch (below(6)) {
    case 0:
        return hs_relu(z);
    case 1:
        return hs_tanh(z);
    case 2:
        return hs_sigmoid(z);
    case 3:
        return hs_gelu(z);
    default:
        return hs_softplus(z);
    }
}

static hs_shape factored(size_t count)
{
    hs_shape shape = { 1 + (int)below(4), { 0 } };
    for (int i = 0; i < shape.rank; i++) {
        size_t d = 1;
        if (i == shape.rank - 1)
            d = count;
        else
            for (int tries = 0; tries < 3; tries++) {
                const size_t c = 1 + below(5);
                d = count % c == 0 ? c : d;
            }
        shape.dim[i] = d;
        count /= d;
    }
    return shape;
}

static hs_var random_move(graph *g, hs_var x)
{
    const hs_shape shape = hs_var_shape(x);
    if (shape.rank == 0)
        return hs_broadcast(x, random_shape((int)below(4)), HS_ROW);
    const int axis = (int)below((size_t)shape.rank);
    const size_t length = shape.dim[axis], first = below(length);
    const double mean = 1 / (double)length;
    int order[HS_MAX_RANK] = { 0, 1, 2, 3 };
    size_t index[8];
    hs_var parts[4];
    hs_shape narrow = shape;
    switch (below(16)) {
    case 0:
        return hs_scale(hs_sum(x, axis), mean);
    case 1:
        return hs_mean(x, axis - shape.rank);
    case 2:
        return hs_mean(x, HS_ALL);
    case 3:
        return hs_max_over(x, chance(20) ? HS_ALL : axis);
    case 4:
        return hs_logsumexp(x, axis);
    case 5:
        return hs_softmax(x, axis);
    case 6:
        return hs_scale(hs_log_softmax(x, axis), 0.3);
    case 7:
        return hs_reshape(x, factored(hs_shape_count(&shape)));
    case 8:
        for (int i = shape.rank - 1; i > 0; i--) {
            const int j = (int)below((size_t)i + 1), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        return hs_permute(x, order);
    case 9:
        return hs_slice(x, axis, first, first + 1 + below(length - first));
    case 10:
        return hs_pad(x, axis, below(3), below(3));
    case 11: {
        const size_t n = 2 + below(3);
        for (size_t i = 0; i < n; i++) {
            narrow.dim[axis] = 1 + below(4);
            parts[i] = chance(40) ? x : new_leaf(g, narrow, random_extent());
        }
        return hs_concat(parts, n, axis);
    }
    case 12: {
        const size_t n = 1 + below(8);
        for (size_t i = 0; i < n; i++)
            index[i] = below(length);
        return hs_gather(x, axis, index, n);
    }
    case 13:
        if (length > 8)
            return hs_slice(x, axis, 0, 4);
        for (size_t i = 0; i < length; i++)
            index[i] = below(6);
        return hs_scale(hs_scatter(x, axis, index, 6), 0.4);
    case 14:
        if (shape.rank == 4)
            return x;
        narrow.rank = shape.rank + 1;
        memcpy(narrow.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
        narrow.dim[0] = 1 + below(3);
        return hs_broadcast(x, narrow, chance(50) ? HS_ROW : hs_var_extent(x));
    default:
        for (int i = 0; i < shape.rank; i++)
            if (chance(60))
                narrow.dim[i] = 1;
        return hs_tanh(hs_sum_to(
            x, narrow, hs_var_extent(x) == HS_ROW && chance(60) ? HS_START : hs_var_extent(x)));
    }
}

static void random_graph(graph *g, hs_dtype dtype)
{
    memset(g, 0, sizeof *g);
    g->tape = hs_tape_new(dtype);
    const size_t most = chance(15) ? 20 : 5;
    g->starts = 1 + below(most);
    g->rows_per_start = chance(25) ? 1 : 1 + below(most);
    for (int i = 0; i < 3; i++)
        g->value[g->values++] = new_leaf(g, random_shape((int)below(5)), random_extent());
    const int ops = 1 + (int)below(chance(20) ? 60 : 14);
    for (int i = 0; i < ops; i++) {
        hs_var x = any_value(g), y;
        const size_t what = below(10);
        if (what < 3)
            y = random_unary(x);
        else if (what < 6)
            y = random_binary(g, x, partner(g, x));
        else if (what < 7)
            y = random_matmul(g, x);
        else
            y = random_move(g, x);
        const hs_shape shape = hs_var_shape(y);
        if (hs_shape_count(&shape) <= 200)
            g->value[g->values++] = y;
    }
}

/* ---- Outputs: values of all kinds, a loss, and its gradients -----------------------------------
 */

static void add_gradients(graph *g, hs_var loss, int order)
{
    hs_var wrt[MOST_LEAVES + 1], gradient[MOST_LEAVES + 1];
    size_t n = 0;
    for (int i = 0; i < g->leaves && n < 12; i++)
        if (chance(60))
            wrt[n++] = g->leaf[i].var;
    if (chance(30))
        wrt[n++] = any_value(g);
    if (n == 0)
        return;
    hs_grad(loss, wrt, n, gradient);
    for (size_t i = 0; i < n && g->outputs < MOST_OUTPUTS; i++)
        g->output[g->outputs++] = gradient[i];
    if (order == 2)
        return;
    hs_var sum = hs_const(g->tape, 0);
    for (size_t i = 0; i < n; i++) {
        hs_var weight = new_leaf(g, hs_var_shape(gradient[i]), HS_SHARED);
        hs_var part = hs_mul(gradient[i], weight);
        sum = hs_add(sum, hs_sum_to(part, hs_scalar_shape(), HS_SHARED));
    }
    g->output[g->outputs++] = sum;
    if (hs_tape_size(g->tape) < 1500)
        add_gradients(g, sum, 2);
}

static void choose_outputs(graph *g)
{
    const size_t n = 1 + below(5);
    hs_var loss = hs_const(g->tape, 0.5);
    for (size_t i = 0; i < n; i++) {
        hs_var x = any_value(g);
        g->output[g->outputs++] = x;
        hs_var part = hs_mean(x, HS_ALL);
        if (chance(50))
            part = hs_square(part);
        part = chance(80) ? hs_mean_rows(part) : hs_scale(hs_sum_rows(part), 0.01);
        loss = hs_add(loss, part);
    }
    g->output[g->outputs++] = loss;
    if (chance(80))
        add_gradients(g, loss, chance(40) ? 1 : 2);
}

#endif
