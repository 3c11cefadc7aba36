/**
 * Figures: plain arrays in, SVG and PNG out.
 *
 *     const app_series series[] = { { .label = "Ab Initio", .x = step, .y = loss, .n = 256 },
 *                                  { .label = "MSJD", .x = step, .y = other, .n = 256 } };
 *     const app_lines_figure figure = {
 *         .title = "Training", .x_label = "gradient step", .y_label = "loss",
 *         .series = series, .series_count = 2, .y_log = true };
 *     char *svg;
 *     hs_message message;
 *     if (app_figure_lines(&figure, &(app_figure_out){ .svg_path = "figures/loss.svg",
 *                                                    .png_path = "figures/loss.png",
 *                                                    .svg = &svg }, &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     printf("<figure>%s</figure>\n", svg);
 *     hs_free(svg);
 *
 * There is a struct of data for each kind of figure, whose fields may all be left zero where the
 * comment does not say otherwise, and a function that draws it. Nothing is kept: arrays and texts
 * (UTF-8) are only read during the call.
 *
 * The SVG is one <svg> element, of `width` pixels and narrower where the page is, so the same text
 * is a file and can be put into HTML as it stands. Letters are outlines and need no font of the
 * reader's. All ids in it begin with a hash of its content, so that any number of figures live
 * together in one page. The background is white, also on a dark page. The same data give the same
 * bytes.
 *
 * Values that cannot be shown (not finite, beyond 1e300, not positive on a logarithmic axis) are
 * gaps, and a line below the figure counts them. A figure without any value says "No data". Wrong
 * arguments (arrays that are missing, a width of -1) are HS_EINVAL, files HS_EIO, memory HS_ENOMEM,
 * each with a sentence; `message` may be NULL. Calls may run in several threads at once.
 */
#ifndef HASTINGS_CLI_PLOT_PLOT_H
#define HASTINGS_CLI_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/status.h>

/** What to make of a figure: any of these, and none twice. Files are written under another name and
 *  renamed, so that the path has a whole file or the old one. */
typedef struct {
    const char *svg_path; /**< NULL: none */
    const char *png_path; /**< NULL: none */
    double png_scale;     /**< pixels of the PNG for one of `width`; 0: 2 */
    char **svg; /**< NULL: none; else gets the SVG as text, to be freed by hs_free(), or NULL
                               after a failure */
} app_figure_out;

/** Sizes are in pixels, from 200 to 4000; 0: a width of 760 and the height that suits the data. */

/* ---- Lines: training curves, traces, autocorrelations --------------------------------------- */

/** A line through (x[i stride], y[i stride]). With more points than can be told apart, it is drawn
 *  through the smallest and the largest value of each of some 700 stretches. */
typedef struct {
    const char *label; /**< in the legend; NULL: not there */
    const double *x;   /**< NULL: 1, 2, 3, ... */
    const double *y;
    size_t n;
    size_t stride; /**< of y (x is contiguous); 0: 1 */
    bool dots;     /**< points instead of a line */
} app_series;

typedef struct {
    const char *title;
    double width, height;
    const char *x_label, *y_label;
    bool x_log, y_log;
    double x_range[2], y_range[2]; /**< the ends of an axis; equal: those of the data */
    const app_series *series;
    size_t series_count;
    const double *reference; /**< NULL, or a y at which a dashed line runs */
    const char *reference_label;
} app_lines_figure;

hs_status app_figure_lines(const app_lines_figure *figure, const app_figure_out *out,
                           hs_message *message) HS_MUST_CHECK;

/** Traces: one coordinate of several chains over the draws, thin lines. */
typedef struct {
    const char *title;
    double width, height;
    const char *y_label; /**< say "x[3]" */
    const double *x;     /**< chain m, draw n at x[m chain_stride + n draw_stride]; of
                                              hs_chains c, coordinate k: c->x + k, draws * dim and dim */
    size_t chains, draws;
    size_t chain_stride, draw_stride; /**< 0: draws and 1 */
} app_traces_figure;

hs_status app_figure_traces(const app_traces_figure *figure, const app_figure_out *out,
                            hs_message *message) HS_MUST_CHECK;

/** Autocorrelations against lags 0 .. n-1 of the series (their x is ignored), with the band of
 *  +-1.96 / sqrt(draws) in which 95% would be if draws were independent. */
typedef struct {
    const char *title;
    double width, height;
    const app_series *series; /**< of chains, or of coordinates */
    size_t series_count;
    size_t draws; /**< 0: no band */
} app_autocorrelation_figure;

hs_status app_figure_autocorrelation(const app_autocorrelation_figure *figure,
                                     const app_figure_out *out, hs_message *message) HS_MUST_CHECK;

/* ---- Effective sample sizes ------------------------------------------------------------------ */

/** ESS of x and of x^2, coordinate by coordinate: two dots joined by a line, or, with more than 60
 *  coordinates, two curves, each sorted. */
typedef struct {
    const char *title;
    double width, height;
    const char *const *labels; /**< [n]; NULL: 1, 2, 3, ... */
    const double *first;       /**< [n]: of x */
    const double *second;      /**< [n]: of x^2; NULL: not shown */
    size_t n;
    double draws; /**< where the reference line is: draws in all chains; 0: none */
    bool log;
} app_ess_figure;

hs_status app_figure_ess(const app_ess_figure *figure, const app_figure_out *out,
                         hs_message *message) HS_MUST_CHECK;

/* ---- Maps: densities of proposals, weights of mixtures --------------------------------------- */

typedef struct {
    double mean[2];
    double covariance[2][2];
} app_map_normal;

typedef struct {
    const char *title;
    const double *values;          /**< [ny][nx]: row 0 is at y[0], and its first number at x[0] */
    const double *start;           /**< NULL, or a point [2] that becomes a red dot */
    const app_map_normal *normals; /**< NULL, or normal distributions: red ellipses of one and two
                                       standard deviations around a dot */
    size_t normals_count;
} app_map_panel;

/** Panels side by side, all of the same region, with values at the nx * ny points of a grid from end
 *  to end. */
typedef struct {
    const char *title;
    double width, height;
    const char *x_label, *y_label;
    const app_map_panel *panels;
    size_t panels_count;     /**< up to 100 */
    size_t columns;          /**< 0: what suits */
    size_t nx, ny;           /**< up to 4096 each */
    double x[2], y[2];       /**< the ends of the region, ascending */
    double range[2];         /**< values of the darkest and the brightest colour, for all panels,
                                  with a colour bar; equal: each panel from 0 to its largest value */
    const char *value_label; /**< of the colour bar */
    bool root;               /**< colours go by the square root of the value: faint modes show */
} app_maps_figure;

hs_status app_figure_maps(const app_maps_figure *figure, const app_figure_out *out,
                          hs_message *message) HS_MUST_CHECK;

/* ---- Bars: ours and the paper's --------------------------------------------------------------- */

typedef struct {
    const char *label;
    const double *values; /**< [rows] */
    const double *errors; /**< [rows]: half the length of the bar of error; NULL, NaN: none */
} app_bars_series;

/** For each row a bar from 0 for each series. On a logarithmic axis, where there is no 0, dots. */
typedef struct {
    const char *title;
    double width, height;
    const char *value_label;
    const char *const *rows; /**< [rows_count]: their names */
    size_t rows_count;       /**< up to 200 */
    const app_bars_series *series;
    size_t series_count; /**< up to 8 */
    bool log;
} app_bars_figure;

hs_status app_figure_bars(const app_bars_figure *figure, const app_figure_out *out,
                          hs_message *message) HS_MUST_CHECK;

#endif
