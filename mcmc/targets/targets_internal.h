/* Shared parts of the targets: constant arrays and Cholesky factors. */
#ifndef HASTINGS_MCMC_TARGETS_TARGETS_INTERNAL_H
#define HASTINGS_MCMC_TARGETS_TARGETS_INTERNAL_H

#include <hastings/mcmc/target.h>
#include <hastings/autograd/ops.h>
#include <hastings/tensor/number.h>
#include "../parts_internal.h"

static const double pi = 3.14159265358979323846;

/* ---- Constant arrays: one copy for all tapes, which bind to it ------------------------------- */

typedef struct {
    const char *name;
    hs_shape shape;
    const void *f64;
    const void *f32; /* NULL unless the session's numbers are of 32 bits */
} target_array;

/* Zeroed doubles of the session for the caller to fill in; without memory NULL, and the session
 * fails. Then call hs__target_array_finish(), which is false after a failure. Tapes keep the
 * address of *array, which must not move afterwards. */
double *hs__target_array_new(hs_session *s, target_array *array, const char *name, hs_shape shape);
bool hs__target_array_finish(hs_session *s, target_array *array);

/* Both at once, with a copy of `values`. */
bool hs__target_array_copy(hs_session *s, target_array *array, const char *name, hs_shape shape,
                           const double *values);

/* The array on a tape of either number type. */
hs_var hs__target_array_at(const target_array *array, hs_tape *tape, const char *at);

/* False, and the session fails, if there are too few dimensions. */
bool hs__target_check_dim(hs_session *s, const char *target, size_t dim, size_t least);

/* ---- Cholesky: matrices [n][n], row-major ---------------------------------------------------- */

/* Replaces a by the lower factor L of a = L L', zeros above; reads the lower triangle only. False
 * if a is not positive definite. */
bool hs__cholesky_factor(double *a, size_t n);

/* x = a^-1 b, from the factor; x and b may be the same. */
void hs__cholesky_solve(const double *factor, size_t n, const double *b, double *x);

/* inverse = L^-1, lower triangular, zeros above. */
void hs__cholesky_invert(const double *factor, size_t n, double *inverse);

#endif
