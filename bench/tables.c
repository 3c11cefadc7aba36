#include "tables.h"

#include <math.h>
#include <string.h>

#include <hastings/tensor/memory.h>

#include "limits.h"
#include "measure.h"
#include "rows.h"

/* ---- All of them ---------------------------------------------------------------------------- */

/* The name of a row, and how many times as fast we are in it. */
static void write_behind(app_buffer *text, const json_t *row, double times)
{
    const char *kind = text_of(row, "kind"), *type = text_of(row, "type");
    const double chains = number_of(row, NULL, "chains");
    app_buffer_print(text, "%s%s, %s", text->length ? "; " : "", text_of(row, "title"),
                     *kind ? kind : text_of(row, "objective"));
    if (*type && strcmp(type, "f32") != 0)
        app_buffer_print(text, ", %s", type);
    if (isfinite(chains))
        app_buffer_print(text, ", %.0f chain%s", chains, chains == 1 ? "" : "s");
    app_buffer_print(text, " (%.3g)", times);
}

/* One line, from as much memory as the list has rows. */
static void write_standing(app_buffer *page, const char *part, const json_t *list, int threads,
                           double *times)
{
    size_t i, n = 0, ahead = 0;
    json_t *row;
    app_buffer behind = { 0 };
    json_array_foreach(list, i, row)
    {
        times[n] = times_faster(row, threads);
        if (!isfinite(times[n]))
            continue;
        if (times[n] >= 1)
            ahead++;
        else
            write_behind(&behind, row, times[n]);
        n++;
    }
    const double upper = n ? median(times, n) : (double)NAN; /* sorts them */
    app_buffer_cell(page, "%s", part);
    app_buffer_cell(page, "%d", threads);
    app_buffer_cell(page, "%zu of %zu", ahead, n);
    app_buffer_number(page, n ? times[0] : upper, "");
    app_buffer_number(page, n ? (times[(n - 1) / 2] + upper) / 2 : upper, "");
    app_buffer_number(page, n ? times[n - 1] : upper, "");
    app_buffer_cell(page, "%s", behind.length ? behind.bytes : "none");
    app_buffer_line(page);
    page->failed |= behind.failed;
    app_buffer_free(&behind);
}

void write_summary(app_buffer *page, const json_t *steps, const json_t *sampling, int all)
{
    const size_t most = json_array_size(steps) + json_array_size(sampling) + 1;
    double *times = hs_alloc_zero(most, sizeof *times);
    if (!times) {
        page->failed = true;
        return;
    }
    app_buffer_headings(page, (const char *[]){ "part", "threads", "ahead", "smallest", "median",
                                                "largest", "a peer is ahead in", NULL });
    for (int part = 0; part < 2; part++)
        for (int way = 0; way < (all > 1 ? 2 : 1); way++)
            write_standing(page, part ? "sampling" : "gradient steps", part ? sampling : steps,
                           way ? all : 1, times);
    hs_free(times);
}

/* ---- Each of them --------------------------------------------------------------------------- */

void write_steps(app_buffer *page, const json_t *steps, int all)
{
    const int counts[2] = { 1, all };
    for (int way = 0; way < (all > 1 ? 2 : 1); way++) {
        const int threads = counts[way];
        app_buffer_print(page, "\n### %d thread%s\n\n", threads, threads == 1 ? "" : "s");
        app_buffer_headings(
            page, (const char *[]){ "case", "objective", "type", "Hastings, steps/s", "PyTorch",
                                    "JAX", "times PyTorch", "times JAX",
                                    "times PyTorch, not compiled", "of the limit", NULL });
        size_t i;
        json_t *row;
        json_array_foreach(steps, i, row)
        {
            const double own = seconds_of(row, "hastings", threads);
            const double torch = seconds_of(row, "torch", threads),
                         jax = seconds_of(row, "jax", threads),
                         plain = seconds_of(row, "torch plain", threads);
            app_buffer_cell(page, "%s", text_of(row, "title"));
            app_buffer_cell(page, "%s", text_of(row, "objective"));
            app_buffer_cell(page, "%s", text_of(row, "type"));
            const double figures[] = { 1 / own,     1 / torch, 1 / jax,
                                       torch / own, jax / own, plain / own };
            for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
                app_buffer_number(page, figures[k], "");
            app_buffer_number(page, 100 * share_of_steps(steps, row, threads), "%");
            app_buffer_line(page);
        }
    }
}

void write_sampling(app_buffer *page, const json_t *list, int all)
{
    app_buffer_put(page, "\n## Sampling\n\nProposals per second of all chains together, f32; HMC "
                         "makes 10 leapfrog steps. The limit is the time of the matrix products at "
                         "the peak and of one exponential for each row of the data and evaluation, "
                         "both measured in the same run.\n\n");
    app_buffer_headings(page, (const char *[]){ "posterior", "kernel", "chains", "threads",
                                                "Hastings", "PyTorch", "JAX", "times PyTorch",
                                                "times JAX", "of the limit", NULL });
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) for (int threads = 1; threads <= all;
                                          threads += all > 1 ? all - 1 : 1)
    {
        const double own = rate_of(row, "hastings", threads);
        const double torch = rate_of(row, "torch", threads), jax = rate_of(row, "jax", threads);
        app_buffer_cell(page, "%s", text_of(row, "title"));
        app_buffer_cell(page, "%s", text_of(row, "kind"));
        const double figures[] = {
            number_of(row, NULL, "chains"), threads, own, torch, jax, own / torch, own / jax
        };
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
            app_buffer_number(page, figures[k], "");
        app_buffer_number(page, 100 * share_of_sampling(list, row, threads), "%");
        app_buffer_line(page);
    }
}

void write_first(app_buffer *page, const json_t *list)
{
    app_buffer_put(page, "\n## From the start of a process to its first gradient step\n\n"
                         "Seconds, and peak memory in MB; with the time that imports and "
                         "compilation take.\n\n");
    app_buffer_headings(page, (const char *[]){ "case", "Hastings", "PyTorch", "JAX",
                                                "memory: Hastings", "PyTorch", "JAX", NULL });
    static const char *const who[] = { "hastings", "torch", "jax" };
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        app_buffer_cell(page, "%s", text_of(row, "title"));
        for (int k = 0; k < 6; k++)
            app_buffer_number(page, number_of(row, k < 3 ? "seconds" : "megabytes", who[k % 3]),
                              "");
        app_buffer_line(page);
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

void write_scaling(app_buffer *page, const json_t *list)
{
    app_buffer_put(page, "\n## Scaling\n\nOne thing at a time is doubled (Ab Initio, f32; one "
                         "thread but for the last rows): *per unit* is the time divided by the "
                         "size, or the time itself where the size is threads, relative to the "
                         "smallest size; *for each more* is what the second half of the size adds "
                         "to the time, divided by that half and relative to the first such figure, "
                         "so that linear growth shows as about 1 also where a part of the step "
                         "does not grow.\n\n");
    app_buffer_headings(page, (const char *[]){ "what", "case", "size", "microseconds", "per unit",
                                                "for each more", NULL });
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
        app_buffer_cell(page, "%s", text_of(row, "what"));
        app_buffer_cell(page, "%s", text_of(row, "case"));
        app_buffer_number(page, size, "");
        app_buffer_number(page, time * 1e6, "");
        app_buffer_number(page, threads ? time / base : time / size / (base / unit), "");
        app_buffer_number(page, more / first_more, "");
        app_buffer_line(page);
    }
    json_decref(sorted);
}
