#include <hastings/tensor/threads.h>

#ifdef _OPENMP
#include <omp.h>
#endif

int hs_threads_default(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

void hs_parallel_for(int threads, int parts, void (*body)(int part, void *context), void *context)
{
    if (threads > parts)
        threads = parts;
    if (threads <= 1) {
        for (int part = 0; part < parts; part++)
            body(part, context);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int part = 0; part < parts; part++)
        body(part, context);
}

int hs_thread_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
