/**
 * Messages: sentences about a failure of memory, a file or an argument.
 *
 *     hs_message message;
 *     if (hs_chains_write(chains, NULL, "draws.nc", &message) != HS_OK)
 *         fprintf(stderr, "%s\n", message.text);
 *
 * The status gives the kind of the failure. The message says what failed, where, and what was expected.
 * Every function that takes a message accepts NULL. The caller owns the message; one thread at a time may use it.
 */
#ifndef HASTINGS_TENSOR_MESSAGE_H
#define HASTINGS_TENSOR_MESSAGE_H

#include <hastings/tensor/status.h>

/** A sentence about a failure. */
typedef struct {
    char text[512]; /**< the sentence, ended by '\0'; empty if nothing failed */
} hs_message;

/** Writes the sentence, in the manner of printf, and returns `status`. A long sentence is cut. */
HS_API hs_status hs_message_fail(hs_message *message, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

HS_API void hs_message_clear(hs_message *message); /**< empties the message */

#endif
