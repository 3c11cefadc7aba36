/* Shared parts of the diagnostics. Arrays of chains are contiguous: x[chains][draws]. */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_ESS_INTERNAL_H
#define HASTINGS_MCMC_DIAGNOSTICS_ESS_INTERNAL_H

#include <stdint.h>

#include <hastings/mcmc/diagnostics/ess.h>

/* ---- autocovariance.c: a(t) of several chains, computed as far as it is asked for ---------- */

typedef struct {
    size_t chains, draws;
    double *y;    /* [chains][draws], each chain minus its mean */
    double *a;    /* a[0 .. known-1], the mean over chains */
    size_t known; /* lags computed so far */
    double *wave, *twiddle;
    size_t capacity, table; /* complex numbers that fit in wave; entries of twiddle that are set */
} autocovariance;

/* Room for up to `size` numbers in chains of up to `draws`; to be freed, also after a failure. */
hs_status hs__autocovariance_init(autocovariance *c, size_t size, size_t draws);
void hs__autocovariance_free(autocovariance *c);

/* Starts on x[chains][draws]. Returns the sum of (chain mean - mean of chain means)^2. */
double hs__autocovariance_start(autocovariance *c, const double *x, size_t chains, size_t draws);

/* Makes a[0 .. lag] known; lag < draws. */
hs_status hs__autocovariance_extend(autocovariance *c, size_t lag);

/* ---- geyer.c: the kernel -------------------------------------------------------------------- */

/* ESS of x[chains][draws]; r is scratch of `draws` numbers. */
hs_status hs__geyer_ess(autocovariance *c, double *r, const double *x, size_t chains, size_t draws,
                        double *ess, bool *capped);

/* ---- rank.c --------------------------------------------------------------------------------- */

/* order[0 .. n-1]: the indices of x in ascending order. The scratch arrays have n numbers each. */
void hs__rank_sort(const double *x, size_t n, size_t *order, uint64_t *key, uint64_t *key2,
                   size_t *order2);

/* The order of |x - centre|, from the order of x. */
void hs__rank_fold(const double *x, const size_t *order, size_t n, double centre, size_t *folded);

/* score[order[i]] = normal score of the average rank of value[order[i]]. */
void hs__rank_scores(const double *value, const size_t *order, size_t n, double *score);

/* The quantile p, type 7, with the bits of ArviZ; between equal values it is that value. n > 0. */
double hs__rank_quantile(const double *x, const size_t *order, size_t n, double p);

/* The median: the value in the middle, or the mean of the two there. n > 0. */
double hs__rank_median(const double *x, const size_t *order, size_t n);

#endif
