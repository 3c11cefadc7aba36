/* What writing and reading of NetCDF files share. */
#ifndef HASTINGS_MCMC_IO_NETCDF_INTERNAL_H
#define HASTINGS_MCMC_IO_NETCDF_INTERNAL_H

#include <stdint.h>

#include <hastings/mcmc/io/netcdf.h>
#include "chain_formats_internal.h"

#define POSTERIOR "posterior"
#define STATS     "sample_stats"

/* One thread at a time may be inside of NetCDF and HDF5. */
void hs__netcdf_lock(void);
void hs__netcdf_unlock(void);

/* What sample_stats has about each draw: in chains, and in files. */
typedef struct {
    unsigned keep;
    const char *name;
} netcdf_stat;

enum { NETCDF_NUMBERS = 3 }; /* the statistics that are numbers; the last is true or false */
extern const netcdf_stat hs__netcdf_stats[NETCDF_NUMBERS + 1];

#endif
