/* A reference problem made ready to run: what reference.c and fit.c share. */
#ifndef HASTINGS_OBJECTIVES_REFERENCE_INTERNAL_H
#define HASTINGS_OBJECTIVES_REFERENCE_INTERNAL_H

#include <hastings/autograd/plan.h>
#include <hastings/objectives/reference.h>

/* What a pass over the rows measures: means over rows. */
enum { LOSS, ACCEPTANCE, MSJD, LOG_ALPHA, SLOPE, MEASURED };

typedef struct {
    const hs_reference *reference;
    hs_param step; /* the proposal's */
    bool log_step;
    hs_tape *tape;
    hs_plan *plan;
    hs_var output[MEASURED];
    size_t blocks, rows; /* rows of each block */
    uint64_t seed;
    double tolerance;
    double (*sample)[MEASURED]; /* [blocks], of the last measurement */
    int runs;
} reference_run;

/* hs__reference_close() is due also after a failure of hs__reference_open(). */
hs_status hs__reference_open(reference_run *run, const hs_reference *r, const hs_objective *o,
                             const hs_reference_options *options);
void hs__reference_close(reference_run *run);

double hs__reference_log_step(const reference_run *run);

/* Sets the step and measures. */
hs_status hs__reference_measure(reference_run *run, double log_step, double mean[MEASURED]);

/* The step where sign * (measured - level), which rises with the step, is 0, and all that is known
 * there. */
hs_status hs__reference_solve(reference_run *run, int what, double level, double sign,
                              hs_optimum *result);

/* Makes the session fail. */
const char *hs__reference_name(const hs_reference *r);
hs_status hs__reference_fail(const hs_reference *r, hs_status status, const char *what);

#endif
