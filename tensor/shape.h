/**
 * Shapes and number types.
 *
 * A shape has up to HS_MAX_RANK axes, stored first axis first; rank 0 is a
 * scalar. Shapes broadcast as in NumPy: aligned at their last axes, an axis of
 * length 1 stretches.
 *
 *     hs_shape s = hs_dims(3, 4);          // a 3 x 4 matrix
 *     hs_shape v = hs_dims(4);             // a vector of 4
 *     hs_shape r;                          // r = 3 x 4
 *     bool ok = hs_shape_broadcast(&s, &v, &r);
 */
#ifndef HASTINGS_TENSOR_SHAPE_H
#define HASTINGS_TENSOR_SHAPE_H

#include <hastings/tensor/api.h>

#include <stdbool.h>
#include <stddef.h>

typedef enum { HS_F32, HS_F64 } hs_dtype;

/** Bytes of one number. */
static inline size_t hs_dtype_size(hs_dtype dtype)
{
    return dtype == HS_F32 ? 4 : 8;
}

/** "f32" or "f64". */
HS_API const char *hs_dtype_name(hs_dtype dtype);

enum { HS_MAX_RANK = 4 };

typedef struct {
    int rank;
    size_t dim[HS_MAX_RANK];
} hs_shape;

/** A shape from its axis lengths: hs_dims(2, 3). A scalar's shape is hs_scalar_shape(). */
#define hs_dims(...)                                                                               \
    hs_shape_of((const size_t[]){ __VA_ARGS__ },                                                   \
                (int)(sizeof((const size_t[]){ __VA_ARGS__ }) / sizeof(size_t)))

/** The shape of `rank` axes with the lengths in `dim`. rank > HS_MAX_RANK gives an invalid shape
 *  (rank -1), which every recording function reports. */
HS_API hs_shape hs_shape_of(const size_t *dim, int rank);
static inline hs_shape hs_scalar_shape(void)
{
    return (hs_shape){ 0, { 0 } };
}

/** Number of elements; 1 for a scalar. Only for shapes that hs_shape_valid() accepts. */
HS_API size_t hs_shape_count(const hs_shape *shape);

/** True if the rank is in range, no axis is empty, and count * 16 does not overflow size_t. */
HS_API bool hs_shape_valid(const hs_shape *shape);

HS_API bool hs_shape_equal(const hs_shape *a, const hs_shape *b);

/** The common shape of a and b; false if they do not broadcast. */
HS_API bool hs_shape_broadcast(const hs_shape *a, const hs_shape *b, hs_shape *out);

/** Room for any shape as text. */
enum { HS_SHAPE_TEXT = 4 + HS_MAX_RANK * 22 };

/** Writes "[3, 4]", or "scalar", and returns text. */
HS_API const char *hs_shape_text(const hs_shape *shape, char text[HS_SHAPE_TEXT]);

/** a * b into *out; false if it overflows. */
HS_API bool hs_size_mul(size_t a, size_t b, size_t *out);

#endif
