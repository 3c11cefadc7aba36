#include <hastings/tensor/blas.h>

#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <strings.h>

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static hs_isa isa = HS_ISA_BASE;

/* OpenBLAS built without threads hands the same buffer to two callers at once (0.3.21: wrong numbers
 * in one small product of a hundred). A lock lets one thread at a time into such a build. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static bool needs_lock;

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcasecmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* A threaded build starts its threads when it is loaded. For some 30 ms they wait for work on cores that our first steps
 * need. So we stop them before main(), while nobody can be using them. OpenBLAS itself calls this function before a fork,
 * but its headers do not declare it. */
extern void blas_thread_shutdown_(void) __attribute__((weak));

__attribute__((constructor)) static void stop_its_threads(void)
{
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_)
        blas_thread_shutdown_();
}

static void prepare(void)
{
    static const char *const avx512[] = { "SkylakeX", "Cooperlake", "SapphireRapids", NULL };
    static const char *const avx2[] = { "Haswell", "Zen", "Excavator", NULL };
    needs_lock = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    const char *core = openblas_get_corename();
    if (is_one_of(core, avx512))
        isa = HS_ISA_AVX512;
    else if (is_one_of(core, avx2))
        isa = HS_ISA_AVX2;
}

hs_isa hs_blas_isa(void)
{
    pthread_once(&prepared, prepare);
    return isa;
}

const char *hs_blas_name(void)
{
    return openblas_get_config();
}

bool hs_blas_fits(size_t n)
{
    return n <= INT_MAX;
}

void hs_blas_multiply(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a, size_t a_stride,
                      bool transpose_a, const void *b, size_t b_stride, bool transpose_b, void *c,
                      size_t c_stride, bool accumulate)
{
    pthread_once(&prepared, prepare);
    const enum CBLAS_TRANSPOSE op_a = transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE op_b = transpose_b ? CblasTrans : CblasNoTrans;
    if (needs_lock)
        pthread_mutex_lock(&one_at_a_time);
    if (dtype == HS_F32)
        cblas_sgemm(CblasRowMajor, op_a, op_b, (int)m, (int)n, (int)k, 1.0f, a, (int)a_stride, b,
                    (int)b_stride, accumulate ? 1.0f : 0.0f, c, (int)c_stride);
    else
        cblas_dgemm(CblasRowMajor, op_a, op_b, (int)m, (int)n, (int)k, 1.0, a, (int)a_stride, b,
                    (int)b_stride, accumulate ? 1.0 : 0.0, c, (int)c_stride);
    if (needs_lock)
        pthread_mutex_unlock(&one_at_a_time);
}
