/* What the tests of bad input share: a tape to make mistakes on, and what a mistake must say. */
#ifndef HASTINGS_TESTS_SUPPORT_TAPE_ERRORS_H
#define HASTINGS_TESTS_SUPPORT_TAPE_ERRORS_H

#include "hs_check.h"

#include <hastings.h>

#include <string.h>

/* A tape with a few values, anew for every mistake. */
static hs_tape *tape;
static hs_var scalar, v3, v4, m23, rows3, starts3;

static void forget(void)
{
    hs_tape_free(tape);
    tape = NULL;
}

static void begin_with(hs_dtype dtype)
{
    forget();
    tape = hs_tape_new(dtype);
    scalar = hs_const(tape, 2);
    v3 = hs_input(tape, "v3", HS_SHARED, hs_dims(3));
    v4 = hs_input(tape, "v4", HS_SHARED, hs_dims(4));
    m23 = hs_input(tape, "m23", HS_SHARED, hs_dims(2, 3));
    rows3 = hs_input(tape, "rows3", HS_ROW, hs_dims(3));
    starts3 = hs_input(tape, "starts3", HS_START, hs_dims(3));
}

static void begin(void)
{
    begin_with(HS_F64);
}

/* The tape failed with `status`, and its message has all of `parts`. */
static void expect_error(hs_status status, const char *at, const char *const *parts)
{
    const char *message = hs_tape_error(tape);
    ck_assert_msg(hs_tape_status(tape) == status, "%s: status \"%s\", message \"%s\"", at,
                  hs_status_text(hs_tape_status(tape)), message);
    ck_assert_msg(strncmp(message, at, strlen(at)) == 0, "\"%s\" does not begin with %s", message,
                  at);
    for (; *parts; parts++)
        ck_assert_msg(strstr(message, *parts), "\"%s\" does not say \"%s\"", message, *parts);
}

/* An expression that must fail at this line; its message must have all the texts that follow. */
#define FAILS(status, expression, ...)                                                             \
    do {                                                                                           \
        begin();                                                                                   \
        const hs_var result_ = expression;                                                         \
        ck_assert(!hs_var_ok(result_));                                                            \
        expect_error(status, HS_HERE ": ", (const char *const[]){ __VA_ARGS__, NULL });            \
    } while (0)

#endif
