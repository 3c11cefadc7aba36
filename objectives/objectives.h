/**
 * Objectives: the losses that the training of a proposal can minimise.
 *
 * An objective is a function of a transition to a loss for one sample (mcmc/transition.h). Training
 * minimises the mean of the loss. Objectives are passed by value:
 *
 *     hs_objective o = hs_ab_initio(0.18125);
 *     hs_objective g = hs_gsm(0.6);
 *     if (hs_objective_parse("gsm:0.6,1,0.02", &g, error, sizeof error))
 *         fprintf(stderr, "%s\n", error);
 *
 * The table objectives/losses.def has the formula of each objective, its numbers and their ranges;
 * hs_objective_list() and `hastings list objectives` show it. In formulas, alpha is the acceptance
 * probability and d the dimension of the target, auxiliary coordinates included. Where a proposal
 * is always accepted, log alpha and its gradient are 0.
 *
 * A number outside of its range, such as an acceptance of 2, is an error on the tape on which the
 * loss is recorded. Objectives hold no memory, and any thread may use them.
 */
#ifndef HASTINGS_OBJECTIVES_OBJECTIVES_H
#define HASTINGS_OBJECTIVES_OBJECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include <hastings/mcmc/transition.h>

/** Ab Initio with the weight C(d) = a d of log alpha. The paper's coefficients are 0.18125 (fitted
 *  to random walks), 0.25324 (to MALA) and 0.21510 (to both); fit.h fits others. The loss does not
 *  depend on the coordinates, and is minimal if and only if g(y|x) = pi(y). */
HS_API hs_objective hs_ab_initio(double a);

/** Ab Initio with C(d) = a d log d, the right growth as d goes to infinity; d is at least 2. */
HS_API hs_objective hs_ab_initio_log(double a);

/** Expected squared jump (Pasarica and Gelman 2010) over the original coordinates. The gradient
 *  vanishes where nothing is accepted: start from small steps. */
HS_API hs_objective hs_msjd(void);

/**
 * The objective of L2HMC (Levy et al. 2018) with sigma_min^2 = s2, which is 1 in its paper. Jumps
 * are over the original coordinates, and each sample counts by itself: 1 / mean(u) would have the
 * optimum of MSJD.
 *
 * 1 / u has heavy tails: where alpha is 1e-90, it is larger than any 32-bit number. The guard of
 * 1e-4 in u bounds 1 / u by 1e4, and u^2, by which the derivative divides, from below by 1e-8. The
 * guard moves the optimal acceptance of random walks by 0.0002.
 */
HS_API hs_objective hs_l2hmc(double s2);

/** The objective of L2HMC with another guard. If the guard is 0, the loss is computed from
 *  log u = log alpha + log(|y - x|^2 / s2) as 1 / u - u = -2 sinh(log u). log u is held between -80
 *  and 80; its gradient is 0 there. */
HS_API hs_objective hs_l2hmc_guarded(double s2, double guard);

/** Numbers of the objectives with a target acceptance. Each 0 but the first is a default. */
typedef struct {
    double acceptance; /**< the mean acceptance probability at which the adaptation of b rests */
    double b;          /**< the weight b to start with; 0: 1 */
    double rho;        /**< the rate of adaptation, below 1; 0: 0.02 */
    double limit;      /**< the largest b; 0: 1e4 */
    double floor;      /**< the smallest b; 0: 1 / limit */
} hs_target_acceptance;

/**
 * Generalised speed measure (Titsias and Dellaportas 2019): entropy at a given acceptance. Their
 * beta is b / d, so that b is of the order of 1 in any dimension (0.1 to 12 for random walks and
 * MALA, for acceptances of 0.9 to 0.3). By default b starts at 1.
 *
 * After each step b *= 1 + rho (mean alpha - acceptance): a larger b asks for larger steps, so b
 * must fall while too little is accepted. (The paper prints the opposite sign, which runs away.) A
 * mean that is not a number leaves b as it is.
 *
 * A network that begins far from the target accepts little, and b falls until entropy counts for
 * nothing. Then the network learns to be accepted, by small steps or by one mode of many. A floor
 * of b prevents this.
 */
HS_API hs_objective hs_gsm(double acceptance);

/** Generalised speed measure with other numbers than the defaults. */
HS_API hs_objective hs_gsm_with(const hs_target_acceptance *options);

/** The objective of Scout (Dharamshi et al. 2021): as the generalised speed measure, with the
 *  divergence from the target in place of the negative entropy. Where b comes to rest, the
 *  objective is Ab Initio with A = 1 / b. */
HS_API hs_objective hs_scout(double acceptance);

/** The objective of Scout with other numbers than the defaults. */
HS_API hs_objective hs_scout_with(const hs_target_acceptance *options);

/** Kullback-Leibler divergence of the proposal from the target: Ab Initio with A = 0. */
HS_API hs_objective hs_kl(void);

/** Negative log-likelihood, for independent proposals and start points drawn from the target: the
 *  divergence of the target from the proposal, up to the target's entropy. */
HS_API hs_objective hs_nll(void);

/** Reads a name, which numbers may follow after a colon or a percentage after a dash: "ab-initio",
 *  "ab-initio:0.2151", "gsm-60", "gsm:0.6,1,0.02". HS_EINVAL if the text cannot be read or a number
 *  is out of its range: then error[size] has a sentence, and *o is left alone. `error` may be NULL
 *  if size is 0. */
HS_API hs_status hs_objective_parse(const char *text, hs_objective *o, char *error,
                                    size_t size) HS_MUST_CHECK;

enum {
    HS_OBJECTIVE_TEXT = 160, /**< room for any objective as text */
    HS_OBJECTIVE_NUMBERS = 6 /**< the most numbers that an objective can have */
};

/** Writes the text from which hs_objective_parse() makes this objective, and returns it. The text
 *  of an objective of the user's own is its name. */
HS_API const char *hs_objective_text(const hs_objective *o, char text[HS_OBJECTIVE_TEXT]);

/** One number of an objective. */
typedef struct {
    const char *name;     /**< "rho" */
    const char *meaning;  /**< "the rate of adaptation" */
    const char *fallback; /**< the default as text: "0.02", or "1/limit"; NULL: there is none */
    const char *range; /**< the interval that is allowed: "(0, 1)", "[0, inf)", "[floor, limit]" */
} hs_objective_number;

/** A row of the table of objectives. */
typedef struct {
    const char *name;                                     /**< as in texts: "gsm" */
    const char *formula;                                  /**< of the loss */
    const char *doc;                                      /**< one sentence without a full stop */
    hs_objective_number number[HS_OBJECTIVE_NUMBERS + 1]; /**< in the order of texts; a name of NULL
                                                               ends them */
    bool percentage; /**< the first number is an acceptance: "gsm-60" is "gsm:0.6" */
} hs_objective_entry;

/** The i-th row; NULL after the last. */
HS_API const hs_objective_entry *hs_objective_list(size_t i);

#endif
