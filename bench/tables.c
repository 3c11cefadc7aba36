#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "measure.h"
#include "rows.h"

void cell(FILE *out, double x, const char *unit)
{
    if (!isfinite(x))
        fprintf(out, " - |");
    else if (fabs(x) >= 99.95)
        fprintf(out, " %.0f%s |", x, unit);
    else
        fprintf(out, " %.3g%s |", x, unit);
}

/* ---- All of them ---------------------------------------------------------------------------- */

/* What a row is of, and how many times as fast we are in it. */
static void write_behind(FILE *out, const json_t *row, double times)
{
    const char *kind = text_of(row, "kind"), *type = text_of(row, "type");
    const double chains = number_of(row, NULL, "chains");
    fprintf(out, "%s, %s", text_of(row, "title"), *kind ? kind : text_of(row, "objective"));
    if (*type && strcmp(type, "f32") != 0)
        fprintf(out, ", %s", type);
    if (isfinite(chains))
        fprintf(out, ", %.0f chain%s", chains, chains == 1 ? "" : "s");
    fprintf(out, " (%.3g)", times);
}

/* One line, from as much memory as the list has rows. */
static void write_standing(FILE *out, const char *part, const json_t *list, int threads,
                           double *times)
{
    size_t i, n = 0, ahead = 0;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        times[n] = times_faster(row, threads);
        if (!isfinite(times[n]))
            continue;
        ahead += times[n] >= 1;
        n++;
    }
    fprintf(out, "| %s | %d | %zu of %zu |", part, threads, ahead, n);
    if (n) {
        const double upper = median(times, n); /* sorts them */
        cell(out, times[0], "");
        cell(out, (times[(n - 1) / 2] + upper) / 2, "");
        cell(out, times[n - 1], "");
    } else {
        fprintf(out, " - | - | - |");
    }
    const char *before = " ";
    json_array_foreach(list, i, row)
    {
        const double of_row = times_faster(row, threads);
        if (!(of_row < 1))
            continue;
        fputs(before, out);
        write_behind(out, row, of_row);
        before = "; ";
    }
    fputs(ahead < n ? " |\n" : " none |\n", out);
}

bool write_summary(FILE *out, const json_t *steps, const json_t *sampling, int all)
{
    const size_t most = json_array_size(steps) + json_array_size(sampling) + 1;
    double *times = calloc(most, sizeof *times);
    if (!times) {
        fprintf(stderr, "no memory for a summary of %zu rows\n", most);
        return false;
    }
    fprintf(out, "| part | threads | ahead | smallest | median | largest | a peer is ahead in "
                 "|\n|---|---|---|---|---|---|---|\n");
    for (int part = 0; part < 2; part++)
        for (int way = 0; way < (all > 1 ? 2 : 1); way++)
            write_standing(out, part ? "sampling" : "gradient steps", part ? sampling : steps,
                           way ? all : 1, times);
    free(times);
    return true;
}

/* ---- Each of them --------------------------------------------------------------------------- */

void write_steps(FILE *out, const json_t *steps, int all)
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
            cell(out, 100 * share_of_steps(steps, row, threads), "%");
            fprintf(out, "\n");
        }
    }
}

void write_sampling(FILE *out, const json_t *list, int all)
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
        cell(out, 100 * share_of_sampling(list, row, threads), "%");
        fprintf(out, "\n");
    }
}

void write_first(FILE *out, const json_t *list)
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

/* Whether two rows are of the same thing, in the same case, and differ in its size. */
static bool same_group(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "what"), text_of(b, "what")) == 0 &&
           strcmp(text_of(a, "case"), text_of(b, "case")) == 0;
}

/* The rows by what they are of, by case and by size; groups in the order of their first rows. */
static json_t *by_group(const json_t *list)
{
    json_t *sorted = json_array(), *row, *other;
    size_t i, k;
    json_array_foreach(list, i, row)
    {
        size_t place = json_array_size(sorted);
        bool group = false; /* has been met */
        json_array_foreach(sorted, k, other)
        {
            if (same_group(other, row)) {
                if (number_of(other, NULL, "size") <= number_of(row, NULL, "size"))
                    place = k + 1;
                else if (!group)
                    place = k;
                group = true;
            } else if (!group && strcmp(text_of(other, "what"), text_of(row, "what")) == 0) {
                place = k + 1;
            }
        }
        json_array_insert(sorted, place, row);
    }
    return sorted;
}

void write_scaling(FILE *out, const json_t *list)
{
    fprintf(out, "\n## Scaling\n\nOne thing at a time is doubled (Ab Initio, f32; one thread but "
                 "for the last rows): *per unit* is the time divided by the size, or the time "
                 "itself where the size is threads, relative to the smallest size; *for each more* "
                 "is what the second half of the size adds to the time, divided by that half and "
                 "relative to the first such figure, so that linear growth shows as about 1 also "
                 "where a part of the step does not grow.\n\n"
                 "| what | case | size | microseconds | per unit | for each more "
                 "|\n|---|---|---|---|---|---|\n");
    json_t *sorted = by_group(list), *row;
    const json_t *first = NULL; /* of the group */
    double first_more = (double)NAN;
    size_t i;
    json_array_foreach(sorted, i, row)
    {
        if (!first || !same_group(first, row)) {
            first = row;
            first_more = (double)NAN;
        }
        const bool threads = strcmp(text_of(row, "what"), "threads") == 0;
        const double time = number_of(row, NULL, "seconds"), size = number_of(row, NULL, "size");
        const double base = number_of(first, NULL, "seconds"),
                     unit = number_of(first, NULL, "size");
        double more = (double)NAN;
        size_t k;
        const json_t *half;
        json_array_foreach(sorted, k, half)
        {
            if (!threads && same_group(half, row) && number_of(half, NULL, "size") == size / 2)
                more = (time - number_of(half, NULL, "seconds")) / (size / 2);
        }
        if (isnan(first_more))
            first_more = more;
        fprintf(out, "| %s | %s | %.0f |", text_of(row, "what"), text_of(row, "case"), size);
        cell(out, time * 1e6, "");
        cell(out, threads ? time / base : time / size / (base / unit), "");
        cell(out, more / first_more, "");
        fprintf(out, "\n");
    }
    json_decref(sorted);
}
