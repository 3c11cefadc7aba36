/* Trained proposals as JSON files. Their parameters have a harness of their own: fuzz_params.c. */
#include <hastings/experiments/proposal_file.h>
#include <hastings/experiments/spec.h>

#include "fuzz.h"

/* Makes the proposal, and saves it if it can be made. */
static bool load(const app_proposal_file *file)
{
    hs_message message;
    hs_session *s = hs_session_new(
        &(hs_session_options){ .seed = file->seed, .float32 = file->float32, .threads = 1 });
    hs_target *target = app_spec_target(s, "cross");
    const hs_proposal *p = app_proposal_file_load(s, file, target);
    if (!p)
        fuzz_refused(hs_session_error(s));
    else
        fuzz_check(app_proposal_file_save(fuzz_path("again.json"), p, file, &message) == HS_OK);
    const bool good = p != NULL;
    hs_session_free(s);
    return good;
}

/* What was saved reads as it was. */
static void read_again(const app_proposal_file *file)
{
    hs_message message;
    app_proposal_file *again;
    fuzz_check(app_proposal_file_read(&again, fuzz_path("again.json"), &message) == HS_OK);
    fuzz_check(again->seed == file->seed && again->replica == file->replica);
    fuzz_check(again->float32 == file->float32 && again->dim == file->dim);
    app_proposal_file_free(again);
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    app_proposal_file *file;
    if (app_proposal_file_read(&file, fuzz_write("proposal.json", data, size), &message)) {
        fuzz_check(!file);
        return fuzz_refused(message.text);
    }
    if (fuzz_affordable(file->proposal) && load(file))
        read_again(file);
    app_proposal_file_free(file);
    return true;
}
