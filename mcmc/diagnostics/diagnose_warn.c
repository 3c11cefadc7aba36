/* The rules of the warnings, and their sentences. */
#include "diagnose_internal.h"

#include <math.h>

#include <hastings/tensor/message.h>

static const double high_share = 0.1;     /* of S: first moments that look good */
static const double bad_ratio = 0.1;      /* of the first moments, and at most of S */
static const double bad_rhat = 1.1;       /* and more than chance allows: */
static const double bad_f = 20;           /* between-chain variance over what is expected */
static const double good_rhat = 1.01;     /* Vehtari et al. (2021), section 4.3 */
static const size_t fewest_draws = 20;    /* a chain, to suspect anything at all */
static const double enough_draws = 100.0; /* a chain, that is 50 a half chain, ibid. */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double first_moment(const hs_series_summary *s)
{
    return least(s->ess[HS_ESS_RAW], s->ess[HS_ESS_MEAN]);
}

static double second_moment(const hs_series_summary *s)
{
    return least(s->ess[HS_ESS_SD], least(s->ess[HS_ESS_SQUARE_RAW], s->ess[HS_ESS_SQUARE_MEAN]));
}

typedef struct {
    bool second, tail, rhat;
} suspicion;

/* The rule of diagnose.h. Comparisons with NaN are false, and say nothing. */
static suspicion suspect(const hs_report *report, const hs_series_summary *s)
{
    const double size = (double)report->chains * (double)report->draws;
    const double first = first_moment(s), bar = bad_ratio * least(first, size);
    const double f = (s->rhat * s->rhat - 1) * first / (2 * (double)report->chains);
    if (s->constant || report->draws < fewest_draws || !(first >= high_share * size))
        return (suspicion){ false, false, false };
    return (suspicion){ .rhat = s->rhat > bad_rhat && f > bad_f,
                        .second = second_moment(s) < bar,
                        .tail = s->ess[HS_ESS_TAIL] < bar };
}

static void find_nonergodic(hs_report *report)
{
    double worst = 0;
    for (size_t i = 0; i < report->dim; i++) {
        const hs_series_summary *s = &report->coordinate[i];
        const suspicion found = suspect(report, s);
        if (!found.second && !found.tail && !found.rhat)
            continue;
        const double other = least(second_moment(s), s->ess[HS_ESS_TAIL]);
        const double ratio = first_moment(s) / other;
        if (report->nonergodic++ == 0 || ratio > worst) {
            worst = ratio;
            report->nonergodic_worst = i;
        }
    }
}

/* The kind of ESS that people should have enough of, and have least of. */
static hs_ess_kind scarcest(const hs_report *report)
{
    hs_ess_kind kind = HS_ESS_BULK;
    if (report->ess[HS_ESS_TAIL].min < report->ess[kind].min)
        kind = HS_ESS_TAIL;
    if (report->ess[HS_ESS_SD].min < report->ess[kind].min)
        kind = HS_ESS_SD;
    return kind;
}

void hs__diagnose_warnings(hs_report *report)
{
    for (size_t i = report->dim; i-- > 0;) {
        report->constant += report->coordinate[i].constant;
        if (report->coordinate[i].constant)
            report->constant_first = i;
    }
    find_nonergodic(report);
    const double enough = enough_draws * (double)report->chains;
    bool capped = false, unknown = false;
    for (int kind = 0; kind < HS_ESS_KINDS; kind++) {
        capped |= report->ess[kind].capped > 0;
        unknown |= isnan(report->ess[kind].min);
    }
    const bool set[] = {
        report->nonergodic > 0,
        report->rhat > good_rhat,
        enough > report->ess[scarcest(report)].min,
        report->constant > 0,
        capped,
        unknown,
        report->nonfinite > 0,
    };
    report->warnings = 0;
    for (size_t bit = 0; bit < sizeof set / sizeof *set; bit++)
        report->warnings |= set[bit] ? 1u << bit : 0;
}

static void say_nonergodic(const hs_report *report, hs_message *sentence)
{
    const size_t i = report->nonergodic_worst;
    const hs_series_summary *s = &report->coordinate[i];
    const suspicion found = suspect(report, s);
    char more[48] = "", evidence[64] = "the chains do not agree";
    if (report->nonergodic > 1)
        snprintf(more, sizeof more, " (and %zu more)", report->nonergodic - 1);
    if (found.second || found.tail)
        snprintf(evidence, sizeof evidence, "the %s only %.3g",
                 found.second ? "second moment" : "tails",
                 found.second ? second_moment(s) : s->ess[HS_ESS_TAIL]);
    hs_message_fail(sentence, HS_OK,
                    "this chain looks non-ergodic: in coordinate %zu%s the mean has an ESS of "
                    "%.4g, but %s (R-hat %.3f)",
                    i, more, first_moment(s), evidence, s->rhat);
}

bool hs_report_warning(const hs_report *report, hs_warning warning, hs_message *sentence)
{
    hs_message_clear(sentence);
    if (!report || !(report->warnings & (unsigned)warning))
        return false;
    const hs_ess_kind kind = scarcest(report);
    switch (warning) {
    case HS_WARN_NONERGODIC:
        say_nonergodic(report, sentence);
        break;
    case HS_WARN_RHAT:
        hs_message_fail(sentence, HS_OK,
                        "the chains do not agree: R-hat is %.4g in coordinate %zu (aim: below %g)",
                        report->rhat, report->rhat_worst, good_rhat);
        break;
    case HS_WARN_FEW_DRAWS:
        hs_message_fail(sentence, HS_OK,
                        "too few effective draws: ESS %s is %.4g in coordinate %zu (aim: %.0f)",
                        hs_ess_name(kind), report->ess[kind].min, report->ess[kind].worst,
                        enough_draws * (double)report->chains);
        break;
    case HS_WARN_CONSTANT:
        hs_message_fail(
            sentence, HS_OK,
            "%zu of %zu coordinates never moved (the first is %zu); their ESS counts as 0",
            report->constant, report->dim, report->constant_first);
        break;
    case HS_WARN_CAPPED:
        hs_message_fail(
            sentence, HS_OK,
            "an ESS marked * is at its cap, %.4g (draws log10 draws): it is at least that",
            (double)report->chains * (double)report->draws *
                log10((double)report->chains * (double)report->draws));
        break;
    case HS_WARN_UNDEFINED:
        hs_message_fail(sentence, HS_OK,
                        "an ESS cannot be computed: the draws are too large to be squared");
        break;
    case HS_WARN_NONFINITE:
        hs_message_fail(sentence, HS_OK,
                        "%llu proposals were rejected since their log density was not finite",
                        (unsigned long long)report->nonfinite);
        break;
    }
    return true;
}
