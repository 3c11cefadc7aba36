/* The targets that tests try: each with the same density in plain C, and a map that makes its draws
 * uniform. */
#ifndef HASTINGS_TESTS_SUPPORT_TARGET_CASES_H
#define HASTINGS_TESTS_SUPPORT_TARGET_CASES_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <hastings/mcmc/targets/targets.h>

enum { MOST = 8 }; /* dimensions of a case */

static const double pi = 3.14159265358979323846;

typedef struct {
    const char *name;
    size_t dim;
    hs_target *(*make)(hs_session *s, size_t dim);
    double (*log_density)(const double *x, size_t dim);
    /* Numbers u[dim] that are uniform on (0, 1) if x is drawn from the target. */
    void (*uniforms)(const double *x, size_t dim, double *u);
    bool dependent;   /* the uniforms are */
    double low, high; /* where points of tests are drawn, uniformly; 0, 0: -3 to 3 */
    double away;      /* how far from 0 its kinks keep the points of gradient tests */
} target_case;

static double log_normal(double x, double mean, double sd)
{
    const double z = (x - mean) / sd;
    return -0.5 * z * z - log(sd) - 0.5 * log(2 * pi);
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

/* Isotropic */

static hs_target *isotropic(hs_session *s, size_t dim)
{
    return hs_target_gaussian(s, dim, &(hs_gaussian_options){ .sd = 1.5 });
}

static double isotropic_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += log_normal(x[i], 0, 1.5);
    return sum;
}

static void isotropic_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++)
        u[i] = normal_cdf(x[i] / 1.5);
}

/* Diagonal */

static const double some_sds[MOST] = { 0.5, 2, 1, 3, 0.7, 1.2, 0.9, 1.1 };
static const double some_means[MOST] = { 1, -2, 0.5, 0, 3, -1, 0.25, 2 };

static hs_target *diagonal(hs_session *s, size_t dim)
{
    return hs_target_gaussian(s, dim,
                              &(hs_gaussian_options){ .mean = some_means, .sds = some_sds });
}

static double diagonal_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += log_normal(x[i], some_means[i], some_sds[i]);
    return sum;
}

static void diagonal_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++)
        u[i] = normal_cdf((x[i] - some_means[i]) / some_sds[i]);
}

/* Full: covariance sd_i sd_j r^|i-j|, of which each coordinate follows the one before. */

static const double chain = 0.6;

static hs_target *full(hs_session *s, size_t dim)
{
    double covariance[MOST * MOST];
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            covariance[i * dim + j] =
                some_sds[i] * some_sds[j] * pow(chain, fabs((double)i - (double)j));
    return hs_target_gaussian(
        s, dim, &(hs_gaussian_options){ .mean = some_means, .covariance = covariance });
}

static void full_innovations(const double *x, size_t dim, double *z)
{
    for (size_t i = 0; i < dim; i++) {
        z[i] = (x[i] - some_means[i]) / some_sds[i];
        if (i > 0)
            z[i] = (z[i] - chain * (x[i - 1] - some_means[i - 1]) / some_sds[i - 1]) /
                   sqrt(1 - chain * chain);
    }
}

static double full_log(const double *x, size_t dim)
{
    double z[MOST], sum = 0;
    full_innovations(x, dim, z);
    for (size_t i = 0; i < dim; i++)
        sum +=
            log_normal(z[i], 0, 1) - log(some_sds[i]) - (i > 0 ? 0.5 * log(1 - chain * chain) : 0);
    return sum;
}

static void full_uniforms(const double *x, size_t dim, double *u)
{
    full_innovations(x, dim, u);
    for (size_t i = 0; i < dim; i++)
        u[i] = normal_cdf(u[i]);
}

/* Laplace */

static hs_target *laplace(hs_session *s, size_t dim)
{
    return hs_target_laplace(s, dim, NULL);
}

static double laplace_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum -= fabs(x[i]) + log(2);
    return sum;
}

static double laplace_cdf(double x)
{
    return x < 0 ? 0.5 * exp(x) : 1 - 0.5 * exp(-x);
}

static void laplace_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++)
        u[i] = laplace_cdf(x[i]);
}

static hs_target *laplace_scaled(hs_session *s, size_t dim)
{
    return hs_target_laplace(s, dim, &(hs_scale_options){ .scales = some_sds });
}

static double laplace_scaled_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum -= fabs(x[i]) / some_sds[i] + log(2 * some_sds[i]);
    return sum;
}

static void laplace_scaled_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++)
        u[i] = laplace_cdf(x[i] / some_sds[i]);
}

/* Cauchy */

static hs_target *cauchy(hs_session *s, size_t dim)
{
    return hs_target_cauchy(s, dim, &(hs_scale_options){ .scale = 2 });
}

static double cauchy_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum -= log(2 * pi * (1 + x[i] * x[i] / 4));
    return sum;
}

static void cauchy_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++)
        u[i] = x[i] < -1 ? atan(-2 / x[i]) / pi : 0.5 + atan(x[i] / 2) / pi;
}

/* Student's t: of 3 degrees of freedom, whose distribution function is known, and of 2.5. */

static hs_target *student3(hs_session *s, size_t dim)
{
    return hs_target_student(s, dim, 3, NULL);
}

static double student3_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++)
        sum += log(2 / (pi * sqrt(3))) - 2 * log(1 + x[i] * x[i] / 3);
    return sum;
}

static void student3_uniforms(const double *x, size_t dim, double *u)
{
    for (size_t i = 0; i < dim; i++) {
        const double z = x[i] / sqrt(3);
        u[i] = 0.5 + (z / (1 + z * z) + atan(z)) / pi;
    }
}

static hs_target *student_scaled(hs_session *s, size_t dim)
{
    return hs_target_student(s, dim, 2.5, &(hs_scale_options){ .scales = some_sds });
}

static double student_scaled_log(const double *x, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < dim; i++) {
        const double z = x[i] / some_sds[i];
        sum += log(tgamma(1.75) / (tgamma(1.25) * sqrt(2.5 * pi) * some_sds[i])) -
               1.75 * log1p(z * z / 2.5);
    }
    return sum;
}

/* By Simpson's rule over atan z, where the density's tail becomes a power of the cosine. */
static void student_scaled_uniforms(const double *x, size_t dim, double *u)
{
    enum { PARTS = 40 };
    const double constant = tgamma(1.75) / (tgamma(1.25) * sqrt(2.5 * pi));
    for (size_t i = 0; i < dim; i++) {
        const double end = atan(fabs(x[i]) / some_sds[i]);
        double sum = 0;
        for (int k = 0; k <= PARTS; k++) {
            const double angle = end * k / PARTS, z = tan(angle);
            const double weight = k == 0 || k == PARTS ? 1 : k % 2 ? 4 : 2;
            sum += weight * constant * pow(1 + z * z / 2.5, -1.75) * (1 + z * z);
        }
        const double half = sum * end / (3 * PARTS);
        u[i] = x[i] < 0 ? 0.5 - half : 0.5 + half;
    }
}

/* Near-uniform: as it is used, and with a normal component that can be seen. */

static double uniform_log_odds(const double *x, size_t dim, double log_odds)
{
    double normal = -log1p(exp(log_odds));
    bool inside = true;
    for (size_t i = 0; i < dim; i++) {
        normal += log_normal(x[i], 0, 1);
        inside = inside && x[i] >= 0 && x[i] <= 1;
    }
    const double uniform = -log1p(exp(-log_odds));
    return inside ? uniform + log1p(exp(normal - uniform)) : normal;
}

static hs_target *uniform(hs_session *s, size_t dim)
{
    return hs_target_uniform(s, dim, NULL);
}

static double uniform_log(const double *x, size_t dim)
{
    return uniform_log_odds(x, dim, 100);
}

static void uniform_uniforms(const double *x, size_t dim, double *u)
{
    memcpy(u, x, dim * sizeof *u);
}

static hs_target *uniform_mixed(hs_session *s, size_t dim)
{
    return hs_target_uniform(s, dim, &(hs_uniform_options){ .log_odds = 1 });
}

static double uniform_mixed_log(const double *x, size_t dim)
{
    return uniform_log_odds(x, dim, 1);
}

static void uniform_mixed_uniforms(const double *x, size_t dim, double *u)
{
    const double p = 1 / (1 + exp(-1));
    for (size_t i = 0; i < dim; i++)
        u[i] = p * fmin(fmax(x[i], 0), 1) + (1 - p) * normal_cdf(x[i]);
}

/* Mixtures */

static const double mix_weights[] = { 0.2, 0.5, 0.3 };
static const double mix_sds[] = { 0.5, 1, 1.5 };

static double mix_mean(size_t k, size_t i)
{
    return 2 * sin(1.0 + (double)(3 * k + i));
}

static double mix_sd(size_t k, size_t i, bool diagonal_sds)
{
    return diagonal_sds ? 0.5 + 0.25 * (double)((k + 2 * i) % 5) : mix_sds[k];
}

static hs_target *mix_make(hs_session *s, size_t dim, bool diagonal_sds)
{
    double means[3 * MOST], sds[3 * MOST];
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < dim; i++) {
            means[k * dim + i] = mix_mean(k, i);
            sds[k * dim + i] = mix_sd(k, i, diagonal_sds);
        }
    hs_mixture_options o = { .components = 3, .means = means, .weights = mix_weights };
    if (diagonal_sds)
        o.sds = sds;
    else
        o.component_sds = mix_sds;
    return hs_target_mixture(s, dim, &o);
}

static double mix_log(const double *x, size_t dim, bool diagonal_sds)
{
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        double term = log(mix_weights[k]);
        for (size_t i = 0; i < dim; i++)
            term += log_normal(x[i], mix_mean(k, i), mix_sd(k, i, diagonal_sds));
        sum += exp(term);
    }
    return log(sum);
}

static void mix_uniforms(const double *x, size_t dim, double *u, bool diagonal_sds)
{
    for (size_t i = 0; i < dim; i++) {
        u[i] = 0;
        for (size_t k = 0; k < 3; k++)
            u[i] +=
                mix_weights[k] * normal_cdf((x[i] - mix_mean(k, i)) / mix_sd(k, i, diagonal_sds));
    }
}

static hs_target *mixture(hs_session *s, size_t dim)
{
    return mix_make(s, dim, false);
}

static double mixture_log(const double *x, size_t dim)
{
    return mix_log(x, dim, false);
}

static void mixture_uniforms(const double *x, size_t dim, double *u)
{
    mix_uniforms(x, dim, u, false);
}

static hs_target *mixture_diagonal(hs_session *s, size_t dim)
{
    return mix_make(s, dim, true);
}

static double mixture_diagonal_log(const double *x, size_t dim)
{
    return mix_log(x, dim, true);
}

static void mixture_diagonal_uniforms(const double *x, size_t dim, double *u)
{
    mix_uniforms(x, dim, u, true);
}

static hs_target *cross(hs_session *s, size_t dim)
{
    (void)dim;
    return hs_target_cross(s, NULL);
}

static double cross_log(const double *x, size_t dim)
{
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const double shift = k % 2 ? -4 : 4;
        sum +=
            exp(-(k < 2 ? pow(x[0] - shift, 2) + x[1] * x[1] : x[0] * x[0] + pow(x[1] - shift, 2)));
    }
    (void)dim;
    return log(sum / (4 * pi));
}

static void cross_uniforms(const double *x, size_t dim, double *u)
{
    const double r = sqrt(2);
    for (size_t i = 0; i < dim; i++)
        u[i] = 0.5 * normal_cdf(r * x[i]) + 0.25 * normal_cdf(r * (x[i] - 4)) +
               0.25 * normal_cdf(r * (x[i] + 4));
}

/* Banana and funnel */

static hs_target *banana(hs_session *s, size_t dim)
{
    return hs_target_banana(s, dim, &(hs_banana_options){ .sd = 2, .curvature = 0.3 });
}

static double banana_log(const double *x, size_t dim)
{
    double sum = log_normal(x[0], 0, 2) + log_normal(x[1], 0.3 * (x[0] * x[0] - 4), 1);
    for (size_t i = 2; i < dim; i++)
        sum += log_normal(x[i], 0, 1);
    return sum;
}

static void banana_uniforms(const double *x, size_t dim, double *u)
{
    u[0] = normal_cdf(x[0] / 2);
    u[1] = normal_cdf(x[1] - 0.3 * (x[0] * x[0] - 4));
    for (size_t i = 2; i < dim; i++)
        u[i] = normal_cdf(x[i]);
}

static hs_target *funnel(hs_session *s, size_t dim)
{
    return hs_target_funnel(s, dim, &(hs_funnel_options){ .sd = 1.2 });
}

static double funnel_log(const double *x, size_t dim)
{
    double sum = log_normal(x[0], 0, 1.2);
    for (size_t i = 1; i < dim; i++)
        sum += log_normal(x[i], 0, exp(x[0] / 2));
    return sum;
}

static void funnel_uniforms(const double *x, size_t dim, double *u)
{
    u[0] = normal_cdf(x[0] / 1.2);
    for (size_t i = 1; i < dim; i++)
        u[i] = normal_cdf(x[i] * exp(-x[0] / 2));
}

#define CASE(name, dim) #name, dim, name, name##_log, name##_uniforms
static const target_case cases[] = {
    { CASE(isotropic, 1), false, 0, 0, 0 },
    { CASE(isotropic, 5), false, 0, 0, 0 },
    { CASE(diagonal, 2), false, 0, 0, 0 },
    { CASE(diagonal, 7), false, 0, 0, 0 },
    { CASE(full, 1), false, 0, 0, 0 },
    { CASE(full, 2), false, 0, 0, 0 },
    { CASE(full, 6), false, 0, 0, 0 },
    { CASE(laplace, 1), false, 0, 0, 0.1 },
    { CASE(laplace_scaled, 2), false, 0, 0, 0.1 },
    { CASE(laplace_scaled, 5), false, 0, 0, 0.1 },
    { CASE(cauchy, 1), false, 0, 0, 0 },
    { CASE(cauchy, 4), false, -50, 50, 0 },
    { CASE(student3, 1), false, 0, 0, 0 },
    { CASE(student3, 2), false, -10, 10, 0 },
    { CASE(student_scaled, 3), false, -10, 10, 0 },
    { CASE(uniform, 1), false, 0.05, 0.95, 0 },
    { CASE(uniform, 3), false, 0.05, 0.95, 0 },
    { CASE(uniform, 3), false, 1.1, 4, 0 },
    { CASE(uniform_mixed, 1), true, 0.05, 0.95, 0 },
    { CASE(uniform_mixed, 2), true, 0.05, 0.95, 0 },
    { CASE(uniform_mixed, 2), true, -3, -0.1, 0 },
    { CASE(mixture, 1), true, 0, 0, 0 },
    { CASE(mixture, 5), true, 0, 0, 0 },
    { CASE(mixture_diagonal, 2), true, 0, 0, 0 },
    { CASE(mixture_diagonal, 3), true, 0, 0, 0 },
    { CASE(cross, 2), true, -6, 6, 0 },
    { CASE(banana, 2), false, 0, 0, 0 },
    { CASE(banana, 5), false, 0, 0, 0 },
    { CASE(funnel, 2), false, 0, 0, 0 },
    { CASE(funnel, 6), false, 0, 0, 0 },
};
enum { CASES = sizeof cases / sizeof *cases };

#endif
