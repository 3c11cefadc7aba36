/* CSV files: a header, then numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv_internal.h"
#include "dataset_internal.h"

enum { LONGEST_NUMBER = 63, SHOWN = 40 };

typedef struct {
    const char *path;
    csv_text text;
    hs_message *message;
    const char *const *names; /* [columns], once known */
} scanner;

/* ---- Fields ---------------------------------------------------------------------------------- */

/* Takes the field up to the next comma that is not in quotes; *last tells that none followed. */
static span next_field(span *line, bool *last)
{
    bool quoted = false;
    const char *p = line->at;
    for (; p < line->end && (quoted || *p != ','); p++)
        quoted = quoted != (*p == '"');
    span field = hs__span_trim((span){ line->at, p });
    *last = p == line->end;
    line->at = *last ? p : p + 1;
    if (field.end - field.at >= 2 && *field.at == '"' && field.end[-1] == '"')
        field = hs__span_trim((span){ field.at + 1, field.end - 1 });
    return field;
}

static size_t count_fields(span line)
{
    size_t count = 0;
    for (bool last = false; !last; count++)
        next_field(&line, &last);
    return count;
}

#define AT_FIELD(s, column) (s)->path, (s)->text.line, (column) + 1, (s)->names[column]
#define FIELD_FAIL(s, column, status, format, ...)                                                 \
    hs_message_fail((s)->message, status, "%.300s, line %zu, column %zu (%.60s): " format,         \
                    AT_FIELD(s, column), __VA_ARGS__)

/* ---- Numbers --------------------------------------------------------------------------------- */

static hs_status parse_number(const scanner *s, size_t column, span field, double *value)
{
    static const char *const missing[] = { "", "?", "na", "n/a", "null", "none", NULL };
    static const char *const nonfinite[] = { "nan",  "+nan",     "-nan",      "inf", "+inf",
                                             "-inf", "infinity", "-infinity", NULL };
    char text[LONGEST_NUMBER + 1] = "";
    const size_t length = (size_t)(field.end - field.at);
    if (length > LONGEST_NUMBER)
        return FIELD_FAIL(s, column, HS_EFORMAT, "\"%.*s...\" (%zu characters) is not a number",
                          SHOWN, field.at, length);
    memcpy(text, field.at, length);
    if (hs__csv_is_word(text, missing))
        return FIELD_FAIL(s, column, HS_EFORMAT, "the value is missing%s%s%s", length ? " (" : "",
                          text, length ? ")" : "");
    if (hs__csv_is_word(text, nonfinite))
        return FIELD_FAIL(s, column, HS_ENONFINITE, "%s is not a finite number", text);
    char *end = text;
    if (strspn(text, "0123456789+-.eE") == length)
        *value = strtod(text, &end);
    if (end == text || *end)
        return FIELD_FAIL(
            s, column, HS_EFORMAT,
            "\"%.*s\" is not a number; categories must be made columns of 0 and 1 first", SHOWN,
            text);
    if (!isfinite(*value))
        return FIELD_FAIL(s, column, HS_ENONFINITE, "%.*s is too large for a number", SHOWN, text);
    return HS_OK;
}

static bool looks_like_number(span field)
{
    return field.at < field.end && strchr("0123456789+-.", *field.at) != NULL;
}

/* ---- The header ------------------------------------------------------------------------------ */

static hs_status read_header(scanner *s, hs_arena *arena, size_t *columns, size_t most)
{
    span line;
    if (!hs__csv_next_line(&s->text, &line) || hs__span_trim(line).at == hs__span_trim(line).end)
        return hs_message_fail(s->message, HS_EFORMAT, "%.300s: %s", s->path,
                               s->text.at == s->text.end ? "the file is empty"
                                                         : "line 1, the header, is empty");
    const size_t count = count_fields(line);
    if (count > most)
        return hs_message_fail(s->message, HS_EOVERFLOW,
                               "%.300s, line 1: %zu columns, the limit is %zu features and a label",
                               s->path, count, most - 1);
    if (count < 2)
        return hs_message_fail(
            s->message, HS_EFORMAT,
            "%.300s, line 1: one column only, expected features and a label, separated by commas",
            s->path);
    const char **names = hs_arena_alloc(arena, count * sizeof *names);
    bool last, numbers = true;
    for (size_t i = 0; names && i < count; i++) {
        const span field = next_field(&line, &last);
        const size_t length = (size_t)(field.end - field.at);
        char *name = hs_arena_alloc(arena, length + 1);
        if (!name) {
            names = NULL;
            break;
        }
        memcpy(name, field.at, length);
        name[length] = '\0';
        names[i] = name;
        numbers = numbers && looks_like_number(field);
        if (length == 0)
            return hs_message_fail(s->message, HS_EFORMAT, "%.300s, line 1, column %zu has no name",
                                   s->path, i + 1);
    }
    if (!names)
        return hs_message_fail(s->message, HS_ENOMEM, "%.300s: out of memory for its header",
                               s->path);
    if (numbers)
        return hs_message_fail(
            s->message, HS_EFORMAT,
            "%.300s, line 1 has numbers where the names of columns were expected", s->path);
    s->names = names;
    *columns = count;
    return HS_OK;
}

static hs_status find_label(const scanner *s, const hs_dataset_options *o, size_t columns,
                            size_t *label)
{
    *label = o->label_column ? o->label_column - 1 : columns - 1;
    if (!o->label && *label >= columns)
        return hs_message_fail(s->message, HS_EINVAL,
                               "%.300s: no column %zu for the label, it has %zu", s->path,
                               o->label_column, columns);
    size_t found = 0;
    for (size_t i = 0; o->label && i < columns; i++) {
        if (strcmp(s->names[i], o->label) == 0) {
            *label = i;
            found++;
        }
    }
    if (o->label && found != 1)
        return hs_message_fail(s->message, HS_EINVAL, "%.300s: %s column is called \"%.60s\"",
                               s->path, found ? "more than one" : "no", o->label);
    return HS_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Lines that are left, without empty ones at the end. All must have the header's columns: memory for them is taken
 * next, and short lines would take more than the text has. */
static hs_status count_rows(scanner s, size_t columns, size_t *rows)
{
    const size_t first = s.text.line;
    size_t wrong_line = 0, wrong = 0;
    *rows = 0;
    for (span line; hs__csv_next_line(&s.text, &line);) {
        const bool empty = hs__span_trim(line).at == hs__span_trim(line).end;
        const size_t count = empty ? 0 : count_fields(line);
        if (count != columns && !wrong_line) {
            wrong_line = s.text.line;
            wrong = count;
        }
        if (!empty)
            *rows = s.text.line - first;
        if (wrong_line && *rows >= wrong_line - first)
            return hs_message_fail(s.message, HS_EFORMAT,
                                   "%.300s, line %zu has %zu columns, the header has %zu", s.path,
                                   wrong_line, wrong, columns);
    }
    return HS_OK;
}

static hs_status read_row(const scanner *s, span line, size_t columns, size_t label, double *x,
                          double *y)
{
    bool last;
    for (size_t i = 0; i < columns; i++) {
        double value = 0;
        const hs_status status = parse_number(s, i, next_field(&line, &last), &value);
        if (status != HS_OK)
            return status;
        if (i != label)
            *x++ = value;
        else if (value == 0 || value == 1)
            *y = value;
        else
            return FIELD_FAIL(s, i, HS_EFORMAT, "the label is %g, expected 0 or 1", value);
    }
    return HS_OK;
}

enum { ROWS_BETWEEN_LOOKS = 256 }; /* for an interruption */

/* Reads the rows with the decimal point of the C locale, on this thread only. */
static hs_status read_rows(scanner *s, hs_dataset *d, const hs_dataset_options *o, size_t label)
{
    csv_locale locale;
    if (!hs__csv_begin_numbers(&locale))
        return hs_message_fail(s->message, HS_ENOMEM, "%.300s: no \"C\" locale", s->path);
    hs_status status = HS_OK;
    for (size_t r = 0; r < d->rows && status == HS_OK; r++) {
        span line = { NULL, NULL };
        hs__csv_next_line(&s->text, &line);
        status = read_row(s, line, d->features + 1, label, hs__dataset_row(d, r), &d->y[r]);
        if (status == HS_OK && r % ROWS_BETWEEN_LOOKS == 0 && o->interrupted &&
            o->interrupted(o->context))
            status = hs_message_fail(s->message, HS_EINTERRUPTED, "%.300s: %s", s->path,
                                     hs_status_text(HS_EINTERRUPTED));
    }
    hs__csv_end_numbers(&locale);
    return status;
}

static hs_status standardise(hs_dataset *d, bool allow_constant, const char *path,
                             hs_message *message)
{
    const size_t first = d->columns - d->features;
    for (size_t i = first; i < d->columns; i++) {
        double mean = 0, variance = 0;
        bool varies = false;
        for (size_t r = 0; r < d->rows; r++) {
            mean += d->x[r * d->columns + i] / (double)d->rows;
            varies = varies || d->x[r * d->columns + i] != d->x[i];
        }
        for (size_t r = 0; r < d->rows; r++) {
            const double c = d->x[r * d->columns + i] - mean;
            variance += c * c / (double)d->rows;
        }
        if (!varies && !allow_constant)
            return hs_message_fail(
                message, HS_EINVAL,
                "%.300s: column \"%.60s\" has the value %g in all rows and cannot be standardised",
                path, d->names[i], d->x[i]);
        if (!isfinite(variance) || (varies && !(variance > 0)))
            return hs_message_fail(message, HS_EINVAL,
                                   "%.300s: column \"%.60s\" is too %s to be standardised", path,
                                   d->names[i], variance > 0 ? "large" : "nearly constant");
        d->mean[i] = varies ? mean : d->x[i];
        d->sd[i] = varies ? sqrt(variance) : 1;
        for (size_t r = 0; r < d->rows; r++)
            d->x[r * d->columns + i] = (d->x[r * d->columns + i] - d->mean[i]) / d->sd[i];
    }
    return HS_OK;
}

static hs_status name_columns(const scanner *s, hs_dataset *d, size_t label)
{
    size_t at = d->columns - d->features;
    for (size_t i = 0; i <= d->features; i++) {
        const char *name = hs_arena_string(&d->text, s->names[i]);
        if (!name)
            return hs_message_fail(s->message, HS_ENOMEM, "%.300s: out of memory", s->path);
        if (i == label)
            d->label = name;
        else
            d->names[at++] = name;
    }
    return HS_OK;
}

static hs_status parse(scanner *s, const hs_dataset_options *o, hs_arena *arena, hs_dataset **data)
{
    size_t columns = 0, label = 0;
    hs_status status = read_header(s, arena, &columns, o->max_features + 1);
    if (status == HS_OK)
        status = find_label(s, o, columns, &label);
    if (status != HS_OK)
        return status;
    size_t rows = 0;
    status = count_rows(*s, columns, &rows);
    if (status != HS_OK)
        return status;
    if (rows == 0)
        return hs_message_fail(s->message, HS_EFORMAT, "%.300s: no rows follow the header",
                               s->path);
    status = hs__dataset_new(data, rows, columns - 1, o, s->path, s->message);
    if (status == HS_OK)
        status = name_columns(s, *data, label);
    if (status == HS_OK)
        status = read_rows(s, *data, o, label);
    if (status == HS_OK)
        status = hs__dataset_count_labels(*data, s->path, s->message);
    if (status == HS_OK && !o->raw)
        status = standardise(*data, o->allow_constant, s->path, s->message);
    return status;
}

hs_status hs_dataset_load_csv(hs_dataset **data, const char *path,
                              const hs_dataset_options *options, hs_message *message)
{
    hs_message_clear(message);
    if (!data || !path)
        return hs_message_fail(message, HS_EINVAL,
                               "hs_dataset_load_csv: no path, or no place for it");
    *data = NULL;
    const hs_dataset_options o = hs__dataset_options(options);
    hs_arena arena = { 0 }; /* of the header */
    char *bytes;
    size_t length = 0;
    hs_status status = hs__text_read(path, o.max_bytes, &bytes, &length, message);
    if (status != HS_OK)
        return status;
    scanner s = { .path = path, .text = { bytes, bytes + length, 0 }, .message = message };
    if (length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) /* a byte order mark */
        s.text.at += 3;
    status = parse(&s, &o, &arena, data);
    hs_arena_free(&arena);
    hs_free(bytes);
    if (status != HS_OK) {
        hs_dataset_free(*data);
        *data = NULL;
    }
    return status;
}
