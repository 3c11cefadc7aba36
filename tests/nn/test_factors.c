/* Gradients of weights that stay factors where the batch has one row: the same numbers, and the same training. */
#include <string.h>

#include <hastings/nn/mlp.h>
#include <hastings/nn/optimizer.h>
#include <hastings/tensor/memory.h>
#include <hastings/autograd/ops.h>

#include "support/hs_check.h"

/* Weights large enough to be worth it in the middle, and too small at both ends; used twice, so that their gradients
 * are sums of two outer products. */
enum { IN = 3, WIDTH = 300, DEPTH = 3, STEPS = 5 };

typedef struct {
    hs_params *ps;
    hs_tape *tape;
    hs_plan *plan;
    hs_optimizer *optimizer;
} training;

static const hs_optimizer_options adam = { .name = "adam" };

static training open_training(hs_optimizer_options optimizer, hs_dtype dtype, bool factors,
                              size_t rows, int threads, double clip)
{
    training t = { .ps = hs_params_new(dtype, 1), .tape = hs_tape_new(dtype) };
    const hs_mlp net =
        hs_mlp_new(t.ps, &(hs_mlp_options){ .in = IN, .out = IN, .width = WIDTH, .depth = DEPTH });
    hs_var x = hs_normal(t.tape, HS_ROW, hs_dims(IN), 0);
    hs_var y = hs_mlp_apply(&net, hs_mlp_apply(&net, x));
    hs_var loss = hs_mean_rows(hs_sum_last(hs_square(hs_sub(y, hs_scale(x, 2)))));
    const hs_plan_options options = { .starts = rows, .factors = factors, .threads = threads };
    ck_assert_int_eq(hs_params_plan(&t.plan, loss, t.ps, NULL, 0, &options), HS_OK);
    optimizer.rate = 1e-3;
    optimizer.clip_norm = clip;
    optimizer.threads = threads;
    t.optimizer = hs_optimizer_new(t.ps, &optimizer);
    return t;
}

static void step(training *t, uint64_t number)
{
    ck_assert_int_eq(hs_plan_run(t->plan, &(hs_run){ .seed = 1, .step = number }), HS_OK);
    ck_assert_int_eq(hs_optimizer_step(t->optimizer), HS_OK);
}

static double *numbers_of(const training *t, bool gradients)
{
    double *x = hs_alloc(hs_params_size(t->ps) * sizeof *x);
    ck_assert_ptr_nonnull(x);
    if (gradients)
        hs_params_get_gradients(t->ps, x);
    else
        hs_params_get(t->ps, x);
    return x;
}

static void close_training(training *t)
{
    hs_optimizer_free(t->optimizer);
    hs_params_forget_factors(t->ps);
    hs_plan_free(t->plan);
    hs_tape_free(t->tape);
    hs_params_free(t->ps);
}

static void expect_close(const training *a, const training *b, bool gradients, double tolerance)
{
    double *x = numbers_of(a, gradients), *y = numbers_of(b, gradients), largest = 0;
    for (size_t i = 0; i < hs_params_size(a->ps); i++)
        largest = fmax(largest, fabs(y[i]));
    for (size_t i = 0; i < hs_params_size(a->ps); i++)
        ck_assert_msg(fabs(x[i] - y[i]) <= tolerance * largest, "number %zu: %.17g, not %.17g", i,
                      x[i], y[i]);
    hs_free(x);
    hs_free(y);
}

START_TEST(the_same_training)
{
    const hs_dtype dtype = _i % 2 ? HS_F32 : HS_F64;
    const double tolerance = dtype == HS_F32 ? 2e-4 : 1e-11, clip = _i < 2 ? 0 : 0.01;
    training with = open_training(adam, dtype, true, 1, 1, clip),
             without = open_training(adam, dtype, false, 1, 1, clip);
    size_t factored = 0;
    for (size_t i = 0; i < hs_params_count(with.ps); i++) {
        const hs_factors *f = hs_params_factors(with.ps, i);
        ck_assert_ptr_null(hs_params_factors(without.ps, i));
        if (!f)
            continue;
        factored++;
        ck_assert_uint_eq(f->rows, WIDTH);
        ck_assert_uint_eq(f->columns, WIDTH);
        ck_assert_uint_eq(f->count, 2);
    }
    ck_assert_uint_eq(factored, DEPTH - 1);
    for (uint64_t i = 0; i < STEPS; i++) {
        step(&with, i);
        step(&without, i);
        expect_close(&with, &without, true, tolerance);
        ck_assert_close(hs_optimizer_norm(with.optimizer), hs_optimizer_norm(without.optimizer),
                        tolerance, 0);
    }
    expect_close(&with, &without, false, tolerance);
    close_training(&with);
    close_training(&without);
}
END_TEST

/* Each optimiser of the table, and those with momentum. */
START_TEST(all_optimisers_take_factors)
{
    static const hs_optimizer_options more[] = {
        { .name = "sgd", .momentum = 0.9 },
        { .name = "sgd", .momentum = 0.9, .nesterov = 1 },
        { .name = "rmsprop", .momentum = 0.9 },
    };
    for (size_t i = 0; i < 3 || hs_optimizer_list(i - 3); i++) {
        const hs_optimizer_options o =
            i < 3 ? more[i] : (hs_optimizer_options){ .name = hs_optimizer_list(i - 3)->name };
        training with = open_training(o, HS_F64, true, 1, 1, 0.01),
                 without = open_training(o, HS_F64, false, 1, 1, 0.01);
        for (uint64_t k = 0; k < 2; k++) { /* the second one sees moments */
            step(&with, k);
            step(&without, k);
        }
        expect_close(&with, &without, false, 1e-11);
        close_training(&with);
        close_training(&without);
    }
}
END_TEST

START_TEST(bits_do_not_depend_on_threads)
{
    training one = open_training(adam, HS_F32, true, 1, 1, 0),
             three = open_training(adam, HS_F32, true, 1, 3, 0);
    for (uint64_t i = 0; i < STEPS; i++) {
        step(&one, i);
        step(&three, i);
    }
    ck_assert_mem_eq(hs_params_values(one.ps), hs_params_values(three.ps), hs_params_bytes(one.ps));
    close_training(&one);
    close_training(&three);
}
END_TEST

START_TEST(several_rows_have_values)
{
    training t = open_training(adam, HS_F64, true, 2, 1, 0);
    for (size_t i = 0; i < hs_params_count(t.ps); i++)
        ck_assert_ptr_null(hs_params_factors(t.ps, i));
    close_training(&t);
}
END_TEST

static Suite *factors_suite(void)
{
    Suite *suite = suite_create("factors");
    TCase *tests = tcase_create("factors");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, the_same_training, 0, 4);
    tcase_add_test(tests, all_optimisers_take_factors);
    tcase_add_test(tests, bits_do_not_depend_on_threads);
    tcase_add_test(tests, several_rows_have_values);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(factors_suite())
