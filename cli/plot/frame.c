/* The surroundings of the data: title, legend, grid, axes, notes. */
#include "plot_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thin lines are sharp if they run through the middle of pixels. */
static double sharp(double x)
{
    return floor(x) + 0.5;
}

static void segment(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_stroke(cr);
}

/* Breaks the title at spaces where it is too wide. Returns the y below it. */
static double head_title(cairo_t *cr, double width, double y, const char *title)
{
    const double height = app_plot_font_select(cr, PLOT_TITLE), room = width - 2 * PLOT_MARGIN;
    char text[PLOT_TEXT], line[PLOT_TEXT];
    app_plot_text_fit(cr, title, HUGE_VAL, text);
    app_plot_set(cr, app_plot_ink, 1);
    size_t at = 0;
    for (int i = 1; text[at] && i <= PLOT_TITLE_LINES; i++) {
        strcpy(line, text + at);
        char *space;
        while (i < PLOT_TITLE_LINES && app_plot_text_width(cr, line) > room &&
               (space = strrchr(line, ' ')))
            *space = '\0';
        at += strlen(line);
        at += text[at] == ' ';
        char fitted[PLOT_TEXT];
        app_plot_text_fit(cr, line, room, fitted);
        app_plot_text_show(cr, PLOT_MARGIN, y + 0.75 * height, 0, fitted);
        y += height;
    }
    return y + 6;
}

static void show_key(cairo_t *cr, double x, double y, const plot_key *key)
{
    const double dashes[] = { 4, 3 };
    app_plot_set(cr, key->colour, key->shape == PLOT_KEY_BAND ? 0.12 : 1);
    switch (key->shape) {
    case PLOT_KEY_DASHED:
        cairo_set_dash(cr, dashes, 2, 0);
        /* fall through */
    case PLOT_KEY_LINE:
        cairo_set_line_width(cr, key->shape == PLOT_KEY_LINE ? 2.5 : 1.25);
        segment(cr, x, y, x + 18, y);
        cairo_set_dash(cr, NULL, 0, 0);
        break;
    case PLOT_KEY_DOT:
        cairo_arc(cr, x + 4, y, 4, 0, 2 * acos(-1));
        cairo_fill(cr);
        break;
    case PLOT_KEY_BAR:
    case PLOT_KEY_BAND:
        cairo_rectangle(cr, x, y - 5, 14, 10);
        cairo_fill(cr);
        break;
    }
}

/* From the left end of a key to its text. */
static double key_width(plot_shape shape)
{
    return shape == PLOT_KEY_DOT ? 13 : shape == PLOT_KEY_BAR || shape == PLOT_KEY_BAND ? 20 : 24;
}

double app_plot_head(cairo_t *cr, double width, const char *title, const plot_key *keys,
                     size_t count)
{
    double y = PLOT_MARGIN - 4;
    if (title && *title)
        y = head_title(cr, width, y, title);
    const double height = app_plot_font_select(cr, PLOT_TICK) + 3, gap = 18;
    double x = PLOT_MARGIN;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!keys[i].label || !*keys[i].label)
            continue;
        const double swatch = key_width(keys[i].shape);
        char fitted[PLOT_TEXT];
        app_plot_text_fit(cr, keys[i].label, width - 2 * PLOT_MARGIN - swatch, fitted);
        const double length = swatch + app_plot_text_width(cr, fitted);
        if (any && x + length > width - PLOT_MARGIN) {
            x = PLOT_MARGIN;
            y += height;
        }
        show_key(cr, x, y + 0.5 * height, &keys[i]);
        app_plot_set(cr, app_plot_ink, 1);
        app_plot_text_show(cr, x + swatch, y + 0.5 * height + 4.2, 0, fitted);
        x += length + gap;
        any = true;
    }
    return y + (any ? height : 0) + 8;
}

void app_plot_frame_x(cairo_t *cr, const plot_box *box, const plot_axis *axis, const char *label)
{
    const double height = app_plot_font_select(cr, PLOT_TICK);
    cairo_set_line_width(cr, 1);
    double taken = -HUGE_VAL; /* labels never touch */
    for (size_t i = 0; i < axis->ticks_count; i++) {
        const plot_tick *tick = &axis->ticks[i];
        const double x = app_plot_axis_at(axis, tick->value);
        app_plot_set(cr, tick->minor ? app_plot_line : app_plot_grid, 1);
        if (tick->minor)
            segment(cr, sharp(x), box->bottom, sharp(x), box->bottom + 3);
        else
            segment(cr, sharp(x), box->top, sharp(x), box->bottom);
        const double half = app_plot_number_width(cr, &tick->label) / 2;
        if (tick->minor || x - half < taken)
            continue;
        taken = x + half + 6;
        app_plot_set(cr, app_plot_muted, 1);
        app_plot_number_show(cr, x, box->bottom + height + 1, 0.5, &tick->label);
    }
    app_plot_set(cr, app_plot_line, 1);
    segment(cr, box->left, sharp(box->bottom), box->right, sharp(box->bottom));
    if (label && *label) {
        char fitted[PLOT_TEXT];
        app_plot_font_select(cr, PLOT_LABEL);
        app_plot_set(cr, app_plot_ink, 1);
        app_plot_text_fit(cr, label, box->right - box->left, fitted);
        app_plot_text_show(cr, (box->left + box->right) / 2, box->bottom + height + 20, 0.5,
                           fitted);
    }
}

void app_plot_frame_y(cairo_t *cr, const plot_box *box, const plot_axis *axis, const char *label)
{
    app_plot_font_select(cr, PLOT_TICK);
    cairo_set_line_width(cr, 1);
    for (size_t i = 0; i < axis->ticks_count; i++) {
        const plot_tick *tick = &axis->ticks[i];
        const double y = app_plot_axis_at(axis, tick->value);
        app_plot_set(cr, tick->minor ? app_plot_line : app_plot_grid, 1);
        if (tick->minor)
            segment(cr, box->left - 3, sharp(y), box->left, sharp(y));
        else
            segment(cr, box->left, sharp(y), box->right, sharp(y));
        app_plot_set(cr, app_plot_muted, 1);
        if (!tick->minor)
            app_plot_number_show(cr, box->left - 7, y + 4.2, 1, &tick->label);
    }
    app_plot_set(cr, app_plot_line, 1);
    segment(cr, sharp(box->left), box->top, sharp(box->left), box->bottom);
    if (label && *label) {
        char fitted[PLOT_TEXT];
        app_plot_font_select(cr, PLOT_LABEL);
        app_plot_set(cr, app_plot_ink, 1);
        app_plot_text_fit(cr, label, box->bottom - box->top, fitted);
        cairo_save(cr);
        cairo_translate(cr, PLOT_MARGIN + 10, (box->top + box->bottom) / 2);
        cairo_rotate(cr, -acos(0));
        app_plot_text_show(cr, 0, 0, 0.5, fitted);
        cairo_restore(cr);
    }
}

double app_plot_frame_left(cairo_t *cr, const plot_axis *axis, const char *label)
{
    app_plot_font_select(cr, PLOT_TICK);
    return PLOT_MARGIN + (label && *label ? 21 : 0) + app_plot_axis_width(cr, axis) + 8;
}

void app_plot_no_data(cairo_t *cr, const plot_box *box)
{
    app_plot_font_select(cr, PLOT_LABEL);
    app_plot_set(cr, app_plot_muted, 1);
    app_plot_text_show(cr, (box->left + box->right) / 2, (box->top + box->bottom) / 2 + 4, 0.5,
                       "No data");
}

double app_plot_note_height(const plot_range *range)
{
    return range->hidden > 0 ? 16 : 0;
}

void app_plot_note(cairo_t *cr, double width, double height, const plot_range *range)
{
    const size_t hidden = range->hidden;
    if (hidden == 0)
        return;
    char text[PLOT_TEXT], fitted[PLOT_TEXT];
    snprintf(text, sizeof text, "%zu value%s not shown: not finite%s", hidden,
             hidden == 1 ? "" : "s", range->log ? ", or not positive on a logarithmic axis" : "");
    app_plot_font_select(cr, PLOT_SMALL);
    app_plot_set(cr, app_plot_muted, 1);
    app_plot_text_fit(cr, text, width - 2 * PLOT_MARGIN, fitted);
    app_plot_text_show(cr, width - PLOT_MARGIN, height - 9, 1, fitted);
}
