#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <hastings/cli/plot.h>

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

/* A number inside an object, or NaN. */
static double number_of(const json_t *row, const char *object, const char *key)
{
    const json_t *value = json_object_get(object ? json_object_get(row, object) : row, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double seconds_of(const json_t *row, const char *who, int threads)
{
    char key[32];
    snprintf(key, sizeof key, "%s %d", who, threads);
    return number_of(row, "seconds", key);
}

static double rate_of(const json_t *row, const char *who, int threads)
{
    char key[32];
    snprintf(key, sizeof key, "%s %d", who, threads);
    return number_of(row, "per_second", key);
}

static double of_threads(const json_t *row, const char *object, int threads)
{
    char key[16];
    snprintf(key, sizeof key, "%d", threads);
    return number_of(row, object, key);
}

/* Three digits, or a dash for NaN; | after it. */
static void cell(FILE *out, double x, const char *unit)
{
    if (!isfinite(x))
        fprintf(out, " - |");
    else if (fabs(x) >= 99.95)
        fprintf(out, " %.0f%s |", x, unit);
    else
        fprintf(out, " %.3g%s |", x, unit);
}

static double smaller(double a, double b)
{
    return !(a <= b) && isfinite(b) ? b : a; /* the one that is there */
}

/* What the machine reached at most in a list: it is measured beside every case, and what else the machine does makes it
 * less in some of them. By type where rows have one. */
static double most_of(const json_t *list, const char *type, const char *object, int threads)
{
    double most = (double)NAN;
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) if (strcmp(text_of(row, "type"), type) == 0) most =
        fmax(most, of_threads(row, object, threads));
    return most;
}

/* Share of the machine's limit: multiply-adds of the products, or bytes where memory is the limit. */
static double share_of_limit(const json_t *steps, const json_t *row, int threads)
{
    const char *type = text_of(row, "type");
    const double own = seconds_of(row, "hastings", threads), flops = number_of(row, NULL, "flops");
    if (isfinite(of_threads(row, "read_gbs", threads))) {
        /* Each product with one row reads its weights, forward and for the gradient of its input: two thirds of the
         * operations, two for each number of 4 bytes. Adam reads and writes parameters and two moments. */
        const double reads = flops * 2 / 3 / 2 * 4,
                     adam = 6 * 4 * number_of(row, NULL, "parameters");
        return (reads / most_of(steps, type, "read_gbs", threads) +
                adam / most_of(steps, type, "update_gbs", threads)) *
               1e-9 / own;
    }
    return flops > 0 ? flops / own * 1e-9 / most_of(steps, type, "peak_gflops", threads)
                     : (double)NAN;
}

static void write_steps(FILE *out, const json_t *steps, int all)
{
    const int counts[2] = { 1, all };
    for (int way = 0; way < (all > 1 ? 2 : 1); way++) {
        const int threads = counts[way];
        fprintf(out,
                "\n### %d thread%s\n\n"
                "| case | objective | type | Hastings, steps/s | PyTorch | JAX | times PyTorch | "
                "times JAX | times PyTorch, not compiled | of the "
                "limit |\n|---|---|---|---|---|---|---|---|---|---|\n",
                threads, threads == 1 ? "" : "s");
        size_t i;
        json_t *row;
        json_array_foreach(steps, i, row)
        {
            const double own = seconds_of(row, "hastings", threads);
            const double torch = seconds_of(row, "torch", threads),
                         jax = seconds_of(row, "jax", threads),
                         plain = seconds_of(row, "torch plain", threads);
            fprintf(out, "| %s | %s | %s |", text_of(row, "title"), text_of(row, "objective"),
                    text_of(row, "type"));
            cell(out, 1 / own, "");
            cell(out, 1 / torch, "");
            cell(out, 1 / jax, "");
            cell(out, torch / own, "");
            cell(out, jax / own, "");
            cell(out, plain / own, "");
            cell(out, 100 * share_of_limit(steps, row, threads), "%");
            fprintf(out, "\n");
        }
    }
}

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

static void write_sampling(FILE *out, const json_t *list, int all)
{
    fprintf(out, "\n## Sampling\n\nProposals per second of all chains together, f32; HMC makes 10 "
                 "leapfrog steps. The limit "
                 "is the time of the matrix products at the peak and of one exponential for each "
                 "row of the data "
                 "and evaluation, both measured in the same run.\n\n"
                 "| posterior | kernel | chains | threads | Hastings | PyTorch | JAX | times "
                 "PyTorch | times JAX | "
                 "of the limit |\n|---|---|---|---|---|---|---|---|---|---|\n");
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) for (int threads = 1; threads <= all;
                                          threads += all > 1 ? all - 1 : 1)
    {
        const double own = rate_of(row, "hastings", threads);
        const double torch = rate_of(row, "torch", threads), jax = rate_of(row, "jax", threads);
        fprintf(out, "| %s | %s | %.0f | %d |", text_of(row, "title"), text_of(row, "kind"),
                number_of(row, NULL, "chains"), threads);
        cell(out, own, "");
        cell(out, torch, "");
        cell(out, jax, "");
        cell(out, own / torch, "");
        cell(out, own / jax, "");
        const double least =
            number_of(row, NULL, "flops") / most_of(list, "", "peak_gflops", threads) +
            number_of(row, NULL, "exponentials") / most_of(list, "", "giga_exponentials", threads);
        cell(out, 100 * least * 1e-9 * own, "%");
        fprintf(out, "\n");
    }
}

static void write_first(FILE *out, const json_t *list)
{
    fprintf(out,
            "\n## From the start of a process to its first gradient step\n\n"
            "Seconds, and peak memory in MB; with the time that imports and compilation take.\n\n"
            "| case | Hastings | PyTorch | JAX | memory: Hastings | PyTorch | JAX "
            "|\n|---|---|---|---|---|---|---|\n");
    static const char *const who[] = { "hastings", "torch", "jax" };
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        fprintf(out, "| %s |", text_of(row, "title"));
        for (int k = 0; k < 3; k++)
            cell(out, number_of(row, "seconds", who[k]), "");
        for (int k = 0; k < 3; k++)
            cell(out, number_of(row, "megabytes", who[k]), "");
        fprintf(out, "\n");
    }
}

static void write_scaling(FILE *out, const json_t *list)
{
    fprintf(out, "\n## Scaling\n\nOne thing at a time is doubled (Ab Initio, f32; one thread but "
                 "for the last rows); the "
                 "last column is the time per unit, relative to the smallest size.\n\n"
                 "| what | case | size | microseconds | per unit |\n|---|---|---|---|---|\n");
    size_t i, k;
    json_t *row, *other;
    json_array_foreach(list, i, row)
    {
        const json_t *first = row; /* the first of its kind */
        json_array_foreach(list, k,
                           other) if (strcmp(text_of(other, "what"), text_of(row, "what")) == 0 &&
                                      strcmp(text_of(other, "case"), text_of(row, "case")) == 0)
        {
            first = other;
            break;
        }
        const bool threads = strcmp(text_of(row, "what"), "threads") == 0;
        const double time = number_of(row, NULL, "seconds"), size = number_of(row, NULL, "size");
        const double base = number_of(first, NULL, "seconds"),
                     unit = number_of(first, NULL, "size");
        fprintf(out, "| %s | %s | %.0f |", text_of(row, "what"), text_of(row, "case"), size);
        cell(out, time * 1e6, "");
        cell(out, threads ? time / base : time / size / (base / unit), "");
        fprintf(out, "\n");
    }
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
            times[way][n] = smaller(seconds_of(row, "torch", counts[way]),
                                    seconds_of(row, "jax", counts[way])) /
                            seconds_of(row, "hastings", counts[way]);
        if (!isfinite(times[0][n]) && !isfinite(times[1][n]))
            continue;
        snprintf(names[n], sizeof names[n], "%s", text_of(row, "title"));
        rows[n] = names[n];
        n++;
    }
    char second[32];
    snprintf(second, sizeof second, "%d threads", all);
    const hs_bars_series series[] = { { "1 thread", times[0], NULL }, { second, times[1], NULL } };
    const hs_bars_figure figure = {
        .title = "Gradient steps: times faster than the faster of PyTorch and JAX",
        .value_label = "times faster",
        .rows = rows,
        .rows_count = n,
        .series = series,
        .series_count = 2,
        .log = true
    };
    hs_message message;
    if (n && hs_figure_bars(&figure, &(hs_figure_out){ .svg_path = path }, &message)) {
        fprintf(stderr, "%s\n", message.text);
        return false;
    }
    return true;
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
    const json_t *steps = json_object_get(all, "steps");
    json_t *peers = json_object_get(all, "peers");
    const char *processor = text_of(all, "processor"); /* not in files of before it was noted */
    const char *picture = strrchr(svg, '/');
    fprintf(out,
            "# Performance\n\n"
            "Made from [bench/performance.json](../bench/performance.json), which `./run bench "
            "steps --json FILE` "
            "measures on your machine. %s%s%s, %d threads; medians of rounds in which all "
            "contenders take turns (",
            processor, *processor ? ", " : "", text_of(all, "isa"), threads);
    const char *part, *between = "";
    json_t *rounds;
    json_object_foreach(json_object_get(all, "rounds"), part, rounds)
    {
        fprintf(out, "%s%s: %.0f of %g s", between, part,
                json_number_value(json_array_get(rounds, 0)),
                json_number_value(json_array_get(rounds, 1)));
        between = ", ";
    }
    fprintf(out, "). What follows from the figures is said at the end.");
    const char *name;
    json_t *version;
    json_object_foreach(peers, name, version)
        fprintf(out, " Peer: %s.", json_string_value(version));
    fprintf(out,
            "\n\n![times faster than the faster of PyTorch and JAX](%s)\n\n"
            "A step is all of it: start points, noise, loss, gradient, Adam. Peers are the fastest "
            "of several variants "
            "each ([bench/peers](../bench/peers)), with the same mathematics:\n\n",
            picture ? picture + 1 : svg);
    write_differences(out, steps, json_object_get(all, "checks"));
    fprintf(out, "\n## Gradient steps\n\nThe limit is the machine's rate of fused multiply-adds, "
                 "measured in the same "
                 "run, and counts the matrix products alone; for MNIST it is memory, and counts "
                 "the bytes that weights "
                 "and Adam need at least.\n");
    write_steps(out, steps, threads);
    write_sampling(out, json_object_get(all, "sampling"), threads);
    write_first(out, json_object_get(all, "first"));
    write_scaling(out, json_object_get(all, "scaling"));
    const bool noted = write_notes(out, notes);
    bool ok = fclose(out) == 0;
    if (!ok)
        fprintf(stderr, "%s: cannot write it: %s\n", markdown, strerror(errno));
    ok = write_chart(steps, threads, svg) && noted && ok;
    json_decref(all);
    return ok;
}
