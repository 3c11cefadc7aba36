#include <hastings/cli/commands/command.h>
#include <hastings/cli/report/report.h>
#include <hastings/cli/terminal/interrupt.h>

static int write_reports(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *markdown = app_given_text(a, "markdown");
    hs_message message;
    if (markdown) {
        const hs_status status = app_results_write(markdown, a->word, a->words, &message);
        if (status)
            return app_call_fail(call, HS_EIO, "%s", message.text);
        if (call->json)
            return app_call_print_json(call, json_pack("{s:s}", "markdown", markdown));
        printf("%s\n", markdown);
        return APP_EXIT_OK;
    }
    for (size_t i = 0; i < a->words && call->json; i++)
        if (!app_json_can_have(a->word[i]))
            return app_call_fail(call, HS_EIO,
                                 "%.200s: expected UTF-8, since JSON has this text; without --json "
                                 "the report can be made",
                                 a->word[i]);
    json_t *files = json_array();
    for (size_t i = 0; i < a->words && !app_interrupted(); i++) {
        char path[4096];
        if (app_report_write(a->word[i], &message)) {
            json_decref(files);
            return app_call_fail(call, HS_EIO, "%s", message.text);
        }
        snprintf(path, sizeof path, "%s/report.html", a->word[i]);
        json_array_append_new(files, json_string(path));
        if (!call->json)
            printf("%s\n", path);
    }
    if (call->json)
        return app_call_print_json(call, json_pack("{s:o}", "reports", files));
    json_decref(files);
    return APP_EXIT_OK;
}

static int report(const app_call *call)
{
    app_interrupt_catch();
    const int code = write_reports(call);
    const bool interrupted = app_interrupted();
    app_interrupt_release();
    return interrupted ? APP_EXIT_INTERRUPTED : code;
}

static const app_option options[] = {
    { "markdown", APP_OPTION_FILE, "FILE",
      "write one Markdown document of all results instead; DIR may be a result.json too" },
    { 0 },
};

const app_command app_command_report = {
    .name = "report",
    .words = "DIR...",
    .summary = "make the tables, figures and report.html of a run again",
    .about =
        "Makes result.md, result.csv, the figures and report.html in the folder of a run again, "
        "from its result.json and the files named there. With --markdown FILE, it writes one "
        "document that compares the results of several runs with the paper.",
    .examples = "hastings report results/cross\n"
                "hastings report --markdown results.md results/cross results/fit",
    .options = options,
    .least = 1,
    .most = APP_MOST_WORDS,
    .complete = APP_WORDS_FOLDERS,
    .run = report,
};
