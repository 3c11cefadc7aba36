/**
 * OpenBLAS: the one place where Hastings calls it.
 *
 *     double c[2][2];                                    // a 2 x 3, b 3 x 2, row-major
 *     hs_blas_multiply(HS_F64, 2, 2, 3, a, 3, false, b, 2, false, c, 2, false);
 *
 * OpenBLAS always runs on the calling thread alone: its own threads would change the order of summation and compete
 * with ours. A program that links Hastings therefore starts with OpenBLAS set to one thread. A program that calls
 * OpenBLAS itself may set more with openblas_set_num_threads() while Hastings computes no product.
 *
 * The caller owns all memory. Any number of threads may call at once.
 */
#ifndef HASTINGS_TENSOR_BLAS_H
#define HASTINGS_TENSOR_BLAS_H

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/shape.h>

/**
 * Returns the instruction set of the kernels that OpenBLAS chose for itself. It may be lower than hs_cpu_isa(): a
 * release older than the processor may fall back to its oldest kernels, unless the environment variable
 * OPENBLAS_CORETYPE names a core, such as SkylakeX. Release 0.3.21 ran SSE3 code on an AVX-512 machine, at a fifth of
 * the speed.
 */
HS_API hs_isa hs_blas_isa(void);

/** Returns the version and the options of the OpenBLAS that runs, in its own words. OpenBLAS owns the text. */
HS_API const char *hs_blas_name(void);

HS_API bool hs_blas_fits(size_t n); /**< true if OpenBLAS's integers can hold the size */

/**
 * Computes c = op(a) op(b), or adds the product to c if `accumulate`. All matrices are row-major. op transposes a
 * matrix whose flag is set: op(a) is m x k, op(b) is k x n, and c is m x n. The rows of a, b and c, as stored, are
 * a_stride, b_stride and c_stride numbers apart. All sizes and strides must fit, see hs_blas_fits().
 */
HS_API void hs_blas_multiply(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                             size_t a_stride, bool transpose_a, const void *b, size_t b_stride,
                             bool transpose_b, void *c, size_t c_stride, bool accumulate);

#endif
