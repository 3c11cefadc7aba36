#include <hastings/mcmc/diagnostics/ess.h>

#include <math.h>
#include <string.h>

#include <hastings/tensor/memory.h>

#include "ess_internal.h"

enum { LEAST_DRAWS = 4 };

const char *hs_ess_name(hs_ess_kind kind)
{
    static const char *const names[] = {
#define ESS_NAME(id, name, text) name,
        HS_ESS_LIST(ESS_NAME)
#undef ESS_NAME
    };
    return (size_t)kind < HS_ESS_KINDS ? names[kind] : "?";
}

hs_series hs_series_of(const double *x, size_t chains, size_t draws)
{
    return (hs_series){
        .x = x, .chains = chains, .draws = draws, .chain_stride = draws, .draw_stride = 1
    };
}

/* ---- The workspace of one series ------------------------------------------------------------ */

typedef struct {
    size_t chains, draws, half; /* of the series; draws of half a chain */
    size_t size, kept; /* draws of all chains, and without the middle draws of odd chains */
    bool usable;       /* there are enough draws, and all are finite */
    double mean;
    double *x, *value;      /* [chains][draws]: the series, and a function of it */
    double *split;          /* [2 chains][half] */
    size_t *order, *middle; /* of x: all draws, and those that are kept */
    size_t *folded;
    autocovariance c;
    double *r;
} workspace;

static void close_workspace(workspace *w)
{
    hs_free(w->x);
    hs_free(w->value);
    hs_free(w->split);
    hs_free(w->order);
    hs_free(w->middle);
    hs_free(w->folded);
    hs_free(w->r);
    hs__autocovariance_free(&w->c);
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0, lost = 0; /* compensated: draws may lie far from zero (Neumaier 1974) */
    for (size_t i = 0; i < n; i++) {
        const double next = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - next) + x[i] : (x[i] - next) + sum;
        sum = next;
    }
    return (sum + lost) / (double)n;
}

/* Copies the series and looks whether it can be judged. */
static hs_status open_workspace(workspace *w, const hs_series *series)
{
    *w = (workspace){ 0 };
    if (!series || (!series->x && series->chains && series->draws))
        return HS_EINVAL;
    w->chains = series->chains;
    w->draws = series->draws;
    w->half = series->draws / 2;
    if (w->chains == 0 || w->draws < LEAST_DRAWS)
        return HS_OK;
    if (w->draws > SIZE_MAX / sizeof(double) / 8 / w->chains)
        return HS_EOVERFLOW;
    w->size = w->chains * w->draws;
    w->kept = 2 * w->chains * w->half;
    w->x = hs_alloc(w->size * sizeof *w->x);
    w->value = hs_alloc(w->size * sizeof *w->value);
    w->split = hs_alloc(w->kept * sizeof *w->split);
    w->r = hs_alloc(w->draws * sizeof *w->r);
    const hs_status status = hs__autocovariance_init(&w->c, w->size, w->draws);
    if (!w->x || !w->value || !w->split || !w->r || status != HS_OK)
        return HS_ENOMEM;
    w->usable = true;
    for (size_t m = 0, i = 0; m < w->chains; m++) {
        const double *from = series->x + m * series->chain_stride;
        for (size_t n = 0; n < w->draws; n++, i++) {
            w->x[i] = from[n * series->draw_stride];
            w->usable = w->usable && isfinite(w->x[i]);
        }
    }
    w->mean = mean_of(w->x, w->size);
    return HS_OK;
}

/* The order of the draws, for quantiles and ranks. */
static hs_status sort_workspace(workspace *w)
{
    if (!w->usable || w->order)
        return HS_OK;
    w->order = hs_alloc(w->size * sizeof *w->order);
    w->middle = hs_alloc(w->size * sizeof *w->middle);
    w->folded = hs_alloc(w->size * sizeof *w->folded);
    uint64_t *key = hs_alloc(w->size * sizeof *key), *key2 = hs_alloc(w->size * sizeof *key2);
    const bool ok = w->order && w->middle && w->folded && key && key2;
    if (ok) {
        hs__rank_sort(w->x, w->size, w->order, key, key2, w->folded);
        size_t kept = 0;
        for (size_t i = 0; i < w->size; i++)
            if (w->draws % 2 == 0 || w->order[i] % w->draws != w->half)
                w->middle[kept++] = w->order[i];
    }
    hs_free(key);
    hs_free(key2);
    return ok ? HS_OK : HS_ENOMEM;
}

/* ---- Quantities ------------------------------------------------------------------------------ */

/* Cuts chains in halves. */
static void split(workspace *w, const double *value)
{
    for (size_t m = 0; m < w->chains; m++) {
        const double *from = value + m * w->draws;
        double *to = w->split + 2 * m * w->half;
        memcpy(to, from, w->half * sizeof *to);
        memcpy(to + w->half, from + w->draws - w->half, w->half * sizeof *to);
    }
}

static hs_status ess_of_split(workspace *w, double *ess, bool *capped)
{
    return hs__geyer_ess(&w->c, w->r, w->split, 2 * w->chains, w->half, ess, capped);
}

static hs_status ess_of_unsplit(workspace *w, const double *value, double *ess, bool *capped)
{
    return hs__geyer_ess(&w->c, w->r, value, w->chains, w->draws, ess, capped);
}

/* value = |x - centre|^power with power 1 or 2, without cutting. */
static void distances(workspace *w, double centre, int power)
{
    for (size_t i = 0; i < w->size; i++) {
        const double d = w->x[i] - centre;
        w->value[i] = power == 1 ? fabs(d) : d * d;
    }
}

/* split = scores of x. */
static void scores_of_draws(workspace *w)
{
    hs__rank_scores(w->x, w->middle, w->kept, w->value);
    split(w, w->value);
}

/* split = scores of |x - centre|^power. */
static void scores_of_distances(workspace *w, double centre, int power)
{
    distances(w, centre, power);
    hs__rank_fold(w->x, w->middle, w->kept, centre, w->folded);
    /* The values are read in ascending order, each before its score takes its place. */
    hs__rank_scores(w->value, w->folded, w->kept, w->value);
    split(w, w->value);
}

static hs_status quantile_ess(workspace *w, double p, double *ess, bool *capped)
{
    const double q = hs__rank_quantile(w->x, w->order, w->size, p);
    for (size_t i = 0; i < w->size; i++)
        w->value[i] = w->x[i] <= q;
    split(w, w->value);
    return ess_of_split(w, ess, capped);
}

static hs_status tail_ess(workspace *w, double *ess, bool *capped)
{
    double high;
    bool high_capped;
    hs_status status = quantile_ess(w, 0.05, ess, capped);
    if (status == HS_OK)
        status = quantile_ess(w, 0.95, &high, &high_capped);
    if (status == HS_OK && !(*ess <= high)) {
        *ess = high;
        *capped = high_capped;
    }
    return status;
}

static hs_status one_ess(workspace *w, hs_ess_kind kind, double *ess, bool *capped)
{
    switch (kind) {
    case HS_ESS_RAW:
        return ess_of_unsplit(w, w->x, ess, capped);
    case HS_ESS_MEAN:
        split(w, w->x);
        return ess_of_split(w, ess, capped);
    case HS_ESS_BULK:
        scores_of_draws(w);
        return ess_of_split(w, ess, capped);
    case HS_ESS_TAIL:
        return tail_ess(w, ess, capped);
    case HS_ESS_SD:
        distances(w, w->mean, 2);
        split(w, w->value);
        return ess_of_split(w, ess, capped);
    case HS_ESS_SQUARE_RAW:
        distances(w, 0, 2);
        return ess_of_unsplit(w, w->value, ess, capped);
    case HS_ESS_SQUARE_MEAN:
        distances(w, 0, 2);
        split(w, w->value);
        return ess_of_split(w, ess, capped);
    case HS_ESS_SQUARE_BULK:
        scores_of_distances(w, 0, 2);
        return ess_of_split(w, ess, capped);
    case HS_ESS_KINDS:
        break;
    }
    return HS_EINVAL;
}

/* Of the chains in split. */
static double rhat_of_split(const workspace *w)
{
    const size_t chains = 2 * w->chains, n = w->half;
    double grand = 0, between = 0, within = 0;
    for (size_t m = 0; m < chains; m++)
        grand += mean_of(w->split + m * n, n) / (double)chains;
    for (size_t m = 0; m < chains; m++) {
        const double *x = w->split + m * n, mean = mean_of(x, n);
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (x[i] - mean) * (x[i] - mean);
        within += sum / ((double)n - 1) / (double)chains;
        between += (mean - grand) * (mean - grand);
    }
    between *= (double)n / ((double)chains - 1);
    return sqrt((between / within + (double)n - 1) / (double)n);
}

/* The larger of both; NaN if either is NaN. */
static double larger(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

static void moments(const workspace *w, double *sd, double *second, double *fourth)
{
    double sum2 = 0, sum4 = 0;
    for (size_t i = 0; i < w->size; i++) {
        const double d = w->x[i] - w->mean, c = d * d;
        sum2 += c;
        sum4 += c * c;
    }
    *second = sum2 / (double)w->size;
    *fourth = sum4 / (double)w->size;
    *sd = sqrt(sum2 / ((double)w->size - 1));
}

static bool is_constant(const workspace *w)
{
    return w->x[w->order[0]] == w->x[w->order[w->size - 1]];
}

static void nothing_known(hs_series_summary *s)
{
    *s = (hs_series_summary){
        .mean = nan(""), .sd = nan(""), .rhat_split = nan(""), .rhat = nan("")
    };
    s->mcse_mean = s->mcse_sd = nan("");
    for (int kind = 0; kind < HS_ESS_KINDS; kind++)
        s->ess[kind] = nan("");
}

static hs_status summarise(workspace *w, const hs_series *series, hs_series_summary *s)
{
    hs_status status = HS_OK;
    for (int kind = 0; kind < HS_ESS_KINDS && status == HS_OK; kind++) {
        if (series->interrupted && series->interrupted(series->context))
            return HS_EINTERRUPTED;
        status = one_ess(w, (hs_ess_kind)kind, &s->ess[kind], &s->capped[kind]);
        if (kind == HS_ESS_MEAN) /* split still holds the values of the ESS */
            s->rhat_split = rhat_of_split(w);
        if (kind == HS_ESS_BULK)
            s->rhat = rhat_of_split(w);
    }
    if (status != HS_OK)
        return status;
    double second, fourth;
    s->mean = w->mean;
    moments(w, &s->sd, &second, &fourth);
    s->constant = is_constant(w);
    scores_of_distances(w, hs__rank_median(w->x, w->middle, w->kept), 1);
    s->rhat = larger(s->rhat, rhat_of_split(w));
    s->mcse_mean = s->sd / sqrt(s->ess[HS_ESS_MEAN]);
    /* The ESS of (x - mean)^2 is called sd. */
    s->mcse_sd = sqrt((fourth - second * second) / s->ess[HS_ESS_SD] / second / 4);
    return HS_OK;
}

hs_status hs_series_summarise(const hs_series *series, hs_series_summary *summary)
{
    if (!summary)
        return HS_EINVAL;
    nothing_known(summary);
    workspace w;
    hs_status status = open_workspace(&w, series);
    if (status == HS_OK)
        status = sort_workspace(&w);
    if (status == HS_OK && w.usable)
        status = summarise(&w, series, summary);
    if (status != HS_OK)
        nothing_known(summary);
    close_workspace(&w);
    return status;
}

/* ---- One by one ------------------------------------------------------------------------------ */

static hs_status ess_or_quantile(const hs_series *series, hs_ess_kind kind, double p, double *ess,
                                 bool *capped)
{
    bool unused;
    if (!capped)
        capped = &unused;
    *capped = false;
    *ess = nan("");
    workspace w;
    hs_status status = open_workspace(&w, series);
    if (status == HS_OK && kind != HS_ESS_RAW && kind != HS_ESS_MEAN && kind != HS_ESS_SD)
        status = sort_workspace(&w);
    if (status == HS_OK && w.usable)
        status = kind == HS_ESS_KINDS ? quantile_ess(&w, p, ess, capped)
                                      : one_ess(&w, kind, ess, capped);
    close_workspace(&w);
    return status;
}

hs_status hs_ess(const hs_series *series, hs_ess_kind kind, double *ess, bool *capped)
{
    if (!ess || (size_t)kind >= HS_ESS_KINDS)
        return HS_EINVAL;
    return ess_or_quantile(series, kind, 0, ess, capped);
}

hs_status hs_ess_quantile(const hs_series *series, double p, double *ess, bool *capped)
{
    if (!ess || !(p >= 0 && p <= 1))
        return HS_EINVAL;
    return ess_or_quantile(series, HS_ESS_KINDS, p, ess, capped);
}

hs_status hs_rhat(const hs_series *series, double *plain, double *rank)
{
    hs_series_summary s;
    const hs_status status = hs_series_summarise(series, &s);
    if (plain)
        *plain = s.rhat_split;
    if (rank)
        *rank = s.rhat;
    return status;
}

hs_status hs_mcse(const hs_series *series, double *mean, double *sd)
{
    hs_series_summary s;
    const hs_status status = hs_series_summarise(series, &s);
    if (mean)
        *mean = s.mcse_mean;
    if (sd)
        *sd = s.mcse_sd;
    return status;
}

hs_status hs_autocorrelation(const hs_series *series, size_t lags, double *rho)
{
    if (!rho && lags)
        return HS_EINVAL;
    for (size_t t = 0; t < lags; t++)
        rho[t] = nan("");
    workspace w;
    hs_status status = open_workspace(&w, series);
    const size_t known = lags < w.draws ? lags : w.draws;
    if (status == HS_OK && w.usable && known) {
        const double spread = hs__autocovariance_start(&w.c, w.x, w.chains, w.draws);
        status = hs__autocovariance_extend(&w.c, known - 1);
        const double n = (double)w.draws, *a = w.c.a;
        const double total = a[0] + (w.chains > 1 ? spread / ((double)w.chains - 1) : 0);
        for (size_t t = 0; t < known && status == HS_OK; t++)
            rho[t] = t == 0 ? 1 : 1 - (a[0] * n / (n - 1) - a[t]) / total;
    }
    close_workspace(&w);
    return status;
}
