/* Experiment files: all that came with the program can be run, and mistakes in others are told by name. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/experiments/json_file.h>
#include <hastings/experiments/run.h>
#include <hastings/tensor/memory.h>

#include "support/full_disk.h"
#include "support/hs_check.h"

static const char *app_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool has_case(const json_t *experiment, const char *name)
{
    const json_t *cases = json_object_get(experiment, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (!strcmp(app_text_of(json_array_get(cases, i), "name"), name))
            return true;
    return false;
}

START_TEST(those_of_the_program_load)
{
    char name[64];
    size_t count = 0;
    for (; app_experiment_name(count, name); count++) {
        hs_message message;
        json_t *e = app_experiment_load(name, &message);
        ck_assert_msg(e != NULL, "%s", message.text);
        ck_assert_str_eq(app_text_of(e, "name"), name);
        ck_assert_msg(app_text_of(e, "title") && app_text_of(e, "about") && app_text_of(e, "paper"),
                      "%s does not say what it is", name);
        const json_t *few = json_object_get(json_object_get(e, "quick"), "cases");
        for (size_t i = 0; i < json_array_size(few); i++) {
            const char *kept = json_string_value(json_array_get(few, i));
            ck_assert_msg(has_case(e, kept), "%s: quick keeps \"%s\", which is not there", name,
                          kept);
        }
        json_decref(e);
    }
    ck_assert_uint_eq(count, 12);
}
END_TEST

/* An experiment with a mistake in its one row, and what is said about it. */
static const struct {
    const char *row, *expected;
} mistakes[] = {
    { "\"objective\": \"msjd\"", NULL },
    { "\"objective\": \"msjd\", \"proposals\": { \"flat\": \"mala\" }", NULL },
    { "\"objective\": \"msjd\", \"proposals\": { \"steep\": \"mala\" }", "\"steep\"" },
    { "\"objective\": \"msjd\", \"proposals\": { \"flat\": 3 }", "must be text" },
    { "\"objective\": \"msjd\", \"proposals\": { \"flat\": \"malla\" }", "did you mean \"mala\"?" },
    { "\"objective\": \"msjd\", \"proposals\": \"mala\"", "must be an object" },
    { "\"objective\": \"msjd\", \"sampler\": \"iid\"", "not both" },
    { "\"objective\": \"msjd\", \"papers\": {}", "did you mean \"paper\"?" },
    { "\"objective\": \"msjd\", \"cases\": [\"steep\"]", "no case \"steep\"" },
    { "\"objective\": \"msjd\", \"paper\": { \"flat\": { \"msjd\": \"1.3(2\" } }", "1.3(2" },
    { "\"objective\": \"msjd\", \"paper\": { \"flat\": { \"jump\": \"1\" } }", "\"jump\"" },
    { "\"objective\": \"msjd\", \"settings\": { \"step\": 5 }", "did you mean \"steps\"?" },
    { "\"sampler\": \"accept:2\"", "accept:2" },
};

START_TEST(mistakes_are_named)
{
    char folder[] = "/tmp/hastings_experiment_XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/own.json", folder);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out,
            "{ \"name\": \"own\", \"cases\": [{ \"name\": \"flat\", \"target\": \"gaussian\", "
            "\"proposal\": \"random-walk\" }], \"rows\": [{ \"name\": \"one\", %s }] }\n",
            mistakes[_i].row);
    ck_assert_int_eq(fclose(out), 0);
    hs_message message = { "" };
    json_t *e = app_experiment_load(path, &message);
    ck_assert_int_eq(unlink(path) | rmdir(folder), 0);
    const char *expected = mistakes[_i].expected;
    ck_assert_msg(!e == !!expected, "%s: %s", mistakes[_i].row, message.text);
    if (expected)
        ck_assert_msg(strstr(message.text, expected) && strstr(message.text, path), "%s",
                      message.text);
    json_decref(e);
}
END_TEST

/* Texts that never end, and folders. */
START_TEST(what_is_no_file_is_refused)
{
    char folder[] = "/tmp/hastings_experiment_XXXXXX", path[64];
    hs_message message = { "" };
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_ptr_null(app_json_read(folder, &message));
    ck_assert_msg(strstr(message.text, "cannot read it: Is a directory"), "%s", message.text);
    snprintf(path, sizeof path, "%s/own.json", folder);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fprintf(out, "{}%20000s", "");
    ck_assert_int_eq(fclose(out), 0);
    json_t *read = app_json_read(path, &message);
    ck_assert_ptr_nonnull(read);
    json_decref(read);
    hs_memory_set_most(1500000);
    ck_assert_ptr_null(app_json_read(path, &message));
    ck_assert_ptr_null(app_experiment_load(path, &message));
    hs_memory_set_most(0);
    ck_assert_msg(strstr(message.text, "longer than 15 kB, a hundredth of the memory that is left"),
                  "%s", message.text);
    ck_assert_int_eq(unlink(path) | rmdir(folder), 0);
}
END_TEST

/* A full disk: result.json is the old one, whole, and nothing else is left behind. */
START_TEST(results_on_a_full_disk)
{
    char folder[] = "/tmp/hastings_result_XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/result.json", folder);
    json_t *small = json_pack("{s:i}", "version", 1), *large = json_array();
    for (int i = 0; i < 50000; i++)
        json_array_append_new(large, json_integer(i));
    hs_message message;
    ck_assert_int_eq(app_json_save(path, small, &message), HS_OK);
    const size_t limits[] = { 0, 100, 65536, 100000 };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        fill_disk_after(limits[i]);
        const hs_status status = app_json_save(path, large, &message);
        empty_disk();
        ck_assert_int_eq(status, HS_EIO);
        ck_assert_msg(strstr(message.text, path) && strstr(message.text, "File too large"), "%s",
                      message.text);
        json_t *found = app_json_read(path, &message);
        ck_assert_msg(json_equal(found, small), "%s", message.text);
        json_decref(found);
    }
    ck_assert_int_eq(app_json_save(path, large, &message), HS_OK);
    json_decref(small);
    json_decref(large);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0); /* no temporary file is left */
}
END_TEST

static Suite *files_suite(void)
{
    Suite *suite = suite_create("experiments_files");
    TCase *files = tcase_create("files");
    tcase_add_test(files, those_of_the_program_load);
    tcase_add_test(files, results_on_a_full_disk);
    tcase_add_test(files, what_is_no_file_is_refused);
    tcase_add_loop_test(files, mistakes_are_named, 0, sizeof mistakes / sizeof *mistakes);
    suite_add_tcase(suite, files);
    return suite;
}

HS_TEST_MAIN(files_suite())
