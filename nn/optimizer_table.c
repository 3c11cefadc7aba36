/* Optimisers by name: the table, and its checks. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "optimizer_internal.h"

/* clang-format off */
#define HS_TAKES(name, standard) { #name, standard }
static const hs_optimizer_entry table[] = {
#define HS_OPTIMIZER(name, rule, least, most, rate, doc, ...)                                      \
    { #name, doc, rate, least, most, { __VA_ARGS__ } },
#include "optimizers.def"
};
/* clang-format on */

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

optimizer_kind hs__optimizer_find(const char *name)
{
    for (size_t i = 0; hs_optimizer_list(i); i++)
        if (!strcmp(table[i].name, name))
            return (optimizer_kind)(i + 1);
    return OPTIMIZER_none;
}

/* Appends a word to a list of words. */
static void append(hs_message *list, const char *word)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? ", " : "", word);
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

static hs_status unknown_name(const char *name, hs_message *message)
{
    hs_message known = { "" };
    for (size_t i = 0; hs_optimizer_list(i); i++)
        append(&known, table[i].name);
    return hs_message_fail(message, HS_EINVAL, "there is no optimiser \"%.60s\", only %.400s", name,
                           known.text);
}

static hs_status unknown_number(const hs_optimizer_entry *entry, const char *name,
                                hs_message *message)
{
    hs_message known = { "rate, clip_norm" };
    for (const hs_optimizer_number *n = entry->number; n->name; n++)
        append(&known, n->name);
    return hs_message_fail(message, HS_EINVAL, "%s: it has no \"%s\", only %.400s", entry->name,
                           name, known.text);
}

hs_status hs_optimizer_check(const hs_optimizer_options *options, hs_optimizer_options *full,
                             hs_message *message)
{
    hs_optimizer_options unwanted, *o = full ? full : &unwanted;
    *o = options ? *options : (hs_optimizer_options){ 0 };
    o->name = o->name ? o->name : "adam";
    const optimizer_kind kind = hs__optimizer_find(o->name);
    if (kind == OPTIMIZER_none)
        return unknown_name(o->name, message);
    const hs_optimizer_entry *entry = &table[kind - 1];
    o->name = entry->name;
    o->rate = o->rate != 0 ? o->rate : entry->rate;
    for (size_t i = 0; i < NUMBERS; i++) {
        double *value = (double *)(void *)((char *)o + numbers[i].at);
        const hs_optimizer_number *n = entry->number;
        while (n->name && strcmp(n->name, numbers[i].name) != 0)
            n++;
        if (!n->name && *value != 0)
            return unknown_number(entry, numbers[i].name, message);
        if (n->name && *value == 0)
            *value = n->standard;
        if (!numbers[i].allowed(*value) && n->name)
            return hs_message_fail(message, HS_EINVAL, "%s: %s must be %s, but is %g", entry->name,
                                   n->name, numbers[i].range, *value);
    }
    double value = 0;
    const char *fault = fault_of(o, &value);
    return fault
               ? hs_message_fail(message, HS_EINVAL, "%s: %s, but is %g", entry->name, fault, value)
               : HS_OK;
}
