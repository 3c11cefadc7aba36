/* The aims, and the figures beside them. */
#ifndef HASTINGS_BENCH_AIMS_H
#define HASTINGS_BENCH_AIMS_H

#include <jansson.h>

#include <hastings/cli/report/buffer.h>

/* From the whole file; `all` is the number of threads that is not one. */
void write_aims(app_buffer *page, const json_t *file, int all);

#endif
