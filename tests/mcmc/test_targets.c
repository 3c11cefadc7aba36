/* The library's targets: log densities against plain C, normalisation, gradients, and exact
 * draws. */
#include "support/hs_check.h"

#include <string.h>

#include <hastings.h>
#include <hastings/mcmc/targets/targets.h>

#include "support/target_cases.h"

/* ---- Running --------------------------------------------------------------------------------- */

static hs_session *session_new(bool float32)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .float32 = float32 });
    ck_assert_ptr_nonnull(s);
    return s;
}

static hs_target *make(hs_session *s, const target_case *c)
{
    hs_target *t = c->make(s, c->dim);
    ck_assert_msg(t && hs_session_status(s) == HS_OK, "%s: %s", c->name, hs_session_error(s));
    ck_assert_uint_eq(hs_target_dim(t), c->dim);
    return t;
}

static double number(hs_dtype dtype, const void *from, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

/* Log densities of n points [n][dim], in the given number type, which the points are rounded to. */
static void evaluate(const hs_target *t, hs_dtype dtype, double *x, size_t n, double *values)
{
    const size_t dim = hs_target_dim(t);
    hs_tape *tape = hs_tape_new(dtype);
    hs_var point = hs_input(tape, "x", HS_ROW, hs_dims(dim));
    hs_var value = hs_target_log_density(t, point);
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, &value, 1, &(hs_plan_options){ .starts = n });
    ck_assert_msg(status == HS_OK, "%s", hs_tape_error(tape));
    float *rounded = malloc(n * dim * sizeof *rounded);
    for (size_t i = 0; dtype == HS_F32 && i < n * dim; i++) {
        rounded[i] = (float)x[i];
        x[i] = (double)rounded[i];
    }
    hs_plan_set(plan, point, dtype == HS_F32 ? (const void *)rounded : (const void *)x);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    for (size_t i = 0; i < n; i++)
        values[i] = number(dtype, hs_plan_get(plan, value), i);
    free(rounded);
    hs_plan_free(plan);
    hs_tape_free(tape);
}

/* n exact draws [n][dim], and their log densities. */
static void draw(const hs_target *t, size_t n, double *x, double *values)
{
    const size_t dim = hs_target_dim(t);
    const hs_dtype dtype = hs_session_dtype(hs_target_session(t));
    hs_tape *tape = hs_tape_new(dtype);
    hs_var point = hs_target_draw(t, tape, HS_START, 40);
    hs_var out[] = { point, hs_target_log_density(t, point) };
    hs_plan *plan;
    const hs_status status = hs_plan_new(&plan, out, 2, &(hs_plan_options){ .starts = n });
    ck_assert_msg(status == HS_OK, "%s", hs_tape_error(tape));
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ .seed = 11, .step = 3 }), HS_OK);
    for (size_t i = 0; i < n * dim; i++)
        x[i] = number(dtype, hs_plan_get(plan, point), i);
    for (size_t i = 0; i < n; i++)
        values[i] = number(dtype, hs_plan_get(plan, out[1]), i);
    hs_plan_free(plan);
    hs_tape_free(tape);
}

static void points(const target_case *c, size_t n, double *x)
{
    const double low = c->low == c->high ? -3 : c->low, high = c->low == c->high ? 3 : c->high;
    hs_random_rows(HS_F64, HS_UNIFORM, (hs_address){ .seed = 5 }, 0, n, c->dim, x);
    for (size_t i = 0; i < n * c->dim; i++) {
        x[i] = low + (high - low) * x[i];
        if (fabs(x[i]) < c->away)
            x[i] = c->away;
    }
}

/* ---- Log densities --------------------------------------------------------------------------- */

START_TEST(values_are_those_of_plain_c)
{
    enum { POINTS = 50 };
    const target_case *c = &cases[_i];
    double x[POINTS * MOST], values[POINTS];
    for (int float32 = 0; float32 < 2; float32++) {
        hs_session *s = session_new(float32);
        hs_target *t = make(s, c);
        for (int f32 = 0; f32 < 2; f32++) { /* tapes of either type, whatever the session's */
            points(c, POINTS, x);
            evaluate(t, f32 ? HS_F32 : HS_F64, x, POINTS, values);
            const double tolerance = f32 ? 4e-6 : 1e-12;
            for (size_t i = 0; i < POINTS; i++) {
                const double expected = c->log_density(x + i * c->dim, c->dim);
                ck_assert_msg(hs_close(values[i], expected, tolerance, tolerance),
                              "%s %zu: %.17g instead of %.17g", c->name, c->dim, values[i],
                              expected);
            }
        }
        hs_session_free(s);
    }
}
END_TEST

/* Midpoints of x = tan(angle) in each coordinate: edges at 0 and 1 are edges of cells. */
START_TEST(densities_integrate_to_one)
{
    const target_case *c = &cases[_i];
    if (c->dim > 2)
        return;
    const size_t parts = c->dim == 1 ? 40000 : 600, n = c->dim == 1 ? parts : parts * parts;
    double *x = malloc(n * c->dim * sizeof *x), *values = malloc(n * sizeof *values);
    double *copy = malloc(n * c->dim * sizeof *copy), sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->dim; k++) {
            const size_t cell = k == 0 ? i % parts : i / parts;
            x[i * c->dim + k] = tan(pi * (((double)cell + 0.5) / (double)parts - 0.5));
        }
    memcpy(copy, x, n * c->dim * sizeof *copy);
    hs_session *s = session_new(false);
    evaluate(make(s, c), HS_F64, copy, n, values);
    for (size_t i = 0; i < n; i++) {
        double width = 1;
        for (size_t k = 0; k < c->dim; k++)
            width *= pi / (double)parts * (1 + x[i * c->dim + k] * x[i * c->dim + k]);
        sum += exp(values[i]) * width;
    }
    ck_assert_msg(fabs(sum - 1) < (c->dim == 1 ? 1e-7 : 1e-5), "%s %zu: %.9g", c->name, c->dim,
                  sum);
    hs_session_free(s);
    free(copy);
    free(values);
    free(x);
}
END_TEST

START_TEST(gradients_match_differences)
{
    enum { POINTS = 6 };
    const target_case *c = &cases[_i];
    double x[POINTS * MOST];
    points(c, POINTS, x);
    hs_session *s = session_new(false);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var point = hs_input(tape, "x", HS_ROW, hs_dims(c->dim));
    hs_var value = hs_target_log_density(make(s, c), point);
    hs_gradcheck_report report;
    const hs_status status =
        hs_gradcheck(value, &point, (const double *[]){ x }, 1,
                     &(hs_gradcheck_options){ .order = 2, .starts = POINTS }, &report);
    ck_assert_msg(status == HS_OK, "%s: %s", c->name, hs_tape_error(tape));
    ck_assert_msg(report.worst < 1e-6, "%s %zu: %g at order %d: %.12g and %.12g", c->name, c->dim,
                  report.worst, report.order, report.found, report.expected);
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

/* ---- Draws ----------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sqrt(n) times Kolmogorov's distance from uniform; above 2.7 once in a million. */
static double kolmogorov(double *u, size_t n)
{
    double worst = 0;
    qsort(u, n, sizeof *u, ascending);
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fmax(u[i] - (double)i / (double)n, (double)(i + 1) / (double)n - u[i]));
    return worst * sqrt((double)n);
}

START_TEST(draws_have_the_distribution)
{
    enum { N = 100000 };
    const target_case *c = &cases[_i];
    const size_t d = c->dim;
    double *x = malloc(N * d * sizeof *x), *u = malloc(N * d * sizeof *u);
    double *values = malloc(N * sizeof *values), *column = malloc(N * sizeof *column);
    for (int float32 = 0; float32 < 2; float32++) {
        hs_session *s = session_new(float32);
        hs_target *t = make(s, c);
        ck_assert(hs_target_can_draw(t));
        draw(t, N, x, values);
        for (size_t i = 0; i < N; i++) {
            const double expected = c->log_density(x + i * d, d);
            ck_assert_msg(hs_close(values[i], expected, 2e-5, 2e-5), "%s: %.12g and %.12g", c->name,
                          values[i], expected);
            c->uniforms(x + i * d, d, u + i * d);
        }
        for (size_t k = 0; k < d; k++) {
            for (size_t i = 0; i < N; i++)
                column[i] = u[i * d + k];
            double side = 0, spread = 0;
            for (size_t i = 0; i < N; i++) {
                const double a = 2 * column[i] - 1;
                side += sqrt(3) * a;
                spread += sqrt(45.0 / 4) * (a * a - 1.0 / 3);
            }
            const double distance = kolmogorov(column, N);
            ck_assert_msg(distance < 2.7 && fabs(side) < 5 * sqrt(N) && fabs(spread) < 5 * sqrt(N),
                          "%s %zu: coordinate %zu: %g, %g, %g", c->name, d, k, distance,
                          side / sqrt(N), spread / sqrt(N));
        }
        /* Neither the uniforms nor their squares have anything to do with each other. */
        for (size_t k = 0; k < d && !c->dependent; k++)
            for (size_t l = 0; l < k; l++) {
                double plain = 0, mixed = 0, squared = 0;
                for (size_t i = 0; i < N; i++) {
                    const double a = 2 * u[i * d + k] - 1, b = 2 * u[i * d + l] - 1;
                    plain += 3 * a * b;
                    mixed += (a * a - 1.0 / 3) * b * sqrt(3.0 * 45 / 4);
                    squared += (a * a - 1.0 / 3) * (b * b - 1.0 / 3) * 45 / 4;
                }
                ck_assert_msg(fmax(fabs(plain), fmax(fabs(mixed), fabs(squared))) < 5 * sqrt(N),
                              "%s %zu: coordinates %zu and %zu: %g, %g, %g", c->name, d, k, l,
                              plain / sqrt(N), mixed / sqrt(N), squared / sqrt(N));
            }
        hs_session_free(s);
    }
    free(column);
    free(values);
    free(u);
    free(x);
}
END_TEST

/* For x drawn from a density p, the mean of q(x) / p(x) is the integral of q, here a box within the
 * bulk of p: constants are right in any number of dimensions, and so is dependence. */
START_TEST(draws_and_densities_agree)
{
    enum { N = 40000 };
    const target_case *c = &cases[_i];
    const size_t d = c->dim;
    const bool bent = c->make == full || c->make == banana || c->make == cross;
    const double half = bent ? 0.5 : 0.75;
    double *x = malloc(N * d * sizeof *x), *values = malloc(N * sizeof *values);
    hs_session *s = session_new(false);
    draw(make(s, c), N, x, values);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < N; i++) {
        double ratio = exp(-values[i]) / pow(2 * half, (double)d);
        for (size_t k = 0; k < d; k++) {
            const double centre = c->make == uniform || c->make == uniform_mixed ? 0.2
                                  : c->make == diagonal || c->make == full       ? some_means[k]
                                  : c->make == cross                             ? 4.0 * (k == 0)
                                  : c->make == banana && k == 1                  ? -1.2
                                  : c->make == mixture || c->make == mixture_diagonal
                                      ? mix_mean(1, k)
                                      : 0;
            if (fabs(x[i * d + k] - centre) > half)
                ratio = 0;
        }
        sum += ratio;
        squares += ratio * ratio;
    }
    const double mean = sum / N, error = sqrt((squares / N - mean * mean) / N);
    double expected = 1;
    if (c->make == uniform) /* the draws are of the box alone */
        expected = pow((0.2 + half) / (2 * half), (double)d);
    ck_assert_msg(fabs(mean - expected) < 5 * error + 1e-9 && error < 0.2,
                  "%s %zu: %g (%g), expected %g", c->name, d, mean, error, expected);
    hs_session_free(s);
    free(values);
    free(x);
}
END_TEST

/* ---- Single facts ---------------------------------------------------------------------------- */

START_TEST(cross_has_the_published_jump)
{
    enum { N = 200000 };
    double *x = malloc(2 * N * sizeof *x), *values = malloc(N * sizeof *values);
    hs_session *s = session_new(false);
    draw(hs_target_cross(s, NULL), N, x, values);
    double mean = 0, square = 0;
    for (size_t i = 0; i + 1 < N; i += 2) {
        const double jump = pow(x[2 * i] - x[2 * i + 2], 2) + pow(x[2 * i + 1] - x[2 * i + 3], 2);
        mean += jump / (N / 2);
        square += jump * jump / (N / 2);
    }
    const double error = sqrt((square - mean * mean) / (N / 2));
    ck_assert_msg(fabs(mean - 34) < 5 * error && error < 0.2, "%g (%g)", mean, error);

    /* Options: wider, and further apart. */
    draw(hs_target_cross(s, &(hs_cross_options){ .radius = 8, .variance = 2 }), N, x, values);
    double total = 0;
    for (size_t i = 0; i < 2 * N; i++)
        total += x[i] * x[i] / N;
    ck_assert_close(total, 64 + 4, 0.005, 0);
    hs_session_free(s);
    free(values);
    free(x);
}
END_TEST

START_TEST(uniform_inside_and_outside)
{
    hs_session *s = session_new(false);
    const double points_in[][3] = { { 0, 0, 0 }, { 1, 1, 1 }, { 0.5, 0.1, 0.9 }, { 1, 0, 1e-300 } };
    const double points_out[][3] = {
        { -1e-9, 0.5, 0.5 }, { 0.5, 1.0000001, 0.5 }, { 2, 2, 2 }, { 100, -100, 0.5 }
    };
    hs_target *t = hs_target_uniform(s, 3, NULL);
    for (int i = 0; i < 4; i++) {
        double x[3], value;
        memcpy(x, points_in[i], sizeof x);
        evaluate(t, HS_F64, x, 1, &value);
        ck_assert_double_le(fabs(value), 1e-12);
        evaluate(t, HS_F32, x, 1, &value);
        ck_assert_double_le(fabs(value), 1e-12);
        memcpy(x, points_out[i], sizeof x);
        evaluate(t, HS_F64, x, 1, &value);
        const double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
        ck_assert_close(value, -100 - 1.5 * log(2 * pi) - square / 2, 1e-14, 0);
    }
    hs_session_free(s);
}
END_TEST

/* The named departure from the true gradient: outside alone, and not in the value. */
START_TEST(tail_pull_changes_the_gradient_outside)
{
    hs_session *s = session_new(false);
    hs_target *t = hs_target_uniform(s, 2, &(hs_uniform_options){ .tail_pull = 7 });
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
    hs_var out[] = { hs_target_log_density(t, x), hs_target_score(t, x) };
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, out, 2, &(hs_plan_options){ .starts = 2 }), HS_OK);
    const double at[] = { 0.5, 0.25, 1.5, 0.25 };
    hs_plan_set(plan, x, at);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    const double *value = hs_plan_get(plan, out[0]), *score = hs_plan_get(plan, out[1]);
    ck_assert_close(value[0], uniform_log(at, 2), 0, 1e-12);
    ck_assert_close(value[1], uniform_log(at + 2, 2), 1e-14, 0);
    ck_assert_close(score[0], 0, 0, 1e-40);
    ck_assert_close(score[2], -7 * 1.5, 1e-14, 0);
    ck_assert_close(score[3], -7 * 0.25, 1e-14, 0);
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

/* Far out nothing overflows: heavy tails and mixtures stay finite, in either number type. */
START_TEST(far_away_is_finite)
{
    hs_session *s = session_new(false);
    hs_target *const targets[] = { hs_target_cauchy(s, 2, NULL), hs_target_student(s, 2, 5, NULL),
                                   hs_target_cross(s, NULL), hs_target_laplace(s, 2, NULL),
                                   hs_target_uniform(s, 2, NULL) };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            double x[2] = { 1e15, -1e15 }, value;
            evaluate(targets[i], f32 ? HS_F32 : HS_F64, x, 1, &value);
            ck_assert_msg(isfinite(value), "%s: %g", hs_target_name(targets[i]), value);
        }
    hs_session_free(s);
}
END_TEST

/* Newton's method on targets whose mode and curvature are known. */
START_TEST(laplace_approximation_of_known_targets)
{
    hs_session *s = session_new(true);
    double mode[5], covariance[25];
    hs_target *t = full(s, 5);
    ck_assert_int_eq(hs_laplace_approximation(s, t, NULL, mode, covariance), HS_OK);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_close(mode[i], some_means[i], 1e-12, 1e-12);
        for (size_t j = 0; j < 5; j++)
            ck_assert_close(covariance[i * 5 + j],
                            some_sds[i] * some_sds[j] * pow(chain, fabs((double)i - (double)j)),
                            1e-11, 1e-12);
    }
    /* Not concave where it starts. */
    const double start[] = { 3, 0.5 };
    t = hs_target_cross(s, NULL);
    ck_assert_int_eq(hs_laplace_approximation(s, t, start, mode, covariance), HS_OK);
    ck_assert_close(mode[0], 4, 1e-6, 0);
    ck_assert_close(mode[1], 0, 0, 1e-6);
    ck_assert_close(covariance[0], 0.5, 1e-4, 0);
    const double far[] = { 30, 20 };
    t = hs_target_student(s, 2, 3, NULL);
    ck_assert_int_eq(hs_laplace_approximation(s, t, far, mode, covariance), HS_OK);
    ck_assert_close(mode[0], 0, 0, 1e-6);
    ck_assert_close(covariance[3], 0.75, 1e-9, 0);
    hs_session_free(s);
}
END_TEST

static Suite *targets_suite(void)
{
    Suite *suite = suite_create("targets");
    TCase *tests = tcase_create("targets");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, values_are_those_of_plain_c, 0, CASES);
    tcase_add_loop_test(tests, densities_integrate_to_one, 0, CASES);
    tcase_add_loop_test(tests, gradients_match_differences, 0, CASES);
    tcase_add_loop_test(tests, draws_have_the_distribution, 0, CASES);
    tcase_add_loop_test(tests, draws_and_densities_agree, 0, CASES);
    tcase_add_test(tests, cross_has_the_published_jump);
    tcase_add_test(tests, uniform_inside_and_outside);
    tcase_add_test(tests, tail_pull_changes_the_gradient_outside);
    tcase_add_test(tests, far_away_is_finite);
    tcase_add_test(tests, laplace_approximation_of_known_targets);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(targets_suite())
