/* A disk that fills up, made of the limit on the size of files:
 *
 *     fill_disk_after(1000);
 *     const hs_status status = ...      // writes of more than 1000 bytes to a file fail
 *     empty_disk();
 *     ck_assert_int_eq(status, HS_EIO);
 *
 * No ck_assert in between: Check writes its place into a file too, with the path of the source, and would find
 * that file cut short where paths are long.
 */
#ifndef HASTINGS_TESTS_SUPPORT_FULL_DISK_H
#define HASTINGS_TESTS_SUPPORT_FULL_DISK_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
        limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
        if (setrlimit(RLIMIT_FSIZE, &limit) == 0)
            return;
    }
    perror("limiting the size of files");
    abort();
}

static void fill_disk_after(size_t bytes)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_files(bytes);
}

static void empty_disk(void)
{
    limit_files(RLIM_INFINITY);
    signal(SIGXFSZ, SIG_DFL);
}

#endif
