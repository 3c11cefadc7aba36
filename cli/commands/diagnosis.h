/** The findings of hs_diagnose(), as text and as JSON, for commands. */
#ifndef HASTINGS_CLI_COMMANDS_DIAGNOSIS_H
#define HASTINGS_CLI_COMMANDS_DIAGNOSIS_H

#include <jansson.h>

#include <hastings/cli/commands/command.h>
#include <hastings/mcmc/diagnostics/diagnose.h>

/** An object with the figures, warnings and coordinates of a report, under the keys of result.json; names
 *  [dim] of the coordinates may be NULL. NULL without memory. */
json_t *app_diagnosis_json(const hs_report *report, const char *const *names);

/** Judges chains and prints what is found, as text or JSON (with `more`, an object that is taken over, or
 *  NULL). Returns the exit code. */
int app_print_diagnosis(const app_call *call, const hs_chains *chains, const char *const *names,
                        size_t skip, json_t *more);

#endif
