/* What bench_steps measures. Each part puts its rows into the result. */
#ifndef HASTINGS_BENCH_PARTS_H
#define HASTINGS_BENCH_PARTS_H

#include "contenders.h"
#include "run.h"

/* gradients.c: every case with every objective in both types, PyTorch as it is beside our loss and gradient; and the
 * time of gradient steps. */
void measure_checks(const settings *set, contenders *all);
void measure_steps(const settings *set, contenders *all);

/* transitions.c: chains on posteriors; and the i-th kind of them, and how many they are, NULL after the last. */
void measure_sampling(const settings *set, contenders *all);
const char *sampling_kind(size_t i);
const char *sampling_chains(size_t i);

/* first.c: processes to their first gradient step; and such a process, which returns its exit code. */
void measure_first(const settings *set);
int first_step(const char *name);

/* scaling.c: steps of growing size, and on more threads than cores. */
void measure_scaling(const settings *set);

#endif
