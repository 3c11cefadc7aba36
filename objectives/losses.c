#include "losses_internal.h"

#include <math.h>

#undef HS_HERE
#define HS_HERE at

/* The rows of losses.def call the functions below. */
static hs_var divergence(const hs_transition *t, const char *at)
{
    return hs_sub(t->log_g_fwd, t->log_pi_y);
}

static hs_var weighted(const hs_transition *t, double c, const char *at)
{
    return hs_sub(divergence(t, at), hs_scale(t->log_alpha, c));
}

static hs_var l2hmc(const hs_transition *t, double s2, double guard, const char *at)
{
    hs_var jump = hs_scale(hs_transition_jump(t), 1 / s2);
    if (guard > 0) {
        hs_var u = hs_shift(hs_mul(hs_exp(t->log_alpha), jump), guard);
        return hs_sub(hs_recip(u), u);
    }
    /* e^80 is finite in 32 bits. Beyond the bounds max and min pass no gradient; at a jump of 0 the
     * logarithm would still pass 0 times infinity, so it is shifted by the least normal number. */
    hs_var log_jump = hs_log(hs_shift(jump, 1.17549435e-38));
    hs_var log_u = hs_max(hs_add(t->log_alpha, log_jump), hs_const(t->x.tape, -80));
    log_u = hs_min(log_u, hs_const(t->x.tape, 80));
    return hs_sub(hs_exp(hs_neg(log_u)), hs_exp(log_u));
}

/* The numbers, the loss and the adaptation of objectives with a target acceptance. */
#define BALANCED                                                                                   \
    NUMBERS({ "acceptance", "the target acceptance", NULL, "(0, 1)" },                             \
            { "b", "the weight to start with", "1", "[floor, limit]" },                            \
            { "rho", "the rate of adaptation", "0.02", "(0, 1)" },                                 \
            { "limit", "the largest b", "1e4", "(1, inf)" },                                       \
            { "floor", "the smallest b", "1/limit", "(0, limit)" })
enum { RHO, LIMIT, FLOOR }; /* in o->number */

static hs_var balanced(const hs_transition *t, hs_var weighed, const char *at)
{
    return hs_sub(hs_mul(t->adapted, hs_scale(weighed, 1 / (double)t->dim)), t->log_alpha);
}

static double follow_acceptance(const hs_objective *o, double b, double mean_alpha)
{
    if (isfinite(mean_alpha))
        b *= 1 + o->number[RHO] * (mean_alpha - o->acceptance);
    return fmin(fmax(b, o->number[FLOOR]), o->number[LIMIT]);
}

/* clang-format off */
#define HS_LOSS(id, name, numbers, loss, ...)                                                      \
    static hs_var loss_##id(const hs_transition *t, const hs_objective *o)                         \
    {                                                                                              \
        const char *const at = "objective \"" name "\"";                                           \
        const double d = (double)t->dim;                                                           \
        (void)d;                                                                                   \
        char fault[LOSS_FAULT];                                                                    \
        if (hs__loss_fault(&hs__losses[LOSS_##id], o, fault))                                      \
            return hs_tape_fail(t->x.tape, HS_EINVAL, at, "%s", fault);                            \
        return loss;                                                                               \
    }
#define HS_ADAPTED HS_LOSS
#include "losses.def"

#define NUMBERS(...) { __VA_ARGS__ }
const loss_row hs__losses[LOSSES] = {
#define HS_LOSS(id, name, numbers, loss, formula, doc)                                             \
    { { name, formula, doc, numbers, false }, loss_##id, NULL },
#define HS_ADAPTED(id, name, numbers, loss, adapt, formula, doc)                                   \
    { { name, formula, doc, numbers, true }, loss_##id, adapt },
#include "losses.def"
};

/* The two numbers more of HS_ADAPTED have places of their own. */
#define HS_LOSS(id, name, numbers, ...)                                                            \
    _Static_assert(sizeof(hs_objective_number[])numbers / sizeof(hs_objective_number) <= 4,        \
                   "o->number has room for four");
#define HS_ADAPTED(id, ...)
#include "losses.def"
