#include <hastings/objectives/objectives.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "losses_internal.h"

const hs_objective_entry *hs_objective_list(size_t i)
{
    return i < LOSSES ? &hs__losses[i].entry : NULL;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && !memcmp(name, text, length);
}

static double *place_of(const loss_row *row, hs_objective *o, size_t i)
{
    if (!row->adapt)
        return &o->number[i];
    return i == 0 ? &o->acceptance : i == 1 ? &o->adapted : &o->number[i - 2];
}

static double number_at(const loss_row *row, const hs_objective *o, size_t i)
{
    hs_objective copy = *o;
    return *place_of(row, &copy, i);
}

static size_t count_numbers(const loss_row *row)
{
    size_t n = 0;
    while (row->entry.number[n].name)
        n++;
    return n;
}

/* The place of the number that a default or an end of a range names, else the count of numbers. */
static size_t named(const loss_row *row, const char *text)
{
    size_t i = 0;
    while (row->entry.number[i].name &&
           !is_name(row->entry.number[i].name, text, strcspn(text, ",])")))
        i++;
    return i;
}

/* The value of a default or of an end of a range. */
static double value_of(const loss_row *row, const hs_objective *o, const char *text)
{
    if (!strncmp(text, "1/", 2))
        return 1 / value_of(row, o, text + 2);
    const size_t other = named(row, text);
    return row->entry.number[other].name ? number_at(row, o, other) : strtod(text, NULL);
}

static bool is_out_of_range(const loss_row *row, const hs_objective *o, size_t i,
                            char fault[LOSS_FAULT])
{
    const hs_objective_number *number = &row->entry.number[i];
    const char *range = number->range, *end[2] = { range + 1, strchr(range, ',') + 2 };
    const char last = range[strlen(range) - 1];
    /* A number is no bound before it is known to be right. */
    for (int k = 0; k < 2; k++) {
        const size_t other = named(row, end[k]);
        if (row->entry.number[other].name && is_out_of_range(row, o, other, fault))
            return true;
    }
    const double x = number_at(row, o, i);
    const double least = value_of(row, o, end[0]), most = value_of(row, o, end[1]);
    if ((range[0] == '[' ? x >= least : x > least) && (last == ']' ? x <= most : x < most))
        return false;
    char values[64];
    snprintf(values, sizeof values, "%c%g, %g%c", range[0], least, most, last);
    snprintf(fault, LOSS_FAULT, "%s, %s, is %g and must lie in %s%s%s", number->name,
             number->meaning, x, range, strcmp(values, range) ? " = " : "",
             strcmp(values, range) ? values : "");
    return true;
}

bool hs__loss_fault(const loss_row *row, const hs_objective *o, char fault[LOSS_FAULT])
{
    for (size_t i = 0; row->entry.number[i].name; i++)
        if (is_out_of_range(row, o, i, fault))
            return true;
    return false;
}

/* An objective with the numbers that are given, be they right or wrong, and the others' defaults. */
static hs_objective make(const loss_row *row, const double *const *given)
{
    hs_objective o = { .name = row->entry.name, .loss = row->loss, .adapt = row->adapt };
    for (size_t i = 0; row->entry.number[i].name; i++)
        *place_of(row, &o, i) =
            given[i] ? *given[i] : value_of(row, &o, row->entry.number[i].fallback);
    return o;
}

static const double *nonzero(const double *x)
{
    return *x != 0 ? x : NULL;
}

#define MAKE(id, ...)                                                                              \
    make(&hs__losses[LOSS_##id], (const double *[HS_OBJECTIVE_NUMBERS]){ __VA_ARGS__ })
#define WITH(o)                                                                                    \
    &(o)->acceptance, nonzero(&(o)->b), nonzero(&(o)->rho), nonzero(&(o)->limit),                  \
        nonzero(&(o)->floor)

/* clang-format off */

hs_objective hs_ab_initio(double a)                       { return MAKE(ab_initio, &a); }
hs_objective hs_ab_initio_log(double a)                   { return MAKE(ab_initio_log, &a); }
hs_objective hs_msjd(void)                                { return MAKE(msjd, NULL); }
hs_objective hs_l2hmc(double s2)                          { return MAKE(l2hmc, &s2); }
hs_objective hs_l2hmc_guarded(double s2, double guard)    { return MAKE(l2hmc, &s2, &guard); }
hs_objective hs_gsm(double acceptance)                    { return MAKE(gsm, &acceptance); }
hs_objective hs_gsm_with(const hs_target_acceptance *o)   { return MAKE(gsm, WITH(o)); }
hs_objective hs_scout(double acceptance)                  { return MAKE(scout, &acceptance); }
hs_objective hs_scout_with(const hs_target_acceptance *o) { return MAKE(scout, WITH(o)); }
hs_objective hs_kl(void)                                  { return MAKE(kl, NULL); }
hs_objective hs_nll(void)                                 { return MAKE(nll, NULL); }
/* clang-format on */

typedef struct {
    const char *text; /* all of it, for messages */
    char *error;
    size_t size;
} reader;

static hs_status refuse(const reader *r, const char *format, ...) HS_PRINTF(2, 3);

static hs_status refuse(const reader *r, const char *format, ...)
{
    const int used = r->size ? snprintf(r->error, r->size, "objective \"%s\": ", r->text) : 0;
    if (used >= 0 && (size_t)used < r->size) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->error + used, r->size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return HS_EINVAL;
}

/* The row whose name is text[0 .. length-1], or NULL. */
static const loss_row *find(const char *text, size_t length)
{
    for (size_t i = 0; i < LOSSES; i++)
        if (is_name(hs__losses[i].entry.name, text, length))
            return &hs__losses[i];
    return NULL;
}

/* Numbers separated by commas up to the end of the text. */
static hs_status read_numbers(const reader *r, const loss_row *row, const char *at, double *number,
                              const double **given)
{
    const size_t most = count_numbers(row);
    if (!most)
        return refuse(r, "takes no numbers");
    for (size_t i = 0;; i++) {
        if (i == most)
            return refuse(r, most == 1 ? "takes %zu number only" : "takes at most %zu numbers",
                          most);
        char *end;
        number[i] = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return refuse(r, "a number is expected at \"%s\"", at);
        if (!isfinite(number[i]))
            return refuse(r, "number %zu is not finite", i + 1);
        given[i] = &number[i];
        if (!*end)
            return HS_OK;
        at = end + 1;
    }
}

/* Whole digits up to the end of the text, as a fraction of 100. */
static bool read_percentage(const char *at, double *fraction)
{
    const size_t digits = strspn(at, "0123456789");
    if (!digits || digits > 2 || at[digits])
        return false;
    *fraction = strtod(at, NULL) / 100;
    return true;
}

static hs_status unknown(const reader *r)
{
    char names[256];
    size_t used = 0;
    for (size_t i = 0; i < LOSSES && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 hs__losses[i].entry.name);
    return refuse(r, "there is none of that name; there are %s", names);
}

hs_status hs_objective_parse(const char *text, hs_objective *o, char *error, size_t size)
{
    const reader r = { text, error, size };
    const char *colon = strchr(text, ':'), *dash = strrchr(text, '-');
    const loss_row *row = find(text, colon ? (size_t)(colon - text) : strlen(text));
    double number[HS_OBJECTIVE_NUMBERS];
    const double *given[HS_OBJECTIVE_NUMBERS] = { NULL };
    if (!row && !colon && dash) {
        row = find(text, (size_t)(dash - text));
        if (!row || !row->entry.percentage)
            return unknown(&r);
        if (!read_percentage(dash + 1, &number[0]))
            return refuse(&r, "a whole percentage is expected at \"%s\"", dash + 1);
        given[0] = &number[0];
    }
    if (!row)
        return unknown(&r);
    if (colon) {
        const hs_status status = read_numbers(&r, row, colon + 1, number, given);
        if (status)
            return status;
    }
    for (size_t i = 0; row->entry.number[i].name; i++)
        if (!given[i] && !row->entry.number[i].fallback)
            return refuse(&r, "needs a number: %s:%s", row->entry.name, row->entry.number[i].name);
    const hs_objective made = make(row, given);
    char fault[LOSS_FAULT];
    if (hs__loss_fault(row, &made, fault))
        return refuse(&r, "%s", fault);
    *o = made;
    return HS_OK;
}

/* The shortest text that reads back as the same number. */
static int print_number(char *text, size_t size, double x)
{
    int length = 0;
    for (int digits = 6; digits <= 17; digits++) {
        length = snprintf(text, size, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    return length;
}

static bool is_default(const loss_row *row, const hs_objective *o, size_t i)
{
    const char *fallback = row->entry.number[i].fallback;
    return fallback && value_of(row, o, fallback) == number_at(row, o, i);
}

const char *hs_objective_text(const hs_objective *o, char text[HS_OBJECTIVE_TEXT])
{
    const loss_row *row = find(o->name, strlen(o->name));
    size_t used = (size_t)snprintf(text, HS_OBJECTIVE_TEXT, "%s", o->name);
    if (!row || row->loss != o->loss)
        return text;
    size_t count = count_numbers(row);
    while (count && is_default(row, o, count - 1))
        count--;
    const double first = number_at(row, o, 0);
    if (row->entry.percentage && count == 1 && first > 0 && first < 1 &&
        round(100 * first) / 100 == first) {
        snprintf(text + used, HS_OBJECTIVE_TEXT - used, "-%.0f", 100 * first);
        return text;
    }
    for (size_t i = 0; i < count; i++) {
        text[used++] = i ? ',' : ':';
        used += (size_t)print_number(text + used, HS_OBJECTIVE_TEXT - used, number_at(row, o, i));
    }
    return text;
}
