/* Figures of chains: traces and autocorrelations. */
#include "plot_internal.h"

#include <math.h>
#include <stdio.h>

#include <hastings/tensor/message.h>
#include <hastings/tensor/memory.h>

enum { MOST_KEYS = 8 };

hs_status app_figure_traces(const app_traces_figure *figure, const app_figure_out *out,
                            hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_traces: no figure");
    const size_t chains = figure->draws ? figure->chains : 0;
    if (chains > 0 && !figure->x)
        return hs_message_fail(message, HS_EINVAL, "app_figure_traces: %zu chains, but no draws",
                               figure->chains);
    const size_t step = figure->chain_stride ? figure->chain_stride : figure->draws;
    app_series *series = hs_alloc_zero(chains ? chains : 1, sizeof *series);
    char names[MOST_KEYS][32];
    if (!series)
        return hs_message_fail(message, HS_ENOMEM, "Out of memory for a figure of %zu chains",
                               chains);
    for (size_t m = 0; m < chains; m++) {
        series[m] = (app_series){ .y = figure->x + m * step,
                                  .n = figure->draws,
                                  .stride = figure->draw_stride };
        if (m < MOST_KEYS && chains > 1) {
            snprintf(names[m], sizeof names[m], "chain %zu", m + 1);
            series[m].label = names[m];
        }
    }
    const plot_lines lines = { .figure = { .title = figure->title,
                                           .width = figure->width,
                                           .height = figure->height,
                                           .x_label = "draw",
                                           .y_label = figure->y_label,
                                           .series = series,
                                           .series_count = chains },
                               .line_width = 0.8,
                               .first = 1,
                               .legend = chains <= MOST_KEYS ? chains : 0 };
    const hs_status status = app_plot_lines_render(&lines, out, message);
    hs_free(series);
    return status;
}

hs_status app_figure_autocorrelation(const app_autocorrelation_figure *figure,
                                     const app_figure_out *out, hs_message *message)
{
    app_plot_begin(out, message);
    if (!figure)
        return hs_message_fail(message, HS_EINVAL, "app_figure_autocorrelation: no figure");
    const hs_status status = app_plot_check_series(figure->series, figure->series_count,
                                                   "app_figure_autocorrelation", message);
    if (status != HS_OK)
        return status;
    app_series *series =
        hs_alloc_zero(figure->series_count ? figure->series_count : 1, sizeof *series);
    if (!series)
        return hs_message_fail(message, HS_ENOMEM, "Out of memory for a figure of %zu series",
                               figure->series_count);
    for (size_t k = 0; k < figure->series_count; k++) {
        series[k] = figure->series[k];
        series[k].x = NULL;
    }
    const double zero = 0;
    const plot_lines lines = { .figure = { .title = figure->title,
                                           .width = figure->width,
                                           .height = figure->height,
                                           .x_label = "lag",
                                           .y_label = "autocorrelation",
                                           .series = series,
                                           .series_count = figure->series_count,
                                           .reference = &zero },
                               .line_width = 1.4,
                               .first = 0,
                               .band = figure->draws ? 1.96 / sqrt((double)figure->draws) : 0,
                               .legend = 2 * PLOT_PALETTE };
    const hs_status drawn = app_plot_lines_render(&lines, out, message);
    hs_free(series);
    return drawn;
}
