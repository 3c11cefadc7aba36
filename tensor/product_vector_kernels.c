/*
 * Products with one lane: vectors run over features, and every weight is read once, so memory
 * sets the pace. Nothing is aligned or padded here.
 */
#include <hastings/tensor/product_internal.h>
#include <hastings/tensor/product_simd_internal.h>

/* Weights that are FAR, too many for the caches near by, are read as four streams, each of them whole and far from the
 * others: the processor guesses what will be read next page by page, and rows next to each other, which share pages,
 * make it guess wrong. That is twice as fast (bench/products.md); among few weights neighbours are faster. */
enum { FAR_BYTES = 1 << 17, STREAMS = 4, NEIGHBOURS = 8 };
enum { ROWS = LANES < 4 ? LANES : 4 }; /* whose sums fit in a vector */

/* ---- Rows of w contiguous: dot products ---- */

/* Dot products of `rows` rows of w, `apart` numbers from one to the next, with x; lane r of the result is row r's.
 * Every row is summed in the same way whatever `rows` is. */
HS_INLINE vec row_dots(const size_t rows, const real *w, size_t apart, const real *x, size_t in)
{
    vec a[ROWS][2];
    HS_UNROLL
    for (size_t r = 0; r < rows; r++)
        a[r][0] = a[r][1] = (vec){ 0 };
    size_t k = 0;
    for (; k + 2 * LANES <= in; k += 2 * LANES) {
        vec x0 = v_loadu(x + k), x1 = v_loadu(x + k + LANES);
        HS_UNROLL
        for (size_t r = 0; r < rows; r++) {
            a[r][0] += v_loadu(w + r * apart + k) * x0;
            a[r][1] += v_loadu(w + r * apart + k + LANES) * x1;
        }
    }
    for (; k < in; k += LANES) {
        vec x0 = v_load_some(x + k, in - k);
        HS_UNROLL
        for (size_t r = 0; r < rows; r++)
            a[r][0] += v_load_some(w + r * apart + k, in - k) * x0;
    }
    vec sums[ROWS];
    HS_UNROLL
    for (size_t r = 0; r < rows; r++)
        sums[r] = a[r][0] + a[r][1];
    return v_fold(sums, (int)rows);
}

HS_INLINE void multiply_rows(const bool FAR, size_t out, size_t in, const real *w, size_t w_out,
                             const real *x, real *y)
{
    const size_t group = ROWS, groups = out / group;
    const size_t apart = FAR ? groups : 1, step = FAR ? 1 : group;
    for (size_t g = 0, o = 0; g < groups; g++, o += step) {
        vec sums = row_dots(group, w + o * w_out, apart * w_out, x, in);
        HS_UNROLL
        for (size_t r = 0; r < group; r++)
            y[o + r * apart] += sums[r];
    }
    for (size_t o = groups * group; o < out; o++)
        y[o] += row_dots(1, w + o * w_out, 0, x, in)[0];
}

/* ---- Columns of w contiguous: y += column k times x[k], several columns at a time ---- */

/* Columns k, k + apart and so on, where k is the column that w and x begin with. */
HS_INLINE void add_columns(const int columns, size_t apart, size_t out, const real *w, size_t w_in,
                           const real *x, real *y)
{
    vec xs[NEIGHBOURS];
    HS_UNROLL
    for (int c = 0; c < columns; c++)
        xs[c] = v_set1(x[(size_t)c * apart]);
    size_t o = 0;
    for (; o + LANES <= out; o += LANES) {
        vec a = v_loadu(y + o);
        HS_UNROLL
        for (int c = 0; c < columns; c++)
            a += v_loadu(w + (size_t)c * apart * w_in + o) * xs[c];
        v_storeu(y + o, a);
    }
    if (o < out) {
        vec a = v_load_first(y + o, out - o);
        HS_UNROLL
        for (int c = 0; c < columns; c++)
            a += v_load_first(w + (size_t)c * apart * w_in + o, out - o) * xs[c];
        v_store_first(y + o, a, out - o);
    }
}

HS_INLINE void multiply_columns(const bool FAR, size_t out, size_t in, const real *w, size_t w_in,
                                const real *x, real *y)
{
    size_t k = 0;
    if (FAR) {
        const size_t apart = in / STREAMS;
        for (; k < apart; k++)
            add_columns(STREAMS, apart, out, w + k * w_in, w_in, x + k, y);
        k = apart * STREAMS;
    }
    for (; !FAR && k + NEIGHBOURS <= in; k += NEIGHBOURS)
        add_columns(NEIGHBOURS, 1, out, w + k * w_in, w_in, x + k, y);
    for (; k + 2 <= in; k += 2)
        add_columns(2, 1, out, w + k * w_in, w_in, x + k, y);
    if (k < in)
        add_columns(1, 1, out, w + k * w_in, w_in, x + k, y);
}

static HS_NOINLINE void multiply_far(size_t out, size_t in, const real *w, size_t w_out,
                                     size_t w_in, const real *x, real *y)
{
    if (w_in == 1)
        multiply_rows(true, out, in, w, w_out, x, y);
    else
        multiply_columns(true, out, in, w, w_in, x, y);
}

/* y += w x, one of the strides of w being 1. The order of a column's sums is decided by all of w, not by the outputs
 * that are asked for. */
static void multiply(size_t out, size_t in, const real *w, size_t w_out, size_t w_in, const real *x,
                     real *y)
{
    if ((w_in == 1 ? out * w_out : in * w_in) * sizeof(real) >= FAR_BYTES)
        multiply_far(out, in, w, w_out, w_in, x, y);
    else if (w_in == 1)
        multiply_rows(false, out, in, w, w_out, x, y);
    else
        multiply_columns(false, out, in, w, w_in, x, y);
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
