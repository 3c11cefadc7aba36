/**
 * Commands of the program: a table of them, in which each is a description and a function.
 *
 * A command prints its result on stdout, or as JSON if call->json, and everything else on stderr; it
 * returns an exit code (cli.h).
 */
#ifndef HASTINGS_CLI_COMMANDS_COMMAND_H
#define HASTINGS_CLI_COMMANDS_COMMAND_H

#include <jansson.h>

#include <hastings/cli/cli.h>
#include <hastings/cli/terminal/options.h>
#include <hastings/experiments/json.h>
#include <hastings/mcmc/session.h>

typedef struct app_command app_command;

/** A call of a command: the user's request. */
typedef struct {
    const app_command *command;
    const app_arguments *arguments;
    bool quiet, json;
    int threads;      /**< 0: hs_threads_default() */
    const char *line; /**< the whole command line, as text */
} app_call;

/** Kinds of a command's words, for completion; any other text is a list of choices, as in
 *  app_option. */
#define APP_WORDS_EXPERIMENTS "EXPERIMENT"
#define APP_WORDS_FILES       "FILE"
#define APP_WORDS_FOLDERS     "FOLDER"

struct app_command {
    const char *name;
    const char *words;    /**< words and required options, in the usage line of --help; "": none */
    const char *summary;  /**< one line */
    const char *about;    /**< one paragraph or more */
    const char *examples; /**< command lines, one on each line */
    const app_option *options;
    size_t least, most;   /**< number of words */
    const char *complete; /**< APP_WORDS_..., or choices "a|b"; NULL: nothing to complete */
    int (*run)(const app_call *call);
};

/** The i-th command; NULL after the last. */
const app_command *app_command_at(size_t i);

extern const app_command app_command_run, app_command_list, app_command_train, app_command_sample,
    app_command_diagnose, app_command_fit, app_command_select, app_command_report,
    app_command_completion;

/** Options that every command has. */
extern const app_option app_global_options[];

/** Prints "hastings run: " and a sentence on stderr, and returns the exit code for the status: usage for
 *  HS_EINVAL, else failure. */
int app_call_fail(const app_call *call, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

/** Says that there was nothing to save, and returns the exit code. */
int app_call_fail_interrupted(const app_call *call);

/** app_call_fail() with the error of a session. */
int app_call_fail_session(const app_call *call, const hs_session *s);

/** Prints a sentence on stderr, unless --quiet. */
void app_call_note(const app_call *call, const char *format, ...) HS_PRINTF(2, 3);

/** Prints JSON on stdout and frees it. NULL means out of memory. */
int app_call_print_json(const app_call *call, json_t *json);

/** Prints --help of a command, or of the program if it is NULL. */
void app_command_help(FILE *f, const app_command *command);

#endif
