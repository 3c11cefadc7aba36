/* Draws of targets: exact, by a long chain, picked again, in files, and where they cluster. */
#include "experiments/clusters_internal.h"
#include <hastings/experiments/points.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/targets/targets.h>

#include "support/mcmc_common.h"

static hs_session *s;

static void begin(void)
{
    s = mt_session(1);
}

static void end(void)
{
    hs_session_free(s);
}

/* ---- Exact -------------------------------------------------------------------------------------- */

START_TEST(test_exact)
{
    enum { N = 10500 }; /* not a whole number of batches */
    const hs_target *t = app_spec_target(s, "gaussian,dim=3,sd=2,augment=2");
    app_points a, b, c;
    ck_assert_int_eq(app_points_exact(&a, s, t, N, 7), HS_OK);
    ck_assert_int_eq(app_points_exact(&b, s, t, N, 7), HS_OK);
    ck_assert_int_eq(app_points_exact(&c, s, t, N, 8), HS_OK);
    ck_assert_uint_eq(a.n, N);
    ck_assert_uint_eq(a.dim, 3);
    ck_assert_int_eq(memcmp(a.x, b.x, N * 3 * sizeof *a.x), 0);
    ck_assert_int_ne(memcmp(a.x, c.x, 3 * sizeof *a.x), 0);
    double mean[3], sd[3];
    app_points_moments(&a, mean, sd);
    for (int j = 0; j < 3; j++) {
        ck_assert_close(mean[j], 0, 0, 4.5 * 2 / sqrt(N));
        ck_assert_close(sd[j], 2, 4.5 / sqrt(2 * N), 0);
    }
    /* Draws do not repeat, from batch to batch or within one. */
    double lag[3] = { 0 };
    const size_t lags[3] = { 1, 1000, 5000 };
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i + lags[k] < N; i++)
            lag[k] += a.x[3 * i] * a.x[3 * (i + lags[k])] / (4.0 * N);
        ck_assert_close(lag[k], 0, 0, 4.5 / sqrt(N - 5000));
    }
    app_points_free(&a);
    ck_assert_ptr_null(a.x);
    app_points_free(&b);
    app_points_free(&c);
}
END_TEST

/* Numbers whose product wraps to a block of no bytes. */
START_TEST(test_more_points_than_memory)
{
    app_points points;
    const size_t n = (size_t)1 << 63;
    const hs_target *t = app_spec_target(s, "cross");
    ck_assert_int_eq(app_points_exact(&points, s, t, n, 1), HS_ENOMEM);
    ck_session_failed(s, HS_ENOMEM, "out of memory for 9223372036854775808 points",
                      "more than 18.4 EB are needed", "left");
    ck_assert_ptr_null(points.x);
    const app_reference_chain_options many = { .proposals = SIZE_MAX, .chains = n / 4 };
    const hs_target *wide = app_spec_target(s, "gaussian,dim=8");
    ck_assert_int_eq(app_points_reference(&points, s, wide, &many), HS_ENOMEM);
    ck_session_failed(s, HS_ENOMEM, "out of memory for 2305843009213693952 chains",
                      "more than 18.4 EB are needed");
    ck_assert_ptr_null(points.x);
}
END_TEST

START_TEST(test_exact_in_float32)
{
    hs_session *f32 = hs_session_new(&(hs_session_options){ .seed = 1, .float32 = true });
    app_points points;
    ck_assert_int_eq(app_points_exact(&points, f32, app_spec_target(f32, "cross"), 4000, 3), HS_OK);
    double mean[2], sd[2];
    app_points_moments(&points, mean, sd);
    ck_assert_close(sd[0], sqrt(8.5), 0.03, 0); /* radius^2 / 2 + variance */
    app_points_free(&points);
    hs_session_free(f32);
}
END_TEST

START_TEST(test_exact_where_there_is_none)
{
    app_points points;
    ck_assert_int_ne(
        app_points_exact(&points, s, app_spec_target(s, "logistic,data=ripley"), 10, 1), HS_OK);
    ck_assert_ptr_null(points.x);
    ck_assert_str_ne(hs_session_error(s), "");
}
END_TEST

/* ---- A long chain ------------------------------------------------------------------------------- */

START_TEST(test_reference)
{
    /* 250 labels and a narrow prior: next to a Gaussian, whose moments Newton's method finds. */
    const hs_target *t = app_spec_target(s, "logistic,data=ripley,prior_sd=0.1,augment=2");
    const hs_target *plain = app_spec_target(s, "logistic,data=ripley,prior_sd=0.1");
    double mode[3], covariance[9], mean[3], sd[3];
    ck_assert_int_eq(hs_laplace_approximation(s, plain, NULL, mode, covariance), HS_OK);
    app_points points;
    ck_assert_int_eq(
        app_points_reference(&points, s, t,
                             &(app_reference_chain_options){
                                 .proposals = 20000, .chains = 20, .warmup = 300, .seed = 3 }),
        HS_OK);
    ck_session_ok(s);
    ck_assert_uint_eq(points.n, 20000);
    ck_assert_uint_eq(points.dim, 3);
    app_points_moments(&points, mean, sd);
    for (int j = 0; j < 3; j++) {
        const double width = sqrt(covariance[4 * j]);
        ck_assert_msg(fabs(mean[j] - mode[j]) < 0.1 * width, "mean %g, mode %g, sd %g", mean[j],
                      mode[j], width);
        ck_assert_close(sd[j], width, 0.06, 0);
    }
    double correlation = 0;
    for (size_t i = 0; i < points.n; i++)
        correlation += (points.x[3 * i] - mean[0]) * (points.x[3 * i + 1] - mean[1]) /
                       (sd[0] * sd[1] * (double)points.n);
    ck_assert_close(correlation, covariance[1] / sqrt(covariance[0] * covariance[4]), 0, 0.06);
    app_points_free(&points);
}
END_TEST

static app_points reference_on(int threads, uint64_t seed)
{
    hs_session *own = hs_session_new(&(hs_session_options){ .seed = 1, .threads = threads });
    app_points points;
    ck_assert_int_eq(
        app_points_reference(&points, own, app_spec_target(own, "logistic,data=ripley"),
                             &(app_reference_chain_options){
                                 .proposals = 600, .chains = 6, .warmup = 30, .seed = seed }),
        HS_OK);
    hs_session_free(own);
    return points;
}

START_TEST(test_reference_is_reproducible)
{
    app_points one = reference_on(1, 5), two = reference_on(2, 5), other = reference_on(1, 6);
    ck_assert_uint_eq(one.n, 600);
    ck_assert_int_eq(memcmp(one.x, two.x, one.n * one.dim * sizeof *one.x), 0);
    ck_assert_int_ne(memcmp(one.x, other.x, one.dim * sizeof *one.x), 0);
    app_points_free(&one);
    app_points_free(&two);
    app_points_free(&other);
}
END_TEST

static bool stop_in(const hs_progress *p, void *phase)
{
    return strcmp(p->what, phase) != 0;
}

START_TEST(test_reference_stops)
{
    static char phases[2][8] = { "tune", "sample" };
    const hs_target *t = app_spec_target(s, "logistic,data=ripley");
    for (int i = 0; i < 2; i++) {
        app_points points;
        ck_assert_int_eq(
            app_points_reference(&points, s, t,
                                 &(app_reference_chain_options){ .proposals = 4000,
                                                                 .chains = 4,
                                                                 .warmup = 50,
                                                                 .progress = stop_in,
                                                                 .context = phases[i] }),
            HS_OK);
        ck_assert(i == 0 || points.n < 4000);
        app_points_free(&points);
    }
}
END_TEST

START_TEST(test_few_proposals)
{
    /* More chains than there are proposals for: one chain. */
    app_points points;
    ck_assert_int_eq(app_points_reference(&points, s, app_spec_target(s, "cross"),
                                          &(app_reference_chain_options){
                                              .proposals = 8, .chains = 100, .warmup = 10 }),
                     HS_OK);
    ck_assert_uint_eq(points.n, 8);
    app_points_free(&points);
}
END_TEST

/* ---- Moments, and files --------------------------------------------------------------------------- */

START_TEST(test_moments)
{
    double x[] = { 1, 10, 3, 10, 5, 10 }, mean[2], sd[2];
    app_points_moments(&(app_points){ 3, 2, x }, mean, sd);
    ck_assert_double_eq(mean[0], 3);
    ck_assert_double_eq(mean[1], 10);
    ck_assert_close(sd[0], sqrt(8.0 / 3), 1e-14, 0);
    ck_assert_double_eq(sd[1], 0);
}
END_TEST

START_TEST(test_files)
{
    char path[] = "/tmp/hastings_points_XXXXXX", file[64];
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(file, sizeof file, "%s/points.npy", path);
    app_points points, back;
    hs_message m;
    ck_assert_int_eq(app_points_exact(&points, s, app_spec_target(s, "gaussian,dim=3"), 77, 3),
                     HS_OK);
    ck_assert_int_eq(app_points_save(&points, file, &m), HS_OK);
    ck_assert_int_eq(app_points_load(&back, file, &m), HS_OK);
    ck_assert_uint_eq(back.n, 77);
    ck_assert_uint_eq(back.dim, 3);
    ck_assert_int_eq(memcmp(points.x, back.x, 77 * 3 * sizeof(double)), 0);
    app_points_free(&back);
    ck_assert_int_eq(truncate(file, 300), 0);
    ck_assert_int_ne(app_points_load(&back, file, &m), HS_OK);
    ck_assert_msg(strstr(m.text, file) != NULL, "%s", m.text);
    ck_assert_ptr_null(back.x);
    unlink(file);
    ck_assert_int_eq(app_points_load(&back, file, &m), HS_EIO);
    ck_assert_int_eq(app_points_save(&points, "/dev/null/points.npy", &m), HS_EIO);
    ck_assert_int_eq(rmdir(path), 0);
    app_points_free(&points);
}
END_TEST

/* ---- Independent draws as chains ------------------------------------------------------------------ */

START_TEST(test_resample)
{
    enum { CHAINS = 4, DRAWS = 2500, N = 1000 };
    /* Sorted points: whoever takes them in order is found out. */
    double x[2 * N], mean[2], sd[2];
    for (int i = 0; i < N; i++) {
        x[2 * i] = i;
        x[2 * i + 1] = 3 * (i % 7);
    }
    app_points points = { N, 2, x };
    hs_chains *c, *again;
    hs_message m;
    ck_assert_int_eq(app_points_resample(&c, &points, CHAINS, DRAWS, 5, &m), HS_OK);
    ck_assert_int_eq(app_points_resample(&again, &points, CHAINS, DRAWS, 5, &m), HS_OK);
    ck_assert_int_eq(memcmp(c->x, again->x, CHAINS * DRAWS * 2 * sizeof(double)), 0);
    double jump = 0, lag = 0;
    app_points_moments(&points, mean, sd);
    for (size_t i = 0; i < CHAINS * DRAWS; i++) {
        ck_assert_double_eq(c->alpha[i], 1);
        ck_assert_int_eq(c->accepted[i], 1);
        jump += c->jump[i] / (CHAINS * DRAWS);
        lag +=
            i % DRAWS ? (c->x[2 * i] - mean[0]) * (c->x[2 * i - 2] - mean[0]) / (sd[0] * sd[0]) : 0;
        ck_assert_double_eq(c->x[2 * i + 1],
                            3 * ((int)c->x[2 * i] % 7)); /* a point, and no mixture */
    }
    const double n = CHAINS * DRAWS;
    ck_assert_close(jump, 2 * (sd[0] * sd[0] + sd[1] * sd[1]), 0.05, 0); /* 2 tr cov */
    ck_assert_close(lag / n, 0, 0, 4.5 / sqrt(n));
    double first, later;
    app_points_moments(&(app_points){ DRAWS, 2, c->x }, mean, sd);
    first = mean[0];
    app_points_moments(&(app_points){ DRAWS, 2, c->x + DRAWS * 2 }, mean, sd);
    later = mean[0];
    ck_assert_close(first, 499.5, 0, 4.5 * 289 / sqrt(DRAWS));
    ck_assert_close(later, 499.5, 0, 4.5 * 289 / sqrt(DRAWS));
    ck_assert_double_ne(first, later);
    hs_chains_free(c);
    hs_chains_free(again);
}
END_TEST

START_TEST(test_resample_of_exact_draws)
{
    enum { CHAINS = 3, DRAWS = 2000 };
    const hs_target *t = app_spec_target(s, "cross");
    app_points points;
    hs_chains *c;
    hs_message m;
    ck_assert_int_eq(app_points_exact(&points, s, t, CHAINS * DRAWS, 5), HS_OK);
    ck_assert_int_eq(app_points_resample(&c, &points, CHAINS, DRAWS, 6, &m), HS_OK);
    ck_assert_int_eq(memcmp(c->x, points.x, CHAINS * DRAWS * 2 * sizeof(double)),
                     0); /* each once */
    hs_report report;
    ck_assert_int_eq(hs_diagnose(c, NULL, &report, &m), HS_OK);
    ck_assert_double_eq(report.acceptance, 1);
    ck_assert_close(report.msjd, 34, 0.04, 0); /* 2 radius^2 + 4 variance */
    ck_assert_double_gt(report.ess_per_proposal, 0.8);
    ck_assert_double_lt(report.rhat, 1.01);
    hs_report_free(&report);
    hs_chains_free(c);
    app_points_free(&points);
}
END_TEST

/* ---- Clusters -------------------------------------------------------------------------------------- */

START_TEST(test_clusters_of_the_cross)
{
    app_points points;
    ck_assert_int_eq(
        app_points_exact(&points, s, app_spec_target(s, "cross"), 4000, 11 + (uint64_t)_i), HS_OK);
    double centre[8];
    const double sd = app_find_clusters(&points, 4, centre);
    ck_assert_close(sd, sqrt(0.5), 0.03, 0);
    const double expected[4][2] = { { 4, 0 }, { -4, 0 }, { 0, 4 }, { 0, -4 } };
    for (int k = 0; k < 4; k++) {
        int found = 0;
        for (int c = 0; c < 4; c++)
            found +=
                hypot(centre[2 * c] - expected[k][0], centre[2 * c + 1] - expected[k][1]) < 0.15;
        ck_assert_int_eq(found, 1);
    }
    app_points_free(&points);
}
END_TEST

START_TEST(test_odd_clusters)
{
    double x[] = { 1, 2, 5, 2, 1, 2, 5, 2 }, centre[HS_MAX_WAYS * CLUSTER_DIM] = { 0 };
    app_points points = { 4, 2, x };
    /* One cluster is the mean. */
    ck_assert_close(app_find_clusters(&points, 1, centre), sqrt(2), 1e-12, 0);
    ck_assert_close(centre[0], 3, 1e-12, 0);
    ck_assert_close(centre[1], 2, 1e-12, 0);
    /* More clusters than points: all finite, and nothing is far from its centre. */
    ck_assert_double_eq(app_find_clusters(&points, HS_MAX_WAYS, centre), 0);
    for (size_t i = 0; i < HS_MAX_WAYS; i++)
        ck_assert(centre[2 * i] == 1 || centre[2 * i] == 5);
    ck_assert_double_eq(app_find_clusters(&(app_points){ 1, 2, x }, 2, centre), 0);
    /* As many dimensions as there can be. */
    double wide[4 * CLUSTER_DIM];
    for (int i = 0; i < 4 * CLUSTER_DIM; i++)
        wide[i] = i % CLUSTER_DIM + 100 * (i / (2 * CLUSTER_DIM));
    ck_assert_double_eq(app_find_clusters(&(app_points){ 4, CLUSTER_DIM, wide }, 2, centre), 0);
    ck_assert_double_eq(centre[CLUSTER_DIM - 1], CLUSTER_DIM - 1);
    ck_assert_double_eq(centre[2 * CLUSTER_DIM - 1], CLUSTER_DIM - 1 + 100);
}
END_TEST

static Suite *points_suite(void)
{
    Suite *suite = suite_create("points");
    TCase *t = tcase_create("points");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_test(t, test_exact);
    tcase_add_test(t, test_more_points_than_memory);
    tcase_add_test(t, test_exact_in_float32);
    tcase_add_test(t, test_exact_where_there_is_none);
    tcase_add_test(t, test_reference);
    tcase_add_test(t, test_reference_is_reproducible);
    tcase_add_test(t, test_reference_stops);
    tcase_add_test(t, test_few_proposals);
    tcase_add_test(t, test_moments);
    tcase_add_test(t, test_files);
    tcase_add_test(t, test_resample);
    tcase_add_test(t, test_resample_of_exact_draws);
    tcase_add_loop_test(t, test_clusters_of_the_cross, 0, 3);
    tcase_add_test(t, test_odd_clusters);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(points_suite())
