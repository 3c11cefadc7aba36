/* The page docs/performance.md and its chart, from what bench_steps measured. */
#ifndef HASTINGS_BENCH_REPORT_H
#define HASTINGS_BENCH_REPORT_H

#include <stdbool.h>

/* `notes` is a file that the page ends with. False after a message. */
bool report_write(const char *json, const char *notes, const char *markdown, const char *svg);

#endif
