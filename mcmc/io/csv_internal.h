/* Lines, fields and numbers of CSV files. */
#ifndef HASTINGS_MCMC_IO_CSV_INTERNAL_H
#define HASTINGS_MCMC_IO_CSV_INTERNAL_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *at, *end;
} span;

static inline size_t span_length(span s)
{
    return (size_t)(s.end - s.at);
}

/* What to print of it with "%.*s". */
static inline int span_shown(span s, int most)
{
    return span_length(s) < (size_t)most ? (int)span_length(s) : most;
}

bool hs__span_is(span s, const char *text);

/* Without blanks at its ends. */
span hs__span_trim(span s);

/* A text that is still to be read. */
typedef struct {
    const char *at, *end;
    size_t line; /* number of the line that was read last */
} csv_text;

/* Takes the next line, without its end (LF or CRLF); false if there is none. */
bool hs__csv_next_line(csv_text *text, span *line);

/* Whether a text is one of these words (the last is NULL), which are in lower case, in any case. */
bool hs__csv_is_word(const char *text, const char *const *words);

/* Switches this thread to numbers with a decimal point; returns what hs__csv_end_numbers() wants. */
typedef struct {
    locale_t own, before;
} csv_locale;

bool hs__csv_begin_numbers(csv_locale *locale);
void hs__csv_end_numbers(csv_locale *locale);

#endif
