/**
 * Trained proposals as files: NAME.json says what it is, NAME.hsp beside it has its parameters.
 *
 *     app_proposal_file made = { .target = "cross", .proposal = "multi-scheme,couplings=8",
 *                               .objective = "ab-initio:0.18125", .seed = 1, .float32 = true };
 *     if (app_proposal_file_save("best.json", proposal, &made, &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     ...
 *     app_proposal_file *file;
 *     if (app_proposal_file_read(&file, "best.json", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     hs_session *s = hs_session_new(&(hs_session_options){ .seed = file->seed,
 *                                                           .float32 = file->float32 });
 *     hs_target *target = app_spec_target(s, file->target);      // or another of that dimension
 *     hs_proposal *proposal = app_proposal_file_load(s, file, target);
 *     app_proposal_file_free(file);                              // the proposal stays
 *
 * The format is that of docs/formats.md.
 */
#ifndef HASTINGS_EXPERIMENTS_PROPOSAL_FILE_H
#define HASTINGS_EXPERIMENTS_PROPOSAL_FILE_H

#include <jansson.h>

#include <hastings/mcmc/proposal.h>
#include <hastings/nn/file.h>

typedef struct {
    const char *target, *proposal; /**< as app_spec_target() and app_spec_proposal() read them */
    const char *objective;         /**< objective of the training; NULL: none */
    uint64_t seed, replica;        /**< of the session, and as given to app_spec_proposal() */
    bool float32;
    json_t *training; /**< NULL, or an object that is kept as it is: steps, loss ... */

    /** The draws of the target [n_points][dim] that app_spec_proposal() was given; NULL: none. The file
     *  keeps mean and sd of each coordinate: after reading, these are two points that have them. */
    const double *points;
    size_t n_points, dim;

    char *path; /**< of a file that was read, which owns these three */
    json_t *json;
    double *numbers;
} app_proposal_file;

/** Saves the parameters as NAME.hsp, then `path`, which ends in .json and may be NAME.json only.
 *  HS_EINVAL for another name, or a text that is missing or not UTF-8; HS_EIO if a file cannot be written. */
hs_status app_proposal_file_save(const char *path, const hs_proposal *proposal,
                                 const app_proposal_file *file, hs_message *message) HS_MUST_CHECK;

/** Reads the description of a proposal. HS_EIO, HS_EFORMAT (also for another version), HS_ENOMEM;
 *  `*file` is NULL then. */
hs_status app_proposal_file_read(app_proposal_file **file, const char *path,
                                 hs_message *message) HS_MUST_CHECK;

/** Makes the proposal, for a target of the right dimension, and reads its parameters. The session must
 *  have the file's number type. NULL, and the session fails, if there is no such file, or it is of
 *  another proposal. */
hs_proposal *app_proposal_file_load(hs_session *s, const app_proposal_file *file,
                                    const hs_target *target);

/** Frees a file that was read; NULL is allowed. */
void app_proposal_file_free(app_proposal_file *file);

#endif
