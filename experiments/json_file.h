/**
 * JSON files. They are written by tensor/file.h, so that `path` holds the old file or the new one.
 *
 *     if (app_json_save("result.json", result, &message))
 *         fprintf(stderr, "%s\n", message.text);
 */
#ifndef HASTINGS_EXPERIMENTS_JSON_FILE_H
#define HASTINGS_EXPERIMENTS_JSON_FILE_H

#include <jansson.h>

#include <hastings/tensor/message.h>

/** From here on, JSON that is made without enough memory is not written: Jansson's functions for parts of it may fail
 *  unseen. Called before the first JSON is made; further calls do no harm. */
void app_json_watch_memory(void);

/** JSON as text, indented, with 15 digits: 0.1 stays 0.1. NULL without memory, also earlier, or for NULL. The caller
 *  owns the text: free(). */
char *app_json_dump(const json_t *json);

/** Writes app_json_dump(). HS_EIO if the file cannot be written, HS_ENOMEM. `message` may be NULL, here and below. */
hs_status app_json_save(const char *path, const json_t *json, hs_message *message) HS_MUST_CHECK;

/** Reads a JSON file; NULL, and a sentence with file, line and column, if it cannot be read. A key that
 *  occurs twice is an error. The caller owns the result: json_decref(). */
json_t *app_json_read(const char *path, hs_message *message);

#endif
