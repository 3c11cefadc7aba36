/**
 * Proposals: suggestions for the next point of a chain.
 *
 * In its simplest form a proposal is two functions, written on the tape for one chain. `draw` makes
 * y from x and normal noise, so that gradients flow through it. `log_density` is log g(y | x). The
 * library's own proposals are in proposals/proposals.h.
 *
 *     // y = x + s(x) n: a random walk whose scale is a network of x
 *     static hs_var scale(void *m, hs_var x) { return hs_exp(hs_mlp_apply(m, x)); }
 *     static hs_var draw(void *m, hs_var x, hs_var n) { return hs_add(x, hs_mul(scale(m, x), n)); }
 *     static hs_var log_density(void *m, hs_var y, hs_var x)
 *     {
 *         hs_var s = scale(m, x), z = hs_div(hs_sub(y, x), s);
 *         return hs_sub(hs_log_normal(z), hs_sum_last(hs_log(s)));
 *     }
 *     ...
 *     hs_proposal *p = hs_proposal_new(s, &(hs_proposal_spec){ .name = "my-walk", .dim = d,
 *         .self = &net, .params = ps, .draw = draw, .log_density = log_density });
 *
 * The session owns the proposal, and one thread makes it; a store owns the parameters. Recording
 * does not change a proposal. Functions accept a NULL proposal: recording it fails the tape.
 */
#ifndef HASTINGS_MCMC_PROPOSAL_H
#define HASTINGS_MCMC_PROPOSAL_H

#include <hastings/autograd/ops.h>
#include <hastings/mcmc/session.h>
#include <hastings/mcmc/target.h>
#include <hastings/nn/params.h>

/** Proposal, opaque. */
typedef struct hs_proposal hs_proposal;

/** One way of moving, for one chain. All values but y are scalars. */
typedef struct {
    hs_var y;         /**< proposed point [dim] */
    hs_var log_g_fwd; /**< log g(y | x) */
    hs_var log_g_rev; /**< log g(x | y) */
    hs_var weight;    /**< probability of this way, given x */
} hs_move;

/** Parts of a proposal, for hs_proposal_new(). */
typedef struct {
    const char *name;            /**< name in messages; NULL: "proposal" */
    size_t dim;                  /**< number of coordinates of x and y */
    void *self;                  /**< first argument of the functions below; may be NULL */
    void (*release)(void *self); /**< frees self with the session; NULL: nothing to free */
    hs_params *params;           /**< parameters that training changes; NULL: none */
    hs_param step;    /**< parameter that is the step size: one number, or one for each coordinate;
                         zeroed: none. Tuning and searches set it */
    bool log_step;    /**< `step` is the logarithm of the step size */
    hs_param scale;   /**< the target's standard deviations, which tuning sets; zeroed: none */
    size_t normals;   /**< length of the noise n; 0: dim */
    size_t gradients; /**< scores of the target that one proposal costs, for reports */

    /* Both are required, unless `moves` is given. `draw_scored` may take the place of `draw`. */
    hs_var (*draw)(void *self, hs_var x, hs_var n);        /**< y from x and noise n */
    hs_var (*log_density)(void *self, hs_var y, hs_var x); /**< log g(y | x) */

    /** y and its log g(y | x) at once. The noise is known here, so that a flow need not be inverted
     *  to score its own draw. Must agree with `log_density`. */
    hs_var (*draw_scored)(void *self, hs_var x, hs_var n, hs_var *log_g);

    /** g(y | x) = g(x | y): the densities cancel in the acceptance. They are computed only for an
     *  objective that asks for them. */
    bool symmetric;

    /** The densities of the moves are right up to a factor that both directions share, as those of HMC,
     *  which are of its momentum. The acceptance needs no more, but objectives that use g(y | x) itself
     *  refuse such a proposal. A deterministic map of the noise and x belongs here too. */
    bool ratio_only;

    size_t ways; /**< number of moves that `moves` fills in, 1 to HS_MAX_WAYS */
    /** Fills in `ways` moves, of which the weights add up to 1; replaces draw and log_density. It
     *  enumerates discrete choices rather than sampling them, so that gradients are exact. */
    void (*moves)(void *self, hs_var x, hs_var n, hs_move *moves);
} hs_proposal_spec;

/** Most ways of moving of a proposal. */
enum { HS_MAX_WAYS = 64 };

/** Makes a proposal of copies of its parts. A wrong part gives NULL, and fails the session. */
HS_API hs_proposal *hs_proposal_new(hs_session *s, const hs_proposal_spec *spec);

HS_API const char *hs_proposal_name(const hs_proposal *p);  /**< name of the proposal */
HS_API size_t hs_proposal_dim(const hs_proposal *p);        /**< number of coordinates */
HS_API size_t hs_proposal_normals(const hs_proposal *p);    /**< length of the noise */
HS_API size_t hs_proposal_ways(const hs_proposal *p);       /**< number of ways of moving */
HS_API size_t hs_proposal_gradients(const hs_proposal *p);  /**< scores that one proposal costs */
HS_API hs_params *hs_proposal_params(const hs_proposal *p); /**< trained parameters, or NULL */

/** True if the proposal knows only the ratio g(x | y) / g(y | x), not the densities. */
HS_API bool hs_proposal_is_ratio_only(const hs_proposal *p);

/** The parameter that is the step size, and in *is_log (unless that is NULL) whether it is the
 *  logarithm of it; index -1 if the proposal has none. */
HS_API hs_param hs_proposal_step(const hs_proposal *p, bool *is_log);

/** The parameter that holds the target's standard deviations; index -1 if the proposal has none. */
HS_API hs_param hs_proposal_scale(const hs_proposal *p);

/** Records all ways of moving from x with noise n; `moves` has room for hs_proposal_ways(). */
HS_API void hs_proposal_moves_at(const hs_proposal *p, hs_var x, hs_var n, hs_move *moves,
                                 const char *at);
#define hs_proposal_moves(...) hs_proposal_moves_at(__VA_ARGS__, HS_HERE)

/** Records log g(y | x); the tape fails if the proposal has only `moves`. */
HS_API hs_var hs_proposal_log_density_at(const hs_proposal *p, hs_var y, hs_var x, const char *at);
#define hs_proposal_log_density(...) hs_proposal_log_density_at(__VA_ARGS__, HS_HERE)

/** Records the log density of a standard normal vector z [n]: -(|z|^2 + n log 2 pi) / 2. */
HS_API hs_var hs_log_normal_at(hs_var z, const char *at);
#define hs_log_normal(...) hs_log_normal_at(__VA_ARGS__, HS_HERE)

#endif
