/* Figures: values are where their axes say, in pixels of PNG and coordinates of SVG. */
#include "support/plot_pixels.h"

#include "cli/plot/plot_internal.h"

static void make_path(void)
{
    memcpy(png_path + sizeof png_path - 7, "XXXXXX", 6);
    const int fd = mkstemp(png_path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_path(void)
{
    unlink(png_path);
}

START_TEST(test_line_rises_to_the_right)
{
    const double x[] = { 0, 10 }, y[] = { 3, 5 };
    const app_series series = { .x = x, .y = y, .n = 2 };
    const app_lines_figure figure = { .series = &series, .series_count = 1 };
    picture p = drawn(app_figure_lines(&figure, &to_png, &message));
    ck_assert_int_eq(p.width, 760);
    const spot line = find(&p, BLUE, all);
    ck_assert_int_gt(line.count, 500);
    const spot left = find(&p, BLUE, (part){ 0, 0, line.left + 20, p.height });
    const spot right = find(&p, BLUE, (part){ line.right - 20, 0, p.width, p.height });
    ck_assert(left.y > line.y && right.y < line.y);
    ck_assert_int_lt(line.right - (p.width - 24), 4); /* to the right end of the axis */
    free_picture(&p);
}
END_TEST

/* y = 10^x: at the middle of x, the line is in the middle of a logarithmic y and near the foot of
 * a linear one. */
START_TEST(test_logarithmic_axis)
{
    double y[101];
    for (int i = 0; i <= 100; i++)
        y[i] = pow(10, i / 25.0 - 2);
    const app_series series = { .y = y, .n = 101 };
    app_lines_figure figure = { .series = &series, .series_count = 1 };
    for (int log = 0; log < 2; log++) {
        figure.y_log = log;
        picture p = drawn(app_figure_lines(&figure, &to_png, &message));
        const spot line = find(&p, BLUE, all);
        const int middle = (line.left + line.right) / 2;
        const spot there = find(&p, BLUE, (part){ middle - 3, 0, middle + 4, p.height });
        const double share = (line.bottom - there.y) / (line.bottom - line.top);
        ck_assert_close(share, log ? 0.5 : 0.01, 0, 0.02);
        free_picture(&p);
    }
}
END_TEST

START_TEST(test_gaps_and_lone_points)
{
    double y[300];
    for (int i = 0; i < 300; i++)
        y[i] = i < 100 || i >= 200 ? 1 + i % 2 : i == 150 ? 1.5 : (double)NAN;
    const app_series series = { .y = y, .n = 300 };
    const app_lines_figure figure = { .x_range = { 0, 300 }, .series = &series, .series_count = 1 };
    picture p = drawn(app_figure_lines(&figure, &to_large_png, &message));
    const spot line = find(&p, BLUE, all);
    const double unit = (line.right - line.left) / 299.0;
    const int from = line.left + (int)(105 * unit), to = line.left + (int)(194 * unit);
    const spot gap = find(&p, BLUE, (part){ from, 0, to, p.height });
    ck_assert(gap.count > 0 && gap.count < 60); /* the point in its middle */
    ck_assert_close(gap.x, line.left + 150 * unit, 0, 8);
    ck_assert_close(gap.y, (line.top + line.bottom) / 2, 0, 8);
    free_picture(&p);
}
END_TEST

/* One high value among 200 000, and one that is not there, in a path of at most 1500 vertices. */
START_TEST(test_long_series_keep_their_extremes)
{
    enum { N = 200000 };
    double *y = hs_alloc(N * sizeof *y);
    for (int i = 0; i < N; i++)
        y[i] = (i * 7919 % 1000) / 1000.0;
    y[50000] = 10;
    y[150000] = -10;
    const app_series series = { .y = y, .n = N };
    const app_lines_figure figure = { .series = &series, .series_count = 1 };
    picture p = drawn(app_figure_lines(&figure, &to_png, &message));
    const spot line = find(&p, BLUE, all);
    const spot high = find(&p, BLUE, (part){ 0, 0, p.width, line.top + 40 });
    const spot low = find(&p, BLUE, (part){ 0, line.bottom - 40, p.width, p.height });
    const double width = line.right - line.left;
    ck_assert_close((high.x - line.left) / width, 0.25, 0, 0.01);
    ck_assert_close((low.x - line.left) / width, 0.75, 0, 0.01);
    free_picture(&p);
    char *svg = svg_of_lines(&figure);
    int vertices = 0; /* of the longest path */
    for (const char *path = svg; (path = strstr(path, "<path ")); path++) {
        int n = 0;
        for (const char *c = path; *c != '>'; c++)
            n += *c == 'L';
        vertices = n > vertices ? n : vertices;
    }
    ck_assert_int_gt(vertices, 1000);
    ck_assert_int_lt(vertices, 1500);
    hs_free(svg);
    hs_free(y);
}
END_TEST

START_TEST(test_traces_take_their_coordinate)
{
    double x[2][50][3]; /* chain 1 at -1, chain 2 at 4, in coordinate 1 only */
    for (int m = 0; m < 2; m++)
        for (int n = 0; n < 50; n++) {
            x[m][n][0] = x[m][n][2] = 1e6;
            x[m][n][1] = m ? 4 : -1;
        }
    const app_traces_figure figure = {
        .x = &x[0][0][1], .chains = 2, .draws = 50, .chain_stride = 150, .draw_stride = 3
    };
    picture p = drawn(app_figure_traces(&figure, &to_large_png, &message));
    const part below = { 0, 180, p.width, p.height }; /* the legend */
    const spot one = find(&p, BLUE, below), two = find(&p, VERMILION, below);
    ck_assert(one.count > 400 && two.count > 400);
    ck_assert(one.bottom - one.top <= 4 && two.bottom - two.top <= 4);
    ck_assert(one.y > two.y + 400);
    free_picture(&p);
}
END_TEST

/* The band is +-1.96 / sqrt(n) where the line, from 1 to -1, shows the scale. */
START_TEST(test_autocorrelation_band)
{
    const double rho[] = { 1, 0.5, 0, -0.5, -1 };
    const app_series series = { .y = rho, .n = 5 };
    const app_autocorrelation_figure figure = { .series = &series, .series_count = 1, .draws = 16 };
    picture p = drawn(app_figure_autocorrelation(&figure, &to_png, &message));
    const spot line = find(&p, BLUE, all);
    int band = 0;
    const int x = line.left + 20; /* between lines of the grid, away from the curve */
    const uint32_t shade = 0xEEEEEF;
    for (int y = line.top; y <= line.bottom; y++)
        band += difference(pixel(&p, x, y), shade) <= 3;
    const double unit = (line.bottom - line.top) / 2.0;
    ck_assert_close(band, 2 * 0.49 * unit, 0.03, 4);
    free_picture(&p);
}
END_TEST

/* Three rows in order from the top; their distances as on a linear, then on a logarithmic axis. */
START_TEST(test_ess_rows)
{
    const double first[] = { 1000, 2000, 4000 }, second[] = { 500, 2000, (double)NAN };
    const app_ess_figure figure = { .first = first, .second = second, .n = 3, .draws = 5000 };
    for (int log = 0; log < 2; log++) {
        app_ess_figure f = figure;
        f.log = log;
        picture p = drawn(app_figure_ess(&f, &to_png, &message));
        const int head = 38, row = 22;
        spot dots[3];
        for (int i = 0; i < 3; i++) {
            dots[i] = find(&p, BLUE, (part){ 30, head + i * row, p.width, head + (i + 1) * row });
            ck_assert_int_eq(dots[i].count > 10, i != 1); /* covered by the other dot */
        }
        const spot over = find(&p, VERMILION, (part){ 30, head + row, p.width, head + 2 * row });
        const spot half = find(&p, VERMILION, (part){ 30, head, p.width, head + row });
        ck_assert_close((dots[2].x - over.x) / (over.x - dots[0].x), log ? 1 : 2, 0, 0.05);
        ck_assert_close((dots[0].x - half.x) / (over.x - dots[0].x), log ? 1 : 0.5, 0, 0.05);
        free_picture(&p);
    }
}
END_TEST

START_TEST(test_many_coordinates_are_sorted)
{
    double ess[200];
    for (int i = 0; i < 200; i++)
        ess[i] = 1 + i * 77 % 200;
    ess[13] = (double)NAN;
    const app_ess_figure figure = { .first = ess, .n = 200 };
    picture p = drawn(app_figure_ess(&figure, &to_png, &message));
    const part below = { 0, 40, p.width, p.height };
    const spot line = find(&p, BLUE, below);
    double last = line.bottom + 1;
    for (int x = line.left; x + 40 < line.right; x += 40) {
        const spot here = find(&p, BLUE, (part){ x, 40, x + 10, p.height });
        ck_assert(here.y < last);
        last = here.y;
    }
    free_picture(&p);
}
END_TEST

/* Row 0 of the values is at the bottom, corners are at corners, and red marks are where the axes say.
 * Of the 5 by 3 values, one is high: at x = 1, y = 2 of x = -2 .. 2, y = -2 .. 2. */
START_TEST(test_map_is_upright)
{
    double values[3][5] = { { 0 } };
    const double start[] = { -1, 1.5 };
    values[2][3] = 1;
    values[0][0] = 0.5;
    const app_map_panel panel = { .values = &values[0][0], .start = start };
    const app_maps_figure figure = {
        .panels = &panel, .panels_count = 1, .nx = 5, .ny = 3, .x = { -2, 2 }, .y = { -2, 2 }
    };
    picture p = drawn(app_figure_maps(&figure, &to_png, &message));
    const spot dark = find(&p, 0x470155, all), bright = find(&p, 0xFCE722, all);
    const int left = dark.left, right = dark.right, top = dark.top, bottom = dark.bottom;
    ck_assert_int_le(abs(right - left - (bottom - top)), 2); /* a square */
    ck_assert_close((bright.x - left) / (right - left), 0.75, 0, 0.02);
    ck_assert_int_le(abs(bright.top - top), 2);
    ck_assert_int_le(difference(pixel(&p, left + 1, bottom - 1), 0x21918C), 25); /* viridis(1/2) */
    const spot dot = find(&p, RED, all);
    ck_assert_close((dot.x - left) / (right - left), 0.25, 0, 0.02);
    ck_assert_close((dot.y - top) / (bottom - top), 0.125, 0, 0.02);
    free_picture(&p);
    char *svg;
    ck_assert_int_eq(app_figure_maps(&figure, &(app_figure_out){ .svg = &svg }, NULL), HS_OK);
    ck_assert_int_eq(count_in(svg, "<image "), 1);
    hs_free(svg);
}
END_TEST

/* The ellipse of two standard deviations spans 2 sd of x and y, and leans with the correlation. */
START_TEST(test_map_ellipse)
{
    const double value = 0;
    const app_map_normal normal = { { 1, 0 }, { { 1, -0.9 }, { -0.9, 4 } } };
    const app_map_panel panel = { .values = &value, .normals = &normal, .normals_count = 1 };
    const app_maps_figure figure = { .panels = &panel,
                                     .panels_count = 1,
                                     .nx = 1,
                                     .ny = 1,
                                     .x = { -5, 5 },
                                     .y = { -5, 5 },
                                     .range = { 0, 1 } };
    picture p = drawn(app_figure_maps(&figure, &to_png, &message));
    const spot dark = find(&p, 0x470155, (part){ 0, 0, 350, p.height });
    const double unit = (dark.right - dark.left) / 10.0;
    const spot red = find(&p, RED, all);
    ck_assert_close((red.right - red.left) / unit, 4, 0, 0.15);
    ck_assert_close((red.bottom - red.top) / unit, 8, 0, 0.15);
    ck_assert_close((red.x - dark.left) / unit, 6, 0, 0.15);
    const int x = (int)red.x, y = (int)red.y;
    const spot falling = find(&p, RED, (part){ x, y + 10, p.width, p.height });
    const spot rising = find(&p, RED, (part){ x, 0, p.width, y - 10 });
    ck_assert(falling.bottom - y > 1.5 * unit && rising.right - x < falling.right - x + unit);
    ck_assert_close((falling.bottom - y) / unit, 4, 0, 0.2); /* -0.9: lower right, upper left */
    free_picture(&p);
}
END_TEST

START_TEST(test_bars)
{
    const double ours[] = { 1, 2 }, theirs[] = { 4, (double)NAN }, errors[] = { 0.5, (double)NAN };
    const app_bars_series series[] = { { "ours", ours, NULL }, { "paper", theirs, errors } };
    const char *const rows[] = { "a", "b" };
    const app_bars_figure figure = {
        .rows = rows, .rows_count = 2, .series = series, .series_count = 2
    };
    picture p = drawn(app_figure_bars(&figure, &to_png, &message));
    const int head = 38, row = 36;
    const part first = { 0, head, p.width, head + row };
    const part second = { 0, head + row, p.width, head + 2 * row };
    const spot one = find(&p, BLUE, first), two = find(&p, BLUE, second);
    const spot four = find(&p, VERMILION, first), none = find(&p, VERMILION, second);
    const double unit = one.right + 1 - one.left;
    ck_assert_close((two.right + 1 - two.left) / unit, 2, 0, 0.02);
    ck_assert_close((four.right + 1 - four.left) / unit, 4, 0, 0.03);
    ck_assert_int_eq(none.count, 0);
    ck_assert(four.y > one.y);
    /* from 3.5 to 4.5, dark */
    const int end = one.left + (int)(4.5 / 4 * (four.right + 1 - four.left));
    const spot error = find(&p, 0x4D5056, (part){ four.right + 2, head, p.width, head + row });
    ck_assert_int_le(abs(error.right - end), 2);
    free_picture(&p);
}
END_TEST

static void assert_few_ticks(double lo, double hi, bool log, double most, const char *expected)
{
    const plot_range range = { .log = log, .any = true, .lo = lo, .hi = hi };
    plot_axis axis;
    app_plot_axis_init(&axis, &range, (double[]){ lo, hi }, (plot_pad){ 0, 0 }, most);
    char text[512] = "";
    for (size_t i = 0; i < axis.ticks_count; i++)
        if (!axis.ticks[i].minor)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s%s", *text ? " " : "",
                     axis.ticks[i].label.text, *axis.ticks[i].label.power ? "^" : "",
                     axis.ticks[i].label.power);
    ck_assert_str_eq(text, expected);
}

static void assert_ticks(double lo, double hi, bool log, const char *expected)
{
    assert_few_ticks(lo, hi, log, 6, expected);
}

START_TEST(test_ticks)
{
    assert_few_ticks(-6, 8, false, 2, "\u22125 0 5"); /* in steps of 10 there would be one */
    assert_few_ticks(0.02, 8, true, 2, "0.1 1");
    assert_ticks(0, 1, false, "0 0.2 0.4 0.6 0.8 1.0");
    assert_ticks(-7, 7, false, "\u22125 0 5");
    assert_ticks(0, 20000, false, "0 5k 10k 15k 20k");
    assert_ticks(0, 3e6, false, "0 0.5M 1.0M 1.5M 2.0M 2.5M 3.0M");
    assert_ticks(0, 9000, false, "0 2000 4000 6000 8000");
    assert_ticks(1e-7, 5e-7, false,
                 "1\u00D710^\u22127 2\u00D710^\u22127 3\u00D710^\u22127 "
                 "4\u00D710^\u22127 5\u00D710^\u22127");
    assert_ticks(1000.1, 1000.2, false, "1000.10 1000.12 1000.14 1000.16 1000.18 1000.20");
    assert_ticks(6e-4, 1, true, "0.001 0.01 0.1 1");
    assert_ticks(1e-9, 1e3, true, "10^\u22128 10^\u22126 10^\u22124 10^\u22122 10^0 10^2");
    assert_ticks(1, 50, true, "1 2 5 10 20 50");
    assert_ticks(1000, 4000, true, "1000 1500 2000 2500 3000 3500 4000");
}
END_TEST

/* Against matplotlib's table of viridis. */
START_TEST(test_viridis)
{
    const int table[][3] = {
        { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 }
    };
    for (int i = 0; i < 5; i++) {
        const plot_colour c = app_plot_viridis(i / 4.0);
        ck_assert_close(255 * c.r, table[i][0], 0, 5);
        ck_assert_close(255 * c.g, table[i][1], 0, 5);
        ck_assert_close(255 * c.b, table[i][2], 0, 5);
    }
}
END_TEST

static Suite *plot_suite(void)
{
    Suite *suite = suite_create("plot");
    TCase *tests = tcase_create("pixels");
    tcase_add_checked_fixture(tests, make_path, remove_path);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_line_rises_to_the_right);
    tcase_add_test(tests, test_logarithmic_axis);
    tcase_add_test(tests, test_gaps_and_lone_points);
    tcase_add_test(tests, test_long_series_keep_their_extremes);
    tcase_add_test(tests, test_traces_take_their_coordinate);
    tcase_add_test(tests, test_autocorrelation_band);
    tcase_add_test(tests, test_ess_rows);
    tcase_add_test(tests, test_many_coordinates_are_sorted);
    tcase_add_test(tests, test_map_is_upright);
    tcase_add_test(tests, test_map_ellipse);
    tcase_add_test(tests, test_bars);
    tcase_add_test(tests, test_ticks);
    tcase_add_test(tests, test_viridis);
    suite_add_tcase(suite, tests);
    return suite;
}

HS_TEST_MAIN(plot_suite())
