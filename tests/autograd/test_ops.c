/* Walks the op table: every op in it is checked by being there. First and second derivatives in f64
 * against differences, over shapes, broadcasts, extents and cuts of the batch; f32 against f64. */
#include "support/hs_check.h"

#include <hastings.h>

#include <string.h>

/* ---- Functions of the user's own, for the examples of call ---------------------------------- */

/* f(x) = sum x_i^3 + x_0 x_1 */
static double cubic(const double *x, size_t n, void *context)
{
    (void)context;
    double sum = x[0] * x[1];
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i] * x[i];
    return sum;
}

static void cubic_gradient(const double *x, size_t n, double *g, void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        g[i] = 3 * x[i] * x[i];
    g[0] += x[1];
    g[1] += x[0];
}

static void cubic_hvp(const double *x, const double *v, size_t n, double *p, void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        p[i] = 6 * x[i] * v[i];
    p[0] += v[1];
    p[1] += v[0];
}

/* f(x) = sum (i + 1) x_i^2 / 2 + x_0 x_1 */
static void quadratic_gradient(const double *x, size_t n, double *g, void *context)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        g[i] = (double)(i + 1) * x[i];
    g[0] += x[1];
    g[1] += x[0];
}

static double quadratic(const double *x, size_t n, void *context)
{
    double g[16], sum = 0;
    quadratic_gradient(x, n, g, context);
    for (size_t i = 0; i < n; i++)
        sum += x[i] * g[i] / 2;
    return sum;
}

static void quadratic_hvp(const double *x, const double *v, size_t n, double *p, void *context)
{
    (void)x;
    quadratic_gradient(v, n, p, context);
}

static const hs_function cubic_function = {
    "cubic", cubic, cubic_gradient, cubic_hvp, NULL, false
};
static const hs_function quadratic_function = { "quadratic",   quadratic, quadratic_gradient,
                                                quadratic_hvp, NULL,      true };
/* The example of the gradient is checked to second order, which asks for third derivatives. */
#define test_function  (*(third_order ? &quadratic_function : &cubic_function))
#define linear_hessian quadratic_function

/* ---- The table ------------------------------------------------------------------------------ */

/* In the examples all ops are functions of a, b, c. */
#undef hs_polygamma
#define hs_polygamma(x) hs_polygamma_at(1, (x), HS_HERE)

typedef enum { REAL, POSITIVE, APART, SMALL } domain;

typedef struct {
    const char *name;
    int arity;
    domain where;
    hs_var (*record)(hs_var a, hs_var b, hs_var c, bool third_order);
} op_case;

#define RECORD(name, expression)                                                                   \
    static hs_var record_##name(hs_var a, hs_var b, hs_var c, bool third_order)                    \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)third_order;                                              \
        return expression;                                                                         \
    }
#define HS_UNARY(name, traits, where, kernel, ga, doc)           RECORD(name, hs_##name(a))
#define HS_BINARY(name, traits, where, kernel, ga, gb, doc)      RECORD(name, hs_##name(a, b))
#define HS_TERNARY(name, traits, where, kernel, ga, gb, gc, doc) RECORD(name, hs_##name(a, b, c))
#define HS_OP(name, traits, ga, example, doc)                    RECORD(name, example)
#include <hastings/autograd/ops.def>

static const op_case cases[] = {
#define HS_UNARY(name, traits, where, kernel, ga, doc)           { #name, 1, where, record_##name },
#define HS_BINARY(name, traits, where, kernel, ga, gb, doc)      { #name, 2, where, record_##name },
#define HS_TERNARY(name, traits, where, kernel, ga, gb, gc, doc) { #name, 3, where, record_##name },
#define HS_OP(name, traits, ga, example, doc)                    { #name, 0, REAL, record_##name },
#include <hastings/autograd/ops.def>
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- Operands ------------------------------------------------------------------------------- */

enum { MOST = 4096 };

typedef struct {
    size_t starts, rows_per_start, shard_starts;
} batch;

/* One lane, lanes that fill no vector, several shards with a short last one, one start per shard. */
static const batch batches[] = { { 1, 1, 0 },  { 3, 2, 0 }, { 5, 3, 2 },
                                 { 2, 17, 1 }, { 7, 1, 3 }, { 18, 1, 0 } };
enum { BATCHES = sizeof batches / sizeof *batches };

static size_t values_in(const hs_shape *shape, hs_extent extent, const batch *b)
{
    return hs_shape_count(shape) *
           (extent == HS_SHARED ? 1 : b->starts * (extent == HS_ROW ? b->rows_per_start : 1));
}

/* Numbers of operand k; with APART, those of different operands are never close. */
static void fill(double *x, size_t n, domain where, int k, uint64_t seed)
{
    hs_random_rows(HS_F64, HS_UNIFORM, (hs_address){ .seed = seed, .stream = (uint32_t)k }, 0, 1, n,
                   x);
    for (size_t i = 0; i < n; i++) {
        const double u = x[i], sign = (i * 7 + (size_t)k) % 3 ? 1 : -1;
        switch (where) {
        case REAL:
            x[i] = sign * (0.3 + 1.2 * u);
            break;
        case POSITIVE:
            x[i] = 0.4 + 2 * u;
            break;
        case APART:
            x[i] = 0.5 * floor(6 * u) + 0.25 * k + 0.1 * u - 1.5;
            break;
        case SMALL:
            x[i] = 1.8 * u - 0.9;
            break;
        }
    }
}

/* A scalar of y in which every element has a weight of its own, and which is not linear. */
static hs_var weigh(hs_var y)
{
    const hs_shape shape = hs_var_shape(y);
    double weight[MOST];
    const size_t n = hs_shape_count(&shape);
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++)
        weight[i] = cos(1.0 + 1.7 * (double)i);
    hs_var w = hs_tensor(y.tape, shape, weight);
    return hs_sum(hs_add(hs_mul(w, y), hs_scale(hs_square(y), 0.3)), HS_ALL);
}

typedef struct {
    hs_tape *tape;
    hs_var x[3];
    double *value[3];
    hs_var y; /* the op's value */
} recording;

static recording record(const op_case *op, hs_dtype dtype, const hs_shape *shape,
                        const hs_extent *extent, const batch *b, bool third_order)
{
    recording r = { .tape = hs_tape_new(dtype) };
    for (int k = 0; k < 3; k++) {
        const size_t n = values_in(&shape[k], extent[k], b);
        r.x[k] = hs_input(r.tape, "operand", extent[k], shape[k]);
        r.value[k] = malloc(n * sizeof(double));
        fill(r.value[k], n, op->where, k, 11);
        if (strcmp(op->name, "select") == 0 && k == 0)
            for (size_t i = 0; i < n; i++)
                r.value[k][i] = i % 2 ? 1 : 0; /* a condition, which differences must not move */
    }
    r.y = op->record(r.x[0], r.x[1], r.x[2], third_order);
    return r;
}

static void forget(recording *r)
{
    for (int k = 0; k < 3; k++)
        free(r->value[k]);
    hs_tape_free(r->tape);
}

/* ---- Gradients ------------------------------------------------------------------------------ */

static void check_gradients(const op_case *op, const hs_shape *shape, const hs_extent *extent,
                            const batch *b, int arity)
{
    recording r = record(op, HS_F64, shape, extent, b, true);
    hs_var loss = weigh(r.y);
    /* The condition of select, and what is stopped, have no gradient although differences see one:
     * they come last, and are held. */
    const int held = strcmp(op->name, "select") == 0 || strcmp(op->name, "stop") == 0 ? 1 : 0;
    hs_gradcheck_report report;
    hs_var order[3];
    const double *values[3];
    for (int k = 0; k < arity; k++) {
        order[k] = r.x[(k + held) % arity];
        values[k] = r.value[(k + held) % arity];
    }
    const hs_gradcheck_options options = { .order = 2,
                                           .starts = b->starts,
                                           .rows_per_start = b->rows_per_start,
                                           .shard_starts = b->shard_starts,
                                           .held = (size_t)held,
                                           .seed = 5 };
    const hs_status status = hs_gradcheck(loss, order, values, (size_t)arity, &options, &report);
    ck_assert_msg(status == HS_OK, "%s: %s", op->name, hs_tape_error(r.tape));
    char text[3][HS_SHAPE_TEXT];
    ck_assert_msg(report.worst < 1e-6,
                  "%s of %s %s, %s %s, %s %s, batch %zu x %zu: order %d, operand %zu, element %zu: "
                  "gradient %.12g, differences %.12g",
                  op->name, hs_shape_text(&shape[0], text[0]), hs_extent_name(extent[0]),
                  hs_shape_text(&shape[1], text[1]), hs_extent_name(extent[1]),
                  hs_shape_text(&shape[2], text[2]), hs_extent_name(extent[2]), b->starts,
                  b->rows_per_start, report.order, report.wrt, report.element, report.found,
                  report.expected);
    forget(&r);
}

/* Shapes of three operands that broadcast together. */
static void shape_set(int which, hs_shape *shape)
{
    const hs_shape sets[][3] = {
        { hs_dims(2, 3), hs_dims(2, 3), hs_dims(2, 3) },
        { hs_dims(2, 3), hs_dims(3), hs_scalar_shape() },
        { hs_dims(2, 1), hs_dims(1, 3), hs_dims(2, 3) },
        { hs_scalar_shape(), hs_dims(5), hs_dims(1) },
        { hs_dims(1, 2, 1, 2), hs_dims(3, 1, 2, 1), hs_dims(2) },
        { hs_dims(17), hs_dims(17), hs_dims(17) },
    };
    memcpy(shape, sets[which], 3 * sizeof *shape);
}
enum { SHAPE_SETS = 6 };

START_TEST(gradients_match_differences)
{
    const op_case *op = &cases[_i];
    const int arity = op->arity ? op->arity : 2;
    size_t turn = (size_t)_i;
    hs_shape shape[3];
    for (int s = 0; s < (op->arity ? SHAPE_SETS : 1); s++) {
        shape_set(s, shape);
        for (int e = 0; e < (arity == 1 ? 3 : arity == 2 ? 9 : 27); e++, turn++) {
            const hs_extent extent[3] = { (hs_extent)(e % 3), (hs_extent)(e / 3 % 3),
                                          (hs_extent)(e / 9 % 3) };
            check_gradients(op, shape, extent, &batches[turn % BATCHES], arity);
            if (!op->arity) /* these have few cases, and each a kernel of its own: all batches */
                for (int b = 0; b < BATCHES; b++)
                    check_gradients(op, shape, extent, &batches[b], arity);
        }
    }
}
END_TEST

/* ---- Number types --------------------------------------------------------------------------- */

/* Values of the op, and of its gradient, as doubles; returns how many. */
static size_t evaluate(const op_case *op, hs_dtype dtype, const batch *b, double *out)
{
    hs_shape shape[3];
    shape_set(0, shape);
    const hs_extent extent[3] = { HS_ROW, HS_START, HS_SHARED };
    recording r = record(op, dtype, shape, extent, b, false);
    hs_var gradient, loss = weigh(r.y);
    hs_grad(loss, r.x, 1, &gradient);
    hs_plan *plan;
    const hs_var outputs[] = { r.y, gradient };
    ck_assert_msg(hs_plan_new(&plan, outputs, 2,
                              &(hs_plan_options){ .starts = b->starts,
                                                  .rows_per_start = b->rows_per_start }) == HS_OK,
                  "%s", hs_tape_error(r.tape));
    static float narrow[3][MOST];
    for (int k = 0; k < 3; k++) {
        const size_t n = values_in(&shape[k], extent[k], b);
        for (size_t i = 0; i < n; i++)
            narrow[k][i] = (float)r.value[k][i];
        hs_plan_set(plan, r.x[k], dtype == HS_F32 ? (const void *)narrow[k] : r.value[k]);
    }
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    size_t used = 0;
    for (int k = 0; k < 2; k++) {
        const hs_shape s = hs_var_shape(outputs[k]);
        const size_t n = values_in(&s, hs_var_extent(outputs[k]), b);
        const void *v = hs_plan_get(plan, outputs[k]);
        ck_assert_uint_le(used + n, MOST);
        for (size_t i = 0; i < n; i++)
            out[used++] = dtype == HS_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
    }
    hs_plan_free(plan);
    forget(&r);
    return used;
}

START_TEST(f32_agrees_with_f64)
{
    static double narrow[MOST], wide[MOST];
    for (int b = 0; b < BATCHES; b++) {
        const size_t n = evaluate(&cases[_i], HS_F32, &batches[b], narrow);
        ck_assert_uint_eq(n, evaluate(&cases[_i], HS_F64, &batches[b], wide));
        for (size_t i = 0; i < n; i++)
            ck_assert_msg(hs_close(narrow[i], wide[i], 2e-5, 2e-5), "%s: %zu: %.9g and %.9g",
                          cases[_i].name, i, narrow[i], wide[i]);
    }
}
END_TEST

static Suite *ops_suite(void)
{
    Suite *suite = suite_create("ops");
    TCase *gradients = tcase_create("gradients");
    tcase_set_timeout(gradients, 600);
    tcase_add_loop_test(gradients, gradients_match_differences, 0, CASES);
    suite_add_tcase(suite, gradients);
    TCase *types = tcase_create("number types");
    tcase_add_loop_test(types, f32_agrees_with_f64, 0, CASES);
    suite_add_tcase(suite, types);
    return suite;
}

HS_TEST_MAIN(ops_suite())
