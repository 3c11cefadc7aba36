/* Runs that are stopped, wherever they are, and resumed have the numbers of those that were not.
 * tests/checks/run.sh does it to processes. */
#include <hastings/experiments/figure.h>

#include "support/run_common.h"

/* A result without what is of the clock. */
static json_t *timeless(json_t *r)
{
    static const char *const of_clock[] = { "seconds", "started", "finished", "threads",
                                            "workers" };
    for (size_t k = 0; k < sizeof of_clock / sizeof *of_clock; k++)
        json_object_del(r, of_clock[k]);
    const json_t *jobs = json_object_get(r, "jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        json_t *job = json_array_get(jobs, i);
        json_object_del(json_object_get(job, "training"), "seconds");
        for (size_t k = 0; app_column_at(k); k++)
            if (!app_column_at(k)->judged)
                json_object_del(json_object_get(job, "figures"), app_column_at(k)->key);
    }
    return r;
}

typedef struct {
    const char *what;
    uint64_t step;
    bool stopped, ended;
} stopper;

static bool stop_there(const app_event *e, void *context)
{
    stopper *s = context;
    ck_assert(!s->ended);
    s->ended = e->kind == APP_RUN_ENDS;
    if (e->kind == APP_JOB_PROGRESS && !strcmp(e->progress->what, s->what) &&
        e->progress->step >= s->step)
        s->stopped = true;
    return !s->stopped;
}

/* In the case "evaluate", nothing asks whether to go on once the training is over. */

static const struct {
    const char *kase, *what;
    uint64_t step;
} places[] = {
    { "sample", "train", 1 },   { "sample", "train", 150 },   { "sample", "train", 201 },
    { "sample", "train", 350 }, { "evaluate", "train", 350 }, { "evaluate", "train", 400 },
    { "sample", "sample", 1 },  { "sample", "sample", 20 },   { "sample", "sample", 40 },
    { "evaluate", "tune", 20 }, { "evaluate", "solve", 0 },
};

START_TEST(test_stopped_anywhere)
{
    json_t *whole = timeless(run("stopped", (app_run_options){ .cases = places[_i].kase }));
    ck_assert_str_eq(app_text_of(whole, "state"), "complete");
    remove_all(out);
    stopper s = { .what = places[_i].what, .step = places[_i].step };
    json_t *r =
        run("stopped",
            (app_run_options){ .cases = places[_i].kase, .watch = stop_there, .context = &s });
    ck_assert(s.stopped && s.ended);
    ck_assert_str_eq(app_text_of(r, "state"), "partial");
    const json_t *jobs = json_object_get(r, "jobs");
    for (size_t i = 0, partial = 0; i < json_array_size(jobs); i++) {
        const char *state = app_text_of(json_array_get(jobs, i), "state");
        ck_assert_str_ne(state, "failed");
        partial += !strcmp(state, "partial");
        ck_assert_uint_le(partial, 1);
    }
    json_decref(r);
    r = timeless(run(NULL, (app_run_options){ .resume = true, .threads = 2 }));
    ck_assert_msg(json_equal(whole, r), "other numbers after being stopped at step %llu of %s",
                  (unsigned long long)places[_i].step, places[_i].what);
    json_decref(r);
    json_decref(whole);
}
END_TEST

/* Stopped and resumed again and again, the run ends, and with the same numbers. */
START_TEST(test_stopped_often)
{
    json_t *whole = timeless(run("stopped", (app_run_options){ 0 })), *r;
    remove_all(out);
    stopper s = { .what = "train", .step = 90 };
    r = run("stopped", (app_run_options){ .watch = stop_there, .context = &s });
    int times = 1;
    for (; strcmp(app_text_of(r, "state"), "complete") != 0 && times < 60; times++) {
        json_decref(r);
        s = (stopper){ .what = times % 3 ? "train" : "sample", .step = times % 3 == 1 ? 250 : 30 };
        r = run(NULL,
                (app_run_options){
                    .resume = true, .watch = stop_there, .context = &s, .threads = 1 + times % 2 });
    }
    ck_assert_int_gt(times, 4);
    ck_assert_str_eq(app_text_of(r, "state"), "complete");
    ck_assert(json_equal(whole, timeless(r)));
    json_decref(r);
    json_decref(whole);
}
END_TEST

static Suite *stopped_suite(void)
{
    Suite *suite = suite_create("stopped");
    TCase *t = tcase_create("stopped");
    tcase_set_timeout(t, 600);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, test_stopped_anywhere, 0, sizeof places / sizeof *places);
    tcase_add_test(t, test_stopped_often);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(stopped_suite())
