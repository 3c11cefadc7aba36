/* The top of a page: what this is, whether it is whole, how it compares, and what to be wary of. */
#include "page_internal.h"

#include <stdint.h>
#include <string.h>

/* ---- State ---------------------------------------------------------------------------------- */

typedef struct {
    size_t jobs, done, failed, stopped, pending;
} job_count;

static job_count count_jobs(const json_t *result)
{
    job_count n = { 0 };
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        const char *state = app_text_of(job, "state");
        n.jobs++;
        n.done += strcmp(state, "done") == 0;
        n.failed += strcmp(state, "failed") == 0;
        n.stopped += strcmp(state, "partial") == 0;
        n.pending += strcmp(state, "pending") == 0;
    }
    return n;
}

static void put_job_name(page *p, const json_t *job)
{
    app_buffer_html(&p->html, "<b>%s, %s</b>", app_text_of(job, "row"), app_text_of(job, "case"));
    if (number_of(job, "replication") > 1)
        app_buffer_print(&p->html, ", replication %.0f", number_of(job, "replication"));
}

static void put_partial(page *p)
{
    const job_count n = count_jobs(p->result);
    if (strcmp(app_text_of(p->result, "state"), "complete") == 0 && !n.failed)
        return;
    app_buffer_html(
        &p->html,
        "<div class=\"notice bad\" role=\"status\" id=\"partial\">\n<h2><span "
        "aria-hidden=\"true\">◐</span>This run is partial</h2>\n<p>%zu of %zu jobs are done",
        n.done, n.jobs);
    if (n.stopped)
        app_buffer_html(&p->html, ", %zu %s stopped early", n.stopped,
                        n.stopped == 1 ? "was" : "were");
    if (n.failed)
        app_buffer_html(&p->html, ", %zu failed", n.failed);
    if (n.pending)
        app_buffer_html(&p->html, ", %zu %s not begun", n.pending, n.pending == 1 ? "was" : "were");
    app_buffer_put(&p->html, ". Figures are of what there is. With <code>--resume</code> the run "
                             "goes on where it stopped.</p>\n");
    size_t i, listed = 0;
    json_t *job;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        if (strcmp(app_text_of(job, "state"), "failed") != 0)
            continue;
        app_buffer_put(&p->html, listed++ == 0 ? "<ul>\n<li>" : "<li>");
        put_job_name(p, job);
        app_buffer_html(&p->html, " failed: %s</li>\n", app_text_of(job, "error"));
        if (listed == 20)
            break;
    }
    app_buffer_put(&p->html, listed ? "</ul>\n</div>\n" : "</div>\n");
}

/* ---- What was run --------------------------------------------------------------------------- */

static bool has_training(const json_t *result)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        if (json_is_object(json_object_get(job, "training")))
            return true;
    }
    return false;
}

static void put_sentence(page *p)
{
    const json_t *experiment = json_object_get(p->result, "experiment");
    json_t *settings = app_result_settings(p->result);
    const size_t cases = json_array_size(json_object_get(experiment, "cases"));
    const size_t rows = json_array_size(json_object_get(experiment, "rows"));
    const double replications = number_of(settings, "replications");
    char time[PAGE_TIME];
    app_buffer *b = &p->html;
    app_buffer_html(b, "<p class=\"lead\">%zu %s and %zu %s", cases, cases == 1 ? "case" : "cases",
                    rows, rows == 1 ? "row" : "rows");
    if (replications > 1)
        app_buffer_print(b, ", %.0f replications of each", replications);
    if (has_training(p->result) && number_of(settings, "steps") > 0) {
        app_buffer_print(b, "; proposals were trained for %.0f gradient steps",
                         number_of(settings, "steps"));
        if (number_of(settings, "starts") > 0 && number_of(settings, "proposals") > 0)
            app_buffer_print(
                b, " with %.0f proposals from %s%.0f point%s", number_of(settings, "proposals"),
                number_of(settings, "starts") > 1 ? "each of " : "", number_of(settings, "starts"),
                number_of(settings, "starts") > 1 ? "s" : "");
        if (number_of(settings, "restarts") > 1)
            app_buffer_print(b, ", the best of %.0f tries,", number_of(settings, "restarts"));
    }
    if (number_of(settings, "evaluations") > 0)
        app_buffer_print(b, " and judged by %.0f proposals from independent points",
                         number_of(settings, "evaluations"));
    else if (number_of(settings, "chains") > 0 && number_of(settings, "draws") > 0)
        app_buffer_print(b, " and judged by %.0f chains of %.0f draws",
                         number_of(settings, "chains"), number_of(settings, "draws"));
    app_buffer_put(b, ".");
    if (app_page_time(number_of(p->result, "seconds"), time)[0])
        app_buffer_print(b, " It took %s on %.0f threads.", time, number_of(p->result, "threads"));
    app_buffer_put(b, "</p>\n");
    json_decref(settings);
}

/* ---- Verdicts -------------------------------------------------------------------------------- */

static void put_verdicts(page *p)
{
    static const char *const meanings[] = { "", "within 2 sigma", "within 3 sigma",
                                            "beyond 3 sigma" };
    const app_verdict_count count = app_verdicts(p->result);
    app_buffer *b = &p->html;
    if (!count.judged)
        return;
    app_buffer_put(b, "<div class=\"verdict\" id=\"verdict\">\n<strong>");
    app_verdicts_sentence(b, &count);
    app_buffer_put(b, "</strong>\n<div class=\"bar\" aria-hidden=\"true\">");
    for (app_verdict v = APP_VERDICT_AGREES; v <= APP_VERDICT_DIFFERS; v++)
        if (count.of[v])
            app_buffer_html(b, "<span class=\"%s\" style=\"flex:%zu\"></span>", app_verdict_name(v),
                            count.of[v]);
    app_buffer_put(b, "</div>\n<ul class=\"legend\">\n");
    for (app_verdict v = APP_VERDICT_AGREES; v <= APP_VERDICT_DIFFERS; v++)
        app_buffer_html(b, "<li><b class=\"%s\">%s %zu</b>%s, %s</li>\n", app_verdict_name(v),
                        app_verdict_mark(v), count.of[v],
                        v == APP_VERDICT_AGREES  ? "agree"
                        : v == APP_VERDICT_CLOSE ? "close"
                                                 : "differ",
                        meanings[v]);
    app_buffer_put(b, "</ul>\n</div>\n");
}

static void put_contents(page *p)
{
    app_buffer_put(&p->html, "<nav aria-label=\"Sections\">\n");
    for (size_t i = 0; i < p->sections; i++)
        app_buffer_html(&p->html, "<a href=\"#%s\">%s</a>\n", p->section[i].id,
                        p->section[i].title);
    app_buffer_put(&p->html, "</nav>\n");
}

void app_page_head(page *p)
{
    const json_t *experiment = json_object_get(p->result, "experiment");
    const char *title = app_text_of(experiment, "title"), *name = app_text_of(experiment, "name");
    app_buffer *b = &p->html;
    app_buffer_html(b, "<header>\n<p class=\"kicker\">hastings run %s", name);
    if (app_text_of(experiment, "paper")[0])
        app_buffer_html(b, " · %s", app_text_of(experiment, "paper"));
    app_buffer_html(b, "</p>\n<h1>%s</h1>\n", title[0] ? title : name);
    put_partial(p);
    if (app_text_of(experiment, "about")[0])
        app_buffer_html(b, "<p>%s</p>\n", app_text_of(experiment, "about"));
    put_sentence(p);
    if (is_true(p->result, "quick"))
        app_buffer_put(b, "<p class=\"soft\">This is the quick version, which is rougher than the "
                          "paper's settings: some figures may differ for that alone.</p>\n");
    put_verdicts(p);
    put_contents(p);
    app_buffer_put(b, "</header>\n");
}

/* ---- Warnings -------------------------------------------------------------------------------- */

enum { MOST_OPEN = 6 }; /* of those that are seen at once */

static const json_t *find_warning(const json_t *job, const char *name)
{
    size_t i;
    json_t *warning;
    json_array_foreach(json_object_get(job, "warnings"), i, warning)
    {
        if (strcmp(app_text_of(warning, "name"), name) == 0)
            return warning;
    }
    return NULL;
}

static bool same_cell(const json_t *a, const json_t *b)
{
    return strcmp(app_text_of(a, "case"), app_text_of(b, "case")) == 0 &&
           strcmp(app_text_of(a, "row"), app_text_of(b, "row")) == 0;
}

/* The warnings of one name, one line for each case and row, with the sentence of the first. The first
 * `open` lines are written to be seen, the others are folded. Returns how many there are; with `open` 0
 * nothing is written. */
static size_t put_warnings_named(page *p, const char *name, size_t open)
{
    const json_t *jobs = json_object_get(p->result, "jobs");
    size_t lines = 0, i, j;
    json_t *job, *other;
    json_array_foreach(jobs, i, job)
    {
        const json_t *warning = find_warning(job, name);
        size_t with = 0, of = 0;
        bool first = warning != NULL;
        json_array_foreach(jobs, j, other)
        {
            if (!first || !same_cell(job, other))
                continue;
            of++;
            with += find_warning(other, name) != NULL;
            first = first && (j >= i || !find_warning(other, name));
        }
        if (!first)
            continue;
        lines++;
        if (open == 0)
            continue;
        if (lines == open + 1)
            app_buffer_put(&p->html, "</ul>\n<details>\n<summary>More</summary>\n<ul>\n");
        app_buffer_html(&p->html, "<li><b>%s, %s</b>", app_text_of(job, "row"),
                        app_text_of(job, "case"));
        if (of > 1)
            app_buffer_html(&p->html, " (%zu of %zu replications)", with, of);
        app_buffer_html(&p->html, ": %s</li>\n", app_text_of(warning, "text"));
    }
    if (open && lines > open)
        app_buffer_put(&p->html, "</ul>\n</details>\n<ul>\n");
    return lines;
}

/* All other warnings, in the order in which their names appear. */
static void put_other_warnings(page *p)
{
    enum { MOST_NAMES = 32 };
    const char *names[MOST_NAMES];
    size_t count = 0, lines = 0, i, j;
    json_t *job, *warning;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        json_array_foreach(json_object_get(job, "warnings"), j, warning)
        {
            const char *name = app_text_of(warning, "name");
            size_t k = 0;
            while (k < count && strcmp(names[k], name) != 0)
                k++;
            if (k == count && count < MOST_NAMES && strcmp(name, "nonergodic") != 0)
                names[count++] = name;
        }
    }
    for (i = 0; i < count; i++)
        lines += put_warnings_named(p, names[i], 0);
    if (!lines)
        return;
    app_buffer_html(&p->html,
                    "<details id=\"other-warnings\">\n<summary>%zu other %s of the "
                    "diagnostics</summary>\n<ul>\n",
                    lines, lines == 1 ? "warning" : "warnings");
    for (i = 0; i < count; i++)
        put_warnings_named(p, names[i], SIZE_MAX - 1);
    app_buffer_put(&p->html, "</ul>\n</details>\n");
}

void app_page_warnings(page *p)
{
    const size_t lines = put_warnings_named(p, "nonergodic", 0);
    if (lines) {
        app_buffer_html(
            &p->html,
            "<aside class=\"notice bad\" id=\"nonergodic\" aria-label=\"Warning\">\n"
            "<h2><span aria-hidden=\"true\">⚠</span>%zu %s non-ergodic</h2>\n"
            "<p>Acceptance and jumps of these are no sign of good sampling.</p>\n<ul>\n",
            lines, lines == 1 ? "sampler looks" : "samplers look");
        put_warnings_named(p, "nonergodic", MOST_OPEN);
        app_buffer_put(&p->html, "</ul>\n</aside>\n");
    }
    put_other_warnings(p);
}
