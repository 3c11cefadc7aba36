/* What writing and reading of NetCDF files share. */
#ifndef HASTINGS_MCMC_IO_NETCDF_INTERNAL_H
#define HASTINGS_MCMC_IO_NETCDF_INTERNAL_H

#include <stdint.h>

#include <hastings/mcmc/io/netcdf.h>

#define POSTERIOR "posterior"
#define STATS     "sample_stats"

/* One thread at a time may be inside of NetCDF and HDF5. */
void hs__netcdf_lock(void);
void hs__netcdf_unlock(void);

/* Files of ours end, after all that HDF5 looks at, with a mark and the CRC-32 of what is before it.
 * Damage is found before HDF5 sees it, which would not notice wrong numbers, and may crash or hang
 * on the rest. */
enum { NETCDF_MARK = 8, NETCDF_TRAILER = NETCDF_MARK + 4 };

void hs__netcdf_make_trailer(uint32_t crc, unsigned char trailer[NETCDF_TRAILER]);

/* HS_EFORMAT if the file has a trailer and is not what was written; HS_EIO, HS_ENOMEM. */
hs_status hs__netcdf_check_trailer(const char *path, uint64_t bytes, hs_message *message);

/* What sample_stats has about each draw: in chains, and in files. */
typedef struct {
    unsigned keep;
    const char *name;
} netcdf_stat;

enum { NETCDF_NUMBERS = 3 }; /* the statistics that are numbers; the last is true or false */
extern const netcdf_stat hs__netcdf_stats[NETCDF_NUMBERS + 1];

/* The array of numbers [chains][draws] of statistic i; NULL if the chains do not have it. */
double *hs__netcdf_numbers(const hs_chains *c, int i);

#endif
