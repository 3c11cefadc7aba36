/* Data sets: those that are shipped, options, and every kind of bad file. */
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/mcmc/io/dataset.h>

#include "support/hs_check.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_data_XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a.csv", directory);
}

static void remove_directory(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
}

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static hs_dataset *load(const char *file, const hs_dataset_options *options)
{
    hs_dataset *d;
    hs_message message;
    ck_assert_msg(hs_dataset_load_csv(&d, file, options, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
    return d;
}

static hs_dataset *load_text(const char *text, const hs_dataset_options *options)
{
    write_bytes(path, text, strlen(text));
    return load(path, options);
}

static void assert_refused(const char *text, const hs_dataset_options *options, hs_status status,
                           const char *part)
{
    hs_dataset *d = (hs_dataset *)(void *)path;
    hs_message message;
    write_bytes(path, text, strlen(text));
    const hs_status found = hs_dataset_load_csv(&d, path, options, &message);
    ck_assert_msg(found == status, "status %d for \"%s\": %s", found, text, message.text);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_msg(strstr(message.text, path), "\"%s\" does not name the file", message.text);
    ck_assert_ptr_null(d);
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, options, NULL), status);
}

/* ---- What is shipped ------------------------------------------------------------------------- */

static const char *shipped(const char *name)
{
    static char file[1024];
    snprintf(file, sizeof file, "data/%s", name); /* CTest runs tests at the root of the tree */
    return file;
}

START_TEST(shipped_files)
{
    static const struct {
        const char *name;
        size_t rows, features, ones;
        double first; /* raw value of the first feature in the last row */
    } files[] = {
        { "german.csv", 1000, 20, 300, 1 },
        { "pima.csv", 768, 8, 268, 1 },
        { "heart.csv", 270, 13, 120, 67 },
        { "ripley.csv", 250, 2, 125, -0.40249641 },
    };
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        hs_dataset *d = load(shipped(files[f].name), NULL);
        ck_assert_uint_eq(d->rows, files[f].rows);
        ck_assert_uint_eq(d->features, files[f].features);
        ck_assert_uint_eq(d->columns, files[f].features + 1);
        ck_assert_uint_eq(d->ones, files[f].ones);
        ck_assert_str_eq(d->names[0], "intercept");
        ck_assert_str_eq(d->label, "label");
        size_t ones = 0;
        for (size_t r = 0; r < d->rows; r++) {
            ck_assert_double_eq(d->x[r * d->columns], 1);
            ones += d->y[r] == 1;
        }
        ck_assert_uint_eq(ones, d->ones);
        for (size_t i = 1; i < d->columns; i++) {
            double sum = 0, sum2 = 0;
            for (size_t r = 0; r < d->rows; r++) {
                sum += d->x[r * d->columns + i];
                sum2 += d->x[r * d->columns + i] * d->x[r * d->columns + i];
            }
            ck_assert_close(sum / (double)d->rows, 0, 0, 1e-12);
            ck_assert_close(sum2 / (double)d->rows, 1, 0, 1e-12);
        }
        hs_dataset *raw = load(shipped(files[f].name),
                               &(hs_dataset_options){ .raw = true, .no_intercept = true });
        ck_assert_uint_eq(raw->columns, files[f].features);
        ck_assert_double_eq(raw->x[(d->rows - 1) * raw->columns], files[f].first);
        for (size_t r = 0; r < d->rows; r++)
            for (size_t i = 0; i < d->features; i++)
                ck_assert_close(d->mean[i + 1] + d->sd[i + 1] * d->x[r * d->columns + i + 1],
                                raw->x[r * raw->columns + i], 1e-12, 1e-12);
        hs_dataset_free(raw);
        hs_dataset_free(d);
    }
}
END_TEST

/* ---- CSV ------------------------------------------------------------------------------------- */

START_TEST(options)
{
    static const char text[] = "a,class,b\n1,0,5\n3,1,7\n";
    hs_dataset *d = load_text(text, &(hs_dataset_options){ .label = "class" });
    ck_assert_uint_eq(d->columns, 3);
    ck_assert_str_eq(d->names[1], "a");
    ck_assert_str_eq(d->names[2], "b");
    ck_assert_str_eq(d->label, "class");
    const double expected[6] = { 1, -1, -1, 1, 1, 1 };
    ck_assert_mem_eq(d->x, expected, sizeof expected);
    ck_assert_double_eq(d->mean[2], 6);
    ck_assert_double_eq(d->sd[2], 1);
    ck_assert_double_eq(d->mean[0], 0);
    ck_assert_double_eq(d->y[1], 1);
    hs_dataset_free(d);
    d = load_text(text, &(hs_dataset_options){ .label_column = 2, .raw = true });
    ck_assert_double_eq(d->x[5], 7);
    hs_dataset_free(d);
    assert_refused(text, NULL, HS_EFORMAT, "line 2, column 3 (b): the label is 5, expected 0 or 1");
    assert_refused(text, &(hs_dataset_options){ .label_column = 4 }, HS_EINVAL,
                   "no column 4 for the label, it has 3");
    assert_refused(text, &(hs_dataset_options){ .label = "y" }, HS_EINVAL,
                   "no column is called \"y\"");
    assert_refused("a,a,b\n1,2,3\n", &(hs_dataset_options){ .label = "a" }, HS_EINVAL,
                   "more than one column is called \"a\"");
    assert_refused(text, &(hs_dataset_options){ .label_column = 2, .max_rows = 1 }, HS_EOVERFLOW,
                   "2 rows of 2 features, the limits are 1 and");
    assert_refused(text, &(hs_dataset_options){ .max_features = 1 }, HS_EOVERFLOW,
                   "3 columns, the limit is 1");
    assert_refused(text, &(hs_dataset_options){ .max_bytes = 10 }, HS_EOVERFLOW,
                   "longer than 10 bytes");
    hs_dataset_free(NULL);
}
END_TEST

START_TEST(constant_column)
{
    static const char text[] = "a,b,y\n1,0.1,0\n2,0.1,1\n3,0.1,1\n";
    assert_refused(text, NULL, HS_EINVAL, "column \"b\" has the value 0.1 in all rows");
    hs_dataset *d = load_text(text, &(hs_dataset_options){ .allow_constant = true });
    for (size_t r = 0; r < 3; r++)
        ck_assert_double_eq(d->x[3 * r + 2], 0);
    ck_assert_double_eq(d->mean[2], 0.1);
    hs_dataset_free(d);
    d = load_text(text, &(hs_dataset_options){ .raw = true });
    ck_assert_double_eq(d->x[2], 0.1);
    hs_dataset_free(d);
    assert_refused("a,y\n1e300,0\n-1e300,1\n", NULL, HS_EINVAL, "too large to be standardised");
}
END_TEST

START_TEST(forms_that_are_tolerated)
{
    static const char *const texts[] = {
        "a,y\n1.5,0\n-2e3,1\n",
        "a,y\n1.5,0\n-2e3,1",
        "a,y\r\n1.5,0\r\n-2e3,1\r\n",
        "a,y\r\n1.5,0\r\n-2e3,1\r\n\r\n  \r\n\n",
        "\xEF\xBB\xBF\x61,y\n1.5,0\n-2e3,1\n", /* x61: a */
        " a , y\n\t1.5 ,0 \n -2E+3, 1\n",
        "\"a\",\"y\"\n\"1.5\",\"0\"\n-2e3,1\n",
        "a,y\n+1.50,0.0\n-2000.,1.0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hs_dataset *d = load_text(texts[i], &(hs_dataset_options){ .raw = true });
        ck_assert_uint_eq(d->rows, 2);
        ck_assert_str_eq(d->names[1], "a");
        ck_assert_double_eq(d->x[1], 1.5);
        ck_assert_double_eq(d->x[3], -2000);
        ck_assert_double_eq(d->y[1], 1);
        hs_dataset_free(d);
    }
    hs_dataset *d = load_text("\"a, b\",y\n1,0\n2,1\n", NULL); /* a comma in quotes */
    ck_assert_str_eq(d->names[1], "a, b");
    hs_dataset_free(d);
}
END_TEST

START_TEST(locale_does_not_matter)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8" };
    for (size_t i = 0; i < 4 && !setlocale(LC_NUMERIC, names[i]); i++)
        ;
    hs_dataset *d = load_text("a,y\n1.5,0\n2.5,1\n", &(hs_dataset_options){ .raw = true });
    ck_assert_double_eq(d->x[1], 1.5);
    hs_dataset_free(d);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(bad_text)
{
    char longest[400] = "a,y\n";
    memset(longest + 4, '1', 200);
    strcpy(longest + 204, ",0\n2,1\n");
    const struct {
        const char *text;
        hs_status status;
        const char *says;
    } bad[] = {
        { "", HS_EFORMAT, "the file is empty" },
        { "\n1,0\n", HS_EFORMAT, "line 1, the header, is empty" },
        { "a,y\n", HS_EFORMAT, "no rows" },
        { "a,y", HS_EFORMAT, "no rows" },
        { "a,y\n\n\n", HS_EFORMAT, "no rows" },
        { "y\n0\n1\n", HS_EFORMAT, "line 1: one column only" },
        { "a;y\n1;0\n", HS_EFORMAT,
          "one column only, expected features and a label, separated by" },
        { "1.5,0\n2,1\n", HS_EFORMAT, "line 1 has numbers where the names of columns" },
        { "a,,y\n1,2,0\n", HS_EFORMAT, "line 1, column 2 has no name" },
        { "a,b,y\n1,2,0\n1,,1\n", HS_EFORMAT, ", line 3, column 2 (b): the value is missing" },
        { "a,b,y\n1,2,0\n?,1,1\n", HS_EFORMAT, ", line 3, column 1 (a): the value is missing (?)" },
        { "a,b,y\n1,NA,0\n", HS_EFORMAT, ", line 2, column 2 (b): the value is missing (NA)" },
        { "a,b,y\n1,2,\n", HS_EFORMAT, ", line 2, column 3 (y): the value is missing" },
        { "a,b,y\n1,red,0\n", HS_EFORMAT, ", line 2, column 2 (b): \"red\" is not a number" },
        { "a,b,y\n1,2x,0\n", HS_EFORMAT, "\"2x\" is not a number" },
        { "a,b,y\n1,0x10,0\n", HS_EFORMAT, "\"0x10\" is not a number" },
        { "a,b,y\n1,1 2,0\n", HS_EFORMAT, "\"1 2\" is not a number" },
        { "a,b,y\n1,--2,0\n", HS_EFORMAT, "\"--2\" is not a number" },
        { "a,b,y\n1,e,0\n", HS_EFORMAT, "\"e\" is not a number" },
        { "a,b,y\n1,2,yes\n", HS_EFORMAT, "column 3 (y): \"yes\" is not a number" },
        { longest, HS_EFORMAT, "(200 characters) is not a number" },
        { "a,b,y\n1,nan,0\n", HS_ENONFINITE, "line 2, column 2 (b): nan is not a finite number" },
        { "a,b,y\n1,-Inf,0\n", HS_ENONFINITE, "-Inf is not a finite number" },
        { "a,b,y\n1,1e999,0\n", HS_ENONFINITE, "1e999 is too large" },
        { "a,b,y\n1,2,0\n1,2\n", HS_EFORMAT, ", line 3 has 2 columns, the header has 3" },
        { "a,b,y\n1,2,0,4\n", HS_EFORMAT, ", line 2 has 4 columns, the header has 3" },
        { "a,b,y\n1,2,0\n\n1,2,1\n", HS_EFORMAT, ", line 3 has 0 columns" },
        { "a,b,y\n\"1,2,0\n", HS_EFORMAT, ", line 2 has 1 columns" },
        { "a,y\n1,0\n2,2\n", HS_EFORMAT, ", line 3, column 2 (y): the label is 2" },
        { "a,y\n1,0\n2,-1\n", HS_EFORMAT, "the label is -1" },
        { "a,y\n1,0\n2,0.5\n", HS_EFORMAT, "the label is 0.5" },
        { "a,y\n1,0\n2,0\n", HS_EINVAL, "one class only: all 2 labels are 0" },
        { "a,y\n1,1\n2,1\n3,1\n", HS_EINVAL, "one class only: all 3 labels are 1" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i].text, NULL, bad[i].status, bad[i].says);
    hs_dataset *d;
    hs_message message;
    write_bytes(path, "a,y\n1\0,0\n2,1\n", 14);
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, NULL, &message), HS_EFORMAT);
    ck_assert_ptr_nonnull(strstr(message.text, "not a text file"));
    ck_assert_int_eq(hs_dataset_load_csv(&d, "/nowhere/a.csv", NULL, &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "/nowhere/a.csv: cannot open it: No such file"));
    ck_assert_int_eq(hs_dataset_load_csv(&d, directory, NULL, &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "Is a directory"));
    ck_assert_int_eq(hs_dataset_load_csv(&d, NULL, NULL, &message), HS_EINVAL);
    ck_assert_int_eq(hs_dataset_load_csv(NULL, path, NULL, &message), HS_EINVAL);
}
END_TEST

/* Gzipped text is text; its limit counts what comes out of it, and its damage is found. */
START_TEST(gzipped_text)
{
    static char text[200000], bytes[4000];
    size_t length = (size_t)snprintf(text, sizeof text, "a,y\n");
    for (int i = 0; i < 10000; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%d,%d\n", i, i % 2);
    gzFile file = gzopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gzwrite(file, text, (unsigned)length), (int)length);
    ck_assert_int_eq(gzclose(file), Z_OK);
    hs_dataset *d = load(path, &(hs_dataset_options){ .raw = true });
    ck_assert_uint_eq(d->rows, 10000);
    ck_assert_double_eq(d->x[2 * 9999 + 1], 9999);
    hs_dataset_free(d);
    hs_message message;
    const hs_dataset_options small = { .max_bytes = length - 1 };
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, &small, &message), HS_EOVERFLOW);
    FILE *zipped = fopen(path, "rb");
    ck_assert_ptr_nonnull(zipped);
    const size_t n = fread(bytes, 1, sizeof bytes, zipped);
    fclose(zipped);
    write_bytes(path, bytes, n < sizeof bytes ? n - 4 : n);
    ck_assert_int_eq(hs_dataset_load_csv(&d, path, NULL, &message), HS_EFORMAT);
    ck_assert_ptr_nonnull(strstr(message.text, "truncated: its compressed data"));
    ck_assert_ptr_null(d);
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

START_TEST(memory_runs_out)
{
    static const char text[] = "a,b,y\n1,2,0\n2,1,1\n";
    write_bytes(path, text, strlen(text));
    hs_set_allocator(&limited);
    hs_status status = HS_ENOMEM;
    hs_dataset *d = NULL;
    int blocks = 0;
    for (; status == HS_ENOMEM; blocks++) {
        hs_message message;
        blocks_left = blocks;
        status = hs_dataset_load_csv(&d, path, NULL, &message);
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
    Suite *s = suite_create("dataset");
    TCase *c = tcase_create("dataset");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, shipped_files);
    tcase_add_test(c, options);
    tcase_add_test(c, constant_column);
    tcase_add_test(c, forms_that_are_tolerated);
    tcase_add_test(c, locale_does_not_matter);
    tcase_add_test(c, bad_text);
    tcase_add_test(c, gzipped_text);
    tcase_add_test(c, memory_runs_out);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
