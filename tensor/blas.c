#include <hastings/tensor/blas.h>

#include <cblas.h>
#include <limits.h>
#include <pthread.h>

static pthread_once_t pinned = PTHREAD_ONCE_INIT;

/* The library found at run time may be a threaded build, whatever was linked against. */
static void pin(void)
{
    openblas_set_num_threads(1);
}

bool hs_blas_fits(size_t n)
{
    return n <= INT_MAX;
}

void hs_blas_multiply(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a, size_t a_stride,
                      bool transpose_a, const void *b, size_t b_stride, bool transpose_b, void *c,
                      size_t c_stride, bool accumulate)
{
    pthread_once(&pinned, pin);
    const enum CBLAS_TRANSPOSE op_a = transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE op_b = transpose_b ? CblasTrans : CblasNoTrans;
    if (dtype == HS_F32)
        cblas_sgemm(CblasRowMajor, op_a, op_b, (int)m, (int)n, (int)k, 1.0f, a, (int)a_stride, b,
                    (int)b_stride, accumulate ? 1.0f : 0.0f, c, (int)c_stride);
    else
        cblas_dgemm(CblasRowMajor, op_a, op_b, (int)m, (int)n, (int)k, 1.0, a, (int)a_stride, b,
                    (int)b_stride, accumulate ? 1.0 : 0.0, c, (int)c_stride);
}
