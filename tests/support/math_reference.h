/**
 * What the vector functions are measured against: long double references and errors in ulp.
 *
 * Used by tests/tensor/test_math.c and bench/vector_math.c. On x86-64 long double has 64 bits of
 * mantissa, so a reference is right to about 1/1000 of an ulp of double.
 */
#ifndef HASTINGS_TESTS_SUPPORT_MATH_REFERENCE_H
#define HASTINGS_TESTS_SUPPORT_MATH_REFERENCE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef long double (*math_reference)(long double x, long double y);

#define MATH_UNARY(name, value)                                                                    \
    static inline long double ref_##name(long double x, long double y)                             \
    {                                                                                              \
        (void)y;                                                                                   \
        return value;                                                                              \
    }

#define MATH_HALF_SQRT 0.70710678118654752440084436210484904L

MATH_UNARY(exp, expl(x))
MATH_UNARY(log, logl(x))
MATH_UNARY(log1p, log1pl(x))
MATH_UNARY(expm1, expm1l(x))
MATH_UNARY(tanh, tanhl(x))
MATH_UNARY(sigmoid, x > 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x)))
MATH_UNARY(softplus, x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)))
MATH_UNARY(sin, sinl(x))
MATH_UNARY(cos, cosl(x))
MATH_UNARY(erf, erfl(x))
MATH_UNARY(erfc, erfcl(x))
MATH_UNARY(lgamma, lgammal(x))
/* 0 far below: at -inf the product would be NaN. */
MATH_UNARY(gelu, x < -1e4L ? 0 : x * erfcl(-x * MATH_HALF_SQRT) / 2)

static inline long double ref_pow(long double x, long double y)
{
    return powl(x, y);
}

/* The distance of `got` from `want`, in units of the last place that the number type (24 or 53
 * bits) has at `want`. Infinite if one is NaN and the other not, or for a wrong infinity. */
static inline double math_ulps(bool f64, double got, long double want)
{
    const int digits = f64 ? DBL_MANT_DIG : FLT_MANT_DIG;
    const int least = f64 ? DBL_MIN_EXP : FLT_MIN_EXP;
    const long double largest = f64 ? (long double)DBL_MAX : (long double)FLT_MAX;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    int exponent;
    frexpl(fabsl(want) > largest ? largest : want, &exponent);
    if (want == 0 || exponent < least)
        exponent = least;
    const long double ulp = ldexpl(1, exponent - digits);
    if (isinf(want))
        return (long double)got == want ? 0 : HUGE_VAL;
    /* An infinity stands for the number just beyond the largest. */
    const long double value =
        isinf(got) ? copysignl(largest + ulp, (long double)got) : (long double)got;
    const long double reach = fabsl(want) > largest + ulp ? copysignl(largest + ulp, want) : want;
    return (double)(fabsl(value - reach) / ulp);
}

/* Where a function is measured: evenly over [lo, hi] of its type, and, if `wide`, at as many
 * numbers of random bits within [least, most] of any type, so that every exponent is met. */
typedef struct {
    double lo[2], hi[2];
    bool wide;
    double least, most;
} math_range;

static inline uint64_t math_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Point i of the range, a number of the type. */
static inline double math_point(const math_range *range, bool f64, size_t i, uint64_t *state)
{
    for (;;) {
        const uint64_t bits = math_next(state);
        double x;
        if (i % 2 == 0 || !range->wide) {
            const double unit = ((double)(bits >> 11) + 0.5) * 0x1p-53;
            x = range->lo[f64] + (range->hi[f64] - range->lo[f64]) * unit;
            return f64 ? x : (double)(float)x;
        }
        if (f64) {
            memcpy(&x, &bits, sizeof x);
        } else {
            const uint32_t half = (uint32_t)(bits >> 32);
            float narrow;
            memcpy(&narrow, &half, sizeof narrow);
            x = (double)narrow;
        }
        if (isfinite(x) && x >= range->least && x <= range->most)
            return x;
    }
}

#endif
