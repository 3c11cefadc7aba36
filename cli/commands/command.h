/**
 * Commands of the program: a table of them, in which each is a description and a function.
 *
 * A command prints its result on stdout, or as JSON if call->json, and everything else on stderr; it
 * returns an exit code (cli.h).
 */
#ifndef HASTINGS_CLI_COMMAND_H
#define HASTINGS_CLI_COMMAND_H

#include <jansson.h>

#include <hastings/cli/cli.h>
#include <hastings/cli/options.h>
#include <hastings/mcmc/session.h>

typedef struct hs_command hs_command;

/** What the user asked for. */
typedef struct {
    const hs_command *command;
    const hs_arguments *arguments;
    bool quiet, json;
    int threads;      /**< 0: all */
    const char *line; /**< the whole command line, as text */
} hs_call;

/** What the words of a command are, for completion; a text is a list of choices, as in hs_option. */
#define HS_WORDS_EXPERIMENTS "EXPERIMENT"
#define HS_WORDS_FILES       "FILE"
#define HS_WORDS_FOLDERS     "FOLDER"

struct hs_command {
    const char *name;
    const char *words;    /**< after the name, in --help: "NAME|FILE.json"; "" if there are none */
    const char *summary;  /**< a line */
    const char *about;    /**< a paragraph or a few */
    const char *examples; /**< command lines, one a line */
    const hs_option *options;
    size_t least, most;   /**< words */
    const char *complete; /**< HS_WORDS_..., or "a|b"; NULL: nothing */
    int (*run)(const hs_call *call);
};

/** The i-th command; NULL after the last. */
const hs_command *hs_command_at(size_t i);

extern const hs_command hs_command_run, hs_command_list, hs_command_train, hs_command_sample,
    hs_command_diagnose, hs_command_fit, hs_command_select, hs_command_report,
    hs_command_completion;

/** Options that every command has. */
extern const hs_option hs_global_options[];

/** Prints "hastings run: " and a sentence on stderr, and returns the exit code for the status: usage for
 *  HS_EINVAL, else failure. */
int hs_call_fail(const hs_call *call, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

/** The same of what made a session fail. */
int hs_call_fail_session(const hs_call *call, const hs_session *s);

/** A sentence on stderr, unless --quiet. */
void hs_call_note(const hs_call *call, const char *format, ...) HS_PRINTF(2, 3);

/** Prints JSON on stdout, and takes it over. A NULL is out of memory. */
int hs_call_print_json(const hs_call *call, json_t *json);

/** A number for JSON: null if it is not finite. */
json_t *hs_json_number(double value);

/** --help of a command, and of the program if it is NULL. */
void hs_command_help(FILE *f, const hs_command *command);

#endif
