/**
 * Diagnosis of chains: acceptance, jumps, effective sample sizes, R-hat and warnings.
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
 * mcmc/diagnostics/ess.h defines ESS, R-hat and MCSE. One definition differs here: a coordinate that never moved
 * has ESS 0, where ArviZ gives chains * draws, and HS_WARN_CONSTANT is set. A sampler that rejects everything must
 * not look perfect. mcmc/diagnostics/figures.h lists all figures of a report with names and titles.
 *
 * "This chain looks non-ergodic" (HS_WARN_NONERGODIC) warns of chains whose first moments look excellent while
 * other figures show that the chains do not explore: a sampler that flips between two of four modes, or a strongly
 * antithetic one. The rule holds for each coordinate, with S = chains * draws and first = min(ESS raw, ESS mean):
 *
 *     first is high:  first >= S / 10, and
 *     one of          the second moment is bad: the least of ESS sd and of x^2 (raw, mean)
 *                     < min(first, S) / 10;
 *                     the tails are bad:  ESS tail < min(first, S) / 10;
 *                     R-hat is bad:  R-hat > 1.1, and (R-hat^2 - 1) first / (2 chains) > 20: the
 *                     half chains differ far more than `first` independent draws allow (this is
 *                     about the F statistic of an analysis of variance).
 *
 * Chains of fewer than 20 draws are not suspected. Simulation chose the thresholds. Of 2000 runs with independent
 * draws at each of 24 sizes (1 to 10 chains of 20 to 1000 draws), the rule suspects at most 2. Of AR(1) chains with
 * phi from 0.3 to 0.999 it suspects none, with phi = -0.95 and 4 x 1000 draws all. It suspects all chains that flip
 * on the cross.
 *
 * Chains that are merely slow have a low `first`, and get HS_WARN_FEW_DRAWS or HS_WARN_RHAT instead. Chains that
 * all miss the same region look fine; no diagnosis of draws alone can see that.
 *
 * A report owns its coordinates. hs_diagnose() only reads the chains; its result does not depend on the number of
 * threads.
 */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_H
#define HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_H

#include <stdint.h>
#include <stdio.h>

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/diagnostics/ess.h>

/* The one list of warnings: enumerator, bit, name in files, condition. Thresholds: see above. */
#define HS_WARNING_LIST(X)                                                                         \
    X(HS_WARN_NONERGODIC, 0, "nonergodic", "first moments look fine, others do not: see above")    \
    X(HS_WARN_RHAT, 1, "rhat", "a rank-normalised R-hat is above 1.01 (Vehtari et al. 2021)")      \
    X(HS_WARN_FEW_DRAWS, 2, "few_draws",                                                           \
      "an ESS bulk, tail or sd is below 100 a chain (Vehtari et al. 2021)")                        \
    X(HS_WARN_CONSTANT, 3, "constant", "a coordinate never moved")                                 \
    X(HS_WARN_CAPPED, 4, "capped", "an ESS is at its cap, S log10(S): it is at least that")        \
    X(HS_WARN_UNDEFINED, 5, "undefined",                                                           \
      "a figure cannot be computed: the numbers are too large to square")                          \
    X(HS_WARN_NONFINITE, 6, "nonfinite",                                                           \
      "proposals were rejected since their log density was not finite")

/** Warnings, as bits of hs_report.warnings. */
typedef enum {
#define HS_WARNING_ENUM(warning, bit, name, text) warning = 1 << bit,
    HS_WARNING_LIST(HS_WARNING_ENUM)
#undef HS_WARNING_ENUM
} hs_warning;

/** Options of hs_diagnose(). */
typedef struct {
    size_t coordinates; /**< judge only the first so many, say without auxiliary ones; 0: all */
    size_t skip;        /**< draws dropped at the start of each chain */
    int threads;        /**< 0: hs_threads_default() */

    /** NULL, or asked some times for each coordinate, by several threads: true ends the diagnosis with HS_EINTERRUPTED. */
    bool (*interrupted)(void *context);
    void *context; /**< argument of `interrupted` */
} hs_diagnose_options;

/** An ESS over coordinates. All three figures are NaN if that of one coordinate is. */
typedef struct {
    double min;    /**< of the worst coordinate */
    double median; /**< of the median coordinate */
    double max;    /**< of the best coordinate */
    size_t worst;  /**< the first coordinate with the least */
    size_t capped; /**< number of coordinates at the cap */
} hs_ess_range;

/** The diagnosis of chains. Figures that the chains do not record are NaN. */
typedef struct {
    size_t chains;      /**< number of chains */
    size_t draws;       /**< draws judged of each chain */
    size_t dim;         /**< coordinates judged */
    uint64_t proposals; /**< proposals made for these draws */
    uint64_t gradients; /**< gradients computed for these draws */
    uint64_t nonfinite; /**< proposals of the whole chains whose log density was not finite */
    double seconds;     /**< time that these draws took */

    double acceptance;    /**< mean alpha */
    double accepted;      /**< share of the proposals that were accepted */
    double msjd;          /**< mean alpha |y - x|^2 as recorded */
    double realised_jump; /**< mean |x(n+1) - x(n)|^2 of the draws, always known */
    double mean_log_pi;   /**< mean log density of the draws */

    hs_ess_range ess[HS_ESS_KINDS]; /**< each kind of ESS over coordinates */
    double ess_per_proposal; /**< the paper's figure: min over coordinates and over {x, x^2} of
                                         ESS raw, divided by chains * draws */
    double ess_per_proposal_median; /**< the same of the median coordinate */
    double ess_per_proposal_max;    /**< the same of the best coordinate */
    double rhat;                    /**< largest rank-normalised R-hat of a coordinate */
    double rhat_split;              /**< largest split R-hat of a coordinate */
    size_t rhat_worst;              /**< the coordinate with the largest rhat */

    unsigned warnings;       /**< hs_warning, or-ed */
    size_t nonergodic;       /**< number of coordinates that look non-ergodic */
    size_t nonergodic_worst; /**< of these, the coordinate whose ESS differ most, or the first */
    size_t constant;         /**< number of coordinates that never moved */
    size_t constant_first;   /**< the first of these */
    hs_series_summary *coordinate; /**< [dim]: the diagnosis of each coordinate */
} hs_report;

/**
 * Judges chains. HS_EINVAL for no chains, no draws array, fewer than 4 draws, or options that leave
 * nothing; HS_ENONFINITE if a draw is NaN or infinite (the message says which); HS_ENOMEM.
 * `options` and `message` may be NULL. After a failure the report is empty and need not be freed.
 */
HS_API hs_status hs_diagnose(const hs_chains *chains, const hs_diagnose_options *options,
                             hs_report *report, hs_message *message) HS_MUST_CHECK;

/** Frees the memory of a report; NULL is allowed. */
HS_API void hs_report_free(hs_report *report);

/** An ESS per proposal; NaN if the chains do not know the number of proposals. */
HS_API double hs_report_per_proposal(const hs_report *report, double ess);
/** An ESS per second; NaN if the chains do not know the time. */
HS_API double hs_report_per_second(const hs_report *report, double ess);
/** An ESS per gradient; NaN if the chains do not know the number of gradients. */
HS_API double hs_report_per_gradient(const hs_report *report, double ess);

/** A warning as a sentence with its figures; false, and "", if the report does not give it. */
HS_API bool hs_report_warning(const hs_report *report, hs_warning warning, hs_message *sentence);

/** Prints a table and the warnings. HS_EIO if the stream fails. */
HS_API hs_status hs_report_print(FILE *stream, const hs_report *report);

#endif
