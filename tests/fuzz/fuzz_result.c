/* Results of runs as JSON files, and the tables and the document that are made of them. fuzz_page.c makes the rest. */
#include <hastings/cli/report/report.h>
#include <hastings/cli/report/table.h>

#include "fuzz.h"

static void print_tables(const json_t *result)
{
    FILE *f = fopen("/dev/null", "w");
    fuzz_check(f);
    fuzz_check(app_table_print(f, result, 0, true) == HS_OK);
    fuzz_check(app_table_print(f, result, 30, false) == HS_OK);
    fclose(f);
}

/* The same results give the same bytes. */
static void write_documents(const char *path)
{
    hs_message message;
    const char *one = fuzz_path("one.md"), *two = fuzz_path("two.md");
    fuzz_check(app_results_write(one, &path, 1, &message) == HS_OK);
    fuzz_check(app_results_write(two, &path, 1, &message) == HS_OK);
    fuzz_check(fuzz_same_files(one, two));
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    hs_message message;
    const char *path = fuzz_write("result.json", data, size);
    json_t *result = app_result_read(path, &message);
    if (!result)
        return fuzz_refused(message.text);
    print_tables(result);
    json_decref(result);
    write_documents(path);
    return true;
}
