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

/** Writes JSON, indented, with 15 digits: 0.1 stays 0.1. HS_EIO if the file cannot be written,
 *  HS_ENOMEM. `message` may be NULL, here and below. */
hs_status app_json_save(const char *path, const json_t *json, hs_message *message) HS_MUST_CHECK;

/** Reads a JSON file; NULL, and a sentence with file, line and column, if it cannot be read. A key that
 *  occurs twice is an error. The caller owns the result: json_decref(). */
json_t *app_json_read(const char *path, hs_message *message);

#endif
