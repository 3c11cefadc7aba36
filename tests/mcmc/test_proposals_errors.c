/* Proposals: gradients of losses through them, and what they say about bad input. */
#include <hastings/autograd/check.h>

#include "support/mcmc_catalogue.h"

/* A smooth loss through all of a transition, over all ways of moving. */
static hs_var loss_of(const hs_target *t, const hs_proposal *p, hs_var x, hs_var n)
{
    hs_transition all[HS_MAX_WAYS];
    hs_transitions(t, p, x, n, all);
    hs_var loss = hs_const(x.tape, 0);
    for (size_t k = 0; k < hs_proposal_ways(p); k++) {
        hs_var kl = hs_neg(all[k].log_pi_y);
        if (!hs_proposal_is_ratio_only(p))
            kl = hs_add(kl, all[k].log_g_fwd);
        hs_var part = hs_sub(kl, hs_scale(all[k].log_ratio, 0.7));
        part = hs_add(part, hs_scale(hs_transition_jump(&all[k]), 0.1));
        loss = hs_add(loss, hs_mul(all[k].weight, part));
    }
    return hs_mean_rows(loss);
}

static void check_gradients(const mt_entry *e, size_t dim, int order)
{
    hs_session *s = mt_session(8);
    const hs_target *t = mt_target_modes(s, dim);
    const hs_proposal *p = e->make(s, t);
    ck_session_ok(s);
    hs_params *ps = hs_proposal_params(p);
    const size_t count = hs_params_count(ps);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_target_draw(t, tape, HS_START, 0);
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(p)), 20);
    hs_var loss = loss_of(t, p, x, n);
    hs_var *wrt = malloc(count * sizeof *wrt);
    const double **values = malloc(count * sizeof *values);
    double *memory = malloc(hs_params_size(ps) * sizeof *memory), *next = memory;
    for (size_t i = 0; i < count; i++) {
        const hs_param one = hs_params_at(ps, i);
        const hs_shape shape = hs_param_shape(one);
        wrt[i] = hs_param_var(tape, one);
        hs_param_get(one, next);
        values[i] = next;
        next += hs_shape_count(&shape);
    }
    hs_gradcheck_report report;
    const hs_status status = hs_gradcheck(
        loss, wrt, values, count,
        &(hs_gradcheck_options){ .order = order, .starts = 3, .rows_per_start = 2, .seed = 9 },
        &report);
    ck_assert_msg(!status, "%s: %s", e->name, hs_tape_error(tape));
    ck_assert_msg(report.worst < 1e-6, "%s, %zu-D, order %d: %s, element %zu: %.12g, not %.12g",
                  e->name, dim, report.order, hs_param_name(hs_params_at(ps, report.wrt)),
                  report.element, report.found, report.expected);
    free(wrt);
    free(values);
    free(memory);
    hs_tape_free(tape);
    hs_session_free(s);
}

START_TEST(gradients_of_a_loss_through_each_proposal)
{
    const mt_entry *e = &mt_catalogue[_i];
    if (!e->smooth)
        return;
    hs_session *s = mt_session(8);
    hs_params *ps = hs_proposal_params(e->make(s, mt_target_modes(s, 2)));
    const bool few = hs_params_size(ps) < 10; /* walks and HMC: second order is cheap */
    hs_session_free(s);
    if (e->least <= 1)
        check_gradients(e, 1, few ? 2 : 1);
    check_gradients(e, 2, few ? 2 : 1);
    if (few)
        check_gradients(e, 3, 2);
}
END_TEST

/* MALA by hand: y, log g and the derivative with respect to tau through the score at y. */
START_TEST(mala_by_hand)
{
    hs_session *s = mt_session(1);
    const hs_target *t = mt_target_standard(s, 1);
    const double tau = 0.3, x0 = 0.7, n0 = -0.4;
    const hs_proposal *p = hs_mala(s, t, &(hs_walk_options){ .step = tau });
    ck_session_ok(s);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_START, hs_dims(1)),
           n = hs_input(tape, "n", HS_ROW, hs_dims(1));
    hs_transition m;
    hs_transitions(t, p, x, n, &m);
    hs_var step = hs_param_var(tape, hs_params_find(hs_proposal_params(p), "step"));
    hs_var total = hs_sum_rows(m.log_ratio), slope;
    hs_grad(total, &step, 1, &slope);
    hs_plan *plan;
    hs_var out[] = { m.y, m.log_g_fwd, m.log_g_rev, m.log_ratio, slope };
    ck_assert_int_eq(hs_plan_new(&plan, out, 5, NULL), HS_OK);
    hs_plan_set(plan, x, &x0);
    hs_plan_set(plan, n, &n0);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    double ratio[3];
    for (int i = 0; i < 3; i++) { /* at tau, and beside it */
        const double h = 1e-5 * (i - 1), u = tau + h, y = x0 - u * x0 + sqrt(2 * u) * n0;
        const double back = (x0 - (1 - u) * y) / sqrt(2 * u);
        const double fwd = -0.5 * (n0 * n0 + mt_log_2pi) - 0.5 * log(2 * u);
        const double rev = -0.5 * (back * back + mt_log_2pi) - 0.5 * log(2 * u);
        ratio[i] = -0.5 * y * y + rev + 0.5 * x0 * x0 - fwd;
        if (i == 1) {
            ck_assert_close(hs_plan_scalar(plan, m.y), y, 1e-14, 0);
            ck_assert_close(hs_plan_scalar(plan, m.log_g_fwd), fwd, 1e-14, 0);
            ck_assert_close(hs_plan_scalar(plan, m.log_g_rev), rev, 1e-14, 0);
            ck_assert_close(hs_plan_scalar(plan, m.log_ratio), ratio[1], 1e-12, 0);
        }
    }
    ck_assert_close(hs_plan_scalar(plan, slope), (ratio[2] - ratio[0]) / 2e-5, 1e-7, 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

START_TEST(a_symmetric_walk_does_not_score_itself_for_the_ratio)
{
    hs_session *s = mt_session(1);
    const hs_target *t = mt_target_standard(s, 2);
    const hs_proposal *p = mk_walk(s, t);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_START, hs_dims(2)),
           n = hs_normal(tape, HS_ROW, hs_dims(2), 0);
    hs_transition m;
    hs_transitions(t, p, x, n, &m);
    ck_assert_int_eq(m.log_g_fwd.id, m.log_g_rev.id);
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

/* ---- Bad input -------------------------------------------------------------------------------- */

START_TEST(bad_options_are_named)
{
    hs_session *s = mt_session(1);
    const hs_target *two = mt_target_standard(s, 2), *three = mt_target_standard(s, 3);
    ck_assert_ptr_null(hs_random_walk(s, NULL));
    ck_session_failed(s, HS_EINVAL, "random walk", "dimensions");
    ck_assert_ptr_null(hs_random_walk(s, &(hs_walk_options){ .dim = 2, .step = -1 }));
    ck_session_failed(s, HS_EINVAL, "random walk", "step", "-1");
    ck_assert_ptr_null(hs_mala(s, two, &(hs_walk_options){ .step = (double)NAN }));
    ck_session_failed(s, HS_EINVAL, "MALA", "step");
    ck_assert_ptr_null(hs_hmc(s, two, &(hs_hmc_options){ .step = (double)INFINITY }));
    ck_session_failed(s, HS_EINVAL, "HMC", "step");
    ck_assert_ptr_null(hs_hmc(s, two, &(hs_hmc_options){ .leapfrogs = 10001 }));
    ck_session_failed(s, HS_EINVAL, "HMC", "10001 integrator steps", "at most 10000");
    ck_assert_ptr_null(hs_multi_scheme(s, &(hs_multi_scheme_options){ .width = 8 }));
    ck_session_failed(s, HS_EINVAL, "multi-scheme", "dimensions");
    ck_assert_ptr_null(hs_multi_scheme(s, &(hs_multi_scheme_options){ .dim = 1, .couplings = 1 }));
    ck_session_failed(s, HS_EINVAL, "couplings");
    ck_assert_ptr_null(hs_multi_scheme(
        s, &(hs_multi_scheme_options){ .dim = 2, .start = HS_AS_MALA, .activation = HS_TANH }));
    ck_session_failed(s, HS_EINVAL, "relu");
    ck_assert_ptr_null(hs_multi_scheme(
        s, &(hs_multi_scheme_options){ .dim = 5, .width = 9, .start = HS_AS_MALA }));
    ck_session_failed(s, HS_EINVAL, "at least 10", "9");
    ck_assert_ptr_null(hs_position_mixture(s, &(hs_position_mixture_options){ .components = 3 }));
    ck_session_failed(s, HS_EINVAL, "dimensions");
    ck_assert_ptr_null(
        hs_position_mixture(s, &(hs_position_mixture_options){ .dim = 2, .components = 65 }));
    ck_session_failed(s, HS_EINVAL, "64");
    ck_assert_ptr_null(
        hs_position_mixture(s, &(hs_position_mixture_options){ .dim = 2, .sd = -1 }));
    ck_session_failed(s, HS_EINVAL, "sd");
    const hs_proposal *a = mk_walk(s, two), *b = mk_walk(s, three);
    ck_assert_ptr_null(hs_kernel_mixture(s, a, b, 0.5));
    ck_session_failed(s, HS_ESHAPE, "2", "3");
    ck_assert_ptr_null(hs_kernel_mixture(s, a, a, 0));
    ck_session_failed(s, HS_EINVAL, "probability");
    ck_assert_ptr_null(hs_kernel_mixture(s, a, a, (double)NAN));
    ck_session_failed(s, HS_EINVAL, "probability");
    const hs_proposal *many =
        hs_position_mixture(s, &(hs_position_mixture_options){ .dim = 2, .components = 64 });
    ck_session_ok(s);
    ck_assert_ptr_null(hs_kernel_mixture(s, many, a, 0.5));
    ck_session_failed(s, HS_EINVAL, "64");
    ck_assert_ptr_null(hs_proposal_new(s, &(hs_proposal_spec){ .name = "mine", .dim = 2 }));
    ck_session_failed(s, HS_EINVAL, "mine");
    ck_assert_ptr_null(hs_proposal_new(
        s, &(hs_proposal_spec){
               .name = "mine", .draw = mt_walk_draw, .log_density = mt_walk_log_density }));
    ck_session_failed(s, HS_EINVAL, "mine", "dimensions");
    ck_assert_ptr_null(hs_target_new(
        s, &(hs_target_spec){ .name = "nowhere", .log_density = mt_standard_density }));
    ck_session_failed(s, HS_EINVAL, "nowhere", "dimensions");
    ck_assert_ptr_null(hs_target_new(s, &(hs_target_spec){ .name = "nothing", .dim = 1 }));
    ck_session_failed(s, HS_EINVAL, "nothing", "log density");
    ck_assert_ptr_null(hs_target_augment(s, two, 0));
    ck_session_failed(s, HS_EINVAL, "standard");
    ck_assert_ptr_null(hs_target_augment(s, hs_target_augment(s, two, 1), 1));
    ck_session_failed(s, HS_EINVAL, "auxiliary");
    hs_session_free(s);
}
END_TEST

/* A scale of the target that is not positive makes every density NaN. */
START_TEST(scales_must_be_positive)
{
    hs_session *s = mt_session(1);
    const hs_target *two = mt_target_standard(s, 2);
    const double bad[3][2] = { { 1, 0 }, { -1, 1 }, { 1, (double)NAN } };
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(hs_random_walk(s, &(hs_walk_options){ .dim = 2, .scale = bad[i] }));
        ck_session_failed(s, HS_EINVAL, "scale");
        ck_assert_ptr_null(hs_mala(s, two, &(hs_walk_options){ .scale = bad[i] }));
        ck_session_failed(s, HS_EINVAL, "scale");
        ck_assert_ptr_null(hs_hmc(s, two, &(hs_hmc_options){ .scale = bad[i] }));
        ck_session_failed(s, HS_EINVAL, "scale");
        ck_assert_ptr_null(hs_multi_scheme(
            s, &(hs_multi_scheme_options){ .dim = 2, .start = HS_AS_RESAMPLING, .sd = bad[i] }));
        ck_session_failed(s, HS_EINVAL, "sd");
    }
    hs_session_free(s);
}
END_TEST

/* proposals.h: "NULL options are all defaults"; the dimension is then missing. */
START_TEST(null_options_are_defaults)
{
    hs_session *s = mt_session(1);
    ck_assert_ptr_null(hs_multi_scheme(s, NULL));
    ck_session_failed(s, HS_EINVAL, "dimensions");
    ck_assert_ptr_null(hs_position_mixture(s, NULL));
    ck_session_failed(s, HS_EINVAL, "dimensions");
    ck_assert_ptr_nonnull(hs_mala(s, mt_target_standard(s, 2), NULL));
    ck_assert_ptr_nonnull(hs_hmc(s, mt_target_standard(s, 2), NULL));
    ck_session_ok(s);
    hs_session_free(s);
}
END_TEST

/* An object that does not exist must not go by in silence. */
START_TEST(missing_parts_fail_the_session)
{
    hs_session *s = mt_session(1);
    ck_assert_ptr_null(hs_mala(s, NULL, NULL));
    ck_session_failed(s, HS_EINVAL, "target");
    ck_assert_ptr_null(hs_hmc(s, NULL, NULL));
    ck_session_failed(s, HS_EINVAL, "target");
    ck_assert_ptr_null(hs_kernel_mixture(s, NULL, NULL, 0.5));
    ck_session_failed(s, HS_EINVAL, "proposal");
    ck_assert_ptr_null(hs_target_augment(s, NULL, 1));
    ck_session_failed(s, HS_EINVAL, "target");
    hs_session_free(s);
}
END_TEST

static hs_var two_numbers(void *self, hs_var y, hs_var x)
{
    (void)self;
    (void)x;
    return y;
}

static hs_var longer(void *self, hs_var x, hs_var n)
{
    (void)self;
    return hs_concat(((hs_var[]){ x, n }), 2, 0);
}

START_TEST(wrong_shapes_of_a_users_proposal_are_named)
{
    hs_session *s = mt_session(1);
    const hs_target *t = mt_target_standard(s, 2);
    const hs_proposal *vector = hs_proposal_new(s, &(hs_proposal_spec){ .name = "vector",
                                                                        .dim = 2,
                                                                        .draw = mt_walk_draw,
                                                                        .log_density = two_numbers,
                                                                        .self = &(hs_mlp){ 0 } });
    const hs_proposal *wide = hs_proposal_new(
        s, &(hs_proposal_spec){
               .name = "wide", .dim = 2, .draw = longer, .log_density = two_numbers });
    ck_session_ok(s);
    ck_assert_ptr_null(hs_sample(s, t, wide, NULL));
    ck_session_failed(s, HS_ESHAPE, "wide", "[2]", "[4]");
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
    hs_proposal_log_density(vector, x, x);
    ck_assert_int_eq(hs_tape_status(tape), HS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "vector"));
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "mcmc/test_proposals_errors.c"));
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

static int released;
static void count_release(void *self)
{
    (void)self;
    released++;
}

START_TEST(release_is_called_once)
{
    int thing;
    hs_session *s = mt_session(1);
    const hs_proposal_spec good = { .name = "mine",
                                    .dim = 1,
                                    .self = &thing,
                                    .draw = mt_walk_draw,
                                    .log_density = two_numbers,
                                    .release = count_release };
    hs_proposal_spec bad = good;
    bad.dim = 0;
    released = 0;
    ck_assert_ptr_null(hs_proposal_new(s, &bad));
    ck_assert_int_eq(released, 1);
    ck_assert_ptr_null(hs_proposal_new(s, &good)); /* the session has failed */
    ck_assert_int_eq(released, 2);
    hs_session_clear(s);
    ck_assert_ptr_nonnull(hs_proposal_new(s, &good));
    ck_assert_int_eq(released, 2);
    hs_session_free(s);
    ck_assert_int_eq(released, 3);
    ck_assert_ptr_null(hs_proposal_new(NULL, &good)); /* no session: no memory */
    ck_assert_int_eq(released, 4);
}
END_TEST

static Suite *errors_suite(void)
{
    Suite *suite = suite_create("mcmc proposals: gradients and errors");
    TCase *tcase = tcase_create("all");
    tcase_set_timeout(tcase, 900);
    tcase_add_loop_test(tcase, gradients_of_a_loss_through_each_proposal, 0, MT_ENTRIES);
    tcase_add_test(tcase, mala_by_hand);
    tcase_add_test(tcase, a_symmetric_walk_does_not_score_itself_for_the_ratio);
    tcase_add_test(tcase, bad_options_are_named);
    tcase_add_test(tcase, scales_must_be_positive);
    tcase_add_test(tcase, missing_parts_fail_the_session);
    tcase_add_test(tcase, wrong_shapes_of_a_users_proposal_are_named);
    tcase_add_test(tcase, release_is_called_once);
    tcase_add_test(tcase, null_options_are_defaults);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(errors_suite())
