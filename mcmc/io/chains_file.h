/**
 * Chains in files of any format. The formats are the rows of mcmc/io/chain_formats.def.
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
 *
 * A format has more options by itself: mcmc/chains.h (NumPy), mcmc/io/netcdf.h (ArviZ),
 * mcmc/io/stan_csv.h (CmdStan).
 */
#ifndef HASTINGS_MCMC_IO_CHAINS_FILE_H
#define HASTINGS_MCMC_IO_CHAINS_FILE_H

#include <hastings/mcmc/chains.h>

/** A format of chains. */
typedef struct {
    const char *ending; /**< of a file's name, such as ".nc" */
    const char *tool;   /**< whose format it is, in a word */
    const char *about;  /**< what a file holds, in a phrase */
    bool a_chain; /**< each chain has a file of its own: "a.csv" makes a_1.csv, a_2.csv, ... */
    bool streams; /**< hs_sample() can write draws in this format while it samples */
    bool built;   /**< false if this build lacks a library that the format needs; reading and
                             writing then fail, and say so */
} hs_chain_format;

/** Format number `i` of the table; NULL after the last. */
HS_API const hs_chain_format *hs_chain_format_at(size_t i);

/** The format of a path, by its ending. NULL, and a message that lists the known endings, if there
 *  is none. `message` may be NULL. */
HS_API const hs_chain_format *hs_chain_format_of(const char *path, hs_message *message);

/**
 * Reads files and puts their chains together. The first bytes of a file tell its format; each file has
 * one chain or several. All files have as many draws and coordinates as the first, and the same names
 * if both have names. An array that one file lacks (log_pi, say) is NULL in the result; counts are
 * added. Coordinates without names are x[0], x[1], ...
 *
 * Errors are those of the format; HS_ESHAPE if files do not fit together. `*chains` is NULL after a
 * failure. `names` and `message` may be NULL.
 */
HS_API hs_status hs_chains_read(hs_chains **chains, hs_chain_names *names, const char *const *paths,
                                size_t count, hs_message *message) HS_MUST_CHECK;

/**
 * Writes chains; the ending of `path` tells the format. `names` ([dim], or NULL) are of the
 * coordinates; a NumPy array holds neither these nor anything but x. HS_EINVAL for an unknown ending.
 * `message` may be NULL.
 */
HS_API hs_status hs_chains_write(const hs_chains *chains, const char *const *names,
                                 const char *path, hs_message *message) HS_MUST_CHECK;

#endif
