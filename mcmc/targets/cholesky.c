#include "targets_internal.h"

#include <math.h>

/* Row by row: all inner loops run along rows, which are contiguous. */
bool hs__cholesky_factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = a + j * n;
            double rest = row[j];
            for (size_t k = 0; k < j; k++)
                rest -= row[k] * other[k];
            if (j < i) {
                row[j] = rest / other[j];
            } else {
                /* The pivot of a singular matrix is as small as this after rounding. */
                const double least = 4 * (double)n * 2.220446049250313e-16 * row[i];
                if (!(rest > least && isfinite(rest)))
                    return false;
                row[i] = sqrt(rest);
            }
        }
        for (size_t j = i + 1; j < n; j++)
            row[j] = 0;
    }
    return true;
}

void hs__cholesky_solve(const double *factor, size_t n, const double *b, double *x)
{
    for (size_t i = 0; i < n; i++) {
        double rest = b[i];
        for (size_t k = 0; k < i; k++)
            rest -= factor[i * n + k] * x[k];
        x[i] = rest / factor[i * n + i];
    }
    for (size_t i = n; i-- > 0;) { /* by columns of the transpose */
        x[i] /= factor[i * n + i];
        for (size_t k = 0; k < i; k++)
            x[k] -= factor[i * n + k] * x[i];
    }
}

void hs__cholesky_invert(const double *factor, size_t n, double *inverse)
{
    for (size_t i = 0; i < n; i++) {
        double *row = inverse + i * n;
        for (size_t j = 0; j < n; j++)
            row[j] = 0;
        for (size_t k = 0; k < i; k++) {
            const double l = factor[i * n + k], *above = inverse + k * n;
            for (size_t j = 0; j <= k; j++)
                row[j] -= l * above[j];
        }
        const double scale = 1 / factor[i * n + i];
        for (size_t j = 0; j < i; j++)
            row[j] *= scale;
        row[i] = scale;
    }
}
