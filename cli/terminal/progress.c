#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/terminal/progress.h>
#include <hastings/cli/terminal/visible.h>
#include <hastings/tensor/clock.h>
#include "progress_internal.h"

const char *app_duration(double seconds, char text[APP_DURATION_TEXT])
{
    if (!(seconds >= 0 && seconds < 1e9)) {
        strcpy(text, "-");
        return text;
    }
    const long s = (long)(seconds + 0.5);
    if (s < 3600)
        snprintf(text, APP_DURATION_TEXT, "%ld:%02ld", s / 60, s % 60);
    else if (s < 48 * 3600)
        snprintf(text, APP_DURATION_TEXT, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, APP_DURATION_TEXT, "%ld d %ld h", s / 86400, s / 3600 % 24);
    return text;
}

/* ---- What is known about a slot ------------------------------------------------------------- */

static void begin_phase(bar_slot *slot, const char *what, double now)
{
    snprintf(slot->what, sizeof slot->what, "%s", what ? what : "");
    slot->step = slot->steps = 0;
    slot->rate = 0;
    slot->began = slot->last = now;
    slot->loss = slot->alpha = (double)NAN;
}

/* The rate is a mean over all of the phase at first, and later over about the last ten seconds. The first
 * report of a phase only says where it began: a training that is resumed does not begin at 0. */
static void follow(bar_slot *slot, const hs_progress *p, double now)
{
    static const double memory = 10;
    const bool first = strcmp(slot->what, p->what ? p->what : "") != 0 || p->step < slot->step ||
                       p->steps != slot->steps;
    if (first)
        begin_phase(slot, p->what, now);
    const double passed = now - slot->last, all = now - slot->began;
    if (!first && passed > 0 && p->step > slot->step) {
        const double fresh = (double)(p->step - slot->step) / passed;
        const double weight = fmax(1 - exp(-passed / memory), passed / all);
        slot->rate += weight * (fresh - slot->rate);
        slot->last = now;
    }
    slot->step = p->step;
    slot->steps = p->steps;
    slot->loss = p->loss;
    slot->alpha = p->alpha;
    const double share = p->steps ? (double)p->step / (double)p->steps : 0;
    slot->share = fmax(slot->share, fmin(share, 1));
}

double app_bar_slot_left(const bar_slot *slot)
{
    return slot->rate > 0 && slot->steps >= slot->step
               ? (double)(slot->steps - slot->step) / slot->rate
               : (double)NAN;
}

/* Seconds left of the run: from the share of jobs done, once there is enough of it; before, from
 * the estimate. */
static double run_left(const app_bars *b, double now)
{
    double done = (double)(b->done - b->done_before);
    for (size_t i = 0; i < b->slots; i++)
        done += b->slot[i].busy ? b->slot[i].share : 0;
    const size_t jobs = b->jobs - b->done_before;
    const double share = jobs ? fmin(done / (double)jobs, 1) : 0, passed = now - b->began;
    if (share > 0.05 || (!(b->estimate > 0) && share > 0.01))
        return passed * (1 - share) / share;
    return b->estimate > 0 ? fmax(b->estimate - passed, 0) : (double)NAN;
}

/* ---- Where it goes --------------------------------------------------------------------------- */

static bool names_utf8(const char *locale)
{
    return locale && (strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "UTF8") ||
                      strstr(locale, "utf-8"));
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void look_around(app_bars *b)
{
    const char *term = variable("TERM");
    b->o.mode = isatty(fileno(b->o.stream)) && term && strcmp(term, "dumb") != 0 ? APP_BARS_TERMINAL
                                                                                 : APP_BARS_PLAIN;
    b->o.colour = !variable("NO_COLOR");
    const char *locale = variable("LC_ALL");
    locale = locale ? locale : variable("LC_CTYPE");
    b->o.utf8 = names_utf8(locale ? locale : variable("LANG"));
    b->measure = true;
}

void app_bars_measure(app_bars *b)
{
    if (!b->measure)
        return;
    struct winsize size;
    b->o.width = b->o.height = 0;
    if (ioctl(fileno(b->o.stream), TIOCGWINSZ, &size) == 0) {
        b->o.width = size.ws_col;
        b->o.height = size.ws_row;
    }
    const char *columns = variable("COLUMNS");
    if (!b->o.width && columns)
        b->o.width = strtoul(columns, NULL, 10);
    if (!b->o.width || b->o.width > 10000)
        b->o.width = 80;
    if (!b->o.height)
        b->o.height = 24;
}

app_bars *app_bars_new(const app_bars_options *options)
{
    app_bars *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    if (options)
        b->o = *options;
    b->o.stream = b->o.stream ? b->o.stream : stderr;
    b->o.now = b->o.now ? b->o.now : hs_seconds;
    if (b->o.mode == APP_BARS_AUTO)
        look_around(b);
    b->began = b->o.now();
    b->estimate = (double)NAN;
    return b;
}

void app_bars_free(app_bars *b)
{
    if (!b)
        return;
    app_bars_clear(b);
    free(b->slot);
    free(b);
}

/* A line of its own, above those that are drawn. */
static void say(app_bars *b, const char *format, ...) HS_PRINTF(2, 3);

static void say(app_bars *b, const char *format, ...)
{
    app_bars_clear(b);
    va_list arguments;
    va_start(arguments, format);
    app_vprint_visible(b->o.stream, format, arguments);
    va_end(arguments);
    fputc('\n', b->o.stream);
    fflush(b->o.stream);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Room for slots; without memory the run goes on unseen. */
static bool has_slot(app_bars *b, size_t slot)
{
    if (slot < b->slots)
        return true;
    bar_slot *more = slot < 4096 ? realloc(b->slot, (slot + 1) * sizeof *more) : NULL;
    if (!more)
        return false;
    memset(more + b->slots, 0, (slot + 1 - b->slots) * sizeof *more);
    b->slot = more;
    b->slots = slot + 1;
    return true;
}

static void announce(app_bars *b, const app_event *e, double now)
{
    b->jobs = e->jobs;
    b->done = b->done_before = e->job < e->jobs ? e->job : e->jobs;
    b->estimate = e->estimate;
    b->began = now;
    if (b->o.quiet)
        return;
    char about[APP_DURATION_TEXT + 16] = "", done[48] = "", text[APP_DURATION_TEXT];
    if (e->estimate > 0)
        snprintf(about, sizeof about, ", about %s", app_duration(e->estimate, text));
    if (b->done)
        snprintf(done, sizeof done, ", %zu of them done before", b->done);
    say(b, "%s%s%zu job%s%s, %zu at a time%s", e->label ? e->label : "", e->label ? ": " : "",
        e->jobs, e->jobs == 1 ? "" : "s", done, e->workers ? e->workers : 1, about);
}

static void job_begins(app_bars *b, const app_event *e, double now)
{
    bar_slot *slot = &b->slot[e->slot];
    *slot = (bar_slot){ .busy = true, .job = e->job, .said = now };
    snprintf(slot->label, sizeof slot->label, "%s", e->label ? e->label : "");
    begin_phase(slot, "", now);
    b->jobs = e->jobs;
    if (!b->o.quiet && b->o.mode == APP_BARS_PLAIN)
        say(b, "%s: begins", slot->label);
}

static void job_ends(app_bars *b, const app_event *e)
{
    bar_slot *slot = &b->slot[e->slot];
    slot->busy = false;
    b->done = e->job;
    if (b->o.quiet && !e->failed)
        return;
    const bool text = e->text && *e->text;
    say(b, "[%zu/%zu] %s: %s%s%s", e->job, e->jobs, e->label ? e->label : slot->label,
        e->failed ? "failed"
        : text    ? ""
                  : "done",
        e->failed && text ? ": " : "", text ? e->text : "");
}

static void job_progress(app_bars *b, const app_event *e, double now)
{
    static const double pause = 5; /* seconds between plain lines of a job */
    bar_slot *slot = &b->slot[e->slot];
    follow(slot, e->progress, now);
    if (b->o.quiet || b->o.mode != APP_BARS_PLAIN || now - slot->said < pause)
        return;
    slot->said = now;
    char line[512];
    app_bars_plain_line(slot, line, sizeof line);
    say(b, "%s", line);
}

bool app_bars_watch(const app_event *e, void *context)
{
    app_bars *b = context;
    if (!b)
        return !app_interrupted();
    const double now = b->o.now();
    const bool placed =
        e->kind == APP_JOB_BEGINS || e->kind == APP_JOB_PROGRESS || e->kind == APP_JOB_ENDS;
    if (app_interrupted() && !b->stopping) {
        b->stopping = true;
        if (!b->o.quiet)
            say(b, "Stopping, and saving what there is; Ctrl-C again stops at once.");
    }
    if (placed && !has_slot(b, e->slot))
        return !app_interrupted();
    switch (e->kind) {
    case APP_RUN_BEGINS:
        announce(b, e, now);
        break;
    case APP_JOB_BEGINS:
        job_begins(b, e, now);
        break;
    case APP_JOB_PROGRESS:
        if (e->progress)
            job_progress(b, e, now);
        break;
    case APP_JOB_ENDS:
        job_ends(b, e);
        break;
    case APP_RUN_MESSAGE:
        if (!b->o.quiet && e->text)
            say(b, "%s", e->text);
        break;
    case APP_RUN_ENDS:
        app_bars_clear(b);
        return !app_interrupted();
    }
    if (!b->o.quiet && b->o.mode == APP_BARS_TERMINAL && b->jobs)
        app_bars_draw(b, now, run_left(b, now), e->kind != APP_JOB_PROGRESS);
    return !app_interrupted();
}

/* ---- A few jobs, one after the other --------------------------------------------------------- */

void app_bars_begin(app_bars *b, size_t job, size_t jobs, const char *label)
{
    if (b)
        app_bars_watch(
            &(app_event){
                .kind = APP_JOB_BEGINS, .job = job, .jobs = jobs, .label = label, .workers = 1 },
            b);
}

bool app_bars_progress(const hs_progress *progress, void *context)
{
    app_bars *b = context;
    return app_bars_watch(
        &(app_event){
            .kind = APP_JOB_PROGRESS, .jobs = b ? b->jobs : 0, .workers = 1, .progress = progress },
        b);
}

void app_bars_end(app_bars *b, const char *text, bool failed)
{
    if (!b || !b->slots)
        return;
    app_bars_watch(&(app_event){ .kind = APP_JOB_ENDS,
                                 .job = b->slot[0].job + 1,
                                 .jobs = b->jobs,
                                 .text = text,
                                 .failed = failed,
                                 .workers = 1 },
                   b);
    app_bars_clear(b); /* the result may come next */
}
