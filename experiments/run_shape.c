/* The experiment to run: as the command line changes it, or as an interrupted run had it. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "run_internal.h"
#include <hastings/experiments/json_file.h>
#include <hastings/tensor/message.h>
#include <hastings/objectives/objectives.h>

/* Marks the cases to keep, by a list "a,b" of names and patterns such as "*d=100". Every part of
 * the list must match a case. */
static hs_status choose_cases(const json_t *cases, const char *list, bool *keep, hs_message *m)
{
    const size_t n = json_array_size(cases);
    bool whole = false; /* the list is a name, which may have commas */
    for (size_t i = 0; i < n; i++) {
        keep[i] = !strcmp(list, app_text_of(json_array_get(cases, i), "name"));
        whole |= keep[i];
    }
    for (const char *at = whole ? NULL : list; at;
         at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char pattern[256], names[300] = "";
        bool found = false;
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at, ","), at);
        for (size_t i = 0; i < n; i++) {
            const char *name = app_text_of(json_array_get(cases, i), "name");
            const bool is_it = !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
            keep[i] |= is_it;
            found |= is_it;
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                     name);
        }
        if (!found)
            return hs_message_fail(m, HS_EINVAL, "no case is called \"%s\"; there are: %s", pattern,
                                   names);
    }
    return HS_OK;
}

static hs_status keep_cases(json_t *experiment, const char *list, hs_message *m)
{
    const json_t *cases = json_object_get(experiment, "cases");
    bool *keep = calloc(json_array_size(cases), sizeof *keep);
    json_t *kept = json_array();
    hs_status status = keep && kept
                           ? choose_cases(cases, list, keep, m)
                           : hs_message_fail(m, HS_ENOMEM, "no memory for the list of cases");
    for (size_t i = 0; i < json_array_size(cases) && !status; i++)
        if (keep[i])
            json_array_append(kept, json_array_get(cases, i));
    if (!status)
        json_object_set(experiment, "cases", kept);
    json_decref(kept);
    free(keep);
    return status;
}

/* The cases of --quick. */
static void keep_few(json_t *experiment, const json_t *few)
{
    const json_t *cases = json_object_get(experiment, "cases");
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(cases); i++)
        for (size_t k = 0; k < json_array_size(few); k++)
            if (json_equal(json_object_get(json_array_get(cases, i), "name"),
                           json_array_get(few, k))) {
                json_array_append(kept, json_array_get(cases, i));
                break;
            }
    json_object_set_new(experiment, "cases", kept);
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
    const char *name = app_text_of(row, "name");
    return app_text_of(row, "objective") && strcasecmp(name, text) == 0;
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

/* Keeps the rows of that name; without one, the rows with that objective; without these, a new row.
 * A row stays one row, however often it is named. */
static void keep_rows(const json_t *rows, json_t *kept, const char *text, const hs_objective *o)
{
    bool by_name = false, found = false;
    for (size_t i = 0; i < json_array_size(rows); i++)
        by_name |= is_called(json_array_get(rows, i), text);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (by_name ? !is_called(row, text) : !same_objective(app_text_of(row, "objective"), o))
            continue;
        found = true;
        if (app_find_named(kept, app_text_of(row, "name")) != row)
            json_array_append(kept, row);
    }
    if (!found && !app_find_named(kept, text))
        json_array_append_new(kept, json_pack("{ssss}", "name", text, "objective", text));
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
        if (hs_objective_parse(text, &o, error, sizeof error))
            status = hs_message_fail(m, HS_EINVAL, "%s", error);
        else
            keep_rows(rows, kept, text, &o);
        at += n + (at[n] == ',');
    }
    for (size_t i = 0; i < json_array_size(rows); i++) /* rows to compare with */
        if (app_text_of(json_array_get(rows, i), "sampler"))
            json_array_append(kept, json_array_get(rows, i));
    if (!status)
        json_object_set(experiment, "rows", kept);
    json_decref(kept);
    return status;
}

/* Replaces the data set of logistic targets by the user's. */
static hs_status use_data(json_t *experiment, const char *data, const char *label, hs_message *m)
{
    json_t *cases = json_object_get(experiment, "cases");
    bool used = false;
    char file[2048];
    if (access(data, R_OK))
        return hs_message_fail(m, HS_EIO, "%s: %s", data, strerror(errno));
    if (strchr(data, ','))
        return hs_message_fail(m, HS_EINVAL, "%s: the path of a data set must have no comma", data);
    snprintf(file, sizeof file, "%s%s", strchr(data, '/') ? "" : "./", data);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *kase = json_array_get(cases, i);
        const char *target = app_text_of(kase, "target");
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
        if (json_object_set_new(kase, "target", json_string(text)))
            return hs_message_fail(m, HS_EINVAL,
                                   "--data, --label: names must be UTF-8, for results to say them");
        used = true;
    }
    return used ? HS_OK
                : hs_message_fail(m, HS_EINVAL,
                                  "experiment \"%s\" has no target that takes a data set",
                                  app_text_of(experiment, "name"));
}

hs_status app_run_shape(run *r, const json_t *given, hs_message *m)
{
    const app_run_options *o = r->options;
    settings unwanted;
    r->experiment = json_deep_copy(given);
    r->settings = o->settings ? json_deep_copy(o->settings) : json_object();
    r->quick = o->quick;
    r->stan_csv = o->stan_csv;
    if (!r->experiment || !r->settings)
        return hs_message_fail(m, HS_ENOMEM, "no memory for the experiment");
    if (!app_settings_read(r->settings, &unwanted, "settings", m))
        return HS_EINVAL;
    const json_t *few = json_object_get(json_object_get(given, "quick"), "cases");
    hs_status status = HS_OK;
    if (o->cases)
        status = keep_cases(r->experiment, o->cases, m);
    else if (o->quick && few)
        keep_few(r->experiment, few);
    if (!status && o->objectives)
        status = keep_objectives(r->experiment, o->objectives, m);
    if (!status && o->data)
        status = use_data(r->experiment, o->data, o->label, m);
    else if (!status && o->label)
        status = hs_message_fail(m, HS_EINVAL, "--label is of a data set: give --data too");
    return status;
}

/* Takes over the experiment and settings of an interrupted run. */
hs_status app_run_take_over(run *r, hs_message *m)
{
    char path[JOB_PATH];
    snprintf(path, sizeof path, "%.3800s/result.json", r->out);
    if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
        return app_run_lacks_result(r, m);
    json_t *old = app_json_read(path, m);
    if (!old)
        return HS_EIO;
    const char *format = app_text_of(old, "format"), *version = app_text_of(old, "hastings");
    hs_status status = HS_OK;
    if (!format || strcmp(format, "hastings-result") ||
        json_integer_value(json_object_get(old, "version")) != 1)
        status = hs_message_fail(m, HS_EFORMAT, "%s: this is not the result of a run", path);
    else if (!version || strcmp(version, HS_VERSION))
        status = hs_message_fail(
            m, HS_EFORMAT,
            "%s: the run was begun by version %s of hastings, and this is %s, which "
            "may give other numbers: it cannot be resumed",
            path, version ? version : "(none)", HS_VERSION);
    else {
        r->experiment = json_deep_copy(json_object_get(old, "experiment"));
        r->settings = json_deep_copy(json_object_get(old, "settings"));
        r->quick = json_is_true(json_object_get(old, "quick"));
        r->stan_csv = json_is_true(json_object_get(old, "stan_csv"));
        r->seconds_before = json_number_value(json_object_get(old, "seconds"));
        if (app_text_of(old, "command"))
            snprintf(r->command, sizeof r->command, "%s", app_text_of(old, "command"));
        r->before = json_incref(json_object_get(old, "jobs"));
        if (!json_is_object(r->experiment) || !json_is_object(r->settings))
            status = hs_message_fail(m, HS_EFORMAT, "%s: it does not say what was run", path);
        else if (!app_experiment_check(r->experiment, path, false, m))
            status = HS_EFORMAT;
    }
    json_decref(old);
    return status;
}
