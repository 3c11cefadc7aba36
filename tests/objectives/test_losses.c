/* Losses against the formulas written out, their gradients, and objectives as text. */
#include "support/hs_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/autograd/check.h>
#include <hastings/autograd/plan.h>
#include <hastings/objectives/objectives.h>

enum { DIM = 3, ORIGINAL = 2, ROWS = 4, KINDS = 9 };

/* A transition whose parts are all inputs; the third coordinate is auxiliary. */
typedef struct {
    hs_tape *tape;
    hs_var input[8]; /* x, y, log_pi_x, log_pi_y, log_g_fwd, log_g_rev, log_ratio, adapted */
    hs_transition t;
} free_transition;

static const double xs[ROWS * DIM] = { 0.1, -0.4, 2, 1, 1, 0, -0.3, 0.2, 0.5, 2, -1, 0.3 };
static const double ys[ROWS * DIM] = { 0.7, 0.3, -5, 1.5, 0, 0, -0.7, 0.4, 9, -1, 3, 0.4 };
static const double log_pi_xs[ROWS] = { -1, -2.5, -0.3, -4 };
static const double log_pi_ys[ROWS] = { -1.5, -2, -0.4, -3 };
static const double log_g_fwds[ROWS] = { 0.5, -1, 2, -0.7 };
static const double log_g_revs[ROWS] = { 0.3, -2, 2.5, -0.8 };
static const double log_ratios[ROWS] = { -0.7, 0.4, -3, -0.01 };
static const double adapted_b = 1.7;

static const double *const values[8] = { xs,         ys,         log_pi_xs,  log_pi_ys,
                                         log_g_fwds, log_g_revs, log_ratios, &adapted_b };

static free_transition make_transition(hs_dtype dtype)
{
    static const char *const name[8] = { "x",         "y",         "log_pi_x",  "log_pi_y",
                                         "log_g_fwd", "log_g_rev", "log_ratio", "adapted" };
    free_transition f = { .tape = hs_tape_new(dtype) };
    for (int i = 0; i < 8; i++)
        f.input[i] = hs_input(f.tape, name[i], i < 7 ? HS_ROW : HS_SHARED,
                              i < 2 ? hs_dims(DIM) : hs_scalar_shape());
    const hs_var *v = f.input;
    f.t = (hs_transition){ .x = v[0],
                           .y = v[1],
                           .log_pi_x = v[2],
                           .log_pi_y = v[3],
                           .log_g_fwd = v[4],
                           .log_g_rev = v[5],
                           .log_ratio = v[6],
                           .log_alpha = hs_min(hs_const(f.tape, 0), v[6]),
                           .weight = hs_const(f.tape, 1),
                           .adapted = v[7],
                           .dim = DIM,
                           .original_dim = ORIGINAL };
    return f;
}

/* ---- Values ------------------------------------------------------------------------------------
 */

/* What objective number k should be for one row. */
static double expected_loss(int k, size_t i)
{
    const double log_alpha = fmin(0, log_ratios[i]), alpha = exp(log_alpha);
    const double kl = log_g_fwds[i] - log_pi_ys[i];
    double jump = 0;
    for (size_t j = 0; j < ORIGINAL; j++)
        jump += pow(ys[i * DIM + j] - xs[i * DIM + j], 2);
    const double u = alpha * jump / 0.7 + 1e-4, v = alpha * jump / 0.7;
    const double all[KINDS] = {
        kl - 0.2 * DIM * log_alpha,
        kl - 0.2 * DIM * log(DIM) * log_alpha,
        -alpha * jump,
        1 / u - u,
        1 / v - v,
        adapted_b / DIM * log_g_fwds[i] - log_alpha,
        adapted_b / DIM * kl - log_alpha,
        kl,
        -log_g_revs[i],
    };
    return all[k];
}

static hs_objective kind(int k)
{
    const hs_objective all[KINDS] = {
        hs_ab_initio(0.2),
        hs_ab_initio_log(0.2),
        hs_msjd(),
        hs_l2hmc(0.7),
        hs_l2hmc_guarded(0.7, 0),
        hs_gsm(0.6),
        hs_scout(0.6),
        hs_kl(),
        hs_nll(),
    };
    return all[k];
}

/* The losses of all rows of the batch. */
static void evaluate(const hs_objective *o, double found[ROWS])
{
    free_transition f = make_transition(HS_F64);
    hs_var loss = o->loss(&f.t, o);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &loss, 1, &(hs_plan_options){ .starts = ROWS }), HS_OK);
    for (int i = 0; i < 8; i++)
        hs_plan_set(plan, f.input[i], values[i]);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    memcpy(found, hs_plan_get(plan, loss), ROWS * sizeof *found);
    hs_plan_free(plan);
    hs_tape_free(f.tape);
}

START_TEST(losses_are_their_formulas)
{
    const hs_objective o = kind(_i);
    double found[ROWS];
    evaluate(&o, found);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_close(found[i], expected_loss(_i, i), 1e-12, 1e-12);
}
END_TEST

/* First and second derivatives against differences. */
static void check_gradient(const hs_objective *o)
{
    free_transition f = make_transition(HS_F64);
    hs_var loss = o->loss(&f.t, o);
    hs_gradcheck_report report;
    ck_assert_int_eq(hs_gradcheck(loss, f.input, values, 8,
                                  &(hs_gradcheck_options){ .order = 2, .starts = ROWS }, &report),
                     HS_OK);
    ck_assert_msg(report.worst < 1e-7, "%s: error %g at input %zu[%zu], order %d: %g, not %g",
                  o->name, report.worst, report.wrt, report.element, report.order, report.found,
                  report.expected);
    hs_tape_free(f.tape);
}

START_TEST(gradients_are_right)
{
    const hs_objective o = kind(_i);
    check_gradient(&o);
}
END_TEST

/* log alpha of an accepted proposal is 0, with a gradient of 0, in every objective but those that
 * do not use it. */
START_TEST(accepted_proposals_have_no_slope)
{
    free_transition f = make_transition(HS_F64);
    const hs_objective o = hs_ab_initio(3);
    hs_var slope, loss = o.loss(&f.t, &o);
    hs_grad(loss, &f.input[6], 1, &slope);
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, &slope, 1, &(hs_plan_options){ .starts = ROWS }), HS_OK);
    for (int i = 0; i < 8; i++)
        hs_plan_set(plan, f.input[i], values[i]);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    const double *found = hs_plan_get(plan, slope);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_close(found[i], log_ratios[i] > 0 ? 0 : -9, 1e-14, 0);
    hs_plan_free(plan);
    hs_tape_free(f.tape);
}
END_TEST

/* ---- L2HMC in 32 bits ---------------------------------------------------------------------------
 */

START_TEST(l2hmc_is_finite_in_32_bits)
{
    const hs_objective o = _i ? hs_l2hmc_guarded(1, 0) : hs_l2hmc(1);
    free_transition f = make_transition(HS_F32);
    hs_var loss = o.loss(&f.t, &o), slope[2], output[3];
    hs_grad(loss, (hs_var[]){ f.input[1], f.input[6] }, 2, slope);
    output[0] = loss, output[1] = slope[0], output[2] = slope[1];
    enum { MANY = 7 };
    hs_plan *plan;
    ck_assert_int_eq(hs_plan_new(&plan, output, 3, &(hs_plan_options){ .starts = MANY }), HS_OK);
    /* Rows: impossible proposals, no jump at all, a jump of 1e9, and all of it at once. */
    const float log_ratio[MANY] = { -200, -1e30f, -INFINITY, 0, 0, -200, -1 };
    float x[MANY * DIM] = { 0 }, y[MANY * DIM], scalar[MANY] = { 0 };
    const float jump[MANY] = { 1, 1, 1, 0, 1e9f, 1e9f, 1 };
    for (size_t i = 0; i < MANY * DIM; i++)
        y[i] = jump[i / DIM];
    for (int i = 0; i < 8; i++)
        hs_plan_set(plan, f.input[i], i == 0 ? x : i == 1 ? y : i == 6 ? log_ratio : scalar);
    ck_assert_int_eq(hs_plan_run(plan, &(hs_run){ 0 }), HS_OK);
    for (int k = 0; k < 3; k++) {
        const float *found = hs_plan_get(plan, output[k]);
        for (size_t i = 0; i < (k == 1 ? MANY * DIM : MANY); i++)
            ck_assert_msg(isfinite(found[i]), "output %d, row %zu: %g", k, i, (double)found[i]);
    }
    const float *found = hs_plan_get(plan, loss);
    const double u = 2 * exp(-1) + (_i ? 0 : 1e-4);
    ck_assert_close((double)found[6], 1 / u - u, 1e-6, 0);
    ck_assert_close((double)found[0], _i ? exp(80) : 1e4, 1e-5, 0);
    hs_plan_free(plan);
    hs_tape_free(f.tape);
}
END_TEST

/* ---- Adaptation
 * ----------------------------------------------------------------------------------- */

START_TEST(b_follows_the_acceptance)
{
    const hs_objective o = _i ? hs_scout(0.6) : hs_gsm(0.6);
    ck_assert_double_eq(o.adapted, 1);
    ck_assert_close(o.adapt(&o, 2, 0.7), 2 * (1 + 0.02 * 0.1), 1e-15,
                    0); /* accepts too much: rises */
    ck_assert_close(o.adapt(&o, 2, 0.1), 2 * (1 - 0.02 * 0.5), 1e-15, 0);
    ck_assert_double_eq(o.adapt(&o, 2, 0.6), 2);
    double b = 1;
    for (int i = 0; i < 100000; i++)
        b = o.adapt(&o, b, 0);
    ck_assert_close(b, 1e-4, 1e-12, 0);
    for (int i = 0; i < 100000; i++)
        b = o.adapt(&o, b, 1);
    ck_assert_close(b, 1e4, 1e-12, 0);
    ck_assert_double_eq(o.adapt(&o, 3, (double)NAN), 3);
    ck_assert_double_eq(o.adapt(&o, (double)NAN, 0.5), 1e-4);
    const hs_objective held =
        hs_gsm_with(&(hs_target_acceptance){ .acceptance = 0.6, .b = 2, .floor = 1.5 });
    b = held.adapted;
    for (int i = 0; i < 1000; i++)
        b = held.adapt(&held, b, 0);
    ck_assert_double_eq(b, 1.5);
}
END_TEST

/* ---- Bad numbers --------------------------------------------------------------------------------
 */

START_TEST(bad_numbers_are_errors_on_the_tape)
{
    const hs_target_acceptance bad_b = { .acceptance = 0.5, .b = -1 };
    const hs_target_acceptance bad_rho = { .acceptance = 0.5, .rho = 2 };
    const hs_target_acceptance bad_limit = { .acceptance = 0.5, .limit = 0.5 };
    const hs_target_acceptance bad_floor = { .acceptance = 0.5, .floor = 1e5 };
    const hs_objective bad[] = { hs_ab_initio(-1),
                                 hs_ab_initio((double)NAN),
                                 hs_ab_initio_log((double)INFINITY),
                                 hs_l2hmc(0),
                                 hs_l2hmc(-2),
                                 hs_l2hmc_guarded(1, -1),
                                 hs_gsm(0),
                                 hs_gsm(1),
                                 hs_scout(60),
                                 hs_gsm_with(&bad_b),
                                 hs_scout_with(&bad_rho),
                                 hs_gsm_with(&bad_limit),
                                 hs_gsm_with(&bad_floor) };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        free_transition f = make_transition(HS_F64);
        bad[i].loss(&f.t, &bad[i]);
        ck_assert_int_eq(hs_tape_status(f.tape), HS_EINVAL);
        ck_assert_msg(strstr(hs_tape_error(f.tape), bad[i].name) != NULL, "%zu: %s", i,
                      hs_tape_error(f.tape));
        hs_tape_free(f.tape);
    }
    free_transition f = make_transition(HS_F64);
    const hs_objective o = hs_ab_initio_log(1);
    f.t.dim = 1;
    o.loss(&f.t, &o);
    ck_assert_int_eq(hs_tape_status(f.tape), HS_EINVAL);
    hs_tape_free(f.tape);
}
END_TEST

/* ---- Text ---------------------------------------------------------------------------------------
 */

START_TEST(text_is_read_and_written)
{
    static const struct {
        const char *text, *name, *written;
        double number[3], adapted, acceptance;
    } cases[] = {
        { "ab-initio", "ab-initio", "ab-initio", { 0.18125 }, 0, 0 },
        { "ab-initio:0.21510", "ab-initio", "ab-initio:0.2151", { 0.2151 }, 0, 0 },
        { "ab-initio-log:3e-2", "ab-initio-log", "ab-initio-log:0.03", { 0.03 }, 0, 0 },
        { "msjd", "msjd", "msjd", { 0 }, 0, 0 },
        { "l2hmc", "l2hmc", "l2hmc", { 1, 1e-4 }, 0, 0 },
        { "l2hmc:2", "l2hmc", "l2hmc:2", { 2, 1e-4 }, 0, 0 },
        { "l2hmc:2,0", "l2hmc", "l2hmc:2,0", { 2, 0 }, 0, 0 },
        { "gsm-60", "gsm", "gsm-60", { 0.02, 1e4, 1e-4 }, 1, 0.6 },
        { "gsm-5", "gsm", "gsm-5", { 0.02, 1e4, 1e-4 }, 1, 0.05 },
        { "gsm:0.6,0.5,0.02", "gsm", "gsm:0.6,0.5", { 0.02, 1e4, 1e-4 }, 0.5, 0.6 },
        { "gsm:0.123456789012345",
          "gsm",
          "gsm:0.123456789012345",
          { 0.02, 1e4, 1e-4 },
          1,
          0.123456789012345 },
        { "scout:0.9,1,0.1,50", "scout", "scout:0.9,1,0.1,50", { 0.1, 50, 0.02 }, 1, 0.9 },
        { "gsm:0.6,1,0.02,20,1", "gsm", "gsm:0.6,1,0.02,20,1", { 0.02, 20, 1 }, 1, 0.6 },
        { "gsm:0.6,1,0.02,20,0.05", "gsm", "gsm:0.6,1,0.02,20", { 0.02, 20, 0.05 }, 1, 0.6 },
        { "scout-90", "scout", "scout-90", { 0.02, 1e4, 1e-4 }, 1, 0.9 },
        { "kl", "kl", "kl", { 0 }, 0, 0 },
        { "nll", "nll", "nll", { 0 }, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hs_objective o;
        char error[200] = "", text[HS_OBJECTIVE_TEXT];
        ck_assert_msg(!hs_objective_parse(cases[i].text, &o, error, sizeof error), "%s", error);
        ck_assert_str_eq(o.name, cases[i].name);
        for (int k = 0; k < 3; k++)
            ck_assert_double_eq(o.number[k], cases[i].number[k]);
        ck_assert_double_eq(o.adapted, cases[i].adapted);
        ck_assert_double_eq(o.acceptance, cases[i].acceptance);
        ck_assert_str_eq(hs_objective_text(&o, text), cases[i].written);
    }
    const hs_objective mine = { .name = "mine" }, alias = { .name = "kl" };
    char text[HS_OBJECTIVE_TEXT];
    ck_assert_str_eq(hs_objective_text(&mine, text), "mine");
    ck_assert_str_eq(hs_objective_text(&alias, text), "kl");
}
END_TEST

START_TEST(bad_text_is_refused)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "there is none of that name; there are ab-initio, " },
        { "abinitio", "there is none of that name" },
        { "msjd-60", "there is none of that name" },
        { "gsm", "needs a number: gsm:acceptance" },
        { "gsm-", "a whole percentage is expected at \"\"" },
        { "gsm-6x", "a whole percentage is expected at \"6x\"" },
        { "gsm-100", "a whole percentage" },
        { "gsm-0", "acceptance, the target acceptance, is 0 and must lie in (0, 1)" },
        { "gsm:60", "acceptance, the target acceptance, is 60 and must lie in (0, 1)" },
        { "gsm:0.6,0",
          "b, the weight to start with, is 0 and must lie in [floor, limit] = [0.0001, 10000]" },
        { "gsm:0.6,1,1.5", "rho, the rate of adaptation, is 1.5 and must lie in (0, 1)" },
        { "gsm:0.6,1,0.1,1e4,0.1,7", "takes at most 5 numbers" },
        { "gsm:0.6,1,0.1,20,30",
          "floor, the smallest b, is 30 and must lie in (0, limit) = (0, 20)" },
        { "gsm:0.6,1,0.1,0.5", "limit, the largest b, is 0.5 and must lie in (1, inf)" },
        { "gsm:0.6,1,0.1,20,2",
          "b, the weight to start with, is 1 and must lie in [floor, limit] = [2, 20]" },
        { "ab-initio:", "a number is expected at \"\"" },
        { "ab-initio:0.1,", "takes 1 number only" },
        { "ab-initio:0.1x", "a number is expected at \"0.1x\"" },
        { "ab-initio:nan", "number 1 is not finite" },
        { "ab-initio:-1", "A, the coefficient, is -1 and must lie in [0, inf)" },
        { "l2hmc:0", "s2, the scale, is 0 and must lie in (0, inf)" },
        { "kl:1", "takes no numbers" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hs_objective o = { .name = "untouched" };
        char error[300];
        ck_assert_int_eq(hs_objective_parse(cases[i].text, &o, error, sizeof error), HS_EINVAL);
        ck_assert_str_eq(o.name, "untouched");
        ck_assert_msg(strstr(error, cases[i].message) != NULL, "\"%s\": %s", cases[i].text, error);
        ck_assert_int_eq(hs_objective_parse(cases[i].text, &o, NULL, 0), HS_EINVAL);
        char little[5];
        ck_assert_int_eq(hs_objective_parse(cases[i].text, &o, little, sizeof little), HS_EINVAL);
        ck_assert_uint_lt(strlen(little), sizeof little);
    }
}
END_TEST

/* ---- The table ----------------------------------------------------------------------------------
 */

/* A default or an end of a range: a number, or another number of the row by its name. */
static double end_of(const hs_objective_entry *e, const double *number, const char *text)
{
    for (size_t i = 0; e->number[i].name; i++)
        if (strncmp(text, e->number[i].name, strlen(e->number[i].name)) == 0)
            return number[i];
    return strtod(text, NULL);
}

static void ends_of(const hs_objective_entry *e, const double *number, size_t i, double end[2])
{
    const char *range = e->number[i].range;
    ck_assert_msg(strchr("([", range[0]) && strchr(")]", range[strlen(range) - 1]) &&
                      strstr(range, ", "),
                  "%s: %s is no range", e->name, range);
    end[0] = end_of(e, number, range + 1);
    end[1] = end_of(e, number, strstr(range, ", ") + 2);
}

/* Numbers of a row that are all in range: defaults, and middles of ranges. */
static size_t numbers_of(const hs_objective_entry *e, double number[HS_OBJECTIVE_NUMBERS])
{
    size_t n = 0;
    for (; e->number[n].name; n++) {
        const hs_objective_number *x = &e->number[n];
        ck_assert_msg(x->fallback || n == 0 || !e->number[n - 1].fallback,
                      "%s: %s must be given, after numbers that need not", e->name, x->name);
        double end[2];
        ends_of(e, number, n, end);
        if (!x->fallback)
            number[n] = isfinite(end[1]) ? (end[0] + end[1]) / 2 : end[0] + 1;
        else if (strncmp(x->fallback, "1/", 2) == 0)
            number[n] = 1 / end_of(e, number, x->fallback + 2);
        else
            number[n] = end_of(e, number, x->fallback);
    }
    return n;
}

static void write_text(const hs_objective_entry *e, const double *number, size_t n, char text[200])
{
    int used = snprintf(text, 200, "%s", e->name);
    for (size_t i = 0; i < n; i++)
        used += snprintf(text + used, 200 - (size_t)used, "%c%.17g", i ? ',' : ':', number[i]);
}

START_TEST(each_row_is_read_written_and_right)
{
    const hs_objective_entry *e = hs_objective_list((size_t)_i);
    ck_assert_uint_gt(strlen(e->doc), 10);
    ck_assert_uint_gt(strlen(e->formula), 5);
    double number[HS_OBJECTIVE_NUMBERS] = { 0 };
    char text[200], error[300] = "", written[HS_OBJECTIVE_TEXT], again[HS_OBJECTIVE_TEXT];
    write_text(e, number, numbers_of(e, number), text);
    hs_objective o, same;
    ck_assert_msg(!hs_objective_parse(text, &o, error, sizeof error), "%s", error);
    ck_assert_str_eq(o.name, e->name);
    ck_assert_int_eq(e->percentage, o.acceptance != 0);
    hs_objective_text(&o, written);
    ck_assert_int_eq(hs_objective_parse(written, &same, NULL, 0), HS_OK);
    ck_assert_str_eq(hs_objective_text(&same, again), written);
    double loss[ROWS];
    evaluate(&o, loss);
    for (size_t i = 0; i < ROWS; i++)
        ck_assert_msg(isfinite(loss[i]), "%s: the loss of row %zu is %g", text, i, loss[i]);
    check_gradient(&o);
}
END_TEST

/* Each number in turn beyond either end of its range, the others as they should be. */
START_TEST(each_row_refuses_numbers_out_of_range)
{
    const hs_objective_entry *e = hs_objective_list((size_t)_i);
    double right[HS_OBJECTIVE_NUMBERS] = { 0 };
    const size_t n = numbers_of(e, right);
    for (size_t i = 0; i < 2 * n; i++) {
        const char *range = e->number[i / 2].range;
        const bool open = range[i % 2 ? strlen(range) - 1 : 0] == (i % 2 ? ')' : '(');
        double number[HS_OBJECTIVE_NUMBERS], end[2];
        memcpy(number, right, sizeof number);
        ends_of(e, right, i / 2, end);
        if (isinf(end[i % 2]))
            continue;
        number[i / 2] = open ? end[i % 2] : end[i % 2] + (i % 2 ? 0.5 : -0.5);
        char text[200], error[300] = "";
        write_text(e, number, n, text);
        hs_objective o;
        ck_assert_msg(hs_objective_parse(text, &o, error, sizeof error) == HS_EINVAL,
                      "%s is accepted, where %s must lie in %s", text, e->number[i / 2].name,
                      range);
        ck_assert_msg(strstr(error, e->number[i / 2].name) && strstr(error, range), "%s: %s", text,
                      error);
    }
}
END_TEST

static Suite *losses_suite(void)
{
    Suite *suite = suite_create("objectives: losses");
    TCase *tests = tcase_create("losses");
    tcase_add_loop_test(tests, losses_are_their_formulas, 0, KINDS);
    tcase_add_loop_test(tests, gradients_are_right, 0, KINDS);
    tcase_add_test(tests, accepted_proposals_have_no_slope);
    tcase_add_loop_test(tests, l2hmc_is_finite_in_32_bits, 0, 2);
    tcase_add_loop_test(tests, b_follows_the_acceptance, 0, 2);
    tcase_add_test(tests, bad_numbers_are_errors_on_the_tape);
    tcase_add_test(tests, text_is_read_and_written);
    tcase_add_test(tests, bad_text_is_refused);
    int rows = 0;
    while (hs_objective_list((size_t)rows))
        rows++;
    tcase_add_loop_test(tests, each_row_is_read_written_and_right, 0, rows);
    tcase_add_loop_test(tests, each_row_refuses_numbers_out_of_range, 0, rows);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(losses_suite())
