/**
 * The library's own proposals: random walk, MALA, HMC, networks and mixtures.
 *
 *     hs_proposal *walk = hs_random_walk(s, &(hs_walk_options){ .dim = 100 });
 *     hs_proposal *mala = hs_mala(s, target, NULL);
 *     hs_proposal *deep = hs_multi_scheme(s, &(hs_multi_scheme_options){
 *         .dim = 2, .couplings = 8, .coupling_width = 6, .coupling_depth = 3,
 *         .width = 16, .depth = 4 });
 *
 * The session owns a proposal and its parameter store, and its thread calls. The session's seed and
 * `replica` seed the store. Zeros in the options are working defaults; NULL options are all
 * defaults. Arrays in the options are copied. Wrong options make the session fail and give NULL.
 */
#ifndef HASTINGS_MCMC_PROPOSALS_PROPOSALS_H
#define HASTINGS_MCMC_PROPOSALS_PROPOSALS_H

#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/target.h>
#include <hastings/nn/mlp.h>

/* ---- Steps: random walk, MALA, HMC ----------------------------------------------------------- */

/** Options of hs_random_walk() and hs_mala(). */
typedef struct {
    size_t dim;          /**< number of coordinates of the random walk; MALA takes the target's */
    double step;         /**< first step; 0: 2.38 / sqrt(dim), or for MALA 1.4 dim^(-1/3), which is
                              near its optimum on a standard normal */
    bool log_step;       /**< train the logarithm of the step instead of the step itself */
    bool diagonal;       /**< one step for each coordinate */
    const double *scale; /**< [dim]: factors of the steps, such as sds of the target; NULL: 1 */
} hs_walk_options;

/** Random walk: y = x + step n. Parameter "step", or "log_step". */
HS_API hs_proposal *hs_random_walk(hs_session *s, const hs_walk_options *options);

/** MALA: y = x + tau score(x) + sqrt(2 tau) n, where tau is the step times scale^2. Parameter
 *  "step", or "log_step". Gradients flow through the score. */
HS_API hs_proposal *hs_mala(hs_session *s, const hs_target *target, const hs_walk_options *options);

/** Options of hs_hmc(). */
typedef struct {
    size_t leapfrogs; /**< leapfrog steps of a proposal, at most 10000; 0: 5 */
    double step;      /**< first step; 0: 0.5 dim^(-1/4) */
    double jitter;    /**< each proposal has a uniform step on step (1 +- jitter), below 1; 0: 0.5,
                           negative: none. A trajectory of a whole period of a coordinate would
                           keep its energy for ever */
    const double *scale; /**< [dim]: square roots of the inverse mass matrix, such as sds of the
                              target; NULL: 1 */
} hs_hmc_options;

/** Hamiltonian Monte Carlo with a fixed number of leapfrog steps. hs_tune() sets its parameters
 *  "step" and "scale". */
HS_API hs_proposal *hs_hmc(hs_session *s, const hs_target *target, const hs_hmc_options *options);

/* ---- Networks -------------------------------------------------------------------------------- */

/** Start of the training of a multi-scheme proposal: a scheme of the paper's appendix D. The
 *  networks compute the scheme, with a little noise on all weights. */
typedef enum {
    HS_AS_NETWORKS,    /**< no scheme: networks as `init` makes them */
    HS_AS_RESAMPLING,  /**< independent draws from N(mean, sd^2) */
    HS_AS_RANDOM_WALK, /**< N(x, (step sd)^2) */
    HS_AS_MALA,        /**< N(x + tau score, 2 tau), tau = step^2 sd^2 / 2, for a normal target */
    HS_AS_LATENT,      /**< MALA in the latent space of the flow */
} hs_scheme;

/** Options of hs_multi_scheme(). */
typedef struct {
    size_t dim;       /**< number of coordinates */
    size_t couplings; /**< couplings of the NICE flow, between even and odd coordinates; 0: none */
    size_t coupling_width, coupling_depth; /**< of the couplings' networks; 0: width and depth */
    size_t width, depth;                   /**< of the four networks; 0: 16 and 4 */
    hs_activation activation;              /**< activation of all networks */
    hs_init init;                          /**< initialiser of all networks */
    hs_scheme start;         /**< first scheme; all but HS_AS_NETWORKS need relu, width >= 2 dim */
    const double *mean, *sd; /**< [dim]: moments of the target, for `start`; NULL: 0 and 1 */
    double step;             /**< step of `start` relative to sd; 0: 2.38 / sqrt(dim) */
    double noise;     /**< sd of the noise on the weights of `start`, times the square root of
                                   their number of inputs; 0: 0.01, negative: none */
    uint64_t replica; /**< another replica draws other networks */
} hs_multi_scheme_options;

/** The paper's Eq. 4: z = mu_L(T^-1 x) + sigma_L(T^-1 x) n, y = mu_D(x) + sigma_D(x) T(z). Networks
 *  "mu_l", "sigma_l", "mu_d", "sigma_d" (the sigmas give log sigma), and flow "flow". */
HS_API hs_proposal *hs_multi_scheme(hs_session *s, const hs_multi_scheme_options *options);

/** Options of hs_position_mixture(). */
typedef struct {
    size_t dim;               /**< number of coordinates */
    size_t components;        /**< number of Gaussians, at most HS_MAX_WAYS; 0: 4 */
    size_t width, depth;      /**< of the network of weights; 0: 16 and 4 */
    hs_activation activation; /**< activation of the network */
    const double *means;      /**< [components][dim]: first means; NULL: standard normal draws */
    double sd;                /**< first sd of the components; 0: 1 */
    bool diagonal;    /**< no correlations inside a component; always so above 16 dimensions */
    uint64_t replica; /**< another replica draws other numbers */
} hs_position_mixture_options;

/** Mixture of Gaussians, of which a network chooses the weights from x. The components are
 *  enumerated: gradients are exact. */
HS_API hs_proposal *hs_position_mixture(hs_session *s, const hs_position_mixture_options *options);

/** Independent draws from a flow: y = T(n). The session owns the flow from the call on. `params` is
 *  the flow's store, whose owner stays the same, or NULL to leave the flow untrained. */
HS_API hs_proposal *hs_independent_flow(hs_session *s, hs_flow *flow, hs_params *params);

/** Mixture of kernels: the move and the acceptance of `first` with probability p, else of `second`.
 *  Each leaves the target invariant by itself: a learned proposal mixed with a safe partner is
 *  never worse than the partner at a fraction 1 - p of its speed. Training changes the parameters
 *  of `first`. */
HS_API hs_proposal *hs_kernel_mixture(hs_session *s, const hs_proposal *first,
                                      const hs_proposal *second, double p);

/** New parameter store for a proposal of your own. The session owns it and gives its number type;
 *  the initialisers draw with the session's seed and `replica`. */
HS_API hs_params *hs_session_params(hs_session *s, uint64_t replica);

#endif
