/* The loops over all parameters, compiled for every instruction set and number type. Most are plain loops that the
 * compiler vectorises; nothing aliases. */
#include "optimizer_internal.h"

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/simd.h>

/* In double, with a fixed number of partial sums: a fixed order, whatever the vector width. */
static double sum_squares(const void *gradient, size_t n)
{
    enum { SUMS = 8 };
    const real *g = gradient;
    double sum[SUMS] = { 0 };
    for (size_t i = 0; i < n; i += SUMS)
        for (size_t j = 0; j < SUMS; j++)
            sum[j] += (double)g[i + j] * (double)g[i + j];
    double total = 0;
    for (size_t j = 0; j < SUMS; j++)
        total += sum[j];
    return total;
}

static void sgd(const update_numbers *u, size_t n, void *values, const void *gradient,
                void *momentum)
{
    real *restrict w = values, *restrict b = momentum;
    const real *restrict g = gradient;
    const real shorten = (real)u->shorten, rate = (real)u->rate, keep = (real)u->momentum;
    if (!b) {
        for (size_t i = 0; i < n; i++)
            w[i] -= rate * (shorten * g[i]);
        return;
    }
    /* Plain momentum steps by b, Nesterov's by g + keep b. */
    const real of_g = u->nesterov ? shorten : 0, of_b = u->nesterov ? keep : 1;
    for (size_t i = 0; i < n; i++) {
        const real b1 = keep * b[i] + shorten * g[i]; /* not stored and loaded: see adam_at() */
        w[i] -= rate * (of_g * g[i] + of_b * b1);
        b[i] = b1;
    }
}

/* ---- Adam ---- */

/* The numbers of a step, and how far ahead of the update memory is asked for values and moments. */
typedef struct {
    vec shorten, b1, c1, b2, c2, correct1, correct2, epsilon, keep;
} adam_numbers;

enum { GROUP = 4, AHEAD_BYTES = 8192 };

static adam_numbers adam_prepare(const update_numbers *u)
{
    return (adam_numbers){ .shorten = v_set1((real)u->shorten),
                           .b1 = v_set1((real)u->beta1),
                           .c1 = v_set1((real)(1 - u->beta1)),
                           .b2 = v_set1((real)u->beta2),
                           .c2 = v_set1((real)(1 - u->beta2)),
                           .correct1 = v_set1((real)u->correct1),
                           .correct2 = v_set1((real)u->correct2),
                           .epsilon = v_set1((real)u->epsilon),
                           .keep = v_set1((real)u->keep) };
}

/* From the gradient g to the new w, m and v. Roots and quotients are exact: they take less time than the memory. */
HS_INLINE void adam_vector(const adam_numbers *s, vec g, vec *w, vec *m, vec *v)
{
    const vec slope = s->shorten * g;
    *m = s->b1 * *m + s->c1 * slope;
    *v = s->b2 * *v + s->c2 * (slope * slope);
    *w = s->keep * *w - s->correct1 * *m / (v_sqrt(*v) * s->correct2 + s->epsilon);
}

/* All is loaded before anything is stored. In a loop over arrays, which might overlap for all that GCC sees, it loads
 * moments anew after storing them, and waits: that took two to three times as long. */
HS_INLINE void adam_at(const adam_numbers *s, vec g, real *w, real *m, real *v)
{
    vec w1 = v_loadu(w), m1 = v_loadu(m), v1 = v_loadu(v);
    adam_vector(s, g, &w1, &m1, &v1);
    v_storeu(w, w1);
    v_storeu(m, m1);
    v_storeu(v, v1);
}

static void adam(const update_numbers *u, size_t n, void *values, const void *gradient, void *first,
                 void *second)
{
    real *w = values, *m = first, *v = second;
    const real *g = gradient;
    const adam_numbers s = adam_prepare(u);
    for (size_t i = 0; i < n; i += LANES)
        adam_at(&s, v_loadu(g + i), w + i, m + i, v + i);
}

/* Some vectors, from column i on, of the gradient that factors stand for. */
HS_INLINE void row_of_factors(const int vectors, const hs_factors *f, size_t row, size_t i, vec *g)
{
    for (int j = 0; j < vectors; j++)
        g[j] = (vec){ 0 };
    for (size_t k = 0; k < f->count; k++) {
        const vec a = v_set1(((const real *)f->a[k])[row]);
        const real *b = (const real *)f->b[k] + i;
        for (int j = 0; j < vectors; j++)
            g[j] += a * v_loadu(b + j * LANES);
    }
}

HS_INLINE void ask_for(const real *p)
{
    for (size_t byte = 0; byte < GROUP * HS_VECTOR_BYTES; byte += 64)
        __builtin_prefetch((const char *)p + AHEAD_BYTES + byte, 0, 2);
}

/* Factors pass through the first-level cache, with every row anew, which keeps the processor from asking for values and
 * moments early enough: without prefetches it is slower by up to a fifth (bench/products.md). */
static void adam_row(const update_numbers *u, const hs_factors *f, size_t row, void *values,
                     void *first, void *second)
{
    real *w = values, *m = first, *v = second;
    const adam_numbers s = adam_prepare(u);
    const size_t n = f->columns;
    size_t i = 0;
    for (; i + GROUP * LANES <= n; i += GROUP * LANES) {
        vec g[GROUP];
        row_of_factors(GROUP, f, row, i, g);
        ask_for(w + i), ask_for(m + i), ask_for(v + i);
        for (size_t j = 0; j < GROUP; j++)
            adam_at(&s, g[j], w + i + j * LANES, m + i + j * LANES, v + i + j * LANES);
    }
    for (; i + LANES <= n; i += LANES) {
        vec g;
        row_of_factors(1, f, row, i, &g);
        adam_at(&s, g, w + i, m + i, v + i);
    }
    if (i < n) {
        vec g = { 0 }, w1 = v_load_first(w + i, n - i);
        vec m1 = v_load_first(m + i, n - i), v1 = v_load_first(v + i, n - i);
        for (size_t k = 0; k < f->count; k++)
            g += v_set1(((const real *)f->a[k])[row]) *
                 v_load_first((const real *)f->b[k] + i, n - i);
        adam_vector(&s, g, &w1, &m1, &v1);
        v_store_first(w + i, w1, n - i);
        v_store_first(m + i, m1, n - i);
        v_store_first(v + i, v1, n - i);
    }
}

/* ---- Factors ---- */

static void combine(const hs_factors *f, size_t row, size_t column, size_t n, void *gradient)
{
    real *restrict g = gradient;
    for (size_t k = 0; k < f->count; k++) {
        const real *restrict b = (const real *)f->b[k] + column;
        const real a = ((const real *)f->a[k])[row];
        for (size_t i = 0; k == 0 && i < n; i++)
            g[i] = a * b[i];
        for (size_t i = 0; k && i < n; i++)
            g[i] += a * b[i];
    }
}

static double dot(const void *a_, const void *b_, size_t n)
{
    const real *a = a_, *b = b_;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

extern const optimizer_kernels HS_KERNEL(optimizer);
const optimizer_kernels HS_KERNEL(optimizer) = { sum_squares, sgd, adam, adam_row, combine, dot };
