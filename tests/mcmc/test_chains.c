/* Chains in memory and as .npy files: round trips, streams, and every kind of damage. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/mcmc/chains.h>
#include <hastings/tensor/memory.h>

#include "support/full_disk.h"
#include "support/hs_check.h"

static char directory[] = "/tmp/hastings_chains_XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/draws.npy", directory);
}

static int count_files(void)
{
    int count = 0;
    DIR *d = opendir(directory);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *entry; (entry = readdir(d));)
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

static void remove_directory(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* and no temporary file is left */
}

static hs_chains *new_chains(size_t chains, size_t draws, size_t dim)
{
    hs_chains *c;
    ck_assert_int_eq(hs_chains_new(&c, chains, draws, dim, 0, NULL), HS_OK);
    for (size_t i = 0; i < chains * draws * dim; i++)
        c->x[i] = (double)i / 7 - 3;
    return c;
}

static void save(const hs_chains *c)
{
    hs_message message;
    ck_assert_msg(hs_chains_save(c, path, &message) == HS_OK, "%s", message.text);
}

static hs_chains *load(hs_draws_order order)
{
    hs_chains *c;
    hs_message message;
    ck_assert_msg(hs_chains_load(&c, path, order, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
    return c;
}

static void assert_load_fails(hs_status status, const char *part)
{
    hs_chains *c = (hs_chains *)(void *)path;
    hs_message message;
    ck_assert_int_eq(hs_chains_load(&c, path, HS_CHAIN_FIRST, &message), status);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_msg(strstr(message.text, path), "\"%s\" does not name the file", message.text);
    ck_assert_ptr_null(c);
}

static void write_file(const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static size_t read_file(void *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

/* A file with this dictionary and n zero bytes after it. */
static void write_npy(int version, const char *dictionary, size_t n)
{
    unsigned char bytes[2048] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version };
    const size_t start = version == 1 ? 10 : 12, length = strlen(dictionary);
    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + start, dictionary, length);
    write_file(bytes, start + length + n);
}

START_TEST(new_ones)
{
    hs_chains *c;
    hs_message message;
    ck_assert_int_eq(hs_chains_new(&c, 2, 3, 4, HS_KEEP_ALPHA | HS_KEEP_ACCEPTED, &message), HS_OK);
    ck_assert_ptr_nonnull(c->alpha);
    ck_assert_ptr_nonnull(c->accepted);
    ck_assert_ptr_null(c->log_pi);
    ck_assert_ptr_null(c->jump);
    for (int i = 0; i < 24; i++)
        ck_assert_double_eq(c->x[i], 0);
    ck_assert_ptr_eq(hs_chains_draw(c, 1, 2), c->x + 20);
    hs_chains_free(c);
    hs_chains_free(NULL);
    ck_assert_int_eq(hs_chains_new(&c, 2, 0, 4, 0, &message), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(message.text, "2 chains of 0 draws in 4 dimensions"));
    ck_assert_ptr_null(c);
    const size_t half = (size_t)1 << 32;
    const size_t huge[][3] = {
        { SIZE_MAX / 8, 100, 4 }, { 1, SIZE_MAX / 64, 1 }, { half, half, 1 }, { 1, 1, SIZE_MAX }
    };
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        ck_assert_int_eq(
            hs_chains_new(&c, huge[i][0], huge[i][1], huge[i][2], HS_KEEP_ALL, &message),
            HS_ENOMEM);
        ck_assert_msg(strstr(message.text, "out of memory") && strstr(message.text, " are left"),
                      "%s", message.text);
        ck_assert_ptr_null(c);
    }
    ck_assert_int_eq(hs_chains_new(NULL, 1, 1, 1, 0, &message), HS_EINVAL);
}
END_TEST

/* 1000 draws in 1000 dimensions and four arrays beside them: 8 MB and 25 kB. */
START_TEST(chains_are_refused_if_their_arrays_do_not_fit_together)
{
    hs_chains *c;
    hs_message message;
    hs_memory_set_most(8010000);
    ck_assert_int_eq(hs_chains_new(&c, 1, 1000, 1000, HS_KEEP_ALL, &message), HS_ENOMEM);
    ck_assert_str_eq(message.text, "out of memory for 1 chains of 1000 draws in 1000 dimensions: "
                                   "8.03 MB are needed, and 8.01 MB are left");
    ck_assert_ptr_null(c);
    ck_assert_int_eq(hs_chains_new(&c, 1, 1000, 1000, 0, &message), HS_OK);
    hs_chains_free(c);
    hs_memory_set_most(0);
}
END_TEST

START_TEST(round_trip)
{
    hs_chains *c = new_chains(3, 5, 2);
    c->x[7] = (double)INFINITY;
    save(c);
    ck_assert_int_eq(count_files(), 1);
    hs_chains *d = load(HS_CHAIN_FIRST);
    ck_assert_uint_eq(d->chains, 3);
    ck_assert_uint_eq(d->draws, 5);
    ck_assert_uint_eq(d->dim, 2);
    ck_assert_mem_eq(c->x, d->x, 30 * sizeof(double));
    hs_chains_free(d);
    d = load(HS_DRAW_FIRST); /* the same numbers read otherwise */
    ck_assert_uint_eq(d->chains, 5);
    ck_assert_uint_eq(d->draws, 3);
    ck_assert_double_eq(hs_chains_draw(d, 4, 1)[1], c->x[19]);
    hs_chains_free(d);
    hs_chains_free(c);
}
END_TEST

START_TEST(exact_bytes)
{
    hs_chains *c = new_chains(1, 1, 1);
    c->x[0] = 1;
    save(c);
    hs_chains_free(c);
    char bytes[256], text[128];
    ck_assert_uint_eq(read_file(bytes, sizeof bytes), 136);
    ck_assert_mem_eq(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(text, sizeof text, "%-117s\n",
             "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }");
    ck_assert_mem_eq(bytes + 10, text, 118);
    ck_assert_mem_eq(bytes + 128, "\0\0\0\0\0\0\xf0\x3f", 8);
}
END_TEST

START_TEST(streams)
{
    hs_draws_writer *w;
    hs_message message;
    enum { CHAINS = 3, DIM = 2, STEPS = 50000 }; /* more than the buffer */
    ck_assert_int_eq(hs_draws_open(&w, path, CHAINS, DIM, &message), HS_OK);
    for (int n = 0; n < STEPS; n++) {
        double step[CHAINS * DIM];
        for (int i = 0; i < CHAINS * DIM; i++)
            step[i] = n + 0.125 * i;
        ck_assert_int_eq(hs_draws_append(w, step, &message), HS_OK);
    }
    ck_assert_uint_eq(hs_draws_count(w), STEPS);
    ck_assert_int_ne(access(path, F_OK), 0); /* not yet */
    ck_assert_int_eq(hs_draws_close(w, &message), HS_OK);
    ck_assert_int_eq(count_files(), 1);
    hs_chains *c = load(HS_DRAW_FIRST);
    ck_assert_uint_eq(c->chains, CHAINS);
    ck_assert_uint_eq(c->draws, STEPS);
    ck_assert_uint_eq(c->dim, DIM);
    for (size_t m = 0; m < CHAINS; m++)
        for (size_t n = 0; n < STEPS; n++)
            for (size_t i = 0; i < DIM; i++)
                ck_assert_double_eq(hs_chains_draw(c, m, n)[i],
                                    (double)n + 0.125 * (double)(m * DIM + i));
    hs_chains_free(c);
}
END_TEST

START_TEST(streams_that_end_early)
{
    hs_draws_writer *w;
    const double step[2] = { 1, 2 };
    ck_assert_int_eq(hs_draws_open(&w, path, 1, 2, NULL), HS_OK);
    ck_assert_int_eq(hs_draws_close(w, NULL), HS_OK); /* no step at all: a sound, empty array */
    assert_load_fails(HS_ESHAPE, "it has no draws");
    ck_assert_int_eq(hs_draws_open(&w, path, 1, 2, NULL), HS_OK);
    ck_assert_int_eq(hs_draws_append(w, step, NULL), HS_OK);
    hs_draws_discard(w); /* the old file stays */
    assert_load_fails(HS_ESHAPE, "it has no draws");
    ck_assert_int_eq(hs_draws_close(NULL, NULL), HS_OK);
    hs_draws_discard(NULL);
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(killed_run_can_be_read)
{
    hs_draws_writer *w;
    enum { DIM = 1000 };
    static double step[DIM];
    ck_assert_int_eq(hs_draws_open(&w, path, 1, DIM, NULL), HS_OK);
    for (int n = 0; n < 300; n++) {
        step[0] = n;
        ck_assert_int_eq(hs_draws_append(w, step, NULL), HS_OK);
    }
    char temporary[128]; /* as if the program ended here */
    snprintf(temporary, sizeof temporary, "%s.%ld-0.tmp", path, (long)getpid());
    ck_assert_int_eq(link(temporary, path), 0);
    hs_chains *c = load(HS_DRAW_FIRST);
    ck_assert_uint_ge(c->draws, 200);
    ck_assert_uint_lt(c->draws, 300);
    for (size_t n = 0; n < c->draws; n++)
        ck_assert_double_eq(*hs_chains_draw(c, 0, n), (double)n);
    hs_chains_free(c);
    hs_draws_discard(w);
}
END_TEST

START_TEST(full_disk)
{
    hs_draws_writer *w;
    hs_message message = { "" };
    enum { DIM = 999 };
    static double step[DIM];
    ck_assert_int_eq(hs_draws_open(&w, path, 1, DIM, NULL), HS_OK);
    fill_disk_after(3000000);
    hs_status status = HS_OK;
    for (int n = 0; n < 1000 && status == HS_OK; n++) {
        step[0] = n;
        status = hs_draws_append(w, step, &message);
    }
    hs_message at_close;
    const hs_status again_status = hs_draws_append(w, step, NULL);
    const hs_status close_status = hs_draws_close(w, &at_close);
    empty_disk();
    ck_assert_int_eq(status, HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "cannot write its byte 3000000: File too large"));
    ck_assert_int_eq(again_status, HS_EIO); /* it sticks */
    ck_assert_int_eq(close_status, HS_EIO);
    ck_assert_ptr_nonnull(strstr(at_close.text, "cannot write its byte 3000000"));
    ck_assert_int_eq(count_files(), 1);
    hs_chains *c = load(HS_DRAW_FIRST); /* what reached the disk was saved */
    ck_assert_uint_eq(c->draws, (3000000 - 128) / (8 * DIM));
    for (size_t n = 0; n < c->draws; n++)
        ck_assert_double_eq(*hs_chains_draw(c, 0, n), (double)n);
    /* But chains are saved as a whole, or the old file stays. */
    hs_chains *large = new_chains(4, 300, DIM);
    fill_disk_after(5000000);
    status = hs_chains_save(large, path, &message);
    empty_disk();
    ck_assert_int_eq(status, HS_EIO);
    hs_chains *again = load(HS_DRAW_FIRST);
    ck_assert_uint_eq(again->draws, c->draws);
    ck_assert_int_eq(count_files(), 1);
    hs_chains_free(large);
    hs_chains_free(again);
    hs_chains_free(c);
}
END_TEST

START_TEST(places_that_cannot_be_written)
{
    hs_chains *c = new_chains(1, 4, 1);
    hs_draws_writer *w;
    hs_message message;
    ck_assert_int_eq(hs_chains_save(c, "/nowhere/draws.npy", &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "No such file or directory"));
    ck_assert_int_eq(hs_draws_open(&w, "/dev/null", 1, 1, &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "not a regular file"));
    ck_assert_ptr_null(w);
    ck_assert_int_eq(hs_draws_open(&w, path, 0, 1, &message), HS_EINVAL);
    ck_assert_int_eq(hs_draws_open(&w, NULL, 1, 1, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_save(NULL, path, &message), HS_EINVAL);
    ck_assert_int_eq(hs_draws_append(NULL, c->x, &message), HS_EINVAL);
    hs_chains_free(c);
}
END_TEST

START_TEST(bad_files)
{
    assert_load_fails(HS_EIO, "No such file");
    write_file("", 0);
    assert_load_fails(HS_EFORMAT, "truncated: it ends at byte 0");
    write_file("name,value\n1,2\n", 15);
    assert_load_fails(HS_EFORMAT, "not a .npy file");
    write_npy(9, "{}", 0);
    assert_load_fails(HS_EFORMAT, "version 9");
    hs_chains *c = new_chains(2, 4, 3);
    save(c);
    hs_chains_free(c);
    unsigned char bytes[512];
    const size_t size = read_file(bytes, sizeof bytes);
    for (size_t n = 0; n < size; n++) { /* cut anywhere */
        write_file(bytes, n);
        assert_load_fails(HS_EFORMAT, "truncated");
    }
    static const struct {
        const char *dictionary;
        hs_status status;
        const char *says;
    } bad[] = {
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", HS_EDTYPE, "'<f4'" },
        { "{'descr': '>f8', 'fortran_order': False, 'shape': (1, 2, 3), }", HS_EDTYPE, "'>f8'" },
        { "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", HS_EDTYPE,
          "a record" },
        { "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 2, 3), }", HS_ESHAPE,
          "Fortran order" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", HS_ESHAPE, "it has 1 axes" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", HS_ESHAPE, "it has 0 axes" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2, 3), }", HS_ESHAPE,
          "it has 4 axes" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 0, 3), }", HS_ESHAPE,
          "axis 1 has length 0" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 99), }", HS_EFORMAT,
          "truncated: 48 of 1584 bytes" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
          HS_EFORMAT, "impossibly large" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 99999999999999999999, 2), }",
          HS_EFORMAT, "cannot be understood" },
        { "{'descr': '<f8', 'fortran_order': False, }", HS_EFORMAT, "cannot be understood" },
        { "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1, 2, 3), }", HS_EFORMAT,
          "cannot be understood" },
        { "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }",
          HS_EFORMAT, "cannot be understood" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2 3), }", HS_EFORMAT,
          "cannot be understood" },
        { "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2, 3), }", HS_EFORMAT,
          "cannot be understood" },
        { "", HS_EFORMAT, "cannot be understood" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_npy(1, bad[i].dictionary, 48);
        assert_load_fails(bad[i].status, bad[i].says);
    }
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0777), 0);
    assert_load_fails(HS_EIO, "not a regular file");
    rmdir(path);
}
END_TEST

START_TEST(other_writers)
{
    /* Version 2, other blanks, double quotes, no comma at the end, more than the array. */
    write_npy(2, "{\"shape\":(1,2,3),\"fortran_order\":False , 'descr' :'<f8'}  \n", 50);
    hs_chains *c = load(HS_CHAIN_FIRST);
    ck_assert_uint_eq(c->draws, 2);
    hs_chains_free(c);
}
END_TEST

START_TEST(numpy_reads_them)
{
    const char *python = getenv("HS_PYTHON");
    char command[512];
    if (!python)
        python = "python3";
    snprintf(command, sizeof command, "%s -c 'import numpy' >/dev/null 2>&1", python);
    if (system(command) != 0) {
        puts("skipped: reading with NumPy (python3 with numpy is missing)");
        return;
    }
    hs_chains *c = new_chains(3, 4, 2);
    save(c);
    hs_chains_free(c);
    snprintf(command, sizeof command,
             "%s -c 'import numpy as n; x = n.load(\"%s\"); "
             "assert x.shape == (3, 4, 2) and (x.ravel() == n.arange(24) / 7 - 3).all(); "
             "n.save(\"%s\", x[:, ::2] + 1)'",
             python, path, path);
    ck_assert_int_eq(system(command), 0);
    c = load(HS_CHAIN_FIRST);
    ck_assert_uint_eq(c->draws, 2);
    ck_assert_double_eq(hs_chains_draw(c, 1, 1)[1], 13 / 7.0 - 3 + 1);
    hs_chains_free(c);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("chains");
    TCase *c = tcase_create("chains");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, new_ones);
    tcase_add_test(c, chains_are_refused_if_their_arrays_do_not_fit_together);
    tcase_add_test(c, round_trip);
    tcase_add_test(c, exact_bytes);
    tcase_add_test(c, streams);
    tcase_add_test(c, streams_that_end_early);
    tcase_add_test(c, killed_run_can_be_read);
    tcase_add_test(c, full_disk);
    tcase_add_test(c, places_that_cannot_be_written);
    tcase_add_test(c, bad_files);
    tcase_add_test(c, other_writers);
    tcase_add_test(c, numpy_reads_them);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
