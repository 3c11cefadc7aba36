/**
 * Names of the coordinates of chains, as they are shown: "mu", "theta[1]", "x[0]".
 *
 *     hs_chain_names names;
 *     if (hs_chains_read(&chains, &names, paths, count, &message) == HS_OK) {
 *         for (size_t i = 0; i < names.count; i++)       // names.count == chains->dim
 *             puts(names.name[i]);
 *         hs_chain_names_free(&names);
 *     }
 *
 * Names own their text. Functions that fill them expect nothing of what was there before, and leave
 * them empty after a failure.
 */
#ifndef HASTINGS_MCMC_IO_CHAIN_NAMES_H
#define HASTINGS_MCMC_IO_CHAIN_NAMES_H

#include <stddef.h>

#include <hastings/tensor/memory.h>

/** Names of coordinates. */
typedef struct {
    size_t count;      /**< how many */
    const char **name; /**< [count], each ended by '\0' */
    hs_arena text;     /**< owns it all */
} hs_chain_names;

/** Frees what the names own, and empties them; NULL is allowed. */
HS_API void hs_chain_names_free(hs_chain_names *names);

#endif
