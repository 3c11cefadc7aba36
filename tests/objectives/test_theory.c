/* What is proved about the objectives, seen in numbers. */
#include "problems.h"

#include <hastings/autograd/plan.h>
#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/objectives/objectives.h>
#include <hastings/objectives/reference.h>

enum { DIM = 5, ROWS = 2000 };

/* The objective's loss for each row; also the mean of it. */
static double losses_of(const hs_target *target, const hs_proposal *proposal, hs_objective o,
                        double *loss)
{
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_target_draw(target, tape, HS_ROW, 0);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(proposal)), 20);
    hs_transition t;
    hs_transitions(target, proposal, x, n, &t);
    hs_var row = o.loss(&t, &o);
    hs_plan *plan;
    ck_assert_msg(!hs_plan_new(&plan, &row, 1, &(hs_plan_options){ .starts = ROWS }), "%s",
                  hs_tape_error(tape));
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 3 }), HS_OK);
    const double *found = hs_plan_get(plan, row);
    double mean = 0;
    for (size_t i = 0; i < ROWS; i++) {
        loss[i] = found[i];
        mean += found[i] / ROWS;
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    return mean;
}

/* ---- Change of coordinates ----------------------------------------------------------------------
 */

/* A proposal of z pushed forward to x = T(z). */
typedef struct {
    const hs_proposal *base;
    const hs_flow *flow;
} pushed;

static hs_var pushed_draw(void *self, hs_var x, hs_var n)
{
    const pushed *p = self;
    hs_move move;
    hs_proposal_moves(p->base, hs_flow_inverse(p->flow, x, NULL), n, &move);
    return hs_flow_forward(p->flow, move.y, NULL);
}

static hs_var pushed_log_density(void *self, hs_var y, hs_var x)
{
    const pushed *p = self;
    hs_var log_det, to = hs_flow_inverse(p->flow, y, &log_det);
    return hs_add(hs_proposal_log_density(p->base, to, hs_flow_inverse(p->flow, x, NULL)), log_det);
}

static hs_flow *make_flow(hs_params *ps, int affine)
{
    const hs_coupling_options couplings = {
        .dim = DIM, .couplings = 3, .width = 8, .depth = 2, .activation = HS_TANH
    };
    hs_flow *scale =
        hs_flow_scaling_new(ps, &(hs_scaling_options){ .dim = DIM,
                                                       .shift = true,
                                                       .log_scale_init = hs_init_normal(0.5),
                                                       .shift_init = hs_init_normal(1) });
    hs_flow *bend = affine ? hs_flow_affine_new(ps, &couplings) : hs_flow_nice_new(ps, &couplings);
    return hs_flow_compose_new(ps, NULL, (hs_flow *[]){ bend, scale }, 2);
}

START_TEST(ab_initio_does_not_depend_on_coordinates)
{
    hs_session *s = hs_session_new(NULL);
    hs_params *ps = hs_params_new(HS_F64, 7);
    hs_flow *flow = make_flow(ps, _i);
    const hs_target *in_x = make_target(s, NORMAL, DIM);
    const hs_target *in_z = hs_target_pull_back(s, in_x, flow);
    const hs_proposal *walk = make_proposal(s, DIM, NULL, false, 0.6);
    pushed push = { walk, flow };
    const hs_proposal *same =
        hs_proposal_new(s, &(hs_proposal_spec){ .name = "pushed",
                                                .dim = DIM,
                                                .self = &push,
                                                .draw = pushed_draw,
                                                .log_density = pushed_log_density });
    static double a[ROWS], b[ROWS];
    const hs_objective invariant[] = { hs_ab_initio(0.18125), hs_ab_initio_log(0.1), hs_kl() };
    for (int k = 0; k < 3; k++) {
        losses_of(in_z, walk, invariant[k], a);
        losses_of(in_x, same, invariant[k], b);
        for (size_t i = 0; i < ROWS; i++)
            ck_assert_close(a[i], b[i], 1e-9, 1e-9);
    }
    const double msjd_z = losses_of(in_z, walk, hs_msjd(), a);
    const double msjd_x = losses_of(in_x, same, hs_msjd(), b);
    ck_assert_msg(fabs(msjd_z - msjd_x) > 0.1 * fabs(msjd_x), "MSJD %g and %g", msjd_z, msjd_x);
    ck_assert_int_eq(hs_session_status(s), HS_OK);
    hs_session_free(s);
    hs_flow_free(flow);
    hs_params_free(ps);
}
END_TEST

/* ---- Minimal at independent draws ---------------------------------------------------------------
 */

/* y = mean + rho x + sd n in every coordinate. */
typedef struct {
    double mean, rho, sd;
} linear;

static hs_var linear_draw(void *self, hs_var x, hs_var n)
{
    const linear *l = self;
    return hs_add(hs_shift(hs_scale(x, l->rho), l->mean), hs_scale(n, l->sd));
}

static hs_var linear_log_density(void *self, hs_var y, hs_var x)
{
    const linear *l = self;
    hs_var z = hs_scale(hs_shift(hs_sub(y, hs_scale(x, l->rho)), -l->mean), 1 / l->sd);
    return hs_shift(hs_log_normal(z), -DIM * log(l->sd));
}

/* The expected divergence of N(mean + rho x, sd^2) from N(0, 1), x standard normal. */
static double linear_divergence(const linear *l)
{
    return 0.5 * DIM * (l->sd * l->sd + l->rho * l->rho + l->mean * l->mean - 1 - 2 * log(l->sd));
}

START_TEST(independent_draws_are_best)
{
    static const linear cases[] = {
        { 0, 0, 1 },   { 0.05, 0, 1 }, { -0.1, 0, 1 },     { 0, 0, 1.03 },  { 0, 0, 0.97 },
        { 0, 0, 0.5 }, { 0, 0.1, 1 },  { 0, -0.1, 0.995 }, { 0, 0.6, 0.8 }, { 1, 0.3, 0.7 },
    };
    hs_session *s = hs_session_new(NULL);
    const hs_target *target = make_target(s, NORMAL, DIM);
    static double loss[ROWS], divergence[ROWS];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        linear l = cases[k];
        const hs_proposal *p =
            hs_proposal_new(s, &(hs_proposal_spec){ .name = "linear",
                                                    .dim = DIM,
                                                    .self = &l,
                                                    .draw = linear_draw,
                                                    .log_density = linear_log_density });
        const double kl = losses_of(target, p, hs_kl(), divergence), exact = linear_divergence(&l);
        const double mean = losses_of(target, p, hs_ab_initio(0.18125), loss);
        double square = 0;
        for (size_t i = 0; i < ROWS; i++) {
            square += pow(divergence[i] - kl, 2) / ROWS;
            ck_assert(loss[i] >= divergence[i] - 1e-12); /* log alpha is never above 0 */
            if (k == 0)
                ck_assert_close(loss[i], 0, 0, 1e-12);
        }
        ck_assert_close(kl, exact, 0, 1e-12 + 5 * sqrt(square / ROWS));
        /* The expected loss is the exact divergence plus what acceptance costs. */
        if (k > 0)
            ck_assert_msg(exact + (mean - kl) > 1e-3, "case %zu: %g", k, exact + (mean - kl));
        /* With rho^2 + sd^2 = 1 the proposal is reversible: all is accepted. */
        if (k == 8)
            for (size_t i = 0; i < ROWS; i++)
                ck_assert_close(loss[i], divergence[i], 0, 1e-10);
    }
    hs_session_free(s);
}
END_TEST

/* ---- Loss values --------------------------------------------------------------------------------
 */

/* log g(y|x) - log pi(y) has the mean d/2 (s^2 - 2 ln s) for random walks. */
START_TEST(walk_has_its_loss)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 5 });
    const hs_target *target = make_target(s, NORMAL, 100);
    const hs_reference reduced = hs_reference_walk(s, 100);
    const hs_reference full = { .target = target,
                                .proposal = make_proposal(s, 100, NULL, false, 0.2) };
    const hs_reference_options options = { .rows = 100000 };
    const hs_objective kl = hs_kl(), ab_initio = hs_ab_initio(0.18125);
    const double step = 0.2325, exact = 50 * (step * step - 2 * log(step));
    ck_assert_close(exact, 148.59, 0, 0.01);
    for (int k = 0; k < 2; k++) {
        const hs_reference *r = k ? &full : &reduced;
        hs_optimum at;
        ck_assert_int_eq(hs_reference_evaluate(r, &kl, step, &options, &at), HS_OK);
        ck_assert_close(at.loss, exact, 0, 5 * at.loss_error);
        ck_assert_close(at.slope, 100 * (step * step - 1), 0, 5 * at.slope_error);
        ck_assert_close(at.log_alpha, -2.84, 0, 0.006 + 5 * at.log_alpha_error);
        ck_assert_int_eq(hs_reference_evaluate(r, &ab_initio, step, &options, &at), HS_OK);
        ck_assert_close(at.loss, 200.0, 0, 0.1 + 4 * at.loss_error);
        ck_assert_double_lt(at.loss_error, 0.2);
    }
    hs_session_free(s);
}
END_TEST

START_TEST(mala_has_its_loss)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 5 });
    const hs_target *target = make_target(s, NORMAL, 100);
    const hs_reference reduced = hs_reference_mala(s, 100);
    const hs_reference full = { .target = target,
                                .proposal = make_proposal(s, 100, target, false, 0.2) };
    const hs_reference_options options = { .rows = 100000 };
    const hs_objective kl = hs_kl(), ab_initio = hs_ab_initio(0.18125);
    for (int k = 0; k < 2; k++) {
        const hs_reference *r = k ? &full : &reduced;
        hs_optimum at;
        ck_assert_int_eq(hs_reference_evaluate(r, &kl, 0.3095, &options, &at), HS_OK);
        ck_assert_close(at.loss, 28.76, 0, 0.006 + 5 * at.loss_error);
        ck_assert_close(at.log_alpha, -0.940, 0, 0.003 + 5 * at.log_alpha_error);
        ck_assert_int_eq(hs_reference_evaluate(r, &ab_initio, 0.3095, &options, &at), HS_OK);
        ck_assert_close(at.loss, 45.8, 0, 0.06 + 5 * at.loss_error);
        ck_assert_double_lt(at.loss_error, 0.1);
    }
    hs_session_free(s);
}
END_TEST

/* ---- The negative log-likelihood teaches a proposal the target
 * ----------------------------------- */

START_TEST(likelihood_is_largest_at_the_target)
{
    hs_session *s = hs_session_new(NULL);
    const hs_target *target = make_target(s, NORMAL, DIM);
    static double a[ROWS], b[ROWS];
    linear exact = { 0, 0, 1 }, wide = { 0, 0, 1.2 };
    hs_proposal_spec spec = { .name = "linear",
                              .dim = DIM,
                              .self = &exact,
                              .draw = linear_draw,
                              .log_density = linear_log_density };
    const hs_proposal *first = hs_proposal_new(s, &spec);
    spec.self = &wide;
    const hs_proposal *second = hs_proposal_new(s, &spec);
    const double best = losses_of(target, first, hs_nll(), a);
    const double worse = losses_of(target, second, hs_nll(), b);
    /* On the same draws of x the difference is DIM log 1.2 - |x|^2 (1 - 1 / 1.44) / 2. */
    ck_assert_close(best, 0.5 * DIM * (1 + LOG_2PI), 0, 5 * sqrt(0.5 * DIM / ROWS));
    ck_assert_close(worse - best, DIM * (log(1.2) - 0.5 * (1 - 1 / 1.44)), 0, 0.03);
    hs_session_free(s);
}
END_TEST

static Suite *theory_suite(void)
{
    Suite *suite = suite_create("objectives: theory");
    TCase *tests = tcase_create("theory");
    tcase_add_loop_test(tests, ab_initio_does_not_depend_on_coordinates, 0, 2);
    tcase_add_test(tests, independent_draws_are_best);
    tcase_add_test(tests, walk_has_its_loss);
    tcase_add_test(tests, mala_has_its_loss);
    tcase_add_test(tests, likelihood_is_largest_at_the_target);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(theory_suite())
