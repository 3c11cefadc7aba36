#include "machine.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/clock.h>
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>

#include "measure.h"
#include "vector_math_kernels.h"

HS_KERNEL_TABLE(math_candidates, math_candidates);

void machine_processor(char *name, size_t size)
{
    char line[256];
    FILE *in = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (in && fgets(line, sizeof line, in)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        size_t length = strcspn(value, "\n");
        while (length && value[length - 1] == ' ')
            length--;
        if (length)
            snprintf(name, size, "%.*s", (int)length, value);
        break;
    }
    if (in)
        fclose(in);
}

double machine_peak(hs_dtype dtype, int threads)
{
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        double peaks[5];
        for (int k = 0; k < 5; k++)
            peaks[k] = peak_once(dtype);
        sum += median(peaks, 5);
    }
    return sum;
}

static double exponentials_once(void)
{
    enum { N = 2048, TURNS = 100 };
    static const char *const library = "vector_math.h";
    static _Alignas(64) const float x[N]; /* any numbers will do: all take the same time */
    _Alignas(64) float out[N];
    const math_candidates *all = math_candidates_table[hs_cpu_isa()][HS_F32];
    for (size_t i = 0; i < all->count; i++) {
        const math_candidate *c = &all->candidate[i];
        if (strcmp(c->function, "exp") != 0 || strcmp(c->library, library) != 0)
            continue;
        const double begin = hs_seconds();
        for (int turn = 0; turn < TURNS; turn++)
            c->map(N, x, x, out);
        return N * TURNS / (hs_seconds() - begin) * 1e-9;
    }
    return (double)NAN;
}

double machine_exponentials(int threads)
{
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        double rates[5];
        for (int k = 0; k < 5; k++)
            rates[k] = exponentials_once();
        sum += median(rates, 5);
    }
    return sum;
}

enum { NUMBERS = 1 << 26, TIMES = 5 }; /* 256 MB of floats */

typedef float vector __attribute__((vector_size(64)));
enum { BLOCK = 4096 };

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static float
sum_of_block(const float *x)
{
    const vector *v = (const vector *)(const void *)x;
    vector a = v[0], b = v[1], c = v[2], d = v[3];
    for (int i = 4; i < BLOCK / 16; i += 4) {
        a += v[i];
        b += v[i + 1];
        c += v[i + 2];
        d += v[i + 3];
    }
    a += b + c + d;
    return a[0];
}

double machine_read(int threads)
{
    float *x = hs_alloc(NUMBERS * sizeof *x);
    if (!x)
        return (double)NAN;
    for (int i = 0; i < NUMBERS; i++) /* memory that was never written is not there */
        x[i] = 1;
    double seconds[TIMES];
    volatile float keep = 0;
    for (int t = 0; t < TIMES; t++) {
        float sum = 0;
        const double begin = hs_seconds();
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static)
        for (int block = 0; block < NUMBERS / BLOCK; block++)
            sum += sum_of_block(x + (long)block * BLOCK);
        seconds[t] = hs_seconds() - begin;
        keep += sum;
    }
    hs_free(x);
    return sizeof *x * (double)NUMBERS / median(seconds, TIMES) * 1e-9;
}

double machine_update(int threads)
{
    enum { EACH = NUMBERS / 2 };
    float *w = hs_alloc_zero(EACH, sizeof *w), *m = hs_alloc_zero(EACH, sizeof *m);
    float *v = hs_alloc_zero(EACH, sizeof *v);
    double seconds[TIMES], rate = (double)NAN;
    if (w && m && v) {
        for (int i = 0; i < EACH; i++)
            w[i] = m[i] = v[i] = 0.5F;
        for (int t = 0; t < TIMES; t++) {
            const double begin = hs_seconds();
#pragma omp parallel for simd num_threads(threads) schedule(static)
            for (int i = 0; i < EACH; i++) {
                m[i] = 0.9F * m[i] + 1e-6F;
                v[i] = 0.999F * v[i] + 1e-6F;
                w[i] -= 1e-3F * m[i] * v[i];
            }
            seconds[t] = hs_seconds() - begin;
        }
        rate = 6 * sizeof *w * (double)EACH / median(seconds, TIMES) * 1e-9;
    }
    hs_free(w), hs_free(m), hs_free(v);
    return rate;
}
