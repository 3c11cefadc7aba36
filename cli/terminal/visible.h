/**
 * Texts from files and command lines, made visible for terminals: control characters, which a terminal would obey, and
 * bytes that are not UTF-8 are shown as \x1b.
 *
 *     app_print_visible(stderr, "a name with \x1b[31m in it");      // a name with \x1b[31m in it
 */
#ifndef HASTINGS_CLI_TERMINAL_VISIBLE_H
#define HASTINGS_CLI_TERMINAL_VISIBLE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/** Room for a visible character with its terminator. */
enum { APP_VISIBLE_TEXT = 16 };

/** Writes the first character of a text that is not empty into `visible`, and returns the text behind it. */
const char *app_visible(const char *text, char visible[APP_VISIBLE_TEXT]);

/** Columns that visible text takes on a terminal, one for each character. */
size_t app_visible_width(const char *text);

/** Prints a text visibly. */
void app_print_visible(FILE *f, const char *text);

/** The same in the manner of vprintf; a text for which there is no memory is cut. */
void app_vprint_visible(FILE *f, const char *format, va_list arguments);

#endif
