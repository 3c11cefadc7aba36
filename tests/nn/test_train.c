/* Training from end to end: the loss falls, the bits do not depend on threads, gradients agree with
 * differences, and no failed allocation goes unnoticed or leaks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hastings/autograd/ops.h>
#include <hastings/nn/file.h>
#include <hastings/nn/mlp.h>
#include <hastings/nn/optimizer.h>
#include <hastings/tensor/memory.h>

#include "support/hs_check.h"
#include "support/scarce_memory.h"

/* Mean squared error of a network that learns x -> (x0 x1, sin 2 x0) from drawn points. */
static hs_var regression_loss(hs_tape *tape, const hs_mlp *net)
{
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(2), 0);
    hs_var x0 = hs_slice(x, 0, 0, 1), x1 = hs_slice(x, 0, 1, 2);
    hs_var y = hs_concat(((hs_var[]){ hs_mul(x0, x1), hs_sin(hs_scale(x0, 2)) }), 2, 0);
    return hs_mean_rows(hs_sum_last(hs_square(hs_sub(hs_mlp_apply(net, x), y))));
}

static hs_mlp new_net(hs_params *ps)
{
    return hs_mlp_new(
        ps, &(hs_mlp_options){
                .name = "net", .in = 2, .out = 2, .width = 16, .depth = 2, .activation = HS_TANH });
}

enum { STEPS = 100, SIZE = 16 * 2 + 16 + 16 * 16 + 16 + 2 * 16 + 2 };

typedef struct {
    double first, last; /* losses */
    double values[SIZE];
} outcome;

static void train(hs_dtype dtype, int threads, size_t shard_starts, outcome *out)
{
    hs_params *ps = hs_params_new(dtype, 1);
    hs_mlp net = new_net(ps);
    hs_tape *tape = hs_tape_new(dtype);
    hs_var loss = regression_loss(tape, &net);
    hs_plan *plan;
    const hs_plan_options options = { .starts = 100,
                                      .threads = threads,
                                      .shard_starts = shard_starts };
    ck_assert_msg(hs_params_plan(&plan, loss, ps, NULL, 0, &options) == HS_OK, "%s",
                  hs_tape_error(tape));
    hs_optimizer *adam = hs_optimizer_new(
        ps, &(hs_optimizer_options){ .rate = 0.01, .clip_norm = 2, .threads = threads });
    for (uint64_t step = 0; step < STEPS; step++) {
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 3, .step = step }), HS_OK);
        out->last = hs_plan_scalar(plan, loss);
        if (step == 0)
            out->first = out->last;
        ck_assert_int_eq(hs_optimizer_step(adam), HS_OK);
    }
    ck_assert_uint_eq(hs_params_size(ps), SIZE);
    hs_params_get(ps, out->values);
    hs_optimizer_free(adam);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}

START_TEST(training_gives_the_same_bits_for_any_threads)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const size_t shard_starts = _i < 2 ? 100 : 7; /* one shard, and many with a rest */
    const int threads[] = { 1, 2, 3, 8 };
    outcome first, other;
    train(dtype, threads[0], shard_starts, &first);
    ck_assert_msg(first.last < 0.5 * first.first, "loss %g to %g", first.first, first.last);
    for (size_t k = 1; k < 4; k++) {
        train(dtype, threads[k], shard_starts, &other);
        ck_assert(first.first == other.first && first.last == other.last);
        ck_assert_mem_eq(first.values, other.values, sizeof first.values);
    }
}
END_TEST

START_TEST(shards_change_little)
{
    outcome whole, cut;
    train(HS_F64, 1, 100, &whole);
    train(HS_F64, 1, 7, &cut);
    for (int i = 0; i < SIZE; i++)
        ck_assert_close(cut.values[i], whole.values[i], 1e-9, 1e-9);
}
END_TEST

START_TEST(gradients_agree_with_differences)
{
    hs_params *ps = hs_params_new(HS_F64, 1);
    hs_mlp net = new_net(ps);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var loss = regression_loss(tape, &net);
    hs_var twice = hs_scale(loss, 2);
    hs_plan *plan;
    const hs_run run = { .seed = 3 };
    ck_assert_int_eq(hs_params_plan(&plan, loss, ps, &twice, 1, &(hs_plan_options){ .starts = 9 }),
                     HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &run), HS_OK);
    ck_assert_close(hs_plan_scalar(plan, twice), 2 * hs_plan_scalar(plan, loss), 1e-15, 0);
    double values[SIZE], gradients[SIZE];
    hs_params_get(ps, values);
    hs_params_get_gradients(ps, gradients);
    for (int i = 0; i < SIZE; i++) {
        const double value = values[i], h = 1e-6;
        double side[2];
        for (int k = 0; k < 2; k++) {
            values[i] = value + (k ? -h : h);
            hs_params_set(ps, values);
            ck_assert_int_eq(hs_plan_run(plan, &run), HS_OK);
            side[k] = hs_plan_scalar(plan, loss);
        }
        values[i] = value;
        ck_assert_close(gradients[i], (side[0] - side[1]) / (2 * h), 1e-6, 1e-8);
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}
END_TEST

/* Parameters whose gradients are equal, one that the loss does not use, and outputs that the caller
 * keeps elsewhere. */
START_TEST(every_gradient_has_its_own_place)
{
    hs_params *ps = hs_params_new(HS_F64, 1);
    hs_param a = hs_params_add(ps, "a", hs_dims(3), hs_init_constant(1));
    hs_param b = hs_params_add(ps, "b", hs_dims(3), hs_init_constant(2));
    hs_param unused = hs_params_add(ps, "unused", hs_dims(3), hs_init_constant(3));
    memset(hs_param_gradients(unused), 1, 3 * sizeof(double));
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var sum = hs_add(hs_param_var(tape, a), hs_param_var(tape, b));
    hs_var loss = hs_sum_last(hs_square(sum));
    double kept = 0;
    void *const into[2] = { &kept, NULL };
    hs_plan *plan;
    ck_assert_int_eq(hs_params_plan(&plan, loss, ps, &sum, 1, &(hs_plan_options){ .into = into }),
                     HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    double g[9];
    hs_params_get_gradients(ps, g);
    for (int i = 0; i < 9; i++)
        ck_assert(g[i] == (i < 6 ? 6 : 0));
    ck_assert(kept == 27 && hs_plan_scalar(plan, loss) == 27);
    ck_assert(((const double *)hs_plan_get(plan, sum))[2] == 3);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
}
END_TEST

/* ---- Allocations -------------------------------------------------------------------------- */

/* Everything once, as a user writes it; the first status that is not HS_OK. */
static hs_status train_and_save(const char *path)
{
    hs_params *ps = hs_params_new(HS_F64, 1);
    hs_mlp net = new_net(ps);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var loss = regression_loss(tape, &net);
    hs_plan *plan;
    hs_message message = { "" };
    hs_status status = hs_params_plan(&plan, loss, ps, NULL, 0,
                                      &(hs_plan_options){ .starts = 5, .message = &message });
    if (status)
        ck_assert_str_ne(message.text, "");
    hs_optimizer *adam = hs_optimizer_new(ps, NULL);
    if (!status)
        status = hs_plan_run(plan, &(hs_run){ .seed = 1 });
    if (!status)
        status = hs_optimizer_step(adam);
    if (!status)
        status = hs_params_save(ps, adam, path, &message);
    if (!status)
        status = hs_params_load(ps, adam, path, &message);
    hs_optimizer_free(adam);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
    return status;
}

START_TEST(every_failed_allocation_is_reported)
{
    char path[] = "/tmp/hastings_train_XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    hs_set_allocator(&counting);
    fail_at = 0;
    ck_assert_int_eq(train_and_save(path), HS_OK);
    ck_assert_int_eq(living, 0);
    const long total = allocations;
    ck_assert_int_gt(total, 10);
    for (fail_at = 1; fail_at <= total; fail_at++) {
        allocations = 0;
        ck_assert_msg(train_and_save(path) == HS_ENOMEM, "allocation %ld", fail_at);
        ck_assert_msg(living == 0, "%ld blocks left when allocation %ld fails", living, fail_at);
    }
    hs_set_allocator(NULL);
    unlink(path);
}
END_TEST

START_TEST(steps_allocate_nothing)
{
    hs_set_allocator(&counting);
    fail_at = 0;
    hs_params *ps = hs_params_new(HS_F32, 1);
    hs_mlp net = new_net(ps);
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_plan *plan;
    ck_assert_int_eq(hs_params_plan(&plan, regression_loss(tape, &net), ps, NULL, 0,
                                    &(hs_plan_options){ .starts = 500 }),
                     HS_OK);
    hs_optimizer *adam = hs_optimizer_new(ps, NULL);
    const long before = allocations;
    for (uint64_t step = 0; step < 5; step++) {
        ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 3, .step = step }), HS_OK);
        ck_assert_int_eq(hs_optimizer_step(adam), HS_OK);
    }
    ck_assert_int_eq(allocations, before);
    hs_optimizer_free(adam);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_params_free(ps);
    ck_assert_int_eq(living, 0);
    hs_set_allocator(NULL);
}
END_TEST

static Suite *train_suite(void)
{
    Suite *suite = suite_create("train");
    TCase *training = tcase_create("training");
    tcase_set_timeout(training, 120);
    tcase_add_loop_test(training, training_gives_the_same_bits_for_any_threads, 0, 4);
    tcase_add_test(training, shards_change_little);
    tcase_add_test(training, gradients_agree_with_differences);
    tcase_add_test(training, every_gradient_has_its_own_place);
    suite_add_tcase(suite, training);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, every_failed_allocation_is_reported);
    tcase_add_test(memory, steps_allocate_nothing);
    suite_add_tcase(suite, memory);
    return suite;
}

HS_TEST_MAIN(train_suite())
