/* Couplings against plain loops, what their recording costs, permutations, names, extents, and a
 * flow that learns a density. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/flows/flow.h>
#include <hastings/nn/optimizer.h>

#include "support/hs_check.h"

enum { MOST = 8 };

/* Runs a plan for y at one point and copies its n numbers. */
static void value_at(hs_var y, hs_var x, const double *point, double *result)
{
    hs_plan *plan;
    ck_assert_msg(hs_plan_new(&plan, &y, 1, NULL) == HS_OK, "%s", hs_tape_error(y.tape));
    hs_plan_set(plan, x, point);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    const hs_shape shape = hs_var_shape(y);
    memcpy(result, hs_plan_get(plan, y), hs_shape_count(&shape) * sizeof *result);
    hs_plan_free(plan);
}

/* ---- Couplings ---------------------------------------------------------------------------- */

/* The linear map that is network i of a flow. */
static void naive_network(hs_params *ps, const char *flow, size_t i, const double *x, double *y)
{
    char name[40];
    double w[4 * MOST * MOST], b[2 * MOST];
    snprintf(name, sizeof name, "%s.%zu.0.weight", flow, i);
    hs_param weight = hs_params_find(ps, name);
    snprintf(name, sizeof name, "%s.%zu.0.bias", flow, i);
    ck_assert_int_ge(weight.index, 0);
    hs_param_get(weight, w);
    hs_param_get(hs_params_find(ps, name), b);
    const size_t out = hs_param_shape(weight).dim[0], in = hs_param_shape(weight).dim[1];
    for (size_t o = 0; o < out; o++) {
        y[o] = b[o];
        for (size_t k = 0; k < in; k++)
            y[o] += w[o * in + k] * x[k];
    }
}

/* The convention: a, b = z[:h], z[h:]; even couplings move b by f(a), odd ones a by f(b). */
START_TEST(couplings_agree_with_plain_loops)
{
    const size_t dim = (size_t)_i / 2, h = dim / 2;
    const bool affine = _i % 2;
    const hs_coupling_options options = { .dim = dim, .couplings = 5, .scale = true };
    hs_params *ps = hs_params_new(HS_F64, 3);
    hs_flow *flow = affine ? hs_flow_affine_new(ps, &options) : hs_flow_nice_new(ps, &options);
    const char *name = affine ? "affine" : "nice";
    ck_assert_str_eq(hs_flow_name(flow), name);
    double x[MOST] = { 0.3, -0.9, 1.2, 0.1, -0.7, 2 }, found[MOST], log_scale[MOST], log_det = 0;
    char full[40];
    snprintf(full, sizeof full, "%s.log_scale", name);
    for (size_t i = 0; i < dim; i++)
        log_scale[i] = 0.1 * (double)i - 0.2;
    hs_param_set(hs_params_find(ps, full), log_scale);

    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var found_log_det, z = hs_input(tape, "z", HS_ROW, hs_dims(dim));
    hs_var y = hs_flow_forward(flow, z, &found_log_det);
    value_at(y, z, x, found);
    double number;
    value_at(found_log_det, z, x, &number);

    for (size_t i = 0; i < 5; i++) {
        double f[2 * MOST], *moved = i % 2 ? x : x + h;
        const size_t length = i % 2 ? h : dim - h;
        naive_network(ps, name, i, i % 2 ? x + h : x, f);
        for (size_t k = 0; k < length; k++) {
            const double s = affine ? 2 * tanh(f[k] / 2) : 0;
            moved[k] = exp(s) * moved[k] + f[affine ? length + k : k];
            log_det += s;
        }
    }
    for (size_t i = 0; i < dim; i++) {
        ck_assert_close(found[i], exp(log_scale[i]) * x[i], 1e-13, 1e-13);
        log_det += log_scale[i];
    }
    ck_assert_close(number, log_det, 1e-13, 1e-13);
    hs_tape_free(tape);
    hs_flow_free(flow);
    hs_params_free(ps);
}
END_TEST

/* A further coupling costs the plan one step, its product: nothing is sliced or joined again. */
START_TEST(a_stack_joins_its_halves_once)
{
    size_t steps[2];
    for (int i = 0; i < 2; i++) {
        hs_params *ps = hs_params_new(HS_F64, 3);
        hs_flow *flow =
            hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 5, .couplings = i ? 9 : 2 });
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var z = hs_input(tape, "z", HS_ROW, hs_dims(5));
        hs_var x = hs_flow_forward(flow, z, NULL);
        hs_plan *plan;
        ck_assert_int_eq(hs_plan_new(&plan, &x, 1, NULL), HS_OK);
        steps[i] = hs_plan_describe(plan).steps;
        hs_plan_free(plan);
        hs_tape_free(tape);
        hs_flow_free(flow);
        hs_params_free(ps);
    }
    ck_assert_uint_eq(steps[1] - steps[0], 7);
}
END_TEST

START_TEST(zero_output_starts_as_the_identity)
{
    hs_params *ps = hs_params_new(HS_F64, 3);
    const hs_coupling_options options = {
        .dim = 3, .couplings = 4, .width = 5, .depth = 1, .scale = true, .zero_output = true
    };
    hs_flow *flow = hs_flow_compose_new(
        ps, NULL, (hs_flow *[]){ hs_flow_nice_new(ps, &options), hs_flow_affine_new(ps, &options) },
        2);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var z = hs_input(tape, "z", HS_ROW, hs_dims(3));
    const double point[3] = { 0.5, -1, 2 };
    double found[3];
    value_at(hs_flow_forward(flow, z, NULL), z, point, found);
    ck_assert_mem_eq(found, point, sizeof found);
    hs_tape_free(tape);
    hs_flow_free(flow);
    hs_params_free(ps);
}
END_TEST

/* ---- Permutations, names, extents --------------------------------------------------------- */

START_TEST(permutations_are_what_they_say)
{
    hs_params *ps = hs_params_new(HS_F64, 0);
    const double point[6] = { 0, 1, 2, 3, 4, 5 };
    const size_t order[6] = { 2, 0, 1, 5, 4, 3 };
    hs_flow *flow[] = { hs_flow_permutation_new(ps, 6, NULL), hs_flow_permutation_new(ps, 6, order),
                        hs_flow_shuffle_new(ps, 6, 1), hs_flow_shuffle_new(ps, 6, 1),
                        hs_flow_shuffle_new(ps, 6, 2) };
    double x[5][6];
    for (int i = 0; i < 5; i++) {
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var z = hs_input(tape, "z", HS_ROW, hs_dims(6));
        value_at(hs_flow_forward(flow[i], z, NULL), z, point, x[i]);
        hs_tape_free(tape);
        hs_flow_free(flow[i]);
    }
    for (int i = 0; i < 6; i++) {
        ck_assert(x[0][i] == 5 - i);
        ck_assert(x[1][i] == (double)order[i]);
    }
    ck_assert_mem_eq(x[2], x[3], sizeof x[2]);
    ck_assert_mem_ne(x[2], x[4], sizeof x[2]);
    hs_params_free(ps);
}
END_TEST

/* Each of the 6 orders of 3 things in 1 of 6 cases. */
START_TEST(shuffles_are_even)
{
    enum { DRAWS = 6000 };
    int count[27] = { 0 };
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var z = hs_input(tape, "z", HS_SHARED, hs_dims(3)), code[DRAWS];
    hs_var nine = hs_tensor(tape, hs_dims(3), ((const double[]){ 9, 3, 1 }));
    for (int i = 0; i < DRAWS; i++) {
        hs_flow *flow = hs_flow_shuffle_new(ps, 3, (uint64_t)i);
        code[i] = hs_reshape(hs_dot(nine, hs_flow_forward(flow, z, NULL)), hs_dims(1));
        hs_flow_free(flow);
    }
    static double found[DRAWS];
    hs_var joined[2] = { hs_concat(code, DRAWS / 2, 0), hs_concat(code + DRAWS / 2, DRAWS / 2, 0) };
    value_at(hs_concat(joined, 2, 0), z, (const double[]){ 0, 1, 2 }, found);
    for (int i = 0; i < DRAWS; i++)
        count[(int)found[i]]++;
    const int orders[6] = { 5, 7, 11, 15, 19, 21 }; /* 012, 021, 102, 120, 201, 210 in base 3 */
    for (int i = 0; i < 6; i++)
        ck_assert_close(count[orders[i]], DRAWS / 6, 0, 5 * sqrt(DRAWS * 5 / 36.0));
    hs_tape_free(tape);
    hs_params_free(ps);
}
END_TEST

START_TEST(names_and_extents)
{
    hs_params *ps = hs_params_new(HS_F64, 0);
    const hs_nice_options options = { .dim = 2, .scale = true };
    hs_flow *flow[] = { hs_flow_nice_new(ps, &options), hs_flow_nice_new(ps, &options),
                        hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = 2 }),
                        hs_flow_inverse_new(ps, hs_flow_identity_new(ps, 2)) };
    const char *names[] = { "nice", "nice2", "scaling", "inverse of identity" };
    const hs_extent extents[] = { HS_SHARED, HS_START, HS_ROW, HS_ROW };
    ck_assert_msg(hs_params_status(ps) == HS_OK, "%s", hs_params_error(ps));
    ck_assert_int_ge(hs_params_find(ps, "nice2.0.0.bias").index, 0);
    ck_assert_int_ge(hs_params_find(ps, "nice2.log_scale").index, 0);
    hs_tape *tape = hs_tape_new(HS_F64);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(hs_flow_name(flow[i]), names[i]);
        hs_var log_det, z = hs_input(tape, "z", extents[i], hs_dims(2));
        ck_assert_int_eq(hs_var_extent(hs_flow_forward(flow[i], z, &log_det)), extents[i]);
        ck_assert_int_eq(hs_var_extent(log_det), HS_SHARED); /* constant */
        hs_flow_free(flow[i]);
    }
    hs_tape_free(tape);
    ck_assert_uint_eq(hs_flow_dim(NULL), 0);
    ck_assert_str_eq(hs_flow_name(NULL), "");
    hs_flow_free(NULL);
    hs_params_free(ps);
}
END_TEST

/* ---- Learning ----------------------------------------------------------------------------- */

/* A banana, x0 ~ N(0, 1) and x1 ~ N(x0^2, 1/4), has entropy log(2 pi e / 2); no flow gets below. */
static void learn_banana(bool affine)
{
    hs_params *ps = hs_params_new(HS_F64, 2);
    const hs_coupling_options options = {
        .dim = 2, .couplings = 3, .width = 12, .depth = 2, .activation = HS_TANH, .scale = true
    };
    hs_flow *flow = affine ? hs_flow_affine_new(ps, &options) : hs_flow_nice_new(ps, &options);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(2), 0);
    hs_var x0 = hs_slice(n, 0, 0, 1), n1 = hs_slice(n, 0, 1, 2);
    hs_var x1 = hs_add(hs_square(x0), hs_scale(n1, 0.5));
    hs_var x = hs_concat(((hs_var[]){ x0, x1 }), 2, 0);
    hs_var loss = hs_neg(hs_mean_rows(hs_flow_log_density(flow, x)));
    hs_plan *plan, *test;
    ck_assert_msg(!hs_params_plan(&plan, loss, ps, NULL, 0, &(hs_plan_options){ .starts = 256 }),
                  "%s", hs_tape_error(tape));
    ck_assert_int_eq(hs_plan_new(&test, &loss, 1, &(hs_plan_options){ .starts = 50000 }), HS_OK);
    hs_optimizer *adam = hs_optimizer_new(
        ps, &(hs_optimizer_options){
                .rate = 0.01, .schedule = { HS_COSINE, .steps = 1500 }, .clip_norm = 5 });
    ck_assert_int_eq(hs_plan_run(test, &(hs_run){ .seed = 9 }), HS_OK);
    const double before = hs_plan_scalar(test, loss);
    for (uint64_t step = 0; step < 1500; step++) {
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1, .step = step }), HS_OK);
        ck_assert_msg(hs_optimizer_step(adam) == HS_OK, "%s", hs_optimizer_error(adam));
    }
    ck_assert_int_eq(hs_plan_run(test, &(hs_run){ .seed = 9 }), HS_OK);
    const double after = hs_plan_scalar(test, loss), entropy = log(acos(-1)) + 1;
    /* The mean of 50000 has a standard deviation of 1 / sqrt(50000). */
    ck_assert_msg(after < entropy + 0.05 && after > entropy - 0.02 && before > entropy + 0.5,
                  "negative log-likelihood %g to %g, entropy %g", before, after, entropy);
    hs_optimizer_free(adam);
    hs_plan_free(test);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_flow_free(flow);
    hs_params_free(ps);
}

START_TEST(flows_learn_a_banana)
{
    learn_banana(_i);
}
END_TEST

static Suite *use_suite(void)
{
    Suite *suite = suite_create("flows in use");
    TCase *values = tcase_create("values");
    tcase_add_loop_test(values, couplings_agree_with_plain_loops, 4, 13);
    tcase_add_test(values, a_stack_joins_its_halves_once);
    tcase_add_test(values, zero_output_starts_as_the_identity);
    tcase_add_test(values, permutations_are_what_they_say);
    tcase_add_test(values, shuffles_are_even);
    tcase_add_test(values, names_and_extents);
    suite_add_tcase(suite, values);
    TCase *learning = tcase_create("learning");
    tcase_set_timeout(learning, 300);
    tcase_add_loop_test(learning, flows_learn_a_banana, 0, 2);
    suite_add_tcase(suite, learning);
    return suite;
}

HS_TEST_MAIN(use_suite())
