/* Experiments by name or path. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_internal.h"
#include <hastings/experiments/json_file.h>
#include <hastings/experiments/spec.h>
#include <hastings/tensor/message.h>

static int is_experiment(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 5 && n < 64 && !strcmp(entry->d_name + n - 5, ".json");
}

bool app_experiment_name(size_t i, char name[64])
{
    char folder[4096];
    struct dirent **found = NULL;
    if (!app_find_file("experiments", "", folder))
        return false;
    const int n = scandir(folder, &found, is_experiment, alphasort);
    const bool there = n >= 0 && i < (size_t)n;
    if (there)
        snprintf(name, 64, "%.*s", (int)(strlen(found[i]->d_name) - 5), found[i]->d_name);
    for (int k = 0; k < n; k++)
        free(found[k]);
    free(found);
    return there;
}

const char *app_nth_word(size_t i, void *words)
{
    return ((const char *const *)words)[i];
}

static bool find_experiment(const char *name, char path[4096], hs_message *m)
{
    char file[128];
    const size_t n = strlen(name);
    if (strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".json"))) {
        snprintf(path, 4096, "%s", name);
        return true;
    }
    snprintf(file, sizeof file, "%s.json", name);
    if (app_find_file("experiments", file, path))
        return true;
    enum { MOST = 64 };
    char names[MOST][64];
    const char *words[MOST + 1] = { NULL };
    for (size_t i = 0; i < MOST && app_experiment_name(i, names[i]); i++)
        words[i] = names[i];
    const char *near = app_nearest(name, app_nth_word, words);
    hs_message_fail(m, HS_EINVAL, "there is no experiment \"%s\"%s%s%s; hastings list shows all",
                    name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    return false;
}

json_t *app_experiment_load(const char *name, hs_message *message)
{
    char path[4096];
    hs_message unwanted;
    hs_message *m = message ? message : &unwanted;
    if (!find_experiment(name, path, m))
        return NULL;
    json_t *e = app_json_read(path, m);
    if (e && !app_experiment_check(e, path, true, m)) {
        json_decref(e);
        return NULL;
    }
    return e;
}
