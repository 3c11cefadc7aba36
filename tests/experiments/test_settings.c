/* Experiment files, key by key: what is right is taken with its value, what is wrong is refused in a
 * sentence, and nothing that a file can say ends the program. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/experiment_internal.h"
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/restart.h>
#include <hastings/nn/file.h>

#include "support/hs_check.h"

/* ---- Settings ---------------------------------------------------------------------------------- */

static bool reads(const char *text, settings *set, hs_message *message)
{
    json_t *json = json_loads(text, 0, NULL);
    ck_assert_msg(json != NULL, "this is not JSON: %s", text);
    message->text[0] = 0;
    const bool ok = app_settings_read(json, set, "here", message);
    json_decref(json);
    return ok;
}

START_TEST(test_defaults)
{
    /* As docs/formats.md has them. */
    settings set;
    ck_assert(app_settings_read(NULL, &set, "here", NULL));
    ck_assert_uint_eq(set.steps, 20000);
    ck_assert_uint_eq(set.starts, 8);
    ck_assert_uint_eq(set.proposals, 100);
    ck_assert(!set.optimizer.name); /* Adam, with its rate */
    ck_assert_double_eq(set.rate, 0);
    ck_assert_uint_eq(set.restarts, 1);
    ck_assert(!set.online);
    ck_assert_uint_eq(set.chains, 5);
    ck_assert_uint_eq(set.draws, 1000);
    ck_assert_uint_eq(set.evaluations, 0);
    ck_assert_uint_eq(set.replications, 1);
    ck_assert_uint_eq(set.workers, 0);
    ck_assert(set.float32);
    ck_assert_uint_eq(set.reference_proposals, 500000);
    ck_assert_uint_eq(set.reference_chains, 100);
    ck_assert_uint_eq(set.reference_warmup, 1000);
    ck_assert_double_eq(set.reference_acceptance, 0.65);
    ck_assert_uint_eq(set.seed, 1);
}
END_TEST

START_TEST(test_every_setting_is_taken)
{
    settings set;
    hs_message m;
    ck_assert_msg(
        reads(
            "{ \"steps\": 11, \"starts\": 12, \"proposals\": 13, \"rate\": 0.5, \"restarts\": 14, "
            "\"optimizer\": \"sgd,momentum=0.5\", \"online\": true, \"chains\": 15, \"draws\": 16, "
            "\"evaluations\": 17, "
            "\"replications\": 18, \"workers\": 19, \"precision\": \"f64\", "
            "\"reference_proposals\": 20, \"reference_chains\": 21, \"reference_warmup\": 22, "
            "\"reference_acceptance\": 0.25, \"seed\": 23 }",
            &set, &m),
        "%s", m.text);
    const size_t counts[] = { set.steps,       set.starts,       set.proposals,
                              set.restarts,    set.chains,       set.draws,
                              set.evaluations, set.replications, set.workers };
    const size_t expected[] = { 11, 12, 13, 14, 15, 16, 17, 18, 19 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        ck_assert_uint_eq(counts[i], expected[i]);
    ck_assert_uint_eq(set.reference_proposals, 20);
    ck_assert_uint_eq(set.reference_chains, 21);
    ck_assert_uint_eq(set.reference_warmup, 22);
    ck_assert_double_eq(set.rate, 0.5);
    ck_assert_str_eq(set.optimizer.name, "sgd");
    ck_assert_double_eq(set.optimizer.momentum, 0.5);
    ck_assert_double_eq(set.reference_acceptance, 0.25);
    ck_assert(set.online && !set.float32);
    ck_assert_uint_eq(set.seed, 23);
    ck_assert(reads("{ \"rate\": 2, \"precision\": \"f32\", \"online\": false }", &set, &m));
    ck_assert_double_eq(set.rate, 2);
}
END_TEST

static const char *const wrong_settings[][2] = {
    { "{ \"steps\": 0 }", "here: steps must be a whole number of at least 1" },
    { "{ \"steps\": -1 }", "steps must be a whole number of at least 1" },
    { "{ \"steps\": 1.5 }", "steps must be a whole number" },
    { "{ \"steps\": \"7\" }", "steps must be a whole number" },
    { "{ \"steps\": null }", "steps must be" },
    { "{ \"steps\": 1000000000001 }", "steps must be a whole number of at most 1000000000000" },
    { "{ \"steps\": 9223372036854775807 }", "of at most" },
    { "{ \"draws\": 3 }", "draws must be a whole number of at least 4" },
    { "{ \"evaluations\": -1 }", "evaluations must be a whole number of at least 0" },
    { "{ \"restarts\": 65 }", "restarts must be a whole number of at most 64" },
    { "{ \"replications\": 1001 }", "replications must be a whole number of at most 1000" },
    { "{ \"reference_warmup\": 9 }", "reference_warmup must be a whole number of at least 10" },
    { "{ \"rate\": 0 }", "rate must be a positive number" },
    { "{ \"rate\": -1 }", "rate must be a positive number" },
    { "{ \"rate\": \"fast\" }", "rate must be a positive number" },
    { "{ \"optimizer\": 7 }", "here: optimizer: it must be text" },
    { "{ \"optimizer\": \"adm\" }", "optimizer: there is no optimiser \"adm\", only sgd, adam" },
    { "{ \"optimizer\": \"adam,beta1=2\" }", "optimizer: adam: beta1 must be in (0, 1)" },
    { "{ \"reference_acceptance\": 1 }", "reference_acceptance must be between 0 and 1" },
    { "{ \"reference_acceptance\": [] }", "reference_acceptance must be between 0 and 1" },
    { "{ \"online\": 1 }", "online must be true or false" },
    { "{ \"precision\": \"f16\" }", "precision must be \"f32\" or \"f64\"" },
    { "{ \"precision\": 32 }", "precision must be \"f32\" or \"f64\"" },
    { "{ \"seed\": 0 }", "seed must be a whole number of at least 1" },
    { "{ \"seed\": 2.0 }", "seed must be a whole number" },
    { "{ \"stepz\": 3 }", "there is no setting \"stepz\"; did you mean \"steps\"?" },
    { "{ \"cases\": [] }", "there is no setting \"cases\"" },
    { "{ \"\": 3 }", "there is no setting \"\"" },
};

START_TEST(test_wrong_settings)
{
    settings set;
    hs_message m;
    ck_assert_msg(!reads(wrong_settings[_i][0], &set, &m), "%s is taken", wrong_settings[_i][0]);
    ck_assert_msg(strstr(m.text, wrong_settings[_i][1]) != NULL, "no \"%s\" in \"%s\"",
                  wrong_settings[_i][1], m.text);
}
END_TEST

START_TEST(test_samplers)
{
    static const char *const right[] = { "iid", "hmc", "fit", "curve:msjd", "accept:0.234" };
    static const char *const wrong[] = { "",         "IID",         "curve:ess",  "accept:",
                                         "accept:0", "accept:1",    "accept:nan", "accept:0.5x",
                                         "accept",   "accept:-0.2", "accept:inf" };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        ck_assert_msg(app_is_sampler(right[i]), "%s is refused", right[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!app_is_sampler(wrong[i]), "%s is taken", wrong[i]);
}
END_TEST

/* ---- Whole files -------------------------------------------------------------------------------- */

/* tests/fixtures/everything.json: all keys that there are. */
static char everything[4096];

static char path[] = "/tmp/hastings_settings_XXXXXX.json";

static void make_file(void)
{
    FILE *f = fopen("tests/fixtures/everything.json", "r");
    ck_assert_ptr_nonnull(f);
    everything[fread(everything, 1, sizeof everything - 1, f)] = 0;
    fclose(f);
    memcpy(path + sizeof path - 12, "XXXXXX", 6);
    path[sizeof path - 6] = 0;
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    unlink(path);
    path[sizeof path - 6] = '.';
}

static void remove_file(void)
{
    unlink(path);
}

static json_t *load_text(const char *text, size_t length, hs_message *message)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, length, f), length);
    ck_assert_int_eq(fclose(f), 0);
    message->text[0] = 0;
    json_t *e = app_experiment_load(path, message);
    ck_assert_msg(e || message->text[0], "a refusal without a word: %s", text);
    return e;
}

static json_t *load_json(const json_t *json, hs_message *message)
{
    char *text = json_dumps(json, JSON_ENCODE_ANY);
    ck_assert_ptr_nonnull(text);
    json_t *e = load_text(text, strlen(text), message);
    free(text);
    return e;
}

/* What was taken must be runnable, too, up to the folder, which cannot be made. */
static void check_runnable(json_t *e)
{
    hs_message m = { "" };
    for (int quick = 0; quick < 2; quick++) {
        const hs_status status = app_experiment_run(
            e, &(app_run_options){ .out = "/dev/null/out", .quick = quick != 0, .threads = 1 }, &m);
        ck_assert_msg(status == HS_EIO || status == HS_EINVAL, "status %d: %s", (int)status,
                      m.text);
        ck_assert_str_ne(m.text, "");
    }
}

/* Calls `change` on every value of a document, at any depth: container[key], or container[index]. */
typedef void change_value(json_t *root, json_t *container, const char *key, size_t index);

static void each_value(json_t *root, json_t *container, change_value *change)
{
    if (json_is_array(container)) {
        for (size_t i = 0; i < json_array_size(container); i++) {
            each_value(root, json_array_get(container, i), change);
            change(root, container, NULL, i);
        }
        return;
    }
    enum { MOST = 64 };
    const char *keys[MOST];
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach(container, key, value) keys[n++] = key;
    ck_assert_uint_le(n, MOST);
    for (size_t i = 0; i < n; i++) {
        each_value(root, json_object_get(container, keys[i]), change);
        change(root, container, keys[i], 0);
    }
}

static size_t taken, refused;

static void try_document(const json_t *root)
{
    hs_message m;
    json_t *e = load_json(root, &m);
    if (e)
        check_runnable(e);
    *(e ? &taken : &refused) += 1;
    json_decref(e);
}

static void put(json_t *container, const char *key, size_t index, json_t *value)
{
    if (key)
        json_object_set(container, key, value);
    else
        json_array_set(container, index, value);
}

static void replace_by_others(json_t *root, json_t *container, const char *key, size_t index)
{
    static const char *const others[] = {
        "null",
        "true",
        "7",
        "-1",
        "0.5",
        "\"\"",
        "\"text\"",
        "\"../..\"",
        "[]",
        "{}",
        "[null]",
        "[[\"a\"], {}]",
        "{\"name\": 3, \"cases\": {}, \"text\": []}",
    };
    json_t *value =
        json_incref(key ? json_object_get(container, key) : json_array_get(container, index));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        json_t *other = json_loads(others[i], JSON_DECODE_ANY, NULL);
        put(container, key, index, other);
        try_document(root);
        json_decref(other);
    }
    put(container, key, index, value);
    json_decref(value);
}

static void leave_out(json_t *root, json_t *container, const char *key, size_t index)
{
    if (!key || json_object_size(container) > 1000)
        return;
    (void)index;
    json_t *value = json_incref(json_object_get(container, key));
    char kept[128]; /* the key lives as long as its value does */
    snprintf(kept, sizeof kept, "%s", key);
    json_object_del(container, kept);
    try_document(root);
    json_object_set_new(container, kept, value);
}

static json_t *document(int which)
{
    char file[4096];
    ck_assert(app_find_file("experiments", "cross.json", file));
    json_t *root = which ? json_load_file(file, 0, NULL) : json_loads(everything, 0, NULL);
    ck_assert_ptr_nonnull(root);
    return root;
}

START_TEST(test_every_value_replaced)
{
    json_t *root = document(_i), *before = json_deep_copy(root);
    taken = refused = 0;
    try_document(root);
    ck_assert_uint_eq(taken, 1);
    each_value(root, root, replace_by_others);
    ck_assert(json_equal(root, before));
    /* Some changes do no harm (a title, another count), most do. */
    ck_assert_uint_gt(taken, 20);
    ck_assert_uint_gt(refused, 3 * taken);
    json_decref(root);
    json_decref(before);
}
END_TEST

START_TEST(test_every_key_left_out)
{
    json_t *root = document(_i);
    taken = refused = 0;
    leave_out(root, root, "name", 0);
    leave_out(root, root, "cases", 0);
    leave_out(root, root, "rows", 0);
    ck_assert_uint_eq(taken, 0);
    /* Its order changes as keys are put back, so each level is walked with keys of its own. */
    static const char *const optional[] = { "title",   "paper",    "about", "columns", "layout",
                                            "figures", "settings", "quick", "notes" };
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (json_object_get(root, optional[i]))
            leave_out(root, root, optional[i], 0);
    ck_assert_uint_eq(refused, 3);
    json_t *kase = json_array_get(json_object_get(root, "cases"), 0);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    leave_out(root, kase, "name", 0);
    leave_out(root, kase, "target", 0);
    leave_out(root, row, "name", 0);
    leave_out(root, row, "objective", 0);
    ck_assert_uint_eq(refused, 7);
    json_decref(root);
}
END_TEST

/* A file that was cut off, at any place, has a line and a column. */
START_TEST(test_prefixes)
{
    hs_message m;
    for (size_t n = 0; n + 2 < strlen(everything); n += n < 60 ? 1 : 23) {
        ck_assert_ptr_null(load_text(everything, n, &m));
        ck_assert_msg(strstr(m.text, path) && strstr(m.text, ", line ") &&
                          strstr(m.text, ", column "),
                      "%s", m.text);
    }
}
END_TEST

/* Bytes that are not what they were: any outcome but a crash. */
START_TEST(test_other_bytes)
{
    char text[sizeof everything];
    const size_t length = strlen(everything);
    uint32_t random = 12345;
    hs_message m;
    for (int i = 0; i < 1500; i++) {
        memcpy(text, everything, sizeof text);
        for (int k = 0; k < 1 + i % 3; k++) {
            random = random * 1664525 + 1013904223;
            text[(random >> 8) % length] =
                i % 2 ? (char)(random >> 24) : "[]{}\",:0-."[(random >> 24) % 10];
        }
        json_t *e = load_text(text, length, &m);
        if (e)
            check_runnable(e);
        json_decref(e);
    }
}
END_TEST

/* A document with one thing replaced, as text, and what is said about it; NULL: it is taken. */
static const struct {
    const char *old, *new, *says;
} edits[] = {
    { "\"name\": \"all\"", "\"name\": \"a/b\"", "slash" },
    { "\"name\": \"all\"", "\"name\": \"..\"", "point" },
    { "\"name\": \"all\"", "\"name\": \"\"", "no \"name\"" },
    { "\"name\": \"all\"", "\"nmae\": \"all\"", "no key \"nmae\"; did you mean \"name\"?" },
    { "\"name\": \"all\",", "\"name\": \"all\", \"name\": \"b\",", "line 1, column" },
    { "\"title\": \"All keys\"", "\"title\": \"\\u0000\"", "line 1, column" },
    { "\"acceptance\", \"msjd\"", "\"acceptanc\"",
      "there is no column \"acceptanc\"; there are: acceptance, " },
    { "\"density\"", "\"densities\"", "\"densities\" cannot be in \"figures\"" },
    { "\"layout\": \"rows\"", "\"layout\": \"row\"", "layout must be cases or rows" },
    { "\"settings\": { \"steps\": 20", "\"settings\": { \"steps\": \"20\"",
      ", settings: steps must be" },
    { "\"quick\": { \"steps\": 10", "\"quick\": { \"stps\": 10",
      ", quick: there is no setting \"stps\"" },
    { "\"cases\": [\"plane\"] }", "\"cases\": [\"plain\"] }",
      ", quick: there is no case \"plain\"" },
    { "\"cases\": [\"plane\"] }", "\"cases\": [] }", ", quick: " },
    { "\"cases\": [\"plane\"] }", "\"cases\": \"plane\" }", ", quick: " },
    { "\"name\": \"line\"", "\"name\": \"plane\"", "two entries have the name \"plane\"" },
    { "\"name\": \"line\"", "\"name\": \"\"", "entry 2 of \"cases\" has no name" },
    { "cross,radius=3", "cross,radios=3",
      "case \"plane\": target \"cross\" has no option \"radios\"" },
    { "\"proposal\": \"mala\"", "\"proposal\": \"mal\"",
      "case \"plane\": there is no proposal \"mal\"" },
    { "\"proposal\": \"mala\"", "\"proposal\": \"both\"", NULL }, /* of a fit */
    { "{ \"draws\": 10 }", "{ \"draws\": 1 }", "case \"plane\": draws must be" },
    { "{ \"msjd\": \"I.I.D.\" }", "{ \"msjd\": \"iid\" }", "a row that is not there, \"iid\"" },
    { "{ \"msjd\": \"I.I.D.\" }", "{ \"mjsd\": \"I.I.D.\" }",
      "case \"plane\": there is no column \"mjsd\"" },
    { "\"objective\": \"msjd\"", "\"objective\": \"msdj\"", "row \"MSJD\": objective \"msdj\"" },
    { "\"objective\": \"msjd\"", "\"objective\": \"gsm:0.5,1,0.02\"", NULL },
    { "\"objective\": \"msjd\"", "\"sampler\": \"accept:2\"", "row \"MSJD\": the sampler must be" },
    { "\"objective\": \"msjd\",", "", "must have an objective or a sampler" },
    { "[\"plane\", \"line\"]", "[\"plane\", 3]", "row \"MSJD\": there is no case" },
    { "[\"plane\", \"line\"]", "[]", NULL },
    { "{ \"seed\": 2 }", "{ \"seed\": -2 }", "row \"MSJD\": seed must be" },
    { "\"mala,step=0.5\"", "\"mala,step=x\"", "row \"MSJD\": proposal \"mala\": step=x" },
    { "{ \"plane\": { \"msjd\"", "{ \"plain\": { \"msjd\"", "a case that is not there, \"plain\"" },
    { "{ \"plane\": { \"msjd\"", "{ \"plane\": { \"jump\"",
      "row \"MSJD\": there is no column \"jump\"" },
    { "{ \"msjd\": \"8.2(1)e-3\", \"loss\": \"--\" }", "\"8.2(1)\"", "must be an object" },
    { "8.2(1)e-3", "8.2(1", "this is not a figure: \"8.2(1\"" },
    { "\"8.2(1)e-3\"", "0.0082", "this is not a figure" },
    { "{ \"row\": \"MSJD\"", "{ \"row\": \"MJSD\"", "note 1: there is no row \"MJSD\"" },
    { "\"case\": \"plane\", \"text\"", "\"case\": \"plain\", \"text\"",
      "note 1: there is no case" },
    { "\"text\": \"All.\"", "\"txt\": \"All.\"",
      "note 2: there is no key \"txt\"; did you mean \"text\"?" },
};

START_TEST(test_edits)
{
    char text[sizeof everything + 256];
    const char *at = strstr(everything, edits[_i].old);
    ck_assert_msg(at != NULL, "there is no %s", edits[_i].old);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - everything), everything, edits[_i].new,
             at + strlen(edits[_i].old));
    hs_message m;
    json_t *e = load_text(text, strlen(text), &m);
    if (edits[_i].says) {
        ck_assert_msg(!e, "%s is taken", edits[_i].new);
        ck_assert_msg(strstr(m.text, edits[_i].says) != NULL, "no \"%s\" in \"%s\"", edits[_i].says,
                      m.text);
        ck_assert_msg(strstr(m.text, path) != NULL, "the file is not named: %s", m.text);
    } else {
        ck_assert_msg(e != NULL, "%s", m.text);
    }
    json_decref(e);
}
END_TEST

START_TEST(test_odd_texts)
{
    hs_message m;
    static const char *const odd[] = { "",
                                       "[]",
                                       "3",
                                       "null",
                                       "\"cross\"",
                                       "{}",
                                       "{ \"name\": \"x\" }",
                                       "\xff\xfe",
                                       "{ \"name\": \"\xff\" }",
                                       "// no" };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        ck_assert_ptr_null(load_text(odd[i], strlen(odd[i]), &m));
    enum { DEEP = 100000 };
    char *deep = malloc(DEEP);
    memset(deep, '[', DEEP);
    ck_assert_ptr_null(load_text(deep, DEEP, &m));
    memcpy(deep, "{ \"name\": \"", 11);
    memset(deep + 11, 'x', DEEP - 11);
    memcpy(deep + DEEP - 3, "\" }", 3);
    ck_assert_ptr_null(load_text(deep, DEEP, &m)); /* there are no cases */
    free(deep);

    /* Very long names, and names that are no names of files, in the right places. */
    json_t *root = document(0), *kase = json_array_get(json_object_get(root, "cases"), 1);
    char *name = malloc(DEEP);
    memset(name, 'n', DEEP - 1);
    name[DEEP - 1] = 0;
    json_t *cases = json_object_get(json_array_get(json_object_get(root, "rows"), 0), "cases");
    json_object_clear(
        json_object_get(json_array_get(json_object_get(root, "rows"), 0), "proposals"));
    const char *const names[] = { name, "../../etc", "\"", "%s%n", "\xe5\xbf\x83", "a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_object_set_new(kase, "name", json_string(names[i]));
        json_array_set_new(cases, 1, json_string(names[i]));
        json_t *e = load_json(root, &m);
        ck_assert_msg(e != NULL, "%s", m.text);
        check_runnable(e);
        json_decref(e);
        json_object_set_new(kase, "target", json_string(names[i])); /* and where they are wrong */
        ck_assert_ptr_null(load_json(root, &m));
        json_object_set_new(kase, "target", json_string("gaussian,dim=1"));
    }
    free(name);
    json_decref(root);
}
END_TEST

START_TEST(test_names_of_experiments)
{
    hs_message m;
    ck_assert_ptr_null(app_experiment_load("crss", &m));
    ck_assert_msg(strstr(m.text, "did you mean \"cross\"?") != NULL, "%s", m.text);
    ck_assert_ptr_null(app_experiment_load("", &m));
    ck_assert_ptr_null(app_experiment_load("nowhere/cross.json", &m));
    ck_assert_msg(strstr(m.text, "nowhere/cross.json") != NULL, "%s", m.text);
    ck_assert_ptr_null(app_experiment_load("experiments", &m));
    ck_assert_ptr_null(app_experiment_load("./", &m));
    char name[5000];
    memset(name, 'c', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_ptr_null(app_experiment_load(name, &m));
    name[0] = '/';
    ck_assert_ptr_null(app_experiment_load(name, NULL));
    json_t *e = app_experiment_load("cross", NULL);
    ck_assert_ptr_nonnull(e);
    json_decref(e);
}
END_TEST

static Suite *settings_suite(void)
{
    Suite *suite = suite_create("settings");
    TCase *t = tcase_create("settings");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, make_file, remove_file);
    tcase_add_test(t, test_defaults);
    tcase_add_test(t, test_every_setting_is_taken);
    tcase_add_loop_test(t, test_wrong_settings, 0, sizeof wrong_settings / sizeof *wrong_settings);
    tcase_add_test(t, test_samplers);
    tcase_add_loop_test(t, test_every_value_replaced, 0, 2);
    tcase_add_loop_test(t, test_every_key_left_out, 0, 2);
    tcase_add_test(t, test_prefixes);
    tcase_add_test(t, test_other_bytes);
    tcase_add_loop_test(t, test_edits, 0, sizeof edits / sizeof *edits);
    tcase_add_test(t, test_odd_texts);
    tcase_add_test(t, test_names_of_experiments);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(settings_suite())
