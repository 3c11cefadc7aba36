#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/commands/place.h>
#include <hastings/cli/commands/problem.h>
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/sample.h>
#include <hastings/objectives/objectives.h>
#include <hastings/tensor/file.h>

enum { MOST_SCHEMES = 32, SCHEME_TEXT = 256 };

/* A candidate. */
typedef struct {
    char text[SCHEME_TEXT];
    bool done;
    char error[256];
    const hs_proposal *proposal;
    hs_training training;
    hs_evaluation found;
    double ess, rhat;                /* of short chains: ESS per proposal, and the largest R-hat */
    double per_gradient, per_second; /* ESS of these chains; NaN if a proposal takes no gradient */
} scheme;

/* A kernel that knows only the ratio of both directions, such as HMC, has no Ab Initio loss. It is judged by its chains,
 * beside the ranking. */
static bool has_loss(const scheme *s)
{
    return s->done && !hs_proposal_is_ratio_only(s->proposal);
}

/* ---- Which ones ------------------------------------------------------------------------------ */

/* The simplest first. Networks grow with the dimension, as far as they stay fast. */
static size_t default_schemes(scheme *s, size_t dim)
{
    const size_t width = dim < 6 ? 16 : dim < 32 ? 3 * dim : 96, inner = dim < 32 ? 6 + dim : 38;
    const size_t couplings = dim < 32 ? 8 : 4;
    size_t n = 0;
    snprintf(s[n++].text, SCHEME_TEXT, "random-walk,log_step");
    snprintf(s[n++].text, SCHEME_TEXT, "random-walk,log_step,scaled");
    snprintf(s[n++].text, SCHEME_TEXT, "mala,log_step");
    snprintf(s[n++].text, SCHEME_TEXT, "mala,log_step,scaled");
    if (dim > 1) {
        snprintf(s[n++].text, SCHEME_TEXT, "resampling-flow,couplings=%zu,width=%zu,depth=3",
                 couplings, width);
        snprintf(s[n++].text, SCHEME_TEXT,
                 "multi-scheme,couplings=%zu,coupling_width=%zu,coupling_depth=3,width=%zu,depth=4",
                 couplings, inner, width);
    }
    return n;
}

/* "a;b;c"; 0 if one is empty or too long, or there are too many. */
static size_t read_schemes(scheme *s, const char *text)
{
    size_t n = 0;
    while (n < MOST_SCHEMES) {
        const size_t length = strcspn(text, ";");
        if (!length || length >= SCHEME_TEXT)
            return 0;
        snprintf(s[n++].text, SCHEME_TEXT, "%.*s", (int)length, text);
        text += length;
        if (!*text++)
            return n;
    }
    return 0;
}

/* ---- What each comes to ---------------------------------------------------------------------- */

static bool is_kind(const scheme *s, const char *kind)
{
    return strcspn(s->text, ",") == strlen(kind) && !strncmp(s->text, kind, strlen(kind));
}

static hs_objective objective_of(const scheme *s, const hs_proposal *p)
{
    if (hs_proposal_is_ratio_only(p))
        return hs_msjd();
    return is_kind(s, "resampling-flow") ? hs_nll() : hs_ab_initio(0.18125);
}

/* A single step size may have far to go. It bears a larger rate than a network, if the rate falls
 * in the end. */
static hs_optimizer_options optimizer_of(const scheme *s, const app_call *call)
{
    if (is_kind(s, "random-walk") || is_kind(s, "mala") || is_kind(s, "hmc"))
        return (hs_optimizer_options){ .rate = 1e-2, .schedule = { HS_COSINE } };
    return (hs_optimizer_options){ .rate = app_given_number(call->arguments, "rate", 0) };
}

/* The loss judges single steps from draws of the target; chains show whether the steps lead
 * everywhere. */
static void run_chains(const app_call *call, app_problem *p, scheme *s)
{
    s->ess = s->rhat = s->per_gradient = s->per_second = (double)NAN;
    const hs_chains *chains =
        hs_sample(p->session, p->target, s->proposal,
                  &(hs_sample_options){ .chains = 5,
                                        .draws = 1000,
                                        .points = p->exact ? NULL : p->points.x,
                                        .n_points = p->exact ? 0 : p->points.n });
    hs_report report;
    if (!chains ||
        hs_diagnose(chains, &(hs_diagnose_options){ .threads = call->threads }, &report, NULL))
        return;
    s->ess = report.ess_per_proposal;
    s->per_gradient = s->ess / (double)hs_proposal_gradients(s->proposal);
    s->per_second = hs_report_per_second(&report, s->ess * (double)(report.chains * report.draws));
    s->rhat = report.rhat;
    hs_report_free(&report);
}

static void try_scheme(const app_call *call, app_problem *p, scheme *s, app_bars *bars)
{
    hs_train_options o = app_problem_training(p, call, bars);
    hs_proposal *proposal =
        app_spec_proposal(p->session, p->target, s->text, 0, p->points.x, p->points.n);
    o.objective = objective_of(s, proposal);
    o.optimizer = optimizer_of(s, call);
    if (proposal)
        hs_train(p->session, p->target, proposal, &o, &s->training);
    /* Evaluates on new draws, the same for all candidates. */
    o.objective = hs_proposal_is_ratio_only(proposal) ? hs_msjd() : hs_ab_initio(0.18125);
    o.seed = hs_session_seed(p->session) + 2000;
    o.online = false;
    if (proposal && !hs_session_status(p->session) && !app_interrupted())
        hs_evaluate(p->session, p->target, proposal, &o,
                    app_given_count(call->arguments, "batches", 200), &s->found);
    s->done =
        proposal && !hs_session_status(p->session) && !app_interrupted() && isfinite(s->found.loss);
    s->proposal = proposal;
    if (s->done)
        run_chains(call, p, s);
    snprintf(s->error, sizeof s->error, "%.255s",
             app_interrupted()               ? "stopped"
             : hs_session_status(p->session) ? hs_session_error(p->session)
             : s->done                       ? ""
                                             : "its loss is not finite");
    hs_session_clear(p->session);
}

/* Orders finished candidates by loss; behind them those without one, by their ESS per second; and behind them the ones
 * that failed. */
static int by_worth(const void *a, const void *b)
{
    const scheme *const *x = a, *const *y = b;
    const int rank[2] = { (*x)->done + has_loss(*x), (*y)->done + has_loss(*y) };
    if (rank[0] != rank[1])
        return rank[1] - rank[0];
    const double value[2] = { has_loss(*x) ? (*x)->found.loss : -(*x)->per_second,
                              has_loss(*y) ? (*y)->found.loss : -(*y)->per_second };
    return value[0] < value[1] ? -1 : value[0] > value[1] ? 1 : *x < *y ? -1 : 1;
}

/* True if two losses differ by less than two standard errors. */
static bool as_good(const scheme *s, const scheme *best)
{
    return has_loss(s) && s->found.loss - best->found.loss <=
                              2 * hypot(s->found.loss_error, best->found.loss_error);
}

/* The simplest candidate that is as good as the best. */
static const scheme *choose(const scheme *schemes, size_t n, const scheme *best)
{
    for (size_t i = 0; i < n && has_loss(best); i++)
        if (as_good(&schemes[i], best))
            return &schemes[i];
    return best;
}

/* ---- What is said about it ------------------------------------------------------------------- */

static json_t *scheme_json(const scheme *s, const scheme *best)
{
    if (!s->done)
        return json_pack("{s:s, s:s}", "proposal", s->text, "error", s->error);
    const double nan = (double)NAN;
    return json_pack("{s:s, s:o, s:o, s:f, s:f, s:o, s:o, s:I, s:o, s:o, s:f, s:b}", "proposal",
                     s->text, "loss", app_json_number(has_loss(s) ? s->found.loss : nan),
                     "loss_error", app_json_number(has_loss(s) ? s->found.loss_error : nan),
                     "acceptance", s->found.alpha, "msjd", s->found.jump, "ess_per_proposal",
                     app_json_number(s->ess), "rhat", app_json_number(s->rhat), "gradients",
                     (json_int_t)hs_proposal_gradients(s->proposal), "ess_per_gradient",
                     app_json_number(s->per_gradient), "ess_per_second",
                     app_json_number(s->per_second), "seconds", s->training.seconds,
                     "as_good_as_the_best", as_good(s, best));
}

static json_t *result_json(scheme *const *ranked, size_t n, const scheme *chosen, const char *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, scheme_json(ranked[i], ranked[0]));
    return json_pack("{s:s, s:o, s:s*}", "use", chosen->text, "proposals", list, "file", file);
}

/* A number, or "-" where there is none. */
static void print_number(int width, double x)
{
    if (isfinite(x))
        printf("%*.3g  ", width, x);
    else
        printf("%*s  ", width, "-");
}

static void print_scheme(const scheme *s)
{
    if (!s->done) {
        printf("%18s  %10s  %9s  %12s  %6s  %9s  %12s  %9s  %9s  %s: %s\n", "-", "-", "-", "-", "-",
               "-", "-", "-", "-", s->text, *s->error ? s->error : "not tried");
        return;
    }
    if (has_loss(s))
        printf("%8.4g +- %-6.2g  ", s->found.loss, s->found.loss_error);
    else
        printf("%18s  ", "-");
    printf("%10.3f  %9.4g  ", s->found.alpha, s->found.jump);
    print_number(12, s->ess);
    printf("%6.3f  %9zu  ", s->rhat, hs_proposal_gradients(s->proposal));
    print_number(12, s->per_gradient);
    print_number(9, s->per_second);
    printf("%7.1f s  %s\n", s->training.seconds, s->text);
}

/* Why the chosen one. */
static void print_reason(scheme *const *ranked, size_t n, const scheme *chosen)
{
    const scheme *second = n > 1 && has_loss(ranked[1]) ? ranked[1] : NULL;
    if (!has_loss(chosen))
        printf(": it makes the most effective draws a second of proposals without a loss");
    else if (chosen != ranked[0])
        printf(": the loss of %s is lower, but by less than two standard errors, and it is the "
               "simpler one",
               ranked[0]->text);
    else if (second && as_good(second, ranked[0]))
        printf("; %s is not worse by more than two standard errors", second->text);
    else if (second)
        printf(": its loss is the lowest, by %.1f standard errors",
               (second->found.loss - ranked[0]->found.loss) /
                   hypot(ranked[0]->found.loss_error, second->found.loss_error));
    printf(".\n");
}

/* Kernels that have no loss are not ranked by it: their chains are compared. */
static void print_rivals(scheme *const *ranked, size_t n, const scheme *chosen)
{
    for (size_t i = 0; i < n && has_loss(chosen); i++)
        if (ranked[i]->done && !has_loss(ranked[i]))
            printf(
                "%s knows no density, so it has no such loss. On these short chains it makes %.3g "
                "times as many effective draws a second.\n",
                ranked[i]->text, ranked[i]->per_second / chosen->per_second);
}

static void print_result(scheme *const *ranked, size_t n, const scheme *chosen)
{
    printf("%18s  %10s  %9s  %12s  %6s  %9s  %12s  %9s  %9s  %s\n", "Ab Initio loss", "acceptance",
           "MSJD", "ESS/proposal", "R-hat", "gradients", "ESS/gradient", "ESS/s", "training",
           "proposal");
    for (size_t i = 0; i < n; i++)
        print_scheme(ranked[i]);
    printf("\nUse %s", chosen->text);
    print_reason(ranked, n, chosen);
    print_rivals(ranked, n, chosen);
    if (chosen->rhat > 1.1)
        printf("But its chains do not agree with each other (R-hat %.2f): it moves well where it "
               "is, and does not get everywhere. More --steps may let another one win.\n",
               chosen->rhat);
}

/* Saves the recommended proposal if --out is given; otherwise the place has no path. */
static int save(const app_call *call, const app_problem *p, const scheme *s, const char *target,
                bool float32, app_place *place)
{
    const char *folder = app_given_text(call->arguments, "out");
    char stem[256], text[HS_OBJECTIVE_TEXT];
    if (!folder)
        return APP_EXIT_OK;
    snprintf(stem, sizeof stem, "%.*s-%.*s", (int)strcspn(target, ","), target,
             (int)strcspn(s->text, ","), s->text);
    hs_message message;
    hs_status status = hs_folder_make(folder, &message);
    if (status)
        return app_call_fail(call, status, "%s", message.text);
    if (!app_place_reserve(place, folder, stem, ".json", ".hsp"))
        return app_call_fail(call, HS_EIO, "nothing can be saved in %s: %s", folder,
                             strerror(errno));
    const hs_objective o = objective_of(s, s->proposal);
    status = app_proposal_file_save(place->path, s->proposal,
                                    &(app_proposal_file){ .target = target,
                                                          .proposal = s->text,
                                                          .objective = hs_objective_text(&o, text),
                                                          .seed = hs_session_seed(p->session),
                                                          .float32 = float32,
                                                          .points = p->points.x,
                                                          .n_points = p->points.n,
                                                          .dim = p->points.dim },
                                    &message);
    return status ? app_call_fail(call, status, "%s", message.text) : APP_EXIT_OK;
}

static int rank(const app_call *call, app_problem *p, scheme *schemes, size_t n, const char *target,
                bool float32)
{
    scheme *ranked[MOST_SCHEMES];
    for (size_t i = 0; i < n; i++)
        ranked[i] = &schemes[i];
    qsort(ranked, n, sizeof *ranked, by_worth);
    if (!ranked[0]->done)
        return app_call_fail(call, HS_EIO, "no proposal could be trained: %s: %s", ranked[0]->text,
                             ranked[0]->error);
    const scheme *chosen = choose(schemes, n, ranked[0]);
    app_place place = { .lock = -1 };
    int code = save(call, p, chosen, target, float32, &place);
    const char *path = *place.path ? place.path : NULL;
    if (!call->json)
        print_result(ranked, n, chosen);
    else if (!code)
        code = app_call_print_json(call, result_json(ranked, n, chosen, path));
    if (!call->json && !code && path)
        printf("%s\n", path);
    app_place_release(&place);
    return code;
}

static int try_all(const app_call *call, app_problem *p, scheme *schemes, size_t n, app_bars *bars)
{
    for (size_t i = 0; i < n && !app_interrupted(); i++) {
        app_bars_begin(bars, p->jobs + i, p->jobs + n, schemes[i].text);
        try_scheme(call, p, &schemes[i], bars);
        char text[256];
        if (schemes[i].done)
            snprintf(text, sizeof text, "%s %.4g, acceptance %.2f",
                     has_loss(&schemes[i]) ? "loss" : "MSJD",
                     has_loss(&schemes[i]) ? schemes[i].found.loss : schemes[i].found.jump,
                     schemes[i].found.alpha);
        else
            snprintf(text, sizeof text, "%s", schemes[i].error);
        app_bars_end(bars, text, !schemes[i].done && !app_interrupted());
    }
    return app_interrupted() ? APP_EXIT_INTERRUPTED : APP_EXIT_OK;
}

/* Reports unreadable texts before any training. */
static int check_schemes(const app_call *call, const app_problem *p, const scheme *schemes,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!app_spec_proposal(p->session, p->target, schemes[i].text, 0, p->points.x, p->points.n))
            return app_call_fail_session(call, p->session);
    return APP_EXIT_OK;
}

static int choose_proposal(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *target = app_given_text(a, "target"), *given = app_given_text(a, "schemes");
    const char *precision = app_given_text(a, "precision");
    const bool float32 = !precision || !strcmp(precision, "f32");
    if (!target)
        return app_call_fail(call, HS_EINVAL,
                             "--target is needed; hastings list targets shows what there is");
    if (app_given_count(a, "batches", 200) < 2)
        return app_call_fail(call, HS_EINVAL,
                             "--batches must be at least 2: standard errors come from the "
                             "differences between batches");
    scheme *schemes = calloc(MOST_SCHEMES, sizeof *schemes);
    if (!schemes)
        return app_call_fail(call, HS_ENOMEM, "out of memory");
    size_t n = given ? read_schemes(schemes, given) : 0;
    if (given && !n) {
        free(schemes);
        return app_call_fail(call, HS_EINVAL,
                             "--schemes: expected up to %d proposals between semicolons, "
                             "\"random-walk;mala,scaled\"",
                             (int)MOST_SCHEMES);
    }
    app_interrupt_catch();
    app_bars *bars = app_bars_new(&(app_bars_options){ .quiet = call->quiet });
    app_problem p;
    int code = app_problem_open(
        &p, call,
        &(app_problem_options){ .target = target,
                                .seed = app_given_count(a, "seed", 1),
                                .float32 = float32,
                                .reference = app_given_count(a, "reference", 100000),
                                .jobs = n ? n : 6,
                                .bars = bars });
    if (!code && !n)
        n = default_schemes(schemes, hs_target_dim(p.target));
    if (!code)
        code = check_schemes(call, &p, schemes, n);
    const int stopped = code ? code : try_all(call, &p, schemes, n, bars);
    app_bars_free(bars);
    if (!code)
        code = rank(call, &p, schemes, n, target, float32);
    app_problem_close(&p);
    free(schemes);
    app_interrupt_release();
    return stopped ? stopped : code;
}

static const app_option options[] = {
    { "target", APP_OPTION_TARGET, "SPEC",
      "distribution to sample, such as cross or logistic,data=FILE.csv,label=COLUMN" },
    { "schemes", APP_OPTION_TEXT, "\"A;B;...\"",
      "proposals to compare, the simplest first; default: random walk and MALA, each with and "
      "without the target's scales, a resampling flow, and a multi-scheme proposal, with networks "
      "that suit the dimension" },
    { "steps", APP_OPTION_COUNT, "N", "gradient steps of each training; default: 20000" },
    { "starts", APP_OPTION_COUNT, "N", "start points of each step; default: 8" },
    { "proposals", APP_OPTION_COUNT, "N", "proposals from each start point; default: 100" },
    { "rate", APP_OPTION_NUMBER, "X",
      "learning rate of Adam for networks; default: 3e-4. Step sizes have 0.01, falling to 0" },
    { "batches", APP_OPTION_COUNT, "N",
      "batches for the comparison of losses, at least 2; default: 200" },
    { "reference", APP_OPTION_COUNT, "N",
      "proposals of the HMC chains that replace exact draws, if the target has none; default: "
      "100000" },
    { "seed", APP_OPTION_WHOLE, "N", "seed of all random numbers; default: 1" },
    { "precision", APP_OPTION_CHOICE, "f32|f64", "number type: 32 or 64 bits; default: f32" },
    { "out", APP_OPTION_FOLDER, "DIR",
      "folder for the recommended proposal, for hastings sample; default: none" },
    { 0 },
};

const app_command app_command_select = {
    .name = "select",
    .words = "--target SPEC",
    .summary = "train several proposals for a target and recommend one",
    .about =
        "Trains several proposals for a target, ranks them by their Ab Initio loss on the same new "
        "draws, and recommends one. This loss is lowest for independent draws of the target, "
        "whatever the kind of proposal. It is also the objective of the training, except for a "
        "resampling flow, which maximises its likelihood. If two losses differ by less than two "
        "standard errors, the simpler proposal wins. HMC knows no density, so it has no such loss: "
        "it is trained by MSJD, and its ESS stands beside the ranking. SPEC is a kind, and options "
        "after commas: "
        "gaussian,dim=100; hastings list shows all.",
    .examples = "hastings select --target cross --steps 5000\n"
                "hastings select --target banana --schemes \"random-walk;mala\" --steps 5000\n"
                "hastings select --target logistic,data=ripley --steps 2000 --out proposals",
    .options = options,
    .run = choose_proposal,
};
