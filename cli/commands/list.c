#include <stdlib.h>
#include <string.h>

#include <hastings/cli/commands/command.h>
#include <hastings/experiments/figure.h>
#include <hastings/experiments/run.h>
#include <hastings/experiments/spec.h>
#include <hastings/mcmc/diagnostics/figures.h>
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

/* "gsm:acceptance[,b[,rho]]": numbers after the first may be left out from the end. */
static const char *objective_form(const hs_objective_entry *e, char form[128])
{
    size_t used = (size_t)snprintf(form, 128, "%s", e->name), i = 0;
    for (; e->number[i].name && used < 128; i++)
        used += (size_t)snprintf(form + used, 128 - used, i ? "[,%s" : ":%s", e->number[i].name);
    for (; i > 1 && used < 128; i--)
        used += (size_t)snprintf(form + used, 128 - used, "]");
    return form;
}

static void print_objectives(void)
{
    for (size_t i = 0; hs_objective_list(i); i++) {
        const hs_objective_entry *e = hs_objective_list(i);
        char text[512], form[128];
        size_t used = (size_t)snprintf(text, sizeof text, "%s", e->doc);
        const char *before = "; ";
        for (const hs_objective_number *n = e->number; n->name && used < sizeof text; n++)
            if (n->fallback) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s = %s", before,
                                         n->name, n->fallback);
                before = ", ";
            }
        if (e->percentage && used < sizeof text)
            snprintf(text + used, sizeof text - used, "; %s-60 is %s:0.6", e->name, e->name);
        print_entry(objective_form(e, form), text);
        print_entry("", e->formula);
    }
}

static json_t *objectives_json(void)
{
    json_t *all = json_array();
    for (size_t i = 0; hs_objective_list(i); i++) {
        const hs_objective_entry *e = hs_objective_list(i);
        json_t *numbers = json_array();
        for (const hs_objective_number *n = e->number; n->name; n++)
            json_array_append_new(numbers,
                                  json_pack("{s:s, s:s, s:s?, s:s}", "name", n->name, "about",
                                            n->meaning, "default", n->fallback, "range", n->range));
        json_array_append_new(all, json_pack("{s:s, s:o, s:s, s:s}", "name", e->name, "numbers",
                                             numbers, "formula", e->formula, "about", e->doc));
    }
    return all;
}

static void print_figures(void)
{
    for (size_t i = 0; app_column_at(i); i++)
        print_entry(app_column_at(i)->key, app_column_at(i)->about);
    printf("and of each coordinate, in result.json and hastings diagnose --json:\n");
    for (size_t i = 0; hs_coordinate_figure_at(i); i++)
        print_entry(hs_coordinate_figure_at(i)->key, hs_coordinate_figure_at(i)->about);
}

static json_t *figures_json(void)
{
    json_t *all = json_array();
    for (size_t i = 0; app_column_at(i); i++) {
        const app_column *c = app_column_at(i);
        json_array_append_new(all, json_pack("{s:s, s:s, s:b, s:s}", "key", c->key, "title",
                                             c->title, "judged", c->judged, "about", c->about));
    }
    return all;
}

static void print_targets(void)
{
    print_specs(app_spec_targets);
}

static void print_proposals(void)
{
    print_specs(app_spec_proposals);
}

static void print_optimizers(void)
{
    print_specs(app_spec_optimizers);
}

static json_t *targets_json(void)
{
    return specs_json(app_spec_targets);
}

static json_t *proposals_json(void)
{
    return specs_json(app_spec_proposals);
}

static json_t *optimizers_json(void)
{
    return specs_json(app_spec_optimizers);
}

static const struct {
    const char *name, *title;
    void (*print)(void);
    json_t *(*json)(void);
} lists[] = {
    { "experiments", "Experiments, for hastings run:", print_experiments, experiments_json },
    { "targets", "Targets, with options and defaults; write gaussian,dim=100,sd=2:", print_targets,
      targets_json },
    { "proposals", "Proposals, with options and defaults; write mala,step=0.1,scaled:",
      print_proposals, proposals_json },
    { "objectives", "Objectives, with optional numbers; write ab-initio:0.2151 or gsm-60:",
      print_objectives, objectives_json },
    { "optimizers", "Optimisers, with options and defaults; write sgd,momentum=0.9:",
      print_optimizers, optimizers_json },
    { "figures", "Figures, for the columns of an experiment:", print_figures, figures_json },
};
enum { LISTS = sizeof lists / sizeof *lists };

static const char *list_name(size_t i, void *context)
{
    (void)context;
    return i < LISTS ? lists[i].name : NULL;
}

static int list(const app_call *call)
{
    const char *only = call->arguments->words ? call->arguments->word[0] : "";
    json_t *all = call->json ? json_object() : NULL;
    size_t shown = 0;
    for (size_t i = 0; i < LISTS; i++) {
        if (*only && strcmp(only, lists[i].name) != 0)
            continue;
        if (call->json) {
            json_object_set_new(all, lists[i].name, lists[i].json());
        } else {
            printf("%s%s\n", shown ? "\n" : "", lists[i].title);
            lists[i].print();
        }
        shown++;
    }
    if (shown)
        return call->json ? app_call_print_json(call, all) : APP_EXIT_OK;
    json_decref(all);
    char hint[APP_HINT_TEXT];
    return app_call_fail(call, HS_EINVAL, "there are no \"%.60s\" to list%s", only,
                         app_hint(only, list_name, NULL, "", "", hint));
}

const app_command app_command_list = {
    .name = "list",
    .words = "[WHAT]",
    .summary = "show experiments, targets, proposals, objectives and more",
    .about = "Lists the program's experiments, the kinds of targets, proposals, objectives and "
             "optimisers with their options and defaults, and the figures of results: all groups, "
             "or one. WHAT is experiments, targets, proposals, objectives, optimizers or figures.",
    .examples = "hastings list\nhastings list proposals\nhastings list objectives --json",
    .most = 1,
    .complete = "experiments|targets|proposals|objectives|optimizers|figures",
    .run = list,
};
