#include "netcdf_internal.h"

#include <hdf5.h>
#include <pthread.h>

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

void hs__netcdf_lock(void)
{
    pthread_mutex_lock(&library);
    /* HDF5 prints what it stumbles over, which NetCDF switches off on its first thread alone. */
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hs__netcdf_unlock(void)
{
    pthread_mutex_unlock(&library);
}

const netcdf_stat hs__netcdf_stats[NETCDF_NUMBERS + 1] = {
    { HS_KEEP_LOG_PI, "lp" },
    { HS_KEEP_ALPHA, "acceptance_rate" },
    { HS_KEEP_JUMP, "jump" },
    { HS_KEEP_ACCEPTED, "accepted" },
};

double *hs__netcdf_numbers(const hs_chains *c, int i)
{
    return i == 0 ? c->log_pi : i == 1 ? c->alpha : c->jump;
}
