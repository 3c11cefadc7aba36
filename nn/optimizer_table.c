/* Optimisers by name: the table, its checks, and optimisers as text. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer_internal.h"

#define HS_TAKES(name, standard)                                                                   \
    {                                                                                              \
#name, standard                                                                            \
    }
static const hs_optimizer_entry table[] = {
#define HS_OPTIMIZER(name, rule, least, most, rate, doc, ...) { #name, doc, rate, { __VA_ARGS__ } },
#include "optimizers.def"
};

static const struct {
    int least, most;
} moments_of[] = {
    { 0, 0 },
#define HS_OPTIMIZER(name, rule, least, most, ...) { least, most },
#include "optimizers.def"
};

#define HS_NUMBER(name, allowed, ...)                                                              \
    static bool name##_allowed(double x)                                                           \
    {                                                                                              \
        return allowed;                                                                            \
    }
#include "optimizers.def"

static const struct {
    const char *name, *range;
    size_t at;
    bool (*allowed)(double x);
} numbers[] = {
#define HS_NUMBER(name, allowed, range, doc)                                                       \
    { #name, range, offsetof(hs_optimizer_options, name), name##_allowed },
#include "optimizers.def"
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

const hs_optimizer_entry *hs_optimizer_list(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

/* Whether the first characters of a text are the word. */
static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !strncmp(word, text, length);
}

optimizer_kind hs__optimizer_find(const char *name, size_t length)
{
    for (size_t i = 0; hs_optimizer_list(i); i++)
        if (is_word(table[i].name, name, length))
            return (optimizer_kind)(i + 1);
    return OPTIMIZER_none;
}

const char *hs__optimizer_kind_name(optimizer_kind kind)
{
    return kind == OPTIMIZER_none ? "none" : table[kind - 1].name;
}

int hs__optimizer_moments(optimizer_kind kind, bool momentum)
{
    return momentum ? moments_of[kind].most : moments_of[kind].least;
}

/* ---- Checks ------------------------------------------------------------------------------- */

/* Appends a word to a list of words. */
static void append(hs_message *list, const char *word)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "", word);
}

static hs_status unknown_name(const char *name, int length, hs_message *message)
{
    hs_message known = { "" };
    for (size_t i = 0; hs_optimizer_list(i); i++)
        append(&known, table[i].name);
    return hs_message_fail(message, HS_EINVAL, "there is no optimiser \"%.*s\", only %.400s",
                           length < 60 ? length : 60, name, known.text);
}

static hs_status unknown_number(const hs_optimizer_entry *entry, const char *name, int length,
                                hs_message *message)
{
    hs_message known = { "rate, clip_norm" };
    for (const hs_optimizer_number *n = entry->number; n->name; n++)
        append(&known, n->name);
    return hs_message_fail(message, HS_EINVAL, "%s: it has no \"%.*s\", only %.400s", entry->name,
                           length < 60 ? length : 60, name, known.text);
}

static double *field_of(hs_optimizer_options *options, size_t i)
{
    return (double *)(void *)((char *)options + numbers[i].at);
}

static const hs_optimizer_number *number_of(const hs_optimizer_entry *entry, const char *name)
{
    for (const hs_optimizer_number *n = entry->number; n->name; n++)
        if (!strcmp(n->name, name))
            return n;
    return NULL;
}

/* The first condition that options do not meet; NULL if they meet all. */
static const char *fault_of(const hs_optimizer_options *o, double *value)
{
    const hs_schedule *s = &o->schedule;
    const struct {
        bool good;
        double value;
        const char *rule;
    } rule[] = {
        { o->rate > 0 && isfinite(o->rate), o->rate, "rate must be positive" },
        { o->nesterov == 0 || o->momentum > 0, o->momentum,
          "momentum must be positive with nesterov" },
        { (unsigned)s->kind <= HS_EXPONENTIAL, (double)s->kind,
          "schedule.kind must be one of hs_schedule_kind" },
        { s->kind == HS_CONSTANT || s->steps > s->warmup, (double)s->steps,
          "schedule.steps must be more than schedule.warmup" },
        { s->final >= 0 && s->final <= 1, s->final, "schedule.final must be in [0, 1]" },
        { s->kind != HS_EXPONENTIAL || s->final > 0, s->final, "schedule.final must be positive" },
        { !s->function || (s->kind == HS_CONSTANT && !s->warmup), (double)s->warmup,
          "schedule.function needs the kind HS_CONSTANT and a warmup of 0" },
        { o->clip_norm >= 0, o->clip_norm, "clip_norm must not be negative" },
    };
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (!rule[i].good) {
            *value = rule[i].value;
            return rule[i].rule;
        }
    return NULL;
}

hs_status hs__optimizer_complete(const hs_optimizer_options *options, hs_optimizer_options *full,
                                 hs_message *message)
{
    *full = options ? *options : (hs_optimizer_options){ 0 };
    full->name = full->name ? full->name : "adam";
    const optimizer_kind kind = hs__optimizer_find(full->name, strlen(full->name));
    if (kind == OPTIMIZER_none)
        return unknown_name(full->name, (int)strlen(full->name), message);
    const hs_optimizer_entry *entry = &table[kind - 1];
    full->name = entry->name;
    full->rate = full->rate != 0 ? full->rate : entry->rate;
    for (size_t i = 0; i < NUMBERS; i++) {
        double *value = field_of(full, i);
        const hs_optimizer_number *n = number_of(entry, numbers[i].name);
        if (!n && *value != 0)
            return unknown_number(entry, numbers[i].name, 60, message);
        if (n && *value == 0)
            *value = n->standard;
        if (n && !numbers[i].allowed(*value))
            return hs_message_fail(message, HS_EINVAL, "%s: %s must be %s, but is %g", entry->name,
                                   n->name, numbers[i].range, *value);
    }
    double value = 0;
    const char *fault = fault_of(full, &value);
    return fault
               ? hs_message_fail(message, HS_EINVAL, "%s: %s, but is %g", entry->name, fault, value)
               : HS_OK;
}

/* ---- Text --------------------------------------------------------------------------------- */

/* Reads key=value into the options. */
static hs_status take_item(const hs_optimizer_entry *entry, const char *item, size_t length,
                           hs_optimizer_options *options, hs_message *message)
{
    const size_t key = strcspn(item, "=,");
    double *field = is_word("rate", item, key)        ? &options->rate
                    : is_word("clip_norm", item, key) ? &options->clip_norm
                                                      : NULL;
    bool zero = field == &options->clip_norm; /* means zero, not the default */
    for (size_t i = 0; !field && i < NUMBERS; i++) {
        const hs_optimizer_number *n = number_of(entry, numbers[i].name);
        if (n && is_word(n->name, item, key)) {
            field = field_of(options, i);
            zero = n->standard == 0;
        }
    }
    if (!field)
        return unknown_number(entry, item, (int)key, message);
    char *end = NULL;
    *field = key < length ? strtod(item + key + 1, &end) : 0;
    if (!end || end != item + length || end == item + key + 1 || (*field == 0 && !zero))
        return hs_message_fail(message, HS_EINVAL, "%s: %.*s, but a number%s was expected",
                               entry->name, length < 60 ? (int)length : 60, item,
                               zero ? "" : " other than 0");
    return HS_OK;
}

hs_status hs_optimizer_parse(const char *text, hs_optimizer_options *options, hs_message *message)
{
    hs_optimizer_options read = *options, full;
    hs_message_clear(message);
    size_t length = strcspn(text, ",");
    const optimizer_kind kind = hs__optimizer_find(text, length);
    if (kind == OPTIMIZER_none)
        return unknown_name(text, (int)length, message);
    read.name = table[kind - 1].name;
    read.rate = read.clip_norm = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        *field_of(&read, i) = 0;
    for (text += length; *text; text += length) {
        length = strcspn(++text, ",");
        const hs_status status = take_item(&table[kind - 1], text, length, &read, message);
        if (status)
            return status;
    }
    const hs_status status = hs__optimizer_complete(&read, &full, message);
    if (!status)
        *options = read;
    return status;
}
