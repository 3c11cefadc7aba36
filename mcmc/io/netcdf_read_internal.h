/* A NetCDF file that is being read. */
#ifndef HASTINGS_MCMC_IO_NETCDF_READ_INTERNAL_H
#define HASTINGS_MCMC_IO_NETCDF_READ_INTERNAL_H

#include <netcdf.h>

#include <hastings/tensor/message.h>
#include "netcdf_internal.h"

enum { NETCDF_RANK = 16 }; /* axes of a variable that we read */

/* A variable of draws: (chain, draw, ...). */
typedef struct {
    char name[NC_MAX_NAME + 1];
    int variable, rank;
    int dimension[NETCDF_RANK];
    size_t length[NETCDF_RANK];
    size_t count; /* numbers of one draw */
} netcdf_field;

typedef struct {
    const char *path;
    hs_message *message;
    uint64_t bytes;  /* of the file */
    int file, group; /* as the library calls them */
    size_t chains, draws, dim;
    netcdf_field *field;
    size_t fields;
    int error; /* of looking for statistics and attributes */
} netcdf_reader;

#define NETCDF_FAIL(r, status, ...) hs_message_fail((r)->message, status, "%.300s: " __VA_ARGS__)

/* Turns an error of the library into ours. */
hs_status hs__netcdf_fail(const netcdf_reader *r, int error, const char *what);

/* Names all coordinates. */
hs_status hs__netcdf_read_names(const netcdf_reader *r, hs_chain_names *names);

#endif
