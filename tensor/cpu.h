/**
 * The instruction set of the vector kernels, chosen once at run time.
 *
 *     printf("%s\n", hs_isa_name(hs_cpu_isa()));         // "avx512"
 *
 * CMake's hastings_kernels() compiles a kernel source once for each instruction set and number type. Each variant
 * exports a table under the name that HS_KERNEL() makes, and callers index the tables by hs_cpu_isa() and dtype.
 * There is nothing to own. Any thread may call.
 */
#ifndef HASTINGS_TENSOR_CPU_H
#define HASTINGS_TENSOR_CPU_H

#include <hastings/tensor/api.h>

/** An instruction set. */
typedef enum {
    HS_ISA_BASE,   /**< SSE2, or vectors of 16 bytes on another processor */
    HS_ISA_AVX2,   /**< AVX2 with FMA */
    HS_ISA_AVX512, /**< AVX-512 F, DQ, BW and VL */
    HS_ISA_COUNT   /**< their number */
} hs_isa;

/** Returns the best instruction set of this machine, or a lower one that the environment variable HASTINGS_ISA names
 *  (base, avx2). The answer never changes during the life of the process. */
HS_API hs_isa hs_cpu_isa(void);

HS_API const char *hs_isa_name(hs_isa isa); /**< "base", "avx2" or "avx512" */

/**
 * Makes the calling thread take denormal numbers (below 1e-38 in f32) for 0 from now on. Gradients are full of them
 * where densities vanish, and arithmetic with them is tens of times slower. Returns the previous setting. On machines
 * other than x86-64 it does nothing.
 */
HS_API unsigned hs_flush_denormals(void);
/** Restores a setting that hs_flush_denormals() returned on this thread. */
HS_API void hs_restore_denormals(unsigned before);

#define HS_KERNEL_JOIN_(name, isa, type) hs__##name##_##isa##_##type
#define HS_KERNEL_JOIN(name, isa, type)  HS_KERNEL_JOIN_(name, isa, type)
/** The name of the variant that is being compiled: HS_KERNEL(products) is hs__products_avx512_f32 and so on. */
#define HS_KERNEL(name) HS_KERNEL_JOIN(name, HS_KERNEL_ISA, HS_KERNEL_TYPE)

/* Declares the six variants `const type hs__name_<isa>_<dtype>`, and name_table[isa][dtype] with their addresses. On
 * machines other than x86-64 only the base variants exist. */
#if defined(__x86_64__)
#define HS_KERNEL_TABLE(type, name)                                                                \
    extern const type hs__##name##_base_f32, hs__##name##_base_f64, hs__##name##_avx2_f32,         \
        hs__##name##_avx2_f64, hs__##name##_avx512_f32, hs__##name##_avx512_f64;                   \
    static const type *const name##_table[HS_ISA_COUNT][2] = {                                     \
        { &hs__##name##_base_f32, &hs__##name##_base_f64 },                                        \
        { &hs__##name##_avx2_f32, &hs__##name##_avx2_f64 },                                        \
        { &hs__##name##_avx512_f32, &hs__##name##_avx512_f64 },                                    \
    }
#else
#define HS_KERNEL_TABLE(type, name)                                                                \
    extern const type hs__##name##_base_f32, hs__##name##_base_f64;                                \
    static const type *const name##_table[HS_ISA_COUNT][2] = {                                     \
        { &hs__##name##_base_f32, &hs__##name##_base_f64 },                                        \
    }
#endif

#endif
