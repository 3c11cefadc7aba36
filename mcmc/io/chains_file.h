/**
 * Chains in whatever kind of file: NumPy's (mcmc/chains.h), ArviZ's (mcmc/io/netcdf.h) or CmdStan's
 * (mcmc/io/stan_csv.h).
 *
 *     hs_chains *chains;
 *     hs_chain_names names;
 *     hs_message message;
 *     if (hs_chains_read(&chains, &names, (const char *[]){ "draws.nc" }, 1, &message)) {
 *         fprintf(stderr, "%s\n", message.text);
 *     } else {
 *         ...
 *         hs_chain_names_free(&names);
 *         hs_chains_free(chains);
 *     }
 */
#ifndef HASTINGS_MCMC_IO_CHAINS_FILE_H
#define HASTINGS_MCMC_IO_CHAINS_FILE_H

#include <hastings/mcmc/io/chain_names.h>
#include <hastings/mcmc/chains.h>

/**
 * Reads files, whose first bytes tell their kind, and puts their chains together: each file has one
 * chain or several. All must have as many draws and coordinates as the first, and the same names if
 * both have names. What one file does not know (log_pi, say) is NULL in the result, counts are
 * added. Coordinates without names are x[0], x[1], ... An array of NumPy is (chains, draws, dim).
 *
 * Errors are those of the functions that read one kind; HS_ESHAPE if files do not fit together.
 * `*chains` is NULL after a failure. `names` and `message` may be NULL.
 */
HS_API hs_status hs_chains_read(hs_chains **chains, hs_chain_names *names, const char *const *paths,
                                size_t count, hs_message *message) HS_MUST_CHECK;

/**
 * Writes chains; the ending of `path` tells what: .npy (x alone), .nc, or .csv, where "a.csv" makes
 * a_1.csv, a_2.csv, ..., one a chain. `names` ([dim], or NULL) are of the coordinates; .npy files
 * have none. HS_EINVAL for another ending. `message` may be NULL.
 */
HS_API hs_status hs_chains_write(const hs_chains *chains, const char *const *names,
                                 const char *path, hs_message *message) HS_MUST_CHECK;

#endif
