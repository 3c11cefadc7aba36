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
    size_t bytes;    /* of the file */
    size_t claimed;  /* bytes of numbers and names, by the file */
    int file, group; /* as the library calls them */
    size_t chains, draws, dim;
    netcdf_field *field;
    size_t fields;
    int error; /* of looking for statistics and attributes */
} netcdf_reader;

#define NETCDF_FAIL(r, status, ...) hs_message_fail((r)->message, status, "%.300s: " __VA_ARGS__)

/* Turns an error of the library into ours. */
hs_status hs__netcdf_fail(const netcdf_reader *r, int error, const char *what);

/* Counts bytes of numbers or names that are to be read next; HS_EFORMAT if the file cannot hold all that were counted. */
hs_status hs__netcdf_claim(netcdf_reader *r, size_t bytes, const char *what);

/* Names all coordinates. */
hs_status hs__netcdf_read_names(netcdf_reader *r, hs_chain_names *names);

#endif
