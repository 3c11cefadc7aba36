/* What was aimed at, and what the figures say of it. */
#ifndef HASTINGS_BENCH_AIMS_H
#define HASTINGS_BENCH_AIMS_H

#include <stdio.h>

#include <jansson.h>

/* From the whole file; `all` is the number of threads that is not one. */
void write_aims(FILE *out, const json_t *file, int all);

#endif
