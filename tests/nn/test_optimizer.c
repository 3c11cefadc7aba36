/* Optimisers against the recursions of their papers in double; schedules; clipping. */
#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <hastings/nn/optimizer.h>
#include <hastings/tensor/memory.h>

#include "support/hs_check.h"

/* Two parameters, so that there is padding; large enough for work on several threads. */
enum { SMALL = 5, LARGE = 100000, ALL = SMALL + LARGE, STEPS = 20 };

static hs_params *new_store(hs_dtype dtype)
{
    hs_params *ps = hs_params_new(dtype, 2);
    hs_params_add(ps, "small", hs_dims(SMALL), hs_init_normal(1));
    hs_params_add(ps, "large", hs_dims(LARGE / 100, 100), hs_init_normal(1));
    ck_assert_ptr_nonnull(hs_params_gradients(ps));
    return ps;
}

/* A gradient that depends on the step and the place; with outliers. */
static double gradient_at(uint64_t step, size_t i)
{
    return sin(0.7 * (double)step + 1.3 * (double)i) * (i % 97 == 3 ? 100 : 1);
}

static void set_gradients(hs_params *ps, const double *g)
{
    for (size_t i = 0; i < hs_params_count(ps); i++) {
        hs_param p = hs_params_at(ps, i);
        const hs_shape shape = hs_param_shape(p);
        const size_t n = hs_shape_count(&shape);
        for (size_t j = 0; j < n; j++, g++) {
            if (hs_params_dtype(ps) == HS_F32)
                ((float *)hs_param_gradients(p))[j] = (float)*g;
            else
                ((double *)hs_param_gradients(p))[j] = *g;
        }
    }
}

static double norm_of(const double *g, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += g[i] * g[i];
    return sqrt(sum);
}

/* One step of an optimiser's recursion for one element: gradient g at step t, value w, moments m and v. */
typedef void recursion(const hs_optimizer_options *o, double g, double t, double rate, double *w,
                       double *m, double *v);

static void sgd(const hs_optimizer_options *o, double g, double t, double rate, double *w,
                double *m, double *v)
{
    (void)t, (void)v;
    *m = o->momentum * *m + g;
    *w -= rate * (o->nesterov != 0 ? g + o->momentum * *m : *m);
}

static void adam(const hs_optimizer_options *o, double g, double t, double rate, double *w,
                 double *m, double *v)
{
    *w -= rate * o->weight_decay * *w;
    *m = o->beta1 * *m + (1 - o->beta1) * g;
    *v = o->beta2 * *v + (1 - o->beta2) * g * g;
    *w -= rate * (*m / (1 - pow(o->beta1, t))) / (sqrt(*v / (1 - pow(o->beta2, t))) + o->epsilon);
}

static void rmsprop(const hs_optimizer_options *o, double g, double t, double rate, double *w,
                    double *m, double *v)
{
    (void)t;
    *v = o->beta2 * *v + (1 - o->beta2) * g * g;
    *m = o->momentum * *m + g / (sqrt(*v) + o->epsilon);
    *w -= rate * *m;
}

static void lion(const hs_optimizer_options *o, double g, double t, double rate, double *w,
                 double *m, double *v)
{
    (void)t, (void)v;
    const double mean = o->beta1 * *m + (1 - o->beta1) * g;
    *w -= rate * (o->weight_decay * *w + (mean > 0) - (mean < 0));
    *m = o->beta2 * *m + (1 - o->beta2) * g;
}

/* Each optimiser of the table is here at least once. */
static const struct {
    recursion *step;
    hs_optimizer_options options;
} cases[] = {
    { sgd, { .name = "sgd" } },
    { sgd, { .name = "sgd", .momentum = 0.8 } },
    { sgd, { .name = "sgd", .momentum = 0.8, .nesterov = 1 } },
    { adam, { .name = "adam", .beta1 = 0.85, .beta2 = 0.97, .epsilon = 1e-6 } },
    { adam,
      { .name = "adamw", .beta1 = 0.85, .beta2 = 0.97, .epsilon = 1e-6, .weight_decay = 0.1 } },
    { rmsprop, { .name = "rmsprop", .beta2 = 0.97, .epsilon = 1e-6 } },
    { rmsprop, { .name = "rmsprop", .beta2 = 0.97, .epsilon = 1e-6, .momentum = 0.8 } },
    { lion, { .name = "lion", .beta1 = 0.85, .beta2 = 0.97, .weight_decay = 0.1 } },
};
enum { CASES = sizeof cases / sizeof *cases, ADAMW = 4 };

START_TEST(every_optimiser_has_a_case)
{
    for (size_t i = 0; hs_optimizer_list(i); i++) {
        const char *name = hs_optimizer_list(i)->name;
        size_t found = 0;
        for (size_t c = 0; c < CASES; c++)
            found += !strcmp(cases[c].options.name, name);
        ck_assert_msg(found > 0, "%s has no recursion in this file to be compared with", name);
    }
}
END_TEST

static hs_optimizer_options options_of(int c, double clip, int threads)
{
    hs_optimizer_options o = cases[c].options;
    o.schedule = (hs_schedule){ HS_COSINE, .final = 0.1, .steps = 15, .warmup = 4 };
    o.rate = 0.05;
    o.clip_norm = clip;
    o.threads = threads;
    return o;
}

static hs_optimizer *new_optimizer(hs_params *ps, int c, double clip, int threads)
{
    const hs_optimizer_options o = options_of(c, clip, threads);
    return hs_optimizer_new(ps, &o);
}

static void check_updates(int c, hs_dtype dtype, double clip)
{
    static double w[ALL], m[ALL], v[ALL], g[ALL], found[ALL];
    hs_params *ps = new_store(dtype);
    hs_params_get(ps, w);
    memset(m, 0, sizeof m);
    memset(v, 0, sizeof v);
    const hs_optimizer_options o = options_of(c, clip, 2);
    hs_optimizer *optimizer = hs_optimizer_new(ps, &o);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < ALL; i++)
            g[i] = gradient_at(step, i);
        set_gradients(ps, g);
        const double norm = norm_of(g, ALL), rate = hs_schedule_rate(&o.schedule, o.rate, step);
        ck_assert(hs_optimizer_rate(optimizer) == rate);
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
        ck_assert_close(hs_optimizer_norm(optimizer), norm, dtype == HS_F32 ? 1e-6 : 1e-13, 0);
        const double shorten = clip > 0 && norm > clip ? clip / norm : 1;
        for (size_t i = 0; i < ALL; i++)
            cases[c].step(&o, shorten * g[i], (double)step + 1, rate, &w[i], &m[i], &v[i]);
    }
    ck_assert_uint_eq(hs_optimizer_steps(optimizer), STEPS);
    hs_params_get(ps, found);
    const double tolerance = dtype == HS_F32 ? 2e-5 : 1e-12;
    for (size_t i = 0; i < ALL; i++)
        ck_assert_close(found[i], w[i], tolerance, tolerance);
    const char *padding = (char *)hs_params_values(ps) + SMALL * hs_dtype_size(dtype);
    for (size_t i = 0; i < HS_ALIGN - SMALL * hs_dtype_size(dtype); i++)
        ck_assert_int_eq(padding[i], 0);
    hs_optimizer_free(optimizer);
    hs_params_free(ps);
}

START_TEST(updates_follow_the_recursions)
{
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++) {
        check_updates(_i, dtype, 0);
        check_updates(_i, dtype, 0.5); /* always clips */
        check_updates(_i, dtype, 1e9); /* never clips */
    }
}
END_TEST

/* By hand: w = 1, g = 0.5, all defaults. */
START_TEST(first_steps_by_hand)
{
    static const struct {
        const char *name;
        double w;
    } first[] = {
        { "sgd", 1 - 1e-2 * 0.5 },
        { "adam", 1 - 1e-3 * 0.5 / (0.5 + 1e-8) },
        { "adamw", 1 - 1e-3 * 0.01 - 1e-3 * 0.5 / (0.5 + 1e-8) },
        { "rmsprop", 1 - 1e-3 * 0.5 / (0.5 * 0.1 + 1e-8) },
        { "lion", 1 - 1e-4 },
    };
    const double one = 1, half = 0.5;
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_param p = hs_params_add(ps, "w", hs_scalar_shape(), hs_init_values(&one));
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        double w;
        hs_param_set(p, &one);
        hs_optimizer *optimizer =
            hs_optimizer_new(ps, &(hs_optimizer_options){ .name = first[i].name });
        set_gradients(ps, &half);
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
        hs_param_get(p, &w);
        ck_assert_close(w, first[i].w, 0, 3e-16);
        ck_assert_str_eq(hs_optimizer_name(optimizer), first[i].name);
        hs_optimizer_free(optimizer);
    }
    hs_optimizer *standard = hs_optimizer_new(ps, NULL);
    ck_assert_str_eq(hs_optimizer_name(standard), "adam");
    hs_optimizer_free(standard);
    hs_params_free(ps);
}
END_TEST

/* A first step of Adam from w = 0 with gradients of every size: squares are 0, denormal, up to the largest, and infinite.
 * Given the moments as they are stored, w is exact to 4 units of its last place. */
START_TEST(adam_is_exact_for_squares_of_every_size)
{
    enum { N = 1501 };
    static double g[N], w[N];
    const hs_dtype dtype = (hs_dtype)_i;
    const bool f32 = dtype == HS_F32;
    const double from = f32 ? -46 : -320, to = f32 ? 20 : 150;
    hs_params *ps = hs_params_new(dtype, 0);
    hs_params_add(ps, "w", hs_dims(N), hs_init_constant(0));
    hs_optimizer *optimizer = hs_optimizer_new(
        ps, &(hs_optimizer_options){ "adam", .rate = 1, .beta1 = 0.5, .beta2 = 0.5 });
    for (size_t i = 0; i < N; i++)
        g[i] = (i % 2 ? 1 : -1) * pow(10, from + (to - from) * (double)i / (N - 1));
    g[0] = 0;
    set_gradients(ps, g);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    hs_params_get(ps, w);
    const double eps = 1e-8, correct = 1 / sqrt(0.5);
    for (size_t i = 0; i < N; i++) {
        long double m = g[i] / 2, v = g[i] * g[i] / 2, c = correct, e = eps;
        if (f32) {
            const float single = (float)g[i], square = single * single;
            m = single / 2, v = square / 2, c = (float)correct, e = (float)eps;
        }
        const long double want = -2 * m / (sqrtl(v) * c + e);
        const long double ulp = f32 ? (double)FLT_EPSILON : DBL_EPSILON,
                          least = f32 ? 1e-44L : 1e-322L;
        if (!(fabsl(w[i] - want) <= 4 * ulp * fabsl(want) + least))
            ck_abort_msg("g = %g: w is %.17g, not %.17Lg", g[i], w[i], want);
    }
    hs_optimizer_free(optimizer);
    hs_params_free(ps);
}
END_TEST

START_TEST(bits_do_not_depend_on_threads)
{
    static double g[ALL], first[ALL], other[ALL];
    const int threads[] = { 1, 2, 3, 8 };
    for (hs_dtype dtype = HS_F32; dtype <= HS_F64; dtype++)
        for (size_t k = 0; k < 4; k++) {
            hs_params *ps = new_store(dtype);
            hs_optimizer *optimizer = new_optimizer(ps, _i, 0.5, threads[k]);
            for (uint64_t step = 0; step < 5; step++) {
                for (size_t i = 0; i < ALL; i++)
                    g[i] = gradient_at(step, i);
                set_gradients(ps, g);
                ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
            }
            hs_params_get(ps, k ? other : first);
            if (k)
                ck_assert_mem_eq(first, other, sizeof first);
            hs_optimizer_free(optimizer);
            hs_params_free(ps);
        }
}
END_TEST

START_TEST(a_nonfinite_gradient_changes_nothing)
{
    static double g[ALL], before[ALL], after[ALL];
    const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    const size_t place[] = { 0, SMALL - 1, SMALL, ALL - 1 };
    hs_params *ps = new_store(HS_F32), *twin = new_store(HS_F32);
    hs_optimizer *optimizer = new_optimizer(ps, ADAMW, 1, 2);
    hs_optimizer *other = new_optimizer(twin, ADAMW, 1, 2);
    for (size_t i = 0; i < ALL; i++)
        g[i] = gradient_at(1, i);
    hs_params_get(ps, before);
    for (size_t b = 0; b < 3; b++)
        for (size_t k = 0; k < 4; k++) {
            const double good = g[place[k]];
            g[place[k]] = bad[b];
            set_gradients(ps, g);
            g[place[k]] = good;
            ck_assert_int_eq(hs_optimizer_step(optimizer), HS_ENONFINITE);
            ck_assert_ptr_nonnull(strstr(hs_optimizer_error(optimizer), "norm of the gradient is"));
            ck_assert(!isfinite(hs_optimizer_norm(optimizer)));
            hs_params_get(ps, after);
            ck_assert_mem_eq(before, after, sizeof before);
            ck_assert_uint_eq(hs_optimizer_steps(optimizer), 0);
        }
    set_gradients(ps, g); /* and it goes on as if nothing had been */
    set_gradients(twin, g);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    ck_assert_str_eq(hs_optimizer_error(optimizer), "");
    ck_assert_int_eq(hs_optimizer_step(other), HS_OK);
    hs_params_get(ps, before);
    hs_params_get(twin, after);
    ck_assert_mem_eq(before, after, sizeof before);
    hs_optimizer_free(optimizer);
    hs_optimizer_free(other);
    hs_params_free(ps);
    hs_params_free(twin);
}
END_TEST

START_TEST(schedules_follow_their_curves)
{
    const hs_schedule constant = { HS_CONSTANT };
    ck_assert(hs_schedule_rate(&constant, 0.3, 0) == 0.3);
    ck_assert(hs_schedule_rate(&constant, 0.3, UINT64_MAX) == 0.3);

    const hs_schedule warm = { .warmup = 4 };
    for (uint64_t step = 0; step < 4; step++)
        ck_assert_close(hs_schedule_rate(&warm, 0.3, step), 0.3 * ((double)step + 1) / 4, 1e-15, 0);
    ck_assert(hs_schedule_rate(&warm, 0.3, 4) == 0.3);

    const hs_schedule cosine = { HS_COSINE, .final = 0.1, .steps = 110, .warmup = 10 };
    ck_assert_close(hs_schedule_rate(&cosine, 2, 9), 2, 1e-15, 0);
    ck_assert_close(hs_schedule_rate(&cosine, 2, 10), 2, 1e-15, 0);
    ck_assert_close(hs_schedule_rate(&cosine, 2, 60), 1.1, 1e-14, 0);
    ck_assert_close(hs_schedule_rate(&cosine, 2, 35), 0.2 + 0.9 * (1 + sqrt(0.5)), 1e-14, 0);
    ck_assert_close(hs_schedule_rate(&cosine, 2, 110), 0.2, 1e-14, 0);
    ck_assert_close(hs_schedule_rate(&cosine, 2, 100000), 0.2, 1e-14, 0);
    for (uint64_t step = 10; step < 120; step++)
        ck_assert(hs_schedule_rate(&cosine, 2, step) >= hs_schedule_rate(&cosine, 2, step + 1));

    const hs_schedule exponential = { HS_EXPONENTIAL, .final = 0.01, .steps = 100 };
    ck_assert_close(hs_schedule_rate(&exponential, 2, 0), 2, 1e-15, 0);
    ck_assert_close(hs_schedule_rate(&exponential, 2, 50), 0.2, 1e-14, 0);
    ck_assert_close(hs_schedule_rate(&exponential, 2, 100), 0.02, 1e-14, 0);
    ck_assert_close(hs_schedule_rate(&exponential, 2, 1000), 0.02, 1e-14, 0);
}
END_TEST

/* A schedule of the caller's. */
static double staircase(uint64_t step, void *context)
{
    const double *height = context;
    return height[step];
}

START_TEST(a_function_can_be_the_schedule)
{
    double height[] = { 1, 0, 0.25, (double)NAN, -1 }, w = 0;
    const double one = 1;
    const hs_schedule schedule = { .function = staircase, .context = height };
    ck_assert(hs_schedule_rate(&schedule, 3, 2) == 0.75);
    hs_params *ps = hs_params_new(HS_F64, 0);
    hs_param p = hs_params_add(ps, "w", hs_scalar_shape(), hs_init_zero());
    hs_optimizer *optimizer =
        hs_optimizer_new(ps, &(hs_optimizer_options){ "sgd", .rate = 2, .schedule = schedule });
    set_gradients(ps, &one);
    const double expected[] = { -2, -2, -2.5 };
    for (size_t i = 0; i < 3; i++) {
        ck_assert(hs_optimizer_rate(optimizer) == 2 * height[i]);
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
        hs_param_get(p, &w);
        ck_assert(w == expected[i]);
    }
    for (size_t i = 3; i < 5; i++) { /* a rate that is none changes nothing */
        height[3] = height[i];
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_EINVAL);
        ck_assert_ptr_nonnull(strstr(hs_optimizer_error(optimizer), "schedule.function"));
        ck_assert_ptr_nonnull(strstr(hs_optimizer_error(optimizer), "step 3"));
        hs_param_get(p, &w);
        ck_assert(w == expected[2]);
    }
    hs_optimizer_free(optimizer);
    hs_params_free(ps);
}
END_TEST

static void assert_broken(hs_params *ps, hs_optimizer_options o, const char *part)
{
    hs_optimizer *optimizer = hs_optimizer_new(ps, &o);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hs_optimizer_step(optimizer), HS_EINVAL);
        ck_assert_msg(strstr(hs_optimizer_error(optimizer), part), "\"%s\" does not say \"%s\"",
                      hs_optimizer_error(optimizer), part);
    }
    hs_optimizer_free(optimizer);
}

START_TEST(wrong_options_are_reported_by_every_step)
{
    typedef hs_optimizer_options o;
    hs_params *ps = new_store(HS_F64);
    assert_broken(ps, (o){ .name = "adagard" },
                  "there is no optimiser \"adagard\", only sgd, adam,");
    assert_broken(ps, (o){ .rate = -1 }, "adam: rate must be positive, but is -1");
    assert_broken(ps, (o){ .rate = (double)INFINITY }, "rate");
    assert_broken(ps, (o){ .schedule = { HS_COSINE } },
                  "schedule.steps must be more than schedule.warmup");
    assert_broken(ps, (o){ .schedule = { HS_EXPONENTIAL, .steps = 9 } },
                  "schedule.final must be positive");
    assert_broken(ps, (o){ .schedule = { HS_COSINE, .steps = 9, .function = staircase } },
                  "schedule.function");
    assert_broken(ps, (o){ .schedule = { .warmup = 9, .function = staircase } },
                  "schedule.function");
    assert_broken(ps, (o){ .beta1 = 1 }, "beta1 must be in (0, 1)");
    assert_broken(ps, (o){ .beta2 = 2 }, "beta2 must be in (0, 1)");
    assert_broken(ps, (o){ .epsilon = -1 }, "epsilon");
    assert_broken(ps, (o){ .clip_norm = (double)NAN }, "clip_norm");
    assert_broken(ps, (o){ .weight_decay = 0.1 },
                  "adam: it has no \"weight_decay\", only rate, clip_norm, beta1, beta2, epsilon");
    assert_broken(ps, (o){ "adamw", .weight_decay = -0.1 }, "adamw: weight_decay");
    assert_broken(ps, (o){ "sgd", .momentum = 1 }, "momentum must be in [0, 1)");
    assert_broken(ps, (o){ "sgd", .nesterov = 1 }, "with nesterov");
    assert_broken(ps, (o){ "sgd", .momentum = 0.5, .nesterov = 2 }, "nesterov must be 0 or 1");
    hs_params_free(ps);
}
END_TEST

/* Walks the table: the defaults are filled in and allowed, numbers out of their range are refused, and so are numbers
 * that only other optimisers have. */
START_TEST(numbers_are_checked)
{
    static const struct {
        const char *name;
        size_t at;
    } numbers[] = {
#define HS_NUMBER(name, ...) { #name, offsetof(hs_optimizer_options, name) },
#include <hastings/nn/optimizers.def>
    };
    for (size_t i = 0; hs_optimizer_list(i); i++) {
        const hs_optimizer_entry *e = hs_optimizer_list(i);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            const hs_optimizer_number *n = e->number;
            while (n->name && strcmp(n->name, numbers[k].name) != 0)
                n++;
            hs_optimizer_options o = { .name = e->name }, full;
            hs_message message = { "" };
            ck_assert_int_eq(hs_optimizer_check(&o, &full, &message), HS_OK);
            ck_assert(full.rate == e->rate);
            double found;
            memcpy(&found, (const char *)&full + numbers[k].at, sizeof found);
            ck_assert(found == (n->name ? n->standard : 0));
            const double wrong[] = { -1, (double)NAN };
            for (size_t w = 0; w < 2; w++) {
                memcpy((char *)&o + numbers[k].at, &wrong[w], sizeof wrong[w]);
                ck_assert_int_eq(hs_optimizer_check(&o, NULL, &message), HS_EINVAL);
                ck_assert_ptr_nonnull(strstr(message.text, e->name));
                ck_assert_ptr_nonnull(strstr(message.text, numbers[k].name));
                ck_assert(n->name || strstr(message.text, "it has no"));
            }
        }
    }
}
END_TEST

START_TEST(a_store_that_fails_is_reported)
{
    hs_params *ps = new_store(HS_F64);
    hs_optimizer *optimizer = hs_optimizer_new(ps, NULL);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    hs_params_add(ps, "late", hs_dims(3), hs_init_zero());
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(hs_optimizer_error(optimizer), "\"late\" comes too late"));
    hs_optimizer_free(optimizer);
    hs_params_free(ps);

    optimizer = hs_optimizer_new(NULL, NULL);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_ENOMEM);
    hs_optimizer_free(optimizer);
    ck_assert_int_eq(hs_optimizer_step(NULL), HS_ENOMEM);
    ck_assert_str_ne(hs_optimizer_error(NULL), "");
    hs_optimizer_free(NULL);

    hs_params *empty = hs_params_new(HS_F64, 0); /* nothing to do is no error */
    optimizer = hs_optimizer_new(empty, NULL);
    ck_assert_int_eq(hs_optimizer_step(optimizer), HS_OK);
    hs_optimizer_free(optimizer);
    hs_params_free(empty);
}
END_TEST

static Suite *optimizer_suite(void)
{
    Suite *suite = suite_create("optimizer");
    TCase *updates = tcase_create("updates");
    tcase_set_timeout(updates, 60);
    tcase_add_test(updates, every_optimiser_has_a_case);
    tcase_add_loop_test(updates, updates_follow_the_recursions, 0, CASES);
    tcase_add_test(updates, first_steps_by_hand);
    tcase_add_loop_test(updates, adam_is_exact_for_squares_of_every_size, HS_F32, HS_F64 + 1);
    tcase_add_loop_test(updates, bits_do_not_depend_on_threads, 0, CASES);
    tcase_add_test(updates, a_nonfinite_gradient_changes_nothing);
    suite_add_tcase(suite, updates);
    TCase *options = tcase_create("options");
    tcase_add_test(options, schedules_follow_their_curves);
    tcase_add_test(options, a_function_can_be_the_schedule);
    tcase_add_test(options, numbers_are_checked);
    tcase_add_test(options, wrong_options_are_reported_by_every_step);
    tcase_add_test(options, a_store_that_fails_is_reported);
    suite_add_tcase(suite, options);
    return suite;
}

HS_TEST_MAIN(optimizer_suite())
