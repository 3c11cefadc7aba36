/* The functions of the rows in chain_formats.def. */
#ifndef HASTINGS_MCMC_IO_CHAIN_FORMATS_INTERNAL_H
#define HASTINGS_MCMC_IO_CHAIN_FORMATS_INTERNAL_H

#include <hastings/mcmc/io/chains_file.h>

/* hs__ID_read() makes the chains of a file, and names them if the file has names. `*chains` is NULL
 * and `names` empty; the caller frees both, also after a failure.
 * hs__ID_write() gets names, or NULL, and may leave them out. */
typedef hs_status chain_reader(hs_chains **chains, hs_chain_names *names, const char *path,
                               hs_message *message);
typedef hs_status chain_writer(const hs_chains *chains, const char *const *names, const char *path,
                               hs_message *message);

/* The array of a HS_KEEP_ flag, which is not HS_KEEP_ACCEPTED; NULL if the chains do not have it. */
static inline double *hs__chains_numbers(const hs_chains *c, unsigned keep)
{
    return keep == HS_KEEP_LOG_PI ? c->log_pi : keep == HS_KEEP_ALPHA ? c->alpha : c->jump;
}

#define HS_CHAIN_FORMAT(id, ending, first_bytes, a_chain, streams, built, tool, about)             \
    chain_reader hs__##id##_read;                                                                  \
    chain_writer hs__##id##_write;
#include "chain_formats.def"

#endif
