/**
 * Numbers whose type is known at run time, and what is done with a few numbers everywhere.
 *
 *     double x = hs_number_get(HS_F32, values, 3);    // ((float *)values)[3]
 *     hs_number_set(HS_F32, values, 3, 2 * x);
 */
#ifndef HASTINGS_TENSOR_NUMBER_H
#define HASTINGS_TENSOR_NUMBER_H

#include <hastings/tensor/shape.h>

/** log(2 pi): every density of a normal distribution has it. */
#define HS_LOG_2PI 1.83787706640934548356

/** Number `i` of an array of this type. */
static inline double hs_number_get(hs_dtype dtype, const void *numbers, size_t i)
{
    return dtype == HS_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/** Sets number `i` of an array of this type; rounds to the nearest. */
static inline void hs_number_set(hs_dtype dtype, void *numbers, size_t i, double value)
{
    if (dtype == HS_F32)
        ((float *)numbers)[i] = (float)value;
    else
        ((double *)numbers)[i] = value;
}

/** True if x is one of 0, 1, 2, ..., most. */
HS_API bool hs_is_whole(double x, double most);

/** Copies `n` numbers of this type to doubles. */
HS_API void hs_numbers_get(hs_dtype dtype, const void *numbers, size_t n, double *to);

/** Copies `n` doubles to numbers of this type. */
HS_API void hs_numbers_set(hs_dtype dtype, void *numbers, size_t n, const double *from);

/** Turns `n` integers or numbers of `size` bytes (at most 8) from the order of bytes of this machine
 *  into that of files, little-endian, or back. */
HS_API void hs_little_endian(void *numbers, size_t size, size_t n);

/** Sorts upwards, in place and without memory; NaN comes last. */
HS_API void hs_sort(double *x, size_t n);

/** The median, or the mean of the middle two. Sorts the numbers, of which there is at least one. */
HS_API double hs_median(double *x, size_t n);

#endif
