/**
 * What people read of a run: tables, a page with pictures, and a document that compares runs with the
 * paper. The data are those of result.json; see docs/formats.md.
 *
 *     hs_message message;
 *     if (app_report_write("out/cross", &message))
 *         fprintf(stderr, "%s\n", message.text);
 *
 * A report can be written again at any time, also of a run that is partial: it replaces what was there.
 * A chain or a density that cannot be read is no failure: the page says so where it would be shown.
 */
#ifndef HASTINGS_CLI_REPORT_REPORT_H
#define HASTINGS_CLI_REPORT_REPORT_H

#include <jansson.h>

#include <hastings/nn/file.h>

/** Reads a result.json, or the one in a folder. NULL, and a sentence, if it is not there or is not a
 *  result; the caller owns it. */
json_t *app_result_read(const char *path, hs_message *message);

/** Writes result.md, result.csv, the pictures in figures/, and report.html, from `folder`/result.json and
 *  what it points to. HS_EIO if a file cannot be read or written, HS_EFORMAT if it is not a result. */
hs_status app_report_write(const char *folder, hs_message *message) HS_MUST_CHECK;

/** Writes a Markdown document of several results, in the order given: docs/results.md. The same results
 *  give the same bytes. */
hs_status app_results_write(const char *path, const char *const *results, size_t count,
                            hs_message *message) HS_MUST_CHECK;

#endif
