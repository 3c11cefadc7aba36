/* The pool of threads: every part once, from any number of callers, also nested and after a fork. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hastings/tensor/threads.h>

#include "support/hs_check.h"

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

START_TEST(a_fork_has_threads_of_its_own)
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

static Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("pool");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_part_runs_once);
    tcase_add_test(tests, a_part_may_call_again);
    tcase_add_test(tests, many_callers_at_once);
    tcase_add_test(tests, a_fork_has_threads_of_its_own);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(threads_suite())
