#include <hastings/mcmc/restart.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hastings/tensor/message.h>

#include "parts_internal.h"

enum { JUDGING_BATCHES = 50 };

/* Distance of a try from the acceptance of its objective; 0 if it is near enough, or if the
 * objective has none. The distance of a NaN is infinite. */
static double miss_of(const hs_objective *o, double alpha)
{
    const double near_enough = 0.03;
    const double off = o->acceptance > 0 ? fabs(alpha - o->acceptance) : 0;
    return off <= near_enough ? 0 : isnan(off) ? (double)INFINITY : off;
}

static bool better(const hs_restarts *r, const hs_objective *o, size_t a, size_t b)
{
    const double miss_a = miss_of(o, r->alpha[a]), miss_b = miss_of(o, r->alpha[b]);
    return miss_a != miss_b ? miss_a < miss_b : r->loss[a] < r->loss[b];
}

/* Trains and judges one try; false if the session failed for good. All tries are judged with
 * *adapted, which is NaN until a try attains its acceptance. The first try that is lost says why in *lost. */
static bool one_try(hs_session *s, const hs_target *target, hs_proposal *proposal, size_t k,
                    const hs_train_options *options, hs_restarts *r, hs_training *training,
                    double *adapted, hs_message *lost)
{
    hs_train_options o = *options;
    char path[4096];
    o.seed = (options->seed ? options->seed : hs_session_seed(s)) + k;
    if (options->checkpoint) {
        const int n = snprintf(path, sizeof path, "%s.try%zu", options->checkpoint, k);
        if (n < 0 || (size_t)n >= sizeof path)
            return SESSION_FALSE(s, HS_EINVAL, "restarts: the checkpoint's path is too long");
        o.checkpoint = path;
    }
    hs_status status = hs_train(s, target, proposal, &o, training);
    hs_evaluation e = { .loss = (double)NAN, .loss_error = (double)NAN, .alpha = (double)NAN };
    const bool trained = !status;
    if (trained) {
        o.objective.adapted = isnan(*adapted) ? training->adapted : *adapted;
        o.seed = options->seed; /* the same batches for all */
        o.online = false;
        o.progress = NULL; /* it is short */
        status = hs_evaluate(s, target, proposal, &o, JUDGING_BATCHES, &e);
    }
    r->loss[k] = status == HS_EINTERRUPTED     ? (double)NAN
                 : status || !isfinite(e.loss) ? (double)INFINITY
                                               : e.loss;
    r->loss_error[k] = e.loss_error;
    r->alpha[k] = e.alpha;
    if (isnan(*adapted) && isfinite(r->loss[k]) && miss_of(&o.objective, e.alpha) == 0)
        *adapted = training->adapted;
    /* A try that is not finite is lost, the others are not. One that was trained is not lost for want of a judgement. */
    const bool bearable = status == HS_ENONFINITE || (status == HS_EINTERRUPTED && trained);
    if (status == HS_ENONFINITE && !lost->text[0])
        hs_message_fail(lost, status, "%s", hs_session_error(s));
    if (bearable)
        hs_session_clear(s);
    training->stopped |= status == HS_EINTERRUPTED;
    return !status || bearable;
}

hs_proposal *hs_train_restarts(hs_session *s, const hs_target *target, hs_proposal_maker make,
                               void *context, size_t tries, const hs_train_options *options,
                               hs_restarts *report)
{
    hs_restarts unwanted;
    hs_restarts *r = report ? report : &unwanted;
    hs_proposal *best = NULL;
    double adapted = (double)NAN;
    hs_message lost = { "" };
    memset(r, 0, sizeof *r);
    if (hs_session_status(s))
        return NULL;
    if (tries == 0 || tries > HS_MOST_RESTARTS || !make)
        return SESSION_NULL(s, HS_EINVAL,
                            "restarts: there must be 1 to %d tries, and a way to make them",
                            (int)HS_MOST_RESTARTS);
    for (size_t k = 0; k < tries; k++) {
        hs_proposal *proposal = make(s, k, context);
        hs_training training;
        if (!proposal)
            return SESSION_NULL(s, HS_EINVAL, "restarts: try %zu has no proposal", k);
        if (!one_try(s, target, proposal, k, options, r, &training, &adapted, &lost)) {
            if (!best || hs_session_status(s) != HS_EINTERRUPTED)
                return NULL;
            hs_session_clear(s); /* the tries before this one are worth something */
            break;
        }
        r->tries = k + 1;
        const bool judged = isfinite(r->loss[k]), unjudged = isnan(r->loss[k]);
        if (best ? judged && better(r, &options->objective, k, r->best) : judged || unjudged) {
            best = proposal;
            r->best = k;
            r->training = training;
        }
        if (training.stopped)
            break;
    }
    if (!best && r->tries == 1 && lost.text[0])
        hs_session_fail(s, HS_ENONFINITE, "%s", lost.text);
    else if (!best)
        hs_session_fail(s, HS_ENONFINITE, "restarts: none of %zu tries stayed finite%s%s", r->tries,
                        lost.text[0] ? "; the first: " : "", lost.text);
    return best;
}
