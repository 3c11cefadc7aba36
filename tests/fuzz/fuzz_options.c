/* Command lines, for each command of the program. Each line of the input is an argument. */
#include <math.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/tensor/memory.h>

#include "fuzz.h"

enum { ARGUMENTS = 64 };

/* Values that were given are those that the table promises. */
static void check_values(const app_arguments *a)
{
    fuzz_check(a->given <= APP_MOST_OPTIONS && a->words <= APP_MOST_WORDS);
    const app_option *o;
    for (size_t i = 0; (o = app_option_at(a->tables, i)); i++) {
        if (!app_given(a, o->name))
            continue;
        fuzz_check(o->type == APP_OPTION_FLAG || app_given_text(a, o->name)[0]);
        if (o->type == APP_OPTION_COUNT)
            fuzz_check(app_given_count(a, o->name, 0) > 0);
        if (o->type == APP_OPTION_NUMBER) {
            const double value = app_given_number(a, o->name, -1);
            fuzz_check(isfinite(value) && value > 0);
        }
    }
}

static bool parse(const app_command *command, bool first_word_ends, int argc, char **argv)
{
    app_arguments a = { .name = command->name,
                        .tables = { app_global_options, command->options },
                        .first_word_ends = first_word_ends };
    hs_message message = { "" };
    if (!app_arguments_parse(&a, argc, argv, &message))
        return fuzz_refused(message.text);
    fuzz_check(a.taken == argc || (first_word_ends && a.words == 1));
    check_values(&a);
    return true;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    char *argv[ARGUMENTS + 1], *text = fuzz_text(data, size);
    int argc = 0;
    for (char *line = text; line && argc < ARGUMENTS; argc++) {
        argv[argc] = line;
        line = strchr(line, '\n');
        if (line)
            *line++ = '\0';
    }
    argv[argc] = NULL;
    bool accepted = false;
    const app_command *command;
    for (size_t i = 0; (command = app_command_at(i)); i++)
        for (int ends = 0; ends < 2; ends++)
            accepted = parse(command, ends, argc, argv) || accepted;
    hs_free(text);
    return accepted;
}
