#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <hastings/cli/interrupt.h>
#include <hastings/cli/problem.h>
#include <hastings/experiments/spec.h>
#include <hastings/objectives/objectives.h>

/* Draws that the scales of proposals are taken from, where draws cost nothing. */
enum { EXACT_POINTS = 10000 };

static int draw_points(hs_problem *p, const hs_call *call, const hs_problem_options *o)
{
    if (p->exact) {
        if (hs_points_exact(&p->points, p->session, p->target, EXACT_POINTS, o->seed + 1000))
            return hs_call_fail_session(call, p->session);
        return HS_EXIT_OK;
    }
    hs_bars_begin(o->bars, 0, o->jobs + 1, "reference chain, by HMC");
    hs_points_reference(&p->points, p->session, p->target,
                        &(hs_reference_chain_options){ .proposals = o->reference,
                                                       .seed = o->seed + 1000,
                                                       .progress = hs_bars_progress,
                                                       .context = o->bars });
    const bool failed = hs_session_status(p->session) != HS_OK;
    hs_bars_end(o->bars, NULL, failed);
    p->jobs = 1;
    if (failed)
        return hs_call_fail_session(call, p->session);
    if (hs_interrupted() || !p->points.n) {
        hs_call_fail(call, HS_OK, "stopped before there was anything to save");
        return HS_EXIT_INTERRUPTED;
    }
    return HS_EXIT_OK;
}

int hs_problem_open(hs_problem *p, const hs_call *call, const hs_problem_options *o)
{
    *p = (hs_problem){ 0 };
    p->session = hs_session_new(
        &(hs_session_options){ .seed = o->seed, .float32 = o->float32, .threads = call->threads });
    p->target = hs_spec_target(p->session, o->target);
    if (!p->target)
        return hs_call_fail_session(call, p->session);
    p->exact = hs_target_can_draw(p->target);
    return draw_points(p, call, o);
}

void hs_problem_close(hs_problem *p)
{
    hs_points_free(&p->points);
    hs_session_free(p->session);
    *p = (hs_problem){ 0 };
}

hs_train_options hs_problem_training(const hs_problem *p, const hs_call *call, hs_bars *bars)
{
    const hs_arguments *a = call->arguments;
    const uint64_t steps = hs_given_count(a, "steps", 20000);
    return (hs_train_options){
        .steps = steps,
        .starts = hs_given_count(a, "starts", 8),
        .proposals = hs_given_count(a, "proposals", 100),
        .schedule = { .rate = hs_given_number(a, "rate", 3e-4) },
        .online = hs_given(a, "online"),
        .points = p->exact && !hs_given(a, "online") ? NULL : p->points.x,
        .n_points = p->exact && !hs_given(a, "online") ? 0 : p->points.n,
        .roll_backs = 20,
        .report_every = steps / 1000 + 1,
        .progress = hs_bars_progress,
        .context = bars,
    };
}

bool hs_read_objective(const hs_call *call, const char *text, hs_objective *o)
{
    char error[256];
    if (hs_objective_parse(text, o, error, sizeof error) == HS_OK)
        return true;
    hs_call_fail(call, HS_EINVAL, "--objective %.60s: %s", text, error);
    return false;
}

bool hs_free_name(char *path, size_t size, const char *folder, const char *stem, const char *ending)
{
    for (int i = 1; i < 10000; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        const int n =
            snprintf(path, size, "%s%s%s%s%s", folder, *folder ? "/" : "", stem, number, ending);
        if (n < 0 || (size_t)n >= size)
            return false;
        struct stat found;
        if (stat(path, &found) != 0 && errno == ENOENT)
            return true;
    }
    return false;
}

bool hs_make_folder(const char *path)
{
    char part[4096];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(part, path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    struct stat found;
    return mkdir(part, 0777) == 0 ||
           (errno == EEXIST && stat(part, &found) == 0 && S_ISDIR(found.st_mode));
}
