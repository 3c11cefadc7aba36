#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_internal.h"
#include <hastings/experiments/json.h>
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/io/netcdf.h>
#include <hastings/mcmc/io/stan_csv.h>
#include <hastings/objectives/objectives.h>

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

static void diagnose(work *w, const hs_chains *c)
{
    hs_report report;
    hs_message message = { "" };
    const hs_status status = hs_diagnose(c,
                                         &(hs_diagnose_options){ .threads = w->job->threads,
                                                                 .interrupted = w->job->interrupted,
                                                                 .context = w->job->run },
                                         &report, &message);
    if (status) {
        if (!w->stopped &&
            status != HS_EINTERRUPTED) /* a chain that was cut short may have too few draws */
            hs_session_fail(w->session, status, "%s", message.text);
        return;
    }
    app_record_diagnosis(w->record, &report);
    hs_report_free(&report);
}

static void keep_chains(work *w, const hs_chains *c)
{
    char path[JOB_PATH];
    hs_message message = { "" };
    /* Without the time that it took, equal draws are equal files. */
    hs_chains timeless = *c;
    timeless.seconds = 0;
    if (hs_session_interrupted(w->session)) /* the job will be done again */
        return;
    if (!app_job_path(w, path, "chains", ".nc"))
        return;
    hs_status status = hs_chains_save_netcdf(
        &timeless, &(hs_netcdf_options){ .title = w->job->label }, path, &message);
    if (!status && w->job->stan_csv && app_job_path(w, path, "chains", ""))
        status = hs_chains_save_stan_csv(&timeless, &(hs_stan_csv_options){ .seed = w->job->seed },
                                         path, &message);
    if (status)
        hs_session_fail(w->session, status, "%s", message.text);
    w->record->chains = app_record_text(w->record, "chains/%s.nc", w->job->id);
}

/* Independent draws, as chains that accept everything. */
static void resample(work *w)
{
    const settings *o = &w->job->set;
    hs_chains *c = NULL;
    hs_message message = { "" };
    app_points exact = { 0 };
    const size_t need = o->evaluations ? o->evaluations : hs_size_product(o->chains, o->draws);
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
    if (!app_job_evaluate(w, p, &msjd, w->job->set.evaluations, w->job->seed + 700, &e))
        return;
    app_record_figure(w->record, APP_FIGURE_acceptance, e.alpha, e.alpha_error);
    app_record_figure(w->record, APP_FIGURE_msjd, e.jump, e.jump_error);
}

/* The paper's measure of any proposal, by whatever it was trained. */
static void evaluate_loss(work *w, const hs_proposal *p)
{
    enum { PROPOSALS = 10000 };
    hs_evaluation e;
    const hs_objective ab_initio = hs_ab_initio(0.18125);
    if (!app_job_evaluate(w, p, &ab_initio, PROPOSALS, w->job->seed + 800, &e))
        return;
    app_record_figure(w->record, APP_FIGURE_loss, e.loss, e.loss_error);
}

static void record_step(work *w, const hs_proposal *p)
{
    double step;
    if (app_job_get_step(p, &step))
        app_record_figure(w->record, APP_FIGURE_step, step, (double)NAN);
}

static void keep_proposal(work *w, const hs_proposal *p)
{
    const job *j = w->job;
    char path[JOB_PATH];
    hs_message message = { "" };
    const app_training *training = w->record->training;
    app_proposal_file file = { .target = j->target,
                               .proposal = j->proposal,
                               .objective = j->objective,
                               .seed = j->seed,
                               .replica = training ? training->best : 0,
                               .float32 = j->set.float32,
                               .points = w->points.x,
                               .n_points = w->points.n,
                               .dim = w->points.dim };
    if (training)
        file.training = json_pack("{sIso}", "steps", (json_int_t)training->steps, "loss",
                                  app_json_number(training->loss));
    if (app_job_path(w, path, "proposals", ".json")) {
        const hs_status status = app_proposal_file_save(path, p, &file, &message);
        if (status)
            hs_session_fail(w->session, status, "%s", message.text);
        w->record->parameters = app_record_text(w->record, "proposals/%s.json", j->id);
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
    /* A proposal that knows only a ratio, such as HMC, has no such loss. */
    if (has_column(j, "loss") && !hs_proposal_is_ratio_only(p) && !hs_session_status(w->session))
        evaluate_loss(w, p);
    if (j->first_of_cell && !hs_session_status(w->session)) {
        app_job_draw_density(w, p);
        app_job_draw_weights(w, p);
    }
}

app_record *app_job_record(const job *j)
{
    app_record *r = app_record_new();
    if (r) {
        r->id = app_record_text(r, "%s", j->id);
        r->kase = app_record_text(r, "%s", app_text_of(j->kase, "name"));
        r->row = app_record_text(r, "%s", app_text_of(j->row, "name"));
        r->replication = j->replication;
        r->seed = j->seed;
    }
    return r;
}

app_record *app_job_run(const job *j)
{
    app_record *r = app_job_record(j);
    work w = { .job = j, .record = r };
    if (!r)
        return NULL;
    w.session = hs_session_new(&(hs_session_options){ .seed = j->seed,
                                                      .float32 = j->set.float32,
                                                      .threads = j->threads,
                                                      .interrupted = j->interrupted,
                                                      .context = j->run });
    w.target = app_spec_target(w.session, j->target);
    if (w.target && (take_points(&w) || !hs_session_status(w.session)))
        run_sampler(&w);
    w.stopped |= hs_session_interrupted(w.session);
    if (hs_session_status(w.session) == HS_EINTERRUPTED)
        hs_session_clear(w.session);
    if (r->no_memory)
        hs_session_fail(w.session, HS_ENOMEM, "out of memory for the record of the job");
    const bool failed = hs_session_status(w.session) != HS_OK;
    r->state = failed ? APP_JOB_FAILED : w.stopped ? APP_JOB_PARTIAL : APP_JOB_DONE;
    r->error = app_record_text(r, "%s", hs_session_error(w.session));
    if (!j->reference)
        app_points_free(&w.points);
    hs_session_free(w.session);
    return r;
}
