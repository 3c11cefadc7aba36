/*
 * Matrix products of networks: our own tiles against OpenBLAS and LIBXSMM, all on one thread and
 * taking turns within one run, so that what else the machine does hits them alike.
 *
 *     products [seconds per case [f32 | f64 [rows in out]]]
 *
 * Prints the median GFLOP/s of each, and the share of the core's fused multiply-add peak (measured
 * in the same run) that the library's own choice reaches. products.md keeps a table.
 */
#include "measure.h"

#include <hastings/tensor/blas.h>
#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include "tensor/product_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HS_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

enum { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, PRODUCTS };

enum { OWN, OWN_TRANSPOSED, OPENBLAS, LIBXSMM, CHOSEN, CONTENDERS };

typedef struct {
    size_t rows, in, out;
} shape;

static const shape shapes[] = {
    { 800, 2, 16 },      { 800, 16, 16 },    { 800, 16, 2 },    { 800, 1, 6 },
    { 800, 6, 6 },       { 800, 6, 1 },      { 800, 42, 126 },  { 800, 126, 126 },
    { 800, 126, 42 },    { 800, 21, 126 },   { 800, 126, 21 },  { 800, 28, 84 },
    { 800, 84, 84 },     { 800, 84, 28 },    { 800, 14, 84 },   { 800, 84, 14 },
    { 800, 21, 1000 },   { 100, 6, 6 },      { 100, 16, 16 },   { 100, 84, 84 },
    { 100, 126, 126 },   { 200, 6, 6 },      { 200, 16, 16 },   { 200, 126, 126 },
    { 208, 6, 6 },       { 208, 16, 16 },    { 208, 84, 84 },   { 208, 126, 126 },
    { 400, 6, 6 },       { 400, 16, 16 },    { 400, 84, 84 },   { 400, 126, 126 },
    { 1600, 6, 6 },      { 1600, 16, 16 },   { 1600, 84, 84 },  { 1600, 126, 126 },
    { 100, 256, 256 },   { 208, 256, 256 },  { 800, 256, 256 }, { 208, 512, 512 },
    { 100, 1024, 1024 }, { 100, 785, 2355 }, { 1, 785, 2355 },  { 1, 2355, 2355 },
    { 1, 2355, 785 },
};

typedef struct {
    hs_dtype dtype;
    int product;
    hs_product run;
    hs_product_sum sum;
#ifdef HS_HAVE_LIBXSMM
    libxsmm_smmfunction small_f32;
    libxsmm_dmmfunction small_f64;
#endif
    void *transposed; /* of the factor that LIBXSMM wants transposed, made beforehand */
} bench_case;

/*
 * LIBXSMM multiplies column-major matrices, C (m x n) = A (m x k) B (k x n), neither transposed in
 * the best case. Our row-major y = w x is its y^T = x^T w^T: A is x, B is w. The input gradient
 * needs w^T and the weight gradient x^T; as its kernels take no such factor in all cases, it gets
 * them transposed for free.
 */
#ifdef HS_HAVE_LIBXSMM
static bool prepare_libxsmm(bench_case *c)
{
    const bool weight = c->product == WEIGHT_GRADIENT;
    const hs_product *r = &c->run;
    const hs_product_sum *s = &c->sum;
    libxsmm_blasint m = (libxsmm_blasint)(weight ? s->in : r->lanes);
    libxsmm_blasint n = (libxsmm_blasint)(weight ? s->out : r->out);
    libxsmm_blasint k = (libxsmm_blasint)(weight ? s->lanes : r->in);
    libxsmm_blasint lda = weight ? m : (libxsmm_blasint)r->x_stride;
    libxsmm_blasint ldb = weight ? (libxsmm_blasint)s->dy_stride : k;
    libxsmm_blasint ldc = weight ? m : (libxsmm_blasint)r->y_stride;
    if ((double)m * (double)n * (double)k > 4e8)
        return false;
    if (c->dtype == HS_F32) {
        const float one = 1, zero = 0;
        c->small_f32 = libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &one, &zero, NULL, NULL);
        return c->small_f32 != NULL;
    }
    const double one = 1, zero = 0;
    c->small_f64 = libxsmm_dmmdispatch(m, n, k, &lda, &ldb, &ldc, &one, &zero, NULL, NULL);
    return c->small_f64 != NULL;
}

static void run_libxsmm(const bench_case *c)
{
    const bool weight = c->product == WEIGHT_GRADIENT;
    const void *a = weight ? c->transposed : c->run.x, *b = weight ? c->sum.dy : c->transposed;
    void *y = weight ? c->sum.dw : c->run.y;
    if (c->dtype == HS_F32)
        c->small_f32(a, b, y);
    else
        c->small_f64(a, b, y);
}
#else
static bool prepare_libxsmm(bench_case *c)
{
    (void)c;
    return false;
}

static void run_libxsmm(const bench_case *c)
{
    (void)c;
}
#endif

static bool takes_part(bench_case *c, int contender)
{
    const bool weight = c->product == WEIGHT_GRADIENT, one_lane = c->run.lanes == 1;
    if (contender == OWN_TRANSPOSED)
        return weight && !one_lane;
    if (contender == LIBXSMM)
        return !one_lane && prepare_libxsmm(c);
    return true;
}

static void run_openblas(const bench_case *c)
{
    const hs_product *r = &c->run;
    const hs_product_sum *s = &c->sum;
    const bool back = c->product == INPUT_GRADIENT;
    if (c->product == WEIGHT_GRADIENT)
        hs_blas_multiply(c->dtype, s->out, s->in, s->lanes, s->dy, s->dy_stride, false, s->x,
                         s->x_stride, true, s->dw, s->in, false);
    else
        hs_blas_multiply(c->dtype, r->out, r->lanes, r->in, r->w, back ? r->w_in : r->w_out, back,
                         r->x, r->x_stride, false, r->y, r->y_stride, false);
}

static void run(const bench_case *c, int contender)
{
    const hs_isa isa = hs_cpu_isa();
    const bool weight = c->product == WEIGHT_GRADIENT;
    if (contender == LIBXSMM)
        run_libxsmm(c);
    else if (contender == OPENBLAS)
        run_openblas(c);
    else if (contender == CHOSEN && weight)
        hs_product_sum_run(c->dtype, &c->sum);
    else if (contender == CHOSEN)
        hs_product_run(c->dtype, &c->run);
    else if (weight)
        hs__product_sum_run_as(isa, contender == OWN ? HS_PRODUCT_OWN : HS_PRODUCT_OWN_TRANSPOSED,
                               c->dtype, &c->sum);
    else
        hs__product_run_as(isa, HS_PRODUCT_OWN, c->dtype, &c->run);
}

enum { MAX_SAMPLES = 2000 };

/* Median GFLOP/s of each contender, 0 if it does not take part, and of the peak beside them. */
static void measure(bench_case *c, double budget, double rate[CONTENDERS], double *peak)
{
    static double samples[CONTENDERS + 1][MAX_SAMPLES];
    const double flops = 2.0 * (double)c->run.lanes * (double)c->run.in * (double)c->run.out;
    const long repeats = flops > 2e6 ? 1 : (long)(2e6 / flops) + 1;
    bool present[CONTENDERS];
    for (int k = 0; k < CONTENDERS; k++) {
        present[k] = takes_part(c, k);
        rate[k] = 0;
        if (present[k])
            run(c, k);
    }
    int n = 0;
    const double begin = hs_seconds();
    while (n < MAX_SAMPLES && (n < 5 || hs_seconds() - begin < budget)) {
        for (int k = 0; k < CONTENDERS; k++) {
            if (!present[k])
                continue;
            run(c, k);
            const double start = hs_seconds();
            for (long i = 0; i < repeats; i++)
                run(c, k);
            samples[k][n] = flops * (double)repeats / (hs_seconds() - start) * 1e-9;
        }
        samples[CONTENDERS][n++] = peak_once(c->dtype);
    }
    for (int k = 0; k <= CONTENDERS; k++) {
        if (k < CONTENDERS && !present[k])
            continue;
        *(k < CONTENDERS ? &rate[k] : peak) = median(samples[k], (size_t)n);
    }
}

static void bench_shape(hs_dtype dtype, shape s, double budget)
{
    const size_t line = HS_ALIGN / hs_dtype_size(dtype);
    const size_t stride = s.rows == 1 ? 1 : (s.rows + line - 1) / line * line;
    void *w = make_numbers(dtype, s.in * s.out), *x = make_numbers(dtype, s.in * stride);
    void *y = make_numbers(dtype, s.out * stride), *dw = make_numbers(dtype, s.in * s.out);
    void *transposed = make_numbers(dtype, s.in * (s.out + stride));
    void *scratch = hs_alloc(hs__product_sum_scratch_any(dtype, s.out, s.in, s.rows) + HS_ALIGN);
    if (!scratch)
        exit(1);
    printf("| %s | %zu | %zu x %zu |", hs_dtype_name(dtype), s.rows, s.in, s.out);
    double time[3] = { 0 }, peak = 0;
    for (int product = 0; product < PRODUCTS; product++) {
        const bool back = product == INPUT_GRADIENT;
        bench_case c = { .dtype = dtype, .product = product, .transposed = transposed };
        c.run = (hs_product){ .out = back ? s.in : s.out,
                              .in = back ? s.out : s.in,
                              .lanes = s.rows,
                              .w = w,
                              .w_out = back ? 1 : s.in,
                              .w_in = back ? s.in : 1,
                              .x = back ? y : x,
                              .x_stride = stride,
                              .y = back ? x : y,
                              .y_stride = stride };
        c.sum = (hs_product_sum){ .out = s.out,
                                  .in = s.in,
                                  .lanes = s.rows,
                                  .dy = y,
                                  .dy_stride = stride,
                                  .x = x,
                                  .x_stride = stride,
                                  .dw = dw,
                                  .scratch = scratch };
        double rate[CONTENDERS];
        measure(&c, budget, rate, &peak);
        for (int k = 0; k < CHOSEN; k++)
            if (k != OWN_TRANSPOSED || product == WEIGHT_GRADIENT)
                printf(rate[k] > 0 ? "%s%.0f" : "%s-", k == 0 ? " " : " / ", rate[k]);
        printf(" |");
        time[0] += 1 / rate[OPENBLAS];
        time[1] += rate[LIBXSMM] > 0 ? 1 / rate[LIBXSMM] : 1e9;
        time[2] += 1 / rate[CHOSEN];
        /* Results fed back as inputs would grow from product to product. */
        hs_free(x), hs_free(y);
        x = make_numbers(dtype, s.in * stride), y = make_numbers(dtype, s.out * stride);
    }
    printf(" %.0f |", PRODUCTS / time[0]);
    printf(time[1] < 1e9 ? " %.0f |" : " - |", PRODUCTS / time[1]);
    printf(" **%.0f** | %.0f | %.0f%% |\n", PRODUCTS / time[2], peak,
           100 * PRODUCTS / time[2] / peak);
    fflush(stdout);
    hs_free(w), hs_free(x), hs_free(y), hs_free(dw), hs_free(transposed), hs_free(scratch);
}

int main(int argc, char **argv)
{
    const double budget = argc > 1 ? strtod(argv[1], NULL) : 0.1;
    printf("instruction set: %s\n\n", hs_isa_name(hs_cpu_isa()));
    printf("| type | rows | in x out | forward: own / OpenBLAS / LIBXSMM "
           "| input gradient: the same | weight gradient: dots / transposed / OpenBLAS / LIBXSMM "
           "| all three: OpenBLAS | LIBXSMM | chosen | peak | chosen of peak |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
        if (argc > 2 && strcmp(argv[2], hs_dtype_name((hs_dtype)dtype)) != 0)
            continue;
        if (argc > 5) {
            const shape s = { strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10),
                              strtoul(argv[5], NULL, 10) };
            bench_shape((hs_dtype)dtype, s, budget);
            continue;
        }
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            bench_shape((hs_dtype)dtype, shapes[i], budget);
    }
    return 0;
}
