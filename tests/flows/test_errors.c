/* What flows say when given nonsense, and that no failed allocation goes unnoticed or leaks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/flows/flow.h>
#include <hastings/tensor/memory.h>

#include "support/hs_check.h"
#include "support/scarce_memory.h"

/* ---- Stores ------------------------------------------------------------------------------- */

static void assert_says(const char *error, const char *part)
{
    ck_assert_msg(strstr(error, part), "\"%s\" does not say \"%s\"", error, part);
}

/* The store has the error, and a tape that uses the flow says the same. Frees both. */
static void assert_store(hs_params *ps, hs_flow *flow, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_params_status(ps), status);
    assert_says(hs_params_error(ps), part);
    ck_assert_ptr_nonnull(flow);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var log_det, z = hs_input(tape, "z", HS_ROW, hs_dims(3));
    ck_assert(!hs_var_ok(hs_flow_forward(flow, z, &log_det)) && !hs_var_ok(log_det));
    ck_assert_int_eq(hs_tape_status(tape), status);
    assert_says(hs_tape_error(tape), part);
    assert_says(hs_tape_error(tape), "flows/test_errors.c:");
    hs_tape_free(tape);
    hs_flow_free(flow);
    hs_params_free(ps);
}

static hs_params *store(void)
{
    return hs_params_new(HS_F64, 0);
}

START_TEST(wrong_dimensions_stick_to_the_store)
{
    hs_params *ps = store();
    assert_store(ps, hs_flow_nice_new(ps, &(hs_nice_options){ .couplings = 2 }), HS_ESHAPE,
                 "flow \"nice\" has dimension 0: it must be at least 1");
    ps = store();
    assert_store(ps, hs_flow_scaling_new(ps, &(hs_scaling_options){ .name = "s" }), HS_ESHAPE,
                 "flow \"s\" has dimension 0");
    ps = store();
    assert_store(ps, hs_flow_permutation_new(ps, (size_t)-1, NULL), HS_ESHAPE, "too large");
    ps = store();
    assert_store(ps, hs_flow_shuffle_new(ps, 0, 0), HS_ESHAPE, "flow \"shuffle\" has dimension 0");
    ps = store();
    assert_store(ps, hs_flow_identity_new(ps, 0), HS_ESHAPE, "flow \"identity\" has dimension 0");
    ps = store();
    assert_store(ps, hs_flow_new(ps, &(hs_flow_spec){ .dim = 0 }), HS_ESHAPE,
                 "flow \"flow\" has dimension 0");
    ps = store();
    assert_store(ps, hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 3, .depth = 2 }), HS_ESHAPE,
                 "network \"nice.0\" has in 1, out 2, width 0, depth 2");
}
END_TEST

START_TEST(wrong_options_stick_to_the_store)
{
    hs_params *ps = store();
    assert_store(ps, hs_flow_affine_new(ps, &(hs_affine_options){ .dim = 3, .bound = -1 }),
                 HS_EINVAL, "flow \"affine\" has bound -1: it must be positive");
    ps = store();
    assert_store(ps, hs_flow_affine_new(ps, &(hs_affine_options){ .dim = 3, .bound = (double)NAN }),
                 HS_EINVAL, "it must be positive");
    const hs_network none = { NULL, NULL, NULL };
    ps = store();
    assert_store(ps, hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 3, .networks = &none }),
                 HS_EINVAL, "network 0 of flow \"nice\" has no function");
    ps = store();
    hs_flow_free(hs_flow_scaling_new(ps, &(hs_scaling_options){ .name = "s", .dim = 3 }));
    assert_store(ps, hs_flow_scaling_new(ps, &(hs_scaling_options){ .name = "s", .dim = 3 }),
                 HS_EINVAL, "there already is a parameter \"s.log_scale\"");
    char name[1000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    ps = store();
    assert_store(ps, hs_flow_scaling_new(ps, &(hs_scaling_options){ .name = name, .dim = 3 }),
                 HS_EINVAL, "at most 127 fit");
    ps = store();
    assert_store(ps, hs_flow_nice_new(ps, &(hs_nice_options){ .name = name, .dim = 3 }), HS_EINVAL,
                 "at most 127 fit");
}
END_TEST

START_TEST(wrong_permutations_stick_to_the_store)
{
    hs_params *ps = store();
    assert_store(ps, hs_flow_permutation_new(ps, 3, (const size_t[]){ 0, 3, 1 }), HS_EINVAL,
                 "takes place 1 from place 3 of a vector of length 3");
    ps = store();
    assert_store(ps, hs_flow_permutation_new(ps, 3, (const size_t[]){ 1, 2, 1 }), HS_EINVAL,
                 "takes both place 0 and place 2 from 1");
}
END_TEST

START_TEST(wrong_compositions_stick_to_the_store)
{
    hs_params *ps = store();
    assert_store(ps, hs_flow_compose_new(ps, NULL, NULL, 0), HS_EINVAL,
                 "flow \"composition\" is composed of nothing");
    ps = store();
    hs_flow *parts[] = { hs_flow_identity_new(ps, 3), hs_flow_shuffle_new(ps, 2, 0) };
    assert_store(
        ps, hs_flow_compose_new(ps, "pair", parts, 2), HS_ESHAPE,
        "flow \"pair\" composes \"identity\" of dimension 3 and \"shuffle\" of dimension 2");
    ps = store();
    parts[0] = hs_flow_identity_new(ps, 3);
    parts[1] = NULL;
    ck_assert_ptr_null(hs_flow_compose_new(ps, NULL, parts, 2));
    ck_assert_int_eq(hs_params_status(ps), HS_ENOMEM);
    hs_params_free(ps);
    ps = store();
    ck_assert_ptr_null(hs_flow_inverse_new(ps, NULL));
    ck_assert_int_eq(hs_params_status(ps), HS_ENOMEM);
    hs_params_free(ps);
}
END_TEST

/* ---- Tapes -------------------------------------------------------------------------------- */

static void assert_tape(hs_tape *tape, hs_status status, const char *part)
{
    ck_assert_int_eq(hs_tape_status(tape), status);
    assert_says(hs_tape_error(tape), part);
    assert_says(hs_tape_error(tape), "flows/test_errors.c:");
    hs_tape_free(tape);
}

START_TEST(wrong_inputs_stick_to_the_tape)
{
    hs_params *ps = store();
    hs_flow *flow = hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 3 });
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_flow_forward(flow, hs_input(tape, "z", HS_ROW, hs_dims(2)), NULL);
    assert_tape(tape, HS_ESHAPE, "forward of flow \"nice\" takes a vector [3], but was given [2]");
    tape = hs_tape_new(HS_F64);
    ck_assert(!hs_var_ok(hs_flow_log_density(flow, hs_input(tape, "z", HS_ROW, hs_dims(2, 3)))));
    assert_tape(tape, HS_ESHAPE,
                "inverse of flow \"nice\" takes a vector [3], but was given [2, 3]");
    tape = hs_tape_new(HS_F32);
    hs_flow_forward(flow, hs_input(tape, "z", HS_ROW, hs_dims(3)), NULL);
    assert_tape(tape, HS_EDTYPE,
                "\"nice.0.0.weight\" is in a store of f64, but the tape is of f32");
    tape = hs_tape_new(HS_F64);
    ck_assert(!hs_var_ok(hs_flow_log_density(NULL, hs_input(tape, "z", HS_ROW, hs_dims(3)))));
    assert_tape(tape, HS_ENOMEM, "there is no flow");
    hs_var log_det;
    ck_assert(!hs_var_ok(hs_flow_inverse(flow, hs_input(NULL, "z", HS_ROW, hs_dims(3)), &log_det)));
    ck_assert(!hs_var_ok(log_det));
    tape = hs_tape_new(HS_F64); /* an earlier error is kept */
    hs_var bad = hs_slice(hs_input(tape, "z", HS_ROW, hs_dims(3)), 0, 2, 2);
    ck_assert(!hs_var_ok(hs_flow_forward(flow, bad, &log_det)) && !hs_var_ok(log_det));
    assert_tape(tape, HS_ESHAPE, "slice");
    hs_flow_free(flow);
    hs_params_free(ps);
}
END_TEST

/* Functions of a careless user; `self` is what they return. */
typedef struct {
    hs_var value, log_det;
} answer;

static hs_var answering(void *self, hs_var x, hs_var *log_det)
{
    const answer *a = self;
    (void)x;
    if (a->log_det.tape)
        *log_det = a->log_det;
    return a->value;
}

static hs_var answering_network(void *self, hs_var x)
{
    (void)x;
    return *(const hs_var *)self;
}

static int releases;

static void count_release(void *self)
{
    (void)self;
    releases++;
}

/* Which wrong thing a function of the user's returns, and what is said about it. */
static const struct {
    bool vector, value_elsewhere, scalar, log_det, log_det_elsewhere, no_inverse;
    hs_status status;
    const char *part;
} careless[] = {
    { .status = HS_ESHAPE,
      .part = "forward of flow \"own\" returned scalar, but must return a vector [3]" },
    { .vector = true,
      .value_elsewhere = true,
      .status = HS_EINVAL,
      .part = "no value of its tape" },
    { .vector = true,
      .log_det = true,
      .status = HS_ESHAPE,
      .part = "gave a log-determinant of shape [3], but it must be a scalar" },
    { .vector = true,
      .scalar = true,
      .log_det = true,
      .log_det_elsewhere = true,
      .status = HS_EINVAL,
      .part = "a log-determinant that is no value of its tape" },
    { .vector = true, .status = HS_EINVAL, .part = "no log-determinant in either direction" },
    { .vector = true, .no_inverse = true, .status = HS_EINVAL, .part = "has no inverse" },
};

START_TEST(careless_flows_stick_to_the_tape)
{
    hs_params *ps = store();
    hs_tape *tape = hs_tape_new(HS_F64), *elsewhere = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    hs_var y = hs_input(careless[_i].value_elsewhere ? elsewhere : tape, "y", HS_ROW, hs_dims(3));
    hs_tape *other = careless[_i].log_det_elsewhere ? elsewhere : tape;
    hs_var number = hs_const(other, 1);
    answer a = { careless[_i].vector ? y : hs_const(tape, 1), { NULL, -1 } };
    if (careless[_i].log_det)
        a.log_det = careless[_i].scalar ? number : y;
    releases = 0;
    hs_flow *flow =
        hs_flow_new(ps, &(hs_flow_spec){ .name = "own",
                                         .dim = 3,
                                         .self = &a,
                                         .forward = answering,
                                         .inverse = careless[_i].no_inverse ? NULL : answering,
                                         .release = count_release });
    hs_var log_det;
    hs_flow_forward(flow, x, &log_det);
    ck_assert(!hs_var_ok(log_det));
    assert_tape(tape, careless[_i].status, careless[_i].part);
    hs_flow_free(flow);
    ck_assert_int_eq(releases, 1);
    hs_tape_free(elsewhere);
    hs_params_free(ps);
}
END_TEST

START_TEST(careless_networks_stick_to_the_tape)
{
    hs_params *ps = store();
    hs_tape *tape = hs_tape_new(HS_F64), *elsewhere = hs_tape_new(HS_F64);
    hs_var returned = hs_input(elsewhere, "y", HS_ROW, hs_dims(2));
    const hs_network net = { answering_network, &returned, count_release };
    hs_flow *flow = hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 3, .networks = &net });
    hs_flow_forward(flow, hs_input(tape, "x", HS_ROW, hs_dims(3)), NULL);
    assert_tape(tape, HS_EINVAL, "network 0 of flow \"nice\" returned no value of its tape");
    tape = hs_tape_new(HS_F64);
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(3));
    returned = x;
    hs_flow_forward(flow, x, NULL);
    assert_tape(tape, HS_ESHAPE, "returned [3], but must return a vector [2]");
    releases = 0;
    hs_flow_free(flow);
    ck_assert_int_eq(releases, 1);
    flow = hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 1, .networks = &net });
    assert_store(ps, flow, HS_EINVAL, "dimension 1, which leaves its networks nothing to read");
    hs_tape_free(elsewhere);
}
END_TEST

/* ---- Allocations -------------------------------------------------------------------------- */

static hs_var sine(void *self, hs_var x)
{
    (void)self;
    return hs_sin(x);
}

static hs_var negative(void *self, hs_var x, hs_var *log_det)
{
    (void)self;
    (void)log_det;
    return hs_neg(x);
}

/* Everything once, as a user writes it. */
static hs_status make_and_run(void)
{
    const hs_network net = { sine, NULL, count_release };
    const hs_coupling_options mlp = {
        .dim = 4, .couplings = 3, .width = 4, .depth = 1, .scale = true
    };
    const hs_flow_spec own = { .dim = 4,
                               .forward = negative,
                               .inverse = negative,
                               .release = count_release,
                               .preserves_volume = true };
    hs_params *ps = store();
    hs_flow *flow = hs_flow_compose_new(
        ps, "all",
        (hs_flow *[]){ hs_flow_nice_new(ps, &mlp),
                       hs_flow_inverse_new(ps, hs_flow_affine_new(ps, &mlp)),
                       hs_flow_nice_new(ps, &(hs_nice_options){ .dim = 4, .networks = &net }),
                       hs_flow_permutation_new(ps, 4, NULL), hs_flow_shuffle_new(ps, 4, 1),
                       hs_flow_new(ps, &own), hs_flow_identity_new(ps, 4) },
        7);
    hs_tape *tape = hs_tape_new(HS_F64);
    hs_var x = hs_flow_forward(flow, hs_normal(tape, HS_ROW, hs_dims(4), 0), NULL);
    hs_var y = hs_flow_log_density(flow, x);
    hs_plan *plan = NULL;
    hs_message message = { "" };
    hs_status status = hs_tape_status(tape);
    if (!status)
        status = hs_plan_new(&plan, &y, 1, &(hs_plan_options){ .message = &message });
    if (status && tape)
        ck_assert(message.text[0] || hs_tape_error(tape)[0]);
    if (!status)
        status = hs_plan_run(plan, &(hs_run){ .seed = 1 });
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_flow_free(flow);
    hs_params_free(ps);
    return status;
}

START_TEST(every_failed_allocation_is_reported)
{
    hs_set_allocator(&counting);
    fail_at = 0;
    releases = 0;
    ck_assert_int_eq(make_and_run(), HS_OK);
    ck_assert_int_eq(living, 0);
    const long total = allocations;
    ck_assert_int_gt(total, 20);
    for (fail_at = 1; fail_at <= total; fail_at++) {
        allocations = 0;
        releases = 0;
        ck_assert_msg(make_and_run() == HS_ENOMEM, "allocation %ld", fail_at);
        ck_assert_msg(living == 0, "%ld blocks left when allocation %ld fails", living, fail_at);
        ck_assert_msg(releases == 2, "%d releases when allocation %ld fails", releases, fail_at);
    }
    hs_set_allocator(NULL);
}
END_TEST

static Suite *errors_suite(void)
{
    Suite *suite = suite_create("errors of flows");
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, wrong_dimensions_stick_to_the_store);
    tcase_add_test(errors, wrong_options_stick_to_the_store);
    tcase_add_test(errors, wrong_permutations_stick_to_the_store);
    tcase_add_test(errors, wrong_compositions_stick_to_the_store);
    tcase_add_test(errors, wrong_inputs_stick_to_the_tape);
    tcase_add_loop_test(errors, careless_flows_stick_to_the_tape, 0,
                        sizeof careless / sizeof *careless);
    tcase_add_test(errors, careless_networks_stick_to_the_tape);
    tcase_add_test(errors, every_failed_allocation_is_reported);
    suite_add_tcase(suite, errors);
    return suite;
}

HS_TEST_MAIN(errors_suite())
