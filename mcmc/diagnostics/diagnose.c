#include <hastings/mcmc/diagnostics/diagnose.h>

#include <math.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>
#include <hastings/tensor/threads.h>

#include "diagnose_internal.h"
#include <hastings/tensor/message.h>

/* ---- Acceptance and jumps -------------------------------------------------------------------- */

/* Mean of values[chains][draws] without the first `skip` of each chain; NaN if there are none. */
static double mean_after(const double *values, const hs_chains *c, size_t skip)
{
    if (!values)
        return nan("");
    double total = 0;
    for (size_t m = 0; m < c->chains; m++) {
        double sum = 0;
        for (size_t n = skip; n < c->draws; n++)
            sum += values[m * c->draws + n];
        total += sum;
    }
    return total / ((double)c->chains * (double)(c->draws - skip));
}

static double share_accepted(const hs_chains *c, size_t skip)
{
    if (!c->accepted)
        return nan("");
    size_t count = 0;
    for (size_t m = 0; m < c->chains; m++)
        for (size_t n = skip; n < c->draws; n++)
            count += c->accepted[m * c->draws + n] != 0;
    return (double)count / ((double)c->chains * (double)(c->draws - skip));
}

static double realised_jump(const hs_chains *c, size_t skip, size_t dim)
{
    double total = 0;
    for (size_t m = 0; m < c->chains; m++) {
        double sum = 0;
        for (size_t n = skip; n + 1 < c->draws; n++) {
            const double *a = hs_chains_draw(c, m, n), *b = hs_chains_draw(c, m, n + 1);
            for (size_t i = 0; i < dim; i++)
                sum += (b[i] - a[i]) * (b[i] - a[i]);
        }
        total += sum;
    }
    return total / ((double)c->chains * (double)(c->draws - skip - 1));
}

/* ---- Coordinates ----------------------------------------------------------------------------- */

typedef struct {
    const hs_chains *chains;
    const hs_diagnose_options *options;
    hs_report *report;
    hs_status *status; /* one per coordinate */
} work;

static void judge_coordinate(int part, void *context)
{
    const work *w = context;
    const hs_chains *c = w->chains;
    const hs_diagnose_options *o = w->options;
    const size_t i = (size_t)part;
    const hs_series series = { .x = hs_chains_draw(c, 0, o->skip) + i,
                               .chains = c->chains,
                               .draws = c->draws - o->skip,
                               .chain_stride = c->draws * c->dim,
                               .draw_stride = c->dim,
                               .interrupted = o->interrupted,
                               .context = o->context };
    hs_series_summary *s = &w->report->coordinate[i];
    w->status[i] = hs_series_summarise(&series, s);
    for (int kind = 0; s->constant && kind < HS_ESS_KINDS; kind++) {
        s->ess[kind] = 0; /* not chains * draws: nothing was learnt */
        s->capped[kind] = false;
    }
}

static hs_status judge_coordinates(const hs_chains *c, const hs_diagnose_options *o,
                                   hs_report *report, hs_message *message)
{
    report->coordinate = hs_alloc_zero(report->dim, sizeof *report->coordinate);
    work w = { c, o, report, hs_alloc_zero(report->dim, sizeof *w.status) };
    hs_status status = report->coordinate && w.status ? HS_OK : HS_ENOMEM;
    if (status == HS_OK) {
        hs_parallel_for(o->threads > 0 ? o->threads : hs_threads_default(), (int)report->dim,
                        judge_coordinate, &w);
        for (size_t i = 0; i < report->dim && status == HS_OK; i++)
            status = w.status[i];
    }
    hs_free(w.status);
    if (status != HS_OK)
        return hs_message_fail(message, status, "%s for the diagnostics of %zu chains of %zu draws",
                               hs_status_text(status), report->chains, report->draws);
    return HS_OK;
}

/* ---- Over coordinates ------------------------------------------------------------------------ */

/* `sorted` is scratch of dim numbers. */
static hs_ess_range range_of(const hs_report *report, int kind, double *sorted)
{
    hs_ess_range range = { .worst = 0 };
    const size_t n = report->dim;
    bool unknown = false;
    for (size_t i = 0; i < n; i++) {
        const hs_series_summary *s = &report->coordinate[i];
        sorted[i] = s->ess[kind];
        range.capped += s->capped[kind];
        if (!unknown && !(sorted[range.worst] <= sorted[i]))
            range.worst = i;
        unknown = unknown || isnan(sorted[i]);
    }
    if (unknown) {
        range.min = range.median = range.max = nan("");
        return range;
    }
    range.median = hs_median(sorted, n);
    range.min = sorted[0];
    range.max = sorted[n - 1];
    return range;
}

/* Over coordinates, the lesser ESS of x and of x^2 per draw: the paper's measure. */
static void gather_ess_per_proposal(hs_report *report, double *sorted)
{
    const double size = (double)report->chains * (double)report->draws;
    const double x = report->ess[HS_ESS_RAW].min, x2 = report->ess[HS_ESS_SQUARE_RAW].min;
    const size_t n = report->dim;
    for (size_t i = 0; i < n; i++) {
        const double *ess = report->coordinate[i].ess;
        sorted[i] = fmin(ess[HS_ESS_RAW], ess[HS_ESS_SQUARE_RAW]);
    }
    const double middle = hs_median(sorted, n);
    report->ess_per_proposal = (x <= x2 || isnan(x) ? x : x2) / size;
    report->ess_per_proposal_median = middle / size;
    report->ess_per_proposal_max = sorted[n - 1] / size;
}

static double rhat_of(const hs_series_summary *c)
{
    return c->rhat;
}
static double rhat_split_of(const hs_series_summary *c)
{
    return c->rhat_split;
}

static hs_status gather_ranges(hs_report *report, hs_message *message)
{
    size_t unwanted;
    double *sorted = hs_alloc(report->dim * sizeof *sorted);
    if (!sorted)
        return hs_message_fail(message, HS_ENOMEM, "out of memory for the diagnostics");
    for (int kind = 0; kind < HS_ESS_KINDS; kind++)
        report->ess[kind] = range_of(report, kind, sorted);
    gather_ess_per_proposal(report, sorted);
    hs_free(sorted);
    report->rhat = hs__largest(report, rhat_of, &report->rhat_worst);
    report->rhat_split = hs__largest(report, rhat_split_of, &unwanted);
    return HS_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static hs_status check_chains(const hs_chains *c, size_t skip, size_t dim, hs_message *message)
{
    if (!c || !c->x || c->chains == 0 || c->dim == 0)
        return hs_message_fail(message, HS_EINVAL, "there are no chains to diagnose");
    if (dim > c->dim)
        return hs_message_fail(message, HS_EINVAL,
                               "%zu coordinates are to be judged, there are %zu", dim, c->dim);
    if (c->draws < skip || c->draws - skip < 4)
        return hs_message_fail(
            message, HS_EINVAL, "diagnostics need at least 4 draws a chain, there are %zu%s",
            c->draws < skip ? 0 : c->draws - skip, skip ? " after those to be skipped" : "");
    for (size_t m = 0; m < c->chains; m++)
        for (size_t n = skip; n < c->draws; n++)
            for (size_t i = 0; i < dim; i++)
                if (!isfinite(hs_chains_draw(c, m, n)[i]))
                    return hs_message_fail(message, HS_ENONFINITE,
                                           "draw %zu of chain %zu is %g in coordinate %zu", n, m,
                                           hs_chains_draw(c, m, n)[i], i);
    return HS_OK;
}

/* Counts are of all draws: the share of those that are judged. */
static void take_counts(const hs_chains *c, size_t skip, hs_report *report)
{
    const double share = (double)(c->draws - skip) / (double)c->draws;
    const uint64_t all = (uint64_t)c->chains * c->draws;
    report->proposals = skip ? (uint64_t)(share * (double)(c->proposals ? c->proposals : all) + 0.5)
                             : (c->proposals ? c->proposals : all);
    report->gradients = skip ? (uint64_t)(share * (double)c->gradients + 0.5) : c->gradients;
    report->seconds = share * c->seconds;
    report->nonfinite = c->nonfinite;
}

hs_status hs_diagnose(const hs_chains *c, const hs_diagnose_options *options, hs_report *report,
                      hs_message *message)
{
    hs_message_clear(message);
    if (!report)
        return hs_message_fail(message, HS_EINVAL, "hs_diagnose: no place for the report");
    *report = (hs_report){ 0 };
    const hs_diagnose_options o = options ? *options : (hs_diagnose_options){ 0 };
    const size_t dim = o.coordinates ? o.coordinates : c ? c->dim : 0;
    hs_status status = check_chains(c, o.skip, dim, message);
    if (status != HS_OK)
        return status;
    if (dim > INT32_MAX)
        return hs_message_fail(message, HS_EOVERFLOW, "%zu coordinates are too many", dim);
    report->chains = c->chains;
    report->draws = c->draws - o.skip;
    report->dim = dim;
    take_counts(c, o.skip, report);
    report->acceptance = mean_after(c->alpha, c, o.skip);
    report->accepted = share_accepted(c, o.skip);
    report->msjd = mean_after(c->jump, c, o.skip);
    report->mean_log_pi = mean_after(c->log_pi, c, o.skip);
    report->realised_jump = realised_jump(c, o.skip, dim);
    status = judge_coordinates(c, &o, report, message);
    if (status == HS_OK)
        status = gather_ranges(report, message);
    if (status == HS_OK)
        hs__diagnose_warnings(report);
    else
        hs_report_free(report);
    return status;
}

void hs_report_free(hs_report *report)
{
    if (!report)
        return;
    hs_free(report->coordinate);
    *report = (hs_report){ 0 };
}

static double per(double ess, double count)
{
    return count > 0 ? ess / count : nan("");
}

double hs_report_per_proposal(const hs_report *report, double ess)
{
    return per(ess, (double)report->proposals);
}

double hs_report_per_second(const hs_report *report, double ess)
{
    return per(ess, report->seconds);
}

double hs_report_per_gradient(const hs_report *report, double ess)
{
    return per(ess, (double)report->gradients);
}
