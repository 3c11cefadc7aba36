/**
 * Status codes: what functions that touch the world (memory, files) return.
 *
 * Recording functions of a tape return values, never a status; the first error
 * sticks to the tape (see autograd/tape.h). HS_OK is zero, so `if (status)`
 * reads as "if it failed".
 */
#ifndef HASTINGS_TENSOR_STATUS_H
#define HASTINGS_TENSOR_STATUS_H

#include <hastings/tensor/api.h>

/* The one list of codes: name, then the sentence shown to people. */
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
    X(HS_ENONFINITE, "a value is not finite")

typedef enum {
#define HS_STATUS_ENUM(code, text) code,
    HS_STATUS_LIST(HS_STATUS_ENUM)
#undef HS_STATUS_ENUM
} hs_status;

/** The sentence for a code; never NULL. */
HS_API const char *hs_status_text(hs_status status);

#endif
