/**
 * Gradient check: what hs_grad() recorded against differences of the value itself.
 *
 *     hs_gradcheck_report report;
 *     hs_status status = hs_gradcheck(loss, (hs_var[]){ x, w }, (const double *[]){ x0, w0 }, 2,
 *                                     &(hs_gradcheck_options){ .starts = 5 }, &report);
 *     printf("worst relative error %g\n", report.worst);
 *
 * First order compares the gradient, second order the gradient of (gradient . v) for random v.
 * Differences are of fourth order with steps of 1e-3, good to about 1e-10 on smooth functions, and
 * where those do not agree, of 1e-4 and 1e-5.
 * Draws on the tape are the same in all evaluations.
 */
#ifndef HASTINGS_AUTOGRAD_CHECK_H
#define HASTINGS_AUTOGRAD_CHECK_H

#include <hastings/autograd/tape.h>

typedef struct {
    int order;     /**< 1 (also for 0): first order; 2: first and second */
    size_t starts; /**< batch, as in hs_plan_options */
    size_t rows_per_start;
    size_t shard_starts;
    size_t held;   /**< the last so many inputs are only fed, not checked */
    uint64_t seed; /**< of draws on the tape, and of v */
} hs_gradcheck_options;

typedef struct {
    double worst; /**< the largest relative error: |found - expected| over the largest of the
                            two, a thousandth of the largest gradient, and a millionth of |y|,
                            below which differences are lost in rounding */
    int order;    /**< where it was: order, which wrt, which element of its data */
    size_t wrt;
    size_t element;
    double found;    /**< recorded gradient */
    double expected; /**< differences */
} hs_gradcheck_report;

/** Checks the gradients of y (one element, summed over its batch) with respect to n inputs or bound
 *  values, at values[i] (laid out as for hs_plan_set). They must be all the inputs that y needs. The
 *  tape must be of HS_F64; it grows by the gradients. Options may be NULL. */
HS_API hs_status hs_gradcheck(hs_var y, const hs_var *wrt, const double *const *values, size_t n,
                              const hs_gradcheck_options *options,
                              hs_gradcheck_report *report) HS_MUST_CHECK;

#endif
