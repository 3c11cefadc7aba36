/* The tables of docs/performance.md, each from a list of rows. `all` is the number of threads that is
 * not one. */
#ifndef HASTINGS_BENCH_TABLES_H
#define HASTINGS_BENCH_TABLES_H

#include <jansson.h>

#include <hastings/cli/report/buffer.h>

/* In how many rows we are ahead of the peers, and which rows a peer is ahead in. */
void write_summary(app_buffer *page, const json_t *steps, const json_t *sampling, int all);

void write_steps(app_buffer *page, const json_t *steps, int all);
void write_sampling(app_buffer *page, const json_t *list, int all);
void write_first(app_buffer *page, const json_t *list);
void write_scaling(app_buffer *page, const json_t *list);

#endif
