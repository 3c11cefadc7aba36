/* Reference chains: long chains that replace exact draws, for targets that have none. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run_internal.h"
#include <hastings/experiments/spec.h>
#include <hastings/tensor/message.h>

/* Makes a target and finds out whether it needs a reference chain. */
static hs_status look_at_target(run *r, reference *its, hs_message *m)
{
    hs_session *s =
        hs_session_new(&(hs_session_options){ .interrupted = app_run_is_over, .context = r });
    const hs_target *t = app_spec_target(s, its->target);
    hs_status status = hs_session_status(s);
    if (t) {
        its->needed = !hs_target_can_draw(t);
        its->dim = hs_target_original_dim(t);
    } else {
        hs_message_fail(m, status, "%s", hs_session_error(s));
    }
    hs_session_free(s);
    return status;
}

/* Reads the reference chain of the resumed run. */
static hs_status load_reference(reference *its, const char *path, hs_message *m)
{
    const hs_status status = app_points_load(&its->points, path, m);
    const size_t dim = its->points.dim;
    if (status || dim == its->dim)
        return status;
    app_points_free(&its->points);
    return hs_message_fail(
        m, HS_EFORMAT,
        "%s: its points have %zu coordinates, and the target has %zu: this is the "
        "reference chain of another run",
        path, dim, its->dim);
}

/* Makes the reference chain of a target, or reads that of the resumed run. Its file is named after
 * a job: names of cases may differ only in signs that file names lack. */
static hs_status make_reference(run *r, reference *its, hs_message *m)
{
    const job *j = its->first;
    app_points *points = &its->points;
    char path[JOB_PATH], label[JOB_TEXT];
    snprintf(path, sizeof path, "%.3800s/work/reference-%s.npy", r->out, j->id);
    if (access(path, R_OK) == 0)
        return load_reference(its, path, m);
    snprintf(label, sizeof label, "%.80s, reference chain by HMC", app_text_of(j->kase, "name"));
    ticket t = { r, 0, 0, label };
    app_run_tell(r, (app_event){ .kind = APP_JOB_BEGINS, .label = label, .estimate = (double)NAN });
    hs_session *s = hs_session_new(&(hs_session_options){
        .seed = j->set.seed, .threads = r->threads, .interrupted = app_run_is_over, .context = r });
    const hs_target *target = app_spec_target(s, j->target);
    hs_status status = app_points_reference(
        points, s, target,
        &(app_reference_chain_options){ .proposals = j->set.reference_proposals,
                                        .chains = j->set.reference_chains,
                                        .warmup = j->set.reference_warmup,
                                        .acceptance = j->set.reference_acceptance,
                                        .seed = j->set.seed + 90,
                                        .progress = app_run_on_progress,
                                        .context = &t });
    if (status == HS_EINTERRUPTED)
        status = HS_OK;
    else if (status)
        hs_message_fail(m, status, "%s", hs_session_error(s));
    else if (!r->stop)
        status = app_points_save(points, path, m);
    app_run_tell(r, (app_event){ .kind = APP_JOB_ENDS,
                                 .label = label,
                                 .text = "",
                                 .failed = status != HS_OK,
                                 .estimate = (double)NAN });
    hs_session_free(s);
    return status;
}

/* The reference of a target; NULL if it is not in the list yet. */
static reference *find_reference(run *r, const char *target)
{
    for (size_t k = 0; k < r->n_references; k++)
        if (!strcmp(r->references[k].target, target))
            return &r->references[k];
    return NULL;
}

hs_status app_run_check_targets(run *r, hs_message *m)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *target = r->jobs[i].target;
        if (find_reference(r, target))
            continue;
        if (r->n_references == MOST_REFERENCES)
            return hs_message_fail(m, HS_EINVAL, "there are more than %d targets in one experiment",
                                   MOST_REFERENCES);
        reference *new = &r->references[r->n_references++];
        *new = (reference){ .target = target, .first = &r->jobs[i] };
        const hs_status status = look_at_target(r, new, m);
        if (status)
            return status;
    }
    return HS_OK;
}

hs_status app_run_make_references(run *r, hs_message *m)
{
    for (size_t i = 0; i < r->n && !r->stop; i++) {
        job *j = &r->jobs[i];
        reference *its = find_reference(r, j->target);
        if (its->needed && !its->points.n && !r->records[i]) {
            const hs_status status = make_reference(r, its, m);
            if (status)
                return status;
        }
        j->reference = its->points.n ? &its->points : NULL;
    }
    return HS_OK;
}
