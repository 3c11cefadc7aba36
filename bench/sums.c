/*
 * Weight gradients of small layers: dot products, or x transposed, and which of them tensor/product.c takes by its
 * estimate of cycles.
 *
 *     sums [seconds per case]
 *
 * Both take turns. Prints the sizes at which what is chosen takes 1.25 times as long as the other or more, and how much
 * longer than the faster one it takes on average over all sizes. products.md keeps the figures.
 */
#include "measure.h"

#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include "tensor/product_internal.h"

#include <math.h>
#include <stdlib.h>

static const size_t units[] = { 1, 2, 6, 12, 16, 21, 28, 42, 56, 84, 126, 168 };
static const size_t rows[] = { 2, 4, 8, 16, 50, 100, 200, 400 };
enum { UNITS = 12, ROWS = 8, MOST_UNITS = 168, MOST_ROWS = 400, MOST_STRIDE = 448 };

/* Seconds of both ways, the least of several turns. */
static void measure(hs_dtype dtype, const hs_product_sum *p, double budget, double seconds[2])
{
    const double products = (double)(p->out * p->in * p->lanes);
    const long repeats = 1 + (long)(fmin(3e6 / products, 500));
    const double begin = hs_seconds();
    seconds[0] = seconds[1] = HUGE_VAL;
    do
        for (int way = 0; way < 2; way++) {
            const double start = hs_seconds();
            for (long i = 0; i < repeats; i++)
                hs__product_sum_run_as(hs_cpu_isa(),
                                       way ? HS_PRODUCT_OWN_TRANSPOSED : HS_PRODUCT_OWN, dtype, p);
            seconds[way] = fmin(seconds[way], (hs_seconds() - start) / (double)repeats);
        }
    while (hs_seconds() - begin < budget);
}

static void bench(hs_dtype dtype, double budget)
{
    void *x = make_numbers(dtype, MOST_UNITS * MOST_STRIDE),
         *dy = make_numbers(dtype, MOST_UNITS * MOST_STRIDE);
    void *dw = make_numbers(dtype, MOST_UNITS * MOST_UNITS), *db = make_numbers(dtype, MOST_UNITS);
    void *scratch =
        hs_alloc(hs__product_sum_scratch_any(dtype, MOST_UNITS, MOST_UNITS, MOST_ROWS) + HS_ALIGN);
    if (!scratch)
        exit(1);
    printf("| type | rows | in x out | dots, ns | transposed, ns | chosen |\n"
           "|---|---|---|---|---|---|\n");
    double lost = 0, worst = 0;
    const size_t line = HS_ALIGN / hs_dtype_size(dtype);
    for (size_t i = 0; i < (size_t)UNITS * UNITS * ROWS; i++) {
        const size_t lanes = rows[i % ROWS], stride = (lanes + line - 1) / line * line;
        const hs_product_sum p = { .out = units[i / ROWS / UNITS],
                                   .in = units[i / ROWS % UNITS],
                                   .lanes = lanes,
                                   .dy = dy,
                                   .dy_stride = stride,
                                   .x = x,
                                   .x_stride = stride,
                                   .dw = dw,
                                   .db = db,
                                   .scratch = scratch };
        double seconds[2];
        measure(dtype, &p, budget, seconds);
        const bool transposed = hs__product_sum_choose(dtype, &p) == HS_PRODUCT_OWN_TRANSPOSED;
        const double loss = seconds[transposed] / fmin(seconds[0], seconds[1]) - 1;
        if (loss >= 0.25)
            printf("| %s | %zu | %zu x %zu | %.0f | %.0f | %s |\n", hs_dtype_name(dtype), lanes,
                   p.in, p.out, 1e9 * seconds[0], 1e9 * seconds[1],
                   transposed ? "transposed" : "dots");
        lost += loss;
        worst = fmax(worst, loss);
    }
    printf("\n%s, %d sizes: %.1f%% longer on average than the faster way, %.0f%% at most\n\n",
           hs_dtype_name(dtype), UNITS * UNITS * ROWS, 100 * lost / (UNITS * UNITS * ROWS),
           100 * worst);
    fflush(stdout);
    hs_free(x), hs_free(dy), hs_free(dw), hs_free(db), hs_free(scratch);
}

int main(int argc, char **argv)
{
    const double budget = argc > 1 ? strtod(argv[1], NULL) : 0.005;
    printf("instruction set: %s\n\n", hs_isa_name(hs_cpu_isa()));
    bench(HS_F32, budget);
    bench(HS_F64, budget);
    return 0;
}
