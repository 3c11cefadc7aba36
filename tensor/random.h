/**
 * Random numbers that are addressed, not consumed.
 *
 * Philox4x32-10 (Salmon et al. 2011, Random123) as a pure function: the draw at
 * (seed, stream, step, row, column) can be made by any thread, at any time, in any order, and is
 * always the same number. So results do not depend on threads or on how a run was cut into pieces.
 *
 * The key is the seed; the counter is (row, column / 4, low word of step, stream and high part of
 * step). One counter gives the 32 leading bits of four columns; f64 takes the trailing bits from a
 * second counter (which differs in the top bit of the stream word), so that an f32 draw is the f64
 * draw at the same address in lower precision.
 *
 *     float z[100][4];                                    // row-major, as chains x dimensions
 *     hs_random_rows(HS_F32, HS_NORMAL, (hs_address){ .seed = 1, .stream = 7, .step = 0 },
 *                    0, 100, 4, z);
 */
#ifndef HASTINGS_TENSOR_RANDOM_H
#define HASTINGS_TENSOR_RANDOM_H

#include <stdint.h>

#include <hastings/tensor/shape.h>

/** HS_UNIFORM: the open interval (0, 1). HS_NORMAL: mean 0, variance 1 (Box-Muller, columns 2k and
 *  2k + 1 from one pair of uniforms). */
typedef enum { HS_UNIFORM, HS_NORMAL } hs_distribution;

/** Where draws come from; step < 2^48, stream < 2^15. Columns are counted from `column`, a multiple of 4. */
typedef struct {
    uint64_t seed;
    uint32_t stream;
    uint64_t step;
    uint32_t column;
} hs_address;

/** One draw, the reference for all the others; slow. */
HS_API double hs_random_at(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row,
                           uint32_t column);

/** out[column * stride + lane] for rows row0 + lane, lane < lanes, and columns 0 .. columns-1:
 *  the layout of shards. `out` and stride are aligned to HS_ALIGN bytes, and lanes up to the end of
 *  that many bytes get some draws as well: padding then never holds odd numbers. */
HS_API void hs_random_lanes(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0,
                            size_t lanes, size_t columns, void *out, size_t stride);

/** out[row * columns + column] for rows row0 .. row0+rows-1: the layout of users' arrays.
 *  Vectorised over columns; no alignment needed. */
HS_API void hs_random_rows(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0,
                           size_t rows, size_t columns, void *out);

#endif
