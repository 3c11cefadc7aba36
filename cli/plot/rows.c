/* Figures of named rows: effective sample sizes, and bars. */
#include "plot_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/tensor/message.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

enum { MOST_ROWS = 200, MOST_SERIES = 8, MOST_NAMED = 60, ROW = 22 };

/* Both kinds of figures: rows of one or more values. */
typedef struct {
    const char *title, *value_label;
    const char *const *names; /* NULL: 1, 2, 3, ... */
    size_t rows;
    const app_bars_series *series;
    size_t series_count;
    bool log, bars,
        joined;       /* bars rather than dots; dots on one line rather than beneath each other */
    double reference; /* 0: none */
    const char *reference_label;
    double row; /* height of a row that suits */
} row_chart;

static void name_of(const row_chart *chart, size_t row, char name[24], const char **text)
{
    snprintf(name, 24, "%zu", row + 1);
    *text = chart->names && chart->names[row] ? chart->names[row] : name;
}

static size_t make_keys(const row_chart *chart, plot_key keys[MOST_SERIES + 1])
{
    for (size_t k = 0; k < chart->series_count; k++)
        keys[k] = (plot_key){ chart->series[k].label, app_plot_palette(k),
                              chart->bars ? PLOT_KEY_BAR : PLOT_KEY_DOT };
    keys[chart->series_count] =
        (plot_key){ chart->reference_label, app_plot_muted, PLOT_KEY_DASHED };
    return chart->series_count + (chart->reference > 0);
}

/* NaN means that there is no value; other values that cannot be shown are counted. */
static void find_range(const row_chart *chart, plot_range *range)
{
    for (size_t k = 0; k < chart->series_count; k++)
        for (size_t i = 0; i < chart->rows; i++) {
            const app_bars_series *s = &chart->series[k];
            if (isnan(s->values[i]))
                continue;
            app_plot_range_add(range, s->values[i]);
            if (!s->errors || !app_plot_shown(s->values[i], range->log) || !(s->errors[i] > 0))
                continue;
            const double ends[] = { s->values[i] - s->errors[i], s->values[i] + s->errors[i] };
            for (int e = 0; e < 2; e++)
                if (app_plot_shown(ends[e], range->log))
                    app_plot_range_add(range, ends[e]);
        }
    if (!range->any)
        return;
    if (chart->reference > 0)
        app_plot_range_add(range, chart->reference);
    if (!chart->log && (chart->bars || range->lo > 0))
        app_plot_range_add(range, 0);
}

static double suitable_height(cairo_t *cr, const void *data, double width)
{
    const row_chart *chart = data;
    plot_key keys[MOST_SERIES + 1];
    const double head = app_plot_head(cr, width, chart->title, keys, make_keys(chart, keys));
    plot_range range = { .log = chart->log };
    find_range(chart, &range);
    return head + fmax(chart->row * (double)chart->rows, 60) + PLOT_FOOT +
           app_plot_note_height(&range);
}

static void draw_error(cairo_t *cr, const plot_axis *axis, double value, double error, double y)
{
    const double low = value - error, lowest = axis->lo; /* on a log axis the end may be below 0 */
    const double x0 = app_plot_axis_at(axis, app_plot_shown(low, axis->log) ? low : lowest);
    const double x1 = app_plot_axis_at(axis, fmin(value + error, 1e300));
    cairo_move_to(cr, x0, y);
    cairo_line_to(cr, x1, y);
    cairo_move_to(cr, x1, y - 3);
    cairo_line_to(cr, x1, y + 3);
    if (app_plot_shown(low, axis->log)) {
        cairo_move_to(cr, x0, y - 3);
        cairo_line_to(cr, x0, y + 3);
    }
    cairo_stroke(cr);
}

static void draw_values(cairo_t *cr, const row_chart *chart, const plot_axis *axis, size_t row,
                        double top, double height)
{
    const double lane = chart->joined ? 0 : height / ((double)chart->series_count + 0.6);
    double ends[2] = { HUGE_VAL, -HUGE_VAL };
    for (size_t k = 0; k < chart->series_count && chart->joined; k++) {
        const double value = chart->series[k].values[row];
        if (!app_plot_shown(value, chart->log))
            continue;
        ends[0] = fmin(ends[0], app_plot_axis_at(axis, value));
        ends[1] = fmax(ends[1], app_plot_axis_at(axis, value));
    }
    if (ends[0] < ends[1]) {
        cairo_set_line_width(cr, 2);
        app_plot_set(cr, app_plot_line, 0.7);
        cairo_move_to(cr, ends[0], top + height / 2);
        cairo_line_to(cr, ends[1], top + height / 2);
        cairo_stroke(cr);
    }
    for (size_t k = 0; k < chart->series_count; k++) {
        const app_bars_series *s = &chart->series[k];
        const double value = s->values[row];
        if (!app_plot_shown(value, chart->log))
            continue;
        const double x = app_plot_axis_at(axis, value);
        const double y = chart->joined ? top + height / 2 : top + lane * ((double)k + 0.8);
        const double error = s->errors && s->errors[row] > 0 ? s->errors[row] : 0;
        app_plot_set(cr, app_plot_palette(k), 1);
        if (chart->bars) {
            const double zero = app_plot_axis_at(axis, 0), thick = fmin(0.86 * lane, 14);
            cairo_rectangle(cr, fmin(x, zero), y - thick / 2, fabs(x - zero), thick);
            cairo_fill(cr);
            app_plot_set(cr, app_plot_ink, 0.8);
        }
        cairo_set_line_width(cr, chart->bars ? 1.1 : 1.5);
        if (error > 0)
            draw_error(cr, axis, value, error, y);
        if (!chart->bars) {
            cairo_arc(cr, x, y, fmin(4, 0.35 * height), 0, 2 * acos(-1));
            cairo_fill(cr);
        }
    }
}

/* The width of the widest name. */
static double names_width(cairo_t *cr, const row_chart *chart, double width)
{
    double widest = 0;
    app_plot_font_select(cr, PLOT_TICK);
    for (size_t i = 0; i < chart->rows; i++) {
        char name[24], fitted[PLOT_TEXT];
        const char *text;
        name_of(chart, i, name, &text);
        app_plot_text_fit(cr, text, 0.36 * width, fitted);
        widest = fmax(widest, app_plot_text_width(cr, fitted));
    }
    return widest;
}

/* Names are left out where they would overlap. */
static void draw_rows(cairo_t *cr, const row_chart *chart, const plot_axis *axis,
                      const plot_box *box)
{
    const double height = (box->bottom - box->top) / (double)chart->rows;
    const size_t every = (size_t)ceil(14 / height);
    for (size_t i = 0; i < chart->rows; i++) {
        const double top = box->top + height * (double)i;
        char name[24], fitted[PLOT_TEXT];
        const char *text;
        name_of(chart, i, name, &text);
        app_plot_font_select(cr, PLOT_TICK);
        app_plot_set(cr, app_plot_ink, 1);
        app_plot_text_fit(cr, text, box->left - PLOT_MARGIN - 8, fitted);
        if (i % every == 0)
            app_plot_text_show(cr, box->left - 9, top + height / 2 + 4.2, 1, fitted);
        draw_values(cr, chart, axis, i, top, height);
    }
}

static void draw_reference(cairo_t *cr, const plot_box *box, double x)
{
    const double dashes[] = { 4, 3 };
    app_plot_set(cr, app_plot_muted, 1);
    cairo_set_line_width(cr, 1.25);
    cairo_set_dash(cr, dashes, 2, 0);
    cairo_move_to(cr, floor(x) + 0.5, box->top);
    cairo_line_to(cr, floor(x) + 0.5, box->bottom);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
}

static void draw(cairo_t *cr, const void *data, double width, double height)
{
    const row_chart *chart = data;
    plot_range range = { .log = chart->log };
    find_range(chart, &range);
    plot_key keys[MOST_SERIES + 1];
    plot_box box = { .right = width - PLOT_MARGIN - 10,
                     .bottom = height - PLOT_FOOT - app_plot_note_height(&range) };
    box.top = app_plot_head(cr, width, chart->title, keys, make_keys(chart, keys));
    box.left = PLOT_MARGIN + names_width(cr, chart, width) + 10;
    if (box.top >= box.bottom || box.left >= box.right)
        return;
    plot_axis axis;
    /* Bars stand on the axis. */
    const plot_pad pad = { !chart->log && range.lo <= 0 && -range.lo < 0.04 * range.hi ? 0 : 0.04,
                           !chart->log && range.hi == 0 ? 0 : 0.04 };
    app_plot_axis_init(&axis, &range, NULL, pad, (box.right - box.left) / 75);
    axis.from = box.left;
    axis.to = box.right;
    app_plot_frame_x(cr, &box, &axis, chart->value_label);
    cairo_set_line_width(cr, 1);
    app_plot_set(cr, app_plot_line, 1);
    const double base =
        !chart->log && axis.lo < 0 ? fmin(app_plot_axis_at(&axis, 0), box.right) : box.left;
    cairo_move_to(cr, floor(base) + 0.5, box.top);
    cairo_line_to(cr, floor(base) + 0.5, box.bottom);
    cairo_stroke(cr);
    if (chart->reference > 0 && range.any)
        draw_reference(cr, &box, app_plot_axis_at(&axis, chart->reference));
    if (chart->rows > 0)
        draw_rows(cr, chart, &axis, &box);
    if (!range.any)
        app_plot_no_data(cr, &box);
    app_plot_note(cr, width, height, &range);
}

static hs_status draw_sorted(const app_ess_figure *f, const app_figure_out *out,
                             hs_message *message)
{
    const size_t arrays = f->second ? 2 : 1;
    double *sorted = hs_alloc_zero(f->n, arrays * sizeof *sorted);
    if (!sorted)
        return hs_message_fail(message, HS_ENOMEM, "Out of memory for a figure of %zu coordinates",
                               f->n);
    for (size_t k = 0; k < arrays; k++) {
        memcpy(sorted + k * f->n, k ? f->second : f->first, f->n * sizeof *sorted);
        hs_sort(sorted + k * f->n, f->n);
    }
    const app_series series[] = { { .label = "ESS of x", .y = sorted, .n = f->n },
                                  { .label = "ESS of x\u00B2", .y = sorted + f->n, .n = f->n } };
    const plot_lines lines = { .figure = { .title = f->title,
                                           .width = f->width,
                                           .height = f->height,
                                           .x_label = "coordinates, by their ESS",
                                           .y_label = "effective sample size",
                                           .y_log = f->log,
                                           .series = series,
                                           .series_count = arrays,
                                           .reference = f->draws > 0 ? &f->draws : NULL,
                                           .reference_label = "draws" },
                               .line_width = 1.8,
                               .first = 1,
                               .legend = 2 };
    const hs_status status = app_plot_lines_render(&lines, out, message);
    hs_free(sorted);
    return status;
}

hs_status app_figure_ess(const app_ess_figure *figure, const app_figure_out *out,
                         hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_ess: no figure");
    if (figure->n > 0 && !figure->first)
        return hs_message_fail(message, HS_EINVAL, "app_figure_ess: %zu coordinates, but no ESS",
                               figure->n);
    if (figure->draws != 0 && !(figure->draws > 0 && figure->draws <= 1e300))
        return hs_message_fail(
            message, HS_EINVAL,
            "app_figure_ess: %g draws; expected a positive number, or 0 for none", figure->draws);
    if (figure->n > MOST_NAMED)
        return draw_sorted(figure, out, message);
    const app_bars_series series[] = { { "ESS of x", figure->first, NULL },
                                       { "ESS of x\u00B2", figure->second, NULL } };
    const row_chart chart = { .title = figure->title,
                              .value_label = "effective sample size",
                              .names = figure->labels,
                              .rows = figure->n,
                              .series = series,
                              .series_count = figure->second ? 2 : 1,
                              .log = figure->log,
                              .joined = true,
                              .reference = figure->draws,
                              .reference_label = "draws",
                              .row = figure->n > 30 ? 15 : ROW };
    const plot_job job = { figure->title, figure->width,   figure->height,
                           &chart,        suitable_height, draw };
    return app_plot_render(&job, out, message);
}

hs_status app_figure_bars(const app_bars_figure *figure, const app_figure_out *out,
                          hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_bars: no figure");
    if (figure->rows_count > MOST_ROWS || figure->series_count > MOST_SERIES)
        return hs_message_fail(
            message, HS_EINVAL,
            "app_figure_bars: %zu rows of %zu series; expected up to %d of up to %d",
            figure->rows_count, figure->series_count, MOST_ROWS, MOST_SERIES);
    if (figure->series_count > 0 && !figure->series)
        return hs_message_fail(message, HS_EINVAL,
                               "app_figure_bars: %zu series, but no array of them",
                               figure->series_count);
    for (size_t k = 0; k < figure->series_count; k++)
        if (figure->rows_count > 0 && !figure->series[k].values)
            return hs_message_fail(message, HS_EINVAL, "app_figure_bars: series %zu has no values",
                                   k + 1);
    const row_chart chart = { .title = figure->title,
                              .value_label = figure->value_label,
                              .names = figure->rows,
                              .rows = figure->rows_count,
                              .series = figure->series,
                              .series_count = figure->series_count,
                              .log = figure->log,
                              .bars = !figure->log,
                              .row = 13 * (double)figure->series_count + 10 };
    const plot_job job = { figure->title, figure->width,   figure->height,
                           &chart,        suitable_height, draw };
    return app_plot_render(&job, out, message);
}
