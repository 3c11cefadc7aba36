/* The end of a page: every job, the settings, the host, and how to run it again. */
#include "page_internal.h"

#include <stdint.h>
#include <unistd.h>

#include <hastings/experiments/inside.h>

/* ---- Jobs -------------------------------------------------------------------------------------- */

/* A link to a file of the run; "./" keeps any name from being read as another kind of address. */
static void put_link(page *p, const char *name, const char *text)
{
    char path[APP_INSIDE_PATH];
    if (app_file_inside(p->folder, name, path, NULL) == HS_OK)
        app_buffer_html(&p->html, "<a href=\"./%s\">%s</a> ", name, text);
}

static void put_job(page *p, const json_t *job)
{
    const json_t *training = json_object_get(job, "training");
    const json_t *figures = json_object_get(job, "figures");
    char time[PAGE_TIME], text[APP_FIGURE_TEXT];
    app_buffer *b = &p->html;
    app_buffer_html(b, "<tr><th scope=\"row\">%s</th><td>%s</td>", app_text_of(job, "row"),
                    app_text_of(job, "case"));
    app_buffer_print(b, "<td>%.0f</td><td>%.0f</td>", number_of(job, "replication"),
                     number_of(job, "seed"));
    app_buffer_html(b, "<td>%s</td><td>%s</td>", app_text_of(job, "state"),
                    app_text_of(training, "objective"));
    app_buffer_html(b, "<td>%s</td>", app_page_time(number_of(training, "seconds"), time));
    app_buffer_html(b, "<td>%s</td>",
                    app_figure_text(number_of(training, "loss"), (double)NAN, text));
    app_buffer_html(b, "<td>%s</td><td>",
                    app_figure_text(number_of(figures, "rhat"), (double)NAN, text));
    put_link(p, app_text_of(job, "chains"), "chains");
    put_link(p, app_text_of(job, "parameters"), "proposal");
    app_buffer_put(b, "</td></tr>\n");
}

void app_page_jobs(page *p)
{
    const json_t *jobs = json_object_get(p->result, "jobs");
    const size_t count = json_array_size(jobs);
    if (!count)
        return;
    app_page_section(p, "jobs", "Jobs");
    app_buffer_html(&p->html,
                    "<details>\n<summary>%zu %s <span class=\"soft\">with seeds, times and files"
                    "</span></summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                    "aria-label=\"Jobs\">\n<table>\n<thead><tr><th scope=\"col\">row</th>"
                    "<th scope=\"col\">case</th><th scope=\"col\">replication</th>"
                    "<th scope=\"col\">seed</th><th scope=\"col\">state</th>"
                    "<th scope=\"col\">objective</th><th scope=\"col\">training</th>"
                    "<th scope=\"col\">loss</th><th scope=\"col\">R-hat</th>"
                    "<th scope=\"col\">files</th></tr></thead>\n<tbody>\n",
                    count, count == 1 ? "job" : "jobs");
    size_t i;
    json_t *job;
    json_array_foreach(jobs, i, job)
    {
        put_job(p, job);
    }
    app_buffer_put(&p->html, "</tbody></table>\n</div>\n</details>\n");
    app_page_section_end(p);
}

/* ---- Settings and host -------------------------------------------------------------------------- */

/* A value as text, in the page's memory. */
static const char *value_text(page *p, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_integer(value))
        return app_page_text(p, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return app_page_text(p, "%.10g", json_real_value(value));
    return json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-";
}

/* The members of an object in one line: "openblas 0.3.21, jansson 2.14". */
static void put_line(page *p, const json_t *object)
{
    const char *key, *comma = "";
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        app_buffer_html(&p->html, "%s%s %s", comma, key, value_text(p, value));
        comma = ", ";
    }
}

/* The members of an object as a list. */
static void put_members(page *p, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        app_buffer_html(&p->html, "<dt>%s</dt><dd>", key);
        if (json_is_object(value))
            put_line(p, value);
        else
            app_buffer_html(&p->html, "%s", value_text(p, value));
        app_buffer_put(&p->html, "</dd>\n");
    }
}

static void put_parts(page *p, const char *key, const char *title)
{
    const json_t *parts = json_object_get(json_object_get(p->result, "experiment"), key);
    if (!json_array_size(parts))
        return;
    static const char *const texts[] = { "target", "proposal", "objective", "sampler" };
    app_buffer_html(&p->html, "<h3>%s</h3>\n<dl>\n", title);
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        app_buffer_html(&p->html, "<dt>%s</dt><dd>", app_text_of(part, "name"));
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (app_text_of(part, texts[k])[0])
                app_buffer_html(&p->html, "%s <code>%s</code> ", texts[k],
                                app_text_of(part, texts[k]));
        put_line(p, json_object_get(part, "settings"));
        app_buffer_put(&p->html, "</dd>\n");
    }
    app_buffer_put(&p->html, "</dl>\n");
}

static void put_repeat(page *p)
{
    const char *command = app_text_of(p->result, "command");
    const json_t *seed = json_object_get(p->result, "seed");
    if (!command[0])
        return;
    app_buffer_html(&p->html, "<h3>Run it again</h3>\n<pre tabindex=\"0\"><code>%s</code></pre>\n",
                    command);
    if (seed)
        app_buffer_html(&p->html, "<p class=\"soft\">The seed was %s.</p>\n", value_text(p, seed));
}

static void put_files(page *p)
{
    static const char *const files[][2] = {
        { "result.json", "everything that is a number" },
        { "result.csv", "the tables, for programs" },
        { "result.md", "the tables, for documents" },
        { "figures/", "the pictures" },
        { "chains/", "draws, for ArviZ" },
        { "proposals/", "trained proposals, for hastings sample" },
    };
    app_buffer_put(&p->html, "<h3>Files beside this page</h3>\n<dl>\n");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.4000s/%s", p->folder, files[i][0]);
        if (access(path, F_OK) != 0)
            continue;
        app_buffer_html(&p->html, "<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>\n", files[i][0],
                        files[i][0], files[i][1]);
    }
    app_buffer_put(&p->html, "</dl>\n");
}

void app_page_settings(page *p)
{
    char time[PAGE_TIME];
    app_page_section(p, "settings", "Settings");
    put_repeat(p);
    json_t *settings = app_result_settings(p->result);
    app_buffer_put(&p->html, "<h3>Settings</h3>\n<dl>\n");
    put_members(p, settings);
    app_buffer_put(&p->html, "</dl>\n");
    json_decref(settings);
    put_parts(p, "cases", "Cases");
    put_parts(p, "rows", "Rows");
    app_buffer_put(&p->html, "<h3>Time and place</h3>\n<dl>\n");
    app_buffer_html(&p->html, "<dt>started</dt><dd>%s</dd>\n<dt>finished</dt><dd>%s</dd>\n",
                    app_text_of(p->result, "started"), app_text_of(p->result, "finished"));
    if (app_page_time(number_of(p->result, "seconds"), time)[0])
        app_buffer_html(&p->html, "<dt>time</dt><dd>%s</dd>\n", time);
    app_buffer_html(&p->html, "<dt>threads</dt><dd>%s</dd>\n",
                    value_text(p, json_object_get(p->result, "threads")));
    put_members(p, json_object_get(p->result, "host"));
    app_buffer_html(&p->html, "<dt>hastings</dt><dd>%s</dd>\n</dl>\n",
                    app_text_of(p->result, "hastings"));
    put_files(p);
    app_page_section_end(p);
}
