/* What progress.c, which follows a run, and progress_draw.c, which draws it, share. */
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
    double began, last; /* of the phase: its beginning, and the last step that was seen */
    double share;       /* of the job that is done, as far as that is known */
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

/* Width and height, if they are those of a terminal that may change. */
void app_bars_measure(app_bars *b);

/* Draws all lines in place of those that are there; not too often, unless `at_once`. */
void app_bars_draw(app_bars *b, double now, double left, bool at_once);

/* Removes the lines that are drawn. */
void app_bars_clear(app_bars *b);

/* "L=8: train 52%, 2210/s, 0:04 left, loss 0.513, acceptance 0.66" */
void app_bars_plain_line(const bar_slot *slot, char *line, size_t size);

#endif
