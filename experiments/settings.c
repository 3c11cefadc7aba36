#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_internal.h"
#include <hastings/experiments/spec.h>
#include <hastings/tensor/message.h>
#include <hastings/mcmc/restart.h>

bool app_is_fit_text(const char *text)
{
    return !strcmp(text, "walk") || !strcmp(text, "mala") || !strcmp(text, "both");
}

bool app_is_sampler(const char *text)
{
    if (!strcmp(text, "iid") || !strcmp(text, "hmc") || !strcmp(text, "fit") ||
        !strcmp(text, "curve:msjd"))
        return true;
    char *end;
    const double rate = strncmp(text, "accept:", 7) ? -1 : strtod(text + 7, &end);
    return rate > 0 && rate < 1 && !*end;
}

/* Counts, with the least and the most that each can be. */
#define ANY 1000000000000
static const struct {
    const char *name;
    size_t at;
    size_t standard, least, most;
} counts[] = {
    { "steps", offsetof(settings, steps), 20000, 1, ANY },
    { "starts", offsetof(settings, starts), 8, 1, ANY },
    { "proposals", offsetof(settings, proposals), 100, 1, ANY },
    { "restarts", offsetof(settings, restarts), 1, 1, HS_MOST_RESTARTS },
    { "chains", offsetof(settings, chains), 5, 1, ANY },
    { "draws", offsetof(settings, draws), 1000, 4, ANY },
    { "evaluations", offsetof(settings, evaluations), 0, 0, ANY },
    { "replications", offsetof(settings, replications), 1, 1, MOST_REPLICATIONS },
    { "workers", offsetof(settings, workers), 0, 0, ANY },
    { "reference_proposals", offsetof(settings, reference_proposals), 500000, 8, ANY },
    { "reference_chains", offsetof(settings, reference_chains), 100, 1, ANY },
    { "reference_warmup", offsetof(settings, reference_warmup), 1000, 10, ANY },
};
enum { COUNTS = sizeof counts / sizeof *counts };

static const char *const others[] = { "rate",   "optimizer", "reference_acceptance",
                                      "online", "precision", "seed",
                                      NULL };

static const char *setting_name(size_t i, void *unused)
{
    (void)unused;
    return i < COUNTS ? counts[i].name : others[i - COUNTS];
}

static bool refuse(hs_message *m, const char *where, const char *name, const char *expected)
{
    hs_message_fail(m, HS_EINVAL, "%s: %s must be %s", where, name, expected);
    return false;
}

static bool read_count(size_t i, const json_t *value, settings *s, const char *where, hs_message *m)
{
    char expected[64];
    const json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < (json_int_t)counts[i].least ||
        n > (json_int_t)counts[i].most) {
        const bool above = n > (json_int_t)counts[i].most;
        snprintf(expected, sizeof expected, "a whole number of at %s %zu", above ? "most" : "least",
                 above ? counts[i].most : counts[i].least);
        return refuse(m, where, counts[i].name, expected);
    }
    memcpy((char *)s + counts[i].at, &(size_t){ (size_t)n }, sizeof(size_t));
    return true;
}

static bool read_other(const char *name, const json_t *value, settings *s, const char *where,
                       hs_message *m)
{
    const double number = json_number_value(value);
    const char *text = json_string_value(value);
    if (!strcmp(name, "rate")) {
        s->rate = number;
        return (number > 0 && isfinite(number)) || refuse(m, where, name, "a positive number");
    }
    if (!strcmp(name, "optimizer")) {
        hs_message why = { "it must be text: \"adam,beta1=0.8\"" };
        return (text && app_spec_optimizer(text, &s->optimizer, &why)) ||
               (hs_message_fail(m, HS_EINVAL, "%s: optimizer: %.400s", where, why.text), false);
    }
    if (!strcmp(name, "reference_acceptance")) {
        s->reference_acceptance = number;
        return (number > 0 && number < 1) || refuse(m, where, name, "between 0 and 1");
    }
    if (!strcmp(name, "online")) {
        s->online = json_is_true(value);
        return json_is_boolean(value) || refuse(m, where, name, "true or false");
    }
    if (!strcmp(name, "precision")) {
        s->float32 = text && !strcmp(text, "f32");
        return (text && (s->float32 || !strcmp(text, "f64"))) ||
               refuse(m, where, name, "\"f32\" or \"f64\"");
    }
    if (!strcmp(name, "seed")) {
        s->seed = (uint64_t)json_integer_value(value);
        return (json_is_integer(value) && json_integer_value(value) > 0) ||
               refuse(m, where, name, "a whole number of at least 1");
    }
    const char *near = app_nearest(name, setting_name, NULL);
    hs_message_fail(m, HS_EINVAL, "%s: there is no setting \"%s\"%s%s%s", where, name,
                    near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    return false;
}

bool app_settings_read(const json_t *json, settings *s, const char *where, hs_message *m)
{
    *s = (settings){ .reference_acceptance = 0.65, .float32 = true, .seed = 1 };
    for (size_t i = 0; i < COUNTS; i++)
        memcpy((char *)s + counts[i].at, &counts[i].standard, sizeof(size_t));
    for (void *at = json_object_iter((json_t *)(uintptr_t)json); at;
         at = json_object_iter_next((json_t *)(uintptr_t)json, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        size_t i = 0;
        while (i < COUNTS && strcmp(counts[i].name, name) != 0)
            i++;
        if (!(i < COUNTS ? read_count(i, value, s, where, m)
                         : read_other(name, value, s, where, m)))
            return false;
    }
    return true;
}
