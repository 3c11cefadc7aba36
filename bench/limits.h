/* What the machine would allow: shares of its limits, from rows of the file that bench_steps writes. */
#ifndef HASTINGS_BENCH_LIMITS_H
#define HASTINGS_BENCH_LIMITS_H

#include <jansson.h>

/* Share of the limit that a gradient step reaches: multiply-adds of the products, or bytes where memory is the limit;
 * NaN if there are no products. `steps` is the list that the row is of. */
double share_of_steps(const json_t *steps, const json_t *row, int threads);

/* The same of chains: the products' multiply-adds, and one exponential for each row of the data and evaluation. */
double share_of_sampling(const json_t *sampling, const json_t *row, int threads);

#endif
