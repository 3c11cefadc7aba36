/* A document that compares several runs with the paper. */
#include <hastings/cli/report.h>

#include <string.h>

#include "report_page_internal.h"

static const char *title_of(const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    return text_of(experiment, text_of(experiment, "title")[0] ? "title" : "name");
}

/* ---- The beginning: all runs in a table ----------------------------------------------------------- */

static void put_overview(hs_buffer *b, json_t *const *results, size_t count)
{
    char time[PAGE_TIME];
    hs_buffer_put(b, "# Results\n\n"
                     "What the experiments give, beside the paper's figures. ✓: within 2 sigma of "
                     "the paper, ≈: within 3,\n✗: beyond, as docs/formats.md describes. In "
                     "parentheses is the standard deviation between replications,\nin units of the "
                     "last digit. This document is made by `hastings report --markdown FILE "
                     "DIR...`.\n\n"
                     "| experiment | in the paper | compared | ✓ | ≈ | ✗ | time |\n"
                     "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const json_t *experiment = json_object_get(results[i], "experiment");
        const hs_verdict_count n = hs_verdicts(results[i]);
        hs_buffer_markdown(
            b, "| %s | %s | %zu | %zu | %zu | %zu | %s |\n", text_of(experiment, "name"),
            text_of(experiment, "paper"), n.judged, n.of[HS_VERDICT_AGREES], n.of[HS_VERDICT_CLOSE],
            n.of[HS_VERDICT_DIFFERS], page_time(number_of(results[i], "seconds"), time));
    }
    hs_buffer_put(b, "\n");
}

/* ---- Settings --------------------------------------------------------------------------------------- */

static void put_settings(hs_buffer *b, const json_t *result)
{
    const char *key, *comma = "";
    json_t *value;
    json_t *settings = result_settings(result);
    char time[PAGE_TIME];
    if (text_of(result, "command")[0])
        hs_buffer_print(b, "Command: `%s`\n\n", text_of(result, "command"));
    hs_buffer_put(b, "Settings: ");
    json_object_foreach(settings, key, value)
    {
        if (strcmp(key, "seed") == 0)
            continue;
        hs_buffer_markdown(b, "%s%s ", comma, key);
        comma = ", ";
        if (json_is_string(value))
            hs_buffer_markdown(b, "%s", json_string_value(value));
        else if (json_is_number(value))
            hs_buffer_print(b, "%.10g", json_number_value(value));
        else
            hs_buffer_put(b, json_is_true(value) ? "yes" : "no");
    }
    hs_buffer_print(b, "%sseed %.0f.", comma, number_of(result, "seed"));
    if (is_true(result, "quick"))
        hs_buffer_put(b, " This is the quick version.");
    const double given = number_of(result, "threads");
    const size_t threads = given > 0 && given < 1e6 ? (size_t)given : 0;
    if (page_time(number_of(result, "seconds"), time)[0])
        hs_buffer_markdown(b, " It took %s on %zu threads of %s, version %s.", time, threads,
                           text_of(json_object_get(result, "host"), "processor"),
                           text_of(result, "hastings"));
    hs_buffer_put(b, "\n\n");
    json_decref(settings);
}

/* ---- Differences ------------------------------------------------------------------------------------- */

/* "L=3, GSM-60, MSJD: ours 10.2(3), paper 1.41(1), 28 sigma" */
static void put_difference(hs_buffer *b, const json_t *cell)
{
    char text[HS_FIGURE_TEXT];
    const double sigmas = number_of(cell, "sigmas");
    hs_buffer_markdown(b, "%s, %s, %s: ours %s, paper %s", text_of(cell, "case"),
                       text_of(cell, "row"), hs_column_title(text_of(cell, "column")),
                       hs_cell_ours(cell, text), hs_cell_paper(cell));
    if (isfinite(sigmas))
        hs_buffer_print(b, sigmas < 10 ? ", %.1f sigma" : ", %.0f sigma", sigmas);
    if (text_of(cell, "ratio_to")[0])
        hs_buffer_markdown(b, " as ratios to %s", text_of(cell, "ratio_to"));
}

static bool is_beyond(const json_t *cell)
{
    return hs_verdict_of(text_of(cell, "verdict")) >= HS_VERDICT_CLOSE;
}

/* Cells that are beyond 2 sigma and have this note. */
static size_t put_differences(hs_buffer *b, const json_t *cells, const char *note,
                              const char *indent)
{
    size_t count = 0, i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        if (!is_beyond(cell) || strcmp(text_of(cell, "note"), note) != 0)
            continue;
        hs_buffer_print(b, "%s- %s ", indent,
                        hs_verdict_mark(hs_verdict_of(text_of(cell, "verdict"))));
        put_difference(b, cell);
        hs_buffer_put(b, "\n");
        count++;
    }
    return count;
}

/* Each note once, with the cells to which it belongs that differ. */
static size_t put_notes(hs_buffer *b, const json_t *cells)
{
    size_t i, j, count = 0;
    json_t *cell, *other;
    json_array_foreach(cells, i, cell)
    {
        const char *note = text_of(cell, "note");
        bool first = note[0] != '\0';
        json_array_foreach(cells, j, other)
        {
            first = first && (j >= i || strcmp(text_of(other, "note"), note) != 0);
        }
        if (!first)
            continue;
        hs_buffer_markdown(b, "- Known: %s\n", note);
        put_differences(b, cells, note, "  ");
        count++;
    }
    return count;
}

static size_t put_general_notes(hs_buffer *b, const json_t *result)
{
    const char *note;
    size_t count = 0;
    for (size_t at = 0; (note = general_note(result, &at)); count++)
        hs_buffer_markdown(b, "- %s\n", note);
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
        if (hs_verdict_of(text_of(cell, "verdict")) == HS_VERDICT_AGREES &&
            (!most || number_of(cell, "sigmas") > number_of(most, "sigmas")))
            most = cell;
    }
    return most;
}

static void put_comparison(hs_buffer *b, const json_t *result)
{
    const json_t *cells = json_object_get(result, "cells");
    const hs_verdict_count count = hs_verdicts(result);
    const json_t *most = farthest(cells);
    hs_verdicts_sentence(b, &count);
    if (most) {
        hs_buffer_put(b, " Of those that agree, the farthest is ");
        put_difference(b, most);
        hs_buffer_put(b, ".");
    }
    hs_buffer_put(b, "\n\n");
    size_t lines = put_differences(b, cells, "", "");
    lines += put_notes(b, cells);
    lines += put_general_notes(b, result);
    hs_buffer_put(b, lines ? "\n" : "");
}

/* ---- Warnings ------------------------------------------------------------------------------------------ */

static void put_nonergodic(hs_buffer *b, const json_t *result)
{
    size_t i, j, count = 0;
    json_t *job, *warning;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        json_array_foreach(json_object_get(job, "warnings"), j, warning)
        {
            if (!is_shown(job) || strcmp(text_of(warning, "name"), "nonergodic") != 0)
                continue;
            hs_buffer_markdown(
                b, count++ ? "; %s, %s" : "The diagnostics call these non-ergodic: %s, %s",
                text_of(job, "case"), text_of(job, "row"));
        }
    }
    hs_buffer_put(b, count ? ".\n\n" : "");
}

static void put_result(hs_buffer *b, const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    hs_buffer_markdown(b, "## %s\n\n", title_of(result));
    if (text_of(experiment, "paper")[0])
        hs_buffer_markdown(b, "In the paper: %s. ", text_of(experiment, "paper"));
    hs_buffer_markdown(b, "%s\n\n", text_of(experiment, "about"));
    if (strcmp(text_of(result, "state"), "complete") != 0)
        hs_buffer_put(b, "**This run is partial.**\n\n");
    put_settings(b, result);
    hs_table_markdown(b, result, 3);
    put_comparison(b, result);
    put_nonergodic(b, result);
}

hs_status hs_results_write(const char *path, const char *const *results, size_t count,
                           hs_message *message)
{
    hs_say(message, HS_OK, "%s", "");
    if (count == 0)
        return hs_say(message, HS_EINVAL, "%.300s: no results to write of", path);
    json_t **read = hs_alloc_zero(count, sizeof(json_t *));
    if (!read)
        return hs_say(message, HS_ENOMEM, "%.300s: out of memory", path);
    hs_status status = HS_OK;
    for (size_t i = 0; i < count && status == HS_OK; i++) {
        read[i] = hs_result_read(results[i], message);
        status = read[i] ? HS_OK : HS_EFORMAT;
    }
    hs_buffer b = { 0 };
    if (status == HS_OK) {
        put_overview(&b, read, count);
        for (size_t i = 0; i < count; i++)
            put_result(&b, read[i]);
        status = hs_buffer_save(&b, path, message);
    }
    hs_buffer_free(&b);
    for (size_t i = 0; i < count; i++)
        json_decref(read[i]);
    hs_free(read);
    return status;
}
