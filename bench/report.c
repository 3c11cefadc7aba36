#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <hastings/cli/plot/plot.h>
#include <hastings/experiments/json_file.h>

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

static void write_differences(app_buffer *page, const json_t *steps, const json_t *checks)
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
            app_buffer_print(
                page,
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

static void write_range(app_buffer *page, const double range[2])
{
    app_buffer_print(page, "%g", range[0]);
    if (range[1] > range[0])
        app_buffer_print(page, " to %g", range[1]);
}

/* In parentheses, the rounds of each part, where rows say them. */
static void write_rounds(app_buffer *page, const json_t *all)
{
    static const char *const parts[] = { "steps", "sampling", "first", "scaling" };
    const char *before = " (";
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        const json_t *list = json_object_get(all, parts[k]);
        double range[2];
        if (!range_of(list, "rounds", range))
            continue;
        app_buffer_print(page, "%s%s: ", before, parts[k]);
        write_range(page, range);
        app_buffer_print(page, range[1] > 1 ? " rounds" : " round");
        before = ", ";
        if (range_of(list, "round_seconds", range)) {
            app_buffer_print(page, " of ");
            write_range(page, range);
            app_buffer_print(page, " s");
        }
    }
    if (before[0] == ',')
        app_buffer_print(page, ")");
}

/* Appends a file of notes on the figures. */
static bool write_notes(app_buffer *page, const char *path)
{
    FILE *notes = fopen(path, "r");
    if (!notes) {
        fprintf(stderr, "%s: cannot open it: %s\n", path, strerror(errno));
        return false;
    }
    char part[4096];
    while (fgets(part, sizeof part, notes))
        app_buffer_put(page, part);
    fclose(notes);
    return true;
}

static void write_page(app_buffer *page, const json_t *all, int threads, const char *picture)
{
    const json_t *steps = json_object_get(all, "steps"),
                 *sampling = json_object_get(all, "sampling");
    const char *processor = text_of(all, "processor"); /* not in files of before it was noted */
    app_buffer_print(page,
                     "# Performance\n\n"
                     "Made from [bench/performance.json](../bench/performance.json), which `./run "
                     "bench steps --json FILE` measures on your machine. %s%s%s, %d thread%s; "
                     "medians of rounds in which all contenders take turns",
                     processor, *processor ? ", " : "", text_of(all, "isa"), threads,
                     threads == 1 ? "" : "s");
    write_rounds(page, all);
    app_buffer_put(page, ". What follows from the figures is said at the end.");
    const char *name;
    json_t *version;
    json_object_foreach(json_object_get(all, "peers"), name, version)
        app_buffer_print(page, " Peer: %s.", json_string_value(version));
    app_buffer_print(page,
                     "\n\n![times faster than the faster of PyTorch and JAX](%s)\n"
                     "\n## Ahead and behind\n\n"
                     "How many times as fast as the faster of PyTorch and JAX, on as many threads, "
                     "over the rows below that have one of them.\n\n",
                     picture);
    write_summary(page, steps, sampling, threads);
    write_aims(page, all, threads);
    app_buffer_put(page,
                   "\n## What is compared\n\n"
                   "A step is all of it: start points, noise, loss, gradient, Adam. Peers are "
                   "the fastest of several variants each ([bench/peers](../bench/peers)), "
                   "with the same mathematics:\n\n");
    write_differences(page, steps, json_object_get(all, "checks"));
    app_buffer_put(page,
                   "\n## Gradient steps\n\nThe limit is the machine's rate of fused "
                   "multiply-adds, measured in the same run, and counts the matrix products "
                   "alone; for MNIST it is memory, and counts the bytes that weights and Adam "
                   "need at least.\n");
    write_steps(page, steps, threads);
    write_sampling(page, sampling, threads);
    write_first(page, json_object_get(all, "first"));
    write_scaling(page, json_object_get(all, "scaling"));
}

bool report_write(const char *json, const char *notes, const char *markdown, const char *svg)
{
    hs_message message;
    json_t *all = app_json_read(json, &message);
    if (!all) {
        fprintf(stderr, "%s\n", message.text);
        return false;
    }
    const int threads = (int)number_of(all, NULL, "threads");
    const char *folder = strrchr(svg, '/');
    app_buffer page = { 0 };
    write_page(&page, all, threads, folder ? folder + 1 : svg);
    bool ok = write_notes(&page, notes);
    if (ok && app_buffer_save(&page, markdown, &message)) {
        fprintf(stderr, "%s\n", message.text);
        ok = false;
    }
    ok = ok && write_chart(json_object_get(all, "steps"), threads, svg);
    app_buffer_free(&page);
    json_decref(all);
    return ok;
}
