/* Maps: small pictures of a plane side by side, with marks in red. */
#include "plot_internal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <hastings/tensor/message.h>

enum { MOST_PANELS = 100, MOST_VALUES = 4096, GAP = 12, WIDEST = 300, NARROWEST = 130, BAR = 84 };

/* Layout: panels in rows and columns. */
typedef struct {
    size_t columns, rows;
    double left, top;    /* of the first panel */
    double wide, high;   /* of a panel */
    double right, below; /* from one panel to the next */
    double title;        /* above each panel */
    bool bar;            /* a colour bar on the right */
    plot_range hidden;   /* values that are not finite */
    plot_axis x, y;
} map_layout;

static bool has_titles(const app_maps_figure *f)
{
    for (size_t i = 0; i < f->panels_count; i++)
        if (f->panels[i].title && *f->panels[i].title)
            return true;
    return false;
}

/* Takes as many columns as fit, or fewer if that leaves fewer places empty. */
static size_t choose_columns(const app_maps_figure *f, double room)
{
    const double narrowest = f->columns > 0 ? NARROWEST / 3.0 : NARROWEST;
    const size_t most = (size_t)fmax(1, floor((room + GAP) / (narrowest + GAP)));
    const size_t wanted = f->columns > 0 ? f->columns : f->panels_count;
    if (f->columns > 0 || wanted <= most)
        return wanted < 1 ? 1 : wanted < most ? wanted : most;
    size_t best = 1, least = SIZE_MAX;
    for (size_t c = most; c > most / 2; c--) {
        const size_t empty = (c - f->panels_count % c) % c;
        if (empty < least) {
            least = empty;
            best = c;
        }
    }
    return best;
}

/* With a height of 0, the panels are as high as suits their width. Returns the height of all. */
static double make_layout(cairo_t *cr, const app_maps_figure *f, double width, double height,
                          map_layout *m)
{
    const bool labelled_x = f->x_label && *f->x_label;
    *m = (map_layout){ .top = app_plot_head(cr, width, f->title, NULL, 0),
                       .title = has_titles(f) ? 20 : 0,
                       .bar = f->range[0] < f->range[1] };
    for (size_t k = 0; k < f->panels_count; k++)
        for (size_t i = 0; i < f->nx * f->ny; i++)
            m->hidden.hidden += isfinite(f->panels[k].values[i]) ? 0 : 1;
    const plot_range none = { .any = false };
    app_plot_axis_init(&m->x, &none, f->x, (plot_pad){ 0, 0 }, 4);
    app_plot_axis_init(&m->y, &none, f->y, (plot_pad){ 0, 0 }, 4);
    m->left = app_plot_frame_left(cr, &m->y, f->y_label);
    const double room = width - PLOT_MARGIN - m->left - (m->bar ? BAR : 0);
    m->columns = choose_columns(f, room);
    m->rows = f->panels_count ? (f->panels_count + m->columns - 1) / m->columns : 1;
    const double aspect = fmin(fmax((f->y[1] - f->y[0]) / (f->x[1] - f->x[0]), 0.4), 2.5);
    m->wide = fmin((room - GAP * (double)(m->columns - 1)) / (double)m->columns, WIDEST);
    const double foot = labelled_x ? PLOT_FOOT : PLOT_FOOT - 18;
    const double around =
        m->top + foot + app_plot_note_height(&m->hidden) + (m->title + GAP) * (double)m->rows - GAP;
    if (height > 0) {
        const double high = (height - around) / (double)m->rows;
        m->wide = fmin(m->wide, high / aspect);
    }
    m->wide = floor(m->wide);
    m->high = floor(aspect * m->wide);
    m->right = m->wide + GAP;
    m->below = m->high + m->title + GAP;
    return around + m->high * (double)m->rows;
}

static double suitable_height(cairo_t *cr, const void *data, double width)
{
    map_layout m;
    return make_layout(cr, data, width, 0, &m);
}

static uint32_t pixel_of(plot_colour c)
{
    return (uint32_t)lround(255 * c.r) << 16 | (uint32_t)lround(255 * c.g) << 8 |
           (uint32_t)lround(255 * c.b);
}

static double share_of(const app_maps_figure *f, double value, double lo, double hi)
{
    const double share = hi > lo ? fmin(fmax((value - lo) / (hi - lo), 0), 1) : 0;
    return f->root ? sqrt(share) : share;
}

/* One pixel for each point of the grid, the top row first. Values that are not finite are grey. */
static cairo_surface_t *make_image(const app_maps_figure *f, const app_map_panel *panel)
{
    double lo = f->range[0], hi = f->range[1];
    if (!(lo < hi)) {
        lo = hi = 0;
        for (size_t i = 0; i < f->nx * f->ny; i++)
            if (isfinite(panel->values[i]) && panel->values[i] > hi)
                hi = panel->values[i];
    }
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)f->nx, (int)f->ny);
    if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS)
        return image;
    cairo_surface_flush(image);
    unsigned char *pixels = cairo_image_surface_get_data(image);
    const size_t stride = (size_t)cairo_image_surface_get_stride(image);
    for (size_t j = 0; j < f->ny; j++) {
        uint32_t *row = (uint32_t *)(void *)(pixels + (f->ny - 1 - j) * stride);
        for (size_t i = 0; i < f->nx; i++) {
            const double value = panel->values[j * f->nx + i];
            row[i] =
                isfinite(value) ? pixel_of(app_plot_viridis(share_of(f, value, lo, hi))) : 0xD3D6DB;
        }
    }
    cairo_surface_mark_dirty(image);
    return image;
}

/* Stretches the image over the box, so that the middle of its outer pixels is on the edge. */
static void draw_image(cairo_t *cr, cairo_surface_t *image, const app_maps_figure *f,
                       const plot_box *box)
{
    const double across = f->nx > 1 ? (double)f->nx - 1 : 1,
                 down = f->ny > 1 ? (double)f->ny - 1 : 1;
    cairo_save(cr);
    cairo_rectangle(cr, box->left, box->top, box->right - box->left, box->bottom - box->top);
    cairo_clip(cr);
    cairo_translate(cr, box->left, box->top);
    cairo_scale(cr, (box->right - box->left) / across, (box->bottom - box->top) / down);
    cairo_translate(cr, f->nx > 1 ? -0.5 : 0, f->ny > 1 ? -0.5 : 0);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_extend(cairo_get_source(cr), CAIRO_EXTEND_PAD); /* no fading at the edges */
    cairo_paint(cr);
    cairo_restore(cr);
}

/* A line in red that shows on dark and on bright. */
static void stroke_red(cairo_t *cr, double width)
{
    app_plot_set(cr, app_plot_white, 0.7);
    cairo_set_line_width(cr, width + 1.4);
    cairo_stroke_preserve(cr);
    app_plot_set(cr, app_plot_red, 1);
    cairo_set_line_width(cr, width);
    cairo_stroke(cr);
}

static void draw_dot(cairo_t *cr, const map_layout *m, const double at[2], double radius)
{
    if (!app_plot_shown(at[0], false) || !app_plot_shown(at[1], false))
        return;
    cairo_arc(cr, app_plot_axis_at(&m->x, at[0]), app_plot_axis_at(&m->y, at[1]), radius, 0,
              2 * acos(-1));
    app_plot_set(cr, app_plot_white, 0.9);
    cairo_set_line_width(cr, 1.6);
    cairo_stroke_preserve(cr);
    app_plot_set(cr, app_plot_red, 1);
    cairo_fill(cr);
}

/* mean + s L (cos, sin), where L L' is the covariance, for s = 1 and 2. */
static void draw_normal(cairo_t *cr, const map_layout *m, const app_map_normal *normal)
{
    enum { CORNERS = 96 };
    const double a = sqrt(normal->covariance[0][0]), b = normal->covariance[1][0] / a;
    const double rest = normal->covariance[1][1] - b * b, c = sqrt(fmax(rest, 0));
    if (isfinite(a) && a > 0 && isfinite(b) && isfinite(c))
        for (int s = 1; s <= 2; s++) {
            for (int i = 0; i < CORNERS; i++) {
                const double angle = 2 * acos(-1) * i / CORNERS;
                const double u = s * cos(angle), v = s * sin(angle);
                cairo_line_to(cr, app_plot_axis_at(&m->x, normal->mean[0] + a * u),
                              app_plot_axis_at(&m->y, normal->mean[1] + b * u + c * v));
            }
            cairo_close_path(cr);
            stroke_red(cr, s == 1 ? 1.4 : 0.8);
        }
    draw_dot(cr, m, normal->mean, 2.2);
}

static void draw_marks(cairo_t *cr, const map_layout *m, const app_map_panel *panel,
                       const plot_box *box)
{
    cairo_save(cr);
    cairo_rectangle(cr, box->left, box->top, box->right - box->left, box->bottom - box->top);
    cairo_clip(cr);
    for (size_t i = 0; i < panel->normals_count; i++)
        draw_normal(cr, m, &panel->normals[i]);
    if (panel->start)
        draw_dot(cr, m, panel->start, 4);
    cairo_restore(cr);
}

/* Ticks outside the frame, and labels where no other panel is on that side. */
static void draw_scales(cairo_t *cr, const map_layout *m, const plot_box *box, bool left,
                        bool bottom)
{
    const double height = app_plot_font_select(cr, PLOT_TICK);
    cairo_set_line_width(cr, 1);
    for (int axis = 0; axis < 2; axis++) {
        const plot_axis *a = axis ? &m->y : &m->x;
        for (size_t i = 0; i < a->ticks_count; i++) {
            const double at = app_plot_axis_at(a, a->ticks[i].value), sharp = floor(at) + 0.5;
            app_plot_set(cr, app_plot_line, 1);
            cairo_move_to(cr, axis ? box->left : sharp, axis ? sharp : box->bottom);
            cairo_line_to(cr, axis ? box->left - 3 : sharp, axis ? sharp : box->bottom + 3);
            cairo_stroke(cr);
            app_plot_set(cr, app_plot_muted, 1);
            if (axis && left)
                app_plot_number_show(cr, box->left - 6, at + 4.2, 1, &a->ticks[i].label);
            else if (!axis && bottom)
                app_plot_number_show(cr, at, box->bottom + height + 2, 0.5, &a->ticks[i].label);
        }
    }
    app_plot_set(cr, app_plot_line, 1);
    cairo_rectangle(cr, box->left - 0.5, box->top - 0.5, box->right - box->left + 1,
                    box->bottom - box->top + 1);
    cairo_stroke(cr);
}

static void draw_panel(cairo_t *cr, const app_maps_figure *f, map_layout *m, size_t k)
{
    const app_map_panel *panel = &f->panels[k];
    const size_t row = k / m->columns, column = k % m->columns;
    plot_box box = { .left = m->left + m->right * (double)column,
                     .top = m->top + m->below * (double)row + m->title };
    box.left = floor(box.left);
    box.top = floor(box.top);
    box.right = box.left + m->wide;
    box.bottom = box.top + m->high;
    m->x.from = box.left;
    m->x.to = box.right;
    m->y.from = box.bottom;
    m->y.to = box.top;
    cairo_surface_t *image = make_image(f, panel);
    draw_image(cr, image, f, &box);
    cairo_surface_destroy(image);
    draw_marks(cr, m, panel, &box);
    draw_scales(cr, m, &box, column == 0, k + m->columns >= f->panels_count);
    char fitted[PLOT_TEXT];
    app_plot_font_select(cr, PLOT_TICK);
    app_plot_set(cr, app_plot_ink, 1);
    app_plot_text_fit(cr, panel->title, m->wide, fitted);
    app_plot_text_show(cr, (box.left + box.right) / 2, box.top - 6, 0.5, fitted);
}

/* Text that is read upwards, in the middle of a height. */
static void draw_turned(cairo_t *cr, const char *text, double x, double top, double bottom)
{
    char fitted[PLOT_TEXT];
    app_plot_font_select(cr, PLOT_LABEL);
    app_plot_set(cr, app_plot_ink, 1);
    app_plot_text_fit(cr, text, bottom - top, fitted);
    cairo_save(cr);
    cairo_translate(cr, x, (top + bottom) / 2);
    cairo_rotate(cr, -acos(0));
    app_plot_text_show(cr, 0, 0, 0.5, fitted);
    cairo_restore(cr);
}

static void draw_bar(cairo_t *cr, const app_maps_figure *f, const map_layout *m, double bottom)
{
    enum { STEPS = 64, THICK = 12 };
    const double right = m->left + m->right * (double)m->columns - GAP;
    const double left = floor(right + 14), top = floor(m->top + m->title);
    const double end = fmin(bottom, top + 260);
    cairo_pattern_t *colours = cairo_pattern_create_linear(0, end, 0, top);
    for (int i = 0; i <= STEPS; i++) {
        const double t = (double)i / STEPS;
        const plot_colour c = app_plot_viridis(f->root ? sqrt(t) : t);
        cairo_pattern_add_color_stop_rgb(colours, t, c.r, c.g, c.b);
    }
    cairo_rectangle(cr, left, top, THICK, end - top);
    cairo_set_source(cr, colours);
    cairo_fill(cr);
    cairo_pattern_destroy(colours);
    const plot_range range = { .any = true, .lo = f->range[0], .hi = f->range[1] };
    plot_axis axis;
    app_plot_axis_init(&axis, &range, f->range, (plot_pad){ 0, 0 }, (end - top) / 45);
    axis.from = end;
    axis.to = top;
    app_plot_font_select(cr, PLOT_TICK);
    app_plot_set(cr, app_plot_muted, 1);
    for (size_t i = 0; i < axis.ticks_count; i++)
        app_plot_number_show(cr, left + THICK + 5,
                             app_plot_axis_at(&axis, axis.ticks[i].value) + 4.2, 0,
                             &axis.ticks[i].label);
    draw_turned(cr, f->value_label, left + THICK + 22 + app_plot_axis_width(cr, &axis), top, end);
}

static void draw_labels(cairo_t *cr, const app_maps_figure *f, const map_layout *m, double bottom)
{
    const double right = m->left + m->right * (double)m->columns - GAP;
    char fitted[PLOT_TEXT];
    app_plot_font_select(cr, PLOT_LABEL);
    app_plot_set(cr, app_plot_ink, 1);
    app_plot_text_fit(cr, f->x_label, right - m->left, fitted);
    app_plot_text_show(cr, (m->left + right) / 2, bottom + 36, 0.5, fitted);
    draw_turned(cr, f->y_label, PLOT_MARGIN + 10, m->top + m->title, bottom);
}

static void draw(cairo_t *cr, const void *data, double width, double height)
{
    const app_maps_figure *f = data;
    map_layout m;
    make_layout(cr, f, width, height, &m);
    const double bottom = m.top + m.below * (double)m.rows - GAP;
    if (m.wide < 20 || m.high < 20)
        return; /* no room */
    for (size_t k = 0; k < f->panels_count; k++)
        draw_panel(cr, f, &m, k);
    if (f->panels_count == 0)
        app_plot_no_data(cr, &(plot_box){ m.left, m.top, width - PLOT_MARGIN, bottom });
    else
        draw_labels(cr, f, &m, bottom);
    if (m.bar && f->panels_count > 0)
        draw_bar(cr, f, &m, bottom);
    app_plot_note(cr, width, height, &m.hidden);
}

static hs_status check_region(const app_maps_figure *f, hs_message *message)
{
    const double *const ends[] = { f->x, f->y };
    for (int i = 0; i < 2; i++)
        if (!(ends[i][0] < ends[i][1]) || !app_plot_shown(ends[i][0], false) ||
            !app_plot_shown(ends[i][1], false))
            return hs_message_fail(message, HS_EINVAL,
                                   "app_figure_maps: %s goes from %g to %g; expected two ascending "
                                   "numbers",
                                   i ? "y" : "x", ends[i][0], ends[i][1]);
    if (f->range[0] != f->range[1] &&
        (!(f->range[0] < f->range[1]) || !app_plot_shown(f->range[0], false) ||
         !app_plot_shown(f->range[1], false)))
        return hs_message_fail(
            message, HS_EINVAL,
            "app_figure_maps: range is %g to %g; expected two ascending numbers, or "
            "two equal ones",
            f->range[0], f->range[1]);
    return HS_OK;
}

static hs_status check_panels(const app_maps_figure *f, hs_message *message)
{
    if (f->panels_count > MOST_PANELS || (f->panels_count > 0 && !f->panels))
        return hs_message_fail(
            message, HS_EINVAL, "app_figure_maps: %zu panels%s; expected an array of up to %d",
            f->panels_count, f->panels ? "" : ", but no array of them", MOST_PANELS);
    if (f->panels_count > 0 &&
        (f->nx == 0 || f->ny == 0 || f->nx > MOST_VALUES || f->ny > MOST_VALUES))
        return hs_message_fail(message, HS_EINVAL,
                               "app_figure_maps: %zu by %zu values; expected 1 to %d each", f->nx,
                               f->ny, MOST_VALUES);
    for (size_t k = 0; k < f->panels_count; k++)
        if (!f->panels[k].values || (f->panels[k].normals_count > 0 && !f->panels[k].normals))
            return hs_message_fail(message, HS_EINVAL, "app_figure_maps: panel %zu has no %s",
                                   k + 1, f->panels[k].values ? "array of normals" : "values");
    return HS_OK;
}

hs_status app_figure_maps(const app_maps_figure *figure, const app_figure_out *out,
                          hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_maps: no figure");
    hs_status status = check_region(figure, message);
    if (status == HS_OK)
        status = check_panels(figure, message);
    if (status != HS_OK)
        return status;
    const plot_job job = { figure->title, figure->width,   figure->height,
                           figure,        suitable_height, draw };
    return app_plot_render(&job, out, message);
}
