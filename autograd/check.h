/**
 * Gradient check: compares the gradients that hs_grad() records with differences of the value.
 *
 *     hs_gradcheck_report report;
 *     hs_status status = hs_gradcheck(loss, (hs_var[]){ x, w }, (const double *[]){ x0, w0 }, 2,
 *                                     &(hs_gradcheck_options){ .starts = 5 }, &report);
 *     printf("worst relative error %g\n", report.worst);
 *
 * First order compares the gradient; second order compares the gradient of (gradient . v) for random v. Differences
 * are of fourth order with steps of 1e-3, good to about 1e-10 on smooth functions; where those disagree, steps of
 * 1e-4 and 1e-5 follow. Draws on the tape are the same in all evaluations.
 *
 * The caller owns all values; the check copies them. It records on the tape, so one thread at a time may check a tape.
 */
#ifndef HASTINGS_AUTOGRAD_CHECK_H
#define HASTINGS_AUTOGRAD_CHECK_H

#include <hastings/autograd/tape.h>

/** The batch and the order of a check; zeros are the defaults. */
typedef struct {
    int order;             /**< 0 or 1: first order; 2: first and second */
    size_t starts;         /**< start points, as in hs_plan_options */
    size_t rows_per_start; /**< rows of each start point, as in hs_plan_options */
    size_t shard_starts;   /**< start points in a shard, as in hs_plan_options */
    size_t held;           /**< this many inputs, the last ones, are fed but not checked */
    uint64_t seed;         /**< seed of draws on the tape, and of v */
} hs_gradcheck_options;

/** The worst element of a check. */
typedef struct {
    double worst;    /**< its relative error: |found - expected| over the largest of the two, a
                          thousandth of the largest gradient, and a millionth of |y|, below which
                          differences are lost in rounding */
    int order;       /**< its order, 1 or 2 */
    size_t wrt;      /**< its index into wrt */
    size_t element;  /**< its index into the data of that wrt */
    double found;    /**< its recorded gradient */
    double expected; /**< its differences */
} hs_gradcheck_report;

/** Checks the gradients of y (one element, summed over its batch) with respect to n inputs or bound values, at
 *  values[i] (laid out as for hs_plan_set()). wrt must have every input that y needs. The tape must be of HS_F64,
 *  else HS_EDTYPE; it grows by the gradients. Options may be NULL. */
HS_API hs_status hs_gradcheck(hs_var y, const hs_var *wrt, const double *const *values, size_t n,
                              const hs_gradcheck_options *options,
                              hs_gradcheck_report *report) HS_MUST_CHECK;

#endif
