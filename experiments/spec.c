#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec_internal.h"
#include <hastings/tensor/memory.h>

static const char *kind_name(size_t i, void *list)
{
    const app_spec_entry *entry = (*(spec_list **)list)(i);
    return entry ? entry->kind : NULL;
}

static const char *option_name(size_t i, void *entry)
{
    return i < APP_SPEC_OPTIONS ? ((const app_spec_entry *)entry)->options[i].name : NULL;
}

static bool is_count(const char *text)
{
    return *text && strlen(text) < 19 && strspn(text, "0123456789") == strlen(text);
}

static bool is_size(const char *text)
{
    return is_count(text) && strtoull(text, NULL, 10) > 0;
}

static bool is_number(const char *text)
{
    char *end;
    return *text && !isspace((unsigned char)*text) && isfinite(strtod(text, &end)) && !*end;
}

static bool is_flag(const char *text)
{
    return !strcmp(text, "yes") || !strcmp(text, "no");
}

static bool check_value(const spec *p, const app_spec_option *o, const char *value)
{
    static const struct {
        bool (*good)(const char *);
        const char *expected;
    } rule[] = {
        [APP_SPEC_COUNT] = { is_count, "a whole number" },
        [APP_SPEC_SIZE] = { is_size, "a whole number of at least 1" },
        [APP_SPEC_NUMBER] = { is_number, "a number" },
        [APP_SPEC_FLAG] = { is_flag, "yes or no" },
    };
    /* The library takes 0 for the default; a user who writes 0 does not mean that. */
    const bool unmeant = o->type == APP_SPEC_NUMBER && is_number(value) && !strtod(value, NULL) &&
                         strtod(o->standard, NULL);
    if (unmeant) {
        hs_session_fail(p->session, HS_EINVAL, "%s \"%s\": %s=%s, but it cannot be 0", p->what,
                        p->entry->kind, o->name, value);
        return false;
    }
    if (o->type == APP_SPEC_TEXT ? *value : rule[o->type].good(value))
        return true;
    hs_session_fail(p->session, HS_EINVAL, "%s \"%s\": %s=%s, but %s was expected", p->what,
                    p->entry->kind, o->name, value,
                    o->type == APP_SPEC_TEXT ? "some text" : rule[o->type].expected);
    return false;
}

static bool take_option(spec *p, char *item)
{
    char *equals = strchr(item, '=');
    const char *value = equals ? equals + 1 : "yes";
    if (equals)
        *equals = 0;
    for (size_t i = 0; i < APP_SPEC_OPTIONS && p->entry->options[i].name; i++)
        if (!strcmp(p->entry->options[i].name, item)) {
            p->value[i] = value;
            return check_value(p, &p->entry->options[i], value);
        }
    app_spec_entry entry = *p->entry;
    const char *near = app_nearest(item, option_name, &entry);
    hs_session_fail(p->session, HS_EINVAL,
                    "%s \"%s\" has no option \"%s\"%s%s%s; hastings list shows all", p->what,
                    p->entry->kind, item, near ? "; did you mean \"" : "", near ? near : "",
                    near ? "\"?" : "");
    return false;
}

bool app_spec_open(spec *p, hs_session *s, const char *what, spec_list *list, const char *text)
{
    *p = (spec){ .session = s, .what = what };
    if (hs_session_status(s))
        return false;
    const size_t size = strlen(text) + 1;
    p->text = hs_alloc(size);
    if (!p->text) {
        hs_session_fail(s, HS_ENOMEM, "no memory for the text of a %s", what);
        return false;
    }
    memcpy(p->text, text, size);
    char *rest = p->text, *comma = strchr(rest, ',');
    if (comma)
        *comma = 0;
    for (size_t i = 0; !p->entry && list(i); i++)
        if (!strcmp(list(i)->kind, rest))
            p->entry = list(i);
    if (!p->entry) {
        const char *near = app_nearest(rest, kind_name, &list);
        hs_session_fail(s, HS_EINVAL, "there is no %s \"%s\"%s%s%s; hastings list shows all", what,
                        rest, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        return false;
    }
    while (comma) {
        rest = comma + 1;
        comma = strchr(rest, ',');
        if (comma)
            *comma = 0;
        if (!take_option(p, rest))
            return false;
    }
    return true;
}

void app_spec_close(spec *p)
{
    hs_free(p->text);
    p->text = NULL;
}

const char *app_spec_text(const spec *p, const char *option)
{
    for (size_t i = 0; i < APP_SPEC_OPTIONS && p->entry->options[i].name; i++)
        if (!strcmp(p->entry->options[i].name, option))
            return p->value[i] ? p->value[i] : p->entry->options[i].standard;
    hs_session_fail(p->session, HS_EINVAL, "%s \"%s\" has no option \"%s\" in its table", p->what,
                    p->entry->kind, option);
    return NULL;
}

double app_spec_number(const spec *p, const char *option)
{
    const char *text = app_spec_text(p, option);
    return text ? strtod(text, NULL) : 0;
}

size_t app_spec_count(const spec *p, const char *option)
{
    const char *text = app_spec_text(p, option);
    return text ? (size_t)strtoull(text, NULL, 10) : 0;
}

bool app_spec_flag(const spec *p, const char *option)
{
    const char *text = app_spec_text(p, option);
    return text && !strcmp(text, "yes");
}

int app_spec_word(const spec *p, const char *option, const char *const *words)
{
    const char *text = app_spec_text(p, option);
    char known[256] = "";
    for (int i = 0; words[i]; i++) {
        if (text && !strcmp(words[i], text))
            return i;
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
    }
    hs_session_fail(p->session, HS_EINVAL, "%s \"%s\": %s=%s, but one of %s was expected", p->what,
                    p->entry->kind, option, text ? text : "", known);
    return -1;
}

/* ---- Spelling -------------------------------------------------------------------------------- */

enum { LONGEST_NAME = 64 };

/* Levenshtein's distance; a name that is too long is near to no other. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    if (n >= LONGEST_NAME || m >= LONGEST_NAME)
        return SIZE_MAX;
    size_t row[LONGEST_NAME];
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t best = row[j] < row[j - 1] ? row[j] : row[j - 1];
            best = best + 1 < replaced ? best + 1 : replaced;
            row[j] = best;
        }
    }
    return row[m];
}

const char *app_nearest(const char *name, const char *(*list)(size_t i, void *context),
                        void *context)
{
    const char *best = NULL;
    size_t least = 1 + strlen(name) / 3; /* more changes than that are another word */
    for (size_t i = 0; list(i, context); i++) {
        const char *entry = list(i, context);
        const size_t d = distance(name, entry);
        const bool begins = strlen(name) >= 3 && !strncmp(name, entry, strlen(name));
        if (d < least || (d == least && !best) || (begins && !best)) {
            best = entry;
            least = d < least ? d : least;
        }
    }
    return best;
}
