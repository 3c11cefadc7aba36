#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/experiments/run_internal.h>
#include <hastings/experiments/spec.h>
#include <hastings/experiments/text_file.h>
#include <hastings/mcmc/message_internal.h>
#include <hastings/objectives/objectives.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/threads.h>

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- Telling the watcher ---------------------------------------------------------------------- */

static bool tell(run *r, hs_event e)
{
    e.workers = (size_t)r->workers;
    e.jobs = r->n;
    pthread_mutex_lock(&r->lock);
    if (e.kind == HS_JOB_ENDS)
        e.job = r->done;
    if (r->options->watch && !r->options->watch(&e, r->options->context))
        r->stop = true;
    const bool go_on = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

typedef struct {
    run *run;
    size_t job, slot;
    const char *label;
} ticket;

static bool on_progress(const hs_progress *p, void *context)
{
    const ticket *t = context;
    return tell(t->run, (hs_event){ .kind = HS_JOB_PROGRESS,
                                    .slot = t->slot,
                                    .job = t->job,
                                    .label = t->label,
                                    .progress = p,
                                    .estimate = (double)NAN });
}

/* ---- Jobs ------------------------------------------------------------------------------------- */

static bool row_is_of_case(const json_t *row, const char *name)
{
    const json_t *cases = json_object_get(row, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (!strcmp(json_string_value(json_array_get(cases, i)), name))
            return true;
    return !cases;
}

static void append_slug(char *slug, const char *text)
{
    size_t n = strlen(slug);
    for (; *text && n + 2 < JOB_TEXT - 24; text++) {
        if (isalnum((unsigned char)*text))
            slug[n++] = (char)tolower((unsigned char)*text);
        else if (*text == '.' && n)
            slug[n++] = '.';
        else if (n && slug[n - 1] != '-')
            slug[n++] = '-';
    }
    while (n && slug[n - 1] == '-')
        n--;
    slug[n] = 0;
}

/* Later ones win. */
static bool job_settings(const run *r, const json_t *kase, const json_t *row, settings *s,
                         hs_message *m)
{
    json_t *all = json_object();
    json_object_update(all, json_object_get(r->experiment, "settings"));
    json_object_update(all, json_object_get(kase, "settings"));
    json_object_update(all, json_object_get(row, "settings"));
    if (r->quick)
        json_object_update(all, json_object_get(r->experiment, "quick"));
    json_object_update(all, r->settings);
    json_object_del(all, "cases");
    const bool ok = settings_read(all, s, "settings", m);
    json_decref(all);
    return ok;
}

static hs_status add_jobs(run *r, const json_t *kase, const json_t *row, size_t replication,
                          hs_message *m)
{
    job j = { .experiment = r->experiment, .kase = kase, .row = row, .out = r->out };
    const char *case_name = text_of(kase, "name"), *row_name = text_of(row, "name");
    if (!job_settings(r, kase, row, &j.set, m))
        return HS_EINVAL;
    if (replication > j.set.replications || !row_is_of_case(row, case_name))
        return HS_OK;
    j.target = text_of(kase, "target");
    j.proposal = text_of(row, "proposal") ? text_of(row, "proposal") : text_of(kase, "proposal");
    j.objective = text_of(row, "objective");
    j.sampler = text_of(row, "sampler");
    j.replication = replication;
    j.seed = j.set.seed + 1000 * (replication - 1);
    j.stan_csv = r->stan_csv;
    j.first_of_cell = replication == 1;
    append_slug(j.id, case_name);
    const size_t n = strlen(j.id);
    j.id[n] = '-';
    j.id[n + 1] = 0;
    append_slug(j.id, row_name);
    snprintf(j.id + strlen(j.id), sizeof j.id - strlen(j.id), "-%zu", replication);
    if (j.set.replications > 1)
        snprintf(j.label, sizeof j.label, "%.80s, %.80s, %zu of %zu", case_name, row_name,
                 replication, j.set.replications);
    else
        snprintf(j.label, sizeof j.label, "%.80s, %.80s", case_name, row_name);
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->jobs[i].id, j.id)) /* names that differ in signs alone */
            snprintf(j.id + strlen(j.id), sizeof j.id - strlen(j.id), "-%zu", r->n);
    job *more = realloc(r->jobs, (r->n + 1) * sizeof *more);
    if (!more)
        return message_fail(m, HS_ENOMEM, "no memory for %zu jobs", r->n + 1);
    r->jobs = more;
    r->jobs[r->n++] = j;
    return HS_OK;
}

/* First replications come first, so that there is something of everything early. */
static hs_status plan_jobs(run *r, hs_message *m)
{
    const json_t *cases = json_object_get(r->experiment, "cases");
    const json_t *rows = json_object_get(r->experiment, "rows");
    size_t before = 0;
    for (size_t replication = 1; replication == 1 || r->n > before; replication++) {
        before = r->n;
        for (size_t i = 0; i < json_array_size(cases); i++)
            for (size_t k = 0; k < json_array_size(rows); k++) {
                const hs_status status =
                    add_jobs(r, json_array_get(cases, i), json_array_get(rows, k), replication, m);
                if (status)
                    return status;
            }
    }
    if (r->n == 0)
        return message_fail(m, HS_EINVAL, "nothing is left to run of experiment \"%s\"",
                            text_of(r->experiment, "name"));
    r->records = calloc(r->n, sizeof(json_t *));
    return r->records ? HS_OK : message_fail(m, HS_ENOMEM, "no memory for %zu records", r->n);
}

/* ---- Chains that stand for targets ------------------------------------------------------------ */

static bool needs_reference(const char *target, hs_message *m, bool *needed)
{
    hs_session *s = hs_session_new(NULL);
    const hs_target *t = hs_spec_target(s, target);
    *needed = t && !hs_target_can_draw(t);
    if (!t)
        message_fail(m, hs_session_status(s), "%s", hs_session_error(s));
    hs_session_free(s);
    return t != NULL;
}

/* Makes the reference chain of a job's target, or reads the one of the run that is resumed. */
static hs_status make_reference(run *r, const job *j, hs_points *points, hs_message *m)
{
    char path[JOB_PATH], slug[JOB_TEXT] = "";
    const char *kase = text_of(j->kase, "name");
    append_slug(slug, kase);
    snprintf(path, sizeof path, "%.3800s/work/reference-%s.npy", r->out, slug);
    if (access(path, R_OK) == 0)
        return hs_points_load(points, path, m);
    char label[JOB_TEXT];
    snprintf(label, sizeof label, "%.80s, reference chain by HMC", kase);
    ticket t = { r, 0, 0, label };
    tell(r, (hs_event){ .kind = HS_JOB_BEGINS, .label = label, .estimate = (double)NAN });
    hs_session *s =
        hs_session_new(&(hs_session_options){ .seed = j->set.seed, .threads = r->threads });
    const hs_target *target = hs_spec_target(s, j->target);
    hs_status status = hs_points_reference(
        points, s, target,
        &(hs_reference_chain_options){ .proposals = j->set.reference_proposals,
                                       .chains = j->set.reference_chains,
                                       .warmup = j->set.reference_warmup,
                                       .acceptance = j->set.reference_acceptance,
                                       .seed = j->set.seed + 90,
                                       .progress = on_progress,
                                       .context = &t });
    if (status)
        message_fail(m, status, "%s", hs_session_error(s));
    else if (!r->stop)
        status = hs_points_save(points, path, m);
    tell(r, (hs_event){ .kind = HS_JOB_ENDS,
                        .label = label,
                        .text = "",
                        .failed = status != HS_OK,
                        .estimate = (double)NAN });
    hs_session_free(s);
    return status;
}

static hs_status make_references(run *r, hs_message *m)
{
    for (size_t i = 0; i < r->n && !r->stop; i++) {
        job *j = &r->jobs[i];
        bool needed = false;
        size_t k = 0;
        while (k < r->n_references && strcmp(r->references[k].target, j->target) != 0)
            k++;
        if (k == r->n_references) {
            if (k == MOST_REFERENCES)
                return message_fail(m, HS_EINVAL, "more than %d targets in one experiment",
                                    MOST_REFERENCES);
            r->references[r->n_references++] = (reference){ .target = j->target };
            if (!needs_reference(j->target, m, &needed))
                return HS_EINVAL;
            if (needed) {
                const hs_status status = make_reference(r, j, &r->references[k].points, m);
                if (status)
                    return status;
            }
        }
        j->reference = r->references[k].points.n ? &r->references[k].points : NULL;
    }
    return HS_OK;
}

/* ---- Workers ---------------------------------------------------------------------------------- */

static void job_file(const run *r, const job *j, const char *ending, char path[JOB_PATH])
{
    snprintf(path, JOB_PATH, "%.3800s/work/%s%s", r->out, j->id, ending);
}

static json_t *finished_before(const run *r, const job *j)
{
    char path[JOB_PATH];
    job_file(r, j, ".json", path);
    return access(path, R_OK) == 0 ? hs_json_read(path, NULL) : NULL;
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

/* A line on how a job went. */
static const char *outcome(const json_t *record, char text[256])
{
    const char *error = text_of(record, "error");
    static const char *const shown[] = { "acceptance", "msjd", "ess_per_proposal", "coefficient" };
    static const char *const names[] = { "acceptance", "MSJD", "ESS/proposal", "A" };
    if (error && *error) {
        snprintf(text, 256, "%s", error);
        return text;
    }
    text[0] = 0;
    for (size_t i = 0; i < 4; i++) {
        const json_t *figure = json_object_get(json_object_get(record, "figures"), shown[i]);
        const size_t n = strlen(text);
        if (json_is_number(figure))
            snprintf(text + n, 256 - n, "%s%s %.3g", n ? ", " : "", names[i],
                     json_number_value(figure));
    }
    return text;
}

static void finish_job(run *r, size_t i, size_t slot, json_t *record)
{
    const job *j = &r->jobs[i];
    const char *state = text_of(record, "state");
    char path[JOB_PATH], text[256];
    hs_message m = { "" };
    bool failed = strcmp(state, "failed") == 0;
    if (!strcmp(state, "done")) {
        job_file(r, j, ".json", path);
        if (hs_json_save(path, record, &m))
            failed = true;
        else
            remove_checkpoints(r, j);
    }
    pthread_mutex_lock(&r->lock);
    r->records[i] = record;
    r->done++;
    pthread_mutex_unlock(&r->lock);
    tell(r, (hs_event){ .kind = HS_JOB_ENDS,
                        .slot = slot,
                        .label = j->label,
                        .text = m.text[0] ? m.text : outcome(record, text),
                        .failed = failed,
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
        pthread_mutex_unlock(&r->lock);
        if (over)
            return NULL;
        job *j = &r->jobs[i];
        ticket t = { r, i, self->slot, j->label };
        j->progress = on_progress;
        j->context = &t;
        j->threads = r->threads / r->workers > 0 ? r->threads / r->workers : 1;
        tell(r, (hs_event){ .kind = HS_JOB_BEGINS,
                            .slot = self->slot,
                            .job = i,
                            .label = j->label,
                            .estimate = (double)NAN });
        finish_job(r, i, self->slot, job_run(j));
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

/* ---- The folder ------------------------------------------------------------------------------- */

static bool make_folder(const char *path, hs_message *m)
{
    char part[JOB_PATH];
    const size_t n = strlen(path);
    if (n == 0 || n >= 3800)
        return message_fail(m, HS_EINVAL, "the name of the output folder is empty or too long"),
               false;
    for (size_t i = 1; i <= n; i++)
        if (path[i] == '/' || path[i] == 0) {
            memcpy(part, path, i);
            part[i] = 0;
            if (mkdir(part, 0777) && errno != EEXIST)
                return message_fail(m, HS_EIO, "%s: it cannot be made: %s", part, strerror(errno)),
                       false;
        }
    return true;
}

static bool is_empty(const char *path, hs_message *m)
{
    DIR *d = opendir(path);
    int entries = 0;
    if (!d)
        return message_fail(m, HS_EIO, "%s: it cannot be opened: %s", path, strerror(errno)), false;
    while (readdir(d))
        entries++;
    closedir(d);
    if (entries > 2)
        message_fail(
            m, HS_EINVAL,
            "%s: there is something in this folder already; choose another with --out, or go "
            "on with an interrupted run with --resume %s",
            path, path);
    return entries <= 2;
}

static bool prepare_folder(const run *r, hs_message *m)
{
    static const char *const parts[] = { "chains", "proposals", "figures", "work" };
    char path[JOB_PATH];
    if (!make_folder(r->out, m) || (!r->options->resume && !is_empty(r->out, m)))
        return false;
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%.3800s/%s", r->out, parts[i]);
        if (!make_folder(path, m))
            return false;
    }
    return true;
}

static hs_status save_result(const run *r, bool finished, hs_message *m)
{
    char path[JOB_PATH];
    json_t *result = run_result(r, finished);
    snprintf(path, sizeof path, "%.3800s/result.json", r->out);
    const hs_status status = result ? hs_json_save(path, result, m) : HS_ENOMEM;
    json_decref(result);
    return status;
}

/* ---- What is run ------------------------------------------------------------------------------ */

/* Whether a list "a,b" has the word. */
static bool in_list(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, word, n) && (at[n] == ',' || at[n] == 0))
            return true;
    return false;
}

static hs_status keep_cases(json_t *experiment, const char *list, hs_message *m)
{
    json_t *cases = json_object_get(experiment, "cases"), *kept = json_array();
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (in_list(list, text_of(json_array_get(cases, i), "name")))
            json_array_append(kept, json_array_get(cases, i));
    if (!json_array_size(kept)) {
        char names[300] = "";
        for (size_t i = 0; i < json_array_size(cases); i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                     text_of(json_array_get(cases, i), "name"));
        json_decref(kept);
        return message_fail(m, HS_EINVAL, "no case is called \"%s\"; there are: %s", list, names);
    }
    json_object_set_new(experiment, "cases", kept);
    return HS_OK;
}

static bool same_objective(const char *a, const hs_objective *b)
{
    hs_objective parsed;
    char one[HS_OBJECTIVE_TEXT], other[HS_OBJECTIVE_TEXT];
    return a && !hs_objective_parse(a, &parsed, NULL, 0) &&
           !strcmp(hs_objective_text(&parsed, one), hs_objective_text(b, other));
}

/* A row of that name: "gsm-60" is "GSM-60", whatever its other numbers are. */
static bool is_called(const json_t *row, const char *text)
{
    const char *name = text_of(row, "name");
    return text_of(row, "objective") && strcasecmp(name, text) == 0;
}

/* Objectives are separated by commas, and may have some inside: "gsm:0.6,1,0.02,msjd" is two. A part that
 * begins with a digit belongs to the one before. */
static size_t objective_length(const char *list)
{
    size_t n = strcspn(list, ",");
    while (list[n] == ',' && (isdigit((unsigned char)list[n + 1]) || list[n + 1] == '.'))
        n += 1 + strcspn(list + n + 1, ",");
    return n;
}

static hs_status keep_objectives(json_t *experiment, const char *list, hs_message *m)
{
    const json_t *rows = json_object_get(experiment, "rows");
    json_t *kept = json_array();
    hs_status status = HS_OK;
    for (const char *at = list; *at && !status;) {
        const size_t n = objective_length(at);
        char text[HS_OBJECTIVE_TEXT], error[256];
        hs_objective o;
        snprintf(text, sizeof text, "%.*s", (int)n, at);
        if (hs_objective_parse(text, &o, error, sizeof error)) {
            status = message_fail(m, HS_EINVAL, "%s", error);
            break;
        }
        json_t *found = NULL;
        for (size_t i = 0; i < json_array_size(rows) && !found; i++)
            if (is_called(json_array_get(rows, i), text) ||
                same_objective(text_of(json_array_get(rows, i), "objective"), &o))
                found = json_incref(json_array_get(rows, i));
        json_array_append_new(kept,
                              found ? found : json_pack("{ssss}", "name", text, "objective", text));
        at += n + (at[n] == ',');
    }
    for (size_t i = 0; i < json_array_size(rows); i++) /* what they are compared with */
        if (text_of(json_array_get(rows, i), "sampler"))
            json_array_append(kept, json_array_get(rows, i));
    if (status)
        json_decref(kept);
    else
        json_object_set_new(experiment, "rows", kept);
    return status;
}

/* Replaces the data set of logistic targets by the user's. */
static hs_status use_data(json_t *experiment, const char *data, const char *label, hs_message *m)
{
    json_t *cases = json_object_get(experiment, "cases");
    bool used = false;
    char file[2048];
    if (access(data, R_OK))
        return message_fail(m, HS_EIO, "%s: %s", data, strerror(errno));
    if (strchr(data, ','))
        return message_fail(m, HS_EINVAL, "%s: the path of a data set must have no comma", data);
    snprintf(file, sizeof file, "%s%s", strchr(data, '/') ? "" : "./", data);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *kase = json_array_get(cases, i);
        const char *target = text_of(kase, "target");
        if (strncmp(target, "logistic", 8) != 0)
            continue;
        char text[4096] = "logistic", *copy = strdup(target), *save = NULL;
        for (char *part = copy ? strtok_r(copy, ",", &save) : NULL; part;
             part = strtok_r(NULL, ",", &save))
            if (strncmp(part, "data=", 5) && strncmp(part, "label=", 6) && strcmp(part, "logistic"))
                snprintf(text + strlen(text), sizeof text - strlen(text), ",%s", part);
        snprintf(text + strlen(text), sizeof text - strlen(text), ",data=%s%s%s", file,
                 label ? ",label=" : "", label ? label : "");
        free(copy);
        json_object_set_new(kase, "target", json_string(text));
        used = true;
    }
    return used
               ? HS_OK
               : message_fail(m, HS_EINVAL, "experiment \"%s\" has no target that takes a data set",
                              text_of(experiment, "name"));
}

static hs_status shape_experiment(run *r, const json_t *given, hs_message *m)
{
    const hs_run_options *o = r->options;
    settings unwanted;
    r->experiment = json_deep_copy(given);
    r->settings = o->settings ? json_deep_copy(o->settings) : json_object();
    r->quick = o->quick;
    r->stan_csv = o->stan_csv;
    if (!r->experiment || !r->settings)
        return message_fail(m, HS_ENOMEM, "no memory for the experiment");
    if (!settings_read(r->settings, &unwanted, "settings", m))
        return HS_EINVAL;
    const json_t *few = json_object_get(json_object_get(given, "quick"), "cases");
    hs_status status = HS_OK;
    if (o->cases)
        status = keep_cases(r->experiment, o->cases, m);
    else if (o->quick && few) {
        char list[1024] = "";
        for (size_t i = 0; i < json_array_size(few); i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
                     json_string_value(json_array_get(few, i)));
        status = keep_cases(r->experiment, list, m);
    }
    if (!status && o->objectives)
        status = keep_objectives(r->experiment, o->objectives, m);
    if (!status && o->data)
        status = use_data(r->experiment, o->data, o->label, m);
    else if (!status && o->label)
        status = message_fail(m, HS_EINVAL, "--label is of a data set: give --data too");
    return status;
}

/* Takes over what an interrupted run was. */
static hs_status take_over(run *r, hs_message *m)
{
    char path[JOB_PATH];
    snprintf(path, sizeof path, "%.3800s/result.json", r->out);
    json_t *old = hs_json_read(path, m);
    if (!old)
        return HS_EIO;
    const char *format = text_of(old, "format"), *version = text_of(old, "hastings");
    hs_status status = HS_OK;
    if (!format || strcmp(format, "hastings-result") ||
        json_integer_value(json_object_get(old, "version")) != 1)
        status = message_fail(m, HS_EFORMAT, "%s: this is not the result of a run", path);
    else if (!version || strcmp(version, HS_VERSION))
        status =
            message_fail(m, HS_EFORMAT,
                         "%s: the run was begun by version %s of hastings, and this is %s, which "
                         "may give other numbers: it cannot be resumed",
                         path, version ? version : "(none)", HS_VERSION);
    else {
        r->experiment = json_deep_copy(json_object_get(old, "experiment"));
        r->settings = json_deep_copy(json_object_get(old, "settings"));
        r->quick = json_is_true(json_object_get(old, "quick"));
        r->stan_csv = json_is_true(json_object_get(old, "stan_csv"));
        r->seconds_before = json_number_value(json_object_get(old, "seconds"));
        if (text_of(old, "command"))
            snprintf(r->command, sizeof r->command, "%s", text_of(old, "command"));
        if (!json_is_object(r->experiment) || !json_is_object(r->settings))
            status = message_fail(m, HS_EFORMAT, "%s: it does not say what was run", path);
    }
    json_decref(old);
    return status;
}

static void load_finished(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        json_t *record = finished_before(r, &r->jobs[i]);
        const char *id = text_of(record, "id");
        if (id && !strcmp(id, r->jobs[i].id)) {
            r->records[i] = record;
            r->done++;
        } else {
            json_decref(record);
        }
    }
}

static void run_free(run *r)
{
    for (size_t i = 0; i < r->n && r->records; i++)
        json_decref(r->records[i]);
    for (size_t i = 0; i < r->n_references; i++)
        hs_points_free(&r->references[i].points);
    free(r->records);
    free(r->jobs);
    json_decref(r->experiment);
    json_decref(r->settings);
    pthread_mutex_destroy(&r->lock);
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

hs_status hs_experiment_run(json_t *experiment, const hs_run_options *options, hs_message *message)
{
    hs_message unwanted;
    hs_message *m = message ? message : &unwanted;
    run r = { .options = options, .out = options->out, .started = time(NULL) };
    pthread_mutex_init(&r.lock, NULL);
    json_object_seed(1); /* before there are threads */
    message_clear(m);
    snprintf(r.command, sizeof r.command, "%s", options->command ? options->command : "");
    hs_status status = !r.out            ? message_fail(m, HS_EINVAL, "there is no output folder")
                       : options->resume ? take_over(&r, m)
                       : experiment == NULL ? message_fail(m, HS_EINVAL, "there is no experiment")
                                            : shape_experiment(&r, experiment, m);
    if (!status)
        status = plan_jobs(&r, m);
    if (!status && !prepare_folder(&r, m))
        status = HS_EIO;
    if (!status) {
        load_finished(&r);
        choose_workers(&r);
        status = save_result(&r, false, m);
    }
    if (!status) {
        tell(&r, (hs_event){ .kind = HS_RUN_BEGINS,
                             .job = r.done,
                             .label = text_of(r.experiment, "title"),
                             .estimate = run_estimate(&r) });
        status = make_references(&r, m);
        if (!status && !r.stop)
            run_jobs(&r);
        const hs_status saved = save_result(&r, true, status ? NULL : m);
        status = status ? status : saved;
        tell(&r, (hs_event){ .kind = HS_RUN_ENDS, .job = r.done, .estimate = 0 });
    }
    run_free(&r);
    return status;
}
