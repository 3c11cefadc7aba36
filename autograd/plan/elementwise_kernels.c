/* One loop per elementwise op, from the kernel column of the op table. */
#include "kernels_internal.h"

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/simd.h>
#include <hastings/tensor/vector_math.h>

HS_INLINE vec v_sign(vec a)
{
    return v_select(a != a, a, v_indicator(a > 0) - v_indicator(a < 0));
}

/* An operand is loaded in every turn, or once if it is the same number everywhere. */
#define LOAD(x, scalar) ((scalar) ? x##0 : v_loadu(x##_ + i))
#define BROADCAST(x)                                                                               \
    const vec x##0 = x##_ ? v_set1(x##_[0]) : (vec)                                                \
    {                                                                                              \
        0                                                                                          \
    }

#define LOOP(sa, sb, sc, kernel)                                                                   \
    for (size_t i = 0; i < count; i += LANES) {                                                    \
        const vec a = LOAD(a, sa), b = LOAD(b, sb), c = LOAD(c, sc);                               \
        (void)b, (void)c;                                                                          \
        v_storeu(out + i, kernel);                                                                 \
    }

#define FUNCTION(name, loops)                                                                      \
    static void name##_loop(size_t count, void *out_, const void *a_v, const void *b_v,            \
                            const void *c_v, unsigned scalars, int n)                              \
    {                                                                                              \
        real *const out = out_;                                                                    \
        const real *const a_ = a_v, *const b_ = b_v, *const c_ = c_v;                              \
        BROADCAST(a);                                                                              \
        BROADCAST(b);                                                                              \
        BROADCAST(c);                                                                              \
        (void)scalars, (void)n;                                                                    \
        loops                                                                                      \
    }

#define UNARY_LOOPS(kernel)                                                                        \
    if (scalars & 1)                                                                               \
        LOOP(1, 1, 1, kernel)                                                                      \
    else                                                                                           \
        LOOP(0, 1, 1, kernel)
#define BINARY_LOOPS(kernel)                                                                       \
    if (scalars == 0)                                                                              \
        LOOP(0, 0, 1, kernel)                                                                      \
    else if (scalars == 1)                                                                         \
        LOOP(1, 0, 1, kernel)                                                                      \
    else if (scalars == 2)                                                                         \
        LOOP(0, 1, 1, kernel)                                                                      \
    else                                                                                           \
        LOOP(1, 1, 1, kernel)

#define HS_UNARY(name, traits, domain, kernel, ga, doc)      FUNCTION(name, UNARY_LOOPS(kernel))
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc) FUNCTION(name, BINARY_LOOPS(kernel))
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc)                                  \
    FUNCTION(name, LOOP(scalars & 1, scalars & 2, scalars & 4, kernel))
#include <hastings/autograd/ops.def>

extern const elementwise_kernels HS_KERNEL(elementwise);
const elementwise_kernels HS_KERNEL(elementwise) = {
    .lanes = LANES,
    .op = {
#define HS_UNARY(name, traits, domain, kernel, ga, doc)           [OP_##name] = name##_loop,
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)      [OP_##name] = name##_loop,
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc) [OP_##name] = name##_loop,
#include <hastings/autograd/ops.def>
    },
};
