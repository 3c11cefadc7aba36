#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/interrupt.h>
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
    double ess, rhat; /* of short chains: ESS per proposal, and the largest R-hat */
} scheme;

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

static hs_objective objective_of(const scheme *s)
{
    return is_kind(s, "resampling-flow") ? hs_nll() : hs_ab_initio(0.18125);
}

/* A single step size may have far to go. It bears a larger rate than a network, if the rate falls
 * in the end. */
static hs_optimizer_options optimizer_of(const scheme *s, const app_call *call)
{
    if (is_kind(s, "random-walk") || is_kind(s, "mala"))
        return (hs_optimizer_options){ .rate = 1e-2, .schedule = { HS_COSINE } };
    return (hs_optimizer_options){ .rate = app_given_number(call->arguments, "rate", 0) };
}

/* The loss judges single steps from draws of the target; chains show whether the steps lead
 * everywhere. */
static void run_chains(const app_call *call, app_problem *p, scheme *s)
{
    s->ess = s->rhat = (double)NAN;
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
    s->rhat = report.rhat;
    hs_report_free(&report);
}

static void try_scheme(const app_call *call, app_problem *p, scheme *s, app_bars *bars)
{
    hs_train_options o = app_problem_training(p, call, bars);
    o.objective = objective_of(s);
    o.optimizer = optimizer_of(s, call);
    hs_proposal *proposal =
        app_spec_proposal(p->session, p->target, s->text, 0, p->points.x, p->points.n);
    if (proposal)
        hs_train(p->session, p->target, proposal, &o, &s->training);
    /* Evaluates on new draws, the same for all candidates. */
    o.objective = hs_ab_initio(0.18125);
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

/* Orders finished candidates by loss, and the others behind them. */
static int by_loss(const void *a, const void *b)
{
    const scheme *const *x = a, *const *y = b;
    if ((*x)->done != (*y)->done)
        return (*x)->done ? -1 : 1;
    if (!(*x)->done || (*x)->found.loss == (*y)->found.loss)
        return *x < *y ? -1 : 1;
    return (*x)->found.loss < (*y)->found.loss ? -1 : 1;
}

/* True if two losses differ by less than two standard errors. */
static bool as_good(const scheme *s, const scheme *best)
{
    return s->done && s->found.loss - best->found.loss <=
                          2 * hypot(s->found.loss_error, best->found.loss_error);
}

/* The simplest candidate that is as good as the best. */
static const scheme *choose(const scheme *schemes, size_t n, const scheme *best)
{
    for (size_t i = 0; i < n; i++)
        if (as_good(&schemes[i], best))
            return &schemes[i];
    return best;
}

/* ---- What is said about it ------------------------------------------------------------------- */

static json_t *result_json(scheme *const *ranked, size_t n, const scheme *chosen, const char *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const scheme *s = ranked[i];
        if (!s->done)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s}", "proposal", s->text, "error", s->error));
        else
            json_array_append_new(
                list,
                json_pack("{s:s, s:f, s:o, s:f, s:f, s:o, s:o, s:I, s:f, s:b}", "proposal", s->text,
                          "loss", s->found.loss, "loss_error", app_json_number(s->found.loss_error),
                          "acceptance", s->found.alpha, "msjd", s->found.jump, "ess_per_proposal",
                          app_json_number(s->ess), "rhat", app_json_number(s->rhat), "gradients",
                          (json_int_t)hs_proposal_gradients(s->proposal), "seconds",
                          s->training.seconds, "as_good_as_the_best", as_good(s, ranked[0])));
    }
    return json_pack("{s:s, s:o, s:s*}", "use", chosen->text, "proposals", list, "file", file);
}

static void print_result(scheme *const *ranked, size_t n, const scheme *chosen)
{
    printf("%18s  %10s  %9s  %12s  %6s  %9s  %9s  %s\n", "Ab Initio loss", "acceptance", "MSJD",
           "ESS/proposal", "R-hat", "gradients", "training", "proposal");
    for (size_t i = 0; i < n; i++) {
        const scheme *s = ranked[i];
        if (s->done)
            printf("%8.4g +- %-6.2g  %10.3f  %9.4g  %12.3g  %6.3f  %9zu  %7.1f s  %s\n",
                   s->found.loss, s->found.loss_error, s->found.alpha, s->found.jump, s->ess,
                   s->rhat, hs_proposal_gradients(s->proposal), s->training.seconds, s->text);
        else
            printf("%18s  %10s  %9s  %12s  %6s  %9s  %9s  %s: %s\n", "-", "-", "-", "-", "-", "-",
                   "-", s->text, *s->error ? s->error : "not tried");
    }
    printf("\nUse %s", chosen->text);
    if (chosen != ranked[0])
        printf(": the loss of %s is lower, but by less than two standard errors, and it is the "
               "simpler one",
               ranked[0]->text);
    else if (n > 1 && ranked[1]->done && as_good(ranked[1], ranked[0]))
        printf("; %s is not worse by more than two standard errors", ranked[1]->text);
    else if (n > 1 && ranked[1]->done)
        printf(": its loss is the lowest, by %.1f standard errors",
               (ranked[1]->found.loss - ranked[0]->found.loss) /
                   hypot(ranked[0]->found.loss_error, ranked[1]->found.loss_error));
    printf(".\n");
    if (chosen->rhat > 1.1)
        printf("But its chains do not agree with each other (R-hat %.2f): it moves well where it "
               "is, and "
               "does not get everywhere. More --steps may let another one win.\n",
               chosen->rhat);
}

/* Saves the recommended proposal if --out is given; otherwise path is "". */
static int save(const app_call *call, const app_problem *p, const scheme *s, const char *target,
                bool float32, char *path, size_t size)
{
    const char *folder = app_given_text(call->arguments, "out");
    char stem[256], text[HS_OBJECTIVE_TEXT];
    path[0] = '\0';
    if (!folder)
        return APP_EXIT_OK;
    snprintf(stem, sizeof stem, "%.*s-%.*s", (int)strcspn(target, ","), target,
             (int)strcspn(s->text, ","), s->text);
    hs_message message;
    hs_status status = hs_folder_make(folder, &message);
    if (status)
        return app_call_fail(call, status, "%s", message.text);
    if (!app_free_name(path, size, folder, stem, ".json"))
        return app_call_fail(call, HS_EIO, "nothing can be saved in %s: %s", folder,
                             strerror(errno));
    const hs_objective o = objective_of(s);
    status = app_proposal_file_save(path, s->proposal,
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
    qsort(ranked, n, sizeof *ranked, by_loss);
    if (!ranked[0]->done)
        return app_call_fail(call, HS_EIO, "no proposal could be trained: %s: %s", ranked[0]->text,
                             ranked[0]->error);
    const scheme *chosen = choose(schemes, n, ranked[0]);
    char path[4096];
    int code = save(call, p, chosen, target, float32, path, sizeof path);
    if (call->json)
        return code
                   ? code
                   : app_call_print_json(call, result_json(ranked, n, chosen, *path ? path : NULL));
    print_result(ranked, n, chosen);
    if (!code && *path)
        printf("%s\n", path);
    return code;
}

static int try_all(const app_call *call, app_problem *p, scheme *schemes, size_t n, app_bars *bars)
{
    for (size_t i = 0; i < n && !app_interrupted(); i++) {
        app_bars_begin(bars, p->jobs + i, p->jobs + n, schemes[i].text);
        try_scheme(call, p, &schemes[i], bars);
        char text[256];
        if (schemes[i].done)
            snprintf(text, sizeof text, "loss %.4g, acceptance %.2f", schemes[i].found.loss,
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
    { "batches", APP_OPTION_COUNT, "N", "batches for the comparison of losses; default: 200" },
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
        "standard errors, the simpler proposal wins. SPEC is a kind, and options after commas: "
        "gaussian,dim=100; hastings list shows all.",
    .examples = "hastings select --target cross --steps 5000\n"
                "hastings select --target banana --schemes \"random-walk;mala\" --steps 5000\n"
                "hastings select --target logistic,data=ripley --steps 2000 --out proposals",
    .options = options,
    .run = choose_proposal,
};
