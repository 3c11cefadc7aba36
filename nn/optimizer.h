/**
 * Optimisers: stochastic gradient descent, Adam and others, with a schedule of the learning rate,
 * clipping of gradients, and groups of parameters that have a rate of their own or are frozen.
 *
 *     hs_optimizer *adam = hs_optimizer_new(ps, &(hs_optimizer_options){ "adam", .rate = 1e-3,
 *         .schedule = { HS_COSINE, .steps = 20000, .warmup = 500 }, .clip_norm = 10 });
 *     for (uint64_t step = 0; !status && step < 20000; step++) {
 *         status = hs_plan_run(plan, &(hs_run){ .seed = 1, .step = step });
 *         if (!status)
 *             status = hs_optimizer_step(adam);      // reads the gradients of ps, moves its values
 *     }
 *     if (status)
 *         fprintf(stderr, "%s\n", hs_optimizer_error(adam));
 *     hs_optimizer_free(adam);
 *
 * The table nn/optimizers.def holds all optimisers, one in each row. hs_optimizer_list() and
 * `hastings list optimizers` show them.
 *
 * An option that is zero has the default that its comment names. Every step reports wrong options
 * and errors of the store, so a constructor's result needs no test.
 *
 * An optimiser owns its moments. It belongs to one store, which must outlive it. During a step,
 * nobody else may read or change that store. The result is the same for any number of threads.
 */
#ifndef HASTINGS_NN_OPTIMIZER_H
#define HASTINGS_NN_OPTIMIZER_H

#include <hastings/nn/params.h>
#include <hastings/tensor/message.h>

/** The shape of a schedule after its warm-up. */
typedef enum {
    HS_CONSTANT,   /**< the rate stays as it is */
    HS_COSINE,     /**< the rate falls along half a cosine wave */
    HS_EXPONENTIAL /**< the rate falls by the same factor in every step */
} hs_schedule_kind;

/** The learning rate as a function of the step. The rate rises linearly during the first `warmup`
 *  steps. After them it is constant, or falls until step `steps` and stays there. */
typedef struct {
    hs_schedule_kind kind; /**< the shape after the warm-up */
    double final;          /**< the last rate as a fraction of the first, in [0, 1]; must be
                                positive for HS_EXPONENTIAL */
    uint64_t steps;        /**< step at which the rate stops falling; more than warmup, unless the
                                kind is HS_CONSTANT */
    uint64_t warmup;       /**< steps during which the rate rises */

    /** NULL, or a schedule of the caller's own, instead of all of the above: the factor of the rate
     *  in a step. It must be finite and not negative, and depend on the step alone if training is
     *  to resume to the same bits. */
    double (*function)(uint64_t step, void *context);
    void *context; /**< passed to `function` */
} hs_schedule;

/** The rate of a step, numbered from 0, if `rate` is the full one. */
HS_API double hs_schedule_rate(const hs_schedule *schedule, double rate, uint64_t step);

/** Parameters that are treated alike. */
typedef struct {
    const char *match; /**< a pattern of names, in which * stands for any characters: "net.*",
                            "*.bias", or a name */
    double rate;       /**< factor of the learning rate; 0: 1 */
    bool no_decay;     /**< weight decay leaves these parameters alone */
    bool frozen;       /**< no step changes these parameters or their moments, and the norm of the
                            gradient does not count them */
} hs_param_group;

/** An optimiser as a value. A number that is not one of the named optimiser's must be 0. */
typedef struct {
    const char *name;     /**< a row of the table: "adam", "sgd" ...; NULL: "adam" */
    double rate;          /**< the learning rate; 0: the optimiser's default */
    double momentum;      /**< how much of the last step a step repeats, in [0, 1) */
    double nesterov;      /**< 1: look ahead along the momentum; 0: do not */
    double beta1;         /**< how much of the mean gradient stays, in (0, 1) */
    double beta2;         /**< how much of the second mean stays, in (0, 1) */
    double epsilon;       /**< keeps a quotient from a division by 0; positive */
    double weight_decay;  /**< rate times this much of a parameter vanishes in each step */
    hs_schedule schedule; /**< zeroed: the rate is constant */
    double clip_norm;     /**< a longer gradient is shortened to this norm; 0: never */
    int threads;          /**< 0: hs_threads_default() */

    /** Groups of parameters, or NULL. A parameter belongs to the first group that matches its name.
     *  Each group must have a parameter. The list is not needed after the constructor. */
    const hs_param_group *groups;
    size_t n_groups; /**< length of `groups` */
} hs_optimizer_options;

/** Checks options, or none if NULL, and copies them into *full (unless that is NULL) with their
 *  defaults filled in. HS_EINVAL, and the message says why, if they make no sense. It cannot check
 *  groups, which need a store. */
HS_API hs_status hs_optimizer_check(const hs_optimizer_options *options, hs_optimizer_options *full,
                                    hs_message *message) HS_MUST_CHECK;

/** A number that an optimiser has. */
typedef struct {
    const char *name; /**< of the field of hs_optimizer_options */
    double standard;  /**< its default */
} hs_optimizer_number;

enum { HS_OPTIMIZER_NUMBERS = 8 }; /**< at least one more than any optimiser has */

/** A row of the table. Moments are vectors as long as all parameters. */
typedef struct {
    const char *name;                                 /**< for hs_optimizer_options */
    const char *doc;                                  /**< one sentence */
    double rate;                                      /**< its default learning rate */
    int least;                                        /**< moments that it keeps without momentum */
    int most;                                         /**< moments that it keeps with momentum */
    hs_optimizer_number number[HS_OPTIMIZER_NUMBERS]; /**< up to the first without a name */
} hs_optimizer_entry;

HS_API const hs_optimizer_entry *hs_optimizer_list(size_t i); /**< row i; NULL after the last */

typedef struct hs_optimizer hs_optimizer; /**< an optimiser of the parameters of a store */

/** A new optimiser; options may be NULL. NULL if there is no memory: the functions below take that
 *  for an optimiser that fails with HS_ENOMEM. */
HS_API hs_optimizer *hs_optimizer_new(hs_params *ps, const hs_optimizer_options *options);

HS_API void hs_optimizer_free(hs_optimizer *optimizer); /**< frees it; NULL is allowed */

/** One step down the gradient. HS_ENONFINITE if the norm of the gradient is not finite: nothing has
 *  changed then, and the caller may go on with another gradient. */
HS_API hs_status hs_optimizer_step(hs_optimizer *optimizer) HS_MUST_CHECK;

/** The error of the last step, or of the constructor, as a sentence; "" if there was none. */
HS_API const char *hs_optimizer_error(const hs_optimizer *optimizer);

HS_API const char *hs_optimizer_name(const hs_optimizer *optimizer); /**< its name in the table */
HS_API uint64_t hs_optimizer_steps(const hs_optimizer *optimizer);   /**< steps so far */

/** The learning rate of the next step, before factors of groups. */
HS_API double hs_optimizer_rate(const hs_optimizer *optimizer);

/** The norm of the gradient in the last step, before clipping, without frozen parameters. */
HS_API double hs_optimizer_norm(const hs_optimizer *optimizer);

#endif
