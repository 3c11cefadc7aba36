#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/options.h>
#include <hastings/cli/terminal/visible.h>
#include <hastings/experiments/spec.h>

bool app_complain(hs_message *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    return false;
}

const char *app_hint(const char *wrong, const char *(*list)(size_t i, void *context), void *context,
                     const char *before, const char *after, char text[APP_HINT_TEXT])
{
    const char *near = app_nearest(wrong, list, context);
    text[0] = '\0';
    if (near)
        snprintf(text, APP_HINT_TEXT, "; did you mean %s%s%s?", before, near, after);
    return text;
}

const app_option *app_option_at(const app_option *const tables[APP_OPTION_TABLES], size_t i)
{
    for (size_t t = 0; t < APP_OPTION_TABLES; t++)
        for (const app_option *o = tables[t]; o && o->name; o++)
            if (i-- == 0)
                return o;
    return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A whole number, digits only: strtoull() would take signs and blanks. */
static bool read_whole(const char *text, uint64_t *value)
{
    if (!*text || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return errno == 0;
}

static bool read_positive(const char *text, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    *value = strtod(text, &end);
    return !*end && isfinite(*value) && *value > 0;
}

/* True if text is one of "a|b|c". */
static bool is_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    for (const char *c = strchr(text, '|') ? NULL : choices; c; c = strchr(c, '|')) {
        c += *c == '|';
        if (length > 0 && strncmp(c, text, length) == 0 && (c[length] == '|' || !c[length]))
            return true;
    }
    return false;
}

/* The expected value in words, perhaps in room; NULL if the value is good. Counts and seeds stay
 * below 2^53, so that JSON and people can read them. */
static const char *fault(const app_option *o, const char *value, char room[APP_HINT_TEXT])
{
    static const uint64_t largest = (uint64_t)1 << 53;
    uint64_t whole = 0;
    double number = 0;
    switch (o->type) {
    case APP_OPTION_COUNT:
    case APP_OPTION_WHOLE: {
        const uint64_t least = o->type == APP_OPTION_COUNT;
        if (strspn(value, "0123456789") == strlen(value) && *value &&
            (!read_whole(value, &whole) || whole > largest))
            snprintf(room, APP_HINT_TEXT, "a whole number of at most 2^53");
        else if (!read_whole(value, &whole) || whole < least)
            snprintf(room, APP_HINT_TEXT, "a whole number of at least %d", (int)least);
        else
            return NULL;
        return room;
    }
    case APP_OPTION_NUMBER:
        return read_positive(value, &number) ? NULL : "a positive number";
    case APP_OPTION_CHOICE: {
        if (is_choice(o->argument, value))
            return NULL;
        size_t used = 0;
        for (const char *c = o->argument; *c && used + 8 < APP_HINT_TEXT; c++)
            used += (size_t)(*c == '|' ? snprintf(room + used, 8, " or ")
                                       : snprintf(room + used, 8, "%c", *c));
        return room;
    }
    case APP_OPTION_FLAG:
    case APP_OPTION_TEXT:
    case APP_OPTION_FILE:
    case APP_OPTION_FOLDER:
    case APP_OPTION_TARGET:
    case APP_OPTION_PROPOSAL:
    case APP_OPTION_OBJECTIVE:
    case APP_OPTION_OPTIMIZER:
        break;
    }
    return *value ? NULL : "something";
}

/* ---- Parsing --------------------------------------------------------------------------------- */

static const char *option_name(size_t i, void *tables)
{
    const app_option *o = app_option_at(tables, i);
    return o ? o->name : NULL;
}

static bool store(app_arguments *a, const app_option *o, const char *value)
{
    for (size_t i = 0; i < a->given; i++)
        if (!strcmp(a->option[i]->name, o->name)) {
            a->value[i] = value;
            return true;
        }
    if (a->given == APP_MOST_OPTIONS)
        return false;
    a->option[a->given] = o;
    a->value[a->given++] = value;
    return true;
}

/* Takes one option: `text` follows its dashes, `next` is the next argument or NULL. Returns the
 * number of arguments taken; 0, and a message, if the option is wrong. */
static int take_option(app_arguments *a, const char *text, const char *next, hs_message *message)
{
    const size_t length = strcspn(text, "=");
    const char *value = text[length] ? text + length + 1 : NULL;
    const app_option *o = NULL;
    for (size_t i = 0; (o = app_option_at(a->tables, i)); i++)
        if (strlen(o->name) == length && !strncmp(o->name, text, length))
            break;
    if (!o) {
        char name[64], hint[APP_HINT_TEXT];
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        const app_option *tables[APP_OPTION_TABLES];
        memcpy(tables, a->tables, sizeof tables);
        app_complain(message, "%s: there is no option --%s%s", a->name, name,
                     app_hint(name, option_name, tables, "--", "", hint));
        return 0;
    }
    int taken = 1;
    if (o->type == APP_OPTION_FLAG) {
        if (value) {
            app_complain(message, "%s: --%s takes no value", a->name, o->name);
            return 0;
        }
        value = "";
    } else {
        if (!value && next) {
            value = next;
            taken = 2;
        }
        char room[APP_HINT_TEXT];
        if (!value) {
            app_complain(message, "%s: --%s needs a value, %s", a->name, o->name, o->argument);
            return 0;
        }
        const char *expected = fault(o, value, room);
        if (expected) {
            app_complain(message, "%s: --%s %.100s: expected %s", a->name, o->name,
                         *value ? value : "\"\"", expected);
            return 0;
        }
    }
    if (store(a, o, value))
        return taken;
    app_complain(message, "%s: there are more than %d options", a->name, (int)APP_MOST_OPTIONS);
    return 0;
}

bool app_arguments_parse(app_arguments *a, int argc, char **argv, hs_message *message)
{
    bool options = true;
    int i = 0;
    while (i < argc) {
        const char *text = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (options && !strcmp(text, "--")) {
            options = false;
            i++;
        } else if (options && text[0] == '-' && text[1] == '-') {
            const int taken = take_option(a, text + 2, next, message);
            if (!taken)
                return false;
            i += taken;
        } else if (options && !strcmp(text, "-h")) {
            if (!take_option(a, "help", NULL, message))
                return false;
            i++;
        } else if (options && text[0] == '-' && text[1]) {
            return app_complain(message, "%s: there is no option %.60s; options are --name, or -h",
                                a->name, text);
        } else {
            if (a->words == APP_MOST_WORDS)
                return app_complain(message, "%s: there are more than %d arguments", a->name,
                                    (int)APP_MOST_WORDS);
            a->word[a->words++] = text;
            i++;
            if (a->first_word_ends)
                break;
        }
    }
    a->taken = i;
    return true;
}

const char *app_given_text(const app_arguments *a, const char *name)
{
    for (size_t i = 0; i < a->given; i++)
        if (!strcmp(a->option[i]->name, name))
            return a->value[i];
    return NULL;
}

bool app_given(const app_arguments *a, const char *name)
{
    return app_given_text(a, name) != NULL;
}

uint64_t app_given_count(const app_arguments *a, const char *name, uint64_t otherwise)
{
    const char *text = app_given_text(a, name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

double app_given_number(const app_arguments *a, const char *name, double otherwise)
{
    const char *text = app_given_text(a, name);
    return text ? strtod(text, NULL) : otherwise;
}

/* ---- Printing -------------------------------------------------------------------------------- */

void app_print_wrapped(FILE *f, const char *text, size_t column, size_t indent)
{
    enum { WIDTH = 80 };
    bool first = true;
    while (*text) {
        if (*text == '\n') {
            fprintf(f, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
            text++;
            continue;
        }
        const size_t word = strcspn(text, " \n");
        if (!first && column + 1 + word > WIDTH) {
            fprintf(f, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', f);
            column++;
        }
        column += word;
        for (const char *end = text + word; text < end;) {
            char visible[APP_VISIBLE_TEXT];
            text = app_visible(text, visible);
            fputs(visible, f);
        }
        text += *text == ' ';
        first = false;
    }
    fputc('\n', f);
}

void app_options_print(FILE *f, const app_option *table)
{
    enum { COLUMN = 24 };
    for (const app_option *o = table; o && o->name; o++) {
        const int n = fprintf(f, "  --%s%s%s", o->name, o->argument ? " " : "",
                              o->argument ? o->argument : "");
        if (n > COLUMN - 2)
            fprintf(f, "\n%*s", (int)COLUMN, "");
        else
            fprintf(f, "%*s", (int)COLUMN - n, "");
        app_print_wrapped(f, o->help, COLUMN, COLUMN);
    }
}
