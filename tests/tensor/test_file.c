/* The one writer of files: whole or not at all, on full disks and in bad places; and the clock, and
 * numbers by type. */
#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/clock.h>
#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

#include "support/full_disk.h"
#include "support/hs_check.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_writer_XXXXXX";
static char path[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/file", directory);
}

static int count_files(void)
{
    int count = 0;
    DIR *folder = opendir(directory);
    ck_assert_ptr_nonnull(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void remove_directory(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* and no temporary file is left */
}

static void assert_content(const char *expected)
{
    static char text[300000];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    ck_assert_uint_eq(n, strlen(expected));
    ck_assert_mem_eq(text, expected, n);
}

START_TEST(bytes_and_text)
{
    static char expected[200000], block[100000];
    hs_message message = { "old" };
    hs_file f;
    memset(block, 'b', sizeof block);
    hs_file_create(&f, path, &message);
    hs_file_put(&f, "", 0);
    hs_file_print(&f, "%d rows\n", 12);
    hs_file_put(&f, block, 40000); /* fills the buffer, then passes it */
    hs_file_put(&f, block, 40000);
    hs_file_put(&f, block, sizeof block);
    hs_file_print(&f, "%s", "end");
    ck_assert_uint_eq(f.length, 8 + 80000 + sizeof block + 3);
    ck_assert_int_eq(hs_file_commit(&f), HS_OK);
    ck_assert_str_eq(message.text, "");
    strcpy(expected, "12 rows\n");
    memset(expected + 8, 'b', 80000 + sizeof block);
    strcpy(expected + 8 + 80000 + sizeof block, "end");
    assert_content(expected);
    ck_assert_int_eq(hs_file_save(path, "new", 3, NULL), HS_OK);
    assert_content("new");
    ck_assert_int_eq(hs_file_save(path, NULL, 0, NULL), HS_OK);
    assert_content("");
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(nothing_appears_before_the_end)
{
    hs_file f;
    ck_assert_int_eq(hs_file_save(path, "old", 3, NULL), HS_OK);
    hs_file_create(&f, path, NULL);
    hs_file_put(&f, "0123456789", 10);
    ck_assert_uint_eq(hs_file_written(&f), 0);
    hs_file_flush(&f);
    ck_assert_uint_eq(hs_file_written(&f), 10);
    assert_content("old");
    ck_assert_int_eq(count_files(), 2);
    hs_file_discard(&f);
    assert_content("old");
    ck_assert_int_eq(count_files(), 1);
    hs_file_create(&f, path, NULL);
    hs_file_put(&f, "0123456789", 10);
    hs_file_flush(&f);
    hs_file_replace(&f, 2, "ab", 2);
    hs_file_put(&f, "lost", 4);
    hs_file_cut(&f, 6);
    hs_file_put(&f, "!", 1);
    ck_assert_int_eq(hs_file_commit(&f), HS_OK);
    assert_content("01ab45!");
}
END_TEST

START_TEST(two_writers_at_once)
{
    hs_file a, b;
    hs_file_create(&a, path, NULL);
    hs_file_create(&b, path, NULL);
    ck_assert_str_ne(a.temporary, b.temporary);
    hs_file_put(&a, "first", 5);
    hs_file_put(&b, "second", 6);
    ck_assert_int_eq(hs_file_commit(&b), HS_OK);
    assert_content("second");
    ck_assert_int_eq(hs_file_commit(&a), HS_OK);
    assert_content("first");
}
END_TEST

START_TEST(names_of_temporary_files)
{
    hs_file f;
    hs_file_create(&f, path, NULL);
    ck_assert(hs_file_is_temporary(strrchr(f.temporary, '/') + 1));
    hs_file_discard(&f);
    static const char *const ours[] = { "a.1-0.tmp", "result.json.31337-12.tmp", ".x.1-2.tmp" };
    static const char *const others[] = { "",           ".tmp",      "a.tmp",      "a.1.tmp",
                                          "a.1-.tmp",   "a.-1.tmp",  ".1-0.tmp",   "1-0.tmp",
                                          "a1-0.tmp",   "a.1-0.tm",  "a.1-0.tmpx", "a.x1-0.tmp",
                                          "a.1-0x.tmp", "a.1 -0.tmp" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        ck_assert_msg(hs_file_is_temporary(ours[i]), "%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!hs_file_is_temporary(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(full_disk)
{
    static char block[200000];
    hs_message message;
    ck_assert_int_eq(hs_file_save(path, "old", 3, NULL), HS_OK);
    const size_t limits[] = { 0, 1, 65536, 199999 };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        fill_disk_after(limits[i]);
        const hs_status status = hs_file_save(path, block, sizeof block, &message);
        empty_disk();
        char expected[128];
        snprintf(expected, sizeof expected, "%s: cannot write its byte %zu: File too large", path,
                 limits[i]);
        ck_assert_int_eq(status, HS_EIO);
        ck_assert_str_eq(message.text, expected);
        assert_content("old");
        ck_assert_int_eq(count_files(), 1);
    }
    hs_file f; /* the first error sticks, and what is there can be saved */
    hs_file_create(&f, path, &message);
    fill_disk_after(100000);
    hs_file_put(&f, block, sizeof block);
    const uint64_t there = hs_file_written(&f);
    hs_file_put(&f, block, 10);
    hs_file_print(&f, "more");
    const hs_status stuck = f.status;
    hs_file_cut(&f, 5);
    const hs_status saved = hs_file_commit(&f);
    empty_disk();
    ck_assert_uint_eq(there, 100000);
    ck_assert_int_eq(stuck, HS_EIO);
    ck_assert_int_eq(saved, HS_OK);
    struct stat found;
    ck_assert_int_eq(stat(path, &found), 0);
    ck_assert_int_eq(found.st_size, 5);
}
END_TEST

START_TEST(kept_after_a_failure)
{
    hs_message message;
    hs_file f;
    char temporary[128], blocking[128];
    hs_file_create(&f, path, &message);
    hs_file_put(&f, "abc", 3);
    f.keep = true;
    snprintf(temporary, sizeof temporary, "%s", f.temporary);
    snprintf(blocking, sizeof blocking, "%s/in the way", path);
    ck_assert_int_eq(mkdir(path, 0777), 0); /* so that the rename fails */
    ck_assert_int_eq(mkdir(blocking, 0777), 0);
    ck_assert_int_eq(hs_file_commit(&f), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "cannot move the finished file here"));
    ck_assert_int_eq(unlink(temporary), 0); /* it was there */
    ck_assert_int_eq(rmdir(blocking), 0);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(bad_places)
{
    hs_message message;
    char link[64];
    ck_assert_int_eq(hs_file_save("/nowhere/file", "a", 1, &message), HS_EIO);
    ck_assert_str_eq(message.text, "/nowhere/file: cannot create it: No such file or directory");
    ck_assert_int_eq(hs_file_save("/dev/null", "a", 1, &message), HS_EIO);
    ck_assert_str_eq(message.text, "/dev/null: exists and is not a regular file");
    ck_assert_int_eq(hs_file_save(directory, "a", 1, NULL), HS_EIO);
    snprintf(link, sizeof link, "%s/link", directory); /* to nowhere: it is replaced */
    ck_assert_int_eq(symlink("nowhere", link), 0);
    ck_assert_int_eq(hs_file_save(link, "a", 1, &message), HS_OK);
    unlink(link);
    hs_set_allocator(&limited);
    blocks_left = 0;
    const hs_status status = hs_file_save(path, "a", 1, &message);
    hs_set_allocator(NULL);
    ck_assert_int_eq(status, HS_ENOMEM);
    ck_assert_ptr_nonnull(strstr(message.text, "out of memory"));
    ck_assert_int_eq(living, 0);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(folders)
{
    char below[128];
    hs_message message;
    snprintf(below, sizeof below, "%s/a/b/", directory);
    for (int again = 0; again < 2; again++)
        ck_assert_msg(hs_folder_make(below, &message) == HS_OK, "%s", message.text);
    snprintf(below, sizeof below, "%s/a/b", directory);
    ck_assert_int_eq(rmdir(below), 0);
    ck_assert_int_eq(hs_file_save(below, "", 0, NULL), HS_OK);
    ck_assert_int_eq(hs_folder_make(below, &message), HS_EIO);
    ck_assert(strstr(message.text, below) && strstr(message.text, "not a folder"));
    snprintf(below, sizeof below, "%s/a/b/c", directory);
    ck_assert_int_eq(hs_folder_make(below, &message), HS_EIO);
    ck_assert_int_eq(hs_folder_make("", &message), HS_EINVAL);
    snprintf(below, sizeof below, "%s/a/b", directory);
    ck_assert_int_eq(unlink(below), 0);
    snprintf(below, sizeof below, "%s/a", directory);
    ck_assert_int_eq(rmdir(below), 0);
}
END_TEST

START_TEST(numbers_by_type)
{
    float narrow[3] = { 1, 0.1f, -2 };
    double wide[3] = { 1, 0.1, -2 }, out[3];
    ck_assert_double_eq(hs_number_get(HS_F32, narrow, 1), (double)0.1f);
    ck_assert_double_eq(hs_number_get(HS_F64, wide, 1), 0.1);
    hs_number_set(HS_F32, narrow, 2, 0.3);
    hs_number_set(HS_F64, wide, 2, 0.3);
    ck_assert(narrow[2] == 0.3f);
    ck_assert_double_eq(wide[2], 0.3);
    hs_numbers_get(HS_F32, narrow, 3, out);
    ck_assert_double_eq(out[2], (double)0.3f);
    hs_numbers_set(HS_F32, narrow, 3, wide);
    ck_assert(narrow[1] == 0.1f);
    uint32_t whole = 0x01020304; /* as files have it: the low byte first */
    hs_little_endian(&whole, sizeof whole, 1);
    ck_assert_mem_eq(&whole, "\x04\x03\x02\x01", 4);
    ck_assert_double_eq(HS_LOG_2PI, (double)logl(2 * acosl(-1)));
}
END_TEST

START_TEST(sorting)
{
    uint64_t state = 1;
    for (size_t n = 0; n < 60; n++) {
        double x[60], sum = 0, after = 0;
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            x[i] = state >> 60 == 0 ? (double)NAN : (double)(state >> 58) - 20;
            sum += isnan(x[i]) ? 1000 : x[i];
        }
        hs_sort(x, n);
        for (size_t i = 0; i < n; i++) {
            after += isnan(x[i]) ? 1000 : x[i];
            if (i > 0)
                ck_assert(x[i - 1] <= x[i] || isnan(x[i]));
        }
        ck_assert_double_eq(after, sum);
    }
    ck_assert_double_eq(hs_median((double[]){ 3, 1, 2 }, 3), 2);
    ck_assert_double_eq(hs_median((double[]){ 4, 3, 1, 2 }, 4), 2.5);
}
END_TEST

START_TEST(the_clock_only_grows)
{
    double before = hs_seconds();
    for (int i = 0; i < 1000; i++) {
        const double now = hs_seconds();
        ck_assert(now >= before);
        before = now;
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("file");
    TCase *c = tcase_create("file");
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, bytes_and_text);
    tcase_add_test(c, nothing_appears_before_the_end);
    tcase_add_test(c, two_writers_at_once);
    tcase_add_test(c, names_of_temporary_files);
    tcase_add_test(c, full_disk);
    tcase_add_test(c, kept_after_a_failure);
    tcase_add_test(c, bad_places);
    tcase_add_test(c, folders);
    tcase_add_test(c, numbers_by_type);
    tcase_add_test(c, sorting);
    tcase_add_test(c, the_clock_only_grows);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
