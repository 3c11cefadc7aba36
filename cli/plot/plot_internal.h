/* Shared parts of the figures: colours, text, axes, the head with title and legend, and output.
 * Drawing functions return nothing: Cairo's errors stick to the context, and app_plot_render()
 * looks at the end. */
#ifndef HASTINGS_CLI_PLOT_PLOT_INTERNAL_H
#define HASTINGS_CLI_PLOT_PLOT_INTERNAL_H

#include <cairo.h>

#include <hastings/cli/plot/plot.h>

/* ---- plot_style.c: colours ------------------------------------------------------------------ */

typedef struct {
    double r, g, b;
} plot_colour;

extern const plot_colour app_plot_ink, app_plot_muted, app_plot_line, app_plot_grid, app_plot_red,
    app_plot_white;

/* Colours that the colour-blind tell apart too (Okabe and Ito 2008); beyond eight they come again. */
plot_colour app_plot_palette(size_t i);
enum { PLOT_PALETTE = 8 };

/* Viridis at t in [0, 1]: even steps of t look even, also in grey. */
plot_colour app_plot_viridis(double t);

void app_plot_set(cairo_t *cr, plot_colour colour, double alpha);

/* ---- plot_text.c ---------------------------------------------------------------------------- */

enum { PLOT_TEXT = 512, PLOT_TITLE_LINES = 4 };

typedef enum { PLOT_TITLE, PLOT_LABEL, PLOT_TICK, PLOT_SMALL } plot_font;

/* The height of its lines. */
double app_plot_font_select(cairo_t *cr, plot_font font);

/* The text as valid UTF-8 without control characters; returns its length. The other makes it no wider
 * than the width, with an ellipsis at the end if need be; it takes NULL for "". */
size_t app_plot_text_clean(const char *text, char clean[PLOT_TEXT]);
void app_plot_text_fit(cairo_t *cr, const char *text, double width, char fitted[PLOT_TEXT]);
double app_plot_text_width(cairo_t *cr, const char *fitted);

/* Places the fitted text with its left end (align 0), middle (0.5) or right end (1) at x. */
void app_plot_text_show(cairo_t *cr, double x, double baseline, double align, const char *fitted);

/* A number as people write it: 0.25, 20k, 3 x 10^-7. */
typedef struct {
    char text[40], power[8];
} plot_number;

double app_plot_number_width(cairo_t *cr, const plot_number *number);
void app_plot_number_show(cairo_t *cr, double x, double baseline, double align,
                          const plot_number *number);

/* ---- plot_axis.c ---------------------------------------------------------------------------- */

enum { PLOT_TICKS = 80 };

typedef struct {
    double value;
    bool minor; /* no label, no line of the grid */
    plot_number label;
} plot_tick;

typedef struct {
    bool log;
    double lo, hi;   /* the ends, lo < hi, both shown */
    double from, to; /* where these are, in pixels */
    plot_tick ticks[PLOT_TICKS];
    size_t ticks_count;
} plot_axis;

/* The values seen so far. Zero-initialise it, but for `log`. */
typedef struct {
    bool log, any;
    double lo, hi;
    size_t hidden; /* values that cannot be shown */
} plot_range;

bool app_plot_shown(double value, bool log);
void app_plot_range_add(plot_range *range, double value);

/* Shares of its length by which a range becomes longer at its ends. */
typedef struct {
    double low, high;
} plot_pad;

/* An axis for a range with at most about `most` labels. Fixed ends, if they differ, take the place
 * of the range. */
void app_plot_axis_init(plot_axis *axis, const plot_range *range, const double *fixed, plot_pad pad,
                        double most);
double app_plot_axis_at(const plot_axis *axis, double value);

/* The greatest width of its labels, in the font PLOT_TICK. */
double app_plot_axis_width(cairo_t *cr, const plot_axis *axis);

/* ---- plot_frame.c: what is around the data -------------------------------------------------- */

typedef struct {
    double left, top, right, bottom;
} plot_box;

typedef enum {
    PLOT_KEY_LINE,
    PLOT_KEY_DASHED,
    PLOT_KEY_DOT,
    PLOT_KEY_BAR,
    PLOT_KEY_BAND
} plot_shape;

typedef struct {
    const char *label;
    plot_colour colour;
    plot_shape shape;
} plot_key;

enum { PLOT_MARGIN = 18, PLOT_FOOT = 50 };

/* Title and legend. Returns the y below them. Used to measure also, as drawing does no harm. */
double app_plot_head(cairo_t *cr, double width, const char *title, const plot_key *keys,
                     size_t count);

/* The lines of the grid, labels of ticks, and the name of an axis, around a box. */
void app_plot_frame_x(cairo_t *cr, const plot_box *box, const plot_axis *axis, const char *label);
void app_plot_frame_y(cairo_t *cr, const plot_box *box, const plot_axis *axis, const char *label);

/* The horizontal place that app_plot_frame_y() needs left of the box. */
double app_plot_frame_left(cairo_t *cr, const plot_axis *axis, const char *label);

/* "No data", in the middle. */
void app_plot_no_data(cairo_t *cr, const plot_box *box);

/* A line at the bottom that says how many values are missing, if any are; and its height. */
void app_plot_note(cairo_t *cr, double width, double height, const plot_range *range);
double app_plot_note_height(const plot_range *range);

/* ---- plot_svg.c ------------------------------------------------------------------------------ */

typedef struct {
    char *data; /* by hs_alloc(), and NUL-terminated */
    size_t used, size;
    bool failed; /* out of memory: what was added is incomplete */
} plot_bytes;

void app_plot_bytes_add(plot_bytes *bytes, const char *data, size_t n);

/* Cairo's SVG as one element that can stand in a page, with ids of its own. */
hs_status app_plot_svg_finish(const plot_bytes *cairo, double width, double height,
                              const char *title, plot_bytes *finished);

/* ---- plot_out.c ------------------------------------------------------------------------------ */

typedef struct {
    const char *title;
    double width, height; /* 0: default, and by suitable_height */
    const void *data;
    double (*suitable_height)(cairo_t *cr, const void *data, double width);
    void (*draw)(cairo_t *cr, const void *data, double width, double height);
} plot_job;

/* Start of every figure function: sets all outputs to a state that is safe after an early return.
 * */
void app_plot_begin(const app_figure_out *out, hs_message *message);

hs_status app_plot_render(const plot_job *job, const app_figure_out *out, hs_message *message);

/* ---- plot_lines.c ---------------------------------------------------------------------------- */

/* A figure of lines, with what only traces and autocorrelations have. */
typedef struct {
    app_lines_figure figure;
    double line_width;
    double first;  /* x of the first point of series that have no x */
    double band;   /* half the height of a band around 0; 0: none */
    size_t legend; /* most series that have one */
} plot_lines;

hs_status app_plot_lines_render(const plot_lines *lines, const app_figure_out *out,
                                hs_message *message);

/* HS_EINVAL, and a sentence, if a series has points but no array. */
hs_status app_plot_check_series(const app_series *series, size_t count, const char *function,
                                hs_message *message);

#endif
