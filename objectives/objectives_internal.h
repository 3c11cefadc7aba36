/* What objectives.c and objectives_text.c share. */
#ifndef HASTINGS_OBJECTIVES_OBJECTIVES_INTERNAL_H
#define HASTINGS_OBJECTIVES_OBJECTIVES_INTERNAL_H

#include <hastings/objectives/objectives.h>

/* Defaults of the header's objectives. */
#define OBJECTIVE_GUARD 1e-4
#define OBJECTIVE_RHO   0.02
#define OBJECTIVE_LIMIT 1e4

/* What is wrong with the numbers of an objective, or NULL. */
const char *hs__objective_fault(const hs_objective *o);

#endif
