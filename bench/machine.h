/* What the machine is, and what it can do at most: multiply-adds, exponentials and memory traffic, by the threads that
 * are asked for. */
#ifndef HASTINGS_BENCH_MACHINE_H
#define HASTINGS_BENCH_MACHINE_H

#include <hastings/tensor/shape.h>

/* The name under which the processor is sold, as the kernel tells it; "unknown processor" if it does not. */
void machine_processor(char *name, size_t size);

/* GFLOP/s of fused multiply-adds; 0 where there is no loop for the instruction set. */
double machine_peak(hs_dtype dtype, int threads);

/* 10^9 exponentials in f32 per second, of numbers in the first-level cache. */
double machine_exponentials(int threads);

/* GB/s of reading memory that is not in a cache, and of Adam's pattern: three arrays read and written. NaN without
 * memory. */
double machine_read(int threads);
double machine_update(int threads);

#endif
