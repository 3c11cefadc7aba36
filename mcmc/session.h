/**
 * Session: the owner of targets, proposals and chains, with their seed, number type and threads.
 *
 *     hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1 });
 *     hs_target *target = hs_target_cross(s, NULL);
 *     ...
 *     if (hs_session_status(s))
 *         fprintf(stderr, "%s\n", hs_session_error(s));
 *     hs_session_free(s);                                // and everything made from it
 *
 * Errors stick, as on a tape. The session keeps the first one, and makers return NULL from then on.
 * Functions accept the NULL object of a failed maker, so one check at the end is enough. A session
 * and its objects belong to one thread; different threads may have different sessions.
 */
#ifndef HASTINGS_MCMC_SESSION_H
#define HASTINGS_MCMC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>

/** Session, opaque. */
typedef struct hs_session hs_session;

/** Options of hs_session_new(). */
typedef struct {
    uint64_t seed; /**< seed of all random numbers */
    bool float32;  /**< 32-bit numbers instead of 64-bit: about twice as fast, and enough for most
                        trainings; acceptance ratios in many dimensions need 64 */
    int threads;   /**< threads of a computation; 0: hs_threads_default() */

    /** NULL, or asked many times a second by all work of the session, from its thread: true ends the work, and is
     *  not asked again. Trainings, samplings, tunings and evaluations end as if a progress function had stopped
     *  them. Plans and fits are of no use before they are done, and fail with HS_EINTERRUPTED. */
    bool (*interrupted)(void *context);
    void *context; /**< argument of `interrupted` */
} hs_session_options;

/** Makes a session; NULL without memory. Options may be NULL. */
HS_API hs_session *hs_session_new(const hs_session_options *options);

/** Frees the session and everything made from it; NULL is allowed. */
HS_API void hs_session_free(hs_session *s);

/** HS_OK, or the code of the first error; HS_ENOMEM for a NULL session. */
HS_API hs_status hs_session_status(const hs_session *s);

/** First error as a sentence; "" if there was none. */
HS_API const char *hs_session_error(const hs_session *s);

/** Makes the session fail, unless it has failed before. Returns the status of the first error. */
HS_API hs_status hs_session_fail(hs_session *s, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

/** Makes the session fail for the want of `bytes` bytes: see hs_memory_fail(). */
HS_API hs_status hs_session_no_memory(hs_session *s, size_t bytes, const char *format, ...)
    HS_PRINTF(3, 4);

/** Clears the error, so that a program can go on after reporting it. */
HS_API void hs_session_clear(hs_session *s);

HS_API uint64_t hs_session_seed(const hs_session *s);  /**< seed of the session */
HS_API hs_dtype hs_session_dtype(const hs_session *s); /**< number type: HS_F32 or HS_F64 */
HS_API int hs_session_threads(const hs_session *s);    /**< number of threads, at least 1 */

/** Whether the caller wants the work of a session to end (hs_session_options.interrupted). It has the type of
 *  hs_plan_options.interrupted, whose context is the session. */
HS_API bool hs_session_interrupted(void *session);

/** Zeroed memory that lives as long as the session. Without memory the session fails; in a failed
 *  session the result is NULL. */
HS_API void *hs_session_alloc(hs_session *s, size_t bytes);

/** Hands an object to the session. hs_session_free() calls release(object), last object first.
 *  False for a NULL object, or if the session has failed: it then releases the object at once. */
HS_API bool hs_session_own(hs_session *s, void *object, void (*release)(void *object));

#endif
