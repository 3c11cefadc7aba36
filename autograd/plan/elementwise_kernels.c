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

#define BEGIN(name)                                                                                \
    static void name##_loop(size_t count, void *out_, const void *a_v, const void *b_v,            \
                            const void *c_v, unsigned scalars, int n)                              \
    {                                                                                              \
        real *const out = out_;                                                                    \
        const real *const a_ = a_v, *const b_ = b_v, *const c_ = c_v;                              \
        (void)b_, (void)c_, (void)n, (void)scalars;

#define LOOP_1(sa, kernel)                                                                         \
    for (size_t i = 0; i < count; i += LANES) {                                                    \
        const vec a = LOAD(a, sa);                                                                 \
        v_storeu(out + i, kernel);                                                                 \
    }
#define LOOP_2(sa, sb, kernel)                                                                     \
    for (size_t i = 0; i < count; i += LANES) {                                                    \
        const vec a = LOAD(a, sa), b = LOAD(b, sb);                                                \
        v_storeu(out + i, kernel);                                                                 \
    }
#define LOOP_3(kernel)                                                                             \
    for (size_t i = 0; i < count; i += LANES) {                                                    \
        const vec a = LOAD(a, scalars & 1), b = LOAD(b, scalars & 2), c = LOAD(c, scalars & 4);    \
        v_storeu(out + i, kernel);                                                                 \
    }

#define HS_UNARY(name, traits, domain, kernel, ga, doc)                                            \
    BEGIN(name)                                                                                    \
    BROADCAST(a);                                                                                  \
    if (scalars & 1)                                                                               \
        LOOP_1(1, kernel)                                                                          \
    else                                                                                           \
        LOOP_1(0, kernel)                                                                          \
    }
#define HS_BINARY(name, traits, domain, kernel, ga, gb, doc)                                       \
    BEGIN(name)                                                                                    \
    BROADCAST(a);                                                                                  \
    BROADCAST(b);                                                                                  \
    if (scalars == 0)                                                                              \
        LOOP_2(0, 0, kernel)                                                                       \
    else if (scalars == 1)                                                                         \
        LOOP_2(1, 0, kernel)                                                                       \
    else if (scalars == 2)                                                                         \
        LOOP_2(0, 1, kernel)                                                                       \
    else                                                                                           \
        LOOP_2(1, 1, kernel)                                                                       \
    }
#define HS_TERNARY(name, traits, domain, kernel, ga, gb, gc, doc)                                  \
    BEGIN(name)                                                                                    \
    BROADCAST(a);                                                                                  \
    BROADCAST(b);                                                                                  \
    BROADCAST(c);                                                                                  \
    LOOP_3(kernel)                                                                                 \
    }
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
