/* Allocators that run out: for tests that every failed allocation is reported and nothing leaks.
 *
 *     hs_set_allocator(&counting);      // allocation number fail_at fails; 0: none
 *     hs_set_allocator(&limited);       // all fail after blocks_left have been given
 *     hs_set_allocator(NULL);
 */
#ifndef HASTINGS_TESTS_SUPPORT_SCARCE_MEMORY_H
#define HASTINGS_TESTS_SUPPORT_SCARCE_MEMORY_H

#include <stdlib.h>

#include <hastings/tensor/memory.h>

static long allocations, fail_at, blocks_left;
static long living; /* blocks that have not been given back */

static void *give_block(size_t bytes)
{
    living++;
    return aligned_alloc(HS_ALIGN, hs_align_up(bytes ? bytes : 1));
}

static void *counting_allocate(size_t bytes, void *context)
{
    (void)context;
    return ++allocations == fail_at ? NULL : give_block(bytes);
}

static void *limited_allocate(size_t bytes, void *context)
{
    (void)context;
    return blocks_left-- <= 0 ? NULL : give_block(bytes);
}

static void take_block(void *block, void *context)
{
    (void)context;
    living -= block != NULL;
    free(block);
}

__attribute__((unused)) static const hs_allocator counting = { counting_allocate, take_block,
                                                               NULL };
__attribute__((unused)) static const hs_allocator limited = { limited_allocate, take_block, NULL };

#endif
