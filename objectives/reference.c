#include <hastings/objectives/reference.h>

#include <math.h>

#include <hastings/autograd/plan.h>
#include <hastings/tensor/memory.h>

#include "fit_internal.h"

static const char *const place = "reference problem";

#undef HS_HERE
#define HS_HERE place

enum { DRAW_STREAM = 0, NOISE_STREAM = HS_DRAW_STREAMS };

/* Means over rows, which a pass over them measures. */
enum { LOSS, ACCEPTANCE, MSJD, LOG_ALPHA, SLOPE, MEASURED };

/* A problem made ready to run. */
typedef struct {
    const hs_reference *reference;
    hs_param step; /* the proposal's */
    bool log_step;
    hs_tape *tape;
    hs_plan *plan;
    hs_var output[MEASURED];
    size_t blocks, rows; /* rows of each block */
    uint64_t seed;
    double tolerance;
    double (*sample)[MEASURED]; /* [blocks], of the last measurement */
    int runs;
} reference_run;

hs_status hs__reference_fail(const hs_reference *r, hs_status status, const char *what)
{
    return hs_session_fail(hs_target_session(r->target), status, "reference problem \"%s\": %s",
                           r->name ? r->name : hs_target_name(r->target), what);
}

static const char *fault_of(const hs_reference *r)
{
    if (!hs_target_can_draw(r->target))
        return "its target cannot be sampled directly";
    const hs_param step = hs_proposal_step(r->proposal, NULL);
    const hs_shape shape = hs_param_shape(step);
    if (step.index < 0)
        return "its proposal has no step size";
    return hs_shape_count(&shape) == 1 ? NULL : "its step must be one number";
}

/* The mean over the ways of moving, by weight. */
static hs_var weighted(hs_var sum, hs_var weight, hs_var value, size_t way)
{
    hs_var part = hs_mul(weight, value);
    return way ? hs_add(sum, part) : part;
}

/* Records the mean over rows of all that is measured. */
static void record(reference_run *run, const hs_objective *o)
{
    const hs_reference *r = run->reference;
    hs_tape *tape = run->tape;
    hs_var x = hs_target_draw(r->target, tape, HS_ROW, DRAW_STREAM);
    hs_var n =
        r->noise ? r->noise(r->self, tape, NOISE_STREAM)
                 : hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(r->proposal)), NOISE_STREAM);
    hs_transition moves[HS_MAX_WAYS];
    hs_transitions(r->target, r->proposal, x, n, moves);
    hs_var row[SLOPE] = { { NULL, -1 } };
    for (size_t k = 0; k < hs_proposal_ways(r->proposal); k++) {
        hs_transition *t = &moves[k];
        t->adapted = hs_const(tape, o->adapted);
        if (r->dim)
            t->dim = r->dim;
        hs_var alpha = hs_exp(t->log_alpha);
        hs_var value[SLOPE] = { [LOSS] = o->loss(t, o),
                                [ACCEPTANCE] = alpha,
                                [MSJD] = hs_mul(alpha, hs_transition_jump(t)),
                                [LOG_ALPHA] = t->log_alpha };
        for (size_t i = 0; i < SLOPE; i++)
            row[i] = weighted(row[i], t->weight, value[i], k);
    }
    for (size_t i = 0; i < SLOPE; i++)
        run->output[i] = hs_mean_rows(row[i]);
    hs_var step = hs_param_var(tape, run->step), slope = { tape, -1 };
    hs_grad(run->output[LOSS], &step, 1, &slope);
    /* d / d log step = step d / d step */
    run->output[SLOPE] = hs_sum(run->log_step ? slope : hs_mul(step, slope), HS_ALL);
}

/* close_run() is due also after a failure. */
static hs_status open_run(reference_run *run, const hs_reference *r, const hs_objective *o,
                          const hs_reference_options *options)
{
    const hs_reference_options given = options ? *options : (hs_reference_options){ 0 };
    hs_session *s = hs_target_session(r->target);
    *run = (reference_run){ .reference = r };
    run->step = hs_proposal_step(r->proposal, &run->log_step);
    if (hs_session_status(s))
        return hs_session_status(s);
    const char *fault = fault_of(r);
    if (!fault && given.blocks == 1)
        fault = "there must be at least 2 blocks of rows";
    if (fault)
        return hs__reference_fail(r, HS_EINVAL, fault);
    run->blocks = given.blocks ? given.blocks : 40;
    run->rows = hs_size_add(given.rows ? given.rows : 200000, run->blocks - 1) / run->blocks;
    run->seed = given.seed ? given.seed : hs_session_seed(s);
    run->tolerance = given.tolerance > 0 ? given.tolerance : 1e-6;
    run->tape = hs_tape_new(hs_session_dtype(s));
    run->sample = hs_alloc_zero(run->blocks, sizeof *run->sample);
    hs_message message = { "out of memory" };
    hs_status status = run->tape && run->sample ? HS_OK : HS_ENOMEM;
    if (!status) {
        record(run, o);
        status = hs_plan_new(&run->plan, run->output, MEASURED,
                             &(hs_plan_options){ .starts = run->rows,
                                                 .threads = hs_session_threads(s),
                                                 .interrupted = hs_session_interrupted,
                                                 .context = s,
                                                 .message = &message });
    }
    if (status)
        hs__reference_fail(r, status, message.text);
    return status;
}

static void close_run(reference_run *run)
{
    hs_plan_free(run->plan);
    hs_tape_free(run->tape);
    hs_free(run->sample);
    *run = (reference_run){ 0 };
}

static double log_step_of(const reference_run *run)
{
    double value;
    hs_param_get(run->step, &value);
    return run->log_step ? value : log(value);
}

/* Sets the step and measures. */
static hs_status measure(reference_run *run, double log_step, double mean[MEASURED])
{
    const double value = run->log_step ? log_step : exp(log_step);
    hs_param_set(run->step, &value);
    for (int i = 0; i < MEASURED; i++)
        mean[i] = 0;
    for (size_t b = 0; b < run->blocks; b++) {
        const hs_status status = hs_plan_run(run->plan, &(hs_run){ .seed = run->seed, .step = b });
        if (status)
            return hs__reference_fail(run->reference, status, hs_plan_error(run->plan));
        for (int i = 0; i < MEASURED; i++) {
            run->sample[b][i] = hs_plan_scalar(run->plan, run->output[i]);
            mean[i] += run->sample[b][i] / (double)run->blocks;
        }
        if (hs_session_interrupted(hs_target_session(run->reference->target)))
            return hs__reference_fail(run->reference, HS_EINTERRUPTED,
                                      hs_status_text(HS_EINTERRUPTED));
    }
    run->runs++;
    return HS_OK;
}

/* What is to be 0: measured `what`, minus `level`, times `sign`, which rises with the step. */
typedef struct {
    reference_run *run;
    int what;
    double level, sign;
} equation;

typedef struct {
    double x, y;
} point;

static hs_status solve_at(const equation *e, double x, point *p)
{
    double mean[MEASURED];
    const hs_status status = measure(e->run, x, mean);
    *p = (point){ x, status ? 0 : e->sign * (mean[e->what] - e->level) };
    return status;
}

/* Two steps with the root between them, from one: steps of growing length towards it. What is not
 * below 0 (0 itself, where nothing is accepted any more, and what is not finite) is too large. */
static hs_status bracket(const equation *e, point first, point *low, point *high)
{
    const bool down = !(first.y < 0);
    point end = first;
    for (double h = 0.2; fabs(end.x - first.x) < log(1e5); h *= 1.6) {
        const point before = end;
        const hs_status status = solve_at(e, end.x + (down ? -h : h), &end);
        if (status)
            return status;
        if ((end.y < 0) == down) {
            *low = down ? end : before;
            *high = down ? before : end;
            return HS_OK;
        }
    }
    return hs__reference_fail(e->run->reference, HS_EINVAL,
                              "no solution is found within a factor of 1e5 of its step");
}

/* Regula falsi with the weights of Anderson and Bjorck; bisection where an end has no slope. */
static hs_status solve(const equation *e, double start, double *root)
{
    point low, high, p;
    hs_status status = solve_at(e, start, &p);
    if (!status)
        status = bracket(e, p, &low, &high);
    for (int i = 0; !status && i < 100; i++) {
        const bool secant = isfinite(low.y) && high.y > 0 && isfinite(high.y);
        *root =
            secant ? low.x - low.y * (high.x - low.x) / (high.y - low.y) : 0.5 * (low.x + high.x);
        const double moved = fmin(fabs(*root - low.x), fabs(*root - high.x));
        if (moved < e->run->tolerance)
            return HS_OK;
        status = solve_at(e, *root, &p);
        const bool lower = p.y < 0;
        point *replaced = lower ? &low : &high, *kept = lower ? &high : &low;
        const double weight = 1 - p.y / replaced->y;
        if (secant)
            kept->y *= weight > 0 ? weight : 0.5;
        *replaced = p;
    }
    return status;
}

/* Standard error of the mean of `what` + factor * `with` over the blocks of the last measurement.
 */
static double standard_error(const reference_run *run, int what, double factor, int with)
{
    const double n = (double)run->blocks;
    double mean = 0, square = 0;
    for (size_t b = 0; b < run->blocks; b++)
        mean += (run->sample[b][what] + factor * run->sample[b][with]) / n;
    for (size_t b = 0; b < run->blocks; b++)
        square += pow(run->sample[b][what] + factor * run->sample[b][with] - mean, 2);
    return sqrt(square / (n * (n - 1)));
}

/* Measures at a step and fills in the result. If the step is itself the solution of an equation,
 * `by` says in what: the errors then include that of the step (delta method), for which the slopes
 * there are differences over +-h. by < 0: the step is given. */
static hs_status describe(reference_run *run, double log_step, int by, hs_optimum *result)
{
    const double h = 0.02;
    double mean[MEASURED], side[2][MEASURED], factor[MEASURED] = { 0 };
    hs_status status = HS_OK;
    *result = (hs_optimum){ .step = exp(log_step) };
    for (int i = 0; by >= 0 && !status && i < 2; i++)
        status = measure(run, log_step + (i ? h : -h), side[i]);
    if (!status)
        status = measure(run, log_step, mean);
    if (status)
        return status;
    if (by >= 0) {
        result->curvature = (side[1][SLOPE] - side[0][SLOPE]) / (2 * h);
        result->acceptance_slope = (side[1][ACCEPTANCE] - side[0][ACCEPTANCE]) / (2 * h);
        for (int i = 0; i < MEASURED; i++)
            if (i != by)
                factor[i] = -(side[1][i] - side[0][i]) / (side[1][by] - side[0][by]);
    }
    const int with = by >= 0 ? by : 0;
    double *const value[MEASURED] = { &result->loss, &result->acceptance, &result->msjd,
                                      &result->log_alpha, &result->slope };
    double *const error[MEASURED] = { &result->loss_error, &result->acceptance_error,
                                      &result->msjd_error, &result->log_alpha_error,
                                      &result->slope_error };
    for (int i = 0; i < MEASURED; i++) {
        *value[i] = mean[i];
        *error[i] = standard_error(run, i, factor[i], with);
    }
    result->runs = run->runs;
    return HS_OK;
}

hs_status hs_reference_evaluate(const hs_reference *r, const hs_objective *o, double step,
                                const hs_reference_options *options, hs_optimum *at)
{
    reference_run run;
    hs_status status = open_run(&run, r, o, options);
    if (!status && !(step > 0))
        status = hs__reference_fail(r, HS_EINVAL, "a step must be positive");
    if (!status)
        status = describe(&run, log(step), -1, at);
    close_run(&run);
    return status;
}

/* Finds the step where sign * (measured - level), which rises with the step, is 0, and describes it. */
static hs_status solve_for(reference_run *run, int what, double level, double sign,
                           hs_optimum *result)
{
    double root = 0;
    const equation e = { run, what, level, sign };
    const double start = log_step_of(run);
    hs_status status =
        isfinite(start) ? solve(&e, start, &root)
                        : hs__reference_fail(run->reference, HS_EINVAL, "its step is not positive");
    return status ? status : describe(run, root, what, result);
}

hs_status hs_reference_optimum(const hs_reference *r, const hs_objective *o,
                               const hs_reference_options *options, hs_optimum *best)
{
    reference_run run;
    hs_status status = open_run(&run, r, o, options);
    if (!status)
        status = solve_for(&run, SLOPE, 0, 1, best);
    close_run(&run);
    return status;
}

hs_status hs_reference_tune(const hs_reference *r, double acceptance, const hs_objective *o,
                            const hs_reference_options *options, hs_optimum *at)
{
    reference_run run;
    hs_status status = open_run(&run, r, o, options);
    if (!status && !(acceptance > 0 && acceptance < 1))
        status = hs__reference_fail(r, HS_EINVAL, "an acceptance must lie between 0 and 1");
    if (!status)
        status = solve_for(&run, ACCEPTANCE, acceptance, -1, at);
    close_run(&run);
    return status;
}
