/**
 * What a chain knows from the step before.
 *
 * A step from x to y computes much of x alone: the target's log density there, its score, a proposal's networks. If y
 * is accepted, the next step begins there, and the same things of y were computed already. hs_carry() finds them on
 * the tape, without being told what they are, and makes inputs of them.
 *
 *     hs_carried *list;
 *     size_t n = hs_carry(&(hs_succession){ .x = x, .y = &y, .ways = 1 }, values, 3, &list);
 *     for (size_t i = 0; i < n; i++)
 *         next[i] = hs_select(accepted, list[i].at_y[0], list[i].input);     // feeds list[i].input in the next run
 *
 * For the first run, where the chain stands somewhere new, a plan of all list[i].at_x says what to feed.
 */
#ifndef HASTINGS_AUTOGRAD_CARRY_H
#define HASTINGS_AUTOGRAD_CARRY_H

#include <hastings/autograd/tape.h>

/** Which value takes the place of which from one run to the next. */
typedef struct {
    hs_var x;        /**< an input */
    const hs_var *y; /**< what may become x: of its shape and extent, one for each way of moving */
    size_t ways;
    const hs_var
        *changing; /**< bound values that change from run to run; others are taken for constant */
    size_t n_changing;
} hs_succession;

/** A value of x that is computed of every y as well. */
typedef struct {
    hs_var input;       /**< takes its place */
    hs_var at_x;        /**< the value as it was recorded */
    const hs_var *at_y; /**< the same of each y */
} hs_carried;

/**
 * Replaces each of n values by one that takes from inputs what it needs of x and what of every y is computed for them too.
 * Values that are cheap, elementwise from x, are not replaced. Everything a caller goes on with must be among `values`, as
 * what was recorded before knows nothing of the inputs. The list belongs to the tape. 0 if there is nothing to remember,
 * or after an error of the tape.
 */
HS_API size_t hs_carry_at(const hs_succession *s, hs_var *values, size_t n, hs_carried **list,
                             const char *at);
#define hs_carry(...) hs_carry_at(__VA_ARGS__, HS_HERE)

#endif
