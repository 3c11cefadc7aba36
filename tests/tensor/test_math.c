/*
 * The functions of vector_math.h, in every variant that this machine can run, against long double:
 * errors in ulp over their whole range, special values, and independence of lanes.
 */
#include <stdint.h>
#include <string.h>

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/shape.h>

#include "support/hs_check.h"
#include "support/math_kernels.h"
#include "support/math_reference.h"
#include "support/polygamma_table.h"

HS_KERNEL_TABLE(math_kernels, math_kernels);

enum { BLOCK = 512, BLOCKS = 80 };

/* One block of arguments and results of either type. */
typedef struct {
    _Alignas(64) char x[BLOCK * 8];
    _Alignas(64) char y[BLOCK * 8];
    _Alignas(64) char out[BLOCK * 8];
} buffers;

static double get(const char *data, hs_dtype dtype, size_t i)
{
    float narrow;
    double wide;
    if (dtype == HS_F64) {
        memcpy(&wide, data + i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data + i * sizeof narrow, sizeof narrow);
    return (double)narrow;
}

static void set(char *data, hs_dtype dtype, size_t i, double value)
{
    const float narrow = (float)value;
    if (dtype == HS_F64)
        memcpy(data + i * sizeof value, &value, sizeof value);
    else
        memcpy(data + i * sizeof narrow, &narrow, sizeof narrow);
}

static long double ref_sinpi(long double x, long double y)
{
    (void)y;
    const long double r = remainderl(x, 2);
    const long double near = rintl(2 * r); /* quarter turns, -2 .. 2 */
    const long double angle = 3.14159265358979323846264338327950288L * (r - near / 2);
    const int quadrant = (int)near & 3;
    const long double value = quadrant & 1 ? cosl(angle) : sinl(angle);
    return quadrant & 2 ? -value : value;
}

static long double ref_cospi(long double x, long double y)
{
    return ref_sinpi(x + 0.5L, y);
}

#define EVERYWHERE true, -HUGE_VAL, HUGE_VAL
#define POSITIVE   true, 0, HUGE_VAL
#define MAP(name)  #name, offsetof(math_kernels, name)

/* The bounds are those that vector_math.h states. */
static const struct {
    const char *name;
    size_t map;
    math_reference reference;
    double bound;
    math_range range;
} cases[] = {
    { MAP(exp), ref_exp, 4, { { -104, -746 }, { 89, 710 }, EVERYWHERE } },
    { MAP(exp), ref_exp, 4, { { -1, -1 }, { 1, 1 }, EVERYWHERE } },
    { MAP(log), ref_log, 4, { { 0.5, 0.5 }, { 2, 2 }, POSITIVE } },
    { MAP(log1p), ref_log1p, 4, { { -1, -1 }, { 4, 4 }, true, -1, HUGE_VAL } },
    { MAP(expm1), ref_expm1, 4, { { -1, -1 }, { 1, 1 }, EVERYWHERE } },
    { MAP(expm1), ref_expm1, 4, { { -30, -60 }, { 89, 710 }, EVERYWHERE } },
    { MAP(tanh), ref_tanh, 4, { { -10, -20 }, { 10, 20 }, EVERYWHERE } },
    { MAP(sigmoid), ref_sigmoid, 4, { { -104, -746 }, { 20, 40 }, EVERYWHERE } },
    { MAP(softplus), ref_softplus, 4, { { -104, -746 }, { 20, 40 }, EVERYWHERE } },
    { MAP(softplus), ref_softplus, 4, { { -10, -10 }, { 10, 10 }, EVERYWHERE } },
    { MAP(sin), ref_sin, 4, { { -10, -10 }, { 10, 10 }, EVERYWHERE } },
    { MAP(cos), ref_cos, 4, { { -10, -10 }, { 10, 10 }, EVERYWHERE } },
    { MAP(erf), ref_erf, 4, { { -4, -6 }, { 4, 6 }, EVERYWHERE } },
    { MAP(erfc), ref_erfc, 4, { { -4, -6 }, { 10.1, 27 }, EVERYWHERE } },
    { MAP(lgamma), ref_lgamma, 3, { { 0, 0 }, { 4, 4 }, POSITIVE } },
    { MAP(lgamma), ref_lgamma, 3, { { 0, 0 }, { 100, 200 }, POSITIVE } },
    { MAP(gelu), ref_gelu, 5, { { -12.6, -37.4 }, { 10, 10 }, true, -12.6, HUGE_VAL } },
    { MAP(pow), ref_pow, 2, { { 0, 0 }, { 10, 10 }, POSITIVE } },
    { MAP(log_fixed), ref_log, 3.5, { { 0, 0 }, { 1, 1 }, POSITIVE } },
    { MAP(sinpi_fixed), ref_sinpi, 3.5, { { 0, 0 }, { 2, 2 }, false, 0, 2 } },
    { MAP(cospi_fixed), ref_cospi, 3.5, { { 0, 0 }, { 2, 2 }, false, 0, 2 } },
};
enum { CASES = sizeof cases / sizeof *cases };

/* The second argument, which only pow looks at. */
static const math_range exponents = { { -40, -300 }, { 40, 300 }, true, -1e4, 1e4 };

static math_map map_at(hs_isa isa, hs_dtype dtype, size_t offset)
{
    math_map map;
    memcpy(&map, (const char *)math_kernels_table[isa][dtype] + offset, sizeof map);
    return map;
}

/* Walks the variants that this machine can run. */
#define EACH_VARIANT(isa, dtype)                                                                   \
    for (hs_isa isa = HS_ISA_BASE; isa <= hs_cpu_isa(); isa++)                                     \
        for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)

START_TEST(error_in_ulp_is_within_bounds)
{
    buffers b;
    EACH_VARIANT(isa, dtype)
    {
        const math_map map = map_at(isa, dtype, cases[_i].map);
        uint64_t state = (uint64_t)_i + 1;
        double worst = 0, at = 0;
        for (int block = 0; block < BLOCKS; block++) {
            for (size_t i = 0; i < BLOCK; i++) {
                set(b.x, dtype, i, math_point(&cases[_i].range, dtype == HS_F64, i, &state));
                set(b.y, dtype, i, math_point(&exponents, dtype == HS_F64, i / 2, &state));
            }
            map(BLOCK, b.x, b.y, b.out);
            for (size_t i = 0; i < BLOCK; i++) {
                const long double want = cases[_i].reference((long double)get(b.x, dtype, i),
                                                             (long double)get(b.y, dtype, i));
                const double error = math_ulps(dtype == HS_F64, get(b.out, dtype, i), want);
                if (!(error <= worst)) {
                    worst = error;
                    at = get(b.x, dtype, i);
                }
            }
        }
        ck_assert_msg(worst <= cases[_i].bound, "%s %s %s: %.3f ulp at %.17g", cases[_i].name,
                      hs_isa_name(isa), hs_dtype_name(dtype), worst, at);
        ck_assert_msg(worst > 0, "%s: nothing was measured", cases[_i].name);
    }
}
END_TEST

#define INF  HUGE_VAL
#define NONE ((double)NAN)

/* Values that must be met exactly; a NaN must be met by a NaN. */
static const struct {
    const char *name;
    size_t map;
    double x, y, want;
} specials[] = {
    { MAP(exp), INF, 0, INF },
    { MAP(exp), -INF, 0, 0 },
    { MAP(exp), 0, 0, 1 },
    { MAP(exp), -0.0, 0, 1 },
    { MAP(exp), 1e4, 0, INF },
    { MAP(exp), -1e4, 0, 0 },
    { MAP(exp), NONE, 0, NONE },
    { MAP(log), 0, 0, -INF },
    { MAP(log), -0.0, 0, -INF },
    { MAP(log), 1, 0, 0 },
    { MAP(log), -1, 0, NONE },
    { MAP(log), INF, 0, INF },
    { MAP(log), -INF, 0, NONE },
    { MAP(log), NONE, 0, NONE },
    { MAP(log1p), -1, 0, -INF },
    { MAP(log1p), -2, 0, NONE },
    { MAP(log1p), 0, 0, 0 },
    { MAP(log1p), -0.0, 0, -0.0 },
    { MAP(log1p), INF, 0, INF },
    { MAP(log1p), NONE, 0, NONE },
    { MAP(expm1), 0, 0, 0 },
    { MAP(expm1), -0.0, 0, -0.0 },
    { MAP(expm1), INF, 0, INF },
    { MAP(expm1), -INF, 0, -1 },
    { MAP(expm1), 1e4, 0, INF },
    { MAP(expm1), NONE, 0, NONE },
    { MAP(tanh), INF, 0, 1 },
    { MAP(tanh), -INF, 0, -1 },
    { MAP(tanh), 0, 0, 0 },
    { MAP(tanh), -0.0, 0, -0.0 },
    { MAP(tanh), 1e30, 0, 1 },
    { MAP(tanh), NONE, 0, NONE },
    { MAP(sigmoid), INF, 0, 1 },
    { MAP(sigmoid), -INF, 0, 0 },
    { MAP(sigmoid), 0, 0, 0.5 },
    { MAP(sigmoid), NONE, 0, NONE },
    { MAP(softplus), INF, 0, INF },
    { MAP(softplus), -INF, 0, 0 },
    { MAP(softplus), 1e30, 0, 1e30 },
    { MAP(softplus), NONE, 0, NONE },
    { MAP(sin), INF, 0, NONE },
    { MAP(sin), -INF, 0, NONE },
    { MAP(sin), -0.0, 0, -0.0 },
    { MAP(sin), NONE, 0, NONE },
    { MAP(cos), INF, 0, NONE },
    { MAP(cos), 0, 0, 1 },
    { MAP(cos), NONE, 0, NONE },
    { MAP(erf), INF, 0, 1 },
    { MAP(erf), -INF, 0, -1 },
    { MAP(erf), -0.0, 0, -0.0 },
    { MAP(erf), NONE, 0, NONE },
    { MAP(erfc), INF, 0, 0 },
    { MAP(erfc), -INF, 0, 2 },
    { MAP(erfc), 0, 0, 1 },
    { MAP(erfc), NONE, 0, NONE },
    { MAP(lgamma), 1, 0, 0 },
    { MAP(lgamma), 2, 0, 0 },
    { MAP(lgamma), 0, 0, INF },
    { MAP(lgamma), INF, 0, INF },
    { MAP(lgamma), NONE, 0, NONE },
    { MAP(gelu), INF, 0, INF },
    { MAP(gelu), -INF, 0, -0.0 },
    { MAP(gelu), -1e30, 0, -0.0 },
    { MAP(gelu), 0, 0, 0 },
    { MAP(gelu), 1e30, 0, 1e30 },
    { MAP(gelu), NONE, 0, NONE },
    { MAP(pow), 0, 0, 1 },
    { MAP(pow), -2, 3, -8 },
    { MAP(pow), -2, 2, 4 },
    { MAP(pow), -2, 0.5, NONE },
    { MAP(pow), 0, -1, INF },
    { MAP(pow), INF, -1, 0 },
    { MAP(pow), 2, INF, INF },
    { MAP(pow), 2, -INF, 0 },
    { MAP(pow), 10, 400, INF },
    { MAP(pow), 10, -400, 0 },
    { MAP(pow), NONE, 1, NONE },
    { MAP(pow), 2, NONE, NONE },
    { MAP(polygamma[0]), 0, 0, -INF },
    { MAP(polygamma[1]), 0, 0, INF },
    { MAP(polygamma[2]), 0, 0, -INF },
    { MAP(polygamma[0]), INF, 0, INF },
    { MAP(polygamma[1]), INF, 0, 0 },
    { MAP(polygamma[0]), -1.5, 0, NONE },
    { MAP(polygamma[0]), -INF, 0, NONE },
    { MAP(polygamma[1]), NONE, 0, NONE },
};
enum { SPECIALS = sizeof specials / sizeof *specials };

START_TEST(special_values_are_exact)
{
    buffers b;
    const double want_wide = specials[_i].want;
    EACH_VARIANT(isa, dtype)
    {
        for (size_t i = 0; i < 16; i++) {
            set(b.x, dtype, i, specials[_i].x);
            set(b.y, dtype, i, specials[_i].y);
        }
        map_at(isa, dtype, specials[_i].map)(16, b.x, b.y, b.out);
        const double want = dtype == HS_F64 ? want_wide : (double)(float)want_wide;
        for (size_t i = 0; i < 16; i++) {
            const double got = get(b.out, dtype, i);
            const bool same =
                isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want);
            ck_assert_msg(same, "%s(%g, %g) = %g, not %g (%s %s)", specials[_i].name,
                          specials[_i].x, specials[_i].y, got, want, hs_isa_name(isa),
                          hs_dtype_name(dtype));
        }
    }
}
END_TEST

/* A lane's bits are the same whether it stands among strange neighbours or among copies. */
START_TEST(lanes_are_independent)
{
    static const double strange[] = { 0, -0.0, 1e-300, 1e-40, -1e30, 1e30, 1e300, -INF, INF, NONE };
    buffers mixed, alone;
    EACH_VARIANT(isa, dtype)
    {
        const math_map map = map_at(isa, dtype, cases[_i].map);
        uint64_t state = 77;
        for (size_t i = 0; i < BLOCK; i++) {
            const bool odd = i % 5 == 4;
            set(mixed.x, dtype, i,
                odd ? strange[i / 5 % 10]
                    : math_point(&cases[_i].range, dtype == HS_F64, 0, &state));
            set(mixed.y, dtype, i, (double)(i % 7) - 3);
        }
        map(BLOCK, mixed.x, mixed.y, mixed.out);
        for (size_t i = 0; i < BLOCK; i++) {
            for (size_t k = 0; k < 16; k++) {
                set(alone.x, dtype, k, get(mixed.x, dtype, i));
                set(alone.y, dtype, k, get(mixed.y, dtype, i));
            }
            map(16, alone.x, alone.y, alone.out);
            const size_t size = hs_dtype_size(dtype);
            for (size_t k = 0; k < 16; k++)
                ck_assert_msg(memcmp(alone.out + k * size, mixed.out + i * size, size) == 0 ||
                                  isnan(get(alone.out, dtype, k)),
                              "%s(%.17g), %s %s, lane %zu: %.17g among others, %.17g alone",
                              cases[_i].name, get(mixed.x, dtype, i), hs_isa_name(isa),
                              hs_dtype_name(dtype), k, get(mixed.out, dtype, i),
                              get(alone.out, dtype, k));
        }
    }
}
END_TEST

START_TEST(polygamma_agrees_with_table)
{
    enum { ROWS = sizeof polygamma_table / sizeof *polygamma_table };
    buffers b;
    const math_map map = math_kernels_table[hs_cpu_isa()][HS_F64]->polygamma[_i];
    memset(&b, 0, sizeof b);
    for (size_t row = 0; row < ROWS; row++)
        set(b.x, HS_F64, row, polygamma_table[row][0]);
    map(BLOCK, b.x, b.y, b.out);
    for (size_t row = 0; row < ROWS; row++)
        ck_assert_msg(hs_close(get(b.out, HS_F64, row), polygamma_table[row][1 + _i], 3e-15, 0),
                      "order %d at %.17g: %.17g, not %.17g", _i, polygamma_table[row][0],
                      get(b.out, HS_F64, row), polygamma_table[row][1 + _i]);
}
END_TEST

/* Every variant, against the f64 one: f32 differs by its rounding. */
START_TEST(polygamma_agrees_among_variants)
{
    buffers b, wide;
    const math_range range = { { 0, 0 }, { 30, 30 }, false, 0, 30 };
    EACH_VARIANT(isa, dtype)
    {
        uint64_t state = 5;
        for (size_t i = 0; i < BLOCK; i++) {
            set(b.x, dtype, i, math_point(&range, false, i, &state));
            set(wide.x, HS_F64, i, get(b.x, dtype, i));
        }
        memset(b.y, 0, sizeof b.y);
        math_kernels_table[isa][dtype]->polygamma[_i](BLOCK, b.x, b.y, b.out);
        math_kernels_table[HS_ISA_BASE][HS_F64]->polygamma[_i](BLOCK, wide.x, b.y, wide.out);
        for (size_t i = 0; i < BLOCK; i++)
            ck_assert_close(get(b.out, dtype, i), get(wide.out, HS_F64, i),
                            dtype == HS_F64 ? 3e-15 : 0x1p-24, 0);
    }
}
END_TEST

static Suite *math_suite(void)
{
    Suite *suite = suite_create("vector math");
    TCase *t = tcase_create("functions");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, error_in_ulp_is_within_bounds, 0, CASES);
    tcase_add_loop_test(t, special_values_are_exact, 0, SPECIALS);
    tcase_add_loop_test(t, lanes_are_independent, 0, CASES);
    tcase_add_loop_test(t, polygamma_agrees_with_table, 0, POLYGAMMA_ORDERS);
    tcase_add_loop_test(t, polygamma_agrees_among_variants, 0, POLYGAMMA_ORDERS);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(math_suite())
