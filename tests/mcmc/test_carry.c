/* Samplers that remember go the same way as those that compute everything anew, with every proposal. */
#include "support/mcmc_catalogue.h"

#include "mcmc/sampler_internal.h"

enum { CHAINS = 3, STEPS = 60, DIM = 3 };

static size_t count_known(const sampler *sm)
{
    size_t numbers = 0;
    for (size_t i = 0; i < sm->knows; i++) {
        const hs_shape shape = hs_var_shape(sm->known[i].input);
        numbers += hs_shape_count(&shape);
    }
    return numbers;
}

/* Both from the same points, with the same draws; the number of steps in which a chain moved. */
static size_t compare(const hs_target *target, const hs_proposal *proposal, sampler_memory memory,
                      const char *name)
{
    hs_session *s = hs_target_session(target);
    sampler anew, known;
    ck_assert_msg(hs__sampler_open(&anew, target, proposal, CHAINS, FORGETS), "%s: %s", name,
                  hs_session_error(s));
    ck_assert_msg(hs__sampler_open(&known, target, proposal, CHAINS, memory), "%s: %s", name,
                  hs_session_error(s));
    ck_assert_msg(known.knows > 0, "%s: nothing is remembered", name);
    ck_assert_uint_eq(anew.knows, 0);
    ck_assert(hs__sampler_start_exactly(&anew, target, 8) &&
              hs__sampler_start_exactly(&known, target, 8));
    size_t moved = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        double a[CHAINS * DIM], b[CHAINS * DIM];
        if (step == STEPS / 2) { /* set from outside: what was known is of no use any more */
            for (size_t i = 0; i < CHAINS * anew.dim; i++)
                a[i] = 0.1 * (double)i;
            hs__sampler_set(&anew, a);
            hs__sampler_set(&known, a);
        }
        ck_assert(hs__sampler_step(&anew, 4, step) && hs__sampler_step(&known, 4, step));
        hs__sampler_get(&anew, a);
        hs__sampler_get(&known, b);
        for (size_t i = 0; i < CHAINS * anew.dim; i++)
            ck_assert_msg(hs_close(a[i], b[i], 1e-9, 1e-9), "%s, step %d: %g and %g", name,
                          (int)step, a[i], b[i]);
        for (size_t c = 0; c < CHAINS; c++) {
            ck_assert_close(hs__sampler_value(&known, known.log_pi, c),
                            hs__sampler_value(&anew, anew.log_pi, c), 1e-9, 1e-9);
            ck_assert_close(hs__sampler_value(&known, known.alpha, c),
                            hs__sampler_value(&anew, anew.alpha, c), 1e-8, 1e-9);
            moved += hs__sampler_value(&known, known.accepted, c) != 0;
        }
    }
    ck_assert_uint_lt(hs_plan_describe(known.plan).nodes, hs_plan_describe(anew.plan).nodes);
    hs__sampler_close(&anew);
    hs__sampler_close(&known);
    return moved;
}

START_TEST(catalogue)
{
    const mt_entry *e = &mt_catalogue[_i];
    hs_session *s = mt_session(3);
    hs_target *target = mt_target_modes(s, DIM);
    const hs_proposal *proposal = e->make(s, target);
    ck_assert_msg(proposal != NULL, "%s: %s", e->name, hs_session_error(s));
    const size_t moved = compare(target, proposal, REMEMBERS_ALL, e->name);
    ck_assert_msg(moved > 5 && moved < CHAINS * STEPS, "%s: moved %zu times", e->name, moved);
    compare(target, proposal, REMEMBERS_TARGET, e->name);
    hs_session_free(s);
}
END_TEST

/* Of an augmented target, whose auxiliary coordinates are drawn anew, the density of its own is still known. */
START_TEST(augmented)
{
    hs_session *s = mt_session(3);
    hs_target *target = hs_target_augment(s, mt_target_modes(s, DIM), 2);
    const hs_proposal *proposal = mk_networks_flow(s, target);
    ck_assert_msg(proposal != NULL, "%s", hs_session_error(s));
    ck_assert_uint_gt(compare(target, proposal, REMEMBERS_ALL, "augmented"), 0);
    sampler sm;
    ck_assert(hs__sampler_open(&sm, target, proposal, CHAINS, REMEMBERS_ALL));
    ck_assert_uint_eq(count_known(&sm), 1);
    hs__sampler_close(&sm);
    hs_session_free(s);
}
END_TEST

/* What is remembered, in numbers for each chain. */
START_TEST(how_much)
{
    hs_session *s = mt_session(3);
    hs_target *target = mt_target_modes(s, DIM);
    const struct {
        mt_maker *make;
        sampler_memory memory;
        size_t numbers;
    } cases[] = {
        { mk_walk, REMEMBERS_ALL, 1 },           /* log density */
        { mk_mala, REMEMBERS_ALL, 1 + DIM },     /* and the mean of the proposal */
        { mk_mala, REMEMBERS_TARGET, 1 + DIM },  /* and the score */
        { mk_hmc, REMEMBERS_ALL, 1 + DIM },      /* and the score */
        { mk_networks, REMEMBERS_TARGET, 1 },    /* networks have parameters */
        { mk_user, REMEMBERS_ALL, 1 + DIM + 1 }, /* and the scale, and the sum of its logarithm */
        { mk_networks, REMEMBERS_ALL, 1 + 4 * DIM + 1 }, /* and four networks, and the sum of two */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sampler sm;
        const hs_proposal *proposal = cases[i].make(s, target);
        ck_assert(hs__sampler_open(&sm, target, proposal, CHAINS, cases[i].memory));
        ck_assert_msg(count_known(&sm) == cases[i].numbers, "%s, case %zu: %zu numbers, not %zu",
                      hs_proposal_name(proposal), i, count_known(&sm), cases[i].numbers);
        hs__sampler_close(&sm);
    }
    hs_session_free(s);
}
END_TEST

static Suite *remember_suite(void)
{
    Suite *suite = suite_create("mcmc_remember");
    TCase *t = tcase_create("carry");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, catalogue, 0, MT_ENTRIES);
    tcase_add_test(t, augmented);
    tcase_add_test(t, how_much);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(remember_suite())
