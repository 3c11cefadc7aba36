#include <hastings/mcmc/io/chains_file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/mcmc/io/netcdf.h>
#include <hastings/mcmc/io/stan_csv.h>

#include <hastings/tensor/message.h>
#include "npy_internal.h"

/* ---- One file -------------------------------------------------------------------------------- */

typedef enum { NPY, NETCDF, CSV } file_kind;

/* By the first bytes; what is neither of the others is text. */
static hs_status find_kind(const char *path, file_kind *found, hs_message *message)
{
    static const unsigned char hdf5[4] = { 0x89, 'H', 'D', 'F' };
    unsigned char first[6] = { 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof first);
    if (n < 0) {
        const hs_status status =
            hs_message_fail(message, HS_EIO, "%.300s: cannot open it: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    close(fd);
    *found = CSV;
    if (memcmp(first, hs__npy_magic, sizeof hs__npy_magic) == 0)
        *found = NPY;
    else if (memcmp(first, hdf5, sizeof hdf5) == 0 || memcmp(first, "CDF", 3) == 0)
        *found = NETCDF;
    return HS_OK;
}

/* Names for coordinates that have none. */
static hs_status count_names(hs_chain_names *names, size_t dim, const char *path,
                             hs_message *message)
{
    enum { LENGTH = 32 };
    names->name = hs_arena_alloc(&names->text, dim * sizeof *names->name);
    for (; names->name && names->count < dim; names->count++) {
        char *name = hs_arena_alloc(&names->text, LENGTH);
        if (!name)
            break;
        snprintf(name, LENGTH, "x[%zu]", names->count);
        names->name[names->count] = name;
    }
    if (names->count < dim)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for names", path);
    return HS_OK;
}

/* A file, and whether it has names. */
static hs_status read_file(hs_chains **chains, hs_chain_names *names, bool *named, const char *path,
                           hs_message *message)
{
    file_kind kind = CSV;
    hs_status status = find_kind(path, &kind, message);
    *named = kind != NPY;
    if (status != HS_OK)
        return status;
    if (kind == NETCDF)
        return hs_chains_load_netcdf(chains, path, NULL, names, message);
    if (kind == CSV)
        return hs_chains_load_stan_csv(chains, &path, 1, names, message);
    status = hs_chains_load(chains, path, HS_CHAIN_FIRST, message);
    return status == HS_OK ? count_names(names, (*chains)->dim, path, message) : status;
}

/* ---- Several files --------------------------------------------------------------------------- */

/* One file's part of the whole. */
typedef struct {
    const char *path;
    hs_chains *chains;
    hs_chain_names names;
    bool named;
} part;

static hs_status compare(const part *first, const part *other, hs_message *message)
{
    const hs_chains *a = first->chains, *b = other->chains;
    if (a->draws != b->draws || a->dim != b->dim)
        return hs_message_fail(
            message, HS_ESHAPE,
            "%.200s has chains of %zu draws in %zu dimensions, but %.200s of %zu "
            "draws in %zu",
            other->path, b->draws, b->dim, first->path, a->draws, a->dim);
    for (size_t i = 0; first->named && other->named && i < a->dim; i++)
        if (strcmp(first->names.name[i], other->names.name[i]) != 0)
            return hs_message_fail(
                message, HS_ESHAPE, "%.150s: coordinate %zu is \"%.60s\", but \"%.60s\" in %.150s",
                other->path, i, other->names.name[i], first->names.name[i], first->path);
    return HS_OK;
}

static void copy_rows(double *to, const double *from, size_t row, size_t rows)
{
    if (to && from)
        memcpy(to + row, from, rows * sizeof *to);
}

/* Copies chains so that the first of them becomes number m. */
static void copy_chains(hs_chains *to, const hs_chains *from, size_t m)
{
    const size_t row = m * to->draws, rows = from->chains * from->draws;
    copy_rows(to->x, from->x, row * to->dim, rows * to->dim);
    copy_rows(to->log_pi, from->log_pi, row, rows);
    copy_rows(to->alpha, from->alpha, row, rows);
    copy_rows(to->jump, from->jump, row, rows);
    if (to->accepted && from->accepted)
        memcpy(to->accepted + row, from->accepted, rows);
    to->proposals += from->proposals ? from->proposals : rows;
    to->gradients += from->gradients;
    to->nonfinite += from->nonfinite;
    to->seconds = from->seconds > to->seconds ? from->seconds : to->seconds;
}

static hs_status join(const part *parts, size_t count, hs_chains **chains, hs_message *message)
{
    size_t total = 0;
    unsigned keep = HS_KEEP_ALL;
    hs_status status = HS_OK;
    for (size_t i = 0; i < count && status == HS_OK; i++) {
        const hs_chains *c = parts[i].chains;
        status = compare(&parts[0], &parts[i], message);
        total += c->chains;
        keep &= (c->log_pi ? HS_KEEP_LOG_PI : 0u) | (c->alpha ? HS_KEEP_ALPHA : 0u) |
                (c->jump ? HS_KEEP_JUMP : 0u) | (c->accepted ? HS_KEEP_ACCEPTED : 0u);
    }
    if (status == HS_OK)
        status = hs_chains_new(chains, total, parts[0].chains->draws, parts[0].chains->dim, keep,
                               message);
    for (size_t i = 0, m = 0; i < count && status == HS_OK; m += parts[i++].chains->chains)
        copy_chains(*chains, parts[i].chains, m);
    return status;
}

/* Hands the chains of the only file over, or those of all. */
static hs_status take_parts(part *parts, size_t count, hs_chains **chains, hs_chain_names *names,
                            hs_message *message)
{
    if (count == 1) {
        *chains = parts[0].chains;
        parts[0].chains = NULL;
    } else {
        const hs_status status = join(parts, count, chains, message);
        if (status != HS_OK)
            return status;
    }
    size_t best = 0;
    while (best + 1 < count && !parts[best].named)
        best++;
    best = parts[best].named ? best : 0;
    if (names) {
        *names = parts[best].names;
        parts[best].names = (hs_chain_names){ 0 };
    }
    return HS_OK;
}

hs_status hs_chains_read(hs_chains **chains, hs_chain_names *names, const char *const *paths,
                         size_t count, hs_message *message)
{
    hs_message_clear(message);
    if (names)
        *names = (hs_chain_names){ 0 };
    if (chains)
        *chains = NULL;
    if (!chains || !paths || count == 0)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_read: no files, or no place for the chains");
    part *parts = hs_alloc_zero(count, sizeof *parts);
    if (!parts)
        return hs_message_fail(message, HS_ENOMEM, "out of memory for %zu files", count);
    hs_status status = HS_OK;
    for (size_t i = 0; i < count && status == HS_OK; i++) {
        part *p = &parts[i];
        p->path = paths[i];
        if (p->path)
            status = read_file(&p->chains, &p->names, &p->named, p->path, message);
        else
            status = hs_message_fail(message, HS_EINVAL, "hs_chains_read: path %zu is missing", i);
    }
    if (status == HS_OK)
        status = take_parts(parts, count, chains, names, message);
    for (size_t i = 0; i < count; i++) {
        hs_chains_free(parts[i].chains);
        hs_chain_names_free(&parts[i].names);
    }
    hs_free(parts);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

hs_status hs_chains_write(const hs_chains *c, const char *const *names, const char *path,
                          hs_message *message)
{
    hs_message_clear(message);
    if (!path)
        return hs_message_fail(message, HS_EINVAL, "hs_chains_write: no path");
    if (ends_with(path, ".npy"))
        return hs_chains_save(c, path, message);
    if (ends_with(path, ".nc"))
        return hs_chains_save_netcdf(c, &(hs_netcdf_options){ .labels = names }, path, message);
    if (!ends_with(path, ".csv"))
        return hs_message_fail(
            message, HS_EINVAL,
            "%.300s: unknown kind of file, expected .npy (NumPy), .nc (ArviZ) or "
            ".csv (CmdStan)",
            path);
    const size_t length = strlen(path) - strlen(".csv");
    char *stem = hs_alloc(length + 1);
    if (!stem)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", path);
    memcpy(stem, path, length);
    stem[length] = '\0';
    const hs_status status =
        hs_chains_save_stan_csv(c, &(hs_stan_csv_options){ .names = names }, stem, message);
    hs_free(stem);
    return status;
}
