/* Runs of experiments in a folder of their own, and what came of them.
 *
 *     json_t *r = run("cells", (app_run_options){ 0 });          // tests/fixtures/cells.json
 *     ck_assert_double_gt(figure_of(r, "plain-a-1", "msjd"), 0);
 *     json_decref(r);
 *
 * begin() and end(), which make and remove the folder, are for checked fixtures.
 */
#ifndef HASTINGS_TESTS_SUPPORT_RUN_COMMON_H
#define HASTINGS_TESTS_SUPPORT_RUN_COMMON_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/experiments/run.h>
#include <hastings/experiments/json_file.h>

#include "hs_check.h"

/* ---- Folders ------------------------------------------------------------------------------------ */

static char folder[64], out[80];

static inline void remove_all(const char *path)
{
    char below[4096];
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%.2000s/%.300s", path, e->d_name);
        if (unlink(below))
            remove_all(below);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

static inline void begin(void)
{
    strcpy(folder, "/tmp/hastings_run_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(out, sizeof out, "%s/out", folder);
}

static inline void end(void)
{
    remove_all(folder);
    ck_assert_int_ne(access(folder, F_OK), 0);
}

static inline bool is_there(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", out, name);
    return access(path, R_OK) == 0;
}

/* ---- Runs ----------------------------------------------------------------------------------------- */

/* The experiment of a file of tests/fixtures. */
static inline json_t *experiment(const char *name)
{
    char path[128];
    hs_message m;
    snprintf(path, sizeof path, "tests/fixtures/%s.json", name);
    json_t *e = app_experiment_load(path, &m);
    ck_assert_msg(e != NULL, "%s", m.text);
    return e;
}

static inline json_t *result(void)
{
    char path[128];
    hs_message m;
    snprintf(path, sizeof path, "%s/result.json", out);
    json_t *json = app_json_read(path, &m);
    ck_assert_msg(json != NULL, "%s", m.text);
    return json;
}

/* Runs it to `out`, and returns what came of it. */
static inline json_t *run(const char *name, app_run_options o)
{
    json_t *e = o.resume ? NULL : experiment(name);
    hs_message m;
    o.out = out;
    o.threads = o.threads ? o.threads : 1;
    const hs_status status = app_experiment_run(e, &o, &m);
    ck_assert_msg(status == HS_OK, "%s", m.text);
    json_decref(e);
    return result();
}

/* The status and message of a run that must not be. */
static inline hs_status refusal(const char *name, app_run_options o, hs_message *m)
{
    json_t *e = experiment(name);
    o.out = o.out ? o.out : out;
    const int before = access(out, F_OK);
    const hs_status status = app_experiment_run(e, &o, m);
    json_decref(e);
    ck_assert_int_ne(status, HS_OK);
    ck_assert_int_eq(access(out, F_OK), before); /* and no folder is made */
    return status;
}

static inline const char *app_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static inline json_t *job_of(const json_t *r, const char *id)
{
    const json_t *jobs = json_object_get(r, "jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++)
        if (!strcmp(app_text_of(json_array_get(jobs, i), "id"), id))
            return json_array_get(jobs, i);
    ck_abort_msg("there is no job %s", id);
    return NULL;
}

static inline double figure_of(const json_t *r, const char *id, const char *name)
{
    json_t *job = job_of(r, id);
    ck_assert_msg(!strcmp(app_text_of(job, "state"), "done"), "%s: %s", id,
                  app_text_of(job, "error"));
    const json_t *figure = json_object_get(json_object_get(job, "figures"), name);
    ck_assert_msg(json_is_number(figure), "%s has no %s", id, name);
    return json_number_value(figure);
}

static inline const json_t *find_cell(const json_t *r, const char *kase, const char *row,
                                      const char *column)
{
    const json_t *cells = json_object_get(r, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *c = json_array_get(cells, i);
        if (!strcmp(app_text_of(c, "case"), kase) && !strcmp(app_text_of(c, "row"), row) &&
            !strcmp(app_text_of(c, "column"), column))
            return c;
    }
    return NULL;
}

#endif
