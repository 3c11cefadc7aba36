/* Parameter files: round trips, every kind of damage, and writes that fail. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/nn/file.h>

#include "support/full_disk.h"
#include "support/hs_check.h"

static char directory[] = "/tmp/hastings_file_XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/net.hsp", directory);
}

/* Files in the directory, to see that no temporary one is left. */
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
    ck_assert_int_eq(rmdir(directory), 0);
}

static hs_params *new_store(hs_dtype dtype, uint64_t seed)
{
    hs_params *ps = hs_params_new(dtype, seed);
    hs_params_add(ps, "net.0.weight", hs_dims(3, 2), hs_init_normal(1));
    hs_params_add(ps, "net.0.bias", hs_dims(3), hs_init_normal(1));
    hs_params_add(ps, "scale", hs_scalar_shape(), hs_init_normal(1));
    return ps;
}
enum { SIZE = 10 };

static void assert_values(hs_params *ps, const double *expected)
{
    double values[SIZE];
    hs_params_get(ps, values);
    ck_assert_mem_eq(values, expected, sizeof values);
}

static void assert_load_fails(hs_params *ps, hs_optimizer *optimizer, hs_status status,
                              const char *part)
{
    hs_message message;
    double before[SIZE];
    hs_params_get(ps, before);
    ck_assert_int_eq(hs_params_load(ps, optimizer, path, &message), status);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_int_eq(hs_params_load(ps, optimizer, path, NULL), status);
    ck_assert_int_eq(hs_params_status(ps), HS_OK);
    assert_values(ps, before);
}

static size_t read_file(unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void write_file(const unsigned char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_gradients(hs_params *ps, double scale)
{
    for (size_t i = 0; i < hs_params_bytes(ps) / hs_dtype_size(hs_params_dtype(ps)); i++) {
        if (hs_params_dtype(ps) == HS_F32)
            ((float *)hs_params_gradients(ps))[i] = (float)scale;
        else
            ((double *)hs_params_gradients(ps))[i] = scale;
    }
}

START_TEST(round_trip)
{
    const hs_dtype dtype = (hs_dtype)_i;
    hs_params *a = new_store(dtype, 1), *b = new_store(dtype, 2);
    const double odd[SIZE] = { 0, -0.0, (double)INFINITY, -(double)INFINITY, 1e-45, 1.5, -3e38, 1,
                               2, 3 };
    hs_params_set(a, odd);
    double values[SIZE];
    hs_params_get(a, values);
    hs_message message;
    ck_assert_int_eq(hs_params_save(a, NULL, path, &message), HS_OK);
    ck_assert_str_eq(message.text, "");
    ck_assert_int_eq(hs_params_load(b, NULL, path, &message), HS_OK);
    ck_assert_str_eq(message.text, "");
    assert_values(b, values);
    ck_assert_int_eq(count_files(), 1);
    hs_params_free(a);
    hs_params_free(b);
}
END_TEST

static int optimizer_count(void)
{
    int n = 0;
    while (hs_optimizer_list((size_t)n))
        n++;
    return n;
}

/* Saved after five steps and resumed elsewhere, training goes on with the same bits: each optimiser of the table, with
 * momentum if it has that. */
START_TEST(optimisers_resume_with_the_same_bits)
{
    const hs_dtype dtype = _i % 2 ? HS_F64 : HS_F32;
    const bool momentum = _i / 2 % 2;
    const hs_optimizer_entry *entry = hs_optimizer_list((size_t)_i / 4);
    ck_assert_ptr_nonnull(entry);
    const hs_optimizer_number *n = entry->number;
    while (n->name && strcmp(n->name, "momentum") != 0)
        n++;
    const hs_optimizer_options o = { entry->name, .momentum = momentum && n->name ? 0.9 : 0,
                                     .schedule = { HS_COSINE, .final = 0.1, .steps = 20,
                                                   .warmup = 3 } };
    hs_params *ps[2] = { new_store(dtype, 1), new_store(dtype, 2) };
    hs_optimizer *optimizer[2];
    for (int k = 0; k < 2; k++)
        optimizer[k] = hs_optimizer_new(ps[k], &o);
    for (int step = 0; step < 10; step++) {
        if (step == 5) {
            ck_assert_int_eq(hs_params_save(ps[0], optimizer[0], path, NULL), HS_OK);
            ck_assert_int_eq(hs_params_load(ps[1], optimizer[1], path, NULL), HS_OK);
            ck_assert_uint_eq(hs_optimizer_steps(optimizer[1]), 5);
        }
        for (int k = step < 5 ? 0 : 1; k >= 0; k--) {
            set_gradients(ps[k], cos(step));
            ck_assert_int_eq(hs_optimizer_step(optimizer[k]), HS_OK);
        }
    }
    double values[SIZE];
    hs_params_get(ps[0], values);
    assert_values(ps[1], values);
    hs_params *third = new_store(dtype, 3); /* and the values alone can be had */
    ck_assert_int_eq(hs_params_load(third, NULL, path, NULL), HS_OK);
    hs_params_free(third);
    for (int k = 0; k < 2; k++) {
        hs_optimizer_free(optimizer[k]);
        hs_params_free(ps[k]);
    }
}
END_TEST

/* The bytes of a small file, from the description in file.h. */
START_TEST(the_format_is_as_documented)
{
    const double two = 2;
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "ab", hs_dims(1), hs_init_values(&two));
    ck_assert_int_eq(hs_params_save(ps, NULL, path, NULL), HS_OK);
    unsigned char expected[78] = { 0x89, 'H', 'S', 'P', '\r', '\n', 0x1a, '\n', 1, 0, 0,   0,   8,
                                   0,    0,   0,   78,  0,    0,    0,    0,    0, 0, 0,   1,   0,
                                   0,    0,   0,   0,   0,    0,    2,    0,    0, 0, 'a', 'b', 1,
                                   0,    0,   0,   1,   0,    0,    0,    0,    0, 0, 0 };
    expected[66 + 7] = 0x40; /* 2.0, after 16 zero bytes of no optimiser */
    const unsigned long crc = crc32(0, expected, 74);
    for (int i = 0; i < 4; i++)
        expected[74 + i] = (unsigned char)(crc >> (8 * i));
    unsigned char bytes[100];
    ck_assert_uint_eq(read_file(bytes, sizeof bytes), sizeof expected);
    ck_assert_mem_eq(bytes, expected, sizeof expected);
    hs_params_free(ps);
}
END_TEST

START_TEST(every_damage_is_refused)
{
    const hs_dtype dtype = (hs_dtype)_i;
    hs_params *ps = new_store(dtype, 1), *other = new_store(dtype, 2);
    hs_optimizer *optimizer = hs_optimizer_new(ps, NULL), *into = hs_optimizer_new(other, NULL);
    unsigned char bytes[2000];
    ck_assert_int_eq(hs_params_save(ps, optimizer, path, NULL), HS_OK);
    const size_t n = read_file(bytes, sizeof bytes);
    ck_assert(n > 100 && n < 1000);
    for (size_t cut = 0; cut < n; cut++) {
        write_file(bytes, cut);
        assert_load_fails(other, into, HS_EFORMAT, "truncated");
    }
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] = (unsigned char)(bytes[i] ^ 1u << bit);
            write_file(bytes, n);
            assert_load_fails(other, into, HS_EFORMAT,
                              i < 8    ? "not a parameter file"
                              : i < 12 ? "format version is"
                              : i < 16 ? "damaged: its checksum is"
                              : i < 24 ? "expected"
                                       : "damaged: its checksum is");
            bytes[i] = (unsigned char)(bytes[i] ^ 1u << bit);
        }
    bytes[n] = 0;
    write_file(bytes, n + 1);
    assert_load_fails(other, into, HS_EFORMAT, "something follows its end");
    ck_assert_uint_eq(hs_optimizer_steps(into), 0);
    write_file(bytes, n);
    ck_assert_int_eq(hs_params_load(other, into, path, NULL), HS_OK);
    hs_optimizer_free(optimizer);
    hs_optimizer_free(into);
    hs_params_free(ps);
    hs_params_free(other);
}
END_TEST

/* Files with a right checksum and wrong content: flips a byte and mends the checksum. A load fails,
 * or loads a changed number; it never crashes. */
START_TEST(forged_files_do_no_harm)
{
    hs_params *ps = new_store(HS_F32, 1);
    unsigned char bytes[1000];
    ck_assert_int_eq(hs_params_save(ps, NULL, path, NULL), HS_OK);
    const size_t n = read_file(bytes, sizeof bytes), numbers = n - 4 - SIZE * 4;
    for (size_t i = 24; i < n - 4; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] = (unsigned char)(bytes[i] ^ 1u << bit);
            const unsigned long crc = crc32(0, bytes, (unsigned)(n - 4));
            for (size_t k = 0; k < 4; k++)
                bytes[n - 4 + k] = (unsigned char)(crc >> (8 * k));
            write_file(bytes, n);
            const bool steps = i >= numbers - 8 && i < numbers; /* of no optimiser: not looked at */
            const bool kind = i == numbers - 16 && bit == 0;    /* SGD keeps no moments: it loads */
            if (i < numbers && !steps && !kind)
                ck_assert_int_ne(hs_params_load(ps, NULL, path, NULL), HS_OK);
            else
                ck_assert_int_eq(hs_params_load(ps, NULL, path, NULL), HS_OK);
            bytes[i] = (unsigned char)(bytes[i] ^ 1u << bit);
        }
    hs_params_free(ps);
}
END_TEST

START_TEST(what_does_not_match_is_refused)
{
    hs_params *saved = new_store(HS_F32, 1), *ps = new_store(HS_F64, 1);
    ck_assert_int_eq(hs_params_save(saved, NULL, path, NULL), HS_OK);
    assert_load_fails(ps, NULL, HS_EDTYPE, "its numbers are f32, expected f64");
    hs_params_free(ps);

    ps = new_store(HS_F32, 1);
    hs_params_add(ps, "more", hs_dims(1), hs_init_zero());
    hs_message message;
    ck_assert_int_eq(hs_params_load(ps, NULL, path, &message), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(message.text, "it has 3 parameters, expected 4"));
    hs_params_free(ps);

    ps = hs_params_new(HS_F32, 1);
    hs_params_add(ps, "net.0.weight", hs_dims(3, 2), hs_init_zero());
    hs_params_add(ps, "net.0.Bias", hs_dims(3), hs_init_zero());
    hs_params_add(ps, "scale", hs_scalar_shape(), hs_init_zero());
    assert_load_fails(ps, NULL, HS_EINVAL,
                      "parameter 1 is \"net.0.bias\", expected \"net.0.Bias\"");
    hs_params_free(ps);

    ps = hs_params_new(HS_F32, 1);
    hs_params_add(ps, "net.0.weight", hs_dims(2, 3), hs_init_zero());
    hs_params_add(ps, "net.0.bias", hs_dims(3), hs_init_zero());
    hs_params_add(ps, "scale", hs_scalar_shape(), hs_init_zero());
    assert_load_fails(ps, NULL, HS_ESHAPE,
                      "parameter \"net.0.weight\" has shape [3, 2], expected [2, 3]");
    hs_params_free(ps);

    ps = new_store(HS_F32, 1);
    hs_optimizer *adam = hs_optimizer_new(ps, NULL);
    assert_load_fails(ps, adam, HS_EINVAL, "it has the state of no optimiser, expected adam");
    ck_assert_int_eq(hs_params_save(ps, adam, path, NULL), HS_OK);
    hs_optimizer *adamw = hs_optimizer_new(ps, &(hs_optimizer_options){ .name = "adamw" }),
                 *sgd = hs_optimizer_new(ps, &(hs_optimizer_options){ .name = "sgd" });
    assert_load_fails(ps, adamw, HS_EINVAL, "it has the state of adam, expected adamw");
    ck_assert_int_eq(hs_params_save(ps, sgd, path, NULL), HS_OK);
    hs_optimizer *momentum =
        hs_optimizer_new(ps, &(hs_optimizer_options){ "sgd", .momentum = 0.9 });
    assert_load_fails(ps, momentum, HS_EINVAL, "keeps 0 moments, expected 1");
    ck_assert_int_eq(hs_params_load(saved, adam, path, &message), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(message.text, "belongs to another store"));
    ck_assert_int_eq(hs_params_save(saved, adam, path, NULL), HS_EINVAL);
    hs_optimizer_free(adam);
    hs_optimizer_free(adamw);
    hs_optimizer_free(sgd);
    hs_optimizer_free(momentum);
    hs_params_free(ps);
    hs_params_free(saved);
    ck_assert_int_eq(hs_params_save(NULL, NULL, path, &message), HS_ENOMEM);
    ck_assert_int_eq(hs_params_load(NULL, NULL, path, &message), HS_ENOMEM);
}
END_TEST

static void assert_save_fails(const hs_params *ps, const char *where, const char *part)
{
    hs_message message;
    ck_assert_int_eq(hs_params_save(ps, NULL, where, &message), HS_EIO);
    ck_assert_msg(strstr(message.text, part) && strstr(message.text, where),
                  "\"%s\" does not say \"%s\"", message.text, part);
}

START_TEST(what_cannot_be_opened_is_an_error)
{
    hs_params *ps = new_store(HS_F64, 1);
    assert_load_fails(ps, NULL, HS_EIO, "cannot open: No such file");
    char inside[80];
    snprintf(inside, sizeof inside, "%s/missing/net.hsp", directory);
    assert_save_fails(ps, inside, "No such file");
    assert_save_fails(ps, directory, "not a regular file");
    assert_save_fails(ps, "/dev/null", "not a regular file"); /* and it is still a device */
    struct stat device;
    ck_assert(stat("/dev/null", &device) == 0 && S_ISCHR(device.st_mode));
    hs_message message;
    ck_assert_int_eq(hs_params_load(ps, NULL, directory, &message), HS_EIO);
    ck_assert_int_eq(chmod(directory, 0500), 0);
    if (geteuid() != 0) /* root may write anywhere */
        assert_save_fails(ps, path, "Permission denied");
    ck_assert_int_eq(chmod(directory, 0700), 0);
    ck_assert_int_eq(count_files(), 0);
    hs_params_free(ps);
}
END_TEST

/* A disk that fills up: the old file stays, whole. */
START_TEST(a_write_that_fails_leaves_the_old_file)
{
    hs_params *small = new_store(HS_F64, 1), *large = hs_params_new(HS_F64, 1);
    hs_params_add(large, "w", hs_dims(100000), hs_init_normal(1));
    ck_assert_int_eq(hs_params_save(small, NULL, path, NULL), HS_OK);
    unsigned char before[1000], after[1000];
    const size_t n = read_file(before, sizeof before);
    const size_t limits[] = { 0, 100, 65536, 70000, 799999 };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        hs_message message;
        fill_disk_after(limits[i]);
        const hs_status status = hs_params_save(large, NULL, path, &message);
        empty_disk();
        ck_assert_int_eq(status, HS_EIO);
        char expected[60];
        snprintf(expected, sizeof expected, "cannot write its byte %zu: File too large", limits[i]);
        ck_assert_msg(strstr(message.text, expected), "\"%s\" does not say \"%s\"", message.text,
                      expected);
        ck_assert_int_eq(count_files(), 1);
        ck_assert_uint_eq(read_file(after, sizeof after), n);
        ck_assert_mem_eq(before, after, n);
    }
    ck_assert_int_eq(hs_params_save(large, NULL, path, NULL), HS_OK);
    ck_assert_int_eq(hs_params_load(large, NULL, path, NULL), HS_OK);
    hs_params_free(small);
    hs_params_free(large);
}
END_TEST

START_TEST(a_bare_name_is_saved_in_the_current_directory)
{
    char old[512];
    ck_assert_ptr_nonnull(getcwd(old, sizeof old));
    ck_assert_int_eq(chdir(directory), 0);
    hs_params *ps = new_store(HS_F64, 1);
    ck_assert_int_eq(hs_params_save(ps, NULL, "net.hsp", NULL), HS_OK);
    ck_assert_int_eq(hs_params_load(ps, NULL, path, NULL), HS_OK);
    hs_params_free(ps);
    ck_assert_int_eq(chdir(old), 0);
}
END_TEST

static Suite *file_suite(void)
{
    Suite *suite = suite_create("file");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, make_directory, remove_directory);
    tcase_set_timeout(files, 60);
    tcase_add_loop_test(files, round_trip, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(files, optimisers_resume_with_the_same_bits, 0, 4 * optimizer_count());
    tcase_add_test(files, the_format_is_as_documented);
    tcase_add_loop_test(files, every_damage_is_refused, HS_F32, HS_F64 + 1);
    tcase_add_test(files, forged_files_do_no_harm);
    tcase_add_test(files, what_does_not_match_is_refused);
    tcase_add_test(files, what_cannot_be_opened_is_an_error);
    tcase_add_test(files, a_write_that_fails_leaves_the_old_file);
    tcase_add_test(files, a_bare_name_is_saved_in_the_current_directory);
    suite_add_tcase(suite, files);
    return suite;
}

HS_TEST_MAIN(file_suite())
