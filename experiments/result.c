/* result.json: what was run, where, and what came of it. */
#include <hastings/tensor/blas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hastings/experiments/json.h>
#include "run_internal.h"
#include <hastings/mcmc/diagnostics/replicate.h>

/* Text, or "" where there is none. */
static const char *words(const json_t *object, const char *key)
{
    const char *text = app_text_of(object, key);
    return text ? text : "";
}

/* ---- Host ------------------------------------------------------------------------------------- */

static void processor_name(char name[128])
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    strcpy(name, "unknown");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %127[^\n]", name) == 1)
            break;
    if (f)
        fclose(f);
}

static json_t *host(void)
{
    struct utsname u;
    char system[160] = "unknown", processor[128];
    if (uname(&u) == 0)
        snprintf(system, sizeof system, "%.60s %.60s", u.sysname, u.release);
    processor_name(processor);
    return json_pack("{sssssisss{ssss}}", "system", system, "processor", processor, "cores",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "compiler",
#ifdef __clang__
                     "clang " __VERSION__,
#else
                     "gcc " __VERSION__,
#endif
                     "libraries", "openblas", hs_blas_name(), "jansson", JANSSON_VERSION);
}

static json_t *date(time_t t)
{
    char text[32];
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* ---- Cells ------------------------------------------------------------------------------------ */

enum { MOST_VALUES = 1000 };

typedef struct {
    double value[MOST_VALUES];
    size_t n;
    double mean, sd, error;
} figure;

/* A figure with the digits of result.json: cells are the same whether a record was read back or not. */
static double as_in_files(double x)
{
    json_t *number = app_json_number(x);
    const double rounded = json_number_value(number);
    json_decref(number);
    return rounded;
}

/* A figure of a cell over its replications. */
static void collect(const run *r, const char *kase, const char *row, app_figure_id id, figure *f)
{
    double only = (double)NAN;
    f->n = 0;
    for (size_t i = 0; i < r->n && f->n < MOST_VALUES; i++) {
        const app_record *record = r->records[i];
        if (!record || strcmp(record->kase, kase) || strcmp(record->row, row) ||
            !record->figure[id].known || !isfinite(record->figure[id].value))
            continue;
        f->value[f->n++] = as_in_files(record->figure[id].value);
        if (isfinite(record->figure[id].error))
            only = as_in_files(record->figure[id].error);
    }
    double sum = 0, square = 0;
    for (size_t i = 0; i < f->n; i++)
        sum += f->value[i];
    f->mean = f->n ? sum / (double)f->n : (double)NAN;
    for (size_t i = 0; i < f->n; i++)
        square += pow(f->value[i] - f->mean, 2);
    f->sd = f->n > 1 ? sqrt(square / (double)(f->n - 1)) : only;
    f->error = f->n > 1 ? f->sd / sqrt((double)f->n) : only;
}

static const char *note_on(const run *r, const char *kase, const char *row)
{
    const json_t *notes = json_object_get(r->experiment, "notes");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *its_case = words(note, "case"), *its_row = words(note, "row");
        if ((*its_case || *its_row) && (!*its_case || !strcmp(its_case, kase)) &&
            (!*its_row || !strcmp(its_row, row)))
            return words(note, "text");
    }
    return "";
}

static const char *paper_text(const json_t *row, const char *kase, const char *column)
{
    return words(json_object_get(json_object_get(row, "paper"), kase), column);
}

static json_t *cell(const run *r, const json_t *kase, const json_t *row, const char *column)
{
    const char *case_name = words(kase, "name"), *row_name = words(row, "name");
    const char *ratio_to = words(json_object_get(kase, "compare"), column);
    const app_figure_id id = app_figure_find(column);
    figure f, base;
    char text[APP_FIGURE_TEXT];
    double paper, paper_error, sigmas = (double)NAN;
    collect(r, case_name, row_name, id, &f);
    const char *printed = paper_text(row, case_name, column);
    const bool has_value = app_figure_parse(printed, &paper, &paper_error) == APP_FIGURE_VALUE;
    app_verdict verdict = APP_VERDICT_NONE;
    if (f.n && has_value && app_figure_judged(column)) {
        double ours = f.mean, ours_sd = f.sd, theirs = paper, theirs_error = paper_error;
        bool comparable = true;
        if (*ratio_to) {
            const json_t *other = app_find_named(json_object_get(r->experiment, "rows"), ratio_to);
            double by, by_error;
            collect(r, case_name, ratio_to, id, &base);
            comparable = strcmp(ratio_to, row_name) && base.n &&
                         app_figure_parse(paper_text(other, case_name, column), &by, &by_error) ==
                             APP_FIGURE_VALUE;
            if (comparable) {
                app_figure_ratio(f.mean, f.sd, base.mean, base.n > 1 ? base.sd : 0, &ours,
                                 &ours_sd);
                app_figure_ratio(paper, paper_error, by, by_error, &theirs, &theirs_error);
            }
        }
        if (comparable)
            verdict = app_figure_verdict(ours, ours_sd, theirs, theirs_error, &sigmas);
    }
    json_t *values = json_array();
    for (size_t i = 0; i < f.n; i++)
        json_array_append_new(values, app_json_number(f.value[i]));
    return json_pack("{ss ss ss so so so so ss ss so so so ss ss ss}", "case", case_name, "row",
                     row_name, "column", column, "values", values, "mean", app_json_number(f.mean),
                     "sd", app_json_number(f.sd), "error", app_json_number(f.error), "text",
                     app_figure_text(f.mean, f.sd, text), "paper", printed, "paper_value",
                     app_json_number(paper), "paper_error", app_json_number(paper_error), "sigmas",
                     app_json_number(sigmas), "ratio_to", ratio_to, "verdict",
                     app_verdict_name(verdict), "note", note_on(r, case_name, row_name));
}

static bool is_run(const run *r, const json_t *kase, const json_t *row)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->jobs[i].kase == kase && r->jobs[i].row == row)
            return true;
    return false;
}

static json_t *cells(const run *r)
{
    const json_t *cases = json_object_get(r->experiment, "cases");
    const json_t *rows = json_object_get(r->experiment, "rows");
    const json_t *columns = json_object_get(r->experiment, "columns");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(cases); i++)
        for (size_t k = 0; k < json_array_size(rows); k++)
            for (size_t c = 0; c < json_array_size(columns); c++)
                if (is_run(r, json_array_get(cases, i), json_array_get(rows, k)))
                    json_array_append_new(list,
                                          cell(r, json_array_get(cases, i), json_array_get(rows, k),
                                               json_string_value(json_array_get(columns, c))));
    return list;
}

/* ---- All of it -------------------------------------------------------------------------------- */

/* The record of a job; of one that did not end, that it is pending. */
static json_t *record_json(const job *j, const app_record *ended)
{
    app_record *pending = ended ? NULL : app_job_record(j);
    json_t *json = ended || pending ? app_record_json(ended ? ended : pending) : NULL;
    app_record_free(pending);
    return json;
}

json_t *app_run_result(const run *r, bool finished)
{
    const time_t now = time(NULL);
    json_t *result = json_object(), *jobs = json_array();
    bool complete = true;
    for (size_t i = 0; i < r->n; i++) {
        complete &= r->records[i] && r->records[i]->state == APP_JOB_DONE;
        json_array_append_new(jobs, record_json(&r->jobs[i], r->records[i]));
    }
    json_object_set_new(result, "format", json_string("hastings-result"));
    json_object_set_new(result, "version", json_integer(1));
    json_object_set_new(result, "hastings", json_string(HS_VERSION));
    json_object_set(result, "experiment", r->experiment);
    json_object_set(result, "settings", r->settings);
    json_object_set_new(result, "quick", json_boolean(r->quick));
    json_object_set_new(result, "stan_csv", json_boolean(r->stan_csv));
    json_object_set_new(result, "seed", json_integer((json_int_t)r->jobs[0].set.seed));
    json_object_set_new(result, "threads", json_integer(r->threads));
    json_object_set_new(result, "workers", json_integer(r->workers));
    json_object_set_new(result, "command", app_json_text(r->command));
    json_object_set_new(result, "host", host());
    json_object_set_new(result, "started", date(r->started));
    json_object_set_new(result, "finished", finished ? date(now) : json_null());
    json_object_set_new(result, "seconds",
                        app_json_number(r->seconds_before + difftime(now, r->started)));
    json_object_set_new(result, "state", json_string(complete ? "complete" : "partial"));
    json_object_set_new(result, "jobs", jobs);
    json_object_set_new(result, "cells", cells(r));
    return result;
}
