/* The report as a table. */
#include <math.h>
#include <string.h>

#include <hastings/mcmc/diagnostics/figures.h>

/* A number in ten columns, "-" if it is not known. */
static void print_number(FILE *f, double value)
{
    if (isnan(value))
        fprintf(f, " %10s", "-");
    else if (fabs(value) >= 100 && fabs(value) < 1e9)
        fprintf(f, " %10.0f", value);
    else
        fprintf(f, " %10.3g", value);
}

/* The figures of steps, or all others, that are known. Figures with the same beginning share a line. */
static void print_figures(FILE *f, const hs_report *r, bool of_steps)
{
    const char *line = NULL;
    for (size_t i = 0; hs_report_figure_at(i); i++) {
        const hs_report_figure *figure = hs_report_figure_at(i);
        size_t worst;
        const double value = figure->value(r, &worst);
        if (!figure->line || isnan(value) || (figure->kind == HS_FIGURE_STEPS) != of_steps)
            continue;
        if (line && !strcmp(line, figure->line))
            fprintf(f, of_steps ? "  " : ", ");
        else
            fprintf(f, of_steps ? "%s%-10s  " : "%s%s: ", line ? "\n" : "", figure->line);
        line = figure->line;
        fprintf(f, figure->words, value);
        if (worst != SIZE_MAX)
            fprintf(f, " (x[%zu])", worst);
    }
    fprintf(f, "\n");
}

static void print_head(FILE *f, const hs_report *r)
{
    fprintf(f, "%zu chain%s of %zu draws in %zu dimension%s; %llu proposals", r->chains,
            r->chains == 1 ? "" : "s", r->draws, r->dim, r->dim == 1 ? "" : "s",
            (unsigned long long)r->proposals);
    if (r->gradients)
        fprintf(f, ", %llu gradients", (unsigned long long)r->gradients);
    if (r->seconds > 0)
        fprintf(f, ", %.3g s", r->seconds);
    fprintf(f, "\n\n");
    print_figures(f, r, true);
    fprintf(f, "\n");
}

static void print_ess(FILE *f, const hs_report *r)
{
    fprintf(f, "%-12s %10s %10s %10s   %10s %10s %10s  worst\n", "ESS", "min", "median", "max",
            "/proposal", "/second", "/gradient");
    for (int kind = 0; kind < HS_ESS_KINDS; kind++) {
        const hs_ess_range *e = &r->ess[kind];
        fprintf(f, "%-12s", hs_ess_name((hs_ess_kind)kind));
        print_number(f, e->min);
        print_number(f, e->median);
        print_number(f, e->max);
        fprintf(f, "%s ", e->capped ? "*" : " ");
        print_number(f, hs_report_per_proposal(r, e->min));
        print_number(f, hs_report_per_second(r, e->min));
        print_number(f, hs_report_per_gradient(r, e->min));
        fprintf(f, "  x[%zu]\n", e->worst);
    }
    fprintf(f, "\n");
    print_figures(f, r, false);
}

hs_status hs_report_print(FILE *f, const hs_report *r)
{
    if (!f || !r || !r->coordinate)
        return HS_EINVAL;
    print_head(f, r);
    print_ess(f, r);
    static const hs_warning all[] = {
#define WARNING(warning, bit, name, text) warning,
        HS_WARNING_LIST(WARNING)
#undef WARNING
    };
    if (r->warnings)
        fprintf(f, "\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hs_message sentence;
        if (hs_report_warning(r, all[i], &sentence))
            fprintf(f, "%s: %s\n", all[i] == HS_WARN_CAPPED ? "note" : "warning", sentence.text);
    }
    return ferror(f) ? HS_EIO : HS_OK;
}
