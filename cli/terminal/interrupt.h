/**
 * Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the program at once.
 *
 *     app_interrupt_catch();
 *     while (working && !app_interrupted())
 *         ...
 *     save();
 *     return app_interrupted() ? APP_EXIT_INTERRUPTED : APP_EXIT_OK;
 */
#ifndef HASTINGS_CLI_TERMINAL_INTERRUPT_H
#define HASTINGS_CLI_TERMINAL_INTERRUPT_H

#include <stdbool.h>

/** The first SIGINT or SIGTERM ends the program, with APP_EXIT_INTERRUPTED: for work that has nothing to save. So it
 *  is when a command begins. */
void app_interrupt_leaves(void);

/** From app_interrupt_catch() to app_interrupt_release(), the first SIGINT or SIGTERM only makes
 *  app_interrupted() true. Afterwards it ends the program, as before. */
void app_interrupt_catch(void);
void app_interrupt_release(void);

bool app_interrupted(void);

/** Whether the signal came a fifth of a second ago. Work that has heard of it has ended by then, with all that goes
 *  with an end; the rest is cut short. Of the type of hs_session_options.interrupted. */
bool app_interrupt_is_due(void *unused);

#endif
