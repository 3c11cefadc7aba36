/* The function that fits minimise: what fit.c and fit_problem.c share. */
#ifndef HASTINGS_OBJECTIVES_FIT_INTERNAL_H
#define HASTINGS_OBJECTIVES_FIT_INTERNAL_H

#include <hastings/objectives/fit.h>

enum { C = HS_FIT_COEFFICIENTS, N = HS_FIT_PROBLEMS };

typedef struct {
    const hs_reference *reference;
    size_t n;
    hs_objective_family family;
    hs_fit_options options;
    uint64_t seed;
    hs_session *session;
} fit_problem;

/* What is known at some coefficients. */
typedef struct {
    double acceptance[N], residual[N], error[N];
    double jacobian[N][C];
    double cost; /* sum of squares of the residuals */
} fit_state;

/* Checks what is given, and sets *fit to where the search begins. */
hs_status hs__fit_open(fit_problem *p, const hs_reference *r, size_t n,
                       const hs_objective_family *family, const hs_fit_options *options,
                       hs_fit *fit);

/* Acceptances at the optima, and their derivatives if `slopes`. */
hs_status hs__fit_evaluate(const fit_problem *p, const double *coefficient, bool slopes,
                           fit_state *at);

/* x with (J'J + lambda diag(J'J)) x = J' r; false if there is none. */
bool hs__fit_normal_equations(const fit_problem *p, const fit_state *at, double lambda,
                              const double *r, double x[C]);

/* In reference.c. Makes the session fail, and returns `status`. */
hs_status hs__reference_fail(const hs_reference *r, hs_status status, const char *what);

/* Acceptances, misfit, and the coefficients' errors. */
void hs__fit_report(const fit_problem *p, const fit_state *at, hs_fit *fit);

#endif
