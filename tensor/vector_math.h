/**
 * Elementary functions of vectors, for kernel sources (see simd.h).
 *
 *     vec y = v_softplus(v_load(x)), z = v_polygamma(1, y);
 *
 * Most functions are those of glibc's libmvec. bench/vector_math measured it against SLEEF: as fast in some
 * functions, several times as fast in others, with errors within 4 ulp. SLEEF gives lgamma, which libmvec lacks, and
 * the functions for random numbers. softplus of f32, and sigmoid of f32 on AVX-512, are polynomials of our own, which
 * take half of the time. Every lane is computed by itself: its bits depend neither on its position nor on the other
 * lanes. There is nothing to own; any thread may call.
 *
 * Largest errors over the whole range of a type, denormals included:
 *
 *     exp log log1p expm1 tanh sigmoid softplus sin cos erf erfc    4 ulp
 *     pow                                                           2 ulp
 *     gelu                                                          5 ulp while |result| > 1e-36
 *                                                                   (f32), 1e-306 (f64)
 *     lgamma (x > 0)                                                3 ulp
 *     polygamma (x > 0)                    3e-15 relative in f64, 1 ulp in f32, orders 0 to 5
 *
 * NaN gives NaN. Infinities and overflow give the results of C's functions.
 * Without glibc on x86-64 each lane calls libm.
 */
#ifndef HASTINGS_TENSOR_VECTOR_MATH_H
#define HASTINGS_TENSOR_VECTOR_MATH_H

#include <hastings/tensor/simd.h>

#define V_JOIN2_(a, b)       a##b
#define V_JOIN2(a, b)        V_JOIN2_(a, b)
#define V_JOIN4_(a, b, c, d) a##b##c##d
#define V_JOIN4(a, b, c, d)  V_JOIN4_(a, b, c, d)

/* A constant of the kernel's type. */
#define V_CONST(value) v_set1((real)(value))

#if defined(__x86_64__) && defined(__GLIBC__)

#include <sleef.h>

/* Names of the libraries' functions: V_MVEC(v, exp) is _ZGVeN16v_expf, and V_SLEEF(log, u35) is
 * Sleef_finz_logf16_u35avx512f. Of SLEEF's two forms we take "finz" ("cinz" without FMA): the other form looks at all
 * lanes together to choose an algorithm. */
#if HS_VECTOR_BYTES == 64
#define V_MVEC_ISA     _ZGVeN
#define V_SLEEF_PREFIX Sleef_finz_
#define V_SLEEF_ISA    avx512f
#elif HS_VECTOR_BYTES == 32
#define V_MVEC_ISA     _ZGVdN
#define V_SLEEF_PREFIX Sleef_finz_
#define V_SLEEF_ISA    avx2
#else
#define V_MVEC_ISA     _ZGVbN
#define V_SLEEF_PREFIX Sleef_cinz_
#define V_SLEEF_ISA    sse2
#endif

#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
#define V_WIDTH      8
#define V_SLEEF_PAIR Sleef___m512d_2
#elif HS_VECTOR_BYTES == 64
#define V_WIDTH      16
#define V_SLEEF_PAIR Sleef___m512_2
#elif HS_VECTOR_BYTES == 32 && HS_KERNEL_F64
#define V_WIDTH      4
#define V_SLEEF_PAIR Sleef___m256d_2
#elif HS_VECTOR_BYTES == 32
#define V_WIDTH      8
#define V_SLEEF_PAIR Sleef___m256_2
#elif HS_KERNEL_F64
#define V_WIDTH      2
#define V_SLEEF_PAIR Sleef___m128d_2
#else
#define V_WIDTH      4
#define V_SLEEF_PAIR Sleef___m128_2
#endif

#if HS_KERNEL_F64
#define V_MVEC_NAME(name)  name
#define V_SLEEF_NAME(name) name##d
#else
#define V_MVEC_NAME(name)  name##f
#define V_SLEEF_NAME(name) name##f
#endif

#define V_MVEC(args, name)       V_JOIN4(V_MVEC_ISA, V_WIDTH, args##_, V_MVEC_NAME(name))
#define V_SLEEF_BOUND(name, ulp) V_JOIN4(V_SLEEF_NAME(name), V_WIDTH, _##ulp, V_SLEEF_ISA)
#define V_SLEEF(name, ulp)       V_JOIN2(V_SLEEF_PREFIX, V_SLEEF_BOUND(name, ulp))

/* Declares v_name(x), and v_name(x, y), as the library's function. */
#define V_UNARY(name)                                                                              \
    __attribute__((const)) vec V_MVEC(v, name)(vec);                                               \
    HS_INLINE vec v_##name(vec x)                                                                  \
    {                                                                                              \
        return V_MVEC(v, name)(x);                                                                 \
    }

#define V_BINARY(name)                                                                             \
    __attribute__((const)) vec V_MVEC(vv, name)(vec, vec);                                         \
    HS_INLINE vec v_##name(vec x, vec y)                                                           \
    {                                                                                              \
        return V_MVEC(vv, name)(x, y);                                                             \
    }

/* log, and sine and cosine of pi x, for random numbers, which should not change with the machine or with glibc: their
 * bits are the same on all machines with FMA. */
HS_INLINE vec v_log_fixed(vec x)
{
    return (vec)V_SLEEF(log, u35)(x);
}

HS_INLINE void v_sincospi_fixed(vec x, vec *sine, vec *cosine)
{
    const V_SLEEF_PAIR both = V_SLEEF(sincospi, u35)(x);
    *sine = (vec)both.x;
    *cosine = (vec)both.y;
}

HS_INLINE vec v_lgamma_library(vec x)
{
    return (vec)V_SLEEF(lgamma, u10)(x);
}

#else

#if HS_KERNEL_F64
#define V_LIBM(name) name
#else
#define V_LIBM(name) name##f
#endif

#define V_UNARY(name)                                                                              \
    HS_INLINE vec v_##name(vec x)                                                                  \
    {                                                                                              \
        for (int i = 0; i < LANES; i++)                                                            \
            x[i] = V_LIBM(name)(x[i]);                                                             \
        return x;                                                                                  \
    }

#define V_BINARY(name)                                                                             \
    HS_INLINE vec v_##name(vec x, vec y)                                                           \
    {                                                                                              \
        for (int i = 0; i < LANES; i++)                                                            \
            x[i] = V_LIBM(name)(x[i], y[i]);                                                       \
        return x;                                                                                  \
    }

HS_INLINE vec v_log_fixed(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = V_LIBM(log)(x[i]);
    return x;
}

/* Takes the nearest quarter turn off x exactly, so that the sine is right near its zeros. */
HS_INLINE void v_sincospi_fixed(vec x, vec *sine, vec *cosine)
{
    for (int i = 0; i < LANES; i++) {
        const double quarters = rint(2 * (double)x[i]);
        const double angle = 3.14159265358979323846 * ((double)x[i] - 0.5 * quarters);
        const double s = sin(angle), c = cos(angle);
        const int quadrant = (int)fmod(quarters, 4) & 3;
        (*sine)[i] = (real)(quadrant & 1 ? c : s) * (quadrant & 2 ? -1 : 1);
        (*cosine)[i] = (real)(quadrant & 1 ? s : c) * ((quadrant + 1) & 2 ? -1 : 1);
    }
}

HS_INLINE vec v_lgamma_library(vec x)
{
    for (int i = 0; i < LANES; i++)
        x[i] = V_LIBM(lgamma)(x[i]);
    return x;
}

#endif

V_UNARY(exp)
V_UNARY(log)
V_UNARY(log1p)
V_UNARY(expm1)
V_UNARY(tanh)
V_UNARY(sin)
V_UNARY(cos)
V_UNARY(erf)
V_UNARY(erfc)
V_BINARY(pow)

/* exp(-|x|), from which sigmoid and softplus are made. With 16 numbers at once, the call of a library takes as long as
 * its work, so the loop has the function inline: 2^n exp(r) with |r| <= log(2) / 2 and the polynomial of degree 6 with
 * the least relative error (3e-9). */
HS_INLINE vec v_exp_minus_abs(vec x)
{
#if HS_VECTOR_BYTES == 64 && !HS_KERNEL_F64
    const vec minus_abs = (vec)((vbits)x | (vbits)V_CONST(-0.0));
    const vec a = v_max(V_CONST(-110), minus_abs);         /* exp(-110) is 0 */
    const vec n = (12582912 + a * 1.44269504F) - 12582912; /* rounds: no fractions beyond 2^23 */
    const vec r = (a - n * 0.693359375F) - n * -2.12194440e-4F; /* log 2 in two parts */
    const vec r2 = r * r;
    const vec low = 0.49999994F + 0.166665211F * r, high = 0.041668389F + 0.00836871006F * r;
    const vec p = (1 + r) + r2 * (low + r2 * (high + 0.00138146139F * r2));
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    return v_exp(-v_abs(x));
#endif
}

/* log(1 + x) for x from 0 to 1. In f32 it is the polynomial of degree 10 with the least relative error (1e-8), which
 * takes a third of the time of a function for all x. */
HS_INLINE vec v_log1p_unit(vec x)
{
#if HS_KERNEL_F64
    return v_log1p(x);
#else
    const vec x2 = x * x, x4 = x2 * x2;
    const vec low = (-0.499999493F + 0.333310187F * x) + (-0.249640077F + 0.19723919F * x) * x2;
    const vec high = (-0.154392406F + 0.108251035F * x) + (-0.0591157787F + 0.0209901053F * x) * x2;
    return x + x2 * (low + x4 * (high - 0.00349556957F * x4));
#endif
}

/* 1 / (1 + exp(-x)), from exp(-|x|) so that neither side overflows or vanishes too early. */
HS_INLINE vec v_sigmoid(vec x)
{
    const vec e = v_exp_minus_abs(x);
    return v_select(x < 0, e, V_CONST(1)) / (1 + e);
}

/* log(1 + exp(x)) */
HS_INLINE vec v_softplus(vec x)
{
    return v_max(V_CONST(0), x) + v_log1p_unit(v_exp_minus_abs(x));
}

/* log |gamma(x)|. SLEEF's function overflows before the type does; up there Stirling's first term is exact enough. */
HS_INLINE vec v_lgamma(vec x)
{
    const vec limit = V_CONST(HS_KERNEL_F64 ? 1e300 : 1e30);
    return v_select(x > limit, x * (v_log(x) - 1), v_lgamma_library(x));
}

/* x Phi(x) = x/2 erfc(-x / sqrt 2). In the lower tail erfc turns the rounding of its argument z
 * into an error of 2 z^2 ulp. An exact product of halves therefore finds the part that was rounded
 * away, `rest`, and erfc(z + rest) = erfc(z) (1 - 2 z rest) to first order. */
HS_INLINE vec v_gelu(vec x)
{
    const real high = HS_KERNEL_F64 ? (real)0x1.6a09e6p-1 : (real)0.70703125;
    const vec low = V_CONST(0.70710678118654752440084436210484904L - (long double)high);
    const vbits head = ~(vbits){ 0 } << (HS_KERNEL_F64 ? 27 : 12);
    const vec a = v_max(V_CONST(-40), x); /* the result at -40 is 0; -inf would give NaN */
    const vec z = a * V_CONST(-0.70710678118654752440084436210484904L);
    const vec a_high = (vec)((vbits)a & head), a_low = a - a_high;
    const vec rest = -(((a_high * high + z) + a_low * high) + a * low);
    const vec shift = v_keep(z > 0, 2 * z * rest), tail = v_erfc(z);
    return a * V_CONST(0.5) * (tail - tail * shift);
}

/* Sum over k >= 0 of 1 / (x + k)^(n+1), times n!, with its sign: the n-th derivative of digamma,
 * n > 0. Terms are added one by one until x is large, where the asymptotic series (Abramowitz and
 * Stegun 6.4.11) takes over:
 *     (n-1)! / x^n (1 + n/(2x) + sum over k of B_2k n (n+1) ... (n+2k-1) / ((2k)! x^2k)). */
static inline double v_polygamma_lane(int n, double x)
{
    static const double bernoulli[] = {
        /* B_2k / (2k (2k-1)) */
        1.0 / 12,         -1.0 / 360,         1.0 / 1260,     -1.0 / 1680,
        1.0 / 1188,       -691.0 / 360360,    1.0 / 156,      -3617.0 / 122400,
        43867.0 / 244188, -174611.0 / 125400, 77683.0 / 5796, -236364091.0 / 1506960,
    };
    double sum = 0;
    for (; x < n + 14; x++) {
        double term = 1 / x;
        for (int i = 1; i <= n; i++)
            term *= i / x;
        sum += term;
    }
    const double t = 1 / x;
    /* rising = n (n+1) ... (n+2k-1) t^2k / (2k-2)! */
    double rising = n * (n + 1.0) * t * t, tail = 0;
    for (int k = 1; k <= (int)(sizeof bernoulli / sizeof *bernoulli); k++) {
        tail += bernoulli[k - 1] * rising;
        rising *= (n + 2 * k) * (n + 2 * k + 1.0) / ((2 * k - 1) * (2.0 * k)) * t * t;
    }
    double lead = t;
    for (int i = 1; i < n; i++)
        lead *= i * t;
    const double size = sum + lead * (1 + (0.5 * n * t + tail));
    return n % 2 ? size : -size;
}

/* digamma. On [1, 2] it is the rational form of Boost.Math (J. Maddock, 2006), which has the zero at 1.4616... as a
 * factor and so keeps its relative accuracy there; elsewhere recurrence and the asymptotic series. */
static inline double v_digamma_lane(double x)
{
    static const double p[] = {
        0.25479851061131551,  -0.32555031186804491,  -0.65031853770896507,
        -0.28919126444774784, -0.045251321448739056, -0.0020713321167745952
    };
    static const double q[] = { 1.0,
                                2.0767117023730469,
                                1.4606242909763515,
                                0.43593529692665969,
                                0.054151797245674225,
                                0.0021284987017821144,
                                -0.55789841321675513e-6 };
    double sum = 0;
    if (x >= 10) {
        static const double series[] = { 1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                         1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160 };
        const double t = 1 / (x * x);
        for (int k = 7; k >= 0; k--)
            sum = (sum + series[k]) * t;
        return log(x) - (0.5 / x + sum);
    }
    for (; x > 2; x--)
        sum += 1 / (x - 1);
    for (; x < 1; x++)
        sum -= 1 / x;
    const double y = x - 1;
    const double g = x - 1569415565.0 / 1073741824 - 381566830.0 / 1073741824 / 1073741824 -
                     0.9016312093258695918615325266959189453125e-19;
    double top = 0, bottom = 0;
    for (int k = 5; k >= 0; k--)
        top = top * y + p[k];
    for (int k = 6; k >= 0; k--)
        bottom = bottom * y + q[k];
    return sum + (g * 0.99558162689208984 + g * (top / bottom));
}

/* The n-th derivative of digamma (the (n+1)-th of lgamma), lane by lane in double. At 0 it is the limit from
 * above, and NaN below. */
HS_INLINE vec v_polygamma(int n, vec x)
{
    for (int i = 0; i < LANES; i++) {
        const double a = (double)x[i];
        double value;
        if (a > 0 && isfinite(a))
            value = n ? v_polygamma_lane(n, a) : v_digamma_lane(a);
        else if (a == 0)
            value = n % 2 ? HUGE_VAL : -HUGE_VAL;
        else if (a > 0)
            value = n ? 0 : HUGE_VAL;
        else
            value = (double)NAN;
        x[i] = (real)value;
    }
    return x;
}

#endif
