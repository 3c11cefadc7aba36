/**
 * Text that grows: pages and tables before they are files.
 *
 *     app_buffer page = { 0 };
 *     app_buffer_html(&page, "<p title=\"%s\">%s</p>\n", name, "a < b");   // a &lt; b
 *     hs_message message;
 *     if (app_buffer_save(&page, "page.html", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     app_buffer_free(&page);
 *
 * Without memory a text stops to grow, and remembers that it did: it is checked once, at the end.
 */
#ifndef HASTINGS_CLI_REPORT_BUFFER_H
#define HASTINGS_CLI_REPORT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <hastings/nn/file.h>

typedef struct {
    char *bytes; /**< ends in a zero; NULL while it is empty */
    size_t length, capacity;
    bool failed; /**< memory was short */
} app_buffer;

/** Appends text as it is. */
void app_buffer_put(app_buffer *buffer, const char *bytes);

/** Appends as printf() would. */
void app_buffer_print(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** The same, of the conversions %s, %d, %zu and %% alone; what %s stands for is escaped so that it can
 *  be content of HTML or, within double quotes, an attribute. A NULL is "". */
void app_buffer_html(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** The same for Markdown, also within its tables: punctuation is escaped, a line end is a blank. */
void app_buffer_markdown(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** Appends a field of CSV, quoted if that is needed (RFC 4180). */
void app_buffer_csv(app_buffer *buffer, const char *field);

/** Columns that UTF-8 text takes on a terminal, one for each character. */
size_t app_buffer_width(const char *utf8);

/** Writes it under another name beside `path`, and renames when all is on disk. HS_EIO if that cannot
 *  be done, HS_ENOMEM if the text had failed; either leaves what was at `path`. */
hs_status app_buffer_save(const app_buffer *buffer, const char *path,
                          hs_message *message) HS_MUST_CHECK;

/** Writes it to a stream. HS_EIO or HS_ENOMEM. */
hs_status app_buffer_write(const app_buffer *buffer, FILE *stream,
                           hs_message *message) HS_MUST_CHECK;

void app_buffer_free(app_buffer *buffer);

/** Fills the message, unless it is NULL, and returns the status. */
hs_status app_say(hs_message *message, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

#endif
