/* From drawings to files and texts. */
#include "plot_internal.h"

#include <cairo-svg.h>
#include <math.h>

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/tensor/file.h>
#include <hastings/tensor/message.h>
#include <hastings/tensor/memory.h>

enum { DEFAULT_WIDTH = 760, LEAST = 200, MOST = 4000, TALLEST = 8000, PIXELS = 32000 };

static cairo_status_t append(void *bytes, const unsigned char *data, unsigned length)
{
    app_plot_bytes_add(bytes, (const char *)data, length);
    return ((plot_bytes *)bytes)->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static hs_status cairo_result(cairo_status_t status, hs_message *message)
{
    if (status == CAIRO_STATUS_SUCCESS)
        return HS_OK;
    if (status == CAIRO_STATUS_NO_MEMORY)
        return hs_message_fail(message, HS_ENOMEM, "Out of memory for drawing a figure");
    return hs_message_fail(message, HS_EINVAL, "Cairo cannot draw a figure: %s",
                           cairo_status_to_string(status));
}

/* Letters keep their shapes and places at all sizes, so that SVG and PNG look the same. */
static void set_fonts(cairo_t *cr)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
}

/* Draws on a surface, which it takes over, and leaves it finished but for its reference. */
static cairo_status_t draw_on(cairo_surface_t *surface, const plot_job *job, double width,
                              double height, double scale)
{
    cairo_t *cr = cairo_create(surface);
    set_fonts(cr);
    cairo_scale(cr, scale, scale);
    app_plot_set(cr, app_plot_white, 1);
    cairo_paint(cr);
    job->draw(cr, job->data, width, height);
    cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return status == CAIRO_STATUS_SUCCESS ? cairo_surface_status(surface) : status;
}

/* The suitable height, rounded up, measured on a surface that is thrown away. */
static hs_status measure(const plot_job *job, double width, double *height, hs_message *message)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    cairo_t *cr = cairo_create(surface);
    set_fonts(cr);
    *height = fmin(ceil(job->suitable_height(cr, job->data, width)), TALLEST);
    const cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return cairo_result(status, message);
}

static hs_status render_svg(const plot_job *job, double width, double height, plot_bytes *svg,
                            hs_message *message)
{
    plot_bytes raw = { NULL, 0, 0, false };
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(append, &raw, width, height);
    cairo_status_t drawn = draw_on(surface, job, width, height, 1);
    cairo_surface_finish(surface);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    hs_status status =
        raw.failed ? cairo_result(CAIRO_STATUS_NO_MEMORY, message) : cairo_result(drawn, message);
    if (status == HS_OK) {
        status = app_plot_svg_finish(&raw, width, height, job->title, svg);
        if (status != HS_OK)
            hs_message_fail(message, status, "Cannot make an SVG: %s", hs_status_text(status));
    }
    hs_free(raw.data);
    return status;
}

static hs_status render_png(const plot_job *job, double width, double height, double scale,
                            plot_bytes *png, hs_message *message)
{
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(width * scale), (int)lround(height * scale));
    cairo_status_t drawn = draw_on(surface, job, width, height, scale);
    if (drawn == CAIRO_STATUS_SUCCESS)
        drawn = cairo_surface_write_to_png_stream(surface, append, png);
    cairo_surface_destroy(surface);
    return cairo_result(drawn, message);
}

static hs_status check(const plot_job *job, const app_figure_out *out, hs_message *message)
{
    if (!out || (!out->svg_path && !out->png_path && !out->svg))
        return hs_message_fail(message, HS_EINVAL,
                               "A figure is to be drawn, but to no file or text");
    const double sizes[] = { job->width, job->height };
    for (int i = 0; i < 2; i++)
        if (sizes[i] != 0 && !(sizes[i] >= LEAST && sizes[i] <= MOST))
            return hs_message_fail(
                message, HS_EINVAL,
                "A figure has a %s of %g; expected 0, for the default, or %d to %d",
                i ? "height" : "width", sizes[i], LEAST, MOST);
    if (out->png_scale != 0 && !(out->png_scale >= 0.1 && out->png_scale <= 10))
        return hs_message_fail(message, HS_EINVAL,
                               "A figure has a png_scale of %g; expected 0, for 2, or 0.1 to 10",
                               out->png_scale);
    return HS_OK;
}

void app_plot_begin(const app_figure_out *out, hs_message *message)
{
    hs_message_clear(message);
    if (out && out->svg)
        *out->svg = NULL;
}

hs_status app_plot_render(const plot_job *job, const app_figure_out *out, hs_message *message)
{
    hs_status status = check(job, out, message);
    if (status == HS_OK && app_interrupt_is_due(NULL))
        status = hs_message_fail(message, HS_EINTERRUPTED, "the program was stopped");
    if (status != HS_OK)
        return status;
    const double width = job->width > 0 ? job->width : DEFAULT_WIDTH;
    double height = job->height, scale = out->png_scale > 0 ? out->png_scale : 2;
    if (height == 0 && (status = measure(job, width, &height, message)) != HS_OK)
        return status;
    scale = fmin(scale, PIXELS / fmax(width, height)); /* Cairo's images have up to 32767 */
    plot_bytes svg = { NULL, 0, 0, false }, png = svg;
    if (out->svg || out->svg_path)
        status = render_svg(job, width, height, &svg, message);
    if (status == HS_OK && out->png_path)
        status = render_png(job, width, height, scale, &png, message);
    if (status == HS_OK && out->svg_path)
        status = hs_file_save(out->svg_path, svg.data, svg.used, message);
    if (status == HS_OK && out->png_path)
        status = hs_file_save(out->png_path, png.data, png.used, message);
    if (status == HS_OK && out->svg) {
        *out->svg = svg.data;
        svg.data = NULL;
    }
    hs_free(svg.data);
    hs_free(png.data);
    return status;
}
