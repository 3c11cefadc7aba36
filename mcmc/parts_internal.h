/* Checks of what targets and proposals are made of. */
#ifndef HASTINGS_MCMC_PARTS_INTERNAL_H
#define HASTINGS_MCMC_PARTS_INTERNAL_H

#include <hastings/mcmc/session.h>

/* True if the n values are positive and finite, or NULL; otherwise the session fails. */
bool hs__all_positive(hs_session *s, const char *who, const char *what, const double *values,
                      size_t n);

/* False, and the session fails (unless it had already), if a part that is needed was not made. */
bool hs__is_there(hs_session *s, const void *part, const char *who, const char *what);

/* Memory for a target or a proposal that has a name and owns `self`: returns `bytes` zeroed bytes and sets
 * *kept to a copy of the name. Without memory, self is released (if release is not NULL), the session
 * fails, and the result is NULL. */
void *hs__part_new(hs_session *s, size_t bytes, const char *name, const char **kept, void *self,
                   void (*release)(void *self));

#endif
