/* Progress: what a scripted run shows on a terminal, which is played back here, and elsewhere. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/hs_check.h"

#include <hastings/cli/terminal/interrupt.h>
#include <hastings/cli/terminal/progress.h>

/* ---- A terminal ------------------------------------------------------------------------------ */

enum { LINES = 64, COLUMNS = 200 };

typedef struct {
    char text[LINES][COLUMNS + 1]; /* one character a column; those beyond ASCII are '@' */
    size_t line, column, width;
    bool cursor; /* shown */
    size_t wrapped, colours;
} terminal;

static terminal terminal_new(size_t width)
{
    terminal t = { .width = width, .cursor = true };
    for (size_t i = 0; i < LINES; i++)
        memset(t.text[i], ' ', COLUMNS);
    return t;
}

static void escape(terminal *t, const char **c)
{
    char code[16];
    size_t n = 0;
    ck_assert_int_eq(*++*c, '[');
    while (n < sizeof code - 1 && !((code[n] = *++*c) >= '@' && code[n] <= '~'))
        n++;
    const char last = code[n];
    code[n] = '\0';
    const size_t number = strtoul(code, NULL, 10);
    if (last == 'A') {
        ck_assert_uint_ge(t->line, number); /* nothing above the first line is drawn over */
        t->line -= number;
    } else if (last == 'K') {
        memset(t->text[t->line] + t->column, ' ', COLUMNS - t->column);
    } else if (last == 'J') {
        memset(t->text[t->line] + t->column, ' ', COLUMNS - t->column);
        for (size_t i = t->line + 1; i < LINES; i++)
            memset(t->text[i], ' ', COLUMNS);
    } else if (last == 'l' || last == 'h') {
        ck_assert_str_eq(code, "?25");
        t->cursor = last == 'h';
    } else {
        ck_assert_int_eq(last, 'm');
        t->colours++;
    }
}

static void play(terminal *t, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\x1b') {
            escape(t, &c);
        } else if (*c == '\n') {
            t->line++;
            t->column = 0;
        } else if (*c == '\r') {
            t->column = 0;
        } else if (((unsigned char)*c & 0xc0) != 0x80) {
            if (t->column == t->width) {
                t->wrapped++;
                t->line++;
                t->column = 0;
            }
            ck_assert_uint_lt(t->line, LINES);
            t->text[t->line][t->column++] = (unsigned char)*c < 0x80 ? *c : '@';
        }
    }
}

/* A line of the terminal without blanks at its end. */
static const char *line(const terminal *t, size_t i)
{
    static char text[COLUMNS + 1];
    memcpy(text, t->text[i], COLUMNS);
    size_t n = COLUMNS;
    while (n && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    return text;
}

/* ---- A run ----------------------------------------------------------------------------------- */

static double time_now;

static double now(void)
{
    return time_now;
}

typedef struct {
    app_bars *bars;
    FILE *file;
    char *text;
    size_t size;
} stage;

static stage stage_open(app_bars_options options)
{
    stage s = { 0 };
    app_interrupt_catch(); /* forgets earlier ones */
    s.file = tmpfile();
    options.stream = s.file;
    options.now = now;
    time_now = 1000;
    s.bars = app_bars_new(&options);
    ck_assert_ptr_nonnull(s.bars);
    return s;
}

/* What was written so far. */
static const char *written(stage *s)
{
    static char text[1 << 16];
    fflush(s->file);
    const long at = ftell(s->file);
    rewind(s->file);
    text[fread(text, 1, sizeof text - 1, s->file)] = '\0';
    fseek(s->file, at, SEEK_SET);
    return text;
}

static void stage_close(stage *s)
{
    app_bars_free(s->bars);
    fclose(s->file);
}

static bool begin(stage *s, size_t slot, size_t job, size_t jobs, const char *label)
{
    return app_bars_watch(&(app_event){ .kind = APP_JOB_BEGINS,
                                        .slot = slot,
                                        .workers = 2,
                                        .job = job,
                                        .jobs = jobs,
                                        .label = label },
                          s->bars);
}

static bool step(stage *s, size_t slot, const char *what, uint64_t at, double loss)
{
    const hs_progress p = { .what = what, .step = at, .steps = 1000, .loss = loss, .alpha = 0.66 };
    return app_bars_watch(
        &(app_event){
            .kind = APP_JOB_PROGRESS, .slot = slot, .workers = 2, .jobs = 3, .progress = &p },
        s->bars);
}

static bool end(stage *s, size_t slot, size_t done, const char *text, bool failed)
{
    return app_bars_watch(&(app_event){ .kind = APP_JOB_ENDS,
                                        .slot = slot,
                                        .workers = 2,
                                        .job = done,
                                        .jobs = 3,
                                        .text = text,
                                        .failed = failed },
                          s->bars);
}

/* Two jobs at once; after 3 s one has 300 of 1000 steps, the other 600; then one ends. */
static void first_half(stage *s)
{
    app_bars_watch(&(app_event){ .kind = APP_RUN_BEGINS, .workers = 2, .jobs = 3, .estimate = 12 },
                   s->bars);
    begin(s, 0, 0, 3, "one");
    begin(s, 1, 1, 3, "two");
    for (int i = 0; i <= 30; i++) {
        time_now = 1000 + 0.1 * i;
        step(s, 0, "train", (uint64_t)(10 * i), 0.5);
        step(s, 1, "train", (uint64_t)(20 * i), 1234.5678);
    }
    time_now += 0.2; /* nothing new, but time to draw again */
    step(s, 0, "train", 300, 0.5);
}

START_TEST(a_terminal_shows_a_line_a_job_and_a_total)
{
    stage s =
        stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL, .width = 100, .height = 24 });
    first_half(&s);
    terminal t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_str_eq(line(&t, 0), "3 jobs, 2 at a time, about 0:12");
    ck_assert_str_eq(
        line(&t, 1),
        "train  #####...........  30%    100/s    0:07 left loss 0.5       acc 0.66 one");
    ck_assert_str_eq(
        line(&t, 2),
        "train  ##########......  60%    200/s    0:02 left loss 1235      acc 0.66 two");
    ck_assert_str_eq(line(&t, 3), "0 of 3 done, 0:03 so far, about 0:07 left");
    ck_assert_str_eq(line(&t, 4), "");
    ck_assert(t.cursor);
    ck_assert_uint_eq(t.wrapped, 0);
    ck_assert_uint_eq(t.colours, 0);

    /* A job ends: its line stays above the others, which move up into its place. */
    end(&s, 1, 1, "acceptance 0.66", false);
    app_bars_watch(&(app_event){ .kind = APP_RUN_MESSAGE, .jobs = 3, .text = "Mind the gap." },
                   s.bars);
    t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_str_eq(line(&t, 1), "[1/3] two: acceptance 0.66");
    ck_assert_str_eq(line(&t, 2), "Mind the gap.");
    ck_assert_ptr_nonnull(strstr(line(&t, 3), "30%"));
    ck_assert_ptr_nonnull(strstr(line(&t, 3), " one"));
    /* 1.3 of 3 jobs in 3 s */
    ck_assert_str_eq(line(&t, 4), "1 of 3 done, 0:03 so far, about 0:04 left");
    ck_assert_str_eq(line(&t, 5), "");

    /* At the end only what was said stays. */
    end(&s, 0, 2, NULL, true);
    app_bars_watch(&(app_event){ .kind = APP_RUN_ENDS, .jobs = 3 }, s.bars);
    t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_str_eq(line(&t, 3), "[2/3] one: failed");
    ck_assert_str_eq(line(&t, 4), "");
    ck_assert_uint_eq(t.line, 4);
    ck_assert_uint_eq(t.column, 0);
    ck_assert(t.cursor);
    stage_close(&s);
}
END_TEST

START_TEST(lines_fit_any_width)
{
    for (size_t width = 1; width <= 160; width++) {
        stage s = stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL,
                                                 .width = width,
                                                 .height = 24,
                                                 .colour = true,
                                                 .utf8 = true });
        begin(&s, 0, 0, 1,
              "a label with \xc3\xbcmlauts that is far too long for most of the lines, and goes on "
              "and on");
        for (int i = 0; i <= 20; i++) {
            time_now += 1;
            step(&s, 0, "train", (uint64_t)(50 * i), 123456.789);
        }
        terminal t = terminal_new(width);
        play(&t, written(&s));
        ck_assert_uint_eq(t.wrapped, 0);
        ck_assert(t.cursor);
        if (width >= 10)
            ck_assert_ptr_nonnull(strstr(line(&t, 0), "100%"));
        if (width >= 62) {
            ck_assert_ptr_nonnull(strchr(line(&t, 0), '@')); /* a bar */
            ck_assert_uint_gt(t.colours, 0);
        }
        if (width > 90)
            ck_assert_ptr_nonnull(strstr(line(&t, 0), "loss 1.235e+05"));
        stage_close(&s);
    }
}
END_TEST

START_TEST(more_slots_than_lines)
{
    stage s = stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL, .width = 80, .height = 6 });
    for (size_t i = 0; i < 30; i++)
        begin(&s, i, i, 30, "job");
    terminal t = terminal_new(80);
    play(&t, written(&s));
    ck_assert_str_eq(line(&t, 4), "0 of 30 done, 0:00 so far");
    ck_assert_str_eq(line(&t, 5), "");
    stage_close(&s);
}
END_TEST

START_TEST(elsewhere_plain_lines_now_and_then)
{
    stage s = stage_open((app_bars_options){ .mode = APP_BARS_PLAIN });
    app_bars_watch(
        &(app_event){ .kind = APP_RUN_BEGINS, .workers = 1, .jobs = 1, .estimate = (double)NAN },
        s.bars);
    begin(&s, 0, 0, 3, "one");
    for (int i = 0; i <= 100; i++) {
        time_now = 1000 + 0.11 * i; /* 11 s */
        step(&s, 0, "train", (uint64_t)(10 * i), i < 60 ? 0.5 : (double)NAN);
    }
    end(&s, 0, 1, "acceptance 0.66", false);
    ck_assert_str_eq(written(&s), "1 job, 1 at a time\n"
                                  "one: begins\n"
                                  "one: train 46%, 91/s, 0:06 left, loss 0.5, acceptance 0.66\n"
                                  "one: train 92%, 91/s, 0:01 left, acceptance 0.66\n"
                                  "[1/3] one: acceptance 0.66\n");
    stage_close(&s);
}
END_TEST

START_TEST(quiet_says_only_what_failed)
{
    for (int mode = APP_BARS_TERMINAL; mode <= APP_BARS_PLAIN; mode++) {
        stage s = stage_open(
            (app_bars_options){ .mode = (app_bars_mode)mode, .quiet = true, .width = 80 });
        first_half(&s);
        end(&s, 0, 1, "fine", false);
        ck_assert_str_eq(written(&s), "");
        end(&s, 1, 2, "no numbers", true);
        ck_assert_str_eq(written(&s), "[2/3] two: failed: no numbers\n");
        stage_close(&s);
    }
    ck_assert(app_bars_watch(&(app_event){ .kind = APP_RUN_BEGINS }, NULL)); /* nobody watches */
    app_bars_free(NULL);
}
END_TEST

/* The rate is that of the last while: a job that was fast for long and then is slow says so. */
START_TEST(time_left_follows_the_rate)
{
    stage s =
        stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL, .width = 100, .height = 24 });
    begin(&s, 0, 0, 1, "one");
    uint64_t at = 0;
    for (int i = 0; i < 100; i++, time_now += 1)
        step(&s, 0, "train", at += 5, 0);
    for (int i = 0; i < 60; i++, time_now += 1)
        step(&s, 0, "train", at += 1, 0);
    terminal t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_ptr_nonnull(strstr(line(&t, 0), " 1.0/s "));
    ck_assert_ptr_nonnull(strstr(line(&t, 0), " 7:1")); /* 440 steps, at a little more than 1/s */
    /* Another phase begins anew; and one that is resumed does not begin at 0. */
    step(&s, 0, "sample", 500, (double)NAN);
    time_now += 1;
    step(&s, 0, "sample", 510, (double)NAN);
    t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_ptr_nonnull(strstr(line(&t, 0), "sample "));
    ck_assert_ptr_nonnull(strstr(line(&t, 0), "  10/s "));
    ck_assert_ptr_nonnull(strstr(line(&t, 0), " 0:49 left"));
    ck_assert_ptr_null(strstr(line(&t, 0), "loss"));
    stage_close(&s);
}
END_TEST

/* A run of 4 jobs of which 2 were done before: half of what is left takes as long again. */
START_TEST(a_resumed_run)
{
    stage s =
        stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL, .width = 100, .height = 24 });
    app_bars_watch(&(app_event){ .kind = APP_RUN_BEGINS,
                                 .workers = 1,
                                 .job = 2,
                                 .jobs = 4,
                                 .label = "Four",
                                 .estimate = 100 },
                   s.bars);
    begin(&s, 0, 2, 4, "three");
    time_now += 10;
    app_bars_watch(
        &(app_event){ .kind = APP_JOB_ENDS, .job = 3, .jobs = 4, .label = "three", .text = "" },
        s.bars);
    terminal t = terminal_new(100);
    play(&t, written(&s));
    ck_assert_str_eq(line(&t, 0), "Four: 4 jobs, 2 of them done before, 1 at a time, about 1:40");
    ck_assert_str_eq(line(&t, 1), "[3/4] three: done");
    ck_assert_str_eq(line(&t, 2), "3 of 4 done, 0:10 so far, about 0:10 left");
    stage_close(&s);
}
END_TEST

START_TEST(durations)
{
    static const struct {
        double seconds;
        const char *text;
    } all[] = { { 0, "0:00" },         { 4.4, "0:04" },
                { 59.6, "1:00" },      { 750, "12:30" },
                { 3599.6, "1:00:00" }, { 11105, "3:05:05" },
                { 187200, "2 d 4 h" }, { -1, "-" },
                { (double)NAN, "-" },  { (double)INFINITY, "-" } };
    char text[APP_DURATION_TEXT];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_str_eq(app_duration(all[i].seconds, text), all[i].text);
}
END_TEST

START_TEST(the_first_interruption_asks_the_second_ends)
{
    stage s = stage_open((app_bars_options){ .mode = APP_BARS_PLAIN });
    ck_assert(begin(&s, 0, 0, 3, "one"));
    ck_assert(step(&s, 0, "train", 1, 0));
    ck_assert(!app_interrupted() && !app_interrupt_is_due(NULL));
    raise(SIGTERM);
    ck_assert(app_interrupted());
    while (!app_interrupt_is_due(NULL)) /* it will be */
        poll(NULL, 0, 1);
    ck_assert(!step(&s, 0, "train", 2, 0));
    ck_assert(!end(&s, 0, 1, "stopped", false));
    const char *said = "Stopping, and saving what there is; Ctrl-C again stops at once.\n";
    const char *first = strstr(written(&s), said);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, said)); /* once */
    struct sigaction now_is;
    sigaction(SIGINT, NULL, &now_is);
    ck_assert(now_is.sa_handler == SIG_DFL);
    sigaction(SIGTERM, NULL, &now_is);
    ck_assert(now_is.sa_handler == SIG_DFL);
    app_interrupt_catch();
    ck_assert(!app_interrupted());
    app_interrupt_release();
    stage_close(&s);
}
END_TEST

START_TEST(work_without_results_is_left_at_once)
{
    static const int signals[] = { SIGINT, SIGTERM };
    for (size_t i = 0; i < 2; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            app_interrupt_leaves();
            raise(signals[i]);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 130);
    }
}
END_TEST

/* What is ignored, by nohup say, stays ignored. */
START_TEST(ignored_signals_stay_ignored)
{
    signal(SIGINT, SIG_IGN);
    app_interrupt_catch();
    raise(SIGINT);
    ck_assert(!app_interrupted());
    app_interrupt_release();
    struct sigaction now_is;
    sigaction(SIGINT, NULL, &now_is);
    ck_assert(now_is.sa_handler == SIG_IGN);
    signal(SIGINT, SIG_DFL);
}
END_TEST

/* Between jobs, and after the last, nothing is drawn that would be in the way of a result. */
START_TEST(jobs_one_after_the_other)
{
    stage s =
        stage_open((app_bars_options){ .mode = APP_BARS_TERMINAL, .width = 100, .height = 24 });
    for (size_t job = 0; job < 2; job++) {
        app_bars_begin(s.bars, job, 2, job ? "second" : "first");
        const hs_progress p = { .what = "train", .step = 1, .steps = 2, .loss = 1, .alpha = 0.5 };
        ck_assert(app_bars_progress(&p, s.bars));
        app_bars_end(s.bars, job ? NULL : "fine", false);
        terminal t = terminal_new(100);
        play(&t, written(&s));
        ck_assert_str_eq(line(&t, job), job ? "[2/2] second: done" : "[1/2] first: fine");
        ck_assert_uint_eq(t.line, job + 1);
        ck_assert_str_eq(line(&t, job + 1), "");
    }
    stage_close(&s);
}
END_TEST

/* By itself: a terminal of 70 columns is seen to be one, and has lines of that width. */
START_TEST(a_real_terminal)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master))
        return; /* no pseudo-terminals here */
    FILE *slave = fopen(ptsname(master), "w");
    ck_assert_ptr_nonnull(slave);
    const struct winsize size = { .ws_row = 24, .ws_col = 70 };
    ck_assert_int_eq(ioctl(master, TIOCSWINSZ, &size), 0);
    for (int dumb = 0; dumb < 2; dumb++) {
        setenv("TERM", dumb ? "dumb" : "xterm", 1);
        setenv("NO_COLOR", "1", 1);
        setenv("LC_ALL", "C", 1);
        app_interrupt_catch();
        app_bars *bars = app_bars_new(&(app_bars_options){ .stream = slave });
        app_bars_begin(bars, 0, 1,
                       "a label that would go on for a hundred columns if it could, but it cannot");
        const hs_progress p = { .what = "train", .step = 1, .steps = 2, .loss = 1, .alpha = 0.5 };
        ck_assert(app_bars_progress(&p, bars));
        app_bars_end(bars, "fine", false);
        app_bars_free(bars);
        fflush(slave);
        char text[8192];
        size_t n = 0;
        for (struct pollfd more = { .fd = master, .events = POLLIN }; poll(&more, 1, 200) == 1;) {
            const ssize_t got = read(master, text + n, sizeof text - 1 - n);
            if (got <= 0)
                break;
            n += (size_t)got;
        }
        text[n] = '\0';
        ck_assert_int_eq(strchr(text, '\x1b') != NULL, !dumb);
        ck_assert_ptr_null(strstr(text, "\x1b[36m")); /* NO_COLOR */
        terminal t = terminal_new(70);
        play(&t, text);
        ck_assert(t.cursor);
        if (!dumb)
            ck_assert_uint_eq(t.line, 2); /* the long last line, and nothing else, has wrapped */
    }
    fclose(slave);
    close(master);
}
END_TEST

static Suite *progress_suite(void)
{
    Suite *suite = suite_create("cli progress");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_terminal_shows_a_line_a_job_and_a_total);
    tcase_add_test(all, lines_fit_any_width);
    tcase_add_test(all, more_slots_than_lines);
    tcase_add_test(all, elsewhere_plain_lines_now_and_then);
    tcase_add_test(all, quiet_says_only_what_failed);
    tcase_add_test(all, time_left_follows_the_rate);
    tcase_add_test(all, a_resumed_run);
    tcase_add_test(all, durations);
    tcase_add_test(all, the_first_interruption_asks_the_second_ends);
    tcase_add_test(all, work_without_results_is_left_at_once);
    tcase_add_test(all, ignored_signals_stay_ignored);
    tcase_add_test(all, jobs_one_after_the_other);
    tcase_add_test(all, a_real_terminal);
    suite_add_tcase(suite, all);
    return suite;
}

HS_TEST_MAIN(progress_suite())
