/* The address that random.c passes to the variants of random_kernels.c, and their table. */
#ifndef HASTINGS_TENSOR_RANDOM_INTERNAL_H
#define HASTINGS_TENSOR_RANDOM_INTERNAL_H

#include <hastings/tensor/random.h>

/* Philox's key and the last two words of its counter; the first two are row and column / 4.
 *
 *     key      bits 0-31 and 32-63 of the seed
 *     word 0   row
 *     word 1   column / 4
 *     word 2   bits 0-31 of the step
 *     word 3   bits 0-15: bits 32-47 of the step; bits 16-30: the stream; bit 31: 0 for the
 *              leading 32 bits of four columns, 1 for the trailing 32 bits of the same four
 */
typedef struct {
    uint32_t key[2];
    uint32_t word2, word3;
    uint32_t block; /* column / 4 of the first column */
} hs_philox_address;

enum { HS_PHILOX_COLUMNS = 4 };
#define HS_PHILOX_TRAILING UINT32_C(0x80000000)

typedef struct {
    void (*lanes)(hs_distribution d, const hs_philox_address *at, uint32_t row0, size_t lanes,
                  size_t columns, void *out, size_t stride);
    void (*rows)(hs_distribution d, const hs_philox_address *at, uint32_t row0, size_t rows,
                 size_t columns, void *out);
} hs_random_kernels;

#endif
