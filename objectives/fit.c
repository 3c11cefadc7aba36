#include "fit_internal.h"

#include <math.h>
#include <string.h>

static bool is_small(const fit_problem *p, const double *step, const double *coefficient)
{
    const double tolerance = p->options.tolerance > 0 ? p->options.tolerance : 1e-4;
    for (size_t j = 0; j < p->family.count; j++)
        if (!(fabs(step[j]) <= tolerance * fabs(coefficient[j])))
            return false;
    return true;
}

static hs_status no_slope(const fit_problem *p)
{
    return hs_session_fail(p->session, HS_EINVAL,
                           "fit: the acceptances do not depend on the coefficients");
}

/* ---- Fits on common draws -------------------------------------------------------------------- */

hs_status hs_fit_newton(const hs_reference *r, const hs_objective_family *family,
                        const hs_fit_options *options, hs_fit *fit)
{
    fit_problem p;
    fit_state at = { 0 };
    hs_status status = hs__fit_open(&p, r, 1, family, options, fit);
    const int most = p.options.iterations > 0 ? p.options.iterations : 20;
    while (!status && !fit->converged && fit->iterations < most) {
        double *a = &fit->coefficient[0];
        status = hs__fit_evaluate(&p, a, true, &at);
        if (!status && !(fabs(at.jacobian[0][0]) > 0))
            status = no_slope(&p);
        if (status)
            return status;
        double step = -at.residual[0] / at.jacobian[0][0];
        if ((*a + step) * *a <= 0)
            step = -0.5 * *a;
        fit->iterations++;
        fit->converged = is_small(&p, &step, a);
        hs__fit_report(&p, &at, fit);
        *a += step;
    }
    return status;
}

hs_status hs_fit_least_squares(const hs_reference *r, size_t n, const hs_objective_family *family,
                               const hs_fit_options *options, hs_fit *fit)
{
    fit_problem p;
    fit_state at = { 0 }, next = { 0 };
    hs_status status = hs__fit_open(&p, r, n, family, options, fit);
    const int most = p.options.iterations > 0 ? p.options.iterations : 20;
    double lambda = 1e-3;
    if (!status)
        status = hs__fit_evaluate(&p, fit->coefficient, true, &at);
    while (!status && !fit->converged && fit->iterations < most && lambda <= 1e8) {
        double step[C], moved[C] = { 0 };
        if (!hs__fit_normal_equations(&p, &at, lambda, at.residual, step))
            return no_slope(&p);
        for (size_t j = 0; j < fit->count; j++)
            moved[j] = fit->coefficient[j] - step[j];
        fit->iterations++;
        fit->converged = is_small(&p, step, fit->coefficient);
        status = hs__fit_evaluate(&p, moved, true, &next);
        const bool better = !status && next.cost <= at.cost;
        if (status == HS_EINVAL) { /* no optimum there */
            hs_session_clear(p.session);
            status = HS_OK;
        }
        lambda *= better ? 0.1 : 10;
        if (better) {
            memcpy(fit->coefficient, moved, sizeof moved);
            at = next;
        }
    }
    if (!status)
        hs__fit_report(&p, &at, fit);
    return status;
}

hs_status hs_fit_linear(const hs_reference *r, size_t n, double low, double high,
                        const hs_objective_family *family, const hs_fit_options *options,
                        hs_fit *fit)
{
    enum { POINTS = 5 };
    fit_problem p;
    fit_state at[POINTS] = { 0 }, line = { 0 };
    hs_status status = hs__fit_open(&p, r, n, family, options, fit);
    if (!status && (fit->count != 1 || !(low < high)))
        status = hs_session_fail(p.session, HS_EINVAL,
                                 "fit: a linear fit needs one coefficient, and low < high");
    const double middle = 0.5 * (low + high), gap = (high - low) / (POINTS - 1);
    for (int k = 0; k < POINTS && !status; k++)
        status = hs__fit_evaluate(&p, (double[C]){ low + k * gap }, false, &at[k]);
    if (status)
        return status;
    /* alpha_i = mean_i + slope_i (A - middle) */
    double mean[N] = { 0 }, away[C];
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < POINTS; k++) {
            mean[i] += at[k].acceptance[i] / POINTS;
            line.error[i] += at[k].error[i] / POINTS;
            line.jacobian[i][0] += (low + k * gap - middle) * at[k].acceptance[i];
        }
        line.jacobian[i][0] /= 10 * gap * gap; /* the sum of (k - 2)^2 is 10 */
        for (int k = 0; k < POINTS; k++)
            fit->curvature =
                fmax(fit->curvature, fabs(at[k].acceptance[i] - mean[i] -
                                          line.jacobian[i][0] * (low + k * gap - middle)));
        line.residual[i] = mean[i] - r[i].acceptance;
    }
    if (!hs__fit_normal_equations(&p, &line, 0, line.residual, away))
        return no_slope(&p);
    fit->coefficient[0] = middle - away[0];
    fit->converged = true;
    fit->iterations = 1;
    for (size_t i = 0; i < n; i++) {
        line.acceptance[i] = mean[i] - line.jacobian[i][0] * away[0];
        line.residual[i] = line.acceptance[i] - r[i].acceptance;
        line.cost += line.residual[i] * line.residual[i];
    }
    hs__fit_report(&p, &line, fit);
    return HS_OK;
}

/* ---- Fit on new draws in every iteration ----------------------------------------------------- */

/* Mean of the second half of the iterates, and the error of it from 4 consecutive batches. */
static void average(double (*iterate)[C], int used, hs_fit *fit)
{
    enum { BATCHES = 4 };
    const int length = used / 2 / BATCHES, first = used - length * BATCHES;
    for (size_t j = 0; j < fit->count; j++) {
        double mean[BATCHES] = { 0 }, square = 0;
        fit->coefficient[j] = 0;
        for (int b = 0; b < BATCHES; b++) {
            for (int k = 0; k < length; k++)
                mean[b] += iterate[first + b * length + k][j] / length;
            fit->coefficient[j] += mean[b] / BATCHES;
        }
        for (int b = 0; b < BATCHES; b++)
            square += (mean[b] - fit->coefficient[j]) * (mean[b] - fit->coefficient[j]);
        fit->error[j] = sqrt(square / (BATCHES * (BATCHES - 1)));
    }
}

hs_status hs_fit_stochastic(const hs_reference *r, size_t n, const hs_objective_family *family,
                            const hs_fit_options *options, hs_fit *fit)
{
    enum { LEAST = 16, MOST = 1000 };
    fit_problem p;
    fit_state at = { 0 }, next = { 0 };
    double iterate[MOST][C], now[C];
    hs_status status = hs__fit_open(&p, r, n, family, options, fit);
    const int given = p.options.iterations > 0 ? p.options.iterations : 60;
    const int most = given < LEAST ? LEAST : given > MOST ? MOST : given;
    const double tolerance = p.options.tolerance > 0 ? p.options.tolerance : 1e-3;
    double lambda = 0.1;
    memcpy(now, fit->coefficient, sizeof now);
    while (!status && !fit->converged && fit->iterations < most) {
        double step[C], moved[C] = { 0 }, foretold = 0;
        p.seed++;
        status = hs__fit_evaluate(&p, now, true, &at);
        if (!status && !hs__fit_normal_equations(&p, &at, lambda, at.residual, step))
            status = no_slope(&p);
        if (status)
            break;
        for (size_t j = 0; j < fit->count; j++)
            moved[j] = now[j] - step[j];
        for (size_t i = 0; i < n; i++) {
            double linear = at.residual[i];
            for (size_t j = 0; j < fit->count; j++)
                linear -= at.jacobian[i][j] * step[j];
            foretold += at.residual[i] * at.residual[i] - linear * linear;
        }
        status = hs__fit_evaluate(&p, moved, false, &next);
        const bool better = !status && at.cost - next.cost >= 0.1 * foretold;
        if (status == HS_EINVAL) { /* no optimum there */
            hs_session_clear(p.session);
            status = HS_OK;
        }
        lambda = better ? fmax(1e-3, lambda / 4) : lambda * 4;
        if (better)
            memcpy(now, moved, sizeof now);
        memcpy(iterate[fit->iterations++], now, sizeof now);
        memcpy(fit->acceptance, better ? next.acceptance : at.acceptance, sizeof fit->acceptance);
        fit->misfit = sqrt(better ? next.cost : at.cost);
        if (fit->iterations < LEAST)
            continue;
        average(iterate, fit->iterations, fit);
        fit->converged = true;
        for (size_t j = 0; j < fit->count; j++)
            fit->converged &= fit->error[j] <= tolerance * fabs(fit->coefficient[j]);
    }
    return status;
}
