#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <hastings/cli/plot/plot.h>

#include "aims.h"
#include "rows.h"
#include "tables.h"

/* The largest differences of a list of comparisons, by type. */
typedef struct {
    double loss[2], gradient[2]; /* of f32, f64 */
    int count[2];
} differences;

static void note_difference(differences *d, const json_t *row, const json_t *one)
{
    const int wide = strcmp(text_of(row, "type"), "f64") == 0;
    d->loss[wide] = fmax(d->loss[wide], number_of(one, NULL, "loss"));
    d->gradient[wide] = fmax(d->gradient[wide], number_of(one, NULL, "gradient"));
    d->count[wide]++;
}

static void write_differences(FILE *out, const json_t *steps, const json_t *checks)
{
    differences d = { .count = { 0, 0 } };
    size_t i;
    json_t *row, *one;
    const char *who;
    json_array_foreach(steps, i, row) json_object_foreach(json_object_get(row, "differences"), who,
                                                          one) note_difference(&d, row, one);
    json_array_foreach(checks, i, row) note_difference(&d, row, row);
    for (int wide = 0; wide < 2; wide++)
        if (d.count[wide])
            fprintf(out,
                    "- %s: %d comparisons; the loss differs by at most %.1e of itself, the "
                    "gradient by %.1e of its "
                    "largest component.\n",
                    wide ? "f64" : "f32", d.count[wide], d.loss[wide], d.gradient[wide]);
}

/* Times faster than the best peer, for each case that has one. */
static bool write_chart(const json_t *steps, int all, const char *path)
{
    enum { MOST = 100 };
    static char names[MOST][96];
    const char *rows[MOST];
    double times[2][MOST];
    size_t n = 0, i;
    json_t *row;
    json_array_foreach(steps, i, row)
    {
        const int counts[2] = { 1, all };
        if (n == MOST || strcmp(text_of(row, "type"), "f32") != 0 ||
            strcmp(text_of(row, "objective"), "ab-initio") != 0)
            continue;
        for (int way = 0; way < 2; way++)
            times[way][n] = times_faster(row, counts[way]);
        if (!isfinite(times[0][n]) && !isfinite(times[1][n]))
            continue;
        snprintf(names[n], sizeof names[n], "%s", text_of(row, "title"));
        rows[n] = names[n];
        n++;
    }
    char second[32];
    snprintf(second, sizeof second, "%d threads", all);
    const app_bars_series series[] = { { "1 thread", times[0], NULL }, { second, times[1], NULL } };
    const app_bars_figure figure = {
        .title = "Gradient steps: times faster than the faster of PyTorch and JAX",
        .value_label = "times faster",
        .rows = rows,
        .rows_count = n,
        .series = series,
        .series_count = 2,
        .log = true
    };
    hs_message message;
    if (n && app_figure_bars(&figure, &(app_figure_out){ .svg_path = path }, &message)) {
        fprintf(stderr, "%s\n", message.text);
        return false;
    }
    return true;
}

/* The smallest and the largest of a number in a list's rows; false if no row has it. */
static bool range_of(const json_t *list, const char *key, double range[2])
{
    range[0] = range[1] = (double)NAN;
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        range[0] = fmin(range[0], number_of(row, NULL, key));
        range[1] = fmax(range[1], number_of(row, NULL, key));
    }
    return !isnan(range[0]);
}

static void write_range(FILE *out, const double range[2])
{
    fprintf(out, "%g", range[0]);
    if (range[1] > range[0])
        fprintf(out, " to %g", range[1]);
}

/* In parentheses, the rounds of each part, where rows say them. */
static void write_rounds(FILE *out, const json_t *all)
{
    static const char *const parts[] = { "steps", "sampling", "first", "scaling" };
    const char *before = " (";
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        const json_t *list = json_object_get(all, parts[k]);
        double range[2];
        if (!range_of(list, "rounds", range))
            continue;
        fprintf(out, "%s%s: ", before, parts[k]);
        write_range(out, range);
        fprintf(out, range[1] > 1 ? " rounds" : " round");
        before = ", ";
        if (range_of(list, "round_seconds", range)) {
            fprintf(out, " of ");
            write_range(out, range);
            fprintf(out, " s");
        }
    }
    if (before[0] == ',')
        fprintf(out, ")");
}

/* Appends what somebody wrote about the figures. */
static bool write_notes(FILE *out, const char *path)
{
    FILE *notes = fopen(path, "r");
    if (!notes) {
        fprintf(stderr, "%s: cannot open it: %s\n", path, strerror(errno));
        return false;
    }
    for (int c; (c = getc(notes)) != EOF;)
        putc(c, out);
    fclose(notes);
    return true;
}

bool report_write(const char *json, const char *notes, const char *markdown, const char *svg)
{
    json_error_t error;
    json_t *all = json_load_file(json, 0, &error);
    if (!all) {
        fprintf(stderr, "%s, line %d: %s\n", json, error.line, error.text);
        return false;
    }
    FILE *out = fopen(markdown, "w");
    if (!out) {
        fprintf(stderr, "%s: cannot create it: %s\n", markdown, strerror(errno));
        json_decref(all);
        return false;
    }
    const int threads = (int)number_of(all, NULL, "threads");
    const json_t *steps = json_object_get(all, "steps"),
                 *sampling = json_object_get(all, "sampling");
    json_t *peers = json_object_get(all, "peers");
    const char *processor = text_of(all, "processor"); /* not in files of before it was noted */
    const char *picture = strrchr(svg, '/');
    fprintf(out,
            "# Performance\n\n"
            "Made from [bench/performance.json](../bench/performance.json), which `./run bench "
            "steps --json FILE` "
            "measures on your machine. %s%s%s, %d thread%s; medians of rounds in which all "
            "contenders take turns",
            processor, *processor ? ", " : "", text_of(all, "isa"), threads,
            threads == 1 ? "" : "s");
    write_rounds(out, all);
    fprintf(out, ". What follows from the figures is said at the end.");
    const char *name;
    json_t *version;
    json_object_foreach(peers, name, version)
        fprintf(out, " Peer: %s.", json_string_value(version));
    fprintf(out,
            "\n\n![times faster than the faster of PyTorch and JAX](%s)\n"
            "\n## Ahead and behind\n\n"
            "How many times as fast as the faster of PyTorch and JAX, on as many threads, over the "
            "rows below that have one of them.\n\n",
            picture ? picture + 1 : svg);
    bool ok = write_summary(out, steps, sampling, threads);
    write_aims(out, all, threads);
    fprintf(out,
            "\n## What is compared\n\n"
            "A step is all of it: start points, noise, loss, gradient, Adam. Peers are the fastest "
            "of several variants "
            "each ([bench/peers](../bench/peers)), with the same mathematics:\n\n");
    write_differences(out, steps, json_object_get(all, "checks"));
    fprintf(out, "\n## Gradient steps\n\nThe limit is the machine's rate of fused multiply-adds, "
                 "measured in the same "
                 "run, and counts the matrix products alone; for MNIST it is memory, and counts "
                 "the bytes that weights "
                 "and Adam need at least.\n");
    write_steps(out, steps, threads);
    write_sampling(out, sampling, threads);
    write_first(out, json_object_get(all, "first"));
    write_scaling(out, json_object_get(all, "scaling"));
    const bool noted = write_notes(out, notes);
    if (fclose(out) != 0) {
        fprintf(stderr, "%s: cannot write it: %s\n", markdown, strerror(errno));
        ok = false;
    }
    ok = write_chart(steps, threads, svg) && noted && ok;
    json_decref(all);
    return ok;
}
