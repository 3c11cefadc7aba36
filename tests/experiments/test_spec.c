/* Targets and proposals from text: every number that is said arrives, and what makes no sense is named. */
#include <sys/stat.h>

#include <hastings/experiments/points.h>
#include <hastings/experiments/spec.h>

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

/* ---- Targets ---------------------------------------------------------------------------------- */

/* How often |x| < bound in a coordinate of exact draws, by the distribution's own formula. */
static const struct {
    const char *text;
    size_t dim, original, coordinate;
    double bound, probability;
} drawn[] = {
    { "gaussian", 2, 2, 1, 1, 0.68268949 },
    { "gaussian,dim=3,sd=2", 3, 3, 2, 2, 0.68268949 },
    { "gaussian,dim=2,augment=3", 5, 2, 0, 1, 0.68268949 },
    { "laplace", 2, 2, 0, 1, 0.63212056 },
    { "laplace,dim=1,scale=2", 1, 1, 0, 2, 0.63212056 },
    { "cauchy", 2, 2, 0, 1, 0.5 },
    { "cauchy,dim=4,scale=3,augment=1", 5, 4, 3, 3, 0.5 },
    { "student", 2, 2, 0, 1, 0.60899778 }, /* 3 degrees: (sin 60 / 2 + 60 degrees) / 90 degrees */
    { "student,dof=1,scale=2", 2, 2, 0, 2, 0.5 }, /* Cauchy's */
    { "uniform", 2, 2, 1, 0.25, 0.25 },
    { "uniform,dim=3,log_odds=-40", 3, 3, 0, 1, 0.68268949 }, /* the normal alone */
    { "cross", 2, 2, 0, 0.70710678, 0.34134475 },             /* half of it is far away */
    { "cross,radius=9,variance=4", 2, 2, 1, 2, 0.34134475 },
    { "banana", 2, 2, 0, 10, 0.68268949 },
    { "banana,dim=3,sd=2,curvature=1", 3, 3, 2, 1, 0.68268949 },
    { "funnel", 2, 2, 0, 3, 0.68268949 },
    { "funnel,dim=5,sd=0.5", 5, 5, 0, 0.5, 0.68268949 },
};

START_TEST(test_targets_have_the_numbers)
{
    enum { N = 20000 };
    const hs_target *t = app_spec_target(s, drawn[_i].text);
    ck_session_ok(s);
    ck_assert_uint_eq(hs_target_dim(t), drawn[_i].dim);
    ck_assert_uint_eq(hs_target_original_dim(t), drawn[_i].original);
    app_points points;
    ck_assert_int_eq(app_points_exact(&points, s, t, N, 5), HS_OK);
    double inside = 0;
    for (size_t i = 0; i < N; i++)
        inside += fabs(points.x[i * points.dim + drawn[_i].coordinate]) < drawn[_i].bound;
    const double p = drawn[_i].probability;
    ck_assert_msg(fabs(inside / N - p) < 4.5 * sqrt(p * (1 - p) / N), "%s: %g, not %g",
                  drawn[_i].text, inside / N, p);
    app_points_free(&points);
}
END_TEST

/* Log density and its gradient [dim] at a point. */
static double density_at(const hs_target *t, const double *x, double *score)
{
    const size_t dim = hs_target_dim(t);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var at = hs_input(tape, "x", HS_ROW, hs_dims(dim));
    hs_var out[2] = { hs_target_log_density(t, at), hs_target_score(t, at) };
    hs_plan *plan;
    ck_assert_msg(hs_plan_new(&plan, out, 2, NULL) == HS_OK, "%s", hs_tape_error(tape));
    hs_plan_set(plan, at, x);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    const double density = *(const double *)hs_plan_get(plan, out[0]);
    if (score)
        memcpy(score, hs_plan_get(plan, out[1]), dim * sizeof *score);
    hs_plan_free(plan);
    hs_tape_free(tape);
    return density;
}

START_TEST(test_banana_is_bent)
{
    /* At x1 = curvature (x0^2 - sd^2) the second factor is at its top. */
    const hs_target *t = app_spec_target(s, "banana,sd=2,curvature=0.5");
    double score[2];
    const double density = density_at(t, (double[]){ 4, 6 }, score);
    ck_assert_close(density, -mt_log_2pi - log(2) - 2, 1e-12, 0);
    ck_assert_close(score[0], -1, 1e-9, 0);
    ck_assert_close(score[1], 0, 0, 1e-9);
}
END_TEST

START_TEST(test_uniform_is_pulled)
{
    const double outside[3] = { 2, -1, 0.5 };
    double true_score[3], pulled[3];
    const double a = density_at(app_spec_target(s, "uniform,dim=3"), outside, true_score);
    const double b = density_at(app_spec_target(s, "uniform,dim=3,pulled"), outside, pulled);
    ck_assert_close(a, b, 1e-14, 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_close(true_score[i], -outside[i], 1e-12, 0);
        ck_assert_close(pulled[i], -3 * outside[i], 1e-12, 0);
    }
}
END_TEST

START_TEST(test_logistic_has_the_prior)
{
    const hs_target *wide = app_spec_target(s, "logistic,data=ripley");
    const hs_target *narrow = app_spec_target(s, "logistic,data=data/ripley.csv,prior_sd=2");
    ck_session_ok(s);
    ck_assert_uint_eq(hs_target_dim(wide), 3); /* two features and the intercept */
    ck_assert(!hs_target_can_draw(wide));
    const double origin[3] = { 0 }, b[3] = { 1, -2, 3 };
    /* 250 labels of probability 1/2, and the prior's constant. */
    ck_assert_close(density_at(wide, origin, NULL), -250 * log(2) - 1.5 * mt_log_2pi - 3 * log(10),
                    1e-9, 0);
    const double narrowed = density_at(narrow, b, NULL) - density_at(narrow, origin, NULL);
    const double widened = density_at(wide, b, NULL) - density_at(wide, origin, NULL);
    ck_assert_close(narrowed - widened, -14 / 8.0 + 14 / 200.0, 1e-9, 0);
}
END_TEST

START_TEST(test_logistic_has_the_label)
{
    char path[] = "/tmp/hastings_spec_XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    const char text[] = "a,sick,b\n1,0,5\n2,1,3\n4,1,1\n3,0,2\n";
    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    char spec[128];
    snprintf(spec, sizeof spec, "logistic,data=%s,label=sick,augment=2", path);
    const hs_target *t = app_spec_target(s, spec);
    ck_session_ok(s);
    ck_assert_uint_eq(hs_target_dim(t), 5);
    ck_assert_uint_eq(hs_target_original_dim(t), 3);
    snprintf(spec, sizeof spec, "logistic,data=%s", path); /* the last column is not of 0 and 1 */
    ck_assert_ptr_null(app_spec_target(s, spec));
    ck_session_failed(s, HS_EINVAL, path, "line 2, column 3 (b)", "expected 0 or 1");
    snprintf(spec, sizeof spec, "logistic,data=%s,label=ill", path);
    ck_assert_ptr_null(app_spec_target(s, spec));
    ck_session_failed(s, HS_EINVAL, path, "no column is called \"ill\"");
    unlink(path);
}
END_TEST

/* ---- Proposals -------------------------------------------------------------------------------- */

static const double spread[2] = { 1, 10 };

/* Points with means 3 and -4, and sds 1 and 10. */
static const double four_points[] = {
    3 - 1, -4 - 10, 3 - 1, -4 + 10, 3 + 1, -4 - 10, 3 + 1, -4 + 10
};

static hs_proposal *proposal(const char *target, const char *text, bool scaled)
{
    const hs_target *t = app_spec_target(s, target);
    hs_proposal *p = app_spec_proposal(s, t, text, 0, scaled ? four_points : NULL, scaled ? 4 : 0);
    ck_session_ok(s);
    ck_assert_uint_eq(hs_proposal_dim(p), hs_target_dim(t));
    return p;
}

/* Means and sds of proposed points from x, of the first way of moving. */
static void moments_from(const hs_proposal *p, const double *x, double *mean, double *sd)
{
    enum { N = 4000 };
    const size_t dim = hs_proposal_dim(p);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var at = hs_input(tape, "x", HS_START, hs_dims(dim));
    hs_var n = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(p)), 3);
    hs_move moves[HS_MAX_WAYS];
    hs_proposal_moves(p, at, n, moves);
    hs_plan *plan;
    ck_assert_msg(hs_plan_new(&plan, &moves[0].y, 1,
                              &(hs_plan_options){ .starts = 1, .rows_per_start = N }) == HS_OK,
                  "%s", hs_tape_error(tape));
    hs_plan_set(plan, at, x);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 1 }), HS_OK);
    double *y = malloc(N * dim * sizeof *y);
    memcpy(y, hs_plan_get(plan, moves[0].y), N * dim * sizeof *y);
    app_points_moments(&(app_points){ N, dim, y }, mean, sd);
    free(y);
    hs_plan_free(plan);
    hs_tape_free(tape);
}

static double number_of(const hs_proposal *p, const char *name)
{
    double value[64];
    const hs_param found = hs_params_find(hs_proposal_params(p), name);
    ck_assert_msg(found.index >= 0, "there is no parameter %s", name);
    hs_param_get(found, value);
    return value[0];
}

/* What single steps do: means and sds of where they lead to from (2, 20). */
static const struct {
    const char *target, *text;
    bool scaled;
    double mean[2], sd[2];
} steps[] = {
    { "gaussian,sd=5", "random-walk", false, { 2, 20 }, { 1.68291, 1.68291 } }, /* 2.38 / sqrt(2) */
    { "gaussian,sd=5", "random-walk,step=0.5", false, { 2, 20 }, { 0.5, 0.5 } },
    { "gaussian,sd=5", "random-walk,step=0.5,log_step", false, { 2, 20 }, { 0.5, 0.5 } },
    { "gaussian,sd=5", "random-walk,step=0.5,diagonal,scaled=yes", true, { 2, 20 }, { 0.5, 5 } },
    { "gaussian,sd=5", "random-walk,step=0.5,scaled=no", true, { 2, 20 }, { 0.5, 0.5 } },
    { "gaussian,sd=5", "mala,step=0.5", false, { 2 - 0.04, 20 - 0.4 }, { 1, 1 } },
    { "gaussian,sd=5", "mala,step=0.5,scaled", true, { 2 - 0.04, 20 - 40 }, { 1, 10 } },
    { "gaussian", "multi-scheme,start=resampling,noise=1e-9", true, { 3, -4 }, { 1, 10 } },
    { "gaussian",
      "multi-scheme,start=random-walk,step=0.1,noise=1e-9",
      true,
      { 2, 20 },
      { 0.1, 1 } },
    /* tau = step^2 sd^2 / 2 of the normal with these moments */
    { "gaussian", "multi-scheme,start=mala,step=1,noise=1e-9", true, { 2.5, 8 }, { 1, 10 } },
};

START_TEST(test_steps_have_the_numbers)
{
    double mean[2], sd[2];
    const hs_proposal *p = proposal(steps[_i].target, steps[_i].text, steps[_i].scaled);
    moments_from(p, (double[]){ 2, 20 }, mean, sd);
    for (int j = 0; j < 2; j++) {
        ck_assert_msg(hs_close(sd[j], steps[_i].sd[j], 0.05, 0), "%s: sd %g, not %g",
                      steps[_i].text, sd[j], steps[_i].sd[j]);
        ck_assert_msg(fabs(mean[j] - steps[_i].mean[j]) < 5 * sd[j] / sqrt(4000),
                      "%s: mean %g, not %g", steps[_i].text, mean[j], steps[_i].mean[j]);
    }
}
END_TEST

START_TEST(test_parameters_are_those_asked_for)
{
    const hs_proposal *p = proposal("cross", "random-walk,step=0.25", false);
    ck_assert_double_eq(number_of(p, "step"), 0.25);
    p = proposal("cross", "mala,step=0.25,log_step", false);
    ck_assert_close(number_of(p, "log_step"), log(0.25), 1e-12, 0);
    p = proposal("gaussian,dim=7", "random-walk,diagonal", false);
    ck_assert_uint_eq(hs_params_size(hs_proposal_params(p)), 7);

    p = proposal("cross", "hmc,leapfrogs=3,step=0.125", false);
    ck_assert_double_eq(number_of(p, "step"), 0.125);
    ck_assert_uint_eq(hs_proposal_gradients(p), 3);
    ck_assert_uint_eq(hs_proposal_gradients(proposal("cross", "hmc", false)), 5);
    double scale[2];
    hs_param_get(hs_params_find(hs_proposal_params(proposal("cross", "hmc,scaled", true)), "scale"),
                 scale);
    ck_assert_close(scale[1], spread[1], 1e-12, 0);

    p = proposal("cross", "position-mixture,components=3,width=5,depth=2,sd=0.5", false);
    ck_assert_uint_eq(hs_proposal_ways(p), 3);
    ck_assert_close(number_of(p, "log_sd.2"), log(0.5), 1e-12, 0);
    ck_assert_int_ge(hs_params_find(hs_proposal_params(p), "shear.0").index, 0);
    p = proposal("cross", "position-mixture,components=3,width=5,depth=2,diagonal", false);
    ck_assert_int_lt(hs_params_find(hs_proposal_params(p), "shear.0").index, 0);
    /* (2 + 1) 5 + (5 + 1) 5 + (5 + 1) 3 of the network, and mean and sd of three in the plane */
    ck_assert_uint_eq(hs_params_size(hs_proposal_params(p)), 15 + 30 + 18 + 12);
}
END_TEST

/* Numbers of parameters: an MLP from a to b has (a + 1) w + (depth - 1) (w + 1) w + (w + 1) b. */
static size_t of_mlp(size_t in, size_t out, size_t width, size_t depth)
{
    return (in + 1) * width + (depth - 1) * (width + 1) * width + (width + 1) * out;
}

START_TEST(test_networks_have_the_size)
{
    const hs_proposal *p =
        proposal("gaussian,dim=4", "multi-scheme,couplings=0,width=5,depth=3", false);
    const size_t networks = hs_params_size(hs_proposal_params(p));
    ck_assert_uint_eq(networks, 4 * of_mlp(4, 4, 5, 3));
    p = proposal("gaussian,dim=4",
                 "multi-scheme,couplings=3,coupling_width=6,coupling_depth=2,width=5,depth=3",
                 false);
    const size_t with_flow = hs_params_size(hs_proposal_params(p));
    ck_assert_uint_ge(with_flow, networks + 3 * of_mlp(2, 2, 6, 2));
    ck_assert_uint_le(with_flow, networks + 3 * of_mlp(2, 2, 6, 2) + 16); /* and its scales */
    p = proposal("gaussian,dim=4", "multi-scheme,couplings=3,width=6,depth=2", false);
    ck_assert_uint_eq(hs_params_size(hs_proposal_params(p)) - 4 * of_mlp(4, 4, 6, 2),
                      with_flow - networks);
    p = proposal("gaussian,dim=4", "resampling-flow,couplings=3,width=6,depth=2", false);
    ck_assert_uint_eq(hs_params_size(hs_proposal_params(p)), with_flow - networks);
}
END_TEST

START_TEST(test_replicas_differ)
{
    const char *const texts[] = { "multi-scheme,couplings=2,width=4,depth=2",
                                  "multi-scheme,couplings=2,width=4,depth=2,start=resampling",
                                  "position-mixture,width=4,depth=2",
                                  "resampling-flow,couplings=2,width=4,depth=2" };
    const hs_target *t = app_spec_target(s, "cross");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double values[3][2000];
        for (uint64_t k = 0; k < 3; k++) {
            hs_proposal *p = app_spec_proposal(s, t, texts[i], k / 2, NULL, 0);
            ck_session_ok(s);
            ck_assert_uint_le(hs_params_size(hs_proposal_params(p)), 2000);
            hs_params_get(hs_proposal_params(p), values[k]);
            if (k)
                ck_assert_int_eq(memcmp(values[k - 1], values[k], 10 * sizeof(double)) == 0,
                                 k == 1);
        }
    }
}
END_TEST

START_TEST(test_starts_take_turns)
{
    /* Random walks of step 0.1 go nowhere; independent draws do not care where they were. */
    const hs_target *t = app_spec_target(s, "gaussian");
    for (uint64_t replica = 0; replica < 4; replica++) {
        double mean[2], sd[2];
        const hs_proposal *p =
            app_spec_proposal(s, t, "multi-scheme,start=random-walk+resampling,step=0.1,noise=1e-9",
                              replica, NULL, 0);
        ck_session_ok(s);
        moments_from(p, (double[]){ 50, 50 }, mean, sd);
        ck_assert_close(mean[0], replica % 2 ? 0 : 50, 0, 0.2);
        ck_assert_close(sd[0], replica % 2 ? 1 : 0.1, 0.1, 0);
    }
}
END_TEST

START_TEST(test_auxiliary_coordinates_are_standard)
{
    const hs_target *t = app_spec_target(s, "gaussian,augment=2");
    const hs_proposal *p =
        app_spec_proposal(s, t, "multi-scheme,start=resampling,noise=1e-9", 0, four_points, 4);
    double mean[4], sd[4];
    ck_session_ok(s);
    moments_from(p, (double[4]){ 0 }, mean, sd);
    const double expected_mean[4] = { 3, -4, 0, 0 }, expected_sd[4] = { 1, 10, 1, 1 };
    for (int i = 0; i < 4; i++) {
        ck_assert_close(mean[i], expected_mean[i], 0, 0.1 * expected_sd[i]);
        ck_assert_close(sd[i], expected_sd[i], 0.05, 0);
    }
}
END_TEST

/* ---- What makes no sense ----------------------------------------------------------------------- */

static const struct {
    const char *text, *says[3];
    hs_status status;
} wrong_targets[] = {
    { "gausian", { "there is no target \"gausian\"", "did you mean \"gaussian\"?" }, HS_EINVAL },
    { "", { "there is no target \"\"", "hastings list" }, HS_EINVAL },
    { "zzzzzz", { "there is no target \"zzzzzz\"; hastings list" }, HS_EINVAL },
    { "Gaussian", { "did you mean \"gaussian\"?" }, HS_EINVAL },
    { "gaussian,", { "target \"gaussian\" has no option \"\"" }, HS_EINVAL },
    { "gaussian,dims=3", { "has no option \"dims\"", "did you mean \"dim\"?" }, HS_EINVAL },
    { "gaussian,dim", { "dim=yes, but a whole number was expected" }, HS_EINVAL },
    { "gaussian,dim=", { "dim=, but a whole number" }, HS_EINVAL },
    { "gaussian,dim=-3", { "dim=-3, but a whole number" }, HS_EINVAL },
    { "gaussian,dim=2.5", { "dim=2.5, but a whole number" }, HS_EINVAL },
    { "gaussian,dim=99999999999999999999", { "but a whole number" }, HS_EINVAL },
    { "gaussian,dim=0", { "0 dimensions" }, HS_EINVAL },
    { "gaussian,sd=", { "sd=, but a number was expected" }, HS_EINVAL },
    { "gaussian,sd=wide", { "sd=wide, but a number was expected" }, HS_EINVAL },
    { "gaussian,sd=1 2", { "sd=1 2, but a number" }, HS_EINVAL },
    { "gaussian,sd= 1", { "sd= 1, but a number" }, HS_EINVAL },
    { "gaussian,sd=nan", { "sd=nan, but a number" }, HS_EINVAL },
    { "gaussian,sd=inf", { "sd=inf, but a number" }, HS_EINVAL },
    { "gaussian,sd=1e999", { "sd=1e999, but a number" }, HS_EINVAL },
    { "gaussian,sd=0", { "sd=0, but it cannot be 0" }, HS_EINVAL },
    { "gaussian,sd=-1", { "must be positive" }, HS_EINVAL },
    { "laplace,scale=0.0", { "scale=0.0, but it cannot be 0" }, HS_EINVAL },
    { "student,dof=-1", { "degrees of freedom" }, HS_EINVAL },
    { "uniform,log_odds=0", { "log_odds=0" }, HS_EINVAL },
    { "uniform,pulled=maybe", { "pulled=maybe, but yes or no was expected" }, HS_EINVAL },
    { "cross,dim=3", { "target \"cross\" has no option \"dim\"" }, HS_EINVAL },
    { "cross,radius=0", { "radius=0" }, HS_EINVAL },
    { "banana,dim=1", { "needs at least 2" }, HS_EINVAL },
    { "banana,curvature=-0", { "curvature=-0, but it cannot be 0" }, HS_EINVAL },
    { "funnel,dim=1", { "needs at least 2" }, HS_EINVAL },
    { "logistic", { "needs data=NAME" }, HS_EINVAL },
    { "logistic,data=", { "data=, but some text was expected" }, HS_EINVAL },
    { "logistic,data=germany", { "no data set \"germany\"", "--data FILE" }, HS_EIO },
    { "logistic,data=./nowhere.csv", { "./nowhere.csv" }, HS_EIO },
    { "logistic,data=ripley,label=zz", { "no column is called \"zz\"" }, HS_EINVAL },
    { "logistic,data=ripley,prior_sd=0", { "prior_sd=0" }, HS_EINVAL },
    { "mnist,folder=/nowhere", { "/nowhere/train-" }, HS_EIO },
    { "mnist,folder=/nowhere,zero=4294967301", { "classes 2147483647 and 6" }, HS_EINVAL },
}, wrong_proposals[] = {
    { "random_walk", { "there is no proposal", "did you mean \"random-walk\"?" }, HS_EINVAL },
    { "random-walk,setp=1", { "did you mean \"step\"?" }, HS_EINVAL },
    { "random-walk,step=-1", { "the step must be positive" }, HS_EINVAL },
    { "random-walk,diagonal=1", { "diagonal=1, but yes or no was expected" }, HS_EINVAL },
    { "mala,leapfrogs=3", { "proposal \"mala\" has no option \"leapfrogs\"" }, HS_EINVAL },
    { "hmc,leapfrogs=many", { "leapfrogs=many, but a whole number" }, HS_EINVAL },
    { "hmc,leapfrogs=0", { "leapfrogs=0, but a whole number of at least 1" }, HS_EINVAL },
    { "multi-scheme,width=0", { "width=0, but a whole number of at least 1" }, HS_EINVAL },
    { "resampling-flow,depth=00", { "depth=00, but a whole number of at least 1" }, HS_EINVAL },
    { "multi-scheme,start=foo", { "start=foo, but one of networks, resampling" }, HS_EINVAL },
    { "multi-scheme,start=", { "start=, but some text was expected" }, HS_EINVAL },
    { "multi-scheme,start=+", { "start=+" }, HS_EINVAL },
    { "position-mixture,components=65", { "at most 64" }, HS_EINVAL },
    /* which times 16 coordinates of 8 bytes would be 0 bytes */
    { "position-mixture,components=144115188075855872,clustered", { "at most 64" }, HS_EINVAL },
    { "position-mixture,sd=0", { "sd=0, but it cannot be 0" }, HS_EINVAL },
    { "position-mixture,sd=-1", { "positive" }, HS_EINVAL },
};

START_TEST(test_wrong_targets)
{
    ck_assert_ptr_null(app_spec_target(s, wrong_targets[_i].text));
    const char *const *says = wrong_targets[_i].says;
    ck_session_failed(s, wrong_targets[_i].status, says[0], says[1] ? says[1] : "",
                      says[2] ? says[2] : "");
}
END_TEST

START_TEST(test_wrong_proposals)
{
    const hs_target *t = app_spec_target(s, "gaussian,dim=16");
    double *points = mt_exact_points(s, t, 100, 1);
    ck_assert_ptr_null(app_spec_proposal(s, t, wrong_proposals[_i].text, 0, points, 100));
    const char *const *says = wrong_proposals[_i].says;
    ck_session_failed(s, wrong_proposals[_i].status, says[0], says[1] ? says[1] : "",
                      says[2] ? says[2] : "");
    free(points);
}
END_TEST

START_TEST(test_clusters_need_points)
{
    const hs_target *t = app_spec_target(s, "cross");
    ck_assert_ptr_null(app_spec_proposal(s, t, "position-mixture,clustered", 0, NULL, 0));
    ck_session_failed(s, HS_EINVAL, "clustered needs draws");
    t = app_spec_target(s, "gaussian,augment=2");
    ck_assert_ptr_null(app_spec_proposal(s, t, "position-mixture,clustered", 0, four_points, 4));
    ck_session_failed(s, HS_EINVAL, "without auxiliary coordinates");
    ck_assert_ptr_null(app_spec_proposal(s, NULL, "mala", 0, NULL, 0));
}
END_TEST

/* Every option of every kind takes its own default, and no value of another type. */
static void check_table(const char *what, const app_spec_entry *(*list)(size_t),
                        bool (*opens)(const char *text))
{
    static const char *const unfit[] = { [APP_SPEC_COUNT] = "1.5",
                                         [APP_SPEC_SIZE] = "0",
                                         [APP_SPEC_NUMBER] = "many",
                                         [APP_SPEC_FLAG] = "7",
                                         [APP_SPEC_TEXT] = "" };
    static const char *const expected[] = { [APP_SPEC_COUNT] = "a whole number",
                                            [APP_SPEC_SIZE] = "a whole number of at least 1",
                                            [APP_SPEC_NUMBER] = "a number",
                                            [APP_SPEC_FLAG] = "yes or no",
                                            [APP_SPEC_TEXT] = "some text" };
    for (size_t i = 0; list(i); i++) {
        const app_spec_entry *e = list(i);
        ck_assert_msg(e->doc && *e->doc, "%s \"%s\" is not described", what, e->kind);
        for (size_t k = 0; k < APP_SPEC_OPTIONS && e->options[k].name; k++) {
            const app_spec_option *o = &e->options[k];
            char text[128];
            for (size_t j = 0; j < k; j++)
                ck_assert_str_ne(e->options[j].name, o->name);
            if (o->standard) {
                snprintf(text, sizeof text, "%s,%s=%s", e->kind, o->name, o->standard);
                ck_assert_msg(opens(text) || strcmp(e->kind, "logistic") == 0 ||
                                  strcmp(e->kind, "mnist") == 0,
                              "%s: %s", text, hs_session_error(s));
                hs_session_clear(s);
            }
            snprintf(text, sizeof text, "%s,%s=%s", e->kind, o->name, unfit[o->type]);
            ck_assert_msg(!opens(text), "%s is taken", text);
            ck_session_failed(s, HS_EINVAL, what, e->kind, expected[o->type]);
        }
    }
}

static bool opens_target(const char *text)
{
    return app_spec_target(s, text) != NULL;
}

static bool opens_proposal(const char *text)
{
    return app_spec_proposal(s, app_spec_target(s, "cross"), text, 0, four_points, 4) != NULL;
}

START_TEST(test_tables)
{
    check_table("target", app_spec_targets, opens_target);
    check_table("proposal", app_spec_proposals, opens_proposal);
}
END_TEST

START_TEST(test_failed_sessions_stay_failed)
{
    hs_session_fail(s, HS_EIO, "an earlier error");
    ck_assert_ptr_null(app_spec_target(s, "cross"));
    ck_session_failed(s, HS_EIO, "an earlier error");
}
END_TEST

/* ---- Optimisers --------------------------------------------------------------------------------- */

START_TEST(test_optimizers)
{
    hs_optimizer_options o = { 0 };
    hs_message m;
    ck_assert(app_spec_optimizer("sgd,momentum=0.5,rate=2e-3,clip_norm=4", &o, &m));
    ck_assert_str_eq(o.name, "sgd");
    ck_assert(o.momentum == 0.5 && o.rate == 2e-3 && o.clip_norm == 4 && o.beta1 == 0);
    static const struct {
        const char *text, *part;
    } wrong[] = {
        { "", "there is no optimiser \"\", only sgd, adam, adamw" },
        { "adams", "there is no optimiser \"adams\", only" },
        { "ada,rate=1", "there is no optimiser \"ada\", only" },
        { "adam,beta3=1", "optimiser \"adam\" has no option \"beta3\"; did you mean \"beta1\"?" },
        { "adam,", "has no option \"\"" },
        { "adam,beta1", "a number was expected" },
        { "adam,beta1=", "a number was expected" },
        { "adam,beta1=0.5x", "beta1=0.5x, but a number was expected" },
        { "adam,rate=-1", "rate must be positive" },
        { "adam,beta2=1", "adam: beta2 must be in (0, 1), but is 1" },
        { "adamw,weight_decay=0", "weight_decay=0, but it cannot be 0" },
        { "sgd,nesterov=1", "with nesterov" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!app_spec_optimizer(wrong[i].text, &o, &m));
        ck_assert_msg(strstr(m.text, wrong[i].part), "\"%s\": \"%s\" does not say \"%s\"",
                      wrong[i].text, m.text, wrong[i].part);
        ck_assert(!strcmp(o.name, "sgd") && o.momentum == 0.5); /* as it was */
    }
    /* Each one of the library, as the defaults of its text. */
    for (size_t i = 0; hs_optimizer_list(i); i++) {
        const hs_optimizer_entry *e = hs_optimizer_list(i);
        hs_optimizer_options standard;
        ck_assert_str_eq(app_spec_optimizers(i)->kind, e->name);
        ck_assert(app_spec_optimizer(e->name, &o, &m));
        ck_assert_int_eq(
            hs_optimizer_check(&(hs_optimizer_options){ .name = e->name }, &standard, &m), HS_OK);
        ck_assert(o.momentum == standard.momentum && o.beta1 == standard.beta1 &&
                  o.beta2 == standard.beta2 && o.epsilon == standard.epsilon &&
                  o.weight_decay == standard.weight_decay);
    }
}
END_TEST

/* ---- Spelling, and files ----------------------------------------------------------------------- */

static const char *nth(size_t i, void *words)
{
    return ((const char *const *)words)[i];
}

START_TEST(test_nearest)
{
    const char *words[] = {
        "acceptance", "msjd", "cross", "crosses", "steps", "starts", "d", NULL
    };
    const struct {
        const char *name, *near;
    } tries[] = {
        { "cros", "cross" },
        { "crossed", "crosses" },
        { "msdj", NULL },
        { "mjsd", NULL },
        { "acceptence", "acceptance" },
        { "step", "steps" },
        { "stats", "starts" },
        { "acc", "acceptance" },
        { "zebra", NULL },
        { "", "d" },
        { "CROSS", NULL },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const char *near = app_nearest(tries[i].name, nth, words);
        if (!tries[i].near && near && strlen(tries[i].name) == 4)
            continue; /* two letters exchanged: near enough or not */
        ck_assert_msg(near == tries[i].near ||
                          (near && tries[i].near && !strcmp(near, tries[i].near)),
                      "%s: %s, not %s", tries[i].name, near ? near : "none",
                      tries[i].near ? tries[i].near : "none");
    }
    char name[3000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_ptr_null(app_nearest(name, nth, words));
    const char *none[] = { NULL };
    ck_assert_ptr_null(app_nearest("cross", nth, none));
}
END_TEST

START_TEST(test_find_file)
{
    char path[4096], home[] = "/tmp/hastings_home_XXXXXX", folder[64], file[128];
    ck_assert(app_find_file("data", "ripley.csv", path));
    ck_assert_int_eq(access(path, R_OK), 0);
    ck_assert(!app_find_file("data", "nowhere.csv", path));
    ck_assert(!app_find_file("nowhere", "", path));

    /* One's own home goes first, and what it has not is found elsewhere. */
    ck_assert_ptr_nonnull(mkdtemp(home));
    snprintf(folder, sizeof folder, "%s/data", home);
    snprintf(file, sizeof file, "%s/ripley.csv", folder);
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    fputs("a,y\n1,0\n2,1\n", f);
    fclose(f);
    setenv("HASTINGS_HOME", home, 1);
    ck_assert(app_find_file("data", "ripley.csv", path));
    ck_assert_str_eq(path, file);
    const hs_target *own = app_spec_target(s, "logistic,data=ripley");
    ck_session_ok(s);
    ck_assert_uint_eq(hs_target_dim(own), 2);
    ck_assert(app_find_file("data", "german.csv", path));
    ck_assert(strncmp(path, home, strlen(home)) != 0);
    setenv("HASTINGS_HOME", "", 1);
    ck_assert(app_find_file("data", "ripley.csv", path));
    ck_assert_str_ne(path, file);
    char longer[5000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    setenv("HASTINGS_HOME", longer, 1);
    ck_assert(app_find_file("data", "ripley.csv", path));
    unsetenv("HASTINGS_HOME");
    unlink(file);
    rmdir(folder);
    ck_assert_int_eq(rmdir(home), 0);
}
END_TEST

static Suite *spec_suite(void)
{
    Suite *suite = suite_create("spec");
    TCase *t = tcase_create("spec");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, test_targets_have_the_numbers, 0, sizeof drawn / sizeof *drawn);
    tcase_add_test(t, test_banana_is_bent);
    tcase_add_test(t, test_uniform_is_pulled);
    tcase_add_test(t, test_logistic_has_the_prior);
    tcase_add_test(t, test_logistic_has_the_label);
    tcase_add_loop_test(t, test_steps_have_the_numbers, 0, sizeof steps / sizeof *steps);
    tcase_add_test(t, test_parameters_are_those_asked_for);
    tcase_add_test(t, test_networks_have_the_size);
    tcase_add_test(t, test_replicas_differ);
    tcase_add_test(t, test_starts_take_turns);
    tcase_add_test(t, test_auxiliary_coordinates_are_standard);
    tcase_add_loop_test(t, test_wrong_targets, 0, sizeof wrong_targets / sizeof *wrong_targets);
    tcase_add_loop_test(t, test_wrong_proposals, 0,
                        sizeof wrong_proposals / sizeof *wrong_proposals);
    tcase_add_test(t, test_clusters_need_points);
    tcase_add_test(t, test_tables);
    tcase_add_test(t, test_failed_sessions_stay_failed);
    tcase_add_test(t, test_optimizers);
    tcase_add_test(t, test_nearest);
    tcase_add_test(t, test_find_file);
    suite_add_tcase(suite, t);
    return suite;
}

HS_TEST_MAIN(spec_suite())
