/* From an experiment to its jobs. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_internal.h"
#include <hastings/experiments/run.h>
#include <hastings/tensor/message.h>
#include <hastings/tensor/random.h>

const char *app_text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool row_is_of_case(const json_t *row, const char *name)
{
    const json_t *cases = json_object_get(row, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (!strcmp(json_string_value(json_array_get(cases, i)), name))
            return true;
    return !cases;
}

/* A name for files: small letters, digits, points, and hyphens for all else. */
static void append_slug(char slug[JOB_TEXT], const char *text)
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

json_t *app_settings_merge(const json_t *experiment, const json_t *kase, const json_t *row,
                           bool quick, json_t *own)
{
    json_t *all = json_object();
    json_object_update(all, json_object_get(experiment, "settings"));
    json_object_update(all, json_object_get(kase, "settings"));
    json_object_update(all, json_object_get(row, "settings"));
    if (quick)
        json_object_update(all, json_object_get(experiment, "quick"));
    json_object_update(all, own);
    json_object_del(all, "cases"); /* which says what is run, not how */
    return all;
}

static bool job_settings(const run *r, const json_t *kase, const json_t *row, settings *s,
                         hs_message *m)
{
    json_t *all = app_settings_merge(r->experiment, kase, row, r->quick, r->settings);
    const bool ok = app_settings_read(all, s, "settings", m);
    json_decref(all);
    return ok;
}

/* The row's for this case, the row's for all, or the case's. */
static const char *proposal_of(const json_t *row, const json_t *kase)
{
    const char *own = app_text_of(json_object_get(row, "proposals"), app_text_of(kase, "name"));
    own = own ? own : app_text_of(row, "proposal");
    return own ? own : app_text_of(kase, "proposal");
}

/* FNV-1a. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

/* Every job has random numbers of its own, so that cells of a table are independent. They follow from the names, so that
 * a row that joins the experiment changes no other. The seed is below 2^52, which JSON holds. */
static uint64_t job_seed(uint64_t seed, const char *kase, const char *row, size_t replication)
{
    const uint64_t names = hash_text(hash_text(UINT64_C(14695981039346656037), kase), row);
    const hs_address at = { .seed = seed,
                            .stream = (uint32_t)(names >> 49),
                            .step = names & ((UINT64_C(1) << 48) - 1) };
    const double u = hs_random_at(HS_F64, HS_UNIFORM, at, (uint32_t)replication, 0);
    return 1 + (uint64_t)ldexp(u, 52);
}

static hs_status add_jobs(run *r, const json_t *kase, const json_t *row, size_t replication,
                          hs_message *m)
{
    job j = { .experiment = r->experiment, .kase = kase, .row = row, .out = r->out };
    const char *case_name = app_text_of(kase, "name"), *row_name = app_text_of(row, "name");
    if (!job_settings(r, kase, row, &j.set, m))
        return HS_EINVAL;
    if (replication > j.set.replications || !row_is_of_case(row, case_name))
        return HS_OK;
    j.target = app_text_of(kase, "target");
    j.proposal = proposal_of(row, kase);
    j.objective = app_text_of(row, "objective");
    j.sampler = app_text_of(row, "sampler");
    j.replication = replication;
    j.seed = job_seed(j.set.seed, case_name, row_name, replication);
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
        if (!strcmp(r->jobs[i].id, j.id)) /* names that differ in signs alone; none has a "_" */
            snprintf(j.id + strlen(j.id), sizeof j.id - strlen(j.id), "_%zu", r->n);
    job *more = realloc(r->jobs, (r->n + 1) * sizeof *more);
    if (!more)
        return hs_message_fail(m, HS_ENOMEM, "no memory for %zu jobs", r->n + 1);
    r->jobs = more;
    r->jobs[r->n++] = j;
    return HS_OK;
}

/* First replications come first, so that there is something of everything early. */
hs_status app_run_plan(run *r, hs_message *m)
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
        return hs_message_fail(m, HS_EINVAL, "nothing is left to run of experiment \"%s\"",
                               app_text_of(r->experiment, "name"));
    r->records = calloc(r->n, sizeof(app_record *));
    return r->records ? HS_OK : hs_message_fail(m, HS_ENOMEM, "no memory for %zu records", r->n);
}
