/* Work that a session ends: at each question whether it is interrupted, yes is an answer. */
#include <string.h>

#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/restart.h>
#include <hastings/mcmc/sample.h>
#include <hastings/mcmc/targets/targets.h>
#include <hastings/mcmc/tune.h>

#include "support/hs_check.h"

/* Says yes at the n-th question, and to all after it; 0: never. */
typedef struct {
    size_t n, asked;
} questioner;

static bool stop_at(void *context)
{
    questioner *q = context;
    q->asked++;
    return q->n && q->asked >= q->n;
}

enum { CHAINS = 2, DRAWS = 30, STEPS = 20 };

typedef struct {
    questioner q;
    hs_session *s;
    const hs_target *target;
    hs_proposal *walk;
} fixture;

static void open_fixture(fixture *f, size_t n)
{
    f->q = (questioner){ .n = n };
    f->s = hs_session_new(
        &(hs_session_options){ .seed = 1, .threads = 1, .interrupted = stop_at, .context = &f->q });
    f->target = hs_target_cross(f->s, NULL);
    f->walk = hs_random_walk(f->s, &(hs_walk_options){ .dim = 2 });
}

/* After an interruption: an error of that name and no result, or no error and a result. */
static bool has_result(const fixture *f, bool result)
{
    const hs_status status = hs_session_status(f->s);
    ck_assert_msg(status == (result ? HS_OK : HS_EINTERRUPTED), "question %zu: %s", f->q.n,
                  hs_session_error(f->s));
    return result;
}

static double whole[CHAINS][DRAWS][2];

static void sample(fixture *f)
{
    const hs_chains *c = hs_sample(f->s, f->target, f->walk,
                                   &(hs_sample_options){ .chains = CHAINS, .draws = DRAWS });
    if (!has_result(f, c != NULL))
        return;
    if (!f->q.n) {
        ck_assert_uint_eq(c->draws, DRAWS);
        memcpy(whole, c->x, sizeof whole);
    }
    for (size_t k = 0; k < CHAINS; k++)
        ck_assert_mem_eq(hs_chains_draw(c, k, 0), whole[k], c->draws * 2 * sizeof(double));
    ck_assert(f->q.n ? c->draws < DRAWS || f->q.asked == f->q.n : true);
}

static hs_train_options training(hs_objective o)
{
    return (hs_train_options){ .objective = o, .starts = 2, .proposals = 3, .steps = STEPS };
}

static hs_var jump(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_neg(hs_mul(hs_exp(t->log_alpha), hs_transition_jump(t)));
}

static void train(fixture *f)
{
    static double
        after[STEPS + 1]; /* the step size after each number of steps, of the whole training */
    hs_train_options o = training((hs_objective){ .name = "jump", .loss = jump });
    hs_training result;
    bool is_log;
    const hs_param step = hs_proposal_step(f->walk, &is_log);
    double now;
    if (!f->q.n) {
        for (o.steps = 1; o.steps <= STEPS; o.steps++) {
            fixture each;
            open_fixture(&each, 0);
            ck_assert_int_eq(hs_train(each.s, each.target, each.walk, &o, NULL), HS_OK);
            hs_param_get(hs_proposal_step(each.walk, &is_log), &after[o.steps]);
            hs_session_free(each.s);
        }
        hs_param_get(step, &after[0]);
        o.steps = STEPS;
    }
    const hs_status status = hs_train(f->s, f->target, f->walk, &o, &result);
    hs_param_get(step, &now);
    if (!has_result(f, !status))
        return;
    ck_assert_int_eq(result.stopped, f->q.n > 0);
    ck_assert_uint_le(result.steps, STEPS);
    ck_assert_double_eq(now, after[result.steps]);
}

static hs_proposal *make(hs_session *s, uint64_t replica, void *context)
{
    (void)replica, (void)context;
    return hs_random_walk(s, &(hs_walk_options){ .dim = 2 });
}

static void restart(fixture *f)
{
    const hs_train_options o = training((hs_objective){ .name = "jump", .loss = jump });
    hs_restarts r;
    const hs_proposal *best = hs_train_restarts(f->s, f->target, make, NULL, 3, &o, &r);
    if (!has_result(f, best != NULL))
        return;
    ck_assert_uint_ge(r.tries, 1);
    ck_assert_uint_lt(r.best, r.tries);
    /* A try that could not be judged wins only where there is no other. */
    ck_assert(isfinite(r.loss[r.best]) || r.tries == 1);
}

static void evaluate(fixture *f)
{
    const hs_train_options o = training((hs_objective){ .name = "jump", .loss = jump });
    hs_evaluation e;
    if (has_result(f, !hs_evaluate(f->s, f->target, f->walk, &o, 10, &e)))
        ck_assert(e.alpha > 0 && e.alpha <= 1);
}

static void tune(fixture *f)
{
    hs_proposal *hmc = hs_hmc(f->s, f->target, NULL);
    hs_tuning t;
    if (has_result(
            f, !hs_tune(f->s, f->target, hmc, &(hs_tune_options){ .chains = 2, .steps = 20 }, &t)))
        ck_assert_double_gt(t.step, 0);
}

static void (*const works[])(fixture *) = { sample, train, restart, evaluate, tune };

START_TEST(work_ends_at_any_question)
{
    fixture f;
    open_fixture(&f, 0);
    works[_i](&f);
    const size_t questions = f.q.asked;
    ck_assert_uint_gt(questions, 15);
    hs_session_free(f.s);
    for (size_t n = 1; n <= questions; n++) {
        open_fixture(&f, n);
        works[_i](&f);
        ck_assert_uint_eq(f.q.asked, n); /* it is not asked again */
        hs_session_free(f.s);
    }
}
END_TEST

START_TEST(a_diagnosis_ends_at_any_question)
{
    fixture f;
    open_fixture(&f, 0);
    const hs_chains *c = hs_sample(f.s, f.target, f.walk, NULL);
    hs_report report;
    hs_message message;
    hs_diagnose_options o = { .threads = 1, .interrupted = stop_at, .context = &f.q };
    f.q = (questioner){ 0 };
    ck_assert_int_eq(hs_diagnose(c, &o, &report, &message), HS_OK);
    hs_report_free(&report);
    const size_t questions = f.q.asked;
    ck_assert_uint_ge(questions, 2 * HS_ESS_KINDS);
    for (size_t n = 1; n <= questions; n++) {
        f.q = (questioner){ .n = n };
        ck_assert_int_eq(hs_diagnose(c, &o, &report, &message), HS_EINTERRUPTED);
        ck_assert_ptr_null(report.coordinate);
    }
    hs_session_free(f.s);
}
END_TEST

/* A watcher who stops a sampling is heard while it warms up and thins, too. */
static bool refuse(const hs_progress *p, void *context)
{
    (void)p;
    ++*(int *)context;
    return false;
}

START_TEST(a_warm_up_listens)
{
    fixture f;
    open_fixture(&f, 0);
    int told = 0;
    const hs_chains *c = hs_sample(
        f.s, f.target, f.walk,
        &(hs_sample_options){
            .warmup = 1000, .draws = 10, .thin = 10, .progress = refuse, .context = &told });
    ck_assert_ptr_nonnull(c);
    ck_assert_uint_eq(c->draws, 0);
    ck_assert_int_eq(told, 1);
    hs_session_free(f.s);
}
END_TEST

static Suite *interrupted_suite(void)
{
    Suite *suite = suite_create("interrupted");
    TCase *t = tcase_create("interrupted");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, work_ends_at_any_question, 0, sizeof works / sizeof *works);
    tcase_add_test(t, a_diagnosis_ends_at_any_question);
    tcase_add_test(t, a_warm_up_listens);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(interrupted_suite())
