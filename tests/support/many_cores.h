/* For tests of threads on machines with few cores: loops take no more threads than OpenMP says there are cores, and
 * this function, in the program itself, goes before OpenMP's own. */
#ifndef HASTINGS_TESTS_SUPPORT_MANY_CORES_H
#define HASTINGS_TESTS_SUPPORT_MANY_CORES_H

#ifdef _OPENMP
#include <omp.h>

int omp_get_num_procs(void)
{
    return 8;
}
#endif

#endif
