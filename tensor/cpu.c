#include <hastings/tensor/cpu.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static const char *const names[HS_ISA_COUNT] = { "base", "avx2", "avx512" };

const char *hs_isa_name(hs_isa isa)
{
    return names[isa];
}

static hs_isa detect(void)
{
    hs_isa best = HS_ISA_BASE;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        best = HS_ISA_AVX2;
    if (best == HS_ISA_AVX2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        best = HS_ISA_AVX512;
#endif
    const char *wanted = getenv("HASTINGS_ISA");
    for (int isa = 0; wanted && isa < (int)best; isa++)
        if (strcmp(wanted, names[isa]) == 0)
            best = (hs_isa)isa;
    return best;
}

hs_isa hs_cpu_isa(void)
{
    /* Detection is idempotent, so threads may race to store the same answer. */
    static atomic_int cached = -1;
    int isa = atomic_load_explicit(&cached, memory_order_relaxed);
    if (isa < 0) {
        isa = (int)detect();
        atomic_store_explicit(&cached, isa, memory_order_relaxed);
    }
    return (hs_isa)isa;
}

unsigned hs_flush_denormals(void)
{
#if defined(__x86_64__)
    const unsigned before = _mm_getcsr(), flush = 0x8040; /* results and operands */
    _mm_setcsr(before | flush);
    return before;
#else
    return 0;
#endif
}

void hs_restore_denormals(unsigned before)
{
#if defined(__x86_64__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}
