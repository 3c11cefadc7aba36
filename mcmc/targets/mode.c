/* The Laplace approximation: Newton's method on any target, with the Hessian from its tape. */
#include <hastings/mcmc/targets/targets.h>

#include <math.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include <hastings/tensor/memory.h>

#include "targets_internal.h"

#undef HS_HERE
#define HS_HERE "Laplace approximation"

typedef struct {
    size_t dim;
    hs_tape *tape;                     /* of double precision, whatever the session's */
    hs_var point, value, slope;        /* one start */
    hs_var points, direction, product; /* a row for each column of the Hessian */
    hs_plan *climb, *curve;
    double *x, *next, *gradient, *step; /* [dim] */
    double *copies, *units, *hessian;   /* [dim][dim]; the Hessian of minus the log density */
    double *factor;
} newton;

static void newton_free(newton *n)
{
    double *const all[] = { n->x,      n->next,  n->gradient, n->step,
                            n->copies, n->units, n->hessian,  n->factor };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hs_free(all[i]);
    hs_plan_free(n->climb);
    hs_plan_free(n->curve);
    hs_tape_free(n->tape);
}

static hs_status newton_init(hs_session *s, newton *n, const hs_target *target, const double *start)
{
    const size_t d = hs_target_dim(target);
    double **const vectors[] = { &n->x, &n->next, &n->gradient, &n->step };
    double **const matrices[] = { &n->copies, &n->units, &n->hessian, &n->factor };
    const size_t square = hs_size_product(d, d);
    bool memory = true;
    for (size_t i = 0; i < 4 && memory; i++) {
        *vectors[i] = hs_alloc_zero(d, sizeof(double));
        *matrices[i] = hs_alloc_zero(square, sizeof(double));
        memory = *vectors[i] && *matrices[i];
    }
    n->dim = d;
    n->tape = memory ? hs_tape_new(HS_F64) : NULL;
    if (!n->tape)
        return hs_session_no_memory(s, hs_size_product(4, sizeof(double), hs_size_add(square, d)),
                                    "out of memory for the mode of target \"%s\"",
                                    hs_target_name(target));
    if (start)
        memcpy(n->x, start, d * sizeof *start);
    for (size_t i = 0; i < d; i++)
        n->units[i * d + i] = 1;

    n->point = hs_input(n->tape, "point", HS_START, hs_dims(d));
    n->value = hs_target_log_density_at(target, n->point, HS_HERE);
    hs_grad(n->value, &n->point, 1, &n->slope);
    n->points = hs_input(n->tape, "points", HS_ROW, hs_dims(d));
    n->direction = hs_input(n->tape, "direction", HS_ROW, hs_dims(d));
    hs_var slope = hs_target_score_at(target, n->points, HS_HERE);
    hs_grad(hs_dot(slope, n->direction), &n->points, 1, &n->product);

    hs_message message;
    hs_plan_options options = { .threads = hs_session_threads(s),
                                .interrupted = hs_session_interrupted,
                                .context = s,
                                .message = &message };
    hs_status status = hs_plan_new(&n->climb, (hs_var[]){ n->value, n->slope }, 2, &options);
    options.starts = d;
    if (!status)
        status = hs_plan_new(&n->curve, &n->product, 1, &options);
    if (status)
        return hs_session_fail(s, status, "%s", message.text);
    hs_plan_set(n->curve, n->points, n->copies);
    hs_plan_set(n->curve, n->direction, n->units);
    return HS_OK;
}

/* Log density at x, and its gradient. */
static hs_status climb(newton *n, const double *x, double *value)
{
    hs_plan_set(n->climb, n->point, x);
    const hs_status status = hs_plan_run(n->climb, &(hs_run){ 0 });
    if (!status) {
        *value = hs_plan_scalar(n->climb, n->value);
        memcpy(n->gradient, hs_plan_get(n->climb, n->slope), n->dim * sizeof *n->gradient);
    }
    return status;
}

/* The Hessian of minus the log density at x. */
static hs_status curve(newton *n)
{
    const size_t d = n->dim;
    for (size_t i = 0; i < d; i++)
        memcpy(n->copies + i * d, n->x, d * sizeof *n->x);
    const hs_status status = hs_plan_run(n->curve, &(hs_run){ 0 });
    const double *product = status ? NULL : hs_plan_get(n->curve, n->product);
    for (size_t i = 0; product && i < d; i++)
        for (size_t j = 0; j <= i; j++)
            n->hessian[i * d + j] = n->hessian[j * d + i] =
                -0.5 * (product[i * d + j] + product[j * d + i]);
    return status;
}

/* Factors the Hessian, with as much added to its diagonal as makes it positive definite. */
static bool factor_damped(newton *n)
{
    const size_t d = n->dim;
    double largest = 0;
    for (size_t i = 0; i < d; i++)
        largest = fmax(largest, fabs(n->hessian[i * d + i]));
    for (double damping = 0; damping <= 1e3; damping = damping > 0 ? 10 * damping : 1e-6) {
        memcpy(n->factor, n->hessian, d * d * sizeof *n->factor);
        for (size_t i = 0; i < d; i++)
            n->factor[i * d + i] += damping * fmax(largest, 1e-300);
        if (hs__cholesky_factor(n->factor, d))
            return true;
    }
    return false;
}

/* Climbs to the maximum by damped steps; *found tells whether it was reached. */
static hs_status ascend(newton *n, bool *found)
{
    const size_t d = n->dim;
    double value, next = 0;
    hs_status status = climb(n, n->x, &value);
    *found = false;
    for (int iteration = 0; iteration < 200 && !status && isfinite(value); iteration++) {
        status = curve(n);
        if (status || !factor_damped(n))
            break;
        hs__cholesky_solve(n->factor, d, n->gradient, n->step);
        double gain = 0; /* twice the gain of a quadratic */
        for (size_t i = 0; i < d; i++)
            gain += n->gradient[i] * n->step[i];
        double length = 1;
        for (int halving = 0; halving < 60; halving++, length /= 2) {
            for (size_t i = 0; i < d; i++)
                n->next[i] = n->x[i] + length * n->step[i];
            status = climb(n, n->next, &next);
            if (status || next >= value + 1e-4 * length * gain - 1e-13 * fabs(value))
                break;
        }
        if (status || !isfinite(next))
            break;
        memcpy(n->x, n->next, d * sizeof *n->x);
        value = next;
        /* The last step has squared the remaining error. */
        if (gain < 1e-12) {
            *found = true;
            break;
        }
    }
    return status;
}

static void covariance_of(const newton *n, double *inverse, double *covariance)
{
    const size_t d = n->dim;
    hs__cholesky_invert(n->factor, d, inverse);
    memset(covariance, 0, d * d * sizeof *covariance);
    for (size_t k = 0; k < d; k++) /* inverse' inverse */
        for (size_t i = 0; i <= k; i++)
            for (size_t j = 0; j <= k; j++)
                covariance[i * d + j] += inverse[k * d + i] * inverse[k * d + j];
}

hs_status hs_laplace_approximation(hs_session *s, const hs_target *target, const double *start,
                                   double *mode, double *covariance)
{
    if (hs_session_status(s))
        return hs_session_status(s);
    if (!target)
        return hs_session_fail(s, HS_EINVAL, "Laplace approximation: there is no target");
    newton n = { 0 };
    bool found = false;
    hs_status status = newton_init(s, &n, target, start);
    if (!status) {
        status = ascend(&n, &found);
        if (!status && found)
            status = curve(&n);
        if (status) {
            hs_session_fail(s, status, "%s", hs_status_text(status));
        } else {
            memcpy(n.factor, n.hessian, n.dim * n.dim * sizeof *n.factor);
            if (!found || !hs__cholesky_factor(n.factor, n.dim))
                status = hs_session_fail(s, HS_EINVAL,
                                         "Laplace approximation: no maximum of target \"%s\" was "
                                         "found from the start given",
                                         hs_target_name(target));
        }
    }
    if (!status && mode)
        memcpy(mode, n.x, n.dim * sizeof *mode);
    if (!status && covariance)
        covariance_of(&n, n.copies, covariance);
    newton_free(&n);
    return status;
}
