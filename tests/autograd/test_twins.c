/* Twins: layers with the same matrix that share one reading of it. Which are found; that they change no bit; and that any
 * tape's numbers are those of a plan that keeps every node apart. */
#include "support/hs_check.h"
#include "support/many_cores.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"

#include <string.h>

enum { D = 12, DATA = 200, MATRICES = 3, WIDE = 800 };

static int count_twins(const hs_plan *plan)
{
    int twins = 0;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++)
        twins += plan->code->step[STAGE_SHARD][i].paired;
    return twins;
}

static hs_plan *plan_of(const hs_var *outputs, size_t n, hs_plan_options options)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, outputs, n, &options);
    ck_assert_msg(!status, "%s", hs_tape_error(outputs[0].tape));
    return plan;
}

/* A tape with two vectors, and matrices to multiply them by. */
typedef struct {
    hs_tape *tape;
    hs_var x, y, w[MATRICES], bias, data;
    double *x_data, *w_data;
} problem;

static void begin(problem *p, size_t d)
{
    const size_t shared = (MATRICES * d + 1 + DATA) * d;
    *p = (problem){ .tape = hs_tape_new(HS_F64),
                    .x_data = malloc(2 * d * sizeof(double)),
                    .w_data = malloc(shared * sizeof(double)) };
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 1 }, 0, 1, 2 * d, p->x_data);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 2 }, 0, 1, shared, p->w_data);
    for (size_t i = 0; i < shared; i++)
        p->w_data[i] /= sqrt((double)d);
    hs_var both = hs_input(p->tape, "x", HS_ROW, hs_dims(2 * d));
    p->x = hs_slice(both, 0, 0, d);
    p->y = hs_slice(both, 0, d, 2 * d);
    double *w = p->w_data;
    for (int i = 0; i < MATRICES; i++, w += d * d)
        p->w[i] = hs_tensor(p->tape, hs_dims(d, d), w);
    p->bias = hs_tensor(p->tape, hs_dims(d), w);
    p->data = hs_tensor(p->tape, hs_dims((size_t)DATA, d), w + d);
    ck_assert_msg(!hs_tape_status(p->tape), "%s", hs_tape_error(p->tape));
}

static void end(problem *p)
{
    hs_tape_free(p->tape);
    free(p->x_data);
    free(p->w_data);
}

static void run(hs_plan *plan, const problem *p)
{
    const int32_t leaf = p->tape->node[p->x.id].input[0];
    hs_plan_set(plan, (hs_var){ p->tape, leaf }, p->x_data);
    ck_assert_msg(!hs_plan_run(plan, &(hs_run){ .seed = 3 }), "%s", hs_plan_error(plan));
}

static hs_var network(const problem *p, hs_var x)
{
    for (int i = 0; i < MATRICES; i++)
        x = hs_tanh(hs_add(hs_matmul(p->w[i], x), p->bias));
    return x;
}

/* ---- Which ------------------------------------------------------------------------------------ */

START_TEST(independent_layers_are_twins)
{
    problem p;
    begin(&p, D);
    hs_var output[2] = { network(&p, p.x), network(&p, p.y) };
    hs_plan *plan = plan_of(output, 2, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), MATRICES);
    ck_assert_double_eq(hs_plan_describe(plan).matrix_bytes, MATRICES * D * D * sizeof(double));
    hs_plan_free(plan);
    plan = plan_of(output, 1, (hs_plan_options){ 0 });
    ck_assert_double_eq(hs_plan_describe(plan).matrix_bytes, MATRICES * D * D * sizeof(double));
    hs_plan_free(plan);
    end(&p);
}
END_TEST

/* The second network begins late. */
START_TEST(layers_wait_for_their_twins)
{
    problem p;
    begin(&p, D);
    hs_var first = network(&p, p.x);
    hs_var other = hs_sin(hs_add(hs_matmul(p.y, p.w[0]), p.bias)); /* a row times the matrix */
    hs_var output[2] = { first, network(&p, other) };
    hs_plan *plan = plan_of(output, 2, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), MATRICES);
    hs_plan_free(plan);
    end(&p);
}
END_TEST

START_TEST(gradients_have_twins)
{
    problem p;
    begin(&p, D);
    hs_var sum = hs_sum_last(hs_add(network(&p, p.x), network(&p, p.y))), slope[2];
    hs_grad(sum, (hs_var[]){ p.x, p.y }, 2, slope);
    hs_plan *plan = plan_of(slope, 2, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), 2 * MATRICES);
    hs_plan_free(plan);
    end(&p);
}
END_TEST

START_TEST(others_are_not)
{
    problem p;
    begin(&p, D);
    hs_var output[4] = { network(&p, network(&p, p.x)),                    /* needs itself */
                         hs_matmul(p.w[0], p.x), hs_matmul(p.x, p.w[1]) }; /* another direction */
    hs_plan *plan = plan_of(output, 1, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), 0);
    hs_plan_free(plan);
    output[3] = hs_matmul(p.w[1], p.x);
    plan = plan_of(output + 2, 2, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), 0);
    hs_plan_free(plan);
    hs_var pair[2] = { network(&p, p.x), network(&p, p.y) };
    plan = plan_of(pair, 2, (hs_plan_options){ .rows_per_start = 2 }); /* lanes share it anyway */
    ck_assert_int_eq(count_twins(plan), 0);
    hs_plan_free(plan);
    plan = plan_of(pair, 2, (hs_plan_options){ .trace = true });
    ck_assert_int_eq(count_twins(plan), 0);
    hs_plan_free(plan);
    end(&p);
}
END_TEST

/* W1 W0 x and W0 W1 y: of the two pairs only one can be, as each would have to come before the other. */
START_TEST(pairs_that_exclude_each_other)
{
    problem p;
    begin(&p, D);
    hs_var output[2] = { hs_matmul(p.w[1], hs_sin(hs_matmul(p.w[0], p.x))),
                         hs_matmul(p.w[0], hs_sin(hs_matmul(p.w[1], p.y))) };
    hs_plan *plan = plan_of(output, 2, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), 1);
    hs_plan_free(plan);
    end(&p);
}
END_TEST

/* Only what layers need is computed before them: draws of a long chain are not all made at its beginning. */
START_TEST(other_steps_stay_where_they_are)
{
    enum { STEPS = 100 };
    problem p;
    begin(&p, D);
    hs_var x = p.x;
    for (uint32_t i = 0; i < STEPS; i++)
        x = hs_tanh(hs_add(hs_matmul(p.w[0], x), hs_normal(p.tape, HS_ROW, hs_dims(D), i)));
    hs_plan *plan = plan_of(&x, 1, (hs_plan_options){ 0 });
    ck_assert_int_eq(count_twins(plan), 0);
    ck_assert_uint_lt(plan->layout->shard_bytes, 10 * (D * sizeof(double) + HS_ALIGN));
    hs_plan_free(plan);
    end(&p);
}
END_TEST

START_TEST(print_shows_them)
{
    problem p;
    begin(&p, D);
    hs_var output[2] = { network(&p, p.x), network(&p, p.y) };
    hs_plan *plan = plan_of(output, 2, (hs_plan_options){ 0 });
    char text[4000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    hs_plan_print(plan, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "the next 2 together, in one reading of their matrix:"));
    hs_plan_free(plan);
    end(&p);
}
END_TEST

/* ---- Numbers ---------------------------------------------------------------------------------- */

/* As twins or alone, on any number of threads: large enough to be cut in parts and sections. */
START_TEST(bits_are_those_of_one_alone)
{
    problem p;
    begin(&p, WIDE);
    hs_var output[4] = { network(&p, p.x), network(&p, p.y) };
    hs_grad(hs_sum_last(output[0]), &p.x, 1, output + 2);
    hs_grad(hs_sum_last(output[1]), &p.y, 1, output + 3);
    hs_plan *alone[2] = {
        plan_of((hs_var[]){ output[0], output[2] }, 2, (hs_plan_options){ .threads = 1 }),
        plan_of((hs_var[]){ output[1], output[3] }, 2, (hs_plan_options){ .threads = 1 })
    };
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(count_twins(alone[i]), 0);
        run(alone[i], &p);
    }
    for (int threads = 1; threads <= 8; threads = threads == 3 ? 8 : threads + 1) {
        hs_plan *plan = plan_of(output, 4, (hs_plan_options){ .threads = threads });
        ck_assert_int_eq(count_twins(plan), 2 * MATRICES);
        run(plan, &p);
        for (int i = 0; i < 4; i++)
            ck_assert_mem_eq(hs_plan_get(plan, output[i]), hs_plan_get(alone[i % 2], output[i]),
                             WIDE * sizeof(double));
        hs_plan_free(plan);
    }
    hs_plan_free(alone[0]);
    hs_plan_free(alone[1]);
    end(&p);
}
END_TEST

/* A regression's loss: its matrix is tall, and makes a sweep between the layers. */
static hs_var misfit(const problem *p, hs_var x)
{
    return hs_sum_last(hs_softplus(hs_matmul(p->data, x)));
}

static uint64_t random_state;

static size_t below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % n;
}

static hs_var random_layers(const problem *p, hs_var *value, int values)
{
    hs_var total = hs_sum_last(p->x);
    value[0] = p->x;
    value[1] = p->y;
    for (int i = 2; i < values; i++) {
        hs_var a = value[below((size_t)i)], b = value[below((size_t)i)];
        hs_var w = p->w[below(MATRICES)];
        switch (below(8)) {
        case 0:
            value[i] = hs_matmul(w, a);
            break;
        case 1:
            value[i] = hs_tanh(hs_matmul(a, w));
            break;
        case 2:
            value[i] = hs_relu(hs_add(hs_matmul(w, a), p->bias));
            break;
        case 3:
            value[i] = hs_add(hs_matmul(w, a), b);
            break;
        case 4:
            value[i] = hs_gate(hs_matmul(a, w), b);
            break;
        case 5:
            value[i] = hs_mul(hs_sin(a), hs_tanh(b));
            break;
        case 6: /* nothing before its sweep may move behind it */
            total = hs_add(total, hs_scale(misfit(p, a), 1e-2));
            value[i] = hs_mul(hs_sigmoid(total), b);
            break;
        default:
            value[i] = hs_concat(
                (hs_var[]){ hs_slice(a, 0, 0, D / 2), hs_slice(b, 0, 0, D - D / 2) }, 2, 0);
        }
        value[i] = hs_tanh(value[i]);
    }
    return hs_add(total, hs_sum_last(value[values - 1]));
}

START_TEST(random_tapes_of_layers)
{
    enum { TAPES = 300, VALUES = 40 };
    int twins = 0, sweeps = 0;
    for (int t = 0; t < TAPES; t++) {
        problem p;
        hs_var value[VALUES], output[4];
        random_state = (uint64_t)(1000 * _i + t);
        begin(&p, D);
        output[0] = random_layers(&p, value, VALUES);
        hs_grad(output[0], (hs_var[]){ p.x, p.y }, 2, output + 1);
        output[3] = value[VALUES / 2];
        hs_plan *apart = plan_of(output, 4, (hs_plan_options){ .trace = true });
        hs_plan *plan =
            plan_of(output, 4,
                    (hs_plan_options){
                        .threads = 2, .without = _i ? "" : "loops", .always = _i ? "loops" : "" });
        run(apart, &p);
        run(plan, &p);
        run(plan, &p); /* nothing is left from the first run */
        for (int i = 0; i < 4; i++) {
            const double *a = hs_plan_get(apart, output[i]), *b = hs_plan_get(plan, output[i]);
            for (int k = 0; k < (i ? D : 1); k++)
                ck_assert_msg(hs_close(b[k], a[k], 1e-9, 1e-9),
                              "tape %d, output %d, %d: %g, not %g", t, i, k, b[k], a[k]);
        }
        twins += count_twins(plan);
        for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++)
            sweeps += plan->code->step[STAGE_SHARD][i].loop != NULL;
        hs_plan_free(apart);
        hs_plan_free(plan);
        end(&p);
    }
    ck_assert_int_gt(twins, TAPES);
    ck_assert(_i ? sweeps > TAPES : sweeps == 0);
}
END_TEST

static Suite *twins_suite(void)
{
    Suite *suite = suite_create("twins");
    TCase *tests = tcase_create("twins");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, independent_layers_are_twins);
    tcase_add_test(tests, layers_wait_for_their_twins);
    tcase_add_test(tests, gradients_have_twins);
    tcase_add_test(tests, others_are_not);
    tcase_add_test(tests, pairs_that_exclude_each_other);
    tcase_add_test(tests, other_steps_stay_where_they_are);
    tcase_add_test(tests, print_shows_them);
    tcase_add_test(tests, bits_are_those_of_one_alone);
    tcase_add_loop_test(tests, random_tapes_of_layers, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(twins_suite())
