/* result.json follows docs/result.schema.json, and a result that something was done to does not. */
#include <glob.h>

#include "support/json_schema.h"
#include "support/run_common.h"

static json_t *load(const char *path)
{
    hs_message m;
    json_t *json = app_json_read(path, &m);
    ck_assert_msg(json != NULL, "%s", m.text);
    return json;
}

static void check_result(json_t *result, const char *name)
{
    char why[SCHEMA_TEXT];
    json_t *schema = load("docs/result.schema.json");
    ck_assert_msg(schema_accepts(schema, result, why), "%s%s", name, why);
    json_decref(schema);
}

/* Runs with trainings, maps, evaluations, fits, failures, figures that are compared, and jobs that are pending. */
static const struct {
    const char *experiment, *state;
} runs[] = {
    { "maps", "complete" }, { "cells", "complete" }, { "fit", "partial" }, { "failures", "partial" }
};

START_TEST(test_results)
{
    json_t *r = run(runs[_i].experiment, (app_run_options){ 0 });
    ck_assert_str_eq(app_text_of(r, "state"), runs[_i].state);
    check_result(r, runs[_i].experiment);
    json_decref(r);
}
END_TEST

static bool stop_at_once(const app_event *event, void *context)
{
    (void)event;
    (void)context;
    return false;
}

START_TEST(test_pending)
{
    json_t *r = run("cells", (app_run_options){ .watch = stop_at_once });
    const json_t *job = json_array_get(json_object_get(r, "jobs"), 0);
    ck_assert_str_eq(app_text_of(job, "state"), "pending");
    check_result(r, "cells, pending");
    json_decref(r);
}
END_TEST

START_TEST(test_stored_results)
{
    glob_t found;
    ck_assert_int_eq(glob("docs/results/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        json_t *r = load(found.gl_pathv[i]);
        check_result(r, found.gl_pathv[i]);
        json_decref(r);
    }
    globfree(&found);
}
END_TEST

/* ---- Results that something was done to ------------------------------------------------------------ */

/* A value of a type that nothing in a result has. */
static json_t *wrong_value(void)
{
    return json_pack("[[{}]]");
}

/* Changes every member below, one at a time, and expects that it is noticed. The experiment's "quick" may hold
 * any settings. */
static void expect_refusals(json_t *schema, json_t *whole, json_t *at, size_t *changed)
{
    char why[SCHEMA_TEXT];
    size_t i;
    json_t *value;
    void *next;
    const char *key;
    json_object_foreach_safe(at, next, key, value)
    {
        if (!strcmp(key, "quick") && json_is_object(value))
            continue;
        json_t *kept = json_incref(value);
        json_object_set_new(at, key, wrong_value());
        ck_assert_msg(!schema_accepts(schema, whole, why), "any value is accepted for %s", key);
        ck_assert_msg(strstr(why, key) != NULL, "\"%s\" does not name %s", why, key);
        json_object_set_new(at, key, kept);
        ++*changed;
        expect_refusals(schema, whole, json_object_get(at, key), changed);
    }
    if (json_array_size(at) > 0) {
        json_t *kept = json_incref(json_array_get(at, 0));
        json_array_set_new(at, 0, wrong_value());
        ck_assert_msg(!schema_accepts(schema, whole, why), "any entry is accepted");
        json_array_set_new(at, 0, kept);
        for (i = 0; i < json_array_size(at) && i < 12; i++)
            expect_refusals(schema, whole, json_array_get(at, i), changed);
    }
}

START_TEST(test_refusals)
{
    char why[SCHEMA_TEXT];
    json_t *schema = load("docs/result.schema.json");
    json_t *r = run("maps", (app_run_options){ 0 });
    size_t changed = 0;
    expect_refusals(schema, r, r, &changed);
    ck_assert_uint_gt(changed, 200);
    json_t *job = json_array_get(json_object_get(r, "jobs"), 0);
    json_object_set_new(job, "notes", json_string("a key that no job has"));
    ck_assert(!schema_accepts(schema, r, why));
    ck_assert_str_eq(why, ".jobs[0]: there must be no key notes");
    json_object_del(job, "notes");
    json_object_del(job, "state");
    ck_assert(!schema_accepts(schema, r, why));
    ck_assert_str_eq(why, ".jobs[0]: there must be a key state");
    json_object_set_new(job, "state", json_string("dome"));
    ck_assert(!schema_accepts(schema, r, why));
    json_object_set_new(job, "state", json_string("done"));
    json_object_set_new(job, "seed", json_integer(-1));
    ck_assert(!schema_accepts(schema, r, why));
    json_object_set_new(job, "seed", json_integer(1));
    ck_assert_msg(schema_accepts(schema, r, why), "%s", why);
    json_object_set_new(schema, "maxLength", json_integer(3));
    ck_assert(!schema_accepts(schema, r, why));
    ck_assert_ptr_nonnull(strstr(why, "not understood: maxLength"));
    json_decref(schema);
    json_decref(r);
}
END_TEST

static Suite *schema_suite(void)
{
    Suite *suite = suite_create("experiments_schema");
    TCase *tests = tcase_create("schema");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, test_results, 0, sizeof runs / sizeof *runs);
    tcase_add_test(tests, test_pending);
    tcase_add_test(tests, test_stored_results);
    tcase_add_test(tests, test_refusals);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(schema_suite())
