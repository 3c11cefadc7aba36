/**
 * OpenBLAS: the one place where it is called, always on the calling thread alone. Its own threads
 * would change the order of summation and compete with ours; so a program that has Hastings in it
 * starts with OpenBLAS set to one thread. One that calls OpenBLAS itself may set more
 * (openblas_set_num_threads()) for as long as Hastings does not compute a product.
 */
#ifndef HASTINGS_TENSOR_BLAS_H
#define HASTINGS_TENSOR_BLAS_H

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/shape.h>

/**
 * The instruction set of the kernels that OpenBLAS chose for itself. It may be lower than
 * hs_cpu_isa(): a release older than the processor may fall back to its oldest kernels (0.3.21 has
 * been seen to run SSE3 code on an AVX-512 machine, at a fifth of the speed), unless the environment
 * variable OPENBLAS_CORETYPE names a core, such as SkylakeX.
 */
HS_API hs_isa hs_blas_isa(void);

/** The version and the options of the OpenBLAS that runs, as it tells them. */
HS_API const char *hs_blas_name(void);

/** True if OpenBLAS's integers can hold the size. */
HS_API bool hs_blas_fits(size_t n);

/**
 * Row-major c (m x n, rows c_stride apart) = op(a) op(b), added to c if accumulate; op transposes
 * if the flag is set. op(a) is m x k and op(b) is k x n; a_stride and b_stride are the distances
 * of the rows of a and b as stored. All sizes and strides must fit, see hs_blas_fits().
 */
HS_API void hs_blas_multiply(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                             size_t a_stride, bool transpose_a, const void *b, size_t b_stride,
                             bool transpose_b, void *c, size_t c_stride, bool accumulate);

#endif
