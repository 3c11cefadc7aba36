#include <hastings/mcmc/io/dataset.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "dataset_internal.h"

hs_dataset_options hs__dataset_options(const hs_dataset_options *options)
{
    hs_dataset_options o = options ? *options : (hs_dataset_options){ 0 };
    if (!o.max_rows)
        o.max_rows = 100000000;
    if (!o.max_features)
        o.max_features = 100000;
    if (!o.max_bytes)
        o.max_bytes = SIZE_MAX > UINT32_MAX ? (size_t)UINT32_MAX + 1 : SIZE_MAX / 2;
    return o;
}

hs_status hs__dataset_new(hs_dataset **data, size_t rows, size_t features,
                          const hs_dataset_options *o, const char *what, hs_message *message)
{
    if (rows > o->max_rows || features > o->max_features)
        return hs_message_fail(message, HS_EOVERFLOW,
                               "%.300s: %zu rows of %zu features, the limits are %zu and %zu", what,
                               rows, features, o->max_rows, o->max_features);
    hs_dataset *d = hs_alloc_zero(1, sizeof *d);
    if (!d)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", what);
    const size_t columns = features + !o->no_intercept;
    d->rows = rows;
    d->features = features;
    d->columns = columns;
    d->x = rows <= SIZE_MAX / 8 / columns ? hs_alloc_zero(rows * columns, sizeof *d->x) : NULL;
    d->y = hs_alloc_zero(rows, sizeof *d->y);
    d->mean = hs_alloc_zero(columns, sizeof *d->mean);
    d->sd = hs_alloc_zero(columns, sizeof *d->sd);
    d->names = hs_arena_alloc(&d->text, columns * sizeof *d->names);
    if (!d->x || !d->y || !d->mean || !d->sd || !d->names) {
        hs_dataset_free(d);
        return hs_message_fail(message, HS_ENOMEM,
                               "%.300s: out of memory for %zu rows of %zu features", what, rows,
                               features);
    }
    for (size_t i = 0; i < columns; i++) {
        d->names[i] = "";
        d->sd[i] = 1;
    }
    if (!o->no_intercept) {
        d->names[0] = "intercept";
        for (size_t r = 0; r < rows; r++)
            d->x[r * columns] = 1;
    }
    *data = d;
    return HS_OK;
}

void hs_dataset_free(hs_dataset *d)
{
    if (!d)
        return;
    hs_free(d->x);
    hs_free(d->y);
    hs_free(d->mean);
    hs_free(d->sd);
    hs_arena_free(&d->text);
    hs_free(d);
}

double *hs__dataset_row(const hs_dataset *d, size_t row)
{
    return d->x + row * d->columns + (d->columns - d->features);
}

hs_status hs__dataset_count_labels(hs_dataset *d, const char *what, hs_message *message)
{
    d->ones = 0;
    for (size_t r = 0; r < d->rows; r++)
        d->ones += d->y[r] == 1;
    if (d->ones == 0 || d->ones == d->rows)
        return hs_message_fail(message, HS_EINVAL,
                               "%.300s: there is one class only: all %zu labels are %d", what,
                               d->rows, d->ones != 0);
    return HS_OK;
}

/* ---- Files, inflated if they are gzipped ------------------------------------------------------ */

hs_status hs__input_open(input *s, const char *path, hs_message *message)
{
    errno = 0;
    *s = (input){ .path = path, .message = message, .file = gzopen(path, "rbe") };
    if (s->file)
        return HS_OK;
    return errno ? INPUT_FAIL(s, HS_EIO, "cannot open it: %s", path, strerror(errno))
                 : INPUT_FAIL(s, HS_ENOMEM, "out of memory", path);
}

void hs__input_close(input *s)
{
    if (s->file)
        gzclose_r(s->file);
}

/* Why fewer bytes came than were asked for: HS_OK if the file ended. */
static hs_status why_short(input *s)
{
    int error = Z_OK;
    const char *text = gzerror(s->file, &error);
    const size_t prefix = strlen(s->path); /* zlib's texts begin with "PATH: " */
    if (strncmp(text, s->path, prefix) == 0 && text[prefix] == ':')
        text += prefix + 2;
    if (error == Z_ERRNO)
        return INPUT_FAIL(s, HS_EIO, "cannot read it: %s", s->path, strerror(errno));
    if (error == Z_MEM_ERROR)
        return INPUT_FAIL(s, HS_ENOMEM, "out of memory to unpack it", s->path);
    if (error == Z_BUF_ERROR)
        return INPUT_FAIL(s, HS_EFORMAT, "truncated: its compressed data end too early", s->path);
    return error == Z_OK || error == Z_STREAM_END
               ? HS_OK
               : INPUT_FAIL(s, HS_EFORMAT, "damaged: %s", s->path, text);
}

hs_status hs__input_take(input *s, void *bytes, size_t n, size_t *taken)
{
    enum { MOST = 1 << 30 };
    int got = 1;
    for (*taken = 0; *taken < n && got > 0; *taken += got > 0 ? (size_t)got : 0)
        got = gzread(s->file, (char *)bytes + *taken,
                     n - *taken < MOST ? (unsigned)(n - *taken) : MOST);
    return *taken < n ? why_short(s) : HS_OK;
}

/* Reads on until the file ends; neither pipes nor gzipped files say their length. */
static hs_status read_all(input *s, size_t most, size_t room, char **bytes, size_t *length)
{
    for (size_t used = 0, taken;; used += taken) {
        char *grown = hs_grow(*bytes, used, room);
        if (!grown)
            return INPUT_FAIL(s, HS_ENOMEM, "out of memory for its %zu bytes", s->path, room);
        *bytes = grown;
        const hs_status status = hs__input_take(s, *bytes + used, room - 1 - used, &taken);
        if (status != HS_OK)
            return status;
        if (used + taken > most)
            return INPUT_FAIL(s, HS_EOVERFLOW, "longer than %zu bytes, the limit", s->path, most);
        if (used + taken < room - 1) {
            *length = used + taken;
            (*bytes)[*length] = '\0';
            return HS_OK;
        }
        room *= 2;
    }
}

hs_status hs__dataset_read_file(const char *path, size_t most, char **bytes, size_t *length,
                                hs_message *message)
{
    input s;
    struct stat found;
    size_t room = 1 << 16;
    *bytes = NULL;
    hs_status status = hs__input_open(&s, path, message);
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0 &&
        (uintmax_t)found.st_size <= most)
        room = (size_t)found.st_size + 2;
    if (status == HS_OK)
        status = read_all(&s, most, room, bytes, length);
    hs__input_close(&s);
    if (status != HS_OK) {
        hs_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
