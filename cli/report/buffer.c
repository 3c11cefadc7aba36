#include <hastings/cli/report/buffer.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>

/* ---- Growing ------------------------------------------------------------------------------ */

/* Room for n more bytes and a zero. */
static bool reserve(app_buffer *b, size_t n)
{
    if (b->failed)
        return false;
    if (b->capacity - b->length > n)
        return true;
    const size_t least = b->length + n + 1;
    const size_t size = least < SIZE_MAX / 4 ? 2 * least + 256 : 0;
    char *bytes = size ? hs_grow(b->bytes, b->length + (b->bytes != NULL), size) : NULL;
    b->failed = !bytes;
    if (bytes) {
        b->bytes = bytes;
        b->capacity = size;
    }
    return bytes != NULL;
}

static void put_bytes(app_buffer *b, const char *bytes, size_t n)
{
    if (!reserve(b, n))
        return;
    memcpy(b->bytes + b->length, bytes, n);
    b->length += n;
    b->bytes[b->length] = '\0';
}

void app_buffer_put(app_buffer *b, const char *bytes)
{
    put_bytes(b, bytes, strlen(bytes));
}

void app_buffer_print(app_buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0 || !reserve(b, (size_t)n)) {
        b->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(b->bytes + b->length, (size_t)n + 1, format, arguments);
    va_end(arguments);
    b->length += (size_t)n;
}

/* ---- Escaping ----------------------------------------------------------------------------- */

static void put_html(app_buffer *b, char c)
{
    switch (c) {
    case '&':
        app_buffer_put(b, "&amp;");
        break;
    case '<':
        app_buffer_put(b, "&lt;");
        break;
    case '>':
        app_buffer_put(b, "&gt;");
        break;
    case '"':
        app_buffer_put(b, "&quot;");
        break;
    case '\'':
        app_buffer_put(b, "&#39;");
        break;
    default:
        /* other control characters are no part of HTML */
        if ((unsigned char)c >= ' ' || c == '\n' || c == '\t')
            put_bytes(b, &c, 1);
    }
}

static void put_markdown(app_buffer *b, char c)
{
    if (c == '<' || c == '>' || c == '&') {
        put_html(b, c);
    } else if (c == '\n' || c == '\r') {
        put_bytes(b, " ", 1);
    } else if ((unsigned char)c >= ' ' || c == '\t') {
        if (strchr("\\`*_[]|#~", c))
            put_bytes(b, "\\", 1);
        put_bytes(b, &c, 1);
    }
}

static void put_escaped(app_buffer *b, void (*put)(app_buffer *b, char c), const char *format,
                        va_list arguments)
{
    for (const char *at = format; *at; at++) {
        if (*at != '%') {
            put_bytes(b, at, 1);
        } else if (at[1] == 's') {
            const char *s = va_arg(arguments, const char *);
            for (; s && *s; s++)
                put(b, *s);
            at++;
        } else if (at[1] == 'd') {
            app_buffer_print(b, "%d", va_arg(arguments, int));
            at++;
        } else if (at[1] == 'z' && at[2] == 'u') {
            app_buffer_print(b, "%zu", va_arg(arguments, size_t));
            at += 2;
        } else {
            put_bytes(b, "%", 1);
            at += at[1] == '%';
        }
    }
}

void app_buffer_html(app_buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_escaped(b, put_html, format, arguments);
    va_end(arguments);
}

void app_buffer_markdown(app_buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_escaped(b, put_markdown, format, arguments);
    va_end(arguments);
}

/* ---- Tables in Markdown ------------------------------------------------------------------- */

void app_buffer_cell(app_buffer *b, const char *format, ...)
{
    app_buffer_put(b, !b->length || b->bytes[b->length - 1] == '\n' ? "| " : " ");
    const size_t before = b->length;
    va_list arguments;
    va_start(arguments, format);
    put_escaped(b, put_markdown, format, arguments);
    va_end(arguments);
    app_buffer_put(b, b->length > before ? " |" : "|");
}

void app_buffer_line(app_buffer *b)
{
    app_buffer_put(b, "\n");
}

void app_buffer_headings(app_buffer *b, const char *const *headings)
{
    for (size_t i = 0; headings[i]; i++)
        app_buffer_cell(b, "%s", headings[i]);
    app_buffer_put(b, "\n|");
    for (size_t i = 0; headings[i]; i++)
        app_buffer_put(b, "---|");
    app_buffer_line(b);
}

const char *app_number_text(double x, const char *unit, char text[APP_NUMBER_TEXT])
{
    if (isfinite(x))
        snprintf(text, APP_NUMBER_TEXT, fabs(x) >= 99.95 ? "%.0f%s" : "%.3g%s", x, unit);
    else
        snprintf(text, APP_NUMBER_TEXT, "-");
    return text;
}

void app_buffer_number(app_buffer *b, double x, const char *unit)
{
    char text[APP_NUMBER_TEXT];
    app_buffer_cell(b, "%s", app_number_text(x, unit, text));
}

/* ---- CSV and terminals -------------------------------------------------------------------- */

/* Whether a spreadsheet would run a text as a formula. A number such as -1 is none, nor is a lone sign. */
static bool is_formula(const char *field)
{
    char *end;
    if (!*field || !field[1] || !strchr("=+-@\t\r", *field))
        return false;
    (void)strtod(field, &end);
    return end == field || *end != '\0';
}

void app_buffer_csv(app_buffer *b, const char *field)
{
    const char *const sign = is_formula(field) ? "'" : ""; /* spreadsheets take the rest as text */
    if (!field[strcspn(field, "\",\r\n")]) {
        app_buffer_put(b, sign);
        app_buffer_put(b, field);
        return;
    }
    put_bytes(b, "\"", 1);
    app_buffer_put(b, sign);
    for (; *field; field++) {
        if (*field == '"')
            put_bytes(b, "\"", 1);
        put_bytes(b, field, 1);
    }
    put_bytes(b, "\"", 1);
}

/* ---- Files -------------------------------------------------------------------------------- */

hs_status app_buffer_save(const app_buffer *b, const char *path, hs_message *message)
{
    if (b->failed)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", path);
    return hs_file_save(path, b->bytes ? b->bytes : "", b->length, message);
}

hs_status app_buffer_write(const app_buffer *b, FILE *stream, hs_message *message)
{
    hs_message_clear(message);
    if (b->failed)
        return hs_message_fail(message, HS_ENOMEM, "out of memory for a text of %zu bytes",
                               b->length);
    if ((b->length && fwrite(b->bytes, 1, b->length, stream) != b->length) || fflush(stream) != 0)
        return hs_message_fail(message, HS_EIO, "cannot write: %s", strerror(errno));
    return HS_OK;
}

void app_buffer_free(app_buffer *b)
{
    if (b)
        hs_free(b->bytes);
    if (b)
        *b = (app_buffer){ 0 };
}
