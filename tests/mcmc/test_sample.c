/* Sampling: counts, supports, starts, thinning, streams, the same draws whatever runs beside them. */
#include <hastings/mcmc/diagnostics/diagnose.h>

#include "support/mcmc_catalogue.h"

/* ---- Acceptance, by hand ----------------------------------------------------------------------- */

/* Streams as they are addressed: those of the sampler. */
#include "mcmc/sampler_internal.h"

START_TEST(a_chain_by_hand)
{
    enum { N = 200 };
    hs_session *s = mt_session(3);
    const hs_target *t = mt_target_standard(s, 1);
    const double start[2] = { 0.5, -3 }, step = 1.5;
    hs_chains *c = hs_sample(
        s, t, hs_random_walk(s, &(hs_walk_options){ .dim = 1, .step = step }),
        &(hs_sample_options){ .chains = 2, .draws = N, .points = start, .n_points = 2, .seed = 8 });
    ck_session_ok(s);
    size_t wrong = 0, taken = 0;
    for (uint32_t k = 0; k < 2; k++) {
        double x = start[k];
        for (uint64_t i = 0; i < N; i++) {
            const double n =
                hs_random_at(HS_F64, HS_NORMAL,
                             (hs_address){ .seed = 8, .stream = STREAM_NOISE, .step = i }, k, 0);
            const double u =
                hs_random_at(HS_F64, HS_UNIFORM,
                             (hs_address){ .seed = 8, .stream = STREAM_ACCEPT, .step = i }, k, 0);
            const double y = x + step * n, ratio = 0.5 * (x * x - y * y);
            const double alpha = exp(fmin(ratio, 0)), jump = alpha * (y - x) * (y - x);
            const bool accept = log(u) < fmin(ratio, 0);
            const size_t at = k * N + i;
            x = accept ? y : x;
            taken += accept;
            wrong += fabs(hs_chains_draw(c, k, i)[0] - x) > 1e-12 || c->accepted[at] != accept ||
                     fabs(c->alpha[at] - alpha) > 1e-12 || fabs(c->jump[at] - jump) > 1e-11 ||
                     fabs(c->log_pi[at] + 0.5 * (x * x + mt_log_2pi)) > 1e-12;
        }
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_gt(taken, 50);
    ck_assert_uint_lt(taken, 2 * N - 50);
    ck_assert_uint_eq(c->proposals, 2 * N);
    ck_assert_uint_eq(c->gradients, 0);
    ck_assert_uint_eq(c->nonfinite, 0);
    hs_session_free(s);
}
END_TEST

/* Ratios far beyond what exp can hold: acceptance is in log space. */
static hs_var steep(void *self, hs_var x)
{
    (void)self;
    return hs_scale(hs_sum_last(hs_abs(x)), -1e6);
}

START_TEST(acceptance_is_in_log_space)
{
    for (int narrow = 0; narrow < 2; narrow++) {
        hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .float32 = narrow });
        const hs_target *t = hs_target_new(s, &(hs_target_spec){ .dim = 1, .log_density = steep });
        const double start = 1000;
        hs_chains *c = hs_sample(
            s, t, hs_random_walk(s, &(hs_walk_options){ .dim = 1, .step = 10 }),
            &(hs_sample_options){ .chains = 1, .draws = 400, .points = &start, .n_points = 1 });
        ck_session_ok(s);
        double last = start;
        for (size_t i = 0; i < 400; i++) { /* downhill always, uphill never */
            const double x = hs_chains_draw(c, 0, i)[0];
            ck_assert_double_le(fabs(x), fabs(last));
            ck_assert(c->accepted[i] == (x != last) && c->alpha[i] == c->accepted[i]);
            last = x;
        }
        ck_assert_double_lt(fabs(last), 20);
        ck_assert_uint_eq(c->nonfinite, 0);
        hs_session_free(s);
    }
}
END_TEST

/* ---- Supports and NaN --------------------------------------------------------------------------- */

static hs_var exponential(void *self, hs_var x) /* -inf below 0 */
{
    (void)self;
    hs_var inside = hs_gt(x, hs_const(x.tape, 0));
    return hs_sum_last(hs_select(inside, hs_neg(x), hs_const(x.tape, -(double)INFINITY)));
}

static hs_var exponential_nan(void *self, hs_var x) /* NaN below 0 */
{
    (void)self;
    hs_var inside = hs_gt(x, hs_const(x.tape, 0));
    return hs_sum_last(hs_select(inside, hs_neg(x), hs_const(x.tape, (double)NAN)));
}

static hs_var exponential_plus(void *self, hs_var x) /* +inf below 0, and never accepted */
{
    (void)self;
    hs_var inside = hs_gt(x, hs_const(x.tape, 0));
    return hs_sum_last(hs_select(inside, hs_neg(x), hs_const(x.tape, (double)INFINITY)));
}

START_TEST(points_outside_the_support_are_rejected_and_counted)
{
    enum { CHAINS = 2000, DRAWS = 60 };
    hs_var (*const density[])(void *, hs_var) = { exponential, exponential_nan, exponential_plus };
    for (int i = 0; i < 3; i++) {
        hs_session *s = mt_session(5);
        const hs_target *t = hs_target_new(
            s, &(hs_target_spec){ .name = "exponential", .dim = 1, .log_density = density[i] });
        double *points = malloc(CHAINS * sizeof *points);
        for (uint32_t k = 0; k < CHAINS; k++) /* exact */
            points[k] = -log(hs_random_at(
                HS_F64, HS_UNIFORM, (hs_address){ .seed = 1, .stream = 99, .step = 0 }, k, 0));
        hs_chains *c =
            hs_sample(s, t, hs_random_walk(s, &(hs_walk_options){ .dim = 1, .step = 2 }),
                      &(hs_sample_options){
                          .chains = CHAINS, .draws = DRAWS, .points = points, .n_points = CHAINS });
        ck_session_ok(s);
        double sum = 0, square = 0, outside = 0, bad = 0;
        for (size_t k = 0; k < CHAINS; k++) {
            double mean = 0;
            for (size_t n = 0; n < DRAWS; n++) {
                const double x = hs_chains_draw(c, k, n)[0];
                const size_t at = k * DRAWS + n;
                mean += x / DRAWS;
                bad += !(x > 0) || !isfinite(c->alpha[at]) || !isfinite(c->jump[at]) ||
                       !isfinite(c->log_pi[at]) || (c->alpha[at] == 0 && c->accepted[at]);
                outside += c->alpha[at] == 0;
            }
            sum += mean;
            square += mean * mean;
        }
        const double mean = sum / CHAINS, sd = sqrt(square / CHAINS - mean * mean);
        ck_assert(bad == 0);
        ck_assert_msg(fabs(mean - 1) < 5 * sd / sqrt(CHAINS), "mean %g", mean);
        ck_assert_uint_gt(c->nonfinite, CHAINS * DRAWS / 5);
        ck_assert(outside == (double)c->nonfinite);
        ck_assert_uint_eq(c->proposals, CHAINS * DRAWS);
        free(points);
        hs_session_free(s);
    }
}
END_TEST

START_TEST(a_bad_start_names_its_chain)
{
    hs_session *s = mt_session(5);
    const hs_target *t = hs_target_new(
        s, &(hs_target_spec){ .name = "exponential", .dim = 1, .log_density = exponential });
    const hs_target *u = hs_target_new(
        s, &(hs_target_spec){ .name = "nan", .dim = 1, .log_density = exponential_nan });
    const hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 1 });
    const double points[] = { 1, 1, 1, -1, 1 }, nan_points[] = { 1, (double)NAN, 1, 1, 1 };
    hs_sample_options o = { .points = points, .n_points = 5, .draws = 3 };
    ck_assert_ptr_null(hs_sample(s, t, p, &o));
    ck_session_failed(s, HS_ENONFINITE, "chain 3", "-inf");
    ck_assert_ptr_null(hs_sample(s, u, p, &o));
    ck_session_failed(s, HS_ENONFINITE, "chain 3", "nan");
    o.points = nan_points;
    ck_assert_ptr_null(hs_sample(s, u, p, &o));
    ck_session_failed(s, HS_ENONFINITE, "chain 1", "nan");
    /* Also if none of the draws is kept, and if the file is a stream: it must not look complete. */
    char path[] = "/tmp/hastings_start_XXXXXX";
    close(mkstemp(path));
    unlink(path);
    o.stream = path;
    ck_assert_ptr_null(hs_sample(s, u, p, &o));
    ck_session_failed(s, HS_ENONFINITE, "chain 1");
    unlink(path);
    hs_session_free(s);
}
END_TEST

/* ---- The same draws, whatever runs beside them --------------------------------------------------- */

START_TEST(a_chain_does_not_depend_on_others)
{
    mt_maker *const makers[] = {
        mk_walk, mk_mala, mk_networks_flow, mk_mixture, mk_kernels, mk_hmc
    };
    const size_t counts[] = { 100, 1, 7, 64 };
    const int threads[] = { 1, 2, 3, 8 };
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        double kept[7][20][2];
        for (int i = 0; i < 4; i++) {
            hs_session *s =
                hs_session_new(&(hs_session_options){ .seed = 4, .threads = threads[i] });
            const hs_target *t = mt_target_modes(s, 2);
            hs_chains *c = hs_sample(s, t, makers[m](s, t),
                                     &(hs_sample_options){ .chains = counts[i], .draws = 20 });
            ck_session_ok(s);
            for (size_t k = 0; k < counts[i] && k < 7; k++) {
                if (i == 0)
                    memcpy(kept[k], hs_chains_draw(c, k, 0), sizeof kept[k]);
                /* One chain alone is computed with vectors over coordinates, and rounds otherwise. */
                bool same =
                    counts[i] == 1 || memcmp(kept[k], hs_chains_draw(c, k, 0), sizeof kept[k]) == 0;
                for (size_t j = 0; j < 20 && counts[i] == 1; j++)
                    same = same && hs_close(kept[k][j][0], hs_chains_draw(c, k, j)[0], 1e-9, 1e-9);
                ck_assert_msg(same, "proposal %zu: chain %zu of %zu differs from that of %zu", m, k,
                              counts[i], counts[0]);
            }
            hs_session_free(s);
        }
    }
}
END_TEST

START_TEST(thinning_and_warmup_leave_out_draws)
{
    hs_session *s = mt_session(4);
    const hs_target *t = mt_target_modes(s, 2);
    const hs_proposal *p = mk_mala(s, t);
    hs_chains *all = hs_sample(s, t, p, &(hs_sample_options){ .chains = 3, .draws = 100 });
    hs_chains *some = hs_sample(
        s, t, p, &(hs_sample_options){ .chains = 3, .draws = 9, .thin = 10, .warmup = 7 });
    ck_session_ok(s);
    ck_assert_uint_eq(some->draws, 9);
    for (size_t k = 0; k < 3; k++)
        for (size_t n = 0; n < 9; n++) {
            const size_t from = 7 + 10 * n + 9;
            ck_assert_mem_eq(hs_chains_draw(some, k, n), hs_chains_draw(all, k, from),
                             2 * sizeof(double));
            ck_assert(some->log_pi[k * 9 + n] == all->log_pi[k * 100 + from]);
        }
    ck_assert_uint_eq(some->proposals, 3 * 90); /* those of the warm-up do not count */
    ck_assert_uint_eq(all->proposals, 300);
    ck_assert_uint_eq(all->gradients, 300); /* one a proposal */
    ck_assert(all->seconds > 0);
    hs_session_free(s);
}
END_TEST

static bool stop_at(const hs_progress *p, void *context)
{
    ck_assert(strcmp(p->what, "sample") == 0 && p->alpha >= 0 && p->alpha <= 1);
    return p->step < *(const uint64_t *)context;
}

START_TEST(stopped_early_the_draws_so_far_are_kept)
{
    hs_session *s = mt_session(4);
    const hs_target *t = mt_target_modes(s, 2);
    const hs_proposal *p = mk_mala(s, t);
    hs_chains *all =
        hs_sample(s, t, p, &(hs_sample_options){ .chains = 3, .draws = 100, .warmup = 20 });
    const uint64_t stops[] = { 61, 21, 20, 5, 1000 };
    const size_t draws[] = { 42, 2, 0, 0, 100 };
    for (int i = 0; i < 5; i++) {
        uint64_t stop = stops[i];
        hs_chains *c = hs_sample(
            s, t, p,
            &(hs_sample_options){
                .chains = 3, .draws = 100, .warmup = 20, .progress = stop_at, .context = &stop });
        ck_session_ok(s);
        ck_assert_ptr_nonnull(c);
        ck_assert_msg(c->draws == draws[i], "%d: %zu draws, not %zu", i, c->draws, draws[i]);
        ck_assert_uint_eq(c->proposals, 3 * draws[i]);
        for (size_t k = 0; k < 3; k++)
            for (size_t n = 0; n < c->draws; n++) {
                const size_t here = k * c->draws + n, there = k * 100 + n;
                ck_assert_mem_eq(hs_chains_draw(c, k, n), hs_chains_draw(all, k, n),
                                 2 * sizeof(double));
                ck_assert(
                    c->log_pi[here] == all->log_pi[there] && c->alpha[here] == all->alpha[there] &&
                    c->jump[here] == all->jump[there] && c->accepted[here] == all->accepted[there]);
            }
    }
    hs_session_free(s);
}
END_TEST

/* ---- Streams --------------------------------------------------------------------------------------- */

START_TEST(a_stream_has_the_draws_that_memory_would_have)
{
    char path[] = "/tmp/hastings_stream_XXXXXX";
    close(mkstemp(path));
    hs_session *s = mt_session(4);
    const hs_target *t = mt_target_modes(s, 2);
    const hs_proposal *p = mk_mala(s, t);
    uint64_t stop = 75;
    for (int i = 0; i < 3; i++) { /* whole, thinned, stopped */
        hs_sample_options o = { .chains = 3,
                                .draws = 100,
                                .thin = i == 1 ? 3 : 1,
                                .warmup = 5,
                                .progress = i == 2 ? stop_at : NULL,
                                .context = &stop };
        hs_chains *memory = hs_sample(s, t, p, &o), *file;
        o.stream = path;
        hs_chains *streamed = hs_sample(s, t, p, &o);
        ck_session_ok(s);
        hs_message message;
        ck_assert_msg(hs_chains_load(&file, path, HS_DRAW_FIRST, &message) == HS_OK, "%s",
                      message.text);
        ck_assert(file->chains == 3 && file->dim == 2 && file->draws == memory->draws);
        ck_assert_mem_eq(file->x, memory->x, 3 * file->draws * 2 * sizeof(double));
        ck_assert_uint_eq(streamed->draws, memory->draws);
        ck_assert_uint_eq(streamed->proposals, memory->proposals);
        ck_assert_uint_eq(streamed->gradients, memory->gradients);
        hs_chains_free(file);
        /* Chains without draws: nobody may read what is not there. */
        ck_assert_msg(streamed->x == NULL, "streamed chains say that they have draws");
        hs_report report;
        ck_assert_int_eq(hs_diagnose(streamed, NULL, &report, &message), HS_EINVAL);
    }
    unlink(path);
    hs_session_free(s);
}
END_TEST

START_TEST(a_stream_that_cannot_be_written_is_an_error)
{
    hs_session *s = mt_session(4);
    const hs_target *t = mt_target_modes(s, 2);
    ck_assert_ptr_null(hs_sample(s, t, mk_mala(s, t),
                                 &(hs_sample_options){ .stream = "/no/such/directory/draws.npy" }));
    ck_session_failed(s, HS_EIO, "/no/such/directory/draws.npy");
    hs_session_free(s);
}
END_TEST

/* ---- Auxiliary coordinates, points, bad options ------------------------------------------------- */

START_TEST(auxiliary_coordinates_are_not_kept)
{
    hs_session *s = mt_session(4);
    const hs_target *base = mt_target_modes(s, 2), *t = hs_target_augment(s, base, 3);
    const hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 5, .step = 0.8 });
    const double points[6] = { 0, 1, 2, 3, 4, 5 };
    hs_chains *c = hs_sample(
        s, t, p,
        &(hs_sample_options){ .chains = 3, .draws = 500, .points = points, .n_points = 3 });
    ck_session_ok(s);
    ck_assert_uint_eq(c->dim, 2);
    /* The jump is that of the two: at most alpha times a square that is not 5-dimensional. */
    double jump = 0;
    for (size_t i = 0; i < 1500; i++)
        jump += c->jump[i] / 1500;
    ck_assert_msg(jump > 0.1 && jump < 2 * 0.64, "jump %g", jump);
    ck_assert_ptr_nonnull(hs_sample(s, t, p, &(hs_sample_options){ .chains = 2, .draws = 4 }));
    hs_session_free(s);
}
END_TEST

/* A target's draw may use all of its 8 streams: an augmented target must not use one of them again. */
static hs_var last_stream_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    (void)self;
    return hs_normal(tape, extent, hs_dims(2), stream + HS_DRAW_STREAMS - 1);
}

START_TEST(auxiliary_draws_have_a_stream_of_their_own)
{
    hs_session *s = mt_session(4);
    const hs_target *base = hs_target_new(s, &(hs_target_spec){ .name = "greedy",
                                                                .dim = 2,
                                                                .log_density = mt_standard_density,
                                                                .draw = last_stream_draw });
    const hs_target *t = hs_target_augment(s, base, 2);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_target_draw(t, tape, HS_ROW, 0);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &x, 1, &(hs_plan_options){ .rows_per_start = 50 }), HS_OK);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    const double *v = hs_plan_get(plan, x);
    size_t equal = 0;
    for (size_t r = 0; r < 50; r++)
        equal += v[4 * r] == v[4 * r + 2];
    hs_plan_free(plan);
    hs_tape_free(tape);
    ck_assert_msg(equal == 0, "%zu of 50 auxiliary numbers are the target's own", equal);
    hs_session_free(s);
}
END_TEST

START_TEST(more_points_than_chains_are_picked_at_random)
{
    hs_session *s = mt_session(4);
    const hs_target *t = mt_target_standard(s, 1);
    const hs_proposal *p = hs_random_walk(s, &(hs_walk_options){ .dim = 1, .step = 1e-9 });
    double points[100];
    for (int i = 0; i < 100; i++)
        points[i] = i * 0.01;
    size_t differ = 0, known = 0;
    hs_chains *c = hs_sample(
        s, t, p,
        &(hs_sample_options){ .chains = 50, .draws = 1, .points = points, .n_points = 100 });
    for (size_t k = 0; k < 50; k++) {
        const double x = hs_chains_draw(c, k, 0)[0] * 100;
        differ += (size_t)lround(x) != k;
        known += fabs(x - round(x)) < 1e-4;
    }
    ck_assert_uint_eq(known, 50);
    ck_assert_uint_gt(differ, 30);
    c = hs_sample(
        s, t, p,
        &(hs_sample_options){ .chains = 100, .draws = 1, .points = points, .n_points = 100 });
    for (size_t k = 0; k < 100; k++) /* as many as chains: in order */
        ck_assert_close(hs_chains_draw(c, k, 0)[0], points[k], 0, 1e-7);
    hs_session_free(s);
}
END_TEST

START_TEST(bad_options_are_named)
{
    hs_session *s = mt_session(4);
    const hs_target *two = mt_target_standard(s, 2), *three = mt_target_standard(s, 3);
    const hs_target *blind = hs_target_new(
        s, &(hs_target_spec){ .name = "blind", .dim = 2, .log_density = mt_standard_density });
    const hs_proposal *p = mk_walk(s, two);
    const double points[4] = { 0 };
    ck_assert_ptr_null(
        hs_sample(s, two, p, &(hs_sample_options){ .chains = 5, .points = points, .n_points = 2 }));
    ck_session_failed(s, HS_EINVAL, "5", "2", "point");
    ck_assert_ptr_null(hs_sample(s, blind, p, NULL));
    ck_session_failed(s, HS_EINVAL, "blind", "points");
    ck_assert_ptr_null(hs_sample(s, three, p, NULL));
    ck_session_failed(s, HS_ESHAPE, "standard", "3", "2");
    ck_assert_ptr_null(hs_sample(s, two, NULL, NULL));
    ck_session_failed(s, HS_EINVAL, "proposal");
    const size_t half = (size_t)1 << 32;
    ck_assert_ptr_null(
        hs_sample(s, two, p, &(hs_sample_options){ .draws = half, .thin = half, .chains = 1 }));
    ck_session_failed(s, HS_EOVERFLOW, "sampling: more steps than can be counted");
    ck_assert_ptr_null(hs_sample(s, two, p, &(hs_sample_options){ .warmup = SIZE_MAX - 50 }));
    ck_session_failed(s, HS_EOVERFLOW, "sampling: more steps than can be counted");
    ck_assert_ptr_null(hs_sample(s, two, p, &(hs_sample_options){ .draws = half * 1024 }));
    ck_session_failed(s, HS_ENOMEM, "5 chains of 4398046511104 draws", "902 TB are needed");
    hs_chains *c = hs_sample(s, two, p, NULL); /* nothing of this did harm; the defaults */
    ck_session_ok(s);
    ck_assert(c->chains == 5 && c->draws == 1000 && c->dim == 2);
    ck_assert_ptr_null(hs_sample(s, NULL, p, NULL));
    ck_session_failed(s, HS_EINVAL, "target");
    hs_session_free(s);
}
END_TEST

static Suite *sample_suite(void)
{
    Suite *suite = suite_create("mcmc sample");
    TCase *tcase = tcase_create("sampling");
    tcase_set_timeout(tcase, 900);
    tcase_add_test(tcase, a_chain_by_hand);
    tcase_add_test(tcase, acceptance_is_in_log_space);
    tcase_add_test(tcase, points_outside_the_support_are_rejected_and_counted);
    tcase_add_test(tcase, a_bad_start_names_its_chain);
    tcase_add_test(tcase, a_chain_does_not_depend_on_others);
    tcase_add_test(tcase, thinning_and_warmup_leave_out_draws);
    tcase_add_test(tcase, stopped_early_the_draws_so_far_are_kept);
    tcase_add_test(tcase, a_stream_has_the_draws_that_memory_would_have);
    tcase_add_test(tcase, a_stream_that_cannot_be_written_is_an_error);
    tcase_add_test(tcase, auxiliary_coordinates_are_not_kept);
    tcase_add_test(tcase, auxiliary_draws_have_a_stream_of_their_own);
    tcase_add_test(tcase, more_points_than_chains_are_picked_at_random);
    tcase_add_test(tcase, bad_options_are_named);
    suite_add_tcase(suite, tcase);
    return suite;
}

HS_TEST_MAIN(sample_suite())
