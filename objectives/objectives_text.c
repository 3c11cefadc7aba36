#include <hastings/objectives/objectives.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objectives_internal.h"

enum { MOST_NUMBERS = 5 };

/* How one objective is made from numbers, and its numbers read back from it. */
typedef struct {
    hs_objective_entry entry;
    size_t least, most;            /* numbers that must, and may be given */
    double defaults[MOST_NUMBERS]; /* of those that are not; left out when it is printed */
    bool percentage;               /* "name-60" is "name:0.6" */
    hs_objective (*make)(const double *number);
    void (*numbers)(const hs_objective *o, double *number);
} row;

static hs_objective make_ab_initio(const double *a)
{
    return hs_ab_initio(a[0]);
}

static hs_objective make_ab_initio_log(const double *a)
{
    return hs_ab_initio_log(a[0]);
}

static hs_objective make_msjd(const double *a)
{
    (void)a;
    return hs_msjd();
}

static hs_objective make_l2hmc(const double *a)
{
    return hs_l2hmc_guarded(a[0], a[1]);
}

static hs_target_acceptance options_of(const double *a)
{
    return (hs_target_acceptance){
        .acceptance = a[0], .b = a[1], .rho = a[2], .limit = a[3], .floor = a[4]
    };
}

static hs_objective make_gsm(const double *a)
{
    const hs_target_acceptance options = options_of(a);
    return hs_gsm_with(&options);
}

static hs_objective make_scout(const double *a)
{
    const hs_target_acceptance options = options_of(a);
    return hs_scout_with(&options);
}

static hs_objective make_kl(const double *a)
{
    (void)a;
    return hs_kl();
}

static hs_objective make_nll(const double *a)
{
    (void)a;
    return hs_nll();
}

static void same_numbers(const hs_objective *o, double *number)
{
    _Static_assert(sizeof o->number <= MOST_NUMBERS * sizeof *number, "there is room for all");
    memcpy(number, o->number, sizeof o->number);
}

static void adapted_numbers(const hs_objective *o, double *number)
{
    const double rho = o->number[0], limit = o->number[1], floor = o->number[2];
    const double in_order[MOST_NUMBERS] = { o->acceptance, o->adapted, rho, limit,
                                            floor == 1 / limit ? 0 : floor };
    memcpy(number, in_order, sizeof in_order);
}

#define BALANCED "acceptance[,b[,rho[,limit[,floor]]]]"
#define BALANCED_DEFAULTS                                                                          \
    {                                                                                              \
        0, 1, OBJECTIVE_RHO, OBJECTIVE_LIMIT, 0                                                    \
    }

/* clang-format off */
static const row rows[] = {
    { { "ab-initio", "A",
        "divergence from the target and log acceptance, weighted by A d; A = 0.18125" },
      0, 1, { 0.18125 }, false, make_ab_initio, same_numbers },
    { { "ab-initio-log", "A", "the same, weighted by A d log d" },
      1, 1, { 0 }, false, make_ab_initio_log, same_numbers },
    { { "msjd", "", "expected squared jump distance" },
      0, 0, { 0 }, false, make_msjd, same_numbers },
    { { "l2hmc", "s2[,guard]", "squared jumps and their inverses; s2 = 1, guard = 1e-4" },
      0, 2, { 1, OBJECTIVE_GUARD }, false, make_l2hmc, same_numbers },
    { { "gsm", BALANCED, "entropy at a target acceptance; gsm-60 is gsm:0.6" },
      1, MOST_NUMBERS, BALANCED_DEFAULTS, true, make_gsm, adapted_numbers },
    { { "scout", BALANCED,
        "divergence from the target at a target acceptance; scout-60 is scout:0.6" },
      1, MOST_NUMBERS, BALANCED_DEFAULTS, true, make_scout, adapted_numbers },
    { { "kl", "", "divergence of the proposal from the target" },
      0, 0, { 0 }, false, make_kl, same_numbers },
    { { "nll", "", "negative log-likelihood of draws of the target, for independent proposals" },
      0, 0, { 0 }, false, make_nll, same_numbers },
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

const hs_objective_entry *hs_objective_list(size_t i)
{
    return i < ROWS ? &rows[i].entry : NULL;
}

/* ---- Reading ----------------------------------------------------------------------------------
 */

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
static const row *find(const char *text, size_t length)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].entry.name) == length && !memcmp(rows[i].entry.name, text, length))
            return &rows[i];
    return NULL;
}

/* Numbers separated by commas up to the end of the text, into number[0 .. *count-1]. */
static hs_status read_numbers(const reader *r, const row *kind, const char *at, double *number,
                              size_t *count)
{
    for (*count = 0;; at++) {
        if (*count == kind->most)
            return refuse(r,
                          kind->most == 1 ? "takes %zu number only" : "takes at most %zu numbers",
                          kind->most);
        char *end;
        number[*count] = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return refuse(r, "a number is expected at \"%s\"", at);
        if (!isfinite(number[*count]))
            return refuse(r, "number %zu is not finite", *count + 1);
        ++*count;
        at = end;
        if (!*at)
            return HS_OK;
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
    for (size_t i = 0; i < ROWS && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 rows[i].entry.name);
    return refuse(r, "there is none of that name; there are %s", names);
}

hs_status hs_objective_parse(const char *text, hs_objective *o, char *error, size_t size)
{
    const reader r = { text, error, size };
    const char *colon = strchr(text, ':'), *dash = strrchr(text, '-');
    const row *kind = find(text, colon ? (size_t)(colon - text) : strlen(text));
    double number[MOST_NUMBERS] = { 0 };
    size_t count = 0;
    if (!kind && !colon && dash) {
        kind = find(text, (size_t)(dash - text));
        if (kind && (!kind->percentage || !read_percentage(dash + 1, &number[0])))
            return kind->percentage
                       ? refuse(&r, "a whole percentage is expected at \"%s\"", dash + 1)
                       : unknown(&r);
        count = 1;
    }
    if (!kind)
        return unknown(&r);
    if (colon) {
        if (!kind->most)
            return refuse(&r, "takes no numbers");
        const hs_status status = read_numbers(&r, kind, colon + 1, number, &count);
        if (status)
            return status;
    }
    if (count < kind->least)
        return refuse(&r, "needs a number: %s:%s", kind->entry.name, kind->entry.numbers);
    for (size_t i = 1; kind->percentage && i < count; i++)
        if (number[i] == 0)
            return refuse(&r, "number %zu must not be 0", i + 1);
    for (size_t i = count; i < kind->most; i++)
        number[i] = kind->defaults[i];
    const hs_objective made = kind->make(number);
    const char *fault = hs__objective_fault(&made);
    if (fault)
        return refuse(&r, "%s", fault);
    *o = made;
    return HS_OK;
}

/* ---- Writing ----------------------------------------------------------------------------------
 */

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

const char *hs_objective_text(const hs_objective *o, char text[HS_OBJECTIVE_TEXT])
{
    const row *kind = find(o->name, strlen(o->name));
    double number[MOST_NUMBERS];
    snprintf(text, HS_OBJECTIVE_TEXT, "%s", o->name);
    if (!kind || kind->make(kind->defaults).loss != o->loss)
        return text;
    kind->numbers(o, number);
    size_t count = kind->most, used = strlen(text);
    while (count > kind->least && number[count - 1] == kind->defaults[count - 1])
        count--;
    if (kind->percentage && count == 1 && number[0] > 0 && number[0] < 1 &&
        round(100 * number[0]) / 100 == number[0]) {
        snprintf(text + used, HS_OBJECTIVE_TEXT - used, "-%.0f", 100 * number[0]);
        return text;
    }
    for (size_t i = 0; i < count; i++) {
        text[used++] = i ? ',' : ':';
        used += (size_t)print_number(text + used, HS_OBJECTIVE_TEXT - used, number[i]);
    }
    return text;
}
