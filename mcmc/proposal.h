/**
 * Proposals: how the next point of a chain is suggested.
 *
 * In the simplest form a proposal is two functions, written on the tape for one chain: `draw` (y from
 * x and normal noise, so that gradients flow through it) and `log_density` (of y given x). The
 * library's own proposals are in proposals.h.
 *
 *     // y = x + s(x) n: a random walk whose scale is a network of where it stands
 *     static hs_var scale(void *net, hs_var x)           { return hs_exp(hs_mlp_apply(net, x)); }
 *     static hs_var draw(void *net, hs_var x, hs_var n)  { return hs_add(x, hs_mul(scale(net, x), n)); }
 *     static hs_var log_density(void *net, hs_var y, hs_var x)
 *     {
 *         hs_var s = scale(net, x), z = hs_div(hs_sub(y, x), s);
 *         return hs_sub(hs_log_normal(z), hs_sum_last(hs_log(s)));
 *     }
 *     ...
 *     hs_proposal *p = hs_proposal_new(s, &(hs_proposal_spec){ .name = "my-walk", .dim = d,
 *         .self = &net, .params = ps, .draw = draw, .log_density = log_density });
 *
 * A proposal belongs to its session, its parameters to a store. Recording does not change it.
 */
#ifndef HASTINGS_MCMC_PROPOSAL_H
#define HASTINGS_MCMC_PROPOSAL_H

#include <hastings/autograd/ops.h>
#include <hastings/mcmc/session.h>
#include <hastings/mcmc/target.h>
#include <hastings/nn/params.h>

typedef struct hs_proposal hs_proposal;

/** One way in which a proposal can move, for one chain. All but y are scalars. */
typedef struct {
    hs_var y;         /**< proposed point [dim] */
    hs_var log_g_fwd; /**< log g(y | x) */
    hs_var log_g_rev; /**< log g(x | y) */
    hs_var weight;    /**< probability of moving in this way, given x */
} hs_move;

typedef struct {
    const char *name;
    size_t dim;
    void *self;
    void (*release)(void *self); /**< NULL: self needs none */
    hs_params *params;           /**< what training changes; NULL: nothing */
    size_t normals;              /**< length of the noise n; 0: dim */
    size_t gradients;            /**< scores of the target that one proposal costs, for reports */

    /** y from x and n, and log g(y | x): required unless `moves` is given. */
    hs_var (*draw)(void *self, hs_var x, hs_var n);
    hs_var (*log_density)(void *self, hs_var y, hs_var x);

    /** Optional: draw and score at once. The noise is known, so a flow need not be inverted to score
     *  its own draw. Must agree with the two above. */
    hs_var (*draw_scored)(void *self, hs_var x, hs_var n, hs_var *log_g);

    /** g(y | x) = g(x | y): the densities cancel in the acceptance. They are still computed where an
     *  objective asks for them. */
    bool symmetric;

    /** Instead of draw and log_density: fills in `ways` moves, whose weights add up to 1. Discrete
     *  choices are enumerated rather than sampled, so that gradients are exact. */
    size_t ways;
    void (*moves)(void *self, hs_var x, hs_var n, hs_move *moves);
} hs_proposal_spec;

enum { HS_MAX_WAYS = 64 };

/** A proposal from its parts, which are copied. */
HS_API hs_proposal *hs_proposal_new(hs_session *s, const hs_proposal_spec *spec);

HS_API const char *hs_proposal_name(const hs_proposal *p);
HS_API size_t hs_proposal_dim(const hs_proposal *p);
HS_API size_t hs_proposal_normals(const hs_proposal *p);
HS_API size_t hs_proposal_ways(const hs_proposal *p);
HS_API size_t hs_proposal_gradients(const hs_proposal *p);
HS_API hs_params *hs_proposal_params(const hs_proposal *p);
HS_API hs_session *hs_proposal_session(const hs_proposal *p);

/** Records all ways of moving from x with noise n; moves has room for hs_proposal_ways(). */
HS_API void hs_proposal_moves_at(const hs_proposal *p, hs_var x, hs_var n, hs_move *moves,
                                 const char *at);
#define hs_proposal_moves(...) hs_proposal_moves_at(__VA_ARGS__, HS_HERE)

/** log g(y | x); an error on the tape for a proposal that has only `moves`. */
HS_API hs_var hs_proposal_log_density_at(const hs_proposal *p, hs_var y, hs_var x, const char *at);
#define hs_proposal_log_density(...) hs_proposal_log_density_at(__VA_ARGS__, HS_HERE)

/** log density of a standard normal vector z [n]: -(|z|^2 + n log 2 pi) / 2. */
HS_API hs_var hs_log_normal_at(hs_var z, const char *at);
#define hs_log_normal(...) hs_log_normal_at(__VA_ARGS__, HS_HERE)

#endif
