/**
 * Options of a command line: one table for parsing, --help and shell completion.
 *
 *     static const app_option options[] = {
 *         { "steps", APP_OPTION_COUNT, "N", "gradient steps" },
 *         { "quick", APP_OPTION_FLAG, NULL, "a small version" },
 *         { 0 },
 *     };
 *     app_arguments a = { .name = "hastings run", .tables = { options } };
 *     if (!app_arguments_parse(&a, argc, argv, &message))    // --steps 100 --quick cross
 *         fprintf(stderr, "%s\n", message.text);            // hastings run: there is no option --stpes; ...
 *     uint64_t steps = app_given_count(&a, "steps", 20000);
 *     const char *name = a.word[0];                         // "cross"
 *
 * Options are written --name VALUE or --name=VALUE, anywhere among the words; -- ends them. If one is
 * given twice, the last counts. Parsing checks the values: app_given_...() find only good ones.
 * Tables and argv outlive the arguments; nothing is allocated.
 */
#ifndef HASTINGS_CLI_TERMINAL_OPTIONS_H
#define HASTINGS_CLI_TERMINAL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <hastings/nn/file.h>

typedef enum {
    APP_OPTION_FLAG,      /**< no value */
    APP_OPTION_COUNT,     /**< whole number of at least 1 */
    APP_OPTION_WHOLE,     /**< whole number of at least 0 */
    APP_OPTION_NUMBER,    /**< positive number */
    APP_OPTION_TEXT,      /**< any text but "" */
    APP_OPTION_CHOICE,    /**< one of the words in `argument`: "f32|f64" */
    APP_OPTION_FILE,      /**< text, completed as a file */
    APP_OPTION_FOLDER,    /**< text, completed as a folder */
    APP_OPTION_TARGET,    /**< text, completed as a kind of target */
    APP_OPTION_PROPOSAL,  /**< text, completed as a kind of proposal */
    APP_OPTION_OBJECTIVE, /**< text, completed as an objective */
    APP_OPTION_OPTIMIZER, /**< text, completed as an optimiser */
} app_option_type;

typedef struct {
    const char *name; /**< without the dashes; NULL ends a table */
    app_option_type type;
    const char *argument; /**< name of the value in --help; NULL for flags */
    const char *help;     /**< one line or two, without a full stop */
} app_option;

enum { APP_OPTION_TABLES = 2, APP_MOST_OPTIONS = 48, APP_MOST_WORDS = 1024 };

typedef struct {
    const char *name;                            /**< name of program and command, for messages */
    const app_option *tables[APP_OPTION_TABLES]; /**< NULL: none */
    bool first_word_ends;                        /**< stop parsing after the first word */

    size_t given; /**< number of options given */
    const app_option *option[APP_MOST_OPTIONS];
    const char *value[APP_MOST_OPTIONS];
    size_t words;
    const char *word[APP_MOST_WORDS];
    int taken; /**< number of arguments read: all, unless first_word_ends */
} app_arguments;

/** The i-th option of all tables; NULL after the last. */
const app_option *app_option_at(const app_option *const tables[APP_OPTION_TABLES], size_t i);

/** Adds the arguments argv[0] ... argv[argc-1]; -h is --help. False, and a sentence, if one is
 *  wrong. */
bool app_arguments_parse(app_arguments *a, int argc, char **argv, hs_message *message);

/** True if the option was given; its value, or NULL. */
bool app_given(const app_arguments *a, const char *name);
const char *app_given_text(const app_arguments *a, const char *name);

/** The value as a number, `otherwise` if the option was not given. */
uint64_t app_given_count(const app_arguments *a, const char *name, uint64_t otherwise);
double app_given_number(const app_arguments *a, const char *name, double otherwise);

/** Prints a table for --help, "  --steps N   gradient steps", with long texts on several lines. */
void app_options_print(FILE *f, const app_option *table);

/** Prints text in lines of at most 80 columns. The first begins at `column`, the others after
 *  `indent` blanks. */
void app_print_wrapped(FILE *f, const char *text, size_t column, size_t indent);

/** Writes "; did you mean --steps?" into text, or "" if no name is near. */
enum { APP_HINT_TEXT = 160 };
const char *app_hint(const char *wrong, const char *(*list)(size_t i, void *context), void *context,
                     const char *before, const char *after, char text[APP_HINT_TEXT]);

/** Writes a sentence, and returns false. */
bool app_complain(hs_message *message, const char *format, ...) HS_PRINTF(2, 3);

#endif
