/**
 * Memory: the one place where Hastings gets it.
 *
 *     double *x = hs_alloc_zero(1000, sizeof *x);        // aligned to HS_ALIGN bytes
 *     if (!x)
 *         return HS_ENOMEM;
 *     hs_free(x);
 *
 * Every block is aligned to HS_ALIGN bytes, so that vector kernels may use aligned access. The caller owns a block and
 * gives it back with hs_free(). Any thread may call, if the allocator allows that; the default one does. A program may
 * replace the allocator before its first call into the library: tests count allocations and fail the n-th.
 *
 * Systems promise more memory than they have, and kill the program that uses it. So a block is refused if it is larger
 * than what is left of the machine's memory, or of hs_memory_set_most().
 */
#ifndef HASTINGS_TENSOR_MEMORY_H
#define HASTINGS_TENSOR_MEMORY_H

#include <hastings/tensor/message.h>
#include <hastings/tensor/shape.h>

#include <stddef.h>

/** The alignment of every block, in bytes: a cache line, and the longest vector. */
enum { HS_ALIGN = 64 };

/** An allocator of the user's own. */
typedef struct {
    void *(*allocate)(size_t bytes, void *context); /**< memory aligned to HS_ALIGN, or NULL */
    void (*release)(void *block, void *context);    /**< takes a block back, or NULL */
    void *context;                                  /**< the last argument of both */
} hs_allocator;

/** Replaces the allocator, which is copied; NULL restores the default. No other thread may use the library meanwhile,
 *  and the allocator that made a block must release it. */
HS_API void hs_set_allocator(const hs_allocator *allocator);

/** Sets the most bytes that the library may take; 0: the machine's memory, which is the default. */
HS_API void hs_memory_set_most(size_t bytes);

/** Returns the bytes that the library may still take. Blocks of the user's own allocator are not counted, since nobody
 *  knows their length when they are released. */
HS_API size_t hs_memory_left(void);

/** Fails with HS_ENOMEM for the want of `bytes` bytes. The message is a text in the manner of printf, followed by the
 *  bytes: "out of memory for 8 chains: 1.2 TB are needed, and 24 GB are left". */
HS_API hs_status hs_memory_fail(hs_message *message, size_t bytes, const char *format, ...)
    HS_PRINTF(3, 4);

/** The bytes that hold a size as text. */
enum { HS_BYTES_TEXT = 32 };

/** Writes a size as people read it, "24 GB", and returns `text`; SIZE_MAX is "more than 18.4 EB". */
HS_API const char *hs_bytes_text(size_t bytes, char text[HS_BYTES_TEXT]);

/** Returns a block of at least `bytes` bytes, uninitialised; NULL if there is no memory. */
HS_API void *hs_alloc(size_t bytes);

/** Returns a block of count * size bytes, all zero; NULL if there is no memory or the product overflows. */
HS_API void *hs_alloc_zero(size_t count, size_t size);

/** Moves a block of `old_bytes` into a new one of `new_bytes` and frees the old one. On failure returns NULL and
 *  leaves the old block as it was. `block` may be NULL if old_bytes is 0. */
HS_API void *hs_grow(void *block, size_t old_bytes, size_t new_bytes);

HS_API void hs_free(void *block); /**< gives a block back; NULL is allowed */

/** Rounds `bytes` up to a multiple of HS_ALIGN. */
static inline size_t hs_align_up(size_t bytes)
{
    return (bytes + HS_ALIGN - 1) / HS_ALIGN * HS_ALIGN;
}

/** A bump arena: many small blocks with one lifetime. Zero-initialise it to start. One thread at a time may use it. */
typedef struct hs_arena {
    struct hs_arena_block *last; /**< the newest block, private; NULL in an empty arena */
} hs_arena;

/** Returns `bytes` bytes of the arena, aligned to 16; NULL if there is no memory. */
HS_API void *hs_arena_alloc(hs_arena *arena, size_t bytes);

/** Returns a copy of a string in the arena; NULL if there is no memory. */
HS_API char *hs_arena_string(hs_arena *arena, const char *text);

/** Frees all blocks of the arena and leaves it empty. */
HS_API void hs_arena_free(hs_arena *arena);

#endif
