/* Training with the paper's settings reaches the optima of random walk and MALA on N(0, I), d = 100;
 * losses at known steps are what they should be. Figures: the project's table of exact optima. */
#include "support/mcmc_common.h"

enum { DIM = 100 };

typedef struct {
    bool mala, msjd;
    double acceptance, sd, jump, step; /* exact; sd of the acceptance over trainings */
} goal;

static const goal goals[] = {
    { false, false, 0.2471, 0.0022, 1.311, 0.2325 },
    { true, false, 0.5438, 0.0039, 38.56, 0.3095 },
    { false, true, 0.236, 0.0029, 1.312, 0.238 },
    { true, true, 0.542, 0.0060, 38.56, 0.31 },
};

START_TEST(the_papers_settings_reach_the_optimum)
{
    const goal *g = &goals[_i];
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 5, .float32 = true });
    const hs_target *t = mt_target_standard(s, DIM);
    hs_proposal *p =
        g->mala ? hs_mala(s, t, NULL) : hs_random_walk(s, &(hs_walk_options){ .dim = DIM });
    hs_train_options o = { .objective = g->msjd ? mt_msjd() : mt_ab_initio(0.18125),
                           .starts = 1,
                           .proposals = 50,
                           .steps = 20000,
                           .optimizer = { .rate = 3e-4 } };
    static hs_training r;
    ck_assert_int_eq(hs_train(s, t, p, &o, &r), HS_OK);
    hs_evaluation e;
    o.starts = 500;
    o.proposals = 10;
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 50, &e), HS_OK);
    double step;
    hs_param_get(hs_params_find(hs_proposal_params(p), "step"), &step);
    ck_assert_msg(fabs(e.alpha - g->acceptance) < 3 * hypot(g->sd, e.alpha_error),
                  "%s, %s: acceptance %.4f +- %.4f, step %g, not %.4f +- %.4f",
                  g->mala ? "MALA" : "walk", g->msjd ? "MSJD" : "Ab Initio", e.alpha, e.alpha_error,
                  step, g->acceptance, g->sd);
    ck_assert_msg(fabs(e.jump - g->jump) < 0.01 * g->jump + 3 * e.jump_error, "jump %g, not %g",
                  e.jump, g->jump);
    ck_assert_close(step, g->step, 0.04, 0);
    ck_assert_msg(fabs(r.alpha - e.alpha) < 0.02, "in training %g, evaluated %g", r.alpha, e.alpha);
    hs_session_free(s);
}
END_TEST

/* Ab Initio's loss at the optimum: KL 148.59 for the walk (closed form), E log alpha -2.84, and so on. */
START_TEST(losses_at_known_steps)
{
    hs_session *s = mt_session(6);
    const hs_target *t = mt_target_standard(s, DIM);
    hs_train_options o = { .objective = mt_ab_initio(0.18125), .starts = 200, .proposals = 20 };
    hs_evaluation full, kl;
    const double sigma = 0.2325;
    hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = DIM, .step = sigma });
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 100, &full), HS_OK);
    o.objective = mt_ab_initio(0);
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 100, &kl), HS_OK);
    ck_assert_close(kl.loss, DIM / 2.0 * (sigma * sigma - 2 * log(sigma)), 0, 5 * kl.loss_error);
    ck_assert_close(full.loss, 200.0, 0, 0.2 + 5 * full.loss_error);
    ck_assert_close(full.alpha, 0.247, 0, 0.002);
    ck_assert(kl.alpha == full.alpha && kl.loss_error > 0 && kl.loss_error < 0.2);
    p = hs_mala(s, t, &(hs_walk_options){ .step = 0.3095 });
    o.objective = mt_ab_initio(0.18125);
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 100, &full), HS_OK);
    o.objective = mt_ab_initio(0);
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 100, &kl), HS_OK);
    ck_assert_close(kl.loss, 28.76, 0, 0.05 + 5 * kl.loss_error);
    ck_assert_close(full.loss, 45.8, 0, 0.1 + 5 * full.loss_error);
    ck_assert_close(full.alpha, 0.543, 0, 0.003);
    ck_assert_close(full.jump, 38.56, 0, 0.05 + 5 * full.jump_error);
    hs_session_free(s);
}
END_TEST

/* An evaluation changes no parameter, repeats to the bit, and other seeds give other draws. */
START_TEST(evaluations_repeat)
{
    hs_session *s = mt_session(6);
    const hs_target *t = mt_target_standard(s, 3);
    hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 3 });
    hs_train_options o = { .objective = mt_msjd(), .starts = 50, .proposals = 4 };
    hs_evaluation a, b, c;
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 20, &a), HS_OK);
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 20, &b), HS_OK);
    o.seed = 99;
    ck_assert_int_eq(hs_evaluate(s, t, p, &o, 20, &c), HS_OK);
    ck_assert_mem_eq(&a, &b, sizeof a);
    ck_assert(a.loss != c.loss);
    ck_assert_close(a.loss, -a.jump, 1e-12, 0);
    ck_assert_close(a.loss, c.loss, 0, 5 * hypot(a.loss_error, c.loss_error));
    hs_session_free(s);
}
END_TEST

static Suite *optimum_suite(void)
{
    Suite *suite = suite_create("mcmc train: optimum");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, the_papers_settings_reach_the_optimum, 0,
                        (int)(sizeof goals / sizeof *goals));
    tcase_add_test(tcase, losses_at_known_steps);
    tcase_add_test(tcase, evaluations_repeat);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(optimum_suite())
