/**
 * How a run is going, for people: lines that are drawn over and over on a terminal, plain lines elsewhere.
 *
 *     hs_bars *bars = hs_bars_new(&(hs_bars_options){ .quiet = quiet });
 *     hs_experiment_run(experiment, &(hs_run_options){ .watch = hs_bars_watch, .context = bars }, &message);
 *     hs_bars_free(bars);
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
#ifndef HASTINGS_CLI_PROGRESS_H
#define HASTINGS_CLI_PROGRESS_H

#include <stdio.h>

#include <hastings/experiments/event.h>

typedef struct hs_bars hs_bars;

typedef enum {
    HS_BARS_AUTO, /**< by what the stream is, and the environment: TERM, NO_COLOR, locale, COLUMNS */
    HS_BARS_TERMINAL, /**< with the width, colour and letters that the options say */
    HS_BARS_PLAIN,
} hs_bars_mode;

typedef struct {
    FILE *stream; /**< NULL: stderr */
    hs_bars_mode mode;
    bool quiet; /**< nothing but failures */
    size_t width, height;
    bool colour, utf8;
    double (*now)(void); /**< seconds; NULL: a clock that never jumps */
} hs_bars_options;

/** NULL options are all defaults. NULL without memory, which the functions below take for quiet. */
hs_bars *hs_bars_new(const hs_bars_options *options);
void hs_bars_free(hs_bars *bars);

/** An hs_watch, whose context is the bars. */
bool hs_bars_watch(const hs_event *event, void *bars);

/** For programs of a few jobs, one after the other: beginning and end of a job; and an
 *  hs_progress_function, whose context is the bars, for what the job calls. */
void hs_bars_begin(hs_bars *bars, size_t job, size_t jobs, const char *label);
bool hs_bars_progress(const hs_progress *progress, void *bars);
void hs_bars_end(hs_bars *bars, const char *text, bool failed);

/** "0:04", "12:30", "3:05:00", "2 d 4 h"; "-" for what is not finite. */
enum { HS_DURATION_TEXT = 24 };
const char *hs_duration(double seconds, char text[HS_DURATION_TEXT]);

#endif
