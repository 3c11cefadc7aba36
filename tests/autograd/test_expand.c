/* Sums over features that are taken apart: the numbers are those of a plan that keeps every node as it was recorded. */
#include "support/hs_check.h"
#include "support/many_cores.h"

#include <hastings.h>
#include "autograd/plan/plan_internal.h"
#include <hastings/tensor/cpu.h>

#include <string.h>

enum { MOST_OUTPUTS = 6, STARTS = 3, ROWS = 7, DIM = 37 };

typedef struct {
    hs_tape *tape;
    hs_var a, w, output[MOST_OUTPUTS]; /* a: shared number, w: shared vector */
    size_t outputs;
} problem;

typedef struct {
    hs_var a, w, s, n; /* inputs, and draws for each start and row */
} leaves;

/* Losses whose gradients are sums of combinations of vectors, for each row or start. */
typedef hs_var loss_function(const leaves *v);

static hs_var sum_of_squares(hs_var x)
{
    return hs_sum_last(hs_square(x));
}

/* A walk's proposal: its adjoint is one vector times a number of the row. */
static hs_var walk(const leaves *v)
{
    hs_var y = hs_add(v->s, hs_mul(v->a, v->n));
    return hs_exp(hs_scale(sum_of_squares(y), -1.0 / DIM));
}

/* A drift of the start, so that gradients are summed over rows first and over features then. */
static hs_var drift(const leaves *v)
{
    hs_var mean = hs_add(v->s, hs_mul(v->a, hs_sin(v->s))), y = hs_add(mean, hs_mul(v->a, v->n));
    hs_var back = hs_sub(v->s, hs_add(y, hs_mul(v->a, hs_neg(y))));
    hs_var ratio = hs_scale(hs_sub(sum_of_squares(hs_div(back, v->a)), sum_of_squares(y)), 0.01);
    return hs_mul(hs_tanh(ratio), sum_of_squares(hs_sub(y, v->s)));
}

/* Vectors of the start beside those of rows, numbers beside vectors, and weights. */
static hs_var mixed_extents(const leaves *v)
{
    hs_var p = hs_scale(hs_dot(v->s, v->w), 1.0 / DIM), q = hs_scale(hs_dot(v->n, v->w), 1.0 / DIM);
    hs_var y = hs_add(hs_mul(p, v->n), hs_add(hs_mul(v->a, v->s), q));
    hs_var z = hs_sub(hs_sub(hs_mul(q, v->w), v->s), hs_div(y, hs_shift(hs_square(p), 1)));
    return hs_add(hs_scale(hs_sum_last(hs_mul(z, y)), 0.1),
                  hs_sum_last(hs_mul(hs_gate(z, v->n), v->a)));
}

/* A sum in a sum in a sum: levels. */
static hs_var nested(const leaves *v)
{
    hs_var y = v->n;
    for (int i = 0; i < 3; i++) {
        hs_var size = hs_recip(hs_shift(hs_scale(sum_of_squares(y), 1.0 / DIM), 1));
        y = hs_add(hs_mul(size, y), hs_mul(v->a, hs_add(v->s, hs_mul(size, v->w))));
    }
    return hs_scale(hs_sum_last(hs_mul(y, hs_cos(v->n))), 1.0 / DIM);
}

/* More terms than are taken apart. */
static hs_var many_terms(const leaves *v)
{
    hs_var y = hs_mul(v->a, v->n), x = v->n;
    for (int i = 0; i < 12; i++) {
        x = hs_sin(hs_add(x, v->s));
        y = hs_add(y, hs_mul(hs_scale(hs_sum_last(hs_mul(x, v->w)), 1.0 / DIM), x));
    }
    return hs_scale(sum_of_squares(y), 1.0 / DIM);
}

static loss_function *const losses[] = { walk, drift, mixed_extents, nested, many_terms };
enum { LOSSES = sizeof losses / sizeof *losses };

static problem make_problem(hs_dtype dtype, loss_function *loss)
{
    problem p = { .tape = hs_tape_new(dtype), .outputs = 6 };
    p.a = hs_input(p.tape, "a", HS_SHARED, hs_scalar_shape());
    p.w = hs_input(p.tape, "w", HS_SHARED, hs_dims(DIM));
    const leaves v = { p.a, p.w, hs_normal(p.tape, HS_START, hs_dims(DIM), 1),
                       hs_normal(p.tape, HS_ROW, hs_dims(DIM), 2) };
    hs_var row = loss(&v), mean = hs_mean_rows(row), slope[1], vector[1], second[1];
    hs_grad(mean, &p.a, 1, slope);
    hs_grad(slope[0], &p.a, 1, second);
    hs_grad(mean, &p.w, 1, vector); /* has to go through all features again */
    hs_var each = hs_sum_to(hs_mul(row, row), hs_scalar_shape(), HS_START);
    const hs_var all[] = {
        mean, slope[0], second[0], row, each, vector[0].id < 0 ? row : vector[0]
    };
    memcpy(p.output, all, sizeof all);
    return p;
}

static hs_plan *make_plan(const problem *p, size_t outputs, int threads, bool trace)
{
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, p->output, outputs,
                                         &(hs_plan_options){ .starts = STARTS,
                                                             .rows_per_start = ROWS,
                                                             .shard_starts = 2,
                                                             .threads = threads,
                                                             .trace = trace,
                                                             .always = "expand" });
    ck_assert_msg(!status, "%s", hs_tape_error(p->tape));
    return plan;
}

static void run(hs_plan *plan, const problem *p, hs_dtype dtype)
{
    double w[DIM], a = 0.7;
    float w32[DIM], a32 = (float)a;
    for (int i = 0; i < DIM; i++)
        w32[i] = (float)(w[i] = 0.5 + 0.01 * i);
    const bool narrow = dtype == HS_F32;
    hs_plan_set(plan, p->a, narrow ? (void *)&a32 : &a);
    hs_plan_set(plan, p->w, narrow ? (void *)w32 : w);
    ck_assert_msg(!hs_plan_run(plan, &(hs_run){ .seed = 5 }), "%s", hs_plan_error(plan));
}

static size_t numbers_of(const problem *p, size_t output)
{
    const hs_shape shape = hs_var_shape(p->output[output]);
    const hs_extent extent = hs_var_extent(p->output[output]);
    return hs_shape_count(&shape) *
           (size_t)(extent == HS_SHARED ? 1 : STARTS * (extent == HS_ROW ? ROWS : 1));
}

static double at(hs_dtype dtype, const void *v, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/* With all outputs, and with those alone that no vector has to be kept for. */
START_TEST(numbers_are_those_of_the_tape)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const problem p = make_problem(dtype, losses[_i / 2]);
    for (size_t outputs = 1; outputs <= p.outputs; outputs++) {
        hs_plan *apart = make_plan(&p, outputs, 1, true);
        hs_plan *one = make_plan(&p, outputs, 1, false),
                *several = make_plan(&p, outputs, 3, false);
        run(apart, &p, dtype);
        run(one, &p, dtype);
        run(several, &p, dtype);
        for (size_t o = 0; o < outputs; o++) {
            const void *wanted = hs_plan_get(apart, p.output[o]),
                       *got = hs_plan_get(one, p.output[o]);
            double most = 1e-3;
            for (size_t i = 0; i < numbers_of(&p, o); i++)
                most = fmax(most, fabs(at(dtype, wanted, i)));
            for (size_t i = 0; i < numbers_of(&p, o); i++)
                ck_assert_msg(fabs(at(dtype, got, i) - at(dtype, wanted, i)) <=
                                  (dtype == HS_F32 ? 2e-5 : 1e-13) * most,
                              "loss %d, output %zu of %zu, %zu: %.15g, not %.15g", _i / 2, o,
                              outputs, i, at(dtype, got, i), at(dtype, wanted, i));
            ck_assert_mem_eq(got, hs_plan_get(several, p.output[o]),
                             numbers_of(&p, o) * hs_dtype_size(dtype));
        }
        hs_plan_free(apart);
        hs_plan_free(one);
        hs_plan_free(several);
    }
    hs_tape_free(p.tape);
}
END_TEST

/* The gradient of MALA's step size needs no second way through the vectors: only numbers of rows are kept. */
START_TEST(nothing_long_is_kept)
{
    enum { D = 5000, PROPOSALS = 50 };
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_var tau = hs_input(tape, "tau", HS_SHARED, hs_scalar_shape()), slope;
    hs_var x = hs_normal(tape, HS_START, hs_dims(D), 1), n = hs_normal(tape, HS_ROW, hs_dims(D), 2);
    hs_var sd = hs_sqrt(hs_scale(tau, 2));
    hs_var y = hs_add(hs_sub(x, hs_mul(tau, x)), hs_mul(sd, n));
    hs_var back = hs_div(hs_sub(x, hs_sub(y, hs_mul(tau, y))), sd);
    hs_var ratio = hs_scale(hs_sub(hs_dot(x, x), hs_add(hs_dot(y, y), hs_dot(back, back))), 0.5);
    hs_var alpha = hs_exp(hs_min(hs_const(tape, 0), hs_add(ratio, hs_scale(hs_dot(n, n), 0.5))));
    hs_var loss = hs_neg(hs_mean_rows(hs_mul(alpha, sum_of_squares(hs_sub(y, x)))));
    hs_grad(loss, &tau, 1, &slope);
    hs_plan *plan;
    ck_assert(!hs_plan_new(&plan, (hs_var[]){ loss, slope }, 2,
                           &(hs_plan_options){ .rows_per_start = PROPOSALS }));
    ck_assert_uint_lt(plan->layout->shard_bytes, D * sizeof(float));
    int sweeps = 0;
    for (int32_t i = 0; i < plan->code->steps[STAGE_SHARD]; i++)
        sweeps += plan->code->step[STAGE_SHARD][i].loop != NULL;
    ck_assert_int_eq(sweeps, 1);
    hs_plan_free(plan);
    hs_tape_free(tape);
}
END_TEST

/* A chain of values that depend on a sum: as many as a tape may have, not as many as fit onto a stack. */
START_TEST(long_chains_end)
{
    enum { LINKS = 3000 };
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(DIM), 1), y = hs_mul(hs_sum_last(n), n);
    for (int i = 0; i < LINKS; i++)
        y = hs_add(hs_scale(y, 0.9), hs_mul(hs_scale(y, 0.05), n));
    hs_var total = hs_sum_rows(hs_sum_last(y));
    hs_plan *plan, *traced;
    ck_assert(
        !hs_plan_new(&plan, &total, 1, &(hs_plan_options){ .starts = STARTS, .always = "expand" }));
    ck_assert(
        !hs_plan_new(&traced, &total, 1, &(hs_plan_options){ .starts = STARTS, .trace = true }));
    ck_assert(!hs_plan_run(plan, &(hs_run){ .seed = 1 }) &&
              !hs_plan_run(traced, &(hs_run){ .seed = 1 }));
    ck_assert_close(hs_plan_scalar(plan, total), hs_plan_scalar(traced, total), 1e-10, 0);
    hs_plan_free(plan);
    hs_plan_free(traced);
    hs_tape_free(tape);
}
END_TEST

HS_KERNEL_TABLE(batch_kernels, batch);

/* Sums of products of rows of numbers by rows, or by one number for each: whole groups of rows and vectors, and rests.
 * In f32 they are as good as if they were long sums in f64, since errors are carried along. */
START_TEST(sums_of_products)
{
    enum { N = 112, MOST_ROWS = 1001, STRIDE = 3 };
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const hs_isa isa = (hs_isa)(_i / 2);
    if (isa > hs_cpu_isa())
        return;
    const size_t element = hs_dtype_size(dtype);
    char *a = hs_alloc(N * MOST_ROWS * element), *b = hs_alloc(N * MOST_ROWS * element);
    hs_random_rows(dtype, HS_UNIFORM, (hs_address){ .seed = 1 }, 0, 1, N * MOST_ROWS, a);
    hs_random_rows(dtype, HS_UNIFORM, (hs_address){ .seed = 2 }, 0, 1, N * MOST_ROWS, b);
    for (size_t rows = 1; rows <= MOST_ROWS; rows = rows < 5 ? rows + 1 : rows * 14 - 7)
        for (size_t n = 16; n <= N; n += 16)
            for (int way = 0; way < 4; way++) {
                const bool of_rows = way & 1, add = way & 2;
                double out[N];
                const double before = dtype == HS_F32 ? 0 : 3;
                memset(out, 0, sizeof out);
                for (size_t i = 0; i < n && dtype == HS_F64; i++)
                    out[i] = before;
                batch_table[isa][dtype]->sum_products(n, rows, out, a, b, of_rows, STRIDE, add);
                for (size_t i = 0; i < n; i++) {
                    double wanted = add ? before : 0;
                    for (size_t r = 0; r < rows; r++)
                        wanted += at(dtype, a, r * n + i) *
                                  at(dtype, b, of_rows ? r * STRIDE : r * n + i);
                    const double off = fabs(at(dtype, out, i) - wanted) / wanted;
                    ck_assert_msg(off < (dtype == HS_F32 ? 5e-7 : 1e-14),
                                  "%s: %zu rows of %zu, %d: off by %g", hs_isa_name(isa), rows, n,
                                  way, off);
                }
            }
    hs_free(a);
    hs_free(b);
}
END_TEST

static Suite *expand_suite(void)
{
    Suite *suite = suite_create("expand");
    TCase *tests = tcase_create("expand");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, numbers_are_those_of_the_tape, 0, 2 * LOSSES);
    tcase_add_loop_test(tests, sums_of_products, 0, 2 * HS_ISA_COUNT);
    tcase_add_test(tests, nothing_long_is_kept);
    tcase_add_test(tests, long_chains_end);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(expand_suite())
