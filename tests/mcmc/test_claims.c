/* Files that claim more than they have, that never end, or that are not files: memory grows with what was read. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/io/dataset.h>
#include <hastings/nn/file.h>

#include "support/hs_check.h"

static char directory[] = "/tmp/hastings_claims_XXXXXX";
static char path[64], other[64];

static void begin(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a", directory);
    snprintf(other, sizeof other, "%s/b", directory);
}

static void end(void)
{
    hs_memory_set_most(0);
    unlink(path);
    unlink(other);
    ck_assert_int_eq(rmdir(directory), 0);
}

/* A gzipped file: some bytes, and a last one many times. */
static void zip(const char *name, const void *bytes, size_t n, char last, size_t times)
{
    gzFile file = gzopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)n), (int)n);
    char block[1000];
    memset(block, last, sizeof block);
    for (size_t i = 0; i < times; i += sizeof block)
        ck_assert_int_eq(gzwrite(file, block, sizeof block), (int)sizeof block);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

static void assert_says(const hs_message *message, const char *part)
{
    ck_assert_msg(strstr(message->text, part), "\"%s\" does not say \"%s\"", message->text, part);
}

/* ---- IDX ------------------------------------------------------------------------------------- */

/* 100000 images of 100 x 100 pixels would be 8 GB; none is there. */
START_TEST(images_that_are_not_there)
{
    const unsigned char labels[] = { 0, 0, 8, 1, 0, 1, 0x86, 0xa0, 5 };
    const unsigned char images[] = { 0, 0, 8, 3, 0, 1, 0x86, 0xa0, 0, 0, 0, 100, 0, 0, 0, 100, 7 };
    hs_dataset *d;
    hs_message message;
    zip(other, labels, sizeof labels, 6, 99000);
    hs_memory_set_most(10000000);
    ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 6, NULL, &message), HS_EFORMAT);
    assert_says(&message, "truncated: 99001 of 100000 labels are there");
    zip(other, labels, sizeof labels - 1, 5, 50000);
    gzFile more = gzopen(other, "ab");
    for (int i = 0; i < 50000; i++)
        ck_assert_int_eq(gzputc(more, 6), 6);
    ck_assert_int_eq(gzclose(more), Z_OK);
    zip(path, images, sizeof images, 0, 0);
    ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 6, NULL, &message), HS_EFORMAT);
    assert_says(&message, "truncated: it ends in image 1 of 100000");
    const hs_dataset_options small = { .max_bytes = 1000000 };
    ck_assert_int_eq(hs_dataset_load_idx(&d, path, other, 5, 6, &small, &message), HS_EOVERFLOW);
    assert_says(&message, "100000 images of 10000 pixels are 1 GB, the limit is 1 MB");
}
END_TEST

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A header of 2000 columns, and 10000 lines of one: 160 MB, were each line believed to be whole. */
START_TEST(lines_that_are_too_short)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 2000; i++)
        fprintf(file, "x%d%c", i, i < 1999 ? ',' : '\n');
    for (int i = 0; i < 10000; i++)
        fprintf(file, "1\n");
    ck_assert_int_eq(fclose(file), 0);
    hs_dataset *d;
    hs_chains *c;
    hs_message message;
    hs_memory_set_most(10000000);
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, NULL, &message), HS_EFORMAT);
    assert_says(&message, "line 2 has 1 columns, the header has 2000");
    ck_assert_int_eq(hs_chains_read(&c, NULL, (const char *const[]){ path }, 1, &message),
                     HS_EFORMAT);
    assert_says(&message, "line 2 has 1 columns, the header has 2000");
}
END_TEST

START_TEST(texts_without_end)
{
    hs_dataset *d;
    hs_chains *c;
    hs_message message;
    const char *const zeros = "/dev/zero", *const text = path;
    ck_assert_int_eq(hs_chains_read(&c, NULL, &zeros, 1, &message), HS_EFORMAT);
    ck_assert_str_eq(message.text, "/dev/zero: not a text file");
    ck_assert_int_eq(hs_dataset_load_csv(&d, zeros, NULL, &message), HS_EFORMAT);
    ck_assert_str_eq(message.text, "/dev/zero: not a text file");
    zip(path, "a,b\n", 4, '1', 66000000);
    ck_assert_int_eq(hs_chains_read(&c, NULL, &text, 1, &message), HS_EOVERFLOW);
    assert_says(&message, "a line longer than 64 MB, the limit");
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, NULL, &message), HS_EOVERFLOW);
    assert_says(&message, "a line longer than 64 MB, the limit");
    zip(path, "a\n", 2, '\n', 2000000);
    hs_memory_set_most(4000000);
    ck_assert_int_eq(hs_chains_read(&c, NULL, &text, 1, &message), HS_EOVERFLOW);
    assert_says(&message, "longer than 1 MB, a quarter of the memory that is left");
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, NULL, &message), HS_EOVERFLOW);
    assert_says(&message, "longer than 1 MB, a quarter of the memory that is left");
}
END_TEST

/* ---- Pipes ----------------------------------------------------------------------------------- */

static void *write_draws(void *name)
{
    FILE *file = fopen(name, "w");
    if (file) {
        fputs("a,b\n1,2\n3,4\n5,6\n", file);
        fclose(file);
    }
    return NULL;
}

START_TEST(pipes)
{
    pthread_t writer;
    hs_chains *c;
    hs_chain_names names;
    hs_message message;
    const char *const pipe = path;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_draws, path), 0);
    const hs_status status = hs_chains_read(&c, &names, &pipe, 1, &message);
    ck_assert_int_eq(pthread_join(writer, NULL), 0);
    ck_assert_msg(status == HS_OK, "%s", message.text);
    ck_assert(c->chains == 1 && c->draws == 3 && c->dim == 2);
    ck_assert_str_eq(names.name[0], "a");
    ck_assert_double_eq(c->x[5], 6);
    hs_chains_free(c);
    hs_chain_names_free(&names);
    /* Nobody writes, and nobody waits. */
    ck_assert_int_eq(hs_chains_load(&c, path, HS_CHAIN_FIRST, &message), HS_EIO);
    assert_says(&message, "not a regular file");
    hs_params *ps = hs_params_new(HS_F64, 0);
    ck_assert_int_eq(hs_params_load(ps, NULL, path, &message), HS_EIO);
    assert_says(&message, "not a regular file");
    hs_params_free(ps);
}
END_TEST

/* ---- Sparse files ---------------------------------------------------------------------------- */

/* 100 MB by their size, and nothing on disk. */
START_TEST(sparse_files)
{
    static const char header[] = "\x93NUMPY\1\0\x76\0{'descr': '<f8', 'fortran_order': False, "
                                 "'shape': (10, 100000, 10), }";
    hs_chains *c;
    hs_message message;
    char text[129];
    memset(text, ' ', 128);
    memcpy(text, header, sizeof header - 1);
    text[127] = '\n';
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, 128, file), 128);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(truncate(path, 100000000), 0);
    hs_memory_set_most(50000000);
    ck_assert_int_eq(hs_chains_load(&c, path, HS_CHAIN_FIRST, &message), HS_ENOMEM);
    assert_says(&message, "out of memory for 10 chains of 100000 draws in 10 dimensions: 80 MB "
                          "are needed, and 50 MB are left");
    hs_params *ps = hs_params_new(HS_F64, 0);
    ck_assert_int_eq(hs_params_load(ps, NULL, path, &message), HS_ENOMEM);
    assert_says(&message, "out of memory: 100 MB are needed, and 50 MB are left");
    hs_params_free(ps);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("claims of files");
    TCase *c = tcase_create("claims");
    tcase_add_checked_fixture(c, begin, end);
    tcase_add_test(c, images_that_are_not_there);
    tcase_add_test(c, lines_that_are_too_short);
    tcase_add_test(c, texts_without_end);
    tcase_add_test(c, pipes);
    tcase_add_test(c, sparse_files);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
