
#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/commands/problem.h>
#include <hastings/experiments/spec.h>
#include <hastings/objectives/objectives.h>

/* Number of exact draws from which proposals take their scales. */
enum { EXACT_POINTS = 10000 };

static int draw_points(app_problem *p, const app_call *call, const app_problem_options *o)
{
    if (p->exact) {
        if (app_points_exact(&p->points, p->session, p->target, EXACT_POINTS, o->seed + 1000))
            return app_call_fail_session(call, p->session);
        return APP_EXIT_OK;
    }
    app_bars_begin(o->bars, 0, o->jobs + 1, "reference chain, by HMC");
    app_points_reference(&p->points, p->session, p->target,
                         &(app_reference_chain_options){ .proposals = o->reference,
                                                         .seed = o->seed + 1000,
                                                         .progress = app_bars_progress,
                                                         .context = o->bars });
    const hs_status status = hs_session_status(p->session);
    app_bars_end(o->bars, NULL, status && status != HS_EINTERRUPTED);
    p->jobs = 1;
    if (status)
        return app_call_fail_session(call, p->session);
    return app_interrupted() || !p->points.n ? app_call_fail_interrupted(call) : APP_EXIT_OK;
}

int app_problem_open(app_problem *p, const app_call *call, const app_problem_options *o)
{
    *p = (app_problem){ 0 };
    p->session = hs_session_new(&(hs_session_options){ .seed = o->seed,
                                                       .float32 = o->float32,
                                                       .threads = call->threads,
                                                       .interrupted = app_interrupt_is_due });
    p->target = app_spec_target(p->session, o->target);
    if (!p->target)
        return app_call_fail_session(call, p->session);
    p->exact = hs_target_can_draw(p->target);
    return draw_points(p, call, o);
}

void app_problem_close(app_problem *p)
{
    app_points_free(&p->points);
    hs_session_free(p->session);
    *p = (app_problem){ 0 };
}

hs_train_options app_problem_training(const app_problem *p, const app_call *call, app_bars *bars)
{
    const app_arguments *a = call->arguments;
    const uint64_t steps = app_given_count(a, "steps", 20000);
    return (hs_train_options){
        .steps = steps,
        .starts = app_given_count(a, "starts", 8),
        .proposals = app_given_count(a, "proposals", 100),
        .optimizer = { .rate = app_given_number(a, "rate", 0) },
        .online = app_given(a, "online"),
        .points = p->exact && !app_given(a, "online") ? NULL : p->points.x,
        .n_points = p->exact && !app_given(a, "online") ? 0 : p->points.n,
        .roll_backs = 20,
        .report_every = steps / 1000 + 1,
        .progress = app_bars_progress,
        .context = bars,
    };
}

bool app_read_objective(const app_call *call, const char *text, hs_objective *o)
{
    char error[256];
    if (hs_objective_parse(text, o, error, sizeof error) == HS_OK)
        return true;
    app_call_fail(call, HS_EINVAL, "--objective %.60s: %s", text, error);
    return false;
}

bool app_read_optimizer(const app_call *call, hs_optimizer_options *o)
{
    const char *text = app_given_text(call->arguments, "optimizer");
    hs_message message;
    if (text && !app_spec_optimizer(text, o, &message)) {
        app_call_fail(call, HS_EINVAL, "--optimizer %.60s: %s", text, message.text);
        return false;
    }
    o->rate = app_given_number(call->arguments, "rate", o->rate);
    return true;
}
