/**
 * Text files, written as a whole: under another name beside `path`, renamed when all is on disk, so that
 * `path` holds the old file or the new one.
 *
 *     if (app_text_save("result.md", table, strlen(table), &message))
 *         fprintf(stderr, "%s\n", message.text);
 */
#ifndef HASTINGS_EXPERIMENTS_TEXT_FILE_H
#define HASTINGS_EXPERIMENTS_TEXT_FILE_H

#include <jansson.h>

#include <hastings/nn/file.h>

/** HS_EIO if it cannot be written. `message` may be NULL, here and below. */
hs_status app_text_save(const char *path, const void *text, size_t length,
                        hs_message *message) HS_MUST_CHECK;

/** JSON, indented, with 15 digits: 0.1 stays 0.1. */
hs_status app_json_save(const char *path, const json_t *json, hs_message *message) HS_MUST_CHECK;

/** Reads a JSON file; NULL, and a sentence with file, line and column, if it cannot be read. Keys that
 *  occur twice are an error. The caller owns it: json_decref(). */
json_t *app_json_read(const char *path, hs_message *message);

#endif
