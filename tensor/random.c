/*
 * Addresses of random numbers; random_kernels.c makes the numbers.
 *
 * random_internal.h gives the layout of key and counter. A number's bits are
 *
 *     f32 uniform   (w >> 9) 2^-23 + 2^-24              w: the leading word
 *     f64 uniform   ((w 2^32 + v) >> 12) 2^-52 + 2^-53   v: the trailing word
 *     normals       r cos(2 pi u') and r sin(2 pi u'), r = sqrt(-2 log u), from the uniforms u, u'
 *                   of columns 2k and 2k + 1
 *
 * Uniforms are the same on every machine. Normals go through a library's log and sine: they are
 * the same on all machines with FMA and differ in the last places on others.
 */
#include <hastings/tensor/random.h>

#include <Random123/philox.h>

#include <hastings/tensor/cpu.h>
#include "random_internal.h"

HS_KERNEL_TABLE(hs_random_kernels, random);

static hs_philox_address philox_address(hs_address at)
{
    return (hs_philox_address){
        .key = { (uint32_t)at.seed, (uint32_t)(at.seed >> 32) },
        .word2 = (uint32_t)at.step,
        .word3 = (uint32_t)(at.step >> 32 & 0xffff) | (at.stream & 0x7fff) << 16,
        .block = at.column / HS_PHILOX_COLUMNS,
    };
}

static uint32_t philox_word(const hs_philox_address *at, uint32_t row, uint32_t column,
                            uint32_t flags)
{
    const philox4x32_key_t key = { { at->key[0], at->key[1] } };
    const philox4x32_ctr_t counter = { { row, column / HS_PHILOX_COLUMNS, at->word2,
                                         at->word3 | flags } };
    return philox4x32(counter, key).v[column % HS_PHILOX_COLUMNS];
}

double hs_random_at(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row, uint32_t column)
{
    column += at.column;
    at.column = column; /* the address of the block of four columns */
    const hs_philox_address address = philox_address(at);
    if (d == HS_NORMAL) {
        /* The kernel makes it: no other code rounds as its log and sine do. */
        const hs_random_kernels *kernels = random_table[hs_cpu_isa()][dtype];
        union {
            float f32[HS_PHILOX_COLUMNS];
            double f64[HS_PHILOX_COLUMNS];
        } out;
        kernels->rows(d, &address, row, 1, HS_PHILOX_COLUMNS, &out);
        return dtype == HS_F64 ? out.f64[column % HS_PHILOX_COLUMNS]
                               : (double)out.f32[column % HS_PHILOX_COLUMNS];
    }
    const uint32_t leading = philox_word(&address, row, column, 0);
    if (dtype == HS_F32)
        return (double)(leading >> 9) * 0x1p-23 + 0x1p-24;
    const uint64_t bits =
        (uint64_t)leading << 32 | philox_word(&address, row, column, HS_PHILOX_TRAILING);
    return (double)(bits >> 12) * 0x1p-52 + 0x1p-53;
}

void hs_random_lanes(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0, size_t lanes,
                     size_t columns, void *out, size_t stride)
{
    const hs_philox_address address = philox_address(at);
    random_table[hs_cpu_isa()][dtype]->lanes(d, &address, row0, lanes, columns, out, stride);
}

void hs_random_rows(hs_dtype dtype, hs_distribution d, hs_address at, uint32_t row0, size_t rows,
                    size_t columns, void *out)
{
    const hs_philox_address address = philox_address(at);
    random_table[hs_cpu_isa()][dtype]->rows(d, &address, row0, rows, columns, out);
}
