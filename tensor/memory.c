#define _DEFAULT_SOURCE /* madvise() */
#include <hastings/tensor/memory.h>

#ifdef __linux__
#include <sys/mman.h>
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/tensor/shape.h>

/* Large blocks ask for large pages. The system hands out each page at its first write, which would take a quarter of
 * German Credit's first gradient step; and with large pages fewer addresses miss the tables. */
static void *default_allocate(size_t bytes, void *context)
{
    (void)context;
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)2 << 20;
    const size_t large = (bytes + page / 4) / page * page; /* three quarters of a page count */
    void *block = NULL;
    if (large && posix_memalign(&block, page, bytes > large ? bytes : large) == 0) {
        (void)madvise(block, large, MADV_HUGEPAGE); /* only a hint */
        return block;
    }
#endif
    return aligned_alloc(HS_ALIGN, bytes);
}

static void default_release(void *block, void *context)
{
    (void)context;
    free(block);
}

static const hs_allocator default_allocator = { default_allocate, default_release, NULL };
static hs_allocator current = { default_allocate, default_release, NULL };

void hs_set_allocator(const hs_allocator *allocator)
{
    current = allocator ? *allocator : default_allocator;
}

void *hs_alloc(size_t bytes)
{
    if (bytes > (size_t)PTRDIFF_MAX - HS_ALIGN)
        return NULL;
    return current.allocate(hs_align_up(bytes ? bytes : 1), current.context);
}

void *hs_alloc_zero(size_t count, size_t size)
{
    size_t bytes;
    if (!hs_size_mul(count, size, &bytes))
        return NULL;
    void *block = hs_alloc(bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

void *hs_grow(void *block, size_t old_bytes, size_t new_bytes)
{
    void *grown = hs_alloc(new_bytes);
    if (!grown)
        return NULL;
    if (old_bytes)
        memcpy(grown, block, old_bytes < new_bytes ? old_bytes : new_bytes);
    hs_free(block);
    return grown;
}

void hs_free(void *block)
{
    if (block)
        current.release(block, current.context);
}

struct hs_arena_block {
    struct hs_arena_block *previous;
    size_t used, size;
};

void *hs_arena_alloc(hs_arena *arena, size_t bytes)
{
    enum { BLOCK = 16 * 1024, HEADER = 64 };
    if (bytes > (size_t)PTRDIFF_MAX / 2)
        return NULL;
    const size_t need = (bytes + 15) / 16 * 16;
    struct hs_arena_block *block = arena->last;
    if (!block || block->size - block->used < need) {
        const size_t size = HEADER + (need > BLOCK ? need : BLOCK);
        block = hs_alloc(size);
        if (!block)
            return NULL;
        *block = (struct hs_arena_block){ arena->last, HEADER, size };
        arena->last = block;
    }
    void *result = (char *)block + block->used;
    block->used += need;
    return result;
}

char *hs_arena_string(hs_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = hs_arena_alloc(arena, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void hs_arena_free(hs_arena *arena)
{
    while (arena->last) {
        struct hs_arena_block *previous = arena->last->previous;
        hs_free(arena->last);
        arena->last = previous;
    }
}
