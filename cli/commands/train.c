#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/commands/place.h>
#include <hastings/cli/commands/problem.h>
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/restart.h>
#include <hastings/objectives/objectives.h>
#include <hastings/tensor/file.h>

typedef struct {
    const app_problem *problem;
    const char *proposal;
} maker;

static hs_proposal *make(hs_session *s, uint64_t replica, void *context)
{
    const maker *m = context;
    const app_points *points = &m->problem->points;
    return app_spec_proposal(s, m->problem->target, m->proposal, replica, points->x, points->n);
}

/* A name from the kinds, without options: "cross-multi-scheme-ab-initio". */
static void stem_of(char *stem, size_t size, const char *target, const char *proposal,
                    const char *objective)
{
    snprintf(stem, size, "%.*s-%.*s-%.*s", (int)strcspn(target, ","), target,
             (int)strcspn(proposal, ","), proposal, (int)strcspn(objective, ":"), objective);
}

/* Reserves the name of the files. */
static int reserve(const app_call *call, app_place *place, const app_proposal_file *file)
{
    const app_arguments *a = call->arguments;
    const char *folder = app_given_text(a, "out"), *name = app_given_text(a, "name");
    char stem[512];
    folder = folder ? folder : "proposals";
    if (name && strchr(name, '/'))
        return app_call_fail(call, HS_EINVAL,
                             "--name %.100s: a name has no slash; --out is the folder", name);
    if (name)
        snprintf(stem, sizeof stem, "%s", name);
    else
        stem_of(stem, sizeof stem, file->target, file->proposal, file->objective);
    hs_message message;
    const hs_status status = hs_folder_make(folder, &message);
    if (status)
        return app_call_fail(call, status, "%s", message.text);
    if (!app_place_reserve(place, folder, stem, ".json", ".hsp"))
        return app_call_fail(call, HS_EIO, "nothing can be saved in %s: %s", folder,
                             strerror(errno));
    return APP_EXIT_OK;
}

/* The training as JSON, with loss and acceptance of the best try on new batches. */
static json_t *describe_training(const hs_train_options *o, const hs_restarts *r)
{
    const hs_training *t = &r->training;
    return json_pack(
        "{s:I, s:I, s:I, s:s, s:f, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", //
        "steps", (json_int_t)t->steps, "starts", (json_int_t)o->starts, "proposals",
        (json_int_t)o->proposals, "optimizer", t->optimizer, "rate", t->rate, "online", o->online,
        "tries", (json_int_t)r->tries, "best", (json_int_t)r->best, "seconds",
        app_json_number(t->seconds), "loss", app_json_number(r->loss[r->best]), "loss_error",
        app_json_number(r->loss_error[r->best]), "alpha", app_json_number(r->alpha[r->best]),
        "adapted", o->objective.adapt ? app_json_number(t->adapted) : json_null(), "rolled_back",
        (json_int_t)t->rolled_back);
}

static int print_result(const app_call *call, const char *path, const json_t *training,
                        const hs_restarts *r)
{
    if (call->json)
        return app_call_print_json(call,
                                   json_pack("{s:s, s:O}", "file", path, "training", training));
    const hs_training *t = &r->training;
    printf("trained     %llu steps in %.3g s\n", (unsigned long long)t->steps, t->seconds);
    if (!isnan(r->loss[r->best])) {
        printf("loss        %.4g +- %.2g\n", r->loss[r->best], r->loss_error[r->best]);
        printf("acceptance  %.3f\n", r->alpha[r->best]);
    }
    if (r->tries > 1)
        printf("best        of %zu tries\n", r->tries);
    printf("saved       %s\n", path);
    return APP_EXIT_OK;
}

/* Trains, saves and reports. */
static int train_problem(const app_call *call, app_problem *p, app_proposal_file *file,
                         app_bars *bars, const char *path)
{
    const app_arguments *a = call->arguments;
    hs_train_options o = app_problem_training(p, call, bars);
    if (!app_read_objective(call, file->objective, &o.objective) ||
        !app_read_optimizer(call, &o.optimizer))
        return APP_EXIT_USAGE;
    maker m = { p, file->proposal };
    hs_restarts r = { 0 };
    char label[256];
    snprintf(label, sizeof label, "%s on %s", file->proposal, file->target);
    app_bars_begin(bars, p->jobs, p->jobs + 1, label);
    const hs_proposal *best = hs_train_restarts(p->session, p->target, make, &m,
                                                app_given_count(a, "restarts", 1), &o, &r);
    app_bars_end(bars, NULL, !best && !app_interrupted());
    if (!best)
        return app_call_fail_session(call, p->session);
    char text[HS_OBJECTIVE_TEXT];
    file->objective = hs_objective_text(&o.objective, text);
    file->replica = r.best;
    file->points = p->points.x;
    file->n_points = p->points.n;
    file->dim = p->points.dim;
    file->training = describe_training(&o, &r);
    hs_message message;
    int code = APP_EXIT_OK;
    const hs_status status = app_proposal_file_save(path, best, file, &message);
    if (status)
        code = app_call_fail(call, status, "%s", message.text);
    else
        code = print_result(call, path, file->training, &r);
    json_decref(file->training);
    if (!code && app_interrupted()) {
        app_call_note(call, "Stopped after %llu steps; the proposal is saved as it was then.",
                      (unsigned long long)r.training.steps);
        code = APP_EXIT_INTERRUPTED;
    }
    return code;
}

static int train(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *precision = app_given_text(a, "precision");
    app_proposal_file file = { .target = app_given_text(a, "target"),
                               .proposal = app_given_text(a, "proposal"),
                               .objective = app_given_text(a, "objective"),
                               .seed = app_given_count(a, "seed", 1),
                               .float32 = !precision || !strcmp(precision, "f32") };
    file.objective = file.objective ? file.objective : "ab-initio";
    if (!file.target || !file.proposal)
        return app_call_fail(call, HS_EINVAL,
                             "--target and --proposal are needed; hastings list shows "
                             "what there is");
    if (app_given_count(a, "restarts", 1) > HS_MOST_RESTARTS)
        return app_call_fail(call, HS_EINVAL, "--restarts: expected at most %d",
                             (int)HS_MOST_RESTARTS);
    hs_objective checked; /* before anything that takes long */
    hs_optimizer_options too = { 0 };
    if (!app_read_objective(call, file.objective, &checked) || !app_read_optimizer(call, &too))
        return APP_EXIT_USAGE;
    app_interrupt_catch();
    app_bars *bars = app_bars_new(&(app_bars_options){ .quiet = call->quiet });
    app_problem p;
    app_place place = { .lock = -1 };
    int code = app_problem_open(
        &p, call,
        &(app_problem_options){ .target = file.target,
                                .seed = file.seed,
                                .float32 = file.float32,
                                .reference = app_given_count(a, "reference", 100000),
                                .jobs = 1,
                                .bars = bars });
    if (!code)
        code = reserve(call, &place, &file);
    if (!code)
        code = train_problem(call, &p, &file, bars, place.path);
    app_place_release(&place);
    app_problem_close(&p);
    app_bars_free(bars);
    app_interrupt_release();
    return code;
}

static const app_option options[] = {
    { "target", APP_OPTION_TARGET, "SPEC",
      "distribution to sample, such as cross or logistic,data=FILE.csv,label=COLUMN" },
    { "proposal", APP_OPTION_PROPOSAL, "SPEC",
      "proposal to train, such as random-walk or multi-scheme,couplings=8" },
    { "objective", APP_OPTION_OBJECTIVE, "NAME", "objective to minimise; default: ab-initio" },
    { "steps", APP_OPTION_COUNT, "N", "gradient steps; default: 20000" },
    { "starts", APP_OPTION_COUNT, "N", "start points of each step; default: 8" },
    { "proposals", APP_OPTION_COUNT, "N", "proposals from each start point; default: 100" },
    { "optimizer", APP_OPTION_OPTIMIZER, "SPEC",
      "optimiser, such as sgd,momentum=0.9 (hastings list optimizers); default: adam" },
    { "rate", APP_OPTION_NUMBER, "X",
      "learning rate; default: 3e-4 for adam, for others as hastings list optimizers shows" },
    { "restarts", APP_OPTION_COUNT, "N",
      "tries from other initialisations; the best is kept; default: 1" },
    { "online", APP_OPTION_FLAG, NULL,
      "start from the states of chains that move with the proposal" },
    { "reference", APP_OPTION_COUNT, "N",
      "proposals of the HMC chains that replace exact draws, if the target has none; default: "
      "100000" },
    { "seed", APP_OPTION_WHOLE, "N", "seed of all random numbers; default: 1" },
    { "precision", APP_OPTION_CHOICE, "f32|f64", "number type: 32 or 64 bits; default: f32" },
    { "out", APP_OPTION_FOLDER, "DIR", "folder for the files; default: proposals" },
    { "name", APP_OPTION_TEXT, "NAME",
      "name of the files; default: TARGET-PROPOSAL-OBJECTIVE, without options" },
    { 0 },
};

const app_command app_command_train = {
    .name = "train",
    .words = "--target SPEC --proposal SPEC",
    .summary = "train a proposal for a target and save it",
    .about =
        "Trains a proposal for a target by an objective. SPEC is a kind, and options after commas: "
        "gaussian,dim=100; hastings list shows all. The command saves NAME.json, the description "
        "for hastings sample, and NAME.hsp, the parameters. It replaces no file: a taken name gets "
        "a number. Ctrl-C ends the training early and saves the proposal.",
    .examples = "hastings train --target cross --proposal multi-scheme,couplings=8 --steps 5000\n"
                "hastings train --target logistic,data=ripley --proposal mala,scaled --steps 2000\n"
                "hastings train --target gaussian,dim=100 --proposal random-walk --objective msjd",
    .options = options,
    .run = train,
};
