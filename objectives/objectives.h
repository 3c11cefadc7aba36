/**
 * Objectives: what the training of a proposal minimises.
 *
 * An objective is a function of a transition to a loss for one sample (mcmc/transition.h); training
 * minimises its mean. These are the ones that are known, passed by value:
 *
 *     hs_objective o = hs_ab_initio(0.18125);
 *     hs_objective g = hs_gsm(0.6);
 *     if (hs_objective_parse("gsm:0.6,1,0.02", &g, error, sizeof error))
 *         fprintf(stderr, "%s\n", error);
 *
 * With alpha the acceptance probability and d the dimension of the target (with auxiliary
 * coordinates, if it has some):
 *
 *     ab-initio   log g(y|x) - log pi(y) - A d log alpha
 *     msjd        -alpha |y - x|^2
 *     l2hmc       1 / u - u,   u = alpha |y - x|^2 / s2 + 1e-4
 *     gsm         (b / d) log g(y|x) - log alpha,                  b adapted
 *     scout       (b / d) (log g(y|x) - log pi(y)) - log alpha,    b adapted
 *     kl          log g(y|x) - log pi(y)
 *     nll         -log g(x|y)
 *
 * log alpha is 0, and so is its gradient, where a proposal is always accepted. Numbers that make no
 * sense (a negative coefficient, an acceptance of 2) are an error on the tape that the loss is
 * recorded on. Objectives hold no memory, and have no thread rule.
 */
#ifndef HASTINGS_OBJECTIVES_OBJECTIVES_H
#define HASTINGS_OBJECTIVES_OBJECTIVES_H

#include <stddef.h>

#include <hastings/mcmc/transition.h>

/** Ab Initio with C(d) = a d. The paper's coefficients: 0.18125 (fitted to random walks), 0.25324
 * (to MALA), 0.21510 (to both); fit.h fits others. Independent of coordinates, and minimal if and
 * only if g(y|x) = pi(y). */
HS_API hs_objective hs_ab_initio(double a);

/** The same with C(d) = a d log d, the right growth as d goes to infinity; d is at least 2. */
HS_API hs_objective hs_ab_initio_log(double a);

/** Expected squared jump (Pasarica and Gelman 2010) over the original coordinates. Its gradient
 *  vanishes where nothing is accepted: start from small steps. */
HS_API hs_objective hs_msjd(void);

/**
 * L2HMC's (Levy et al. 2018) with sigma_min^2 = s2; 1 is the paper's. Jumps are over the original
 * coordinates, and count sample by sample: 1 / mean(u) would have the optimum of MSJD.
 *
 * 1 / u is heavy-tailed, and where alpha is 1e-90 it is larger than any 32-bit number. The guard of
 * 1e-4 in u bounds it by 1e4, and what its derivative divides by, u^2, from below by 1e-8; it moves
 * the optimal acceptance of random walks by 0.0002.
 */
HS_API hs_objective hs_l2hmc(double s2);

/** The same with a guard of one's own. Without one (0) log u = log alpha + log(|y - x|^2 / s2) is
 * used, of which 1/u - u = -2 sinh(log u); log u is held between -80 and 80, where its gradient is
 * 0. */
HS_API hs_objective hs_l2hmc_guarded(double s2, double guard);

/** What the two objectives with a target acceptance have in common. */
typedef struct {
    double acceptance; /**< the mean acceptance probability that b is adapted to reach */
    double b;          /**< to start with; 0: 1 */
    double rho;        /**< rate of adaptation, below 1; 0: 0.02 */
    double limit;      /**< b stays below it; 0: 1e4 */
    double floor;      /**< b stays above it; 0: 1 / limit */
} hs_target_acceptance;

/**
 * Generalised speed measure (Titsias and Dellaportas 2019): entropy at a given acceptance. Their
 * beta is b / d, so that b is of the order of 1 in any dimension (0.1 to 12 for random walks and
 * MALA, for acceptances of 0.9 to 0.3) and starts at beta = 1 / d.
 *
 * After each step b *= 1 + rho (mean alpha - acceptance): a larger b asks for larger steps, so it
 * must fall while too little is accepted. (The paper prints the opposite sign, which runs away.) A
 * mean that is not a number leaves b as it is.
 *
 * A network that begins far from the target accepts little, and b falls until entropy counts for
 * nothing: what is learnt then is to be accepted, by small steps or by one mode of many. A floor
 * keeps b from it.
 */
HS_API hs_objective hs_gsm(double acceptance);
HS_API hs_objective hs_gsm_with(const hs_target_acceptance *options);

/** Scout's (Dharamshi et al. 2021): the same with the divergence from the target instead of the
 * negative entropy. Where it comes to rest it is Ab Initio with A = 1 / b. */
HS_API hs_objective hs_scout(double acceptance);
HS_API hs_objective hs_scout_with(const hs_target_acceptance *options);

/** Kullback-Leibler divergence of the proposal from the target: Ab Initio with A = 0. */
HS_API hs_objective hs_kl(void);

/** Negative log-likelihood, for independent proposals and start points drawn from the target: the
 *  divergence of the target from the proposal, up to the target's entropy. */
HS_API hs_objective hs_nll(void);

/* ---- Objectives as text ------------------------------------------------------------------------
 */

/** Reads "ab-initio", "ab-initio:0.2151", "gsm-60", "gsm:0.6,1,0.02", ...: a name, and for some
 *  numbers after a colon or a percentage after a dash. HS_EINVAL if it cannot be read, with a
 * sentence in error[size] (which may be NULL if size is 0), and *o left alone. */
HS_API hs_status hs_objective_parse(const char *text, hs_objective *o, char *error,
                                    size_t size) HS_MUST_CHECK;

/** Room for any objective as text. */
enum { HS_OBJECTIVE_TEXT = 160 };

/** Writes what hs_objective_parse() reads back, and returns text. An objective that is not of this
 *  header has its name as its text. */
HS_API const char *hs_objective_text(const hs_objective *o, char text[HS_OBJECTIVE_TEXT]);

/** What can be read: the name, the numbers that follow ("" if none), and one line on what it is. */
typedef struct {
    const char *name;
    const char *numbers;
    const char *doc;
} hs_objective_entry;

/** The i-th of them; NULL after the last. */
HS_API const hs_objective_entry *hs_objective_list(size_t i);

#endif
