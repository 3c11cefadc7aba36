/**
 * Messages: how functions that touch the world say in a sentence what went wrong.
 *
 *     hs_message message;
 *     if (hs_chains_write(chains, NULL, "draws.nc", &message) != HS_OK)
 *         fprintf(stderr, "%s\n", message.text);
 *
 * The status says what kind of failure it was, the message says what, where, and what was expected.
 * Every function that takes a message accepts NULL.
 */
#ifndef HASTINGS_TENSOR_MESSAGE_H
#define HASTINGS_TENSOR_MESSAGE_H

#include <hastings/tensor/status.h>

/** A sentence about a failure. */
typedef struct {
    char text[512]; /**< ended by '\0'; empty if nothing failed */
} hs_message;

/** Writes the sentence, in the manner of printf, and returns the status. */
HS_API hs_status hs_message_fail(hs_message *message, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

/** Empties the message. */
HS_API void hs_message_clear(hs_message *message);

#endif
