/* Interrupted runs: result.json, from which a run goes on. It stops before it trains. */
#include <sys/stat.h>

#include <hastings/experiments/json_file.h>
#include <hastings/experiments/run.h>
#include <hastings/tensor/api.h>

#include "fuzz.h"

/* Whether the experiment asks for little: trying its steps takes long otherwise. */
static bool is_affordable(const json_t *result)
{
    static const char *const parts[] = { "experiment", "settings" };
    bool all = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *text = json_dumps(json_object_get(result, parts[i]), JSON_ENCODE_ANY);
        all = all && text && fuzz_affordable(text);
        free(text);
    }
    return all;
}

static bool stop(const app_event *event, void *context)
{
    (void)event, (void)context;
    return false;
}

static bool resume(const char *folder)
{
    hs_message message;
    return app_experiment_run(
               NULL,
               &(app_run_options){ .out = folder, .resume = true, .threads = 1, .watch = stop },
               &message) == HS_OK ||
           fuzz_refused(message.text);
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    json_t *result = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    const bool used = json_is_object(result) && is_affordable(result);
    if (used) {
        const char *folder = fuzz_path("run");
        mkdir(folder, 0777);
        /* Seeds outlive the version that runs can be resumed by. */
        json_object_set_new(result, "hastings", json_string(hs_version()));
        fuzz_check(app_json_save(fuzz_path("run/result.json"), result, &message) == HS_OK);
        json_decref(result);
        const bool good = resume(folder);
        fuzz_check(!good || resume(folder));
        return good;
    }
    json_decref(result);
    return false;
}
