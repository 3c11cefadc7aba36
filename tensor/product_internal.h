/**
 * The tables that the kernel sources of matrix products export to product.c, and to tests and benchmarks, which call
 * them directly. They are indexed [isa][dtype], see cpu.h.
 */
#ifndef HASTINGS_TENSOR_PRODUCT_INTERNAL_H
#define HASTINGS_TENSOR_PRODUCT_INTERNAL_H

#include <hastings/tensor/cpu.h>
#include <hastings/tensor/product.h>

/** Products with lanes > 1; `threads` is ignored. */
typedef struct {
    /** hs_product_run() on register tiles. Every y[o][l] is one chain of fused multiply-adds in the
     *  order of k, so cutting a product by outputs or lanes changes no bit. */
    void (*run)(const hs_product *product);
    /** y = gate(act(y + bias)): the rest of the work after OpenBLAS; w, x, add are not used. */
    void (*finish)(const hs_product *product);
    void (*lane)(const hs_product_lane *product);
} hs_product_tiles;

/** Products with lanes == 1, whose vectors run over features. Cutting one by outputs at multiples
 *  of HS_ALIGN bytes changes no bit. */
typedef struct {
    void (*run)(const hs_product *product);
    void (*lane)(const hs_product_lane *product);
    /** dw[o][i] (+)= dy[o] x[i]: hs_product_sum_run() with lanes == 1. */
    void (*sum)(const hs_product_sum *product);
} hs_product_vectors;

/** Sums over lanes. */
typedef struct {
    /** hs_product_sum_run() by dot products; uses no scratch. Cutting by outputs changes no bit. */
    void (*dots)(const hs_product_sum *product);
    /** to[l * to_stride + i] = x[i * x_stride + l] for l < lanes, and 0 for i from `in` up to the
     *  next multiple of HS_ALIGN bytes. `to` has room for lanes up to such a multiple, too. */
    void (*transpose)(const void *x, size_t x_stride, size_t in, size_t lanes, void *to,
                      size_t to_stride);
    /** dw[o][i] (+)= from[o * from_stride + i]. */
    void (*deliver)(const hs_product_sum *product, const void *from, size_t from_stride);
} hs_product_sums;

/** The ways to compute a product; the benchmark asks for each in turn to find the fastest. */
typedef enum { HS_PRODUCT_OWN, HS_PRODUCT_OWN_TRANSPOSED, HS_PRODUCT_BLAS } hs_product_method;

/** The method that hs_product_sum_run() chooses at a size. */
hs_product_method hs__product_sum_choose(hs_dtype dtype, const hs_product_sum *product);

/** The same products by a given method and instruction set. */
void hs__product_run_as(hs_isa isa, hs_product_method method, hs_dtype dtype,
                        const hs_product *product);
void hs__product_sum_run_as(hs_isa isa, hs_product_method method, hs_dtype dtype,
                            const hs_product_sum *product);
void hs__product_lane_run_as(hs_isa isa, hs_dtype dtype, const hs_product_lane *product);

/** Bytes of scratch that suffice for any method. */
size_t hs__product_sum_scratch_any(hs_dtype dtype, size_t out, size_t in, size_t lanes);

#endif
