/**
 * Vector helpers that the product kernels share; for kernel sources only, like simd.h.
 */
#ifndef HASTINGS_TENSOR_PRODUCT_SIMD_INTERNAL_H
#define HASTINGS_TENSOR_PRODUCT_SIMD_INTERNAL_H

#include <hastings/tensor/product.h>
#include <hastings/tensor/simd.h>
#include <hastings/tensor/vector_math.h>

#define HS_NOINLINE __attribute__((noinline))

/* Keeps a loaded vector in a register. Otherwise GCC may load it anew for every use, as the memory operand of each
 * multiply-add, and the load ports become the bottleneck. */
#if defined(__AVX512F__)
#define HS_IN_REGISTER(a) __asm__("" : "+v"(a))
#elif defined(__x86_64__)
#define HS_IN_REGISTER(a) __asm__("" : "+x"(a))
#else
#define HS_IN_REGISTER(a) (void)(a)
#endif

/* Hides the origin of a row's address. Otherwise GCC computes the addresses of all rows of a tile ahead of its loops and
 * spills them, and a short sum spends its time reloading them. */
#define HS_FORGET_ORIGIN(pointer) __asm__("" : "+r"(pointer))

/* max(a, 0), NaN where a is NaN. */
HS_INLINE vec v_relu(vec a)
{
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
    return (vec)_mm512_max_pd(_mm512_setzero_pd(), (__m512d)a);
#elif HS_VECTOR_BYTES == 64
    return (vec)_mm512_max_ps(_mm512_setzero_ps(), (__m512)a);
#else
    return v_keep(~(a < (vec){ 0 }), a);
#endif
}

/* a where gate > 0, else 0. */
HS_INLINE vec v_gate(vec gate, vec a)
{
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
    __mmask8 open = _mm512_cmp_pd_mask((__m512d)gate, _mm512_setzero_pd(), _CMP_GT_OQ);
    return (vec)_mm512_maskz_mov_pd(open, (__m512d)a);
#elif HS_VECTOR_BYTES == 64
    __mmask16 open = _mm512_cmp_ps_mask((__m512)gate, _mm512_setzero_ps(), _CMP_GT_OQ);
    return (vec)_mm512_maskz_mov_ps(open, (__m512)a);
#else
    return v_keep(gate > (vec){ 0 }, a);
#endif
}

HS_INLINE vec v_activate(hs_activation_kind act, vec a)
{
    switch (act) {
    case HS_ACT_NONE:
        return a;
    case HS_ACT_RELU:
        return v_relu(a);
    case HS_ACT_TANH:
        return v_tanh(a);
    case HS_ACT_SIGMOID:
        return v_sigmoid(a);
    case HS_ACT_SOFTPLUS:
        return v_softplus(a);
    case HS_ACT_GELU:
        return v_gelu(a);
    }
    return a;
}

/* Calls loop(act, ...) with a constant act, so that its inner loop has no switch. */
#define HS_SWITCH_ACTIVATION(act, loop, ...)                                                       \
    switch (act) {                                                                                 \
    case HS_ACT_NONE:                                                                              \
        loop(HS_ACT_NONE, __VA_ARGS__);                                                            \
        break;                                                                                     \
    case HS_ACT_RELU:                                                                              \
        loop(HS_ACT_RELU, __VA_ARGS__);                                                            \
        break;                                                                                     \
    case HS_ACT_TANH:                                                                              \
        loop(HS_ACT_TANH, __VA_ARGS__);                                                            \
        break;                                                                                     \
    case HS_ACT_SIGMOID:                                                                           \
        loop(HS_ACT_SIGMOID, __VA_ARGS__);                                                         \
        break;                                                                                     \
    case HS_ACT_SOFTPLUS:                                                                          \
        loop(HS_ACT_SOFTPLUS, __VA_ARGS__);                                                        \
        break;                                                                                     \
    case HS_ACT_GELU:                                                                              \
        loop(HS_ACT_GELU, __VA_ARGS__);                                                            \
        break;                                                                                     \
    }

/*
 * Exchanges between two vectors a and b at distance h, a power of two below LANES. Lanes whose
 * index lacks the bit h are "low", the others "high":
 *   V_OWN(a, b, h)    low lanes of a, high lanes of b, each in its place
 *   V_CROSS(a, b, h)  in low lanes a's high ones, in high lanes b's low ones
 *   V_LOW(a, b, h)    low lanes of a in place, and b's low ones in the high lanes
 *   V_HIGH(a, b, h)   a's high ones in the low lanes, and high lanes of b in place
 * One OWN + CROSS folds two sums into one vector; LOW and HIGH are one step of a transposition.
 */
#define V_OWN_(l, h)   (((l) & (h)) ? LANES + (l) : (l))
#define V_CROSS_(l, h) (((l) & (h)) ? LANES + ((l) ^ (h)) : ((l) ^ (h)))
#define V_LOW_(l, h)   (((l) & (h)) ? LANES + ((l) ^ (h)) : (l))
#define V_HIGH_(l, h)  (((l) & (h)) ? LANES + (l) : ((l) ^ (h)))

#define V_INDEX2(f, h) f(0, h), f(1, h)
#define V_INDEX4(f, h) V_INDEX2(f, h), f(2, h), f(3, h)
#define V_INDEX8(f, h) V_INDEX4(f, h), f(4, h), f(5, h), f(6, h), f(7, h)
#define V_INDEX16(f, h)                                                                            \
    V_INDEX8(f, h), f(8, h), f(9, h), f(10, h), f(11, h), f(12, h), f(13, h), f(14, h), f(15, h)

#if HS_VECTOR_BYTES == 64 && !HS_KERNEL_F64
#define V_INDEX V_INDEX16
#elif HS_VECTOR_BYTES == 64 || (HS_VECTOR_BYTES == 32 && !HS_KERNEL_F64)
#define V_INDEX V_INDEX8
#elif HS_VECTOR_BYTES == 32 || !HS_KERNEL_F64
#define V_INDEX V_INDEX4
#else
#define V_INDEX V_INDEX2
#endif

#define V_EXCHANGE(f, a, b, h) __builtin_shufflevector(a, b, V_INDEX(f, h))

/* Lane j of the result is the sum of the lanes of v[j], j < n <= LANES, added in the same order for all j. v is
 * overwritten. It takes one shuffle a pair instead of log2(LANES) a vector. */
#define V_FOLD_STEP(h)                                                                             \
    if ((h) < LANES) {                                                                             \
        HS_UNROLL                                                                                  \
        for (int i = 0; i < (h); i++) {                                                            \
            if (i < n) {                                                                           \
                vec b = i + (h) < n ? v[i + (h)] : v[i];                                           \
                v[i] = V_EXCHANGE(V_OWN_, v[i], b, h) + V_EXCHANGE(V_CROSS_, v[i], b, h);          \
            }                                                                                      \
        }                                                                                          \
    }

HS_INLINE vec v_fold(vec *v, const int n)
{
#if HS_VECTOR_BYTES == 64 && !HS_KERNEL_F64
    V_FOLD_STEP(8)
#endif
#if HS_VECTOR_BYTES / (4 + 4 * HS_KERNEL_F64) >= 8
    V_FOLD_STEP(4)
#endif
#if HS_VECTOR_BYTES / (4 + 4 * HS_KERNEL_F64) >= 4
    V_FOLD_STEP(2)
#endif
    V_FOLD_STEP(1)
    return v[0];
}

#endif
