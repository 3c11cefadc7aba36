/* Checks of experiments. */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"
#include <hastings/experiments/figure.h>
#include "spec_internal.h"
#include <hastings/tensor/message.h>
#include <hastings/objectives/objectives.h>

/* ---- Which keys there may be ------------------------------------------------------------------ */

typedef struct {
    const char *name;
    json_type type; /* JSON_TRUE stands for both */
} key;

static const key of_experiment[] = { { "name", JSON_STRING },   { "title", JSON_STRING },
                                     { "paper", JSON_STRING },  { "about", JSON_STRING },
                                     { "columns", JSON_ARRAY }, { "layout", JSON_STRING },
                                     { "figures", JSON_ARRAY }, { "settings", JSON_OBJECT },
                                     { "quick", JSON_OBJECT },  { "cases", JSON_ARRAY },
                                     { "rows", JSON_ARRAY },    { "notes", JSON_ARRAY },
                                     { NULL, JSON_NULL } };
static const key of_case[] = { { "name", JSON_STRING },     { "target", JSON_STRING },
                               { "proposal", JSON_STRING }, { "settings", JSON_OBJECT },
                               { "compare", JSON_OBJECT },  { NULL, JSON_NULL } };
static const key of_row[] = { { "name", JSON_STRING },    { "objective", JSON_STRING },
                              { "sampler", JSON_STRING }, { "proposal", JSON_STRING },
                              { "cases", JSON_ARRAY },    { "settings", JSON_OBJECT },
                              { "paper", JSON_OBJECT },   { "proposals", JSON_OBJECT },
                              { NULL, JSON_NULL } };
static const key of_note[] = {
    { "row", JSON_STRING }, { "case", JSON_STRING }, { "text", JSON_STRING }, { NULL, JSON_NULL }
};

static const char *key_name(size_t i, void *keys)
{
    return (*(const key **)keys)[i].name;
}

static bool wrong(hs_message *m, const char *where, const char *what, const char *name)
{
    hs_message_fail(m, HS_EINVAL, "%s: %s \"%s\"", where, what, name);
    return false;
}

static const char *type_name(json_type type)
{
    static const char *const names[] = { "an object",      "an array", "text",
                                         "a whole number", "a number", "true or false",
                                         "true or false",  "null" };
    return names[type];
}

static bool check_keys(const json_t *object, const key *keys, const char *where, hs_message *m)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) {
        hs_message_fail(m, HS_EINVAL, "%s: an object was expected", where);
        return false;
    }
    /* Jansson's loop takes an object that may change. */
    json_t *all = json_incref((json_t *)(uintptr_t)object);
    bool ok = true;
    json_object_foreach(all, name, value)
    {
        const key *k = keys;
        while (k->name && strcmp(k->name, name) != 0)
            k++;
        if (!k->name) {
            const char *near = app_nearest(name, key_name, &keys);
            hs_message_fail(m, HS_EINVAL, "%s: there is no key \"%s\"%s%s%s", where, name,
                            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
            ok = false;
        } else if (json_typeof(value) != k->type) {
            hs_message_fail(m, HS_EINVAL, "%s: \"%s\" must be %s", where, name, type_name(k->type));
            ok = false;
        }
        if (!ok)
            break;
    }
    json_decref(all);
    return ok;
}

/* ---- What they say ---------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(text, *words))
            return true;
    return false;
}

const json_t *app_find_named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *its = json_string_value(json_object_get(item, "name"));
        if (its && name && !strcmp(its, name))
            return item;
    }
    return NULL;
}

/* True if the experiment has a case or row of that name. NULL stands for an incomplete experiment,
 * which has any name. */
static bool has_named(const json_t *experiment, const char *list, const char *name)
{
    return name && (!experiment || app_find_named(json_object_get(experiment, list), name));
}

/* The text of a target or proposal is readable; its files need not exist yet. */
static bool check_spec(const char *text, const char *what, spec_list *list, const char *where,
                       hs_message *m)
{
    hs_session *s = hs_session_new(NULL);
    spec p;
    const bool ok = app_spec_open(&p, s, what, list, text);
    if (!ok)
        hs_message_fail(m, HS_EINVAL, "%s: %s", where, hs_session_error(s));
    app_spec_close(&p);
    hs_session_free(s);
    return ok;
}

static bool check_names(const json_t *list, const char *what, const char *where, hs_message *m)
{
    if (!json_array_size(list)) {
        hs_message_fail(m, HS_EINVAL, "%s: \"%s\" must be a list with something in it", where,
                        what);
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name || !*name) {
            hs_message_fail(m, HS_EINVAL, "%s: entry %zu of \"%s\" has no name", where, i + 1,
                            what);
            return false;
        }
        if (app_find_named(list, name) != item)
            return wrong(m, where, "two entries have the name", name);
    }
    return true;
}

/* Whether figures have a column of that name. */
static bool check_column(const char *name, const char *where, hs_message *m)
{
    char all[384] = "";
    if (app_figure_find(name) != APP_FIGURES)
        return true;
    for (size_t i = 0, n = 0; app_column_at(i) && n < sizeof all; i++, n = strlen(all))
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", app_column_at(i)->key);
    hs_message_fail(m, HS_EINVAL, "%s: there is no column \"%s\"; there are: %s", where,
                    name ? name : "(no text)", all);
    return false;
}

/* Rows by which the figures of a case are divided. */
static bool check_compare(const json_t *c, const json_t *experiment, const char *where,
                          hs_message *m)
{
    const char *column;
    json_t *row;
    json_object_foreach(json_object_get(c, "compare"), column, row)
    {
        const char *name = json_string_value(row);
        if (!check_column(column, where, m))
            return false;
        if (!has_named(experiment, "rows", name))
            return wrong(m, where, "it is compared with a row that is not there,",
                         name ? name : "");
    }
    return true;
}

static bool check_case(const json_t *c, const json_t *experiment, const char *where, hs_message *m)
{
    const char *target = json_string_value(json_object_get(c, "target"));
    const char *proposal = json_string_value(json_object_get(c, "proposal"));
    settings read;
    if (!check_keys(c, of_case, where, m))
        return false;
    if (!target) {
        hs_message_fail(m, HS_EINVAL, "%s: it has no target", where);
        return false;
    }
    if (!check_spec(target, "target", app_spec_targets, where, m) ||
        (proposal && !app_is_fit_text(proposal) &&
         !check_spec(proposal, "proposal", app_spec_proposals, where, m)) ||
        !app_settings_read(json_object_get(c, "settings"), &read, where, m))
        return false;
    return check_compare(c, experiment, where, m);
}

static bool check_paper(const json_t *row, const json_t *experiment, const char *where,
                        hs_message *m)
{
    const char *name, *column;
    json_t *figures, *figure;
    json_object_foreach(json_object_get(row, "paper"), name, figures)
    {
        if (!has_named(experiment, "cases", name))
            return wrong(m, where, "the paper's figures are of a case that is not there,", name);
        if (!json_is_object(figures))
            return wrong(m, where, "the paper's figures must be an object, for case", name);
        json_object_foreach(figures, column, figure)
        {
            const char *text = json_string_value(figure);
            if (!check_column(column, where, m))
                return false;
            if (!text || app_figure_parse(text, NULL, NULL) == APP_FIGURE_WRONG)
                return wrong(m, where, "this is not a figure:", text ? text : column);
        }
    }
    return true;
}

/* A row's proposals for single cases. */
static bool check_proposals(const json_t *row, const json_t *experiment, const char *where,
                            hs_message *m)
{
    const char *name;
    json_t *proposal;
    json_object_foreach(json_object_get(row, "proposals"), name, proposal)
    {
        if (!has_named(experiment, "cases", name))
            return wrong(m, where, "there is a proposal for a case that is not there,", name);
        if (!json_is_string(proposal))
            return wrong(m, where, "the proposal must be text, for case", name);
        if (!check_spec(json_string_value(proposal), "proposal", app_spec_proposals, where, m))
            return false;
    }
    return true;
}

static bool check_row(const json_t *row, const json_t *experiment, const char *where, hs_message *m)
{
    const char *objective = json_string_value(json_object_get(row, "objective"));
    const char *sampler = json_string_value(json_object_get(row, "sampler"));
    const char *proposal = json_string_value(json_object_get(row, "proposal"));
    char error[256];
    hs_objective parsed;
    settings read;
    if (!check_keys(row, of_row, where, m))
        return false;
    if (!objective == !sampler) {
        hs_message_fail(m, HS_EINVAL, "%s: it must have an objective or a sampler, and not both",
                        where);
        return false;
    }
    if (objective && hs_objective_parse(objective, &parsed, error, sizeof error))
        return hs_message_fail(m, HS_EINVAL, "%s: %s", where, error), false;
    if (sampler && !app_is_sampler(sampler))
        return wrong(m, where,
                     "the sampler must be iid, hmc, fit, accept:RATE or curve:msjd, and is",
                     sampler);
    if ((proposal && !check_spec(proposal, "proposal", app_spec_proposals, where, m)) ||
        !app_settings_read(json_object_get(row, "settings"), &read, where, m))
        return false;
    const json_t *cases = json_object_get(row, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *name = json_string_value(json_array_get(cases, i));
        if (!has_named(experiment, "cases", name))
            return wrong(m, where, "there is no case", name ? name : "");
    }
    return check_proposals(row, experiment, where, m) && check_paper(row, experiment, where, m);
}

static bool check_list(const json_t *experiment, const char *list, const char *const *words,
                       const char *where, hs_message *m)
{
    const json_t *items = json_object_get(experiment, list);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *text = json_string_value(json_array_get(items, i));
        if (!text || !is_one_of(text, words)) {
            hs_message_fail(m, HS_EINVAL, "%s: \"%s\" cannot be in \"%s\"", where,
                            text ? text : "(no text)", list);
            return false;
        }
    }
    return true;
}

/* Settings, and names of cases. */
static bool check_quick(const json_t *e, const json_t *whole, const char *path, hs_message *m)
{
    settings read;
    char where[512];
    const json_t *cases = json_object_get(json_object_get(e, "quick"), "cases");
    snprintf(where, sizeof where, "%.300s, quick", path);
    if (cases && !json_array_size(cases))
        return wrong(m, where, "there must be a list with something in it for", "cases");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const char *name = json_string_value(json_array_get(cases, i));
        if (!has_named(whole, "cases", name))
            return wrong(m, where, "there is no case", name ? name : "");
    }
    json_t *quick = json_deep_copy(json_object_get(e, "quick"));
    json_object_del(quick, "cases");
    const bool sound = app_settings_read(quick, &read, where, m);
    json_decref(quick);
    return sound;
}

/* Results are put into folders of that name. */
static bool check_name(const json_t *e, const char *path, hs_message *m)
{
    const char *name = json_string_value(json_object_get(e, "name"));
    if (!name || !*name)
        return wrong(m, path, "there is no", "name");
    if (*name == '.' || strchr(name, '/'))
        return wrong(m, path, "the name must not begin with a point nor have a slash in it:", name);
    return true;
}

bool app_experiment_check(const json_t *e, const char *path, bool is_whole, hs_message *m)
{
    const json_t *whole = is_whole ? e : NULL;
    static const char *const layouts[] = { "cases", "rows", NULL };
    static const char *const figures[] = { "density", "weights", NULL };
    const json_t *cases = json_object_get(e, "cases"), *rows = json_object_get(e, "rows");
    const char *layout = json_string_value(json_object_get(e, "layout"));
    settings read;
    char where[512];
    if (!check_keys(e, of_experiment, path, m) || !check_names(cases, "cases", path, m) ||
        !check_names(rows, "rows", path, m) || !check_list(e, "figures", figures, path, m))
        return false;
    const json_t *columns = json_object_get(e, "columns");
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (!check_column(json_string_value(json_array_get(columns, i)), path, m))
            return false;
    if (!check_name(e, path, m))
        return false;
    if (layout && !is_one_of(layout, layouts))
        return wrong(m, path, "the layout must be cases or rows, and is", layout);
    snprintf(where, sizeof where, "%.300s, settings", path);
    if (!app_settings_read(json_object_get(e, "settings"), &read, where, m))
        return false;
    if (!check_quick(e, whole, path, m))
        return false;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        snprintf(where, sizeof where, "%.300s, case \"%s\"", path,
                 json_string_value(json_object_get(c, "name")));
        if (!check_case(c, whole, where, m))
            return false;
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        snprintf(where, sizeof where, "%.300s, row \"%s\"", path,
                 json_string_value(json_object_get(row, "name")));
        if (!check_row(row, whole, where, m))
            return false;
    }
    const json_t *notes = json_object_get(e, "notes");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *row = json_string_value(json_object_get(note, "row"));
        const char *c = json_string_value(json_object_get(note, "case"));
        snprintf(where, sizeof where, "%.300s, note %zu", path, i + 1);
        if (!check_keys(note, of_note, where, m))
            return false;
        if (row && !has_named(whole, "rows", row))
            return wrong(m, where, "there is no row", row);
        if (c && !has_named(whole, "cases", c))
            return wrong(m, where, "there is no case", c);
    }
    return true;
}
