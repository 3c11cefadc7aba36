#include <hastings/cli/commands/diagnosis.h>
#include <hastings/cli/terminal/interrupt.h>
#include <hastings/experiments/record.h>

json_t *app_diagnosis_json(const hs_report *r, const char *const *names)
{
    app_record *record = app_record_new();
    if (!record)
        return NULL;
    app_record_diagnosis(record, r);
    json_t *all = record->no_memory ? NULL : app_record_json(record);
    json_t *coordinates = json_object_get(all, "coordinates");
    app_record_free(record);
    for (size_t i = 0; i < json_array_size(coordinates) && names; i++)
        json_object_set_new(json_array_get(coordinates, i), "name", app_json_text(names[i]));
    json_t *json =
        !all ? NULL
             : json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:O, s:O, s:O}", "chains",
                         (json_int_t)r->chains, "draws", (json_int_t)r->draws, "dim",
                         (json_int_t)r->dim, "proposals", (json_int_t)r->proposals, "gradients",
                         (json_int_t)r->gradients, "seconds", app_json_number(r->seconds),
                         "figures", json_object_get(all, "figures"), "warnings",
                         json_object_get(all, "warnings"), "coordinates", coordinates);
    json_decref(all);
    return json;
}

int app_print_diagnosis(const app_call *call, const hs_chains *chains, const char *const *names,
                        size_t skip, json_t *more)
{
    hs_report report;
    hs_message message;
    const hs_status status = hs_diagnose(
        chains,
        &(hs_diagnose_options){
            .skip = skip, .threads = call->threads, .interrupted = app_interrupt_is_due },
        &report, &message);
    int code = APP_EXIT_OK;
    if (status == HS_EINTERRUPTED) {
        code = APP_EXIT_INTERRUPTED;
    } else if (status) {
        code = app_call_fail(call, status, "%s", message.text);
    } else {
        if (call->json) {
            json_t *json = app_diagnosis_json(&report, names);
            if (json && more)
                json_object_update(json, more);
            code = app_call_print_json(call, json);
        } else {
            hs_report_print(stdout, &report); /* app_cli() looks whether stdout took it */
        }
        hs_report_free(&report);
    }
    json_decref(more);
    return code;
}
