/* Every flow: its inverse undoes it, its log-determinant is that of its Jacobian, densities have
 * mass 1, and gradients of both directions agree with differences. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hastings/autograd/check.h>
#include <hastings/autograd/plan.h>
#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/flows/flow.h>
#include <hastings/tensor/random.h>

#include "support/hs_check.h"

enum { ROWS = 5, MOST = 9 };
static const size_t dims[] = { 1, 2, 3, 5, 9 };
enum { DIMS = sizeof dims / sizeof *dims };

/* ---- One of each -------------------------------------------------------------------------- */

/* x = asinh(z): each direction leaves the log-determinant to the other, as `self` says. */
static bool by_forward = true, by_inverse = false;

static hs_var asinh_log_det(hs_var z)
{
    return hs_scale(hs_sum_last(hs_log1p(hs_square(z))), -0.5);
}

static hs_var asinh_forward(void *self, hs_var z, hs_var *log_det)
{
    if (*(const bool *)self)
        *log_det = asinh_log_det(z);
    hs_var root = hs_sqrt(hs_shift(hs_square(z), 1)); /* |z| below, and a sign: no cancellation */
    return hs_mul(hs_sign(z), hs_log(hs_add(hs_abs(z), root)));
}

static hs_var asinh_inverse(void *self, hs_var x, hs_var *log_det)
{
    hs_var z = hs_scale(hs_sub(hs_expm1(x), hs_expm1(hs_neg(x))), 0.5);
    if (!*(const bool *)self)
        *log_det = hs_neg(asinh_log_det(z));
    return z;
}

static hs_flow *make_asinh(hs_params *ps, size_t dim, bool forward)
{
    return hs_flow_new(ps, &(hs_flow_spec){ .name = "asinh",
                                            .dim = dim,
                                            .self = forward ? &by_forward : &by_inverse,
                                            .forward = asinh_forward,
                                            .inverse = asinh_inverse });
}

static hs_flow *user(hs_params *ps, size_t dim)
{
    return make_asinh(ps, dim, true);
}

static hs_flow *user_by_inverse(hs_params *ps, size_t dim)
{
    return make_asinh(ps, dim, false);
}

static hs_coupling_options couplings(size_t dim, size_t n)
{
    return (hs_coupling_options){
        .dim = dim, .couplings = n, .width = 4, .depth = 2, .activation = HS_TANH
    };
}

static hs_flow *nice_one(hs_params *ps, size_t dim)
{
    hs_nice_options options = couplings(dim, 0);
    return hs_flow_nice_new(ps, &options);
}

static hs_flow *nice_first(hs_params *ps, size_t dim)
{
    hs_nice_options options = couplings(dim, 1);
    options.first_half = true;
    return hs_flow_nice_new(ps, &options);
}

static hs_flow *nice_scaled(hs_params *ps, size_t dim)
{
    hs_nice_options options = couplings(dim, 5);
    options.scale = true;
    return hs_flow_nice_new(ps, &options);
}

static hs_var sine_of_net(void *self, hs_var x)
{
    return hs_sin(hs_mlp_apply(self, x));
}

static hs_flow *nice_own(hs_params *ps, size_t dim)
{
    if (dim == 1)
        return nice_one(ps, dim);
    hs_network networks[2];
    for (int i = 0; i < 2; i++) {
        const size_t half = dim / 2, rest = dim - half;
        hs_mlp *net = malloc(sizeof *net);
        *net = hs_mlp_new(ps, &(hs_mlp_options){ .in = i ? rest : half,
                                                 .out = i ? half : rest,
                                                 .width = 3,
                                                 .depth = 1,
                                                 .activation = HS_TANH });
        networks[i] = (hs_network){ sine_of_net, net, free };
    }
    hs_nice_options options = { .dim = dim, .couplings = 2, .networks = networks };
    return hs_flow_nice_new(ps, &options);
}

static hs_flow *affine_one(hs_params *ps, size_t dim)
{
    hs_affine_options options = couplings(dim, 1);
    return hs_flow_affine_new(ps, &options);
}

static hs_flow *affine_more(hs_params *ps, size_t dim)
{
    hs_affine_options options = couplings(dim, 4);
    options.first_half = true;
    options.bound = 0.5;
    options.scale = true;
    return hs_flow_affine_new(ps, &options);
}

static hs_flow *affine_unbounded(hs_params *ps, size_t dim)
{
    hs_affine_options options = couplings(dim, 2);
    options.bound = (double)INFINITY;
    return hs_flow_affine_new(ps, &options);
}

static hs_flow *scaling(hs_params *ps, size_t dim)
{
    return hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = dim });
}

static hs_flow *scaling_and_shift(hs_params *ps, size_t dim)
{
    return hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = dim, .shift = true });
}

static hs_flow *reversal(hs_params *ps, size_t dim)
{
    return hs_flow_permutation_new(ps, dim, NULL);
}

static hs_flow *rotation(hs_params *ps, size_t dim)
{
    size_t order[MOST];
    for (size_t i = 0; i < dim; i++)
        order[i] = (i + 1) % dim;
    return hs_flow_permutation_new(ps, dim, order);
}

static hs_flow *shuffle(hs_params *ps, size_t dim)
{
    return hs_flow_shuffle_new(ps, dim, 3);
}

static hs_flow *composition(hs_params *ps, size_t dim)
{
    return hs_flow_compose_new(
        ps, "all",
        (hs_flow *[]){ affine_more(ps, dim), rotation(ps, dim), scaling_and_shift(ps, dim),
                       user(ps, dim), hs_flow_inverse_new(ps, affine_one(ps, dim)),
                       shuffle(ps, dim), nice_one(ps, dim), hs_flow_identity_new(ps, dim) },
        8);
}

static hs_flow *inverse_of_composition(hs_params *ps, size_t dim)
{
    return hs_flow_inverse_new(ps, composition(ps, dim));
}

static hs_flow *(*const all[])(hs_params *, size_t) = {
    user,
    user_by_inverse,
    nice_one,
    nice_first,
    nice_scaled,
    nice_own,
    affine_one,
    affine_more,
    scaling,
    scaling_and_shift,
    reversal,
    rotation,
    shuffle,
    hs_flow_identity_new,
    affine_unbounded,
    composition,
    inverse_of_composition,
};
enum { ALL = sizeof all / sizeof *all };

/* The flow with all its numbers drawn anew, so that nothing is zero. */
static hs_flow *make(int which, size_t dim, hs_params *ps, double sd)
{
    static double values[4000];
    hs_flow *flow = all[which](ps, dim);
    ck_assert_msg(hs_params_status(ps) == HS_OK, "%s", hs_params_error(ps));
    ck_assert_uint_eq(hs_flow_dim(flow), dim);
    const size_t size = hs_params_size(ps);
    ck_assert_uint_lt(size, 4000);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 5 }, 0, size, 1, values);
    for (size_t i = 0; i < size; i++)
        values[i] *= sd;
    hs_params_set(ps, values);
    return flow;
}

/* ---- Inverse and log-determinant ---------------------------------------------------------- */

/* log |det| by elimination with pivots; a[n][n] is overwritten. */
static double log_abs_det(double *a, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        for (size_t j = 0; j < n; j++) {
            const double swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        sum += log(fabs(a[k * n + k]));
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = n; j-- > k;)
                a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
    }
    return sum;
}

/* Element `column` of row `row` of an output, shared or not. */
static double element(const hs_plan *plan, hs_var output, size_t row, size_t column)
{
    const hs_shape shape = hs_var_shape(output);
    const size_t i =
        (hs_var_extent(output) == HS_SHARED ? 0 : row * hs_shape_count(&shape)) + column;
    const void *values = hs_plan_get(plan, output);
    ck_assert_ptr_nonnull(values);
    return hs_tape_dtype(output.tape) == HS_F32 ? (double)((const float *)values)[i]
                                                : ((const double *)values)[i];
}

/* Records the rows of the Jacobian of y with respect to x. */
static void jacobian(hs_var y, hs_var x, size_t dim, hs_var *rows)
{
    for (size_t i = 0; i < dim; i++)
        hs_grad(hs_slice(y, 0, i, i + 1), &x, 1, &rows[i]);
}

static double jacobian_log_det(const hs_plan *plan, const hs_var *rows, size_t row, size_t dim)
{
    double a[MOST * MOST];
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            a[i * dim + j] = element(plan, rows[i], row, j);
    return log_abs_det(a, dim);
}

static void check_flow(int which, size_t dim, hs_dtype dtype)
{
    hs_params *ps = hs_params_new(dtype, 1);
    hs_flow *flow = make(which, dim, ps, 0.5);
    hs_tape *tape = hs_tape_new(dtype);
    enum { Z, X, BACK, FORWARD, INVERSE, DENSITY, FIRST };
    hs_var out[FIRST + 2 * MOST];
    out[Z] = hs_normal(tape, HS_ROW, hs_dims(dim), 0);
    out[X] = hs_flow_forward(flow, out[Z], &out[FORWARD]);
    out[BACK] = hs_flow_inverse(flow, out[X], &out[INVERSE]);
    out[DENSITY] = hs_flow_log_density(flow, out[X]);
    jacobian(out[X], out[Z], dim, out + FIRST);
    jacobian(out[BACK], out[X], dim, out + FIRST + dim);
    hs_flow_free(flow); /* the tape keeps nothing of it */
    hs_plan *plan;
    ck_assert_msg(!hs_plan_new(&plan, out, FIRST + 2 * dim, &(hs_plan_options){ .starts = ROWS }),
                  "%s", hs_tape_error(tape));
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 7 }), HS_OK);
    const bool wide = dtype == HS_F64;
    for (size_t row = 0; row < ROWS; row++) {
        double log_normal = -0.5 * (double)dim * log(2 * acos(-1));
        for (size_t i = 0; i < dim; i++) {
            const double z = element(plan, out[Z], row, i);
            ck_assert_close(element(plan, out[BACK], row, i), z, 0, wide ? 1e-10 : 1e-4);
            log_normal -= z * z / 2;
        }
        const double forward = element(plan, out[FORWARD], row, 0), close = wide ? 1e-9 : 1e-3;
        ck_assert_close(element(plan, out[INVERSE], row, 0), -forward, 0, close);
        ck_assert_close(element(plan, out[DENSITY], row, 0), log_normal - forward, close, close);
        ck_assert_close(jacobian_log_det(plan, out + FIRST, row, dim), forward, 0, close);
        ck_assert_close(jacobian_log_det(plan, out + FIRST + dim, row, dim), -forward, 0, close);
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}

START_TEST(inverses_and_log_determinants_agree)
{
    for (int i = 0; i < DIMS; i++) {
        check_flow(_i, dims[i], HS_F64);
        check_flow(_i, dims[i], HS_F32);
    }
}
END_TEST

/* ---- Mass and gradients ------------------------------------------------------------------- */

/* The trapezoidal rule on [-R, R]^dim. */
START_TEST(densities_have_mass_one)
{
    const double reach = 15;
    for (size_t dim = 1; dim <= 2; dim++) {
        const size_t side = dim == 1 ? 3001 : 301, points = dim == 1 ? side : side * side;
        const double step = 2 * reach / (double)(side - 1);
        double *grid = malloc(points * dim * sizeof *grid);
        for (size_t i = 0; i < points; i++)
            for (size_t k = 0; k < dim; k++)
                grid[i * dim + k] = -reach + step * (double)(k ? i / side : i % side);
        hs_params *ps = hs_params_new(HS_F64, 1);
        hs_flow *flow = make(_i, dim, ps, 0.2);
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(dim));
        hs_var mass =
            hs_scale(hs_sum_rows(hs_exp(hs_flow_log_density(flow, x))), pow(step, (double)dim));
        hs_plan *plan;
        ck_assert_int_eq(hs_plan_new(&plan, &mass, 1, &(hs_plan_options){ .starts = points }),
                         HS_OK);
        hs_plan_set(plan, x, grid);
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
        ck_assert_close(hs_plan_scalar(plan, mass), 1, 0, 1e-8);
        hs_plan_free(plan);
        hs_tape_free(tape);
        hs_flow_free(flow);
        hs_params_free(ps);
        free(grid);
    }
}
END_TEST

START_TEST(gradients_agree_with_differences)
{
    enum { MOST_PARAMETERS = 100 };
    for (size_t dim = 1; dim <= 3; dim++) {
        hs_params *ps = hs_params_new(HS_F64, 1);
        hs_flow *flow = make(_i, dim, ps, 0.5);
        hs_tape *tape = hs_tape_new(HS_F64);
        const double point[] = { 0.3, -1.1, 0.8, 1.9, -0.4, 0.6 }; /* two rows */
        const double weight[] = { 1, -2, 3 };
        hs_var w = hs_tensor(tape, hs_dims(dim), weight), log_det[2];
        hs_var wrt[1 + MOST_PARAMETERS] = { hs_input(tape, "x", HS_ROW, hs_dims(dim)) };
        const double *values[1 + MOST_PARAMETERS] = { point };
        hs_var x = hs_flow_forward(flow, wrt[0], &log_det[0]);
        hs_var z = hs_flow_inverse(flow, wrt[0], &log_det[1]);
        hs_var y = hs_add(hs_dot(w, hs_add(hs_square(x), z)),
                          hs_add(hs_square(log_det[0]), hs_scale(log_det[1], 3)));
        const size_t n = hs_params_count(ps);
        ck_assert_uint_le(n, MOST_PARAMETERS);
        for (size_t i = 0; i < n; i++) {
            wrt[1 + i] = hs_param_var(tape, hs_params_at(ps, i));
            values[1 + i] = hs_param_values(hs_params_at(ps, i));
        }
        hs_gradcheck_report report;
        const hs_status status = hs_gradcheck(
            y, wrt, values, 1 + n, &(hs_gradcheck_options){ .order = 2, .starts = 2 }, &report);
        ck_assert_msg(status == HS_OK, "%s", hs_tape_error(tape));
        ck_assert_msg(report.worst < 1e-6, "dim %zu order %d wrt %zu element %zu: %.12g, %.12g",
                      dim, report.order, report.wrt, report.element, report.found, report.expected);
        hs_tape_free(tape);
        hs_flow_free(flow);
        hs_params_free(ps);
    }
}
END_TEST

static Suite *values_suite(void)
{
    Suite *suite = suite_create("flows");
    TCase *values = tcase_create("values");
    tcase_set_timeout(values, 300);
    tcase_add_loop_test(values, inverses_and_log_determinants_agree, 0, ALL);
    /* The last one's sinh has tails that no grid holds. */
    tcase_add_loop_test(values, densities_have_mass_one, 0, ALL - 1);
    tcase_add_loop_test(values, gradients_agree_with_differences, 0, ALL);
    suite_add_tcase(suite, values);
    return suite;
}

HS_TEST_MAIN(values_suite())
