#include <hastings/experiments/figure.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/mcmc/diagnostics/figures.h>

/* Between these decades a figure is written without an exponent: 0.012(1), 749(2), but 8.2(1)e-3. */
enum { PLAIN_LEAST = -2, PLAIN_MOST = 2 };

/* Most digits of a figure: float32 has no more, and a smaller error is rounding. */
enum { MOST_DIGITS = 6 };

/* ---- Writing ------------------------------------------------------------------------------ */

/* The number after an e. */
static int exponent_of(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* The decade of x rounded to so many digits after the first. printf rounds, so that 0.0096 is 1e-2. */
static int decade(double x, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", digits, x);
    return exponent_of(strchr(text, 'e') + 1);
}

/* x / 10^exponent with so many decimals, shifted as text: a division would round once more. A zero has
 * no sign. */
static void print_shifted(double x, int exponent, int decimals, char number[64])
{
    snprintf(number, 64, "%.16e", x);
    char *e = strchr(number, 'e');
    const int written = exponent_of(e + 1);
    snprintf(e, 16, "e%d", written - exponent);
    snprintf(number, 64, "%.*f", decimals, strtod(number, NULL));
    if (number[0] == '-' && strtod(number, NULL) == 0)
        memmove(number, number + 1, strlen(number));
}

/* Zeros at the end say nothing where there is no error: "0.66", "22". */
static void drop_zeros(char *number)
{
    if (!strchr(number, '.'))
        return;
    char *end = number + strlen(number);
    while (end[-1] == '0')
        *--end = '\0';
    if (end[-1] == '.')
        end[-1] = '\0';
}

const char *app_figure_text(double mean, double error, char text[APP_FIGURE_TEXT])
{
    if (!isfinite(mean)) {
        snprintf(text, APP_FIGURE_TEXT, "%s", isnan(mean) ? "-" : mean > 0 ? "inf" : "-inf");
        return text;
    }
    int first = mean == 0 ? 0 : decade(mean, 16), last = first - 2, digit = 0;
    bool known = isfinite(error) && error != 0;
    if (known) {
        char rounded[64];
        snprintf(rounded, sizeof rounded, "%.0e", fabs(error));
        digit = rounded[0] - '0';
        last = decade(error, 0);
        if (mean == 0 || first < last)
            first = last;
        known = first - last <= MOST_DIGITS;
    }
    if (!known)
        last = first - 2; /* three digits */
    if (mean != 0 && decade(mean, first - last) > first)
        first++; /* 0.9997(5) is 1.000 */
    if (!known)
        last = first - 2;
    const bool plain = first >= PLAIN_LEAST && first <= PLAIN_MOST && last <= 0;
    char number[64], exponent[16] = "", parentheses[8] = "";
    print_shifted(mean, plain ? 0 : first, (plain ? 0 : first) - last, number);
    if (known)
        snprintf(parentheses, sizeof parentheses, "(%d)", digit);
    else
        drop_zeros(number);
    if (!plain)
        snprintf(exponent, sizeof exponent, "e%d", first);
    snprintf(text, APP_FIGURE_TEXT, "%.18s%s%.6s", number, parentheses, exponent);
    return text;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* A printed number: its value, and half a unit of its last digit. */
typedef struct {
    double value, half_unit, error;
} printed;

/* Reads digits[.digits][(digits)][e[sign]digits]; returns the rest, or NULL if it is no number. */
static const char *read_printed(const char *text, printed *number)
{
    char mantissa[24] = "", unit[24] = "", exponent[8] = "", whole[40];
    size_t n = 0, digits = 0, decimals = 0;
    bool point = false;
    for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
        if (n + 1 == sizeof mantissa)
            return NULL;
        point |= *text == '.';
        digits += *text != '.';
        decimals += point && *text != '.';
        mantissa[n++] = *text;
    }
    if (digits == 0)
        return NULL;
    n = 0;
    if (*text == '(') {
        for (text++; isdigit((unsigned char)*text) && n + 1 < sizeof unit; text++)
            unit[n++] = *text;
        if (n == 0 || *text++ != ')')
            return NULL;
    }
    n = 0;
    const size_t sign = text[0] == 'e' && (text[1] == '-' || text[1] == '+');
    if (text[0] == 'e' && isdigit((unsigned char)text[1 + sign])) {
        do
            exponent[n++] = *text++;
        while (n + 1 < sizeof exponent && (n <= sign || isdigit((unsigned char)*text)));
    }
    snprintf(whole, sizeof whole, "%s%s", mantissa, exponent);
    number->value = strtod(whole, NULL);
    const int shift = (exponent[0] ? exponent_of(exponent + 1) : 0) - (int)decimals;
    snprintf(whole, sizeof whole, "5e%d", shift - 1);
    number->half_unit = strtod(whole, NULL);
    snprintf(whole, sizeof whole, "%se%d", unit[0] ? unit : "0", shift);
    number->error = fmax(strtod(whole, NULL), number->half_unit);
    return text;
}

static app_figure_kind read_figure(const char *text, double *mean, double *error)
{
    if (text[strspn(text, "-")] == '\0')
        return APP_FIGURE_NONE;
    const bool bound = *text == '<' || *text == '>', negative = text[bound] == '-';
    printed number, other;
    const char *rest = read_printed(text + bound + negative, &number);
    if (!rest)
        return APP_FIGURE_WRONG;
    if (*rest == '-' && !bound && (rest = read_printed(rest + 1, &other)) && *rest == '\0') {
        const double from = negative ? -number.value : number.value;
        *mean = 0.5 * (from + other.value);
        *error = 0.5 * fabs(from - other.value);
        return APP_FIGURE_RANGE;
    }
    if (!rest || *rest != '\0')
        return APP_FIGURE_WRONG;
    *mean = negative ? -number.value : number.value;
    *error = number.error;
    return bound ? APP_FIGURE_BOUND : APP_FIGURE_VALUE;
}

app_figure_kind app_figure_parse(const char *text, double *mean, double *error)
{
    double m = (double)NAN, e = (double)NAN;
    char trimmed[64] = "";
    const char *from = text ? text + strspn(text, " \t") : "";
    size_t length = strlen(from);
    while (length && isspace((unsigned char)from[length - 1]))
        length--;
    app_figure_kind kind = APP_FIGURE_WRONG;
    if (length < sizeof trimmed) {
        snprintf(trimmed, sizeof trimmed, "%.*s", (int)length, from);
        kind = read_figure(trimmed, &m, &e);
    }
    if (mean)
        *mean = m;
    if (error)
        *error = e;
    return kind;
}

/* ---- Comparing ---------------------------------------------------------------------------- */

static const char *const verdict_names[] = { "-", "agrees", "close", "differs" };

app_verdict app_figure_verdict(double ours, double s_ours, double paper, double s_paper,
                               double *sigmas)
{
    /* Scatter far beyond the paper's is a difference in itself, and must not hide one. */
    const double most = 3 * s_paper, own = isnan(s_ours) ? s_paper : fmin(s_ours, most);
    const double scatter = hypot(own, s_paper);
    const double distance = fabs(ours - paper);
    const double z = distance == 0 ? 0 : distance / scatter;
    if (sigmas)
        *sigmas = z;
    /* Errors as large as the figure itself must not hide another order of magnitude. */
    const bool same_order = ours * paper <= 0 || fabs(log(ours / paper)) <= log(4);
    return isnan(z)      ? APP_VERDICT_NONE
           : !same_order ? APP_VERDICT_DIFFERS
           : z <= 2      ? APP_VERDICT_AGREES
           : z <= 3      ? APP_VERDICT_CLOSE
                         : APP_VERDICT_DIFFERS;
}

const char *app_verdict_name(app_verdict verdict)
{
    return verdict_names[verdict <= APP_VERDICT_DIFFERS ? verdict : APP_VERDICT_NONE];
}

app_verdict app_verdict_of(const char *name)
{
    for (app_verdict v = APP_VERDICT_AGREES; name && v <= APP_VERDICT_DIFFERS; v++)
        if (strcmp(name, verdict_names[v]) == 0)
            return v;
    return APP_VERDICT_NONE;
}

void app_figure_ratio(double mean, double error, double by, double by_error, double *ratio,
                      double *ratio_error)
{
    *ratio = mean / by;
    /* of independent errors: d(m/b)^2 = (dm/b)^2 + (m db/b^2)^2 */
    *ratio_error = hypot(error / by, *ratio * by_error / by);
}

/* ---- The list ----------------------------------------------------------------------------- */

static const app_column columns[] = {
/* clang-format off */
#define COLUMN(key, title, kind, about) { #key, title, about, HS_FIGURE_##kind != HS_FIGURE_SPEED },
#define HS_FIGURE(key, title, kind, line, words, value, about) COLUMN(key, title, kind, about)
/* clang-format on */
#include <hastings/mcmc/diagnostics/figures.def>
#define APP_FIGURE COLUMN
#include <hastings/experiments/figures.def>
};

const app_column *app_column_at(size_t i)
{
    return i < APP_FIGURES ? &columns[i] : NULL;
}

app_figure_id app_figure_find(const char *key)
{
    size_t i = 0;
    while (i < APP_FIGURES && (!key || strcmp(columns[i].key, key) != 0))
        i++;
    return (app_figure_id)i;
}

bool app_figure_judged(const char *column)
{
    const app_figure_id id = app_figure_find(column);
    return id == APP_FIGURES ? column != NULL : columns[id].judged;
}
