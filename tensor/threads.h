/**
 * Threads: the one place that decides how many there are.
 *
 * Work is cut into shards whose number does not depend on the threads, so
 * results are the same bits for any count. OpenBLAS always runs on the calling
 * thread alone: its own threading changes the order of summation.
 */
#ifndef HASTINGS_TENSOR_THREADS_H
#define HASTINGS_TENSOR_THREADS_H

#include <hastings/tensor/api.h>

/** Threads used by runs that do not say otherwise: OMP_NUM_THREADS, else all cores. */
HS_API int hs_threads_default(void);

/** Runs body(part, context) for part = 0 .. parts-1 on up to `threads` threads, and no more than there are cores;
 *  returns when all are done. Each thread begins with a range of its own, the same in calls alike, and helps others
 *  when it is done: who gets which part is not certain. Called from a body, it runs on that thread
 *  alone. Any number of threads may call it at once, and processes may fork. */
HS_API void hs_parallel_for(int threads, int parts, void (*body)(int part, void *context),
                            void *context);

/** The calling thread's number within hs_parallel_for(), below `threads`; 0 outside of it. */
HS_API int hs_thread_index(void);

#endif
