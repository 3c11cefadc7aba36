/* Targets, objectives and a proposal of the tests' own, independent of the library's. */
#ifndef HASTINGS_TESTS_SUPPORT_MCMC_COMMON_H
#define HASTINGS_TESTS_SUPPORT_MCMC_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/autograd/plan.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/sample.h>
#include <hastings/mcmc/train.h>
#include <hastings/mcmc/tune.h>
#include <hastings/nn/mlp.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/random.h>

#include "hs_check.h"

#define MT_MAYBE __attribute__((unused)) static

static const double mt_log_2pi = 1.8378770664093454836;

#define ck_session_ok(s)                                                                           \
    ck_assert_msg(hs_session_status(s) == HS_OK, "session: %s", hs_session_error(s))

/* The session failed with `status`, and its message has all of the texts; the error is forgotten. */
#define ck_session_failed(s, expected, ...)                                                        \
    do {                                                                                           \
        const char *const texts_[] = { __VA_ARGS__ };                                              \
        ck_assert_msg(hs_session_status(s) == (expected), "status %d, not %d: \"%s\"",             \
                      (int)hs_session_status(s), (int)(expected), hs_session_error(s));            \
        for (size_t i_ = 0; i_ < sizeof texts_ / sizeof *texts_; i_++)                             \
            ck_assert_msg(strstr(hs_session_error(s), texts_[i_]) != NULL, "no \"%s\" in \"%s\"",  \
                          texts_[i_], hs_session_error(s));                                        \
        hs_session_clear(s);                                                                       \
    } while (0)

MT_MAYBE hs_session *mt_session(uint64_t seed)
{
    hs_session *s = hs_session_new(&(hs_session_options){ .seed = seed });
    ck_assert_ptr_nonnull(s);
    return s;
}

/* ---- Targets -------------------------------------------------------------------------------- */

/* N(mean, sd^2), coordinates independent. */
typedef struct {
    size_t dim;
    double mean[4], sd[4];
} mt_normal;

MT_MAYBE hs_var mt_normal_density(void *self, hs_var x)
{
    const mt_normal *t = self;
    hs_var z = hs_div(hs_sub(x, hs_tensor(x.tape, hs_dims(t->dim), t->mean)),
                      hs_tensor(x.tape, hs_dims(t->dim), t->sd));
    double volume = 0.5 * (double)t->dim * mt_log_2pi;
    for (size_t i = 0; i < t->dim; i++)
        volume += log(t->sd[i]);
    return hs_shift(hs_scale(hs_sum_last(hs_square(z)), -0.5), -volume);
}

MT_MAYBE hs_var mt_normal_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    const mt_normal *t = self;
    return hs_add(hs_tensor(tape, hs_dims(t->dim), t->mean),
                  hs_mul(hs_tensor(tape, hs_dims(t->dim), t->sd),
                         hs_normal(tape, extent, hs_dims(t->dim), stream)));
}

MT_MAYBE hs_target *mt_target_normal(hs_session *s, mt_normal *t)
{
    return hs_target_new(s, &(hs_target_spec){ .name = "normal",
                                               .dim = t->dim,
                                               .self = t,
                                               .log_density = mt_normal_density,
                                               .draw = mt_normal_draw });
}

/* N(0, I) in any dimension. */
MT_MAYBE hs_var mt_standard_density(void *self, hs_var x)
{
    (void)self;
    return hs_log_normal(x);
}

MT_MAYBE hs_var mt_standard_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    return hs_normal(tape, extent, hs_dims(*(const size_t *)self), stream);
}

MT_MAYBE hs_target *mt_target_standard(hs_session *s, size_t dim)
{
    size_t *self = hs_session_alloc(s, sizeof *self);
    if (self)
        *self = dim;
    return hs_target_new(s, &(hs_target_spec){ .name = "standard",
                                               .dim = dim,
                                               .self = self,
                                               .log_density = mt_standard_density,
                                               .draw = mt_standard_draw });
}

/* 2-D normal with mean (1, -1), sds 1 and 2, correlation 0.8. */
static const double mt_corr_mean[2] = { 1, -1 }, mt_corr_sd[2] = { 1, 2 }, mt_corr_rho = 0.8;

MT_MAYBE hs_var mt_correlated_density(void *self, hs_var x)
{
    (void)self;
    const double root = sqrt(1 - mt_corr_rho * mt_corr_rho);
    hs_var a = hs_scale(hs_shift(hs_slice(x, 0, 0, 1), -mt_corr_mean[0]), 1 / mt_corr_sd[0]);
    hs_var b = hs_scale(hs_shift(hs_slice(x, 0, 1, 2), -mt_corr_mean[1]), 1 / mt_corr_sd[1]);
    hs_var c = hs_scale(hs_sub(b, hs_scale(a, mt_corr_rho)), 1 / root);
    return hs_scale(hs_sum(hs_add(hs_square(a), hs_square(c)), HS_ALL), -0.5);
}

MT_MAYBE hs_var mt_correlated_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    (void)self;
    hs_var n = hs_normal(tape, extent, hs_dims(2), stream);
    hs_var a = hs_slice(n, 0, 0, 1), c = hs_slice(n, 0, 1, 2);
    hs_var b = hs_add(hs_scale(a, mt_corr_rho), hs_scale(c, sqrt(1 - mt_corr_rho * mt_corr_rho)));
    hs_var parts[2] = { hs_shift(hs_scale(a, mt_corr_sd[0]), mt_corr_mean[0]),
                        hs_shift(hs_scale(b, mt_corr_sd[1]), mt_corr_mean[1]) };
    return hs_concat(parts, 2, 0);
}

MT_MAYBE hs_target *mt_target_correlated(hs_session *s)
{
    return hs_target_new(s, &(hs_target_spec){ .name = "correlated",
                                               .dim = 2,
                                               .log_density = mt_correlated_density,
                                               .draw = mt_correlated_draw });
}

/* Two modes: 0.3 N(-1.5, 0.5^2 I) + 0.7 N(1, 0.8^2 I), in any dimension. Skewed, and no constant left
 * out but the normal's. */
enum { MT_MODES_STREAM = 1 };

MT_MAYBE hs_var mt_modes_density(void *self, hs_var x)
{
    const double d = (double)*(const size_t *)self;
    hs_var a = hs_shift(hs_log_normal(hs_scale(hs_shift(x, 1.5), 2)), log(0.3) + d * log(2));
    hs_var b = hs_shift(hs_log_normal(hs_scale(hs_shift(x, -1), 1.25)), log(0.7) + d * log(1.25));
    hs_var both[2] = { hs_reshape(a, hs_dims(1)), hs_reshape(b, hs_dims(1)) };
    return hs_logsumexp(hs_concat(both, 2, 0), 0);
}

MT_MAYBE hs_var mt_modes_draw(void *self, hs_tape *tape, hs_extent extent, uint32_t stream)
{
    hs_var n = hs_normal(tape, extent, hs_dims(*(const size_t *)self), stream);
    hs_var u = hs_uniform(tape, extent, hs_scalar_shape(), stream + MT_MODES_STREAM);
    return hs_select(hs_lt(u, hs_const(tape, 0.3)), hs_shift(hs_scale(n, 0.5), -1.5),
                     hs_shift(hs_scale(n, 0.8), 1));
}

MT_MAYBE hs_target *mt_target_modes(hs_session *s, size_t dim)
{
    size_t *self = hs_session_alloc(s, sizeof *self);
    if (self)
        *self = dim;
    return hs_target_new(s, &(hs_target_spec){ .name = "modes",
                                               .dim = dim,
                                               .self = self,
                                               .log_density = mt_modes_density,
                                               .draw = mt_modes_draw });
}

/* n exact draws of the original coordinates, in doubles; the session is of doubles. */
MT_MAYBE double *mt_exact_points(hs_session *s, const hs_target *target, size_t n, uint64_t seed)
{
    const size_t dim = hs_target_original_dim(target);
    double *points = malloc(n * dim * sizeof *points);
    hs_tape *tape = hs_tape_new(hs_session_dtype(s));
    hs_var x = hs_slice(hs_target_draw(target, tape, HS_START, 0), 0, 0, dim);
    hs_plan *plan;
    hs_status status = hs_plan_new(&plan, &x, 1, &(hs_plan_options){ .starts = n });
    if (!status)
        status = hs_plan_run(plan, &(hs_run){ .seed = seed, .step = 12345 });
    ck_assert_msg(!status && points, "%s", hs_tape_error(tape));
    memcpy(points, hs_plan_get(plan, x), n * dim * sizeof *points);
    hs_plan_free(plan);
    hs_tape_free(tape);
    return points;
}

/* ---- Objectives ----------------------------------------------------------------------------- */

MT_MAYBE hs_var mt_ab_initio_loss(const hs_transition *t, const hs_objective *o)
{
    hs_var kl = hs_sub(t->log_g_fwd, t->log_pi_y);
    return hs_sub(kl, hs_scale(t->log_alpha, o->number[0] * (double)t->dim));
}

MT_MAYBE hs_objective mt_ab_initio(double a)
{
    return (hs_objective){ .name = "ab-initio", .loss = mt_ab_initio_loss, .number = { a } };
}

MT_MAYBE hs_var mt_msjd_loss(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_neg(hs_mul(hs_exp(t->log_alpha), hs_transition_jump(t)));
}

MT_MAYBE hs_objective mt_msjd(void)
{
    return (hs_objective){ .name = "msjd", .loss = mt_msjd_loss };
}

/* GSM with facts.md's sign: -beta E[log g] + E[log alpha], maximised; number: rho, target. */
MT_MAYBE hs_var mt_gsm_loss(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return hs_sub(hs_mul(t->adapted, t->log_g_fwd), t->log_alpha);
}

MT_MAYBE double mt_gsm_adapt(const hs_objective *o, double beta, double alpha)
{
    return beta * (1 + o->number[0] * (alpha - o->number[1]));
}

MT_MAYBE hs_objective mt_gsm(double beta, double rho, double target)
{
    return (hs_objective){ .name = "gsm",
                           .loss = mt_gsm_loss,
                           .number = { rho, target },
                           .adapt = mt_gsm_adapt,
                           .adapted = beta };
}

/* ---- A proposal of the user's own: a walk whose scale is a network of where it stands -------- */

MT_MAYBE hs_var mt_scale(void *net, hs_var x)
{
    return hs_exp(hs_mlp_apply((const hs_mlp *)net, x));
}

MT_MAYBE hs_var mt_walk_draw(void *net, hs_var x, hs_var n)
{
    return hs_add(x, hs_mul(mt_scale(net, x), n));
}

MT_MAYBE hs_var mt_walk_log_density(void *net, hs_var y, hs_var x)
{
    hs_var s = mt_scale(net, x), z = hs_div(hs_sub(y, x), s);
    return hs_sub(hs_log_normal(z), hs_sum_last(hs_log(s)));
}

MT_MAYBE hs_proposal *mt_user_walk(hs_session *s, size_t dim)
{
    hs_mlp *net = hs_session_alloc(s, sizeof *net);
    hs_params *ps = hs_session_params(s, 0);
    if (!net || !ps)
        return NULL;
    *net = hs_mlp_new(ps, &(hs_mlp_options){ .in = dim,
                                             .out = dim,
                                             .width = 8,
                                             .depth = 2,
                                             .activation = HS_TANH,
                                             .init = hs_init_normal(0.7) });
    return hs_proposal_new(s, &(hs_proposal_spec){ .name = "my-walk",
                                                   .dim = dim,
                                                   .self = net,
                                                   .params = ps,
                                                   .draw = mt_walk_draw,
                                                   .log_density = mt_walk_log_density });
}

#endif
