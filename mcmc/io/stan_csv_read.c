/* Reading of CmdStan's files. */
#include "stan_csv_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/tensor/memory.h>

#include "chain_formats_internal.h"
#include "csv_internal.h"
#include "dataset_internal.h"

enum { LONGEST_NUMBER = 63, SHOWN = 40 };

/* What a column is: one of these, or the HS_KEEP_ flag of an array. */
enum { IGNORED = 0, DRAW = HS_KEEP_ALL + 1 };

/* The file. */
typedef struct {
    const char *path;
    hs_message *message;
    csv_text text;
    span header;
    size_t samples, warmup, thin, save_warmup; /* as the file says; SIZE_MAX if it does not */
    double seconds;
    size_t columns, dim;
    span *name;     /* [columns] */
    unsigned *role; /* [columns] */
    hs_arena memory;
} source;

#define SOURCE_FAIL(s, status, ...) hs_message_fail((s)->message, status, "%.300s" __VA_ARGS__)

/* ---- Lines and fields ------------------------------------------------------------------------ */

static bool next_line(source *s, span *line)
{
    if (!hs__csv_next_line(&s->text, line))
        return false;
    *line = hs__span_trim(*line);
    return true;
}

static bool is_comment(span line)
{
    return line.at == line.end || *line.at == '#';
}

static size_t count_fields(span line)
{
    size_t count = 1;
    for (const char *p = line.at; p < line.end; p++)
        count += *p == ',';
    return count;
}

static span next_field(span *line)
{
    const char *comma = memchr(line->at, ',', (size_t)(line->end - line->at));
    const span field = { line->at, comma ? comma : line->end };
    line->at = comma ? comma + 1 : line->end;
    return hs__span_trim(field);
}

/* ---- Comments -------------------------------------------------------------------------------- */

/* Takes "#     num_samples = 1000 (Default)" if it is one of those that matter. */
static void take_setting(source *s, span line)
{
    const char *equals = memchr(line.at, '=', span_length(line));
    if (!equals)
        return;
    const span key = hs__span_trim((span){ line.at + 1, equals });
    char value[32] = "";
    const span text = hs__span_trim((span){ equals + 1, line.end });
    memcpy(value, text.at, span_length(text) < 31 ? span_length(text) : 31);
    const bool is_true = strncmp(value, "true", 4) == 0;
    const size_t number = is_true ? 1 : (size_t)strtoull(value, NULL, 10);
    if (hs__span_is(key, "num_samples"))
        s->samples = number;
    else if (hs__span_is(key, "num_warmup"))
        s->warmup = number;
    else if (hs__span_is(key, "save_warmup"))
        s->save_warmup = number;
    else if (hs__span_is(key, "thin"))
        s->thin = number;
}

/* Takes "#                0.002 seconds (Sampling)". */
static void take_time(source *s, span line)
{
    static const char end[] = "seconds (Sampling)";
    char text[64] = "";
    if (span_length(line) <= sizeof end || span_length(line) > sizeof text ||
        memcmp(line.end - strlen(end), end, strlen(end)) != 0)
        return;
    memcpy(text, line.at + 1, span_length(line) - 1);
    s->seconds = strtod(text, NULL);
}

/* Draws that are kept of so many steps. */
static size_t thinned(size_t steps, size_t thin)
{
    return steps / thin + (steps % thin != 0);
}

/* ---- The first look: settings, header, number of rows ----------------------------------------- */

static hs_status check_header(source *s)
{
    const unsigned char first = (unsigned char)*s->header.at;
    if (!isalpha(first))
        return SOURCE_FAIL(
            s, HS_EFORMAT,
            ", line %zu: expected the names of columns, which begin with a letter, found \"%.*s\"",
            s->path, s->text.line, span_shown(s->header, SHOWN), s->header.at);
    span line = s->header;
    s->columns = count_fields(line);
    for (size_t i = 0; i < s->columns; i++)
        if (span_length(next_field(&line)) == 0)
            return SOURCE_FAIL(s, HS_EFORMAT, ", line %zu, column %zu has no name", s->path,
                               s->text.line, i + 1);
    return HS_OK;
}

/* Stands after the header. */
static hs_status take_header(source *s)
{
    s->samples = s->warmup = s->thin = s->save_warmup = SIZE_MAX;
    if (s->text.at == s->text.end)
        return SOURCE_FAIL(s, HS_EFORMAT, ": it is empty", s->path);
    while (next_line(s, &s->header)) {
        if (!is_comment(s->header))
            return check_header(s);
        if (s->header.at < s->header.end)
            take_setting(s, s->header);
    }
    return SOURCE_FAIL(s, HS_EFORMAT, ": no line with the names of columns; it ends after line %zu",
                       s->path, s->text.line);
}

/* Counts the rows that follow; says how many of them are draws. */
static hs_status count_draws(const source *s, size_t *skip, size_t *draws)
{
    source rest = *s;
    size_t rows = 0, wrong_line = 0, wrong = 0;
    for (span line; next_line(&rest, &line);) {
        const size_t count = is_comment(line) ? s->columns : count_fields(line);
        if (count != s->columns && !wrong_line) {
            wrong_line = rest.text.line;
            wrong = count;
        }
        rows += !is_comment(line);
    }
    if (s->text.end[-1] != '\n')
        return SOURCE_FAIL(s, HS_EFORMAT, ", line %zu: truncated: the line does not end", s->path,
                           rest.text.line);
    const size_t thin = s->thin == SIZE_MAX ? 1 : s->thin;
    if (thin == 0)
        return SOURCE_FAIL(s, HS_EFORMAT, ": its setting thin is not a positive number", s->path);
    const bool has_warmup = s->save_warmup != SIZE_MAX && s->save_warmup && s->warmup != SIZE_MAX;
    *skip = has_warmup ? thinned(s->warmup, thin) : 0;
    *draws = rows > *skip ? rows - *skip : 0;
    if (rows == 0)
        return SOURCE_FAIL(s, HS_EFORMAT, ": no draws follow the names of columns", s->path);
    if (s->samples != SIZE_MAX && *draws != thinned(s->samples, thin))
        return SOURCE_FAIL(s, HS_EFORMAT,
                           ": %s: it has %zu draws after %zu of the warm-up, its settings say %zu",
                           s->path, *draws < thinned(s->samples, thin) ? "truncated" : "damaged",
                           *draws, *skip, thinned(s->samples, thin));
    /* Memory is taken next: rows that are too short would take more than the text has. */
    if (wrong_line)
        return SOURCE_FAIL(s, HS_EFORMAT, ", line %zu has %zu columns, the header has %zu", s->path,
                           wrong_line, wrong, s->columns);
    if (*draws == 0)
        return SOURCE_FAIL(s, HS_EFORMAT, ": all of its %zu draws are of the warm-up", s->path,
                           rows);
    return HS_OK;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static unsigned role_of(span name)
{
    static const struct {
        const char *name;
        unsigned role;
    } known[] = { { "lp__", HS_KEEP_LOG_PI },
                  { "accept_stat__", HS_KEEP_ALPHA },
                  { "jump__", HS_KEEP_JUMP },
                  { "accepted__", HS_KEEP_ACCEPTED } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hs__span_is(name, known[i].name))
            return known[i].role;
    const bool sampler = span_length(name) >= 2 && memcmp(name.end - 2, "__", 2) == 0;
    return sampler ? IGNORED : DRAW;
}

/* Takes the columns from the header; `keep` tells the arrays among them. */
static hs_status take_columns(source *s, unsigned *keep)
{
    span line = s->header;
    s->name = hs_arena_alloc(&s->memory, s->columns * sizeof *s->name);
    s->role = hs_arena_alloc(&s->memory, s->columns * sizeof *s->role);
    if (!s->name || !s->role)
        return SOURCE_FAIL(s, HS_ENOMEM, ": out of memory", s->path);
    for (size_t i = 0; i < s->columns; i++) {
        s->name[i] = next_field(&line);
        s->role[i] = role_of(s->name[i]);
        s->dim += s->role[i] == DRAW;
        *keep |= s->role[i] & HS_KEEP_ALL;
    }
    if (s->dim == 0)
        return SOURCE_FAIL(s, HS_EFORMAT,
                           ", line %zu: all columns end in \"__\" and are about the sampler",
                           s->path, s->text.line);
    return HS_OK;
}

static hs_status show_names(const source *s, hs_chain_names *names)
{
    names->name = hs_arena_alloc(&names->text, s->dim * sizeof *names->name);
    for (size_t i = 0; names->name && i < s->columns; i++) {
        const span name = s->name[i];
        if (s->role[i] != DRAW)
            continue;
        const char *shown = hs__stan_shown_name(&names->text, name.at, span_length(name));
        if (!shown)
            break;
        names->name[names->count++] = shown;
    }
    if (names->count < s->dim)
        return SOURCE_FAIL(s, HS_ENOMEM, ": out of memory for names", s->path);
    return HS_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool parse_number(span field, double *value)
{
    static const char *const nonfinite[] = { "nan", "inf", "infinity", NULL };
    char text[LONGEST_NUMBER + 1] = "";
    const size_t length = span_length(field);
    if (length == 0 || length > LONGEST_NUMBER)
        return false;
    memcpy(text, field.at, length);
    if (strspn(text, "0123456789+-.eE") != length &&
        !hs__csv_is_word(text + (*text == '+' || *text == '-'), nonfinite))
        return false;
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static hs_status take_row(const source *s, span line, hs_chains *c, size_t draw)
{
    double *x = hs_chains_draw(c, 0, draw), value = 0;
    for (size_t i = 0; i < s->columns; i++) {
        const span field = next_field(&line), name = s->name[i];
        if (!parse_number(field, &value))
            return SOURCE_FAIL(s, HS_EFORMAT,
                               ", line %zu, column %zu (%.*s): \"%.*s\" is not a number", s->path,
                               s->text.line, i + 1, span_shown(name, 60), name.at,
                               span_shown(field, SHOWN), field.at);
        if (s->role[i] == DRAW)
            *x++ = value;
        else if (s->role[i] == HS_KEEP_ACCEPTED)
            c->accepted[draw] = value != 0;
        else if (s->role[i] != IGNORED)
            hs__chains_numbers(c, s->role[i])[draw] = value;
    }
    return HS_OK;
}

static hs_status take_rows(source *s, size_t skip, hs_chains *c)
{
    hs_status status = HS_OK;
    size_t row = 0;
    for (span line; status == HS_OK && next_line(s, &line);) {
        if (is_comment(line)) {
            take_time(s, line);
            continue;
        }
        /* Rows of the warm-up are checked too; the first draw takes their place. */
        status = take_row(s, line, c, row > skip ? row - skip : 0);
        row++;
    }
    return status;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* What was not known was written as a column of nan. */
static void forget_if_unknown(double **numbers, size_t n)
{
    for (size_t i = 0; *numbers && i < n; i++)
        if (!isnan((*numbers)[i]))
            return;
    hs_free(*numbers);
    *numbers = NULL;
}

static hs_status load(source *s, hs_chains **chains, hs_chain_names *names)
{
    size_t skip = 0, draws = 0;
    unsigned keep = 0;
    hs_status status = take_header(s);
    if (status == HS_OK)
        status = count_draws(s, &skip, &draws);
    if (status == HS_OK)
        status = take_columns(s, &keep);
    if (status == HS_OK)
        status = hs_chains_new(chains, 1, draws, s->dim, keep, s->message);
    if (status == HS_OK)
        status = take_rows(s, skip, *chains);
    if (status == HS_OK)
        status = show_names(s, names);
    if (status != HS_OK)
        return status;
    (*chains)->seconds = isfinite(s->seconds) && s->seconds > 0 ? s->seconds : 0;
    forget_if_unknown(&(*chains)->log_pi, draws);
    forget_if_unknown(&(*chains)->alpha, draws);
    return HS_OK;
}

hs_status hs__stan_csv_read(hs_chains **chains, hs_chain_names *names, const char *path,
                            hs_message *message)
{
    char *bytes;
    size_t length = 0;
    hs_status status = hs__text_read(path, SIZE_MAX, &bytes, &length, message);
    if (status != HS_OK)
        return status;
    source s = { .path = path, .message = message, .text = { bytes, bytes + length, 0 } };
    csv_locale locale;
    if (!hs__csv_begin_numbers(&locale)) {
        status = SOURCE_FAIL(&s, HS_ENOMEM, ": no \"C\" locale", path);
    } else {
        status = load(&s, chains, names);
        hs__csv_end_numbers(&locale);
    }
    hs_arena_free(&s.memory);
    hs_free(bytes);
    return status;
}
