/**
 * A session: the owner of targets, proposals and chains, and what they have in common.
 *
 *     hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
 *     hs_target *target = hs_target_cross(s, NULL);
 *     ...
 *     if (hs_session_status(s))
 *         fprintf(stderr, "%s\n", hs_session_error(s));
 *     hs_session_free(s);                                // and everything made from it
 *
 * Errors stick, as on a tape: the first one stays with the session, what is made afterwards is NULL,
 * and functions take a NULL object for one that could not be made. A session belongs to one thread.
 */
#ifndef HASTINGS_MCMC_SESSION_H
#define HASTINGS_MCMC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>

typedef struct hs_session hs_session;

typedef struct {
    uint64_t seed;
    bool float32; /**< numbers of 32 bits instead of 64: about twice as fast, and enough for most
                       trainings; acceptance ratios in many dimensions want 64 */
    int threads;  /**< 0: hs_threads_default() */
} hs_session_options;

/** Options may be NULL. NULL if there is no memory. */
HS_API hs_session *hs_session_new(const hs_session_options *options);

/** Frees the session and all that was made from it; NULL is allowed. */
HS_API void hs_session_free(hs_session *s);

/** HS_OK, or the code of the first error; a NULL session is HS_ENOMEM. */
HS_API hs_status hs_session_status(const hs_session *s);

/** The first error as a sentence; "" if there was none. */
HS_API const char *hs_session_error(const hs_session *s);

/** Makes the session fail; only the first error is kept. Returns its status. */
HS_API hs_status hs_session_fail(hs_session *s, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

/** Forgets the error, so that a program can go on after reporting it. */
HS_API void hs_session_clear(hs_session *s);

HS_API uint64_t hs_session_seed(const hs_session *s);
HS_API hs_dtype hs_session_dtype(const hs_session *s);
HS_API int hs_session_threads(const hs_session *s);

/** Memory that lives as long as the session, zeroed; NULL (and the session fails) without memory. */
HS_API void *hs_session_alloc(hs_session *s, size_t bytes);

/** Hands an object to the session, which will call release(object) when it is freed, last first. If
 *  that cannot be noted, it is released at once, and the session fails. Returns true if noted. */
HS_API bool hs_session_own(hs_session *s, void *object, void (*release)(void *object));

#endif
