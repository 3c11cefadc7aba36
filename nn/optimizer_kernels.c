/* The loops over all parameters, compiled for every instruction set and number type. They are plain
 * loops that the compiler vectorises: lengths are multiples of 64 bytes, and nothing aliases. */
#include "optimizer_internal.h"

#include <math.h>

#include <hastings/tensor/cpu.h>

#if HS_KERNEL_F64
typedef double number;
#define SQRT sqrt
#else
typedef float number;
#define SQRT sqrtf
#endif

/* In double, with a fixed number of partial sums: a fixed order, whatever the vector width. */
static double sum_squares(const void *gradient, size_t n)
{
    enum { LANES = 8 };
    const number *g = gradient;
    double sum[LANES] = { 0 };
    for (size_t i = 0; i < n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sum[j] += (double)g[i + j] * (double)g[i + j];
    double total = 0;
    for (size_t j = 0; j < LANES; j++)
        total += sum[j];
    return total;
}

static void sgd(const update_numbers *u, size_t n, void *values, const void *gradient,
                void *momentum)
{
    number *restrict w = values, *restrict b = momentum;
    const number *restrict g = gradient;
    const number shorten = (number)u->shorten, rate = (number)u->rate, keep = (number)u->momentum;
    if (!b) {
        for (size_t i = 0; i < n; i++)
            w[i] -= rate * (shorten * g[i]);
        return;
    }
    /* Plain momentum steps by b, Nesterov's by g + keep b. */
    const number of_g = u->nesterov ? shorten : 0, of_b = u->nesterov ? keep : 1;
    for (size_t i = 0; i < n; i++) {
        b[i] = keep * b[i] + shorten * g[i];
        w[i] -= rate * (of_g * g[i] + of_b * b[i]);
    }
}

static void adam(const update_numbers *u, size_t n, void *values, const void *gradient, void *first,
                 void *second)
{
    number *restrict w = values, *restrict m = first, *restrict v = second;
    const number *restrict g = gradient;
    const number shorten = (number)u->shorten, epsilon = (number)u->epsilon;
    const number b1 = (number)u->beta1, c1 = (number)(1 - u->beta1);
    const number b2 = (number)u->beta2, c2 = (number)(1 - u->beta2);
    const number correct1 = (number)u->correct1, correct2 = (number)u->correct2;
    const number keep = (number)u->keep;
    for (size_t i = 0; i < n; i++) {
        const number slope = shorten * g[i];
        m[i] = b1 * m[i] + c1 * slope;
        v[i] = b2 * v[i] + c2 * (slope * slope);
        w[i] = keep * w[i] - correct1 * m[i] / (SQRT(v[i]) * correct2 + epsilon);
    }
}

static void combine(const hs_factors *f, size_t row, size_t column, size_t n, void *gradient)
{
    number *restrict g = gradient;
    for (size_t k = 0; k < f->count; k++) {
        const number *restrict b = (const number *)f->b[k] + column;
        const number a = ((const number *)f->a[k])[row];
        for (size_t i = 0; k == 0 && i < n; i++)
            g[i] = a * b[i];
        for (size_t i = 0; k && i < n; i++)
            g[i] += a * b[i];
    }
}

static double dot(const void *a_, const void *b_, size_t n)
{
    const number *a = a_, *b = b_;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

extern const optimizer_kernels HS_KERNEL(optimizer);
const optimizer_kernels HS_KERNEL(optimizer) = { sum_squares, sgd, adam, combine, dot };
