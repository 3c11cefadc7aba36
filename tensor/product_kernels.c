/*
 * Products whose vectors run over lanes: register tiles of TO outputs times NV vectors of lanes.
 *
 * Each step of k loads NV vectors of x and TO broadcast weights for TO * NV fused multiply-adds. The tile is therefore as
 * large as the registers allow: 6 x 4 of AVX-512's 32, 6 x 2 of 16. Products of at most 3 outputs take tiles of 3 x 8
 * (3 x 4); fewer sums at a time would not hide the latency of an addition. Remainders are spread evenly (16 outputs are
 * 6 + 5 + 5, 13 vectors 4 + 3 + 3 + 3): a leftover tile of one output would run at a fraction of the speed.
 *
 * Lanes that fill at most half of their last vector of 64 bytes take a vector of 32 there: 100 lanes are 6 vectors and a
 * half, not 7. It costs half as much on a processor that adds long vectors in two halves, and no more elsewhere.
 */
#include "product_internal.h"
#include "product_simd_internal.h"

enum { MAX_TO = 6, MAX_NV = HS_VECTOR_BYTES == 64 ? 4 : 2 };
enum { FLAT_TO = 3, FLAT_NV = 2 * MAX_NV }; /* the largest tile of few outputs */

/* ---- Activation and gate of stored results ---- */

HS_INLINE void activate_loop(const hs_activation_kind act, real *y, size_t y_stride,
                             const real *gate, size_t gate_stride, const real *bias, size_t rows,
                             size_t vectors)
{
    for (size_t r = 0; r < rows; r++) {
        vec start = bias ? v_set1(bias[r]) : (vec){ 0 };
        for (size_t v = 0; v < vectors; v++) {
            real *p = y + r * y_stride + v * LANES;
            vec a = v_activate(act, bias ? v_load(p) + start : v_load(p));
            if (gate)
                a = v_gate(v_load(gate + r * gate_stride + v * LANES), a);
            v_store(p, a);
        }
    }
}

/* Not inlined: one copy of the transcendental functions serves all tiles. */
static HS_NOINLINE void activate_rows(hs_activation_kind act, real *y, size_t y_stride,
                                      const real *gate, size_t gate_stride, const real *bias,
                                      size_t rows, size_t vectors)
{
    HS_SWITCH_ACTIVATION(act, activate_loop, y, y_stride, gate, gate_stride, bias, rows, vectors)
}

static void finish(const hs_product *p)
{
    activate_rows(p->act, p->y, p->y_stride, p->gate, p->gate_stride, p->bias, p->out,
                  (p->lanes + LANES - 1) / LANES);
}

/* ---- The tile ---- */

/* Tiles of outputs from output o0 on, and blocks of lanes from lane l0 on. All tiles of a block of lanes run before the
 * next block, while its part of x is in the first-level cache. */
typedef struct {
    size_t o0, tiles, l0, blocks;
} range;

#if HS_VECTOR_BYTES == 64
#define HALVES 1
typedef real half __attribute__((vector_size(HS_VECTOR_BYTES / 2)));
#else
#define HALVES 0
typedef vec half; /* never used */
#endif

HS_INLINE half h_load(const real *p)
{
    return *(const half *)__builtin_assume_aligned(p, sizeof(half));
}

/* Stores zeros behind it: functions of old numbers there may be slow. */
HS_INLINE void h_store(real *p, half a)
{
    half *to = __builtin_assume_aligned(p, sizeof(half));
    to[0] = a;
    to[1] = (half){ 0 };
}

/* The first half of a vector, in the same register. */
HS_INLINE half first_half(vec a)
{
#if HS_VECTOR_BYTES == 64 && HS_KERNEL_F64
    return (half)_mm512_castpd512_pd256((__m512d)a);
#elif HS_VECTOR_BYTES == 64
    return (half)_mm512_castps512_ps256((__m512)a);
#else
    return a;
#endif
}

/* One k: a[t][v] += w(t) x[v], and with HALF also h[t] += w(t) times half a vector. */
HS_INLINE void add_products(const int TO, const int NV, const bool HALF, vec (*a)[FLAT_NV], half *h,
                            const real *w, size_t w_out, const real *x)
{
    if (TO <= FLAT_TO) {
        vec weights[FLAT_TO];
        HS_UNROLL
        for (int t = 0; t < TO; t++)
            weights[t] = v_set1(w[(size_t)t * w_out]);
        HS_UNROLL
        for (int v = 0; v < NV; v++) {
            vec xs = v_load(x + v * LANES);
            HS_IN_REGISTER(xs);
            HS_UNROLL
            for (int t = 0; t < TO; t++)
                a[t][v] += weights[t] * xs;
        }
        return;
    }
    vec xs[MAX_NV];
    HS_UNROLL
    for (int v = 0; v < NV; v++)
        xs[v] = v_load(x + v * LANES);
    const half x_half = HALF ? h_load(x + NV * LANES) : (half){ 0 };
    HS_UNROLL
    for (int t = 0; t < TO; t++) {
        vec weight = v_set1(w[(size_t)t * w_out]);
        HS_UNROLL
        for (int v = 0; v < NV; v++)
            a[t][v] += weight * xs[v];
        if (HALF)
            h[t] += first_half(weight) * x_half;
    }
}

HS_INLINE void run_tiles(const int TO, const int NV, const bool HALF, const hs_product *p,
                         const range *r)
{
    const size_t in = p->in, w_out = p->w_out, w_in = p->w_in, x_stride = p->x_stride;
    const hs_activation_kind act = p->act;
    for (size_t block = 0; block < r->blocks; block++) {
        const size_t l = r->l0 + block * (size_t)(NV * LANES);
        for (size_t tile = 0; tile < r->tiles; tile++) {
            const size_t o = r->o0 + tile * (size_t)TO;
            vec a[MAX_TO][FLAT_NV];
            half h[MAX_TO];
            HS_UNROLL
            for (int t = 0; t < TO; t++) {
                vec start = p->bias ? v_set1(((const real *)p->bias)[o + (size_t)t]) : (vec){ 0 };
                HS_UNROLL
                for (int v = 0; v < NV; v++)
                    a[t][v] = start;
                if (HALF)
                    h[t] = first_half(start);
            }
            if (p->add) {
                const real *row = (const real *)p->add + o * p->add_stride + l;
                HS_UNROLL
                for (int t = 0; t < TO; t++, row += p->add_stride) {
                    HS_FORGET_ORIGIN(row);
                    HS_UNROLL
                    for (int v = 0; v < NV; v++)
                        a[t][v] += v_load(row + v * LANES);
                    if (HALF)
                        h[t] += h_load(row + NV * LANES);
                }
            }
            const real *w = (const real *)p->w + o * w_out;
            const real *x = (const real *)p->x + l;
            for (size_t k = 0; k < in; k++, w += w_in, x += x_stride)
                add_products(TO, NV, HALF, a, h, w, w_out, x);
            if (act == HS_ACT_RELU) {
                HS_UNROLL
                for (int t = 0; t < TO; t++) {
                    HS_UNROLL
                    for (int v = 0; v < NV; v++)
                        a[t][v] = v_relu(a[t][v]);
                }
            }
            const real *gate = p->gate ? (const real *)p->gate + o * p->gate_stride + l : NULL;
            if (gate && act <= HS_ACT_RELU) {
                const real *row = gate;
                HS_UNROLL
                for (int t = 0; t < TO; t++, row += p->gate_stride) {
                    HS_FORGET_ORIGIN(row);
                    HS_UNROLL
                    for (int v = 0; v < NV; v++)
                        a[t][v] = v_gate(v_load(row + v * LANES), a[t][v]);
                }
            }
            real *y = (real *)p->y + o * p->y_stride + l, *row = y;
            HS_UNROLL
            for (int t = 0; t < TO; t++, row += p->y_stride) {
                HS_FORGET_ORIGIN(row);
                HS_UNROLL
                for (int v = 0; v < NV; v++)
                    v_store(row + v * LANES, a[t][v]);
                if (HALF)
                    h_store(row + NV * LANES, h[t]);
            }
            if (act > HS_ACT_RELU)
                activate_rows(act, y, p->y_stride, gate, p->gate_stride, NULL, TO, NV + HALF);
            else if (HALF && (act == HS_ACT_RELU || gate))
                activate_rows(act, y + NV * LANES, p->y_stride, gate ? gate + NV * LANES : NULL,
                              p->gate_stride, NULL, TO, 1);
        }
    }
}

#define TILE(to, nv)                                                                               \
    static HS_NOINLINE void tiles_##to##x##nv(const hs_product *p, const range *r)                 \
    {                                                                                              \
        run_tiles(to, nv, false, p, r);                                                            \
    }
#define FLAT_COLUMN(nv) TILE(1, nv) TILE(2, nv) TILE(3, nv)
#define TILE_COLUMN(nv) FLAT_COLUMN(nv) TILE(4, nv) TILE(5, nv) TILE(6, nv)
#define FLAT_NAMES(nv)                                                                             \
    {                                                                                              \
        tiles_1x##nv, tiles_2x##nv, tiles_3x##nv                                                   \
    }
#define TILE_NAMES(nv)                                                                             \
    {                                                                                              \
        tiles_1x##nv, tiles_2x##nv, tiles_3x##nv, tiles_4x##nv, tiles_5x##nv, tiles_6x##nv         \
    }

TILE_COLUMN(1)
TILE_COLUMN(2)
#if HS_VECTOR_BYTES == 64
TILE_COLUMN(3)
TILE_COLUMN(4)
FLAT_COLUMN(5)
FLAT_COLUMN(6)
FLAT_COLUMN(7)
FLAT_COLUMN(8)
#else
FLAT_COLUMN(3)
FLAT_COLUMN(4)
#endif

static void (*const tile_table[FLAT_NV][MAX_TO])(const hs_product *, const range *) = {
    TILE_NAMES(1), TILE_NAMES(2),
#if HS_VECTOR_BYTES == 64
    TILE_NAMES(3), TILE_NAMES(4), FLAT_NAMES(5), FLAT_NAMES(6), FLAT_NAMES(7), FLAT_NAMES(8),
#else
    FLAT_NAMES(3), FLAT_NAMES(4),
#endif
};

#if HALVES
#define HALF_TILE(to, nv)                                                                          \
    static HS_NOINLINE void half_tiles_##to##x##nv(const hs_product *p, const range *r)            \
    {                                                                                              \
        run_tiles(to, nv, true, p, r);                                                             \
    }
#define HALF_COLUMN(nv)                                                                            \
    HALF_TILE(4, nv)                                                                               \
    HALF_TILE(5, nv)                                                                               \
    HALF_TILE(6, nv)
#define HALF_NAMES(nv)                                                                             \
    {                                                                                              \
        [3] = half_tiles_4x##nv, [4] = half_tiles_5x##nv, [5] = half_tiles_6x##nv                  \
    }

HALF_COLUMN(1)
HALF_COLUMN(2)
HALF_COLUMN(3)

/* Indexed by the number of whole vectors. Splits of more than 6 outputs have no smaller tiles than these. */
static void (*const half_table[MAX_NV][MAX_TO])(const hs_product *, const range *) = {
    [1] = HALF_NAMES(1), [2] = HALF_NAMES(2), [3] = HALF_NAMES(3)
};
#else
static void (*const half_table[MAX_NV][MAX_TO])(const hs_product *, const range *);
#endif

/* n things in the fewest pieces of at most `most`: `large` pieces of size + 1, then `small` pieces of size. */
typedef struct {
    size_t size, large, small;
} split;

static split split_evenly(size_t n, size_t most)
{
    if (n <= most)
        return (split){ n, 0, 1 };
    const size_t pieces = (n + most - 1) / most;
    return (split){ n / pieces, n % pieces, pieces - n % pieces };
}

/* All outputs at blocks of nv vectors; the last vector may be half. */
static void run_lanes(const hs_product *p, const split *outs, size_t l0, size_t blocks, size_t nv,
                      bool with_half)
{
    range r = { 0, 0, l0, blocks };
    for (int out_group = 0; blocks && out_group < 2; out_group++) {
        const size_t to = outs->size + (out_group == 0);
        r.tiles = out_group == 0 ? outs->large : outs->small;
        if (r.tiles == 0)
            continue;
        (with_half ? half_table[nv - 1] : tile_table[nv - 1])[to - 1](p, &r);
        r.o0 += r.tiles * to;
    }
}

static void run_block(const hs_product *p)
{
    const split outs = split_evenly(p->out, MAX_TO);
    const split vectors =
        split_evenly((p->lanes + LANES - 1) / LANES, p->out <= FLAT_TO ? FLAT_NV : MAX_NV);
    const size_t over = p->lanes % LANES, large = vectors.size + 1;
    const bool with_half =
        HALVES && over > 0 && over <= LANES / 2 && vectors.size > 1 && outs.size > FLAT_TO;
    size_t l = 0;
    run_lanes(p, &outs, l, vectors.large, large, false);
    l += vectors.large * large * LANES;
    run_lanes(p, &outs, l, vectors.small - with_half, vectors.size, false);
    l += (vectors.small - with_half) * vectors.size * LANES;
    if (with_half)
        run_lanes(p, &outs, l, 1, vectors.size, true);
}

/* The part of x of a block of lanes should stay in the first-level cache while all outputs use it. So longer sums are
 * cut into pieces of at most MAX_K and added up in y. */
enum { MAX_K = 32768 / (MAX_NV * HS_VECTOR_BYTES) };

static void run_pieces(const hs_product *p)
{
    const split pieces = split_evenly(p->in, MAX_K);
    const size_t count = pieces.large + pieces.small;
    size_t k = 0;
    for (size_t piece = 0; piece < count; piece++) {
        hs_product q = *p;
        q.in = pieces.size + (piece < pieces.large);
        q.w = (const real *)p->w + k * p->w_in;
        q.x = (const real *)p->x + k * p->x_stride;
        if (piece > 0) {
            q.bias = NULL;
            q.add = p->y;
            q.add_stride = p->y_stride;
        }
        if (piece + 1 < count) {
            q.act = HS_ACT_NONE;
            q.gate = NULL;
        }
        run_block(&q);
        k += q.in;
    }
}

/* Rows of weights longer than a piece go through the second-level cache a few at a time: all pieces of these rows, before
 * the next rows come from memory. Each few rows read all of x again, so x should be near. */
enum { ROWS_BYTES = 256 * 1024, NEAR_BYTES = 4 * 1024 * 1024 };

static void run(const hs_product *p)
{
    if (p->out == 0 || p->lanes == 0)
        return;
    if (p->in <= MAX_K || p->out <= MAX_TO) {
        run_block(p);
        return;
    }
    const size_t fit = ROWS_BYTES / (p->in * sizeof(real)) / MAX_TO * MAX_TO;
    const bool near = p->in * p->lanes * sizeof(real) <= NEAR_BYTES;
    const size_t most = p->w_in != 1 || !near ? p->out : fit ? fit : MAX_TO;
    for (size_t o = 0; o < p->out; o += most) {
        hs_product q = *p;
        q.out = p->out - o < most ? p->out - o : most;
        q.w = (const real *)p->w + o * p->w_out;
        q.y = (real *)p->y + o * p->y_stride;
        q.bias = p->bias ? (const real *)p->bias + o : NULL;
        q.add = p->add ? (const real *)p->add + o * p->add_stride : NULL;
        q.gate = p->gate ? (const real *)p->gate + o * p->gate_stride : NULL;
        run_pieces(&q);
    }
}

/* ---- Both factors differ by lane ---- */

enum { LANE_NV = 2 };

/* A TO x TJ tile of y at the NV vectors of lanes from l on. */
HS_INLINE void lane_tile(const int TO, const int TJ, const int NV, const bool a_shared,
                         const bool b_shared, const hs_product_lane *p, size_t o, size_t j,
                         size_t l)
{
    const size_t a_step = a_shared ? 1 : p->a_stride, b_step = b_shared ? 1 : p->b_stride;
    const real *a = (const real *)p->a + o * p->a_out * a_step + (a_shared ? 0 : l);
    const real *b = (const real *)p->b + j * p->b_n * b_step + (b_shared ? 0 : l);
    vec sum[2][2][LANE_NV] = { 0 };
    for (size_t k = 0; k < p->in; k++, a += p->a_in * a_step, b += p->b_in * b_step) {
        HS_UNROLL
        for (int v = 0; v < NV; v++) {
            HS_UNROLL
            for (int t = 0; t < TO; t++) {
                const real *at = a + (size_t)t * p->a_out * a_step;
                vec av = a_shared ? v_set1(*at) : v_load(at + v * LANES);
                HS_UNROLL
                for (int u = 0; u < TJ; u++) {
                    const real *bu = b + (size_t)u * p->b_n * b_step;
                    sum[t][u][v] += av * (b_shared ? v_set1(*bu) : v_load(bu + v * LANES));
                }
            }
        }
    }
    for (int t = 0; t < TO; t++)
        for (int u = 0; u < TJ; u++)
            for (int v = 0; v < NV; v++)
                v_store((real *)p->y + ((o + (size_t)t) * p->n + j + (size_t)u) * p->y_stride + l +
                            v * LANES,
                        sum[t][u][v]);
}

HS_INLINE void lane_block(const int NV, const bool a_shared, const bool b_shared,
                          const hs_product_lane *p, size_t l)
{
    for (size_t o = 0; o < p->out; o += 2)
        for (size_t j = 0; j < p->n; j += 2) {
            if (o + 1 < p->out && j + 1 < p->n)
                lane_tile(2, 2, NV, a_shared, b_shared, p, o, j, l);
            else if (o + 1 < p->out)
                lane_tile(2, 1, NV, a_shared, b_shared, p, o, j, l);
            else if (j + 1 < p->n)
                lane_tile(1, 2, NV, a_shared, b_shared, p, o, j, l);
            else
                lane_tile(1, 1, NV, a_shared, b_shared, p, o, j, l);
        }
}

HS_INLINE void lane_blocks(const bool a_shared, const bool b_shared, const hs_product_lane *p)
{
    const size_t end = (p->lanes + LANES - 1) / LANES * LANES;
    size_t l = 0;
    for (; l + LANE_NV * LANES <= end; l += LANE_NV * LANES)
        lane_block(LANE_NV, a_shared, b_shared, p, l);
    if (l < end)
        lane_block(1, a_shared, b_shared, p, l);
}

static void lane(const hs_product_lane *p)
{
    if (p->a_shared && p->b_shared)
        lane_blocks(true, true, p);
    else if (p->a_shared)
        lane_blocks(true, false, p);
    else if (p->b_shared)
        lane_blocks(false, true, p);
    else
        lane_blocks(false, false, p);
}

extern const hs_product_tiles HS_KERNEL(product_tiles);
const hs_product_tiles HS_KERNEL(product_tiles) = { run, finish, lane };
