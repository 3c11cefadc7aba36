#include "targets_internal.h"

#include <string.h>

#include <hastings/tensor/memory.h>

/* ---- Constant arrays ------------------------------------------------------------------------- */

static void *owned_numbers(hs_session *s, size_t count, size_t size)
{
    if (hs_session_status(s))
        return NULL;
    void *memory = hs_alloc_zero(count, size);
    if (!memory)
        hs_session_no_memory(s, hs_size_product(count, size),
                             "out of memory for %zu numbers of a target", count);
    else if (!hs_session_own(s, memory, hs_free))
        memory = NULL;
    return memory;
}

double *hs__target_array_new(hs_session *s, target_array *array, const char *name, hs_shape shape)
{
    *array = (target_array){ .name = name, .shape = shape };
    if (!hs_shape_valid(&shape))
        return SESSION_NULL(s, HS_EOVERFLOW, "an array of a target (%s) is too large", name);
    double *values = owned_numbers(s, hs_shape_count(&shape), sizeof *values);
    array->f64 = values;
    return values;
}

bool hs__target_array_finish(hs_session *s, target_array *array)
{
    if (!array->f64 || hs_session_dtype(s) == HS_F64)
        return array->f64;
    const size_t count = hs_shape_count(&array->shape);
    const double *from = array->f64;
    float *to = owned_numbers(s, count, sizeof *to);
    for (size_t i = 0; to && i < count; i++)
        to[i] = (float)from[i];
    array->f32 = to;
    return to;
}

bool hs__target_array_copy(hs_session *s, target_array *array, const char *name, hs_shape shape,
                           const double *values)
{
    double *to = hs__target_array_new(s, array, name, shape);
    if (!to)
        return false;
    memcpy(to, values, hs_shape_count(&shape) * sizeof *to);
    return hs__target_array_finish(s, array);
}

hs_var hs__target_array_at(const target_array *array, hs_tape *tape, const char *at)
{
    if (hs_tape_dtype(tape) == HS_F64)
        return hs_bound_at(tape, array->name, array->shape, &array->f64, 0, at);
    if (array->f32)
        return hs_bound_at(tape, array->name, array->shape, &array->f32, 0, at);
    return hs_tensor_at(tape, array->shape, array->f64, at);
}

bool hs__target_check_dim(hs_session *s, const char *target, size_t dim, size_t least)
{
    if (dim >= least)
        return true;
    hs_session_fail(s, HS_EINVAL, "target \"%s\" has %zu dimension%s, and needs at least %zu",
                    target, dim, dim == 1 ? "" : "s", least);
    return false;
}
