/**
 * What chains say about their sampler: acceptance, jumps, effective sample sizes, R-hat, warnings.
 *
 *     hs_report report;
 *     hs_message message;
 *     if (hs_diagnose(chains, NULL, &report, &message)) {
 *         fprintf(stderr, "%s\n", message.text);
 *     } else {
 *         hs_report_print(stdout, &report);
 *         if (report.warnings & HS_WARN_NONERGODIC)
 *             ...
 *         hs_report_free(&report);
 *     }
 *
 * Definitions of ESS, R-hat and MCSE are in mcmc/diagnostics/ess.h. With one difference: a coordinate that
 * never moved has ESS 0 here, not chains * draws as in ArviZ, and HS_WARN_CONSTANT is set, for a
 * sampler that rejects everything must not look perfect.
 *
 * "This chain looks non-ergodic" (HS_WARN_NONERGODIC) is the warning for chains whose first moments
 * look excellent while others tell that they do not explore: a sampler that flips between two of
 * four modes, say, or a strongly antithetic one. The rule, for each coordinate, with S = chains *
 * draws and first = min(ESS raw, ESS mean):
 *
 *     first is high:  first >= S / 10, and
 *     one of          the second moment is bad: the least of ESS sd and of x^2 (raw, mean)
 *                     < min(first, S) / 10;
 *                     the tails are bad:  ESS tail < min(first, S) / 10;
 *                     R-hat is bad:  R-hat > 1.1, and (R-hat^2 - 1) first / (2 chains) > 20: the
 *                     half chains differ far more than `first` independent draws allow (this is
 *                     about the F statistic of an analysis of variance).
 *
 * Chains of fewer than 20 draws are not suspected. The thresholds were chosen by simulation: of
 * 2000 runs with independent draws at each of 24 sizes (1 to 10 chains of 20 to 1000 draws) at most
 * 2 were suspected, of AR(1) chains with phi from 0.3 to 0.999 none, with phi = -0.95 and 4 x 1000
 * draws all, and all of those that flip on the cross.
 *
 * Chains that are merely slow have a low `first`, and get HS_WARN_FEW_DRAWS or HS_WARN_RHAT
 * instead. Chains that all miss the same region look fine; no diagnostic of draws alone can see
 * that.
 *
 * A report owns its coordinates. hs_diagnose() only reads the chains; its result does not depend on
 * the number of threads.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_H
#define HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_H

#include <stdint.h>
#include <stdio.h>

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/diagnostics/ess.h>

/* The one list of warnings: name, and when. Thresholds: see the enum below, and above. */
#define HS_WARNING_LIST(X)                                                                         \
    X(HS_WARN_NONERGODIC, 0, "first moments look fine, others do not: see above")                  \
    X(HS_WARN_RHAT, 1, "a rank-normalised R-hat is above 1.01 (Vehtari et al. 2021)")              \
    X(HS_WARN_FEW_DRAWS, 2, "an ESS bulk, tail or sd is below 100 a chain (Vehtari et al. 2021)")  \
    X(HS_WARN_CONSTANT, 3, "a coordinate never moved")                                             \
    X(HS_WARN_CAPPED, 4, "an ESS is at its cap, S log10(S): it is at least that")                  \
    X(HS_WARN_UNDEFINED, 5, "a figure cannot be computed: the numbers are too large to square")    \
    X(HS_WARN_NONFINITE, 6, "proposals were rejected since their log density was not finite")

typedef enum {
#define HS_WARNING_ENUM(name, bit, text) name = 1 << bit,
    HS_WARNING_LIST(HS_WARNING_ENUM)
#undef HS_WARNING_ENUM
} hs_warning;

typedef struct {
    size_t coordinates; /**< judge only the first so many, say without auxiliary ones; 0: all */
    size_t skip;        /**< draws dropped at the start of each chain */
    int threads;        /**< 0: hs_threads_default() */
} hs_diagnose_options;

/** Over coordinates; `worst` is the first coordinate with the least. NaN if one is NaN. */
typedef struct {
    double min, median, max;
    size_t worst;
    size_t capped; /**< coordinates at the cap */
} hs_ess_range;

typedef struct {
    size_t chains, draws, dim; /**< that were judged */
    uint64_t proposals, gradients, nonfinite;
    double seconds; /**< the last four: of the chains, for the draws that were judged */

    double acceptance;    /**< mean alpha; NaN if it was not recorded, as those below */
    double accepted;      /**< the share of proposals that were taken */
    double msjd;          /**< mean alpha |y - x|^2 as recorded */
    double realised_jump; /**< mean |x(n+1) - x(n)|^2 of the draws, always known */
    double mean_log_pi;

    hs_ess_range ess[HS_ESS_KINDS];
    double ess_per_proposal; /**< the paper's figure: min over coordinates and over {x, x^2} of ESS
                                  raw, divided by chains * draws */
    double rhat, rhat_split; /**< largest over coordinates */
    size_t rhat_worst;       /**< where rhat is largest */

    unsigned warnings;       /**< hs_warning, or-ed */
    size_t nonergodic;       /**< coordinates that look non-ergodic */
    size_t nonergodic_worst; /**< the one whose ESS differ most, or the first */
    size_t constant;         /**< coordinates that never moved */
    size_t constant_first;
    hs_series_summary *coordinate; /**< [dim] */
} hs_report;

/**
 * Judges chains. HS_EINVAL for no chains, no draws array, fewer than 4 draws, or options that leave
 * nothing; HS_ENONFINITE if a draw is NaN or infinite (the message says which); HS_ENOMEM.
 * `options` and `message` may be NULL. After a failure the report is empty and need not be freed.
 */
HS_API hs_status hs_diagnose(const hs_chains *chains, const hs_diagnose_options *options,
                             hs_report *report, hs_message *message) HS_MUST_CHECK;

/** Frees what a report owns; NULL is allowed. */
HS_API void hs_report_free(hs_report *report);

/** An ESS per proposal, per second, per gradient; NaN where the chains do not know these. */
HS_API double hs_report_per_proposal(const hs_report *report, double ess);
HS_API double hs_report_per_second(const hs_report *report, double ess);
HS_API double hs_report_per_gradient(const hs_report *report, double ess);

/** A warning as a sentence with its figures; false, and "", if the report does not give it. */
HS_API bool hs_report_warning(const hs_report *report, hs_warning warning, hs_message *sentence);

/** Prints a table and the warnings. HS_EIO if the stream fails. */
HS_API hs_status hs_report_print(FILE *stream, const hs_report *report);

#endif
