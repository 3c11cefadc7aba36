/**
 * Optimisers: stochastic gradient descent, Adam and AdamW, with a learning-rate schedule and
 * clipping of the gradient by its global norm.
 *
 *     hs_optimizer *adam = hs_adam_new(ps, &(hs_adam_options){
 *         .schedule = { HS_COSINE, .rate = 1e-3, .steps = 20000, .warmup = 500 },
 *         .clip_norm = 10 });
 *     for (uint64_t step = 0; !status && step < 20000; step++) {
 *         status = hs_plan_run(plan, &(hs_run){ .seed = 1, .step = step });
 *         if (!status)
 *             status = hs_optimizer_step(adam);      // reads the gradients of ps, moves its values
 *     }
 *     if (status)
 *         fprintf(stderr, "%s\n", hs_optimizer_error(adam));
 *     hs_optimizer_free(adam);
 *
 * An option that is zero has the default that its comment names. Wrong options and errors of the
 * store are reported by every step, so a constructor's result needs no test.
 *
 * An optimiser owns its moments and belongs to one store, which must outlive it and which nobody
 * else may change or read during a step. The result is the same for any number of threads.
 */
#ifndef HASTINGS_NN_OPTIMIZER_H
#define HASTINGS_NN_OPTIMIZER_H

#include <hastings/nn/params.h>

/* ---- Schedules ---------------------------------------------------------------------------- */

typedef enum { HS_CONSTANT, HS_COSINE, HS_EXPONENTIAL } hs_schedule_kind;

/**
 * The learning rate of a step. It rises linearly to `rate` during the first `warmup` steps, then is
 * constant, or falls to final * rate at step `steps` (and stays there): along half a cosine wave,
 * or exponentially.
 */
typedef struct {
    hs_schedule_kind kind;
    double rate;    /**< 0: 1e-3 for Adam and AdamW, 1e-2 for SGD */
    double final;   /**< a fraction of rate; must be positive for HS_EXPONENTIAL */
    uint64_t steps; /**< more than warmup, unless constant */
    uint64_t warmup;
} hs_schedule;

HS_API double hs_schedule_rate(const hs_schedule *schedule, uint64_t step);

/* ---- Optimisers --------------------------------------------------------------------------- */

typedef struct hs_optimizer hs_optimizer;

/** b = momentum b + g, then w -= rate b; Nesterov's look-ahead: w -= rate (g + momentum b). */
typedef struct {
    hs_schedule schedule;
    double momentum; /**< in [0, 1) */
    bool nesterov;
    double clip_norm; /**< a longer gradient is shortened to this norm; 0: never */
    int threads;      /**< 0: hs_threads_default() */
} hs_sgd_options;

/** m and v are running means of g and g^2, corrected for their start at 0 (Kingma and Ba 2015):
 *  w -= rate m / (sqrt(v) + epsilon). */
typedef struct {
    hs_schedule schedule;
    double beta1, beta2; /**< 0: 0.9, 0.999 */
    double epsilon;      /**< 0: 1e-8 */
    double weight_decay; /**< of AdamW alone, 0: 0.01; w is first multiplied by
                              1 - rate weight_decay (Loshchilov and Hutter 2019) */
    double clip_norm;
    int threads;
} hs_adam_options;

/** An optimiser of all parameters of a store; options may be NULL. NULL if there is no memory,
 * which the functions below take for an optimiser that fails with HS_ENOMEM. */
HS_API hs_optimizer *hs_sgd_new(hs_params *ps, const hs_sgd_options *options);
HS_API hs_optimizer *hs_adam_new(hs_params *ps, const hs_adam_options *options);
HS_API hs_optimizer *hs_adamw_new(hs_params *ps, const hs_adam_options *options);
HS_API void hs_optimizer_free(hs_optimizer *optimizer);

/** One step down the gradient. HS_ENONFINITE if the norm of the gradient is not finite: nothing has
 *  changed then, and the caller may go on with another gradient. */
HS_API hs_status hs_optimizer_step(hs_optimizer *optimizer) HS_MUST_CHECK;

/** What went wrong in the last step (or in making the optimiser), or "". */
HS_API const char *hs_optimizer_error(const hs_optimizer *optimizer);

/** "sgd", "adam" or "adamw". */
HS_API const char *hs_optimizer_name(const hs_optimizer *optimizer);

/** Steps taken so far, and the learning rate of the next one. */
HS_API uint64_t hs_optimizer_steps(const hs_optimizer *optimizer);
HS_API double hs_optimizer_rate(const hs_optimizer *optimizer);

/** Norm of the gradient in the last step, before clipping. */
HS_API double hs_optimizer_norm(const hs_optimizer *optimizer);

#endif
