/* Images and labels in MNIST's IDX format. The input is a byte of flags, the length of the labels' file in two bytes,
 * that file, and the images' file. The first two flags have a file gzipped, so that fuzzing gets behind its checksum. */
#include "fuzz.h"

#include <zlib.h>

#include <hastings/mcmc/io/dataset.h>

static const char *write_file(const char *name, const uint8_t *bytes, size_t size, bool packed)
{
    if (!packed)
        return fuzz_write(name, bytes, size);
    const char *path = fuzz_path(name);
    gzFile f = gzopen(path, "wb1");
    fuzz_check(f);
    fuzz_check(size == 0 || gzwrite(f, bytes, (unsigned)size) == (int)size);
    fuzz_check(gzclose(f) == Z_OK);
    return path;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    const unsigned flags = size > 0 ? *data : 0;
    data += size > 0;
    size -= size > 0;
    const unsigned wanted = fuzz_take_u16(&data, &size);
    const size_t length = wanted < size ? wanted : size;
    const char *labels = write_file("labels", data, length, flags & 1);
    const char *images = write_file("images", data + length, size - length, flags & 2);
    const hs_dataset_options options = { .no_intercept = flags & 4, .max_rows = 1000 };
    hs_dataset *d;
    hs_message message;
    if (hs_dataset_load_idx(&d, images, labels, 0, 1, &options, &message) != HS_OK) {
        fuzz_check(!d);
        return fuzz_refused(message.text);
    }
    size_t ones = 0;
    for (size_t r = 0; r < d->rows; r++)
        ones += d->y[r] == 1;
    fuzz_check(ones == d->ones && ones > 0 && ones < d->rows);
    for (size_t i = 0; i < d->rows * d->columns; i++)
        fuzz_check(d->x[i] >= 0 && d->x[i] <= 1);
    hs_dataset_free(d);
    return true;
}
