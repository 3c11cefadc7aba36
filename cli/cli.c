#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/command.h>
#include <hastings/experiments/spec.h>

const hs_option hs_global_options[] = {
    { "help", HS_OPTION_FLAG, NULL, "says how to use the program, or a command of it; also -h" },
    { "version", HS_OPTION_FLAG, NULL, "says which version this is" },
    { "quiet", HS_OPTION_FLAG, NULL, "no progress, no remarks: errors only, and the result" },
    { "json", HS_OPTION_FLAG, NULL, "the result as JSON, which is all that stdout gets" },
    { "threads", HS_OPTION_COUNT, "N", "threads to use; default: one for each core" },
    { 0 },
};

static const hs_command *const commands[] = {
    &hs_command_run,    &hs_command_list,     &hs_command_train,
    &hs_command_sample, &hs_command_diagnose, &hs_command_fit,
    &hs_command_select, &hs_command_report,   &hs_command_completion,
};

const hs_command *hs_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

static const char *command_name(size_t i, void *context)
{
    (void)context;
    const hs_command *c = hs_command_at(i);
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

static bool parse(hs_arguments *a, int argc, char **argv)
{
    hs_message message;
    if (hs_arguments_parse(a, argc, argv, &message))
        return true;
    fprintf(stderr, "%s\n", message.text);
    return false;
}

/* More threads than cores work, but not faster. */
static int threads(const hs_call *call)
{
    const uint64_t wanted = hs_given_count(call->arguments, "threads", 0);
    const int cores = omp_get_num_procs();
    const int most = 1024;
    if (wanted > (uint64_t)cores)
        hs_call_note(call,
                     "--threads %llu: there %s only %d core%s to run them on, so more threads will "
                     "not be faster",
                     (unsigned long long)wanted, cores == 1 ? "is" : "are", cores,
                     cores == 1 ? "" : "s");
    return wanted < (uint64_t)most ? (int)wanted : most;
}

static int run_command(const hs_command *command, hs_arguments *a, int argc, char **argv,
                       char *line)
{
    char name[64];
    snprintf(name, sizeof name, "hastings %s", command->name);
    a->name = name;
    a->tables[1] = command->options;
    a->words = 0;
    a->first_word_ends = false;
    if (!parse(a, argc, argv))
        return HS_EXIT_USAGE;
    if (hs_given(a, "help")) {
        hs_command_help(stdout, command);
        return HS_EXIT_OK;
    }
    hs_call call = { .command = command,
                     .arguments = a,
                     .quiet = hs_given(a, "quiet"),
                     .json = hs_given(a, "json"),
                     .line = line ? line : "" };
    if (a->words < command->least)
        return hs_call_fail(&call, HS_EINVAL, "%s is missing; hastings %s --help says more",
                            command->words, command->name);
    if (a->words > command->most)
        return hs_call_fail(&call, HS_EINVAL, "\"%s\" is one argument too many",
                            a->word[command->most]);
    call.threads = threads(&call);
    return command->run(&call);
}

static int run(int argc, char **argv)
{
    hs_arguments a = { .name = "hastings",
                       .tables = { hs_global_options },
                       .first_word_ends = true };
    if (!parse(&a, argc - 1, argv + 1))
        return HS_EXIT_USAGE;
    if (hs_given(&a, "version")) {
        printf("hastings %s\n", HS_VERSION);
        return HS_EXIT_OK;
    }
    const bool help = a.words && !strcmp(a.word[0], "help");
    if (!a.words || (help && argc - 1 == a.taken)) {
        const bool asked = help || hs_given(&a, "help");
        hs_command_help(asked ? stdout : stderr, NULL);
        return asked ? HS_EXIT_OK : HS_EXIT_USAGE;
    }
    const char *wanted = help ? argv[1 + a.taken] : a.word[0];
    for (size_t i = 0; hs_command_at(i); i++) {
        const hs_command *command = hs_command_at(i);
        if (strcmp(command->name, wanted) != 0)
            continue;
        if (help) {
            hs_command_help(stdout, command);
            return HS_EXIT_OK;
        }
        char *line = join(argc, argv);
        const int code = run_command(command, &a, argc - 1 - a.taken, argv + 1 + a.taken, line);
        free(line);
        return code;
    }
    char hint[HS_HINT_TEXT];
    fprintf(stderr, "hastings: there is no command \"%.60s\"%s\n", wanted,
            hs_hint(wanted, command_name, NULL, "", "", hint));
    return HS_EXIT_USAGE;
}

/* Whoever closed the pipe that we write to has read enough: not an error (hastings list | head). */
static bool reader_left(void)
{
    struct pollfd output = { .fd = fileno(stdout), .events = POLLOUT };
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int hs_cli(int argc, char **argv)
{
    const int code = run(argc, argv);
    errno = 0; /* a full disk is noticed now at the latest */
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed || code != HS_EXIT_OK || reader_left())
        return code;
    fprintf(stderr, "hastings: the output could not be written: %s\n",
            strerror(errno ? errno : EIO));
    return HS_EXIT_FAILURE;
}
