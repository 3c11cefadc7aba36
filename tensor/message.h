/* How functions of mcmc/ that touch the world say what went wrong. */
#ifndef HASTINGS_MCMC_MESSAGE_INTERNAL_H
#define HASTINGS_MCMC_MESSAGE_INTERNAL_H

#include <hastings/nn/file.h>

/* Writes the sentence unless `message` is NULL; returns the status. */
hs_status message_fail(hs_message *message, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

/* Empties it, unless it is NULL. */
void message_clear(hs_message *message);

#endif
