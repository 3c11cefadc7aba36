/* Curves of training: acceptance of all rows of a case together, and the loss of each, whose scales
 * cannot be compared. Of the first replication. */
#include "page_internal.h"

#include <string.h>

enum { MOST_ROWS = 24, MOST_LOSSES = 24 };

/* A curve of a job, "alpha" or "loss"; n is 0 if there is none. */
static app_series read_curve(page *p, const json_t *job, const char *key)
{
    const json_t *curve = json_object_get(json_object_get(job, "training"), "curve");
    size_t steps, values;
    const double *step = app_page_numbers(p, json_object_get(curve, "step"), &steps);
    const double *value = app_page_numbers(p, json_object_get(curve, key), &values);
    const size_t n = steps < values ? steps : values;
    return (app_series){ .label = app_text_of(job, "row"), .x = step, .y = value, .n = n };
}

static const json_t *names_of(const page *p, const char *key)
{
    return json_object_get(json_object_get(p->result, "experiment"), key);
}

/* Acceptance while training, of all rows of a case. */
static bool put_acceptance(page *p, const char *name, size_t number)
{
    app_series series[MOST_ROWS];
    size_t count = 0, i;
    json_t *row;
    json_array_foreach(names_of(p, "rows"), i, row)
    {
        if (count == MOST_ROWS)
            break;
        const json_t *job = app_page_job(p, name, app_text_of(row, "name"));
        if (!job)
            continue;
        series[count] = read_curve(p, job, "alpha");
        count += series[count].n > 0;
    }
    if (!count)
        return false;
    const app_lines_figure figure = { .title = name,
                                      .width = 500,
                                      .x_label = "gradient step",
                                      .y_label = "acceptance",
                                      .y_range = { 0, 1 },
                                      .series = series,
                                      .series_count = count };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_page_text(p, "training-%zu", number + 1), "acceptance");
    const hs_status status = app_figure_lines(&figure, &pic.out, &message);
    app_picture_end(
        &pic, p, status, &message,
        app_page_text(p,
                      "Lines: mean acceptance probability against gradient steps for %zu "
                      "rows of %s.",
                      count, name),
        app_page_text(p, "Acceptance while training, %s.", name));
    return true;
}

static bool put_loss(page *p, const json_t *job)
{
    app_series series = read_curve(p, job, "loss");
    if (!series.n)
        return false;
    series.label = NULL;
    const char *title =
        app_page_text(p, "%s, %s", app_text_of(job, "row"), app_text_of(job, "case"));
    const app_lines_figure figure = { .title = title,
                                      .width = 500,
                                      .height = 260,
                                      .x_label = "gradient step",
                                      .y_label = "loss",
                                      .y_log = app_page_wants_log(series.y, series.n),
                                      .series = &series,
                                      .series_count = 1 };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_text_of(job, "id"), "loss");
    const hs_status status = app_figure_lines(&figure, &pic.out, &message);
    app_picture_end(&pic, p, status, &message,
                    app_page_text(p, "Line: loss against gradient steps, %s, from %.3g to %.3g.",
                                  title, series.y[0], series.y[series.n - 1]),
                    app_page_text(p, "Loss: %s.", title));
    return true;
}

static bool has_curve(const json_t *job)
{
    const json_t *curve = json_object_get(json_object_get(job, "training"), "curve");
    return is_shown(job) && json_array_size(json_object_get(curve, "step")) > 0;
}

void app_page_curves(page *p)
{
    size_t curves = 0, i, shown = 0;
    json_t *job, *item;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        curves += has_curve(job);
    }
    if (!curves)
        return;
    app_page_section(p, "training", "Training");
    app_buffer_put(&p->html, "<div class=\"grid\">\n");
    json_array_foreach(names_of(p, "cases"), i, item)
    {
        put_acceptance(p, app_text_of(item, "name"), i);
    }
    app_buffer_put(&p->html, "</div>\n");
    app_buffer_put(&p->html, "<details>\n<summary>Losses <span class=\"soft\">(each objective has "
                             "its own scale)</span></summary>\n<div class=\"grid\">\n");
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        if (shown < MOST_LOSSES && has_curve(job))
            shown += put_loss(p, job);
    }
    app_buffer_put(&p->html, "</div>\n");
    if (curves > shown)
        app_buffer_html(&p->html,
                        "<p class=\"soft\">These are %zu of %zu; result.json has the "
                        "numbers of all.</p>\n",
                        shown, curves);
    app_buffer_put(&p->html, "</details>\n");
    app_page_section_end(p);
}
