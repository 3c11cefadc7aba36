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

/** From app_interrupt_catch() to app_interrupt_release(), the first SIGINT or SIGTERM only makes
 *  app_interrupted() true. */
void app_interrupt_catch(void);
void app_interrupt_release(void);

bool app_interrupted(void);

#endif
