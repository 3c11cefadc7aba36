/* Experiments as JSON files. */
#include <hastings/experiments/json_file.h>
#include <hastings/experiments/run.h>

#include "fuzz.h"

/* An experiment that was saved reads as it is, but for digits beyond those that files have. */
static json_t *save_and_load(const json_t *experiment, const char *name)
{
    hs_message message;
    const char *path = fuzz_path(name);
    fuzz_check(app_json_save(path, experiment, &message) == HS_OK);
    json_t *again = app_experiment_load(path, &message);
    fuzz_check(again);
    return again;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    json_t *experiment = app_experiment_load(fuzz_write("experiment.json", data, size), &message);
    if (!experiment)
        return fuzz_refused(message.text);
    json_t *again = save_and_load(experiment, "again.json");
    json_t *third = save_and_load(again, "third.json");
    fuzz_check(json_equal(again, third));
    for (size_t i = 0; i < json_array_size(json_object_get(again, "cases")); i++)
        for (size_t k = 0; k < json_array_size(json_object_get(again, "rows")); k++) {
            json_t *settings =
                app_settings_merge(again, json_array_get(json_object_get(again, "cases"), i),
                                   json_array_get(json_object_get(again, "rows"), k), i % 2, NULL);
            fuzz_check(json_is_object(settings));
            json_decref(settings);
        }
    json_decref(third);
    json_decref(again);
    json_decref(experiment);
    return true;
}
