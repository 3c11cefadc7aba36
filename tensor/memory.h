/**
 * Memory: the one place where Hastings gets it.
 *
 * Every block is aligned to HS_ALIGN bytes, so that vector kernels may use
 * aligned access. A program may replace the allocator before its first call
 * into the library (tests use this to count allocations and to fail the n-th).
 */
#ifndef HASTINGS_TENSOR_MEMORY_H
#define HASTINGS_TENSOR_MEMORY_H

#include <hastings/tensor/api.h>

#include <stddef.h>

enum { HS_ALIGN = 64 };

/** `allocate` returns memory aligned to HS_ALIGN or NULL; `release` takes it back, or NULL. */
typedef struct {
    void *(*allocate)(size_t bytes, void *context);
    void (*release)(void *block, void *context);
    void *context;
} hs_allocator;

/** Replaces the allocator; NULL restores the default. Not thread-safe, and blocks must be
 *  released by the allocator that made them. */
HS_API void hs_set_allocator(const hs_allocator *allocator);

/** A block of at least `bytes` bytes, uninitialised; NULL if there is none. */
HS_API void *hs_alloc(size_t bytes);

/** The same, of count * size bytes, all zero; NULL also if the product overflows. */
HS_API void *hs_alloc_zero(size_t count, size_t size);

/** Moves a block of `old_bytes` into a new one of `new_bytes` and frees the old; on failure
 *  returns NULL and leaves the old block as it was. `block` may be NULL if old_bytes is 0. */
HS_API void *hs_grow(void *block, size_t old_bytes, size_t new_bytes);

/** Gives a block back; NULL is allowed. */
HS_API void hs_free(void *block);

/** Rounds up to a whole number of HS_ALIGN bytes. */
static inline size_t hs_align_up(size_t bytes)
{
    return (bytes + HS_ALIGN - 1) / HS_ALIGN * HS_ALIGN;
}

/** A bump arena: many small blocks with one lifetime. Zero-initialise it to start. */
typedef struct hs_arena {
    struct hs_arena_block *last;
} hs_arena;

/** `bytes` from the arena, aligned to 16; NULL if there is no memory. */
HS_API void *hs_arena_alloc(hs_arena *arena, size_t bytes);

/** A copy of a string in the arena; NULL if there is no memory. */
HS_API char *hs_arena_string(hs_arena *arena, const char *text);

/** Frees everything taken from the arena. */
HS_API void hs_arena_free(hs_arena *arena);

#endif
