/* Cairo's SVG made fit for pages: one element that scales, with unique ids. Cairo's own ids come
 * from counters of the process: every figure has a glyph-0-1. Here an id is a hash of the whole
 * text and a number in order of appearance. */
#include "plot_internal.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/memory.h>

/* Stands before each id until the hash is known; Cairo, and clean titles, have no such bytes. */
static const char blank[] = "\1\1\1\1\1\1\1\1\1\1";
enum { PREFIX = sizeof blank - 1 };

void app_plot_bytes_add(plot_bytes *bytes, const char *data, size_t n)
{
    if (bytes->failed)
        return;
    if (n >= bytes->size - bytes->used) {
        const size_t size = (bytes->size < 1 << 14 ? 1 << 14 : 2 * bytes->size) + n;
        char *grown = hs_grow(bytes->data, bytes->used, size);
        if (!grown) {
            bytes->failed = true;
            return;
        }
        bytes->data = grown;
        bytes->size = size;
    }
    memcpy(bytes->data + bytes->used, data, n);
    bytes->used += n;
    bytes->data[bytes->used] = '\0';
}

static void add_text(plot_bytes *bytes, const char *text)
{
    app_plot_bytes_add(bytes, text, strlen(text));
}

static void add_escaped(plot_bytes *bytes, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            add_text(bytes, "&amp;");
            break;
        case '<':
            add_text(bytes, "&lt;");
            break;
        case '"':
            add_text(bytes, "&quot;");
            break;
        default:
            app_plot_bytes_add(bytes, text, 1);
        }
    }
}

/* An id of Cairo's: bytes of its text. */
typedef struct {
    const char *name;
    size_t length;
} id;

typedef struct {
    id *ids;
    size_t count, capacity;
} id_list;

/* If an id stands at `text`, behind one of the ways to name one, sets it and returns where it is. */
static const char *find_id(const char *text, const char *end, id *found)
{
    static const struct {
        const char *before;
        char after;
    } ways[] = { { " id=\"", '"' }, { "href=\"#", '"' }, { "url(#", ')' } };
    for (; text < end; text++) {
        if (*text != ' ' && *text != 'h' && *text != 'u')
            continue;
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            const size_t n = strlen(ways[i].before);
            if ((size_t)(end - text) <= n || memcmp(text, ways[i].before, n) != 0)
                continue;
            const char *name = text + n, *stop = memchr(name, ways[i].after, (size_t)(end - name));
            if (!stop)
                continue;
            *found = (id){ name, (size_t)(stop - name) };
            return name;
        }
    }
    return NULL;
}

/* The number of an id; a new one gets the next. SIZE_MAX if memory is short. */
static size_t number_of(id_list *list, id name)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ids[i].length == name.length &&
            memcmp(list->ids[i].name, name.name, name.length) == 0)
            return i;
    if (list->count == list->capacity) {
        const size_t capacity = 2 * list->capacity + 64;
        id *grown = hs_grow(list->ids, list->count * sizeof *grown, capacity * sizeof *grown);
        if (!grown)
            return SIZE_MAX;
        list->ids = grown;
        list->capacity = capacity;
    }
    list->ids[list->count] = name;
    return list->count++;
}

/* Copies with new ids, whose prefix is left to be filled in. */
static void add_renamed(plot_bytes *to, id_list *list, const char *text, const char *end)
{
    id found;
    for (const char *name; (name = find_id(text, end, &found)); text = name + found.length) {
        const size_t number = number_of(list, found);
        if (number == SIZE_MAX)
            to->failed = true;
        char renamed[PREFIX + 24];
        snprintf(renamed, sizeof renamed, "%s%zu", blank, number);
        app_plot_bytes_add(to, text, (size_t)(name - text));
        add_text(to, renamed);
    }
    app_plot_bytes_add(to, text, (size_t)(end - text));
}

/* FNV-1a of 64 bits, folded to 32. */
static uint32_t hash(const char *text, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return (uint32_t)(h ^ h >> 32);
}

static void fill_prefixes(plot_bytes *bytes)
{
    char prefix[PREFIX + 1];
    snprintf(prefix, sizeof prefix, "h%08" PRIx32 "-", hash(bytes->data, bytes->used));
    for (char *at = bytes->data; (at = strstr(at, blank)); at += PREFIX)
        memcpy(at, prefix, PREFIX);
}

hs_status app_plot_svg_finish(const plot_bytes *cairo, double width, double height,
                              const char *title, plot_bytes *finished)
{
    const char *open = strstr(cairo->data, "<svg "), *body = open ? strchr(open, '>') : NULL;
    if (!body)
        return HS_EFORMAT;
    char size[256];
    snprintf(size, sizeof size,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%g\" height=\"%g\" "
             "viewBox=\"0 0 %g %g\" style=\"max-width:100%%;height:auto\" role=\"img\"",
             width, height, width, height);
    add_text(finished, size);
    if (title && *title) {
        add_text(finished, " aria-label=\"");
        char clean[PLOT_TEXT];
        app_plot_text_clean(title, clean);
        add_escaped(finished, clean);
        add_text(finished, "\"");
    }
    id_list list = { NULL, 0, 0 };
    add_renamed(finished, &list, body, cairo->data + cairo->used);
    hs_free(list.ids);
    if (finished->failed)
        return HS_ENOMEM;
    fill_prefixes(finished);
    return HS_OK;
}
