#include "parts_internal.h"
#include <hastings/mcmc/proposal.h>
#include <hastings/tensor/number.h>

#undef HS_HERE
#define HS_HERE at

struct hs_proposal {
    hs_proposal_spec spec;
};

/* The fault of a description, or NULL. */
static const char *fault_of(const hs_proposal_spec *spec)
{
    if (spec->dim == 0)
        return "has no dimensions";
    if (spec->moves ? spec->draw || spec->log_density || spec->draw_scored
                    : !(spec->draw || spec->draw_scored) || !spec->log_density)
        return "needs either draw and log_density, or moves";
    if (spec->moves && (spec->ways == 0 || spec->ways > HS_MAX_WAYS))
        return "must have between 1 and 64 ways of moving";
    return NULL;
}

hs_proposal *hs_proposal_new(hs_session *s, const hs_proposal_spec *spec)
{
    const char *name = spec->name ? spec->name : "proposal", *fault = fault_of(spec), *kept;
    if (fault)
        hs_session_fail(s, HS_EINVAL, "proposal \"%s\" %s", name, fault);
    hs_proposal *p = hs__part_new(s, sizeof *p, name, &kept, spec->self, spec->release);
    if (!p)
        return NULL;
    p->spec = *spec;
    p->spec.name = kept;
    p->spec.normals = spec->normals ? spec->normals : spec->dim;
    p->spec.ways = spec->moves ? spec->ways : 1;
    return p;
}

const char *hs_proposal_name(const hs_proposal *p)
{
    return p ? p->spec.name : "";
}

size_t hs_proposal_dim(const hs_proposal *p)
{
    return p ? p->spec.dim : 0;
}

size_t hs_proposal_normals(const hs_proposal *p)
{
    return p ? p->spec.normals : 0;
}

size_t hs_proposal_ways(const hs_proposal *p)
{
    return p ? p->spec.ways : 0;
}

size_t hs_proposal_gradients(const hs_proposal *p)
{
    return p ? p->spec.gradients : 0;
}

hs_params *hs_proposal_params(const hs_proposal *p)
{
    return p ? p->spec.params : NULL;
}

bool hs_proposal_is_ratio_only(const hs_proposal *p)
{
    return p && p->spec.ratio_only;
}

hs_param hs_proposal_step(const hs_proposal *p, bool *is_log)
{
    if (is_log)
        *is_log = p && p->spec.log_step;
    return p && p->spec.step.store ? p->spec.step : (hs_param){ NULL, -1 };
}

hs_param hs_proposal_scale(const hs_proposal *p)
{
    return p && p->spec.scale.store ? p->spec.scale : (hs_param){ NULL, -1 };
}

hs_var hs_proposal_log_density_at(const hs_proposal *p, hs_var y, hs_var x, const char *at)
{
    if (!p)
        return hs_tape_fail(x.tape, HS_EINVAL, at, "log density: there is no proposal");
    const hs_proposal_spec *spec = &p->spec;
    if (!spec->log_density)
        return hs_tape_fail(x.tape, HS_EINVAL, at,
                            "proposal \"%s\" has no density of its own: it is a mixture of kernels",
                            spec->name);
    if (!hs__is_vector(y, spec->dim, "proposal", spec->name, "y", at) ||
        !hs__is_vector(x, spec->dim, "proposal", spec->name, "x", at))
        return (hs_var){ x.tape, -1 };
    const size_t from = hs_tape_size(x.tape);
    hs_var log_g = spec->log_density(spec->self, y, x);
    hs__check_streams(x.tape, from, "proposal", spec->name, at);
    return hs__scalar(log_g, "proposal", spec->name, "the log density", at);
}

void hs_proposal_moves_at(const hs_proposal *p, hs_var x, hs_var n, hs_move *moves, const char *at)
{
    if (!p) {
        hs_tape_fail(x.tape, HS_EINVAL, at, "moves: there is no proposal");
        return;
    }
    const hs_proposal_spec *spec = &p->spec;
    const hs_var nothing = { x.tape, -1 };
    for (size_t k = 0; k < spec->ways; k++)
        moves[k] = (hs_move){ nothing, nothing, nothing, nothing };
    if (!hs__is_vector(x, spec->dim, "proposal", spec->name, "x", at) ||
        !hs__is_vector(n, spec->normals, "proposal", spec->name, "the noise", at))
        return;
    const size_t from = hs_tape_size(x.tape);
    if (spec->moves) {
        spec->moves(spec->self, x, n, moves);
    } else {
        hs_move *m = &moves[0];
        m->y = spec->draw_scored ? spec->draw_scored(spec->self, x, n, &m->log_g_fwd)
                                 : spec->draw(spec->self, x, n);
        if (!spec->draw_scored)
            m->log_g_fwd = hs_proposal_log_density(p, m->y, x);
        /* The densities of a symmetric proposal cancel exactly, not only up to rounding. */
        m->log_g_rev = spec->symmetric ? m->log_g_fwd : hs_proposal_log_density(p, x, m->y);
        m->weight = hs_const(x.tape, 1);
    }
    hs__check_streams(x.tape, from, "proposal", spec->name, at);
    for (size_t k = 0; k < spec->ways; k++) {
        hs_move *m = &moves[k];
        hs__is_vector(m->y, spec->dim, "proposal", spec->name, "the proposed point", at);
        m->log_g_fwd = hs__scalar(m->log_g_fwd, "proposal", spec->name, "log g(y | x)", at);
        m->log_g_rev = hs__scalar(m->log_g_rev, "proposal", spec->name, "log g(x | y)", at);
        m->weight = hs__scalar(m->weight, "proposal", spec->name, "a weight", at);
    }
}

hs_var hs_log_normal_at(hs_var z, const char *at)
{
    const hs_shape shape = hs_var_shape(z);
    const double constant = 0.5 * HS_LOG_2PI * (double)hs_shape_count(&shape);
    return hs_shift(hs_scale(hs_sum(hs_square(z), HS_ALL), -0.5), -constant);
}
