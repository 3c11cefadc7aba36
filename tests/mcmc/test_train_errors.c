/* Training: numbers that are not finite, roll-back, bad options. */
#include "mcmc/sampler_internal.h"

#include "support/mcmc_catalogue.h"

enum { STARTS = 2, PROPOSALS = 5, STEPS = 400 };

/* Ab Initio, and the logarithm of a number that is hardly ever negative: y0 + number[1]. */
static hs_var brittle_loss(const hs_transition *t, const hs_objective *o)
{
    hs_var y = hs_reshape(hs_slice(t->y, 0, 0, 1), hs_scalar_shape());
    hs_var edge = hs_log(hs_shift(y, o->number[1]));
    return hs_add(mt_ab_initio_loss(t, o), hs_scale(edge, 1e-3));
}

static hs_train_options brittle(double edge, uint64_t seed)
{
    return (hs_train_options){
        .objective = { .name = "brittle", .loss = brittle_loss, .number = { 0.2, edge } },
        .starts = STARTS,
        .proposals = PROPOSALS,
        .steps = STEPS,
        .seed = seed,
        .optimizer = { .rate = 1e-3 }
    };
}

typedef struct {
    hs_session *session;
    const hs_target *target;
    hs_proposal *proposal;
} bench;

static bench new_bench(void)
{
    bench b = { .session = mt_session(77) };
    b.target = mt_target_standard(b.session, 2);
    b.proposal = mk_networks_flow(b.session, b.target);
    ck_session_ok(b.session);
    return b;
}

static double *params_of(const hs_proposal *p)
{
    double *values = malloc(hs_params_size(hs_proposal_params(p)) * sizeof *values);
    hs_params_get(hs_proposal_params(p), values);
    return values;
}

static bool same_params(const bench *a, const bench *b)
{
    double *x = params_of(a->proposal), *y = params_of(b->proposal);
    const size_t n = hs_params_size(hs_proposal_params(a->proposal));
    const bool same = memcmp(x, y, n * sizeof *x) == 0;
    free(x);
    free(y);
    return same;
}

/* The first row of the batch of a step whose y0 is below -edge, from the proposal as it is. */
static size_t guilty_row(const bench *b, double edge, uint64_t seed, uint64_t step)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_target_draw(b->target, tape, HS_START, STREAM_START);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(2), STREAM_NOISE);
    hs_move m;
    hs_proposal_moves(b->proposal, x, n, &m);
    hs_plan *plan;
    ck_assert_int_eq(
        hs_plan_new(&plan, &m.y, 1,
                    &(hs_plan_options){ .starts = STARTS, .rows_per_start = PROPOSALS }),
        HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = seed, .step = step }), HS_OK);
    const double *y = hs_plan_get(plan, m.y);
    size_t row = 0;
    while (row < STARTS * PROPOSALS && y[2 * row] + edge >= 0)
        row++;
    hs_plan_free(plan);
    hs_tape_free(tape);
    return row;
}

static uint64_t failing_step(const char *message)
{
    unsigned long long step = 0;
    const char *at = strstr(message, "step ");
    ck_assert_msg(at && sscanf(at, "step %llu", &step) == 1, "%s", message);
    return step;
}

START_TEST(a_number_that_is_not_finite_stops_the_training_and_is_named)
{
    int stopped = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        bench b = new_bench(), good = new_bench();
        hs_train_options o = brittle(3.0, seed);
        static hs_training r;
        const hs_status status = hs_train(b.session, b.target, b.proposal, &o, &r);
        if (status) {
            ck_assert_int_eq(status, HS_ENONFINITE);
            const uint64_t step = failing_step(hs_session_error(b.session));
            ck_assert_uint_eq(r.steps, step);
            /* The parameters are those of the last good step. */
            o.steps = step;
            if (step) {
                ck_assert_int_eq(hs_train(good.session, good.target, good.proposal, &o, NULL),
                                 HS_OK);
                ck_assert(same_params(&b, &good));
            }
            char row[64], start[64];
            const size_t guilty = guilty_row(&b, 3.0, seed, step);
            ck_assert_uint_lt(guilty, STARTS * PROPOSALS);
            snprintf(row, sizeof row, "row %zu", guilty);
            snprintf(start, sizeof start, "start %zu", guilty / PROPOSALS);
            ck_session_failed(b.session, HS_ENONFINITE, "log", "nan", row, start, "coordinate 0",
                              "mcmc/test_train_errors.c");
            stopped++;
        }
        hs_session_free(b.session);
        hs_session_free(good.session);
    }
    ck_assert_int_ge(stopped, 2);
}
END_TEST

START_TEST(roll_backs_go_on_with_other_draws)
{
    bench b = new_bench(), again = new_bench();
    hs_train_options o = brittle(3.0, 1);
    o.roll_backs = 1000;
    static hs_training r, r2;
    ck_assert_msg(hs_train(b.session, b.target, b.proposal, &o, &r) == HS_OK, "%s",
                  hs_session_error(b.session));
    ck_assert_uint_gt(r.rolled_back, 0);
    ck_assert_uint_eq(r.steps, STEPS);
    ck_assert(isfinite(r.loss) && r.points <= HS_CURVE);
    ck_assert_int_eq(hs_train(again.session, again.target, again.proposal, &o, &r2), HS_OK);
    ck_assert(same_params(&b, &again) && r2.rolled_back == r.rolled_back);
    hs_session_free(b.session);
    hs_session_free(again.session);
}
END_TEST

START_TEST(roll_backs_come_to_an_end)
{
    bench b = new_bench();
    hs_train_options o = brittle(-1e9, 1); /* always fails */
    o.roll_backs = 3;
    static hs_training r;
    ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &o, &r), HS_ENONFINITE);
    ck_assert_uint_eq(r.rolled_back, 3);
    ck_assert_uint_eq(r.steps, 0);
    ck_session_failed(b.session, HS_ENONFINITE, "step 0", "log");
    hs_session_free(b.session);
}
END_TEST

static bool stop_at(const hs_progress *p, void *context)
{
    return p->step < *(const uint64_t *)context;
}

/* Interrupted a few steps before a step that fails, a training rolls back to where the uninterrupted
 * one does, and not to where it began. */
START_TEST(a_resumed_training_rolls_back_like_an_uninterrupted_one)
{
    char path[] = "/tmp/hastings_roll_XXXXXX", beside[64];
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    unlink(path);
    hs_train_options o = brittle(3.3, 0);
    uint64_t step = 0;
    for (o.seed = 1; o.seed < 200 && !(step > 115 && step % 100 > 15); o.seed++) {
        bench b = new_bench();
        step = hs_train(b.session, b.target, b.proposal, &o, NULL)
                   ? failing_step(hs_session_error(b.session))
                   : 0;
        hs_session_free(b.session);
    }
    o.seed--;
    ck_assert_uint_gt(step, 115);
    o.roll_backs = 1000;
    bench whole = new_bench(), part = new_bench(), rest = new_bench();
    static hs_training r;
    ck_assert_int_eq(hs_train(whole.session, whole.target, whole.proposal, &o, &r), HS_OK);
    ck_assert_uint_gt(r.rolled_back, 0);
    uint64_t stop = step - 5;
    o.checkpoint = path;
    o.report_every = 1;
    o.progress = stop_at;
    o.context = &stop;
    ck_assert_int_eq(hs_train(part.session, part.target, part.proposal, &o, &r), HS_OK);
    ck_assert_uint_eq(r.steps, stop);
    o.progress = NULL;
    ck_assert_int_eq(hs_train(rest.session, rest.target, rest.proposal, &o, &r), HS_OK);
    ck_assert_uint_eq(r.steps, STEPS);
    ck_assert(same_params(&whole, &rest));
    unlink(path);
    for (unsigned i = 0; i <= STEPS; i++) {
        snprintf(beside, sizeof beside, "%s.%u", path, i);
        unlink(beside);
    }
    hs_session_free(whole.session);
    hs_session_free(part.session);
    hs_session_free(rest.session);
}
END_TEST

/* ---- Bad options ------------------------------------------------------------------------------ */

START_TEST(bad_options_are_named)
{
    hs_session *s = mt_session(1);
    const hs_target *two = mt_target_standard(s, 2), *three = mt_target_standard(s, 3);
    const hs_target *blind = hs_target_new(
        s, &(hs_target_spec){ .name = "blind", .dim = 2, .log_density = mt_standard_density });
    hs_proposal *p = mk_walk(s, two), *q = mk_walk(s, three);
    const hs_objective good = mt_ab_initio(0.2);
    double points[] = { 1, 2, 3, (double)NAN };
    hs_train_options o = { .objective = good, .steps = 2 };
    ck_assert_int_eq(hs_train(s, two, p, &(hs_train_options){ .steps = 1 }, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "objective");
    /* The hundredth of so many steps, rounded up, would be 0. */
    const hs_train_options endless = { .objective = good, .steps = UINT64_MAX };
    ck_assert_int_eq(hs_train(s, two, p, &endless, NULL), HS_EOVERFLOW);
    ck_session_failed(s, HS_EOVERFLOW, "training: more steps than can be counted");
    hs_evaluation e;
    ck_assert_int_eq(hs_evaluate(s, two, p, &o, SIZE_MAX, &e), HS_EOVERFLOW);
    ck_session_failed(s, HS_EOVERFLOW, "an evaluation: more steps than can be counted");
    ck_assert_int_eq(hs_train(s, NULL, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "target");
    ck_assert_int_eq(hs_train(s, two, NULL, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "proposal");
    ck_assert_int_eq(hs_train(s, two, q, &o, NULL), HS_ESHAPE);
    ck_session_failed(s, HS_ESHAPE, "standard", "2", "3");
    ck_assert_int_eq(hs_train(s, blind, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "blind", "points");
    o.points = points;
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "empty");
    o.n_points = 2;
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_ENONFINITE);
    ck_session_failed(s, HS_ENONFINITE, "point 1", "coordinate 1", "nan");
    points[3] = (double)INFINITY;
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_ENONFINITE);
    ck_session_failed(s, HS_ENONFINITE, "point 1", "coordinate 1", "inf");
    points[3] = 0;
    o.online = true;
    o.starts = 3;
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "3", "2");
    o.points = NULL;
    o.n_points = 0;
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "online");
    o = (hs_train_options){ .objective = good };
    ck_assert_int_eq(hs_evaluate(s, two, p, &o, 0, &e), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "batch");
    ck_assert_int_eq(hs_evaluate(s, two, q, &o, 1, &e), HS_ESHAPE);
    ck_session_failed(s, HS_ESHAPE, "standard");
    /* A rate that makes no sense. */
    o.optimizer.rate = -1;
    ck_assert_int_ne(hs_train(s, two, p, &o, NULL), HS_OK);
    ck_assert_str_ne(hs_session_error(s), "");
    hs_session_clear(s);
    /* Nothing of all that harmed the session. */
    o = (hs_train_options){ .objective = good, .steps = 2 };
    ck_assert_int_eq(hs_train(s, two, p, &o, NULL), HS_OK);
    hs_session_free(s);
}
END_TEST

static hs_var nothing_draw(void *self, hs_var x, hs_var n)
{
    (void)self;
    return hs_add(x, n);
}

static hs_var nothing_density(void *self, hs_var y, hs_var x)
{
    (void)self;
    return hs_log_normal(hs_sub(y, x));
}

START_TEST(nothing_to_train_is_said)
{
    hs_session *s = mt_session(1);
    const hs_target *t = mt_target_standard(s, 2);
    hs_proposal *p = hs_proposal_new(
        s, &(hs_proposal_spec){
               .name = "fixed", .dim = 2, .draw = nothing_draw, .log_density = nothing_density });
    hs_train_options o = { .objective = mt_ab_initio(0.2) };
    ck_assert_int_eq(hs_train(s, t, p, &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "fixed", "train");
    hs_evaluation e; /* but it can be evaluated */
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 3, &e), HS_OK);
    ck_assert(isfinite(e.loss) && e.alpha > 0.2 && e.alpha < 0.8);
    hs_session_free(s);
}
END_TEST

/* n_points without points, and online: no crash. */
START_TEST(online_without_points_is_an_error)
{
    hs_session *s = mt_session(1);
    const hs_target *t = mt_target_standard(s, 2);
    hs_train_options o = {
        .objective = mt_ab_initio(0.2), .online = true, .n_points = 100, .steps = 1
    };
    ck_assert_int_eq(hs_train(s, t, mk_walk(s, t), &o, NULL), HS_EINVAL);
    ck_session_failed(s, HS_EINVAL, "online", "point");
    hs_session_free(s);
}
END_TEST

/* A chain that starts where the density is not finite: online training says which. */
static hs_var half_line(void *self, hs_var x)
{
    (void)self;
    return hs_sum_last(hs_sub(hs_log(x), x)); /* NaN below 0 */
}

START_TEST(online_chains_must_start_where_the_density_is_finite)
{
    hs_session *s = mt_session(1);
    const hs_target *t =
        hs_target_new(s, &(hs_target_spec){ .name = "gamma", .dim = 1, .log_density = half_line });
    const double points[] = { 1, 2, -3, 4 };
    hs_train_options o = { .objective = mt_ab_initio(0.2),
                           .online = true,
                           .points = points,
                           .n_points = 4,
                           .starts = 4,
                           .proposals = 1,
                           .steps = 3 };
    ck_assert_int_eq(hs_train(s, t, mk_walk(s, t), &o, NULL), HS_ENONFINITE);
    ck_session_failed(s, HS_ENONFINITE, "2");
    hs_session_free(s);
}
END_TEST

/* ---- A ratio is not a density ---------------------------------------------------------------- */

static hs_var forward_loss(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_add(t->log_g_fwd, hs_neg(t->log_alpha));
}

static hs_var reverse_loss(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_neg(t->log_g_rev);
}

static hs_var jump_loss(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_neg(hs_mul(hs_exp(t->log_alpha), hs_transition_jump(t)));
}

static const struct {
    hs_var (*loss)(const hs_transition *t, const hs_objective *o);
    bool needs_density;
} losses[] = { { mt_ab_initio_loss, true },
               { forward_loss, true },
               { reverse_loss, true },
               { jump_loss, false } };

static hs_proposal *half_hmc(hs_session *s, const hs_target *t)
{
    return hs_kernel_mixture(s, mk_walk(s, t), hs_hmc(s, t, NULL), 0.5);
}

START_TEST(a_loss_that_needs_a_density_refuses_a_ratio)
{
    mt_maker *const makers[] = { mk_hmc, half_hmc, mk_walk, mk_kernels };
    for (int i = 0; i < 4; i++) {
        hs_session *s = mt_session(1);
        const hs_target *t = mt_target_standard(s, 2);
        hs_proposal *p = makers[i](s, t);
        hs_evaluation e;
        const hs_train_options o = {
            .objective = { .name = "mine", .loss = losses[_i].loss, .number = { 0.2 } },
            .proposals = 2,
            .steps = 2
        };
        ck_session_ok(s);
        const bool refused = losses[_i].needs_density && hs_proposal_is_ratio_only(p);
        ck_assert(hs_proposal_is_ratio_only(p) == (i < 2));
        ck_assert_int_eq(hs_evaluate(s, t, p, &o, 1, &e), refused ? HS_EINVAL : HS_OK);
        if (refused) {
            ck_session_failed(s, HS_EINVAL, "\"mine\" needs the density");
            hs_session_clear(s);
        }
        ck_assert_int_eq(hs_train(s, t, p, &o, NULL), refused ? HS_EINVAL : HS_OK);
        if (refused)
            ck_session_failed(s, HS_EINVAL, hs_proposal_name(p));
        hs_session_free(s);
    }
}
END_TEST

/* ---- Streams that collide -------------------------------------------------------------------- */

/* A walk with a random length, of which the uniform number is a draw of its own. */
static uint32_t own_stream;

static hs_var random_length(void *self, hs_var x, hs_var n)
{
    (void)self;
    hs_var u = hs_uniform(x.tape, HS_ROW, hs_scalar_shape(), own_stream);
    return hs_add(x, hs_mul(u, n));
}

static hs_var no_density(void *self, hs_var y, hs_var x)
{
    (void)self;
    return hs_sum_last(hs_scale(hs_add(x, y), 0));
}

static hs_var noisy_density(void *self, hs_var x)
{
    (void)self;
    return hs_mul(hs_uniform(x.tape, HS_ROW, hs_scalar_shape(), own_stream),
                  hs_sum_last(hs_square(x)));
}

static hs_var noisy_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    (void)self;
    return hs_normal(tape, extent, hs_dims(2), stream + own_stream);
}

static hs_var noisy_loss(const hs_transition *t, const hs_objective *o)
{
    return hs_mul(hs_normal(t->x.tape, HS_ROW, hs_scalar_shape(), own_stream), jump_loss(t, o));
}

START_TEST(streams_of_the_samplers_are_refused)
{
    hs_session *s = mt_session(1);
    const hs_target *normal = mt_target_standard(s, 2);
    const hs_target *noisy = hs_target_new(
        s, &(hs_target_spec){ .name = "noisy", .dim = 2, .log_density = noisy_density });
    const hs_proposal *walk = mk_walk(s, normal);
    const hs_proposal *own =
        hs_proposal_new(s, &(hs_proposal_spec){ .name = "own",
                                                .dim = 2,
                                                .params = hs_proposal_params(walk),
                                                .draw = random_length,
                                                .log_density = no_density,
                                                .symmetric = true });
    const double points[] = { 0, 1 };
    const hs_sample_options sampling = { .chains = 1, .draws = 2, .points = points, .n_points = 1 };
    ck_session_ok(s);
    for (own_stream = 0; own_stream < HS_OWN_STREAM + 2; own_stream++) {
        const bool refused = own_stream < HS_OWN_STREAM;
        ck_assert(!hs_sample(s, normal, own, &sampling) == refused);
        if (refused)
            ck_session_failed(s, HS_EINVAL, "proposal \"own\" draws on stream");
        hs_session_clear(s);
        ck_assert(!hs_sample(s, noisy, walk, &sampling) == refused);
        if (refused)
            ck_session_failed(s, HS_EINVAL, "target \"noisy\" draws on stream");
        hs_session_clear(s);
        const hs_train_options o = { .objective = { .name = "rough", .loss = noisy_loss },
                                     .proposals = 1,
                                     .steps = 1 };
        ck_assert_int_eq(hs_train(s, normal, walk, &o, NULL), refused ? HS_EINVAL : HS_OK);
        if (refused)
            ck_session_failed(s, HS_EINVAL, "objective \"rough\" draws on stream");
        hs_session_clear(s);
    }
    hs_session_free(s);
}
END_TEST

/* A target draws on eight streams from the one that it is told. */
START_TEST(draws_stay_in_their_streams)
{
    hs_session *s = mt_session(1);
    const hs_target *t = hs_target_new(
        s, &(hs_target_spec){
               .name = "noisy", .dim = 2, .log_density = noisy_density, .draw = noisy_draw });
    for (own_stream = 0; own_stream < HS_DRAW_STREAMS + 2; own_stream++) {
        hs_tape *tape = hs_tape_new(HS_F64);
        (void)hs_target_draw(t, tape, HS_START, 3);
        ck_assert_int_eq(hs_tape_status(tape), own_stream < HS_DRAW_STREAMS ? HS_OK : HS_EINVAL);
        if (own_stream >= HS_DRAW_STREAMS)
            ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "here 3 to 10"));
        hs_tape_free(tape);
    }
    hs_session_free(s);
}
END_TEST

static Suite *errors_suite(void)
{
    Suite *suite = suite_create("mcmc train: errors");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 900);
    tcase_add_test(tcase, a_number_that_is_not_finite_stops_the_training_and_is_named);
    tcase_add_test(tcase, roll_backs_go_on_with_other_draws);
    tcase_add_test(tcase, roll_backs_come_to_an_end);
    tcase_add_test(tcase, a_resumed_training_rolls_back_like_an_uninterrupted_one);
    tcase_add_test(tcase, bad_options_are_named);
    tcase_add_test(tcase, nothing_to_train_is_said);
    tcase_add_test(tcase, online_chains_must_start_where_the_density_is_finite);
    tcase_add_test(tcase, online_without_points_is_an_error);
    tcase_add_test(tcase, streams_of_the_samplers_are_refused);
    tcase_add_test(tcase, draws_stay_in_their_streams);
    tcase_add_loop_test(tcase, a_loss_that_needs_a_density_refuses_a_ratio, 0,
                        sizeof losses / sizeof *losses);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(errors_suite())
