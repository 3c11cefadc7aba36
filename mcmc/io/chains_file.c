#include "chain_formats_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>

/* ---- The table ------------------------------------------------------------------------------- */

typedef struct {
    hs_chain_format shown;
    const char *first_bytes;
    chain_reader *read;
    chain_writer *write;
} format;

static const format formats[] = {
#define HS_CHAIN_FORMAT(id, ending, first_bytes, a_chain, streams, built, tool, about)             \
    { { ending, tool, about, a_chain, streams, built },                                            \
      first_bytes,                                                                                 \
      hs__##id##_read,                                                                             \
      hs__##id##_write },
#include "chain_formats.def"
};
enum { FORMATS = sizeof formats / sizeof *formats };

const hs_chain_format *hs_chain_format_at(size_t i)
{
    return i < FORMATS ? &formats[i].shown : NULL;
}

static const format *find_by_ending(const char *path, hs_message *message)
{
    static const char known[] =
#define HS_CHAIN_FORMAT(id, ending, first_bytes, a_chain, streams, built, tool, about)             \
    ", " ending " (" tool ")"
#include "chain_formats.def"
        ;
    const size_t n = strlen(path);
    for (size_t i = 0; i < FORMATS; i++) {
        const size_t k = strlen(formats[i].shown.ending);
        if (n > k && strcmp(path + n - k, formats[i].shown.ending) == 0)
            return &formats[i];
    }
    hs_message_fail(message, HS_EINVAL, "%.300s: unknown kind of file, expected one of %s", path,
                    known + 2);
    return NULL;
}

const hs_chain_format *hs_chain_format_of(const char *path, hs_message *message)
{
    const format *found = path ? find_by_ending(path, message) : NULL;
    return found ? &found->shown : NULL;
}

/* Whether a file begins with one of the alternatives; "" is at the beginning of all. */
static bool begins_with(const char *first, size_t n, const char *alternatives)
{
    for (;;) {
        const size_t k = strcspn(alternatives, "|");
        if (n >= k && memcmp(first, alternatives, k) == 0)
            return true;
        if (!alternatives[k])
            return false;
        alternatives += k + 1;
    }
}

/* Bytes that were read from a pipe are gone, so that it is taken for the last format, which is text. */
static hs_status find_by_bytes(const char *path, const format **found, hs_message *message)
{
    char first[16];
    struct stat about;
    *found = &formats[FORMATS - 1];
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return HS_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof first);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return hs_message_fail(message, HS_EIO, "%.300s: cannot open it: %s", path,
                               strerror(error));
    size_t i = 0;
    while (i + 1 < FORMATS && !begins_with(first, (size_t)n, formats[i].first_bytes))
        i++;
    *found = &formats[i];
    return HS_OK;
}

/* ---- One file -------------------------------------------------------------------------------- */

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
    const format *found = NULL;
    hs_status status = find_by_bytes(path, &found, message);
    if (status == HS_OK)
        status = found->read(chains, names, path, message);
    *named = names->count > 0;
    return status == HS_OK && !*named ? count_names(names, (*chains)->dim, path, message) : status;
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
            "%.200s has chains of %zu draws in %zu dimensions, but %.200s of %zu draws in %zu",
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

hs_status hs_chains_write(const hs_chains *c, const char *const *names, const char *path,
                          hs_message *message)
{
    hs_message_clear(message);
    if (!path)
        return hs_message_fail(message, HS_EINVAL, "hs_chains_write: no path");
    const format *found = find_by_ending(path, message);
    return found ? found->write(c, names, path, message) : HS_EINVAL;
}
