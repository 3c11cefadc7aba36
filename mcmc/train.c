#include <hastings/mcmc/train.h>

#include <math.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include "parts_internal.h"
#include "sampler_internal.h"
#include "trainer_internal.h"
#include <hastings/nn/file.h>
#include <hastings/tensor/clock.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

#undef HS_HERE
#define HS_HERE "training"

/* ---- The batch ------------------------------------------------------------------------------ */

/* The mean over ways of moving, by weight, of a scalar of each transition. */
static hs_var mean_over_ways(const hs_transition *t, size_t ways, const hs_var *value)
{
    hs_var mean = hs_mul(t[0].weight, value[0]);
    for (size_t k = 1; k < ways; k++)
        mean = hs_add(mean, hs_mul(t[k].weight, value[k]));
    return mean;
}

static const char *name_of(const hs_objective *o)
{
    return o->name ? o->name : "objective";
}

/* Whether a loss uses a density that the proposal does not know. Fails the session by name. */
static bool lacks_density(const batch *b, const hs_transition *t, hs_var loss)
{
    if (!hs_proposal_is_ratio_only(b->proposal) || !hs_var_needs(loss, t->log_g_fwd))
        return false;
    hs_session_fail(
        b->session, HS_EINVAL,
        "objective \"%s\" needs the density of proposal \"%s\", which knows only the "
        "ratio of both directions; objectives of jumps and acceptance, such as msjd and "
        "l2hmc, need no density",
        b->options->objective.name ? b->options->objective.name : "",
        hs_proposal_name(b->proposal));
    return true;
}

/* False after failing the session. */
static bool record_batch(batch *b)
{
    const size_t ways = hs_proposal_ways(b->proposal);
    hs_transition t[HS_MAX_WAYS];
    hs_var loss[HS_MAX_WAYS], alpha[HS_MAX_WAYS], jump[HS_MAX_WAYS];
    hs_var x = hs__record_start(b->target, b->tape, HS_START, b->options->points ? &b->x : NULL);
    hs_var n = hs_normal(b->tape, HS_ROW, hs_dims(hs_proposal_normals(b->proposal)), STREAM_NOISE);
    b->adapted = hs_input(b->tape, "adapted number of the objective", HS_SHARED, hs_scalar_shape());
    hs_transitions(b->target, b->proposal, x, n, t);
    for (size_t k = 0; k < ways; k++) {
        t[k].adapted = b->adapted;
        const size_t from = hs_tape_size(b->tape);
        loss[k] = b->options->objective.loss(&t[k], &b->options->objective);
        hs__check_streams(b->tape, from, "objective", name_of(&b->options->objective), HS_HERE);
        if (lacks_density(b, &t[k], loss[k]))
            return false;
        alpha[k] = hs_exp(hs_stop(t[k].log_alpha));
        jump[k] = hs_mul(alpha[k], hs_transition_jump(&t[k]));
    }
    b->loss = hs_mean_rows(mean_over_ways(t, ways, loss));
    b->alpha = hs_mean_rows(mean_over_ways(t, ways, alpha));
    b->jump = hs_mean_rows(mean_over_ways(t, ways, jump));
    return true;
}

/* Complains about options, and fills in what they leave out. */
static bool check_options(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                          const hs_train_options *o, hs_train_options *full)
{
    *full = *o;
    full->starts = o->starts ? o->starts : 8;
    full->proposals = o->proposals ? o->proposals : 100;
    full->steps = o->steps ? o->steps : 20000;
    full->seed = o->seed ? o->seed : hs_session_seed(s);
    full->checkpoint_every = o->checkpoint_every ? o->checkpoint_every : 1000;
    full->report_every = o->report_every ? o->report_every : (full->steps + 99) / 100;
    hs_optimizer_options *by = &full->optimizer;
    by->name = by->name ? by->name : "adam";
    if (by->rate == 0 && !strcmp(by->name, "adam"))
        by->rate = 3e-4;
    if (by->schedule.kind != HS_CONSTANT && by->schedule.steps == 0)
        by->schedule.steps = full->steps;
    by->threads = by->threads ? by->threads : hs_session_threads(s);
    hs_message message;
    if (hs_optimizer_check(by, by, &message) != HS_OK)
        hs_session_fail(s, HS_EINVAL, "training: %s", message.text);
    if (!target || !proposal)
        hs_session_fail(s, HS_EINVAL, "training needs a target and a proposal");
    else if (!o->objective.loss)
        hs_session_fail(s, HS_EINVAL, "training needs an objective");
    else if (o->points && o->n_points == 0)
        hs_session_fail(s, HS_EINVAL, "training: the list of start points is empty");
    else if (!o->points && !hs_target_can_draw(target))
        hs_session_fail(s, HS_EINVAL,
                        "training: target \"%s\" cannot be sampled directly: give `points`, such "
                        "as the draws of a chain",
                        hs_target_name(target));
    else if (o->online && (!o->points || o->n_points < full->starts))
        hs_session_fail(
            s, HS_EINVAL,
            "online training needs a start point for each of its %zu chains, and has %zu",
            full->starts, o->points ? o->n_points : 0);
    hs__check_steps(s, "training", full->steps);
    const size_t numbers = o->points ? o->n_points * hs_target_original_dim(target) : 0;
    for (size_t i = 0; i < numbers && !hs_session_status(s); i++)
        if (!isfinite(o->points[i]))
            hs_session_fail(s, HS_ENONFINITE, "training: coordinate %zu of start point %zu is %g",
                            i % hs_target_original_dim(target), i / hs_target_original_dim(target),
                            o->points[i]);
    return hs_session_status(s) == HS_OK;
}

bool hs__batch_open(batch *b, hs_session *s, const hs_target *target, const hs_proposal *proposal,
                    const hs_train_options *options, bool gradients, bool trace)
{
    *b = (batch){ .session = s, .target = target, .proposal = proposal, .options = options };
    b->dim = hs_target_original_dim(target);
    b->tape = hs_tape_new(hs_session_dtype(s));
    b->adapted_now = options->objective.adapted;
    if (!record_batch(b)) {
        hs__batch_close(b);
        return false;
    }
    hs_message message = { "" };
    const hs_plan_options plan = { .starts = options->starts,
                                   .rows_per_start = options->proposals,
                                   .threads = hs_session_threads(s),
                                   .trace = trace,
                                   .factors = gradients,
                                   .interrupted = hs_session_interrupted,
                                   .context = s,
                                   .message = &message };
    hs_params *ps = hs_proposal_params(proposal);
    const hs_var all[] = { b->loss, b->alpha, b->jump }; /* the jump is for evaluations alone */
    hs_status status = gradients && ps ? hs_params_plan(&b->plan, b->loss, ps, &b->alpha, 1, &plan)
                                       : hs_plan_new(&b->plan, all, 3, &plan);
    if (!status && options->points) {
        b->starts = hs_alloc_zero(hs_size_product(options->starts, b->dim), sizeof(double));
        status = b->starts ? HS_OK : HS_ENOMEM;
        hs_plan_set(b->plan, b->x, b->starts);
    }
    if (status) {
        hs_session_fail(s, status, "%s", message.text[0] ? message.text : hs_status_text(status));
        hs__batch_close(b);
        return false;
    }
    hs_plan_set(b->plan, b->adapted, &b->adapted_number);
    return true;
}

void hs__batch_close(batch *b)
{
    if (b->proposal)
        hs_params_forget_factors(hs_proposal_params(b->proposal));
    hs_plan_free(b->plan);
    hs_tape_free(b->tape);
    hs_free(b->starts);
    *b = (batch){ 0 };
}

static void put(const batch *b, void *values, size_t i, double x)
{
    hs_number_set(hs_session_dtype(b->session), values, i, x);
}

void hs__batch_pick(batch *b, uint64_t seed, uint64_t step)
{
    const hs_train_options *o = b->options;
    for (size_t i = 0; i < o->starts && o->points; i++) {
        const size_t pick = hs__pick_start(seed, step, i, o->n_points);
        for (size_t k = 0; k < b->dim; k++)
            put(b, b->starts, i * b->dim + k, o->points[pick * b->dim + k]);
    }
}

bool hs__batch_run(batch *b, uint64_t seed, uint64_t step)
{
    put(b, &b->adapted_number, 0, b->adapted_now);
    const hs_status status = hs_plan_run(b->plan, &(hs_run){ .seed = seed, .step = step });
    if (status)
        hs_session_fail(b->session, status, "%s", hs_plan_error(b->plan));
    return !status;
}

/* ---- The trainer ---------------------------------------------------------------------------- */

typedef struct {
    hs_session *session;
    hs_train_options options;
    batch batch;
    hs_optimizer *optimizer;
    sampler chains; /* online */
    hs_params *params;
    double *kept; /* parameters to roll back to */
    uint64_t step, kept_step;
    double kept_adapted;
    uint64_t seed; /* differs from the options' after a roll-back */
    hs_training *result;
    double begin, last_report;
    double silence; /* seconds after which a watcher is told however few steps there were */
    double record[CHECKPOINT_RECORD]; /* of the result and the sums below, in a checkpoint */
    /* sums since the last report, and over curve intervals */
    double report_loss, report_alpha, curve_loss, curve_alpha, tail_loss, tail_alpha;
    uint64_t reported, curve_count, tail_count;
} trainer;

/* A new optimiser; false after failing the session. */
static bool renew_optimizer(trainer *t)
{
    hs_optimizer_free(t->optimizer);
    t->optimizer = hs_optimizer_new(t->params, &t->options.optimizer);
    t->result->optimizer = hs_optimizer_name(t->optimizer);
    t->result->rate = t->options.optimizer.rate;
    if (!t->optimizer)
        hs_session_no_memory(t->session, hs_params_bytes(t->params),
                             "training: out of memory for a moment of the optimiser %s",
                             t->options.optimizer.name);
    return t->optimizer != NULL;
}

static void keep_parameters(trainer *t)
{
    if (t->kept)
        hs_params_get(t->params, t->kept);
    t->kept_step = t->step;
    t->kept_adapted = t->batch.adapted_now;
}

/* Runs the failed step again, unfused, to name the first number that is not finite. */
static void explain(trainer *t)
{
    hs_session *s = t->session;
    batch again;
    hs_nonfinite found;
    if (!hs__batch_open(&again, s, t->batch.target, t->batch.proposal, &t->options, true, true))
        return;
    again.adapted_now = t->batch.adapted_now;
    if (again.starts)
        memcpy(again.starts, t->batch.starts,
               t->options.starts * again.dim * hs_dtype_size(hs_session_dtype(s)));
    if (hs__batch_run(&again, t->seed, t->step)) {
        if (hs_plan_nonfinite(again.plan, &found))
            hs_session_fail(s, HS_ENONFINITE,
                            "step %llu: loss or gradient is not finite; the first such number is "
                            "%g, in %s%s%s (%s), row %zu (start %zu), coordinate %zu",
                            (unsigned long long)t->step, found.value, found.op,
                            found.name[0] ? " " : "", found.name, found.at, found.row,
                            hs_var_extent(found.node) == HS_ROW ? found.row / t->options.proposals
                                                                : found.row,
                            found.coordinate);
        else
            hs_session_fail(s, HS_ENONFINITE, "step %llu: the norm of the gradient is not finite",
                            (unsigned long long)t->step);
    }
    hs__batch_close(&again);
}

/* After a step that was not finite: back to the kept parameters, if that is allowed. */
static bool roll_back(trainer *t)
{
    if (t->result->rolled_back >= t->options.roll_backs) {
        explain(t);
        return false;
    }
    t->result->rolled_back++;
    hs_params_set(t->params, t->kept);
    t->step = t->kept_step;
    t->batch.adapted_now = t->kept_adapted;
    t->seed += 0x9e3779b97f4a7c15u;
    return renew_optimizer(t);
}

static void note(trainer *t, double loss, double alpha)
{
    hs_training *r = t->result;
    const uint64_t steps = t->options.steps, interval = (steps + HS_CURVE - 1) / HS_CURVE;
    t->report_loss += loss;
    t->report_alpha += alpha;
    t->reported++;
    t->curve_loss += loss;
    t->curve_alpha += alpha;
    if (++t->curve_count == interval && r->points < HS_CURVE) {
        r->curve_step[r->points] = (double)t->step;
        r->curve_loss[r->points] = t->curve_loss / (double)interval;
        r->curve_alpha[r->points++] = t->curve_alpha / (double)interval;
        t->curve_loss = t->curve_alpha = 0;
        t->curve_count = 0;
    }
    if (t->step > steps - (steps + 9) / 10) {
        t->tail_loss += loss;
        t->tail_alpha += alpha;
        t->tail_count++;
    }
}

/* Tells the progress function; false if it wants to stop. */
static bool report(trainer *t)
{
    const bool last = t->step == t->options.steps;
    if (!t->options.progress || t->reported == 0)
        return true;
    const double now = hs_seconds();
    if (t->step % t->options.report_every != 0 && !last && now - t->last_report < t->silence)
        return true;
    t->last_report = now;
    const double n = (double)t->reported;
    const hs_progress p = { "train",
                            t->step,
                            t->options.steps,
                            t->report_loss / n,
                            t->report_alpha / n,
                            t->batch.adapted_now,
                            now - t->begin };
    t->report_loss = t->report_alpha = 0;
    t->reported = 0;
    return t->options.progress(&p, t->options.context) || last;
}

/* Whether a step failed because the session was interrupted: the training then ends with the step before. */
static bool was_interrupted(trainer *t)
{
    t->result->stopped = hs_session_status(t->session) == HS_EINTERRUPTED;
    if (t->result->stopped)
        hs_session_clear(t->session);
    return t->result->stopped;
}

static bool one_step(trainer *t)
{
    batch *b = &t->batch;
    const hs_objective *o = &t->options.objective;
    if (t->options.online)
        memcpy(b->starts, t->chains.state,
               t->options.starts * b->dim * hs_dtype_size(hs_session_dtype(t->session)));
    else
        hs__batch_pick(b, t->seed, t->step);
    if (!hs__batch_run(b, t->seed, t->step))
        return was_interrupted(t);
    const double loss = hs_plan_scalar(b->plan, b->loss), alpha = hs_plan_scalar(b->plan, b->alpha);
    const hs_status status = isfinite(loss) ? hs_optimizer_step(t->optimizer) : HS_ENONFINITE;
    if (status == HS_ENONFINITE)
        return roll_back(t);
    if (status)
        return SESSION_FALSE(t->session, status, "%s", hs_optimizer_error(t->optimizer));
    if (o->adapt)
        b->adapted_now = o->adapt(o, b->adapted_now, alpha);
    /* Chains move with another seed than the batch draws with. */
    if (t->options.online && !hs__sampler_step(&t->chains, ~t->seed, t->step))
        return false;
    t->step++;
    note(t, loss, alpha);
    if (t->kept && t->step % 100 == 0)
        keep_parameters(t);
    return true;
}

static bool open_trainer(trainer *t, const hs_target *target, const hs_proposal *proposal)
{
    hs_session *s = t->session;
    const hs_train_options *o = &t->options;
    t->params = hs_proposal_params(proposal);
    if (!t->params)
        return SESSION_FALSE(s, HS_EINVAL, "proposal \"%s\" has nothing to train",
                             hs_proposal_name(proposal));
    if (!hs__batch_open(&t->batch, s, target, proposal, o, true, false) || !renew_optimizer(t))
        return false;
    t->seed = o->seed;
    if (o->roll_backs) {
        t->kept = hs_alloc(hs_params_size(t->params) * sizeof(double));
        if (!t->kept) {
            hs_session_no_memory(s, hs_params_bytes(t->params),
                                 "training: out of memory for a copy of the parameters");
            return false;
        }
        keep_parameters(t);
    }
    if (!o->online)
        return true;
    if (!hs__sampler_open(&t->chains, target, proposal, o->starts, FORGETS))
        return false;
    hs__sampler_set(&t->chains, o->points);
    t->chains.finishes = true; /* the parameters have moved by then */
    return true;
}

static void close_trainer(trainer *t)
{
    hs__batch_close(&t->batch);
    hs_optimizer_free(t->optimizer);
    if (t->chains.session)
        hs__sampler_close(&t->chains);
    hs_free(t->kept);
}

/* What a resumed training needs to report as one that was never stopped: `moved` is called on each
 * number, to write it into the record or to take it from there. */
static void move_record(trainer *t, void (*moved)(double *number, double *record))
{
    hs_training *r = t->result;
    double *at = t->record;
    double count[] = { (double)r->points, (double)r->rolled_back, (double)t->curve_count,
                       (double)t->tail_count, hs_seconds() - t->begin };
    double *sum[] = { &t->curve_loss, &t->curve_alpha, &t->tail_loss, &t->tail_alpha };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        moved(&count[i], at++);
    for (size_t i = 0; i < sizeof sum / sizeof *sum; i++)
        moved(sum[i], at++);
    for (size_t i = 0; i < HS_CURVE; i++) {
        moved(&r->curve_step[i], at++);
        moved(&r->curve_loss[i], at++);
        moved(&r->curve_alpha[i], at++);
    }
    r->points = (size_t)count[0];
    r->rolled_back = (size_t)count[1];
    t->curve_count = (uint64_t)count[2];
    t->tail_count = (uint64_t)count[3];
    t->begin = hs_seconds() - count[4];
}

static void write_number(double *number, double *record)
{
    *record = *number;
}

static void read_number(double *number, double *record)
{
    *number = *record;
}

hs_status hs_train(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                   const hs_train_options *options, hs_training *result)
{
    hs_training unwanted;
    trainer t = { .session = s, .result = result ? result : &unwanted, .begin = hs_seconds() };
    t.silence = options->report_every ? (double)INFINITY : 0.5;
    memset(t.result, 0, sizeof *t.result);
    if (hs_session_status(s) || !check_options(s, target, proposal, options, &t.options))
        return hs_session_status(s);
    bool ok = open_trainer(&t, target, proposal);
    checkpoint c = { &t.step,
                     &t.seed,
                     &t.batch.adapted_now,
                     t.params,
                     t.optimizer,
                     t.options.online ? t.chains.state : NULL,
                     t.options.online ? t.options.starts * t.batch.dim : 0,
                     &t.kept_step,
                     &t.kept_adapted,
                     t.kept,
                     t.record,
                     "" };
    if (ok && t.options.checkpoint) {
        move_record(&t, write_number);
        ok = hs__checkpoint_read(s, t.options.checkpoint, &c);
        if (ok)
            move_record(&t, read_number);
    }
    while (ok && t.step < t.options.steps && !t.result->stopped) {
        ok = one_step(&t);
        c.optimizer = t.optimizer; /* a roll-back makes a new one */
        if (ok && (!report(&t) || hs_session_interrupted(s)))
            t.result->stopped = true;
        const bool due = t.step % t.options.checkpoint_every == 0 || t.step == t.options.steps ||
                         t.result->stopped;
        if (ok && t.options.checkpoint && due) {
            move_record(&t, write_number);
            ok = hs__checkpoint_write(s, t.options.checkpoint, &c);
        }
    }
    hs_training *r = t.result;
    r->steps = t.step;
    r->adapted = t.batch.adapted_now;
    r->seconds = hs_seconds() - t.begin;
    r->loss = t.tail_count ? t.tail_loss / (double)t.tail_count : (double)NAN;
    r->alpha = t.tail_count ? t.tail_alpha / (double)t.tail_count : (double)NAN;
    close_trainer(&t);
    return hs_session_status(s);
}

/* ---- Evaluation ----------------------------------------------------------------------------- */

/* Running mean and sum of squared deviations (Welford 1962). */
typedef struct {
    double n, mean, squares;
} moments;

static void moments_add(moments *m, double x)
{
    const double before = x - m->mean;
    m->n += 1;
    m->mean += before / m->n;
    m->squares += before * (x - m->mean);
}

static double moments_error(const moments *m)
{
    return m->n > 1 ? sqrt(m->squares / (m->n - 1) / m->n) : (double)NAN;
}

/* The first step of an evaluation: beyond those of a training, so that the draws are new. */
#define FIRST_EVALUATED ((uint64_t)1 << 40)

hs_status hs_evaluate(hs_session *s, const hs_target *target, const hs_proposal *proposal,
                      const hs_train_options *options, size_t batches, hs_evaluation *result)
{
    hs_train_options o;
    batch b;
    memset(result, 0, sizeof *result);
    if (hs_session_status(s) || !check_options(s, target, proposal, options, &o))
        return hs_session_status(s);
    if (batches == 0)
        return hs_session_fail(s, HS_EINVAL, "an evaluation needs at least one batch");
    if (!hs__check_steps(s, "an evaluation", hs_size_add(FIRST_EVALUATED, batches)))
        return hs_session_status(s);
    if (!hs__batch_open(&b, s, target, proposal, &o, false, false))
        return hs_session_status(s);
    moments m[3] = { { 0, 0, 0 } };
    const double begin = hs_seconds();
    double reported = begin;
    bool go_on = true;
    for (size_t i = 0; i < batches && go_on && !(i && hs_session_interrupted(s)); i++) {
        const uint64_t step = FIRST_EVALUATED + i;
        hs__batch_pick(&b, o.seed, step);
        if (!hs__batch_run(&b, o.seed, step)) {
            if (i && hs_session_status(s) == HS_EINTERRUPTED)
                hs_session_clear(s); /* the batches before this one are worth something */
            break;
        }
        moments_add(&m[0], hs_plan_scalar(b.plan, b.loss));
        moments_add(&m[1], hs_plan_scalar(b.plan, b.alpha));
        moments_add(&m[2], hs_plan_scalar(b.plan, b.jump));
        const double now = hs_seconds();
        const bool due =
            options->report_every ? (i + 1) % options->report_every == 0 : now - reported > 0.5;
        if (o.progress && due) {
            const hs_progress p = { .what = "evaluate",
                                    .step = i + 1,
                                    .steps = batches,
                                    .loss = m[0].mean,
                                    .alpha = m[1].mean,
                                    .adapted = o.objective.adapted,
                                    .seconds = now - begin };
            go_on = o.progress(&p, o.context);
            reported = now;
        }
    }
    *result = (hs_evaluation){ m[0].mean, moments_error(&m[0]), m[1].mean, moments_error(&m[1]),
                               m[2].mean, moments_error(&m[2]) };
    hs__batch_close(&b);
    return hs_session_status(s);
}
