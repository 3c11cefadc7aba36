#include <hastings/tensor/cpu.h>
#include <hastings/tensor/simd.h>
#include <hastings/tensor/vector_math.h>

#include "math_kernels.h"

#define MAP(name, value)                                                                           \
    static void map_##name(size_t n, const void *xs, const void *ys, void *outs)                   \
    {                                                                                              \
        const real *x0 = xs, *y0 = ys;                                                             \
        real *out = outs;                                                                          \
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            const vec x = v_load(x0 + i), y = v_load(y0 + i);                                      \
            (void)y;                                                                               \
            v_store(out + i, value);                                                               \
        }                                                                                          \
    }

static vec sinpi_fixed(vec x)
{
    vec sine, cosine;
    v_sincospi_fixed(x, &sine, &cosine);
    return sine;
}

static vec cospi_fixed(vec x)
{
    vec sine, cosine;
    v_sincospi_fixed(x, &sine, &cosine);
    return cosine;
}

MAP(exp, v_exp(x))
MAP(log, v_log(x))
MAP(log1p, v_log1p(x))
MAP(expm1, v_expm1(x))
MAP(tanh, v_tanh(x))
MAP(sigmoid, v_sigmoid(x))
MAP(softplus, v_softplus(x))
MAP(sin, v_sin(x))
MAP(cos, v_cos(x))
MAP(erf, v_erf(x))
MAP(erfc, v_erfc(x))
MAP(lgamma, v_lgamma(x))
MAP(gelu, v_gelu(x))
MAP(pow, v_pow(x, y))
MAP(log_fixed, v_log_fixed(x))
MAP(sinpi_fixed, sinpi_fixed(x))
MAP(cospi_fixed, cospi_fixed(x))
MAP(polygamma0, v_polygamma(0, x))
MAP(polygamma1, v_polygamma(1, x))
MAP(polygamma2, v_polygamma(2, x))
MAP(polygamma3, v_polygamma(3, x))
MAP(polygamma4, v_polygamma(4, x))
MAP(polygamma5, v_polygamma(5, x))

extern const math_kernels HS_KERNEL(math_kernels);
const math_kernels HS_KERNEL(math_kernels) = {
    map_exp,
    map_log,
    map_log1p,
    map_expm1,
    map_tanh,
    map_sigmoid,
    map_softplus,
    map_sin,
    map_cos,
    map_erf,
    map_erfc,
    map_lgamma,
    map_gelu,
    map_pow,
    map_log_fixed,
    map_sinpi_fixed,
    map_cospi_fixed,
    { map_polygamma0, map_polygamma1, map_polygamma2, map_polygamma3, map_polygamma4,
      map_polygamma5 },
};
