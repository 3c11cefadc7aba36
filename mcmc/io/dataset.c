#include <hastings/mcmc/io/dataset.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Reads on until the file ends; pipes have no length. */
static hs_status read_all(int fd, const char *path, size_t most, size_t room, char **bytes,
                          size_t *length, hs_message *message)
{
    size_t used = 0;
    for (;;) {
        if (used + 1 >= room || !*bytes) { /* one more byte for the '\0' */
            const size_t more = *bytes ? 2 * room : room;
            char *grown = hs_grow(*bytes, used, more);
            if (!grown)
                return hs_message_fail(message, HS_ENOMEM,
                                       "%.300s: out of memory for its %zu bytes", path, more);
            *bytes = grown;
            room = more;
        }
        const ssize_t n = read(fd, *bytes + used, room - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hs_message_fail(message, HS_EIO, "%.300s: cannot read it: %s", path,
                                   strerror(errno));
        used += (size_t)n;
        if (used > most)
            return hs_message_fail(message, HS_EOVERFLOW,
                                   "%.300s: longer than %zu bytes, the limit", path, most);
        if (n == 0)
            break;
    }
    (*bytes)[used] = '\0';
    *length = used;
    return HS_OK;
}

hs_status hs__dataset_read_file(const char *path, size_t most, char **bytes, size_t *length,
                                hs_message *message)
{
    *bytes = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hs_message_fail(message, HS_EIO, "%.300s: cannot open it: %s", path,
                               strerror(errno));
    struct stat found;
    size_t room = 1 << 16;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0 &&
        (uintmax_t)found.st_size <= most)
        room = (size_t)found.st_size + 2;
    const hs_status status = read_all(fd, path, most, room, bytes, length, message);
    close(fd);
    if (status != HS_OK) {
        hs_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
