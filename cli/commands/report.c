#include <hastings/cli/command.h>
#include <hastings/cli/report.h>

static int report(const hs_call *call)
{
    const hs_arguments *a = call->arguments;
    const char *markdown = hs_given_text(a, "markdown");
    hs_message message;
    if (markdown) {
        const hs_status status = hs_results_write(markdown, a->word, a->words, &message);
        if (status)
            return hs_call_fail(call, HS_EIO, "%s", message.text);
        if (call->json)
            return hs_call_print_json(call, json_pack("{s:s}", "markdown", markdown));
        printf("%s\n", markdown);
        return HS_EXIT_OK;
    }
    json_t *files = json_array();
    for (size_t i = 0; i < a->words; i++) {
        char path[4096];
        if (hs_report_write(a->word[i], &message)) {
            json_decref(files);
            return hs_call_fail(call, HS_EIO, "%s", message.text);
        }
        snprintf(path, sizeof path, "%s/report.html", a->word[i]);
        json_array_append_new(files, json_string(path));
        if (!call->json)
            printf("%s\n", path);
    }
    if (call->json)
        return hs_call_print_json(call, json_pack("{s:o}", "reports", files));
    json_decref(files);
    return HS_EXIT_OK;
}

static const hs_option options[] = {
    { "markdown", HS_OPTION_FILE, "FILE",
      "instead, write one Markdown document of all results, which may be given as folders or as "
      "their result.json" },
    { 0 },
};

const hs_command hs_command_report = {
    .name = "report",
    .words = "DIR...",
    .summary = "makes tables, figures and report.html of results again",
    .about =
        "Makes result.md, result.csv, the figures and report.html in the folder of a run again, "
        "from its result.json and the files that it names. With --markdown FILE, it writes one "
        "document that compares the results of several runs with the paper.",
    .examples = "hastings report results/cross\n"
                "hastings report --markdown results.md results/cross results/fit",
    .options = options,
    .least = 1,
    .most = HS_MOST_WORDS,
    .complete = HS_WORDS_FOLDERS,
    .run = report,
};
