/* Trained proposals as files: what is read back samples as what was saved; damage is told apart. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/experiments/points.h>
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/experiments/json_file.h>
#include <hastings/mcmc/sample.h>

#include "support/hs_check.h"

static char directory[] = "/tmp/hastings_proposal_XXXXXX";
static char path[64], parameters[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/best.json", directory);
    snprintf(parameters, sizeof parameters, "%s/best.hsp", directory);
}

static void remove_directory(void)
{
    unlink(path);
    unlink(parameters);
    ck_assert_int_eq(rmdir(directory), 0); /* and no temporary file is left */
}

static hs_session *session(uint64_t seed, bool float32)
{
    return hs_session_new(&(hs_session_options){ .seed = seed, .float32 = float32, .threads = 1 });
}

static const struct {
    const char *target, *proposal;
    bool scaled, float32;
} cases[] = {
    { "cross", "multi-scheme,couplings=2,width=8,depth=2,start=mala", true, true },
    { "cross", "multi-scheme,couplings=2,width=8,depth=2", false, false },
    { "gaussian,dim=3,sd=5", "random-walk,scaled", true, false },
    { "gaussian,dim=3,sd=5", "mala,diagonal,scaled,log_step", true, true },
    { "cross", "resampling-flow,couplings=2,width=8,depth=2", false, true },
    { "cross", "position-mixture,components=3,clustered", true, false },
    { "gaussian,dim=2,augment=2", "multi-scheme,couplings=2,width=8,depth=2,start=resampling", true,
      false },
};

/* Saves proposal i, with parameters that no initialiser would give, and returns draws made with it, which
 * the session owns. */
static const hs_chains *save(int i, hs_session *s)
{
    hs_target *target = app_spec_target(s, cases[i].target);
    app_points points = { 0 };
    if (cases[i].scaled)
        ck_assert_int_eq(app_points_exact(&points, s, target, 500, 3), HS_OK);
    hs_proposal *p = app_spec_proposal(s, target, cases[i].proposal, 4, points.x, points.n);
    ck_assert_msg(p != NULL, "%s", hs_session_error(s));
    hs_params *ps = hs_proposal_params(p);
    double *values = malloc(hs_params_size(ps) * sizeof *values);
    hs_params_get(ps, values);
    for (size_t k = 0; k < hs_params_size(ps); k++)
        values[k] = values[k] * 1.125 + 0.015625 * (double)(k % 3);
    hs_params_set(ps, values);
    free(values);
    json_t *training = json_pack("{s:i}", "steps", 7);
    const app_proposal_file file = { .target = cases[i].target,
                                     .proposal = cases[i].proposal,
                                     .objective = "msjd",
                                     .seed = 9,
                                     .replica = 4,
                                     .float32 = cases[i].float32,
                                     .training = training,
                                     .points = points.x,
                                     .n_points = points.n,
                                     .dim = points.dim };
    hs_message message;
    ck_assert_msg(app_proposal_file_save(path, p, &file, &message) == HS_OK, "%s", message.text);
    json_decref(training);
    app_points_free(&points);
    const hs_chains *c = hs_sample(s, target, p, &(hs_sample_options){ .chains = 3, .draws = 20 });
    ck_assert_msg(c != NULL, "%s", hs_session_error(s));
    return c;
}

static app_proposal_file *read_file(void)
{
    app_proposal_file *file;
    hs_message message;
    ck_assert_msg(app_proposal_file_read(&file, path, &message) == HS_OK, "%s", message.text);
    return file;
}

START_TEST(what_is_read_back_samples_as_what_was_saved)
{
    make_directory();
    hs_session *s = session(9, cases[_i].float32);
    const hs_chains *before = save(_i, s);
    app_proposal_file *file = read_file();
    ck_assert_str_eq(file->target, cases[_i].target);
    ck_assert_str_eq(file->proposal, cases[_i].proposal);
    ck_assert_str_eq(file->objective, "msjd");
    ck_assert_uint_eq(file->seed, 9);
    ck_assert_uint_eq(file->replica, 4);
    ck_assert_int_eq(file->float32, cases[_i].float32);
    ck_assert_int_eq(json_integer_value(json_object_get(file->training, "steps")), 7);

    hs_session *again = session(file->seed, file->float32);
    hs_target *target = app_spec_target(again, file->target);
    hs_proposal *p = app_proposal_file_load(again, file, target);
    ck_assert_msg(p != NULL, "%s", hs_session_error(again));
    app_proposal_file_free(file);
    const hs_chains *after =
        hs_sample(again, target, p, &(hs_sample_options){ .chains = 3, .draws = 20 });
    ck_assert_ptr_nonnull(after);
    /* Scales are kept with 15 digits. */
    for (size_t k = 0; k < 3 * 20 * before->dim; k++)
        ck_assert_close(after->x[k], before->x[k], cases[_i].float32 ? 1e-4 : 1e-10, 1e-5);
    hs_session_free(s);
    hs_session_free(again);
    remove_directory();
}
END_TEST

/* Changes one key of the .json (NULL: removes it). */
static void change(const char *key, json_t *value)
{
    hs_message message;
    json_t *json = app_json_read(path, &message);
    ck_assert_msg(json != NULL, "%s", message.text);
    if (value)
        json_object_set_new(json, key, value);
    else
        json_object_del(json, key);
    ck_assert_int_eq(app_json_save(path, json, &message), HS_OK);
    json_decref(json);
}

/* Reads and loads; the sentence that says why it cannot be, "" if it can. */
static const char *refusal(const char *target, bool float32)
{
    static char text[1024];
    app_proposal_file *file;
    hs_message message;
    if (app_proposal_file_read(&file, path, &message)) {
        ck_assert_ptr_null(file);
        snprintf(text, sizeof text, "%s", message.text);
        return text;
    }
    hs_session *s = session(1, float32);
    hs_proposal *p = app_proposal_file_load(s, file, app_spec_target(s, target));
    snprintf(text, sizeof text, "%s", hs_session_error(s));
    ck_assert_int_eq(p == NULL, text[0] != '\0');
    hs_session_free(s);
    app_proposal_file_free(file);
    return text;
}

#define ck_assert_says(text, part)                                                                 \
    do {                                                                                           \
        const char *said_ = (text);                                                                \
        ck_assert_msg(strstr(said_, (part)) != NULL, "\"%s\" does not say \"%s\"", said_, (part)); \
    } while (0)

static void save_again(void)
{
    hs_session *s = session(9, true);
    save(0, s);
    hs_session_free(s);
}

START_TEST(damage_is_told_apart)
{
    make_directory();
    ck_assert_says(refusal("cross", true), "No such file");
    save_again();
    ck_assert_str_eq(refusal("cross", true), "");
    ck_assert_says(refusal("cross", false), "numbers of 32 bits");
    ck_assert_says(refusal("gaussian,dim=3", true), "was trained in 2 dimensions, but the target");
    change("version", json_integer(2));
    ck_assert_says(refusal("cross", true),
                   "has version 2 of the format, and this program reads version 1");
    save_again();
    change("format", json_string("hastings-result"));
    ck_assert_says(refusal("cross", true), "is not a proposal");
    save_again();
    change("target", NULL);
    ck_assert_says(refusal("cross", true), "target");
    save_again();
    change("precision", json_string("f16"));
    ck_assert_says(refusal("cross", true), "its precision is \"f16\", not f32 or f64");
    save_again();
    change("seed", json_integer(-1));
    ck_assert_says(refusal("cross", true), "\"seed\" and \"replica\" cannot be negative");
    save_again();
    change("replica", json_integer(-1));
    ck_assert_says(refusal("cross", true), "\"seed\" and \"replica\" cannot be negative");
    save_again();
    change("proposal", json_string("multi-scheme,couplings=2,width=9,depth=2"));
    ck_assert_says(refusal("cross", true), "the parameters of ");
    save_again();
    change("proposal", json_string("malla"));
    ck_assert_says(refusal("cross", true), "did you mean \"mala\"?");
    save_again();
    change("parameters", json_null());
    ck_assert_says(refusal("cross", true), "the file has none");
    save_again();
    change("scale", json_pack("{s:[f], s:[f, f]}", "mean", 0.0, "sd", 1.0, 1.0));
    ck_assert_says(refusal("cross", true), "of one length");
    change("scale", json_pack("{s:[s], s:[f]}", "mean", "x", "sd", 1.0));
    ck_assert_says(refusal("cross", true), "is not a number");
    save_again();
    /* Names stay in the folder: the same file by a way outside, and through a link. */
    char name[128];
    snprintf(name, sizeof name, "../%s/best.hsp", strrchr(directory, '/') + 1);
    change("parameters", json_string(name));
    ck_assert_says(refusal("cross", true), "and it has \"..\"");
    change("parameters", json_string(parameters));
    ck_assert_says(refusal("cross", true), "and it is absolute");
    snprintf(name, sizeof name, "%s/link", directory);
    ck_assert_int_eq(symlink("/etc", name), 0);
    change("parameters", json_string("link/passwd"));
    ck_assert_says(refusal("cross", true), "leads out of the folder by a link");
    unlink(name);
    ck_assert_int_eq(symlink("best.hsp", name), 0);
    change("parameters", json_string("link"));
    ck_assert_str_eq(refusal("cross", true), "");
    unlink(name);
    save_again();
    unlink(parameters);
    ck_assert_says(refusal("cross", true), "best.hsp");
    FILE *f = fopen(path, "w");
    fputs("{ \"format\": ", f);
    fclose(f);
    ck_assert_says(refusal("cross", true), "best.json, line 1, column");
    remove_directory();
}
END_TEST

START_TEST(names_and_places_that_cannot_be)
{
    make_directory();
    hs_session *s = session(1, true);
    hs_target *target = app_spec_target(s, "cross");
    hs_proposal *p = app_spec_proposal(s, target, "random-walk", 0, NULL, 0);
    const app_proposal_file file = { .target = "cross",
                                     .proposal = "random-walk",
                                     .float32 = true };
    hs_message message;
    static const char *const names[] = { "best", "best.hsp", ".json", "a/.json" };
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(app_proposal_file_save(names[i], p, &file, &message), HS_EINVAL);
        ck_assert_says(message.text, "a proposal is saved as NAME.json");
    }
    ck_assert_int_eq(app_proposal_file_save("/nowhere/at/all.json", p, &file, &message), HS_EIO);
    ck_assert_says(message.text, "/nowhere/at/all");
    ck_assert_int_eq(app_proposal_file_save(path, p, &(app_proposal_file){ 0 }, &message),
                     HS_EINVAL);
    app_proposal_file wrong = file;
    wrong.target = "logistic,data=\xff.csv";
    ck_assert_int_eq(app_proposal_file_save(path, p, &wrong, &message), HS_EINVAL);
    ck_assert_says(message.text, "expected UTF-8, since this file has the text logistic");
    mkdir(path, 0777); /* a folder in its place */
    ck_assert_int_eq(app_proposal_file_save(path, p, &file, &message), HS_EIO);
    ck_assert_says(message.text, "is not a regular file");
    rmdir(path);
    hs_session_free(s);
    remove_directory();
}
END_TEST

static Suite *proposal_file_suite(void)
{
    Suite *suite = suite_create("proposal files");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, what_is_read_back_samples_as_what_was_saved, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(all, damage_is_told_apart);
    tcase_add_test(all, names_and_places_that_cannot_be);
    suite_add_tcase(suite, all);
    return suite;
}

HS_TEST_MAIN(proposal_file_suite())
