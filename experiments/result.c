/* result.json: what was run, where, and what came of it. */
#include <hastings/tensor/blas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hastings/experiments/figure.h>
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

/* A figure of a cell over its replications. */
static void collect(const run *r, const char *kase, const char *row, const char *column, figure *f)
{
    char error_key[64];
    double only = (double)NAN;
    snprintf(error_key, sizeof error_key, "%s_error", column);
    f->n = 0;
    for (size_t i = 0; i < r->n && f->n < MOST_VALUES; i++) {
        const json_t *record = r->records[i];
        const json_t *figures = json_object_get(record, "figures");
        const json_t *value = json_object_get(figures, column);
        if (strcmp(words(record, "case"), kase) || strcmp(words(record, "row"), row) ||
            !json_is_number(value))
            continue;
        f->value[f->n++] = json_number_value(value);
        if (json_is_number(json_object_get(figures, error_key)))
            only = json_number_value(json_object_get(figures, error_key));
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
    figure f, base;
    char text[APP_FIGURE_TEXT];
    double paper, paper_error, sigmas = (double)NAN;
    collect(r, case_name, row_name, column, &f);
    const char *printed = paper_text(row, case_name, column);
    const bool has_value = app_figure_parse(printed, &paper, &paper_error) == APP_FIGURE_VALUE;
    app_verdict verdict = APP_VERDICT_NONE;
    if (f.n && has_value && app_figure_judged(column)) {
        double ours = f.mean, ours_sd = f.sd, theirs = paper, theirs_error = paper_error;
        bool comparable = true;
        if (*ratio_to) {
            const json_t *other = app_find_named(json_object_get(r->experiment, "rows"), ratio_to);
            double by, by_error;
            collect(r, case_name, ratio_to, column, &base);
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
    json_t *values = json_array(), *c = json_object();
    for (size_t i = 0; i < f.n; i++)
        json_array_append_new(values, app_json_figure(f.value[i]));
    json_object_set_new(c, "case", json_string(case_name));
    json_object_set_new(c, "row", json_string(row_name));
    json_object_set_new(c, "column", json_string(column));
    json_object_set_new(c, "values", values);
    app_put_number(c, "mean", f.mean);
    app_put_number(c, "sd", f.sd);
    app_put_number(c, "error", f.error);
    json_object_set_new(c, "text", json_string(app_figure_text(f.mean, f.sd, text)));
    json_object_set_new(c, "paper", json_string(printed));
    app_put_number(c, "paper_value", paper);
    app_put_number(c, "paper_error", paper_error);
    app_put_number(c, "sigmas", sigmas);
    json_object_set_new(c, "ratio_to", json_string(ratio_to));
    json_object_set_new(c, "verdict", json_string(app_verdict_name(verdict)));
    json_object_set_new(c, "note", json_string(note_on(r, case_name, row_name)));
    return c;
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

static json_t *pending(const job *j)
{
    return json_pack("{sssssssIsssss{}}", "id", j->id, "case", words(j->kase, "name"), "row",
                     words(j->row, "name"), "replication", (json_int_t)j->replication, "state",
                     "pending", "error", "", "figures");
}

json_t *app_run_result(const run *r, bool finished)
{
    const time_t now = time(NULL);
    json_t *result = json_object(), *jobs = json_array();
    bool complete = true;
    for (size_t i = 0; i < r->n; i++) {
        complete &= r->records[i] && !strcmp(words(r->records[i], "state"), "done");
        json_array_append_new(jobs,
                              r->records[i] ? json_incref(r->records[i]) : pending(&r->jobs[i]));
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
    app_put_number(result, "seconds", r->seconds_before + difftime(now, r->started));
    json_object_set_new(result, "state", json_string(complete ? "complete" : "partial"));
    json_object_set_new(result, "jobs", jobs);
    json_object_set_new(result, "cells", cells(r));
    return result;
}
