/* Training by each optimiser of the table: checkpoints, roll-backs, groups, frozen parameters, schedules, messages. */
#include "support/mcmc_catalogue.h"

enum { STEPS = 40 };

typedef hs_optimizer_options by;

typedef struct {
    hs_session *session;
    const hs_target *target;
    hs_proposal *proposal;
    hs_train_options options;
} bench;

static bench new_bench(by optimizer)
{
    bench b = { .session = mt_session(31) };
    b.target = mt_target_modes(b.session, 2);
    b.proposal = mk_networks_flow(b.session, b.target);
    b.options = (hs_train_options){ .objective = mt_gsm(0.5, 0.02, 0.6),
                                    .starts = 4,
                                    .proposals = 10,
                                    .steps = STEPS,
                                    .optimizer = optimizer };
    ck_session_ok(b.session);
    return b;
}

static hs_training train(bench *b)
{
    static hs_training result;
    ck_assert_msg(hs_train(b->session, b->target, b->proposal, &b->options, &result) == HS_OK, "%s",
                  hs_session_error(b->session));
    return result;
}

static hs_params *params_of(const bench *b)
{
    return hs_proposal_params(b->proposal);
}

static bool same(const bench *a, const bench *b)
{
    return !memcmp(hs_params_values(params_of(a)), hs_params_values(params_of(b)),
                   hs_params_bytes(params_of(a)));
}

/* Whether a training by another optimiser comes to the same bits. */
static bool same_as(const bench *expected, by optimizer)
{
    bench b = new_bench(optimizer);
    train(&b);
    const bool is_same = same(expected, &b);
    hs_session_free(b.session);
    return is_same;
}

START_TEST(adam_is_the_default)
{
    bench b = new_bench((by){ 0 });
    const hs_training r = train(&b);
    ck_assert_str_eq(r.optimizer, "adam");
    ck_assert(r.rate == 3e-4);
    ck_assert(same_as(&b, (by){ .name = "adam" }));
    ck_assert(same_as(&b, (by){ "adam", .rate = 3e-4 }));
    ck_assert(!same_as(&b, (by){ .rate = 3.1e-4 }));
    ck_assert(!same_as(&b, (by){ .beta1 = 0.8 }));
    ck_assert(!same_as(&b, (by){ .clip_norm = 1e-3 }));
    hs_session_free(b.session);
    bench lion = new_bench((by){ .name = "lion" });
    const hs_training other = train(&lion);
    ck_assert_str_eq(other.optimizer, "lion");
    ck_assert(other.rate == 1e-4);
    hs_session_free(lion.session);
}
END_TEST

/* Schedules that end at step 0 end with the training; a function of the step is one too. */
static double falling(uint64_t step, void *context)
{
    return hs_schedule_rate(context, 1, step);
}

START_TEST(schedules_reach_the_optimiser)
{
    hs_schedule cosine = { HS_COSINE, .steps = STEPS, .final = 0.5 };
    bench b = new_bench((by){ 0 });
    b.options.optimizer = (by){ .rate = 0x1p-10, .schedule = cosine };
    train(&b);
    ck_assert(same_as(&b, (by){ .rate = 0x1p-10, .schedule = { HS_COSINE, .final = 0.5 } }));
    /* The rate is a power of 2, so that both products are the same. */
    ck_assert(same_as(
        &b, (by){ .rate = 0x1p-10, .schedule = { .function = falling, .context = &cosine } }));
    ck_assert(!same_as(&b, (by){ .rate = 0x1p-10 }));
    hs_session_free(b.session);
}
END_TEST

static bool stop_at(const hs_progress *p, void *context)
{
    return p->step < *(const uint64_t *)context;
}

static void unlink_all(const char *path)
{
    char beside[128];
    unlink(path);
    for (unsigned i = 0; i <= STEPS; i++) {
        snprintf(beside, sizeof beside, "%s.%u", path, i);
        unlink(beside);
    }
}

static void free_path(char path[64])
{
    snprintf(path, 64, "/tmp/hastings_optimizers_XXXXXX");
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    unlink(path);
}

START_TEST(each_optimiser_resumes_to_the_same_bits)
{
    static const by more[] = { { "sgd", .rate = 1e-3, .momentum = 0.9 },
                               { .name = "rmsprop", .momentum = 0.9 } };
    const by o = _i < 2 ? more[_i] : (by){ .name = hs_optimizer_list((size_t)_i - 2)->name };
    const hs_param_group groups[] = { { "*.bias", .frozen = true },
                                      { "sigma_l.*", .rate = 0.5, .no_decay = true } };
    char path[64];
    free_path(path);
    bench whole = new_bench(o);
    whole.options.optimizer.groups = groups;
    whole.options.optimizer.n_groups = 2;
    train(&whole);
    const uint64_t stops[] = { 9, 10, 25, 1000 };
    for (size_t i = 0; i < 4; i++) {
        bench b = new_bench(o);
        b.options.optimizer = whole.options.optimizer;
        b.options.checkpoint = path;
        b.options.checkpoint_every = 10;
        b.options.report_every = 1;
        b.options.progress = stop_at;
        b.options.context = (void *)&(uint64_t){ stops[i] };
        ck_assert_uint_eq(train(&b).steps, i < 3 ? stops[i] : STEPS);
        ck_assert(same(&b, &whole) == (i == 3));
        hs_session_free(b.session);
    }
    /* Another optimiser cannot go on from there. */
    bench other = new_bench((by){ .name = _i == 3 ? "lion" : "adam" });
    other.options.checkpoint = path;
    ck_assert_int_eq(hs_train(other.session, other.target, other.proposal, &other.options, NULL),
                     HS_EINVAL);
    ck_session_failed(other.session, HS_EINVAL, "checkpoint", "it has the state of");
    hs_session_free(other.session);
    hs_session_free(whole.session);
    unlink_all(path);
}
END_TEST

START_TEST(frozen_parameters_do_not_move)
{
    const hs_param_group groups[] = { { "*.weight", .frozen = true } };
    bench b = new_bench((by){ "adamw", .rate = 1e-2, .weight_decay = 0.5 }),
          fresh = new_bench((by){ 0 });
    b.options.optimizer.groups = groups;
    b.options.optimizer.n_groups = 1;
    train(&b);
    size_t frozen = 0, moved = 0;
    for (size_t i = 0; i < hs_params_count(params_of(&b)); i++) {
        const hs_param p = hs_params_at(params_of(&b), i), q = hs_params_at(params_of(&fresh), i);
        const char *name = hs_param_name(p), *dot = strrchr(name, '.');
        const hs_shape shape = hs_param_shape(p);
        const bool is_same =
            !memcmp(hs_param_values(p), hs_param_values(q),
                    hs_shape_count(&shape) * hs_dtype_size(hs_params_dtype(params_of(&b))));
        const bool is_frozen = dot && !strcmp(dot, ".weight");
        ck_assert_msg(is_same == is_frozen, "%s %s", name, is_same ? "did not move" : "moved");
        frozen += is_frozen;
        moved += !is_frozen;
    }
    ck_assert(frozen > 0 && moved > 0);
    hs_session_free(b.session);
    hs_session_free(fresh.session);
}
END_TEST

/* The loss is a logarithm that is hardly ever not a number: roll-backs make a fresh optimiser of the same options. */
static hs_var brittle_loss(const hs_transition *t, const hs_objective *o)
{
    hs_var y = hs_reshape(hs_slice(t->y, 0, 0, 1), hs_scalar_shape());
    return hs_add(mt_ab_initio_loss(t, o), hs_scale(hs_log(hs_shift(y, o->number[1])), 1e-3));
}

START_TEST(roll_backs_resume_to_the_same_bits)
{
    enum { LONG = 300 };
    const by o = { .name = hs_optimizer_list((size_t)_i)->name };
    char path[64], beside[128];
    free_path(path);
    bench whole = new_bench(o), part = new_bench(o), rest = new_bench(o);
    bench *const all[] = { &whole, &part, &rest };
    uint64_t stop = 150;
    for (size_t i = 0; i < 3; i++) {
        hs_train_options *t = &all[i]->options;
        t->objective =
            (hs_objective){ .name = "brittle", .loss = brittle_loss, .number = { 0.2, 4.5 } };
        t->steps = LONG;
        t->roll_backs = 10000;
        t->optimizer.rate = 1e-5;
        t->checkpoint = i ? path : NULL;
        t->checkpoint_every = 50;
        t->report_every = 1;
        t->progress = i == 1 ? stop_at : NULL;
        t->context = &stop;
    }
    const hs_training r = train(&whole);
    ck_assert_uint_gt(r.rolled_back, 0);
    train(&part);
    ck_assert_uint_eq(train(&rest).rolled_back, r.rolled_back);
    ck_assert(same(&rest, &whole));
    for (size_t i = 0; i < 3; i++)
        hs_session_free(all[i]->session);
    unlink(path);
    for (unsigned i = 0; i <= LONG; i++) {
        snprintf(beside, sizeof beside, "%s.%u", path, i);
        unlink(beside);
    }
}
END_TEST

START_TEST(wrong_optimisers_are_named)
{
    const hs_param_group none[] = { { .match = "nothing" } };
    const struct {
        hs_optimizer_options options;
        const char *part;
    } wrong[] = {
        { { .name = "adagard" }, "there is no optimiser \"adagard\", only sgd, adam" },
        { { .name = "lion", .momentum = 0.5 }, "lion: it has no \"momentum\"" },
        { { .rate = -1 }, "rate must be positive" },
        { { .groups = none, .n_groups = 1 }, "\"nothing\"" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bench b = new_bench((by){ 0 });
        b.options.optimizer = wrong[i].options;
        ck_assert_int_eq(hs_train(b.session, b.target, b.proposal, &b.options, NULL), HS_EINVAL);
        ck_session_failed(b.session, HS_EINVAL, wrong[i].part);
        hs_session_free(b.session);
    }
}
END_TEST

static Suite *optimizers_suite(void)
{
    int optimizers = 0;
    while (hs_optimizer_list((size_t)optimizers))
        optimizers++;
    Suite *suite = suite_create("train_optimizers");
    TCase *tests = tcase_create("train_optimizers");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, adam_is_the_default);
    tcase_add_test(tests, schedules_reach_the_optimiser);
    tcase_add_loop_test(tests, each_optimiser_resumes_to_the_same_bits, 0, 2 + optimizers);
    tcase_add_test(tests, frozen_parameters_do_not_move);
    tcase_add_loop_test(tests, roll_backs_resume_to_the_same_bits, 0, optimizers);
    tcase_add_test(tests, wrong_optimisers_are_named);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(optimizers_suite())
