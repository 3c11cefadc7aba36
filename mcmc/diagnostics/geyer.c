/* The ESS kernel: Geyer's initial positive and initial monotone sequence over several chains, step
 * by step as in ArviZ and posterior. */
#include "ess_internal.h"

#include <math.h>

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static double range_of(const double *x, size_t n)
{
    double low = x[0], high = x[0];
    for (size_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return high - low;
}

/* Integrated autocorrelation time from a(t); r is scratch for the sequence. */
static hs_status integrated_time(autocovariance *c, double *r, double spread, double *tau)
{
    const size_t n = c->draws;
    hs_status status = hs__autocovariance_extend(c, 1);
    if (status != HS_OK)
        return status;
    const double *a = c->a;
    const double within = a[0] * (double)n / ((double)n - 1);
    const double total = a[0] + (c->chains > 1 ? spread / ((double)c->chains - 1) : 0);
    double even = 1, odd = 1 - (within - a[1]) / total;
    r[0] = even;
    r[1] = odd;
    size_t t = 1; /* the last lag of the sequence is t - 2 */
    for (; t + 3 < n && even + odd > 0; t += 2) {
        status = hs__autocovariance_extend(c, t + 2);
        if (status != HS_OK)
            return status;
        even = 1 - (within - a[t + 1]) / total;
        odd = 1 - (within - a[t + 2]) / total;
        r[t + 1] = even + odd >= 0 ? even : 0;
        r[t + 2] = even + odd >= 0 ? odd : 0;
    }
    if (even > 0)
        r[t - 1] = even; /* the first even lag past the cut */
    for (size_t k = 1; k + 4 <= t; k += 2) {
        if (r[k + 1] + r[k + 2] > r[k - 1] + r[k]) {
            r[k + 1] = (r[k - 1] + r[k]) / 2;
            r[k + 2] = r[k + 1];
        }
    }
    double sum = 0;
    for (size_t k = 0; k + 1 < t; k++)
        sum += r[k];
    *tau = -1 + 2 * sum + r[t - 1];
    return HS_OK;
}

hs_status hs__geyer_ess(autocovariance *c, double *r, const double *x, size_t chains, size_t draws,
                        double *ess, bool *capped)
{
    const double size = (double)chains * (double)draws;
    *capped = false;
    *ess = nan("");
    if (chains == 0 || draws < 2 || !all_finite(x, chains * draws))
        return HS_OK;
    if (range_of(x, chains * draws) < 1e-15) {
        *ess = size;
        return HS_OK;
    }
    const double spread = hs__autocovariance_start(c, x, chains, draws);
    double tau;
    const hs_status status = integrated_time(c, r, spread, &tau);
    if (status != HS_OK || isnan(tau))
        return status;
    const double least = 1 / log10(size); /* antithetic chains would give tau <= 0 */
    *capped = tau <= least;
    *ess = size / (*capped ? least : tau);
    return HS_OK;
}
