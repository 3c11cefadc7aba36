#include <hastings/tensor/shape.h>

#include <stdint.h>
#include <stdio.h>

const char *hs_dtype_name(hs_dtype dtype)
{
    return dtype == HS_F32 ? "f32" : "f64";
}

hs_shape hs_shape_of(const size_t *dim, int rank)
{
    hs_shape shape = { rank, { 0 } };
    if (rank < 0 || rank > HS_MAX_RANK)
        shape.rank = -1;
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = dim[i];
    return shape;
}

bool hs_size_mul(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* A factor of 0 gives 0, also beside factors whose product does not fit. */
size_t hs_size_product_of(const size_t *sizes, size_t n)
{
    size_t product = 1;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        if (sizes[i] == 0)
            return 0;
        fits = fits && hs_size_mul(product, sizes[i], &product);
    }
    return fits ? product : SIZE_MAX;
}

size_t hs_shape_count(const hs_shape *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->dim[i];
    return count;
}

bool hs_shape_valid(const hs_shape *shape)
{
    if (shape->rank < 0 || shape->rank > HS_MAX_RANK)
        return false;
    size_t bytes = 16; /* room for any number type, and for rounding up to alignment */
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] == 0 || !hs_size_mul(bytes, shape->dim[i], &bytes))
            return false;
    return bytes <= (size_t)PTRDIFF_MAX;
}

bool hs_shape_equal(const hs_shape *a, const hs_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

bool hs_shape_broadcast(const hs_shape *a, const hs_shape *b, hs_shape *out)
{
    const hs_shape *wide = a->rank >= b->rank ? a : b;
    const hs_shape *narrow = a->rank >= b->rank ? b : a;
    const int shift = wide->rank - narrow->rank;
    hs_shape result = *wide;
    for (int i = 0; i < narrow->rank; i++) {
        const size_t w = wide->dim[i + shift], n = narrow->dim[i];
        if (w != n && w != 1 && n != 1)
            return false;
        result.dim[i + shift] = w == 1 ? n : w;
    }
    *out = result;
    return true;
}

const char *hs_shape_text(const hs_shape *shape, char text[HS_SHAPE_TEXT])
{
    if (shape->rank <= 0) {
        snprintf(text, HS_SHAPE_TEXT, shape->rank == 0 ? "scalar" : "invalid");
        return text;
    }
    int used = 0;
    for (int i = 0; i < shape->rank; i++)
        used += snprintf(text + used, (size_t)(HS_SHAPE_TEXT - used), "%s%zu", i ? ", " : "[",
                         shape->dim[i]);
    snprintf(text + used, (size_t)(HS_SHAPE_TEXT - used), "]");
    return text;
}
