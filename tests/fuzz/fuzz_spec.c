/* Texts that name targets, proposals, objectives and optimisers. The first line of the input is the target, for which
 * the second is the proposal; the third is an objective, the fourth an optimiser. */
#include <string.h>

#include <hastings/experiments/spec.h>
#include <hastings/objectives/objectives.h>
#include <hastings/tensor/memory.h>

#include "fuzz.h"

/* Takes a line from a text. */
static char *next_line(char **text)
{
    char *line = *text, *end = line + strcspn(line, "\n");
    *text = *end ? end + 1 : end;
    *end = '\0';
    return line;
}

static bool make(const char *target_text, const char *proposal_text)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .threads = 1 });
    const hs_target *target = app_spec_target(s, target_text);
    const hs_proposal *proposal =
        target ? app_spec_proposal(s, target, proposal_text, 0, NULL, 0) : NULL;
    const bool good = proposal != NULL;
    fuzz_check(good == (hs_session_status(s) == HS_OK));
    if (!good)
        fuzz_refused(hs_session_error(s));
    hs_session_free(s);
    return good;
}

/* An objective as text reads as the objective. */
static bool parse_objective(const char *text)
{
    hs_objective o, again;
    char error[256] = "", shown[HS_OBJECTIVE_TEXT], second[HS_OBJECTIVE_TEXT];
    if (hs_objective_parse(text, &o, error, sizeof error) != HS_OK)
        return fuzz_refused(error);
    hs_objective_text(&o, shown);
    fuzz_check(hs_objective_parse(shown, &again, error, sizeof error) == HS_OK);
    fuzz_check(strcmp(hs_objective_text(&again, second), shown) == 0);
    return true;
}

static bool parse_optimizer(const char *text)
{
    hs_optimizer_options o, checked;
    hs_message message = { "" };
    if (!app_spec_optimizer(text, &o, &message))
        return fuzz_refused(message.text);
    fuzz_check(hs_optimizer_check(&o, &checked, &message) == HS_OK || message.text[0]);
    return true;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text;
    const char *target = next_line(&rest), *proposal = next_line(&rest);
    const char *objective = next_line(&rest), *optimizer = next_line(&rest);
    bool good = parse_objective(objective);
    good = parse_optimizer(optimizer) && good;
    if (fuzz_affordable(target) && fuzz_affordable(proposal))
        good = make(target, proposal) && good;
    hs_free(text);
    return good;
}
