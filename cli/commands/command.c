#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/cli/terminal/visible.h>
#include <hastings/experiments/json_file.h>

int app_call_fail(const app_call *call, hs_status status, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "hastings %s: ", call->command->name);
    va_list arguments;
    va_start(arguments, format);
    app_vprint_visible(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return status == HS_EINVAL ? APP_EXIT_USAGE : APP_EXIT_FAILURE;
}

int app_call_fail_interrupted(const app_call *call)
{
    app_call_note(call, "Stopped before there was anything to save.");
    return APP_EXIT_INTERRUPTED;
}

int app_call_fail_session(const app_call *call, const hs_session *s)
{
    const hs_status status = hs_session_status(s);
    if (status == HS_EINTERRUPTED)
        return app_call_fail_interrupted(call);
    const char *error = s ? hs_session_error(s) : "";
    return app_call_fail(call, status, "%s", *error ? error : hs_status_text(status));
}

void app_call_note(const app_call *call, const char *format, ...)
{
    if (call->quiet)
        return;
    fflush(stdout);
    va_list arguments;
    va_start(arguments, format);
    app_vprint_visible(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

int app_call_print_json(const app_call *call, json_t *json)
{
    char *text = app_json_dump(json);
    json_decref(json);
    if (!text)
        return app_call_fail(call, HS_ENOMEM, "out of memory for the result");
    puts(text);
    free(text);
    return APP_EXIT_OK;
}

/* ---- Help ------------------------------------------------------------------------------------ */

static void program_help(FILE *f)
{
    fputs("hastings learns proposals for Markov chain Monte Carlo and samples with them.\n\n"
          "usage: hastings COMMAND [ARGUMENT...] [OPTION...]\n\nCommands:\n",
          f);
    for (size_t i = 0; app_command_at(i); i++) {
        const app_command *c = app_command_at(i);
        fprintf(f, "  %-12s%s\n", c->name, c->summary);
    }
    fputs("\nOptions:\n", f);
    app_options_print(f, app_global_options);
    fputc('\n', f);
    app_print_wrapped(
        f,
        "Exit codes: 0, success; 1, failure; 2, wrong command line; 130, stopped by Ctrl-C or "
        "SIGTERM, with the results so far saved. A second Ctrl-C stops at once.\n\n"
        "hastings COMMAND --help describes a command and gives examples. A first one:\n"
        "  hastings run cross --quick",
        0, 0);
}

void app_command_help(FILE *f, const app_command *c)
{
    if (!c) {
        program_help(f);
        return;
    }
    fprintf(f, "usage: hastings %s%s%s [OPTION...]\n\n", c->name, *c->words ? " " : "", c->words);
    app_print_wrapped(f, c->about, 0, 0);
    if (c->options && c->options[0].name) {
        fputs("\nOptions:\n", f);
        app_options_print(f, c->options);
    }
    fputs("\nOptions of every command (hastings --help): --quiet, --json, --threads N\n", f);
    if (c->examples) {
        fputs("\nExamples:\n", f);
        for (const char *line = c->examples; *line;) {
            const size_t n = strcspn(line, "\n");
            fprintf(f, "  %.*s\n", (int)n, line);
            line += n + (line[n] == '\n');
        }
    }
}
