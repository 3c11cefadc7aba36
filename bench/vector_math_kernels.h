/** The candidates that bench/vector_math compares, as exported by vector_math_kernels.c. */
#ifndef HASTINGS_BENCH_VECTOR_MATH_KERNELS_H
#define HASTINGS_BENCH_VECTOR_MATH_KERNELS_H

#include <stddef.h>

/* out[i] = f(x[i], y[i]) for i < n, a multiple of 16; all aligned to 64 bytes. */
typedef void (*math_map)(size_t n, const void *x, const void *y, void *out);

typedef struct {
    const char *function, *library;
    math_map map;
} math_candidate;

typedef struct {
    size_t count;
    const math_candidate *candidate;
} math_candidates;

#endif
