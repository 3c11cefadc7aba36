/* Threads are OpenMP's, and this is the only file that makes them.
 *
 * A region ends with a barrier, at which its threads wait for each other. Beside other busy programs, a thread may wait
 * for milliseconds until it gets a core, and a step of 0.3 ms would wait with it. Results do not depend on the number of
 * threads, so hs_pace measures whether threads pay off, and takes one thread where they do not. */
#include <hastings/tensor/threads.h>

#include <hastings/tensor/clock.h>
#include <hastings/tensor/cpu.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <omp.h>

/* ---- Regions -------------------------------------------------------------------------------- */

enum { MAX_THREADS = 256, CACHE_LINE = 64 };

/* Parts from `next` to `end`, of which any thread takes the next one. */
typedef struct {
    _Alignas(CACHE_LINE) atomic_int next;
    int end;
} part_range;

static _Thread_local int thread_index;

/* OpenMP's threads do not survive a fork, and a region of the child would wait for them forever. */
static atomic_bool has_threads, lost_threads;

static void lose_threads(void)
{
    if (atomic_load(&has_threads))
        atomic_store(&lost_threads, true);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, lose_threads);
}

/* Cores that this process may use. OpenMP asks the system at every call. */
static int cores(void)
{
    static atomic_int cached;
    int n = atomic_load_explicit(&cached, memory_order_relaxed);
    if (n == 0)
        atomic_store_explicit(&cached, n = omp_get_num_procs(), memory_order_relaxed);
    return n;
}

static int usable_threads(int wanted, int parts)
{
    const int limits[] = { parts, cores(), MAX_THREADS };
    for (int i = 0; i < 3; i++)
        wanted = wanted < limits[i] ? wanted : limits[i];
    const bool alone =
        omp_in_parallel() || atomic_load_explicit(&lost_threads, memory_order_relaxed);
    return alone ? 1 : wanted;
}

int hs_threads_default(void)
{
    return omp_get_max_threads();
}

int hs_thread_index(void)
{
    return thread_index;
}

void hs_parallel_for(int threads, int parts, void (*body)(int part, void *context), void *context)
{
    threads = usable_threads(threads, parts);
    if (threads <= 1) {
        const int index = thread_index;
        thread_index = 0;
        for (int part = 0; part < parts; part++)
            body(part, context);
        thread_index = index;
        return;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    atomic_store_explicit(&has_threads, true, memory_order_relaxed);
    part_range range[MAX_THREADS]; /* not cleared: it is long */
    for (int i = 0; i < threads; i++) {
        atomic_init(&range[i].next, (int)((long long)parts * i / threads));
        range[i].end = (int)((long long)parts * (i + 1) / threads);
    }
    /* All threads treat denormals as the caller does: bits must not depend on who runs a part. */
    const unsigned denormals = hs_flush_denormals();
    hs_restore_denormals(denormals);
#pragma omp parallel num_threads(threads)
    {
        const unsigned before = hs_flush_denormals();
        hs_restore_denormals(denormals);
        /* Each thread begins with the same range in every call, so that its data stay near its core, and helps others
         * when it is done. OpenMP may give fewer threads than asked for. */
        const int first = omp_get_thread_num();
        thread_index = first;
        for (int k = 0; k < threads; k++) {
            part_range *r = &range[(first + k) % threads];
            for (int part;
                 (part = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < r->end;)
                body(part, context);
        }
        thread_index = 0;
        hs_restore_denormals(before);
    }
}

/* ---- Pace ----------------------------------------------------------------------------------- */

/* Share of the time on one thread that trials of several threads may lose. It is small, since the threads of a trial may
 * also push the caller to a busy core, where it stays for a while. */
static const double allowance = 0.01;

/* The most credit: that many seconds, two or three times what a busy core makes a thread wait, and at
 * least the time of two runs on one thread, for the times of long runs scatter by more than that. */
static double most_credit(const hs_pace *pace)
{
    return fmax(0.01, 2 * pace->alone);
}

/* Runs that measure the time on one thread: the 2nd, 4th, 8th ... 256th, and each 256th after that. The
 * first run pays for cold caches and new threads, and is no measurement. A long run can wait for it: a
 * program may make only a few of them. */
static bool is_probe(const hs_pace *pace)
{
    const unsigned run = pace->runs, first = pace->together > 0.1 ? 16 : 2;
    return run >= first && ((run < 256 && (run & (run - 1)) == 0) || run % 256 == 0);
}

int hs_pace_begin(hs_pace *pace, int threads)
{
    pace->threads = usable_threads(threads, MAX_THREADS);
    if (pace->threads <= 1)
        return 1;
    pace->runs++;
    if (is_probe(pace) || pace->credit < 0)
        pace->threads = 1;
    pace->began = hs_seconds();
    return pace->threads;
}

void hs_pace_end(hs_pace *pace)
{
    if (pace->runs < 2)
        return;
    const double seconds = hs_seconds() - pace->began, alone = pace->alone;
    if (pace->threads > 1) {
        if (alone > 0)
            pace->credit = fmin(pace->credit + alone - seconds, most_credit(pace));
        pace->together = seconds;
        return;
    }
    /* A run that the machine interrupts must not make several threads look good: the time rises slowly. */
    pace->alone = alone > 0 ? fmin(seconds, 1.25 * alone) : seconds;
    if (alone == 0)
        pace->credit = seconds; /* one bad run is forgiven */
    else if (pace->credit < 0)
        pace->credit += allowance * seconds;
}
