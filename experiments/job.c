#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_internal.h"
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/io/netcdf.h>
#include <hastings/mcmc/io/stan_csv.h>
#include <hastings/objectives/objectives.h>

/* As files have it: what is computed from a figure is the same whether it was read back or not. */
json_t *app_json_figure(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", x);
    return isfinite(x) ? json_real(strtod(text, NULL)) : json_null();
}

json_t *app_json_text(const char *text)
{
    json_t *json = json_string(text);
    char plain[512];
    snprintf(plain, sizeof plain, "%s", text);
    for (char *c = plain; *c && !json; c++)
        *c = (unsigned char)*c < 128 ? *c : '?';
    return json ? json : json_string(plain);
}

void app_put_number(json_t *object, const char *key, double x)
{
    json_object_set_new(object, key, app_json_figure(x));
}

bool app_job_path(const work *w, char path[JOB_PATH], const char *folder, const char *ending)
{
    const int n = snprintf(path, JOB_PATH, "%s/%s/%s%s", w->job->out, folder, w->job->id, ending);
    if (n < 0 || n >= JOB_PATH)
        hs_session_fail(w->session, HS_EINVAL, "the path of the output folder is too long: %s",
                        w->job->out);
    return n >= 0 && n < JOB_PATH;
}

bool app_job_on_progress(const hs_progress *p, void *context)
{
    work *w = context;
    const job *j = w->job;
    w->stopped |= j->progress && !j->progress(p, j->context);
    return !w->stopped;
}

static bool has_column(const job *j, const char *name)
{
    const json_t *columns = json_object_get(j->experiment, "columns");
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (!strcmp(json_string_value(json_array_get(columns, i)), name))
            return true;
    return false;
}

/* ---- What chains say -------------------------------------------------------------------------- */

static void record_warnings(json_t *record, const hs_report *report)
{
    static const struct {
        hs_warning bit;
        const char *name;
    } all[] = { { HS_WARN_NONERGODIC, "nonergodic" }, { HS_WARN_RHAT, "rhat" },
                { HS_WARN_FEW_DRAWS, "few_draws" },   { HS_WARN_CONSTANT, "constant" },
                { HS_WARN_CAPPED, "capped" },         { HS_WARN_UNDEFINED, "undefined" },
                { HS_WARN_NONFINITE, "nonfinite" } };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hs_message text;
        if (hs_report_warning(report, all[i].bit, &text))
            json_array_append_new(list,
                                  json_pack("{ssss}", "name", all[i].name, "text", text.text));
    }
    json_object_set_new(record, "warnings", list);
}

static void record_coordinates(json_t *record, const hs_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->dim; i++) {
        const hs_series_summary *c = &report->coordinate[i];
        json_t *one = json_object();
        app_put_number(one, "mean", c->mean);
        app_put_number(one, "sd", c->sd);
        app_put_number(one, "ess_raw", c->ess[HS_ESS_RAW]);
        app_put_number(one, "ess_x2", c->ess[HS_ESS_SQUARE_RAW]);
        app_put_number(one, "ess_bulk", c->ess[HS_ESS_BULK]);
        app_put_number(one, "ess_tail", c->ess[HS_ESS_TAIL]);
        app_put_number(one, "ess_sd", c->ess[HS_ESS_SD]);
        app_put_number(one, "rhat", c->rhat);
        app_put_number(one, "mcse", c->mcse_mean);
        json_array_append_new(list, one);
    }
    json_object_set_new(record, "coordinates", list);
}

/* Median and largest over coordinates of the lesser ESS of x and x^2, as the paper has them. */
static void record_ess_range(json_t *figures, const hs_report *report)
{
    const double total = (double)(report->chains * report->draws);
    double *least = malloc(report->dim * sizeof *least);
    if (!least)
        return;
    for (size_t i = 0; i < report->dim; i++) {
        const double *ess = report->coordinate[i].ess;
        double x = fmin(ess[HS_ESS_RAW], ess[HS_ESS_SQUARE_RAW]);
        size_t k = i; /* kept sorted: there are few */
        for (; k > 0 && least[k - 1] > x; k--)
            least[k] = least[k - 1];
        least[k] = x;
    }
    const size_t n = report->dim;
    app_put_number(figures, "ess_median", 0.5 * (least[(n - 1) / 2] + least[n / 2]) / total);
    app_put_number(figures, "ess_max", least[n - 1] / total);
    free(least);
}

static void diagnose(work *w, const hs_chains *c)
{
    hs_report report;
    hs_message message = { "" };
    json_t *figures = json_object_get(w->record, "figures");
    const hs_status status =
        hs_diagnose(c, &(hs_diagnose_options){ .threads = w->job->threads }, &report, &message);
    if (status) {
        if (!w->stopped) /* a chain that was cut short may have too few draws */
            hs_session_fail(w->session, status, "%s", message.text);
        return;
    }
    app_put_number(figures, "acceptance", report.acceptance);
    app_put_number(figures, "msjd", report.msjd);
    app_put_number(figures, "ess_per_proposal", report.ess_per_proposal);
    app_put_number(figures, "rhat", report.rhat);
    app_put_number(figures, "samples_per_second",
                   c->seconds > 0 ? (double)(c->chains * c->draws) / c->seconds : (double)NAN);
    record_ess_range(figures, &report);
    record_warnings(w->record, &report);
    record_coordinates(w->record, &report);
    hs_report_free(&report);
}

static void keep_chains(work *w, const hs_chains *c)
{
    char path[JOB_PATH], name[JOB_TEXT + 16];
    hs_message message = { "" };
    /* Without the time that it took, equal draws are equal files. */
    hs_chains timeless = *c;
    timeless.seconds = 0;
    if (!app_job_path(w, path, "chains", ".nc"))
        return;
    hs_status status = hs_chains_save_netcdf(
        &timeless, &(hs_netcdf_options){ .title = w->job->label }, path, &message);
    if (!status && w->job->stan_csv && app_job_path(w, path, "chains", ""))
        status = hs_chains_save_stan_csv(&timeless, &(hs_stan_csv_options){ .seed = w->job->seed },
                                         path, &message);
    if (status)
        hs_session_fail(w->session, status, "%s", message.text);
    snprintf(name, sizeof name, "chains/%s.nc", w->job->id);
    json_object_set_new(w->record, "chains", json_string(name));
}

/* Independent draws, as chains that accept everything. */
static void resample(work *w)
{
    const settings *o = &w->job->set;
    hs_chains *c = NULL;
    hs_message message = { "" };
    app_points exact = { 0 };
    const size_t need = o->evaluations ? o->evaluations : o->chains * o->draws;
    if (!w->job->reference &&
        app_points_exact(&exact, w->session, w->target, need, w->job->seed + 17))
        return;
    const app_points *from = w->job->reference ? w->job->reference : &exact;
    const size_t chains = o->evaluations ? 1 : o->chains, draws = need / chains;
    const hs_status status =
        app_points_resample(&c, from, chains, draws, w->job->seed + 18, &message);
    if (status)
        hs_session_fail(w->session, status, "%s", message.text);
    else {
        diagnose(w, c);
        keep_chains(w, c);
    }
    hs_chains_free(c);
    app_points_free(&exact);
}

static void sample(work *w, const hs_proposal *p)
{
    const job *j = w->job;
    const settings *o = &j->set;
    hs_chains *c = hs_sample(w->session, w->target, p,
                             &(hs_sample_options){ .chains = o->chains,
                                                   .draws = o->draws,
                                                   .points = j->reference ? w->points.x : NULL,
                                                   .n_points = j->reference ? w->points.n : 0,
                                                   .seed = j->seed + 500,
                                                   .progress = app_job_on_progress,
                                                   .context = w });
    if (!c)
        return;
    w->stopped |= c->draws < o->draws;
    diagnose(w, c);
    keep_chains(w, c);
}

bool app_job_evaluate(work *w, const hs_proposal *p, const hs_objective *o, size_t proposals,
                      uint64_t seed, hs_evaluation *e)
{
    enum { BATCH = 250 };
    const size_t starts = proposals < BATCH ? proposals : BATCH;
    const hs_train_options options = { .objective = *o,
                                       .starts = starts,
                                       .proposals = 1,
                                       .points = w->job->reference ? w->points.x : NULL,
                                       .n_points = w->points.n,
                                       .seed = seed,
                                       .progress = app_job_on_progress,
                                       .context = w };
    return !hs_evaluate(w->session, w->target, p, &options, (proposals + starts - 1) / starts, e);
}

static void evaluate(work *w, const hs_proposal *p)
{
    hs_evaluation e;
    const hs_objective msjd = hs_msjd();
    json_t *figures = json_object_get(w->record, "figures");
    if (!app_job_evaluate(w, p, &msjd, w->job->set.evaluations, w->job->seed + 700, &e))
        return;
    app_put_number(figures, "acceptance", e.alpha);
    app_put_number(figures, "acceptance_error", e.alpha_error);
    app_put_number(figures, "msjd", e.jump);
    app_put_number(figures, "msjd_error", e.jump_error);
}

/* The paper's measure of any proposal, by whatever it was trained. */
static void evaluate_loss(work *w, const hs_proposal *p)
{
    enum { PROPOSALS = 10000 };
    hs_evaluation e;
    const hs_objective ab_initio = hs_ab_initio(0.18125);
    json_t *figures = json_object_get(w->record, "figures");
    if (!app_job_evaluate(w, p, &ab_initio, PROPOSALS, w->job->seed + 800, &e))
        return;
    app_put_number(figures, "loss", e.loss);
    app_put_number(figures, "loss_error", e.loss_error);
}

static void record_step(work *w, const hs_proposal *p)
{
    double step;
    if (app_job_get_step(p, &step))
        app_put_number(json_object_get(w->record, "figures"), "step", step);
}

static void keep_proposal(work *w, const hs_proposal *p)
{
    const job *j = w->job;
    char path[JOB_PATH], name[JOB_TEXT + 16];
    hs_message message = { "" };
    const json_t *training = json_object_get(w->record, "training");
    app_proposal_file file = { .target = j->target,
                               .proposal = j->proposal,
                               .objective = j->objective,
                               .seed = j->seed,
                               .replica =
                                   (uint64_t)json_integer_value(json_object_get(training, "best")),
                               .float32 = j->set.float32,
                               .points = w->points.x,
                               .n_points = w->points.n,
                               .dim = w->points.dim };
    file.training = json_pack("{sO?sO?}", "steps", json_object_get(training, "steps"), "loss",
                              json_object_get(training, "loss"));
    if (app_job_path(w, path, "proposals", ".json")) {
        const hs_status status = app_proposal_file_save(path, p, &file, &message);
        if (status)
            hs_session_fail(w->session, status, "%s", message.text);
        snprintf(name, sizeof name, "proposals/%s.json", j->id);
        json_object_set_new(w->record, "parameters", json_string(name));
    }
    json_decref(file.training);
}

/* ---- The job ---------------------------------------------------------------------------------- */

/* Draws that say what the scale of the target is, and that figures are drawn around. */
static bool take_points(work *w)
{
    enum { NUMBERS = 1000000, MOST = 4000 };
    if (w->job->reference) {
        w->points = *w->job->reference;
        return true;
    }
    const size_t few = NUMBERS / hs_target_original_dim(w->target);
    return hs_target_can_draw(w->target) &&
           !app_points_exact(&w->points, w->session, w->target, few > MOST ? MOST : few + 2,
                             w->job->seed + 16);
}

static void run_sampler(work *w)
{
    const job *j = w->job;
    hs_proposal *p = NULL;
    if (j->sampler && !strcmp(j->sampler, "iid")) {
        resample(w);
        return;
    }
    if (j->sampler && !strcmp(j->sampler, "fit")) {
        app_job_fit(w);
        return;
    }
    if (!j->sampler)
        p = app_job_train(w);
    else if (!strcmp(j->sampler, "hmc"))
        p = app_job_tune_hmc(w);
    else if (!strncmp(j->sampler, "accept:", 7))
        p = app_job_solve_step(w, strtod(j->sampler + 7, NULL));
    else
        p = app_job_best_step(w);
    if (!p || w->stopped || hs_session_status(w->session))
        return;
    if (j->objective)
        keep_proposal(w, p);
    record_step(w, p);
    if (j->set.evaluations)
        evaluate(w, p);
    else
        sample(w, p);
    if (has_column(j, "loss") && !hs_session_status(w->session))
        evaluate_loss(w, p);
    if (j->first_of_cell && !hs_session_status(w->session)) {
        app_job_draw_density(w, p);
        app_job_draw_weights(w, p);
    }
}

json_t *app_job_run(const job *j)
{
    work w = { .job = j, .record = json_object() };
    json_t *r = w.record;
    json_object_set_new(r, "id", json_string(j->id));
    json_object_set_new(r, "case", json_deep_copy(json_object_get(j->kase, "name")));
    json_object_set_new(r, "row", json_deep_copy(json_object_get(j->row, "name")));
    json_object_set_new(r, "replication", json_integer((json_int_t)j->replication));
    json_object_set_new(r, "seed", json_integer((json_int_t)j->seed));
    json_object_set_new(r, "figures", json_object());
    w.session = hs_session_new(
        &(hs_session_options){ .seed = j->seed, .float32 = j->set.float32, .threads = j->threads });
    w.target = app_spec_target(w.session, j->target);
    if (w.target && (take_points(&w) || !hs_session_status(w.session)))
        run_sampler(&w);
    const bool failed = hs_session_status(w.session) != HS_OK;
    json_object_set_new(r, "state",
                        json_string(failed      ? "failed"
                                    : w.stopped ? "partial"
                                                : "done"));
    json_object_set_new(r, "error", app_json_text(hs_session_error(w.session)));
    if (!j->reference)
        app_points_free(&w.points);
    hs_session_free(w.session);
    return r;
}
