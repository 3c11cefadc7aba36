/* Optimisers from text, by the rows of nn/optimizers.def. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "spec_internal.h"

#define HS_NUMBER(name, allowed, range, doc) static const char name##_doc[] = doc;
#include <hastings/nn/optimizers.def>

/* clang-format off */
#define HS_TAKES(name, standard) { #name, APP_SPEC_NUMBER, #standard, name##_doc }
static const app_spec_entry kinds[] = {
#define HS_OPTIMIZER(name, rule, least, most, rate, doc, ...)                                      \
    { #name, doc, { { "rate", APP_SPEC_NUMBER, "0", "learning rate; 0: the optimiser's own" },     \
                    { "clip_norm", APP_SPEC_NUMBER, "0", "longest gradient; 0: any" },             \
                    __VA_ARGS__ } },
#include <hastings/nn/optimizers.def>
};

static const struct {
    const char *name;
    size_t at;
} fields[] = {
    { "rate", offsetof(hs_optimizer_options, rate) },
    { "clip_norm", offsetof(hs_optimizer_options, clip_norm) },
#define HS_NUMBER(name, ...) { #name, offsetof(hs_optimizer_options, name) },
#include <hastings/nn/optimizers.def>
};
/* clang-format on */

const app_spec_entry *app_spec_optimizers(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

static bool read_optimizer(hs_session *s, const char *text, hs_optimizer_options *read)
{
    spec p;
    const bool ok = app_spec_open(&p, s, "optimiser", app_spec_optimizers, text);
    *read = (hs_optimizer_options){ .name = ok ? p.entry->kind : NULL };
    for (const app_spec_option *o = p.entry ? p.entry->options : NULL; ok && o->name; o++)
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (!strcmp(fields[i].name, o->name))
                *(double *)(void *)((char *)read + fields[i].at) = app_spec_number(&p, o->name);
    app_spec_close(&p);
    return ok;
}

bool app_spec_optimizer(const char *text, hs_optimizer_options *optimizer, hs_message *message)
{
    char name[32];
    hs_optimizer_options read;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ","), text);
    if (hs_optimizer_check(&(hs_optimizer_options){ .name = name }, NULL, message) != HS_OK)
        return false; /* the message has all names */
    hs_session *s = hs_session_new(NULL);
    bool ok = read_optimizer(s, text, &read);
    if (!ok)
        hs_message_fail(message, HS_EINVAL, "%s", hs_session_error(s));
    hs_session_free(s);
    ok = ok && hs_optimizer_check(&read, NULL, message) == HS_OK;
    if (ok)
        *optimizer = read;
    return ok;
}
