/* The report as a table. */
#include <math.h>

#include <hastings/mcmc/diagnostics/diagnose.h>

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

static void print_known(FILE *f, const char *name, double value)
{
    if (!isnan(value))
        fprintf(f, "  %s %.4g", name, value);
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
    if (!isnan(r->acceptance) || !isnan(r->accepted)) {
        fprintf(f, "acceptance");
        print_known(f, "mean", r->acceptance);
        print_known(f, "counted", r->accepted);
        fprintf(f, "\n");
    }
    fprintf(f, "jump      ");
    print_known(f, "MSJD", r->msjd);
    print_known(f, "realised", r->realised_jump);
    fprintf(f, "\n\n");
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
    fprintf(f, "\nESS per proposal, least of x and x^2, raw: %.3g\n", r->ess_per_proposal);
}

/* The largest MCSE of the mean, in standard deviations. */
static void print_agreement(FILE *f, const hs_report *r)
{
    double error = 0;
    for (size_t i = 0; i < r->dim; i++) {
        const double e = r->coordinate[i].mcse_mean / r->coordinate[i].sd;
        error = e > error ? e : error;
    }
    if (!isnan(r->rhat)) /* all coordinates are constant otherwise */
        fprintf(f,
                "R-hat: %.4f ranked (x[%zu]), %.4f split\n"
                "Monte-Carlo error of the means: at most %.3g sd\n",
                r->rhat, r->rhat_worst, r->rhat_split, error);
}

hs_status hs_report_print(FILE *f, const hs_report *r)
{
    if (!f || !r || !r->coordinate)
        return HS_EINVAL;
    print_head(f, r);
    print_ess(f, r);
    print_agreement(f, r);
    static const hs_warning all[] = {
#define WARNING(name, bit, text) name,
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
