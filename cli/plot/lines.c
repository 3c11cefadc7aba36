/* Lines: training curves, traces, autocorrelations. */
#include "plot_internal.h"

#include <math.h>
#include <stdint.h>

#include <hastings/tensor/message.h>

enum { VERTICES = 1400, DOTS = 4000, KEYS = 32 };

typedef struct {
    const plot_lines *lines;
    plot_axis x, y;
    plot_box box;
} chart;

static double x_of(const plot_lines *lines, const app_series *s, size_t i)
{
    return s->x ? s->x[i] : lines->first + (double)i;
}

static double y_of(const app_series *s, size_t i)
{
    return s->y[i * (s->stride ? s->stride : 1)];
}

/* The place of a point, rounded to an eighth of a pixel, which keeps the text of paths short. */
static double eighth(double x)
{
    return floor(8 * x + 0.5) / 8;
}

static bool place(const chart *c, const app_series *s, size_t i, double *x, double *y)
{
    const double vx = x_of(c->lines, s, i), vy = y_of(s, i);
    if (!app_plot_shown(vx, c->x.log) || !app_plot_shown(vy, c->y.log))
        return false;
    *x = eighth(app_plot_axis_at(&c->x, vx));
    *y = eighth(app_plot_axis_at(&c->y, vy));
    return true;
}

/* Ranges of the visible points. A point is hidden if either of its numbers cannot be shown. */
static void find_ranges(const plot_lines *lines, plot_range *x, plot_range *y)
{
    const app_lines_figure *f = &lines->figure;
    for (size_t k = 0; k < f->series_count; k++)
        for (size_t i = 0; i < f->series[k].n; i++) {
            const double vx = x_of(lines, &f->series[k], i), vy = y_of(&f->series[k], i);
            if (app_plot_shown(vx, f->x_log) && app_plot_shown(vy, f->y_log)) {
                app_plot_range_add(x, vx);
                app_plot_range_add(y, vy);
            } else {
                y->hidden++;
            }
        }
    if (y->any && f->reference && app_plot_shown(*f->reference, f->y_log))
        app_plot_range_add(y, *f->reference);
    if (y->any && lines->band > 0) {
        app_plot_range_add(y, lines->band);
        app_plot_range_add(y, -lines->band);
    }
}

static size_t make_keys(const plot_lines *lines, plot_key keys[KEYS])
{
    const app_lines_figure *f = &lines->figure;
    size_t count = 0;
    for (size_t k = 0; k < f->series_count && k < lines->legend && count < KEYS - 2; k++)
        keys[count++] = (plot_key){ .label = f->series[k].label,
                                    .colour = app_plot_palette(k),
                                    .shape = f->series[k].dots ? PLOT_KEY_DOT : PLOT_KEY_LINE };
    if (f->reference)
        keys[count++] = (plot_key){ f->reference_label, app_plot_muted, PLOT_KEY_DASHED };
    if (lines->band > 0)
        keys[count++] = (plot_key){ "95% of independent draws", app_plot_ink, PLOT_KEY_BAND };
    return count;
}

static double suitable_height(cairo_t *cr, const void *data, double width)
{
    const plot_lines *lines = data;
    plot_key keys[KEYS];
    const double head = app_plot_head(cr, width, lines->figure.title, keys, make_keys(lines, keys));
    plot_range x = { .log = lines->figure.x_log }, y = { .log = lines->figure.y_log };
    find_ranges(lines, &x, &y);
    return head + fmin(fmax(0.36 * width, 190), 420) + PLOT_FOOT + app_plot_note_height(&y);
}

/* A line breaks where values are missing; with more points than vertices it goes through the smallest
 * and the largest of each stretch, in their order. */
static void draw_line(cairo_t *cr, const chart *c, const app_series *s)
{
    const size_t stretches = s->n <= VERTICES ? s->n : VERTICES / 2;
    const size_t length = stretches ? s->n / stretches : 0,
                 longer = stretches ? s->n % stretches : 0;
    bool drawing = false;
    size_t i = 0;
    for (size_t k = 0; k < stretches; k++) {
        size_t low = SIZE_MAX, high = SIZE_MAX;
        double x, y;
        for (const size_t end = i + length + (k < longer); i < end; i++) {
            if (!place(c, s, i, &x, &y))
                continue;
            low = low == SIZE_MAX || y_of(s, i) < y_of(s, low) ? i : low;
            high = high == SIZE_MAX || y_of(s, i) > y_of(s, high) ? i : high;
        }
        if (low == SIZE_MAX) {
            drawing = false;
            continue;
        }
        const size_t order[] = { low < high ? low : high, low < high ? high : low };
        for (int v = 0; v < (low == high ? 1 : 2); v++) {
            place(c, s, order[v], &x, &y);
            if (!drawing)
                cairo_move_to(cr, x, y);
            cairo_line_to(cr, x, y); /* also to itself: a lone point is a dot */
            drawing = true;
        }
    }
    cairo_stroke(cr);
}

static void draw_dots(cairo_t *cr, const chart *c, const app_series *s)
{
    const size_t every = s->n / DOTS + 1;
    for (size_t i = 0; i < s->n; i += every) {
        double x, y;
        if (!place(c, s, i, &x, &y))
            continue;
        cairo_new_sub_path(cr);
        cairo_arc(cr, x, y, 2.5, 0, 2 * acos(-1));
    }
    cairo_fill(cr);
}

static void draw_series(cairo_t *cr, const chart *c)
{
    const plot_lines *lines = c->lines;
    const size_t count = lines->figure.series_count;
    const double width = lines->line_width, dashes[] = { 5, 3 };
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_width(cr, width);
    for (size_t k = 0; k < count; k++) {
        const app_series *s = &lines->figure.series[k];
        app_plot_set(cr, app_plot_palette(k), count > 1 ? 0.85 : 1);
        cairo_set_dash(cr, dashes, k / PLOT_PALETTE % 2 && count <= KEYS ? 2 : 0, 0);
        if (s->dots)
            draw_dots(cr, c, s);
        else
            draw_line(cr, c, s);
    }
    cairo_set_dash(cr, NULL, 0, 0);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
}

static void draw_reference(cairo_t *cr, const chart *c, double value)
{
    const double dashes[] = { 4, 3 }, y = floor(app_plot_axis_at(&c->y, value)) + 0.5;
    app_plot_set(cr, app_plot_muted, 1);
    cairo_set_line_width(cr, 1.25);
    cairo_set_dash(cr, dashes, 2, 0);
    cairo_move_to(cr, c->box.left, y);
    cairo_line_to(cr, c->box.right, y);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
}

static void draw_band(cairo_t *cr, const chart *c, double half)
{
    const double top = app_plot_axis_at(&c->y, half), bottom = app_plot_axis_at(&c->y, -half);
    app_plot_set(cr, app_plot_ink, 0.08);
    cairo_rectangle(cr, c->box.left, top, c->box.right - c->box.left, bottom - top);
    cairo_fill(cr);
}

static void draw(cairo_t *cr, const void *data, double width, double height)
{
    const plot_lines *lines = data;
    const app_lines_figure *f = &lines->figure;
    chart c = { .lines = lines };
    plot_range x = { .log = f->x_log }, y = { .log = f->y_log };
    find_ranges(lines, &x, &y);
    plot_key keys[KEYS];
    c.box.top = app_plot_head(cr, width, f->title, keys, make_keys(lines, keys));
    c.box.bottom = height - PLOT_FOOT - app_plot_note_height(&y);
    if (!x.log && x.lo > 0 && x.lo < 0.1 * x.hi)
        x.lo = 0; /* steps and draws count from there */
    app_plot_axis_init(&c.x, &x, f->x_range, (plot_pad){ 0, 0 }, width / 85);
    app_plot_axis_init(&c.y, &y, f->y_range, (plot_pad){ 0.05, 0.05 },
                       (c.box.bottom - c.box.top) / 45);
    c.box.left = app_plot_frame_left(cr, &c.y, f->y_label);
    c.box.right = width - PLOT_MARGIN - 6;
    c.x.from = c.box.left;
    c.x.to = c.box.right;
    c.y.from = c.box.bottom;
    c.y.to = c.box.top;
    if (c.box.top >= c.box.bottom || c.box.left >= c.box.right)
        return; /* a legend, say, that fills all of it */
    app_plot_frame_x(cr, &c.box, &c.x, f->x_label);
    app_plot_frame_y(cr, &c.box, &c.y, f->y_label);
    cairo_save(cr);
    cairo_rectangle(cr, c.box.left - 2, c.box.top - 2, c.box.right - c.box.left + 4,
                    c.box.bottom - c.box.top + 4);
    cairo_clip(cr);
    if (lines->band > 0)
        draw_band(cr, &c, lines->band);
    if (f->reference && app_plot_shown(*f->reference, f->y_log))
        draw_reference(cr, &c, *f->reference);
    draw_series(cr, &c);
    cairo_restore(cr);
    if (!y.any)
        app_plot_no_data(cr, &c.box);
    y.log = f->x_log || f->y_log;
    app_plot_note(cr, width, height, &y);
}

hs_status app_plot_check_series(const app_series *series, size_t count, const char *function,
                                hs_message *message)
{
    if (count > 0 && !series)
        return hs_message_fail(message, HS_EINVAL, "%s: %zu series, but no array of them", function,
                               count);
    for (size_t k = 0; k < count; k++)
        if (series[k].n > 0 && !series[k].y)
            return hs_message_fail(message, HS_EINVAL, "%s: series %zu has %zu points, but no y",
                                   function, k + 1, series[k].n);
    return HS_OK;
}

/* Checks that the given ends of an axis can be shown and ascend. */
static hs_status check_ends(const double ends[2], bool log, const char *axis, hs_message *message)
{
    if (ends[0] == ends[1])
        return HS_OK;
    if (!(ends[0] < ends[1]) || !app_plot_shown(ends[0], log) || !app_plot_shown(ends[1], log))
        return hs_message_fail(message, HS_EINVAL,
                               "app_figure_lines: %s_range is %g to %g; expected two ascending%s "
                               "numbers",
                               axis, ends[0], ends[1], log ? " positive" : "");
    return HS_OK;
}

hs_status app_plot_lines_render(const plot_lines *lines, const app_figure_out *out,
                                hs_message *message)
{
    const app_lines_figure *f = &lines->figure;
    const plot_job job = { f->title, f->width, f->height, lines, suitable_height, draw };
    return app_plot_render(&job, out, message);
}

hs_status app_figure_lines(const app_lines_figure *figure, const app_figure_out *out,
                           hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_lines: no figure");
    hs_status status =
        app_plot_check_series(figure->series, figure->series_count, "app_figure_lines", message);
    if (status == HS_OK)
        status = check_ends(figure->x_range, figure->x_log, "x", message);
    if (status == HS_OK)
        status = check_ends(figure->y_range, figure->y_log, "y", message);
    if (status != HS_OK)
        return status;
    const plot_lines lines = { .figure = *figure, .line_width = 1.6, .first = 1, .legend = KEYS };
    return app_plot_lines_render(&lines, out, message);
}
