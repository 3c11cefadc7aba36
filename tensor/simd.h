/**
 * Vectors of the number type and width that a kernel source is compiled for.
 *
 *     for (size_t i = 0; i < n; i += LANES)              // y = max(x, 0), of any length and alignment
 *         v_store_some(y + i, v_max((vec){ 0 }, v_load_some(x + i, n - i)), n - i);
 *
 * Only kernel sources include it: CMake compiles them once for each instruction set and number type, with
 * HS_KERNEL_F64 set to 0 or 1. Arithmetic uses the compiler's vector operators: `vec` adds, multiplies and compares
 * lane by lane, and a comparison gives a `vmask` of all ones or zeros. Vectors are plain values; any thread may call.
 */
#ifndef HASTINGS_TENSOR_SIMD_H
#define HASTINGS_TENSOR_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef HS_KERNEL_F64
#error "simd.h is for kernel sources: compile them with hastings_kernels()"
#endif

#if defined(__AVX512F__)
#define HS_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define HS_VECTOR_BYTES 32
#else
#define HS_VECTOR_BYTES 16
#endif

/* The kernel's number type, and integers of its size. */
#if HS_KERNEL_F64
typedef double real;
typedef int64_t real_bits;
typedef uint64_t real_ubits;
#else
typedef float real;
typedef int32_t real_bits;
typedef uint32_t real_ubits;
#endif

/* Unrolls a loop over a register tile, so that the tile lives in registers. Its bounds are constant after inlining. */
#if defined(__clang__)
#define HS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define HS_UNROLL _Pragma("GCC unroll 32")
#endif

typedef real vec __attribute__((vector_size(HS_VECTOR_BYTES)));
typedef real_bits vmask __attribute__((vector_size(HS_VECTOR_BYTES)));
typedef real_ubits vbits __attribute__((vector_size(HS_VECTOR_BYTES)));
/* A vec at any address that is aligned for its elements. */
typedef real vec_unaligned __attribute__((vector_size(HS_VECTOR_BYTES), aligned(sizeof(real))));

enum { LANES = HS_VECTOR_BYTES / (int)sizeof(real) };

/* x86's own vectors and functions, where the compiler has no operator: V_X86(sqrt) is _mm512_sqrt_ps. */
#if defined(__x86_64__)
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
typedef __m512d v_x86;
#define V_X86(name) _mm512_##name##_pd
#elif HS_VECTOR_BYTES == 64
typedef __m512 v_x86;
#define V_X86(name) _mm512_##name##_ps
#elif HS_VECTOR_BYTES == 32 && HS_KERNEL_F64
typedef __m256d v_x86;
#define V_X86(name) _mm256_##name##_pd
#elif HS_VECTOR_BYTES == 32
typedef __m256 v_x86;
#define V_X86(name) _mm256_##name##_ps
#elif HS_KERNEL_F64
typedef __m128d v_x86;
#define V_X86(name) _mm_##name##_pd
#else
typedef __m128 v_x86;
#define V_X86(name) _mm_##name##_ps
#endif
#endif

#define HS_INLINE static inline __attribute__((always_inline, unused))

HS_INLINE vec v_set1(real a)
{
    return a - (vec){ 0 };
}

/* Load and store at an aligned address, and with u at any address. */
HS_INLINE vec v_load(const real *p)
{
    return *(const vec *)(const void *)p;
}

HS_INLINE void v_store(real *p, vec a)
{
    *(vec *)(void *)p = a;
}

HS_INLINE vec v_loadu(const real *p)
{
    return *(const vec_unaligned *)(const void *)p;
}

HS_INLINE void v_storeu(real *p, vec a)
{
    *(vec_unaligned *)(void *)p = a;
}

/* a where the mask is set, else b. */
HS_INLINE vec v_select(vmask m, vec a, vec b)
{
    return (vec)(((vmask)a & m) | ((vmask)b & ~m));
}

/* a where the mask is set, else 0. */
HS_INLINE vec v_keep(vmask m, vec a)
{
    return (vec)((vmask)a & m);
}

/* 1 where the mask is set, else 0. */
HS_INLINE vec v_indicator(vmask m)
{
    return v_keep(m, v_set1(1));
}

HS_INLINE vec v_abs(vec a)
{
    return (vec)((vbits)a & (~(vbits){ 0 } >> 1));
}

/* max and min return b if either operand is NaN, so a NaN in b is never lost. */
#if defined(__x86_64__)
HS_INLINE vec v_max(vec a, vec b)
{
    return (vec)V_X86(max)((v_x86)a, (v_x86)b);
}

HS_INLINE vec v_min(vec a, vec b)
{
    return (vec)V_X86(min)((v_x86)a, (v_x86)b);
}

HS_INLINE vec v_sqrt(vec a)
{
    return (vec)V_X86(sqrt)((v_x86)a);
}
#else
HS_INLINE vec v_max(vec a, vec b)
{
    return v_select(a > b, a, b);
}

HS_INLINE vec v_min(vec a, vec b)
{
    return v_select(a < b, a, b);
}

HS_INLINE vec v_sqrt(vec a)
{
    for (int i = 0; i < LANES; i++)
        a[i] = (real)sqrt((double)a[i]);
    return a;
}
#endif

/* Adds the two halves of a vector. */
#define HS_HALVE(result, type, bytes, a)                                                           \
    type __attribute__((vector_size(bytes))) result, result##_high;                                \
    memcpy(&result, &(a), (bytes));                                                                \
    memcpy(&result##_high, (const char *)&(a) + (bytes), (bytes));                                 \
    result += result##_high

/* The sum of all lanes, always in the same pairwise order: halves are added until one number is left. */
HS_INLINE real v_sum(vec a)
{
#if HS_VECTOR_BYTES == 64
    HS_HALVE(a32, real, 32, a);
#else
    const vec a32 = a;
#endif
#if HS_VECTOR_BYTES >= 32
    HS_HALVE(a16, real, 16, a32);
#else
    const vec a16 = a32;
#endif
#if HS_KERNEL_F64
    return a16[0] + a16[1];
#else
    return (a16[0] + a16[2]) + (a16[1] + a16[3]);
#endif
}

/* A mask of lanes 0 .. n-1. */
HS_INLINE vmask v_first(size_t n)
{
    vmask index;
    for (int i = 0; i < LANES; i++)
        index[i] = (real_bits)i;
    return index < (real_bits)n - (vmask){ 0 };
}

/* The first n < LANES numbers at p, and zeros in the other lanes. Memory behind them is not touched. */
HS_INLINE vec v_load_first(const real *p, size_t n)
{
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
    return (vec)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
#elif HS_VECTOR_BYTES == 64
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif HS_VECTOR_BYTES == 32 && HS_KERNEL_F64
    return (vec)_mm256_maskload_pd(p, (__m256i)v_first(n));
#elif HS_VECTOR_BYTES == 32
    return (vec)_mm256_maskload_ps(p, (__m256i)v_first(n));
#else
    vec a = { 0 };
    for (size_t i = 0; i < n; i++)
        a[i] = p[i];
    return a;
#endif
}

HS_INLINE void v_store_first(real *p, vec a, size_t n)
{
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)a);
#elif HS_VECTOR_BYTES == 64
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)a);
#elif HS_VECTOR_BYTES == 32 && HS_KERNEL_F64
    _mm256_maskstore_pd(p, (__m256i)v_first(n), (__m256d)a);
#elif HS_VECTOR_BYTES == 32
    _mm256_maskstore_ps(p, (__m256i)v_first(n), (__m256)a);
#else
    for (size_t i = 0; i < n; i++)
        p[i] = a[i];
#endif
}

/* The same for any n, of which LANES count: for loops whose last turn may be short. */
HS_INLINE vec v_load_some(const real *p, size_t n)
{
    return n >= LANES ? v_loadu(p) : v_load_first(p, n);
}

HS_INLINE void v_store_some(real *p, vec a, size_t n)
{
    if (n >= LANES)
        v_storeu(p, a);
    else
        v_store_first(p, a, n);
}

#endif
