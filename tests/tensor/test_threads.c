/* Loops over parts run every part once, from any number of callers, also nested and after a fork; and a pace takes several
 * threads where they pay off, and one where they do not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <omp.h>

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/threads.h>

#include "support/hs_check.h"
#include "support/many_cores.h"

enum { PARTS = 1000 };

typedef struct {
    atomic_int done[PARTS];
    atomic_int highest_index;
    int inner; /* parts of a nested call */
} record;

static void note_part(int part, void *context)
{
    record *r = context;
    atomic_fetch_add(&r->done[part], 1);
    int highest = atomic_load(&r->highest_index);
    while (hs_thread_index() > highest &&
           !atomic_compare_exchange_weak(&r->highest_index, &highest, hs_thread_index()))
        ;
}

static void expect_each_once(const record *r, int parts)
{
    for (int i = 0; i < PARTS; i++)
        ck_assert_int_eq(atomic_load(&r->done[i]), i < parts);
}

START_TEST(every_part_runs_once)
{
    const int parts[] = { 0, 1, 2, 7, PARTS }, threads[] = { -1, 0, 1, 2, 3, 64 };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 6; k++)
            for (int again = 0; again < 50; again++) {
                record r = { .inner = 0 };
                hs_parallel_for(threads[k], parts[i], note_part, &r);
                expect_each_once(&r, parts[i]);
                ck_assert_int_lt(atomic_load(&r.highest_index), threads[k] > 1 ? threads[k] : 1);
                ck_assert_int_eq(hs_thread_index(), 0);
            }
}
END_TEST

static void nested_part(int part, void *context)
{
    static record inner[8];
    const int index = hs_thread_index();
    inner[part] = (record){ .inner = 1 };
    hs_parallel_for(4, PARTS, note_part, &inner[part]);
    expect_each_once(&inner[part], PARTS);
    ck_assert_int_eq(atomic_load(&inner[part].highest_index), 0); /* on this thread alone */
    ck_assert_int_eq(hs_thread_index(), index);
    note_part(part, context);
}

START_TEST(a_part_may_call_again)
{
    record r = { .inner = 1 };
    hs_parallel_for(4, 8, nested_part, &r);
    expect_each_once(&r, 8);
}
END_TEST

static void *call_many_times(void *context)
{
    bool *ok = context;
    *ok = true;
    for (int again = 0; again < 500; again++) {
        record r = { .inner = 0 };
        hs_parallel_for(3, 1 + again % 50, note_part, &r);
        for (int i = 0; i < 1 + again % 50; i++)
            *ok = *ok && atomic_load(&r.done[i]) == 1;
    }
    return NULL;
}

START_TEST(many_callers_at_once)
{
    enum { CALLERS = 6 };
    pthread_t caller[CALLERS];
    bool ok[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        ck_assert_int_eq(pthread_create(&caller[i], NULL, call_many_times, &ok[i]), 0);
    for (int i = 0; i < CALLERS; i++) {
        ck_assert_int_eq(pthread_join(caller[i], NULL), 0);
        ck_assert(ok[i]);
    }
}
END_TEST

/* A user's own region: each of its threads calls us, with and without regions inside of regions. */
START_TEST(callers_inside_a_region)
{
    omp_set_max_active_levels(1 + _i);
    bool ok[4] = { false, false, false, false };
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 4; i++)
        call_many_times(&ok[i]);
    for (int i = 0; i < 4; i++)
        ck_assert(ok[i]);
    omp_set_max_active_levels(1);
}
END_TEST

static void halve_least(int part, void *context)
{
    volatile float *least = context, half = 0.5f;
    least[part] *= half;
    for (volatile int wait = 0; wait < 20000; wait++)
        ; /* so that all threads take parts */
}

/* A number that is too small for full precision is 0 on every thread, or on none. */
START_TEST(denormals_are_as_the_caller_has_them)
{
    enum { MANY = 64 };
    float least[MANY];
    for (int flush = 0; flush < 2; flush++) {
        for (int i = 0; i < MANY; i++)
            least[i] = 0x1p-126f;
        hs_parallel_for(4, MANY, halve_least, least); /* threads that know nothing of it yet */
        for (int i = 0; i < MANY; i++)
            least[i] = 0x1p-126f;
        const unsigned before = flush ? hs_flush_denormals() : 0;
        hs_parallel_for(4, MANY, halve_least, least);
        if (flush)
            hs_restore_denormals(before);
        for (int i = 0; i < MANY; i++)
            ck_assert_int_eq(memcmp(&least[i], &(float){ flush ? 0 : 0x1p-127f }, sizeof *least),
                             0);
    }
}
END_TEST

static void *spin(void *context)
{
    const atomic_bool *stop = context;
    while (!atomic_load_explicit(stop, memory_order_relaxed))
        ;
    return NULL;
}

START_TEST(beside_threads_that_spin)
{
    enum { SPINNING = 6 };
    pthread_t thread[SPINNING];
    atomic_bool stop = false;
    bool ok;
    for (int i = 0; i < SPINNING; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, spin, &stop), 0);
    for (int again = 0; again < 20; again++) {
        record r = { .inner = 0 };
        hs_parallel_for(3, PARTS, note_part, &r);
        expect_each_once(&r, PARTS);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < SPINNING; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    call_many_times(&ok);
    ck_assert(ok);
}
END_TEST

static void note_place(int part, void *context)
{
    int *place = context;
    place[part] = omp_get_place_num();
}

/* CTest runs this program once more with OMP_NUM_THREADS and OMP_PLACES set. */
START_TEST(openmp_variables_apply)
{
    const char *number = getenv("OMP_NUM_THREADS");
    int place[8];
    if (number)
        ck_assert_int_eq(hs_threads_default(), atoi(number));
    hs_parallel_for(2, 8, note_place, place);
    for (int i = 0; getenv("OMP_PLACES") && i < 8; i++) {
        ck_assert_int_ge(place[i], 0);
        ck_assert_int_lt(place[i], omp_get_num_places());
    }
}
END_TEST

START_TEST(a_fork_does_not_wait_for_threads_of_its_parent)
{
    record before = { .inner = 0 };
    hs_parallel_for(4, PARTS, note_part, &before);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool ok;
        call_many_times(&ok);
        _exit(ok ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect_each_once(&before, PARTS);
    ck_assert_int_ge(hs_threads_default(), 1);
}
END_TEST

/* ---- Pace: runs are simulated, by moving the time at which they began ------------------------ */

typedef struct {
    double total; /* seconds of all runs */
    int several;  /* runs on several threads */
} tally;

/* Runs that take `alone` seconds on one thread and `together` on two. */
static tally simulate(hs_pace *pace, int runs, double alone, double together)
{
    tally t = { 0, 0 };
    for (int i = 0; i < runs; i++) {
        const bool several = hs_pace_begin(pace, 2) > 1;
        const double seconds = several ? together : alone;
        pace->began -= seconds;
        hs_pace_end(pace);
        t.total += seconds;
        t.several += several;
    }
    return t;
}

START_TEST(a_quiet_machine_uses_its_threads)
{
    const double alone[] = { 1e-3, 0.1, 10 };
    hs_pace pace = { 0 };
    const tally t = simulate(&pace, 2000, alone[_i], alone[_i] * 0.55);
    ck_assert_int_ge(t.several, 1980);
}
END_TEST

START_TEST(a_busy_machine_does_not_wait)
{
    const double alone[] = { 1e-3, 0.1, 10 };
    hs_pace pace = { 0 };
    for (int round = 0; round < 3; round++) { /* and the load comes and goes */
        ck_assert_int_ge(simulate(&pace, 2000, alone[_i], alone[_i] * 0.55).several, 1700);
        const tally t = simulate(&pace, 2000, alone[_i], alone[_i] * 5);
        ck_assert_double_lt(t.total, 1.1 * 2000 * alone[_i]);
        ck_assert_int_ge(t.several, 1);
    }
}
END_TEST

/* One interrupted run among a hundred good ones is no reason to give threads up. */
START_TEST(a_single_interruption_is_forgiven)
{
    hs_pace pace = { 0 };
    tally t = { 0, 0 };
    for (int i = 0; i < 20; i++) {
        t.several += simulate(&pace, 99, 1e-3, 0.55e-3).several;
        t.several += simulate(&pace, 1, 1e-3, 4e-3).several;
    }
    ck_assert_int_ge(t.several, 1900);
}
END_TEST

START_TEST(one_thread_is_not_measured)
{
    hs_pace pace = { 0 };
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(hs_pace_begin(&pace, 1), 1);
        hs_pace_end(&pace);
    }
    ck_assert_uint_eq(pace.runs, 0);
}
END_TEST

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_part_runs_once);
    tcase_add_test(tests, a_part_may_call_again);
    tcase_add_test(tests, many_callers_at_once);
    tcase_add_loop_test(tests, callers_inside_a_region, 0, 2);
    tcase_add_test(tests, denormals_are_as_the_caller_has_them);
    tcase_add_test(tests, beside_threads_that_spin);
    tcase_add_test(tests, openmp_variables_apply);
    tcase_add_test(tests, a_fork_does_not_wait_for_threads_of_its_parent);
    tcase_add_loop_test(tests, a_quiet_machine_uses_its_threads, 0, 3);
    tcase_add_loop_test(tests, a_busy_machine_does_not_wait, 0, 3);
    tcase_add_test(tests, a_single_interruption_is_forgiven);
    tcase_add_test(tests, one_thread_is_not_measured);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(threads_suite())
