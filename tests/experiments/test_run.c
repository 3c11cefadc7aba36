/* Runs: which jobs there are, whose settings win, what samplers and maps come to, and jobs that fail. */
#include <sys/stat.h>

#include <hastings/mcmc/chains.h>

#include "support/run_common.h"

/* ---- Which rows and cases -------------------------------------------------------------------------- */

static bool stop_at_once(const app_event *event, void *context)
{
    (void)event;
    (void)context;
    return false;
}

/* Names of cases or rows, joined by "; ". */
static const char *names(const json_t *r, const char *list)
{
    static char text[1024];
    text[0] = 0;
    const json_t *all = json_object_get(json_object_get(r, "experiment"), list);
    for (size_t i = 0; i < json_array_size(all); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "; " : "",
                 app_text_of(json_array_get(all, i), "name"));
    return text;
}

static const struct {
    const char *objectives, *cases;
    bool quick;
    const char *rows, *kept;
} choice[] = {
    { NULL, NULL, false, "Ab Initio; MSJD; GSM-60; MSJD by MALA; I.I.D.",
      "walk d=10; walk d=100; mala d=100; a,b" },
    { "ab-initio", "walk d=10", false, "Ab Initio; I.I.D.", "walk d=10" },
    { "ab-initio:0.18125", "walk*", false, "Ab Initio; I.I.D.", "walk d=10; walk d=100" },
    /* A name goes before an objective; without one, all rows with the objective are meant. */
    { "gsm-60", "*d=100", false, "GSM-60; I.I.D.", "walk d=100; mala d=100" },
    { "msjd", "mala*,walk d=10", false, "MSJD; I.I.D.", "walk d=10; mala d=100" },
    { "gsm:0.6,1,0.002,msjd", "a,b", false, "GSM-60; MSJD; I.I.D.", "a,b" },
    { "gsm:0.5,1,0.02", "?*", false, "gsm:0.5,1,0.02; I.I.D.",
      "walk d=10; walk d=100; mala d=100; a,b" },
    { "gsm-60,gsm-60,msjd,msjd", "*", false, "GSM-60; MSJD; I.I.D.",
      "walk d=10; walk d=100; mala d=100; a,b" },
    { NULL, NULL, true, "Ab Initio; MSJD; GSM-60; MSJD by MALA; I.I.D.", "walk d=10; a,b" },
    { NULL, "mala*", true, "Ab Initio; MSJD; GSM-60; MSJD by MALA; I.I.D.", "mala d=100" },
};

START_TEST(test_choices)
{
    json_t *r = run("choices", (app_run_options){ .objectives = choice[_i].objectives,
                                                  .cases = choice[_i].cases,
                                                  .quick = choice[_i].quick,
                                                  .watch = stop_at_once });
    ck_assert_str_eq(app_text_of(r, "state"), "partial");
    ck_assert_str_eq(names(r, "rows"), choice[_i].rows);
    ck_assert_str_eq(names(r, "cases"), choice[_i].kept);
    const json_t *jobs = json_object_get(r, "jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++)
        ck_assert_str_eq(app_text_of(json_array_get(jobs, i), "state"), "pending");
    json_decref(r);
    /* What was chosen is what is resumed. */
    r = run(NULL, (app_run_options){ .resume = true, .watch = stop_at_once });
    ck_assert_str_eq(names(r, "rows"), choice[_i].rows);
    ck_assert_str_eq(names(r, "cases"), choice[_i].kept);
    json_decref(r);
}
END_TEST

START_TEST(test_rows_of_one_objective)
{
    /* Where no row is called so, all with the objective are kept. */
    json_t *e = experiment("choices");
    json_object_set_new(json_array_get(json_object_get(e, "rows"), 1), "name", json_string("Jump"));
    hs_message m;
    ck_assert_int_eq(app_experiment_run(e,
                                        &(app_run_options){ .out = out,
                                                            .objectives = "msjd",
                                                            .watch = stop_at_once,
                                                            .threads = 1 },
                                        &m),
                     HS_OK);
    json_decref(e);
    json_t *r = result();
    ck_assert_str_eq(names(r, "rows"), "Jump; MSJD by MALA; I.I.D.");
    json_decref(r);
}
END_TEST

START_TEST(test_wrong_choices)
{
    hs_message m;
    ck_assert_int_eq(refusal("choices", (app_run_options){ .cases = "mala*,nothing" }, &m),
                     HS_EINVAL);
    ck_assert_msg(strstr(m.text, "no case is called \"nothing\"; there are: walk d=10") != NULL,
                  "%s", m.text);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .cases = "" }, &m), HS_EINVAL);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .objectives = "msdj" }, &m), HS_EINVAL);
    ck_assert_msg(strstr(m.text, "msdj") != NULL, "%s", m.text);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .objectives = "msjd,,kl" }, &m),
                     HS_EINVAL);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .label = "y" }, &m), HS_EINVAL);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .data = "data/ripley.csv" }, &m),
                     HS_EINVAL);
    ck_assert_msg(strstr(m.text, "\"choices\" has no target that takes a data set") != NULL, "%s",
                  m.text);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .data = "nowhere.csv" }, &m), HS_EIO);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .out = "" }, &m), HS_EINVAL);
    json_t *settings = json_pack("{s:i}", "stepz", 3);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .settings = settings }, &m), HS_EINVAL);
    ck_assert_msg(strstr(m.text, "did you mean \"steps\"?") != NULL, "%s", m.text);
    json_decref(settings);
    ck_assert_int_eq(app_experiment_run(NULL, &(app_run_options){ .out = out }, &m), HS_EINVAL);
    ck_assert_int_eq(app_experiment_run(NULL, &(app_run_options){ .out = NULL }, NULL), HS_EINVAL);
    ck_assert_int_eq(app_experiment_run(NULL, &(app_run_options){ .out = out, .resume = true }, &m),
                     HS_EIO);
}
END_TEST

/* Later settings win: the experiment's, the case's, the row's, --quick's, the command line's. */
static json_int_t steps_of(const json_t *r, const char *id)
{
    figure_of(r, id, "msjd");
    return json_integer_value(json_object_get(json_object_get(job_of(r, id), "training"), "steps"));
}

static json_int_t seed_of(const json_t *r, const char *id)
{
    return json_integer_value(json_object_get(job_of(r, id), "seed"));
}

START_TEST(test_whose_settings_win)
{
    json_t *r =
        run("choices", (app_run_options){ .cases = "walk d=10", .objectives = "ab-initio,msjd" });
    ck_assert_int_eq(steps_of(r, "walk-d-10-ab-initio-1"), 40);
    ck_assert_int_eq(steps_of(r, "walk-d-10-msjd-1"), 50);
    const json_int_t seed = seed_of(r, "walk-d-10-msjd-1");
    ck_assert_int_ne(seed, seed_of(r, "walk-d-10-ab-initio-1"));
    ck_assert_int_gt(seed, 0);
    ck_assert_int_lt(seed, (json_int_t)1 << 53);
    json_decref(r);
    remove_all(out);
    r = run("choices", (app_run_options){
                           .cases = "walk d=10", .objectives = "ab-initio,msjd", .quick = true });
    ck_assert_int_eq(steps_of(r, "walk-d-10-msjd-1"), 7);
    ck_assert_int_eq(seed_of(r, "walk-d-10-msjd-1"), seed); /* whatever else is run */
    json_decref(r);
    remove_all(out);
    json_t *settings = json_pack("{s:i, s:i, s:i}", "steps", 9, "seed", 5, "replications", 2);
    r = run("choices", (app_run_options){ .cases = "walk d=10",
                                          .objectives = "msjd",
                                          .quick = true,
                                          .settings = settings,
                                          .stan_csv = true,
                                          .command = "how \xff it was called" });
    ck_assert_int_eq(steps_of(r, "walk-d-10-msjd-1"), 9);
    ck_assert_int_eq(steps_of(r, "walk-d-10-msjd-2"), 9);
    ck_assert_int_ne(seed_of(r, "walk-d-10-msjd-1"), seed);
    ck_assert_int_ne(seed_of(r, "walk-d-10-msjd-1"), seed_of(r, "walk-d-10-msjd-2"));
    ck_assert_double_ne(figure_of(r, "walk-d-10-msjd-1", "msjd"),
                        figure_of(r, "walk-d-10-msjd-2", "msjd"));
    ck_assert_str_eq(app_text_of(r, "command"), "how ? it was called");
    ck_assert(is_there("chains/walk-d-10-msjd-1.nc"));
    ck_assert(is_there("chains/walk-d-10-msjd-1_1.csv"));
    ck_assert(is_there("chains/walk-d-10-msjd-1_2.csv"));
    ck_assert(is_there("proposals/walk-d-10-msjd-1.json"));
    ck_assert(is_there("proposals/walk-d-10-msjd-1.hsp"));
    ck_assert(!is_there("proposals/walk-d-10-i.i.d.-1.json"));
    json_decref(settings);
    json_decref(r);
}
END_TEST

/* Chains of an online training begin at draws, also of a target that needs no reference chain for them. */
START_TEST(test_online)
{
    double loss[2];
    for (int online = 0; online < 2; online++) {
        json_t *settings = json_pack("{s:b}", "online", online);
        json_t *r = run(
            "choices",
            (app_run_options){ .cases = "walk d=10", .objectives = "msjd", .settings = settings });
        ck_assert_str_eq(app_text_of(job_of(r, "walk-d-10-msjd-1"), "error"), "");
        loss[online] = json_number_value(
            json_object_get(json_object_get(job_of(r, "walk-d-10-msjd-1"), "training"), "loss"));
        json_decref(settings);
        json_decref(r);
        remove_all(out);
    }
    ck_assert_double_ne(loss[0], loss[1]);
}
END_TEST

/* ---- What a killed run leaves ---------------------------------------------------------------------------- */

/* Makes a file in the run's folder, or in another if the name is absolute. */
static void put_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", *name == '/' ? "" : out, name);
    FILE *f = fopen(path, "w");
    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(test_unfinished_files)
{
    json_t *r = run("choices", (app_run_options){ .watch = stop_at_once });
    json_decref(r);
    /* figures/ leads elsewhere. */
    char figures[128], elsewhere[128], theirs[256];
    snprintf(figures, sizeof figures, "%s/figures", out);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    snprintf(theirs, sizeof theirs, "%s/map.npy.12-0.tmp", elsewhere);
    ck_assert_int_eq(rmdir(figures) | mkdir(elsewhere, 0777) | symlink(elsewhere, figures), 0);
    put_file(theirs);
    put_file("result.json.12-0.tmp");
    put_file("work/a.json.12-34.tmp");
    put_file("work/notes.tmp");
    put_file("notes.tmp");
    r = run(NULL, (app_run_options){ .resume = true, .watch = stop_at_once });
    json_decref(r);
    ck_assert(!is_there("result.json.12-0.tmp"));
    ck_assert(!is_there("work/a.json.12-34.tmp"));
    ck_assert(is_there("work/notes.tmp"));
    ck_assert(is_there("notes.tmp"));
    ck_assert_int_eq(access(theirs, F_OK), 0);
}
END_TEST

START_TEST(test_killed_before_it_saved)
{
    static const char *const parts[] = { "", "/work", "/chains" };
    char path[128];
    hs_message m;
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", out, parts[i]);
        ck_assert_int_eq(mkdir(path, 0777), 0);
    }
    put_file("result.json.12-0.tmp");
    ck_assert_int_eq(refusal("choices", (app_run_options){ .resume = true }, &m), HS_EIO);
    ck_assert_msg(strstr(m.text, "/result.json is not there") &&
                      strstr(m.text, "begin the run again: hastings run NAME --out "),
                  "%s", m.text);
    /* Something of the user's is in the way. */
    put_file("work/notes");
    ck_assert_int_eq(refusal("choices", (app_run_options){ 0 }, &m), HS_EINVAL);
    ck_assert_msg(strstr(m.text, "something in this folder already"), "%s", m.text);
    ck_assert_int_eq(refusal("choices", (app_run_options){ .resume = true }, &m), HS_EIO);
    ck_assert_msg(strstr(m.text, "a folder that is empty or new"), "%s", m.text);
    ck_assert(is_there("result.json.12-0.tmp"));
    snprintf(path, sizeof path, "%s/work/notes", out);
    unlink(path);
    json_decref(run("choices", (app_run_options){ .watch = stop_at_once }));
    ck_assert(!is_there("result.json.12-0.tmp"));
}
END_TEST

/* ---- Samplers to compare with ------------------------------------------------------------------------ */

START_TEST(test_solved_steps)
{
    /* Random walks on a Gaussian: the step of 2.38 / sqrt(d) accepts 0.234 and jumps farthest, by
     * 2.38^2 0.234 = 1.33; a small step accepts 2 Phi(-step sqrt(d) / 2). */
    json_t *r = run("solve", (app_run_options){ 0 });
    ck_assert_close(figure_of(r, "d-some-1", "acceptance"), 0.234, 0, 0.02);
    ck_assert_close(figure_of(r, "d-some-1", "step"), 2.38 / sqrt(50), 0.05, 0);
    ck_assert_close(figure_of(r, "d-some-1", "msjd"), 1.33, 0.08, 0);
    ck_assert_close(figure_of(r, "d-most-1", "acceptance"), 0.8, 0, 0.02);
    ck_assert_close(figure_of(r, "d-most-1", "step"), 2 * 0.25335 / sqrt(50), 0.08, 0);
    /* The same for a walk whose parameter is the logarithm of its step. */
    ck_assert_close(figure_of(r, "d-log-1", "acceptance"), 0.8, 0, 0.02);
    ck_assert_close(figure_of(r, "d-log-1", "step"), 2 * 0.25335 / sqrt(50), 0.08, 0);
    ck_assert_close(figure_of(r, "d-far-1", "acceptance"), 0.234, 0, 0.05);
    ck_assert_close(figure_of(r, "d-far-1", "step"), 2.38 / sqrt(50), 0.12, 0);
    ck_assert_close(figure_of(r, "d-iid-1", "msjd"), 100, 0.03, 0);
    /* The error of an evaluation is the cell's. */
    const double error = figure_of(r, "d-some-1", "acceptance_error");
    ck_assert_close(error, 0.3 / sqrt(5000), 0.5, 0);
    ck_assert_double_eq(
        json_number_value(json_object_get(find_cell(r, "d", "some", "acceptance"), "error")),
        error);
    /* One step for each coordinate cannot be solved for: that job fails, the others do not. */
    ck_assert_str_eq(app_text_of(job_of(r, "d-none-1"), "state"), "failed");
    ck_assert_msg(strstr(app_text_of(job_of(r, "d-none-1"), "error"), "no single step") != NULL,
                  "%s", app_text_of(job_of(r, "d-none-1"), "error"));
    ck_assert_str_eq(app_text_of(r, "state"), "partial");
    json_decref(r);
}
END_TEST

START_TEST(test_fit)
{
    json_t *r = run("fit", (app_run_options){ 0 });
    ck_assert_close(figure_of(r, "walk-fit-1", "acceptance"), 0.234, 0.02, 0);
    ck_assert_close(figure_of(r, "walk-fit-1", "coefficient"), 0.18125, 0.1, 0);
    ck_assert_double_gt(figure_of(r, "walk-fit-1", "coefficient_error"), 0);
    ck_assert_msg(strstr(app_text_of(job_of(r, "nothing-fit-1"), "error"), "walk, mala or both") !=
                      NULL,
                  "%s", app_text_of(job_of(r, "nothing-fit-1"), "error"));
    json_decref(r);
}
END_TEST

/* ---- Maps ---------------------------------------------------------------------------------------- */

static hs_chains *map_of(const json_t *about, double low[2], double high[2])
{
    char path[512];
    hs_chains *c;
    hs_message m;
    snprintf(path, sizeof path, "%s/%s", out, app_text_of(about, "file"));
    ck_assert_msg(hs_chains_load(&c, path, HS_CHAIN_FIRST, &m) == HS_OK, "%s", m.text);
    for (size_t j = 0; j < 2; j++) {
        const json_t *range = json_object_get(about, j ? "y" : "x");
        low[j] = json_number_value(json_array_get(range, 0));
        high[j] = json_number_value(json_array_get(range, 1));
        ck_assert_double_lt(low[j], -5);
        ck_assert_double_gt(high[j], 5);
    }
    return c;
}

/* The densities from each start add up to 1, and lie where the start is: [start][y][x]. */
static void check_density(const json_t *r, const char *id, double sd)
{
    const json_t *about = json_object_get(job_of(r, id), "density");
    double low[2], high[2];
    hs_chains *c = map_of(about, low, high);
    const size_t n = c->dim;
    ck_assert_uint_eq(c->chains, 5);
    ck_assert_uint_eq(c->draws, n);
    const double dx = (high[0] - low[0]) / (double)(n - 1),
                 dy = (high[1] - low[1]) / (double)(n - 1);
    for (size_t k = 0; k < 5; k++) {
        double mass = 0, x = 0, y = 0, square = 0;
        const json_t *start = json_array_get(json_object_get(about, "starts"), k);
        const double from[2] = { json_number_value(json_array_get(start, 0)),
                                 json_number_value(json_array_get(start, 1)) };
        for (size_t i = 0; i < n * n; i++) {
            const double at[2] = { low[0] + dx * (double)(i % n), low[1] + dy * (double)(i / n) };
            const double p = c->x[k * n * n + i] * dx * dy;
            ck_assert_double_ge(p, 0);
            mass += p;
            x += p * at[0];
            y += p * at[1];
            square += p * pow(at[0] - from[0], 2);
        }
        ck_assert_close(mass, 1, 0, 0.02);
        ck_assert_close(x, from[0], 0, 0.1);
        ck_assert_close(y, from[1], 0, 0.1);
        ck_assert_close(sqrt(square), sd, 0.15, 0);
    }
    hs_chains_free(c);
}

START_TEST(test_maps)
{
    json_t *r = run("maps", (app_run_options){ 0 });
    ck_assert_str_eq(app_text_of(r, "state"), "complete");
    check_density(r, "cross-scheme-1", 0.1 * sqrt(8.5)); /* the cross has this sd */
    check_density(r, "cross-walk-1", 0.5);

    const json_t *about = json_object_get(job_of(r, "cross-mixture-1"), "weights");
    double low[2], high[2];
    hs_chains *c = map_of(about, low, high);
    ck_assert_uint_eq(c->chains, 4);
    for (size_t i = 0; i < c->dim * c->dim; i++) {
        double sum = 0;
        for (size_t k = 0; k < 4; k++) {
            const double weight = c->x[k * c->dim * c->dim + i];
            ck_assert(weight >= 0 && weight <= 1);
            sum += weight;
        }
        ck_assert_close(sum, 1, 1e-5, 0);
    }
    hs_chains_free(c);
    /* After five steps the components are still where the target's draws cluster. */
    for (size_t k = 0; k < 4; k++) {
        const json_t *one = json_array_get(json_object_get(about, "components"), k);
        const json_t *mean = json_object_get(one, "mean"),
                     *covariance = json_object_get(one, "covariance");
        const double x = json_number_value(json_array_get(mean, 0)),
                     y = json_number_value(json_array_get(mean, 1));
        ck_assert_close(fmax(fabs(x), fabs(y)), 4, 0, 0.2);
        ck_assert_close(fmin(fabs(x), fabs(y)), 0, 0, 0.2);
        for (size_t i = 0; i < 2; i++)
            ck_assert_close(json_number_value(json_array_get(json_array_get(covariance, i), i)),
                            0.5, 0.1, 0);
    }
    /* Only where there is something to draw, and of the first replication. */
    ck_assert(!json_object_get(job_of(r, "cross-mixture-1"), "density"));
    ck_assert(!json_object_get(job_of(r, "cross-hmc-1"), "density"));
    ck_assert(!json_object_get(job_of(r, "cross-scheme-1"), "weights"));
    ck_assert(!json_object_get(job_of(r, "cross-walk-2"), "density"));
    ck_assert(!json_object_get(job_of(r, "half-walk-1"), "density"));
    json_decref(r);
}
END_TEST

/* ---- Jobs that fail ----------------------------------------------------------------------------------- */

START_TEST(test_failures_are_of_one_job)
{
    json_t *r = run("failures", (app_run_options){ 0 });
    ck_assert_str_eq(app_text_of(r, "state"), "partial");
    static const char *const failed[][2] = { { "c-none-1", "no proposal to train" },
                                             { "c-wild-1", "finite" },
                                             { "c-many-1", "at most 64" },
                                             { "c-solve-1", "no proposal whose step" } };
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(app_text_of(job_of(r, failed[i][0]), "state"), "failed");
        ck_assert_msg(strstr(app_text_of(job_of(r, failed[i][0]), "error"), failed[i][1]) != NULL,
                      "%s: %s", failed[i][0], app_text_of(job_of(r, failed[i][0]), "error"));
    }
    figure_of(r, "c-good-1", "msjd");
    json_decref(r);
    /* They are tried again when the run is resumed; what is done is not. */
    char path[256];
    struct stat before, after;
    snprintf(path, sizeof path, "%s/chains/c-good-1.nc", out);
    ck_assert_int_eq(stat(path, &before), 0);
    r = run(NULL, (app_run_options){ .resume = true });
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino);
    ck_assert_str_eq(app_text_of(job_of(r, "c-none-1"), "state"), "failed");
    json_decref(r);
}
END_TEST

/* Tries to go on with the run that is at work, and stops. */
static bool intrude(const app_event *event, void *context)
{
    (void)event;
    hs_message *m = context;
    if (!m->text[0])
        ck_assert_int_eq(
            app_experiment_run(NULL, &(app_run_options){ .out = out, .resume = true }, m),
            HS_EINVAL);
    return false;
}

START_TEST(test_two_runs_in_one_folder)
{
    hs_message m = { .text = "" };
    json_decref(run("choices", (app_run_options){ .watch = intrude, .context = &m }));
    ck_assert_msg(strstr(m.text, "another run is at work in this folder") != NULL, "%s", m.text);
    json_decref(
        run(NULL, (app_run_options){ .resume = true, .watch = stop_at_once })); /* now it is free */
}
END_TEST

static Suite *run_suite(void)
{
    Suite *suite = suite_create("run");
    TCase *t = tcase_create("run");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, test_choices, 0, sizeof choice / sizeof *choice);
    tcase_add_test(t, test_rows_of_one_objective);
    tcase_add_test(t, test_wrong_choices);
    tcase_add_test(t, test_two_runs_in_one_folder);
    tcase_add_test(t, test_whose_settings_win);
    tcase_add_test(t, test_online);
    tcase_add_test(t, test_unfinished_files);
    tcase_add_test(t, test_killed_before_it_saved);
    tcase_add_test(t, test_solved_steps);
    tcase_add_test(t, test_fit);
    tcase_add_test(t, test_maps);
    tcase_add_test(t, test_failures_are_of_one_job);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(run_suite())
