/* The page of a result, with all its pictures: whatever the result says, there is a page. */
#include <string.h>

#include <hastings/cli/report/report.h>

#include "fuzz.h"

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    char folder[FUZZ_PATH];
    const char *path = fuzz_write("result.json", data, size);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    json_t *result = app_result_read(path, &message);
    const bool readable = result != NULL;
    json_decref(result);
    const bool written = app_report_write(folder, &message) == HS_OK;
    fuzz_check(written == readable);
    return written || fuzz_refused(message.text);
}
