/* Linear layers and networks against plain loops, and what they say when given nonsense. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/autograd/ops.h>
#include <hastings/autograd/plan.h>
#include <hastings/nn/mlp.h>

#include "support/hs_check.h"

enum { ROWS = 7, IN = 3, WIDTH = 5, OUT = 2, MOST = 5 };

static double activate(hs_activation activation, double x)
{
    switch (activation) {
    case HS_RELU:
        return x > 0 ? x : 0;
    case HS_TANH:
        return tanh(x);
    case HS_SIGMOID:
        return 1 / (1 + exp(-x));
    case HS_SOFTPLUS:
        return log1p(exp(x));
    case HS_GELU:
        return x * 0.5 * erfc(-x / sqrt(2));
    default:
        return x;
    }
}

/* The network of one point, from the parameters' names and values. */
static void naive(hs_params *ps, const char *net, size_t depth, hs_activation activation,
                  const double *x, double *y)
{
    double from[MOST], to[MOST];
    memcpy(from, x, IN * sizeof *x);
    for (size_t layer = 0; layer <= depth; layer++) {
        char name[40];
        double w[MOST * MOST], b[MOST];
        snprintf(name, sizeof name, "%s.%zu.weight", net, layer);
        hs_param weight = hs_params_find(ps, name);
        snprintf(name, sizeof name, "%s.%zu.bias", net, layer);
        hs_param bias = hs_params_find(ps, name);
        ck_assert(weight.index >= 0 && bias.index >= 0);
        const size_t out = hs_param_shape(weight).dim[0], in = hs_param_shape(weight).dim[1];
        hs_param_get(weight, w);
        hs_param_get(bias, b);
        for (size_t o = 0; o < out; o++) {
            to[o] = b[o];
            for (size_t i = 0; i < in; i++)
                to[o] += w[o * in + i] * from[i];
            if (layer < depth)
                to[o] = activate(activation, to[o]);
        }
        memcpy(from, to, sizeof from);
    }
    memcpy(y, from, OUT * sizeof *y);
}

static void check_network(hs_dtype dtype, size_t depth, hs_activation activation)
{
    hs_params *ps = hs_params_new(dtype, 7);
    hs_mlp net = hs_mlp_new(ps, &(hs_mlp_options){ .name = "net",
                                                   .in = IN,
                                                   .out = OUT,
                                                   .width = WIDTH,
                                                   .depth = depth,
                                                   .activation = activation });
    ck_assert_int_eq(hs_params_status(ps), HS_OK);
    ck_assert_uint_eq(hs_params_count(ps), 2 * (depth + 1));
    hs_tape *tape = hs_tape_new(dtype);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(IN));
    hs_var y = hs_mlp_apply(&net, x);
    ck_assert_int_eq(hs_var_extent(y), HS_ROW);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &y, 1, &(hs_plan_options){ .starts = ROWS }), HS_OK);
    double point[ROWS * IN];
    float narrow[ROWS * IN];
    for (int i = 0; i < ROWS * IN; i++) {
        narrow[i] = (float)(2 * sin(1.7 * i));
        point[i] = (double)narrow[i];
    }
    hs_plan_set(plan, x, dtype == HS_F32 ? (const void *)narrow : point);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    const void *found = hs_plan_get(plan, y);
    for (int row = 0; row < ROWS; row++) {
        double expected[OUT];
        naive(ps, "net", depth, activation, point + row * IN, expected);
        for (int o = 0; o < OUT; o++) {
            const int i = row * OUT + o;
            const double value =
                dtype == HS_F32 ? (double)((const float *)found)[i] : ((const double *)found)[i];
            const double tolerance = dtype == HS_F32 ? 2e-6 : 1e-14;
            ck_assert_close(value, expected[o], tolerance, tolerance);
        }
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}

START_TEST(networks_agree_with_plain_loops)
{
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)
        for (size_t depth = 0; depth <= 3; depth++)
            check_network(dtype, depth, (hs_activation)_i);
}
END_TEST

START_TEST(a_layer_without_bias)
{
    hs_params *ps = hs_params_new(HS_F64, 7);
    const double w[6] = { 1, 2, 3, 4, 5, 6 }, point[3] = { 1, 10, 100 };
    hs_linear layer = hs_linear_new(
        ps, "l", 3, 2, &(hs_linear_options){ .weight = hs_init_values(w), .no_bias = true });
    ck_assert_uint_eq(hs_params_count(ps), 1);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var y = hs_linear_apply(&layer, hs_tensor(tape, hs_dims(3), point));
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &y, 1, &(hs_plan_options){ 0 }), HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    const double *found = hs_plan_get(plan, y);
    ck_assert(found[0] == 321 && found[1] == 654);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}
END_TEST

static double widest(hs_params *ps, const char *name)
{
    static double x[200 * 200];
    hs_param p = hs_params_find(ps, name);
    ck_assert_msg(p.index >= 0, "there is no %s", name);
    hs_param_get(p, x);
    const hs_shape shape = hs_param_shape(p);
    double most = 0;
    for (size_t i = 0; i < hs_shape_count(&shape); i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

START_TEST(initial_numbers_are_as_the_options_say)
{
    hs_params *ps = hs_params_new(HS_F64, 7);
    hs_mlp_options options = { .in = 100, .out = 200, .width = 100, .depth = 1 };
    hs_mlp_new(ps, &options);
    options.output_scale = 0.01;
    hs_mlp_new(ps, &options);
    options.zero_output = true;
    hs_mlp_new(ps, &options);
    options.init = hs_init_he();
    options.name = "he";
    options.zero_output = false;
    hs_mlp net = hs_mlp_new(ps, &options);
    ck_assert_int_eq(hs_params_status(ps), HS_OK);
    const double limit = 0.1; /* 1 / sqrt(100), which large layers come close to */
    ck_assert(widest(ps, "mlp.0.weight") < limit && widest(ps, "mlp.0.weight") > 0.99 * limit);
    ck_assert(widest(ps, "mlp.0.bias") < limit && widest(ps, "mlp.0.bias") > 0.9 * limit);
    ck_assert(widest(ps, "mlp.1.weight") < limit && widest(ps, "mlp.1.weight") > 0.99 * limit);
    ck_assert(widest(ps, "mlp.1.bias") < limit && widest(ps, "mlp.1.bias") > 0.9 * limit);
    ck_assert(widest(ps, "mlp2.0.weight") > 0.99 * limit);
    ck_assert_close(widest(ps, "mlp2.1.weight"), 0.01 * limit, 0.01, 0);
    ck_assert_close(widest(ps, "mlp2.1.bias"), 0.01 * limit, 0.1, 0);
    ck_assert(widest(ps, "mlp3.0.bias") > 0.9 * limit);
    ck_assert(widest(ps, "mlp3.1.weight") == 0 && widest(ps, "mlp3.1.bias") == 0);
    ck_assert(widest(ps, "he.0.weight") > 0.4 && widest(ps, "he.0.bias") == 0);
    ck_assert_close(widest(ps, "he.1.weight"), 0.006, 0.2, 0);
    ck_assert_str_eq(hs_param_name(hs_mlp_layer(&net, 1).bias), "he.1.bias");
    hs_params_free(ps);
}
END_TEST

static void assert_store(hs_params *ps, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_params_status(ps), status);
    ck_assert_msg(strstr(hs_params_error(ps), part), "\"%s\" does not say \"%s\"",
                  hs_params_error(ps), part);
    hs_params_free(ps);
}

START_TEST(wrong_options_stick_to_the_store)
{
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_mlp_new(ps, &(hs_mlp_options){ .in = 2, .out = 1, .depth = 2 });
    assert_store(ps, HS_ESHAPE, "network \"mlp\" has in 2, out 1, width 0, depth 2");

    ps = hs_params_new(HS_F64, 0);
    hs_mlp_new(ps, &(hs_mlp_options){ .name = "a", .in = 2, .out = 1 });
    hs_mlp_new(ps, &(hs_mlp_options){ .name = "a", .in = 2, .out = 1 });
    assert_store(ps, HS_EINVAL, "there already is a parameter \"a.0.weight\"");

    char name[1000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    ps = hs_params_new(HS_F64, 0);
    hs_mlp_new(ps, &(hs_mlp_options){ .name = name, .in = 2, .out = 1 });
    assert_store(ps, HS_EINVAL, "at most 127 fit");

    const size_t half = (size_t)1 << 32;
    const hs_mlp_options deep = { .in = 2, .out = 1, .width = 8, .depth = (size_t)1 << 63 };
    ps = hs_params_new(HS_F64, 0);
    hs_mlp_new(ps, &deep);
    assert_store(ps, HS_ENOMEM,
                 "network \"mlp\" of width 8 and depth 9223372036854775808: more than");
    const hs_mlp_options wide = { .in = 2, .out = 1, .width = half, .depth = 2 };
    ps = hs_params_new(HS_F64, 0);
    hs_mlp_new(ps, &wide);
    assert_store(ps, HS_ENOMEM, "width 4294967296 and depth 2: more than 18.4 EB are needed");
}
END_TEST

static void assert_tape(hs_tape *tape, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_tape_status(tape), status);
    ck_assert_msg(strstr(hs_tape_error(tape), part), "\"%s\" does not say \"%s\"",
                  hs_tape_error(tape), part);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "nn/test_mlp.c:")); /* the caller's place */
    hs_tape_free(tape);
}

START_TEST(wrong_inputs_stick_to_the_tape)
{
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_mlp net = hs_mlp_new(
        ps, &(hs_mlp_options){ .name = "net", .in = 3, .out = 1, .width = 4, .depth = 1 });
    hs_tape *tape = hs_tape_new(HS_F64);
    ck_assert(!hs_var_ok(hs_mlp_apply(&net, hs_input(tape, "x", HS_ROW, hs_dims(2)))));
    assert_tape(tape, HS_ESHAPE, "linear layer \"net.0\" takes a vector [3], but was given [2]");

    tape = hs_tape_new(HS_F64);
    hs_mlp_apply(&net, hs_input(tape, "x", HS_ROW, hs_dims(5, 3)));
    assert_tape(tape, HS_ESHAPE, "takes a vector [3], but was given [5, 3]");

    tape = hs_tape_new(HS_F32);
    hs_mlp_apply(&net, hs_input(tape, "x", HS_ROW, hs_dims(3)));
    assert_tape(tape, HS_EDTYPE, "\"net.0.weight\" is in a store of f64, but the tape is of f32");

    hs_mlp strange = net;
    strange.activation = (hs_activation)99;
    tape = hs_tape_new(HS_F64);
    hs_mlp_apply(&strange, hs_input(tape, "x", HS_ROW, hs_dims(3)));
    assert_tape(tape, HS_EINVAL, "no activation with number 99");

    tape = hs_tape_new(HS_F64); /* an earlier error is kept */
    hs_var bad =
        hs_add(hs_input(tape, "a", HS_ROW, hs_dims(2)), hs_input(tape, "b", HS_ROW, hs_dims(3)));
    hs_mlp_apply(&net, bad);
    assert_tape(tape, HS_ESHAPE, "add");

    hs_mlp lost = hs_mlp_new(NULL, &(hs_mlp_options){ .in = 3, .out = 1 });
    tape = hs_tape_new(HS_F64);
    hs_mlp_apply(&lost, hs_input(tape, "x", HS_ROW, hs_dims(3)));
    assert_tape(tape, HS_ENOMEM, "parameter store");
    ck_assert(!hs_var_ok(hs_mlp_apply(&net, hs_input(NULL, "x", HS_ROW, hs_dims(3)))));
    hs_params_free(ps);
}
END_TEST

START_TEST(activations_have_names)
{
    ck_assert_str_eq(hs_activation_name(HS_RELU), "relu");
    ck_assert_str_eq(hs_activation_name(HS_IDENTITY), "identity");
    ck_assert_str_eq(hs_activation_name((hs_activation)99), "invalid");
}
END_TEST

static Suite *mlp_suite(void)
{
    Suite *suite = suite_create("mlp");
    TCase *values = tcase_create("values");
    tcase_add_loop_test(values, networks_agree_with_plain_loops, HS_RELU, HS_IDENTITY + 1);
    tcase_add_test(values, a_layer_without_bias);
    tcase_add_test(values, initial_numbers_are_as_the_options_say);
    suite_add_tcase(suite, values);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, wrong_options_stick_to_the_store);
    tcase_add_test(errors, wrong_inputs_stick_to_the_tape);
    tcase_add_test(errors, activations_have_names);
    suite_add_tcase(suite, errors);
    return suite;
}

HS_TEST_MAIN(mlp_suite())
