/**
 * A run's folder that looks like a real one, for tests of reports: the experiment of the cross with 7
 * rows, whose chains are drawn from what such proposals do (independent draws, flips between opposite
 * modes, draws within a mode), and judged by the library's own diagnostics.
 *
 *     fixture_run(folder, &(fixture){ .replications = 2 });
 */
#ifndef HASTINGS_TESTS_CHECKS_REPORT_PAGE_H
#define HASTINGS_TESTS_CHECKS_REPORT_PAGE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include <hastings/experiments/figure.h>
#include <hastings/experiments/json_file.h>
#include <hastings/mcmc/diagnostics/diagnose.h>

typedef struct {
    size_t cases;        /* 0: 2 */
    size_t replications; /* 0: 1 */
    size_t dim;          /* 0: 2; others are independent normal coordinates */
    bool hostile;        /* names with markup in them */
    bool partial;        /* some jobs did not end */
    bool no_files;       /* chains and densities are named but not there */
} fixture;

enum { FIXTURE_CHAINS = 5, FIXTURE_DRAWS = 1000, FIXTURE_GRID = 72, FIXTURE_STARTS = 4 };

/* How a row samples: independence Metropolis, flips to the opposite mode, or draws within a mode. */
typedef enum { ANYWHERE, FLIPS, STAYS } fixture_kind;

typedef struct {
    const char *name, *objective, *sampler;
    fixture_kind kind;
    double accept;
    const char *paper[2][3]; /* by case: acceptance, msjd, ess_per_proposal */
} fixture_row;

static const fixture_row fixture_rows[] = {
    { "Ab Initio",
      "ab-initio",
      NULL,
      ANYWHERE,
      0.66,
      { { "0.67(3)", "22(1)", "0.33(5)" }, { "0.55(4)", "17(1)", "0.18(8)" } } },
    { "MSJD Opt.",
      "msjd",
      NULL,
      FLIPS,
      0.975,
      { { "0.975(6)", "66.2(9)", "6(1)e-4" }, { "0.978(4)", "67(1)", "7(1)e-4" } } },
    { "L2HMC Obj.",
      "l2hmc",
      NULL,
      FLIPS,
      0.974,
      { { "0.974(3)", "65.7(5)", "6(1)e-4" }, { "0.974(5)", "66(1)", "6.1(3)e-4" } } },
    { "GSM-90",
      "gsm-90",
      NULL,
      STAYS,
      0.92,
      { { "0.92(1)", "1.86(5)", "5.6(4)e-4" }, { "0.90(2)", "1.80(4)", "5.3(4)e-4" } } },
    { "GSM-60",
      "gsm-60",
      NULL,
      ANYWHERE,
      0.6,
      { { "0.65(6)", "21(2)", "0.3(2)" }, { "0.60(1)", "1.41(1)", "1(1)e-3" } } },
    { "GSM-30",
      "gsm-30",
      NULL,
      ANYWHERE,
      0.3,
      { { "0.31(1)", "10.7(4)", "0.14(2)" }, { "0.302(6)", "10.5(4)", "0.13(2)" } } },
    { "I.I.D. Resample",
      NULL,
      "iid",
      ANYWHERE,
      1,
      { { "1.00", "34.4(3)", "0.98(5)" }, { "1.00", "33.9(3)", "0.90(7)" } } },
};
enum { FIXTURE_ROWS = sizeof fixture_rows / sizeof *fixture_rows };

static const char *const fixture_columns[] = { "acceptance", "msjd", "ess_per_proposal",
                                               "gradients_per_second" };
enum { FIXTURE_COLUMNS = 4 };

/* ---- Random numbers ---------------------------------------------------------------------------- */

static double fixture_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double fixture_normal(uint64_t *state)
{
    const double r = sqrt(-2 * log(fixture_uniform(state)));
    return r * cos(6.283185307179586 * fixture_uniform(state));
}

/* ---- Chains on the cross: modes at distance 4, variance 1/2 --------------------------------------- */

static void fixture_mode(int mode, double centre[2])
{
    centre[0] = mode == 0 ? 4 : mode == 2 ? -4 : 0;
    centre[1] = mode == 1 ? 4 : mode == 3 ? -4 : 0;
}

static hs_chains *fixture_draw(const fixture_row *row, size_t dim, uint64_t seed)
{
    hs_chains *c;
    if (hs_chains_new(&c, FIXTURE_CHAINS, FIXTURE_DRAWS, dim,
                      HS_KEEP_ALPHA | HS_KEEP_JUMP | HS_KEEP_ACCEPTED, NULL))
        abort();
    uint64_t state = seed;
    for (size_t m = 0; m < c->chains; m++) {
        int mode = (int)(m % 4);
        double x[2];
        fixture_mode(mode, x);
        for (size_t n = 0; n < c->draws; n++) {
            double y[2];
            const int to = row->kind == ANYWHERE ? (int)(4 * fixture_uniform(&state))
                           : row->kind == FLIPS  ? (mode + 2) % 4
                                                 : mode;
            fixture_mode(to, y);
            for (int k = 0; k < 2; k++)
                y[k] += sqrt(0.5) * fixture_normal(&state);
            const size_t at = m * c->draws + n;
            c->alpha[at] = row->accept;
            c->jump[at] =
                row->accept * ((y[0] - x[0]) * (y[0] - x[0]) + (y[1] - x[1]) * (y[1] - x[1]));
            if (fixture_uniform(&state) < row->accept) {
                memcpy(x, y, sizeof x);
                mode = to;
                c->accepted[at] = 1;
            }
            for (size_t k = 0; k < dim; k++)
                hs_chains_draw(c, m, n)[k] = k < 2 ? x[k] : fixture_normal(&state);
        }
    }
    return c;
}

/* The density of such a proposal from each start, [start][y][x]. */
static void fixture_density(const fixture_row *row, const char *path)
{
    hs_chains *map;
    if (hs_chains_new(&map, FIXTURE_STARTS, FIXTURE_GRID, FIXTURE_GRID, 0, NULL))
        abort();
    for (size_t s = 0; s < FIXTURE_STARTS; s++)
        for (size_t i = 0; i < FIXTURE_GRID; i++)
            for (size_t j = 0; j < FIXTURE_GRID; j++) {
                const double x = -7 + 14 * ((double)j + 0.5) / FIXTURE_GRID;
                const double y = -7 + 14 * ((double)i + 0.5) / FIXTURE_GRID;
                double sum = 0;
                for (int mode = 0; mode < 4; mode++) {
                    double c[2];
                    fixture_mode(mode, c);
                    const int own = (int)s, other = (own + 2) % 4;
                    if (row->kind == ANYWHERE || mode == (row->kind == FLIPS ? other : own))
                        sum += exp(-(x - c[0]) * (x - c[0]) - (y - c[1]) * (y - c[1]));
                }
                hs_chains_draw(map, s, i)[j] = sum;
            }
    if (hs_chains_save(map, path, NULL))
        abort();
    hs_chains_free(map);
}

/* ---- Jobs ---------------------------------------------------------------------------------------- */

static json_t *fixture_training(const fixture_row *row, uint64_t seed)
{
    json_t *steps = json_array(), *losses = json_array(), *alphas = json_array();
    uint64_t state = seed;
    for (int i = 1; i <= 256; i++) {
        const double t = i / 256.0, noise = 0.04 * fixture_normal(&state);
        json_array_append_new(steps, json_integer(78 * i));
        json_array_append_new(losses, json_real(0.5 + 8 * exp(-9 * t) + noise));
        json_array_append_new(
            alphas, json_real(fmin(1, fmax(0, row->accept * (1 - exp(-7 * t)) + 0.5 * noise))));
    }
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:n, s:i, s:{s:o, s:o, s:o}, s:[], s:i}",
                     "objective", row->objective, "steps", 20000, "seconds", 9.1, "loss", 0.51,
                     "alpha", row->accept, "adapted", "rolled_back", 0, "curve", "step", steps,
                     "loss", losses, "alpha", alphas, "tries", "best", 0);
}

static void fixture_diagnose(json_t *job, const hs_chains *chains)
{
    hs_report report;
    if (hs_diagnose(chains, &(hs_diagnose_options){ .threads = 1 }, &report, NULL))
        abort();
    json_t *coordinates = json_array(), *warnings = json_array();
    for (size_t k = 0; k < report.dim; k++) {
        const hs_series_summary *s = &report.coordinate[k];
        json_array_append_new(
            coordinates,
            json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "mean", s->mean, "sd", s->sd,
                      "ess_raw", s->ess[HS_ESS_RAW], "ess_x2", s->ess[HS_ESS_SQUARE_RAW],
                      "ess_bulk", s->ess[HS_ESS_BULK], "ess_tail", s->ess[HS_ESS_TAIL], "ess_sd",
                      s->ess[HS_ESS_SD], "rhat", s->rhat, "mcse", s->mcse_mean));
    }
    hs_message sentence;
    if (hs_report_warning(&report, HS_WARN_NONERGODIC, &sentence))
        json_array_append_new(warnings,
                              json_pack("{s:s, s:s}", "name", "nonergodic", "text", sentence.text));
    if (hs_report_warning(&report, HS_WARN_RHAT, &sentence))
        json_array_append_new(warnings,
                              json_pack("{s:s, s:s}", "name", "rhat", "text", sentence.text));
    json_object_set_new(job, "coordinates", coordinates);
    json_object_set_new(job, "warnings", warnings);
    json_object_set_new(job, "figures",
                        json_pack("{s:f, s:f, s:f, s:f, s:f}", "acceptance", report.acceptance,
                                  "msjd", report.msjd, "ess_per_proposal", report.ess_per_proposal,
                                  "rhat", report.rhat, "gradients_per_second",
                                  2200.0 + 10 * report.msjd));
    hs_report_free(&report);
}

static void fixture_case_name(const fixture *f, size_t i, char name[64])
{
    snprintf(name, 64, i == 0 ? "L=8" : i == 1 ? "L=3" : "L=%zu", i + 10);
    if (f->hostile && i == 1)
        strcpy(name, "<img src=x onerror=alert(1)> & \"L\"");
}

static const char *fixture_row_name(const fixture *f, size_t i)
{
    return f->hostile && i == 2 ? "</td><script>alert('x')</script>|*b*|" : fixture_rows[i].name;
}

static json_t *fixture_job(const char *folder, const fixture *f, size_t i, size_t j, size_t r)
{
    const fixture_row *row = &fixture_rows[j];
    char id[64], name[64], file[128], path[4096];
    fixture_case_name(f, i, name);
    snprintf(id, sizeof id, "c%zu-r%zu-%zu", i + 1, j + 1, r + 1);
    json_t *job = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s}", "id", id, "case", name, "row",
                            fixture_row_name(f, j), "replication", (int)(r + 1), "seed",
                            (int)(r + 1), "state", "done", "error", "");
    if (f->partial && i == 1 && j >= 4) {
        json_object_set_new(job, "state", json_string(j == 4 ? "failed" : "pending"));
        json_object_set_new(job, "error",
                            json_string(j == 4 ? "step 17: the loss is not finite" : ""));
        return job;
    }
    if (row->objective)
        json_object_set_new(job, "training", fixture_training(row, 100 * i + 10 * j + r));
    hs_chains *chains = fixture_draw(row, f->dim ? f->dim : 2, 1000 * i + 100 * j + r + 1);
    fixture_diagnose(job, chains);
    snprintf(file, sizeof file, "chains/%s.npy", id);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (r == 0 && !f->no_files && hs_chains_save(chains, path, NULL))
        abort();
    json_object_set_new(job, "chains", json_string(file));
    hs_chains_free(chains);
    snprintf(file, sizeof file, "proposals/%s.json", id);
    json_object_set_new(job, "parameters", json_string(file));
    if (r == 0) {
        snprintf(file, sizeof file, "figures/%s-density.npy", id);
        snprintf(path, sizeof path, "%s/%s", folder, file);
        if (!f->no_files)
            fixture_density(row, path);
        json_object_set_new(job, "density",
                            json_pack("{s:s, s:[i,i], s:[i,i], s:[[i,i],[i,i],[i,i],[i,i]]}",
                                      "file", file, "x", -7, 7, "y", -7, 7, "starts", 4, 0, 0, 4,
                                      -4, 0, 0, -4));
    }
    return job;
}

/* ---- Cells ---------------------------------------------------------------------------------------- */

static json_t *fixture_cell(const fixture *f, const json_t *jobs, size_t i, size_t j, size_t k)
{
    char name[64], text[APP_FIGURE_TEXT];
    fixture_case_name(f, i, name);
    const char *row = fixture_row_name(f, j), *column = fixture_columns[k];
    json_t *values = json_array();
    double sum = 0, squares = 0;
    size_t at, n = 0;
    json_t *job;
    json_array_foreach(jobs, at, job)
    {
        const json_t *value = json_object_get(json_object_get(job, "figures"), column);
        if (strcmp(json_string_value(json_object_get(job, "case")), name) != 0 ||
            strcmp(json_string_value(json_object_get(job, "row")), row) != 0 || !value)
            continue;
        json_array_append_new(values, json_real(json_number_value(value)));
        sum += json_number_value(value);
        squares += json_number_value(value) * json_number_value(value);
        n++;
    }
    const double mean = sum / (double)n; /* NaN without values */
    const double sd = n > 1 ? sqrt(fmax(0, (squares - sum * mean) / (double)(n - 1))) : (double)NAN;
    const char *paper = i < 2 && k < 3 ? fixture_rows[j].paper[i][k] : "";
    double value, error, sigmas = (double)NAN;
    app_verdict verdict = APP_VERDICT_NONE;
    if (app_figure_parse(paper, &value, &error) == APP_FIGURE_VALUE)
        verdict = app_figure_verdict(mean, sd, value, error, &sigmas);
    json_t *cell = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s}", "case", name, "row", row, "column", column,
        "values", values, "text", app_figure_text(mean, sd, text), "paper", paper, "verdict",
        app_verdict_name(verdict), "ratio_to", "", "note",
        i == 1 && j == 4 ? "At 60% two solutions exist, jumps between modes and moves within one; "
                           "which is found depends on the start <of training>."
                         : "");
    const struct {
        const char *key;
        double value;
    } numbers[] = { { "mean", mean },
                    { "sd", sd },
                    { "error", sd / sqrt((double)n) },
                    { "paper_value", value },
                    { "paper_error", error },
                    { "sigmas", sigmas } };
    for (size_t m = 0; m < sizeof numbers / sizeof *numbers; m++)
        json_object_set_new(cell, numbers[m].key,
                            isfinite(numbers[m].value) ? json_real(numbers[m].value) : json_null());
    return cell;
}

/* ---- The whole ------------------------------------------------------------------------------------- */

static json_t *fixture_experiment(const fixture *f, size_t cases)
{
    json_t *e = json_pack(
        "{s:s, s:s, s:s, s:s, s:[s,s,s,s], s:s, s:[s], s:[], s:[]}", "name", "cross", "title",
        f->hostile ? "Proposals <b>\"on\"</b> a cross & more"
                   : "Multi-scheme proposals on four modes in a cross",
        "paper", "Table 2 and the figures of Appendix F", "about",
        "Seven ways to train the same proposal. Only some of them learn to visit all four modes.",
        "columns", fixture_columns[0], fixture_columns[1], fixture_columns[2], fixture_columns[3],
        "layout", "cases", "figures", "density", "cases", "rows");
    for (size_t i = 0; i < cases; i++) {
        char name[64];
        fixture_case_name(f, i, name);
        json_array_append_new(
            json_object_get(e, "cases"),
            json_pack(
                "{s:s, s:s, s:s}", "name", name, "target", "cross", "proposal",
                "multi-scheme,couplings=8,coupling_width=6,coupling_depth=3,width=16,depth=4"));
    }
    for (size_t j = 0; j < FIXTURE_ROWS; j++) {
        json_t *row = json_pack("{s:s}", "name", fixture_row_name(f, j));
        if (fixture_rows[j].objective)
            json_object_set_new(row, "objective", json_string(fixture_rows[j].objective));
        else
            json_object_set_new(row, "sampler", json_string(fixture_rows[j].sampler));
        json_array_append_new(json_object_get(e, "rows"), row);
    }
    return e;
}

/* Fills `folder`, which exists, with result.json and what it points to. */
static inline void fixture_run(const char *folder, const fixture *f)
{
    static const char *const folders[] = { "chains", "figures", "proposals" };
    const size_t cases = f->cases ? f->cases : 2,
                 replications = f->replications ? f->replications : 1;
    char path[4096];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        mkdir(path, 0777);
    }
    json_t *jobs = json_array(), *cells = json_array();
    for (size_t i = 0; i < cases; i++)
        for (size_t j = 0; j < FIXTURE_ROWS; j++)
            for (size_t r = 0; r < replications; r++)
                json_array_append_new(jobs, fixture_job(folder, f, i, j, r));
    for (size_t i = 0; i < cases; i++)
        for (size_t j = 0; j < FIXTURE_ROWS; j++)
            for (size_t k = 0; k < FIXTURE_COLUMNS; k++)
                json_array_append_new(cells, fixture_cell(f, jobs, i, j, k));
    json_t *result = json_pack(
        "{s:s, s:i, s:s, s:o, s:{s:i, s:i, s:i, s:f, s:i, s:i, s:i, s:s, s:i}, s:b, s:i, s:i, s:s,"
        " s:{s:s, s:s, s:i, s:s, s:{s:s, s:s}}, s:s, s:s, s:f, s:s, s:o, s:o}",
        "format", "hastings-result", "version", 1, "hastings", "0.1.0", "experiment",
        fixture_experiment(f, cases), "settings", "steps", 20000, "starts", 8, "proposals", 100,
        "rate", 3e-4, "chains", 5, "draws", 1000, "replications", (int)replications, "precision",
        "f32", "seed", 1, "quick", 0, "seed", 1, "threads", 2, "command",
        "hastings run cross --replications 2 --out out", "host", "system", "Linux 6.1.0",
        "processor", "Example CPU @ 2.10GHz", "cores", 2, "compiler", "gcc 12.2.0", "libraries",
        "openblas", "0.3.21", "netcdf", "4.9.0", "started", "2026-01-31T12:00:00Z", "finished",
        "2026-01-31T12:03:05Z", "seconds", 185.0, "state", f->partial ? "partial" : "complete",
        "jobs", jobs, "cells", cells);
    snprintf(path, sizeof path, "%s/result.json", folder);
    if (!result || app_json_save(path, result, NULL))
        abort();
    json_decref(result);
}

#endif
