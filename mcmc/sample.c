#include "parts_internal.h"
#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/sample.h>

#include <math.h>
#include <string.h>

#include "sampler_internal.h"
#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>

typedef struct {
    hs_session *session;
    hs_sample_options options;
    sampler sampler;
    hs_chains *chains;
    hs_draws_writer *writer;
    double *step; /* [chains][dim] */
    double begin, last_report;
    double report_alpha;
    uint64_t reported;
    size_t gradients; /* of one proposal */
} run;

static bool check_options(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                          hs_sample_options *o)
{
    if (!hs__is_there(s, target, "sampling", "target") ||
        !hs__is_there(s, proposal, "sampling", "proposal"))
        return false;
    o->chains = o->chains ? o->chains : 5;
    o->draws = o->draws ? o->draws : 1000;
    o->thin = o->thin ? o->thin : 1;
    o->seed = o->seed ? o->seed : hs_session_seed(s);
    if (o->points && o->n_points < o->chains)
        hs_session_fail(s, HS_EINVAL,
                        "sampling: %zu chains need as many start points, and have %zu", o->chains,
                        o->n_points);
    else if (!o->points && !hs_target_can_draw(target))
        hs_session_fail(s, HS_EINVAL,
                        "sampling: target \"%s\" cannot be sampled directly: give start points",
                        hs_target_name(target));
    hs__check_steps(s, "sampling", hs_size_add(hs_size_product(o->draws, o->thin), o->warmup));
    return hs_session_status(s) == HS_OK;
}

/* One start point for each chain: in order if there are as many, else picked at random. */
static void pick_points(run *r)
{
    const hs_sample_options *o = &r->options;
    const size_t dim = r->sampler.dim;
    for (size_t c = 0; c < o->chains; c++) {
        const bool more = o->n_points > o->chains;
        const size_t pick = more ? hs__pick_start(o->seed, 0, c, o->n_points) : c;
        memcpy(r->step + c * dim, o->points + pick * dim, dim * sizeof(double));
    }
    hs__sampler_set(&r->sampler, r->step);
}

static bool keep_draw(run *r, size_t draw)
{
    const sampler *sm = &r->sampler;
    hs_chains *c = r->chains;
    hs__sampler_get(sm, r->step);
    if (r->writer) {
        hs_message message;
        const hs_status status = hs_draws_append(r->writer, r->step, &message);
        if (status)
            hs_session_fail(r->session, status, "%s", message.text);
        return !status;
    }
    for (size_t k = 0; k < c->chains; k++) {
        const size_t at = k * c->draws + draw;
        memcpy(hs_chains_draw(c, k, draw), r->step + k * sm->dim, sm->dim * sizeof(double));
        c->log_pi[at] = hs__sampler_value(sm, sm->log_pi, k);
        c->alpha[at] = hs__sampler_value(sm, sm->alpha, k);
        c->jump[at] = hs__sampler_value(sm, sm->jump, k);
        c->accepted[at] = hs__sampler_value(sm, sm->accepted, k) != 0;
    }
    return true;
}

static void count_step(run *r, bool warm)
{
    const sampler *sm = &r->sampler;
    double alpha = 0;
    for (size_t k = 0; k < sm->chains; k++) {
        alpha += hs__sampler_value(sm, sm->alpha, k);
        if (warm)
            r->chains->nonfinite += hs__sampler_value(sm, sm->nonfinite, k) != 0;
    }
    if (warm) {
        r->chains->proposals += sm->chains;
        r->chains->gradients += sm->chains * r->gradients;
    }
    r->report_alpha += alpha / (double)sm->chains;
    r->reported++;
}

static bool report(run *r, uint64_t step, uint64_t steps)
{
    const hs_sample_options *o = &r->options;
    if (hs_session_interrupted(r->session))
        return false;
    const double now = o->progress ? hs_seconds() : 0;
    const bool due =
        step % ((steps + 99) / 100) == 0 || step == steps || now - r->last_report > 0.5;
    if (!o->progress || !due)
        return true;
    r->last_report = now;
    const hs_progress p = {
        "sample",    step,          steps, (double)NAN, r->report_alpha / (double)r->reported,
        (double)NAN, now - r->begin
    };
    r->report_alpha = 0;
    r->reported = 0;
    return o->progress(&p, o->context) || step == steps;
}

/* Shortens the chains of a stopped run. */
static void shorten(hs_chains *c, size_t draws)
{
    for (size_t k = 0; k < c->chains && draws < c->draws; k++) {
        memmove(c->x + k * draws * c->dim, c->x + k * c->draws * c->dim,
                draws * c->dim * sizeof *c->x);
        double *const lists[] = { c->log_pi, c->alpha, c->jump };
        for (int i = 0; i < 3; i++)
            memmove(lists[i] + k * draws, lists[i] + k * c->draws, draws * sizeof(double));
        memmove(c->accepted + k * draws, c->accepted + k * c->draws, draws);
    }
    c->draws = draws;
}

static bool run_chains(run *r)
{
    const hs_sample_options *o = &r->options;
    const uint64_t steps = o->warmup + o->draws * o->thin;
    size_t draws = 0;
    double warm_at = r->begin = r->last_report = hs_seconds();
    for (uint64_t i = 0; i < steps; i++) {
        const bool warm = i >= o->warmup;
        if (i == o->warmup)
            warm_at = hs_seconds();
        if (!hs__sampler_step(&r->sampler, o->seed, i)) {
            if (!hs__sampler_was_interrupted(&r->sampler))
                return false;
            break;
        }
        if (i == 0 && !hs__sampler_check_start(&r->sampler))
            return false;
        count_step(r, warm);
        if (warm && (i - o->warmup) % o->thin == o->thin - 1 && !keep_draw(r, draws++))
            return false;
        if (!report(r, i + 1, steps))
            break;
    }
    r->chains->seconds = hs_seconds() - warm_at;
    if (!r->writer) {
        shorten(r->chains, draws);
    } else { /* the file has the draws */
        hs_free(r->chains->x);
        r->chains->x = NULL;
        r->chains->draws = draws;
    }
    return true;
}

static void release_chains(void *chains)
{
    hs_chains_free(chains);
}

/* The largest blocks come first, so that chains that do not fit are refused at once. */
static hs_status allocate(run *r, size_t dim, hs_message *message)
{
    const hs_sample_options *o = &r->options;
    const hs_status status = hs_chains_new(&r->chains, o->chains, o->stream ? 1 : o->draws, dim,
                                           o->stream ? 0 : HS_KEEP_ALL, message);
    r->step = status ? NULL : hs_alloc_zero(hs_size_product(o->chains, dim), sizeof(double));
    return status || r->step
               ? status
               : hs_memory_fail(message, hs_size_product(o->chains, dim, sizeof(double)),
                                "sampling: out of memory for %zu chains", o->chains);
}

static bool open_run(run *r, const hs_target *target, const hs_proposal *proposal)
{
    hs_session *s = r->session;
    const hs_sample_options *o = &r->options;
    const size_t dim = hs_target_original_dim(target);
    hs_message message = { "" };
    hs_status status = allocate(r, dim, &message);
    if (!status && !hs__sampler_open(&r->sampler, target, proposal, o->chains, REMEMBERS_ALL))
        return false;
    r->gradients = hs_proposal_gradients(proposal);
    const hs_chain_format *format = o->stream ? hs_chain_format_of(o->stream, NULL) : NULL;
    if (!status && format && !format->streams)
        status = hs_message_fail(&message, HS_EINVAL,
                                 "%.300s: draws cannot be streamed to %s files, but to .npy",
                                 o->stream, format->ending);
    if (!status && o->stream)
        status = hs_draws_open(&r->writer, o->stream, o->chains, dim, &message);
    if (status)
        return SESSION_FALSE(s, status, "%s",
                             message.text[0] ? message.text : hs_status_text(status));
    if (!o->points)
        return hs__sampler_start_exactly(&r->sampler, target, ~o->seed);
    pick_points(r);
    return true;
}

hs_chains *hs_sample(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                     const hs_sample_options *options)
{
    run r = { .session = s, .options = options ? *options : (hs_sample_options){ 0 } };
    if (hs_session_status(s) || !check_options(s, target, proposal, &r.options))
        return NULL;
    bool ok = open_run(&r, target, proposal) && run_chains(&r);
    if (r.writer) { /* keeps the draws made before an error */
        hs_message message;
        const hs_status status = hs_draws_close(r.writer, &message);
        if (status)
            hs_session_fail(s, status, "%s", message.text);
        ok = ok && !status;
    }
    if (r.sampler.session)
        hs__sampler_close(&r.sampler);
    hs_free(r.step);
    if (!ok) {
        hs_chains_free(r.chains);
        return NULL;
    }
    return hs_session_own(s, r.chains, release_chains) ? r.chains : NULL;
}
