/**
 * Effective sample size, R-hat and Monte-Carlo errors of one quantity drawn by several chains.
 *
 *     double draws[4][1000];                                   // 4 chains
 *     hs_series x = hs_series_of(draws[0], 4, 1000);
 *     double bulk, rhat;
 *     if (hs_ess(&x, HS_ESS_BULK, &bulk, NULL) || hs_rhat(&x, NULL, &rhat))
 *         ...                                                  // out of memory
 *     printf("ESS %.0f  R-hat %.3f\n", bulk, rhat);
 *
 * Definitions are those of ArviZ and R's posterior (Vehtari et al. 2021, Bayesian Analysis 16:667;
 * Geyer 1992). With M chains of N draws, S = M N:
 *
 *     kernel     a(t): biased autocovariance (divided by N), mean over chains, each round its own
 *                mean; W = a(0) N/(N-1); V = a(0) + variance of the chain means (M > 1, divided by
 *                M-1); rho(t) = 1 - (W - a(t))/V; Geyer's initial positive and monotone sequence
 *                gives tau; tau >= 1/log10(S); ESS = S/tau, hence at most S log10(S), its cap
 *     split      the first and the last N/2 draws of each chain are chains of their own; an odd N
 *                drops the draw in the middle
 *     scores     normal scores of the pooled average ranks, Phi^-1((rank - 3/8)/(S + 1/4))
 *     quantile   q_p by linear interpolation (type 7) in the pooled draws
 *
 * Series that cannot be judged give NaN, not an error: fewer than 4 draws a chain, a NaN, an
 * infinity. A constant series (largest - smallest < 1e-15) has ESS = S as in ArviZ (Stan and
 * posterior say NA) and R-hat = NaN; hs_diagnose() treats coordinates that never move differently.
 *
 * Functions are pure, take memory only while they run, and may be called from any thread. Their
 * cost is O(S log S) at most: a few lags are summed directly, many come from a Fourier transform.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_ESS_H
#define HASTINGS_MCMC_DIAGNOSTICS_ESS_H

#include <stdbool.h>
#include <stddef.h>

#include <hastings/tensor/status.h>

/** Draw n of chain m is x[m * chain_stride + n * draw_stride]. Not owned. */
typedef struct {
    const double *x;
    size_t chains, draws;
    size_t chain_stride, draw_stride;
} hs_series;

/** The series of a plain array x[chains][draws]. */
HS_API hs_series hs_series_of(const double *x, size_t chains, size_t draws);

/* The one list of kinds: name, the name shown to people, what it is. */
#define HS_ESS_LIST(X)                                                                             \
    X(HS_ESS_RAW, "raw", "of x, neither split nor ranked: what the paper used")                    \
    X(HS_ESS_MEAN, "mean", "of split x")                                                           \
    X(HS_ESS_BULK, "bulk", "of the scores of split x: the default of ArviZ")                       \
    X(HS_ESS_TAIL, "tail", "the smaller of the ESS of the 5% and the 95% quantile")                \
    X(HS_ESS_SD, "sd", "of split (x - mean)^2")                                                    \
    X(HS_ESS_SQUARE_RAW, "raw of x^2", "as raw, of the second moment")                             \
    X(HS_ESS_SQUARE_MEAN, "mean of x^2", "as mean, of the second moment")                          \
    X(HS_ESS_SQUARE_BULK, "bulk of x^2", "as bulk, of the second moment")

typedef enum {
#define HS_ESS_ENUM(kind, name, text) kind,
    HS_ESS_LIST(HS_ESS_ENUM)
#undef HS_ESS_ENUM
        HS_ESS_KINDS /**< how many there are */
} hs_ess_kind;

/** "raw", "mean", ...; never NULL. */
HS_API const char *hs_ess_name(hs_ess_kind kind);

/** What a series says about one quantity. `capped` tells which ESS are at their cap. */
typedef struct {
    double mean, sd; /**< of all draws; sd is divided by S - 1 */
    double ess[HS_ESS_KINDS];
    bool capped[HS_ESS_KINDS];
    double rhat_split; /**< sqrt((B/W + N-1)/N) of split x */
    double rhat;       /**< rank-normalised: the larger of the R-hat of the scores of split x and of
                            |split x - median|; of one chain (ArviZ: NaN), that of its halves */
    double mcse_mean;  /**< sd / sqrt(ESS mean) */
    double mcse_sd;    /**< sqrt((E c^2 - (E c)^2) / (4 E c  ESS sd)) with c = (x - mean)^2 */
    bool constant;     /**< all draws are equal: nothing ever moved */
} hs_series_summary;

/** Everything at once, which is cheaper than one by one. HS_ENOMEM, or HS_EINVAL for a NULL. */
HS_API hs_status hs_series_summarise(const hs_series *series,
                                     hs_series_summary *summary) HS_MUST_CHECK;

/** One ESS; `capped` (may be NULL) tells whether it is at its cap. */
HS_API hs_status hs_ess(const hs_series *series, hs_ess_kind kind, double *ess,
                        bool *capped) HS_MUST_CHECK;

/** The ESS of the quantile p in [0, 1]: of split 1[x <= q_p]. p = 0.5 is the median. */
HS_API hs_status hs_ess_quantile(const hs_series *series, double p, double *ess,
                                 bool *capped) HS_MUST_CHECK;

/** Split R-hat and rank-normalised R-hat; either may be NULL. */
HS_API hs_status hs_rhat(const hs_series *series, double *split, double *rank) HS_MUST_CHECK;

/** Monte-Carlo standard errors of mean and sd; either may be NULL. */
HS_API hs_status hs_mcse(const hs_series *series, double *mean, double *sd) HS_MUST_CHECK;

/** rho(t) of the kernel for t = 0 .. lags-1, unsplit; NaN beyond the last draw. */
HS_API hs_status hs_autocorrelation(const hs_series *series, size_t lags,
                                    double *rho) HS_MUST_CHECK;

#endif
