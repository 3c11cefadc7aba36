#include "rows.h"

#include <math.h>
#include <stdio.h>

const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

double number_of(const json_t *row, const char *object, const char *key)
{
    const json_t *value = json_object_get(object ? json_object_get(row, object) : row, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

double of_threads(const json_t *row, const char *object, const char *who, int threads)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s%d", who, *who ? " " : "", threads);
    return number_of(row, object, key);
}

double seconds_of(const json_t *row, const char *who, int threads)
{
    return of_threads(row, "seconds", who, threads);
}

double rate_of(const json_t *row, const char *who, int threads)
{
    return of_threads(row, "per_second", who, threads);
}

double time_of(const json_t *row, const char *who, int threads)
{
    const double rate = rate_of(row, who, threads);
    return isnan(rate) ? seconds_of(row, who, threads) : 1 / rate;
}

double times_faster(const json_t *row, int threads)
{
    const double torch = time_of(row, "torch", threads), jax = time_of(row, "jax", threads);
    return fmin(torch, jax) / time_of(row, "hastings", threads); /* of one, if the other is NaN */
}
