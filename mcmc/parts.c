#include "parts_internal.h"

#include <hastings/mcmc/target.h>

#include <math.h>
#include <string.h>

#undef HS_HERE
#define HS_HERE at

bool hs__all_finite(hs_session *s, const char *who, const char *what, const double *values,
                    size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!isfinite(values[i]))
            return SESSION_FALSE(s, HS_EINVAL, "%s: %s %zu is %g, and must be finite", who, what, i,
                                 values[i]);
    return true;
}

bool hs__all_positive(hs_session *s, const char *who, const char *what, const double *values,
                      size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!(values[i] > 0) || !isfinite(values[i]))
            return SESSION_FALSE(s, HS_EINVAL, "%s: %s %zu is %g, and must be positive and finite",
                                 who, what, i, values[i]);
    return true;
}

bool hs__check_steps(hs_session *s, const char *who, uint64_t steps)
{
    if (steps >> 48)
        hs_session_fail(s, HS_EOVERFLOW, "%s: more steps than can be counted, which is 2^48", who);
    return !(steps >> 48);
}

bool hs__is_there(hs_session *s, const void *part, const char *who, const char *what)
{
    if (!part)
        hs_session_fail(s, HS_EINVAL, "%s: there is no %s", who, what);
    return part != NULL;
}

bool hs__is_vector(hs_var v, size_t length, const char *kind, const char *name, const char *what,
                   const char *at)
{
    if (!hs_var_ok(v))
        return false;
    const hs_shape shape = hs_var_shape(v);
    if (shape.rank == 1 && shape.dim[0] == length)
        return true;
    char text[HS_SHAPE_TEXT];
    hs_tape_fail(v.tape, HS_ESHAPE, at, "%s \"%s\": %s must have shape [%zu], and has %s", kind,
                 name, what, length, hs_shape_text(&shape, text));
    return false;
}

hs_var hs__scalar(hs_var v, const char *kind, const char *name, const char *what, const char *at)
{
    if (!hs_var_ok(v))
        return v;
    const hs_shape shape = hs_var_shape(v);
    char text[HS_SHAPE_TEXT];
    if (hs_shape_count(&shape) != 1)
        return hs_tape_fail(v.tape, HS_ESHAPE, at,
                            "%s \"%s\": %s must be a scalar, and has shape %s", kind, name, what,
                            hs_shape_text(&shape, text));
    return hs_reshape(v, hs_scalar_shape());
}

void hs__check_streams(hs_tape *tape, size_t from, const char *kind, const char *name,
                       const char *at)
{
    uint32_t least, largest;
    if (hs_tape_streams(tape, from, &least, &largest) && least < HS_OWN_STREAM)
        hs_tape_fail(
            tape, HS_EINVAL, at,
            "%s \"%s\" draws on stream %u, which samplers use for draws of theirs; its own "
            "streams begin at HS_OWN_STREAM (%d)",
            kind, name, (unsigned)least, (int)HS_OWN_STREAM);
}

void *hs__part_new(hs_session *s, size_t bytes, const char *name, const char **kept, void *self,
                   void (*release)(void *self))
{
    /* From here on the session releases self, even after a later failure. */
    if (self && release && !hs_session_own(s, self, release))
        return NULL;
    char *copy = hs_session_alloc(s, strlen(name) + 1);
    void *part = hs_session_alloc(s, bytes);
    if (!copy || !part)
        return NULL;
    memcpy(copy, name, strlen(name) + 1);
    *kept = copy;
    return part;
}
