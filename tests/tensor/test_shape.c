/* Shapes: broadcasting, validity, overflow, text. Memory: alignment, growing, arenas. */
#include "support/hs_check.h"

#include <hastings/tensor/memory.h>
#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>

#include <stdint.h>
#include <string.h>

/* ---- Shapes --------------------------------------------------------------------------------- */

static void broadcasts_to(hs_shape a, hs_shape b, hs_shape expected)
{
    hs_shape ab, ba;
    ck_assert(hs_shape_broadcast(&a, &b, &ab));
    ck_assert(hs_shape_broadcast(&b, &a, &ba));
    ck_assert(hs_shape_equal(&ab, &expected));
    ck_assert(hs_shape_equal(&ba, &expected));
}

static void does_not_broadcast(hs_shape a, hs_shape b)
{
    hs_shape out = hs_dims(7);
    const hs_shape before = out;
    ck_assert(!hs_shape_broadcast(&a, &b, &out));
    ck_assert(!hs_shape_broadcast(&b, &a, &out));
    ck_assert(hs_shape_equal(&out, &before));
}

START_TEST(broadcasting_is_numpys)
{
    broadcasts_to(hs_scalar_shape(), hs_scalar_shape(), hs_scalar_shape());
    broadcasts_to(hs_scalar_shape(), hs_dims(3), hs_dims(3));
    broadcasts_to(hs_dims(1), hs_scalar_shape(), hs_dims(1));
    broadcasts_to(hs_dims(3, 4), hs_dims(4), hs_dims(3, 4));
    broadcasts_to(hs_dims(3, 1), hs_dims(4), hs_dims(3, 4));
    broadcasts_to(hs_dims(2, 1, 4, 1), hs_dims(3, 1, 5), hs_dims(2, 3, 4, 5));
    broadcasts_to(hs_dims(1, 1, 1, 1), hs_dims(9), hs_dims(1, 1, 1, 9));
    does_not_broadcast(hs_dims(3), hs_dims(4));
    does_not_broadcast(hs_dims(3, 4), hs_dims(3));
    does_not_broadcast(hs_dims(2, 3, 4, 5), hs_dims(2, 1, 5));
}
END_TEST

START_TEST(broadcasting_into_an_operand)
{
    hs_shape a = hs_dims(3, 1);
    const hs_shape b = hs_dims(2, 1, 4), expected = hs_dims(2, 3, 4);
    ck_assert(hs_shape_broadcast(&a, &b, &a));
    ck_assert(hs_shape_equal(&a, &expected));
}
END_TEST

START_TEST(equality)
{
    const hs_shape a = hs_dims(2, 3), b = hs_dims(3, 2), c = hs_dims(2, 3, 1),
                   d = { 2, { 2, 3, 9 } };
    ck_assert(hs_shape_equal(&a, &a));
    ck_assert(!hs_shape_equal(&a, &b));
    ck_assert(!hs_shape_equal(&a, &c));
    ck_assert(hs_shape_equal(&a, &d)); /* what lies beyond the rank does not count */
}
END_TEST

START_TEST(counts_and_validity)
{
    const hs_shape scalar = hs_scalar_shape(), matrix = hs_dims(3, 4), most = hs_dims(2, 3, 4, 5);
    ck_assert_uint_eq(hs_shape_count(&scalar), 1);
    ck_assert_uint_eq(hs_shape_count(&matrix), 12);
    ck_assert_uint_eq(hs_shape_count(&most), 120);
    ck_assert(hs_shape_valid(&scalar) && hs_shape_valid(&matrix) && hs_shape_valid(&most));
    const hs_shape five = hs_dims(1, 1, 1, 1, 1), empty = hs_dims(3, 0), below = { -1, { 0 } };
    ck_assert_int_eq(five.rank, -1);
    ck_assert(!hs_shape_valid(&five) && !hs_shape_valid(&empty) && !hs_shape_valid(&below));
    const hs_shape by_hand = { HS_MAX_RANK + 1, { 1, 1, 1, 1 } };
    ck_assert(!hs_shape_valid(&by_hand));
}
END_TEST

START_TEST(overflow_is_seen)
{
    const size_t root = (size_t)1 << 32;
    const hs_shape products[] = { hs_dims(root, root),      hs_dims(SIZE_MAX),
                                  hs_dims(SIZE_MAX, 2),     hs_dims(root, root, root, root),
                                  hs_dims(SIZE_MAX / 2, 3), hs_dims(3, SIZE_MAX / 16 + 1),
                                  hs_dims((size_t)1 << 60) };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        ck_assert_msg(!hs_shape_valid(&products[i]), "case %zu", i);
    size_t out = 5;
    ck_assert(hs_size_mul(root - 1, root, &out));
    ck_assert(out == (root - 1) * root);
    ck_assert(hs_size_mul(0, SIZE_MAX, &out) && out == 0);
    ck_assert(hs_size_mul(SIZE_MAX, 0, &out) && out == 0);
    ck_assert(hs_size_mul(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    ck_assert(!hs_size_mul(root, root, &out));
    ck_assert(!hs_size_mul(SIZE_MAX, 2, &out));
    ck_assert(out == SIZE_MAX);
    ck_assert_uint_eq(hs_size_product(7), 7);
    ck_assert_uint_eq(hs_size_product(2, 3, 4), 24);
    ck_assert_uint_eq(hs_size_product(root - 1, root), (root - 1) * root);
    ck_assert_uint_eq(hs_size_product(root, root), SIZE_MAX);
    ck_assert_uint_eq(hs_size_product(root, root, 2), SIZE_MAX);
    ck_assert_uint_eq(hs_size_product(root, root, 0), 0);
    ck_assert_uint_eq(hs_size_add(SIZE_MAX - 1, 1), SIZE_MAX);
    ck_assert_uint_eq(hs_size_add(SIZE_MAX - 1, 2), SIZE_MAX);
    ck_assert_uint_eq(hs_size_add(SIZE_MAX, SIZE_MAX), SIZE_MAX);
    ck_assert_uint_eq(hs_size_add(2, 3), 5);
}
END_TEST

START_TEST(as_text)
{
    char text[HS_SHAPE_TEXT];
    const hs_shape scalar = hs_scalar_shape(), v = hs_dims(4), m = hs_dims(3, 4),
                   bad = { -1, { 0 } };
    const hs_shape wide = hs_dims(SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX);
    ck_assert_str_eq(hs_shape_text(&scalar, text), "scalar");
    ck_assert_str_eq(hs_shape_text(&v, text), "[4]");
    ck_assert_str_eq(hs_shape_text(&m, text), "[3, 4]");
    ck_assert_str_eq(hs_shape_text(&bad, text), "invalid");
    ck_assert_str_eq(hs_shape_text(&wide, text),
                     "[18446744073709551615, 18446744073709551615, 18446744073709551615, "
                     "18446744073709551615]");
    ck_assert_str_eq(hs_dtype_name(HS_F32), "f32");
    ck_assert_str_eq(hs_dtype_name(HS_F64), "f64");
    ck_assert_uint_eq(hs_dtype_size(HS_F32), sizeof(float));
    ck_assert_uint_eq(hs_dtype_size(HS_F64), sizeof(double));
}
END_TEST

START_TEST(statuses_have_sentences)
{
    ck_assert_str_eq(hs_status_text(HS_OK), "no error");
    ck_assert_str_eq(hs_status_text(HS_ENOMEM), "out of memory");
    ck_assert_ptr_nonnull(hs_status_text((hs_status)1000));
    ck_assert_ptr_nonnull(hs_status_text((hs_status)-1));
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

START_TEST(blocks_are_aligned)
{
    const size_t sizes[] = { 0, 1, 63, 64, 65, 1000, 1 << 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = hs_alloc(sizes[i]);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % HS_ALIGN, 0);
        memset(block, 1, sizes[i]);
        hs_free(block);
        unsigned char *zero = hs_alloc_zero(sizes[i], 1);
        ck_assert_ptr_nonnull(zero);
        size_t sum = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            sum += zero[k];
        ck_assert_uint_eq(sum, 0);
        hs_free(zero);
    }
    hs_free(NULL);
    ck_assert_uint_eq(hs_align_up(0), 0);
    ck_assert_uint_eq(hs_align_up(1), 64);
    ck_assert_uint_eq(hs_align_up(64), 64);
    ck_assert_uint_eq(hs_align_up(65), 128);
}
END_TEST

START_TEST(impossible_sizes_give_null)
{
    ck_assert_ptr_null(hs_alloc(SIZE_MAX));
    ck_assert_ptr_null(hs_alloc((size_t)PTRDIFF_MAX));
    ck_assert_ptr_null(hs_alloc_zero(SIZE_MAX, 2));
    ck_assert_ptr_null(hs_alloc_zero((size_t)1 << 33, (size_t)1 << 33));
    hs_arena arena = { 0 };
    ck_assert_ptr_null(hs_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(hs_arena_alloc(&arena, SIZE_MAX - 7));
    ck_assert_ptr_nonnull(hs_arena_alloc(&arena, 8)); /* usable after a failure */
    hs_arena_free(&arena);
}
END_TEST

START_TEST(a_block_larger_than_the_memory_left_is_refused)
{
    const size_t all = hs_memory_left();
    char *block = hs_alloc(3 << 20);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_le(hs_memory_left(), all - (3 << 20));
    hs_memory_set_most(5 << 20);
    ck_assert_ptr_null(hs_alloc(3 << 20));
    ck_assert_ptr_null(hs_alloc_zero(3, 1 << 20));
    ck_assert_ptr_null(hs_grow(block, 3 << 20, 4 << 20));
    block[(3 << 20) - 1] = 1; /* it is still there */
    hs_free(hs_alloc(1 << 20));
    hs_free(block);
    block = hs_alloc(3 << 20);
    ck_assert_ptr_nonnull(block);
    hs_memory_set_most(1 << 20);
    ck_assert_uint_eq(hs_memory_left(), 0);
    hs_free(block);
    hs_memory_set_most(0);
    ck_assert_uint_eq(hs_memory_left(), all);
}
END_TEST

START_TEST(a_want_of_memory_is_told_in_bytes)
{
    char text[HS_BYTES_TEXT];
    ck_assert_str_eq(hs_bytes_text(0, text), "0 bytes");
    ck_assert_str_eq(hs_bytes_text(999, text), "999 bytes");
    ck_assert_str_eq(hs_bytes_text(1000, text), "1 kB");
    ck_assert_str_eq(hs_bytes_text(999600, text), "1 MB");
    ck_assert_str_eq(hs_bytes_text(25300000000, text), "25.3 GB");
    ck_assert_str_eq(hs_bytes_text(SIZE_MAX, text), "more than 18.4 EB");
    hs_message message;
    hs_memory_set_most(hs_memory_left());
    ck_assert_int_eq(hs_memory_fail(&message, 7, "no room for %d", 5), HS_ENOMEM);
    ck_assert_str_eq(message.text, "no room for 5: 7 bytes are needed");
    hs_memory_set_most(1);
    ck_assert_int_eq(hs_memory_fail(&message, (size_t)1 << 40, "no room"), HS_ENOMEM);
    ck_assert_str_eq(message.text, "no room: 1.1 TB are needed, and 1 bytes are left");
    ck_assert_int_eq(hs_memory_fail(NULL, 8, "no room"), HS_ENOMEM);
    hs_memory_set_most(0);
}
END_TEST

START_TEST(growing_keeps_what_was_there)
{
    char *block = hs_grow(NULL, 0, 10);
    ck_assert_ptr_nonnull(block);
    memcpy(block, "123456789", 10);
    block = hs_grow(block, 10, 100000);
    ck_assert_str_eq(block, "123456789");
    ck_assert_ptr_null(hs_grow(block, 10, SIZE_MAX));
    ck_assert_str_eq(block, "123456789"); /* as it was */
    block = hs_grow(block, 100000, 3);
    ck_assert_int_eq(memcmp(block, "123", 3), 0);
    hs_free(block);
}
END_TEST

static int live, served;

static void *count_allocate(size_t bytes, void *context)
{
    if (served >= *(const int *)context)
        return NULL;
    served++, live++;
    return aligned_alloc(HS_ALIGN, bytes);
}

static void count_release(void *block, void *context)
{
    (void)context;
    live--;
    free(block);
}

START_TEST(arenas_free_everything)
{
    int limit = 1000;
    hs_set_allocator(&(hs_allocator){ count_allocate, count_release, &limit });
    hs_arena arena = { 0 };
    hs_arena_free(&arena); /* empty */
    char *small[64];
    size_t bad = 0;
    for (int i = 0; i < 64; i++) {
        small[i] = hs_arena_alloc(&arena, (size_t)(1 + 17 * i));
        bad += (uintptr_t)small[i] % 16 != 0;
        memset(small[i], i, (size_t)(1 + 17 * i));
        if (i % 16 == 0) { /* larger than the arena's own blocks */
            char *large = hs_arena_alloc(&arena, 100000);
            memset(large, 99, 100000);
        }
    }
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 1 + 17 * i; k++)
            bad += small[i][k] != i;
    ck_assert_uint_eq(bad, 0);
    ck_assert_str_eq(hs_arena_string(&arena, "text"), "text");
    ck_assert_str_eq(hs_arena_string(&arena, ""), "");
    ck_assert_int_gt(live, 0);
    hs_arena_free(&arena);
    ck_assert_int_eq(live, 0);
    limit = served; /* no more memory */
    ck_assert_ptr_null(hs_arena_alloc(&arena, 1));
    ck_assert_ptr_null(hs_arena_string(&arena, "text"));
    ck_assert_ptr_null(hs_alloc_zero(1, 1));
    hs_arena_free(&arena);
    hs_set_allocator(NULL);
    void *block = hs_alloc(1);
    ck_assert_ptr_nonnull(block);
    hs_free(block);
    ck_assert_int_eq(live, 0);
}
END_TEST

static Suite *shape_suite(void)
{
    Suite *suite = suite_create("shape, memory");
    TCase *shapes = tcase_create("shapes");
    tcase_add_test(shapes, broadcasting_is_numpys);
    tcase_add_test(shapes, broadcasting_into_an_operand);
    tcase_add_test(shapes, equality);
    tcase_add_test(shapes, counts_and_validity);
    tcase_add_test(shapes, overflow_is_seen);
    tcase_add_test(shapes, as_text);
    tcase_add_test(shapes, statuses_have_sentences);
    suite_add_tcase(suite, shapes);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, blocks_are_aligned);
    tcase_add_test(memory, impossible_sizes_give_null);
    tcase_add_test(memory, a_block_larger_than_the_memory_left_is_refused);
    tcase_add_test(memory, a_want_of_memory_is_told_in_bytes);
    tcase_add_test(memory, growing_keeps_what_was_there);
    tcase_add_test(memory, arenas_free_everything);
    suite_add_tcase(suite, memory);
    return suite;
}

HS_TEST_MAIN(shape_suite())
