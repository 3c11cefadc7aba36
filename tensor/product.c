/*
 * Chooses how a product is computed, and cuts it into parts for threads.
 *
 * Parts never change a bit: our own kernels compute every element alone in a fixed order, however
 * the product is cut, and a product for OpenBLAS is cut in the same way for any number of threads.
 */
#include <hastings/tensor/number.h>
#include <hastings/tensor/product.h>

#include <hastings/tensor/blas.h>
#include <hastings/tensor/memory.h>
#include "product_internal.h"
#include <hastings/tensor/threads.h>

#include <limits.h>
#include <string.h>

HS_KERNEL_TABLE(hs_product_tiles, product_tiles);
HS_KERNEL_TABLE(hs_product_vectors, product_vectors);
HS_KERNEL_TABLE(hs_product_sums, product_sums);

/* ---- Choice, by the figures of bench/products.md ---- */

/* OpenBLAS copies its operands; our tiles only cut sums to fit the first-level cache. So OpenBLAS wins where the values
 * are far larger than the second-level cache. The number of weights does not matter: with few lanes it would take longer
 * to copy them than to use them. */
static const double values_for_blas = 2e6;
/* In sums over lanes OpenBLAS wins earlier, from 512 x 512 sums on. */
static const double sums_for_blas = 512 * 512;

/* OpenBLAS may have taken this processor for an old one, see blas.h; then it never wins. */
static bool is_blas_fast(void)
{
    return hs_blas_isa() >= hs_cpu_isa();
}

static hs_product_method choose(const hs_product *p)
{
    const double values = ((double)p->out + (double)p->in) * (double)p->lanes;
    return p->lanes > 1 && values > values_for_blas && is_blas_fast() ? HS_PRODUCT_BLAS
                                                                      : HS_PRODUCT_OWN;
}

static double pieces(size_t n, size_t size)
{
    return (double)((n + size - 1) / size);
}

/* The cycles of sums over lanes by dot products: multiply-adds, and one folding of the vectors of every tile. */
static double cost_of_dots(size_t out, size_t in, double terms, size_t lanes, size_t vector)
{
    const bool wide = hs_cpu_isa() == HS_ISA_AVX512;    /* the tiles of product_sum_kernels.c */
    const double sums = (double)out * (double)(in + 1); /* one more column, of ones */
    return sums * (terms * pieces(lanes, vector) + 2) +
           30 * pieces(out, wide ? 6 : 4) * pieces(in + 1, wide ? 4 : 2);
}

/* The cycles of one term with x transposed: multiply-adds with inputs instead of lanes in the vectors, the transposition
 * of x, the addition of padded rows, the sums of dy, and the calls. */
static double cost_of_transposing(size_t out, size_t in, size_t lanes, size_t vector)
{
    const double across = pieces(in, vector);
    return (double)out * across * (double)lanes + 100 * across * pieces(lanes, vector) +
           8 * (double)out * across + cost_of_dots(out, 0, 1, lanes, vector) + 150;
}

hs_product_method hs__product_sum_choose(hs_dtype dtype, const hs_product_sum *p)
{
    const size_t out = p->out, in = p->in, lanes = p->lanes;
    const double terms = p->terms > 1 ? (double)p->terms : 1;
    if (lanes == 1)
        return HS_PRODUCT_OWN;
    if ((double)out * (double)in >= sums_for_blas && is_blas_fast())
        return HS_PRODUCT_BLAS;
    /* Dot products fold a vector for every sum. If a sum has few vectors of lanes, it pays to transpose x and use the
     * tiles; the more outputs share the transposed x, the more. */
    const size_t vector = ((size_t)16 << hs_cpu_isa()) / hs_dtype_size(dtype);
    return terms * cost_of_transposing(out, in, lanes, vector) <
                   cost_of_dots(out, in, terms, lanes, vector)
               ? HS_PRODUCT_OWN_TRANSPOSED
               : HS_PRODUCT_OWN;
}

/* ---- Parts ---- */

/* Below this many multiply-adds, waking a thread costs more than it saves. */
static const double parallel_least = 1 << 19;

static bool is_parallel(int threads, size_t out, size_t in, size_t lanes)
{
    return threads > 1 && (double)out * (double)in * (double)lanes >= parallel_least;
}

static const void *at(const void *base, size_t bytes)
{
    return base ? (const char *)base + bytes : NULL;
}

static void *at_mutable(void *base, size_t bytes)
{
    return (char *)base + bytes;
}

static size_t line_up(hs_dtype dtype, size_t n)
{
    return hs_align_up(n * hs_dtype_size(dtype)) / hs_dtype_size(dtype);
}

/* The number of parts; parts grow until hs_parallel_for() can count them. */
static int count_parts(size_t n, size_t *part)
{
    while ((n + *part - 1) / *part > INT_MAX)
        *part *= 2;
    return (int)((n + *part - 1) / *part);
}

static size_t part_length(size_t n, size_t part, int index)
{
    const size_t begin = (size_t)index * part;
    return n - begin < part ? n - begin : part;
}

typedef struct {
    const hs_product *product;
    void (*run)(hs_dtype dtype, const hs_product *product, const void *kernels);
    const void *kernels;
    hs_dtype dtype;
    size_t part;  /* outputs, or lanes, of a part */
    bool by_lane; /* parts are ranges of lanes */
} run_context;

/* A product of a range of the outputs. */
static hs_product outputs_of(hs_dtype dtype, const hs_product *product, size_t part, int index)
{
    hs_product p = *product;
    const size_t size = hs_dtype_size(dtype), begin = (size_t)index * part;
    p.out = part_length(p.out, part, index);
    p.w = at(p.w, begin * p.w_out * size);
    p.y = at_mutable(p.y, begin * p.y_stride * size);
    p.bias = at(p.bias, begin * size);
    p.add = at(p.add, begin * p.add_stride * size);
    p.gate = at(p.gate, begin * p.gate_stride * size);
    return p;
}

static hs_product lanes_of(hs_dtype dtype, const hs_product *product, size_t part, int index)
{
    hs_product p = *product;
    const size_t begin = (size_t)index * part * hs_dtype_size(dtype);
    p.lanes = part_length(p.lanes, part, index);
    p.x = at(p.x, begin);
    p.y = at_mutable(p.y, begin);
    p.add = at(p.add, begin);
    p.gate = at(p.gate, begin);
    return p;
}

static void run_part(int index, void *context)
{
    const run_context *c = context;
    hs_product twin, p = c->by_lane ? lanes_of(c->dtype, c->product, c->part, index)
                                    : outputs_of(c->dtype, c->product, c->part, index);
    if (p.twin) {
        twin = outputs_of(c->dtype, p.twin, c->part, index);
        p.twin = &twin;
    }
    c->run(c->dtype, &p, c->kernels);
}

static void run_parts(run_context *c, int threads)
{
    const hs_product *p = c->product;
    const int parts = count_parts(c->by_lane ? p->lanes : p->out, &c->part);
    hs_parallel_for(threads, parts, run_part, c);
}

/* ---- y = f(start + w x) ---- */

static void run_tiles(hs_dtype dtype, const hs_product *p, const void *kernels)
{
    (void)dtype;
    ((const hs_product_tiles *)kernels)->run(p);
}

static void run_vectors(hs_dtype dtype, const hs_product *p, const void *kernels)
{
    (void)dtype;
    ((const hs_product_vectors *)kernels)->run(p);
}

/* One lane, w by rows: each part reads some hundred kilobytes of w as streams far from each other, and each thread has
 * the same number of parts. */
static void run_rows(run_context *c)
{
    enum { PART_BYTES = 1 << 19 };
    const hs_product *p = c->product;
    const size_t bytes = p->out * p->in * hs_dtype_size(c->dtype), threads = (size_t)p->threads;
    const size_t parts = (bytes / PART_BYTES / threads + 1) * threads;
    c->part = line_up(c->dtype, (p->out + parts - 1) / parts);
    run_parts(c, p->threads);
}

/*
 * One lane, w by columns. If outputs were cut, threads would read pieces of columns, at half of the speed or less
 * (bench/products.md). So large products are cut by inputs, into sections with sums of their own, which are then added
 * in order. The sections do not depend on the threads. If columns are so long that there is no room for two sums, the
 * outputs are cut after all.
 */
enum { MIN_SECTIONS = 2, MAX_SECTIONS = 8, ROOM_FOR_SUMS = 1 << 16 };

typedef struct {
    const hs_product *product;
    const hs_product_vectors *vectors;
    hs_dtype dtype;
    size_t part, stride; /* outputs of a part; numbers from one section's sums to the next */
    int parts;           /* of a section */
    int sections;
    char *sums[2]; /* of the product, and of its twin */
} section_context;

/* A product of a range of the inputs, a section, and of a range of the outputs. */
static hs_product section_of(const section_context *c, const hs_product *product, char *sums,
                             int index)
{
    const size_t section = (size_t)(index / c->parts), sections = (size_t)c->sections;
    const size_t begin = product->in * section / sections, size = hs_dtype_size(c->dtype);
    const hs_product p = { .out = product->out,
                           .in = product->in * (section + 1) / sections - begin,
                           .lanes = 1,
                           .w = at(product->w, begin * product->w_in * size),
                           .w_out = 1,
                           .w_in = product->w_in,
                           .x = at(product->x, begin * size),
                           .x_stride = 1,
                           .y = sums + section * c->stride * size,
                           .y_stride = 1 };
    return outputs_of(c->dtype, &p, c->part, index % c->parts);
}

static void run_section(int index, void *context)
{
    const section_context *c = context;
    const hs_product *twin = c->product->twin;
    hs_product p = section_of(c, c->product, c->sums[0], index), q;
    if (twin) {
        q = section_of(c, twin, c->sums[1], index);
        p.twin = &q;
    }
    c->vectors->run(&p);
}

static int count_sections(hs_dtype dtype, const hs_product *p)
{
    const size_t bytes = line_up(dtype, p->out) * hs_dtype_size(dtype);
    int sections = MAX_SECTIONS;
    while (sections >= MIN_SECTIONS &&
           (p->in < 16 * (size_t)sections || bytes * (size_t)sections > ROOM_FOR_SUMS))
        sections /= 2;
    return sections;
}

/* Adds up the sums of all sections: a product with ones. */
static void add_sections(const section_context *c, const hs_product *p, const char *sums)
{
    static const float ones_f32[MAX_SECTIONS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const double ones_f64[MAX_SECTIONS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    hs_product total = *p;
    total.in = (size_t)c->sections;
    total.w = sums;
    total.w_in = c->stride;
    total.x = c->dtype == HS_F32 ? (const void *)ones_f32 : ones_f64;
    total.twin = NULL;
    c->vectors->run(&total);
}

static void run_sections(hs_dtype dtype, const hs_product_vectors *vectors, const hs_product *p,
                         int sections)
{
    _Alignas(HS_ALIGN) char sums[2][ROOM_FOR_SUMS];
    /* If there are too few sections for the threads, sections are cut by outputs, too. */
    const bool suffice = p->threads <= 1 || sections % p->threads == 0;
    const size_t pieces = suffice ? 1 : (size_t)(2 * p->threads / sections + 1);
    section_context c = { .product = p,
                          .vectors = vectors,
                          .dtype = dtype,
                          .part = line_up(dtype, (p->out + pieces - 1) / pieces),
                          .stride = line_up(dtype, p->out),
                          .sections = sections,
                          .sums = { sums[0], sums[1] } };
    c.parts = count_parts(p->out, &c.part);
    hs_parallel_for(p->threads, sections * c.parts, run_section, &c);
    add_sections(&c, p, sums[0]);
    if (p->twin)
        add_sections(&c, p->twin, sums[1]);
}

static void run_one_lane(run_context *c)
{
    const hs_product *p = c->product;
    const hs_product_vectors *vectors = c->kernels;
    const bool large = (double)p->out * (double)p->in >= parallel_least, by_row = p->w_in == 1;
    const int sections = large && !by_row ? count_sections(c->dtype, p) : 1;
    c->run = run_vectors;
    if (sections > 1) {
        run_sections(c->dtype, vectors, p, sections);
    } else if (!large || p->threads <= 1) {
        vectors->run(p);
    } else if (by_row) {
        run_rows(c);
    } else {
        c->part = 256 * (HS_ALIGN / hs_dtype_size(c->dtype));
        run_parts(c, p->threads);
    }
}

static void run_blas(hs_dtype dtype, const hs_product *p, const void *kernels)
{
    const size_t size = hs_dtype_size(dtype);
    if (p->add && p->add != p->y)
        for (size_t o = 0; o < p->out; o++)
            memcpy(at_mutable(p->y, o * p->y_stride * size), at(p->add, o * p->add_stride * size),
                   p->lanes * size);
    hs_blas_multiply(dtype, p->out, p->lanes, p->in, p->w, p->w_in == 1 ? p->w_out : p->w_in,
                     p->w_in != 1, p->x, p->x_stride, false, p->y, p->y_stride, p->add != NULL);
    if (p->bias || p->act != HS_ACT_NONE || p->gate)
        ((const hs_product_tiles *)kernels)->finish(p);
}

static bool fits_blas(const hs_product *p)
{
    return hs_blas_fits(p->out) && hs_blas_fits(p->in) && hs_blas_fits(p->lanes) &&
           hs_blas_fits(p->w_out) && hs_blas_fits(p->w_in) && hs_blas_fits(p->x_stride) &&
           hs_blas_fits(p->y_stride) && (p->w_in == 1 ? p->w_out >= p->in : p->w_in >= p->out);
}

void hs__product_run_as(hs_isa isa, hs_product_method method, hs_dtype dtype, const hs_product *p)
{
    const size_t line = HS_ALIGN / hs_dtype_size(dtype); /* numbers in a cache line */
    const bool parallel = is_parallel(p->threads, p->out, p->in, p->lanes);
    run_context c = { .product = p, .dtype = dtype, .kernels = product_tiles_table[isa][dtype] };
    if (p->lanes == 1) {
        c.kernels = product_vectors_table[isa][dtype];
        run_one_lane(&c);
    } else if (method == HS_PRODUCT_BLAS && fits_blas(p)) {
        c.run = run_blas;
        c.by_lane = p->lanes > p->out;
        c.part = 1024;
        run_parts(&c, p->threads);
    } else if (parallel) {
        c.run = run_tiles;
        c.by_lane = p->lanes > p->out;
        c.part = c.by_lane ? 16 * line : 24;
        run_parts(&c, p->threads);
    } else {
        product_tiles_table[isa][dtype]->run(p);
    }
}

void hs_product_run(hs_dtype dtype, const hs_product *p)
{
    const hs_product_method method = choose(p);
    if (method == HS_PRODUCT_OWN && p->lanes > 1 && p->threads <= 1)
        product_tiles_table[hs_cpu_isa()][dtype]->run(p); /* most products go this short way */
    else
        hs__product_run_as(hs_cpu_isa(), method, dtype, p);
}

/* ---- dw = sums over lanes ---- */

typedef struct {
    hs_dtype dtype;
    const hs_product_tiles *tiles;
    const hs_product_vectors *vectors;
    const hs_product_sums *sums;
} sum_kernels;

typedef struct {
    const hs_product_sum *product;
    void (*run)(const sum_kernels *kernels, const hs_product_sum *product, size_t first);
    const sum_kernels *kernels;
    size_t part;
} sum_context;

static void sum_vectors(const sum_kernels *k, const hs_product_sum *p, size_t first)
{
    (void)first;
    k->vectors->sum(p);
}

static void sum_dots(const sum_kernels *k, const hs_product_sum *p, size_t first)
{
    (void)first;
    k->sums->dots(p);
}

/* The sums of dy alone, for methods that do not compute them with the others. */
static void sum_bias(const sum_kernels *k, const hs_product_sum *p)
{
    hs_product_sum q = *p;
    q.in = 0;
    if (p->db)
        k->sums->dots(&q);
}

/* Scratch holds x transposed, then dw with padded rows. */
static void sum_transposed(const sum_kernels *k, const hs_product_sum *p, size_t first)
{
    const size_t stride = line_up(k->dtype, p->in), size = hs_dtype_size(k->dtype);
    void *padded = at_mutable(p->scratch, (line_up(k->dtype, p->lanes) + first) * stride * size);
    hs_product q = { .out = p->out,
                     .in = p->lanes,
                     .lanes = p->in,
                     .w = p->dy,
                     .w_out = p->dy_stride,
                     .w_in = 1,
                     .x = p->scratch,
                     .x_stride = stride,
                     .y = padded,
                     .y_stride = stride };
    k->tiles->run(&q);
    k->sums->deliver(p, padded, stride);
    sum_bias(k, p);
}

static void sum_blas(const sum_kernels *k, const hs_product_sum *p, size_t first)
{
    (void)first;
    hs_blas_multiply(k->dtype, p->out, p->in, p->lanes, p->dy, p->dy_stride, false, p->x,
                     p->x_stride, true, p->dw, p->in, p->accumulate);
    sum_bias(k, p);
}

static void sum_part(int index, void *context)
{
    const sum_context *c = context;
    hs_product_sum p = *c->product;
    const size_t size = hs_dtype_size(c->kernels->dtype), begin = (size_t)index * c->part;
    p.out = part_length(p.out, c->part, index);
    p.dy = at(p.dy, begin * p.dy_stride * size);
    p.dw = at_mutable(p.dw, begin * p.in * size);
    p.db = p.db ? at_mutable(p.db, begin * size) : NULL;
    c->run(c->kernels, &p, begin);
}

/* Term by term, for methods that take one term only. */
static void sum_terms(hs_isa isa, hs_product_method method, hs_dtype dtype, const hs_product_sum *p)
{
    const size_t size = hs_dtype_size(dtype);
    hs_product_sum one = *p;
    one.terms = 1;
    for (size_t term = 0; term < p->terms; term++) {
        one.dy = at(p->dy, term * p->dy_term * size);
        one.x = at(p->x, term * p->x_term * size);
        one.accumulate = p->accumulate || term > 0;
        one.accumulate_db = p->accumulate_db || term > 0;
        hs__product_sum_run_as(isa, method, dtype, &one);
    }
}

void hs__product_sum_run_as(hs_isa isa, hs_product_method method, hs_dtype dtype,
                            const hs_product_sum *p)
{
    if (p->terms > 1 && (p->lanes == 1 || method != HS_PRODUCT_OWN)) {
        sum_terms(isa, method, dtype, p);
        return;
    }
    const sum_kernels kernels = { dtype, product_tiles_table[isa][dtype],
                                  product_vectors_table[isa][dtype],
                                  product_sums_table[isa][dtype] };
    sum_context c = { .product = p, .kernels = &kernels, .part = 24, .run = sum_dots };
    bool cut = is_parallel(p->threads, p->out, p->in, p->lanes);
    if (p->lanes == 1) {
        c.run = sum_vectors;
    } else if (method == HS_PRODUCT_BLAS && hs_blas_fits(p->out) && hs_blas_fits(p->in) &&
               hs_blas_fits(p->lanes) && hs_blas_fits(p->dy_stride) && hs_blas_fits(p->x_stride)) {
        c.run = sum_blas;
        c.part = 1024;
        cut = true;
    } else if (method == HS_PRODUCT_OWN_TRANSPOSED) {
        c.run = sum_transposed;
        kernels.sums->transpose(p->x, p->x_stride, p->in, p->lanes, p->scratch,
                                line_up(dtype, p->in));
    }
    if (cut)
        hs_parallel_for(p->threads, count_parts(p->out, &c.part), sum_part, &c);
    else
        c.run(&kernels, p, 0);
}

void hs_product_sum_run(hs_dtype dtype, const hs_product_sum *p)
{
    hs__product_sum_run_as(hs_cpu_isa(), hs__product_sum_choose(dtype, p), dtype, p);
}

size_t hs__product_sum_scratch_any(hs_dtype dtype, size_t out, size_t in, size_t lanes)
{
    return (line_up(dtype, lanes) + out) * line_up(dtype, in) * hs_dtype_size(dtype);
}

size_t hs_product_sum_scratch(hs_dtype dtype, const hs_product_sum *p)
{
    if (hs__product_sum_choose(dtype, p) != HS_PRODUCT_OWN_TRANSPOSED)
        return 0;
    return hs__product_sum_scratch_any(dtype, p->out, p->in, p->lanes);
}

/* ---- The others ---- */

void hs__product_lane_run_as(hs_isa isa, hs_dtype dtype, const hs_product_lane *p)
{
    if (p->lanes == 1)
        product_vectors_table[isa][dtype]->lane(p);
    else
        product_tiles_table[isa][dtype]->lane(p);
}

void hs_product_lane_run(hs_dtype dtype, const hs_product_lane *p)
{
    hs__product_lane_run_as(hs_cpu_isa(), dtype, p);
}

/* For sizes that OpenBLAS's integers cannot hold. */
static void shared_plain(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                         bool transpose_a, const void *b, bool transpose_b, void *c,
                         bool accumulate)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = accumulate ? hs_number_get(dtype, c, i * n + j) : 0;
            for (size_t l = 0; l < k; l++)
                sum += hs_number_get(dtype, a, transpose_a ? l * m + i : i * k + l) *
                       hs_number_get(dtype, b, transpose_b ? j * k + l : l * n + j);
            hs_number_set(dtype, c, i * n + j, sum);
        }
}

void hs_product_shared_run(hs_dtype dtype, size_t m, size_t n, size_t k, const void *a,
                           bool transpose_a, const void *b, bool transpose_b, void *c,
                           bool accumulate)
{
    if (m == 0 || n == 0)
        return;
    if (hs_blas_fits(m) && hs_blas_fits(n) && hs_blas_fits(k))
        hs_blas_multiply(dtype, m, n, k, a, transpose_a ? m : k, transpose_a, b,
                         transpose_b ? k : n, transpose_b, c, n, accumulate);
    else
        shared_plain(dtype, m, n, k, a, transpose_a, b, transpose_b, c, accumulate);
}
