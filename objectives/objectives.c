#include <hastings/objectives/objectives.h>

#include <math.h>
#include <string.h>

#include "objectives_internal.h"

#undef HS_HERE
#define HS_HERE at

/* ---- Numbers that make no sense ---------------------------------------------------------------
 */

/* What the places of `number` mean. */
enum { COEFFICIENT = 0 };               /* ab-initio */
enum { SCALE = 0, GUARD = 1 };          /* l2hmc */
enum { RHO = 0, LIMIT = 1, FLOOR = 2 }; /* gsm, scout */

static const char *fault_of_coefficient(const hs_objective *o)
{
    const double a = o->number[COEFFICIENT];
    return a >= 0 && isfinite(a) ? NULL : "the coefficient must be a number that is not negative";
}

static const char *fault_of_l2hmc(const hs_objective *o)
{
    const double s2 = o->number[SCALE], guard = o->number[GUARD];
    if (!(s2 > 0 && isfinite(s2)))
        return "the scale s2 must be a positive number";
    return guard >= 0 && isfinite(guard) ? NULL : "the guard must be a number that is not negative";
}

static const char *fault_of_adapted(const hs_objective *o)
{
    const double acceptance = o->acceptance, rho = o->number[RHO];
    const double limit = o->number[LIMIT], floor = o->number[FLOOR];
    if (!(acceptance > 0 && acceptance < 1))
        return "the target acceptance must lie between 0 and 1";
    if (!(rho > 0 && rho < 1))
        return "the rate of adaptation must lie between 0 and 1";
    if (!(limit > 1 && isfinite(limit)))
        return "the limit of b must be a number above 1";
    if (!(floor > 0 && floor < limit))
        return "the floor of b must be a positive number below its limit";
    return o->adapted >= floor && o->adapted <= limit
               ? NULL
               : "b must lie between its floor (1 / limit, if none is given) and its limit";
}

/* ---- Losses -----------------------------------------------------------------------------------
 */

static hs_var fail(const hs_transition *t, const hs_objective *o, const char *fault, const char *at)
{
    return hs_tape_fail(t->x.tape, HS_EINVAL, at, "objective \"%s\": %s", o->name, fault);
}

static hs_var divergence(const hs_transition *t, const char *at)
{
    return hs_sub(t->log_g_fwd, t->log_pi_y);
}

static hs_var ab_initio(const hs_transition *t, double c, const char *at)
{
    return hs_sub(divergence(t, at), hs_scale(t->log_alpha, c));
}

static hs_var loss_ab_initio(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"ab-initio\"", *fault = fault_of_coefficient(o);
    if (fault)
        return fail(t, o, fault, at);
    return ab_initio(t, o->number[COEFFICIENT] * (double)t->dim, at);
}

static hs_var loss_ab_initio_log(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"ab-initio-log\"", *fault = fault_of_coefficient(o);
    const double d = (double)t->dim;
    if (!fault && t->dim < 2)
        fault = "d log d is 0 in one dimension";
    if (fault)
        return fail(t, o, fault, at);
    return ab_initio(t, o->number[COEFFICIENT] * d * log(d), at);
}

static hs_var loss_msjd(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"msjd\"";
    (void)o;
    return hs_neg(hs_mul(hs_exp(t->log_alpha), hs_transition_jump(t)));
}

static hs_var loss_l2hmc(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"l2hmc\"", *fault = fault_of_l2hmc(o);
    if (fault)
        return fail(t, o, fault, at);
    const double guard = o->number[GUARD];
    hs_var jump = hs_scale(hs_transition_jump(t), 1 / o->number[SCALE]);
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

/* (b / d) of what - log alpha. */
static hs_var balanced(const hs_transition *t, const hs_objective *o, hs_var what, const char *at)
{
    const char *fault = fault_of_adapted(o);
    if (fault)
        return fail(t, o, fault, at);
    return hs_sub(hs_mul(t->adapted, hs_scale(what, 1 / (double)t->dim)), t->log_alpha);
}

static hs_var loss_gsm(const hs_transition *t, const hs_objective *o)
{
    return balanced(t, o, t->log_g_fwd, "objective \"gsm\"");
}

static hs_var loss_scout(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"scout\"";
    return balanced(t, o, divergence(t, at), at);
}

static hs_var loss_kl(const hs_transition *t, const hs_objective *o)
{
    (void)o;
    return divergence(t, "objective \"kl\"");
}

static hs_var loss_nll(const hs_transition *t, const hs_objective *o)
{
    const char *at = "objective \"nll\"";
    (void)o;
    return hs_neg(t->log_g_rev);
}

static double adapt(const hs_objective *o, double b, double mean_alpha)
{
    if (isfinite(mean_alpha))
        b *= 1 + o->number[RHO] * (mean_alpha - o->acceptance);
    return fmin(fmax(b, o->number[FLOOR]), o->number[LIMIT]);
}

/* ---- Objectives -------------------------------------------------------------------------------
 */

hs_objective hs_ab_initio(double a)
{
    return (hs_objective){ .name = "ab-initio", .loss = loss_ab_initio, .number = { a } };
}

hs_objective hs_ab_initio_log(double a)
{
    return (hs_objective){ .name = "ab-initio-log", .loss = loss_ab_initio_log, .number = { a } };
}

hs_objective hs_msjd(void)
{
    return (hs_objective){ .name = "msjd", .loss = loss_msjd };
}

hs_objective hs_l2hmc_guarded(double s2, double guard)
{
    return (hs_objective){ .name = "l2hmc", .loss = loss_l2hmc, .number = { s2, guard } };
}

hs_objective hs_l2hmc(double s2)
{
    return hs_l2hmc_guarded(s2, OBJECTIVE_GUARD);
}

static hs_objective adapted(const char *name, const hs_target_acceptance *given,
                            hs_var (*loss)(const hs_transition *t, const hs_objective *o))
{
    /* What is not given has its default; what is wrong is kept, and reported by the loss. */
    const double limit = given->limit != 0 ? given->limit : OBJECTIVE_LIMIT;
    return (hs_objective){
        .name = name,
        .loss = loss,
        .adapt = adapt,
        .number = { given->rho != 0 ? given->rho : OBJECTIVE_RHO, limit,
                    given->floor != 0 ? given->floor : 1 / limit },
        .adapted = given->b != 0 ? given->b : 1,
        .acceptance = given->acceptance,
    };
}

hs_objective hs_gsm_with(const hs_target_acceptance *options)
{
    return adapted("gsm", options, loss_gsm);
}

hs_objective hs_gsm(double acceptance)
{
    return hs_gsm_with(&(hs_target_acceptance){ .acceptance = acceptance });
}

hs_objective hs_scout_with(const hs_target_acceptance *options)
{
    return adapted("scout", options, loss_scout);
}

hs_objective hs_scout(double acceptance)
{
    return hs_scout_with(&(hs_target_acceptance){ .acceptance = acceptance });
}

hs_objective hs_kl(void)
{
    return (hs_objective){ .name = "kl", .loss = loss_kl };
}

hs_objective hs_nll(void)
{
    return (hs_objective){ .name = "nll", .loss = loss_nll };
}

const char *hs__objective_fault(const hs_objective *o)
{
    if (o->loss == loss_ab_initio || o->loss == loss_ab_initio_log)
        return fault_of_coefficient(o);
    if (o->loss == loss_l2hmc)
        return fault_of_l2hmc(o);
    return o->loss == loss_gsm || o->loss == loss_scout ? fault_of_adapted(o) : NULL;
}
