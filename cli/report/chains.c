/* What chains look like: the trace and the autocorrelation of the coordinate that mixes worst, and how
 * all coordinates do. Of the first replication, and of a bounded number of jobs. */
#include "page_internal.h"

#include <string.h>

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/experiments/inside.h>
#include <hastings/mcmc/diagnostics/figures.h>
#include <hastings/mcmc/io/chains_file.h>

enum {
    MOST_JOBS = 16,
    MOST_WARNED = 10,     /* of which so many may be chosen for a warning */
    MOST_LISTED = 12,     /* coordinates in a table */
    LAGS = 60,            /* of autocorrelations */
    MOST_DRAWS = 1 << 14, /* used for these */
};

/* ---- The worst coordinate ---------------------------------------------------------------------- */

static double least_ess(const json_t *coordinate)
{
    return fmin(number_of(coordinate, "ess_raw"), number_of(coordinate, "ess_x2"));
}

static size_t worst_coordinate(const json_t *job, size_t dim)
{
    size_t worst = 0, i;
    double least = (double)INFINITY;
    json_t *coordinate;
    json_array_foreach(json_object_get(job, "coordinates"), i, coordinate)
    {
        if (i < dim && least_ess(coordinate) < least) {
            least = least_ess(coordinate);
            worst = i;
        }
    }
    return worst;
}

/* ---- Pictures ---------------------------------------------------------------------------------- */

static void put_trace(page *p, const json_t *job, const hs_chains *c, size_t k, const char *name)
{
    const char *title =
        app_page_text(p, "%s, %s", app_text_of(job, "row"), app_text_of(job, "case"));
    const app_traces_figure figure = { .title = app_page_text(p, "Trace of %s", name),
                                       .width = 500,
                                       .height = 260,
                                       .y_label = name,
                                       .x = c->x + k,
                                       .chains = c->chains,
                                       .draws = c->draws,
                                       .chain_stride = c->draws * c->dim,
                                       .draw_stride = c->dim };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_text_of(job, "id"), "trace");
    const hs_status status = app_figure_traces(&figure, &pic.out, &message);
    app_picture_end(
        &pic, p, status, &message,
        app_page_text(p, "Traces of %s in %zu chains, %s.", name, c->chains, title),
        c->dim > 1 ? app_page_text(p, "%s, which mixes worst of %zu coordinates, in %zu chains.",
                                   name, c->dim, c->chains)
                   : app_page_text(p, "%s in %zu chains.", name, c->chains));
}

/* Autocorrelation of x^power about the mean of all chains: chains that are stuck in different places
 * have a high one at every lag, which autocorrelations about their own means would not show. */
static void pooled_autocorrelation(const hs_chains *c, size_t k, int power, double *rho)
{
    const size_t n = c->draws < MOST_DRAWS ? c->draws : MOST_DRAWS;
    const size_t chains = c->chains < 16 ? c->chains : 16;
    double mean = 0;
    for (size_t m = 0; m < chains; m++)
        for (size_t i = 0; i < n; i++) {
            const double x = hs_chains_draw(c, m, i)[k];
            mean += (power == 2 ? x * x : x) / (double)(chains * n);
        }
    for (size_t lag = 0; lag < LAGS; lag++) {
        double sum = 0;
        for (size_t m = 0; m < chains; m++)
            for (size_t i = 0; i + lag < n; i++) {
                const double x = hs_chains_draw(c, m, i)[k], y = hs_chains_draw(c, m, i + lag)[k];
                sum += power == 2 ? (x * x - mean) * (y * y - mean) : (x - mean) * (y - mean);
            }
        rho[lag] = lag < n ? sum / (double)(chains * (n - lag)) : (double)NAN;
    }
    const double variance = rho[0];
    for (size_t lag = 0; lag < LAGS; lag++)
        rho[lag] = variance > 0 ? rho[lag] / variance : (double)NAN;
}

static void put_autocorrelation(page *p, const json_t *job, const hs_chains *c, size_t k,
                                const char *name)
{
    double first[LAGS], second[LAGS];
    pooled_autocorrelation(c, k, 1, first);
    pooled_autocorrelation(c, k, 2, second);
    const app_series series[] = {
        { .label = name, .y = first, .n = LAGS },
        { .label = app_page_text(p, "%s²", name), .y = second, .n = LAGS },
    };
    const app_autocorrelation_figure figure = { .title =
                                                    app_page_text(p, "Autocorrelation of %s", name),
                                                .width = 500,
                                                .height = 260,
                                                .series = series,
                                                .series_count = 2,
                                                .draws = c->draws * c->chains };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_text_of(job, "id"), "autocorrelation");
    const hs_status status = app_figure_autocorrelation(&figure, &pic.out, &message);
    app_picture_end(
        &pic, p, status, &message,
        app_page_text(p,
                      "Autocorrelations of %s and its square to lag %d: at lag 1 they are "
                      "%.2f and %.2f, at lag %d %.2f and %.2f.",
                      name, LAGS - 1, first[1], second[1], LAGS - 1, first[LAGS - 1],
                      second[LAGS - 1]),
        app_page_text(p, "Autocorrelation of %s and of its square, about the mean of all chains.",
                      name));
}

static void put_ess(page *p, const json_t *job, double draws)
{
    const json_t *coordinates = json_object_get(job, "coordinates");
    const size_t n = json_array_size(coordinates);
    double *first = hs_arena_alloc(&p->memory, 2 * n * sizeof *first);
    if (!first)
        return;
    double *second = first + n;
    for (size_t i = 0; i < n; i++) {
        first[i] = number_of(json_array_get(coordinates, i), "ess_raw");
        second[i] = number_of(json_array_get(coordinates, i), "ess_x2");
    }
    const app_ess_figure figure = { .title = "Effective sample size of each coordinate",
                                    .width = 500,
                                    .first = first,
                                    .second = second,
                                    .n = n,
                                    .draws = draws,
                                    .log = app_page_wants_log(first, 2 * n) };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_text_of(job, "id"), "ess");
    const hs_status status = app_figure_ess(&figure, &pic.out, &message);
    app_picture_end(
        &pic, p, status, &message,
        app_page_text(p, "Effective sample sizes of x and of x squared for %zu coordinates.", n),
        app_page_text(p, "ESS of %zu coordinates.", n));
}

/* ---- Coordinates as a table -------------------------------------------------------------------- */

static void put_coordinates(page *p, const json_t *job, const hs_chain_names *names)
{
    const json_t *coordinates = json_object_get(job, "coordinates");
    app_buffer *b = &p->html;
    app_buffer_html(
        b,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Coordinates of "
        "%s, %s\">\n<table class=\"number\"><thead><tr><th scope=\"col\">coordinate</th>",
        app_text_of(job, "row"), app_text_of(job, "case"));
    for (size_t j = 0; hs_coordinate_figure_at(j); j++)
        app_buffer_html(b, "<th scope=\"col\">%s</th>", hs_coordinate_figure_at(j)->title);
    app_buffer_put(b, "</tr></thead>\n<tbody>\n");
    size_t i;
    json_t *coordinate;
    json_array_foreach(coordinates, i, coordinate)
    {
        const char *name = i < names->count ? names->name[i] : app_page_text(p, "x[%zu]", i);
        app_buffer_html(b, "<tr><th scope=\"row\">%s</th>", name);
        for (size_t j = 0; hs_coordinate_figure_at(j); j++) {
            const double x = number_of(coordinate, hs_coordinate_figure_at(j)->key);
            const char *format = hs_coordinate_figure_at(j)->format;
            char text[APP_FIGURE_TEXT];
            app_figure_text(x, (double)NAN, text);
            if (format && x >= 0.5) /* a smaller ESS would be 0 */
                snprintf(text, sizeof text, format, x);
            app_buffer_html(b, "<td>%s</td>", text);
        }
        app_buffer_put(b, "</tr>\n");
    }
    app_buffer_put(b, "</tbody></table>\n</div>\n");
}

/* ---- Jobs -------------------------------------------------------------------------------------- */

static void put_job(page *p, const json_t *job, bool open)
{
    const size_t coordinates = json_array_size(json_object_get(job, "coordinates"));
    const double rhat = number_of(json_object_get(job, "figures"), "rhat");
    app_buffer *b = &p->html;
    char path[APP_INSIDE_PATH];
    const char *paths[] = { path };
    hs_chains *chains;
    hs_chain_names names = { 0 };
    hs_message message = { "" };
    app_buffer_html(b, "<details%s>\n<summary>%s, %s", open ? " open" : "", app_text_of(job, "row"),
                    app_text_of(job, "case"));
    if (isfinite(rhat))
        app_buffer_html(b, " <span class=\"soft\">R-hat %s</span>", app_page_text(p, "%.3f", rhat));
    app_buffer_put(b, "</summary>\n");
    double draws = 0;
    const bool read =
        app_file_inside(p->folder, app_text_of(job, "chains"), path, &message) == HS_OK &&
        hs_chains_read(&chains, &names, paths, 1, &message) == HS_OK;
    if (!read) {
        app_buffer_html(b, "<p class=\"missing\">The chains cannot be shown: %s</p>\n",
                        message.text);
        names = (hs_chain_names){ 0 };
    }
    app_buffer_put(b, "<div class=\"grid\">\n");
    if (read) {
        const size_t k = worst_coordinate(job, chains->dim);
        const char *name = k < names.count ? names.name[k] : app_page_text(p, "x[%zu]", k);
        put_trace(p, job, chains, k, name);
        put_autocorrelation(p, job, chains, k, name);
        draws = (double)chains->chains * (double)chains->draws;
        hs_chains_free(chains);
    }
    if (coordinates > 4)
        put_ess(p, job, draws);
    app_buffer_put(b, "</div>\n");
    if (coordinates && coordinates <= MOST_LISTED)
        put_coordinates(p, job, &names);
    hs_chain_names_free(&names);
    app_buffer_put(b, "</details>\n");
}

static bool is_warned(const json_t *job)
{
    size_t i;
    json_t *warning;
    json_array_foreach(json_object_get(job, "warnings"), i, warning)
    {
        if (strcmp(app_text_of(warning, "name"), "nonergodic") == 0)
            return true;
    }
    return false;
}

void app_page_chains(page *p)
{
    const json_t *jobs = json_object_get(p->result, "jobs");
    size_t chosen[MOST_JOBS], count = 0, all = 0, i;
    json_t *job;
    json_array_foreach(jobs, i, job)
    {
        if (!is_shown(job) || !app_text_of(job, "chains")[0])
            continue;
        all++;
        if (count < MOST_WARNED && is_warned(job))
            chosen[count++] = i;
    }
    if (!all)
        return;
    json_array_foreach(jobs, i, job)
    {
        bool there = false;
        for (size_t k = 0; k < count; k++)
            there |= chosen[k] == i;
        if (count < MOST_JOBS && !there && is_shown(job) && app_text_of(job, "chains")[0])
            chosen[count++] = i;
    }
    app_page_section(p, "chains", "Chains");
    if (count < all)
        app_buffer_html(&p->html,
                        "<p class=\"soft\">%zu of %zu samplers, those that look non-ergodic "
                        "before others.</p>\n",
                        count, all);
    bool first = true;
    json_array_foreach(jobs, i, job)
    {
        for (size_t k = 0; k < count; k++)
            if (chosen[k] == i && !app_interrupt_is_due(NULL)) {
                put_job(p, job, first);
                first = false;
            }
    }
    app_page_section_end(p);
}
