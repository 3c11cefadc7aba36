/* Without memory: a session, targets, proposals, a training and chains always give a status, never a
 * crash, and leave nothing behind, whichever allocation fails. */
#include "support/mcmc_catalogue.h"
#include "support/scarce_memory.h"

static char path[64], stream[80];

/* One user's program each. They check nothing in between, as users do not. */
typedef hs_status program(hs_session *s);

static hs_status end_of(hs_session *s)
{
    return hs_session_status(s);
}

static hs_train_options two_steps(void)
{
    return (hs_train_options){
        .objective = mt_ab_initio(0.2), .starts = 2, .proposals = 3, .steps = 2
    };
}

static hs_status walks(hs_session *s)
{
    const hs_target *t = mt_target_standard(s, 2);
    hs_proposal *p = hs_kernel_mixture(s, mk_walk_all(s, t), mk_mala_all(s, t), 0.5);
    hs_train_options o = two_steps();
    (void)hs_train(s, t, p, &o, NULL);
    (void)hs_sample(s, t, p, &(hs_sample_options){ .chains = 2, .draws = 3 });
    return end_of(s);
}

/* As mk_networks_flow and so on, without touching the parameters. */
static hs_status networks(hs_session *s)
{
    const hs_target *t = hs_target_augment(s, mt_target_modes(s, 1), 1);
    hs_proposal *p = hs_multi_scheme(
        s, &(hs_multi_scheme_options){ .dim = 2, .couplings = 2, .width = 4, .depth = 1 });
    hs_train_options o = two_steps();
    o.roll_backs = 1;
    (void)hs_train(s, t, p, &o, NULL);
    hs_evaluation e;
    (void)hs_evaluate(s, t, p, &o, 2, &e);
    (void)hs_sample(s, t, p, &(hs_sample_options){ .chains = 2, .draws = 3 });
    return end_of(s);
}

static hs_status scheme(hs_session *s)
{
    const hs_target *t = mt_target_modes(s, 2);
    (void)hs_sample(s, t, mt_scheme(s, t, HS_AS_MALA, 2),
                    &(hs_sample_options){ .chains = 2, .draws = 3 });
    return end_of(s);
}

static hs_status mixture(hs_session *s)
{
    const hs_target *t = mt_target_modes(s, 2);
    hs_proposal *p = hs_position_mixture(
        s, &(hs_position_mixture_options){ .dim = 2, .components = 2, .width = 3, .depth = 1 });
    hs_train_options o = two_steps();
    (void)hs_train(s, t, p, &o, NULL);
    hs_params *ps = hs_session_params(s, 1);
    hs_flow *flow = hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 2, .width = 3, .depth = 1 });
    (void)hs_sample(s, t, hs_independent_flow(s, flow, ps),
                    &(hs_sample_options){ .chains = 1, .draws = 2 });
    return end_of(s);
}

static hs_status online(hs_session *s)
{
    const double points[4] = { 0.1, 0.2, -0.3, 1 };
    const hs_target *t = mt_target_modes(s, 2);
    hs_proposal *p = mt_user_walk(s, 2);
    hs_train_options o = two_steps();
    o.online = true;
    o.points = points;
    o.n_points = 2;
    o.checkpoint = path;
    (void)hs_train(s, t, p, &o, NULL);
    o.steps = 3; /* reads the checkpoint */
    (void)hs_train(s, t, p, &o, NULL);
    (void)hs_sample(s, t, p, &(hs_sample_options){ .chains = 2, .draws = 3, .stream = stream });
    return end_of(s);
}

static hs_status tuning(hs_session *s)
{
    const hs_target *t = mt_target_modes(s, 2);
    hs_proposal *p = hs_hmc(s, t, &(hs_hmc_options){ .leapfrogs = 2 });
    (void)hs_tune(s, t, p, &(hs_tune_options){ .chains = 2, .steps = 5 }, NULL);
    (void)hs_sample(s, t, p, NULL);
    return end_of(s);
}

static const struct {
    const char *name;
    program *run;
} programs[] = { { "walks", walks },     { "networks", networks }, { "scheme", scheme },
                 { "mixture", mixture }, { "online", online },     { "tuning", tuning } };
enum { PROGRAMS = sizeof programs / sizeof *programs };

static void clean(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -f %s*", path);
    ck_assert_int_eq(system(command), 0);
}

static hs_status once(int i)
{
    unlink(path);
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 3, .threads = 1 });
    const hs_status status = programs[i].run(s);
    if (status)
        ck_assert_msg(hs_session_error(s)[0] != '\0', "%s, allocation %ld: no message",
                      programs[i].name, fail_at);
    hs_session_free(s);
    return status;
}

START_TEST(every_failed_allocation_is_reported)
{
    hs_set_allocator(&counting);
    allocations = fail_at = living = 0;
    ck_assert_msg(once(_i) == HS_OK, "%s", programs[_i].name);
    ck_assert_msg(living == 0, "%s leaks %ld blocks", programs[_i].name, living);
    const long total = allocations;
    ck_assert_int_gt(total, 20);
    long silent = 0, first_silent = 0, other = 0, leaks = 0, first_leak = 0;
    const long stride = total > 4000 ? total / 4000 + 1 : 1; /* all, if they are not too many */
    for (fail_at = 1; fail_at <= total; fail_at += stride) {
        allocations = living = 0;
        const hs_status status = once(_i);
        if (!status && !silent++)
            first_silent = fail_at;
        other += status && status != HS_ENOMEM;
        if (living && !leaks++)
            first_leak = fail_at;
    }
    hs_set_allocator(NULL);
    clean();
    ck_assert_msg(leaks == 0, "%s: %ld of %ld leak, the first is %ld", programs[_i].name, leaks,
                  total, first_leak);
    ck_assert_msg(silent == 0, "%s: %ld of %ld pass in silence, the first is %ld",
                  programs[_i].name, silent, total, first_silent);
    ck_assert_msg(other == 0, "%s: %ld of %ld have another status than HS_ENOMEM",
                  programs[_i].name, other, total);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *suite = suite_create("mcmc memory");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, every_failed_allocation_is_reported, 0, PROGRAMS);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/hastings_memory_%ld", (long)getpid());
    snprintf(stream, sizeof stream, "%s.npy", path);
    Suite *const suites[] = { memory_suite() };
    return hs_test_run(suites, 1);
}
