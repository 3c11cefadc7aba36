/**
 * Options of a command line: a table of them, from which parsing, --help and shell completion come.
 *
 *     static const hs_option options[] = {
 *         { "steps", HS_OPTION_COUNT, "N", "gradient steps" },
 *         { "quick", HS_OPTION_FLAG, NULL, "a small version" },
 *         { 0 },
 *     };
 *     hs_arguments a = { .name = "hastings run", .tables = { options } };
 *     if (!hs_arguments_parse(&a, argc, argv, &message))    // --steps 100 --quick cross
 *         fprintf(stderr, "%s\n", message.text);            // hastings run: there is no option --stpes; ...
 *     uint64_t steps = hs_given_count(&a, "steps", 20000);
 *     const char *name = a.word[0];                         // "cross"
 *
 * Options are written --name VALUE or --name=VALUE, anywhere among the words; -- ends them. If one is
 * given twice, the last counts. Values are checked while parsing, so what is asked for later is good.
 * Tables and argv outlive the arguments; nothing is allocated.
 */
#ifndef HASTINGS_CLI_OPTIONS_H
#define HASTINGS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <hastings/nn/file.h>

typedef enum {
    HS_OPTION_FLAG,   /**< takes no value */
    HS_OPTION_COUNT,  /**< a whole number of at least 1 */
    HS_OPTION_WHOLE,  /**< a whole number of at least 0 */
    HS_OPTION_NUMBER, /**< a positive number */
    HS_OPTION_TEXT,   /**< anything but nothing */
    HS_OPTION_CHOICE, /**< one of the words in `argument`: "f32|f64" */
    HS_OPTION_FILE,   /**< text that is completed as the name of a file */
    HS_OPTION_FOLDER, /**< ... of a folder */
    HS_OPTION_TARGET, /**< ... as a kind of target, proposal or objective */
    HS_OPTION_PROPOSAL,
    HS_OPTION_OBJECTIVE,
} hs_option_type;

typedef struct {
    const char *name; /**< without the dashes; NULL ends a table */
    hs_option_type type;
    const char *argument; /**< what --help calls the value; NULL for flags */
    const char *help;     /**< a line or two, without a full stop */
} hs_option;

enum { HS_OPTION_TABLES = 2, HS_MOST_OPTIONS = 48, HS_MOST_WORDS = 1024 };

typedef struct {
    const char *name;                          /**< of program and command, for messages */
    const hs_option *tables[HS_OPTION_TABLES]; /**< NULL: none */
    bool first_word_ends;                      /**< options after the first word are not ours */

    size_t given; /**< what was parsed */
    const hs_option *option[HS_MOST_OPTIONS];
    const char *value[HS_MOST_OPTIONS];
    size_t words;
    const char *word[HS_MOST_WORDS];
    int taken; /**< arguments that were read: all, unless first_word_ends */
} hs_arguments;

/** The i-th option of all tables; NULL after the last. */
const hs_option *hs_option_at(const hs_option *const tables[HS_OPTION_TABLES], size_t i);

/** Adds what argv[0] ... argv[argc-1] say. False, and a sentence, for what makes no sense. -h is
 *  --help. */
bool hs_arguments_parse(hs_arguments *a, int argc, char **argv, hs_message *message);

/** Whether the option was given; its value; NULL if it was not. */
bool hs_given(const hs_arguments *a, const char *name);
const char *hs_given_text(const hs_arguments *a, const char *name);

/** The value as a number, `otherwise` if the option was not given. */
uint64_t hs_given_count(const hs_arguments *a, const char *name, uint64_t otherwise);
double hs_given_number(const hs_arguments *a, const char *name, double otherwise);

/** Prints a table for --help, "  --steps N   gradient steps", with long texts on several lines. */
void hs_options_print(FILE *f, const hs_option *table);

/** Prints text in lines of at most 80 columns, the second and later ones after `indent` blanks. `column`
 *  is where the first begins. */
void hs_print_wrapped(FILE *f, const char *text, size_t column, size_t indent);

/** "; did you mean --steps?" in text, "" if nothing is near. */
enum { HS_HINT_TEXT = 160 };
const char *hs_hint(const char *wrong, const char *(*list)(size_t i, void *context), void *context,
                    const char *before, const char *after, char text[HS_HINT_TEXT]);

/** Writes a sentence, and returns false. */
bool hs_complain(hs_message *message, const char *format, ...) HS_PRINTF(2, 3);

#endif
