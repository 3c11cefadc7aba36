/*
 * Philox4x32-10 and Box-Muller on vectors; each lane is one counter, hence four columns.
 *
 * A 64-bit lane holds one word of a counter, because the multiplier takes the low 32 bits of such lanes and gives all
 * 64 bits of the product: a shift gives the high word, the low word is in place, and nobody reads the rest of the upper
 * halves. Both types need two such vectors: f32 for even and odd lanes, f64 for leading and trailing bits.
 */
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include "random_internal.h"
#include <hastings/tensor/simd.h>
#include <hastings/tensor/vector_math.h>

typedef uint64_t words __attribute__((vector_size(HS_VECTOR_BYTES)));

/* The 64-bit products of the low halves of 64-bit lanes. */
HS_INLINE words multiply_low(words a, uint32_t factor)
{
#if HS_VECTOR_BYTES == 64
    return (words)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(factor));
#elif HS_VECTOR_BYTES == 32
    return (words)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(factor));
#elif defined(__x86_64__)
    return (words)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(factor));
#else
    return (a & UINT32_MAX) * factor;
#endif
}

/* The upper halves of 64-bit lanes, moved down: by a shuffle on x86, where shifts compete with the
 * multiplications for a port. */
HS_INLINE words upper_half(words a)
{
#if HS_VECTOR_BYTES == 64
    return (words)_mm512_shuffle_epi32((__m512i)a, _MM_PERM_DDBB);
#elif HS_VECTOR_BYTES == 32
    return (words)_mm256_shuffle_epi32((__m256i)a, 0xf5);
#elif defined(__x86_64__)
    return (words)_mm_shuffle_epi32((__m128i)a, 0xf5);
#else
    return a >> 32;
#endif
}

/* An address as vectors. The keys of all rounds lie in memory, where instructions take them as operands: to broadcast
 * them each time would cost as much as the multiplications. */
typedef struct {
    words key[10][2], word2, word3;
} source;

HS_INLINE source source_at(const hs_philox_address *at)
{
    source s = { .word2 = (words){ 0 } + at->word2, .word3 = (words){ 0 } + at->word3 };
    for (uint32_t round = 0; round < 10; round++) {
        s.key[round][0] = (words){ 0 } + (uint32_t)(at->key[0] + round * 0x9e3779b9u);
        s.key[round][1] = (words){ 0 } + (uint32_t)(at->key[1] + round * 0xbb67ae85u);
    }
    return s;
}

HS_INLINE void philox_round(const words key[2], words c[4])
{
    const words p0 = multiply_low(c[0], 0xd2511f53), p1 = multiply_low(c[2], 0xcd9e8d57);
    c[0] = upper_half(p1) ^ c[1] ^ key[0];
    c[2] = upper_half(p0) ^ c[3] ^ key[1];
    c[1] = p1;
    c[3] = p0;
}

/* Uniforms of the four columns at every lane's row and block (= column / 4). */
HS_INLINE void uniform_block(const source *at, vbits row, vbits block, vec u[4])
{
#if HS_KERNEL_F64
    words a[4] = { row, block, at->word2, at->word3 };
    words b[4] = { row, block, a[2], a[3] | HS_PHILOX_TRAILING };
#else
    words a[4] = { (words)row, (words)block, at->word2, at->word3 };
    words b[4] = { (words)row >> 32, (words)block >> 32, a[2], a[3] };
#endif
    for (int round = 0; round < 10; round++) {
        philox_round(at->key[round], a);
        philox_round(at->key[round], b);
    }
    for (int i = 0; i < 4; i++) {
        /* The leading bits become the mantissa of a number in [1, 2). Slightly less than 1 taken
         * off leaves exactly the middle of one of 2^23 or 2^52 equal cells of (0, 1). */
#if HS_KERNEL_F64
        const vbits bits = (a[i] << 32) | (b[i] & UINT32_MAX);
        u[i] = (vec)((bits >> 12) | 0x3ff0000000000000u) - (1 - 0x1p-53);
#else
        const vbits bits = (vbits)((a[i] & UINT32_MAX) | (b[i] << 32));
        u[i] = (vec)((bits >> 9) | 0x3f800000u) - (1 - 0x1p-24f);
#endif
    }
}

/* Box-Muller: two normals from two uniforms. */
HS_INLINE void normal_pair(vec u[2])
{
    const vec radius = v_sqrt(-2 * v_log_fixed(u[0]));
    vec sine, cosine;
    v_sincospi_fixed(2 * u[1], &sine, &cosine);
    u[0] = radius * cosine;
    u[1] = radius * sine;
}

/* Several vectors of rows and blocks, each with four columns. All uniforms come first, and the normals after them: calls
 * of the logarithm in between would move all keys out of registers and back. */
enum { TOGETHER = 8 };

typedef struct {
    vbits row[TOGETHER], block[TOGETHER];
    vec u[TOGETHER + 1][4]; /* one more, so that a load may begin at any number */
} drawn;

/* With at most two columns, the unused ones stay uniforms. */
static void draw(hs_distribution d, const source *at, size_t columns, int n, drawn *w)
{
    for (int v = 0; v < n; v++)
        uniform_block(at, w->row[v], w->block[v], w->u[v]);
    for (int v = 0; d == HS_NORMAL && v < n; v++) {
        normal_pair(w->u[v]);
        if (columns > 2)
            normal_pair(w->u[v] + 2);
    }
    w->u[n][0] = w->u[0][0];
}

HS_INLINE vbits lane_index(void)
{
    vbits index;
    for (int i = 0; i < LANES; i++)
        index[i] = (real_ubits)i;
    return index;
}

/* Fills the rest of a cache line with a vector. Padding gets numbers of the same kind as the draws: functions of odd
 * numbers may be slow. */
HS_INLINE void fill_line(real *line, size_t from, vec u)
{
    for (; from % (HS_ALIGN / sizeof(real)); from += LANES)
        v_store(line + from, u);
}

/* The last lanes, if they fill at most half of a vector: several blocks of columns share a vector. */
static void last_lanes(hs_distribution d, const source *from, uint32_t row0, uint32_t block0,
                       size_t lane0, size_t lanes, size_t columns, real *y, size_t stride)
{
    const size_t blocks = (columns + 3) / 4, shared = LANES / lanes;
    vbits row = { 0 }, offset = { 0 };
    for (size_t i = 0; i < shared * lanes; i++) {
        row[i] = (real_ubits)(row0 + (uint32_t)(lane0 + i % lanes));
        offset[i] = (real_ubits)(i / lanes);
    }
    for (size_t first = 0; first < blocks; first += TOGETHER * shared) {
        drawn w;
        int n = 0;
        for (; n < TOGETHER && first + (size_t)n * shared < blocks; n++) {
            w.row[n] = row;
            w.block[n] = offset + (real_ubits)(block0 + (uint32_t)(first + (size_t)n * shared));
        }
        draw(d, from, columns, n, &w);
        for (size_t b = 0; b < (size_t)n * shared; b++)
            for (size_t i = 0; i < 4 && 4 * (first + b) + i < columns; i++) {
                /* its lanes, and the next ones as padding */
                const vec u = v_loadu((const real *)&w.u[b / shared][i] + b % shared * lanes);
                real *const line = y + (4 * (first + b) + i) * stride;
                v_store(line + lane0, u);
                fill_line(line, lane0 + LANES, u);
            }
    }
}

static void lanes_kernel(hs_distribution d, const hs_philox_address *at, uint32_t row0,
                         size_t lanes, size_t columns, void *out, size_t stride)
{
    real *const y = out;
    const source from = source_at(at);
    const size_t last = lanes % LANES, apart = last && last <= LANES / 2 ? last : 0;
    lanes -= apart;
    size_t column = 0, lane = 0; /* of the next vector */
    while (column < columns && lanes) {
        drawn w;
        size_t column_of[TOGETHER], lane_of[TOGETHER];
        int n = 0;
        for (; n < TOGETHER && column < columns; n++) {
            column_of[n] = column;
            lane_of[n] = lane;
            w.row[n] = lane_index() + (real_ubits)(row0 + (uint32_t)lane);
            w.block[n] = (vbits){ 0 } + (real_ubits)(at->block + (uint32_t)(column / 4));
            lane += LANES;
            if (lane >= lanes) {
                lane = 0;
                column += 4;
            }
        }
        draw(d, &from, columns, n, &w);
        for (int v = 0; v < n; v++) {
            const size_t left = columns - column_of[v], after = lane_of[v] + LANES;
            real *to = y + column_of[v] * stride;
            for (size_t i = 0; i < (left < 4 ? left : 4); i++, to += stride) {
                v_store(to + lane_of[v], w.u[v][i]);
                if (!apart && after >= lanes)
                    fill_line(to, after, w.u[v][i]);
            }
        }
    }
    if (apart)
        last_lanes(d, &from, row0, at->block, lanes, apart, columns, y, stride);
}

/* A block of four columns of a row. */
typedef struct {
    size_t row, block;
} position;

HS_INLINE position next_position(position p, size_t blocks)
{
    return p.block + 1 == blocks ? (position){ p.row + 1, 0 } : (position){ p.row, p.block + 1 };
}

/* Blocks are numbered through all rows, so that vectors are full even if a row has few columns. Each lane then copies its
 * four numbers to their row. */
static void rows_kernel(hs_distribution d, const hs_philox_address *at, uint32_t row0, size_t rows,
                        size_t columns, void *out)
{
    real *const y = out;
    const source from = source_at(at);
    const size_t blocks = (columns + 3) / 4;
    position next = { 0, 0 };
    while (columns && next.row < rows) {
        drawn w;
        position copied = next;
        int n = 0, used = 0; /* vectors, and lanes of all of them */
        for (; n < TOGETHER && next.row < rows; n++) {
            w.row[n] = w.block[n] = (vbits){ 0 };
            for (int lane = 0; lane < LANES && next.row < rows; lane++, used++) {
                w.row[n][lane] = (real_ubits)(row0 + (uint32_t)next.row);
                w.block[n][lane] = (real_ubits)(at->block + (uint32_t)next.block);
                next = next_position(next, blocks);
            }
        }
        draw(d, &from, columns, n, &w);
        for (int lane = 0; lane < used; lane++) {
            real *const to = y + copied.row * columns + 4 * copied.block;
            const size_t left = columns - 4 * copied.block;
            for (size_t i = 0; i < (left < 4 ? left : 4); i++)
                to[i] = w.u[lane / LANES][i][lane % LANES];
            copied = next_position(copied, blocks);
        }
    }
}

extern const hs_random_kernels HS_KERNEL(random);
const hs_random_kernels HS_KERNEL(random) = { lanes_kernel, rows_kernel };
