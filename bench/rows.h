/* Reading rows of the file that bench_steps writes. What is not there is "" or NaN: not all is measured, and files of
 * before something was noted do not have it. */
#ifndef HASTINGS_BENCH_ROWS_H
#define HASTINGS_BENCH_ROWS_H

#include <jansson.h>

const char *text_of(const json_t *row, const char *key);

/* A number inside an object of a row, or of the row itself if `object` is NULL. */
double number_of(const json_t *row, const char *object, const char *key);

/* A number inside an object, of `who` ("" for the machine itself) on some threads. */
double of_threads(const json_t *row, const char *object, const char *who, int threads);

/* Seconds of a gradient step, and transitions a second, of who on some threads. */
double seconds_of(const json_t *row, const char *who, int threads);
double rate_of(const json_t *row, const char *who, int threads);

/* The time that something takes, be it steps or transitions. */
double time_of(const json_t *row, const char *who, int threads);

/* How many times as fast we are as the faster peer, in such a row. */
double times_faster(const json_t *row, int threads);

#endif
