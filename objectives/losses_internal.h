/* The rows of losses.def. */
#ifndef HASTINGS_OBJECTIVES_LOSSES_INTERNAL_H
#define HASTINGS_OBJECTIVES_LOSSES_INTERNAL_H

#include <hastings/objectives/objectives.h>

enum {
#define HS_LOSS(id, ...)    LOSS_##id,
#define HS_ADAPTED(id, ...) LOSS_##id,
#include "losses.def"
    LOSSES
};

typedef struct {
    hs_objective_entry entry;
    hs_var (*loss)(const hs_transition *t, const hs_objective *o);
    double (*adapt)(const hs_objective *o, double value, double mean_alpha); /* or NULL */
} loss_row;

/* losses.c: the table. */
extern const loss_row hs__losses[LOSSES];

/* objectives.c: whether a number is out of its range; then `fault` names both. */
enum { LOSS_FAULT = 200 };
bool hs__loss_fault(const loss_row *row, const hs_objective *o, char fault[LOSS_FAULT]);

#endif
