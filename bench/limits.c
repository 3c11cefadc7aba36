#include "limits.h"

#include <math.h>
#include <string.h>

#include "rows.h"

/* What the machine reached at most in a list: it is measured beside every case, and what else the machine does makes it
 * less in some of them. By type where rows have one. */
static double most_of(const json_t *list, const char *type, const char *object, int threads)
{
    double most = (double)NAN;
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) if (strcmp(text_of(row, "type"), type) == 0) most =
        fmax(most, of_threads(row, object, "", threads));
    return most;
}

double share_of_steps(const json_t *steps, const json_t *row, int threads)
{
    const char *type = text_of(row, "type");
    const double own = seconds_of(row, "hastings", threads), flops = number_of(row, NULL, "flops");
    if (isfinite(of_threads(row, "read_gbs", "", threads))) {
        /* Adam reads and writes parameters and two moments. */
        const double reads = number_of(row, NULL, "matrix_bytes"),
                     adam = 6 * 4 * number_of(row, NULL, "parameters");
        return (reads / most_of(steps, type, "read_gbs", threads) +
                adam / most_of(steps, type, "update_gbs", threads)) *
               1e-9 / own;
    }
    return flops > 0 ? flops / own * 1e-9 / most_of(steps, type, "peak_gflops", threads)
                     : (double)NAN;
}

double share_of_sampling(const json_t *sampling, const json_t *row, int threads)
{
    const double least =
        number_of(row, NULL, "flops") / most_of(sampling, "", "peak_gflops", threads) +
        number_of(row, NULL, "exponentials") / most_of(sampling, "", "giga_exponentials", threads);
    return least * 1e-9 * rate_of(row, "hastings", threads);
}
