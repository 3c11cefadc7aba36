/* A pool of threads that nobody waits for.
 *
 * The caller of hs_parallel_for() posts a job and works on it itself; threads of the pool that are awake take parts
 * as well. Each begins with a range of its own, the same in every job of that size, so that what a part works on
 * stays near its core; who has finished helps with the other ranges. When no part is left, the caller waits for those
 * parts only that others have begun. A thread that is asleep, or
 * that a busy machine does not let run, costs nothing. With OpenMP's parallel regions, whose barrier waits for every
 * thread, steps of 0.3 ms took 8 ms beside one other process (docs/performance.md). */
#include <hastings/tensor/threads.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

enum { MAX_WORKERS = 255 };
typedef struct job job;
struct job {
    void (*body)(int part, void *context);
    void *context;
    int parts;
    atomic_int taken; /* parts, by all: when there are none left, nobody need come */
    atomic_int busy;  /* threads of the pool that may be inside a part */
    int helpers;      /* threads of the pool that have come, of at most `wanted` */
    int wanted;
    job *after;
    atomic_int next[MAX_WORKERS + 1]; /* part of each range */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that is not atomic */
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static job *jobs;             /* that want helpers */
static int workers, sleepers; /* threads there are, and those that wait for `posted` */
static atomic_uint postings;  /* counts jobs, for threads that look out for one without the lock */

static _Thread_local int thread_index;
static _Thread_local bool inside; /* a part: calls from there run on this thread alone */

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#endif
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Where a range of parts begins; ranges end where the next begins. */
static int range_begin(const job *j, int range)
{
    return (int)((long long)j->parts * range / (j->wanted + 1));
}

static void work_on(job *j, int index)
{
    const int ranges = j->wanted + 1;
    thread_index = index;
    inside = true;
    for (int k = 0; k < ranges; k++) {
        const int range = (index + k) % ranges, end = range_begin(j, range + 1);
        for (int part;
             (part = atomic_fetch_add_explicit(&j->next[range], 1, memory_order_relaxed)) < end;) {
            atomic_fetch_add_explicit(&j->taken, 1, memory_order_relaxed);
            j->body(part, j->context);
        }
    }
    inside = false;
    thread_index = 0;
}

/* The first job that has room for a helper, with the lock held. */
static job *find_job(void)
{
    for (job *j = jobs; j; j = j->after)
        if (j->helpers < j->wanted &&
            atomic_load_explicit(&j->taken, memory_order_relaxed) < j->parts)
            return j;
    return NULL;
}

/* Training posts a job every few hundred microseconds: it is worth a short look-out before going to sleep. */
static void look_out(unsigned seen)
{
    const double worth_it = 5e-5, until = now() + worth_it;
    for (int i = 1; atomic_load_explicit(&postings, memory_order_relaxed) == seen; i++) {
        relax();
        if (i % 64 == 0 && now() > until)
            return;
    }
}

static void *worker(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        job *j;
        while (!(j = find_job())) {
            const unsigned seen = atomic_load_explicit(&postings, memory_order_relaxed);
            pthread_mutex_unlock(&lock);
            look_out(seen);
            pthread_mutex_lock(&lock);
            if (atomic_load_explicit(&postings, memory_order_relaxed) == seen) {
                sleepers++;
                pthread_cond_wait(&posted, &lock);
                sleepers--;
            }
        }
        const int index = ++j->helpers;
        atomic_fetch_add_explicit(&j->busy, 1, memory_order_relaxed);
        pthread_mutex_unlock(&lock);
        work_on(j, index);
        atomic_fetch_sub_explicit(&j->busy, 1,
                                  memory_order_release); /* the last that is done with *j */
    }
    return NULL;
}

/* A process that was forked has the memory of its parent, but not its threads. */
static void forget_threads(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    posted = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    jobs = NULL;
    workers = sleepers = 0;
}

/* Starts threads until there are `wanted`, or as many as can be had; with the lock held. */
static void hire(int wanted)
{
    static bool prepared;
    if (!prepared)
        prepared = pthread_atfork(NULL, NULL, forget_threads) == 0;
    if (!prepared || workers >= wanted)
        return;
    sigset_t all, before; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; workers < wanted && workers < MAX_WORKERS; workers++)
        if (pthread_create(&thread, &detached, worker, NULL) != 0)
            break;
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Those that this process may use, and what OMP_NUM_THREADS says, are what OpenMP knows. */
static int cores(void)
{
#ifdef _OPENMP
    static atomic_int cached;
    int n = atomic_load_explicit(&cached, memory_order_relaxed);
    if (n == 0)
        atomic_store_explicit(&cached, n = omp_get_num_procs(), memory_order_relaxed);
    return n;
#else
    return 1;
#endif
}

int hs_threads_default(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int hs_thread_index(void)
{
    return thread_index;
}

void hs_parallel_for(int threads, int parts, void (*body)(int part, void *context), void *context)
{
    threads = threads < parts ? threads : parts;
    threads = threads < cores() ? threads : cores(); /* more would only take turns */
    threads = threads < MAX_WORKERS + 1 ? threads : MAX_WORKERS + 1;
    if (threads <= 1 || inside) {
        const int index = thread_index;
        thread_index = 0;
        for (int part = 0; part < parts; part++)
            body(part, context);
        thread_index = index;
        return;
    }
    job j; /* not cleared: its list of ranges is long */
    j.body = body;
    j.context = context;
    j.parts = parts;
    j.helpers = 0;
    j.wanted = threads - 1;
    atomic_init(&j.taken, 0);
    atomic_init(&j.busy, 0);
    for (int range = 0; range < threads; range++)
        atomic_init(&j.next[range], range_begin(&j, range));
    pthread_mutex_lock(&lock);
    hire(threads - 1);
    j.after = jobs;
    jobs = &j;
    atomic_fetch_add_explicit(&postings, 1, memory_order_relaxed);
    if (sleepers)
        pthread_cond_broadcast(&posted);
    pthread_mutex_unlock(&lock);
    work_on(&j, 0);
    pthread_mutex_lock(&lock); /* nobody may come any more */
    job **at = &jobs;
    while (*at != &j)
        at = &(*at)->after;
    *at = j.after;
    pthread_mutex_unlock(&lock);
    for (int i = 1; atomic_load_explicit(&j.busy, memory_order_acquire); i++) {
        relax();
        if (i % 64 == 0)
            sched_yield(); /* its thread may need this core */
    }
}
