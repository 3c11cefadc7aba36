#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/cli/terminal/interrupt.h>
#include <hastings/experiments/json_file.h>
#include <hastings/experiments/spec.h>

const app_option app_global_options[] = {
    { "help", APP_OPTION_FLAG, NULL, "describe the program or a command; also -h" },
    { "version", APP_OPTION_FLAG, NULL, "print the version" },
    { "quiet", APP_OPTION_FLAG, NULL, "print errors and the result, no progress" },
    { "json", APP_OPTION_FLAG, NULL, "print the result as JSON, alone on stdout" },
    { "threads", APP_OPTION_COUNT, "N",
      "number of threads; default: OMP_NUM_THREADS, else one for each "
      "core. Results do not depend on it" },
    { 0 },
};

static const app_command *const commands[] = {
    &app_command_run,    &app_command_list,     &app_command_train,
    &app_command_sample, &app_command_diagnose, &app_command_fit,
    &app_command_select, &app_command_report,   &app_command_completion,
};

const app_command *app_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

static const char *command_name(size_t i, void *context)
{
    (void)context;
    const app_command *c = app_command_at(i);
    return c ? c->name : NULL;
}

/* The command line as one text, for results to say how they were made; "" without memory. */
static char *join(int argc, char **argv)
{
    size_t size = sizeof "hastings";
    for (int i = 1; i < argc; i++)
        size += strlen(argv[i]) + 3;
    char *line = malloc(size);
    if (line) {
        strcpy(line, "hastings");
        for (int i = 1; i < argc; i++) {
            const bool quote = !*argv[i] || strpbrk(argv[i], " \t\n;&|<>()$`\\\"'*?[#~!");
            char *end = line + strlen(line);
            snprintf(end, size - (size_t)(end - line), quote ? " '%s'" : " %s", argv[i]);
        }
    }
    return line;
}

static bool parse(app_arguments *a, int argc, char **argv)
{
    hs_message message;
    if (app_arguments_parse(a, argc, argv, &message))
        return true;
    fprintf(stderr, "%s\n", message.text);
    return false;
}

/* More threads than cores work, but not faster. */
static int threads(const app_call *call)
{
    const uint64_t wanted = app_given_count(call->arguments, "threads", 0);
    const int cores = omp_get_num_procs();
    const int most = 1024;
    if (wanted > (uint64_t)cores)
        app_call_note(
            call,
            "--threads %llu: there %s only %d core%s to run them on, so more threads will "
            "not be faster",
            (unsigned long long)wanted, cores == 1 ? "is" : "are", cores, cores == 1 ? "" : "s");
    return wanted < (uint64_t)most ? (int)wanted : most;
}

static int run_command(const app_command *command, app_arguments *a, int argc, char **argv,
                       char *line)
{
    char name[64];
    snprintf(name, sizeof name, "hastings %s", command->name);
    a->name = name;
    a->tables[1] = command->options;
    a->words = 0;
    a->first_word_ends = false;
    if (!parse(a, argc, argv))
        return APP_EXIT_USAGE;
    if (app_given(a, "help")) {
        app_command_help(stdout, command);
        return APP_EXIT_OK;
    }
    app_call call = { .command = command,
                      .arguments = a,
                      .quiet = app_given(a, "quiet"),
                      .json = app_given(a, "json"),
                      .line = line ? line : "" };
    if (a->words < command->least)
        return app_call_fail(&call, HS_EINVAL, "%s is missing; hastings %s --help says more",
                             command->words, command->name);
    if (a->words > command->most)
        return app_call_fail(&call, HS_EINVAL, "\"%s\" is one argument too many",
                             a->word[command->most]);
    call.threads = threads(&call);
    app_interrupt_leaves();
    return command->run(&call);
}

static int run(int argc, char **argv)
{
    app_arguments a = { .name = "hastings",
                        .tables = { app_global_options },
                        .first_word_ends = true };
    if (!parse(&a, argc - 1, argv + 1))
        return APP_EXIT_USAGE;
    if (app_given(&a, "version")) {
        printf("hastings %s\n", HS_VERSION);
        return APP_EXIT_OK;
    }
    const bool help = a.words && !strcmp(a.word[0], "help");
    if (!a.words || (help && argc - 1 == a.taken)) {
        const bool asked = help || app_given(&a, "help");
        app_command_help(asked ? stdout : stderr, NULL);
        return asked ? APP_EXIT_OK : APP_EXIT_USAGE;
    }
    const char *wanted = help ? argv[1 + a.taken] : a.word[0];
    for (size_t i = 0; app_command_at(i); i++) {
        const app_command *command = app_command_at(i);
        if (strcmp(command->name, wanted) != 0)
            continue;
        if (help) {
            app_command_help(stdout, command);
            return APP_EXIT_OK;
        }
        char *line = join(argc, argv);
        const int code = run_command(command, &a, argc - 1 - a.taken, argv + 1 + a.taken, line);
        free(line);
        return code;
    }
    char hint[APP_HINT_TEXT];
    fprintf(stderr, "hastings: there is no command \"%.60s\"%s\n", wanted,
            app_hint(wanted, command_name, NULL, "", "", hint));
    return APP_EXIT_USAGE;
}

/* A closed pipe is no error: its reader has read enough (hastings list | head). */
static bool reader_left(void)
{
    struct pollfd output = { .fd = fileno(stdout), .events = POLLOUT };
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int app_cli(int argc, char **argv)
{
    app_json_watch_memory();
    const int code = run(argc, argv);
    errno = 0; /* the last chance to notice a full disk */
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed || code != APP_EXIT_OK || reader_left())
        return code;
    fprintf(stderr, "hastings: the output could not be written: %s\n",
            strerror(errno ? errno : EIO));
    return APP_EXIT_FAILURE;
}
