#include "csv_internal.h"

#include <ctype.h>
#include <string.h>

bool hs__span_is(span s, const char *text)
{
    return span_length(s) == strlen(text) && memcmp(s.at, text, span_length(s)) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

span hs__span_trim(span s)
{
    while (s.at < s.end && is_blank(*s.at))
        s.at++;
    while (s.end > s.at && is_blank(s.end[-1]))
        s.end--;
    return s;
}

bool hs__csv_next_line(csv_text *text, span *line)
{
    if (text->at == text->end)
        return false;
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *line = (span){ text->at, end ? end : text->end };
    text->at = end ? end + 1 : text->end;
    if (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    text->line++;
    return true;
}

bool hs__csv_is_word(const char *text, const char *const *words)
{
    for (; *words; words++) {
        size_t i = 0;
        while (text[i] && tolower((unsigned char)text[i]) == (*words)[i])
            i++;
        if (!text[i] && !(*words)[i])
            return true;
    }
    return false;
}

bool hs__csv_begin_numbers(csv_locale *locale)
{
    locale->own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (locale->own == (locale_t)0)
        return false;
    locale->before = uselocale(locale->own);
    return true;
}

void hs__csv_end_numbers(csv_locale *locale)
{
    uselocale(locale->before);
    freelocale(locale->own);
}
