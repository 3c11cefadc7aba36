#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <hastings/cli/commands/command.h>
#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/commands/place.h>
#include <hastings/cli/terminal/progress.h>
#include <hastings/cli/terminal/visible.h>
#include <hastings/cli/report/report.h>
#include <hastings/cli/report/table.h>
#include <hastings/experiments/run.h>

/* Options that are settings of the same name in an experiment's file. */
static json_t *settings_of(const app_arguments *a)
{
    static const char *const counts[] = { "steps",    "starts", "proposals", "replications",
                                          "restarts", "chains", "draws",     "seed" };
    json_t *settings = json_object();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (app_given(a, counts[i]))
            json_object_set_new(settings, counts[i],
                                json_integer((json_int_t)app_given_count(a, counts[i], 0)));
    if (app_given(a, "rate"))
        json_object_set_new(settings, "rate", json_real(app_given_number(a, "rate", 0)));
    static const char *const texts[] = { "optimizer", "precision" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (app_given(a, texts[i]))
            json_object_set_new(settings, texts[i], json_string(app_given_text(a, texts[i])));
    return settings;
}

/* The folder for the results: --out, or results/NAME with a number if that is taken. */
static int choose_out(const app_call *call, const json_t *experiment, app_place *out)
{
    const char *given = app_given_text(call->arguments, "out");
    const char *name = json_string_value(json_object_get(experiment, "name"));
    if (given && strlen(given) >= APP_PLACE_PATH / 2)
        return app_call_fail(call, HS_EINVAL, "--out: the name of the folder is too long");
    if (given)
        *out = (app_place){ .lock = -1 };
    else if (!app_place_reserve(out, "results", name ? name : "experiment", "", NULL))
        return app_call_fail(call, HS_EIO, "no folder is free for results: %s", strerror(errno));
    return APP_EXIT_OK;
}

/* ---- What there is at the end ---------------------------------------------------------------- */

static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 0;
}

static bool in_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* Prints an empty line and one that may have names from files. */
static void print_line(const char *format, ...) HS_PRINTF(1, 2);

static void print_line(const char *format, ...)
{
    va_list arguments;
    putchar('\n');
    va_start(arguments, format);
    app_vprint_visible(stdout, format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* The text of a warning; NULL if the job has none of that name. */
static const char *warning_text(const json_t *job, const char *wanted)
{
    size_t i;
    const json_t *warning;
    json_array_foreach(json_object_get(job, "warnings"), i, warning)
    {
        const char *name = json_string_value(json_object_get(warning, "name"));
        if (name && !strcmp(name, wanted))
            return json_string_value(json_object_get(warning, "text"));
    }
    return NULL;
}

/* Prints the warning that figures cannot be trusted, for first replications; the report has all
 * warnings. */
static void print_warnings(const json_t *result)
{
    size_t i;
    const json_t *job;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        const char *text = warning_text(job, "nonergodic");
        if (text && json_integer_value(json_object_get(job, "replication")) == 1)
            print_line("Warning: %s, %s: %s", json_string_value(json_object_get(job, "case")),
                       json_string_value(json_object_get(job, "row")), text);
    }
}

/* Prints the failed jobs on stderr, and returns their number. */
static size_t print_failures(const app_call *call, const json_t *result)
{
    size_t i, failed = 0;
    const json_t *job;
    json_array_foreach(json_object_get(result, "jobs"), i, job)
    {
        const char *state = json_string_value(json_object_get(job, "state"));
        const char *error = json_string_value(json_object_get(job, "error"));
        const char *id = json_string_value(json_object_get(job, "id"));
        if (state && !strcmp(state, "failed")) {
            failed++;
            app_call_fail(call, HS_OK, "job %s failed: %s", id ? id : "?", error ? error : "");
        }
    }
    return failed;
}

static int print_result(const app_call *call, const char *out)
{
    hs_message message;
    if (app_report_write(out, &message))
        return app_call_fail(call, HS_EIO, "%s", message.text);
    json_t *result = app_result_read(out, &message);
    if (!result)
        return app_call_fail(call, HS_EIO, "%s", message.text);
    const size_t failed = print_failures(call, result);
    int code = APP_EXIT_OK;
    if (call->json) {
        json_object_set_new(result, "folder", json_string(out));
        code = app_call_print_json(call, json_incref(result));
    } else {
        if (app_table_print(stdout, result, terminal_width(), in_colour()) == HS_ENOMEM)
            code = app_call_fail(call, HS_ENOMEM, "out of memory for the table");
        print_warnings(result);
        print_line("%s/report.html", out);
    }
    json_decref(result);
    return code ? code : failed ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

/* ---- The run --------------------------------------------------------------------------------- */

static int run_in(const app_call *call, json_t *experiment, const char *out, bool resume)
{
    const app_arguments *a = call->arguments;
    json_t *settings = settings_of(a);
    app_interrupt_catch();
    app_bars *bars = app_bars_new(&(app_bars_options){ .quiet = call->quiet });
    hs_message message = { "" };
    const hs_status status =
        app_experiment_run(experiment,
                           &(app_run_options){ .out = out,
                                               .resume = resume,
                                               .quick = app_given(a, "quick"),
                                               .settings = settings,
                                               .objectives = app_given_text(a, "objective"),
                                               .cases = app_given_text(a, "case"),
                                               .data = app_given_text(a, "data"),
                                               .label = app_given_text(a, "label"),
                                               .threads = call->threads,
                                               .stan_csv = app_given(a, "stan-csv"),
                                               .command = call->line,
                                               .watch = app_bars_watch,
                                               .interrupted = app_interrupt_is_due,
                                               .context = bars },
                           &message);
    app_bars_free(bars);
    json_decref(settings);
    const int code = status == HS_EINTERRUPTED ? app_call_fail_interrupted(call)
                     : status                  ? app_call_fail(call, status, "%s", message.text)
                                               : print_result(call, out);
    const bool interrupted = app_interrupted();
    app_interrupt_release();
    if (status || !interrupted)
        return code;
    app_call_note(call, "Stopped; the results so far are saved; to go on: hastings run --resume %s",
                  out);
    return APP_EXIT_INTERRUPTED;
}

/* An option that --resume cannot change, or NULL. --resume takes only options about how to run. */
static const char *changed(const app_arguments *a)
{
    static const char *const free_to_change[] = { "resume", "threads", "quiet", "json" };
    for (size_t i = 0; i < a->given; i++) {
        bool free_one = false;
        for (size_t k = 0; k < sizeof free_to_change / sizeof *free_to_change; k++)
            free_one = free_one || !strcmp(a->option[i]->name, free_to_change[k]);
        if (!free_one)
            return a->option[i]->name;
    }
    return NULL;
}

static int run(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *resume = app_given_text(a, "resume");
    if (resume && a->words)
        return app_call_fail(call, HS_EINVAL,
                             "--resume %s goes on with what is in that folder, so \"%s\" "
                             "is one too many",
                             resume, a->word[0]);
    if (resume && changed(a))
        return app_call_fail(call, HS_EINVAL,
                             "--%s cannot be changed by --resume, which goes on with "
                             "what the folder says",
                             changed(a));
    if (resume)
        return run_in(call, NULL, resume, true);
    if (!a->words)
        return app_call_fail(call, HS_EINVAL,
                             "which experiment? hastings list experiments shows all");
    if (app_given(a, "label") && !app_given(a, "data"))
        return app_call_fail(call, HS_EINVAL,
                             "--label names a column of --data FILE, which is missing");
    hs_message message;
    json_t *experiment = app_experiment_load(a->word[0], &message);
    if (!experiment)
        return app_call_fail(call, HS_EINVAL, "%s", message.text);
    app_place out = { .lock = -1 };
    int code = choose_out(call, experiment, &out);
    if (!code)
        code = run_in(call, experiment, *out.path ? out.path : app_given_text(a, "out"), false);
    app_place_release(&out);
    json_decref(experiment);
    return code;
}

static const app_option options[] = {
    { "quick", APP_OPTION_FLAG, NULL, "small version of the experiment: a minute or a few" },
    { "steps", APP_OPTION_COUNT, "N", "gradient steps of each training" },
    { "starts", APP_OPTION_COUNT, "N", "start points of each step" },
    { "proposals", APP_OPTION_COUNT, "N", "proposals from each start point" },
    { "replications", APP_OPTION_COUNT, "N", "repetitions with other random numbers" },
    { "restarts", APP_OPTION_COUNT, "N", "tries of each training; the best is kept" },
    { "optimizer", APP_OPTION_OPTIMIZER, "SPEC",
      "optimiser of the trainings, such as sgd,momentum=0.9" },
    { "rate", APP_OPTION_NUMBER, "X", "learning rate of the optimiser" },
    { "chains", APP_OPTION_COUNT, "N", "chains of each evaluation" },
    { "draws", APP_OPTION_COUNT, "N", "draws of each chain" },
    { "seed", APP_OPTION_WHOLE, "N", "seed of all random numbers" },
    { "precision", APP_OPTION_CHOICE, "f32|f64", "number type: 32 or 64 bits" },
    { "objective", APP_OPTION_OBJECTIVE, "A,B,...",
      "only rows with these objectives; an objective without a row gets one" },
    { "case", APP_OPTION_TEXT, "A,B,...", "only these cases" },
    { "data", APP_OPTION_FILE, "FILE", "CSV file of your own for a logistic regression" },
    { "label", APP_OPTION_TEXT, "COLUMN",
      "column of --data with labels 0 and 1; default: the last" },
    { "out", APP_OPTION_FOLDER, "DIR",
      "folder for the results; default: results/NAME, or the first free one of results/NAME-2, "
      "NAME-3 ..." },
    { "stan-csv", APP_OPTION_FLAG, NULL, "also save chains as CmdStan's CSV" },
    { "resume", APP_OPTION_FOLDER, "DIR", "continue the stopped run in this folder" },
    { 0 },
};

const app_command app_command_run = {
    .name = "run",
    .words = "NAME|FILE.json",
    .summary = "run an experiment: train, sample, compare, report",
    .about =
        "Runs an experiment: trains proposals, samples with them, and compares the figures with "
        "each other and with the paper's. NAME is an experiment of the program (hastings list "
        "experiments), FILE.json one of your own (docs/formats.md). The experiment gives the "
        "default of every setting.\n\n"
        "The command prints tables, and saves report.html, all numbers, the chains and the trained "
        "proposals in a folder of their own; it replaces nothing. Ctrl-C saves the results so far, "
        "and --resume continues.",
    .examples = "hastings run cross --quick\n"
                "hastings run cross --case L=8 --objective ab-initio,msjd --replications 3\n"
                "hastings run german --data data/ripley.csv --quick --out results/mine\n"
                "hastings run --resume results/cross",
    .options = options,
    .most = 1,
    .complete = APP_WORDS_EXPERIMENTS,
    .run = run,
};
