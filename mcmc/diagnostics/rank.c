/* Order statistics: sorting, average ranks, normal scores, quantiles. */
#include "ess_internal.h"

#include <math.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 6, BUCKETS = 1 << DIGIT_BITS };

/* An integer that orders as the number does. */
static uint64_t sort_key(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* Radix sort, least significant digit first: linear, stable, and without malloc. */
void hs__rank_sort(const double *x, size_t n, size_t *order, uint64_t *key, uint64_t *key2,
                   size_t *order2)
{
    for (size_t i = 0; i < n; i++) {
        key[i] = sort_key(x[i]);
        order[i] = i;
    }
    for (int digit = 0; digit < DIGITS; digit++) {
        const int shift = digit * DIGIT_BITS;
        size_t start[BUCKETS] = { 0 }, sum = 0;
        for (size_t i = 0; i < n; i++)
            start[key[i] >> shift & (BUCKETS - 1)]++;
        for (size_t b = 0; b < BUCKETS; b++) {
            const size_t count = start[b];
            start[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) {
            const size_t to = start[key[i] >> shift & (BUCKETS - 1)]++;
            key2[to] = key[i];
            order2[to] = order[i];
        }
        uint64_t *const swap_key = key;
        size_t *const swap_order = order;
        key = key2;
        order = order2;
        key2 = swap_key;
        order2 = swap_order;
    } /* DIGITS is even: the result ends in the caller's array */
}

/* Both sides of the centre are in order already: they are merged from the centre outwards. */
void hs__rank_fold(const double *x, const size_t *order, size_t n, double centre, size_t *folded)
{
    size_t right = 0;
    while (right < n && x[order[right]] < centre)
        right++;
    size_t left = right; /* order[left - 1] is the next on the left */
    for (size_t i = 0; i < n; i++) {
        const bool take_left =
            right == n || (left > 0 && centre - x[order[left - 1]] < x[order[right]] - centre);
        folded[i] = take_left ? order[--left] : order[right++];
    }
}

static double polynomial(const double coefficient[8], double x)
{
    double sum = coefficient[7];
    for (int i = 6; i >= 0; i--)
        sum = sum * x + coefficient[i];
    return sum;
}

/* Phi^-1(p), 0 < p < 1: Wichura (1988), algorithm AS 241, PPND16, about 16 digits. */
static double normal_quantile(double p)
{
    static const double centre[2][8] = {
        { 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
          1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
          3.3430575583588128105e4, 2.5090809287301226727e3 },
        { 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
          2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
          5.2264952788528545610e3 },
    };
    static const double middle[2][8] = {
        { 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
          3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
          2.27238449892691845833e-2, 7.74545014278341407640e-4 },
        { 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
          1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
          1.05075007164441684324e-9 },
    };
    static const double tail[2][8] = {
        { 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
          2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
          2.71155556874348757815e-5, 2.01033439929228813265e-7 },
        { 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
          7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
          2.04426310338993978564e-15 },
    };
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(centre[0], r) / polynomial(centre[1], r);
    }
    double r = sqrt(-log(q < 0 ? p : 1 - p));
    const double(*const c)[8] = r <= 5 ? middle : tail;
    r -= r <= 5 ? 1.6 : 5;
    const double z = polynomial(c[0], r) / polynomial(c[1], r);
    return q < 0 ? -z : z;
}

void hs__rank_scores(const double *value, const size_t *order, size_t n, double *score)
{
    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && value[order[end]] == value[order[first]])
            end++;
        const double rank = 0.5 * ((double)first + 1 + (double)end);
        const double z = normal_quantile((rank - 0.375) / ((double)n + 0.25));
        for (size_t i = first; i < end; i++)
            score[order[i]] = z;
    }
}

double hs__rank_quantile(const double *x, const size_t *order, size_t n, double p)
{
    const double at = (double)n * p + (1 - p); /* counted from 1 */
    double k = floor(at > 1 ? at : 1);
    if (k > (double)n - 1)
        k = (double)n - 1;
    if (n == 1)
        return x[order[0]];
    double part = at - k;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    const double low = x[order[(size_t)k - 1]], high = x[order[(size_t)k]];
    return low == high ? low : (1 - part) * low + part * high;
}

double hs__rank_median(const double *x, const size_t *order, size_t n)
{
    return n % 2 ? x[order[n / 2]] : (x[order[n / 2 - 1]] + x[order[n / 2]]) / 2;
}
