/* MNIST's IDX files, gzipped or not: a magic number, sizes, bytes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "dataset_internal.h"

enum { LABELS_MAGIC = 0x801, IMAGES_MAGIC = 0x803 };

static hs_status take_sizes(input *s, unsigned magic, size_t count, size_t *sizes)
{
    unsigned char bytes[16];
    size_t taken;
    const hs_status status = hs__input_take(s, bytes, 4 * (count + 1), &taken);
    if (status != HS_OK)
        return status;
    if (taken < 4 * (count + 1))
        return INPUT_FAIL(s, HS_EFORMAT, "truncated: it ends in its header", s->path);
    for (size_t i = 0; i <= count; i++) {
        const unsigned char *b = bytes + 4 * i;
        const uint32_t value =
            (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        if (i == 0 && value != magic)
            return INPUT_FAIL(s, HS_EFORMAT, "not IDX %s: the magic number is 0x%08lx, not 0x%08x",
                              s->path, count == 1 ? "labels" : "images", (unsigned long)value,
                              magic);
        if (i > 0)
            sizes[i - 1] = value;
    }
    return HS_OK;
}

/* Nothing may follow; of gzip files this also checks the sum. */
static hs_status expect_end(input *s)
{
    unsigned char byte;
    size_t taken;
    const hs_status status = hs__input_take(s, &byte, 1, &taken);
    if (status == HS_OK && taken)
        return INPUT_FAIL(s, HS_EFORMAT, "longer than its header says", s->path);
    return status;
}

/* ---- Labels, then images --------------------------------------------------------------------- */

static hs_status read_labels(const char *path, unsigned char **labels, size_t *count,
                             const hs_dataset_options *o, hs_message *message)
{
    input s;
    size_t taken = 0;
    hs_status status = hs__input_open(&s, path, message);
    if (status == HS_OK)
        status = take_sizes(&s, LABELS_MAGIC, 1, count);
    if (status == HS_OK && (*count == 0 || *count > o->max_rows))
        status = INPUT_FAIL(&s, *count ? HS_EOVERFLOW : HS_EFORMAT, "%zu labels (at most %zu)",
                            path, *count, o->max_rows);
    if (status == HS_OK)
        status = hs__input_take_all(&s, *count, labels, &taken);
    if (status == HS_OK && taken < *count)
        status = INPUT_FAIL(&s, HS_EFORMAT, "truncated: %zu of %zu labels are there", path, taken,
                            *count);
    if (status == HS_OK)
        status = expect_end(&s);
    hs__input_close(&s);
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
static void fill_rows(hs_dataset *d, const unsigned char *pixels, const unsigned char *labels,
                      size_t count, const int classes[2])
{
    for (size_t i = 0, row = 0; i < count; i++) {
        if (labels[i] != classes[0] && labels[i] != classes[1])
            continue;
        double *x = hs__dataset_row(d, row);
        for (size_t k = 0; k < d->features; k++)
            x[k] = pixels[i * d->features + k] / 255.0;
        d->y[row++] = labels[i] == classes[1];
    }
}

/* Takes all pixels before the data set is made: its memory grows with what is there, and not with what a header claims. */
static hs_status take_pixels(input *s, size_t count, size_t each, const hs_dataset_options *o,
                             unsigned char **pixels)
{
    const size_t bytes = hs_size_product(count, each);
    char claimed[HS_BYTES_TEXT], limit[HS_BYTES_TEXT];
    size_t taken;
    if (bytes > o->max_bytes)
        return INPUT_FAIL(s, HS_EOVERFLOW, "%zu images of %zu pixels are %s, the limit is %s",
                          s->path, count, each, hs_bytes_text(bytes, claimed),
                          hs_bytes_text(o->max_bytes, limit));
    const hs_status status = hs__input_take_all(s, bytes, pixels, &taken);
    if (status == HS_OK && taken < bytes)
        return INPUT_FAIL(s, HS_EFORMAT, "truncated: it ends in image %zu of %zu", s->path,
                          taken / each + 1, count);
    return status;
}

static hs_status read_images(hs_dataset **data, const char *path, const unsigned char *labels,
                             size_t count, size_t rows, const int classes[2],
                             const hs_dataset_options *o, hs_message *message)
{
    input s;
    size_t sizes[3];
    unsigned char *pixels = NULL;
    hs_status status = hs__input_open(&s, path, message);
    if (status == HS_OK)
        status = take_sizes(&s, IMAGES_MAGIC, 3, sizes);
    if (status == HS_OK && sizes[0] != count)
        status = INPUT_FAIL(&s, HS_EFORMAT, "%zu images, but there are %zu labels", path, sizes[0],
                            count);
    if (status == HS_OK && (sizes[1] == 0 || sizes[2] == 0 || sizes[1] > o->max_features ||
                            sizes[2] > o->max_features / sizes[1]))
        status = INPUT_FAIL(&s, sizes[1] && sizes[2] ? HS_EOVERFLOW : HS_EFORMAT,
                            "images of %zu x %zu pixels (at most %zu)", path, sizes[1], sizes[2],
                            o->max_features);
    if (status == HS_OK)
        status = take_pixels(&s, count, sizes[1] * sizes[2], o, &pixels);
    if (status == HS_OK)
        status = expect_end(&s);
    hs__input_close(&s);
    if (status == HS_OK)
        status = hs__dataset_new(data, rows, sizes[1] * sizes[2], o, path, message);
    if (status == HS_OK)
        status = name_pixels(*data, sizes[2], path, message);
    if (status == HS_OK)
        fill_rows(*data, pixels, labels, count, classes);
    hs_free(pixels);
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
