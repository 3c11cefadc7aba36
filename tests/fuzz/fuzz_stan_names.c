/* Names of coordinates as columns of CmdStan's files; each line of the input is a name. */
#include <string.h>

#include <hastings/tensor/memory.h>

#include "fuzz.h"
#include "mcmc/io/stan_csv_internal.h"

enum { NAMES = 64 };

/* Cuts a text into its lines. */
static size_t cut(char *text, const char *names[NAMES])
{
    size_t count = 0;
    for (char *line = text; line && count < NAMES;) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        names[count++] = line;
        line = end;
    }
    return count;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    const char *names[NAMES];
    char *text = fuzz_text(data, size);
    const size_t count = cut(text, names);
    hs_chain_names columns;
    fuzz_check(hs__stan_column_names(names, count, &columns));
    fuzz_check(columns.count == count);
    hs_arena shown = { 0 };
    for (size_t i = 0; i < count; i++) {
        const char *name = columns.name[i];
        const size_t length = strlen(name);
        fuzz_check(length > 0 && strspn(name, allowed) == length);
        fuzz_check(!strchr("0123456789_.", name[0]));
        fuzz_check(length < 2 || strcmp(name + length - 2, "__") != 0);
        for (size_t k = 0; k < i; k++)
            fuzz_check(strcmp(columns.name[k], name) != 0);
        fuzz_check(hs__stan_shown_name(&shown, name, length));
    }
    hs_arena_free(&shown);
    hs_chain_names_free(&columns);
    hs_free(text);
    return true;
}
