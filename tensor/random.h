/**
 * Random numbers that are addressed, not consumed.
 *
 * Philox4x32-10 (Salmon et al. 2011, Random123) as a pure function: any thread can make the draw at
 * (seed, stream, step, row, column) at any time, and always gets the same number. Results therefore depend neither on
 * threads nor on the pieces that a run is cut into.
 *
 *     float z[100][4];                                    // row-major, as chains x dimensions
 *     hs_random_rows(HS_F32, HS_NORMAL, (hs_address){ .seed = 1, .stream = 7, .step = 0 },
 *                    0, 100, 4, z);
 *
 * The key is the seed; the counter is (row, column / 4, low word of step, stream and high part of step). One counter
 * gives the 32 leading bits of four columns. f64 takes its trailing bits from a second counter, which differs in the
 * top bit of the stream word: an f32 draw is the f64 draw at the same address in lower precision.
 *
 * The caller owns all memory. Any number of threads may call at once.
 */
#ifndef HASTINGS_TENSOR_RANDOM_H
#define HASTINGS_TENSOR_RANDOM_H

#include <stdint.h>

#include <hastings/tensor/shape.h>

/** A distribution to draw from. */
typedef enum {
    HS_UNIFORM, /**< uniform on the open interval (0, 1) */
    HS_NORMAL /**< mean 0, variance 1: Box-Muller, columns 2k and 2k + 1 from one pair of uniforms */
} hs_distribution;

/** The address of draws, but for their row. */
typedef struct {
    uint64_t seed;   /**< Philox's key */
    uint32_t stream; /**< keeps apart the draws of one step; below 2^15 */
    uint64_t step;   /**< below 2^48 */
    uint32_t column; /**< the first column, a multiple of 4: columns of a call count from here */
} hs_address;

/** Returns one draw. It is slow: the reference for the functions below. */
HS_API double hs_random_at(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row,
                           uint32_t column);

/** Writes out[column * stride + lane], the draw of row row0 + lane, for lane < lanes and column < columns: the
 *  layout of shards. `out` and stride are aligned to HS_ALIGN bytes. Padding lanes, up to a multiple of HS_ALIGN
 *  bytes, get draws as well, so that they never hold odd numbers. */
HS_API void hs_random_lanes(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0,
                            size_t lanes, size_t columns, void *out, size_t stride);

/** Writes out[row * columns + column], the draw of row row0 + row, for row < rows: the layout of users' arrays. It is
 *  vectorised over columns and needs no alignment. */
HS_API void hs_random_rows(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0,
                           size_t rows, size_t columns, void *out);

#endif
