#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/visible.h>

/* Bytes of the UTF-8 character at the beginning of a text, and its number; 0 if there is none. */
static size_t decode(const char *text, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char first = (unsigned char)*text;
    const size_t n = first < 0x80             ? 1
                     : (first & 0xe0) == 0xc0 ? 2
                     : (first & 0xf0) == 0xe0 ? 3
                     : (first & 0xf8) == 0xf0 ? 4
                                              : 0;
    *code = n < 2 ? first : first & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) /* the text's end too */
            return 0;
        *code = *code << 6 | ((unsigned char)text[i] & 0x3fU);
    }
    return *code < least[n] || *code > 0x10ffff ? 0 : n;
}

const char *app_visible(const char *text, char visible[APP_VISIBLE_TEXT])
{
    uint32_t code;
    const size_t n = decode(text, &code);
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (n == 0 || control) {
        snprintf(visible, APP_VISIBLE_TEXT, "\\x%02x",
                 n ? (unsigned)code : (unsigned)(unsigned char)*text);
        return text + (n ? n : 1);
    }
    memcpy(visible, text, n);
    visible[n] = '\0';
    return text + n;
}

size_t app_visible_width(const char *text)
{
    size_t width = 0;
    char visible[APP_VISIBLE_TEXT];
    while (*text) {
        text = app_visible(text, visible);
        width += visible[0] == '\\' ? strlen(visible) : 1;
    }
    return width;
}

void app_print_visible(FILE *f, const char *text)
{
    char visible[APP_VISIBLE_TEXT];
    while (*text) {
        text = app_visible(text, visible);
        fputs(visible, f);
    }
}

void app_vprint_visible(FILE *f, const char *format, va_list arguments)
{
    char start[512], *all = NULL;
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(start, sizeof start, format, arguments);
    if (n >= (int)sizeof start)
        all = malloc((size_t)n + 1);
    if (all)
        vsnprintf(all, (size_t)n + 1, format, again);
    va_end(again);
    app_print_visible(f, all ? all : start);
    free(all);
}
