/* The format in builds with and without the library NetCDF; netcdf_*.c are compiled in the former. */
#include "netcdf_internal.h"

#include <hastings/tensor/message.h>

hs_status hs__netcdf_read(hs_chains **chains, hs_chain_names *names, const char *path,
                          hs_message *message)
{
    return hs_chains_load_netcdf(chains, path, NULL, names, message);
}

hs_status hs__netcdf_write(const hs_chains *chains, const char *const *names, const char *path,
                           hs_message *message)
{
    return hs_chains_save_netcdf(chains, &(hs_netcdf_options){ .labels = names }, path, message);
}

#if HS_WITH_NETCDF

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

#else

static hs_status fail(const char *path, hs_message *message)
{
    return hs_message_fail(message, HS_EINVAL,
                           "%.300s: this build of Hastings has no NetCDF: install libnetcdf with "
                           "its headers, and build again with -DHS_WITH_NETCDF=ON",
                           path ? path : "no path");
}

hs_status hs_chains_save_netcdf(const hs_chains *chains, const hs_netcdf_options *options,
                                const char *path, hs_message *message)
{
    (void)chains, (void)options;
    return fail(path, message);
}

hs_status hs_chains_load_netcdf(hs_chains **chains, const char *path,
                                const hs_netcdf_selection *selection, hs_chain_names *names,
                                hs_message *message)
{
    (void)selection;
    if (chains)
        *chains = NULL;
    if (names)
        *names = (hs_chain_names){ 0 };
    return fail(path, message);
}

#endif
