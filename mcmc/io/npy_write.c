/* Writing of .npy files: a step at a time, with a header that is always true. */
#include "npy_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>

#include <hastings/tensor/message.h>

enum { BUFFER = 1 << 20 };

struct hs_draws_writer {
    int fd;
    char *path, *temporary; /* one block, owned by `path` */
    hs_message error;       /* the first one; it sticks */
    hs_status status;
    uint64_t shape[3]; /* of the file; shape[0] is what the header on disk says */
    uint64_t rows;     /* appended: slices of shape[1] * shape[2] numbers */
    size_t row;        /* bytes of a slice */
    unsigned char *buffer;
    size_t used, size;
    uint64_t flushed; /* bytes of numbers on disk */
    bool all;         /* a part of the draws is worth nothing */
};

#define WRITER_FAIL(w, code, ...)                                                                  \
    ((w)->status != HS_OK                                                                          \
         ? (w)->status                                                                             \
         : ((w)->status = hs_message_fail(&(w)->error, code, "%.300s: " __VA_ARGS__)))

static void report(const hs_draws_writer *w, hs_message *message)
{
    if (message)
        *message = w->error;
}

/* Writes all of it, at the end of the file or (offset >= 0) elsewhere. Returns the bytes written.
 */
static size_t write_all(hs_draws_writer *w, const void *bytes, size_t n, off_t offset)
{
    size_t done = 0;
    while (done < n) {
        const char *from = (const char *)bytes + done;
        const ssize_t part = offset < 0 ? write(w->fd, from, n - done)
                                        : pwrite(w->fd, from, n - done, offset + (off_t)done);
        if (part > 0)
            done += (size_t)part;
        else if (part == 0 || errno != EINTR) {
            WRITER_FAIL(w, HS_EIO, "cannot write its draws: %s", w->path,
                        part == 0 ? "no progress" : strerror(errno));
            break;
        }
    }
    return done;
}

/* The header for a number of slices; padded with blanks, so that it can be replaced in place. */
static void write_header(hs_draws_writer *w, uint64_t rows)
{
    char header[NPY_HEADER + 1];
    memset(header, ' ', sizeof header);
    memcpy(header, hs__npy_magic, sizeof hs__npy_magic);
    const unsigned text = NPY_HEADER - NPY_PREFIX;
    const char rest[4] = { 1, 0, (char)text, (char)(text >> 8) };
    memcpy(header + sizeof hs__npy_magic, rest, sizeof rest);
    const int n = snprintf(header + NPY_PREFIX, text,
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (%" PRIu64
                           ", %" PRIu64 ", %" PRIu64 "), }",
                           rows, w->shape[1], w->shape[2]);
    header[NPY_PREFIX + n] = ' ';
    header[NPY_HEADER - 1] = '\n';
    w->shape[0] = rows;
    write_all(w, header, NPY_HEADER, 0);
}

static void flush(hs_draws_writer *w)
{
    if (w->status != HS_OK || w->used == 0)
        return;
    w->flushed += write_all(w, w->buffer, w->used, -1);
    w->used = 0;
    if (w->status == HS_OK)
        write_header(w, w->flushed / w->row);
}

static void release(hs_draws_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    hs_free(w->buffer);
    hs_free(w->path);
    hs_free(w);
}

static void create_file(hs_draws_writer *w, const char *path)
{
    const size_t length = strlen(path) + 1;
    w->path = hs_alloc(2 * length + 64);
    w->buffer = hs_alloc(w->size);
    if (!w->path || !w->buffer) {
        w->status =
            hs_message_fail(&w->error, HS_ENOMEM, "%.300s: out of memory for a buffer", path);
        return;
    }
    memcpy(w->path, path, length);
    w->temporary = w->path + length;
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) { /* renaming would replace a device */
        WRITER_FAIL(w, HS_EIO, "exists and is not a regular file", path);
        return;
    }
    for (int attempt = 0; w->status == HS_OK && w->fd < 0; attempt++) {
        snprintf(w->temporary, length + 64, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd < 0 && (errno != EEXIST || attempt == 99))
            WRITER_FAIL(w, HS_EIO, "cannot create %s: %s", path, w->temporary, strerror(errno));
    }
    if (w->status == HS_OK)
        write_header(w, 0);
    if (w->status == HS_OK && lseek(w->fd, NPY_HEADER, SEEK_SET) < 0)
        WRITER_FAIL(w, HS_EIO, "cannot write: %s", path, strerror(errno));
}

hs_status hs_draws_open(hs_draws_writer **writer, const char *path, size_t chains, size_t dim,
                        hs_message *message)
{
    hs_message_clear(message);
    if (!writer)
        return hs_message_fail(message, HS_EINVAL, "hs_draws_open: no place for the writer");
    *writer = NULL;
    if (!path || chains == 0 || dim == 0 || dim > SIZE_MAX / 16 / chains)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_draws_open: no path, or %zu chains in %zu dimensions", chains,
                               dim);
    hs_draws_writer *w = hs_alloc_zero(1, sizeof *w);
    if (!w)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for a writer", path);
    *w = (hs_draws_writer){ .fd = -1, .shape = { 0, chains, dim } };
    w->row = chains * dim * sizeof(double);
    w->size = BUFFER;
    create_file(w, path);
    const hs_status status = w->status;
    if (status != HS_OK) {
        report(w, message);
        hs_draws_discard(w);
        return status;
    }
    *writer = w;
    return HS_OK;
}

static void put(hs_draws_writer *w, const double *numbers, size_t n)
{
    while (n && w->status == HS_OK) {
        const size_t room = (w->size - w->used) / sizeof *numbers, part = n < room ? n : room;
        double *to = (double *)(void *)(w->buffer + w->used);
        memcpy(to, numbers, part * sizeof *numbers);
        hs__npy_swap(to, part);
        w->used += part * sizeof *numbers;
        numbers += part;
        n -= part;
        if (w->size - w->used < sizeof *numbers)
            flush(w);
    }
}

hs_status hs_draws_append(hs_draws_writer *w, const double *step, hs_message *message)
{
    hs_message_clear(message);
    if (!w || !step)
        return hs_message_fail(message, HS_EINVAL, "hs_draws_append: no writer or no step");
    put(w, step, w->row / sizeof *step);
    w->rows += w->status == HS_OK;
    report(w, message);
    return w->status;
}

uint64_t hs_draws_count(const hs_draws_writer *w)
{
    return w ? w->rows : 0;
}

/* A rename is on disk when its directory is; where this cannot be done, the system decides. */
static void sync_directory(hs_draws_writer *w)
{
    char *slash = strrchr(w->path, '/');
    if (slash)
        slash[slash == w->path] = '\0';
    const int fd = open(slash ? w->path : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/* Cuts the file after its whole slices, and gives it its name. A failure leaves it where it is. */
static void put_in_place(hs_draws_writer *w, uint64_t whole)
{
    write_header(w, whole);
    if (w->status == HS_OK && ftruncate(w->fd, (off_t)(NPY_HEADER + whole * w->row)) != 0)
        WRITER_FAIL(w, HS_EIO, "cannot shorten %s: %s", w->path, w->temporary, strerror(errno));
    if (w->status == HS_OK && fsync(w->fd) != 0)
        WRITER_FAIL(w, HS_EIO, "cannot bring %s to disk: %s", w->path, w->temporary,
                    strerror(errno));
    if (close(w->fd) != 0)
        WRITER_FAIL(w, HS_EIO, "cannot close %s: %s", w->path, w->temporary, strerror(errno));
    w->fd = -1;
    if (w->status == HS_OK && rename(w->temporary, w->path) != 0)
        WRITER_FAIL(w, HS_EIO, "cannot rename %s: %s", w->path, w->temporary, strerror(errno));
    if (w->status == HS_OK) {
        w->temporary[0] = '\0';
        sync_directory(w);
    }
}

hs_status hs_draws_close(hs_draws_writer *w, hs_message *message)
{
    hs_message_clear(message);
    if (!w)
        return HS_OK;
    flush(w);
    const hs_status status = w->status;
    hs_message error = w->error;
    const uint64_t whole = w->flushed / w->row;
    if (status == HS_OK || (whole > 0 && !w->all)) {
        w->status = HS_OK; /* of saving what there is */
        put_in_place(w, whole);
    }
    if (status == HS_OK)
        error = w->error;
    const hs_status result = status != HS_OK ? status : w->status;
    if (message && result != HS_OK)
        *message = error;
    if (w->temporary[0] && (w->all || whole == 0))
        unlink(w->temporary); /* nothing to save */
    release(w);
    return result;
}

void hs_draws_discard(hs_draws_writer *w)
{
    if (!w)
        return;
    if (w->fd >= 0)
        unlink(w->temporary);
    release(w);
}

hs_status hs_chains_save(const hs_chains *c, const char *path, hs_message *message)
{
    hs_message_clear(message);
    if (!c || !c->x || !path)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_save: no chains, no draws or no path");
    hs_draws_writer *w;
    /* The layout is that of a writer whose steps are whole chains. */
    hs_status status = hs_draws_open(&w, path, c->draws, c->dim, message);
    if (status == HS_OK)
        w->all = true;
    for (size_t m = 0; m < c->chains && status == HS_OK; m++)
        status = hs_draws_append(w, hs_chains_draw(c, m, 0), message);
    if (status == HS_OK)
        return hs_draws_close(w, message);
    hs_draws_discard(w);
    return status;
}
