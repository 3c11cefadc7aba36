#include <hastings/cli/commands/diagnosis.h>
#include <hastings/mcmc/io/chains_file.h>

static int diagnose(const app_call *call)
{
    const app_arguments *a = call->arguments;
    hs_chains *chains;
    hs_chain_names names;
    hs_message message;
    const hs_status status = hs_chains_read(&chains, &names, a->word, a->words, &message);
    if (status)
        return app_call_fail(call, HS_EIO, "%s", message.text);
    const int code =
        app_print_diagnosis(call, chains, names.name, app_given_count(a, "skip", 0), NULL);
    hs_chain_names_free(&names);
    hs_chains_free(chains);
    return code;
}

static const app_option options[] = {
    { "skip", APP_OPTION_WHOLE, "N", "draws to leave out at the start of a chain; default: 0" },
    { 0 },
};

const app_command app_command_diagnose = {
    .name = "diagnose",
    .words = "FILE...",
    .summary = "judge chains in files: effective sample sizes, R-hat, warnings",
    .about =
        "Judges the chains of all files together: acceptance, jumps, effective sample sizes of "
        "several kinds, R-hat, and warnings such as \"This chain looks non-ergodic\". A file has "
        "one chain or several, in one of these formats:"
#define HS_CHAIN_FORMAT(id, ending, first_bytes, a_chain, streams, built, tool, about)             \
    " " ending ", " about ";"
#include <hastings/mcmc/io/chain_formats.def>
        " hastings list figures explains the figures of --json.",
    .examples = "hastings diagnose draws.nc\n"
                "hastings diagnose output_1.csv output_2.csv output_3.csv output_4.csv\n"
                "hastings diagnose draws.npy --skip 500 --json",
    .options = options,
    .least = 1,
    .most = APP_MOST_WORDS,
    .complete = APP_WORDS_FILES,
    .run = diagnose,
};
