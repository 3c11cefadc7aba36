/* What plans promise: nothing computed twice or in vain, work per start done once per start,
 * buffers reused, and outputs, inputs and draws where the header says they are. */
#include "support/hs_check.h"

#include <hastings.h>

#include <stdatomic.h>
#include <string.h>

static hs_plan *make_plan(const hs_var *outputs, size_t n, hs_plan_options options)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, outputs, n, &options);
    ck_assert_msg(status == HS_OK, "%s", hs_tape_error(outputs[0].tape));
    return plan;
}

static void run(hs_plan *plan)
{
    ck_assert_msg(hs_plan_run(plan, &(hs_run){ 0 }) == HS_OK, "%s", hs_plan_error(plan));
}

static size_t steps_of(const hs_var *outputs, size_t n)
{
    hs_plan *plan = make_plan(outputs, n, (hs_plan_options){ .starts = 5, .rows_per_start = 3 });
    const size_t steps = hs_plan_describe(plan).steps;
    hs_plan_free(plan);
    return steps;
}

/* What a plan prints; valid until the next call. */
static const char *print(const hs_plan *plan)
{
    static char text[65536];
    FILE *file = tmpfile();
    hs_plan_print(plan, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* Numbers that differ from each other. */
static const double *numbers(size_t n)
{
    static double data[100000];
    for (size_t i = 0; i < n; i++)
        data[i] = sin(1.0 + (double)i * 0.7);
    return data;
}

/* ---- What is left out, merged and fused ------------------------------------------------------ */

START_TEST(dead_nodes_are_left_out)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)), y = hs_sum_last(hs_exp(x));
    const size_t before = steps_of(&y, 1);
    hs_plan *plan = make_plan(&y, 1, (hs_plan_options){ 0 });
    const size_t nodes = hs_plan_describe(plan).nodes;
    hs_plan_free(plan);
    hs_var unused = hs_input(tape, "unused", HS_ROW, hs_dims(3)), g;
    hs_grad(hs_sum_last(hs_matmul(hs_reshape(hs_mul(x, unused), hs_dims(1, 3)), x)), &x, 1, &g);
    plan = make_plan(&y, 1, (hs_plan_options){ 0 });
    ck_assert_uint_eq(hs_plan_describe(plan).nodes, nodes);
    ck_assert_uint_eq(steps_of(&y, 1), before);
    hs_plan_set(plan, x, numbers(3));
    run(plan); /* and what only they need is not asked for */
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(equal_nodes_are_merged)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(4, 3));
    hs_var once = hs_sum_last(hs_matmul(w, x));
    hs_var twice = hs_add(hs_sum_last(hs_matmul(w, x)), hs_sum_last(hs_matmul(w, x)));
    /* Merging leaves the one product, one sum and one addition. */
    ck_assert_uint_le(steps_of(&twice, 1), steps_of(&once, 1) + 1);
    hs_plan *plan = make_plan(&twice, 1, (hs_plan_options){ 0 });
    ck_assert_ptr_nonnull(strstr(print(plan), "matmul"));
    ck_assert_ptr_null(strstr(strstr(print(plan), "matmul") + 1, "matmul"));
    hs_plan_free(plan);
    hs_var a = hs_add(hs_exp(x), hs_exp(x)), b = hs_add(hs_exp(x), hs_cos(x));
    plan = make_plan(&a, 1, (hs_plan_options){ 0 });
    const char *text = strstr(print(plan), "exp");
    ck_assert_msg(text && !strstr(text + 3, "exp"), "exp is computed twice:\n%s", print(plan));
    hs_plan_free(plan);
    /* What commutes is equal; what differs in an attribute is not. */
    ck_assert_uint_eq(steps_of(((hs_var[]){ hs_add(x, b), hs_add(b, x) }), 2),
                      steps_of(((hs_var[]){ hs_add(x, b), hs_add(x, b) }), 2));
    hs_var s = hs_sub(hs_slice(x, 0, 0, 2), hs_slice(x, 0, 1, 3));
    hs_var n =
        hs_sub(hs_normal(tape, HS_ROW, hs_dims(3), 1), hs_normal(tape, HS_ROW, hs_dims(3), 2));
    hs_var same =
        hs_sub(hs_normal(tape, HS_ROW, hs_dims(3), 1), hs_normal(tape, HS_ROW, hs_dims(3), 1));
    plan = make_plan(((hs_var[]){ s, n, same }), 3, (hs_plan_options){ 0 });
    hs_plan_set(plan, x, numbers(3));
    run(plan);
    ck_assert_close(hs_plan_scalar(plan, s), numbers(3)[0] - numbers(3)[1], 1e-15, 0);
    ck_assert_double_ne(hs_plan_scalar(plan, n), 0);
    ck_assert_double_eq(hs_plan_scalar(plan, same), 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

START_TEST(elementwise_chains_are_one_step)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)),
           w = hs_input(tape, "w", HS_SHARED, hs_dims(3));
    hs_var s = hs_input(tape, "s", HS_START, hs_scalar_shape()), y = x;
    for (int i = 0; i < 10; i++)
        y = hs_add(hs_mul(hs_tanh(y), w), hs_scale(s, i + 1));
    const size_t load = steps_of(&x, 1);                   /* load and store */
    ck_assert_uint_le(steps_of(&y, 1), load + 1 + 1 + 10); /* s loaded, s scaled, the chain */
    hs_var z = x;
    for (int i = 0; i < 10; i++)
        z = hs_tanh(hs_shift(hs_mul(z, w), 0.1));
    ck_assert_uint_eq(steps_of(&z, 1), load + 1);
    hs_var loss = hs_sum_rows(hs_sum_last(z)); /* the sums at its end as well, in one or two more */
    ck_assert_uint_le(steps_of(&loss, 1), load + 2);
    hs_tape_free(tape);
}
END_TEST

/* Longer than one program can be, with more operands than one program can have. */
START_TEST(long_chains_are_cut)
{
    for (int kind = 0; kind < 3; kind++)
        for (int length = 20; length <= 200; length += 20) {
            hs_tape *tape = hs_tape_new(HS_F64);
            hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)), y = x;
            hs_var leaf[401];
            double expected[3], data[401][3];
            memcpy(expected, numbers(3), sizeof expected);
            for (int i = 0; i < length; i++)
                for (int side = 0; side < 2; side++) {
                    const int k = 2 * i + side;
                    leaf[k] = hs_input(tape, "leaf", k % 3 ? HS_SHARED : HS_ROW, hs_dims(3));
                    for (int c = 0; c < 3; c++)
                        data[k][c] = cos(k + 2.1 * c);
                }
            for (int i = 0; i < length; i++) {
                const double *a = data[2 * i], *b = data[2 * i + 1];
                for (int c = 0; c < 3; c++)
                    expected[c] = kind == 0   ? 0.9 * expected[c] + a[c]
                                  : kind == 1 ? (a[c] > 0 ? expected[c] + 0.01 : b[c])
                                              : tanh(expected[c]);
                if (kind == 0)
                    y = hs_add(hs_scale(y, 0.9), leaf[2 * i]);
                else if (kind == 1)
                    y = hs_select(hs_gt(leaf[2 * i], hs_const(tape, 0)), hs_shift(y, 0.01),
                                  leaf[2 * i + 1]);
                else
                    y = hs_tanh(y);
            }
            hs_plan *plan = make_plan(&y, 1, (hs_plan_options){ 0 });
            hs_plan_set(plan, x, numbers(3));
            for (int k = 0; k < 2 * length; k++)
                hs_plan_set(plan, leaf[k], data[k]);
            run(plan);
            const double *found = hs_plan_get(plan, y);
            for (int c = 0; c < 3; c++)
                ck_assert_msg(hs_close(found[c], expected[c], 1e-12, 1e-12),
                              "kind %d, length %d: %g, not %g", kind, length, found[c],
                              expected[c]);
            hs_plan_free(plan);
            hs_tape_free(tape);
        }
}
END_TEST

/* Selects of which each brings two new operands: 48 of them in one group would have 97. */
START_TEST(groups_with_many_operands)
{
    enum { LENGTH = 46 };
    for (int batch = 1; batch <= 9; batch += 8) {
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2)), y = x, c[LENGTH], z[LENGTH];
        static double cs[LENGTH][18], zs[LENGTH][18];
        double expected[18];
        const size_t n = (size_t)batch * 2;
        for (int i = 0; i < LENGTH; i++) {
            c[i] = hs_input(tape, "c", HS_ROW, hs_dims(2));
            z[i] = hs_input(tape, "z", HS_ROW, hs_dims(2));
            for (size_t k = 0; k < n; k++) {
                cs[i][k] = (i * 7 + (int)k * 3) % 31 ? 1 : 0;
                zs[i][k] = 1000 * i + (double)k;
            }
        }
        memcpy(expected, numbers(18), n * sizeof *expected);
        for (int i = 0; i < LENGTH; i++) {
            y = hs_select(c[i], y, z[i]);
            for (size_t k = 0; k < n; k++)
                expected[k] = cs[i][k] != 0 ? expected[k] : zs[i][k];
        }
        hs_plan *plan = make_plan(&y, 1, (hs_plan_options){ .starts = (size_t)batch });
        hs_plan_set(plan, x, numbers(18));
        for (int i = 0; i < LENGTH; i++) {
            hs_plan_set(plan, c[i], cs[i]);
            hs_plan_set(plan, z[i], zs[i]);
        }
        run(plan);
        const double *found = hs_plan_get(plan, y);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(found[k] == expected[k], "batch %d: element %zu is %g, not %g", batch, k,
                          found[k], expected[k]);
        hs_plan_free(plan);
        hs_tape_free(tape);
    }
}
END_TEST

START_TEST(bias_and_activation_join_the_product)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)),
           w = hs_input(tape, "w", HS_SHARED, hs_dims(4, 3));
    hs_var b = hs_input(tape, "b", HS_SHARED, hs_dims(4));
    hs_var y = hs_relu(hs_add(hs_matmul(w, x), b));
    hs_plan *plan = make_plan(&y, 1, (hs_plan_options){ .starts = 9 });
    ck_assert_msg(strstr(print(plan), "matmul+bias+relu"), "%s", print(plan));
    ck_assert_uint_eq(hs_plan_describe(plan).steps, 3); /* load, product, store */
    ck_assert_double_eq(hs_plan_describe(plan).flops, 2 * 4 * 3 * 9);
    /* NaN goes through as it does without fusion. */
    double data[27], weight[12], bias[4];
    memcpy(data, numbers(27), sizeof data);
    memcpy(weight, numbers(12), sizeof weight);
    memcpy(bias, numbers(4), sizeof bias);
    data[4] = (double)NAN, data[10] = (double)INFINITY;
    hs_plan *apart = make_plan(&y, 1, (hs_plan_options){ .starts = 9, .trace = true });
    hs_plan *plans[] = { plan, apart };
    for (int i = 0; i < 2; i++) {
        hs_plan_set(plans[i], x, data);
        hs_plan_set(plans[i], w, weight);
        hs_plan_set(plans[i], b, bias);
        run(plans[i]);
    }
    const double *one = hs_plan_get(plan, y), *other = hs_plan_get(apart, y);
    for (int i = 0; i < 36; i++)
        ck_assert_msg(hs_close(one[i], other[i], 1e-13, 1e-13) ||
                          (isnan(one[i]) && isnan(other[i])),
                      "%d: fused %g, apart %g", i, one[i], other[i]);
    ck_assert(isnan(one[4]) && isnan(one[7]));
    hs_plan_free(plan);
    hs_plan_free(apart);
    hs_tape_free(tape);
}
END_TEST

/* A bias that is used by two layers, with the same weights and with others, on rows that do not fill a vector. */
START_TEST(gradients_of_biases_join_those_of_weights)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(3, 3)),
           v = hs_input(tape, "v", HS_SHARED, hs_dims(3, 3));
    hs_var b = hs_input(tape, "b", HS_SHARED, hs_dims(3)), g[4];
    hs_var y = hs_tanh(hs_add(hs_matmul(w, x), b));
    y = hs_tanh(hs_add(hs_matmul(w, y), b));
    y = hs_add(hs_matmul(v, y), b);
    hs_grad(hs_mean_rows(hs_sum_last(hs_square(y))), ((hs_var[]){ w, v, b, x }), 4, g);
    hs_plan *joined = make_plan(g, 4, (hs_plan_options){ .starts = 7, .rows_per_start = 3 });
    hs_plan *apart =
        make_plan(g, 4, (hs_plan_options){ .starts = 7, .rows_per_start = 3, .trace = true });
    int sums = 0;
    for (const char *at = print(joined); (at = strstr(at, "matmul+sum_to")); at++)
        sums++;
    ck_assert_msg(sums == 3, "%s", print(joined));
    ck_assert_ptr_null(strstr(print(joined), " sum_to :"));
    double data[63], weights[2][9], bias[3];
    memcpy(data, numbers(63), sizeof data);
    memcpy(weights, numbers(18), sizeof weights);
    memcpy(bias, numbers(3), sizeof bias);
    hs_plan *plans[] = { joined, apart };
    for (int i = 0; i < 2; i++) {
        hs_plan_set(plans[i], x, data);
        hs_plan_set(plans[i], w, weights[0]);
        hs_plan_set(plans[i], v, weights[1]);
        hs_plan_set(plans[i], b, bias);
        run(plans[i]), run(plans[i]); /* sums begin anew */
    }
    const size_t count[4] = { 9, 9, 3, 63 };
    for (int i = 0; i < 4; i++) {
        const double *one = hs_plan_get(joined, g[i]), *other = hs_plan_get(apart, g[i]);
        for (size_t k = 0; k < count[i]; k++)
            ck_assert_msg(hs_close(one[k], other[k], 1e-13, 1e-13),
                          "gradient %d, %zu: joined %g, apart %g", i, k, one[k], other[k]);
    }
    hs_plan_free(joined);
    hs_plan_free(apart);
    hs_tape_free(tape);
}
END_TEST

START_TEST(transposes_are_flags)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)),
           w = hs_input(tape, "w", HS_SHARED, hs_dims(4, 3));
    hs_var g[2], y = hs_sum_last(hs_square(hs_matmul(w, x)));
    hs_grad(hs_sum_rows(y), ((hs_var[]){ x, w }), 2, g);
    hs_plan *plan = make_plan(g, 2, (hs_plan_options){ .starts = 9 });
    ck_assert_msg(!strstr(print(plan), "permute"), "%s", print(plan));
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

/* One number times a vector, times a matrix with fewer rows: the number goes to the result. */
START_TEST(factors_are_pulled_out_of_products)
{
    for (int kind = 0; kind < 5; kind++) {
        hs_tape *tape = hs_tape_new(HS_F64);
        hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(5));
        hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(2, 5));
        hs_var s = kind == 0 ? hs_const(tape, -0.75)
                             : hs_input(tape, "s",
                                        kind == 1   ? HS_SHARED
                                        : kind == 2 ? HS_START
                                                    : HS_ROW,
                                        kind == 4 ? hs_dims(1) : hs_scalar_shape());
        hs_var scaled = kind % 2 ? hs_mul(s, x) : hs_mul(x, s), g;
        hs_var y = kind == 3 ? hs_matmul_t(scaled, false, w, true) : hs_matmul(w, scaled);
        hs_grad(hs_sum_rows(hs_sum_last(hs_square(y))), &w, 1,
                &g); /* sums over rows: s must stay inside */
        hs_var outputs[] = { y, g };
        hs_plan *plan =
            make_plan(outputs, 1, (hs_plan_options){ .starts = 3, .rows_per_start = 2 });
        ck_assert_msg(!strstr(print(plan), "mul : row [5]"), "kind %d:\n%s", kind, print(plan));
        hs_plan_free(plan);
        hs_plan *plans[2];
        for (int apart = 0; apart < 2; apart++) {
            plans[apart] = make_plan(
                outputs, 2, (hs_plan_options){ .starts = 3, .rows_per_start = 2, .trace = apart });
            hs_plan_set(plans[apart], x, numbers(30));
            hs_plan_set(plans[apart], w, numbers(10));
            hs_plan_set(plans[apart], s, numbers(6) + 1);
            run(plans[apart]);
        }
        for (int k = 0; k < 2; k++) {
            const double *one = hs_plan_get(plans[0], outputs[k]),
                         *other = hs_plan_get(plans[1], outputs[k]);
            for (int i = 0; i < (k ? 10 : 12); i++)
                ck_assert_close(one[i], other[i], 1e-14, 1e-14);
        }
        hs_plan_free(plans[0]);
        hs_plan_free(plans[1]);
        hs_tape_free(tape);
    }
}
END_TEST

/* Constants are computed once, as the type has them, whatever they are stretched to. */
START_TEST(constants_are_folded)
{
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    hs_var c =
        hs_mul(hs_neg(hs_broadcast(hs_const(tape, 0.1), hs_dims(3), HS_ROW)), hs_const(tape, 0.7));
    hs_var y = hs_mul(x, c);
    hs_plan *plan = make_plan(&y, 1, (hs_plan_options){ .starts = 4 });
    ck_assert_uint_eq(hs_plan_describe(plan).steps, 3); /* load, product, store */
    float data[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)numbers(12)[i];
    hs_plan_set(plan, x, data);
    run(plan);
    const volatile float a = -0.1F, b = 0.7F;
    const float factor = a * b;
    for (int i = 0; i < 12; i++)
        ck_assert(((const float *)hs_plan_get(plan, y))[i] == data[i] * factor);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

/* ---- Work per extent --------------------------------------------------------------------------
 */

static double count_calls(const double *x, size_t n, void *context)
{
    (void)n;
    atomic_fetch_add((atomic_int *)context, 1);
    return x[0];
}

START_TEST(work_of_a_start_is_done_once_per_start)
{
    atomic_int calls[3];
    hs_function f[3];
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var sum = hs_const(tape, 0);
    hs_var x[3];
    for (int e = 0; e < 3; e++) {
        f[e] = (hs_function){ .name = "count", .value = count_calls, .context = &calls[e] };
        x[e] = hs_input(tape, "x", (hs_extent)e, hs_dims(2));
        sum = hs_add(sum, hs_call(&f[e], x[e]));
    }
    hs_var loss = hs_mean_rows(sum);
    const size_t starts[] = { 1, 1, 7, 50 }, rows[] = { 1, 40, 6, 3 }, shards[] = { 0, 0, 2, 0 };
    for (int i = 0; i < 4; i++)
        for (int trace = 0; trace < 2; trace++) {
            hs_plan *plan = make_plan(&loss, 1,
                                      (hs_plan_options){ .starts = starts[i],
                                                         .threads = 2,
                                                         .rows_per_start = rows[i],
                                                         .shard_starts = shards[i],
                                                         .trace = trace });
            for (int e = 0; e < 3; e++) {
                hs_plan_set(plan, x[e], numbers(1000));
                atomic_store(&calls[e], 0);
            }
            run(plan);
            ck_assert_int_eq(atomic_load(&calls[0]), 1);
            ck_assert_int_eq(atomic_load(&calls[1]), (int)starts[i]);
            ck_assert_int_eq(atomic_load(&calls[2]), (int)(starts[i] * rows[i]));
            hs_plan_free(plan);
        }
    hs_tape_free(tape);
}
END_TEST

static size_t bytes_of_network(int depth, bool gradient)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(16)), y = x;
    hs_var w = hs_input(tape, "w", HS_SHARED, hs_dims(16, 16)), g;
    for (int i = 0; i < depth; i++)
        y = hs_add(hs_tanh(hs_matmul(w, y)), hs_mul(y, hs_slice(y, 0, 0, 1)));
    y = hs_mean_rows(hs_sum_last(y));
    if (gradient)
        hs_grad(y, &w, 1, &g);
    hs_plan *plan = make_plan(((hs_var[]){ y, g }), gradient ? 2 : 1,
                              (hs_plan_options){ .starts = 64, .shard_starts = 64 });
    const size_t bytes = hs_plan_describe(plan).bytes_per_shard;
    hs_plan_free(plan);
    hs_tape_free(tape);
    return bytes;
}

START_TEST(buffers_are_reused)
{
    const size_t layer = 16 * 64 * sizeof(double);
    ck_assert_uint_le(bytes_of_network(100, false), bytes_of_network(3, false) + layer);
    ck_assert_uint_lt(bytes_of_network(100, false), 40 * layer);
    /* With a gradient the layers' values are kept, but not much more than that. */
    ck_assert_uint_lt(bytes_of_network(100, true), 420 * layer);
}
END_TEST

/* No larger than as many shards need, or else a thread waits for the one with the larger shard. */
START_TEST(shards_are_even)
{
    const hs_dtype dtype = _i ? HS_F64 : HS_F32;
    hs_tape *tape = hs_tape_new(dtype);
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(3), 0), sum = hs_sum_rows(hs_tanh(x));
    size_t several = 0;
    for (size_t starts = 1; starts <= 24; starts++)
        for (size_t rows = 2; rows <= 400; rows += 7) {
            hs_plan *plan =
                make_plan(&sum, 1, (hs_plan_options){ .starts = starts, .rows_per_start = rows });
            const hs_plan_facts facts = hs_plan_describe(plan);
            ck_assert_msg(facts.shard_starts == (starts + facts.shards - 1) / facts.shards,
                          "%zu starts of %zu rows: %zu shards of %zu starts", starts, rows,
                          facts.shards, facts.shard_starts);
            several += facts.shards > 1;
            hs_plan_free(plan);
        }
    ck_assert_uint_gt(several, 0);
    hs_tape_free(tape);
}
END_TEST

START_TEST(sums_over_the_batch_are_merged)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3)),
           w = hs_input(tape, "w", HS_SHARED, hs_dims(3, 3));
    hs_var y = x, g;
    for (int i = 0; i < 6; i++)
        y = hs_tanh(hs_matmul(w, y)); /* six uses of w: six sums, in one place */
    hs_grad(hs_sum_last(y), &w, 1, &g);
    hs_plan *plan = make_plan(&g, 1, (hs_plan_options){ .starts = 40 });
    ck_assert_msg(!strstr(print(plan), "after the batch"), "%s", print(plan));
    hs_plan_free(plan);
    /* Also when a sum is an output of its own, or used twice, the totals are right. */
    hs_var a = hs_sum_rows(x), b = hs_sum_rows(hs_square(x)), c = hs_add(a, b), d = hs_add(c, a);
    const hs_var all[] = { a, c, d, a };
    plan = make_plan(all, 4, (hs_plan_options){ .starts = 40, .shard_starts = 7 });
    hs_plan_set(plan, x, numbers(120));
    run(plan), run(plan);
    double sum = 0, square = 0;
    for (int i = 0; i < 120; i += 3)
        sum += numbers(120)[i], square += numbers(120)[i] * numbers(120)[i];
    ck_assert_close(hs_plan_scalar(plan, a), sum, 1e-13, 0);
    ck_assert_close(hs_plan_scalar(plan, c), sum + square, 1e-13, 0);
    ck_assert_close(hs_plan_scalar(plan, d), 2 * sum + square, 1e-13, 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

static Suite *plan_suite(void)
{
    Suite *suite = suite_create("plans");
    TCase *tests = tcase_create("passes");
    tcase_add_test(tests, dead_nodes_are_left_out);
    tcase_add_test(tests, equal_nodes_are_merged);
    tcase_add_test(tests, elementwise_chains_are_one_step);
    tcase_add_test(tests, long_chains_are_cut);
    tcase_add_test(tests, groups_with_many_operands);
    tcase_add_test(tests, bias_and_activation_join_the_product);
    tcase_add_test(tests, gradients_of_biases_join_those_of_weights);
    tcase_add_test(tests, transposes_are_flags);
    tcase_add_test(tests, factors_are_pulled_out_of_products);
    tcase_add_test(tests, constants_are_folded);
    tcase_add_test(tests, work_of_a_start_is_done_once_per_start);
    tcase_add_test(tests, buffers_are_reused);
    tcase_add_loop_test(tests, shards_are_even, 0, 2);
    tcase_add_test(tests, sums_over_the_batch_are_merged);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(plan_suite())
