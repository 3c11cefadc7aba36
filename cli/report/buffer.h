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
 * A table in Markdown grows cell by cell:
 *
 *     app_buffer_headings(&page, (const char *[]){ "case", "steps/s", NULL });
 *     app_buffer_cell(&page, "%s", "cross");
 *     app_buffer_number(&page, 2546.3, "");
 *     app_buffer_line(&page);                                             // | cross | 2546 |
 *
 * A text that runs out of memory stops to grow and sets `failed`: check it once, at the end. Saving
 * and writing do. The caller owns the text; one thread at a time may use it.
 */
#ifndef HASTINGS_CLI_REPORT_BUFFER_H
#define HASTINGS_CLI_REPORT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <hastings/nn/file.h>

/** A text; all zeros is the empty one. */
typedef struct {
    char *bytes;     /**< the text, which ends in a zero; NULL while it is empty */
    size_t length;   /**< bytes of the text without the zero */
    size_t capacity; /**< bytes that are allocated */
    bool failed;     /**< memory was short */
} app_buffer;

/** Appends text as it is. */
void app_buffer_put(app_buffer *buffer, const char *bytes);

/** Appends as printf() would. */
void app_buffer_print(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** Appends HTML as printf() would, with the conversions %s, %d, %zu and %% alone. The text for a %s
 *  is escaped: it can be content or, within double quotes, an attribute. A NULL is "". */
void app_buffer_html(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** Appends Markdown likewise. In the text for a %s, which may be a cell of a table, punctuation is
 *  escaped, and a line end is a blank. */
void app_buffer_markdown(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/* ---- Tables in Markdown ---- */

/** Appends the headings of a table, which a NULL ends, and the line below them. */
void app_buffer_headings(app_buffer *buffer, const char *const *headings);

/** Appends a cell with a text as app_buffer_markdown() makes it. The first cell begins the line. */
void app_buffer_cell(app_buffer *buffer, const char *format, ...) HS_PRINTF(2, 3);

/** Appends a cell with a number as app_number_text() writes it. */
void app_buffer_number(app_buffer *buffer, double x, const char *unit);

/** Ends a line of cells. */
void app_buffer_line(app_buffer *buffer);

/** Room for a number with its unit. */
enum { APP_NUMBER_TEXT = 48 };

/** Writes three digits of a number, or all before the point of one from 100 on, and the unit. The
 *  text of a number that is not finite is "-". Returns text. */
const char *app_number_text(double x, const char *unit, char text[APP_NUMBER_TEXT]);

/* ---- CSV and files ---- */

/** Appends a field of CSV, quoted if that is needed (RFC 4180). A text that a spreadsheet would run as a formula, such
 *  as =1+1, gets an apostrophe in front; a number stays as it is. */
void app_buffer_csv(app_buffer *buffer, const char *field);

/** Writes the text to a file that has another name until all of it is on disk. HS_EIO if that fails,
 *  HS_ENOMEM if the text had failed; either leaves the old file at `path`. */
hs_status app_buffer_save(const app_buffer *buffer, const char *path,
                          hs_message *message) HS_MUST_CHECK;

/** Writes the text to a stream. HS_EIO or HS_ENOMEM. */
hs_status app_buffer_write(const app_buffer *buffer, FILE *stream,
                           hs_message *message) HS_MUST_CHECK;

/** Frees the text, which is empty then. NULL is allowed. */
void app_buffer_free(app_buffer *buffer);

#endif
