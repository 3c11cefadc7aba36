/* Groups of parameters: factors of the rate, parameters without weight decay, and frozen ones. */
#include <string.h>

#include <hastings/nn/mlp.h>
#include <hastings/nn/optimizer.h>
#include <hastings/autograd/ops.h>

#include "support/hs_check.h"

enum { WEIGHT = 30000, BIAS = 7, ALL = 2 * (WEIGHT + BIAS), STEPS = 6, PARAMS = 4 };

typedef hs_optimizer_options options;

static hs_params *new_store(hs_dtype dtype)
{
    hs_params *ps = hs_params_new(dtype, 2);
    hs_params_add(ps, "net.0.weight", hs_dims(WEIGHT), hs_init_normal(1));
    hs_params_add(ps, "net.0.bias", hs_dims(BIAS), hs_init_normal(1));
    hs_params_add(ps, "flow.0.weight", hs_dims(WEIGHT), hs_init_normal(1));
    hs_params_add(ps, "flow.0.bias", hs_dims(BIAS), hs_init_normal(1));
    ck_assert_ptr_nonnull(hs_params_gradients(ps));
    return ps;
}

static void set_gradient(hs_params *ps, size_t parameter, size_t i, double g)
{
    void *gradients = hs_param_gradients(hs_params_at(ps, parameter));
    if (hs_params_dtype(ps) == HS_F32)
        ((float *)gradients)[i] = (float)g;
    else
        ((double *)gradients)[i] = g;
}

static size_t length_of(hs_params *ps, size_t parameter)
{
    const hs_shape shape = hs_param_shape(hs_params_at(ps, parameter));
    return hs_shape_count(&shape);
}

static void set_gradients(hs_params *ps, uint64_t step)
{
    for (size_t p = 0; p < PARAMS; p++)
        for (size_t i = 0; i < length_of(ps, p); i++)
            set_gradient(ps, p, i, sin(0.7 * (double)step + 1.3 * (double)i + (double)p));
}

static void take_steps(hs_params *ps, hs_optimizer *optimizer, uint64_t first, uint64_t n)
{
    for (uint64_t step = first; step < first + n; step++) {
        set_gradients(ps, step);
        ck_assert_msg(hs_optimizer_step(optimizer) == HS_OK, "%s", hs_optimizer_error(optimizer));
    }
}

/* A store after some steps. */
static hs_params *trained(hs_dtype dtype, options o)
{
    hs_params *ps = new_store(dtype);
    hs_optimizer *optimizer = hs_optimizer_new(ps, &o);
    take_steps(ps, optimizer, 0, STEPS);
    hs_optimizer_free(optimizer);
    return ps;
}

static bool same(hs_params *a, hs_params *b, size_t parameter)
{
    const hs_param p = hs_params_at(a, parameter), q = hs_params_at(b, parameter);
    return !memcmp(hs_param_values(p), hs_param_values(q),
                   length_of(a, parameter) * hs_dtype_size(hs_params_dtype(a)));
}

/* Which parameters of a store have the bits of another: one letter each. */
static void ck_same(hs_params *a, hs_params *b, const char *expected)
{
    char found[PARAMS + 1] = "";
    for (size_t p = 0; p < PARAMS; p++)
        found[p] = same(a, b, p) ? '=' : '.';
    ck_assert_str_eq(found, expected);
}

/* A parameter of a group goes as if its optimiser had the group's rate, and the others as if there was no group. */
START_TEST(a_group_has_its_rate)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const char *name = hs_optimizer_list((size_t)_i / 2)->name;
    const hs_param_group half[] = { { "net.*", .rate = 0.5 } };
    hs_params *plain = trained(dtype, (options){ name, .rate = 0.25, .threads = 2 }),
              *slow = trained(dtype, (options){ name, .rate = 0.125, .threads = 2 });
    for (int threads = 1; threads <= 8; threads *= 2) {
        hs_params *ps = trained(dtype, (options){ name, .rate = 0.25, .threads = threads,
                                                  .groups = half, .n_groups = 1 });
        ck_same(ps, slow, "==..");
        ck_same(ps, plain, "..==");
        hs_params_free(ps);
    }
    hs_params_free(plain);
    hs_params_free(slow);
}
END_TEST

START_TEST(a_group_can_do_without_weight_decay)
{
    const hs_param_group biases[] = { { "*.bias", .no_decay = true } };
    hs_params *ps = trained(HS_F64, (options){ "adamw", .groups = biases, .n_groups = 1 }),
              *adam = trained(HS_F64, (options){ .name = "adam" }),
              *adamw = trained(HS_F64, (options){ .name = "adamw" });
    ck_same(ps, adam, ".=.=");
    ck_same(ps, adamw, "=.=.");
    hs_params_free(ps);
    hs_params_free(adam);
    hs_params_free(adamw);
}
END_TEST

START_TEST(the_first_group_that_matches_counts)
{
    const hs_param_group groups[] = { { "net.0.bias", .rate = 0.5 },
                                      { "*.bias", .frozen = true },
                                      { "*", .rate = 0.25 } };
    hs_params *ps = trained(HS_F64, (options){ "sgd", .rate = 1, .groups = groups, .n_groups = 3 }),
              *half = trained(HS_F64, (options){ "sgd", .rate = 0.5 }),
              *quarter = trained(HS_F64, (options){ "sgd", .rate = 0.25 }),
              *fresh = new_store(HS_F64);
    ck_same(ps, half, ".=..");
    ck_same(ps, quarter, "=.=.");
    ck_same(ps, fresh, "...=");
    hs_params_free(ps);
    hs_params_free(half);
    hs_params_free(quarter);
    hs_params_free(fresh);
}
END_TEST

/* With every optimiser, after steps that filled its moments, frozen parameters keep their bits: neither momentum nor
 * weight decay moves them. */
START_TEST(frozen_parameters_do_not_move)
{
    static const options more[] = { { .name = "sgd", .momentum = 0.9 },
                                    { .name = "rmsprop", .momentum = 0.9 },
                                    { .name = "lion", .weight_decay = 0.5 },
                                    { .name = "adamw", .weight_decay = 0.5 } };
    const hs_dtype dtype = _i ? HS_F64 : HS_F32;
    const hs_param_group frozen[] = { { "flow.*", .frozen = true } };
    for (size_t i = 0; i < 4 || hs_optimizer_list(i - 4); i++) {
        options o = i < 4 ? more[i] : (options){ .name = hs_optimizer_list(i - 4)->name };
        o.threads = 2;
        hs_params *all = trained(dtype, o), *fresh = new_store(dtype);
        o.groups = frozen;
        o.n_groups = 1;
        hs_params *ps = trained(dtype, o);
        ck_same(ps, fresh, "..==");
        ck_same(ps, all, "==.."); /* and the others do not notice */
        hs_params_free(all);
        hs_params_free(fresh);
        hs_params_free(ps);
    }
}
END_TEST

/* The norm, and so clipping, counts what moves: a gradient that is not finite is of no account where it is frozen. */
START_TEST(the_norm_does_not_count_frozen_parameters)
{
    const hs_param_group frozen[] = { { "*.weight", .frozen = true } };
    hs_params *ps = new_store(HS_F64), *fresh = new_store(HS_F64);
    hs_optimizer *optimizer = hs_optimizer_new(
        ps, &(options){ "sgd", .rate = 1, .clip_norm = 1, .groups = frozen, .n_groups = 1 });
    for (size_t p = 0; p < PARAMS; p++)
        for (size_t i = 0; i < length_of(ps, p); i++)
            set_gradient(ps, p, i, p % 2 ? 2 : 1e6);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    const double norm = 2 * sqrt(2 * BIAS);
    ck_assert_close(hs_optimizer_norm(optimizer), norm, 1e-14, 0);
    double before[BIAS], after[BIAS];
    hs_param_get(hs_params_at(fresh, 1), before);
    hs_param_get(hs_params_at(ps, 1), after);
    for (size_t i = 0; i < BIAS; i++)
        ck_assert_close(after[i], before[i] - 2 / norm, 1e-14, 1e-14);
    set_gradient(ps, 0, 5, (double)NAN);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    set_gradient(ps, 1, 5, (double)NAN);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_ENONFINITE);
    ck_same(ps, fresh, "=.=.");
    hs_optimizer_free(optimizer);
    hs_params_free(ps);
    hs_params_free(fresh);
}
END_TEST

/* Gradients that are factors: a network on a batch of one row, of which a layer is frozen and another one slow. */
START_TEST(factors_obey_groups)
{
    enum { WIDTH = 300 };
    const hs_param_group groups[] = { { "net.1.weight", .frozen = true },
                                      { "net.2.weight", .rate = 0.5 } };
    double *values[2][2], norm[2];
    for (int factors = 0; factors < 2; factors++) {
        hs_params *ps = hs_params_new(HS_F64, 1);
        hs_tape *tape = hs_tape_new(HS_F64);
        const hs_mlp net = hs_mlp_new(
            ps, &(hs_mlp_options){ .name = "net", .in = 3, .out = 3, .width = WIDTH, .depth = 3 });
        hs_var x = hs_normal(tape, HS_ROW, hs_dims(3), 0);
        hs_var loss = hs_mean_rows(hs_sum_last(hs_square(hs_mlp_apply(&net, x))));
        hs_plan *plan;
        ck_assert_int_eq(hs_params_plan(&plan, loss, ps, NULL, 0,
                                        &(hs_plan_options){ .starts = 1, .factors = factors }),
                         HS_OK);
        hs_optimizer *optimizer =
            hs_optimizer_new(ps, &(options){ .groups = groups, .n_groups = 2 });
        for (int k = 0; k < 2; k++) {
            values[factors][k] = malloc(hs_params_size(ps) * sizeof(double));
            hs_params_get(ps, values[factors][k]);
            ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
            ck_assert_msg(hs_optimizer_step(optimizer) == HS_OK, "%s",
                          hs_optimizer_error(optimizer));
        }
        norm[factors] = hs_optimizer_norm(optimizer);
        hs_params_get(ps, values[factors][1]);
        size_t at = 0, moved = 0, factored = 0;
        for (size_t i = 0; i < hs_params_count(ps); i++) {
            const bool is_frozen = !strcmp(hs_param_name(hs_params_at(ps, i)), "net.1.weight");
            factored += hs_params_factors(ps, i) != NULL;
            for (size_t k = 0; k < length_of(ps, i); k++, at++) {
                moved += values[factors][0][at] != values[factors][1][at];
                ck_assert(!is_frozen || values[factors][0][at] == values[factors][1][at]);
            }
        }
        ck_assert_uint_gt(moved, WIDTH);
        ck_assert_uint_eq(factored, factors ? 2 : 0);
        if (factors)
            for (size_t i = 0; i < at; i++)
                ck_assert_close(values[1][1][i], values[0][1][i], 1e-11, 1e-11);
        hs_optimizer_free(optimizer);
        hs_params_forget_factors(ps);
        hs_plan_free(plan);
        hs_tape_free(tape);
        hs_params_free(ps);
    }
    ck_assert_close(norm[0], norm[1], 1e-12, 0);
    for (int k = 0; k < 4; k++)
        free(values[k / 2][k % 2]);
}
END_TEST

START_TEST(groups_that_make_no_sense_are_refused)
{
    const struct {
        hs_param_group groups[2];
        const char *part;
    } wrong[] = {
        { { { .match = "nte.*" }, { .match = "*" } },
          "adam: group 0, \"nte.*\", has none of the 4 parameters" },
        { { { .match = "*" }, { .match = "net.*" } }, "adam: group 1, \"net.*\"" },
        { { { .match = NULL }, { .match = "*" } }, "group 0 needs names to match" },
        { { { .match = "net.*" }, { "*", .rate = -1 } }, "it has \"*\" and -1" },
        { { { .match = "net.*" }, { "*", .rate = (double)NAN } }, "group 1" },
    };
    hs_params *ps = new_store(HS_F64);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hs_optimizer *optimizer =
            hs_optimizer_new(ps, &(options){ .groups = wrong[i].groups, .n_groups = 2 });
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_EINVAL);
        ck_assert_msg(strstr(hs_optimizer_error(optimizer), wrong[i].part),
                      "\"%s\" does not say \"%s\"", hs_optimizer_error(optimizer), wrong[i].part);
        hs_optimizer_free(optimizer);
    }
    hs_params_free(ps);
}
END_TEST

static Suite *groups_suite(void)
{
    int optimizers = 0;
    while (hs_optimizer_list((size_t)optimizers))
        optimizers++;
    Suite *suite = suite_create("groups");
    TCase *tests = tcase_create("groups");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_group_has_its_rate, 0, 2 * optimizers);
    tcase_add_test(tests, a_group_can_do_without_weight_decay);
    tcase_add_test(tests, the_first_group_that_matches_counts);
    tcase_add_loop_test(tests, frozen_parameters_do_not_move, 0, 2);
    tcase_add_test(tests, the_norm_does_not_count_frozen_parameters);
    tcase_add_test(tests, factors_obey_groups);
    tcase_add_test(tests, groups_that_make_no_sense_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(groups_suite())
