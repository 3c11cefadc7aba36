/**
 * Options of a command line: a table of them, from which parsing, --help and shell completion come.
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
 * given twice, the last counts. Values are checked while parsing, so what is asked for later is good.
 * Tables and argv outlive the arguments; nothing is allocated.
 */
#ifndef HASTINGS_CLI_TERMINAL_OPTIONS_H
#define HASTINGS_CLI_TERMINAL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <hastings/nn/file.h>

typedef enum {
    APP_OPTION_FLAG,   /**< takes no value */
    APP_OPTION_COUNT,  /**< a whole number of at least 1 */
    APP_OPTION_WHOLE,  /**< a whole number of at least 0 */
    APP_OPTION_NUMBER, /**< a positive number */
    APP_OPTION_TEXT,   /**< anything but nothing */
    APP_OPTION_CHOICE, /**< one of the words in `argument`: "f32|f64" */
    APP_OPTION_FILE,   /**< text that is completed as the name of a file */
    APP_OPTION_FOLDER, /**< ... of a folder */
    APP_OPTION_TARGET, /**< ... as a kind of target, proposal or objective */
    APP_OPTION_PROPOSAL,
    APP_OPTION_OBJECTIVE,
} app_option_type;

typedef struct {
    const char *name; /**< without the dashes; NULL ends a table */
    app_option_type type;
    const char *argument; /**< what --help calls the value; NULL for flags */
    const char *help;     /**< a line or two, without a full stop */
} app_option;

enum { APP_OPTION_TABLES = 2, APP_MOST_OPTIONS = 48, APP_MOST_WORDS = 1024 };

typedef struct {
    const char *name;                            /**< of program and command, for messages */
    const app_option *tables[APP_OPTION_TABLES]; /**< NULL: none */
    bool first_word_ends;                        /**< options after the first word are not ours */

    size_t given; /**< what was parsed */
    const app_option *option[APP_MOST_OPTIONS];
    const char *value[APP_MOST_OPTIONS];
    size_t words;
    const char *word[APP_MOST_WORDS];
    int taken; /**< arguments that were read: all, unless first_word_ends */
} app_arguments;

/** The i-th option of all tables; NULL after the last. */
const app_option *app_option_at(const app_option *const tables[APP_OPTION_TABLES], size_t i);

/** Adds what argv[0] ... argv[argc-1] say. False, and a sentence, for what makes no sense. -h is
 *  --help. */
bool app_arguments_parse(app_arguments *a, int argc, char **argv, hs_message *message);

/** Whether the option was given; its value; NULL if it was not. */
bool app_given(const app_arguments *a, const char *name);
const char *app_given_text(const app_arguments *a, const char *name);

/** The value as a number, `otherwise` if the option was not given. */
uint64_t app_given_count(const app_arguments *a, const char *name, uint64_t otherwise);
double app_given_number(const app_arguments *a, const char *name, double otherwise);

/** Prints a table for --help, "  --steps N   gradient steps", with long texts on several lines. */
void app_options_print(FILE *f, const app_option *table);

/** Prints text in lines of at most 80 columns, the second and later ones after `indent` blanks. `column`
 *  is where the first begins. */
void app_print_wrapped(FILE *f, const char *text, size_t column, size_t indent);

/** "; did you mean --steps?" in text, "" if nothing is near. */
enum { APP_HINT_TEXT = 160 };
const char *app_hint(const char *wrong, const char *(*list)(size_t i, void *context), void *context,
                     const char *before, const char *after, char text[APP_HINT_TEXT]);

/** Writes a sentence, and returns false. */
bool app_complain(hs_message *message, const char *format, ...) HS_PRINTF(2, 3);

#endif
