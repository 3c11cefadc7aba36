/* The rules of optimisers, and the loops over parameters that apply them, compiled for every instruction set and
 * number type. */
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

static double dot(const void *a_, const void *b_, size_t n)
{
    const real *a = a_, *b = b_;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

typedef struct {
#define HS_NUMBER(name, ...) vec name;
#include "optimizers.def"
    vec rate, shorten, keep, correct1, correct2;
    vec rest1, rest2; /* 1 - beta1, 1 - beta2 */
} step_numbers;

/* A rule takes the gradient g of a vector of parameters to the new parameters *w and moments m[0], m[1]. An element
 * whose parameter, gradient and moments are 0 must stay so: it is padding. */
HS_INLINE void sgd(const step_numbers *s, const int moments, vec g, vec *w, vec *m)
{
    if (!moments) {
        *w -= s->rate * (s->shorten * g);
        return;
    }
    /* Plain momentum steps by b, Nesterov's by g + momentum b. */
    const vec of_g = s->nesterov * s->shorten, of_b = s->nesterov * s->momentum + (1 - s->nesterov);
    m[0] = s->momentum * m[0] + s->shorten * g;
    *w -= s->rate * (of_g * g + of_b * m[0]);
}

/* Roots and quotients are exact: they take less time than the memory. */
HS_INLINE void adam(const step_numbers *s, const int moments, vec g, vec *w, vec *m)
{
    (void)moments;
    const vec slope = s->shorten * g;
    m[0] = s->beta1 * m[0] + s->rest1 * slope;
    m[1] = s->beta2 * m[1] + s->rest2 * (slope * slope);
    *w = s->keep * *w - s->correct1 * m[0] / (v_sqrt(m[1]) * s->correct2 + s->epsilon);
}

HS_INLINE void rmsprop(const step_numbers *s, const int moments, vec g, vec *w, vec *m)
{
    const vec slope = s->shorten * g;
    m[0] = s->beta2 * m[0] + s->rest2 * (slope * slope);
    vec step = slope / (v_sqrt(m[0]) + s->epsilon);
    if (moments == 2)
        step = m[1] = s->momentum * m[1] + step;
    *w -= s->rate * step;
}

HS_INLINE void lion(const step_numbers *s, const int moments, vec g, vec *w, vec *m)
{
    (void)moments;
    const vec slope = s->shorten * g, mean = s->beta1 * m[0] + s->rest1 * slope;
    m[0] = s->beta2 * m[0] + s->rest2 * slope;
    *w = s->keep * *w - s->rate * (v_indicator(mean > 0) - v_indicator(mean < 0));
}

HS_INLINE void apply(const int kind, const int moments, const step_numbers *s, vec g, vec *w,
                     vec *m)
{
    switch (kind) {
#define HS_OPTIMIZER(name, rule, ...)                                                              \
    case OPTIMIZER_##name:                                                                         \
        rule(s, moments, g, w, m);                                                                 \
        break;
#include "optimizers.def"
    }
}

/* GROUP vectors are updated at once; memory is asked for them AHEAD_BYTES early. */
enum { GROUP = 4, AHEAD_BYTES = 8192 };

static step_numbers prepare(const update_numbers *u)
{
    return (step_numbers){
#define HS_NUMBER(name, ...) .name = v_set1((real)u->name),
#include "optimizers.def"
        .rate = v_set1((real)u->rate),
        .shorten = v_set1((real)u->shorten),
        .keep = v_set1((real)u->keep),
        .correct1 = v_set1((real)u->correct1),
        .correct2 = v_set1((real)u->correct2),
        .rest1 = v_set1((real)(1 - u->beta1)),
        .rest2 = v_set1((real)(1 - u->beta2)),
    };
}

/* All is loaded before anything is stored. In a loop over arrays, which might overlap for all that GCC sees, it loads
 * moments anew after storing them, and waits: that took two to three times as long. */
HS_INLINE void update_at(const int kind, const int moments, const step_numbers *s, vec g, real *w,
                         real *const *m, size_t i)
{
    vec w1 = v_loadu(w + i), m1[MAX_MOMENTS];
    for (int k = 0; k < moments; k++)
        m1[k] = v_loadu(m[k] + i);
    apply(kind, moments, s, g, &w1, m1);
    v_storeu(w + i, w1);
    for (int k = 0; k < moments; k++)
        v_storeu(m[k] + i, m1[k]);
}

HS_INLINE void update(const int kind, const int moments, const update_numbers *u, size_t n, real *w,
                      const real *g, void *const *given)
{
    real *const m[MAX_MOMENTS] = { given[0], given[1] };
    const step_numbers s = prepare(u);
    for (size_t i = 0; i < n; i += LANES)
        update_at(kind, moments, &s, v_loadu(g + i), w, m, i);
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

/* The last columns of a row, fewer than a vector has lanes. */
HS_INLINE void update_rest(const int kind, const int moments, const step_numbers *s,
                           const hs_factors *f, size_t row, real *w, real *const *m, size_t i)
{
    const size_t n = f->columns - i;
    vec g = { 0 }, w1 = v_load_first(w + i, n), m1[MAX_MOMENTS];
    for (int k = 0; k < moments; k++)
        m1[k] = v_load_first(m[k] + i, n);
    for (size_t k = 0; k < f->count; k++)
        g += v_set1(((const real *)f->a[k])[row]) * v_load_first((const real *)f->b[k] + i, n);
    apply(kind, moments, s, g, &w1, m1);
    v_store_first(w + i, w1, n);
    for (int k = 0; k < moments; k++)
        v_store_first(m[k] + i, m1[k], n);
}

/* Factors pass through the first-level cache, with every row anew, which keeps the processor from asking for values and
 * moments early enough: without prefetches it is slower by up to a fifth (bench/products.md). */
HS_INLINE void update_row(const int kind, const int moments, const update_numbers *u,
                          const hs_factors *f, size_t row, real *w, void *const *given)
{
    real *const m[MAX_MOMENTS] = { given[0], given[1] };
    const step_numbers s = prepare(u);
    const size_t n = f->columns;
    size_t i = 0;
    for (; i + GROUP * LANES <= n; i += GROUP * LANES) {
        vec g[GROUP];
        row_of_factors(GROUP, f, row, i, g);
        ask_for(w + i);
        for (int k = 0; k < moments; k++)
            ask_for(m[k] + i);
        for (size_t j = 0; j < GROUP; j++)
            update_at(kind, moments, &s, g[j], w, m, i + j * LANES);
    }
    for (; i + LANES <= n; i += LANES) {
        vec g;
        row_of_factors(1, f, row, i, &g);
        update_at(kind, moments, &s, g, w, m, i);
    }
    if (i < n)
        update_rest(kind, moments, &s, f, row, w, m, i);
}

/* Each optimiser's loops, with and without the moment that only momentum needs. */
#define HS_OPTIMIZER(name, rule, least, most, ...)                                                 \
    static void update_##name(const update_numbers *u, size_t n, void *w, const void *g,           \
                              void *const m[MAX_MOMENTS])                                          \
    {                                                                                              \
        if ((least) < (most) && !m[(most)-1])                                                      \
            update(OPTIMIZER_##name, least, u, n, w, g, m);                                        \
        else                                                                                       \
            update(OPTIMIZER_##name, most, u, n, w, g, m);                                         \
    }                                                                                              \
    static void update_row_##name(const update_numbers *u, const hs_factors *f, size_t row,        \
                                  void *w, void *const m[MAX_MOMENTS])                             \
    {                                                                                              \
        if ((least) < (most) && !m[(most)-1])                                                      \
            update_row(OPTIMIZER_##name, least, u, f, row, w, m);                                  \
        else                                                                                       \
            update_row(OPTIMIZER_##name, most, u, f, row, w, m);                                   \
    }
#include "optimizers.def"

extern const optimizer_kernels HS_KERNEL(optimizer);
const optimizer_kernels HS_KERNEL(optimizer) = {
    .sum_squares = sum_squares,
    .dot = dot,
#define HS_OPTIMIZER(name, ...)                                                                    \
    .update[OPTIMIZER_##name] = update_##name, .update_row[OPTIMIZER_##name] = update_row_##name,
#include "optimizers.def"
};
