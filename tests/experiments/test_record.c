/* Records of jobs: to JSON and back, nothing lost, and what is no record is refused by the name of its key. */
#include <stdio.h>
#include <string.h>

#include <hastings/experiments/record.h>
#include <hastings/mcmc/diagnostics/figures.h>

#include "support/hs_check.h"
#include "support/json_schema.h"

#define NONE ((double)NAN)

/* Another one each time. */
static double number(void)
{
    static double last = 0.5;
    return last += 1;
}

/* A record with every field, each number another one. */
static app_record *whole(void)
{
    const double pair[] = { number(), number() },
                 pairs[] = { number(), number(), number(), number() };
    size_t width = 0;
    while (hs_coordinate_figure_at(width))
        width++;
    app_record *r = app_record_new();
    ck_assert_ptr_nonnull(r);
    r->id = app_record_text(r, "%s-%d", "l8-ab-initio", 2);
    r->kase = "L=8";
    r->row = "Ab Initio";
    r->replication = 2;
    r->seed = 1001;
    r->state = APP_JOB_PARTIAL;
    r->error = "no error";
    for (size_t i = 0; i < APP_FIGURES; i++)
        app_record_figure(r, (app_figure_id)i, number(), i % 2 ? number() : NONE);
    app_remark *remarks = app_record_alloc(r, 2, sizeof *remarks);
    remarks[0] = (app_remark){ "rhat", "They do not agree." };
    remarks[1] = (app_remark){ "constant", "It never moved." };
    r->warnings = (app_list){ remarks, 2 };
    r->coordinates = app_record_numbers(r, NULL, 2 * width);
    for (size_t i = 0; i < 2 * width; i++)
        r->coordinates.x[i] = number();
    r->chains = "chains/x.nc";
    r->parameters = "proposals/x.json";
    r->training = app_record_alloc(r, 1, sizeof *r->training);
    app_curve *curve = app_record_alloc(r, 1, sizeof *curve);
    *curve = (app_curve){ app_record_numbers(r, pair, 2), app_record_numbers(r, pairs, 2),
                          app_record_numbers(r, pairs + 2, 2) };
    app_try *tries = app_record_alloc(r, 2, sizeof *tries);
    tries[0] = (app_try){ number(), number(), number() };
    tries[1] = (app_try){ number(), NONE, number() };
    *r->training = (app_training){ .objective = "msjd",
                                   .steps = 20000,
                                   .seconds = number(),
                                   .loss = number(),
                                   .alpha = number(),
                                   .adapted = number(),
                                   .rolled_back = 3,
                                   .curve = curve,
                                   .tries = { tries, 2 },
                                   .best = 1 };
    r->density = app_record_alloc(r, 1, sizeof *r->density);
    *r->density = (app_density){ "figures/d.npy", app_record_numbers(r, pair, 2),
                                 app_record_numbers(r, pairs, 2), app_record_numbers(r, pairs, 4) };
    app_component *component = app_record_alloc(r, 1, sizeof *component);
    *component = (app_component){ app_record_numbers(r, pair, 2), app_record_numbers(r, pairs, 4) };
    r->weights = app_record_alloc(r, 1, sizeof *r->weights);
    *r->weights = (app_weights){ "figures/w.npy",
                                 app_record_numbers(r, pair, 2),
                                 app_record_numbers(r, pairs, 2),
                                 { component, 1 } };
    ck_assert(!r->no_memory);
    return r;
}

static app_record *read_again(const json_t *json)
{
    hs_message m = { "" };
    app_record *r = app_record_read(json, "x.json", &m);
    ck_assert_msg(r != NULL, "%s", m.text);
    return r;
}

START_TEST(test_round_trip)
{
    app_record *r = whole();
    json_t *json = app_record_json(r);
#define IS_THERE(S, need, type, member, key, part, sentence)                                       \
    ck_assert_msg(json_object_get(at, key) != NULL, "there is no %s", key);
    json_t *at = json, *training = json_object_get(json, "training");
    APP_RECORD_FIELDS(IS_THERE, )
    at = training;
    APP_TRAINING_FIELDS(IS_THERE, )
    at = json_object_get(json, "density");
    APP_DENSITY_FIELDS(IS_THERE, )
    at = json_object_get(json, "weights");
    APP_WEIGHTS_FIELDS(IS_THERE, )
    app_record *same = read_again(json);
    json_t *again = app_record_json(same);
    ck_assert(json_equal(json, again));
    /* The values are where they belong: not only the same text, but the same record. */
    ck_assert_str_eq(same->kase, "L=8");
    ck_assert_uint_eq(same->seed, 1001);
    ck_assert_int_eq(same->state, APP_JOB_PARTIAL);
    ck_assert_double_eq(same->figure[APP_FIGURE_msjd].value, r->figure[APP_FIGURE_msjd].value);
    ck_assert_double_eq(same->figure[APP_FIGURE_accepted].error,
                        r->figure[APP_FIGURE_accepted].error);
    ck_assert_double_nan(same->figure[APP_FIGURE_acceptance].error);
    ck_assert_uint_eq(same->training->tries.n, 2);
    ck_assert_double_nan(((const app_try *)same->training->tries.items)[1].loss_error);
    ck_assert_double_eq(same->training->curve->loss.x[1], r->training->curve->loss.x[1]);
    ck_assert_uint_eq(same->density->starts.n, 4);
    ck_assert_double_eq(((const app_component *)same->weights->components.items)->covariance.x[3],
                        ((const app_component *)r->weights->components.items)->covariance.x[3]);
    ck_assert_uint_eq(same->coordinates.n, r->coordinates.n);
    ck_assert_double_eq(same->coordinates.x[3], r->coordinates.x[3]);
    json_decref(again);
    json_decref(json);
    app_record_free(same);
    app_record_free(r);
}
END_TEST

/* A record of which little is known, and figures that could not be computed. */
START_TEST(test_empty)
{
    app_record *r = app_record_new();
    app_record_figure(r, APP_FIGURE_msjd, NONE, NONE);
    json_t *json = app_record_json(r);
    ck_assert_uint_eq(json_object_size(json), 8);
    ck_assert_str_eq(json_string_value(json_object_get(json, "state")), "pending");
    ck_assert_uint_eq(json_object_size(json_object_get(json, "figures")), 1);
    ck_assert(json_is_null(json_object_get(json_object_get(json, "figures"), "msjd")));
    json_object_set_new(json, "later", json_string("a key of another version"));
    app_record *same = read_again(json);
    ck_assert(same->figure[APP_FIGURE_msjd].known && !same->figure[APP_FIGURE_rhat].known);
    ck_assert_ptr_null(same->training);
    ck_assert_ptr_null(same->warnings.items);
    ck_assert_ptr_null(same->chains);
    json_decref(json);
    app_record_free(same);
    app_record_free(r);
}
END_TEST

/* Every field of the record is in the schema. */
START_TEST(test_schema)
{
    char why[SCHEMA_TEXT];
    json_t *schema = json_load_file("docs/result.schema.json", 0, NULL);
    app_record *r = whole();
    json_t *json = app_record_json(r);
    json_t *of_job =
        json_pack("{s:s, s:O}", "$ref", "#/$defs/job", "$defs", json_object_get(schema, "$defs"));
    ck_assert_msg(schema_accepts(of_job, json, why), "%s", why);
    json_decref(of_job);
    json_decref(json);
    json_decref(schema);
    app_record_free(r);
}
END_TEST

/* ---- What is no record ------------------------------------------------------------------------------ */

static void expect_refusal(const json_t *root, const char *text)
{
    hs_message m = { "" };
    ck_assert_msg(app_record_read(root, "x.json", &m) == NULL, "%s: it is accepted", text);
    ck_assert_msg(strstr(m.text, "x.json: \"") == m.text && strstr(m.text, text),
                  "\"%s\" does not name %s", m.text, text);
    ck_assert_ptr_null(app_record_read(root, "x.json", NULL));
}

/* Gives every value below, one at a time, a type that it cannot have. `name` is the key that a message about an
 * entry of a list of numbers names. */
static size_t expect_refusals(const json_t *root, json_t *at, const char *name)
{
    const char *key;
    void *next;
    json_t *value;
    size_t count = 0, i;
    json_object_foreach_safe(at, next, key, value)
    {
        json_t *kept = json_incref(value);
        json_object_set_new(at, key, json_true());
        expect_refusal(root, key);
        json_object_set_new(at, key, kept);
        count += 1 + expect_refusals(root, json_object_get(at, key), key);
    }
    json_array_foreach(at, i, value)
    {
        json_t *kept = json_incref(value);
        json_array_set_new(at, i, json_true());
        expect_refusal(root, name);
        json_array_set_new(at, i, kept);
        count += 1 + expect_refusals(root, json_array_get(at, i), name);
    }
    return count;
}

START_TEST(test_wrong_types)
{
    app_record *r = whole();
    json_t *json = app_record_json(r);
    ck_assert_uint_gt(expect_refusals(json, json, ""), 80);
    json_t *tries = json_object_get(json_object_get(json, "training"), "tries");
    json_object_set_new(json_array_get(tries, 1), "loss", json_string("low"));
    expect_refusal(json, "\"training.tries[1].loss\" must be a number or null");
    json_object_del(json_array_get(tries, 1), "loss");
    expect_refusal(json, "\"training.tries[1].loss\" must be there");
    json_object_set_new(json_array_get(tries, 1), "loss", json_real(1));
    json_object_set_new(json, "state", json_string("dome"));
    expect_refusal(json, "\"state\" must be \"pending\", \"done\"");
    json_object_set_new(json, "state", json_string("done"));
    json_object_set_new(json, "seed", json_real(0.5));
    expect_refusal(json, "\"seed\" must be a whole number");
    json_object_set_new(json, "seed", json_integer(1));
    json_array_append_new(json_object_get(json_object_get(json, "density"), "starts"),
                          json_pack("[f]", 1.0));
    expect_refusal(json, "\"density.starts\" must be a list of pairs");
    json_array_remove(json_object_get(json_object_get(json, "density"), "starts"), 2);
#define MISSING(S, need, type, member, key, part, sentence)                                        \
    {                                                                                              \
        json_t *less = json_copy(json);                                                            \
        json_object_del(less, key);                                                                \
        if (strcmp(#need, "ALWAYS") == 0)                                                          \
            expect_refusal(less, "\"" key "\" must be there");                                     \
        else                                                                                       \
            app_record_free(read_again(less));                                                     \
        json_decref(less);                                                                         \
    }
    APP_RECORD_FIELDS(MISSING, )
    json_t *list = json_array();
    ck_assert_ptr_null(app_record_read(list, "x.json", NULL));
    json_decref(list);
    json_decref(json);
    app_record_free(r);
}
END_TEST

static Suite *record_suite(void)
{
    Suite *suite = suite_create("experiments_record");
    TCase *tests = tcase_create("record");
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_empty);
    tcase_add_test(tests, test_schema);
    tcase_add_test(tests, test_wrong_types);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(record_suite())
