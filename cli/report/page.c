/* What the sections of a page share. */
#include "page_internal.h"

#include <stdarg.h>
#include <string.h>

/* Pictures beyond this are links to their files, so that a page opens at once and can be mailed. */
enum { MOST_PICTURE_BYTES = 4 << 20 };

void app_page_section(page *p, const char *id, const char *title)
{
    if (p->sections < PAGE_SECTIONS) {
        p->section[p->sections].id = id;
        p->section[p->sections++].title = title;
    }
    app_buffer_html(&p->html, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

void app_page_section_end(page *p)
{
    app_buffer_put(&p->html, "</section>\n");
    hs_arena_free(&p->memory);
}

const char *app_page_text(page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = n >= 0 ? hs_arena_alloc(&p->memory, (size_t)n + 1) : NULL;
    if (!text)
        return "";
    va_start(arguments, format);
    vsnprintf(text, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return text;
}

double *app_page_numbers(page *p, const json_t *array, size_t *count)
{
    *count = 0;
    const size_t n = json_array_size(array);
    double *numbers = n ? hs_arena_alloc(&p->memory, n * sizeof *numbers) : NULL;
    for (size_t i = 0; numbers && i < n; i++) {
        const json_t *value = json_array_get(array, i);
        numbers[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    if (numbers)
        *count = n;
    return numbers;
}

bool app_page_wants_log(const double *numbers, size_t n)
{
    double least = (double)INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (numbers[i] <= 0)
            return false;
        least = fmin(least, numbers[i]); /* which skips NaN */
        most = fmax(most, numbers[i]);
    }
    return most > 30 * least;
}

const char *app_page_time(double seconds, char text[PAGE_TIME])
{
    text[0] = '\0';
    if (!(seconds >= 0 && seconds < 1e9))
        return text;
    const long whole = lround(seconds);
    if (seconds < 10)
        snprintf(text, PAGE_TIME, "%.1f s", seconds);
    else if (whole < 60)
        snprintf(text, PAGE_TIME, "%ld s", whole);
    else if (whole < 3600)
        snprintf(text, PAGE_TIME, "%ld min %ld s", whole / 60, whole % 60);
    else
        snprintf(text, PAGE_TIME, "%ld h %ld min", whole / 3600, whole % 3600 / 60);
    return text;
}

const json_t *app_page_job(const page *p, const char *case_name, const char *row)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        if (is_shown(job) && strcmp(app_text_of(job, "case"), case_name) == 0 &&
            strcmp(app_text_of(job, "row"), row) == 0)
            return job;
    }
    return NULL;
}

/* ---- Pictures ------------------------------------------------------------------------------- */

/* A name that every file system takes, and that cannot lead elsewhere. */
static void safe_name(char *safe, size_t size, const char *name, const char *kind)
{
    snprintf(safe, size, "%.180s%s%.40s", name, name[0] && kind[0] ? "-" : "", kind);
    for (char *c = safe; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c) ||
            (*c == '.' && c == safe))
            *c = '-';
}

void app_picture_begin(picture *pic, const page *p, const char *name, const char *kind)
{
    *pic = (picture){ .svg = NULL };
    safe_name(pic->name, sizeof pic->name, name, kind);
    snprintf(pic->svg_path, sizeof pic->svg_path, "%.3800s/figures/%s.svg", p->folder, pic->name);
    snprintf(pic->png_path, sizeof pic->png_path, "%.3800s/figures/%s.png", p->folder, pic->name);
    pic->out =
        (app_figure_out){ .svg_path = pic->svg_path, .png_path = pic->png_path, .svg = &pic->svg };
}

void app_picture_end(picture *pic, page *p, hs_status status, const hs_message *message,
                     const char *alt, const char *caption)
{
    const size_t length = pic->svg ? strlen(pic->svg) : 0;
    if (status == HS_EIO && p->status == HS_OK) {
        p->status = status;
        p->message = *message;
    }
    if (status != HS_OK || !pic->svg) {
        app_buffer_html(&p->html,
                        "<p class=\"missing\">%s: this picture could not be drawn: %s</p>\n",
                        caption, message->text);
    } else if (p->pictures + length > MOST_PICTURE_BYTES) {
        app_buffer_html(
            &p->html,
            "<p class=\"missing\">%s: see <a href=\"figures/%s.svg\">figures/%s.svg</a></p>\n",
            caption, pic->name, pic->name);
    } else {
        p->pictures += length;
        app_buffer_put(&p->html, pic->wide ? "<figure class=\"wide\">\n" : "<figure>\n");
        app_buffer_html(&p->html,
                        "<div class=\"picture\" role=\"img\" aria-label=\"%s\" tabindex=\"0\">\n",
                        alt);
        app_buffer_put(&p->html, pic->svg);
        app_buffer_html(
            &p->html,
            "</div>\n<figcaption><span>%s</span> <a class=\"file\" href=\"figures/%s.png\" "
            "title=\"the picture as a file\">PNG</a></figcaption>\n</figure>\n",
            caption, pic->name);
    }
    hs_free(pic->svg);
    pic->svg = NULL;
}
