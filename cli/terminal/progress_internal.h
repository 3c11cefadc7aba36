/* Shared by progress.c, which follows a run, and progress_draw.c, which draws it. */
#ifndef HASTINGS_CLI_TERMINAL_PROGRESS_INTERNAL_H
#define HASTINGS_CLI_TERMINAL_PROGRESS_INTERNAL_H

#include <hastings/cli/terminal/progress.h>

typedef struct {
    bool busy;
    size_t job;
    char label[128], what[16];
    uint64_t step, steps;
    double loss, alpha;
    double rate;        /* steps a second */
    double began, last; /* times of the first and the last report of the phase */
    double share;       /* of the job that is done, as far as known */
    double said;        /* when the last plain line was written */
} bar_slot;

struct app_bars {
    app_bars_options o;
    bool measure, stopping;
    size_t slots, jobs, done;
    size_t done_before; /* by the run that is resumed */
    bar_slot *slot;
    double began, estimate, drawn_at;
    size_t drawn; /* lines that are on the terminal now */
};

/* Seconds left of the phase; NaN if not known. */
double app_bar_slot_left(const bar_slot *slot);

/* Reads width and height, if the stream is a terminal that may change. */
void app_bars_measure(app_bars *b);

/* Draws all lines over the old ones; not too often, unless `at_once`. */
void app_bars_draw(app_bars *b, double now, double left, bool at_once);

/* Removes the lines that are drawn. */
void app_bars_clear(app_bars *b);

/* "L=8: train 52%, 2210/s, 0:04 left, loss 0.513, acceptance 0.66" */
void app_bars_plain_line(const bar_slot *slot, char *line, size_t size);

#endif
