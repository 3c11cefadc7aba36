/* Autocovariances of several chains. Geyer's sum usually stops after a few lags, which are summed
 * directly; if it goes on, one Fourier transform gives all the others. */
#include "ess_internal.h"

#include <math.h>
#include <string.h>

#include <hastings/tensor/memory.h>

enum {
    LAGS = 8,          /* summed in one pass */
    DIRECT_LAGS = 128, /* beyond these a transform is cheaper */
    CHUNK = 256        /* partial sums: the error grows with N / CHUNK, not with N */
};

static size_t transform_length(size_t draws)
{
    size_t length = 1;
    while (length < 2 * draws) /* padded with zeros, so that the ends do not meet */
        length *= 2;
    return length;
}

hs_status hs__autocovariance_init(autocovariance *c, size_t size, size_t draws)
{
    *c = (autocovariance){ 0 };
    if (draws > SIZE_MAX / 64)
        return HS_ENOMEM;
    c->capacity = transform_length(draws);
    c->y = hs_alloc_zero(size, sizeof *c->y);
    c->a = hs_alloc_zero(draws + LAGS, sizeof *c->a);
    return c->y && c->a ? HS_OK : HS_ENOMEM;
}

void hs__autocovariance_free(autocovariance *c)
{
    hs_free(c->y);
    hs_free(c->a);
    hs_free(c->wave);
    hs_free(c->twiddle);
    *c = (autocovariance){ 0 };
}

static double mean_of(const double *x, size_t n)
{
    double total = 0;
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t end = n - first < CHUNK ? n : first + CHUNK;
        double sum = 0;
        for (size_t i = first; i < end; i++)
            sum += x[i];
        total += sum;
    }
    return total / (double)n;
}

double hs__autocovariance_start(autocovariance *c, const double *x, size_t chains, size_t draws)
{
    c->chains = chains;
    c->draws = draws;
    c->known = 0;

    double grand = 0, spread = 0;
    for (size_t m = 0; m < chains; m++)
        grand += mean_of(x + m * draws, draws);
    grand /= (double)chains;
    for (size_t m = 0; m < chains; m++) {
        const double mean = mean_of(x + m * draws, draws);
        for (size_t i = 0; i < draws; i++)
            c->y[m * draws + i] = x[m * draws + i] - mean;
        spread += (mean - grand) * (mean - grand);
    }
    return spread;
}

/* a[known .. known + LAGS - 1] by their definition; lags beyond the draws are 0. */
static void extend_directly(autocovariance *c)
{
    const size_t n = c->draws, lag = c->known;
    double total[LAGS] = { 0 };
    for (size_t m = 0; m < c->chains; m++) {
        const double *y = c->y + m * n;
        const size_t whole = n > lag + LAGS ? n - lag - LAGS : 0; /* all LAGS products exist */
        for (size_t first = 0; first < whole; first += CHUNK) {
            const size_t end = whole - first < CHUNK ? whole : first + CHUNK;
            double sum[LAGS] = { 0 };
            for (size_t i = first; i < end; i++)
                for (size_t k = 0; k < LAGS; k++)
                    sum[k] += y[i] * y[i + lag + k];
            for (size_t k = 0; k < LAGS; k++)
                total[k] += sum[k];
        }
        for (size_t k = 0; k < LAGS; k++)
            for (size_t i = whole; i + lag + k < n; i++)
                total[k] += y[i] * y[i + lag + k];
    }
    for (size_t k = 0; k < LAGS; k++)
        c->a[lag + k] = total[k] / (double)n / (double)c->chains;
    c->known += LAGS;
}

/* ---- The Fourier transform of complex numbers (re, im), length a power of two -------------- */

/* The twiddle factors of the stage with `half` butterflies a block start at entry `half`. */
static void fill_twiddles(autocovariance *c, size_t length)
{
    for (size_t half = c->table ? c->table : 1; half < length; half *= 2) {
        for (size_t k = 0; k < half; k++) {
            const double angle = 3.14159265358979323846 * (double)k / (double)half;
            c->twiddle[2 * (half + k)] = cos(angle);
            c->twiddle[2 * (half + k) + 1] = -sin(angle);
        }
        c->table = 2 * half;
    }
}

/* Natural order in, bit-reversed order out (Gentleman-Sande). */
static void transform(double *z, const double *twiddle, size_t length)
{
    for (size_t half = length / 2; half; half /= 2) {
        const double *w = twiddle + 2 * half;
        for (double *u = z; u < z + 2 * length; u += 4 * half) {
            double *v = u + 2 * half;
            for (size_t k = 0; k < 2 * half; k += 2) {
                const double re = u[k] - v[k], im = u[k + 1] - v[k + 1];
                u[k] += v[k];
                u[k + 1] += v[k + 1];
                v[k] = re * w[k] - im * w[k + 1];
                v[k + 1] = re * w[k + 1] + im * w[k];
            }
        }
    }
}

/* The inverse, unscaled: bit-reversed order in, natural order out (Cooley-Tukey). */
static void transform_back(double *z, const double *twiddle, size_t length)
{
    for (size_t half = 1; half < length; half *= 2) {
        const double *w = twiddle + 2 * half;
        for (double *u = z; u < z + 2 * length; u += 4 * half) {
            double *v = u + 2 * half;
            for (size_t k = 0; k < 2 * half; k += 2) {
                const double re = v[k] * w[k] + v[k + 1] * w[k + 1];
                const double im = v[k + 1] * w[k] - v[k] * w[k + 1];
                v[k] = u[k] - re;
                v[k + 1] = u[k + 1] - im;
                u[k] += re;
                u[k + 1] += im;
            }
        }
    }
}

/* Computes all lags. Two chains make one complex sequence: the real part of its autocorrelation is
 * the sum of the chains'. Power spectra are added: one inverse transform serves all chains. */
static hs_status extend_by_transform(autocovariance *c)
{
    const size_t n = c->draws, length = transform_length(n);
    if (!c->wave)
        c->wave = hs_alloc_zero(3 * c->capacity, sizeof *c->wave); /* sequence, then spectrum */
    if (!c->twiddle)
        c->twiddle = hs_alloc_zero(2 * c->capacity, sizeof *c->twiddle);
    if (!c->wave || !c->twiddle)
        return HS_ENOMEM;
    fill_twiddles(c, length);
    double *z = c->wave, *power = c->wave + 2 * c->capacity;
    memset(power, 0, length * sizeof *power);
    for (size_t m = 0; m < c->chains; m += 2) {
        memset(z, 0, 2 * length * sizeof *z);
        for (size_t i = 0; i < n; i++) {
            z[2 * i] = c->y[m * n + i];
            z[2 * i + 1] = m + 1 < c->chains ? c->y[(m + 1) * n + i] : 0;
        }
        transform(z, c->twiddle, length);
        for (size_t k = 0; k < length; k++)
            power[k] += z[2 * k] * z[2 * k] + z[2 * k + 1] * z[2 * k + 1];
    }
    for (size_t k = 0; k < length; k++) {
        z[2 * k] = power[k];
        z[2 * k + 1] = 0;
    }
    transform_back(z, c->twiddle, length);
    const double scale = 1 / ((double)length * (double)n * (double)c->chains);
    for (size_t t = c->known; t < n; t++) /* lags already used keep their values */
        c->a[t] = z[2 * t] * scale;
    c->known = n;
    return HS_OK;
}

hs_status hs__autocovariance_extend(autocovariance *c, size_t lag)
{
    while (c->known <= lag) {
        if (c->known < DIRECT_LAGS)
            extend_directly(c);
        else
            return extend_by_transform(c);
    }
    return HS_OK;
}
