#include <hastings/cli/report/report.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/experiments/json_file.h>
#include <hastings/experiments/run.h>
#include <hastings/tensor/message.h>

#include "page_internal.h"

json_t *app_result_read(const char *path, hs_message *message)
{
    char inside[4096];
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        snprintf(inside, sizeof inside, "%.4000s/result.json", path);
        path = inside;
    }
    json_t *result = app_json_read(path, message);
    if (!result)
        return NULL;
    const char *wrong = NULL;
    if (strcmp(app_text_of(result, "format"), "hastings-result") != 0)
        wrong = "it is not a result of hastings: \"format\" should be \"hastings-result\"";
    else if (!(number_of(result, "version") == 1))
        wrong = "it is of another version of hastings: \"version\" should be 1";
    else if (!json_is_object(json_object_get(result, "experiment")) ||
             !json_is_array(json_object_get(result, "jobs")) ||
             !json_is_array(json_object_get(result, "cells")))
        wrong = "it is damaged: \"experiment\", \"jobs\" or \"cells\" is missing";
    if (wrong) {
        hs_message_fail(message, HS_EFORMAT, "%.300s: %s", path, wrong);
        json_decref(result);
        return NULL;
    }
    return result;
}

json_t *app_result_settings(const json_t *result)
{
    return app_settings_merge(json_object_get(result, "experiment"), NULL, NULL,
                              is_true(result, "quick"), json_object_get(result, "settings"));
}

/* ---- Tables as files ---------------------------------------------------------------------------- */

static hs_status write_markdown(const json_t *result, const char *path, hs_message *message)
{
    const app_verdict_count count = app_verdicts(result);
    app_buffer b = { 0 };
    app_buffer_markdown(&b, "# %s\n\n", app_result_title(result));
    if (strcmp(app_text_of(result, "state"), "complete") != 0)
        app_buffer_put(&b, "This run is partial.\n\n");
    app_verdicts_sentence(&b, &count);
    app_buffer_put(&b, count.judged ? " (✓ within 2 sigma, ≈ within 3, ✗ beyond.)\n\n" : "\n\n");
    app_table_markdown(&b, result, 2);
    const hs_status status = app_buffer_save(&b, path, message);
    app_buffer_free(&b);
    return status;
}

static hs_status write_csv(const json_t *result, const char *path, hs_message *message)
{
    app_buffer b = { 0 };
    app_table_csv(&b, result);
    const hs_status status = app_buffer_save(&b, path, message);
    app_buffer_free(&b);
    return status;
}

/* ---- The page ------------------------------------------------------------------------------------ */

static void begin_page(page *p)
{
    app_buffer_html(&p->html,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n<style>\n",
                    app_result_title(p->result));
    for (size_t i = 0; app_page_style[i]; i++) {
        app_buffer_put(&p->html, app_page_style[i]);
        app_buffer_put(&p->html, "\n");
    }
    app_buffer_put(&p->html, "</style>\n</head>\n<body>\n");
}

static hs_status write_page(page *p, const char *path, hs_message *message)
{
    app_page_warnings(p);
    app_page_tables(p);
    app_page_bars(p);
    app_page_curves(p);
    app_page_maps(p);
    app_page_chains(p);
    app_page_jobs(p);
    app_page_settings(p);
    app_buffer sections = p->html; /* the head tells which there are */
    p->html = (app_buffer){ .failed = sections.failed };
    begin_page(p);
    app_page_head(p);
    app_buffer_put(&p->html, "<main>\n");
    app_buffer_put(&p->html, sections.bytes ? sections.bytes : "");
    app_buffer_html(
        &p->html,
        "</main>\n<footer>\n<p>Written by hastings %s.</p>\n</footer>\n</body>\n</html>\n",
        app_text_of(p->result, "hastings"));
    app_buffer_free(&sections);
    if (p->status != HS_OK)
        return hs_message_fail(message, p->status, "%s", p->message.text);
    return app_buffer_save(&p->html, path, message);
}

hs_status app_report_write(const char *folder, hs_message *message)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/result.json", folder);
    hs_message own;
    message = message ? message : &own;
    json_t *result = app_result_read(path, message);
    if (!result)
        return access(path, R_OK) == 0 ? HS_EFORMAT : HS_EIO;
    snprintf(path, sizeof path, "%.4000s/figures", folder);
    hs_status status = HS_OK;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        status = hs_message_fail(message, HS_EIO, "%.300s: cannot make this folder: %s", path,
                                 strerror(errno));
    snprintf(path, sizeof path, "%.4000s/result.md", folder);
    if (status == HS_OK)
        status = write_markdown(result, path, message);
    snprintf(path, sizeof path, "%.4000s/result.csv", folder);
    if (status == HS_OK)
        status = write_csv(result, path, message);
    snprintf(path, sizeof path, "%.4000s/report.html", folder);
    page p = { .result = result, .folder = folder };
    if (status == HS_OK)
        status = write_page(&p, path, message);
    app_buffer_free(&p.html);
    hs_arena_free(&p.memory);
    json_decref(result);
    return status;
}

const char *app_result_title(const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    return app_text_of(experiment, app_text_of(experiment, "title")[0] ? "title" : "name");
}

const char *app_general_note(const json_t *result, size_t *at)
{
    const json_t *notes = json_object_get(json_object_get(result, "experiment"), "notes");
    while (*at < json_array_size(notes)) {
        const json_t *note = json_array_get(notes, (*at)++);
        if (!*app_text_of(note, "row") && !*app_text_of(note, "case"))
            return app_text_of(note, "text");
    }
    return NULL;
}
