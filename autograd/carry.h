/**
 * Carry: a chain keeps from one step the values that the next step needs.
 *
 * A step from x to y computes many values of x alone: the target's log density there, its score, a proposal's
 * networks. If the chain accepts y, the next step begins at y, and this step has computed the same values of y
 * already. hs_carry() finds such values on the tape by itself and makes inputs of them.
 *
 *     hs_carried *list;
 *     size_t n = hs_carry(&(hs_succession){ .x = x, .y = &y, .ways = 1 }, values, 3, &list);
 *     for (size_t i = 0; i < n; i++)
 *         next[i] = hs_select(accepted, list[i].at_y[0], list[i].input);     // feeds list[i].input in the next run
 *
 * In the first run, where the chain stands somewhere new, a plan of all list[i].at_x gives the inputs. The tape owns
 * the list and belongs to one thread while it is recorded.
 */
#ifndef HASTINGS_AUTOGRAD_CARRY_H
#define HASTINGS_AUTOGRAD_CARRY_H

#include <hastings/autograd/tape.h>

/** The values that may take the place of x in the next run. */
typedef struct {
    hs_var x;               /**< an input of extent start or row */
    const hs_var *y;        /**< [ways] values that may become x, each of its shape and extent */
    size_t ways;            /**< number of ways to move */
    const hs_var *changing; /**< [n_changing] bound values that change between runs */
    size_t n_changing;      /**< their number; all other bound values count as constant */
} hs_succession;

/** A value of x, whose counterpart of every y is computed as well. */
typedef struct {
    hs_var input;       /**< the input that takes its place */
    hs_var at_x;        /**< the value as it was recorded */
    const hs_var *at_y; /**< [ways] its counterparts */
} hs_carried;

/**
 * Replaces each of the n values by one that reads carried inputs instead of computing the values of x whose
 * counterparts are computed for every y. Cheap values, elementwise from x, are not carried. `values` must have every
 * value that the caller goes on to use: values recorded before do not read the inputs. Returns the length of the
 * list, which belongs to the tape; 0 if there is nothing to carry, or after an error of the tape.
 */
HS_API size_t hs_carry_at(const hs_succession *s, hs_var *values, size_t n, hs_carried **list,
                          const char *at);
#define hs_carry(...) hs_carry_at(__VA_ARGS__, HS_HERE)

#endif
