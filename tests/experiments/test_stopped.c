/* Runs that are stopped, wherever they are, and resumed have the numbers of those that were not.
 * tests/checks/run.sh does it to processes. */
#include <stdatomic.h>

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

/* Says that the run is to stop at its n-th question, and at all that follow; 0: never. */
typedef struct {
    size_t n;
    atomic_size_t asked;
} questioner;

static bool stop_at(void *context)
{
    questioner *q = context;
    const size_t asked = atomic_fetch_add(&q->asked, 1) + 1;
    return q->n && asked >= q->n;
}

/* Wherever a run asks whether it is interrupted, yes is an answer: it ends, no job has failed, and what it saved is
 * enough to go on to the same numbers. There are some thousand questions; each case asks for some of them. */
START_TEST(test_interrupted_at_any_question)
{
    questioner q = { .n = 0 };
    json_t *whole =
        timeless(run("stopped", (app_run_options){ .interrupted = stop_at, .context = &q }));
    const size_t questions = q.asked;
    ck_assert_uint_gt(questions, 1000);
    remove_all(out);
    enum { STOPS = 8 };
    size_t partial = 0;
    for (size_t i = (size_t)_i; i < STOPS; i += 2) {
        /* The first questions are about plans and data, where every one is another place. */
        q = (questioner){ .n = i < STOPS / 2 ? 1 + 7 * i
                                             : questions * (i - STOPS / 2 + 1) / (STOPS / 2 + 1) };
        json_t *e = experiment("stopped");
        hs_message m;
        const hs_status status = app_experiment_run(
            e,
            &(app_run_options){ .out = out, .threads = 1, .interrupted = stop_at, .context = &q },
            &m);
        json_decref(e);
        ck_assert_uint_ge(q.asked, q.n);
        if (status ==
            HS_EINTERRUPTED) { /* while the targets were looked at: before there was a folder */
            ck_assert_int_ne(access(out, F_OK), 0);
            continue;
        }
        ck_assert_msg(status == HS_OK, "question %zu: %s", q.n, m.text);
        json_t *r = result();
        ck_assert_str_eq(app_text_of(r, "state"), "partial");
        const json_t *jobs = json_object_get(r, "jobs");
        for (size_t k = 0; k < json_array_size(jobs); k++)
            ck_assert_str_ne(app_text_of(json_array_get(jobs, k), "state"), "failed");
        partial++;
        json_decref(r);
        r = timeless(run(NULL, (app_run_options){ .resume = true, .threads = 2 }));
        ck_assert_msg(json_equal(whole, r), "other numbers after question %zu of %zu", q.n,
                      questions);
        json_decref(r);
        remove_all(out);
    }
    ck_assert_uint_ge(partial, 2);
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
    tcase_add_loop_test(t, test_interrupted_at_any_question, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(stopped_suite())
