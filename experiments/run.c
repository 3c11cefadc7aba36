#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_internal.h"
#include <hastings/experiments/json_file.h>
#include <hastings/tensor/message.h>
#include <hastings/tensor/threads.h>

/* ---- Telling the watcher ---------------------------------------------------------------------- */

bool app_run_tell(run *r, app_event e)
{
    e.workers = (size_t)r->workers;
    e.jobs = r->n;
    pthread_mutex_lock(&r->lock);
    if (e.kind == APP_JOB_ENDS)
        e.job = r->done;
    if (r->options->watch && !r->options->watch(&e, r->options->context))
        r->stop = true;
    const bool go_on = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

bool app_run_is_over(void *context)
{
    run *r = context;
    const app_run_options *o = r->options;
    if (o->interrupted && o->interrupted(o->context)) {
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_mutex_unlock(&r->lock);
        return true;
    }
    return false;
}

bool app_run_on_progress(const hs_progress *p, void *context)
{
    const ticket *t = context;
    return app_run_tell(t->run, (app_event){ .kind = APP_JOB_PROGRESS,
                                             .slot = t->slot,
                                             .job = t->job,
                                             .label = t->label,
                                             .progress = p,
                                             .estimate = (double)NAN });
}

/* ---- Workers ---------------------------------------------------------------------------------- */

static void job_file(const run *r, const job *j, const char *ending, char path[JOB_PATH])
{
    snprintf(path, JOB_PATH, "%.3800s/work/%s%s", r->out, j->id, ending);
}

/* The record of this job, if the JSON is one and the job is done; NULL else. */
static app_record *done_record(const json_t *json, const job *j)
{
    app_record *record = json ? app_record_read(json, j->id, NULL) : NULL;
    if (record && !strcmp(record->id, j->id) && record->state == APP_JOB_DONE)
        return record;
    app_record_free(record);
    return NULL;
}

/* The record of a job that an earlier run finished, from its own file or, without that, from the
 * result; NULL if there is none. */
static app_record *finished_before(const run *r, const job *j)
{
    char path[JOB_PATH];
    job_file(r, j, ".json", path);
    json_t *json = access(path, R_OK) == 0 ? app_json_read(path, NULL) : NULL;
    app_record *record = done_record(json, j);
    json_decref(json);
    for (size_t i = 0; i < json_array_size(r->before) && !record; i++) {
        const json_t *before = json_array_get(r->before, i);
        const char *id = app_text_of(before, "id");
        if (id && !strcmp(id, j->id))
            record = done_record(before, j);
    }
    return record;
}

/* Removes the checkpoints of a job that is done. */
static void remove_checkpoints(const run *r, const job *j)
{
    char folder[JOB_PATH], path[JOB_PATH + 512], prefix[JOB_TEXT + 16];
    snprintf(folder, sizeof folder, "%.3800s/work", r->out);
    snprintf(prefix, sizeof prefix, "%s.training", j->id);
    DIR *d = opendir(folder);
    for (struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d))
        if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            (void)unlink(path);
        }
    if (d)
        closedir(d);
}

/* One line about the outcome of a job. */
static const char *outcome(const app_record *record, char text[256])
{
    static const app_figure_id shown[] = { APP_FIGURE_acceptance, APP_FIGURE_msjd,
                                           APP_FIGURE_ess_per_proposal, APP_FIGURE_coefficient };
    snprintf(text, 256, "%s", record ? record->error : "out of memory");
    if (*text)
        return text;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const app_figure_value *figure = &record->figure[shown[i]];
        const size_t n = strlen(text);
        if (figure->known && isfinite(figure->value))
            snprintf(text + n, 256 - n, "%s%s %.3g", n ? ", " : "", app_column_at(shown[i])->title,
                     figure->value);
    }
    return text;
}

/* Saves the record of a job that is done. One that cannot be saved has failed: it would not be found again. */
static void save_record(const run *r, const job *j, app_record *record)
{
    char path[JOB_PATH];
    hs_message m = { "" };
    json_t *json = app_record_json(record);
    job_file(r, j, ".json", path);
    if (app_json_save(path, json, &m) == HS_OK) {
        remove_checkpoints(r, j);
    } else {
        record->state = APP_JOB_FAILED;
        record->error = app_record_text(record, "%s", m.text);
    }
    json_decref(json);
}

static void finish_job(run *r, size_t i, size_t slot, app_record *record)
{
    char text[256];
    if (record && record->state == APP_JOB_DONE)
        save_record(r, &r->jobs[i], record);
    pthread_mutex_lock(&r->lock);
    r->records[i] = record;
    r->done++;
    pthread_mutex_unlock(&r->lock);
    app_run_tell(r, (app_event){ .kind = APP_JOB_ENDS,
                                 .slot = slot,
                                 .label = r->jobs[i].label,
                                 .text = outcome(record, text),
                                 .failed = !record || record->state == APP_JOB_FAILED,
                                 .estimate = (double)NAN });
}

typedef struct {
    run *run;
    size_t slot;
} worker;

static void *work_on(void *context)
{
    const worker *self = context;
    run *r = self->run;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (r->next < r->n && r->records[r->next])
            r->next++;
        const size_t i = r->next++;
        const bool over = i >= r->n || r->stop;
        /* The last jobs have the threads of workers that have nothing left to do. */
        size_t left = 0;
        for (size_t k = 0; k < r->n; k++)
            left += !r->records[k];
        const int share =
            r->threads / (left < (size_t)r->workers ? (int)(left ? left : 1) : r->workers);
        pthread_mutex_unlock(&r->lock);
        if (over)
            return NULL;
        job *j = &r->jobs[i];
        ticket t = { r, i, self->slot, j->label };
        j->progress = app_run_on_progress;
        j->context = &t;
        j->interrupted = app_run_is_over;
        j->run = r;
        j->threads = share > 0 ? share : 1;
        app_run_tell(r, (app_event){ .kind = APP_JOB_BEGINS,
                                     .slot = self->slot,
                                     .job = i,
                                     .label = j->label,
                                     .estimate = (double)NAN });
        finish_job(r, i, self->slot, app_job_run(j));
    }
}

static void run_jobs(run *r)
{
    enum { MOST = 64 };
    pthread_t thread[MOST];
    worker workers[MOST];
    const size_t n = (size_t)r->workers < MOST ? (size_t)r->workers : MOST;
    size_t started = 1; /* this thread is a worker too */
    for (size_t i = 0; i < n; i++)
        workers[i] = (worker){ r, i };
    for (; started < n; started++)
        if (pthread_create(&thread[started], NULL, work_on, &workers[started]))
            break;
    work_on(&workers[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(thread[i], NULL);
}

static hs_status save_result(const run *r, bool finished, hs_message *m)
{
    char path[JOB_PATH];
    json_t *result = app_run_result(r, finished);
    snprintf(path, sizeof path, "%.3800s/result.json", r->out);
    const hs_status status = result ? app_json_save(path, result, m) : HS_ENOMEM;
    json_decref(result);
    return status;
}

static void load_finished(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->records[i] = finished_before(r, &r->jobs[i]);
        r->done += r->records[i] != NULL;
    }
}

static void run_free(run *r)
{
    for (size_t i = 0; i < r->n && r->records; i++)
        app_record_free(r->records[i]);
    for (size_t i = 0; i < r->n_references; i++)
        app_points_free(&r->references[i].points);
    free(r->records);
    free(r->jobs);
    json_decref(r->experiment);
    json_decref(r->settings);
    json_decref(r->before);
    pthread_mutex_destroy(&r->lock);
    if (r->folder >= 0)
        close(r->folder); /* which unlocks it */
}

static void choose_workers(run *r)
{
    const int asked = r->options->threads;
    size_t wanted = r->jobs[0].set.workers, left = 0;
    r->threads = asked > 0 ? asked : hs_threads_default();
    for (size_t i = 0; i < r->n; i++)
        left += !r->records[i];
    wanted = wanted ? wanted : (size_t)r->threads;
    r->workers = (int)(wanted < left ? wanted : left);
    r->workers = r->workers > 1 ? r->workers : 1;
    r->workers = r->workers < r->threads ? r->workers : r->threads;
}

hs_status app_experiment_run(json_t *experiment, const app_run_options *options,
                             hs_message *message)
{
    hs_message unwanted;
    hs_message *m = message ? message : &unwanted;
    run r = { .options = options, .out = options->out, .started = time(NULL), .folder = -1 };
    pthread_mutex_init(&r.lock, NULL);
    json_object_seed(1); /* before there are threads */
    app_json_watch_memory();
    hs_message_clear(m);
    snprintf(r.command, sizeof r.command, "%s", options->command ? options->command : "");
    hs_status status = !r.out ? hs_message_fail(m, HS_EINVAL, "there is no output folder")
                       : options->resume ? app_run_take_over(&r, m)
                       : experiment == NULL
                           ? hs_message_fail(m, HS_EINVAL, "there is no experiment")
                           : app_run_shape(&r, experiment, m);
    if (!status)
        status = app_run_plan(&r, m);
    if (!status)
        status = app_run_check_targets(&r, m);
    if (!status)
        status = app_run_make_folder(&r, m);
    if (!status) {
        load_finished(&r);
        choose_workers(&r);
        status = save_result(&r, false, m);
    }
    if (!status) {
        app_run_tell(&r, (app_event){ .kind = APP_RUN_BEGINS,
                                      .job = r.done,
                                      .label = app_text_of(r.experiment, "title"),
                                      .estimate = app_run_estimate(&r) });
        status = app_run_make_references(&r, m);
        if (!status && !r.stop)
            run_jobs(&r);
        const hs_status saved = save_result(&r, true, status ? NULL : m);
        status = status ? status : saved;
        app_run_tell(&r, (app_event){ .kind = APP_RUN_ENDS, .job = r.done, .estimate = 0 });
    }
    run_free(&r);
    return status;
}
