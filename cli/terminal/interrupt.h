/**
 * Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the program at once.
 *
 *     hs_interrupt_catch();
 *     while (working && !hs_interrupted())
 *         ...
 *     save();
 *     return hs_interrupted() ? HS_EXIT_INTERRUPTED : HS_EXIT_OK;
 */
#ifndef HASTINGS_CLI_INTERRUPT_H
#define HASTINGS_CLI_INTERRUPT_H

#include <stdbool.h>

/** From now on the first SIGINT or SIGTERM only makes hs_interrupted() true; and no longer. */
void hs_interrupt_catch(void);
void hs_interrupt_release(void);

bool hs_interrupted(void);

#endif
