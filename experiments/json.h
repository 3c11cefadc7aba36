/**
 * Values for JSON files.
 *
 *     json_object_set_new(object, "loss", app_json_number(loss));
 */
#ifndef HASTINGS_EXPERIMENTS_JSON_H
#define HASTINGS_EXPERIMENTS_JSON_H

#include <jansson.h>
#include <stdbool.h>

/** A number as files have it, with 15 digits; null if it is not finite. A figure that is computed from it is the same
 *  whether the number was read back or not. */
json_t *app_json_number(double x);

/** Text that may not be UTF-8 (a path, or cut within a letter), as JSON, which must be. */
json_t *app_json_text(const char *text);

/** Whether JSON can have a text as it is: whether it is UTF-8. */
bool app_json_can_have(const char *text);

#endif
