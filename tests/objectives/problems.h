/* Targets and proposals that the tests of objectives use: small, and written out. */
#ifndef HASTINGS_TESTS_OBJECTIVES_PROBLEMS_H
#define HASTINGS_TESTS_OBJECTIVES_PROBLEMS_H

#include "support/hs_check.h"

#include <hastings/mcmc/transition.h>
#include <hastings/nn/params.h>

#define LOG_2PI 1.83787706640934548356

typedef enum { NORMAL, LAPLACE, CAUCHY } test_density;

typedef struct {
    test_density density;
    size_t dim;
} test_target;

static inline hs_var test_log_density(void *self, hs_var x)
{
    const test_target *t = self;
    const double d = (double)t->dim;
    switch (t->density) {
    case LAPLACE:
        return hs_shift(hs_neg(hs_sum_last(hs_abs(x))), -d * log(2));
    case CAUCHY:
        return hs_shift(hs_neg(hs_sum_last(hs_log1p(hs_square(x)))), -d * log(acos(-1)));
    default:
        return hs_log_normal(x);
    }
}

static inline hs_var test_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const test_target *t = self;
    if (t->density == NORMAL)
        return hs_normal(tape, extent, hs_dims(t->dim), stream);
    hs_var u = hs_shift(hs_uniform(tape, extent, hs_dims(t->dim), stream), -0.5);
    if (t->density == LAPLACE) /* -sign(u) log(1 - 2 |u|) */
        return hs_neg(hs_mul(hs_sign(u), hs_log1p(hs_scale(hs_abs(u), -2))));
    hs_var angle = hs_scale(u, acos(-1));
    return hs_div(hs_sin(angle), hs_cos(angle));
}

static inline hs_target *make_target(hs_session *s, test_density density, size_t dim)
{
    test_target *t = hs_session_alloc(s, sizeof *t);
    *t = (test_target){ density, dim };
    return hs_target_new(s, &(hs_target_spec){ .name = "test",
                                               .dim = dim,
                                               .self = t,
                                               .log_density = test_log_density,
                                               .draw = test_draw });
}

/* y = mean(x) + sd n, where step is the sd of a random walk, and tau of MALA. */
typedef struct {
    const hs_target *target; /* NULL: a random walk */
    hs_param step;
    bool stopped; /* the score is held constant when derivatives are taken */
} test_proposal;

static inline hs_var test_mean(const test_proposal *p, hs_var x, hs_var step)
{
    if (!p->target)
        return x;
    hs_var score = hs_target_score(p->target, x);
    return hs_add(x, hs_mul(step, p->stopped ? hs_stop(score) : score));
}

static inline hs_var test_sd(const test_proposal *p, hs_var step)
{
    return p->target ? hs_sqrt(hs_scale(step, 2)) : step;
}

static inline hs_var test_propose(void *self, hs_var x, hs_var n)
{
    const test_proposal *p = self;
    hs_var step = hs_param_var(x.tape, p->step);
    return hs_add(test_mean(p, x, step), hs_mul(test_sd(p, step), n));
}

static inline hs_var test_log_g(void *self, hs_var y, hs_var x)
{
    const test_proposal *p = self;
    const hs_shape shape = hs_var_shape(x);
    hs_var step = hs_param_var(x.tape, p->step), sd = test_sd(p, step);
    hs_var z = hs_div(hs_sub(y, test_mean(p, x, step)), sd);
    return hs_sub(hs_log_normal(z), hs_scale(hs_log(sd), (double)shape.dim[0]));
}

static inline void test_release(void *params)
{
    hs_params_free(params);
}

/* A random walk, or MALA if a target is given. */
static inline hs_proposal *make_proposal(hs_session *s, size_t dim, const hs_target *target,
                                         bool stopped, double step)
{
    hs_params *ps = hs_params_new(hs_session_dtype(s), 0);
    test_proposal *p = hs_session_alloc(s, sizeof *p);
    hs_session_own(s, ps, test_release);
    *p = (test_proposal){ target,
                          hs_params_add(ps, "step", hs_scalar_shape(), hs_init_constant(step)),
                          stopped };
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "test",
                                                   .dim = dim,
                                                   .self = p,
                                                   .params = ps,
                                                   .step = p->step,
                                                   .draw = test_propose,
                                                   .log_density = test_log_g,
                                                   .symmetric = !target });
}

#endif
