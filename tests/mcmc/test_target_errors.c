/* What targets say of bad input, and of too little memory. */
#include "support/hs_check.h"

#include <string.h>

#include <hastings.h>
#include <hastings/mcmc/targets/targets.h>

#include "support/target_cases.h"

static const double not_a_number = (double)NAN, infinity = (double)INFINITY;

static hs_target *bad(hs_session *s, int which)
{
    const double wrong[] = { 1, -1 }, nan_mean[] = { 0, not_a_number };
    const double infinite[] = { 1, infinity };
    const double lopsided[] = { 1, 0.5, 0.4, 1 }, indefinite[] = { 1, 2, 2, 1 };
    const double singular[] = { 1, 1, 1, 1 }, some[] = { 0, 0, 1, 1 }, short_of[] = { 0.5, 0.4 };
    const double zero_weight[] = { 0, 1 };
    switch (which) {
    case 0:
        return hs_target_gaussian(s, 0, NULL);
    case 1:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .sd = -1 });
    case 2:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .sd = not_a_number });
    case 3:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .sds = wrong });
    case 4:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .sds = infinite });
    case 5:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .mean = nan_mean });
    case 6:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .covariance = lopsided });
    case 7:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .covariance = indefinite });
    case 8:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .covariance = singular });
    case 9:
        return hs_target_gaussian(s, 2, &(hs_gaussian_options){ .sd = 1, .sds = some });
    case 10:
        return hs_target_laplace(s, 0, NULL);
    case 11:
        return hs_target_laplace(s, 2, &(hs_scale_options){ .scale = -2 });
    case 12:
        return hs_target_cauchy(s, 2, &(hs_scale_options){ .scales = wrong });
    case 13:
        return hs_target_student(s, 2, 0, NULL);
    case 14:
        return hs_target_student(s, 2, not_a_number, NULL);
    case 15:
        return hs_target_cauchy(s, 2, &(hs_scale_options){ .scale = 1, .scales = some });
    case 16:
        return hs_target_uniform(s, 0, NULL);
    case 17:
        return hs_target_uniform(s, 1, &(hs_uniform_options){ .log_odds = not_a_number });
    case 18:
        return hs_target_mixture(s, 2, NULL);
    case 19:
        return hs_target_mixture(s, 2, &(hs_mixture_options){ .components = 2 });
    case 20:
        return hs_target_mixture(
            s, 2, &(hs_mixture_options){ .components = 2, .means = some, .weights = short_of });
    case 21:
        return hs_target_mixture(
            s, 2, &(hs_mixture_options){ .components = 2, .means = some, .weights = zero_weight });
    case 22:
        return hs_target_mixture(s, 1, &(hs_mixture_options){ .components = 2, .means = nan_mean });
    case 23:
        return hs_target_mixture(
            s, 2, &(hs_mixture_options){ .components = 2, .means = some, .component_sds = wrong });
    case 24:
        return hs_target_cross(s, &(hs_cross_options){ .variance = -1 });
    case 25:
        return hs_target_banana(s, 1, NULL);
    case 26:
        return hs_target_banana(s, 2, &(hs_banana_options){ .curvature = infinity });
    case 27:
        return hs_target_funnel(s, 1, NULL);
    case 28:
        return hs_target_funnel(s, 2, &(hs_funnel_options){ .sd = -3 });
    case 29:
        return hs_target_funnel(s, SIZE_MAX / 4, NULL);
    default:
        return hs_target_augment(s, hs_target_funnel(s, 3, NULL), SIZE_MAX);
    }
}

static const char *const complaints[] = {
    "target \"gaussian\" has 0 dimensions, and needs at least 1",
    "target \"gaussian\": standard deviation 0 is -1, and must be positive and finite",
    "target \"gaussian\": standard deviation 0 is nan",
    "target \"gaussian\": standard deviation 1 is -1",
    "target \"gaussian\": standard deviation 1 is inf",
    "target \"gaussian\": mean 1 is nan, and must be finite",
    "the covariance is not symmetric: [1][0] is 0.4, and [0][1] is 0.5",
    "target \"gaussian\": the covariance is not positive definite",
    "target \"gaussian\": the covariance is not positive definite",
    "target \"gaussian\": only one of sd, sds and covariance can be given",
    "target \"laplace\" has 0 dimensions",
    "target \"laplace\": scale 0 is -2",
    "target \"cauchy\": scale 1 is -1",
    "target \"student\": number of degrees of freedom 0 is 0",
    "target \"student\": number of degrees of freedom 0 is nan",
    "target \"cauchy\": only one of scale and scales can be given",
    "target \"uniform\" has 0 dimensions",
    "target \"uniform\": log odds 0 is nan",
    "target \"mixture\" has no components",
    "target \"mixture\" has no means",
    "target \"mixture\": the weights add up to 0.9, and not to 1",
    "target \"mixture\": weight 0 is 0, and must be positive and finite",
    "target \"mixture\": coordinate of means 1 is nan",
    "target \"mixture\": standard deviation 2 is -1",
    "target \"cross\": variance 0 is -1",
    "target \"banana\" has 1 dimension, and needs at least 2",
    "target \"banana\": curvature 0 is inf",
    "target \"funnel\" has 1 dimension, and needs at least 2",
    "target \"funnel\": standard deviation 0 is -3",
    "target \"funnel\" has more dimensions than there can be",
    "target \"funnel\" has more dimensions than there can be",
};

START_TEST(bad_input_is_named)
{
    hs_session *s = hs_session_new(NULL);
    ck_assert_ptr_null(bad(s, _i));
    ck_assert_int_eq(hs_session_status(s), HS_EINVAL);
    ck_assert_msg(strstr(hs_session_error(s), complaints[_i]), "%s\ninstead of\n%s",
                  hs_session_error(s), complaints[_i]);
    /* What comes after an error is NULL, and the first error stays. */
    ck_assert_ptr_null(hs_target_cross(s, NULL));
    ck_assert_msg(strstr(hs_session_error(s), complaints[_i]), "%s", hs_session_error(s));
    hs_session_free(s);
}
END_TEST

START_TEST(points_of_another_dimension)
{
    hs_session *s = hs_session_new(NULL);
    hs_target *t = hs_target_cross(s, NULL);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_target_log_density(t, hs_input(tape, "x", HS_ROW, hs_dims(3)));
    ck_assert_int_eq(hs_tape_status(tape), HS_ESHAPE);
    ck_assert_msg(strstr(hs_tape_error(tape), "\"cross\": x must have shape [2], and has [3]"),
                  "%s", hs_tape_error(tape));
    hs_tape_free(tape);
    hs_session_free(s);
}
END_TEST

START_TEST(no_mode)
{
    hs_session *s = hs_session_new(NULL);
    const double ridge[] = { 0, 0 };
    double mode[2];
    hs_target *t = hs_target_funnel(s, 2, NULL); /* has one: not an error */
    ck_assert_int_eq(hs_laplace_approximation(s, t, ridge, mode, NULL), HS_OK);
    ck_assert_close(mode[0], -4.5, 1e-9, 0);
    const double nowhere[] = { not_a_number, 0 };
    ck_assert_int_eq(hs_laplace_approximation(s, t, nowhere, mode, NULL), HS_EINVAL);
    ck_assert_msg(strstr(hs_session_error(s), "no maximum of target \"funnel\""), "%s",
                  hs_session_error(s));
    hs_session_free(s);
}
END_TEST

/* No constructor loses memory, or forgets to say that there is none. */
static size_t allocations_left;

static void *scarce(size_t bytes, void *context)
{
    (void)context;
    return allocations_left-- > 0 ? aligned_alloc(HS_ALIGN, hs_align_up(bytes)) : NULL;
}

static void give_back(void *block, void *context)
{
    (void)context;
    free(block);
}

START_TEST(without_memory)
{
    const target_case *c = &cases[_i];
    hs_set_allocator(&(hs_allocator){ .allocate = scarce, .release = give_back });
    bool made = false;
    for (size_t n = 1; !made && n < 100; n++) {
        allocations_left = n;
        hs_session *s = hs_session_new(&(hs_session_options){ .float32 = true });
        if (s) {
            hs_target *t = c->make(s, c->dim);
            made = t;
            ck_assert_int_eq(hs_session_status(s), t ? HS_OK : HS_ENOMEM);
        }
        hs_session_free(s);
    }
    hs_set_allocator(NULL);
    ck_assert(made);
}
END_TEST

static Suite *target_errors_suite(void)
{
    Suite *suite = suite_create("target errors");
    TCase *tests = tcase_create("target errors");
    tcase_add_loop_test(tests, bad_input_is_named, 0, sizeof complaints / sizeof *complaints);
    tcase_add_test(tests, points_of_another_dimension);
    tcase_add_test(tests, no_mode);
    tcase_add_loop_test(tests, without_memory, 0, CASES);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(target_errors_suite())
