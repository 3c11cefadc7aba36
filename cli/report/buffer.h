/**
 * Text that grows: pages and tables before they are files.
 *
 *     hs_buffer page = { 0 };
 *     hs_buffer_html(&page, "<p title=\"%s\">%s</p>\n", name, "a < b");   // a &lt; b
 *     hs_message message;
 *     if (hs_buffer_save(&page, "page.html", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     hs_buffer_free(&page);
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
} hs_buffer;

/** Appends text as it is. */
void hs_buffer_put(hs_buffer *buffer, const char *bytes);

/** Appends as printf() would. */
void hs_buffer_print(hs_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** The same, of the conversions %s, %d, %zu and %% alone; what %s stands for is escaped so that it can
 *  be content of HTML or, within double quotes, an attribute. A NULL is "". */
void hs_buffer_html(hs_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** The same for Markdown, also within its tables: punctuation is escaped, a line end is a blank. */
void hs_buffer_markdown(hs_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** Appends a field of CSV, quoted if that is needed (RFC 4180). */
void hs_buffer_csv(hs_buffer *buffer, const char *field);

/** Columns that UTF-8 text takes on a terminal, one for each character. */
size_t hs_buffer_width(const char *utf8);

/** Writes it under another name beside `path`, and renames when all is on disk. HS_EIO if that cannot
 *  be done, HS_ENOMEM if the text had failed; either leaves what was at `path`. */
hs_status hs_buffer_save(const hs_buffer *buffer, const char *path,
                         hs_message *message) HS_MUST_CHECK;

/** Writes it to a stream. HS_EIO or HS_ENOMEM. */
hs_status hs_buffer_write(const hs_buffer *buffer, FILE *stream, hs_message *message) HS_MUST_CHECK;

void hs_buffer_free(hs_buffer *buffer);

/** Fills the message, unless it is NULL, and returns the status. */
hs_status hs_say(hs_message *message, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

#endif
