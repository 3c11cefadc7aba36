/* Writing of .npy files: a step at a time, with a header that is always true. */
#include "npy_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

struct hs_draws_writer {
    hs_file file;
    hs_message error; /* the first one; it sticks */
    size_t chains, dim;
    uint64_t steps; /* appended */
    uint64_t seen;  /* bytes in the file when its header was written last */
};

/* The header for a number of slices; padded with blanks, so that it can be replaced in place. */
static void make_header(char header[NPY_HEADER + 1], uint64_t a, uint64_t b, uint64_t c)
{
    memset(header, ' ', NPY_HEADER + 1);
    memcpy(header, hs__npy_magic, sizeof hs__npy_magic);
    const unsigned text = NPY_HEADER - NPY_PREFIX;
    const char rest[4] = { 1, 0, (char)text, (char)(text >> 8) };
    memcpy(header + sizeof hs__npy_magic, rest, sizeof rest);
    const int n = snprintf(header + NPY_PREFIX, text,
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (%" PRIu64
                           ", %" PRIu64 ", %" PRIu64 "), }",
                           a, b, c);
    header[NPY_PREFIX + n] = ' ';
    header[NPY_HEADER - 1] = '\n';
}

static void put_numbers(hs_file *f, const double *numbers, size_t n)
{
    double block[512];
    for (size_t done = 0, part; done < n && f->status == HS_OK; done += part) {
        part = n - done < 512 ? n - done : 512;
        memcpy(block, numbers + done, part * sizeof *block);
        hs_little_endian(block, sizeof *block, part);
        hs_file_put(f, block, part * sizeof *block);
    }
}

/* Whole steps that are on disk. */
static uint64_t steps_there(const hs_draws_writer *w)
{
    const uint64_t bytes = hs_file_written(&w->file);
    return bytes < NPY_HEADER ? 0 : (bytes - NPY_HEADER) / (w->chains * w->dim * sizeof(double));
}

/* Makes the header say what is on disk. */
static void update_header(hs_draws_writer *w)
{
    char header[NPY_HEADER + 1];
    make_header(header, steps_there(w), w->chains, w->dim);
    hs_file_replace(&w->file, 0, header, NPY_HEADER);
    w->seen = hs_file_written(&w->file);
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
    w->chains = chains;
    w->dim = dim;
    char header[NPY_HEADER + 1];
    make_header(header, 0, chains, dim);
    hs_file_create(&w->file, path, &w->error);
    hs_file_put(&w->file, header, NPY_HEADER);
    hs_file_flush(&w->file);
    w->seen = hs_file_written(&w->file);
    if (w->file.status == HS_OK) {
        *writer = w;
        return HS_OK;
    }
    const hs_status status = hs_message_fail(message, w->file.status, "%s", w->error.text);
    hs_draws_discard(w);
    return status;
}

hs_status hs_draws_append(hs_draws_writer *w, const double *step, hs_message *message)
{
    hs_message_clear(message);
    if (!w || !step)
        return hs_message_fail(message, HS_EINVAL, "hs_draws_append: no writer or no step");
    put_numbers(&w->file, step, w->chains * w->dim);
    if (w->file.status == HS_OK && hs_file_written(&w->file) != w->seen)
        update_header(w);
    w->steps += w->file.status == HS_OK;
    return hs_message_fail(message, w->file.status, "%s", w->error.text);
}

uint64_t hs_draws_count(const hs_draws_writer *w)
{
    return w ? w->steps : 0;
}

hs_status hs_draws_close(hs_draws_writer *w, hs_message *message)
{
    hs_message_clear(message);
    if (!w)
        return HS_OK;
    hs_file_flush(&w->file);
    const hs_status status = w->file.status;
    const hs_message error = w->error;
    const uint64_t whole = steps_there(w);
    w->file.keep = whole > 0;
    if (whole > 0 || status == HS_OK) { /* after an error, save the steps that are there */
        hs_file_cut(&w->file, NPY_HEADER + whole * w->chains * w->dim * sizeof(double));
        update_header(w);
    }
    hs_status result = hs_file_commit(&w->file);
    if (status != HS_OK)
        result = hs_message_fail(message, status, "%s", error.text);
    else if (result != HS_OK)
        hs_message_fail(message, result, "%s", w->error.text);
    hs_free(w);
    return result;
}

void hs_draws_discard(hs_draws_writer *w)
{
    if (!w)
        return;
    hs_file_discard(&w->file);
    hs_free(w);
}

hs_status hs_chains_save(const hs_chains *c, const char *path, hs_message *message)
{
    hs_message_clear(message);
    if (!c || !c->x || !path)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_save: no chains, no draws or no path");
    if (c->draws == 0 || c->dim == 0 || c->dim > SIZE_MAX / 16 / c->draws)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_chains_save: chains of %zu draws in %zu dimensions", c->draws,
                               c->dim);
    hs_file f;
    char header[NPY_HEADER + 1];
    make_header(header, c->chains, c->draws, c->dim);
    hs_file_create(&f, path, message);
    hs_file_put(&f, header, NPY_HEADER);
    put_numbers(&f, c->x, c->chains * c->draws * c->dim);
    return hs_file_commit(&f);
}
