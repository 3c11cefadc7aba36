/* Lines of progress on a terminal. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/visible.h>
#include "progress_internal.h"

/* ANSI: up n lines; to the line's end, and to the screen's; the cursor; colours. */
#define UP          "\x1b[%zuA"
#define ERASE_LINE  "\x1b[K"
#define ERASE_BELOW "\x1b[J"
#define HIDE_CURSOR "\x1b[?25l"
#define SHOW_CURSOR "\x1b[?25h"
#define CYAN        "\x1b[36m"
#define DIM         "\x1b[2m"
#define PLAIN       "\x1b[0m"

/* A line that knows how many columns it has filled, of how many. */
typedef struct {
    FILE *f;
    size_t column, width;
} drawn_line;

/* Adds as much of the text as there is room for. */
static void add(drawn_line *l, const char *text)
{
    char visible[APP_VISIBLE_TEXT];
    while (*text) {
        text = app_visible(text, visible);
        l->column += app_visible_width(visible);
        if (l->column > l->width)
            return;
        fputs(visible, l->f);
    }
}

static void addf(drawn_line *l, const char *format, ...) HS_PRINTF(2, 3);

static void addf(drawn_line *l, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add(l, text);
}

static void colour(const app_bars *b, const char *code)
{
    if (b->o.colour)
        fputs(code, b->o.stream);
}

/* "2210/s", "12k/s"; "0.31/s" */
static const char *rate_text(double rate, char text[16])
{
    if (!(rate > 0))
        strcpy(text, "");
    else if (rate >= 9999.5e3)
        snprintf(text, 16, "%.0fM/s", fmin(rate / 1e6, 9e8));
    else if (rate >= 9999.5)
        snprintf(text, 16, "%.0fk/s", rate / 1e3);
    else
        snprintf(text, 16, rate >= 9.95 ? "%.0f/s" : rate >= 0.995 ? "%.1f/s" : "%.2f/s", rate);
    return text;
}

static int percent(const bar_slot *slot)
{
    return slot->steps ? (int)(100 * (double)slot->step / (double)slot->steps) : 0;
}

static void draw_bar(const app_bars *b, drawn_line *l, const bar_slot *slot, size_t columns)
{
    const double share = slot->steps ? (double)slot->step / (double)slot->steps : 0;
    const size_t full = (size_t)(fmin(share, 1) * (double)columns + 0.5);
    colour(b, CYAN);
    for (size_t i = 0; i < columns; i++) {
        if (i == full) {
            colour(b, PLAIN);
            colour(b, DIM);
        }
        if (b->o.utf8)
            add(l, i < full ? "█" : "░");
        else
            add(l, i < full ? "#" : ".");
    }
    colour(b, PLAIN);
}

/* Fields appear as the line gets wider: percent and label; bar and time; rate; loss and acceptance. */
static void draw_slot(const app_bars *b, const bar_slot *slot)
{
    const size_t width = b->o.width - 1; /* a full line would wrap on some terminals */
    drawn_line l = { b->o.stream, 0, width };
    char text[APP_DURATION_TEXT], rate[16];
    if (width >= 40)
        addf(&l, "%-6.6s ", slot->what);
    if (width >= 60) {
        draw_bar(b, &l, slot, width >= 110 ? 24 : width >= 90 ? 16 : 10);
        add(&l, " ");
    }
    addf(&l, "%3d%% ", percent(slot));
    if (width >= 75)
        addf(&l, "%8s ", rate_text(slot->rate, rate));
    if (width >= 50) {
        const double left = app_bar_slot_left(slot);
        addf(&l, "%7s %s ", isnan(left) ? "" : app_duration(left, text),
             isnan(left) ? "    " : "left");
    }
    if (width >= 90) {
        if (isnan(slot->loss))
            addf(&l, "%15s", "");
        else
            addf(&l, "loss %-9.4g ", slot->loss);
    }
    if (width >= 70) {
        if (isnan(slot->alpha))
            addf(&l, "%9s", "");
        else
            addf(&l, "acc %.2f ", slot->alpha);
    }
    add(&l, slot->label);
    fputs(ERASE_LINE "\n", b->o.stream);
}

static void draw_total(const app_bars *b, double now, double left)
{
    char passed[APP_DURATION_TEXT], remaining[APP_DURATION_TEXT];
    drawn_line l = { b->o.stream, 0, b->o.width - 1 };
    addf(&l, "%zu of %zu done, %s so far", b->done, b->jobs, app_duration(now - b->began, passed));
    if (!isnan(left))
        addf(&l, ", about %s left", app_duration(left, remaining));
    fputs(ERASE_LINE "\n", b->o.stream);
}

static void up(app_bars *b)
{
    if (b->drawn)
        fprintf(b->o.stream, UP "\r", b->drawn);
    b->drawn = 0;
}

void app_bars_clear(app_bars *b)
{
    if (!b->drawn)
        return;
    up(b);
    fputs(ERASE_BELOW, b->o.stream);
    fflush(b->o.stream);
}

static size_t draw_lines(app_bars *b, double now, double left)
{
    fputs(HIDE_CURSOR, b->o.stream);
    up(b);
    const size_t room = b->o.height > 3 ? b->o.height - 2 : 1;
    size_t lines = 0;
    for (size_t i = 0; i < b->slots && lines < room; i++)
        if (b->slot[i].busy) {
            draw_slot(b, &b->slot[i]);
            lines++;
        }
    draw_total(b, now, left);
    fputs(ERASE_BELOW SHOW_CURSOR, b->o.stream);
    return lines + 1;
}

void app_bars_draw(app_bars *b, double now, double left, bool at_once)
{
    static const double pause = 0.1; /* faster is not seen */
    if (!at_once && b->drawn && now - b->drawn_at < pause)
        return;
    app_bars_measure(b);
    if (b->o.width < 10)
        return;
    /* Written at once, so that nothing flickers, and no signal comes between. */
    char *text = NULL;
    size_t size = 0;
    FILE *stream = b->o.stream, *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    b->o.stream = memory;
    const size_t lines = draw_lines(b, now, left);
    b->o.stream = stream;
    if (fclose(memory) == 0) {
        fwrite(text, 1, size, stream);
        fflush(stream);
        b->drawn = lines;
        b->drawn_at = now;
    }
    free(text);
}

void app_bars_plain_line(const bar_slot *slot, char *line, size_t size)
{
    char text[APP_DURATION_TEXT], rate[16];
    size_t n = 0;
    const double left = app_bar_slot_left(slot);
    n += (size_t)snprintf(line, size, "%s: %s %d%%", slot->label, slot->what, percent(slot));
    if (n < size && slot->rate > 0)
        n += (size_t)snprintf(line + n, size - n, ", %s", rate_text(slot->rate, rate));
    if (n < size && !isnan(left))
        n += (size_t)snprintf(line + n, size - n, ", %s left", app_duration(left, text));
    if (n < size && !isnan(slot->loss))
        n += (size_t)snprintf(line + n, size - n, ", loss %.4g", slot->loss);
    if (n < size && !isnan(slot->alpha))
        snprintf(line + n, size - n, ", acceptance %.2f", slot->alpha);
}
