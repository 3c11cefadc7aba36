/*
 * Every vector function from every library that has it, and what vector_math.h makes of them.
 */
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/simd.h>
#include <hastings/tensor/vector_math.h>

#include "vector_math_kernels.h"

#define MAP(suffix, value)                                                                         \
    static void map_##suffix(size_t n, const void *xs, const void *ys, void *outs)                 \
    {                                                                                              \
        const real *x0 = xs, *y0 = ys;                                                             \
        real *out = outs;                                                                          \
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            const vec x = v_load(x0 + i), y = v_load(y0 + i);                                      \
            (void)y;                                                                               \
            v_store(out + i, value);                                                               \
        }                                                                                          \
    }

/* clang-format off */
#define OURS(X)                                                                                    \
    X(exp) X(log) X(log1p) X(expm1) X(tanh) X(sigmoid) X(softplus) X(sin) X(cos) X(erf) X(erfc)    \
    X(lgamma) X(gelu)

/* Functions of SLEEF: name, and the error bound in its name (u10: 1.0 ulp). */
#define SLEEF(X)                                                                                   \
    X(exp, u10) X(log, u10) X(log, u35) X(log1p, u10) X(expm1, u10) X(tanh, u10) X(tanh, u35)      \
    X(sin, u10) X(sin, u35) X(cos, u10) X(cos, u35) X(erf, u10) X(erfc, u15) X(lgamma, u10)

#define LIBMVEC(X) X(exp) X(log) X(log1p) X(expm1) X(tanh) X(sin) X(cos) X(erf) X(erfc)
/* clang-format on */

#define OURS_MAP(name) MAP(ours_##name, v_##name(x))
#define OURS_ROW(name) { #name, "vector_math.h", map_ours_##name },
OURS(OURS_MAP)
MAP(ours_pow, v_pow(x, y))

#ifdef V_SLEEF /* the libraries exist here */

#define SLEEF_MAP(name, ulp) MAP(sleef_##name##_##ulp, (vec)V_SLEEF(name, ulp)(x))
#define SLEEF_ROW(name, ulp) { #name, "SLEEF " #ulp, map_sleef_##name##_##ulp },
SLEEF(SLEEF_MAP)
MAP(sleef_pow_u10, (vec)V_SLEEF(pow, u10)(x, y))

#define LIBMVEC_MAP(name) MAP(libmvec_##name, V_MVEC(v, name)(x))
#define LIBMVEC_ROW(name) { #name, "libmvec", map_libmvec_##name },
LIBMVEC(LIBMVEC_MAP)
MAP(libmvec_pow, V_MVEC(vv, pow)(x, y))

#endif

/* clang-format off */
static const math_candidate candidates[] = {
#ifdef V_SLEEF
    SLEEF(SLEEF_ROW)
    { "pow", "SLEEF u10", map_sleef_pow_u10 },
    LIBMVEC(LIBMVEC_ROW)
    { "pow", "libmvec", map_libmvec_pow },
#endif
    OURS(OURS_ROW)
    { "pow", "vector_math.h", map_ours_pow },
};
/* clang-format on */

extern const math_candidates HS_KERNEL(math_candidates);
const math_candidates HS_KERNEL(math_candidates) = { sizeof candidates / sizeof *candidates,
                                                     candidates };
