/*
 * Random numbers: exactness (known answers, the same bits by every way to the same address, in
 * every variant that this machine can run) and statistics at fixed seeds. The statistical limits
 * are five standard deviations, so that a correct generator would miss one in two million.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <Random123/philox.h>

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/random.h>
#include "tensor/random_internal.h"

#include "support/hs_check.h"
#include "support/math_reference.h"

HS_KERNEL_TABLE(hs_random_kernels, random);

#define EACH_DRAW(isa, dtype, d)                                                                   \
    for (hs_isa isa = HS_ISA_BASE; isa <= hs_cpu_isa(); isa++)                                     \
        for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)                                    \
            for (hs_distribution d = HS_UNIFORM; d <= HS_NORMAL; d++)

static double get(const void *data, hs_dtype dtype, size_t i)
{
    return dtype == HS_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static bool untouched(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == 0xa5)
        from++;
    return from >= to;
}

/* ---- exactness (asserts stay out of long loops: Check logs each of them) ---- */

static const struct {
    uint32_t counter[4], key[2], word[4];
} known[] = {
    /* philox4x32-10 of Random123's tests/kat_vectors */
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
      { UINT32_MAX, UINT32_MAX },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

START_TEST(reference_gives_known_answers)
{
    const philox4x32_key_t key = { { known[_i].key[0], known[_i].key[1] } };
    philox4x32_ctr_t counter;
    memcpy(counter.v, known[_i].counter, sizeof counter.v);
    const philox4x32_ctr_t word = philox4x32(counter, key);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(word.v[i], known[_i].word[i]);
}
END_TEST

START_TEST(kernels_give_known_answers)
{
    const hs_philox_address at = { { known[_i].key[0], known[_i].key[1] },
                                   known[_i].counter[2],
                                   known[_i].counter[3],
                                   known[_i].counter[1] };
    for (hs_isa isa = HS_ISA_BASE; isa <= hs_cpu_isa(); isa++) {
        float narrow[4];
        double wide[4];
        random_table[isa][HS_F32]->rows(HS_UNIFORM, &at, known[_i].counter[0], 1, 4, narrow);
        random_table[isa][HS_F64]->rows(HS_UNIFORM, &at, known[_i].counter[0], 1, 4, wide);
        for (int i = 0; i < 4; i++) {
            ck_assert_uint_eq((uint32_t)((double)narrow[i] * 0x1p23), known[_i].word[i] >> 9);
            ck_assert_uint_eq((uint32_t)(wide[i] * 0x1p32), known[_i].word[i]);
        }
    }
}
END_TEST

enum { MAX_ROWS = 40, MAX_COLUMNS = 23, STRIDE = 64 };

static const size_t row_counts[] = { 1, 3, 16, 17, 33 };
static const size_t column_counts[] = { 1, 2, 3, 4, 5, 7, 8, 21 };
static const uint32_t first_rows[] = { 0, 1, 5, 4000000000u, UINT32_MAX - 10 };
static const hs_address here = { .seed = 0x123456789abcdefu,
                                 .stream = 0x7abc,
                                 .step = 0x9876543210fu };
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Rows against lanes, bit for bit, at all shapes; neither writes outside its place. */
START_TEST(rows_and_lanes_agree)
{
    static _Alignas(64) unsigned char lanes_out[MAX_COLUMNS * STRIDE * 8];
    static unsigned char rows_out[MAX_ROWS * MAX_COLUMNS * 8 + 64];
    const hs_philox_address at = { { 1, 2 }, 3, 4, 0 };
    EACH_DRAW(isa, dtype, d)
    for (size_t r = 0; r < COUNT(row_counts); r++)
        for (size_t c = 0; c < COUNT(column_counts); c++) {
            const hs_random_kernels *k = random_table[isa][dtype];
            const size_t size = hs_dtype_size(dtype);
            const size_t rows = row_counts[r], columns = column_counts[c];
            const uint32_t row0 = first_rows[(r + c) % COUNT(first_rows)];
            memset(lanes_out, 0xa5, sizeof lanes_out);
            memset(rows_out, 0xa5, sizeof rows_out);
            k->lanes(d, &at, row0, rows, columns, lanes_out, STRIDE);
            /* An odd element first, to show that no alignment is needed. */
            k->rows(d, &at, row0, rows, columns, rows_out + size);
            size_t different = 0;
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < columns; j++)
                    different += memcmp(lanes_out + (j * STRIDE + i) * size,
                                        rows_out + (1 + i * columns + j) * size, size) != 0;
            ck_assert_msg(different == 0, "%s %s: %zu of %zu x %zu", hs_isa_name(isa),
                          hs_dtype_name(dtype), different, rows, columns);
            bool clean =
                untouched(rows_out, rows_out + size) &&
                untouched(rows_out + (1 + rows * columns) * size, rows_out + sizeof rows_out) &&
                untouched(lanes_out + columns * STRIDE * size, lanes_out + sizeof lanes_out);
            bool filled = true;
            for (size_t j = 0; j < columns; j++) {
                unsigned char *const end = lanes_out + j * STRIDE * size + hs_align_up(rows * size);
                clean = clean && untouched(end, lanes_out + (j + 1) * STRIDE * size);
                for (size_t i = rows; i < hs_align_up(rows * size) / size; i++)
                    filled = filled && !untouched(lanes_out + (j * STRIDE + i) * size,
                                                  lanes_out + (j * STRIDE + i + 1) * size);
            }
            ck_assert_msg(filled, "%s %s left padding of %zu x %zu as it was", hs_isa_name(isa),
                          hs_dtype_name(dtype), rows, columns);
            ck_assert_msg(clean, "%s %s wrote outside %zu x %zu", hs_isa_name(isa),
                          hs_dtype_name(dtype), rows, columns);
        }
}
END_TEST

/* A part of the columns is the same numbers as in the whole. */
START_TEST(columns_may_begin_later)
{
    enum { ROWS = 5, COLUMNS = 23, FIRST = 8 };
    static _Alignas(64) unsigned char lanes_out[COLUMNS * STRIDE * 8];
    static unsigned char rows_out[ROWS * COLUMNS * 8];
    hs_address later = here;
    later.column = FIRST;
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)
        for (hs_distribution d = HS_UNIFORM; d <= HS_NORMAL; d++) {
            hs_random_lanes(dtype, d, later, 3, ROWS, COLUMNS - FIRST, lanes_out, STRIDE);
            hs_random_rows(dtype, d, later, 3, ROWS, COLUMNS - FIRST, rows_out);
            for (uint32_t i = 0; i < ROWS; i++)
                for (uint32_t j = 0; j < COLUMNS - FIRST; j++) {
                    const double want = hs_random_at(dtype, d, here, 3 + i, FIRST + j);
                    ck_assert_double_eq(get(lanes_out, dtype, j * STRIDE + i), want);
                    ck_assert_double_eq(get(rows_out, dtype, i * (COLUMNS - FIRST) + j), want);
                    ck_assert_double_eq(hs_random_at(dtype, d, later, 3 + i, j), want);
                }
        }
}
END_TEST

/* The public functions against the reference, and uniforms of every variant against it as well. */
START_TEST(all_agree_with_the_reference)
{
    static _Alignas(64) unsigned char lanes_out[MAX_COLUMNS * STRIDE * 8];
    static _Alignas(64) unsigned char rows_out[MAX_ROWS * MAX_COLUMNS * 8];
    enum { ROWS = 19, COLUMNS = 11 };
    for (size_t f = 0; f < COUNT(first_rows); f++)
        for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)
            for (hs_distribution d = HS_UNIFORM; d <= HS_NORMAL; d++) {
                hs_random_lanes(dtype, d, here, first_rows[f], ROWS, COLUMNS, lanes_out, STRIDE);
                hs_random_rows(dtype, d, here, first_rows[f], ROWS, COLUMNS, rows_out);
                size_t different = 0;
                for (uint32_t i = 0; i < ROWS; i++)
                    for (uint32_t j = 0; j < COLUMNS; j++) {
                        const double want = hs_random_at(dtype, d, here, first_rows[f] + i, j);
                        different += get(lanes_out, dtype, j * STRIDE + i) != want;
                        different += get(rows_out, dtype, i * COLUMNS + j) != want;
                    }
                ck_assert_uint_eq(different, 0);
            }
    const hs_philox_address at = { { 0x89abcdef, 0x1234567 }, 0x6543210f, 0x7abc0987, 0 };
    EACH_DRAW(isa, dtype, d)
    {
        if (d == HS_NORMAL)
            continue;
        random_table[isa][dtype]->rows(d, &at, 7, ROWS, COLUMNS, rows_out);
        size_t different = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            for (uint32_t j = 0; j < COLUMNS; j++)
                different +=
                    get(rows_out, dtype, i * COLUMNS + j) != hs_random_at(dtype, d, here, 7 + i, j);
        ck_assert_uint_eq(different, 0);
    }
}
END_TEST

/* log and sine are good to 3.5 ulp; halved by the root, with three roundings more. */
START_TEST(normals_are_box_muller_of_the_uniforms)
{
    enum { ROWS = 4096, COLUMNS = 4 };
    static union {
        float f32[ROWS * COLUMNS];
        double f64[ROWS * COLUMNS];
    } u, z;
    const hs_philox_address at = { { 8, 0 }, 5, 0, 0 };
    const long double pi = 3.14159265358979323846264338327950288L;
    for (hs_isa isa = HS_ISA_BASE; isa <= hs_cpu_isa(); isa++)
        for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++) {
            const hs_random_kernels *k = random_table[isa][dtype];
            k->rows(HS_UNIFORM, &at, 0, ROWS, COLUMNS, &u);
            k->rows(HS_NORMAL, &at, 0, ROWS, COLUMNS, &z);
            double worst = 0;
            for (size_t i = 0; i < ROWS * COLUMNS; i += 2) {
                const long double radius = sqrtl(-2 * logl((long double)get(&u, dtype, i)));
                const long double angle = 2 * pi * (long double)get(&u, dtype, i + 1);
                const double cosine =
                    math_ulps(dtype == HS_F64, get(&z, dtype, i), radius * cosl(angle));
                const double sine =
                    math_ulps(dtype == HS_F64, get(&z, dtype, i + 1), radius * sinl(angle));
                worst = fmax(worst, fmax(cosine, sine));
            }
            ck_assert_msg(worst <= 6, "%s %s: %.2f ulp", hs_isa_name(isa), hs_dtype_name(dtype),
                          worst);
        }
}
END_TEST

/* Machines with FMA make the same normals, whatever their vector width. */
START_TEST(normals_have_the_same_bits_with_fma)
{
    enum { N = 4096 };
    static double narrow[N], wide[N];
    const hs_philox_address at = { { 9, 0 }, 5, 0, 0 };
    if (hs_cpu_isa() < HS_ISA_AVX512)
        return;
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++) {
        random_table[HS_ISA_AVX2][dtype]->rows(HS_NORMAL, &at, 0, N / 4, 4, narrow);
        random_table[HS_ISA_AVX512][dtype]->rows(HS_NORMAL, &at, 0, N / 4, 4, wide);
        ck_assert_int_eq(memcmp(narrow, wide, N * hs_dtype_size(dtype)), 0);
    }
}
END_TEST

START_TEST(f32_is_f64_in_lower_precision)
{
    for (uint32_t row = 0; row < 2000; row++)
        for (uint32_t column = 0; column < 4; column += 2) {
            double wide[2];
            for (uint32_t i = 0; i < 2; i++) {
                wide[i] = hs_random_at(HS_F64, HS_UNIFORM, here, row, column + i);
                ck_assert_close(hs_random_at(HS_F32, HS_UNIFORM, here, row, column + i), wide[i], 0,
                                0x1p-24);
            }
            if (wide[0] > 1e-3 && wide[0] < 1 - 1e-3) /* where the radius has a gentle slope */
                for (uint32_t i = 0; i < 2; i++)
                    ck_assert_close(hs_random_at(HS_F32, HS_NORMAL, here, row, column + i),
                                    hs_random_at(HS_F64, HS_NORMAL, here, row, column + i), 0,
                                    3e-5);
        }
}
END_TEST

/* Every part of an address matters, up to the ends of its range. */
START_TEST(addresses_differ)
{
    static const hs_address at[] = {
        { 0, 0, 0, 0 },
        { 1, 0, 0, 0 },
        { UINT64_C(1) << 32, 0, 0, 0 },
        { UINT64_MAX, 0, 0, 0 },
        { 0, 1, 0, 0 },
        { 0, 0x7fff, 0, 0 },
        { 0, 0, 1, 0 },
        { 0, 0, UINT32_MAX, 0 },
        { 0, 0, UINT64_C(1) << 32, 0 },
        { 0, 0, UINT64_C(1) << 47, 0 },
        { 0, 0, (UINT64_C(1) << 48) - 1, 0 },
        { 0, 0x4000, 0, 0 },
    };
    static const uint32_t ends[] = { 0, 1, 4, UINT32_MAX };
    enum { N = COUNT(at) * COUNT(ends) * COUNT(ends) };
    double drawn[N];
    size_t n = 0;
    for (size_t i = 0; i < COUNT(at); i++)
        for (size_t row = 0; row < COUNT(ends); row++)
            for (size_t column = 0; column < COUNT(ends); column++) {
                drawn[n] = hs_random_at(HS_F64, HS_UNIFORM, at[i], ends[row], ends[column]);
                for (size_t k = 0; k < n; k++)
                    ck_assert_msg(drawn[k] != drawn[n], "draws %zu and %zu are equal", k, n);
                n++;
            }
    hs_random_rows(HS_F64, HS_NORMAL, at[0], 0, 5, 0, NULL); /* nothing, at no address */
    hs_random_rows(HS_F64, HS_NORMAL, at[0], 0, 0, 5, NULL);
}
END_TEST

/* ---- statistics ---- */

enum { DRAWS = 1 << 20 };
static double sample[DRAWS];

static void draw_sample(hs_dtype dtype, hs_distribution d, hs_address at)
{
    static float narrow[DRAWS];
    if (dtype == HS_F64) {
        hs_random_rows(dtype, d, at, 0, DRAWS / 16, 16, sample);
        return;
    }
    hs_random_rows(dtype, d, at, 0, DRAWS / 16, 16, narrow);
    for (size_t i = 0; i < DRAWS; i++)
        sample[i] = (double)narrow[i];
}

START_TEST(uniforms_are_uniform)
{
    enum { BINS = 256 };
    const hs_dtype dtype = (hs_dtype)_i;
    double count[BINS] = { 0 }, chi2 = 0;
    double least = 1, most = 0;
    draw_sample(dtype, HS_UNIFORM, here);
    for (size_t i = 0; i < DRAWS; i++) {
        least = fmin(least, sample[i]);
        most = fmax(most, sample[i]);
    }
    ck_assert(least > 0 && most < 1);
    for (size_t i = 0; i < DRAWS; i++)
        count[(size_t)(sample[i] * BINS)]++;
    for (int b = 0; b < BINS; b++)
        chi2 += (count[b] - DRAWS / BINS) * (count[b] - DRAWS / BINS) / (DRAWS / BINS);
    ck_assert_close(chi2, BINS - 1, 0, 5 * sqrt(2.0 * (BINS - 1)));
    /* Every bit of the mantissa is fair. */
    const int bits = dtype == HS_F64 ? 52 : 23;
    for (int bit = 0; bit < bits; bit++) {
        double ones = 0;
        for (size_t i = 0; i < DRAWS; i++)
            ones += (double)((uint64_t)ldexp(sample[i], bits) >> bit & 1);
        ck_assert_close(ones, DRAWS / 2, 0, 5 * sqrt(DRAWS) / 2);
    }
}
END_TEST

START_TEST(normals_have_the_right_moments)
{
    double sum[5] = { 0 };
    draw_sample((hs_dtype)_i, HS_NORMAL, here);
    for (size_t i = 0; i < DRAWS; i++)
        for (int k = 1; k <= 4; k++)
            sum[k] += pow(sample[i], k);
    const double five = 5 / sqrt(DRAWS);
    ck_assert_close(sum[1] / DRAWS, 0, 0, five);
    ck_assert_close(sum[2] / DRAWS, 1, 0, five * sqrt(2)); /* variance of z^2 */
    ck_assert_close(sum[3] / DRAWS, 0, 0, five * sqrt(15));
    ck_assert_close(sum[4] / DRAWS, 3, 0, five * sqrt(96));
}
END_TEST

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov: P(D sqrt(n) > 2.7) is 2 exp(-2 2.7^2), one in a million. */
START_TEST(normals_have_the_right_distribution)
{
    double distance = 0;
    draw_sample((hs_dtype)_i, HS_NORMAL, here);
    qsort(sample, DRAWS, sizeof *sample, by_value);
    for (size_t i = 0; i < DRAWS; i++) {
        const double phi = erfc(-sample[i] * 0.70710678118654752) / 2;
        distance = fmax(distance,
                        fmax(fabs((double)(i + 1) / DRAWS - phi), fabs((double)i / DRAWS - phi)));
    }
    ck_assert_double_lt(distance * sqrt(DRAWS), 2.7);
    ck_assert_double_gt(sample[DRAWS - 1], 4);
    ck_assert_double_lt(sample[0], -4);
}
END_TEST

/* Correlation of the draws themselves, of their squares, and of one's size with the other. */
static void assert_independent(const double *a, const double *b, size_t n, const char *what)
{
    double plain = 0, squares = 0, mixed = 0;
    for (size_t i = 0; i < n; i++) {
        plain += a[i] * b[i];
        squares += (a[i] * a[i] - 1) * (b[i] * b[i] - 1) / 2;
        mixed += (a[i] * a[i] - 1) * b[i] / sqrt(2);
    }
    const double limit = 5 * sqrt((double)n);
    ck_assert_msg(fabs(plain) < limit && fabs(squares) < limit && fabs(mixed) < limit,
                  "%s: %.2f %.2f %.2f standard deviations", what, plain / sqrt((double)n),
                  squares / sqrt((double)n), mixed / sqrt((double)n));
}

START_TEST(neighbours_are_independent)
{
    enum { N = 1 << 16, COLUMNS = 16 };
    static _Alignas(64) double first[COLUMNS][N], other[N];
    char what[40];
    hs_random_lanes(HS_F64, HS_NORMAL, here, 0, N, COLUMNS, first, N);
    for (int i = 0; i < COLUMNS; i++) {
        assert_independent(first[i], first[i] + 1, N - 1, "rows");
        for (int j = 0; j < i; j++) {
            snprintf(what, sizeof what, "columns %d and %d", j, i);
            assert_independent(first[j], first[i], N, what);
        }
    }
    hs_address at[4] = { here, here, here, here };
    at[0].step++;
    at[1].step += UINT64_C(1) << 32;
    at[2].stream++;
    at[3].seed++;
    static const char *const change[4] = { "steps", "far steps", "streams", "seeds" };
    for (int i = 0; i < 4; i++) {
        hs_random_lanes(HS_F64, HS_NORMAL, at[i], 0, N, 1, other, N);
        assert_independent(first[0], other, N, change[i]);
    }
}
END_TEST

static Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *exact = tcase_create("exactness");
    tcase_add_loop_test(exact, reference_gives_known_answers, 0, COUNT(known));
    tcase_add_loop_test(exact, kernels_give_known_answers, 0, COUNT(known));
    tcase_add_test(exact, rows_and_lanes_agree);
    tcase_add_test(exact, all_agree_with_the_reference);
    tcase_add_test(exact, columns_may_begin_later);
    tcase_add_test(exact, normals_are_box_muller_of_the_uniforms);
    tcase_add_test(exact, normals_have_the_same_bits_with_fma);
    tcase_add_test(exact, f32_is_f64_in_lower_precision);
    tcase_add_test(exact, addresses_differ);
    suite_add_tcase(suite, exact);
    TCase *statistics = tcase_create("statistics");
    tcase_set_timeout(statistics, 120);
    tcase_add_loop_test(statistics, uniforms_are_uniform, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(statistics, normals_have_the_right_moments, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(statistics, normals_have_the_right_distribution, HS_F32, HS_F64 + 1);
    tcase_add_test(statistics, neighbours_are_independent);
    suite_add_tcase(suite, statistics);
    return suite;
}

HS_TEST_MAIN(random_suite())
