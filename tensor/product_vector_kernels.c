/*
 * Products with one lane: vectors run over features. Every weight is read once, so memory sets the pace. Operands are
 * neither aligned nor padded.
 */
#include "product_internal.h"
#include "product_simd_internal.h"

/* FAR weights, too many for the near caches, are read as several streams far from each other: twice as fast
 * (bench/products.md), because the processor foresees reads page by page, and neighbouring rows share pages. Of few
 * weights, neighbouring rows are faster. */
enum { FAR_BYTES = 1 << 17, COLUMNS = 8 };
enum { ROWS = LANES < 4 ? LANES : 4 }; /* rows at a time, whose sums fit in a vector */

/* The operands of one reading of w: VECTORS vectors x and results y. The bits of a result do not depend on VECTORS. */
enum { MOST_VECTORS = 2 };
typedef struct {
    const real *x[MOST_VECTORS];
    real *y[MOST_VECTORS];
} operands;

/* A vector of w, or its first `left` numbers. It stays in a register: the compiler would fetch it again for every x, and
 * then only half as many fetches from memory are under way. */
HS_INLINE vec load_once(const int VECTORS, const real *w, size_t left)
{
    vec a = v_load_some(w, left);
    if (VECTORS > 1)
        HS_IN_REGISTER(a);
    return a;
}

/* ---- Rows of w contiguous: dot products ---- */

/* Dot products of `rows` rows of w, `apart` numbers from one to the next, with every x. Lane r of a result belongs to
 * row r; its bits do not depend on `rows`. */
HS_INLINE void row_dots(const int VECTORS, const size_t rows, const real *w, size_t apart,
                        const real *const *x, size_t in, vec *result)
{
    vec a[MOST_VECTORS][ROWS][2];
    HS_UNROLL
    for (int v = 0; v < VECTORS; v++) {
        HS_UNROLL
        for (size_t r = 0; r < rows; r++)
            a[v][r][0] = a[v][r][1] = (vec){ 0 };
    }
    size_t k = 0;
    for (; k + 2 * LANES <= in; k += 2 * LANES) {
        HS_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vec w0 = load_once(VECTORS, w + r * apart + k, LANES);
            const vec w1 = load_once(VECTORS, w + r * apart + k + LANES, LANES);
            HS_UNROLL
            for (int v = 0; v < VECTORS; v++) {
                a[v][r][0] += w0 * v_loadu(x[v] + k);
                a[v][r][1] += w1 * v_loadu(x[v] + k + LANES);
            }
        }
    }
    for (; k < in; k += LANES) {
        HS_UNROLL
        for (size_t r = 0; r < rows; r++) {
            const vec w0 = load_once(VECTORS, w + r * apart + k, in - k);
            HS_UNROLL
            for (int v = 0; v < VECTORS; v++)
                a[v][r][0] += w0 * v_load_some(x[v] + k, in - k);
        }
    }
    HS_UNROLL
    for (int v = 0; v < VECTORS; v++) {
        vec sums[ROWS];
        HS_UNROLL
        for (size_t r = 0; r < rows; r++)
            sums[r] = a[v][r][0] + a[v][r][1];
        result[v] = v_fold(sums, (int)rows);
    }
}

HS_INLINE void multiply_rows(const int VECTORS, const bool FAR, size_t out, size_t in,
                             const real *w, size_t w_out, const operands *of)
{
    const size_t group = ROWS, groups = out / group;
    const size_t apart = FAR ? groups : 1, step = FAR ? 1 : group;
    vec sums[MOST_VECTORS];
    for (size_t g = 0, o = 0; g < groups; g++, o += step) {
        row_dots(VECTORS, group, w + o * w_out, apart * w_out, of->x, in, sums);
        HS_UNROLL
        for (int v = 0; v < VECTORS; v++) {
            HS_UNROLL
            for (size_t r = 0; r < group; r++)
                of->y[v][o + r * apart] += sums[v][r];
        }
    }
    for (size_t o = groups * group; o < out; o++) {
        row_dots(VECTORS, 1, w + o * w_out, 0, of->x, in, sums);
        HS_UNROLL
        for (int v = 0; v < VECTORS; v++)
            of->y[v][o] += sums[v][0];
    }
}

/* ---- Columns of w contiguous: y += column k times x[k], several columns at a time ---- */

/* Adds the columns to y from number o on: a vector, or `left` numbers if they are fewer. */
HS_INLINE void add_vectors(const int VECTORS, const int columns, const vec (*xs)[COLUMNS],
                           const real *w, size_t apart, real *const *y, size_t o, size_t left)
{
    vec a[MOST_VECTORS];
    HS_UNROLL
    for (int v = 0; v < VECTORS; v++)
        a[v] = v_load_some(y[v] + o, left);
    HS_UNROLL
    for (int c = 0; c < columns; c++) {
        const vec column = load_once(VECTORS, w + (size_t)c * apart + o, left);
        HS_UNROLL
        for (int v = 0; v < VECTORS; v++)
            a[v] += column * xs[v][c];
    }
    HS_UNROLL
    for (int v = 0; v < VECTORS; v++)
        v_store_some(y[v] + o, a[v], left);
}

/* Adds columns k, k + apart and so on. */
HS_INLINE void add_columns(const int VECTORS, const int columns, size_t k, size_t apart, size_t out,
                           const real *w, size_t w_in, const operands *of)
{
    vec xs[MOST_VECTORS][COLUMNS];
    HS_UNROLL
    for (int v = 0; v < VECTORS; v++) {
        HS_UNROLL
        for (int c = 0; c < columns; c++)
            xs[v][c] = v_set1(of->x[v][k + (size_t)c * apart]);
    }
    size_t o = 0;
    for (; o + LANES <= out; o += LANES)
        add_vectors(VECTORS, columns, xs, w + k * w_in, apart * w_in, of->y, o, LANES);
    if (o < out)
        add_vectors(VECTORS, columns, xs, w + k * w_in, apart * w_in, of->y, o, out - o);
}

HS_INLINE void multiply_columns(const int VECTORS, const bool FAR, size_t out, size_t in,
                                const real *w, size_t w_in, const operands *of)
{
    const size_t groups = in / COLUMNS, apart = FAR ? groups : 1, step = FAR ? 1 : COLUMNS;
    for (size_t g = 0, k = 0; g < groups; g++, k += step)
        add_columns(VECTORS, COLUMNS, k, apart, out, w, w_in, of);
    size_t k = groups * COLUMNS;
    for (; k + 2 <= in; k += 2)
        add_columns(VECTORS, 2, k, 1, out, w, w_in, of);
    if (k < in)
        add_columns(VECTORS, 1, k, 1, out, w, w_in, of);
}

/* y += w x; one stride of w is 1. All of w, not the outputs asked for, decides the order of a column's sums. */
HS_INLINE void multiply_all(const int VECTORS, size_t out, size_t in, const real *w, size_t w_out,
                            size_t w_in, const operands *of)
{
    const bool far = (w_in == 1 ? out * w_out : in * w_in) * sizeof(real) >= FAR_BYTES;
    if (w_in == 1 && far)
        multiply_rows(VECTORS, true, out, in, w, w_out, of);
    else if (w_in == 1)
        multiply_rows(VECTORS, false, out, in, w, w_out, of);
    else if (far)
        multiply_columns(VECTORS, true, out, in, w, w_in, of);
    else
        multiply_columns(VECTORS, false, out, in, w, w_in, of);
}

static void multiply(size_t out, size_t in, const real *w, size_t w_out, size_t w_in, const real *x,
                     real *y)
{
    multiply_all(1, out, in, w, w_out, w_in, &(operands){ { x }, { y } });
}

HS_INLINE void activate_loop(const hs_activation_kind act, real *y, const real *gate, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec a = v_activate(act, v_load_some(y + i, n - i));
        if (gate)
            a = v_gate(v_load_some(gate + i, n - i), a);
        v_store_some(y + i, a, n - i);
    }
}

static void begin(const hs_product *p)
{
    const real *bias = p->bias, *add = p->add;
    real *y = p->y;
    for (size_t o = 0; o < p->out; o++)
        y[o] = (bias ? bias[o] : 0) + (add ? add[o] : 0);
}

static void finish(const hs_product *p)
{
    if (p->act != HS_ACT_NONE || p->gate)
        HS_SWITCH_ACTIVATION(p->act, activate_loop, p->y, p->gate, p->out)
}

static void run(const hs_product *p)
{
    const hs_product *twin = p->twin;
    begin(p);
    if (twin) {
        begin(twin);
        multiply_all(2, p->out, p->in, p->w, p->w_out, p->w_in,
                     &(operands){ { p->x, twin->x }, { p->y, twin->y } });
        finish(twin);
    } else {
        multiply(p->out, p->in, p->w, p->w_out, p->w_in, p->x, p->y);
    }
    finish(p);
}

static void lane(const hs_product_lane *p)
{
    const size_t a_step = p->a_shared ? 1 : p->a_stride, b_step = p->b_shared ? 1 : p->b_stride;
    const size_t a_out = p->a_out * a_step, a_in = p->a_in * a_step;
    const size_t b_in = p->b_in * b_step, b_n = p->b_n * b_step;
    const real *a = p->a, *b = p->b;
    real *y = p->y;
    if (p->y_stride == 1 && p->n == 1 && b_in == 1 && (a_in == 1 || a_out == 1)) {
        memset(y, 0, p->out * sizeof(real));
        multiply(p->out, p->in, a, a_out, a_in, b, y);
        return;
    }
    if (p->y_stride == 1 && a_in == 1 && (b_in == 1 || b_n == 1)) {
        memset(y, 0, p->out * p->n * sizeof(real));
        for (size_t o = 0; o < p->out; o++)
            multiply(p->n, p->in, b, b_n, b_in, a + o * a_out, y + o * p->n);
        return;
    }
    for (size_t o = 0; o < p->out; o++)
        for (size_t j = 0; j < p->n; j++) {
            real sum = 0;
            for (size_t k = 0; k < p->in; k++)
                sum += a[o * a_out + k * a_in] * b[k * b_in + j * b_n];
            y[(o * p->n + j) * p->y_stride] = sum;
        }
}

/* ---- The rank-one weight gradient ---- */

HS_INLINE void outer_loop(const bool accumulate, const hs_product_sum *p)
{
    const real *x = p->x;
    for (size_t o = 0; o < p->out; o++) {
        const vec d = v_set1(((const real *)p->dy)[o * p->dy_stride]);
        real *dw = (real *)p->dw + o * p->in;
        for (size_t i = 0; i < p->in; i += LANES) {
            const size_t left = p->in - i;
            vec a = d * v_load_some(x + i, left);
            v_store_some(dw + i, accumulate ? v_load_some(dw + i, left) + a : a, left);
        }
    }
}

static void sum(const hs_product_sum *p)
{
    for (size_t o = 0; p->db && o < p->out; o++) {
        const real d = ((const real *)p->dy)[o * p->dy_stride];
        real *db = (real *)p->db + o;
        *db = p->accumulate_db ? *db + d : d;
    }
    if (p->x_stride != 1) {
        for (size_t o = 0; o < p->out; o++)
            for (size_t i = 0; i < p->in; i++) {
                real a =
                    ((const real *)p->dy)[o * p->dy_stride] * ((const real *)p->x)[i * p->x_stride];
                real *dw = (real *)p->dw + o * p->in + i;
                *dw = p->accumulate ? *dw + a : a;
            }
        return;
    }
    if (p->accumulate)
        outer_loop(true, p);
    else
        outer_loop(false, p);
}

extern const hs_product_vectors HS_KERNEL(product_vectors);
const hs_product_vectors HS_KERNEL(product_vectors) = { run, lane, sum };
