/*
 * Products with one lane: vectors run over features, and every weight is read once, so memory
 * sets the pace. Nothing is aligned or padded here.
 */
#include <hastings/tensor/product_internal.h>
#include <hastings/tensor/product_simd_internal.h>

/* Weights that are FAR, in memory and not in a cache, are asked for a group of rows ahead: the processor's own guesses
 * begin anew with every row. Long rows are taken for it. For columns it does not pay. */
enum { FAR_BYTES = 2048, LINE = 64 / sizeof(real) };

HS_INLINE void ask_for(const bool FAR, const real *w)
{
    if (FAR)
        __builtin_prefetch(w);
}

/* ---- Rows of w contiguous: dot products ---- */

/* Dot products of `rows` rows of w with x; lane r of the result is row r's. Every row is summed
 * in the same way whatever `rows` is. */
HS_INLINE vec row_dots(const int rows, const bool FAR, const real *w, size_t w_out, const real *x,
                       size_t in)
{
    vec a[4][2];
    HS_UNROLL
    for (int r = 0; r < rows; r++)
        a[r][0] = a[r][1] = (vec){ 0 };
    size_t k = 0;
    for (; k + 2 * LANES <= in; k += 2 * LANES) {
        vec x0 = v_loadu(x + k), x1 = v_loadu(x + k + LANES);
        HS_UNROLL
        for (int r = 0; r < rows; r++) {
            for (size_t line = 0; line < 2 * LANES; line += LINE)
                ask_for(FAR, w + (size_t)(r + rows) * w_out + k + line);
            a[r][0] += v_loadu(w + (size_t)r * w_out + k) * x0;
            a[r][1] += v_loadu(w + (size_t)r * w_out + k + LANES) * x1;
        }
    }
    for (; k < in; k += LANES) {
        vec x0 = v_load_some(x + k, in - k);
        HS_UNROLL
        for (int r = 0; r < rows; r++)
            a[r][0] += v_load_some(w + (size_t)r * w_out + k, in - k) * x0;
    }
    vec sums[4];
    HS_UNROLL
    for (int r = 0; r < rows; r++)
        sums[r] = a[r][0] + a[r][1];
    return v_fold(sums, rows);
}

HS_INLINE void multiply_rows(const bool FAR, size_t out, size_t in, const real *w, size_t w_out,
                             const real *x, real *y)
{
    const int group = LANES < 4 ? LANES : 4;
    size_t o = 0;
    for (; o + (size_t)group <= out; o += (size_t)group) {
        vec sums = row_dots(group, FAR, w + o * w_out, w_out, x, in);
        HS_UNROLL
        for (int r = 0; r < group; r++)
            y[o + (size_t)r] += sums[r];
    }
    for (; o < out; o++)
        y[o] += row_dots(1, false, w + o * w_out, w_out, x, in)[0];
}

/* ---- Columns of w contiguous: y += column k times x[k], several columns at a time ---- */

HS_INLINE void add_columns(const int columns, size_t out, const real *w, size_t w_in, const real *x,
                           real *y)
{
    vec xs[8];
    HS_UNROLL
    for (int c = 0; c < columns; c++)
        xs[c] = v_set1(x[c]);
    size_t o = 0;
    for (; o + LANES <= out; o += LANES) {
        vec a = v_loadu(y + o);
        HS_UNROLL
        for (int c = 0; c < columns; c++)
            a += v_loadu(w + (size_t)c * w_in + o) * xs[c];
        v_storeu(y + o, a);
    }
    if (o < out) {
        vec a = v_load_first(y + o, out - o);
        HS_UNROLL
        for (int c = 0; c < columns; c++)
            a += v_load_first(w + (size_t)c * w_in + o, out - o) * xs[c];
        v_store_first(y + o, a, out - o);
    }
}

static void multiply_columns(size_t out, size_t in, const real *w, size_t w_in, const real *x,
                             real *y)
{
    size_t k = 0;
    for (; k + 8 <= in; k += 8)
        add_columns(8, out, w + k * w_in, w_in, x + k, y);
    for (; k + 2 <= in; k += 2)
        add_columns(2, out, w + k * w_in, w_in, x + k, y);
    if (k < in)
        add_columns(1, out, w + k * w_in, w_in, x + k, y);
}

/* y += w x, one of the strides of w being 1. */
static void multiply(size_t out, size_t in, const real *w, size_t w_out, size_t w_in, const real *x,
                     real *y)
{
    if (w_in != 1)
        multiply_columns(out, in, w, w_in, x, y);
    else if (w_out * sizeof(real) >= FAR_BYTES)
        multiply_rows(true, out, in, w, w_out, x, y);
    else
        multiply_rows(false, out, in, w, w_out, x, y);
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

static void run(const hs_product *p)
{
    const real *bias = p->bias, *add = p->add;
    real *y = p->y;
    for (size_t o = 0; o < p->out; o++)
        y[o] = (bias ? bias[o] : 0) + (add ? add[o] : 0);
    multiply(p->out, p->in, p->w, p->w_out, p->w_in, p->x, y);
    if (p->act != HS_ACT_NONE || p->gate)
        HS_SWITCH_ACTIVATION(p->act, activate_loop, y, p->gate, p->out)
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
