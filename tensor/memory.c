#define _DEFAULT_SOURCE /* madvise(), _SC_PHYS_PAGES */
#include <hastings/tensor/memory.h>

#ifdef __linux__
#include <malloc.h>
#include <sys/mman.h>
#endif
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hastings/tensor/shape.h>

/* ---- The machine's memory -------------------------------------------------------------------- */

static atomic_size_t most;  /* 0: not asked for yet */
static atomic_size_t taken; /* by blocks of the default allocator */

static size_t block_bytes(void *block)
{
#ifdef __linux__
    return malloc_usable_size(block);
#else
    (void)block;
    return 0;
#endif
}

static size_t machine_memory(void)
{
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        return hs_size_product((size_t)pages, (size_t)page);
#endif
    return SIZE_MAX;
}

void hs_memory_set_most(size_t bytes)
{
    atomic_store(&most, bytes);
}

size_t hs_memory_left(void)
{
    size_t all = atomic_load(&most);
    if (!all)
        atomic_store(&most, all = machine_memory());
    const size_t used = atomic_load(&taken);
    return used < all ? all - used : 0;
}

const char *hs_bytes_text(size_t bytes, char text[HS_BYTES_TEXT])
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB", "PB", "EB" };
    double number = (double)bytes;
    size_t unit = 0;
    for (; number >= 999.5; unit++)
        number /= 1000;
    snprintf(text, HS_BYTES_TEXT, "%s%.3g %s", bytes == SIZE_MAX ? "more than " : "", number,
             units[unit]);
    return text;
}

hs_status hs_memory_fail(hs_message *message, size_t bytes, const char *format, ...)
{
    const size_t left = hs_memory_left();
    char what[400], need[HS_BYTES_TEXT], rest[HS_BYTES_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    hs_bytes_text(bytes, need);
    hs_bytes_text(left, rest);
    return bytes > left ? hs_message_fail(message, HS_ENOMEM, "%s: %s are needed, and %s are left",
                                          what, need, rest)
                        : hs_message_fail(message, HS_ENOMEM, "%s: %s are needed", what, need);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Large blocks ask for large pages. The system hands out each page at its first write, which would take a quarter of
 * German Credit's first gradient step; and with large pages fewer addresses miss the tables. */
static void *take_block(size_t bytes)
{
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

static void *default_allocate(size_t bytes, void *context)
{
    (void)context;
    void *block = take_block(bytes);
    if (block)
        atomic_fetch_add(&taken, block_bytes(block));
    return block;
}

static void default_release(void *block, void *context)
{
    (void)context;
    atomic_fetch_sub(&taken, block_bytes(block));
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
    if (bytes > (size_t)PTRDIFF_MAX - HS_ALIGN || bytes > hs_memory_left())
        return NULL;
    return current.allocate(hs_align_up(bytes ? bytes : 1), current.context);
}

void *hs_alloc_zero(size_t count, size_t size)
{
    const size_t bytes = hs_size_product(count, size);
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

/* ---- Arenas ---------------------------------------------------------------------------------- */

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
