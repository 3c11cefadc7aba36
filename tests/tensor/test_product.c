/*
 * Matrix products against plain loops in long double, at every instruction set of this machine.
 *
 * A sum of n products in any order errs by at most about n eps sum|products|; activations have
 * derivatives up to about 1.13 and errors of a few eps themselves. (Elements are compared without
 * ck_assert: Check writes to a file at every assertion.)
 */
#include <hastings/tensor/memory.h>
#include <hastings/tensor/product.h>
#include "tensor/product_internal.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double get(hs_dtype dtype, const void *base, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)base)[i] : ((const double *)base)[i];
}

static void put(hs_dtype dtype, void *base, size_t i, double a)
{
    if (dtype == HS_F32)
        ((float *)base)[i] = (float)a;
    else
        ((double *)base)[i] = a;
}

static double epsilon(hs_dtype dtype)
{
    return dtype == HS_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

static unsigned long long state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 40) / (double)(1 << 23) - 1;
}

static size_t pick(size_t most)
{
    return 1 + (size_t)((uniform() + 1) / 2 * (double)most * 0.999999);
}

static size_t padded(hs_dtype dtype, size_t lanes)
{
    return hs_align_up(lanes * hs_dtype_size(dtype)) / hs_dtype_size(dtype);
}

/* `rows` rows of `lanes` random numbers each, `stride` apart, with NaN between them. */
static void *random_rows(hs_dtype dtype, size_t rows, size_t lanes, size_t stride)
{
    void *block = hs_alloc((rows * stride + 1) * hs_dtype_size(dtype));
    ck_assert_ptr_nonnull(block);
    for (size_t i = 0; i < rows * stride + 1; i++)
        put(dtype, block, i, i < rows * stride && i % stride < lanes ? uniform() : (double)NAN);
    return block;
}

static void *copy_of(hs_dtype dtype, const void *from, size_t n)
{
    void *block = hs_alloc((n + 1) * hs_dtype_size(dtype));
    ck_assert_ptr_nonnull(block);
    memcpy(block, from, (n + 1) * hs_dtype_size(dtype));
    return block;
}

static long double activate(hs_activation_kind act, long double a)
{
    switch (act) {
    case HS_ACT_NONE:
        return a;
    case HS_ACT_RELU:
        return a > 0 ? a : 0;
    case HS_ACT_TANH:
        return tanhl(a);
    case HS_ACT_SIGMOID:
        return 1 / (1 + expl(-a));
    case HS_ACT_SOFTPLUS:
        return log1pl(expl(a));
    case HS_ACT_GELU:
        return a * (1 + erfl(a / sqrtl(2))) / 2;
    }
    return a;
}

/* ---- hs_product_run ---- */

static void check_product(hs_dtype dtype, const hs_product *p, const void *add, const void *y)
{
    for (size_t o = 0; o < p->out; o++)
        for (size_t l = 0; l < p->lanes; l++) {
            long double sum = 0, size = 0;
            for (size_t k = 0; k < p->in; k++) {
                const long double term = (long double)get(dtype, p->w, o * p->w_out + k * p->w_in) *
                                         (long double)get(dtype, p->x, k * p->x_stride + l);
                sum += term;
                size += fabsl(term);
            }
            const double bias = p->bias ? get(dtype, p->bias, o) : 0;
            const double start = add ? get(dtype, add, o * p->add_stride + l) : 0;
            sum += (long double)bias + (long double)start;
            size += fabsl((long double)bias) + fabsl((long double)start);
            long double want = activate(p->act, sum);
            if (p->gate && !(get(dtype, p->gate, o * p->gate_stride + l) > 0))
                want = 0;
            const double got = get(dtype, y, o * p->y_stride + l);
            const long double bound = 1.2L * (long double)epsilon(dtype) *
                                      ((long double)(p->in + 2) * size + 4 * fabsl(want));
            if (!(fabsl((long double)got - want) <= bound))
                ck_abort_msg("%zux%zu, %zu lanes, act %d: y[%zu][%zu] is %.17g, not %.17g", p->out,
                             p->in, p->lanes, (int)p->act, o, l, got, (double)want);
        }
}

enum { START_NONE, START_BIAS, START_ADD, START_BOTH, START_IN_PLACE, STARTS };

typedef struct {
    size_t out, in, lanes;
    bool w_by_output; /* w_in == 1 */
    int start;
    bool gated;
    hs_activation_kind act;
} product_case;

/* A product with one lane, and another by the same weights in the same reading of them: the bits are those of each
 * alone. */
static void try_twins(hs_isa isa, hs_dtype dtype, const hs_product *p, const void *alone)
{
    hs_product q = *p, both = *p;
    void *x = random_rows(dtype, p->in, 1, 1), *other_bias = random_rows(dtype, 1, p->out, p->out);
    void *y[3];
    for (int i = 0; i < 3; i++)
        y[i] = random_rows(dtype, p->out, 1, 1);
    q.x = x;
    q.bias = p->bias ? NULL : other_bias;
    q.add = NULL;
    q.gate = p->gate ? NULL : other_bias;
    q.act = p->act == HS_ACT_RELU ? HS_ACT_NONE : HS_ACT_RELU;
    q.y = y[0];
    hs__product_run_as(isa, HS_PRODUCT_OWN, dtype, &q);
    if (p->add == p->y)
        both.add = NULL; /* what was added to is the result now */
    both.y = y[1];
    q.y = y[2];
    both.twin = &q;
    hs__product_run_as(isa, HS_PRODUCT_OWN, dtype, &both);
    const size_t bytes = p->out * hs_dtype_size(dtype);
    ck_assert_mem_eq(y[0], y[2], bytes);
    if (both.add == p->add)
        ck_assert_mem_eq(alone, y[1], bytes);
    for (int i = 0; i < 3; i++) {
        ck_assert(isnan(get(dtype, y[i], p->out)));
        hs_free(y[i]);
    }
    hs_free(x), hs_free(other_bias);
}

static void try_product(hs_dtype dtype, const product_case *c)
{
    const size_t stride = c->lanes == 1 ? 1 : padded(dtype, c->lanes);
    const size_t gap = c->w_by_output ? c->in : c->out;
    void *w = random_rows(dtype, c->out, c->in, c->in),
         *x = random_rows(dtype, c->in, c->lanes, stride);
    void *y = random_rows(dtype, c->out, c->lanes, stride),
         *bias = random_rows(dtype, 1, c->out, c->out);
    void *add = random_rows(dtype, c->out, c->lanes, stride);
    void *gate = random_rows(dtype, c->out, c->lanes, stride);
    hs_product p = { .out = c->out,
                     .in = c->in,
                     .lanes = c->lanes,
                     .w = w,
                     .w_out = c->w_by_output ? gap : 1,
                     .w_in = c->w_by_output ? 1 : gap,
                     .x = x,
                     .x_stride = stride,
                     .y_stride = stride,
                     .add_stride = stride,
                     .gate_stride = stride,
                     .act = c->act };
    if (c->start == START_BIAS || c->start == START_BOTH)
        p.bias = bias;
    if (c->gated)
        p.gate = gate;
    const bool adds = c->start >= START_ADD;
    for (int isa = 0; isa <= (int)hs_cpu_isa(); isa++)
        for (int method = HS_PRODUCT_OWN; method <= HS_PRODUCT_BLAS; method += HS_PRODUCT_BLAS) {
            void *first = NULL;
            for (int threads = 1; threads <= 8; threads = threads == 3 ? 8 : threads + 1) {
                void *result =
                    copy_of(dtype, c->start == START_IN_PLACE ? add : y, c->out * stride);
                p.y = result;
                p.add = !adds ? NULL : c->start == START_IN_PLACE ? result : add;
                p.threads = threads;
                hs__product_run_as((hs_isa)isa, (hs_product_method)method, dtype, &p);
                ck_assert(isnan(get(dtype, result, c->out * stride)));
                if (c->lanes == 1)
                    try_twins((hs_isa)isa, dtype, &p, result);
                if (!first) {
                    check_product(dtype, &p, adds ? add : NULL, result);
                    first = result;
                    continue;
                }
                for (size_t o = 0; o < c->out; o++) {
                    const size_t offset = o * stride * hs_dtype_size(dtype);
                    ck_assert_mem_eq((char *)first + offset, (char *)result + offset,
                                     c->lanes * hs_dtype_size(dtype));
                }
                hs_free(result);
                if (c->out * c->in * c->lanes < 1 << 19)
                    break; /* too small to be cut for threads */
            }
            hs_free(first);
        }
    hs_free(w), hs_free(x), hs_free(y), hs_free(bias), hs_free(add), hs_free(gate);
}

static const size_t lane_counts[] = { 1, 2, 5, 16, 17, 100, 208 };
enum { LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts };

START_TEST(products_of_all_small_shapes)
{
    for (size_t out = 1; out <= 40; out++)
        for (int i = 0; i < LANE_COUNTS; i++) {
            const product_case c = { out,
                                     pick(40),
                                     lane_counts[i],
                                     uniform() > 0,
                                     (int)pick(STARTS) - 1,
                                     uniform() > 0,
                                     (hs_activation_kind)(pick(6) - 1) };
            try_product((hs_dtype)_i, &c);
        }
}
END_TEST

START_TEST(products_with_every_option)
{
    for (int start = 0; start < STARTS; start++)
        for (int act = HS_ACT_NONE; act <= HS_ACT_GELU; act++)
            for (int flags = 0; flags < 4; flags++)
                for (int i = 0; i < LANE_COUNTS; i++) {
                    const product_case c = { pick(20), pick(20),  lane_counts[i],         flags & 1,
                                             start,    flags & 2, (hs_activation_kind)act };
                    try_product((hs_dtype)_i, &c);
                }
}
END_TEST

START_TEST(products_that_are_cut)
{
    static const size_t large[][3] = { { 126, 126, 800 }, { 21, 1000, 100 }, { 1000, 21, 100 },
                                       { 600, 530, 17 },  { 7, 2000, 48 },   { 5, 3, 40000 },
                                       { 785, 1100, 1 },  { 1100, 785, 1 },  { 513, 129, 40 },
                                       { 40, 16000, 1 },  { 2355, 301, 1 },  { 5000, 131, 1 },
                                       { 9000, 70, 1 } };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int by_output = 0; by_output < 2; by_output++) {
            const bool other = (i + (size_t)by_output) % 2;
            const product_case c = { large[i][0],
                                     large[i][1],
                                     large[i][2],
                                     by_output,
                                     other ? START_IN_PLACE : START_BOTH,
                                     other,
                                     other ? HS_ACT_RELU : HS_ACT_NONE };
            try_product((hs_dtype)_i, &c);
        }
}
END_TEST

/* ---- hs_product_sum_run ---- */

static void check_sum(hs_dtype dtype, const hs_product_sum *p, const void *before)
{
    for (size_t o = 0; o < p->out; o++)
        for (size_t i = 0; i < p->in; i++) {
            long double sum = p->accumulate ? (long double)get(dtype, before, o * p->in + i) : 0;
            long double size = fabsl(sum);
            for (size_t k = 0; k < p->terms * p->lanes; k++) {
                const size_t t = k / p->lanes, l = k % p->lanes;
                const long double term =
                    (long double)get(dtype, p->dy, o * p->dy_stride + t * p->dy_term + l) *
                    (long double)get(dtype, p->x, i * p->x_stride + t * p->x_term + l);
                sum += term;
                size += fabsl(term);
            }
            const double got = get(dtype, p->dw, o * p->in + i);
            const long double bound =
                (long double)epsilon(dtype) * (long double)(p->terms * p->lanes + 2) * size;
            if (!(fabsl((long double)got - sum) <= bound))
                ck_abort_msg("%zux%zu, %zu lanes: dw[%zu][%zu] is %.17g, not %.17g", p->out, p->in,
                             p->lanes, o, i, got, (double)sum);
        }
}

static void check_sum_of_dy(hs_dtype dtype, const hs_product_sum *p, const void *before)
{
    for (size_t o = 0; o < p->out; o++) {
        long double sum = p->accumulate_db ? (long double)get(dtype, before, o) : 0;
        long double size = fabsl(sum);
        for (size_t k = 0; k < p->terms * p->lanes; k++) {
            const size_t l = o * p->dy_stride + k / p->lanes * p->dy_term + k % p->lanes;
            sum += (long double)get(dtype, p->dy, l);
            size += fabsl((long double)get(dtype, p->dy, l));
        }
        const double got = get(dtype, p->db, o);
        if (!(fabsl((long double)got - sum) <=
              (long double)epsilon(dtype) * (long double)(p->terms * p->lanes + 2) * size))
            ck_abort_msg("%zux%zu, %zu lanes: db[%zu] is %.17g, not %.17g", p->out, p->in, p->lanes,
                         o, got, (double)sum);
    }
}

static void try_sum(hs_dtype dtype, size_t out, size_t in, size_t lanes, bool accumulate)
{
    const size_t stride = lanes == 1 ? 1 : padded(dtype, lanes), size = hs_dtype_size(dtype);
    const size_t terms = out * in * lanes < 1 << 16 ? 1 + pick(3) : 1;
    void *dy = random_rows(dtype, terms * out, lanes, stride);
    void *x = random_rows(dtype, terms * in, lanes, stride);
    void *before = random_rows(dtype, out, in, in), *bias_before = random_rows(dtype, 1, out, out);
    const bool with_bias = uniform() > 0;
    void *scratch = hs_alloc(hs__product_sum_scratch_any(dtype, out, in, lanes) + 1);
    ck_assert_ptr_nonnull(scratch);
    hs_product_sum p = { .out = out,
                         .in = in,
                         .lanes = lanes,
                         .dy = dy,
                         .dy_stride = stride,
                         .x = x,
                         .x_stride = stride,
                         .accumulate = accumulate,
                         .accumulate_db = uniform() > 0,
                         .scratch = scratch,
                         .terms = terms,
                         .dy_term = out * stride,
                         .x_term = in * stride };
    for (int isa = 0; isa <= (int)hs_cpu_isa(); isa++)
        for (int method = HS_PRODUCT_OWN; method <= HS_PRODUCT_BLAS; method++) {
            void *first = NULL, *first_bias = NULL;
            for (int threads = 1; threads <= 8; threads = threads == 3 ? 8 : threads + 1) {
                p.dw = copy_of(dtype, before, out * in);
                p.db = with_bias ? copy_of(dtype, bias_before, out) : NULL;
                p.threads = threads;
                hs__product_sum_run_as((hs_isa)isa, (hs_product_method)method, dtype, &p);
                ck_assert(isnan(get(dtype, p.dw, out * in)));
                ck_assert(!p.db || isnan(get(dtype, p.db, out)));
                if (!first) {
                    check_sum(dtype, &p, before);
                    if (p.db)
                        check_sum_of_dy(dtype, &p, bias_before);
                    first = p.dw;
                    first_bias = p.db;
                    continue;
                }
                ck_assert_mem_eq(first, p.dw, out * in * size);
                if (p.db)
                    ck_assert_mem_eq(first_bias, p.db, out * size);
                hs_free(p.dw), hs_free(p.db);
                if (out * in * lanes < 1 << 19)
                    break; /* too small to be cut for threads */
            }
            hs_free(first), hs_free(first_bias);
        }
    hs_free(dy), hs_free(x), hs_free(before), hs_free(bias_before), hs_free(scratch);
}

START_TEST(sums_over_lanes)
{
    for (size_t out = 1; out <= 40; out++)
        for (int i = 0; i < LANE_COUNTS; i++)
            try_sum((hs_dtype)_i, out, pick(40), lane_counts[i], uniform() > 0);
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        try_sum((hs_dtype)_i, 126, 126, 799, accumulate);
        try_sum((hs_dtype)_i, 1000, 21, 100, accumulate);
        try_sum((hs_dtype)_i, 530, 600, 18, accumulate);
        try_sum((hs_dtype)_i, 785, 1100, 1, accumulate);
        try_sum((hs_dtype)_i, 6, 6, 1601, accumulate);
    }
}
END_TEST

/* ---- hs_product_lane_run ---- */

static void try_lane(hs_dtype dtype, size_t out, size_t in, size_t n, size_t lanes, int flags)
{
    const bool a_shared = flags & 1, b_shared = flags & 2, a_turned = flags & 4,
               b_turned = flags & 8;
    const size_t stride = lanes == 1 ? 1 : padded(dtype, lanes);
    const size_t a_stride = a_shared ? 1 : stride, b_stride = b_shared ? 1 : stride;
    void *a = random_rows(dtype, out * in, a_shared ? 1 : lanes, a_stride);
    void *b = random_rows(dtype, in * n, b_shared ? 1 : lanes, b_stride);
    void *y = random_rows(dtype, out * n, lanes, stride);
    hs_product_lane p = { .out = out,
                          .in = in,
                          .n = n,
                          .lanes = lanes,
                          .a = a,
                          .a_out = a_turned ? 1 : in,
                          .a_in = a_turned ? out : 1,
                          .a_stride = a_stride,
                          .a_shared = a_shared,
                          .b = b,
                          .b_in = b_turned ? 1 : n,
                          .b_n = b_turned ? in : 1,
                          .b_stride = b_stride,
                          .b_shared = b_shared,
                          .y = y,
                          .y_stride = stride };
    for (int isa = 0; isa <= (int)hs_cpu_isa(); isa++) {
        hs__product_lane_run_as((hs_isa)isa, dtype, &p);
        ck_assert(isnan(get(dtype, y, out * n * stride)));
        for (size_t o = 0; o < out; o++)
            for (size_t j = 0; j < n; j++)
                for (size_t l = 0; l < lanes; l++) {
                    long double sum = 0, size = 0;
                    for (size_t k = 0; k < in; k++) {
                        const size_t at_a = o * p.a_out + k * p.a_in, at_b = k * p.b_in + j * p.b_n;
                        const long double term =
                            (long double)get(dtype, a, a_shared ? at_a : at_a * stride + l) *
                            (long double)get(dtype, b, b_shared ? at_b : at_b * stride + l);
                        sum += term;
                        size += fabsl(term);
                    }
                    const double got = get(dtype, y, (o * n + j) * stride + l);
                    const long double bound =
                        (long double)epsilon(dtype) * (long double)(in + 1) * size;
                    if (!(fabsl((long double)got - sum) <= bound))
                        ck_abort_msg("%zux%zux%zu, %zu lanes, flags %d: %.17g, not %.17g", out, in,
                                     n, lanes, flags, got, (double)sum);
                }
    }
    hs_free(a), hs_free(b), hs_free(y);
}

START_TEST(products_lane_by_lane)
{
    for (int flags = 0; flags < 16; flags++)
        for (int i = 0; i < LANE_COUNTS; i++) {
            try_lane((hs_dtype)_i, pick(9), pick(9), pick(9), lane_counts[i], flags);
            try_lane((hs_dtype)_i, pick(30), pick(30), 1, lane_counts[i], flags);
        }
}
END_TEST

/* ---- hs_product_shared_run, and the dispatching entries ---- */

START_TEST(products_of_shared_matrices)
{
    const hs_dtype dtype = (hs_dtype)_i;
    for (int flags = 0; flags < 8; flags++) {
        const bool turn_a = flags & 1, turn_b = flags & 2, accumulate = flags & 4;
        const size_t m = pick(30), n = pick(30), k = pick(30);
        void *a = random_rows(dtype, m, k, k), *b = random_rows(dtype, k, n, n);
        void *before = random_rows(dtype, m, n, n), *c = copy_of(dtype, before, m * n);
        hs_product_shared_run(dtype, m, n, k, a, turn_a, b, turn_b, c, accumulate);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                long double sum = accumulate ? (long double)get(dtype, before, i * n + j) : 0;
                for (size_t l = 0; l < k; l++)
                    sum += (long double)get(dtype, a, turn_a ? l * m + i : i * k + l) *
                           (long double)get(dtype, b, turn_b ? j * k + l : l * n + j);
                const double bound = epsilon(dtype) * (double)(k + 2) * (double)(k + 1);
                ck_assert(fabs(get(dtype, c, i * n + j) - (double)sum) <= bound);
            }
        hs_free(a), hs_free(b), hs_free(before), hs_free(c);
    }
}
END_TEST

/* Scratch of the promised size suffices: a canary behind it survives. */
START_TEST(chosen_methods)
{
    const hs_dtype dtype = (hs_dtype)_i;
    static const size_t sizes[][3] = { { 6, 6, 100 },  { 126, 126, 100 }, { 126, 126, 800 },
                                       { 33, 40, 17 }, { 600, 600, 20 },  { 40, 50, 1 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t out = sizes[s][0], in = sizes[s][1], lanes = sizes[s][2];
        const size_t stride = lanes == 1 ? 1 : padded(dtype, lanes);
        const size_t room = hs_product_sum_scratch(
            dtype, &(hs_product_sum){ .out = out, .in = in, .lanes = lanes });
        void *dy = random_rows(dtype, out, lanes, stride),
             *x = random_rows(dtype, in, lanes, stride);
        void *dw = random_rows(dtype, out, in, in), *w = random_rows(dtype, out, in, in);
        void *y = random_rows(dtype, out, lanes, stride);
        char *scratch = hs_alloc(room + 64);
        ck_assert_ptr_nonnull(scratch);
        memset(scratch + room, 77, 64);
        const hs_product_sum sum = { .out = out,
                                     .in = in,
                                     .lanes = lanes,
                                     .dy = dy,
                                     .dy_stride = stride,
                                     .x = x,
                                     .x_stride = stride,
                                     .dw = dw,
                                     .scratch = room ? scratch : NULL,
                                     .terms = 1 };
        hs_product_sum_run(dtype, &sum);
        check_sum(dtype, &sum, NULL);
        for (int i = 0; i < 64; i++)
            ck_assert_int_eq(scratch[room + (size_t)i], 77);
        const hs_product run = { .out = out,
                                 .in = in,
                                 .lanes = lanes,
                                 .w = w,
                                 .w_out = in,
                                 .w_in = 1,
                                 .x = x,
                                 .x_stride = stride,
                                 .y = y,
                                 .y_stride = stride };
        hs_product_run(dtype, &run);
        check_product(dtype, &run, NULL, y);
        hs_free(dy), hs_free(x), hs_free(dw), hs_free(w), hs_free(y), hs_free(scratch);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor/product");
    TCase *tests = tcase_create("product");
    tcase_set_timeout(tests, 0);
    tcase_add_loop_test(tests, products_of_all_small_shapes, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, products_with_every_option, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, products_that_are_cut, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, sums_over_lanes, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, products_lane_by_lane, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, products_of_shared_matrices, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(tests, chosen_methods, HS_F32, HS_F64 + 1);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
