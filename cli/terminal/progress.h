/**
 * How a run is going, for people: lines that are drawn over and over on a terminal, plain lines elsewhere.
 *
 *     app_bars *bars = app_bars_new(&(app_bars_options){ .quiet = quiet });
 *     app_experiment_run(experiment, &(app_run_options){ .watch = app_bars_watch, .context = bars }, &message);
 *     app_bars_free(bars);
 *
 * On a terminal each slot of the run has a line,
 *
 *     train  ########........  52%   2210/s  0:04 left  loss 0.513  acc 0.66  L=8, Ab Initio, 2 of 5
 *     3 of 20 done, 0:45 so far, about 4:10 left
 *
 * which loses fields as the terminal gets narrower. Elsewhere (a file, a pipe, TERM=dumb) jobs say when
 * they begin and end, and every few seconds how far they are. The cursor is hidden only while lines are
 * being drawn, so that it is there however the program ends.
 *
 * Watching returns false after Ctrl-C (interrupt.h), and says so once.
 */
#ifndef HASTINGS_CLI_TERMINAL_PROGRESS_H
#define HASTINGS_CLI_TERMINAL_PROGRESS_H

#include <stdio.h>

#include <hastings/experiments/event.h>

typedef struct app_bars app_bars;

typedef enum {
    APP_BARS_AUTO, /**< by what the stream is, and the environment: TERM, NO_COLOR, locale, COLUMNS */
    APP_BARS_TERMINAL, /**< with the width, colour and letters that the options say */
    APP_BARS_PLAIN,
} app_bars_mode;

typedef struct {
    FILE *stream; /**< NULL: stderr */
    app_bars_mode mode;
    bool quiet; /**< nothing but failures */
    size_t width, height;
    bool colour, utf8;
    double (*now)(void); /**< seconds; NULL: a clock that never jumps */
} app_bars_options;

/** NULL options are all defaults. NULL without memory, which the functions below take for quiet. */
app_bars *app_bars_new(const app_bars_options *options);
void app_bars_free(app_bars *bars);

/** An app_watch, whose context is the bars. */
bool app_bars_watch(const app_event *event, void *bars);

/** For programs of a few jobs, one after the other: beginning and end of a job; and an
 *  hs_progress_function, whose context is the bars, for what the job calls. */
void app_bars_begin(app_bars *bars, size_t job, size_t jobs, const char *label);
bool app_bars_progress(const hs_progress *progress, void *bars);
void app_bars_end(app_bars *bars, const char *text, bool failed);

/** "0:04", "12:30", "3:05:00", "2 d 4 h"; "-" for what is not finite. */
enum { APP_DURATION_TEXT = 24 };
const char *app_duration(double seconds, char text[APP_DURATION_TEXT]);

#endif
