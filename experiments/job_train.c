/* How jobs come to the proposal that they sample with. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job_internal.h"
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/tune.h>
#include <hastings/objectives/fit.h>
#include <hastings/objectives/objectives.h>
#include <hastings/tensor/memory.h>

static hs_proposal *make_proposal(hs_session *s, uint64_t replica, void *context)
{
    work *w = context;
    w->attempt = replica;
    return app_spec_proposal(s, w->target, w->job->proposal, replica, w->points.x, w->points.n);
}

/* ---- Training --------------------------------------------------------------------------------- */

static app_curve *curve_of(app_record *r, const hs_training *t)
{
    enum { MOST = 64 }; /* enough for a picture; there may be hundreds of jobs */
    app_curve *curve = app_record_alloc(r, 1, sizeof *curve);
    const size_t each = (t->points + MOST - 1) / MOST, n = each ? t->points / each : 0;
    if (!curve)
        return NULL;
    curve->step = app_record_numbers(r, NULL, n);
    curve->loss = app_record_numbers(r, NULL, n);
    curve->alpha = app_record_numbers(r, NULL, n);
    for (size_t i = 0; i < n && !r->no_memory; i++) {
        for (size_t k = i * each; k < (i + 1) * each; k++) {
            curve->loss.x[i] += t->curve_loss[k] / (double)each;
            curve->alpha.x[i] += t->curve_alpha[k] / (double)each;
        }
        curve->step.x[i] = t->curve_step[(i + 1) * each - 1];
    }
    return curve;
}

static void record_training(app_record *r, const hs_objective *o, const hs_restarts *all)
{
    const hs_training *t = &all->training;
    char text[HS_OBJECTIVE_TEXT];
    app_training *training = app_record_alloc(r, 1, sizeof *training);
    app_try *tries = app_record_alloc(r, all->tries, sizeof *tries);
    if (!training || !tries)
        return;
    for (size_t i = 0; i < all->tries; i++)
        tries[i] = (app_try){ all->loss[i], all->loss_error[i], all->alpha[i] };
    *training = (app_training){ .objective = app_record_text(r, "%s", hs_objective_text(o, text)),
                                .steps = t->steps,
                                .seconds = t->seconds,
                                .loss = t->loss,
                                .alpha = t->alpha,
                                .adapted = o->adapt ? t->adapted : (double)NAN,
                                .rolled_back = t->rolled_back,
                                .curve = curve_of(r, t),
                                .tries = { tries, all->tries },
                                .best = all->best };
    r->training = training;
    app_record_figure(r, APP_FIGURE_gradients_per_second,
                      t->seconds > 0 ? (double)t->steps / t->seconds : (double)NAN, (double)NAN);
}

/* All tries are one training to whoever watches. */
static bool on_training(const hs_progress *p, void *context)
{
    work *w = context;
    hs_progress all = *p;
    all.step += w->attempt * p->steps;
    all.steps *= w->job->set.restarts;
    return app_job_on_progress(&all, w);
}

hs_proposal *app_job_train(work *w)
{
    const job *j = w->job;
    const settings *o = &j->set;
    hs_objective objective;
    char error[256], checkpoint[JOB_PATH];
    if (hs_objective_parse(j->objective, &objective, error, sizeof error)) {
        hs_session_fail(w->session, HS_EINVAL, "%s", error);
        return NULL;
    }
    if (!j->proposal) {
        hs_session_fail(w->session, HS_EINVAL, "there is no proposal to train");
        return NULL;
    }
    if (!app_job_path(w, checkpoint, "work", ".training"))
        return NULL;
    const bool from_points = j->reference || o->online; /* which starts its chains there */
    hs_optimizer_options optimizer = o->optimizer;
    optimizer.rate = o->rate > 0 ? o->rate : optimizer.rate;
    hs_restarts r;
    hs_proposal *best =
        hs_train_restarts(w->session, w->target, make_proposal, w, o->restarts,
                          &(hs_train_options){ .objective = objective,
                                               .starts = o->starts,
                                               .proposals = o->proposals,
                                               .steps = o->steps,
                                               .optimizer = optimizer,
                                               .seed = j->seed,
                                               .points = from_points ? w->points.x : NULL,
                                               .n_points = from_points ? w->points.n : 0,
                                               .online = o->online,
                                               .roll_backs = 20,
                                               .progress = on_training,
                                               .context = w,
                                               .checkpoint = checkpoint,
                                               .checkpoint_every = o->steps / 20 + 1 },
                          &r);
    if (!best)
        return NULL;
    record_training(w->record, &objective, &r);
    return best;
}

/* ---- Samplers to compare with ----------------------------------------------------------------- */

hs_proposal *app_job_tune_hmc(work *w)
{
    const job *j = w->job;
    enum { CHAINS = 50 };
    hs_proposal *hmc = hs_hmc(w->session, w->target, NULL);
    double *starts = hs_alloc_zero(CHAINS * w->points.dim + 1, sizeof *starts);
    for (size_t i = 0; starts && i < CHAINS && w->points.n; i++)
        memcpy(starts + i * w->points.dim, w->points.x + (i * w->points.n / CHAINS) * w->points.dim,
               w->points.dim * sizeof *starts);
    hs_tune(w->session, w->target, hmc,
            &(hs_tune_options){ .chains = CHAINS,
                                .steps = j->set.reference_warmup,
                                .acceptance = j->set.reference_acceptance,
                                .points = w->points.n ? starts : NULL,
                                .seed = j->seed + 400,
                                .progress = app_job_on_progress,
                                .context = w },
            NULL);
    hs_free(starts);
    return hs_session_status(w->session) ? NULL : hmc;
}

bool app_job_get_step(const hs_proposal *p, double *step)
{
    bool is_log;
    const hs_param parameter = hs_proposal_step(p, &is_log);
    const hs_shape shape = hs_param_shape(parameter);
    if (parameter.index < 0 || hs_shape_count(&shape) != 1)
        return false;
    hs_param_get(parameter, step);
    *step = is_log ? exp(*step) : *step;
    return true;
}

static void set_log_step(const hs_proposal *p, double log_step)
{
    bool is_log;
    const hs_param parameter = hs_proposal_step(p, &is_log);
    hs_param_set(parameter, &(double){ is_log ? log_step : exp(log_step) });
}

/* A step, and what it leads to, always with the same draws. */
static bool try_step(work *w, hs_proposal *p, double log_step, hs_evaluation *e)
{
    const hs_objective msjd = hs_msjd();
    double step;
    const hs_progress now = { .what = "solve", .loss = (double)NAN, .alpha = (double)NAN };
    if (!app_job_get_step(p, &step)) {
        hs_session_fail(w->session, HS_EINVAL, "proposal \"%s\" has no single step to solve for",
                        w->job->proposal);
        return false;
    }
    if (!app_job_on_progress(&now, w))
        return false;
    set_log_step(p, log_step);
    return app_job_evaluate(w, p, &msjd, w->job->set.evaluations ? w->job->set.evaluations : 25000,
                            w->job->seed + 600, e);
}

static bool start_step(work *w, hs_proposal **p, double *log_step)
{
    *p = w->job->proposal ? make_proposal(w->session, 0, w) : NULL;
    if (!*p) {
        hs_session_fail(w->session, HS_EINVAL, "there is no proposal whose step could be found");
        return false;
    }
    double step = 1;
    (void)app_job_get_step(*p, &step);
    *log_step = log(step);
    return true;
}

/* Acceptance falls as the step grows: a bracket, then false position (Illinois). */
hs_proposal *app_job_solve_step(work *w, double acceptance)
{
    hs_proposal *p;
    hs_evaluation e;
    double at[2], off[2];
    if (!start_step(w, &p, &at[0]) || !try_step(w, p, at[0], &e))
        return NULL;
    off[0] = e.alpha - acceptance;
    for (int i = 0; i < 60; i++) {
        at[1] = at[0] + (off[0] > 0 ? 0.5 : -0.5);
        if (!try_step(w, p, at[1], &e))
            return NULL;
        off[1] = e.alpha - acceptance;
        if (off[0] * off[1] <= 0)
            break;
        at[0] = at[1];
        off[0] = off[1];
    }
    for (int i = 0; i < 30 && fabs(off[1]) > 1e-5 && fabs(at[1] - at[0]) > 1e-7; i++) {
        const double next = at[1] - off[1] * (at[1] - at[0]) / (off[1] - off[0]);
        if (!isfinite(next) || !try_step(w, p, next, &e))
            return NULL;
        const double found = e.alpha - acceptance;
        if (found * off[1] < 0) {
            at[0] = at[1];
            off[0] = off[1];
        } else {
            off[0] /= 2;
        }
        at[1] = next;
        off[1] = found;
    }
    return p;
}

/* The largest MSJD by a parabola through values near the maximum, as the paper found it where
 * gradients cannot: each round centres on the last one's, and is narrower. */
hs_proposal *app_job_best_step(work *w)
{
    enum { HALF = 3 };
    hs_proposal *p;
    hs_evaluation e;
    double centre, width = 0.3;
    if (!start_step(w, &p, &centre))
        return NULL;
    for (int round = 0; round < 3; round++) {
        /* Least squares of a + b k + c k^2 over k = -HALF .. HALF, which is symmetric. */
        double n = 2 * HALF + 1, s2 = 0, s4 = 0, y0 = 0, y1 = 0, y2 = 0;
        for (int k = -HALF; k <= HALF; k++) {
            if (!try_step(w, p, centre + width * k, &e))
                return NULL;
            const double x = k, y = e.jump;
            s2 += x * x;
            s4 += x * x * x * x;
            y0 += y;
            y1 += x * y;
            y2 += x * x * y;
        }
        const double b = y1 / s2, c = (n * y2 - s2 * y0) / (n * s4 - s2 * s2);
        const double move = c < 0 ? -b / (2 * c) : (b > 0 ? HALF : -HALF);
        centre += width * fmax(-HALF, fmin(HALF, move));
        width = c < 0 && fabs(move) < HALF ? width * 0.7 : width;
    }
    return try_step(w, p, centre, &e) ? p : NULL;
}

/* ---- Fits of Ab Initio's coefficient ---------------------------------------------------------- */

void app_job_fit(work *w)
{
    const job *j = w->job;
    const size_t dim = hs_target_dim(w->target);
    const hs_reference both[] = { hs_reference_walk(w->session, dim),
                                  hs_reference_mala(w->session, dim) };
    const hs_fit_options options = { .sampling = { .rows = j->set.evaluations, .seed = j->seed } };
    const char *of = j->proposal ? j->proposal : "";
    hs_fit fit;
    hs_status status = HS_EINVAL;
    if (!strcmp(of, "walk"))
        status = hs_fit_newton(&both[0], NULL, &options, &fit);
    else if (!strcmp(of, "mala"))
        status = hs_fit_newton(&both[1], NULL, &options, &fit);
    else if (!strcmp(of, "both")) /* between the two, as the paper did */
        status = hs_fit_linear(both, 2, 0.18, 0.255, NULL, &options, &fit);
    else
        hs_session_fail(w->session, status, "a fit is of walk, mala or both, not of \"%s\"", of);
    if (status)
        return;
    app_record_figure(w->record, APP_FIGURE_coefficient, fit.coefficient[0], fit.error[0]);
    app_record_figure(w->record, APP_FIGURE_acceptance, fit.acceptance[0], (double)NAN);
}
