/**
 * Which instruction set the vector kernels use, chosen once at run time.
 *
 * Kernel sources are compiled once for every instruction set and number type
 * (see hastings_kernels() in CMake); each exports a table under the name that
 * HS_KERNEL() makes, and callers index the tables by hs_cpu_isa() and dtype.
 */
#ifndef HASTINGS_TENSOR_CPU_H
#define HASTINGS_TENSOR_CPU_H

#include <hastings/tensor/api.h>

typedef enum { HS_ISA_BASE, HS_ISA_AVX2, HS_ISA_AVX512, HS_ISA_COUNT } hs_isa;

/** The best instruction set of this machine, or the lower one named by the environment variable
 *  HASTINGS_ISA (base, avx2, avx512). Constant for the life of the process. */
HS_API hs_isa hs_cpu_isa(void);

/** "base", "avx2" or "avx512". */
HS_API const char *hs_isa_name(hs_isa isa);

/**
 * Numbers too small for their type's full precision (below 1e-38 in f32) count as 0 on this thread from
 * now on: gradients are full of them where densities vanish, and arithmetic with them is tens of times
 * slower. Returns what hs_restore_denormals() takes to undo it; does nothing on machines other than x86-64.
 */
HS_API unsigned hs_flush_denormals(void);
HS_API void hs_restore_denormals(unsigned before);

/* Names of the compiled variants: HS_KERNEL(products) is products_avx512_f32 and so on. */
#define HS_KERNEL_JOIN_(name, isa, type) hs__##name##_##isa##_##type
#define HS_KERNEL_JOIN(name, isa, type)  HS_KERNEL_JOIN_(name, isa, type)
#define HS_KERNEL(name)                  HS_KERNEL_JOIN(name, HS_KERNEL_ISA, HS_KERNEL_TYPE)

/* Declares the six variants `const type name_<isa>_<dtype>` and a table of their addresses,
 * to be indexed [isa][dtype]. On machines other than x86-64 only the base variants exist. */
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
