#include "fit_internal.h"

#include <math.h>
#include <string.h>

#include <hastings/objectives/objectives.h>

static hs_objective make_ab_initio(const double *a)
{
    return hs_ab_initio(a[0]);
}

static hs_objective make_ab_initio_log(const double *a)
{
    return hs_ab_initio_log(a[0]);
}

hs_objective_family hs_ab_initio_family(double a)
{
    return (hs_objective_family){ .make = make_ab_initio, .count = 1, .start = { a } };
}

hs_objective_family hs_ab_initio_log_family(double a)
{
    return (hs_objective_family){ .make = make_ab_initio_log, .count = 1, .start = { a } };
}

hs_status hs__fit_open(fit_problem *p, const hs_reference *r, size_t n,
                       const hs_objective_family *family, const hs_fit_options *options,
                       hs_fit *fit)
{
    *p = (fit_problem){ .reference = r, .n = n };
    p->family = family ? *family : hs_ab_initio_family(0.2);
    if (options)
        p->options = *options;
    *fit = (hs_fit){ .count = p->family.count };
    if (n == 0)
        return HS_EINVAL;
    hs_session *s = p->session = hs_target_session(r[0].target);
    if (hs_session_status(s))
        return hs_session_status(s);
    p->seed = p->options.sampling.seed ? p->options.sampling.seed : hs_session_seed(s);
    if (n > N)
        return hs_session_fail(s, HS_EINVAL, "fit: %zu reference problems, where at most %d can be",
                               n, N);
    if (fit->count == 0 || fit->count > C || fit->count > n)
        return hs_session_fail(s, HS_EINVAL,
                               "fit: %zu coefficients cannot be fitted to %zu reference problems",
                               fit->count, n);
    for (size_t i = 0; i < n; i++)
        if (!(r[i].acceptance > 0 && r[i].acceptance < 1))
            return hs__reference_fail(&r[i], HS_EINVAL,
                                      "its optimal acceptance must lie between 0 and 1");
    memcpy(fit->coefficient, p->family.start, sizeof fit->coefficient);
    return HS_OK;
}

/* Problem i has draws of its own, so that its error is independent of the others'. */
static hs_reference_options sampling_of(const fit_problem *p, size_t i)
{
    hs_reference_options sampling = p->options.sampling;
    sampling.seed = p->seed + 0x9E3779B97F4A7C15u * (i + 1);
    return sampling;
}

/* d slope / d coefficient at the optimum, where slope is 0: a difference over a small change of the
 * coefficient; exact where the loss is linear in it. */
static hs_status slope_by(const fit_problem *p, size_t i, const double *coefficient, size_t j,
                          const hs_optimum *best, double *result)
{
    const hs_reference_options sampling = sampling_of(p, i);
    const double h = 1e-3 * fabs(coefficient[j]);
    double moved[C];
    memcpy(moved, coefficient, sizeof moved);
    moved[j] += h;
    const hs_objective o = p->family.make(moved);
    hs_optimum there;
    const hs_status status =
        hs_reference_evaluate(&p->reference[i], &o, best->step, &sampling, &there);
    *result = status ? 0 : (there.slope - best->slope) / h;
    return status;
}

hs_status hs__fit_evaluate(const fit_problem *p, const double *coefficient, bool slopes,
                           fit_state *at)
{
    const hs_objective o = p->family.make(coefficient);
    hs_status status = HS_OK;
    at->cost = 0;
    for (size_t i = 0; i < p->n && !status; i++) {
        const hs_reference_options sampling = sampling_of(p, i);
        hs_optimum best;
        status = hs_reference_optimum(&p->reference[i], &o, &sampling, &best);
        if (status)
            break;
        at->acceptance[i] = best.acceptance;
        at->error[i] = best.acceptance_error;
        at->residual[i] = best.acceptance - p->reference[i].acceptance;
        at->cost += at->residual[i] * at->residual[i];
        for (size_t j = 0; slopes && j < p->family.count && !status; j++) {
            double by;
            status = slope_by(p, i, coefficient, j, &best, &by);
            if (!status)
                at->jacobian[i][j] = -best.acceptance_slope * by / best.curvature;
        }
    }
    return status;
}

/* a x = b by elimination with pivots; x replaces b. False if a is singular. */
static bool solve(size_t n, double a[C][C], double b[C])
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k]))
                pivot = i;
        if (!(fabs(a[pivot][k]) > 0))
            return false;
        for (size_t j = 0; j < n; j++) {
            const double swap = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = swap;
        }
        const double swap = b[k];
        b[k] = b[pivot];
        b[pivot] = swap;
        for (size_t i = 0; i < n; i++) {
            const double factor = a[i][k] / a[k][k];
            for (size_t j = 0; i != k && j < n; j++)
                a[i][j] -= factor * a[k][j];
            if (i != k)
                b[i] -= factor * b[k];
        }
    }
    for (size_t k = 0; k < n; k++)
        b[k] /= a[k][k];
    return true;
}

bool hs__fit_normal_equations(const fit_problem *p, const fit_state *at, double lambda,
                              const double *r, double x[C])
{
    double a[C][C] = { 0 };
    const size_t count = p->family.count;
    for (size_t j = 0; j < count; j++) {
        x[j] = 0;
        for (size_t i = 0; i < p->n; i++)
            x[j] += at->jacobian[i][j] * r[i];
        for (size_t k = 0; k < count; k++)
            for (size_t i = 0; i < p->n; i++)
                a[j][k] += at->jacobian[i][j] * at->jacobian[i][k] * (j == k ? 1 + lambda : 1);
    }
    return solve(count, a, x);
}

void hs__fit_report(const fit_problem *p, const fit_state *at, hs_fit *fit)
{
    memcpy(fit->acceptance, at->acceptance, sizeof fit->acceptance);
    fit->misfit = sqrt(at->cost);
    /* Each problem moves the solution by (J'J)^-1 J' times its error. */
    double square[C] = { 0 };
    for (size_t i = 0; i < p->n; i++) {
        double r[N] = { 0 }, x[C];
        r[i] = at->error[i];
        if (hs__fit_normal_equations(p, at, 0, r, x))
            for (size_t j = 0; j < fit->count; j++)
                square[j] += x[j] * x[j];
    }
    for (size_t j = 0; j < fit->count; j++)
        fit->error[j] = sqrt(square[j]);
}
