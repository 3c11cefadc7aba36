#include <string.h>

#include <hastings/cli/commands/diagnosis.h>

static json_t *warnings_json(const hs_report *r)
{
    static const struct {
        hs_warning warning;
        const char *name;
    } all[] = {
#define NAMED(warning, bit, text) { warning, #warning },
        HS_WARNING_LIST(NAMED)
#undef NAMED
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hs_message sentence;
        if (!hs_report_warning(r, all[i].warning, &sentence))
            continue;
        char name[32];
        snprintf(name, sizeof name, "%s", all[i].name + strlen("HS_WARN_"));
        for (char *c = name; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "text", sentence.text));
    }
    return list;
}

static json_t *coordinate_json(const hs_series_summary *c, const char *name)
{
    return json_pack(
        "{s:s*, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", name, "mean",
        app_json_number(c->mean), "sd", app_json_number(c->sd), "ess_raw",
        app_json_number(c->ess[HS_ESS_RAW]), "ess_x2", app_json_number(c->ess[HS_ESS_SQUARE_RAW]),
        "ess_bulk", app_json_number(c->ess[HS_ESS_BULK]), "ess_tail",
        app_json_number(c->ess[HS_ESS_TAIL]), "ess_sd", app_json_number(c->ess[HS_ESS_SD]), "rhat",
        app_json_number(c->rhat), "mcse", app_json_number(c->mcse_mean));
}

json_t *app_diagnosis_json(const hs_report *r, const char *const *names)
{
    json_t *coordinates = json_array();
    for (size_t i = 0; i < r->dim; i++)
        json_array_append_new(coordinates,
                              coordinate_json(&r->coordinate[i], names ? names[i] : NULL));
    json_t *figures = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "acceptance", app_json_number(r->acceptance), "msjd",
        app_json_number(r->msjd), "realised_jump", app_json_number(r->realised_jump),
        "ess_per_proposal", app_json_number(r->ess_per_proposal), "ess_bulk",
        app_json_number(r->ess[HS_ESS_BULK].min), "ess_tail",
        app_json_number(r->ess[HS_ESS_TAIL].min), "rhat", app_json_number(r->rhat));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "chains",
                     (json_int_t)r->chains, "draws", (json_int_t)r->draws, "dim",
                     (json_int_t)r->dim, "proposals", (json_int_t)r->proposals, "gradients",
                     (json_int_t)r->gradients, "seconds", app_json_number(r->seconds), "figures",
                     figures, "warnings", warnings_json(r), "coordinates", coordinates);
}

int app_print_diagnosis(const app_call *call, const hs_chains *chains, const char *const *names,
                        size_t skip, json_t *more)
{
    hs_report report;
    hs_message message;
    const hs_status status =
        hs_diagnose(chains, &(hs_diagnose_options){ .skip = skip, .threads = call->threads },
                    &report, &message);
    int code = APP_EXIT_OK;
    if (status) {
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
