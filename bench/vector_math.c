/*
 * Which library's vector functions to use: time and error of every candidate.
 *
 * Prints a Markdown table of nanoseconds per element (the median of repetitions, in which all
 * candidates take turns) and the largest error in ulp over the function's whole range. Arguments:
 * names of functions to measure; none for all, and for the time of a random draw.
 */
#include <stdio.h>
#include <stdlib.h>

#include <hastings/tensor/clock.h>
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include "tensor/random_internal.h"
#include <hastings/tensor/number.h>
#include <hastings/tensor/shape.h>

#include "tests/support/math_reference.h"
#include "vector_math_kernels.h"

HS_KERNEL_TABLE(math_candidates, math_candidates);
HS_KERNEL_TABLE(hs_random_kernels, random);

enum { POINTS = 2048, REPETITIONS = 101, PASSES = 8, ACCURACY_BLOCKS = 200, MAX_CANDIDATES = 100 };

typedef struct {
    const char *name;
    math_reference reference;
    math_range range;    /* where its error is taken */
    double from, to;     /* where it is timed: usual arguments, no denormal results */
    double y_from, y_to; /* the second argument, for pow */
} function;

#define ALL true, -HUGE_VAL, HUGE_VAL
static const function functions[] = {
    { "exp", ref_exp, { { -104, -746 }, { 89, 710 }, ALL }, -10, 10, 0, 0 },
    { "log", ref_log, { { 1e-3, 1e-3 }, { 10, 10 }, true, 0, HUGE_VAL }, 0.001, 10, 0, 0 },
    { "log1p", ref_log1p, { { -1, -1 }, { 10, 10 }, true, -1, HUGE_VAL }, -0.9, 10, 0, 0 },
    { "expm1", ref_expm1, { { -20, -40 }, { 89, 710 }, ALL }, -10, 10, 0, 0 },
    { "tanh", ref_tanh, { { -10, -20 }, { 10, 20 }, ALL }, -4, 4, 0, 0 },
    { "sigmoid", ref_sigmoid, { { -104, -746 }, { 20, 40 }, ALL }, -10, 10, 0, 0 },
    { "softplus", ref_softplus, { { -104, -746 }, { 20, 40 }, ALL }, -10, 10, 0, 0 },
    { "sin", ref_sin, { { -10, -10 }, { 10, 10 }, ALL }, -10, 10, 0, 0 },
    { "cos", ref_cos, { { -10, -10 }, { 10, 10 }, ALL }, -10, 10, 0, 0 },
    { "erf", ref_erf, { { -4, -6 }, { 4, 6 }, ALL }, -4, 4, 0, 0 },
    { "erfc", ref_erfc, { { -4, -6 }, { 10, 27 }, ALL }, -4, 4, 0, 0 },
    { "lgamma", ref_lgamma, { { 0, 0 }, { 50, 150 }, true, 0, HUGE_VAL }, 0, 50, 0, 0 },
    { "gelu", ref_gelu, { { -12.8, -37 }, { 10, 10 }, true, -12.8, HUGE_VAL }, -4, 4, 0, 0 },
    { "pow", ref_pow, { { 0, 0 }, { 10, 10 }, true, 0, HUGE_VAL }, 0, 10, -20, 20 },
};

typedef struct {
    void *x, *y, *out;
} buffers;

static math_range even_range(double from, double to)
{
    return (math_range){ { from, from }, { to, to }, false, -HUGE_VAL, HUGE_VAL };
}

static void fill(void *data, const math_range *range, hs_dtype dtype, uint64_t *state)
{
    for (size_t i = 0; i < POINTS; i++)
        hs_number_set(dtype, data, i, math_point(range, dtype == HS_F64, i, state));
}

/* Candidates of one function, type and instruction set. */
static void compare(const function *f, hs_isa isa, hs_dtype dtype, buffers *b)
{
    static double time[MAX_CANDIDATES][REPETITIONS];
    const math_candidates *all = math_candidates_table[isa][dtype];
    double worst[MAX_CANDIDATES] = { 0 }, where[MAX_CANDIDATES] = { 0 };
    const math_range usual = even_range(f->from, f->to), second = even_range(f->y_from, f->y_to);
    uint64_t state = 1;
    for (int block = 0; block < ACCURACY_BLOCKS; block++) {
        fill(b->x, &f->range, dtype, &state);
        fill(b->y, &second, dtype, &state);
        long double want[POINTS];
        for (size_t i = 0; i < POINTS; i++)
            want[i] = f->reference((long double)hs_number_get(dtype, b->x, i),
                                   (long double)hs_number_get(dtype, b->y, i));
        for (size_t c = 0; c < all->count; c++) {
            if (strcmp(all->candidate[c].function, f->name) != 0)
                continue;
            all->candidate[c].map(POINTS, b->x, b->y, b->out);
            for (size_t i = 0; i < POINTS; i++) {
                const double e =
                    math_ulps(dtype == HS_F64, hs_number_get(dtype, b->out, i), want[i]);
                if (e > worst[c]) {
                    worst[c] = e;
                    where[c] = hs_number_get(dtype, b->x, i);
                }
            }
        }
    }
    fill(b->x, &usual, dtype, &state);
    for (int r = -2; r < REPETITIONS; r++)
        for (size_t c = 0; c < all->count; c++) {
            if (strcmp(all->candidate[c].function, f->name) != 0)
                continue;
            const double start = hs_seconds();
            for (int pass = 0; pass < PASSES; pass++)
                all->candidate[c].map(POINTS, b->x, b->y, b->out);
            if (r >= 0)
                time[c][r] = (hs_seconds() - start) * 1e9 / (POINTS * PASSES);
        }
    for (size_t c = 0; c < all->count; c++) {
        if (strcmp(all->candidate[c].function, f->name) != 0)
            continue;
        hs_sort(time[c], REPETITIONS);
        printf(worst[c] < 1e4 ? "| %s | %s | %s | %s | %.2f | %.2f | %.9g |\n"
                              : "| %s | %s | %s | %s | %.2f | %.0e | %.9g |\n",
               f->name, hs_dtype_name(dtype), hs_isa_name(isa), all->candidate[c].library,
               time[c][REPETITIONS / 2], worst[c], where[c]);
    }
    fflush(stdout);
}

/* Draws as shards take them: a row to a lane, four columns. */
static void random_draws(void *out)
{
    enum { COLUMNS = 4, LANES = POINTS / COLUMNS };
    const hs_philox_address at = { { 1, 2 }, 3, 4, 0 };
    puts("\n| draw | type | ISA | ns |\n|---|---|---|---:|");
    for (int d = HS_UNIFORM; d <= HS_NORMAL; d++)
        for (int dtype = HS_F32; dtype <= HS_F64; dtype++)
            for (int isa = (int)hs_cpu_isa(); isa >= 0; isa--) {
                double time[REPETITIONS];
                for (int r = -2; r < REPETITIONS; r++) {
                    const double start = hs_seconds();
                    for (int pass = 0; pass < PASSES; pass++)
                        random_table[isa][dtype]->lanes((hs_distribution)d, &at, 0, LANES, COLUMNS,
                                                        out, LANES);
                    if (r >= 0)
                        time[r] = (hs_seconds() - start) * 1e9 / (POINTS * PASSES);
                }
                hs_sort(time, REPETITIONS);
                printf("| %s | %s | %s | %.2f |\n", d == HS_NORMAL ? "normal" : "uniform",
                       hs_dtype_name((hs_dtype)dtype), hs_isa_name((hs_isa)isa),
                       time[REPETITIONS / 2]);
            }
}

int main(int argc, char **argv)
{
    buffers b = { hs_alloc(POINTS * 8), hs_alloc(POINTS * 8), hs_alloc(POINTS * 8) };
    if (!b.x || !b.y || !b.out)
        return 1;
    puts("| function | type | ISA | library | ns/element | max ulp | at |\n"
         "|---|---|---|---|---:|---:|---:|");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted = wanted || strcmp(argv[a], functions[i].name) == 0;
        for (int dtype = HS_F32; wanted && dtype <= HS_F64; dtype++)
            for (int isa = (int)hs_cpu_isa(); isa >= 0; isa--)
                compare(&functions[i], (hs_isa)isa, (hs_dtype)dtype, &b);
    }
    if (argc < 2)
        random_draws(b.out);
    hs_free(b.x);
    hs_free(b.y);
    hs_free(b.out);
    return 0;
}
