/**
 * What the tests add to Check: comparison with tolerances, and main().
 *
 * Check does not fork for each test: sanitizers and debuggers see one process. Isolation is the process that
 * CTest starts for each program.
 */
#ifndef HASTINGS_TESTS_SUPPORT_HS_CHECK_H
#define HASTINGS_TESTS_SUPPORT_HS_CHECK_H

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* |a - b| <= abs + rel |b|; equal infinities are close, NaN is close to nothing. */
static inline bool hs_close(double a, double b, double rel, double abs)
{
    return a == b || fabs(a - b) <= abs + rel * fabs(b);
}

#define ck_assert_close(a, b, rel, abs)                                                            \
    do {                                                                                           \
        const double hs_a_ = (a), hs_b_ = (b);                                                     \
        ck_assert_msg(hs_close(hs_a_, hs_b_, (rel), (abs)),                                        \
                      "%s = %.17g is not close to %s = %.17g", #a, hs_a_, #b, hs_b_);              \
    } while (0)

static inline int hs_test_run(Suite *const *suites, size_t count)
{
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < count; i++)
        srunner_add_suite(runner, suites[i]);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* main() of a test program: HS_TEST_MAIN(shapes_suite(), random_suite()) */
#define HS_TEST_MAIN(...)                                                                          \
    int main(void)                                                                                 \
    {                                                                                              \
        Suite *const suites[] = { __VA_ARGS__ };                                                   \
        return hs_test_run(suites, sizeof suites / sizeof *suites);                                \
    }

#endif
