/* Timing for the benchmarks: medians over repetitions, the machine's peak, and a peer process that
 * takes turns with us, so that what else the machine does hits both alike. */
#ifndef HASTINGS_BENCH_MEASURE_H
#define HASTINGS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stdio.h>

#include <hastings/tensor/shape.h>

/* The median of n numbers, which are sorted by it. */
double median(double *samples, size_t n);

/* Numbers of size 1, so that sums neither overflow nor become denormal, and a few more; ends the program without memory. */
void *make_numbers(hs_dtype dtype, size_t n);

/* One measurement (about 0.1 ms) of this core's rate of fused multiply-adds, in GFLOP/s; 0 where
 * there is no loop for the instruction set. */
double peak_once(hs_dtype dtype);

/* Median seconds of one call of `run`, over about `budget` seconds after a warm-up. */
double time_call(void (*run)(void *context), void *context, double budget);

/* A program that answers one line for each line it is sent. */
typedef struct {
    FILE *to, *from;
    int process;
} peer;

/* Starts a Python script; false if there is no Python or it does not say "ready". */
bool peer_start(peer *p, const char *script);

/* The same with an argument; `version` gets what it says after "ready". */
bool peer_start_with(peer *p, const char *script, const char *argument, char *version, size_t size);

/* Sends a line, and reads the numbers in the answer; returns how many there were. */
int peer_ask(peer *p, const char *line, double *numbers, int most);

/* The same, and keeps the answer, without its end of line. */
int peer_ask_text(peer *p, const char *line, double *numbers, int most, char *text, size_t size);
void peer_stop(peer *p);

#endif
