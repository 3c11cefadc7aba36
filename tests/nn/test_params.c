/* The parameter store and its initialisers. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <hastings/autograd/ops.h>
#include <hastings/nn/params.h>
#include <hastings/tensor/memory.h>

#include "support/hs_check.h"

enum { ROWS = 200, COLUMNS = 150, MANY = ROWS * COLUMNS };

typedef struct {
    const char *name;
    hs_init init;
    bool normal;
    double sd; /* expected */
} init_case;

static init_case init_cases(int i)
{
    const double in = COLUMNS, out = ROWS;
    const init_case cases[] = {
        { "default", { 0 }, false, 1 / sqrt(3 * in) },
        { "lecun", hs_init_lecun(), false, 1 / sqrt(3 * in) },
        { "he", hs_init_he(), true, sqrt(2 / in) },
        { "glorot", hs_init_glorot(), false, sqrt(2 / (in + out)) },
        { "normal", hs_init_normal(0.3), true, 0.3 },
        { "uniform", hs_init_uniform(0.3), false, 0.3 / sqrt(3) },
        { "scaled", hs_init_scaled(hs_init_scaled(hs_init_he(), 0.1), 5), true,
          0.5 * sqrt(2 / in) },
    };
    return cases[i];
}
enum { INIT_CASES = 7 };

START_TEST(initialisers_have_the_right_moments)
{
    const init_case c = init_cases(_i);
    hs_params *ps = hs_params_new(HS_F64, 11);
    hs_param w = hs_params_add(ps, "w", hs_dims(ROWS, COLUMNS), c.init);
    static double x[MANY];
    hs_param_get(w, x);
    double mean = 0, square = 0, fourth = 0, widest = 0;
    for (int i = 0; i < MANY; i++) {
        const double z = x[i] / c.sd;
        mean += z / MANY;
        square += z * z / MANY;
        fourth += z * z * z * z / MANY;
        widest = fmax(widest, fabs(z));
    }
    const double kurtosis = c.normal ? 3 : 9.0 / 5; /* tells a normal from a uniform */
    const double error = 5 / sqrt((double)MANY);
    ck_assert_close(mean, 0, 0, error);
    ck_assert_close(square, 1, 0, error * sqrt(kurtosis - 1));
    ck_assert_close(fourth, kurtosis, 0, error * 10);
    if (c.normal)
        ck_assert(widest > 3.5);
    else
        ck_assert(widest < sqrt(3) && widest > 0.999 * sqrt(3));
    hs_params_free(ps);
}
END_TEST

START_TEST(given_numbers_are_kept)
{
    const double values[] = { 1, -2, 3.5, 1e30, 0, 7 };
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++) {
        hs_params *ps = hs_params_new(dtype, 0);
        hs_param given = hs_params_add(ps, "given", hs_dims(2, 3), hs_init_values(values));
        hs_param constant = hs_params_add(ps, "constant", hs_dims(3), hs_init_constant(-0.25));
        hs_param zero = hs_params_add(ps, "zero", hs_scalar_shape(), hs_init_zero());
        hs_param none =
            hs_params_add(ps, "none", hs_dims(2), hs_init_scaled(hs_init_constant(3), 0));
        double x[6];
        hs_param_get(given, x);
        for (int i = 0; i < 6; i++)
            ck_assert(x[i] == (dtype == HS_F32 ? (double)(float)values[i] : values[i]));
        hs_param_get(constant, x);
        ck_assert(x[0] == -0.25 && x[2] == -0.25);
        hs_param_get(zero, x);
        ck_assert(x[0] == 0);
        hs_param_get(none, x);
        ck_assert(x[0] == 0 && x[1] == 0);
        hs_params_free(ps);
    }
}
END_TEST

START_TEST(draws_depend_on_seed_and_name_alone)
{
    enum { N = 3000 };
    static double alone[N], among[N], other_name[N], other_seed[N], narrow[N];
    hs_params *ps = hs_params_new(HS_F64, 3), *more = hs_params_new(HS_F64, 3);
    hs_param_get(hs_params_add(ps, "w", hs_dims(N), hs_init_normal(1)), alone);
    hs_param_get(hs_params_add(more, "v", hs_dims(N), hs_init_normal(1)), other_name);
    hs_param_get(hs_params_add(more, "w", hs_dims(N), hs_init_normal(1)), among);
    hs_params *seeded = hs_params_new(HS_F64, 4), *single = hs_params_new(HS_F32, 3);
    hs_param_get(hs_params_add(seeded, "w", hs_dims(N), hs_init_normal(1)), other_seed);
    hs_param_get(hs_params_add(single, "w", hs_dims(N), hs_init_normal(1)), narrow);
    ck_assert_mem_eq(alone, among, sizeof alone);
    for (int i = 0; i < N; i++) {
        ck_assert(alone[i] != other_name[i] && alone[i] != other_seed[i]);
        ck_assert((float)alone[i] == (float)narrow[i]);
    }
    hs_params_free(ps);
    hs_params_free(more);
    hs_params_free(seeded);
    hs_params_free(single);
}
END_TEST

START_TEST(vectors_are_aligned_and_padded_with_zeros)
{
    const hs_dtype dtype = (hs_dtype)_i;
    const size_t size = hs_dtype_size(dtype);
    hs_params *ps = hs_params_new(dtype, 5);
    size_t total = 0;
    for (size_t i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%zu", i);
        hs_params_add(ps, name, hs_dims(i + 1), hs_init_constant(1));
        total += i + 1;
    }
    ck_assert_int_eq(hs_params_status(ps), HS_OK);
    ck_assert_uint_eq(hs_params_count(ps), 40);
    ck_assert_uint_eq(hs_params_size(ps), total);
    double sum = 0;
    const char *values = hs_params_values(ps), *gradients = hs_params_gradients(ps);
    for (size_t i = 0; i < hs_params_bytes(ps); i += size) {
        sum += dtype == HS_F32 ? (double)*(const float *)(const void *)(values + i)
                               : *(const double *)(const void *)(values + i);
        for (size_t j = 0; j < size; j++)
            ck_assert_int_eq(gradients[i + j], 0);
    }
    ck_assert(sum == (double)total); /* so that the padding is zero */
    for (size_t i = 0; i < 40; i++) {
        hs_param p = hs_params_at(ps, i);
        ck_assert_uint_eq((uintptr_t)hs_param_values(p) % HS_ALIGN, 0);
        ck_assert_uint_eq((uintptr_t)hs_param_gradients(p) % HS_ALIGN, 0);
        ck_assert_uint_eq(hs_param_shape(p).dim[0], i + 1);
        ck_assert_int_eq(hs_params_find(ps, hs_param_name(p)).index, p.index);
    }
    hs_params_free(ps);
}
END_TEST

START_TEST(values_are_set_and_read_back)
{
    hs_params *ps = hs_params_new(HS_F32, 5);
    hs_params_add(ps, "a", hs_dims(3), hs_init_zero());
    hs_param b = hs_params_add(ps, "b", hs_dims(2, 2), hs_init_zero());
    const double in[7] = { 1, 2, 3, 4, 5, 6, 7 };
    double out[7];
    hs_params_set(ps, in);
    hs_params_get(ps, out);
    ck_assert_mem_eq(in, out, sizeof in);
    hs_param_get(b, out);
    ck_assert_mem_eq(in + 3, out, 4 * sizeof *in);
    hs_params_get_gradients(ps, out);
    ck_assert(out[0] == 0 && out[6] == 0);
    ((float *)hs_param_gradients(b))[3] = 8;
    hs_params_get_gradients(ps, out);
    ck_assert(out[6] == 8);
    hs_params_free(ps);
}
END_TEST

static void assert_error(hs_params *ps, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_params_status(ps), status);
    ck_assert_msg(strstr(hs_params_error(ps), part), "\"%s\" does not say \"%s\"",
                  hs_params_error(ps), part);
    hs_param later = hs_params_add(ps, "later", hs_dims(1), hs_init_zero());
    ck_assert_int_eq(later.index, -1); /* errors stick */
    ck_assert_ptr_null(hs_param_values(later));
    ck_assert_str_eq(hs_param_name(later), "");
    hs_params_free(ps);
}

START_TEST(errors_stick_and_say_what)
{
    const hs_init zero = hs_init_zero();
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "net.0.weight", hs_dims(1), zero);
    hs_params_add(ps, "net.0.weight", hs_dims(1), zero);
    assert_error(ps, HS_EINVAL, "there already is a parameter \"net.0.weight\"");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(3, 0), zero);
    assert_error(ps, HS_ESHAPE, "parameter \"w\" cannot have shape [3, 0]");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(SIZE_MAX / 4, 8), zero);
    assert_error(ps, HS_ESHAPE, "parameter \"w\" cannot have shape [");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(SIZE_MAX / 64), zero);
    assert_error(ps, HS_EOVERFLOW, "no room for parameter \"w\"");

    char name[HS_NAME_LENGTH + 2];
    memset(name, 'x', sizeof name);
    name[HS_NAME_LENGTH] = '\0';
    ps = hs_params_new(HS_F64, 0);
    ck_assert_int_eq(hs_params_add(ps, name, hs_dims(1), zero).index, 0);
    name[HS_NAME_LENGTH] = 'x';
    name[HS_NAME_LENGTH + 1] = '\0';
    hs_params_add(ps, name, hs_dims(1), zero);
    assert_error(ps, HS_EINVAL, "has 128 characters; at most 127 fit");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "", hs_dims(1), zero);
    assert_error(ps, HS_EINVAL, "needs a name");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(1), hs_init_normal((double)NAN));
    assert_error(ps, HS_EINVAL, "parameter \"w\" has an invalid initialiser");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(1), hs_init_values(NULL));
    assert_error(ps, HS_EINVAL, "invalid initialiser");

    ps = hs_params_new(HS_F64, 0);
    hs_params_add(ps, "w", hs_dims(1), zero);
    ck_assert_ptr_nonnull(hs_params_gradients(ps));
    hs_params_add(ps, "v", hs_dims(1), zero);
    assert_error(ps, HS_EINVAL, "parameter \"v\" comes too late");
}
END_TEST

START_TEST(a_store_that_could_not_be_made_is_an_error)
{
    ck_assert_int_eq(hs_params_status(NULL), HS_ENOMEM);
    ck_assert_str_ne(hs_params_error(NULL), "");
    hs_param p = hs_params_add(NULL, "w", hs_dims(1), hs_init_zero());
    ck_assert_ptr_null(hs_param_values(p));
    ck_assert_ptr_null(hs_params_gradients(NULL));
    ck_assert_int_eq(hs_params_find(NULL, "w").index, -1);
    hs_params_free(NULL);
    hs_tape *tape = hs_tape_new(HS_F64);
    ck_assert(!hs_var_ok(hs_param_var(tape, p)));
    ck_assert_int_eq(hs_tape_status(tape), HS_ENOMEM);
    hs_tape_free(tape);
}
END_TEST

static void assert_tape(hs_tape *tape, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_tape_status(tape), status);
    ck_assert_msg(strstr(hs_tape_error(tape), part), "\"%s\" does not say \"%s\"",
                  hs_tape_error(tape), part);
    ck_assert_ptr_nonnull(strstr(hs_tape_error(tape), "nn/test_params.c:")); /* where */
    hs_tape_free(tape);
}

START_TEST(tapes_bind_to_parameters)
{
    hs_params *ps = hs_params_new(HS_F32, 0);
    hs_param w = hs_params_add(ps, "w", hs_dims(3, 2), hs_init_zero());
    hs_tape *tape = hs_tape_new(HS_F32);
    hs_var a = hs_param_var(tape, w);
    hs_params_add(ps, "v", hs_dims(1000), hs_init_zero()); /* the values move */
    hs_var b = hs_param_var(tape, w);
    ck_assert(hs_var_ok(a) && a.id == b.id);
    ck_assert_uint_eq(hs_var_shape(a).dim[0], 3);
    ck_assert_int_eq(hs_var_extent(a), HS_SHARED);
    hs_tape_free(tape);

    tape = hs_tape_new(HS_F64);
    hs_param_var(tape, w);
    assert_tape(tape, HS_EDTYPE, "parameter \"w\" is in a store of f32, but the tape is of f64");

    tape = hs_tape_new(HS_F32);
    hs_param_var(tape, hs_params_find(ps, "missing"));
    assert_tape(tape, HS_EINVAL, "no such parameter");

    tape = hs_tape_new(HS_F32);
    hs_params_add(ps, "w", hs_dims(1), hs_init_zero());
    hs_param_var(tape, w);
    assert_tape(tape, HS_EINVAL, "parameter store: there already is a parameter \"w\"");
    hs_params_free(ps);
}
END_TEST

START_TEST(plans_refuse_what_is_no_loss)
{
    hs_params *ps = hs_params_new(HS_F64, 0), *empty = hs_params_new(HS_F64, 0);
    hs_param w = hs_params_add(ps, "w", hs_dims(2), hs_init_zero());
    hs_plan *plan;
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_normal(tape, HS_ROW, hs_dims(2), 0);
    ck_assert_int_eq(hs_params_plan(&plan, hs_dot(x, hs_param_var(tape, w)), ps, NULL, 0, NULL),
                     HS_EEXTENT);
    ck_assert_ptr_null(plan);
    assert_tape(tape, HS_EEXTENT, "the loss has extent row, but must be shared");

    tape = hs_tape_new(HS_F64);
    ck_assert_int_eq(hs_params_plan(&plan, hs_param_var(tape, w), ps, NULL, 0, NULL), HS_ESHAPE);
    assert_tape(tape, HS_ESHAPE, "the loss has shape [2], but must be one number");

    tape = hs_tape_new(HS_F64);
    ck_assert_int_eq(hs_params_plan(&plan, hs_const(tape, 1), empty, NULL, 0, NULL), HS_EINVAL);
    assert_tape(tape, HS_EINVAL, "the parameter store is empty");

    tape = hs_tape_new(HS_F32);
    ck_assert_int_eq(hs_params_plan(&plan, hs_const(tape, 1), ps, NULL, 0, NULL), HS_EDTYPE);
    assert_tape(tape, HS_EDTYPE, "f64");
    hs_params_free(ps);
    hs_params_free(empty);
}
END_TEST

static Suite *params_suite(void)
{
    Suite *suite = suite_create("params");
    TCase *inits = tcase_create("initialisers");
    tcase_add_loop_test(inits, initialisers_have_the_right_moments, 0, INIT_CASES);
    tcase_add_test(inits, given_numbers_are_kept);
    tcase_add_test(inits, draws_depend_on_seed_and_name_alone);
    suite_add_tcase(suite, inits);
    TCase *store = tcase_create("store");
    tcase_add_loop_test(store, vectors_are_aligned_and_padded_with_zeros, HS_F32, HS_F64 + 1);
    tcase_add_test(store, values_are_set_and_read_back);
    tcase_add_test(store, errors_stick_and_say_what);
    tcase_add_test(store, a_store_that_could_not_be_made_is_an_error);
    suite_add_tcase(suite, store);
    TCase *tapes = tcase_create("tapes");
    tcase_add_test(tapes, tapes_bind_to_parameters);
    tcase_add_test(tapes, plans_refuse_what_is_no_loss);
    suite_add_tcase(suite, tapes);
    return suite;
}

HS_TEST_MAIN(params_suite())
