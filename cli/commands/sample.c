#include <string.h>
#include <sys/stat.h>

#include <hastings/cli/commands/diagnosis.h>
#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/commands/problem.h>
#include <hastings/experiments/proposal_file.h>
#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/sample.h>

/* Checks the ending of the file's name, and that the file does not exist. */
static int check_out(const app_call *call, const char *out)
{
    struct stat found;
    char first[4096];
    hs_message message;
    if (!out)
        return APP_EXIT_OK;
    const hs_chain_format *format = hs_chain_format_of(out, &message);
    if (!format)
        return app_call_fail(call, HS_EINVAL, "--out %s", message.text);
    const int stem = (int)(strlen(out) - strlen(format->ending));
    snprintf(first, sizeof first, "%.*s%s%s", stem, out, format->a_chain ? "_1" : "",
             format->ending);
    if (stat(first, &found) == 0)
        return app_call_fail(call, HS_EINVAL, "%.200s is there already, and is not replaced",
                             first);
    return APP_EXIT_OK;
}

static int sample_problem(const app_call *call, const app_proposal_file *file, app_problem *p,
                          app_bars *bars, const char *out)
{
    const app_arguments *a = call->arguments;
    const hs_proposal *proposal = app_proposal_file_load(p->session, file, p->target);
    if (!proposal)
        return app_call_fail_session(call, p->session);
    app_bars_begin(bars, p->jobs, p->jobs + 1, file->path);
    hs_chains *chains = hs_sample(p->session, p->target, proposal,
                                  &(hs_sample_options){ .chains = app_given_count(a, "chains", 5),
                                                        .draws = app_given_count(a, "draws", 1000),
                                                        .warmup = app_given_count(a, "warmup", 0),
                                                        .thin = app_given_count(a, "thin", 1),
                                                        .points = p->exact ? NULL : p->points.x,
                                                        .n_points = p->exact ? 0 : p->points.n,
                                                        .progress = app_bars_progress,
                                                        .context = bars });
    app_bars_end(bars, NULL, !chains && !app_interrupted());
    if (!chains)
        return app_call_fail_session(call, p->session);
    int code = APP_EXIT_OK;
    hs_message message;
    if (out && chains->draws) {
        const hs_status status = hs_chains_write(chains, NULL, out, &message);
        if (status)
            code = app_call_fail(call, status, "%s", message.text);
    }
    if (!code)
        code = app_print_diagnosis(call, chains, NULL, 0,
                                   out ? json_pack("{s:s}", "file", out) : NULL);
    if (app_interrupted()) {
        app_call_note(call, "Stopped after %zu draws of each chain.", chains->draws);
        return APP_EXIT_INTERRUPTED;
    }
    return code;
}

static int sample(const app_call *call)
{
    const app_arguments *a = call->arguments;
    const char *out = app_given_text(a, "out"), *target = app_given_text(a, "target");
    int code = check_out(call, out);
    if (code)
        return code;
    app_proposal_file *file;
    hs_message message;
    const hs_status status = app_proposal_file_read(&file, a->word[0], &message);
    if (status)
        return app_call_fail(call, status, "%s", message.text);
    app_interrupt_catch();
    app_bars *bars = app_bars_new(&(app_bars_options){ .quiet = call->quiet });
    app_problem p;
    code = app_problem_open(&p, call,
                            &(app_problem_options){ .target = target ? target : file->target,
                                                    .seed = app_given_count(a, "seed", file->seed),
                                                    .float32 = file->float32,
                                                    .reference = 20000, /* for start points */
                                                    .jobs = 1,
                                                    .bars = bars });
    if (!code)
        code = sample_problem(call, file, &p, bars, out);
    app_problem_close(&p);
    app_bars_free(bars);
    app_proposal_file_free(file);
    app_interrupt_release();
    return code;
}

static const app_option options[] = {
    { "target", APP_OPTION_TARGET, "SPEC",
      "another target of the same dimension; default: the target of the training" },
    { "chains", APP_OPTION_COUNT, "N", "number of chains; default: 5" },
    { "draws", APP_OPTION_COUNT, "N", "draws of each chain; default: 1000" },
    { "warmup", APP_OPTION_WHOLE, "N",
      "transitions to throw away at the start of each chain; default: 0" },
    { "thin", APP_OPTION_COUNT, "N", "transitions for each draw; default: 1" },
    { "seed", APP_OPTION_WHOLE, "N", "seed of all random numbers; default: the training's" },
    { "out", APP_OPTION_FILE, "FILE",
      "file for the draws:"
#define HS_CHAIN_FORMAT(id, ending, first_bytes, a_chain, streams, built, tool, about)             \
    " " ending " (" about ");"
#include <hastings/mcmc/io/chain_formats.def>
      " default: none" },
    { 0 },
};

const app_command app_command_sample = {
    .name = "sample",
    .words = "PROPOSAL.json",
    .summary = "sample with a trained proposal and judge the chains",
    .about =
        "Runs Metropolis-Hastings chains with a proposal of hastings train or hastings run, prints "
        "the figures of hastings diagnose, and saves the draws in --out FILE, which must not "
        "exist. "
        "Chains start at exact draws of the target, or at points of HMC chains if it has none.",
    .examples = "hastings sample proposals/cross-multi-scheme-ab-initio.json\n"
                "hastings sample proposals/cross-mala-ab-initio.json --draws 9000 --out mala.nc",
    .options = options,
    .least = 1,
    .most = 1,
    .complete = APP_WORDS_FILES,
    .run = sample,
};
