/* Writing of NetCDF files. The library makes them in memory, and they reach the disk by
 * tensor/file.h: after a write that fails, HDF5 keeps the file open, and tries again when the program
 * ends. They are not compressed: level 1 with shuffle took 10 times as long, to save a fifth of the
 * bytes of draws in double precision. */
#include "netcdf_internal.h"

#include <netcdf.h>
#include <netcdf_mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>

enum { CHUNK = 1 << 17 };

/* The file that is being made. Calls of the library do nothing after the first that failed. */
typedef struct {
    const hs_chains *chains;
    const hs_netcdf_options *options;
    const char *name; /* of the variable */
    int error;        /* of the library */
    int file;
} maker;

#define TRY(m, call)                                                                               \
    do {                                                                                           \
        if ((m)->error == NC_NOERR)                                                                \
            (m)->error = (call);                                                                   \
    } while (0)

static void put_text(maker *m, int group, const char *name, const char *text)
{
    if (text)
        TRY(m, nc_put_att_text(group, NC_GLOBAL, name, strlen(text), text));
}

static void put_count(maker *m, int group, const char *name, uint64_t count)
{
    const unsigned long long value = count;
    TRY(m, nc_put_att_ulonglong(group, NC_GLOBAL, name, NC_UINT64, 1, &value));
}

static int define_dimension(maker *m, int group, const char *name, size_t length)
{
    int dimension = 0;
    TRY(m, nc_def_dim(group, name, length, &dimension));
    return dimension;
}

/* Numbers get the library's checksum, which is one a chunk; text cannot have it. A chunk is at most
 * CHUNK numbers, and as even a part of each axis as can be, so that little is padding. */
static int define_variable(maker *m, int group, const char *name, nc_type type, int rank,
                           const int *dimensions)
{
    int variable = 0;
    size_t chunk[3] = { 1, 1, 1 }, room = CHUNK;
    TRY(m, nc_def_var(group, name, type, rank, dimensions, &variable));
    if (type == NC_STRING)
        return variable;
    for (int i = rank - 1; i >= 0 && m->error == NC_NOERR; i--) {
        size_t length = 0;
        TRY(m, nc_inq_dimlen(group, dimensions[i], &length));
        const size_t pieces = (length + room - 1) / room;
        chunk[i] = pieces ? (length + pieces - 1) / pieces : 1;
        room = pieces > 1 ? 1 : room / chunk[i];
    }
    TRY(m, nc_def_var_chunking(group, variable, NC_CHUNKED, chunk));
    TRY(m, nc_def_var_fletcher32(group, variable, NC_FLETCHER32));
    return variable;
}

/* ---- Coordinates ----------------------------------------------------------------------------- */

/* Writes 0, 1, ..., n - 1. */
static void put_indices(maker *m, int group, int variable, size_t n)
{
    long long *index = m->error ? NULL : hs_alloc(n * sizeof *index);
    if (!index) {
        m->error = m->error ? m->error : NC_ENOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++)
        index[i] = (long long)i;
    TRY(m, nc_put_var_longlong(group, variable, index));
    hs_free(index);
}

static void put_labels(maker *m, int group, int variable, const char *const *labels, size_t n)
{
    const char **copy = m->error ? NULL : hs_alloc(n * sizeof *copy);
    if (!copy) {
        m->error = m->error ? m->error : NC_ENOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++)
        copy[i] = labels[i];
    TRY(m, nc_put_var_string(group, variable, copy));
    hs_free(copy);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* A group with the dimensions chain and draw, and its attributes. */
static int make_group(maker *m, const char *name, int dimensions[2])
{
    const hs_chains *c = m->chains;
    int group = 0;
    TRY(m, nc_def_grp(m->file, name, &group));
    put_text(m, group, "created_at", m->options->created_at);
    put_text(m, group, "creation_library", "hastings");
    put_text(m, group, "creation_library_version", HS_VERSION);
    put_text(m, group, "creation_library_language", "C");
    put_text(m, group, "inference_library", "hastings");
    put_text(m, group, "inference_library_version", HS_VERSION);
    if (c->seconds != 0)
        TRY(m, nc_put_att_double(group, NC_GLOBAL, "sampling_time", NC_DOUBLE, 1, &c->seconds));
    const size_t lengths[2] = { c->chains, c->draws };
    static const char *const names[2] = { "chain", "draw" };
    for (int i = 0; i < 2; i++) {
        dimensions[i] = define_dimension(m, group, names[i], lengths[i]);
        const int variable = define_variable(m, group, names[i], NC_INT64, 1, &dimensions[i]);
        put_indices(m, group, variable, lengths[i]);
    }
    return group;
}

static void make_posterior(maker *m)
{
    const hs_chains *c = m->chains;
    const char *const *labels = m->options->labels;
    char name[NC_MAX_NAME + 1];
    int dimensions[3];
    const int group = make_group(m, POSTERIOR, dimensions);
    snprintf(name, sizeof name, "%.200s_dim_0", m->name);
    dimensions[2] = define_dimension(m, group, name, c->dim);
    const int coordinate =
        define_variable(m, group, name, labels ? NC_STRING : NC_INT64, 1, &dimensions[2]);
    if (labels)
        put_labels(m, group, coordinate, labels, c->dim);
    else
        put_indices(m, group, coordinate, c->dim);
    const int x = define_variable(m, group, m->name, NC_DOUBLE, 3, dimensions);
    TRY(m, nc_put_var_double(group, x, c->x));
}

static void make_stats(maker *m)
{
    const hs_chains *c = m->chains;
    int dimensions[2];
    const int group = make_group(m, STATS, dimensions);
    put_count(m, group, "proposals", c->proposals);
    put_count(m, group, "gradients", c->gradients);
    put_count(m, group, "nonfinite", c->nonfinite);
    for (int i = 0; i < NETCDF_NUMBERS; i++) {
        const double *numbers = hs__chains_numbers(c, hs__netcdf_stats[i].keep);
        if (!numbers)
            continue;
        const int variable =
            define_variable(m, group, hs__netcdf_stats[i].name, NC_DOUBLE, 2, dimensions);
        TRY(m, nc_put_var_double(group, variable, numbers));
    }
    if (c->accepted) { /* the attribute is how xarray knows true and false */
        const char *name = hs__netcdf_stats[NETCDF_NUMBERS].name;
        const int variable = define_variable(m, group, name, NC_BYTE, 2, dimensions);
        TRY(m, nc_put_att_text(group, variable, "dtype", strlen("bool"), "bool"));
        TRY(m, nc_put_var_schar(group, variable, (const signed char *)c->accepted));
    }
}

enum { INITIAL = 1 << 16 }; /* bytes; files grow by so many at a time */

/* The whole file, as bytes that free() frees. */
static int make_file(const hs_chains *c, const hs_netcdf_options *options, NC_memio *image)
{
    maker m = { .chains = c, .options = options };
    m.name = options->name ? options->name : "x";
    *image = (NC_memio){ 0 };
    const int error = nc_create_mem("hastings.nc", NC_NETCDF4, INITIAL, &m.file);
    if (error != NC_NOERR)
        return error;
    put_text(&m, m.file, "title", options->title);
    make_posterior(&m);
    make_stats(&m);
    if (m.error == NC_NOERR)
        return nc_close_memio(m.file, image);
    nc_abort(m.file);
    return m.error;
}

static hs_status check_options(const hs_chains *c, const hs_netcdf_options *o, const char *path,
                               hs_message *message)
{
    if (o->name && (strcmp(o->name, "chain") == 0 || strcmp(o->name, "draw") == 0))
        return hs_message_fail(message, HS_EINVAL,
                               "%.300s: the variable cannot be called \"%s\", which is a dimension",
                               path, o->name);
    if (o->name && (!o->name[0] || strlen(o->name) > 200))
        return hs_message_fail(message, HS_EINVAL,
                               "%.300s: the variable's name has %zu bytes, expected 1 to 200", path,
                               strlen(o->name));
    for (size_t i = 0; o->labels && i < c->dim; i++)
        if (!o->labels[i])
            return hs_message_fail(message, HS_EINVAL, "%.300s: label %zu of %zu is missing", path,
                                   i, c->dim);
    return HS_OK;
}

hs_status hs_chains_save_netcdf(const hs_chains *c, const hs_netcdf_options *options,
                                const char *path, hs_message *message)
{
    hs_message_clear(message);
    if (!c || !c->x || !path || c->chains == 0 || c->draws == 0 || c->dim == 0)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_save_netcdf: no chains, no draws or no path");
    const hs_netcdf_options o = options ? *options : (hs_netcdf_options){ 0 };
    const hs_status status = check_options(c, &o, path, message);
    if (status != HS_OK)
        return status;
    NC_memio image;
    hs__netcdf_lock();
    const int error = make_file(c, &o, &image);
    hs__netcdf_unlock();
    if (error == NC_EBADNAME)
        return hs_message_fail(message, HS_EINVAL,
                               "%.300s: NetCDF does not allow \"%.60s\" as the name of a variable",
                               path, o.name);
    if (error != NC_NOERR)
        return hs_message_fail(
            message, HS_ENOMEM,
            "%.300s: cannot make the file in memory, probably there is too little: %s", path,
            nc_strerror(error));
    const hs_status saved = hs_file_save(path, image.memory, image.size, message);
    free(image.memory);
    return saved;
}
