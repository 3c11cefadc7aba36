/* Text and numbers in figures. */
#include "plot_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

double app_plot_font_select(cairo_t *cr, plot_font font)
{
    static const double sizes[] = {
        [PLOT_TITLE] = 15, [PLOT_LABEL] = 13, [PLOT_TICK] = 12, [PLOT_SMALL] = 11
    };
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           font == PLOT_TITLE ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, sizes[font]);
    return 1.35 * sizes[font];
}

/* Bytes of the valid UTF-8 character at `text`, as Unicode's table 3-7 has it; 0 if there is none. */
static size_t utf8_length(const unsigned char *text)
{
    const unsigned char a = text[0];
    const size_t n = a < 0x80 ? 1 : a < 0xC2 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80) /* also the NUL at the end */
            return 0;
    if ((a == 0xE0 && text[1] < 0xA0) || (a == 0xED && text[1] > 0x9F) ||
        (a == 0xF0 && text[1] < 0x90) || (a == 0xF4 && text[1] > 0x8F))
        return 0;
    return n;
}

size_t app_plot_text_clean(const char *text, char fitted[PLOT_TEXT])
{
    const unsigned char *from = (const unsigned char *)text;
    size_t used = 0;
    while (*from && used + 4 < PLOT_TEXT) {
        const size_t n = utf8_length(from);
        if (n == 0 || (n == 1 && (*from < 0x20 || *from == 0x7F)))
            fitted[used++] = n ? ' ' : '?';
        else {
            memcpy(fitted + used, from, n);
            used += n;
        }
        from += n ? n : 1;
    }
    fitted[used] = '\0';
    return used;
}

/* The text in letters that the font has. On a machine without any font, Cairo uses one of its own,
 * which has those of ASCII. */
static const char *in_font(cairo_t *cr, const char *text, char plain[PLOT_TEXT])
{
    static const struct {
        const char *letter, *like;
    } known[] = { { "\u2212", "-" }, { "\u2026", "..." }, { "\u00D7", "x" }, { "\u00B2", "^2" },
                  { "\u2080", "0" }, { "\u2081", "1" },   { "\u2082", "2" }, { "\u2083", "3" } };
    if (cairo_scaled_font_get_type(cairo_get_scaled_font(cr)) != CAIRO_FONT_TYPE_USER)
        return text;
    size_t used = 0;
    while (*text && used + 4 < PLOT_TEXT) {
        const size_t n = utf8_length((const unsigned char *)text);
        const char like[2] = { n == 1 ? *text : '?', '\0' }, *use = like;
        for (size_t i = 0; i < sizeof known / sizeof *known && n > 1; i++)
            if (strncmp(text, known[i].letter, n) == 0)
                use = known[i].like;
        memcpy(plain + used, use, strlen(use));
        used += strlen(use);
        text += n ? n : 1;
    }
    plain[used] = '\0';
    return plain;
}

double app_plot_text_width(cairo_t *cr, const char *fitted)
{
    char plain[PLOT_TEXT];
    cairo_text_extents_t extents;
    cairo_text_extents(cr, in_font(cr, fitted, plain), &extents);
    return extents.x_advance;
}

void app_plot_text_fit(cairo_t *cr, const char *text, double width, char fitted[PLOT_TEXT])
{
    size_t used = app_plot_text_clean(text ? text : "", fitted);
    if (app_plot_text_width(cr, fitted) <= width)
        return;
    static const char ellipsis[] = "\u2026";
    if (used > PLOT_TEXT - sizeof ellipsis)
        used = PLOT_TEXT - sizeof ellipsis;
    for (; used > 0; used--) {
        if (((unsigned char)fitted[used] & 0xC0) == 0x80)
            continue; /* inside a character */
        memcpy(fitted + used, ellipsis, sizeof ellipsis);
        if (app_plot_text_width(cr, fitted) <= width)
            return;
    }
    fitted[0] = '\0';
}

void app_plot_text_show(cairo_t *cr, double x, double baseline, double align, const char *fitted)
{
    if (!*fitted)
        return;
    cairo_move_to(cr, align > 0 ? x - align * app_plot_text_width(cr, fitted) : x, baseline);
    char plain[PLOT_TEXT];
    cairo_show_text(cr, in_font(cr, fitted, plain));
    cairo_new_path(cr);
}

/* A power is drawn as a small number above the line rather than with Unicode's superscripts, which
 * few fonts have all of. */
enum { POWER_PERCENT = 72 };

static double power_width(cairo_t *cr, const plot_number *number)
{
    return number->power[0] ? app_plot_text_width(cr, number->power) * POWER_PERCENT / 100 + 1 : 0;
}

double app_plot_number_width(cairo_t *cr, const plot_number *number)
{
    return app_plot_text_width(cr, number->text) + power_width(cr, number);
}

void app_plot_number_show(cairo_t *cr, double x, double baseline, double align,
                          const plot_number *number)
{
    x -= align * app_plot_number_width(cr, number);
    app_plot_text_show(cr, x, baseline, 0, number->text);
    if (!number->power[0])
        return;
    x += app_plot_text_width(cr, number->text) + 0.5;
    cairo_font_extents_t font;
    cairo_font_extents(cr, &font);
    cairo_save(cr);
    cairo_translate(cr, x, baseline - 0.32 * font.ascent);
    cairo_scale(cr, POWER_PERCENT / 100.0, POWER_PERCENT / 100.0);
    app_plot_text_show(cr, 0, 0, 0, number->power);
    cairo_restore(cr);
}
