/* Training: same bits for any number of threads and after any interruption, start points, callbacks,
 * adapted numbers. */
#include "mcmc/trainer_internal.h"
#include "support/mcmc_catalogue.h"
#include <hastings/nn/file.h>

enum { STARTS = 8, PROPOSALS = 20, STEPS = 60, POINTS = 50 };

typedef enum { EXACT, STORED, ONLINE, MODES } mode;

/* Everything that a training needs, made anew for each. */
typedef struct {
    hs_session *session;
    const hs_target *target;
    hs_proposal *proposal;
    double *points;
    hs_train_options options;
} bench;

static bench new_bench(mode m, int threads, bool float32, mt_maker *make)
{
    bench b = { .session = hs_session_new(
                    &(hs_session_options){ .seed = 21, .threads = threads, .float32 = float32 }) };
    b.target = mt_target_modes(b.session, 2);
    b.proposal = make(b.session, b.target);
    b.points = malloc(POINTS * 2 * sizeof *b.points);
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 9, .stream = 9, .step = 9 }, 0, POINTS,
                   2, b.points);
    b.options = (hs_train_options){
        .objective = mt_gsm(0.5, 0.02, 0.6),
        .starts = STARTS,
        .proposals = PROPOSALS,
        .steps = STEPS,
        .optimizer = { .rate = 1e-2, .schedule = { HS_COSINE, .steps = STEPS, .final = 0.1 } },
        .points = m == EXACT ? NULL : b.points,
        .n_points = m == EXACT ? 0 : POINTS,
        .online = m == ONLINE
    };
    ck_session_ok(b.session);
    return b;
}

static void free_bench(bench *b)
{
    hs_session_free(b->session);
    free(b->points);
}

static double *params_of(const hs_proposal *p)
{
    hs_params *ps = hs_proposal_params(p);
    double *values = malloc(hs_params_size(ps) * sizeof *values);
    hs_params_get(ps, values);
    return values;
}

static void ck_same_params(const hs_proposal *p, const double *expected, const char *what)
{
    double *found = params_of(p);
    const size_t n = hs_params_size(hs_proposal_params(p));
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += found[i] != expected[i];
    ck_assert_msg(differ == 0, "%s: %zu of %zu parameters differ", what, differ, n);
    free(found);
}

/* The parameters after an uninterrupted training. */
static double *trained(mode m, int threads, bool float32, mt_maker *make, hs_training *result)
{
    bench b = new_bench(m, threads, float32, make);
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, result), HS_OK);
    double *values = params_of(b.proposal);
    free_bench(&b);
    return values;
}

START_TEST(threads_do_not_change_a_bit)
{
    const mode m = (mode)(_i % MODES);
    const bool float32 = _i >= MODES;
    static hs_training first, other;
    double *one = trained(m, 1, float32, mk_networks_flow, &first);
    const int threads[] = { 2, 3, 8 };
    for (int i = 0; i < 3; i++) {
        bench b = new_bench(m, threads[i], float32, mk_networks_flow);
        ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, &other), HS_OK);
        ck_same_params(b.proposal, one, "threads");
        ck_assert(other.loss == first.loss && other.alpha == first.alpha);
        ck_assert(other.adapted == first.adapted && other.steps == STEPS);
        free_bench(&b);
    }
    free(one);
}
END_TEST

/* ---- Checkpoints ------------------------------------------------------------------------------ */

static char directory[64], path[128];

static void enter_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/hastings_mcmc_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/state", directory);
}

static void run_shell(const char *format)
{
    char command[256];
    snprintf(command, sizeof command, format, directory);
    ck_assert_int_eq(system(command), 0);
}

static void leave_directory(void)
{
    run_shell("rm -r %s");
}

static bool stop_at(const hs_progress *p, void *context)
{
    return p->step < *(const uint64_t *)context;
}

START_TEST(a_resumed_training_has_the_same_bits)
{
    const mode m = (mode)(_i % MODES);
    const bool float32 = _i >= MODES;
    mt_maker *make = m == STORED ? mk_mixture : mk_networks_flow;
    static hs_training whole, part;
    double *expected = trained(m, 2, float32, make, &whole);
    enter_directory();
    const uint64_t stops[] = { 7, 25, 26, 1000 };
    for (int i = 0; i < 4; i++) {
        bench b = new_bench(m, 1 + i % 3, float32, make);
        b.options.checkpoint = path;
        b.options.checkpoint_every = 10;
        b.options.report_every = 1;
        b.options.progress = stop_at;
        b.options.context = (void *)&(uint64_t){ stops[i] };
        ck_assert_msg(hs_train(b.session, b.target, b.proposal, &b.options, &part) == HS_OK, "%s",
                      hs_session_error(b.session));
        ck_assert_uint_eq(part.steps, i < 3 ? stops[i] : STEPS);
        ck_assert_int_eq(part.stopped, i < 3);
        if (i == 3) {
            ck_same_params(b.proposal, expected, "resumed");
            ck_assert(part.adapted == whole.adapted);
        }
        free_bench(&b);
        /* Two files, and no litter. */
        run_shell("test $(ls -A %s | wc -l) = 2");
    }
    /* Once more: there is nothing left to do. */
    bench b = new_bench(m, 1, float32, make);
    b.options.checkpoint = path;
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, &part), HS_OK);
    ck_assert_uint_eq(part.steps, STEPS);
    ck_same_params(b.proposal, expected, "loaded");
    free_bench(&b);
    free(expected);
    leave_directory();
}
END_TEST

/* A run that was killed between checkpoints goes on from the last one. */
START_TEST(a_killed_training_goes_on_from_its_checkpoint)
{
    double *expected = trained(ONLINE, 1, false, mk_networks_flow, NULL);
    enter_directory();
    bench b = new_bench(ONLINE, 1, false, mk_networks_flow);
    b.options.checkpoint = path;
    b.options.checkpoint_every = 10;
    b.options.steps = 20; /* leaves the checkpoint of step 20 */
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_OK);
    free_bench(&b);
    b = new_bench(ONLINE, 1, false, mk_networks_flow);
    b.options.checkpoint = path;
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_OK);
    ck_same_params(b.proposal, expected, "after a kill");
    free_bench(&b);
    free(expected);
    leave_directory();
}
END_TEST

static hs_status resume(hs_session **s)
{
    bench b = new_bench(ONLINE, 1, false, mk_networks_flow);
    b.options.checkpoint = path;
    const hs_status status = hs_train(b.session, b.target, b.proposal, &b.options, NULL);
    free(b.points);
    *s = b.session;
    return status;
}

/* Sets a number of the second file of a checkpoint, whose checksum is then right again. */
static void forge(const char *file, const char *name, size_t i, double number)
{
    static const double zeros[CHECKPOINT_RECORD];
    hs_message message;
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "step", hs_dims(2), hs_init_values(zeros));
    hs_params_add(ps, "seed", hs_dims(2), hs_init_values(zeros));
    hs_params_add(ps, "adapted", hs_dims(1), hs_init_values(zeros));
    hs_params_add(ps, "record", hs_dims(CHECKPOINT_RECORD), hs_init_values(zeros));
    hs_params_add(ps, "chains", hs_dims(2 * STARTS), hs_init_values(zeros));
    ck_assert_msg(hs_params_load(ps, NULL, file, &message) == HS_OK, "%s", message.text);
    ((double *)hs_param_values(hs_params_find(ps, name)))[i] = number;
    ck_assert_int_eq(hs_params_save(ps, NULL, file, &message), HS_OK);
    hs_params_free(ps);
}

START_TEST(forged_checkpoints_are_refused)
{
    const struct {
        const char *name;
        size_t i;
        double number;
    } numbers[] = { { "step", 1, (double)NAN },
                    { "step", 0, -1 },
                    { "step", 1, 0x1p32 },
                    { "seed", 0, 0.5 },
                    { "seed", 1, (double)INFINITY },
                    { "record", 0, HS_CURVE + 1 },
                    { "record", 1, (double)NAN },
                    { "record", 3, -1 },
                    { "record", 2, (double)INFINITY } };
    hs_session *s;
    enter_directory();
    char file[160];
    snprintf(file, sizeof file, "%s.20", path);
    bench b = new_bench(ONLINE, 1, false, mk_networks_flow);
    b.options.checkpoint = path;
    b.options.steps = 20;
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_OK);
    free_bench(&b);
    run_shell("d=%s; cp -r $d $d.copy");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        forge(file, numbers[i].name, numbers[i].i, numbers[i].number);
        ck_assert_int_eq(resume(&s), HS_EFORMAT);
        ck_session_failed(s, HS_EFORMAT, "state.20: damaged", numbers[i].name);
        hs_session_free(s);
        run_shell("d=%s; cp $d.copy/* $d/");
    }
    run_shell("rm -r %s.copy");
    leave_directory();
}
END_TEST

START_TEST(damaged_checkpoints_are_refused)
{
    hs_session *s;
    enter_directory();
    bench b = new_bench(ONLINE, 1, false, mk_networks_flow);
    b.options.checkpoint = path;
    b.options.steps = 20;
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_OK);
    free_bench(&b);
    run_shell("d=%s; cp -r $d $d.copy");
    const char *const harm[] = {
        "printf X | dd of=%s/state.20 bs=1 seek=100 conv=notrunc 2>/dev/null",
        "truncate -s 50 %s/state.20", "rm %s/state.20",
        "printf X | dd of=%s/state bs=1 seek=200 conv=notrunc 2>/dev/null", "truncate -s 0 %s/state"
    };
    const hs_status expected[] = { HS_EFORMAT, HS_EFORMAT, HS_EIO, HS_EFORMAT, HS_EFORMAT };
    for (int i = 0; i < 5; i++) {
        run_shell(harm[i]);
        ck_assert_int_eq(resume(&s), expected[i]);
        ck_session_failed(s, expected[i], "checkpoint", i < 3 ? "state.20" : "state");
        hs_session_free(s);
        run_shell("d=%s; cp $d.copy/* $d/");
    }
    ck_assert_msg(resume(&s) == HS_OK, "%s", hs_session_error(s));
    hs_session_free(s);
    run_shell("d=%s; rm -r $d.copy $d/*");
    /* One of another proposal, and one without chains. */
    for (int i = 0; i < 2; i++) {
        b = new_bench(i ? STORED : ONLINE, 1, false, i ? mk_networks_flow : mk_mixture);
        b.options.checkpoint = path;
        b.options.steps = 20;
        ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_OK);
        free_bench(&b);
        ck_assert_int_ne(resume(&s), HS_OK);
        ck_assert_ptr_nonnull(strstr(hs_session_error(s), "checkpoint"));
        hs_session_free(s);
        run_shell("rm %s/*");
    }
    snprintf(path, sizeof path, "%s/no/such", directory);
    ck_assert_int_eq(resume(&s), HS_EIO);
    ck_session_failed(s, HS_EIO, "checkpoint", "no/such");
    hs_session_free(s);
    leave_directory();
}
END_TEST

/* ---- Where batches start: an objective that is the first coordinate of x ----------------------- */

static hs_var first_of_x(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    hs_var x = hs_reshape(hs_slice(t->x, 0, 0, 1), hs_scalar_shape());
    return hs_add(x, hs_scale(t->log_g_fwd, 0));
}

typedef struct {
    double loss[STEPS], alpha[STEPS], adapted[STEPS];
    uint64_t calls, last;
    bool ordered;
} record;

static bool keep(const hs_progress *p, void *context)
{
    record *r = context;
    r->ordered = r->ordered && p->step > r->last && p->steps == STEPS &&
                 strcmp(p->what, "train") == 0 && p->seconds >= 0;
    r->last = p->step;
    if (p->step <= STEPS) {
        r->loss[p->step - 1] = p->loss;
        r->alpha[p->step - 1] = p->alpha;
        r->adapted[p->step - 1] = p->adapted;
    }
    r->calls++;
    return true;
}

static record watch(bench *b, uint64_t every)
{
    record r = { .ordered = true };
    b->options.report_every = every;
    b->options.progress = keep;
    b->options.context = &r;
    ck_assert_msg(hs_train(b->session, b->target, b->proposal, &b->options, NULL) == HS_OK, "%s",
                  hs_session_error(b->session));
    return r;
}

START_TEST(online_batches_start_where_the_chains_are)
{
    bench b = new_bench(ONLINE, 1, false, mk_mala);
    b.options.objective = (hs_objective){ .name = "x", .loss = first_of_x };
    b.options.optimizer =
        (hs_optimizer_options){ .rate = 1e-300 }; /* the proposal stays as it is */
    const record r = watch(&b, 1);
    const uint64_t seed = ~(uint64_t)21; /* chains have a seed of their own */
    hs_chains *c = hs_sample(b.session, b.target, b.proposal,
                             &(hs_sample_options){ .chains = STARTS,
                                                   .draws = STEPS,
                                                   .points = b.points,
                                                   .n_points = STARTS,
                                                   .seed = seed });
    ck_session_ok(b.session);
    for (size_t k = 0; k < STEPS; k++) {
        double mean = 0;
        for (size_t m = 0; m < STARTS; m++)
            mean += (k ? hs_chains_draw(c, m, k - 1)[0] : b.points[2 * m]) / STARTS;
        ck_assert_close(r.loss[k], mean, 1e-12, 1e-12);
    }
    free_bench(&b);
}
END_TEST

START_TEST(stored_points_are_picked_uniformly)
{
    bench b = new_bench(STORED, 1, false, mk_walk);
    b.options.objective = (hs_objective){ .name = "x", .loss = first_of_x };
    b.options.optimizer = (hs_optimizer_options){ .rate = 1e-300 };
    b.options.starts = 1;
    int seen[POINTS] = { 0 };
    for (uint64_t seed = 1; seed <= 100; seed++) {
        b.options.seed = seed;
        const record r = watch(&b, 1);
        for (size_t k = 0; k < STEPS; k++)
            for (size_t i = 0; i < POINTS; i++)
                seen[i] += fabs(r.loss[k] - b.points[2 * i]) < 1e-12;
    }
    double chi = 0, total = 0;
    for (size_t i = 0; i < POINTS; i++) {
        const double expected = 100.0 * STEPS / POINTS;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
        total += seen[i];
    }
    ck_assert(total == 100 * STEPS); /* nothing but the points */
    ck_assert_msg(chi < 49 + 5 * sqrt(98), "chi^2 %g", chi);
    free_bench(&b);
}
END_TEST

/* ---- Callbacks, the adapted number, the curve ------------------------------------------------- */

START_TEST(progress_is_told_in_order_and_to_the_end)
{
    const uint64_t every[] = { 1, 7, 60, 100, 0 }, calls[] = { 60, 9, 1, 1, 60 };
    for (int i = 0; i < 5; i++) {
        bench b = new_bench(EXACT, 1, false, mk_walk);
        const record r = watch(&b, every[i]);
        ck_assert(r.ordered && r.last == STEPS);
        ck_assert_uint_eq(r.calls, calls[i]);
        free_bench(&b);
    }
}
END_TEST

START_TEST(the_adapted_number_follows_the_acceptance)
{
    bench b = new_bench(EXACT, 1, false, mk_walk);
    const record r = watch(&b, 1);
    double beta = 0.5;
    for (size_t k = 0; k < STEPS; k++) {
        beta *= 1 + 0.02 * (r.alpha[k] - 0.6);
        ck_assert_close(r.adapted[k], beta, 1e-12, 0);
    }
    free_bench(&b);
}
END_TEST

START_TEST(gsm_reaches_its_acceptance)
{
    hs_session *s = mt_session(5);
    const hs_target *t = mt_target_standard(s, 20);
    hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 20, .log_step = true });
    hs_train_options o = { .objective = mt_gsm(1.0 / 20, 0.02, 0.6),
                           .starts = 4,
                           .proposals = 25,
                           .steps = 6000,
                           .optimizer = { .rate = 3e-3 } };
    static hs_training r;
    hs_evaluation e;
    ck_assert_int_eq(hs_train(s, t, p, &o, &r), HS_OK);
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 200, &e), HS_OK);
    ck_assert_close(e.alpha, 0.6, 0, 0.02);
    ck_assert_close(r.alpha, 0.6, 0, 0.02);
    ck_assert(r.points > 200 && r.points <= HS_CURVE && r.curve_alpha[0] < 0.4);
    for (size_t i = 1; i < r.points; i++)
        ck_assert(r.curve_step[i] > r.curve_step[i - 1]);
    ck_assert(r.curve_step[r.points - 1] <= 6000);
    hs_session_free(s);
}
END_TEST

typedef struct {
    hs_progress last;
    int reports, most;
} watcher;

static bool watch_evaluation(const hs_progress *p, void *context)
{
    watcher *w = context;
    ck_assert_str_eq(p->what, "evaluate");
    w->last = *p;
    return ++w->reports < w->most;
}

START_TEST(evaluations_report_and_stop)
{
    hs_session *s = mt_session(5);
    const hs_target *t = mt_target_standard(s, 4);
    hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 4 });
    watcher w = { .most = 3 };
    hs_train_options o = { .objective = mt_msjd(), .starts = 4, .proposals = 5, .report_every = 7 };
    hs_evaluation stopped, whole;
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 21, &whole), HS_OK);
    o.progress = watch_evaluation;
    o.context = &w;
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 1000, &stopped), HS_OK);
    ck_assert_int_eq(w.reports, 3);
    ck_assert_uint_eq(w.last.step, 21);
    ck_assert_uint_eq(w.last.steps, 1000);
    ck_assert_mem_eq(&stopped, &whole, sizeof whole); /* as if it had been that long */
    ck_assert_double_eq(w.last.alpha, whole.alpha);
    hs_session_free(s);
}
END_TEST

START_TEST(a_kernel_mixture_trains_its_first_part_alone)
{
    bench b = new_bench(EXACT, 1, false, mk_walk);
    hs_proposal *first = mk_networks_flow(b.session, b.target), *second = b.proposal;
    hs_proposal *both = hs_kernel_mixture(b.session, first, second, 0.5);
    double *f = params_of(first), *g = params_of(second);
    ck_assert_int_eq(hs_train(b.session, b.target, both, &b.options, NULL), HS_OK);
    ck_same_params(second, g, "the partner");
    double *after = params_of(first);
    ck_assert(memcmp(after, f, hs_params_size(hs_proposal_params(first)) * sizeof *f) != 0);
    free(f);
    free(g);
    free(after);
    free_bench(&b);
}
END_TEST

static Suite *train_suite(void)
{
    Suite *suite = suite_create("mcmc train");
    TCase *tcase = tcase_create("training");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, threads_do_not_change_a_bit, 0, 2 * MODES);
    tcase_add_loop_test(tcase, a_resumed_training_has_the_same_bits, 0, 2 * MODES);
    tcase_add_test(tcase, a_killed_training_goes_on_from_its_checkpoint);
    tcase_add_test(tcase, damaged_checkpoints_are_refused);
    tcase_add_test(tcase, forged_checkpoints_are_refused);
    tcase_add_test(tcase, online_batches_start_where_the_chains_are);
    tcase_add_test(tcase, stored_points_are_picked_uniformly);
    tcase_add_test(tcase, progress_is_told_in_order_and_to_the_end);
    tcase_add_test(tcase, the_adapted_number_follows_the_acceptance);
    tcase_add_test(tcase, gsm_reaches_its_acceptance);
    tcase_add_test(tcase, evaluations_report_and_stop);
    tcase_add_test(tcase, a_kernel_mixture_trains_its_first_part_alone);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(train_suite())
