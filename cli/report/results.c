/* A document that compares several runs with the paper. */
#include <hastings/cli/report/report.h>
#include <hastings/tensor/message.h>

#include <string.h>

#include "page_internal.h"

/* ---- The beginning: all runs in a table ----------------------------------------------------------- */

static void put_overview(app_buffer *b, json_t *const *results, size_t count)
{
    char time[PAGE_TIME];
    app_buffer_put(b,
                   "# Results\n\n"
                   "What the experiments give, beside the paper's figures. ✓: within 2 sigma of "
                   "the paper, ≈: within 3,\n✗: beyond, as docs/formats.md describes. In "
                   "parentheses is the standard deviation between replications,\nin units of the "
                   "last digit. This document is made by `hastings report --markdown FILE "
                   "DIR...`.\n\n");
    app_buffer_headings(b, (const char *[]){ "experiment", "in the paper", "compared", "✓", "≈",
                                             "✗", "time", NULL });
    for (size_t i = 0; i < count; i++) {
        const json_t *experiment = json_object_get(results[i], "experiment");
        const app_verdict_count n = app_verdicts(results[i]);
        app_buffer_cell(b, "%s", app_text_of(experiment, "name"));
        app_buffer_cell(b, "%s", app_text_of(experiment, "paper"));
        app_buffer_cell(b, "%zu", n.judged);
        for (int verdict = APP_VERDICT_AGREES; verdict <= APP_VERDICT_DIFFERS; verdict++)
            app_buffer_cell(b, "%zu", n.of[verdict]);
        app_buffer_cell(b, "%s", app_page_time(number_of(results[i], "seconds"), time));
        app_buffer_line(b);
    }
    app_buffer_put(b, "\n");
}

/* ---- Settings --------------------------------------------------------------------------------------- */

static void put_settings(app_buffer *b, const json_t *result)
{
    const char *key, *comma = "";
    json_t *value;
    json_t *settings = app_result_settings(result);
    char time[PAGE_TIME];
    if (app_text_of(result, "command")[0])
        app_buffer_print(b, "Command: `%s`\n\n", app_text_of(result, "command"));
    app_buffer_put(b, "Settings: ");
    json_object_foreach(settings, key, value)
    {
        if (strcmp(key, "seed") == 0)
            continue;
        app_buffer_markdown(b, "%s%s ", comma, key);
        comma = ", ";
        if (json_is_string(value))
            app_buffer_markdown(b, "%s", json_string_value(value));
        else if (json_is_number(value))
            app_buffer_print(b, "%.10g", json_number_value(value));
        else
            app_buffer_put(b, json_is_true(value) ? "yes" : "no");
    }
    app_buffer_print(b, "%sseed %.0f.", comma, number_of(result, "seed"));
    if (is_true(result, "quick"))
        app_buffer_put(b, " This is the quick version.");
    const double given = number_of(result, "threads");
    const size_t threads = given > 0 && given < 1e6 ? (size_t)given : 0;
    if (app_page_time(number_of(result, "seconds"), time)[0])
        app_buffer_markdown(b, " It took %s on %zu threads of %s, version %s.", time, threads,
                            app_text_of(json_object_get(result, "host"), "processor"),
                            app_text_of(result, "hastings"));
    app_buffer_put(b, "\n\n");
    json_decref(settings);
}

/* ---- Differences ------------------------------------------------------------------------------------- */

/* "L=3, GSM-60, MSJD: ours 10.2(3), paper 1.41(1), 28 sigma" */
static void put_difference(app_buffer *b, const json_t *cell)
{
    char text[APP_FIGURE_TEXT];
    const double sigmas = number_of(cell, "sigmas");
    app_buffer_markdown(b, "%s, %s, %s: ours %s, paper %s", app_text_of(cell, "case"),
                        app_text_of(cell, "row"), app_column_title(app_text_of(cell, "column")),
                        app_cell_ours(cell, text), app_cell_paper(cell));
    if (isfinite(sigmas))
        app_buffer_print(b, sigmas < 10 ? ", %.1f sigma" : ", %.0f sigma", sigmas);
    if (app_text_of(cell, "ratio_to")[0])
        app_buffer_markdown(b, " as ratios to %s", app_text_of(cell, "ratio_to"));
}

static bool is_beyond(const json_t *cell)
{
    return app_verdict_of(app_text_of(cell, "verdict")) >= APP_VERDICT_CLOSE;
}

/* Cells that are beyond 2 sigma and have this note. */
static size_t put_differences(app_buffer *b, const json_t *cells, const char *note,
                              const char *indent)
{
    size_t count = 0, i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        if (!is_beyond(cell) || strcmp(app_text_of(cell, "note"), note) != 0)
            continue;
        app_buffer_print(b, "%s- %s ", indent,
                         app_verdict_mark(app_verdict_of(app_text_of(cell, "verdict"))));
        put_difference(b, cell);
        app_buffer_put(b, "\n");
        count++;
    }
    return count;
}

/* Each note once, with the cells to which it belongs that differ. */
static size_t put_notes(app_buffer *b, const json_t *cells)
{
    size_t i, j, count = 0;
    json_t *cell, *other;
    json_array_foreach(cells, i, cell)
    {
        const char *note = app_text_of(cell, "note");
        bool first = note[0] != '\0';
        json_array_foreach(cells, j, other)
        {
            first = first && (j >= i || strcmp(app_text_of(other, "note"), note) != 0);
        }
        if (!first)
            continue;
        app_buffer_markdown(b, "- Known: %s\n", note);
        put_differences(b, cells, note, "  ");
        count++;
    }
    return count;
}

static size_t put_general_notes(app_buffer *b, const json_t *result)
{
    const char *note;
    size_t count = 0;
    for (size_t at = 0; (note = app_general_note(result, &at)); count++)
        app_buffer_markdown(b, "- %s\n", note);
    return count;
}

/* The cell that is farthest from the paper among those that agree; NULL if none does. */
static const json_t *farthest(const json_t *cells)
{
    const json_t *most = NULL;
    size_t i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        if (app_verdict_of(app_text_of(cell, "verdict")) == APP_VERDICT_AGREES &&
            (!most || number_of(cell, "sigmas") > number_of(most, "sigmas")))
            most = cell;
    }
    return most;
}

static void put_comparison(app_buffer *b, const json_t *result)
{
    const json_t *cells = json_object_get(result, "cells");
    const app_verdict_count count = app_verdicts(result);
    const json_t *most = farthest(cells);
    app_verdicts_sentence(b, &count);
    if (most) {
        app_buffer_put(b, " Of those that agree, the farthest is ");
        put_difference(b, most);
        app_buffer_put(b, ".");
    }
    app_buffer_put(b, "\n\n");
    size_t lines = put_differences(b, cells, "", "");
    lines += put_notes(b, cells);
    lines += put_general_notes(b, result);
    app_buffer_put(b, lines ? "\n" : "");
}

/* ---- Warnings ------------------------------------------------------------------------------------------ */

static void put_nonergodic(app_buffer *b, const json_t *result)
{
    size_t i, j, count = 0;
    json_t *job, *warning;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        json_array_foreach(json_object_get(job, "warnings"), j, warning)
        {
            if (!is_shown(job) || strcmp(app_text_of(warning, "name"), "nonergodic") != 0)
                continue;
            app_buffer_markdown(
                b, count++ ? "; %s, %s" : "The diagnostics call these non-ergodic: %s, %s",
                app_text_of(job, "case"), app_text_of(job, "row"));
        }
    }
    app_buffer_put(b, count ? ".\n\n" : "");
}

static void put_result(app_buffer *b, const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    app_buffer_markdown(b, "## %s\n\n", app_result_title(result));
    if (app_text_of(experiment, "paper")[0])
        app_buffer_markdown(b, "In the paper: %s. ", app_text_of(experiment, "paper"));
    app_buffer_markdown(b, "%s\n\n", app_text_of(experiment, "about"));
    if (strcmp(app_text_of(result, "state"), "complete") != 0)
        app_buffer_put(b, "**This run is partial.**\n\n");
    put_settings(b, result);
    app_table_markdown(b, result, 3);
    put_comparison(b, result);
    put_nonergodic(b, result);
}

hs_status app_results_write(const char *path, const char *const *results, size_t count,
                            hs_message *message)
{
    hs_message_clear(message);
    if (count == 0)
        return hs_message_fail(message, HS_EINVAL, "%.300s: no results to write of", path);
    json_t **read = hs_alloc_zero(count, sizeof(json_t *));
    if (!read)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", path);
    hs_status status = HS_OK;
    for (size_t i = 0; i < count && status == HS_OK; i++) {
        read[i] = app_result_read(results[i], message);
        status = read[i] ? HS_OK : HS_EFORMAT;
    }
    app_buffer b = { 0 };
    if (status == HS_OK) {
        put_overview(&b, read, count);
        for (size_t i = 0; i < count; i++)
            put_result(&b, read[i]);
        status = app_buffer_save(&b, path, message);
    }
    app_buffer_free(&b);
    for (size_t i = 0; i < count; i++)
        json_decref(read[i]);
    hs_free(read);
    return status;
}
