/**
 * The library's own proposals.
 *
 *     hs_proposal *walk = hs_random_walk(s, &(hs_walk_options){ .dim = 100 });
 *     hs_proposal *mala = hs_mala(s, target, NULL);
 *     hs_proposal *deep = hs_multi_scheme(s, &(hs_multi_scheme_options){
 *         .dim = 2, .couplings = 8, .coupling_width = 6, .coupling_depth = 3,
 *         .width = 16, .depth = 4 });
 *
 * Each has a parameter store of its own, seeded by the session's seed and `replica`, and belongs to
 * the session. All options start at working defaults; NULL options are all defaults.
 */
#ifndef HASTINGS_MCMC_PROPOSALS_PROPOSALS_H
#define HASTINGS_MCMC_PROPOSALS_PROPOSALS_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>
#include <hastings/nn/mlp.h>

/* ---- Steps: random walk, MALA, HMC ------------------------------------------------------------ */

typedef struct {
    size_t dim;    /**< of the random walk; others take the target's */
    double step;   /**< to start with; 0: 2.38 / sqrt(dim), or for MALA what is near its optimum
                             on a standard normal, 1.4 dim^(-1/3) */
    bool log_step; /**< train the logarithm of the step instead of the step itself */
    bool diagonal; /**< a step for each coordinate */
    const double *scale; /**< NULL, or sds of the target by which the steps are multiplied */
} hs_walk_options;

/** y = x + step n. Parameter "step", or "log_step". */
HS_API hs_proposal *hs_random_walk(hs_session *s, const hs_walk_options *options);

/** y = x + tau score(x) + sqrt(2 tau) n, where tau is the parameter "step" (times scale^2). Gradients
 *  go through the score. */
HS_API hs_proposal *hs_mala(hs_session *s, const hs_target *target, const hs_walk_options *options);

typedef struct {
    size_t leapfrogs; /**< 0: 5 */
    double step;      /**< 0: 0.5 dim^(-1/4) */
    double jitter; /**< each proposal's step is uniform on step (1 +- jitter), so that no trajectory
                              is a whole period of a coordinate, which would never forget its energy;
                              0: 0.5, negative: none */
    const double *scale; /**< NULL, or sds of the target: square roots of the inverse mass matrix */
} hs_hmc_options;

/** Hamiltonian Monte Carlo with a fixed number of leapfrog steps. Parameters "step" and "scale",
 *  which hs_tune() sets. */
HS_API hs_proposal *hs_hmc(hs_session *s, const hs_target *target, const hs_hmc_options *options);

/* ---- Networks --------------------------------------------------------------------------------- */

/** Where the training of a multi-scheme proposal begins: the schemes of the paper's appendix D. The
 *  networks are set so that they compute the scheme, with a little noise in what is left free. */
typedef enum {
    HS_AS_NETWORKS,    /**< networks as initialised, which do nothing in particular */
    HS_AS_RESAMPLING,  /**< independent draws from N(mean, sd^2) */
    HS_AS_RANDOM_WALK, /**< N(x, (step sd)^2) */
    HS_AS_MALA,        /**< N(x + tau score, 2 tau), tau = step^2 sd^2 / 2, for a normal target */
    HS_AS_LATENT,      /**< MALA in the latent space of the flow */
} hs_scheme;

typedef struct {
    size_t dim;
    size_t couplings;                      /**< of the NICE flow, between even and odd
                                                coordinates; 0: no flow, T(z) = z */
    size_t coupling_width, coupling_depth; /**< 0: width and depth */
    size_t width, depth;                   /**< of the four networks; 0: 16 and 4 */
    hs_activation activation;
    hs_init init;
    hs_scheme start;    /**< of the networks; all but HS_AS_NETWORKS need relu */
    const double *mean; /**< of the target, for `start`; NULL: 0 */
    const double *sd;   /**< NULL: 1 */
    double step;        /**< relative to sd; 0: 2.38 / sqrt(dim) */
    double noise;     /**< sd of the noise around the scheme's networks; 0: 0.01, negative: none */
    uint64_t replica; /**< another one draws other networks */
} hs_multi_scheme_options;

/** The paper's Eq. 4: z = mu_L(T^-1 x) + sigma_L(T^-1 x) n, y = mu_D(x) + sigma_D(x) T(z). Networks
 *  "mu_l", "sigma_l", "mu_d", "sigma_d" (of log sigma), and flow "flow". */
HS_API hs_proposal *hs_multi_scheme(hs_session *s, const hs_multi_scheme_options *options);

typedef struct {
    size_t dim;
    size_t components;   /**< 0: 4; at most HS_MAX_WAYS */
    size_t width, depth; /**< of the network of weights; 0: 16 and 4 */
    hs_activation activation;
    const double
        *means;    /**< [components][dim], to start with; NULL: drawn from a standard normal */
    double sd;     /**< of the components to start with; 0: 1 */
    bool diagonal; /**< no correlations inside of components; always so above 16 dimensions */
    uint64_t replica;
} hs_position_mixture_options;

/** A mixture of Gaussians with weights that a network chooses by where the chain stands. Its components
 *  are enumerated: gradients are exact. */
HS_API hs_proposal *hs_position_mixture(hs_session *s, const hs_position_mixture_options *options);

/** Independent draws from a flow: y = T(n). The session owns the flow from the call on; `params` is the
 *  store that it was made with, or NULL if it is not to be trained. */
HS_API hs_proposal *hs_independent_flow(hs_session *s, hs_flow *flow, hs_params *params);

/**
 * A mixture of kernels: with probability p the move, and the acceptance, of `first`, else of `second`.
 * Each leaves the target invariant by itself, so a learned proposal mixed with a safe partner is never
 * worse than the partner at a fraction 1 - p of its speed. Training changes the parameters of `first`.
 */
HS_API hs_proposal *hs_kernel_mixture(hs_session *s, const hs_proposal *first,
                                      const hs_proposal *second, double p);

/** A new store for a proposal's parameters, which belongs to the session and has its number type; its
 *  initialisers draw with the session's seed and `replica`. For proposals of the user's own. */
HS_API hs_params *hs_session_params(hs_session *s, uint64_t replica);

#endif
