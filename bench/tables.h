/* The tables of docs/performance.md, each from a list of rows. `all` is the number of threads that is not one. */
#ifndef HASTINGS_BENCH_TABLES_H
#define HASTINGS_BENCH_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Three digits, or a dash for NaN; | after it. */
void cell(FILE *out, double x, const char *unit);

/* Where we are ahead of the peers, and where they are; false after a message without memory. */
bool write_summary(FILE *out, const json_t *steps, const json_t *sampling, int all);

void write_steps(FILE *out, const json_t *steps, int all);
void write_sampling(FILE *out, const json_t *list, int all);
void write_first(FILE *out, const json_t *list);
void write_scaling(FILE *out, const json_t *list);

#endif
