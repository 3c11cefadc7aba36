/* MNIST's IDX files, gzipped or not: a magic number, sizes, bytes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "dataset_internal.h"

enum { BUFFER = 1 << 16, LABELS_MAGIC = 0x801, IMAGES_MAGIC = 0x803 };

/* ---- Bytes of a file, inflated where need be ------------------------------------------------- */

typedef struct {
    const char *path;
    hs_message *message;
    int fd;
    bool zipped, ended, inflating;
    z_stream z; /* next_in, avail_in: what was read and not used, also of plain files */
    unsigned char *buffer;
} source;

#define SOURCE_FAIL(s, status, ...) hs_message_fail((s)->message, status, "%.300s: " __VA_ARGS__)

static void *allocate_for_zlib(void *context, unsigned count, unsigned size)
{
    (void)context;
    return hs_alloc((size_t)count * size);
}

static void release_for_zlib(void *context, void *block)
{
    (void)context;
    hs_free(block);
}

/* Reads more if the buffer is empty; it stays so at the end of the file. */
static hs_status fill(source *s)
{
    while (s->z.avail_in == 0) {
        const ssize_t n = read(s->fd, s->buffer, BUFFER);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return SOURCE_FAIL(s, HS_EIO, "cannot read it: %s", s->path, strerror(errno));
        s->z.next_in = s->buffer;
        s->z.avail_in = (uInt)n;
        break;
    }
    return HS_OK;
}

static hs_status open_source(source *s, const char *path, hs_message *message)
{
    *s = (source){ .path = path, .message = message, .fd = open(path, O_RDONLY | O_CLOEXEC) };
    if (s->fd < 0)
        return SOURCE_FAIL(s, HS_EIO, "cannot open it: %s", path, strerror(errno));
    s->buffer = hs_alloc(BUFFER);
    if (!s->buffer)
        return SOURCE_FAIL(s, HS_ENOMEM, "out of memory", path);
    const hs_status status = fill(s);
    s->zipped = s->z.avail_in >= 2 && s->buffer[0] == 0x1f && s->buffer[1] == 0x8b;
    s->z.zalloc = allocate_for_zlib;
    s->z.zfree = release_for_zlib;
    if (status == HS_OK && s->zipped) {
        if (inflateInit2(&s->z, 15 + 16) != Z_OK) /* gzip, with its checksum */
            return SOURCE_FAIL(s, HS_ENOMEM, "out of memory", path);
        s->inflating = true;
    }
    return status;
}

static void close_source(source *s)
{
    if (s->inflating)
        inflateEnd(&s->z);
    if (s->fd >= 0)
        close(s->fd);
    hs_free(s->buffer);
}

/* Up to n bytes; fewer only at the end. */
static hs_status take(source *s, unsigned char *bytes, size_t n, size_t *taken)
{
    *taken = 0;
    while (*taken < n && !s->ended) {
        const hs_status status = fill(s);
        if (status != HS_OK)
            return status;
        const uInt room = n - *taken < BUFFER ? (uInt)(n - *taken) : BUFFER;
        if (s->z.avail_in == 0) {
            s->ended = true;
            if (s->zipped)
                return SOURCE_FAIL(s, HS_EFORMAT, "truncated: its compressed data end too early",
                                   s->path);
        } else if (s->zipped) {
            s->z.next_out = bytes + *taken;
            s->z.avail_out = room;
            const int result = inflate(&s->z, Z_NO_FLUSH);
            *taken += room - s->z.avail_out;
            s->ended = result == Z_STREAM_END;
            if (result == Z_MEM_ERROR)
                return SOURCE_FAIL(s, HS_ENOMEM, "out of memory to unpack it", s->path);
            if (result != Z_OK && result != Z_STREAM_END)
                return SOURCE_FAIL(s, HS_EFORMAT, "damaged: %s", s->path,
                                   s->z.msg ? s->z.msg : "not gzip");
        } else {
            const uInt part = room < s->z.avail_in ? room : s->z.avail_in;
            memcpy(bytes + *taken, s->z.next_in, part);
            s->z.next_in += part;
            s->z.avail_in -= part;
            *taken += part;
        }
    }
    return HS_OK;
}

static hs_status take_sizes(source *s, unsigned magic, size_t count, size_t *sizes)
{
    unsigned char bytes[16];
    size_t taken;
    const hs_status status = take(s, bytes, 4 * (count + 1), &taken);
    if (status != HS_OK)
        return status;
    if (taken < 4 * (count + 1))
        return SOURCE_FAIL(s, HS_EFORMAT, "truncated: it ends in its header", s->path);
    for (size_t i = 0; i <= count; i++) {
        const unsigned char *b = bytes + 4 * i;
        const uint32_t value =
            (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        if (i == 0 && value != magic)
            return SOURCE_FAIL(s, HS_EFORMAT, "not IDX %s: the magic number is 0x%08lx, not 0x%08x",
                               s->path, count == 1 ? "labels" : "images", (unsigned long)value,
                               magic);
        if (i > 0)
            sizes[i - 1] = value;
    }
    return HS_OK;
}

/* Nothing may follow; of gzip files this also checks the sum. */
static hs_status expect_end(source *s)
{
    unsigned char byte;
    size_t taken;
    const hs_status status = take(s, &byte, 1, &taken);
    if (status == HS_OK && taken)
        return SOURCE_FAIL(s, HS_EFORMAT, "longer than its header says", s->path);
    return status;
}

/* ---- Labels, then images ----------------------------------------------------------------------
 */

static hs_status read_labels(const char *path, unsigned char **labels, size_t *count,
                             const hs_dataset_options *o, hs_message *message)
{
    source s;
    size_t taken = 0;
    hs_status status = open_source(&s, path, message);
    if (status == HS_OK)
        status = take_sizes(&s, LABELS_MAGIC, 1, count);
    if (status == HS_OK && (*count == 0 || *count > o->max_rows))
        status = SOURCE_FAIL(&s, *count ? HS_EOVERFLOW : HS_EFORMAT, "%zu labels (at most %zu)",
                             path, *count, o->max_rows);
    if (status == HS_OK) {
        *labels = hs_alloc(*count);
        status = *labels ? take(&s, *labels, *count, &taken)
                         : SOURCE_FAIL(&s, HS_ENOMEM, "out of memory for %zu labels", path, *count);
    }
    if (status == HS_OK && taken < *count)
        status = SOURCE_FAIL(&s, HS_EFORMAT, "truncated: %zu of %zu labels are there", path, taken,
                             *count);
    if (status == HS_OK)
        status = expect_end(&s);
    close_source(&s);
    return status;
}

static hs_status name_pixels(hs_dataset *d, size_t width, const char *path, hs_message *message)
{
    d->label = "class";
    for (size_t i = 0; i < d->features; i++) {
        char text[64];
        snprintf(text, sizeof text, "pixel %zu,%zu", i / width, i % width);
        const char *name = hs_arena_string(&d->text, text);
        if (!name)
            return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", path);
        d->names[d->columns - d->features + i] = name;
    }
    return HS_OK;
}

/* The rows of the images whose label is one of two. */
static hs_status fill_rows(source *s, hs_dataset *d, const unsigned char *labels, size_t count,
                           const int classes[2])
{
    unsigned char *image = hs_alloc(d->features);
    if (!image)
        return SOURCE_FAIL(s, HS_ENOMEM, "out of memory for an image", s->path);
    hs_status status = HS_OK;
    for (size_t i = 0, row = 0; i < count && status == HS_OK; i++) {
        size_t taken;
        status = take(s, image, d->features, &taken);
        if (status == HS_OK && taken < d->features)
            status = SOURCE_FAIL(s, HS_EFORMAT, "truncated: it ends in image %zu of %zu", s->path,
                                 i + 1, count);
        if (status != HS_OK || (labels[i] != classes[0] && labels[i] != classes[1]))
            continue;
        double *x = hs__dataset_row(d, row);
        for (size_t k = 0; k < d->features; k++)
            x[k] = image[k] / 255.0;
        d->y[row++] = labels[i] == classes[1];
    }
    hs_free(image);
    return status;
}

static hs_status read_images(hs_dataset **data, const char *path, const unsigned char *labels,
                             size_t count, size_t rows, const int classes[2],
                             const hs_dataset_options *o, hs_message *message)
{
    source s;
    size_t sizes[3];
    hs_status status = open_source(&s, path, message);
    if (status == HS_OK)
        status = take_sizes(&s, IMAGES_MAGIC, 3, sizes);
    if (status == HS_OK && sizes[0] != count)
        status = SOURCE_FAIL(&s, HS_EFORMAT, "%zu images, but there are %zu labels", path, sizes[0],
                             count);
    if (status == HS_OK && (sizes[1] == 0 || sizes[2] == 0 || sizes[1] > o->max_features ||
                            sizes[2] > o->max_features / sizes[1]))
        status = SOURCE_FAIL(&s, sizes[1] && sizes[2] ? HS_EOVERFLOW : HS_EFORMAT,
                             "images of %zu x %zu pixels (at most %zu)", path, sizes[1], sizes[2],
                             o->max_features);
    if (status == HS_OK)
        status = hs__dataset_new(data, rows, sizes[1] * sizes[2], o, path, message);
    if (status == HS_OK)
        status = name_pixels(*data, sizes[2], path, message);
    if (status == HS_OK)
        status = fill_rows(&s, *data, labels, count, classes);
    if (status == HS_OK)
        status = expect_end(&s);
    close_source(&s);
    return status;
}

hs_status hs_dataset_load_idx(hs_dataset **data, const char *images, const char *labels, int zero,
                              int one, const hs_dataset_options *options, hs_message *message)
{
    hs_message_clear(message);
    if (!data || !images || !labels)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_dataset_load_idx: no path, or no place for it");
    *data = NULL;
    if (zero == one || zero < 0 || one < 0 || zero > UCHAR_MAX || one > UCHAR_MAX)
        return hs_message_fail(message, HS_EINVAL,
                               "classes %d and %d: two labels of 0 to 255 are needed", zero, one);
    const hs_dataset_options o = hs__dataset_options(options);
    const int classes[2] = { zero, one };
    unsigned char *label = NULL;
    size_t count = 0, found[2] = { 0, 0 };
    hs_status status = read_labels(labels, &label, &count, &o, message);
    for (size_t i = 0; i < count && status == HS_OK; i++)
        for (int k = 0; k < 2; k++)
            found[k] += label[i] == classes[k];
    for (int k = 0; k < 2 && status == HS_OK; k++)
        if (found[k] == 0)
            status = hs_message_fail(message, HS_EINVAL, "%.300s: none of its %zu labels is %d",
                                     labels, count, classes[k]);
    if (status == HS_OK)
        status = read_images(data, images, label, count, found[0] + found[1], classes, &o, message);
    if (status == HS_OK)
        status = hs__dataset_count_labels(*data, labels, message);
    hs_free(label);
    if (status != HS_OK) {
        hs_dataset_free(*data);
        *data = NULL;
    }
    return status;
}
