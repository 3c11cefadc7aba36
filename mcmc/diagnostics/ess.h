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
 * The definitions are those of ArviZ and of R's posterior (Vehtari et al. 2021, Bayesian Analysis
 * 16:667; Geyer 1992). With M chains of N draws, S = M N:
 *
 *     kernel     a(t): biased autocovariance (divided by N) about each chain's mean, averaged over
 *                chains; W = a(0) N/(N-1); V = a(0) + variance of the chain means (M > 1, divided
 *                by M-1); rho(t) = 1 - (W - a(t))/V; Geyer's initial positive and monotone sequence
 *                gives tau; tau >= 1/log10(S); ESS = S/tau, hence at most S log10(S), its cap
 *     split      each chain becomes two: its first and its last N/2 draws; an odd N drops the draw
 *                in the middle
 *     scores     normal scores of the pooled average ranks, Phi^-1((rank - 3/8)/(S + 1/4))
 *     quantile   q_p by linear interpolation (type 7) in the pooled draws
 *
 * A series with fewer than 4 draws a chain, with a NaN or with an infinity gives NaN, not an error.
 * A constant series (largest - smallest < 1e-15) has ESS = S as in ArviZ (Stan and posterior say
 * NA) and R-hat = NaN; hs_diagnose() treats coordinates that never move differently.
 *
 * The caller owns all arrays. The functions are pure, use memory only while they run, and any
 * thread may call them. All return HS_ENOMEM or HS_EOVERFLOW without memory, and HS_EINVAL for a
 * NULL that is not allowed. The cost is O(S log S) at most: few lags are summed directly, many come
 * from a Fourier transform.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_ESS_H
#define HASTINGS_MCMC_DIAGNOSTICS_ESS_H

#include <stdbool.h>
#include <stddef.h>

#include <hastings/tensor/status.h>

/** One quantity: draw n of chain m is x[m * chain_stride + n * draw_stride]. */
typedef struct {
    const double *x;                  /**< numbers, not owned */
    size_t chains, draws;             /**< number of chains, and of draws in each */
    size_t chain_stride, draw_stride; /**< distances between chains, and between draws */
    /** NULL, or asked a few times: true ends the computation with HS_EINTERRUPTED */
    bool (*interrupted)(void *context);
    void *context; /**< argument of `interrupted` */
} hs_series;

/** Series of a plain array x[chains][draws]. */
HS_API hs_series hs_series_of(const double *x, size_t chains, size_t draws);

/** The one list of kinds of ESS: identifier, name for people, definition. */
#define HS_ESS_LIST(X)                                                                             \
    X(HS_ESS_RAW, "raw", "of x, neither split nor ranked, as in the paper")                        \
    X(HS_ESS_MEAN, "mean", "of split x")                                                           \
    X(HS_ESS_BULK, "bulk", "of the scores of split x: the default of ArviZ")                       \
    X(HS_ESS_TAIL, "tail", "the smaller of the ESS of the 5% and the 95% quantile")                \
    X(HS_ESS_SD, "sd", "of split (x - mean)^2")                                                    \
    X(HS_ESS_SQUARE_RAW, "raw of x^2", "as raw, of the second moment")                             \
    X(HS_ESS_SQUARE_MEAN, "mean of x^2", "as mean, of the second moment")                          \
    X(HS_ESS_SQUARE_BULK, "bulk of x^2", "as bulk, of the second moment")

/** Kinds of ESS: the rows of HS_ESS_LIST. */
typedef enum {
#define HS_ESS_ENUM(kind, name, text) kind,
    HS_ESS_LIST(HS_ESS_ENUM)
#undef HS_ESS_ENUM
        HS_ESS_KINDS /**< number of kinds */
} hs_ess_kind;

/** Name of a kind: "raw", "mean", ...; "?" if there is none. */
HS_API const char *hs_ess_name(hs_ess_kind kind);

/** All figures of one series. */
typedef struct {
    double mean, sd; /**< mean and standard deviation of all draws; sd is divided by S - 1 */
    double ess[HS_ESS_KINDS];  /**< ESS of each kind */
    bool capped[HS_ESS_KINDS]; /**< true where the ESS is at its cap */
    double rhat_split;         /**< sqrt((B/W + N-1)/N) of split x */
    double rhat;      /**< rank-normalised: the larger R-hat of the scores of split x and of those
                           of |split x - median|; one chain (ArviZ: NaN) is judged by its halves */
    double mcse_mean; /**< sd / sqrt(ESS mean) */
    double mcse_sd;   /**< sqrt((E c^2 - (E c)^2) / (4 E c  ESS sd)) with c = (x - mean)^2 */
    bool constant;    /**< all draws are equal: nothing ever moved */
} hs_series_summary;

/** Computes all figures, which is cheaper than one by one. All are NaN after a failure. */
HS_API hs_status hs_series_summarise(const hs_series *series,
                                     hs_series_summary *summary) HS_MUST_CHECK;

/** Computes one ESS. `capped` (may be NULL) tells whether it is at its cap. */
HS_API hs_status hs_ess(const hs_series *series, hs_ess_kind kind, double *ess,
                        bool *capped) HS_MUST_CHECK;

/** Computes the ESS of the quantile p in [0, 1] (0.5: the median), hence of split 1[x <= q_p]. */
HS_API hs_status hs_ess_quantile(const hs_series *series, double p, double *ess,
                                 bool *capped) HS_MUST_CHECK;

/** Computes split R-hat and rank-normalised R-hat; either may be NULL. */
HS_API hs_status hs_rhat(const hs_series *series, double *split, double *rank) HS_MUST_CHECK;

/** Computes the Monte-Carlo standard errors of mean and sd; either may be NULL. */
HS_API hs_status hs_mcse(const hs_series *series, double *mean, double *sd) HS_MUST_CHECK;

/** Computes rho(t) of the kernel for t = 0 .. lags-1, unsplit; NaN beyond the last draw. */
HS_API hs_status hs_autocorrelation(const hs_series *series, size_t lags,
                                    double *rho) HS_MUST_CHECK;

#endif
