/**
 * Status codes: the results of functions that touch memory or files.
 *
 *     hs_status status = hs_plan_run(plan, &run);
 *     if (status)                                        // HS_OK is zero
 *         fprintf(stderr, "%s\n", hs_status_text(status));
 *
 * A function that records on a tape returns a value instead; the first error sticks to the tape
 * (see autograd/tape.h). The texts are the library's own. Any thread may call.
 */
#ifndef HASTINGS_TENSOR_STATUS_H
#define HASTINGS_TENSOR_STATUS_H

#include <hastings/tensor/api.h>

/** The one list of codes: X(name, the sentence for people). */
#define HS_STATUS_LIST(X)                                                                          \
    X(HS_OK, "no error")                                                                           \
    X(HS_ENOMEM, "out of memory")                                                                  \
    X(HS_ESHAPE, "shapes do not fit together")                                                     \
    X(HS_EEXTENT, "extents do not fit together")                                                   \
    X(HS_EDTYPE, "number types do not fit together")                                               \
    X(HS_EINVAL, "invalid argument")                                                               \
    X(HS_EOVERFLOW, "size too large")                                                              \
    X(HS_EIO, "input or output failed")                                                            \
    X(HS_EFORMAT, "file is not in the expected format")                                            \
    X(HS_ENONFINITE, "a value is not finite")                                                      \
    X(HS_EINTERRUPTED, "interrupted by the caller")

/** A status code of HS_STATUS_LIST. */
typedef enum {
#define HS_STATUS_ENUM(code, text) code,
    HS_STATUS_LIST(HS_STATUS_ENUM)
#undef HS_STATUS_ENUM
} hs_status;

/** Returns the sentence for a code, or "unknown status"; never NULL. */
HS_API const char *hs_status_text(hs_status status);

#endif
