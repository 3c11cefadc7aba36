/* Axes: ranges of values, round ticks, and their labels. */
#include "plot_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double largest = 1e300, smallest = 1e-290;

bool app_plot_shown(double value, bool log)
{
    return log ? value >= smallest && value <= largest : fabs(value) <= largest;
}

void app_plot_range_add(plot_range *range, double value)
{
    if (!app_plot_shown(value, range->log)) {
        range->hidden++;
        return;
    }
    range->lo = range->any && range->lo < value ? range->lo : value;
    range->hi = range->any && range->hi > value ? range->hi : value;
    range->any = true;
}

/* Moves the ends apart until ticks between them are different numbers. */
static void spread(double *lo, double *hi, bool log)
{
    const double middle = *lo / 2 + *hi / 2;
    if (log && *hi / *lo < 1 + 1e-9) {
        *lo = middle / 2;
        *hi = middle * 2;
    } else if (!log && *hi - *lo <= 1e-9 * fabs(middle) + smallest) {
        const double half = fabs(middle) > 1e3 * smallest ? fabs(middle) / 2 : 0.5;
        *lo = middle - half;
        *hi = middle + half;
    }
}

/* The value with a minus that is as wide as a plus. */
static void print(char *to, size_t size, double value, int decimals, const char *unit)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    bool zero = true;
    for (const char *c = digits; *c && zero; c++)
        zero = *c == '0' || *c == '.';
    snprintf(to, size, "%s%s%s", value < 0 && !zero ? "\u2212" : "", zero ? "0" : digits,
             zero ? "" : unit);
}

static void print_power(char power[8], int exponent)
{
    snprintf(power, 8, "%s%u", exponent < 0 ? "\u2212" : "", (unsigned)abs(exponent) % 1000);
}

/* 1 000 ... 9 999, 20k, 3M below 10^15; 0.001 above; else 2 x 10^-7. Ticks are multiples of
 * 10^step_exponent, and the largest is of the order 10^exponent. */
static plot_number linear_label(double value, int step_exponent, int exponent)
{
    static const char *const units[] = { "", "k", "M", "G", "T" };
    plot_number number = { .text = "0" };
    if (exponent >= -4 && exponent < 15) {
        const int unit = exponent < 4 ? 0 : exponent / 3;
        const int decimals = 3 * unit - step_exponent;
        print(number.text, sizeof number.text, value / pow(1000, unit), decimals > 0 ? decimals : 0,
              units[unit]);
    } else if (fabs(value) >= pow(10, step_exponent) / 2) {
        const int decimals = exponent - step_exponent;
        print(number.text, sizeof number.text, value / pow(10, exponent),
              decimals > 0 ? decimals : 0, "\u00D710");
        print_power(number.power, exponent);
    }
    return number;
}

static void add_tick(plot_axis *axis, double value, bool minor, plot_number label)
{
    const double slack = axis->log ? 0 : 1e-9 * (axis->hi - axis->lo);
    const double ratio = axis->log ? 1 + 1e-9 : 1;
    if (axis->ticks_count < PLOT_TICKS && value >= axis->lo / ratio - slack &&
        value <= axis->hi * ratio + slack)
        axis->ticks[axis->ticks_count++] =
            (plot_tick){ .value = value, .minor = minor, .label = label };
}

/* Ticks at multiples of 1, 2 or 5 times a power of ten. An end that may move goes to the tick that
 * it nearly reaches: 19 968 steps to 20k. */
static void linear_ticks(plot_axis *axis, double most, bool movable)
{
    const double raw = (axis->hi - axis->lo) / most;
    int e = (int)floor(log10(raw));
    const double m = raw / pow(10, e);
    const int factor = m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10;
    const double step = factor * pow(10, e);
    e += factor == 10;
    const double next = ceil(axis->hi / step) * step;
    if (movable && next - axis->hi < 0.03 * (axis->hi - axis->lo))
        axis->hi = next;
    const double bound = fmax(fabs(axis->lo), fabs(axis->hi));
    const int exponent = (int)floor(log10(bound) + 1e-9);
    const double end = floor(axis->hi / step + 1e-9);
    for (double k = ceil(axis->lo / step - 1e-9); k <= end; k++)
        add_tick(axis, k * step, false, linear_label(k * step, e, exponent));
}

static plot_number log_label(int factor, int e, bool plain)
{
    plot_number number = { .text = "10" };
    if (plain)
        return linear_label(factor * pow(10, e), e, e);
    if (factor > 1)
        snprintf(number.text, sizeof number.text, "%d\u00D710", factor);
    print_power(number.power, e);
    return number;
}

static void log_ticks(plot_axis *axis, double most)
{
    const double decades = log10(axis->hi) - log10(axis->lo);
    if (decades < 1) { /* 1, 2, 5 would be too few */
        linear_ticks(axis, most, false);
        return;
    }
    const int first = (int)floor(log10(axis->lo) + 1e-9), last = (int)ceil(log10(axis->hi) - 1e-9);
    const int every = (int)fmax(1, ceil(decades / most));
    const bool plain = first >= -4 && last <= 5;
    for (int e = first; e <= last; e++)
        for (int factor = 1; factor < (every > 1 ? 2 : 10); factor++) {
            const bool labelled =
                factor == 1 ? e % every == 0
                            : (factor == 2 || factor == 5) && decades < 2 && 3 * decades <= most;
            add_tick(axis, factor * pow(10, e), !labelled, log_label(factor, e, plain));
        }
}

void app_plot_axis_init(plot_axis *axis, const plot_range *range, const double *fixed, plot_pad pad,
                        double most)
{
    *axis = (plot_axis){ .log = range->log, .lo = range->log ? 0.1 : 0, .hi = 1 };
    if (range->any) {
        axis->lo = range->lo;
        axis->hi = range->hi;
    }
    const bool held = fixed && fixed[0] < fixed[1];
    if (held) {
        axis->lo = fixed[0];
        axis->hi = fixed[1];
    }
    spread(&axis->lo, &axis->hi, axis->log);
    if (!held && axis->log) {
        const double length = log(axis->hi) - log(axis->lo);
        axis->lo = fmax(axis->lo * exp(-pad.low * length), smallest);
        axis->hi = fmin(axis->hi * exp(pad.high * length), largest);
    } else if (!held) {
        const double length = axis->hi - axis->lo;
        axis->lo -= pad.low * length;
        axis->hi += pad.high * length;
    }
    most = fmin(fmax(most, 2), 12);
    size_t labels;
    do { /* one label says nothing about the scale */
        axis->ticks_count = labels = 0;
        if (axis->log)
            log_ticks(axis, most);
        else
            linear_ticks(axis, most, !held && pad.high == 0);
        for (size_t i = 0; i < axis->ticks_count; i++)
            labels += axis->ticks[i].minor ? 0 : 1;
    } while (labels < 2 && most++ < 12);
}

double app_plot_axis_at(const plot_axis *axis, double value)
{
    const double share = axis->log ? (log(value) - log(axis->lo)) / (log(axis->hi) - log(axis->lo))
                                   : (value - axis->lo) / (axis->hi - axis->lo);
    /* Cairo's coordinates have 24 bits: points far outside move to a place that is far enough. */
    return axis->from + fmin(fmax(share, -50), 50) * (axis->to - axis->from);
}

double app_plot_axis_width(cairo_t *cr, const plot_axis *axis)
{
    double width = 0;
    for (size_t i = 0; i < axis->ticks_count; i++)
        if (!axis->ticks[i].minor)
            width = fmax(width, app_plot_number_width(cr, &axis->ticks[i].label));
    return width;
}
