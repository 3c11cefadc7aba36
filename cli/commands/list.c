#include <stdlib.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/experiments/run.h>
#include <hastings/experiments/spec.h>
#include <hastings/objectives/objectives.h>

enum { INDENT = 22 };

static const char *app_text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static void print_entry(const char *name, const char *text)
{
    const int n = printf("  %s", name);
    if (*text)
        printf(n < INDENT - 1 ? "%*s" : "\n%*s", n < INDENT - 1 ? INDENT - n : INDENT, "");
    app_print_wrapped(stdout, text, INDENT, INDENT);
}

static void print_experiments(void)
{
    char name[64];
    for (size_t i = 0; app_experiment_name(i, name); i++) {
        hs_message message;
        json_t *experiment = app_experiment_load(name, &message);
        print_entry(name, experiment ? app_text_of(experiment, "title") : message.text);
        json_decref(experiment);
    }
}

static json_t *experiments_json(void)
{
    json_t *list = json_array();
    char name[64];
    for (size_t i = 0; app_experiment_name(i, name); i++) {
        json_t *experiment = app_experiment_load(name, NULL);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", name, "title",
                                              app_text_of(experiment, "title"), "paper",
                                              app_text_of(experiment, "paper"), "about",
                                              app_text_of(experiment, "about")));
        json_decref(experiment);
    }
    return list;
}

typedef const app_spec_entry *entry_list(size_t i);

static void print_specs(entry_list *list)
{
    for (size_t i = 0; list(i); i++) {
        const app_spec_entry *e = list(i);
        print_entry(e->kind, e->doc);
        for (size_t k = 0; k < APP_SPEC_OPTIONS && e->options[k].name; k++) {
            const app_spec_option *o = &e->options[k];
            char name[64], text[512];
            snprintf(name, sizeof name, "  %s=%s", o->name, o->standard ? o->standard : "...");
            snprintf(text, sizeof text, "%s", o->doc);
            print_entry(name, text);
        }
    }
}

static json_t *specs_json(entry_list *list)
{
    json_t *all = json_array();
    static const char *const types[] = { [APP_SPEC_COUNT] = "count",
                                         [APP_SPEC_SIZE] = "size",
                                         [APP_SPEC_NUMBER] = "number",
                                         [APP_SPEC_FLAG] = "flag",
                                         [APP_SPEC_TEXT] = "text" };
    for (size_t i = 0; list(i); i++) {
        const app_spec_entry *e = list(i);
        json_t *options = json_array();
        for (size_t k = 0; k < APP_SPEC_OPTIONS && e->options[k].name; k++) {
            const app_spec_option *o = &e->options[k];
            json_array_append_new(options, json_pack("{s:s, s:s, s:s?, s:s}", "name", o->name,
                                                     "type", types[o->type], "default", o->standard,
                                                     "about", o->doc));
        }
        json_array_append_new(all, json_pack("{s:s, s:s, s:o}", "kind", e->kind, "about", e->doc,
                                             "options", options));
    }
    return all;
}

static void print_objectives(void)
{
    for (size_t i = 0; hs_objective_list(i); i++) {
        const hs_objective_entry *e = hs_objective_list(i);
        char name[128];
        snprintf(name, sizeof name, "%s%s%s", e->name, *e->numbers ? ":" : "", e->numbers);
        print_entry(name, e->doc);
    }
}

static json_t *objectives_json(void)
{
    json_t *all = json_array();
    for (size_t i = 0; hs_objective_list(i); i++) {
        const hs_objective_entry *e = hs_objective_list(i);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", e->name, "numbers",
                                             e->numbers, "about", e->doc));
    }
    return all;
}

static int run_json(const app_call *call, const char *only)
{
    json_t *all = json_object();
    if (!*only || !strcmp(only, "experiments"))
        json_object_set_new(all, "experiments", experiments_json());
    if (!*only || !strcmp(only, "targets"))
        json_object_set_new(all, "targets", specs_json(app_spec_targets));
    if (!*only || !strcmp(only, "proposals"))
        json_object_set_new(all, "proposals", specs_json(app_spec_proposals));
    if (!*only || !strcmp(only, "objectives"))
        json_object_set_new(all, "objectives", objectives_json());
    return app_call_print_json(call, all);
}

static const char what[] = "experiments|targets|proposals|objectives";

static const char *what_name(size_t i, void *context)
{
    (void)context;
    static const char *const names[] = { "experiments", "targets", "proposals", "objectives" };
    return i < 4 ? names[i] : NULL;
}

static int list(const app_call *call)
{
    const char *only = call->arguments->words ? call->arguments->word[0] : "";
    size_t known = !*only;
    for (size_t i = 0; what_name(i, NULL); i++)
        known += !strcmp(only, what_name(i, NULL));
    if (!known) {
        char hint[APP_HINT_TEXT];
        return app_call_fail(call, HS_EINVAL, "there are no \"%.60s\" to list%s", only,
                             app_hint(only, what_name, NULL, "", "", hint));
    }
    if (call->json)
        return run_json(call, only);
    if (!*only || !strcmp(only, "experiments")) {
        printf("Experiments, for hastings run:\n");
        print_experiments();
    }
    if (!*only || !strcmp(only, "targets")) {
        printf("%sTargets, with options and defaults; write gaussian,dim=100,sd=2:\n",
               *only ? "" : "\n");
        print_specs(app_spec_targets);
    }
    if (!*only || !strcmp(only, "proposals")) {
        printf("%sProposals, with options and defaults; write mala,step=0.1,scaled:\n",
               *only ? "" : "\n");
        print_specs(app_spec_proposals);
    }
    if (!*only || !strcmp(only, "objectives")) {
        printf("%sObjectives, with optional numbers; write ab-initio:0.2151 or gsm-60:\n",
               *only ? "" : "\n");
        print_objectives();
    }
    return APP_EXIT_OK;
}

const app_command app_command_list = {
    .name = "list",
    .words = "[experiments|targets|proposals|objectives]",
    .summary = "show experiments, targets, proposals and objectives",
    .about = "Lists the program's experiments, and the kinds of targets, proposals and objectives "
             "with their options and defaults: all four groups, or one.",
    .examples = "hastings list\nhastings list proposals\nhastings list objectives --json",
    .most = 1,
    .complete = what,
    .run = list,
};
