/* Shared by diagnose.c and the files that warn and print. */
#ifndef HASTINGS_MCMC_DIAGNOSE_INTERNAL_H
#define HASTINGS_MCMC_DIAGNOSE_INTERNAL_H

#include <hastings/mcmc/diagnose.h>

/* Sets the warnings of a report that is otherwise complete. */
void diagnose_warnings(hs_report *report);

#endif
