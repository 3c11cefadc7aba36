/**
 * The clock: seconds since some moment in the past, for differences.
 *
 *     const double began = hs_seconds();
 *     ...
 *     printf("%.3g s\n", hs_seconds() - began);
 *
 * It never goes back, whatever happens to the time of day. Any thread may call it.
 */
#ifndef HASTINGS_TENSOR_CLOCK_H
#define HASTINGS_TENSOR_CLOCK_H

#include <hastings/tensor/api.h>

HS_API double hs_seconds(void); /**< seconds of the monotonic clock */

#endif
