/*
 * Products with one lane: one alone, and two by the same matrix in one reading of it.
 *
 *     twins [seconds per case]
 *
 * Both take turns, on one thread and on all, over as many matrices as leave the caches behind. Prints the median
 * microseconds of a product, and of two of them. products.md keeps the figures.
 */
#include "measure.h"

#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/product.h>
#include <hastings/tensor/threads.h>

#include <stdlib.h>

enum { FAR_NUMBERS = 1 << 25, MAX_SAMPLES = 1000 };

typedef struct {
    size_t out, in;
} shape;

/* MNIST's networks and couplings, German's, and what any cache holds. */
static const shape shapes[] = { { 2355, 2355 }, { 2355, 785 }, { 785, 2355 }, { 2355, 392 },
                                { 392, 2355 },  { 126, 126 },  { 24, 48 } };

static void bench(shape s, bool by_row, int threads, double budget)
{
    const size_t size = s.out * s.in, copies = size < 1 << 17 ? 1 : FAR_NUMBERS / size + 1;
    const int repeats = copies > 1 ? 1 : 100;
    float *w = make_numbers(HS_F32, size * copies), *x[2], *y[2];
    static double samples[2][MAX_SAMPLES];
    for (int i = 0; i < 2; i++) {
        x[i] = make_numbers(HS_F32, s.in);
        y[i] = make_numbers(HS_F32, s.out);
    }
    size_t n = 0;
    const double begin = hs_seconds();
    while (n < MAX_SAMPLES && (n < 5 || hs_seconds() - begin < budget)) {
        for (int way = 0; way < 2; way++) {
            const double start = hs_seconds();
            for (size_t i = 0; i < copies * (size_t)repeats; i++) {
                hs_product p[2];
                for (int k = 0; k < 2; k++)
                    p[k] = (hs_product){ .out = s.out,
                                         .in = s.in,
                                         .lanes = 1,
                                         .w = w + i % copies * size,
                                         .w_out = by_row ? s.in : 1,
                                         .w_in = by_row ? 1 : s.out,
                                         .x = x[k],
                                         .x_stride = 1,
                                         .y = y[k],
                                         .y_stride = 1,
                                         .threads = threads };
                p[0].twin = way ? &p[1] : NULL;
                hs_product_run(HS_F32, &p[0]);
            }
            samples[way][n] = (hs_seconds() - start) / (double)(copies * (size_t)repeats);
        }
        n++;
    }
    const double one = median(samples[0], n), two = median(samples[1], n);
    printf("| %zu x %zu | %s | %d | %.2f | %.2f | %.2f |\n", s.out, s.in,
           by_row ? "rows" : "columns", threads, 1e6 * one, 1e6 * two, two / one);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        hs_free(x[i]), hs_free(y[i]);
    hs_free(w);
}

int main(int argc, char **argv)
{
    const double budget = argc > 1 ? strtod(argv[1], NULL) : 1;
    const int most = hs_threads_default();
    printf(
        "| out x in | w by | threads | one, us | two, us | ratio |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int by_row = 1; by_row >= 0; by_row--)
            for (int threads = 1; threads <= most; threads += most > 1 ? most - 1 : 1)
                bench(shapes[i], by_row, threads, budget);
    return 0;
}
