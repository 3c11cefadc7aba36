/* Shared checks and memory of targets and proposals. */
#ifndef HASTINGS_MCMC_PARTS_INTERNAL_H
#define HASTINGS_MCMC_PARTS_INTERNAL_H

#include <hastings/autograd/ops.h>
#include <hastings/mcmc/session.h>

/* Fail the session as hs_session_fail() does; the value is false for checks, NULL for makers. */
#define SESSION_FALSE(...) (hs_session_fail(__VA_ARGS__), false)
#define SESSION_NULL(...)  (hs_session_fail(__VA_ARGS__), NULL)

/* True if the n values are finite (and positive), or NULL; otherwise the session fails. */
bool hs__all_finite(hs_session *s, const char *who, const char *what, const double *values,
                    size_t n);
bool hs__all_positive(hs_session *s, const char *who, const char *what, const double *values,
                      size_t n);

/* False if there are more steps than a plan can number; the session then fails. */
bool hs__check_steps(hs_session *s, const char *who, uint64_t steps);

/* False if a required part is NULL; the session then fails, unless it has failed before. */
bool hs__is_there(hs_session *s, const void *part, const char *who, const char *what);

/* True if v is a vector of `length`; otherwise its tape fails. Messages name the part by kind ("target")
 * and name, and the value by `what`. */
bool hs__is_vector(hs_var v, size_t length, const char *kind, const char *name, const char *what,
                   const char *at);

/* The value, which must be one number, in the shape of a scalar. */
hs_var hs__scalar(hs_var v, const char *kind, const char *name, const char *what, const char *at);

/* Fails the tape if one of the draws since it had `from` nodes uses a stream of the samplers. */
void hs__check_streams(hs_tape *tape, size_t from, const char *kind, const char *name,
                       const char *at);

/* Allocates a target or proposal that owns `self`: returns `bytes` zeroed bytes and sets *kept to a
 * copy of the name. Without memory the session fails, releases self (if release is not NULL), and
 * the result is NULL. */
void *hs__part_new(hs_session *s, size_t bytes, const char *name, const char **kept, void *self,
                   void (*release)(void *self));

#endif
