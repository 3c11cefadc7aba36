/* Access to results, which may lack anything: a missing text is "", a missing number NaN. */
#ifndef HASTINGS_CLI_REPORT_REPORT_INTERNAL_H
#define HASTINGS_CLI_REPORT_REPORT_INTERNAL_H

#include <math.h>

#include <jansson.h>

static inline const char *app_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static inline double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static inline bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* The settings that jobs had unless their case or row has others: the experiment's, the quick version's,
 * and the command line's over these. A new object, NULL without memory. */
json_t *app_result_settings(const json_t *result);

/* The title of the experiment, or its name if it has none. */
const char *app_result_title(const json_t *result);

/* The next note on the experiment as a whole, not on a row or case, from *at on; NULL after the last. */
const char *app_general_note(const json_t *result, size_t *at);

#endif
