/* For tests of figures: drawings as pixels, and SVG as text.
 *
 *     picture p = drawn(app_figure_lines(&figure, &to_png, &message));
 *     const spot blue = find(&p, 0x0072B2, all);    // where that colour is
 *     free_picture(&p);
 */
#ifndef HASTINGS_TESTS_SUPPORT_PLOT_PIXELS_H
#define HASTINGS_TESTS_SUPPORT_PLOT_PIXELS_H

#include <cairo.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/cli/plot/plot.h>
#include <hastings/tensor/memory.h>

#include "hs_check.h"

enum { BLUE = 0x0072B2, VERMILION = 0xD55E00, GREEN = 0x009E73, RED = 0xE60D1F };

static char png_path[] = "/tmp/hastings_plot_XXXXXX";

typedef struct {
    cairo_surface_t *surface;
    const unsigned char *data;
    int width, height, stride;
} picture;

/* Pixels of a colour: how many, their bounds, and the middle of all. */
typedef struct {
    int count, left, right, top, bottom;
    double x, y;
} spot;

typedef struct {
    int left, top, right, bottom;
} part;

static const part all = { 0, 0, 1 << 20, 1 << 20 };

static inline picture read_picture(const char *path)
{
    picture p = { .surface = cairo_image_surface_create_from_png(path) };
    ck_assert_int_eq(cairo_surface_status(p.surface), CAIRO_STATUS_SUCCESS);
    p.data = cairo_image_surface_get_data(p.surface);
    p.width = cairo_image_surface_get_width(p.surface);
    p.height = cairo_image_surface_get_height(p.surface);
    p.stride = cairo_image_surface_get_stride(p.surface);
    return p;
}

static inline void free_picture(picture *p)
{
    cairo_surface_destroy(p->surface);
}

/* White outside. (Check's assertions are slow, and these are millions.) */
static inline uint32_t pixel(const picture *p, int x, int y)
{
    uint32_t value = 0xFFFFFF;
    if (x >= 0 && x < p->width && y >= 0 && y < p->height)
        memcpy(&value, p->data + (ptrdiff_t)y * p->stride + 4 * x, sizeof value);
    return value & 0xFFFFFF;
}

/* The greatest difference of their channels. */
static inline int difference(uint32_t a, uint32_t b)
{
    int most = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const int d = abs((int)(a >> shift & 255) - (int)(b >> shift & 255));
        most = d > most ? d : most;
    }
    return most;
}

/* Edges are mixed with what is beneath: a colour counts if it is within 60. */
static inline spot find(const picture *p, uint32_t colour, part in)
{
    spot s = { .left = p->width, .right = -1, .top = p->height, .bottom = -1 };
    for (int y = in.top; y < in.bottom && y < p->height; y++)
        for (int x = in.left; x < in.right && x < p->width; x++) {
            if (difference(pixel(p, x, y), colour) > 60)
                continue;
            s.x = (s.x * s.count + x) / (s.count + 1);
            s.y = (s.y * s.count + y) / (s.count + 1);
            s.count++;
            s.left = x < s.left ? x : s.left;
            s.right = x > s.right ? x : s.right;
            s.top = y < s.top ? y : s.top;
            s.bottom = y > s.bottom ? y : s.bottom;
        }
    return s;
}

/* What a figure is drawn to, and then read from. */
static const app_figure_out to_png = { .png_path = png_path, .png_scale = 1 };
static const app_figure_out to_large_png = { .png_path = png_path,
                                             .png_scale = 4 }; /* thin lines */
static hs_message message;

static inline picture drawn(hs_status status)
{
    ck_assert_msg(status == HS_OK, "%s", message.text);
    return read_picture(png_path);
}

static inline char *svg_of_lines(const app_lines_figure *figure)
{
    char *svg;
    ck_assert_int_eq(app_figure_lines(figure, &(app_figure_out){ .svg = &svg }, NULL), HS_OK);
    return svg;
}

static inline int count_in(const char *text, const char *part_of)
{
    int count = 0;
    for (; (text = strstr(text, part_of)); text += strlen(part_of))
        count++;
    return count;
}

/* Elements are closed in order, attributes are quoted, and nothing is outside of one <svg>. */
static inline void assert_well_formed(const char *svg)
{
    char names[32][32];
    int depth = 0;
    ck_assert(strncmp(svg, "<svg ", 5) == 0);
    for (const char *at = svg; *at;) {
        if (*at != '<') {
            if (depth == 0 && *at != '\n')
                ck_abort_msg("text outside: %.40s", at);
            at++;
            continue;
        }
        at++;
        const bool closing = *at == '/';
        char name[32];
        ck_assert_int_eq(sscanf(at + closing, "%31[a-zA-Z]", name), 1);
        bool quoted = false;
        for (; *at && *at != '<' && (*at != '>' || quoted); at++)
            quoted ^= *at == '"';
        ck_assert_int_eq(*at, '>');
        if (closing) {
            ck_assert_int_gt(depth, 0);
            ck_assert_str_eq(names[--depth], name);
        } else if (at[-1] != '/') {
            ck_assert_int_lt(depth, 32);
            strcpy(names[depth++], name);
        }
        at++;
    }
    ck_assert_int_eq(depth, 0);
}

#endif
