/* Shared by diagnose.c and the files that warn and print. */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_INTERNAL_H
#define HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_INTERNAL_H

#include <hastings/mcmc/diagnostics/diagnose.h>

/* The largest value of a coordinate, and the first coordinate that has it. NaN, and `worst` as it was, if no
 * value is a number. */
typedef double hs__coordinate_value(const hs_series_summary *c);
double hs__largest(const hs_report *r, hs__coordinate_value *value, size_t *worst);

/* Sets the warnings of a report that is otherwise complete. */
void hs__diagnose_warnings(hs_report *report);

#endif
