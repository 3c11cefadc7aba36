#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/cli/terminal/visible.h>
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

/* Writes a word as a shell reads it, quoted if need be: it's is 'it'\''s'. Returns the end. */
static char *put_word(char *line, const char *word)
{
    const bool quote = !*word || strpbrk(word, " \t\r\n;&|<>(){}$`\\\"'*?[#~!");
    if (quote)
        *line++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            line = stpcpy(line, "'\\'");
        *line++ = *word;
    }
    if (quote)
        *line++ = '\'';
    *line = '\0';
    return line;
}

/* The command line as one text, for results to say how they were made; NULL without memory. */
static char *join(int argc, char **argv)
{
    size_t size = sizeof "hastings";
    for (int i = 1; i < argc; i++)
        size += 4 * strlen(argv[i]) + 3;
    char *line = malloc(size);
    char *end = line ? stpcpy(line, "hastings") : NULL;
    for (int i = 1; i < argc && line; i++) {
        *end++ = ' ';
        end = put_word(end, argv[i]);
    }
    return line;
}

static bool parse(app_arguments *a, int argc, char **argv)
{
    hs_message message;
    if (app_arguments_parse(a, argc, argv, &message))
        return true;
    app_print_visible(stderr, message.text);
    fputc('\n', stderr);
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

/* Whether an option's text is one that JSON is to have: files keep specs and names, --json prints places. */
static bool is_for_json(const app_call *call, const app_option *o)
{
    switch (o->type) {
    case APP_OPTION_TEXT:
    case APP_OPTION_TARGET:
    case APP_OPTION_PROPOSAL:
    case APP_OPTION_OBJECTIVE:
    case APP_OPTION_OPTIMIZER:
        return true;
    case APP_OPTION_FILE:
    case APP_OPTION_FOLDER:
        return call->json;
    case APP_OPTION_FLAG:
    case APP_OPTION_COUNT:
    case APP_OPTION_WHOLE:
    case APP_OPTION_NUMBER:
    case APP_OPTION_CHOICE:
        break;
    }
    return false;
}

/* Refuses texts that could not be saved, before anything takes long. */
static int check_texts(const app_call *call)
{
    const app_arguments *a = call->arguments;
    for (size_t i = 0; i < a->given; i++)
        if (is_for_json(call, a->option[i]) && !app_json_can_have(a->value[i]))
            return app_call_fail(call, HS_EINVAL,
                                 "--%s %.200s: expected UTF-8, since JSON has this text",
                                 a->option[i]->name, a->value[i]);
    return APP_EXIT_OK;
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
    const int code = check_texts(&call);
    if (code)
        return code;
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
