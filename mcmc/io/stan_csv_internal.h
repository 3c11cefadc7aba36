/* What writing and reading of CmdStan's files share. */
#ifndef HASTINGS_MCMC_IO_STAN_CSV_INTERNAL_H
#define HASTINGS_MCMC_IO_STAN_CSV_INTERNAL_H

#include <stdbool.h>

#include <hastings/mcmc/io/stan_csv.h>

/* Columns for coordinates of these names ([count], or NULL): theta.2.1 for theta[2,1]. False if
 * there is no memory. */
bool hs__stan_column_names(const char *const *names, size_t count, hs_chain_names *columns);

/* How a column is shown: theta[2,1] for theta.2.1. NULL if there is no memory. */
const char *hs__stan_shown_name(hs_arena *arena, const char *column, size_t length);

/* A name that every reader takes, of letters, digits and "_". NULL if there is no memory. */
char *hs__stan_plain_name(hs_arena *arena, const char *name);

#endif
