/* Shared by diagnose.c and the files that warn and print. */
#ifndef HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_INTERNAL_H
#define HASTINGS_MCMC_DIAGNOSTICS_DIAGNOSE_INTERNAL_H

#include <hastings/mcmc/diagnostics/diagnose.h>

/* Sets the warnings of a report that is otherwise complete. */
void hs__diagnose_warnings(hs_report *report);

#endif
