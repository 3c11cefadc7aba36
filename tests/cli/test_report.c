/* Tables and reports of a run that looks real, of runs with hostile names, and of damaged ones. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/cli/report/report.h>
#include <hastings/cli/report/table.h>

#include "../checks/report_page.h"
#include "support/full_disk.h"
#include "support/hs_check.h"
#include "support/scarce_memory.h"

#define NONE ((double)NAN)

static char folder[] = "/tmp/hastings_report_XXXXXX";

static void make_folder(void)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_tree(const char *path)
{
    DIR *d = opendir(path);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *entry; (entry = readdir(d));) {
        char inside[4096];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (unlink(inside) != 0)
            remove_tree(inside);
    }
    closedir(d);
    ck_assert_int_eq(rmdir(path), 0);
}

static void remove_folder(void)
{
    remove_tree(folder);
}

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A whole file as text; the caller frees it. */
static char *read_text(const char *name)
{
    FILE *f = fopen(in_folder(name), "rb");
    ck_assert_msg(f, "%s is not there", name);
    fseek(f, 0, SEEK_END);
    const long length = ftell(f);
    rewind(f);
    char *text = malloc((size_t)length + 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)length, f), (size_t)length);
    text[length] = '\0';
    fclose(f);
    return text;
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static void write_report(void)
{
    hs_message message;
    ck_assert_msg(app_report_write(folder, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
}

#define ck_assert_has(text, part)                                                                  \
    ck_assert_msg(strstr(text, part), "\"%s\" is not in it:\n%.2000s", part, text)
#define ck_assert_lacks(text, part) ck_assert_msg(!strstr(text, part), "\"%s\" is in it", part)

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

/* A small result by hand, so that its tables are known to the last byte. */
static json_t *small_result(const char *layout)
{
    json_t *r = json_pack(
        "{s:s, s:i, s:s, s:s, s:{s:s, s:s, s:s, s:[s,s,s], s:s, s:[{s:s},{s:s}], s:[{s:s},{s:s}]},"
        " s:{s:i}, s:i, s:f, s:[], s:[]}",
        "format", "hastings-result", "version", 1, "hastings", "0.1.0", "state", "complete",
        "experiment", "name", "small", "title", "A small one", "about", "What it is.", "columns",
        "acceptance", "msjd", "samples_per_second", "layout", layout, "cases", "name", "A", "name",
        "B", "rows", "name", "one", "name", "two", "settings", "steps", 100, "seed", 7, "seconds",
        61.0, "jobs", "cells");
    static const struct {
        const char *place[3], *text, *paper, *verdict, *note;
        double mean, sd, paper_value, paper_error, sigmas;
    } cells[] = {
        { { "A", "one", "acceptance" },
          "0.28(3)",
          "0.33(5)",
          "agrees",
          "",
          0.28,
          0.03,
          0.33,
          0.05,
          0.857 },
        { { "A", "one", "msjd" }, "21.4(4)", "22(1)", "agrees", "", 21.4, 0.4, 22, 1, 0.557 },
        { { "A", "one", "samples_per_second" },
          "1.2(1)e3",
          "",
          "-",
          "",
          1200,
          100,
          NONE,
          NONE,
          NONE },
        { { "A", "two", "acceptance" },
          "0.9",
          "0.60(1)",
          "differs",
          "Why, \"it\" differs.",
          0.9,
          NONE,
          0.6,
          0.01,
          21.2 },
        { { "A", "two", "msjd" }, "-", "<4.73", "-", "", NONE, NONE, NONE, NONE, NONE },
        { { "B", "two", "acceptance" }, "0.5", "0.55(2)", "close", "", 0.5, NONE, 0.55, 0.02, 2.5 },
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        json_t *cell = json_pack(
            "{s:s, s:s, s:s, s:[i], s:s, s:s, s:s, s:s}", "case", cells[i].place[0], "row",
            cells[i].place[1], "column", cells[i].place[2], "values", 1, "text", cells[i].text,
            "paper", cells[i].paper, "verdict", cells[i].verdict, "note", cells[i].note);
        const double numbers[] = { cells[i].mean, cells[i].sd, cells[i].paper_value,
                                   cells[i].paper_error, cells[i].sigmas };
        static const char *const keys[] = { "mean", "sd", "paper_value", "paper_error", "sigmas" };
        for (size_t k = 0; k < 5; k++)
            json_object_set_new(cell, keys[k],
                                isnan(numbers[k]) ? json_null() : json_real(numbers[k]));
        json_array_append_new(json_object_get(r, "cells"), cell);
    }
    ck_assert_ptr_nonnull(r);
    return r;
}

static char *printed(const json_t *result, size_t width, bool colour)
{
    FILE *f = fopen(in_folder("printed"), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(app_table_print(f, result, width, colour), HS_OK);
    fclose(f);
    return read_text("printed");
}

START_TEST(terminal)
{
    json_t *r = small_result("cases");
    char *text = printed(r, 80, false);
    ck_assert_str_eq(text, "A    acceptance         MSJD             samples/s\n"
                           "     ours      paper    ours      paper\n"
                           "one  0.28(3) ✓ 0.33(5)  21.4(4) ✓ 22(1)  1.2(1)e3\n"
                           "two  0.9     ✗ 0.60(1)  -         <4.73\n"
                           "\n"
                           "B    acceptance\n"
                           "     ours   paper\n"
                           "two  0.5  ≈ 0.55(2)\n"
                           "\n"
                           "2 of 4 figures agree with the paper, 1 is close and 1 differs.\n"
                           "✓ within 2 sigma   ≈ within 3   ✗ beyond\n");
    free(text);
    text = printed(r, 32, false); /* in two parts */
    ck_assert_has(text, "\n\n     MSJD             samples/s\n");
    free(text);
    text = printed(r, 0, true);
    ck_assert_has(text, "\033[32m✓\033[0m");
    ck_assert_has(text, "\033[31m✗\033[0m");
    free(text);
    json_decref(r);
    r = small_result("rows");
    text = printed(r, 80, false);
    ck_assert_ptr_eq(strstr(text, "one  acceptance"), text);
    ck_assert_has(text, "\ntwo  acceptance      MSJD\n");
    ck_assert_has(text, "\nB    0.5  ≈ 0.55(2)\n");
    free(text);
    json_decref(r);
    /* Names are shown, not obeyed; a column is as wide as they are. */
    r = small_result("cases");
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(r, "cells"), i, cell)
    {
        if (!strcmp(json_string_value(json_object_get(cell, "row")), "one"))
            json_object_set_new(cell, "row", json_string("\x1b[2J"));
    }
    json_object_set_new(
        json_array_get(json_object_get(json_object_get(r, "experiment"), "rows"), 0), "name",
        json_string("\x1b[2J"));
    text = printed(r, 80, false);
    ck_assert_has(text, "\n\\x1b[2J  0.28(3)");
    ck_assert_has(text, "\ntwo      0.9");
    ck_assert_lacks(text, "\x1b");
    free(text);
    json_decref(r);
}
END_TEST

START_TEST(markdown)
{
    json_t *r = small_result("cases");
    app_buffer b = { 0 };
    app_table_markdown(&b, r, 2);
    ck_assert_str_eq(b.bytes, "## A\n\n"
                              "| | acceptance | paper | MSJD | paper | samples/s |\n"
                              "|---|---|---|---|---|---|\n"
                              "| one | 0.28(3) ✓ | 0.33(5) | 21.4(4) ✓ | 22(1) | 1.2(1)e3 |\n"
                              "| two | 0.9 ✗ | 0.60(1) | - | &lt;4.73 | |\n\n"
                              "## B\n\n"
                              "| | acceptance | paper |\n"
                              "|---|---|---|\n"
                              "| two | 0.5 ≈ | 0.55(2) |\n\n");
    app_buffer_free(&b);
    json_decref(r);
}
END_TEST

/* Text and numbers in cells: escaped, empty, large, of three digits, none; and the second table of a
 * page begins a line. */
START_TEST(markdown_cells)
{
    app_buffer b = { 0 };
    app_buffer_headings(&b, (const char *[]){ "", "a|b", NULL });
    app_buffer_put(&b, "\n");
    app_buffer_headings(&b, (const char *[]){ "c", NULL });
    app_buffer_cell(&b, "**%s**", "*x*\n\x1by");
    app_buffer_cell(&b, "%s", "");
    app_buffer_cell(&b, "%zu of %d%%", (size_t)3, 40);
    const double numbers[] = { 99.94, 99.96, -2546.3, 0.0123456, (double)NAN, (double)INFINITY };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        app_buffer_number(&b, numbers[i], i == 1 ? "%" : "");
    app_buffer_line(&b);
    ck_assert_str_eq(b.bytes,
                     "| | a\\|b |\n|---|---|\n\n| c |\n|---|\n"
                     "| **\\*x\\* y** | | 3 of 40% | 99.9 | 100% | -2546 | 0.0123 | - | - |\n");
    app_buffer_free(&b);
}
END_TEST

START_TEST(csv)
{
    json_t *r = small_result("cases");
    json_object_set_new(json_array_get(json_object_get(r, "cells"), 0), "row",
                        json_string("a \"b\", c\nd"));
    app_buffer b = { 0 };
    app_table_csv(&b, r);
    const char *start = "case,row,column,mean,sd,error,n,paper,paper_error,sigmas,verdict\r\n"
                        "A,\"a \"\"b\"\", c\nd\",acceptance,0.28,0.03,,1,0.33,0.05,0.857,agrees\r\n"
                        "A,one,msjd,21.4,0.4,,1,22,1,0.557,agrees\r\n"
                        "A,one,samples_per_second,1200,100,,1,,,,-\r\n";
    ck_assert_mem_eq(b.bytes, start, strlen(start));
    ck_assert_uint_eq(count_of(b.bytes, "\r\n"), 7);
    app_buffer_free(&b);
    json_decref(r);
}
END_TEST

/* Spreadsheets run texts that begin so as formulas; numbers may begin so too. */
START_TEST(csv_formulas)
{
    static const char *const fields[][2] = {
        { "=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\"" },
        { "+1+1", "'+1+1" },
        { "-cmd", "'-cmd" },
        { "@SUM(1,2)", "\"'@SUM(1,2)\"" },
        { "\t=1", "'\t=1" },
        { "-", "-" },
        { "-1.5e3", "-1.5e3" },
        { "a=1", "a=1" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        app_buffer b = { 0 };
        app_buffer_csv(&b, fields[i][0]);
        ck_assert_str_eq(b.bytes, fields[i][1]);
        app_buffer_free(&b);
    }
    /* A negative figure is a number. */
    json_t *r = small_result("cases");
    json_object_set_new(json_array_get(json_object_get(r, "cells"), 0), "mean", json_real(-0.28));
    json_object_set_new(json_array_get(json_object_get(r, "cells"), 0), "row", json_string("-x"));
    app_buffer b = { 0 };
    app_table_csv(&b, r);
    ck_assert_has(b.bytes, "A,'-x,acceptance,-0.28,");
    app_buffer_free(&b);
    json_decref(r);
}
END_TEST

START_TEST(sentences)
{
    static const struct {
        size_t agree, close, differ;
        const char *text;
    } cases[] = {
        { 0, 0, 0, "No figure of this run is compared with the paper." },
        { 4, 0, 0, "All 4 figures agree with the paper." },
        { 1, 0, 0, "1 of 1 figures agrees with the paper." },
        { 38, 3, 1, "38 of 42 figures agree with the paper, 3 are close and 1 differs." },
        { 2, 0, 2, "2 of 4 figures agree with the paper, 2 differ." },
        { 3, 1, 0, "3 of 4 figures agree with the paper, 1 is close." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const app_verdict_count count = { { 5, cases[i].agree, cases[i].close, cases[i].differ },
                                          cases[i].agree + cases[i].close + cases[i].differ };
        app_buffer b = { 0 };
        app_verdicts_sentence(&b, &count);
        ck_assert_str_eq(b.bytes, cases[i].text);
        app_buffer_free(&b);
    }
}
END_TEST

START_TEST(whole_report)
{
    fixture_run(folder, &(fixture){ .cases = 1, .replications = 2 });
    write_report();
    char *page = read_text("report.html");
    ck_assert_has(page, "<h1>Multi-scheme proposals on four modes in a cross</h1>");
    ck_assert_has(page, "figures agree with the paper");
    ck_assert_has(page, "3 min 5 s on 2 threads");
    /* the flips between opposite modes are named, with the sentence of the diagnostic */
    ck_assert_has(page, "2 samplers look non-ergodic");
    ck_assert_has(page, "<b>MSJD Opt., L=8</b> (2 of 2 replications): ");
    ck_assert_has(page, "this chain looks non-ergodic");
    ck_assert_lacks(page, "<b>I.I.D. Resample, L=8</b>");
    ck_assert_has(page,
                  "<pre tabindex=\"0\"><code>hastings run cross --replications 2 --out out</code>");
    ck_assert_has(page, "href=\"./chains/c1-r1-1.npy\"");
    ck_assert_has(page, "openblas 0.3.21, netcdf 4.9.0");
    ck_assert_lacks(page, "This run is partial");
    ck_assert_lacks(page, "could not be drawn");
    ck_assert_lacks(page, "cannot be shown");
    ck_assert_lacks(page, "<script");
    /* compared columns, acceptance, losses, densities, traces, autocorrelations */
    ck_assert_uint_eq(count_of(page, "class=\"picture\""), 3 + 1 + 6 + 7 + 7 + 7);
    ck_assert_uint_lt(strlen(page), 6000000);
    /* each picture is a file too */
    ck_assert_int_eq(access(in_folder("figures/c1-r1-1-density.svg"), R_OK), 0);
    ck_assert_int_eq(access(in_folder("figures/c1-r7-1-trace.png"), R_OK), 0);
    ck_assert_int_ne(access(in_folder("figures/c1-r7-2-trace.png"), R_OK), 0);
    char *table = read_text("result.md"), *numbers = read_text("result.csv");
    ck_assert_has(table, "| GSM-60 |");
    ck_assert_uint_eq(count_of(numbers, "\r\n"), 1 + FIXTURE_ROWS * FIXTURE_COLUMNS);
    write_report(); /* once more: the same bytes */
    char *again = read_text("report.html");
    ck_assert_str_eq(page, again);
    free(page);
    free(again);
    free(table);
    free(numbers);
}
END_TEST

START_TEST(hostile_names)
{
    fixture_run(folder, &(fixture){ .hostile = true, .no_files = true });
    write_report();
    char *page = read_text("report.html"), *table = read_text("result.md");
    ck_assert_lacks(page, "<script");
    ck_assert_lacks(page, "<img");
    ck_assert_lacks(page, "<b>\"on\"</b>");
    ck_assert_has(page, "<h1>Proposals &lt;b&gt;&quot;on&quot;&lt;/b&gt; a cross &amp; more</h1>");
    ck_assert_has(page, "&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)");
    ck_assert_uint_eq(count_of(page, "which is found depends"), 1); /* each note once */
    ck_assert_lacks(table, "<script");
    ck_assert_has(table, "\\|\\*b\\*\\|");
    free(page);
    free(table);
}
END_TEST

/* Names of files in result.json that lead out of the folder are refused, and the rest of the page is made. */
START_TEST(names_of_files_stay_in_the_folder)
{
    hs_message message;
    fixture_run(folder, &(fixture){ 0 });
    json_t *result = app_json_read(in_folder("result.json"), &message);
    ck_assert_ptr_nonnull(result);
    json_t *jobs = json_object_get(result, "jobs");
    char secret[64];
    snprintf(secret, sizeof secret, "%s-secret.csv", folder);
    FILE *f = fopen(secret, "w");
    ck_assert_ptr_nonnull(f);
    fputs("root:x:0:0:root\n", f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(symlink(secret, in_folder("link.csv")), 0);
    char outside[80];
    snprintf(outside, sizeof outside, "../%s", strrchr(secret, '/') + 1);
    const char *const names[] = { outside, secret, "link.csv" };
    for (size_t i = 0; i < 3; i++) {
        json_object_set_new(json_array_get(jobs, i), "chains", json_string(names[i]));
        json_object_set_new(json_array_get(jobs, i), "parameters", json_string(names[i]));
        json_object_set_new(json_object_get(json_array_get(jobs, i), "density"), "file",
                            json_string(names[i]));
    }
    ck_assert_int_eq(app_json_save(in_folder("result.json"), result, &message), HS_OK);
    json_decref(result);
    write_report();
    char *page = read_text("report.html");
    ck_assert_lacks(page, "root:x");
    ck_assert_lacks(page, "href=\"./..");
    ck_assert_uint_eq(count_of(page, "and it has &quot;..&quot;"), 2);
    ck_assert_uint_eq(count_of(page, "and it is absolute"), 2);
    ck_assert_uint_eq(count_of(page, "leads out of the folder by a link"), 2);
    ck_assert_has(page, "Trace of"); /* of the others */
    free(page);
    unlink(secret);
}
END_TEST

START_TEST(partial_run)
{
    fixture_run(folder, &(fixture){ .partial = true, .no_files = true });
    write_report();
    char *page = read_text("report.html"), *table = read_text("result.md");
    ck_assert_has(page, "This run is partial");
    ck_assert_has(page, "11 of 14 jobs are done, 1 failed, 2 were not begun");
    ck_assert_has(page, "<b>GSM-60, L=3</b> failed: step 17: the loss is not finite");
    ck_assert_has(page, "The chains cannot be shown: "); /* since they are not there */
    ck_assert_has(page, "No such file or directory");
    ck_assert_has(table, "This run is partial.");
    free(page);
    free(table);
}
END_TEST

START_TEST(large_run)
{
    fixture_run(folder, &(fixture){ .cases = 5, .dim = 6, .no_files = true });
    write_report();
    char *page = read_text("report.html");
    ck_assert_uint_lt(strlen(page), 6000000);
    ck_assert_has(page, "16 of 35 samplers, those that look non-ergodic before others.");
    ck_assert_has(page, "These are 24 of 30; result.json has the numbers of all.");
    ck_assert_has(page, "ESS of 6 coordinates.");
    free(page);
}
END_TEST

START_TEST(wrong_results)
{
    hs_message message;
    static const struct {
        const char *text;
        hs_status status;
        const char *says;
    } bad[] = {
        { "", HS_EFORMAT, "result.json" },
        { "{\"format\": ", HS_EFORMAT, "result.json" },
        { "[]", HS_EFORMAT, "not a result of hastings" },
        { "{\"format\": \"other\"}", HS_EFORMAT, "not a result of hastings" },
        { "{\"format\": \"hastings-result\", \"version\": 2}", HS_EFORMAT, "another version" },
        { "{\"format\": \"hastings-result\", \"version\": 1, \"jobs\": [], \"cells\": 3}",
          HS_EFORMAT, "damaged" },
    };
    ck_assert_int_eq(app_report_write(folder, &message), HS_EIO);
    ck_assert_has(message.text, "result.json");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("result.json", bad[i].text);
        ck_assert_int_eq(app_report_write(folder, &message), bad[i].status);
        ck_assert_has(message.text, bad[i].says);
        ck_assert_int_eq(app_report_write(folder, NULL), bad[i].status);
    }
    ck_assert_int_ne(access(in_folder("report.html"), F_OK), 0);
}
END_TEST

/* Whatever a member is replaced by, the report is written, or refused with a sentence. */
static void replace_members(json_t *value, json_t *root, const char *const *texts, size_t *tried)
{
    const char *key;
    void *next;
    json_t *member;
    json_object_foreach_safe(value, next, key, member)
    {
        char name[64];
        snprintf(name, sizeof name, "%s", key);
        json_incref(member);
        for (size_t i = 0; texts[i]; i++) {
            hs_message message;
            json_object_set_new(value, name, json_loads(texts[i], JSON_DECODE_ANY, NULL));
            ck_assert_int_eq(app_json_save(in_folder("result.json"), root, NULL), HS_OK);
            const hs_status status = app_report_write(folder, &message);
            ck_assert_msg(status == HS_OK || message.text[0], "%s: %d", name, status);
            ++*tried;
        }
        json_object_set_new(value, name, member);
    }
}

START_TEST(strange_results)
{
    static const char *const texts[] = { "null", "-1e300", "\"text\"", "[{}]", NULL };
    size_t tried = 0;
    fixture_run(folder, &(fixture){ .cases = 1, .no_files = true });
    json_t *r = app_result_read(folder, NULL);
    ck_assert_ptr_nonnull(r);
    while (json_array_size(json_object_get(r, "jobs")) > 1)
        json_array_remove(json_object_get(r, "jobs"), 1);
    while (json_array_size(json_object_get(r, "cells")) > 1)
        json_array_remove(json_object_get(r, "cells"), 1);
    json_t *job = json_array_get(json_object_get(r, "jobs"), 0);
    json_object_del(json_object_get(job, "training"), "curve"); /* pictures take their time */
    replace_members(r, r, texts, &tried);
    replace_members(json_object_get(r, "experiment"), r, texts, &tried);
    replace_members(job, r, texts, &tried);
    replace_members(json_object_get(job, "density"), r, texts, &tried);
    replace_members(json_array_get(json_object_get(r, "cells"), 0), r, texts, &tried);
    ck_assert_uint_gt(tried, 200);
    json_decref(r);
}
END_TEST

/* Whichever allocation fails: the report is written without what there was no memory for, or it is
 * refused, and nothing leaks. */
START_TEST(scarce_memory)
{
    fixture_run(folder, &(fixture){ .cases = 1 });
    json_t *r = app_result_read(folder, NULL);
    ck_assert_ptr_nonnull(r);
    while (json_array_size(json_object_get(r, "jobs")) > 1)
        json_array_remove(json_object_get(r, "jobs"), 1);
    while (json_array_size(json_object_get(r, "cells")) > 5)
        json_array_remove(json_object_get(r, "cells"), 5);
    ck_assert_int_eq(app_json_save(in_folder("result.json"), r, NULL), HS_OK);
    json_decref(r);
    hs_set_allocator(&counting);
    allocations = fail_at = living = 0;
    write_report();
    ck_assert_int_eq(living, 0);
    const long all = allocations;
    ck_assert_int_gt(all, 50);
    long refused = 0;
    for (long n = 1; n <= all; n += n < 12 ? 1 : all / 20) {
        hs_message message;
        allocations = 0;
        fail_at = n;
        const hs_status status = app_report_write(folder, &message);
        ck_assert_msg(status == HS_OK || (status == HS_ENOMEM && message.text[0]),
                      "allocation %ld: %d, %s", n, status, message.text);
        ck_assert_int_eq(living, 0);
        refused += status != HS_OK;
    }
    hs_set_allocator(NULL);
    ck_assert_int_gt(refused, 2);
}
END_TEST

START_TEST(full_disk)
{
    fixture_run(folder, &(fixture){ .cases = 1, .no_files = true });
    write_report();
    char *before = read_text("report.html");
    hs_message message;
    fill_disk_after(20000);
    const hs_status status = app_report_write(folder, &message);
    empty_disk();
    ck_assert_int_eq(status, HS_EIO);
    ck_assert_has(message.text, "File too large");
    char *after = read_text("report.html"); /* the old one */
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

START_TEST(results)
{
    json_t *r = small_result("cases");
    ck_assert_int_eq(app_json_save(in_folder("small.json"), r, NULL), HS_OK);
    json_decref(r);
    fixture_run(folder, &(fixture){ .replications = 2, .no_files = true });
    char small[4096], out[4096];
    snprintf(small, sizeof small, "%s", in_folder("small.json"));
    snprintf(out, sizeof out, "%s", in_folder("results.md"));
    const char *const paths[] = { small, folder };
    hs_message message;
    ck_assert_msg(app_results_write(out, paths, 2, &message) == HS_OK, "%s", message.text);
    char *text = read_text("results.md");
    ck_assert_has(text, "| small | | 4 | 2 | 1 | 1 | 1 min 1 s |\n");
    ck_assert_has(text, "## A small one\n\nWhat it is.\n\n");
    ck_assert_has(text, "Settings: steps 100, seed 7.");
    ck_assert_has(text,
                  "2 of 4 figures agree with the paper, 1 is close and 1 differs. Of those that "
                  "agree, the farthest is A, one, acceptance: ours 0.28(3), paper 0.33(5), "
                  "0.9 sigma.\n");
    ck_assert_has(text, "- ≈ B, two, acceptance: ours 0.5, paper 0.55(2), 2.5 sigma\n");
    ck_assert_has(text, "- Known: Why, \"it\" differs.\n"
                        "  - ✗ A, two, acceptance: ours 0.9, paper 0.60(1), 21 sigma\n");
    ck_assert_has(text,
                  "The diagnostics call these non-ergodic: L=8, MSJD Opt.; L=8, L2HMC Obj.; ");
    ck_assert_int_eq(app_results_write(out, paths, 2, &message), HS_OK);
    char *again = read_text("results.md");
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    ck_assert_int_eq(app_results_write(out, paths, 0, &message), HS_EINVAL);
    const char *const missing[] = { small, "/nowhere/result.json" };
    ck_assert_int_ne(app_results_write(out, missing, 2, &message), HS_OK);
    ck_assert_has(message.text, "/nowhere/result.json");
}
END_TEST

static Suite *report_suite(void)
{
    Suite *suite = suite_create("cli_report");
    TCase *tests = tcase_create("report");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, terminal);
    tcase_add_test(tests, markdown);
    tcase_add_test(tests, markdown_cells);
    tcase_add_test(tests, csv);
    tcase_add_test(tests, csv_formulas);
    tcase_add_test(tests, sentences);
    tcase_add_test(tests, whole_report);
    tcase_add_test(tests, hostile_names);
    tcase_add_test(tests, names_of_files_stay_in_the_folder);
    tcase_add_test(tests, partial_run);
    tcase_add_test(tests, large_run);
    tcase_add_test(tests, wrong_results);
    tcase_add_test(tests, strange_results);
    tcase_add_test(tests, scarce_memory);
    tcase_add_test(tests, full_disk);
    tcase_add_test(tests, results);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(report_suite())
