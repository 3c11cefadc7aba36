/*
 * Sums over lanes, dw[o][i] = sum over l of dy[o][l] x[i][l]: the weight gradients.
 *
 * Dot products: a tile of TO outputs times TI columns keeps TO * TI sums in registers over all lanes, then folds LANES
 * sums at a time into one vector. Columns are the inputs; with db, the sums of dy itself, a column of ones follows.
 */
#include "product_internal.h"
#include "product_simd_internal.h"

enum {
    MAX_TO = HS_VECTOR_BYTES == 64 ? 6 : 4,
    MAX_TI = HS_VECTOR_BYTES == 64 ? 4 : 2,
};

HS_INLINE void dot_step(const int TO, const int TI, const bool ONES, vec (*a)[MAX_TI],
                        const real *dy, size_t dy_stride, const real *x, size_t x_stride,
                        const bool part, vmask keep)
{
    const int inputs = TI - ONES;
    vec xs[MAX_TI];
    HS_UNROLL
    for (int u = 0; u < inputs; u++) {
        xs[u] = v_load(x + (size_t)u * x_stride);
        if (part)
            xs[u] = v_keep(keep, xs[u]);
        HS_IN_REGISTER(xs[u]);
    }
    HS_UNROLL
    for (int t = 0; t < TO; t++) {
        vec d = v_load(dy + (size_t)t * dy_stride);
        if (part)
            d = v_keep(keep, d);
        HS_IN_REGISTER(d);
        HS_UNROLL
        for (int u = 0; u < inputs; u++)
            a[t][u] += d * xs[u];
        if (ONES)
            a[t][TI - 1] += d;
    }
}

HS_INLINE void dot_tile(const int TO, const int TI, const bool ONES, const hs_product_sum *p,
                        size_t o, size_t i)
{
    const size_t terms = p->terms ? p->terms : 1;
    const size_t whole = p->lanes / LANES, part = p->lanes % LANES;
    vec a[MAX_TO][MAX_TI];
    HS_UNROLL
    for (int t = 0; t < TO; t++)
        HS_UNROLL
    for (int u = 0; u < TI; u++)
        a[t][u] = (vec){ 0 };
    for (size_t term = 0; term < terms; term++) {
        const real *dy = (const real *)p->dy + o * p->dy_stride + term * p->dy_term;
        const real *x = (const real *)p->x + i * p->x_stride + term * p->x_term;
        for (size_t v = 0; v < whole; v++, dy += LANES, x += LANES)
            dot_step(TO, TI, ONES, a, dy, p->dy_stride, x, p->x_stride, false, (vmask){ 0 });
        /* Both factors are masked: 0 * NaN would still be NaN. */
        if (part)
            dot_step(TO, TI, ONES, a, dy, p->dy_stride, x, p->x_stride, true, v_first(part));
    }

    real sums[(MAX_TO * MAX_TI + LANES) / LANES * LANES] __attribute__((aligned(64)));
    const int n = TO * TI;
    vec flat[MAX_TO * MAX_TI];
    HS_UNROLL
    for (int t = 0; t < TO; t++)
        HS_UNROLL
    for (int u = 0; u < TI; u++)
        flat[t * TI + u] = a[t][u];
    HS_UNROLL
    for (int first = 0; first < n; first += LANES)
        v_store(sums + first, v_fold(flat + first, n - first < LANES ? n - first : LANES));
    /* Goes through memory: to cut uneven rows out of vectors would take more shuffles than loads. */
    if (TI != MAX_TI)
        __asm__("" : "+m"(sums));
    real *dw = (real *)p->dw + o * p->in + i;
    const bool accumulate = p->accumulate;
    for (int t = 0; t < TO; t++, dw += p->in)
        for (int u = 0; u < TI - ONES; u++)
            dw[u] = accumulate ? dw[u] + sums[t * TI + u] : sums[t * TI + u];
    if (ONES) {
        real *db = (real *)p->db + o;
        for (int t = 0; t < TO; t++)
            db[t] = p->accumulate_db ? db[t] + sums[t * TI + TI - 1] : sums[t * TI + TI - 1];
    }
}

/* All tiles of TO outputs and TI columns in a range of both. */
typedef struct {
    size_t o0, o_tiles, i0, i_tiles;
} range;

HS_INLINE void dot_tiles(const int TO, const int TI, const bool ONES, const hs_product_sum *p,
                         const range *r)
{
    for (size_t to = 0; to < r->o_tiles; to++)
        for (size_t ti = 0; ti < r->i_tiles; ti++)
            dot_tile(TO, TI, ONES, p, r->o0 + to * (size_t)TO, r->i0 + ti * (size_t)TI);
}

#define TILE(to, ti)                                                                               \
    static HS_NOINLINE void dots_##to##x##ti(const hs_product_sum *p, const range *r)              \
    {                                                                                              \
        dot_tiles(to, ti, false, p, r);                                                            \
    }                                                                                              \
    static HS_NOINLINE void ones_##to##x##ti(const hs_product_sum *p, const range *r)              \
    {                                                                                              \
        dot_tiles(to, ti, true, p, r);                                                             \
    }
#if HS_VECTOR_BYTES == 64
#define TILE_ROW(to) TILE(to, 1) TILE(to, 2) TILE(to, 3) TILE(to, 4)
#define TILE_NAMES(to)                                                                             \
    {                                                                                              \
        { dots_##to##x1, ones_##to##x1 }, { dots_##to##x2, ones_##to##x2 },                        \
            { dots_##to##x3, ones_##to##x3 },                                                      \
        {                                                                                          \
            dots_##to##x4, ones_##to##x4                                                           \
        }                                                                                          \
    }
#else
#define TILE_ROW(to) TILE(to, 1) TILE(to, 2)
#define TILE_NAMES(to)                                                                             \
    {                                                                                              \
        { dots_##to##x1, ones_##to##x1 },                                                          \
        {                                                                                          \
            dots_##to##x2, ones_##to##x2                                                           \
        }                                                                                          \
    }
#endif

TILE_ROW(1)
TILE_ROW(2)
TILE_ROW(3)
TILE_ROW(4)
#if HS_VECTOR_BYTES == 64
TILE_ROW(5)
TILE_ROW(6)
#endif

/* Without and with the column of ones, which is the last of its tile. */
static void (*const tile_table[MAX_TO][MAX_TI][2])(const hs_product_sum *, const range *) = {
    TILE_NAMES(1), TILE_NAMES(2), TILE_NAMES(3), TILE_NAMES(4),
#if HS_VECTOR_BYTES == 64
    TILE_NAMES(5), TILE_NAMES(6),
#endif
};

/* Tiles of two sizes cover each side evenly, as in product_kernels.c. */
static void dots(const hs_product_sum *p)
{
    const size_t columns = p->in + (p->db != NULL);
    if (p->out == 0 || columns == 0)
        return;
    const size_t outs = (p->out + MAX_TO - 1) / MAX_TO, ins = (columns + MAX_TI - 1) / MAX_TI;
    range r = { 0, 0, 0, 0 };
    for (int out_group = 0; out_group < 2; out_group++) {
        const size_t to = p->out / outs + (out_group == 0);
        r.o_tiles = out_group == 0 ? p->out % outs : outs - p->out % outs;
        if (r.o_tiles == 0)
            continue;
        r.i0 = 0;
        for (int in_group = 0; in_group < 2; in_group++) {
            const size_t ti = columns / ins + (in_group == 0);
            const bool ones = p->db && in_group == 1; /* the last tile, which always exists */
            r.i_tiles = (in_group == 0 ? columns % ins : ins - columns % ins) - ones;
            if (r.i_tiles)
                tile_table[to - 1][ti - 1][0](p, &r);
            r.i0 += r.i_tiles * ti;
            r.i_tiles = 1;
            if (ones)
                tile_table[to - 1][ti - 1][1](p, &r);
        }
        r.o0 += r.o_tiles * to;
    }
}

/* ---- Transposition ---- */

#define TRANSPOSE_STEP(h)                                                                          \
    HS_UNROLL                                                                                      \
    for (int i = 0; i < LANES; i++)                                                                \
        if (!(i & (h))) {                                                                          \
            vec a = v[i], b = v[i + (h)];                                                          \
            v[i] = V_EXCHANGE(V_LOW_, a, b, h);                                                    \
            v[i + (h)] = V_EXCHANGE(V_HIGH_, a, b, h);                                             \
        }

static void transpose(const void *from, size_t x_stride, size_t in, size_t lanes, void *into,
                      size_t to_stride)
{
    const real *x = from;
    real *to = into;
    const size_t per_line = 64 / sizeof(real), in_end = (in + per_line - 1) / per_line * per_line;
    for (size_t l = 0; l < lanes; l += LANES)
        for (size_t i0 = 0; i0 < in_end; i0 += LANES) {
            vec v[LANES];
            /* Rows are far apart, so the processor does not foresee the next ones. */
            const size_t next = i0 + LANES < in_end ? i0 + LANES : 0;
            const real *ahead = x + next * x_stride + l + (next ? 0 : LANES);
            HS_UNROLL
            for (int i = 0; i < LANES; i++)
                __builtin_prefetch(ahead + (size_t)i * x_stride);
            HS_UNROLL
            for (int i = 0; i < LANES; i++)
                v[i] =
                    i0 + (size_t)i < in ? v_load(x + (i0 + (size_t)i) * x_stride + l) : (vec){ 0 };
#if HS_VECTOR_BYTES == 64 && !HS_KERNEL_F64
            TRANSPOSE_STEP(8)
#endif
#if HS_VECTOR_BYTES / (4 + 4 * HS_KERNEL_F64) >= 8
            TRANSPOSE_STEP(4)
#endif
#if HS_VECTOR_BYTES / (4 + 4 * HS_KERNEL_F64) >= 4
            TRANSPOSE_STEP(2)
#endif
            TRANSPOSE_STEP(1)
            HS_UNROLL
            for (int i = 0; i < LANES; i++)
                v_store(to + (l + (size_t)i) * to_stride + i0, v[i]);
        }
}

static void deliver(const hs_product_sum *p, const void *from, size_t from_stride)
{
    const real *rows = from;
    real *dw = p->dw;
    for (size_t o = 0; o < p->out; o++)
        for (size_t i = 0; i < p->in; i += LANES) {
            vec a = v_load(rows + o * from_stride + i);
            real *to = dw + o * p->in + i;
            const size_t left = p->in - i;
            v_store_some(to, p->accumulate ? v_load_some(to, left) + a : a, left);
        }
}

extern const hs_product_sums HS_KERNEL(product_sums);
const hs_product_sums HS_KERNEL(product_sums) = { dots, transpose, deliver };
