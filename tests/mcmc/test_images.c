/* Data sets of images: two classes of IDX files, and every kind of damage. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/mcmc/io/dataset.h>

#include "support/hs_check.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_images_XXXXXX";
static char path[64], other[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a", directory);
    snprintf(other, sizeof other, "%s/b", directory);
}

static void remove_directory(void)
{
    unlink(path);
    unlink(other);
    ck_assert_int_eq(rmdir(directory), 0);
}

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

/* Five images of 2 x 3 pixels: pixel k of image i is 10 i + k. */
static const unsigned char label_bytes[] = { 0, 0, 8, 1, 0, 0, 0, 5, 5, 6, 7, 6, 5 };
static unsigned char image_bytes[16 + 30] = { 0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 3 };

static void fill_images(void)
{
    for (unsigned i = 0; i < 30; i++)
        image_bytes[16 + i] = (unsigned char)(10 * (i / 6) + i % 6);
}

static void zip(const char *name, const void *bytes, size_t n)
{
    gzFile file = gzopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static void assert_idx_refused(hs_status status, const char *part)
{
    hs_dataset *d = (hs_dataset *)(void *)path;
    hs_message message;
    const hs_status found = hs_dataset_load_idx(&d, path, other, 5, 6, NULL, &message);
    ck_assert_msg(found == status, "status %d: %s", found, message.text);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_ptr_null(d);
}

START_TEST(images)
{
    fill_images();
    for (int zipped = 0; zipped < 2; zipped++) {
        (zipped ? zip : write_bytes)(path, image_bytes, sizeof image_bytes);
        (zipped ? zip : write_bytes)(other, label_bytes, sizeof label_bytes);
        hs_dataset *d;
        hs_message message;
        ck_assert_msg(hs_dataset_load_idx(&d, path, other, 5, 6, NULL, &message) == HS_OK, "%s",
                      message.text);
        ck_assert_uint_eq(d->rows, 4);
        ck_assert_uint_eq(d->features, 6);
        ck_assert_uint_eq(d->columns, 7);
        ck_assert_uint_eq(d->ones, 2);
        ck_assert_str_eq(d->names[6], "pixel 1,2");
        const double y[4] = { 0, 1, 1, 0 };
        const int image[4] = { 0, 1, 3, 4 };
        ck_assert_mem_eq(d->y, y, sizeof y);
        for (int r = 0; r < 4; r++) {
            ck_assert_double_eq(d->x[7 * r], 1);
            for (int k = 0; k < 6; k++)
                ck_assert_double_eq(d->x[7 * r + 1 + k], (10 * image[r] + k) / 255.0);
        }
        hs_dataset_free(d);
        const hs_dataset_options o = { .no_intercept = true };
        ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 6, 7, &o, &message), HS_OK);
        ck_assert_uint_eq(d->columns, 6);
        ck_assert_uint_eq(d->rows, 3);
        ck_assert_double_eq(d->y[1], 1);
        hs_dataset_free(d);
        ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 8, NULL, &message), HS_EINVAL);
        ck_assert_ptr_nonnull(strstr(message.text, "none of its 5 labels is 8"));
        ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 5, NULL, &message), HS_EINVAL);
        ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, -1, 5, NULL, &message), HS_EINVAL);
        const hs_dataset_options few = { .max_features = 5 };
        ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 6, &few, &message), HS_EOVERFLOW);
    }
}
END_TEST

START_TEST(bad_images)
{
    fill_images();
    assert_idx_refused(HS_EIO, "No such file");
    write_bytes(other, label_bytes, sizeof label_bytes);
    assert_idx_refused(HS_EIO, "No such file");
    write_bytes(path, label_bytes, sizeof label_bytes); /* labels for images */
    assert_idx_refused(HS_EFORMAT, "truncated: it ends in its header");
    write_bytes(other, image_bytes, sizeof image_bytes); /* images for labels */
    assert_idx_refused(HS_EFORMAT, "not IDX labels: the magic number is 0x00000803");
    for (size_t n = 0; n < sizeof label_bytes; n++) {
        write_bytes(other, label_bytes, n);
        assert_idx_refused(HS_EFORMAT, "truncated");
    }
    write_bytes(other, label_bytes, sizeof label_bytes);
    for (size_t n = 0; n < sizeof image_bytes; n++) {
        write_bytes(path, image_bytes, n);
        assert_idx_refused(HS_EFORMAT, "truncated");
    }
    unsigned char more[sizeof image_bytes + 1] = { 0 };
    memcpy(more, image_bytes, sizeof image_bytes);
    write_bytes(path, more, sizeof more);
    assert_idx_refused(HS_EFORMAT, "longer than its header says");
    more[7] = 4;
    write_bytes(path, more, sizeof more);
    assert_idx_refused(HS_EFORMAT, "4 images, but there are 5 labels");
    more[7] = 5;
    more[11] = 0;
    write_bytes(path, more, sizeof more);
    assert_idx_refused(HS_EFORMAT, "images of 0 x 3 pixels");
    more[8] = 0xff;
    write_bytes(path, more, sizeof more);
    assert_idx_refused(HS_EOVERFLOW, "images of 4278190080 x 3 pixels");
    zip(path, image_bytes, sizeof image_bytes);
    unsigned char bytes[256];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t n = 2; n < size; n++) { /* also in the checksum at its end */
        write_bytes(path, bytes, n);
        assert_idx_refused(HS_EFORMAT, "truncated");
    }
    bytes[size - 5] ^= 1; /* the checksum */
    write_bytes(path, bytes, size);
    assert_idx_refused(HS_EFORMAT, "damaged: incorrect data check");
}
END_TEST

START_TEST(mnist)
{
    const char *folder = getenv("HS_MNIST");
    if (!folder) {
        puts("skipped: MNIST (HS_MNIST names the folder of train-images-idx3-ubyte.gz)");
        return;
    }
    char image_file[512], label_file[512];
    snprintf(image_file, sizeof image_file, "%s/train-images-idx3-ubyte.gz", folder);
    snprintf(label_file, sizeof label_file, "%s/train-labels-idx1-ubyte.gz", folder);
    hs_dataset *d;
    hs_message message;
    ck_assert_msg(hs_dataset_load_idx(&d, image_file, label_file, 5, 6, NULL, &message) == HS_OK,
                  "%s", message.text);
    ck_assert_uint_eq(d->rows, 5421 + 5918);
    ck_assert_uint_eq(d->ones, 5918);
    ck_assert_uint_eq(d->columns, 785);
    size_t empty = 0;
    for (size_t i = 1; i < 785; i++) {
        double largest = 0;
        for (size_t r = 0; r < d->rows; r++)
            largest = fmax(largest, d->x[r * 785 + i]);
        empty += largest == 0;
    }
    ck_assert_uint_eq(empty, 145);
    hs_dataset_free(d);
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

START_TEST(memory_runs_out)
{
    fill_images();
    zip(path, image_bytes, sizeof image_bytes);
    zip(other, label_bytes, sizeof label_bytes);
    hs_set_allocator(&limited);
    hs_status status = HS_ENOMEM;
    hs_dataset *d = NULL;
    int blocks = 0;
    for (; status == HS_ENOMEM; blocks++) {
        hs_message message;
        blocks_left = blocks;
        status = hs_dataset_load_idx(&d, path, other, 5, 6, NULL, &message);
        if (status == HS_ENOMEM) {
            ck_assert_msg(strstr(message.text, "out of memory"), "%s", message.text);
            ck_assert_int_eq(living, 0);
        }
    }
    ck_assert_int_eq(status, HS_OK);
    ck_assert_int_ge(blocks, 6);
    hs_dataset_free(d);
    ck_assert_int_eq(living, 0);
    hs_set_allocator(NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("images");
    TCase *c = tcase_create("images");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, images);
    tcase_add_test(c, bad_images);
    tcase_add_test(c, mnist);
    tcase_add_test(c, memory_runs_out);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
