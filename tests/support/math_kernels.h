/** The functions of vector_math.h as maps of arrays, exported by math_kernels.c for each variant.
 */
#ifndef HASTINGS_TESTS_SUPPORT_MATH_KERNELS_H
#define HASTINGS_TESTS_SUPPORT_MATH_KERNELS_H

#include <stddef.h>

enum { POLYGAMMA_ORDERS = 6 };

/* out[i] = f(x[i], y[i]) for i < n, a multiple of 16; all aligned to 64 bytes. */
typedef void (*math_map)(size_t n, const void *x, const void *y, void *out);

typedef struct {
    math_map exp, log, log1p, expm1, tanh, sigmoid, softplus, sin, cos, erf, erfc, lgamma, gelu,
        pow;
    math_map log_fixed, sinpi_fixed, cospi_fixed;
    math_map polygamma[POLYGAMMA_ORDERS];
} math_kernels;

#endif
