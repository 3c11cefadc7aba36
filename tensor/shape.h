/**
 * Shapes and number types.
 *
 * A shape has up to HS_MAX_RANK axes, stored first axis first; rank 0 is a scalar. Shapes broadcast as in NumPy: they
 * are aligned at their last axes, and an axis of length 1 stretches.
 *
 *     hs_shape s = hs_dims(3, 4);          // a 3 x 4 matrix
 *     hs_shape v = hs_dims(4);             // a vector of 4
 *     hs_shape r;                          // becomes 3 x 4
 *     bool ok = hs_shape_broadcast(&s, &v, &r);
 *
 * A shape is a plain value: copy it freely, there is nothing to free. Any thread may call.
 */
#ifndef HASTINGS_TENSOR_SHAPE_H
#define HASTINGS_TENSOR_SHAPE_H

#include <hastings/tensor/api.h>

#include <stdbool.h>
#include <stddef.h>

/** A number type. */
typedef enum { HS_F32 /**< float */, HS_F64 /**< double */ } hs_dtype;

/** Returns the bytes of one number: 4 or 8. */
static inline size_t hs_dtype_size(hs_dtype dtype)
{
    return dtype == HS_F32 ? 4 : 8;
}

HS_API const char *hs_dtype_name(hs_dtype dtype); /**< "f32" or "f64" */

/** The largest number of axes. */
enum { HS_MAX_RANK = 4 };

/** The shape of a tensor. */
typedef struct {
    int rank;                /**< number of axes; -1 if the shape is invalid */
    size_t dim[HS_MAX_RANK]; /**< length of each axis */
} hs_shape;

/** The shape with the given axis lengths: hs_dims(2, 3). The shape of a scalar is hs_scalar_shape(). */
#define hs_dims(...)                                                                               \
    hs_shape_of((const size_t[]){ __VA_ARGS__ },                                                   \
                (int)(sizeof((const size_t[]){ __VA_ARGS__ }) / sizeof(size_t)))

/** Returns the shape of `rank` axes with the lengths in `dim`. A rank below 0 or above HS_MAX_RANK gives an invalid
 *  shape (rank -1), which every recording function reports. */
HS_API hs_shape hs_shape_of(const size_t *dim, int rank);
/** Returns the shape of a scalar. */
static inline hs_shape hs_scalar_shape(void)
{
    return (hs_shape){ 0, { 0 } };
}

/** Returns the number of elements, 1 for a scalar. hs_shape_valid() must accept the shape. */
HS_API size_t hs_shape_count(const hs_shape *shape);

/** True if the rank is in range, no axis is empty, and count * 16 bytes do not exceed PTRDIFF_MAX. */
HS_API bool hs_shape_valid(const hs_shape *shape);

/** True if both shapes have the same rank and the same lengths. */
HS_API bool hs_shape_equal(const hs_shape *a, const hs_shape *b);

/** Stores the common shape of a and b in *out; false, and *out unchanged, if they do not broadcast. */
HS_API bool hs_shape_broadcast(const hs_shape *a, const hs_shape *b, hs_shape *out);

/** The bytes that hold any shape as text. */
enum { HS_SHAPE_TEXT = 4 + HS_MAX_RANK * 22 };

/** Writes "[3, 4]", "scalar" or "invalid", and returns `text`. */
HS_API const char *hs_shape_text(const hs_shape *shape, char text[HS_SHAPE_TEXT]);

/** Stores a * b in *out; false if the product overflows. */
HS_API bool hs_size_mul(size_t a, size_t b, size_t *out);

/** The product of sizes: hs_size_product(rows, columns, sizeof(double)). SIZE_MAX if it does not fit, and there is no
 *  block of so many bytes, so that hs_alloc() fails. */
#define hs_size_product(...)                                                                       \
    hs_size_product_of((const size_t[]){ __VA_ARGS__ },                                            \
                       sizeof((const size_t[]){ __VA_ARGS__ }) / sizeof(size_t))

/** Returns the product of `n` sizes, or SIZE_MAX. */
HS_API size_t hs_size_product_of(const size_t *sizes, size_t n);

/** Returns a + b, or SIZE_MAX if the sum does not fit. */
static inline size_t hs_size_add(size_t a, size_t b)
{
    return a + b < a ? (size_t)-1 : a + b;
}

#endif
