#include <hastings/mcmc/diagnostics/figures.h>

#include <math.h>

#include "diagnose_internal.h"

double hs__largest(const hs_report *r, hs__coordinate_value *value, size_t *worst)
{
    double largest = nan("");
    for (size_t i = 0; i < r->dim; i++) {
        const double x = value(&r->coordinate[i]);
        if (!isnan(x) && !(x <= largest)) {
            largest = x;
            *worst = i;
        }
    }
    return largest;
}

/* clang-format off */
#define HS_FIGURE(key, title, kind, line, words, expression, about)                                \
    static double key##_of(const hs_report *r, size_t *worst) { *worst = SIZE_MAX; return expression; }
#define HS_LARGEST(key, title, line, words, expression, about)                                     \
    static double key##_of_one(const hs_series_summary *c) { return expression; }                  \
    HS_FIGURE(key, title, CHAINS, line, words, hs__largest(r, key##_of_one, worst), about)
#define HS_COORDINATE(key, title, format, expression, about)                                       \
    static double coordinate_##key(const hs_series_summary *c) { return expression; }
/* clang-format on */
#include "figures.def"

static const hs_report_figure figures[] = {
#define HS_FIGURE(key, title, kind, line, words, value, about)                                     \
    { #key, title, about, HS_FIGURE_##kind, line, words, key##_of },
#include "figures.def"
};

static const hs_coordinate_figure coordinate_figures[] = {
#define HS_COORDINATE(key, title, format, value, about)                                            \
    { #key, title, about, format, coordinate_##key },
#include "figures.def"
};

const hs_report_figure *hs_report_figure_at(size_t i)
{
    return i < sizeof figures / sizeof *figures ? &figures[i] : NULL;
}

const hs_coordinate_figure *hs_coordinate_figure_at(size_t i)
{
    return i < sizeof coordinate_figures / sizeof *coordinate_figures ? &coordinate_figures[i]
                                                                      : NULL;
}
