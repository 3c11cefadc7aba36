/* Writes a run that looks real, and its report: check_report FOLDER [plain|hostile|partial|large]. */
#include <hastings/cli/report/report.h>
#include <hastings/cli/report/table.h>

#include "report_page.h"

int main(int argc, char **argv)
{
    fixture f = { .replications = 2 };
    hs_message message;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: check_report FOLDER [plain|hostile|partial|large]\n");
        return 2;
    }
    const char *kind = argc == 3 ? argv[2] : "";
    f.hostile = strcmp(kind, "hostile") == 0;
    f.partial = strcmp(kind, "partial") == 0;
    if (strcmp(kind, "large") == 0) {
        f.cases = 18;
        f.replications = 5;
        f.dim = 100;
    }
    fixture_run(argv[1], &f);
    if (app_report_write(argv[1], &message)) {
        fprintf(stderr, "%s\n", message.text);
        return 1;
    }
    json_t *result = app_result_read(argv[1], &message);
    const hs_status status = result ? app_table_print(stdout, result, 80, false) : HS_EIO;
    json_decref(result);
    return status == HS_OK ? 0 : 1;
}
