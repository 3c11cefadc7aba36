/* The programs in Python that bench_steps compares with: PyTorch and JAX, each on one thread and on all. */
#ifndef HASTINGS_BENCH_CONTENDERS_H
#define HASTINGS_BENCH_CONTENDERS_H

#include "measure.h"
#include "run.h"

enum { PEERS = 2, TORCH = 0 };

extern const char *const peer_names[PEERS];
extern const char *const peer_scripts[PEERS];

typedef struct {
    peer process[PEERS][WAYS]; /* those that run have a `to` */
} contenders;

/* Starts the peers that are wanted, and notes their versions in the result. */
void contenders_start(contenders *all, const settings *set);
void contenders_stop(contenders *all);

/* Whether any peer runs; and whether one does in a way that is not measured already: all threads may be one. */
bool contenders_any(const contenders *all);
bool contender_runs(const contenders *all, const settings *set, int who, int way);

/* Asks a peer; returns the numbers in its answer, and complains about an answer without any. */
int contender_ask(contenders *all, int who, int way, const char *line, double *numbers, int most);

#endif
