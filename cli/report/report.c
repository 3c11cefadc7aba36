#include <hastings/cli/report.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/experiments/text_file.h>

#include "report_page_internal.h"

json_t *hs_result_read(const char *path, hs_message *message)
{
    char inside[4096];
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        snprintf(inside, sizeof inside, "%.4000s/result.json", path);
        path = inside;
    }
    json_t *result = hs_json_read(path, message);
    if (!result)
        return NULL;
    const char *wrong = NULL;
    if (strcmp(text_of(result, "format"), "hastings-result") != 0)
        wrong = "it is not a result of hastings: \"format\" should be \"hastings-result\"";
    else if (!(number_of(result, "version") == 1))
        wrong = "it is of another version of hastings: \"version\" should be 1";
    else if (!json_is_object(json_object_get(result, "experiment")) ||
             !json_is_array(json_object_get(result, "jobs")) ||
             !json_is_array(json_object_get(result, "cells")))
        wrong = "it is damaged: \"experiment\", \"jobs\" or \"cells\" is missing";
    if (wrong) {
        hs_say(message, HS_EFORMAT, "%.300s: %s", path, wrong);
        json_decref(result);
        return NULL;
    }
    return result;
}

json_t *result_settings(const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    json_t *settings = json_object();
    json_object_update(settings, json_object_get(experiment, "settings"));
    if (is_true(result, "quick")) {
        json_object_update(settings, json_object_get(experiment, "quick"));
        json_object_del(settings, "cases"); /* which says what is run, not how */
    }
    json_object_update(settings, json_object_get(result, "settings"));
    return settings;
}

/* ---- Tables as files ---------------------------------------------------------------------------- */

static hs_status write_markdown(const json_t *result, const char *path, hs_message *message)
{
    const json_t *experiment = json_object_get(result, "experiment");
    const hs_verdict_count count = hs_verdicts(result);
    hs_buffer b = { 0 };
    hs_buffer_markdown(&b, "# %s\n\n",
                       text_of(experiment, text_of(experiment, "title")[0] ? "title" : "name"));
    if (strcmp(text_of(result, "state"), "complete") != 0)
        hs_buffer_put(&b, "This run is partial.\n\n");
    hs_verdicts_sentence(&b, &count);
    hs_buffer_put(&b, count.judged ? " (✓ within 2 sigma, ≈ within 3, ✗ beyond.)\n\n" : "\n\n");
    hs_table_markdown(&b, result, 2);
    const hs_status status = hs_buffer_save(&b, path, message);
    hs_buffer_free(&b);
    return status;
}

static hs_status write_csv(const json_t *result, const char *path, hs_message *message)
{
    hs_buffer b = { 0 };
    hs_table_csv(&b, result);
    const hs_status status = hs_buffer_save(&b, path, message);
    hs_buffer_free(&b);
    return status;
}

/* ---- The page ------------------------------------------------------------------------------------ */

static void begin_page(page *p)
{
    const json_t *experiment = json_object_get(p->result, "experiment");
    const char *title = text_of(experiment, text_of(experiment, "title")[0] ? "title" : "name");
    hs_buffer_html(&p->html,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n"
                   "<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n<style>\n",
                   title);
    for (size_t i = 0; page_style[i]; i++) {
        hs_buffer_put(&p->html, page_style[i]);
        hs_buffer_put(&p->html, "\n");
    }
    hs_buffer_put(&p->html, "</style>\n</head>\n<body>\n");
}

static hs_status write_page(page *p, const char *path, hs_message *message)
{
    page_warnings(p);
    page_tables(p);
    page_bars(p);
    page_curves(p);
    page_maps(p);
    page_chains(p);
    page_jobs(p);
    page_settings(p);
    hs_buffer sections = p->html; /* the head tells which there are */
    p->html = (hs_buffer){ .failed = sections.failed };
    begin_page(p);
    page_head(p);
    hs_buffer_put(&p->html, "<main>\n");
    hs_buffer_put(&p->html, sections.bytes ? sections.bytes : "");
    hs_buffer_html(
        &p->html,
        "</main>\n<footer>\n<p>Written by hastings %s.</p>\n</footer>\n</body>\n</html>\n",
        text_of(p->result, "hastings"));
    hs_buffer_free(&sections);
    if (p->status != HS_OK)
        return hs_say(message, p->status, "%s", p->message.text);
    return hs_buffer_save(&p->html, path, message);
}

hs_status hs_report_write(const char *folder, hs_message *message)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/result.json", folder);
    hs_message own;
    message = message ? message : &own;
    json_t *result = hs_result_read(path, message);
    if (!result)
        return access(path, R_OK) == 0 ? HS_EFORMAT : HS_EIO;
    snprintf(path, sizeof path, "%.4000s/figures", folder);
    hs_status status = HS_OK;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        status =
            hs_say(message, HS_EIO, "%.300s: cannot make this folder: %s", path, strerror(errno));
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
    hs_buffer_free(&p.html);
    hs_arena_free(&p.memory);
    json_decref(result);
    return status;
}

const char *general_note(const json_t *result, size_t *at)
{
    const json_t *notes = json_object_get(json_object_get(result, "experiment"), "notes");
    while (*at < json_array_size(notes)) {
        const json_t *note = json_array_get(notes, (*at)++);
        if (!*text_of(note, "row") && !*text_of(note, "case"))
            return text_of(note, "text");
    }
    return NULL;
}
