/**
 * Threads: one loop over parts, and the choice of how many threads it takes.
 *
 *     static void sum_part(int part, void *context);        // writes sums[part]
 *
 *     hs_parallel_for(hs_threads_default(), parts, sum_part, &work);
 *
 * Threads are OpenMP's: OMP_NUM_THREADS, OMP_PROC_BIND and OMP_PLACES apply. The library cuts work into parts whose number
 * does not depend on the threads, so results have the same bits for any number of threads. Any thread may call these
 * functions, also from inside a parallel region of its own. OpenBLAS always runs on the calling thread alone: its own
 * threads would change the order of summation.
 */
#ifndef HASTINGS_TENSOR_THREADS_H
#define HASTINGS_TENSOR_THREADS_H

#include <hastings/tensor/api.h>

/** Threads of runs that do not say otherwise: OMP_NUM_THREADS, else all cores. */
HS_API int hs_threads_default(void);

/**
 * Runs body(part, context) for part = 0 .. parts-1 on up to `threads` threads, and returns when all parts are done. It takes
 * no more threads than there are cores. Each thread begins with a range of its own, the same in calls alike, and then helps
 * others; nobody can rely on which thread runs a part. A call from inside a body, or from inside a
 * parallel region of the caller's, runs on that thread alone, and so does a
 * call in a process that was forked after the first parallel call, for OpenMP's threads do not survive a fork.
 */
HS_API void hs_parallel_for(int threads, int parts, void (*body)(int part, void *context),
                            void *context);

/** The calling thread's number within hs_parallel_for(), below `threads`; 0 outside of it. */
HS_API int hs_thread_index(void);

/**
 * The pace of a call that is repeated many times: whether several threads make it faster, decided by measurement.
 *
 *     hs_pace pace = { 0 };                                  // one for each kind of call
 *     for (...) {
 *         const int threads = hs_pace_begin(&pace, wanted);
 *         hs_parallel_for(threads, parts, body, &work);      // the same work every time
 *         hs_pace_end(&pace);
 *     }
 *
 * Runs on several threads earn credit, the seconds by which they beat a run on one thread, or lose it. While there is
 * credit, the pace takes all threads. Without credit it takes one, and tries several again as soon as the trial cannot cost
 * more than a hundredth of the time. So a quiet machine uses its cores, and a busy one does not wait for them.
 */
typedef struct {
    double alone;    /**< seconds of a run on one thread */
    double together; /**< seconds of the last run on several threads */
    double credit;   /**< seconds that several threads have won, less those that they have lost */
    double began;    /**< when the present run began */
    unsigned runs;   /**< runs so far for which several threads were wanted */
    int threads;     /**< of the present run */
} hs_pace;

/** Begins a run for which `threads` threads are wanted. Returns how many it shall take: 1 or `threads`. */
HS_API int hs_pace_begin(hs_pace *pace, int threads);

HS_API void hs_pace_end(hs_pace *pace); /**< ends the run */

#endif
