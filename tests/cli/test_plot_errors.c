/* Figures of every kind of bad data, to every kind of bad place; and what SVG promises to pages. */
#include <dirent.h>
#include <sys/stat.h>

#include "support/full_disk.h"
#include "support/plot_pixels.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_plots_XXXXXX";
static char file[64];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/figure.svg", directory);
}

static int count_files(void)
{
    int count = 0;
    DIR *d = opendir(directory);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *entry; (entry = readdir(d));)
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

static void remove_directory(void)
{
    unlink(file);
    ck_assert_int_eq(rmdir(directory), 0); /* and no temporary file is left */
}

/* ---- One figure of each kind, of given numbers ---------------------------------------------- */

enum { NUMBERS = 64, KINDS = 8 };

static hs_status draw_kind(int kind, const double x[NUMBERS], size_t n, bool log,
                           const app_figure_out *out, hs_message *m)
{
    const app_series series[] = { { .label = "one", .y = x, .n = n },
                                  { .label = "two", .x = x, .y = x, .n = n, .dots = true } };
    const app_bars_series bars[] = { { "ours", x, x }, { "paper", x, NULL } };
    const app_map_normal normal = { { x[0], x[1] }, { { x[2], x[3] }, { x[3], x[4] } } };
    const app_map_panel panel = {
        .title = "a", .values = x, .start = x, .normals = &normal, .normals_count = 1
    };
    switch (kind) {
    case 0:
        return app_figure_lines(&(app_lines_figure){ .title = "Lines",
                                                     .x_label = "x",
                                                     .y_label = "y",
                                                     .x_log = log,
                                                     .y_log = log,
                                                     .series = series,
                                                     .series_count = 2,
                                                     .reference = x },
                                out, m);
    case 1:
        return app_figure_traces(&(app_traces_figure){ .x = x, .chains = 2, .draws = n / 2 }, out,
                                 m);
    case 2:
        return app_figure_autocorrelation(
            &(app_autocorrelation_figure){ .series = series, .series_count = 2, .draws = n }, out,
            m);
    case 3:
        return app_figure_ess(
            &(app_ess_figure){ .first = x, .second = x, .n = n < 60 ? n : 60, .log = log }, out, m);
    case 4: /* more than 60: sorted */
        return app_figure_ess(&(app_ess_figure){ .first = x, .n = n, .draws = 10, .log = log }, out,
                              m);
    case 5:
        return app_figure_maps(&(app_maps_figure){ .panels = &panel,
                                                   .panels_count = n > 4,
                                                   .nx = n / 4,
                                                   .ny = 4,
                                                   .x = { 0, 1 },
                                                   .y = { 0, 1 },
                                                   .root = log },
                               out, m);
    case 6:
        return app_figure_maps(&(app_maps_figure){ .panels = &panel,
                                                   .panels_count = n > 4,
                                                   .nx = 4,
                                                   .ny = n / 4,
                                                   .x = { 0, 1 },
                                                   .y = { 0, 1 },
                                                   .range = { -1, 1 } },
                               out, m);
    default:
        return app_figure_bars(
            &(app_bars_figure){ .rows_count = n, .series = bars, .series_count = 2, .log = log },
            out, m);
    }
}

static char *svg_of_kind(int kind, const double x[NUMBERS], size_t n, bool log)
{
    char *svg;
    ck_assert_msg(draw_kind(kind, x, n, log, &(app_figure_out){ .svg = &svg }, &message) == HS_OK,
                  "kind %d: %s", kind, message.text);
    return svg;
}

static void ordinary(double x[NUMBERS])
{
    for (int i = 0; i < NUMBERS; i++)
        x[i] = 2 + sin(i);
}

/* ---- Odd numbers ----------------------------------------------------------------------------- */

static double odd_number(unsigned long *state)
{
    static const double odd[] = { (double)NAN, HUGE_VAL, -HUGE_VAL, 0,      -0.0,   1e308,   -1e308,
                                  1e300,       -1e300,   5e-324,    1e-300, 1e-290, -1e-310, 1,
                                  -1,          1e15,     1e15 + 1,  0.1,    1e-20,  3.5 };
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return odd[(*state >> 33) % (sizeof odd / sizeof *odd)];
}

START_TEST(test_odd_numbers)
{
    unsigned long state = 1;
    for (int repetition = 0; repetition < 60; repetition++) {
        double x[NUMBERS];
        for (int i = 0; i < NUMBERS; i++) /* first constant, then more and more mixed */
            x[i] = i > 0 && repetition < 20 ? x[0] : odd_number(&state);
        for (int kind = 0; kind < KINDS; kind++) {
            char *svg =
                svg_of_kind(kind, x, (size_t)(repetition % 3 ? NUMBERS : 6), repetition % 2);
            ck_assert_msg(!strstr(svg, " nan") && !strstr(svg, " -nan"), "kind %d", kind);
            ck_assert_msg(!strstr(svg, " inf") && !strstr(svg, " -inf"), "kind %d", kind);
            assert_well_formed(svg);
            hs_free(svg);
        }
    }
}
END_TEST

START_TEST(test_no_numbers)
{
    const double none[NUMBERS] = { 0 };
    for (int kind = 0; kind < KINDS; kind++) {
        char *svg = svg_of_kind(kind, none, 0, kind % 2);
        assert_well_formed(svg);
        hs_free(svg);
    }
}
END_TEST

/* What is missing is said: a note makes the figure higher. */
START_TEST(test_note_of_hidden_values)
{
    double x[NUMBERS];
    ordinary(x);
    char *whole = svg_of_kind(0, x, NUMBERS, true);
    x[7] = -1;
    char *part_of_it = svg_of_kind(0, x, NUMBERS, true);
    double heights[2];
    ck_assert_int_eq(sscanf(strstr(whole, " height="), " height=\"%lf", &heights[0]), 1);
    ck_assert_int_eq(sscanf(strstr(part_of_it, " height="), " height=\"%lf", &heights[1]), 1);
    ck_assert_double_eq(heights[1] - heights[0], 16);
    ck_assert_int_gt(count_in(part_of_it, "<use "), count_in(whole, "<use ") + 20); /* letters */
    hs_free(whole);
    hs_free(part_of_it);
}
END_TEST

/* ---- SVG in pages ---------------------------------------------------------------------------- */

/* The next id that is defined (or used) in the text, in name. */
static const char *next_id(const char *text, bool used, char name[64])
{
    static const char *const ways[] = { " id=\"", "xlink:href=\"#", "url(#" };
    const char *best = NULL;
    size_t skip = 0;
    for (int i = used ? 1 : 0; i < (used ? 3 : 1); i++) {
        const char *found = strstr(text, ways[i]);
        if (found && (!best || found < best)) {
            best = found;
            skip = strlen(ways[i]);
        }
    }
    if (!best)
        return NULL;
    ck_assert_int_eq(sscanf(best + skip, "%63[^\")]", name), 1);
    return best + skip;
}

START_TEST(test_ids_live_together)
{
    double x[NUMBERS];
    ordinary(x);
    char *svgs[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        svgs[kind] = svg_of_kind(kind, x, NUMBERS, false);
    for (int kind = 0; kind < KINDS; kind++) {
        char name[64], quoted[80];
        int defined = 0, uses = 0;
        for (const char *at = svgs[kind]; (at = next_id(at, false, name)); defined++) {
            snprintf(quoted, sizeof quoted, " id=\"%s\"", name);
            for (int other = 0; other < KINDS; other++)
                ck_assert_int_eq(count_in(svgs[other], quoted), other == kind);
        }
        for (const char *at = svgs[kind]; (at = next_id(at, true, name)); uses++) {
            snprintf(quoted, sizeof quoted, " id=\"%s\"", name);
            ck_assert_int_eq(count_in(svgs[kind], quoted), 1);
        }
        ck_assert(defined > 5 && uses > 5);
    }
    for (int kind = 0; kind < KINDS; kind++)
        hs_free(svgs[kind]);
}
END_TEST

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    char *text = calloc(1, 1 << 20);
    ck_assert(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

START_TEST(test_same_data_same_bytes)
{
    double x[NUMBERS];
    ordinary(x);
    for (int kind = 0; kind < KINDS; kind++) {
        char png[2][80], *svg[2], *bytes[2];
        for (int i = 0; i < 2; i++) {
            snprintf(png[i], sizeof png[i], "%s/%d.png", directory, i);
            const app_figure_out out = { .svg_path = file, .png_path = png[i], .svg = &svg[i] };
            ck_assert_int_eq(draw_kind(kind, x, NUMBERS, false, &out, &message), HS_OK);
            char *saved = read_file(file);
            ck_assert_str_eq(saved, svg[i]);
            free(saved);
            bytes[i] = read_file(png[i]);
            hs_free(svg_of_kind((kind + 3) % KINDS, x, NUMBERS, true)); /* moves Cairo's counters */
        }
        ck_assert_str_eq(svg[0], svg[1]);
        ck_assert_int_eq(memcmp(bytes[0], bytes[1], 1 << 20), 0);
        for (int i = 0; i < 2; i++) {
            hs_free(svg[i]);
            free(bytes[i]);
            unlink(png[i]);
        }
    }
}
END_TEST

START_TEST(test_threads)
{
    enum { TIMES = 4 };
    double x[NUMBERS];
    ordinary(x);
    char *serial[KINDS], *svgs[TIMES * KINDS];
    hs_status status[TIMES * KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        serial[kind] = svg_of_kind(kind, x, NUMBERS, false);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < TIMES * KINDS; i++) {
        const app_figure_out out = { .svg = &svgs[i] };
        status[i] = draw_kind(i % KINDS, x, NUMBERS, false, &out, NULL);
    }
    for (int i = 0; i < TIMES * KINDS; i++) {
        ck_assert_int_eq(status[i], HS_OK);
        ck_assert_str_eq(svgs[i], serial[i % KINDS]);
        hs_free(svgs[i]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        hs_free(serial[kind]);
}
END_TEST

START_TEST(test_texts)
{
    static char endless[5000];
    memset(endless, 'w', sizeof endless - 1);
    const char *const texts[] = { "a < b & \"c\" > 'd'",
                                  "caf\xC3\xA9 \xE2\x88\x92 \xF0\x9F\x98\x80",
                                  "bad \xFF \xC3( \xED\xA0\x80 \xC0\x80 \xE2\x82",
                                  "\1\2\n\t tab",
                                  endless,
                                  "",
                                  NULL };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const double y[] = { 1, 2 };
        const app_series series = { .label = texts[i], .y = y, .n = 2 };
        const app_lines_figure figure = { .title = texts[i],
                                          .x_label = texts[i],
                                          .y_label = texts[i],
                                          .series = &series,
                                          .series_count = 1,
                                          .width = i % 2 ? 200 : 0 };
        char *svg = svg_of_lines(&figure);
        assert_well_formed(svg);
        for (char c = 1; c < 0x20; c++)
            ck_assert(c == '\n' || !strchr(svg, c));
        if (i == 0)
            ck_assert_ptr_nonnull(strstr(svg, "aria-label=\"a &lt; b &amp; &quot;c&quot; > 'd'\""));
        hs_free(svg);
    }
}
END_TEST

/* ---- Refusals -------------------------------------------------------------------------------- */

static void assert_refused(hs_status status, const char *says)
{
    ck_assert_int_eq(status, HS_EINVAL);
    ck_assert_msg(strstr(message.text, says), "\"%s\" does not say \"%s\"", message.text, says);
}

START_TEST(test_wrong_arguments)
{
    char *svg = file;
    const app_figure_out out = { .svg = &svg };
    const double y[] = { 1, 2 };
    const app_series series = { .y = y, .n = 2 }, no_y = { .n = 3 };
    app_lines_figure lines = { .series = &series, .series_count = 1 };
    assert_refused(app_figure_lines(NULL, &out, &message), "no figure");
    ck_assert_ptr_null(svg);
    assert_refused(app_figure_lines(&lines, NULL, &message), "no file or text");
    assert_refused(app_figure_lines(&lines, &(app_figure_out){ .png_scale = 1 }, &message),
                   "no file or text");
    assert_refused(
        app_figure_lines(&lines, &(app_figure_out){ .svg = &svg, .png_scale = 99 }, &message),
        "png_scale of 99");
    const double sizes[] = { -1, 1, 1e9, HUGE_VAL, (double)NAN };
    for (int i = 0; i < 5; i++) {
        lines.width = sizes[i];
        assert_refused(app_figure_lines(&lines, &out, &message), "width of ");
        lines.width = 0;
        lines.height = sizes[i];
        assert_refused(app_figure_lines(&lines, &out, &message), "height of ");
        lines.height = 0;
    }
    lines.y_range[0] = 2;
    lines.y_range[1] = 1;
    assert_refused(app_figure_lines(&lines, &out, &message), "y_range is 2 to 1");
    lines = (app_lines_figure){ .series = &series, .series_count = 1, .x_range = { -1, 1 } };
    lines.x_log = true;
    assert_refused(app_figure_lines(&lines, &out, &message), "ascending positive");
    lines = (app_lines_figure){ .series = &no_y, .series_count = 1 };
    assert_refused(app_figure_lines(&lines, &out, &message), "series 1 has 3 points, but no y");
    lines = (app_lines_figure){ .series_count = 2 };
    assert_refused(app_figure_lines(&lines, &out, &message), "2 series");
    assert_refused(
        app_figure_traces(&(app_traces_figure){ .chains = 2, .draws = 1 }, &out, &message),
        "2 chains, but no draws");
    assert_refused(
        app_figure_autocorrelation(
            &(app_autocorrelation_figure){ .series = &no_y, .series_count = 1 }, &out, &message),
        "no y");
    assert_refused(app_figure_ess(&(app_ess_figure){ .n = 5 }, &out, &message), "5 coordinates");
    assert_refused(app_figure_ess(&(app_ess_figure){ .draws = -5 }, &out, &message), "-5 draws");
    assert_refused(app_figure_bars(&(app_bars_figure){ .rows_count = 1000 }, &out, &message),
                   "1000 rows");
    assert_refused(
        app_figure_bars(&(app_bars_figure){ .rows_count = 1,
                                            .series = &(app_bars_series){ "a", NULL, NULL },
                                            .series_count = 1 },
                        &out, &message),
        "series 1 has no values");
    ck_assert_ptr_null(svg);
}
END_TEST

START_TEST(test_wrong_maps)
{
    char *svg;
    const app_figure_out out = { .svg = &svg };
    const double value = 1;
    const app_map_panel panels[2] = { { .values = &value } };
    const app_maps_figure good = {
        .panels = panels, .panels_count = 1, .nx = 1, .ny = 1, .x = { 0, 1 }, .y = { 0, 1 }
    };
    app_maps_figure bad = good;
    bad.y[1] = -1;
    assert_refused(app_figure_maps(&bad, &out, &message), "y goes from 0 to -1");
    bad = good;
    bad.x[0] = (double)NAN;
    assert_refused(app_figure_maps(&bad, &out, &message), "x goes from");
    bad = good;
    bad.range[0] = 1;
    assert_refused(app_figure_maps(&bad, &out, &message), "range is 1 to 0");
    bad = good;
    bad.panels_count = 2;
    assert_refused(app_figure_maps(&bad, &out, &message), "panel 2 has no values");
    bad.panels_count = 101;
    assert_refused(app_figure_maps(&bad, &out, &message), "101 panels");
    bad = good;
    bad.ny = 0;
    assert_refused(app_figure_maps(&bad, &out, &message), "1 by 0 values");
    bad.ny = 5000;
    assert_refused(app_figure_maps(&bad, &out, &message), "1 by 5000 values");
    ck_assert_int_eq(app_figure_maps(&good, &out, &message), HS_OK);
    hs_free(svg);
}
END_TEST

static void assert_not_written(const char *path, int kind, size_t space)
{
    double x[NUMBERS];
    ordinary(x);
    char *svg = file;
    const app_figure_out out = { .svg_path = path, .svg = &svg }, png = { .png_path = path };
    fill_disk_after(space);
    const hs_status status[] = { draw_kind(kind, x, NUMBERS, false, &out, &message),
                                 draw_kind(kind, x, NUMBERS, false, &png, &message),
                                 draw_kind(kind, x, NUMBERS, false, &png, NULL) };
    empty_disk();
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(status[i], HS_EIO);
    ck_assert_msg(strstr(message.text, path), "\"%s\" does not name the file", message.text);
    ck_assert_ptr_null(svg);
}

START_TEST(test_unwritable_places)
{
    char missing[96];
    snprintf(missing, sizeof missing, "%s/missing/figure.svg", directory);
    assert_not_written(missing, 0, 1000000);
    assert_not_written(directory, 1, 1000000);
    assert_not_written(file, 7, 1000);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(test_every_allocation_may_fail)
{
    double x[NUMBERS];
    ordinary(x);
    hs_set_allocator(&counting);
    for (int kind = 0; kind < KINDS; kind++) {
        hs_status status = HS_ENOMEM;
        for (fail_at = 1; status != HS_OK; fail_at++) {
            char *svg = file;
            const app_figure_out out = { .svg = &svg, .png_path = file };
            allocations = 0;
            status = draw_kind(kind, x, NUMBERS, false, &out, &message);
            ck_assert(status == HS_OK || status == HS_ENOMEM);
            ck_assert_int_eq(svg != NULL, status == HS_OK);
            ck_assert_int_eq(message.text[0] != '\0', status != HS_OK);
            hs_free(svg);
            ck_assert_int_eq(living, 0);
        }
        ck_assert_int_gt(fail_at, 3);
    }
    fail_at = 0;
    hs_set_allocator(NULL);
}
END_TEST

static Suite *plot_errors_suite(void)
{
    Suite *suite = suite_create("plot errors");
    TCase *tests = tcase_create("errors");
    tcase_add_checked_fixture(tests, make_directory, remove_directory);
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, test_odd_numbers);
    tcase_add_test(tests, test_no_numbers);
    tcase_add_test(tests, test_note_of_hidden_values);
    tcase_add_test(tests, test_ids_live_together);
    tcase_add_test(tests, test_same_data_same_bytes);
    tcase_add_test(tests, test_threads);
    tcase_add_test(tests, test_texts);
    tcase_add_test(tests, test_wrong_arguments);
    tcase_add_test(tests, test_wrong_maps);
    tcase_add_test(tests, test_unwritable_places);
    tcase_add_test(tests, test_every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(plot_errors_suite())
