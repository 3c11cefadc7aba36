/**
 * Chains as CSV files of CmdStan, one file a chain, which the tools round Stan read: cmdstanpy,
 * cmdstanr, ArviZ, stansummary.
 *
 *     hs_message message;                       // writes draws_1.csv, draws_2.csv, ...
 *     if (hs_chains_save_stan_csv(chains, NULL, "draws", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *
 * and then in Python:
 *
 *     fit = cmdstanpy.from_csv("draws_*.csv")
 *     data = arviz.from_cmdstan("draws_*.csv")
 *
 * A file has comments with settings, a line with the names of columns, and a line for each draw.
 * Columns whose names end in "__" are about the sampler: lp__ (log pi), accept_stat__ (alpha); those
 * that only Hamiltonian samplers have are written as constants, since readers insist on them; and
 * ours alone are jump__ (alpha |y - x|^2) and accepted__. Numbers are written so that reading gives
 * them back exactly.
 *
 * hs_chains_read() loads such files: the draws, which may be nan and inf, without those of the
 * warm-up, and what is there of lp__, accept_stat__, jump__ and accepted__. Other columns that end in
 * "__" are ignored. Names are shown as Stan does: theta[2,1]. HS_EFORMAT, with line and column, tells
 * of a file that is empty, truncated, or has text where a number was expected, more or fewer columns
 * than its header, or more or fewer draws than it says.
 *
 * Functions may run on any thread, and do not depend on the locale.
 */
#ifndef HASTINGS_MCMC_IO_STAN_CSV_H
#define HASTINGS_MCMC_IO_STAN_CSV_H

#include <stdint.h>

#include <hastings/mcmc/chains.h>

/** Zero is the default of each. */
typedef struct {
    const char *const *names; /**< [dim]: of the coordinates; NULL: x.1, x.2, ... */
    const char *model;        /**< what was sampled; NULL: "hastings_model" */
    size_t warmup;            /**< transitions that each chain made before its first draw */
    uint64_t seed;            /**< for the header of the files */
} hs_stan_csv_options;

/**
 * Saves chain m as STEM_m.csv, m = 1, 2, ... A name "theta[2,1]" becomes Stan's theta.2.1 if all
 * elements of theta are there, in Stan's order (first index fastest, from 1). Otherwise, in names
 * and model, what is neither letter, digit nor "_" becomes "_", and names that would be equal get
 * numbers. Each file is written under another name and renamed. HS_EIO if a file cannot be written,
 * HS_EINVAL for no chains, HS_ENOMEM. `options` and `message` may be NULL.
 */
HS_API hs_status hs_chains_save_stan_csv(const hs_chains *chains,
                                         const hs_stan_csv_options *options, const char *stem,
                                         hs_message *message) HS_MUST_CHECK;

#endif
