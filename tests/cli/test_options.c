/* The command line: options by table, messages, help, and the exit codes of the program. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/hs_check.h"

#include <jansson.h>

#include <hastings/cli/commands/command.h>

static const app_option table[] = {
    { "steps", APP_OPTION_COUNT, "N", "gradient steps" },
    { "seed", APP_OPTION_WHOLE, "N", "of random numbers" },
    { "rate", APP_OPTION_NUMBER, "X", "learning rate" },
    { "precision", APP_OPTION_CHOICE, "f32|f64", "of numbers" },
    { "out", APP_OPTION_FOLDER, "DIR", "folder" },
    { "quick", APP_OPTION_FLAG, NULL, "a small version" },
    { 0 },
};

enum { MOST = 8 };

static int count(char *const *argv)
{
    int n = 0;
    while (argv[n])
        n++;
    return n;
}

/* Parses words that end with NULL. */
static bool parse(app_arguments *a, hs_message *message, char **argv)
{
    *a = (app_arguments){ .name = "hastings test", .tables = { app_global_options, table } };
    message->text[0] = '\0';
    return app_arguments_parse(a, count(argv), argv, message);
}

START_TEST(both_ways_of_giving_a_value)
{
    app_arguments a;
    hs_message message;
    ck_assert(parse(
        &a, &message,
        (char *[]){ "--steps", "12", "cross", "--rate=2.5e-3", "--quick", "--", "--x", NULL }));
    ck_assert_uint_eq(app_given_count(&a, "steps", 1), 12);
    ck_assert_double_eq(app_given_number(&a, "rate", 1), 2.5e-3);
    ck_assert(app_given(&a, "quick"));
    ck_assert(!app_given(&a, "seed"));
    ck_assert_uint_eq(app_given_count(&a, "seed", 77), 77);
    ck_assert_ptr_null(app_given_text(&a, "out"));
    ck_assert_uint_eq(a.words, 2);
    ck_assert_str_eq(a.word[0], "cross");
    ck_assert_str_eq(a.word[1], "--x"); /* after --, nothing is an option */
    ck_assert_int_eq(a.taken, 7);
}
END_TEST

START_TEST(the_last_of_two_counts)
{
    app_arguments a;
    hs_message message;
    ck_assert(parse(&a, &message, (char *[]){ "--steps=1", "--steps", "2", NULL }));
    ck_assert_uint_eq(app_given_count(&a, "steps", 0), 2);
    ck_assert_uint_eq(a.given, 1);
}
END_TEST

START_TEST(values_may_look_like_options_and_a_dash_is_a_word)
{
    app_arguments a;
    hs_message message;
    ck_assert(parse(&a, &message, (char *[]){ "--out", "--steps", "-", NULL }));
    ck_assert_str_eq(app_given_text(&a, "out"), "--steps");
    ck_assert_str_eq(a.word[0], "-");
    ck_assert(parse(&a, &message, (char *[]){ "-h", NULL }));
    ck_assert(app_given(&a, "help"));
}
END_TEST

static const struct {
    char *argv[MOST];
    const char *says;
} wrong[] = {
    { { "--stpes", "3" }, "hastings test: there is no option --stpes; did you mean --steps?" },
    { { "--stpes=3" }, "hastings test: there is no option --stpes; did you mean --steps?" },
    { { "--thread", "3" }, "hastings test: there is no option --thread; did you mean --threads?" },
    { { "--zzzzzzzz" }, "hastings test: there is no option --zzzzzzzz" },
    { { "-x" }, "hastings test: there is no option -x; options are --name, or -h" },
    { { "--steps", "0" }, "hastings test: --steps 0: expected a whole number of at least 1" },
    { { "--steps", "-1" }, "hastings test: --steps -1: expected a whole number of at least 1" },
    { { "--steps", "1.5" }, "hastings test: --steps 1.5: expected a whole number of at least 1" },
    { { "--steps", "10x" }, "hastings test: --steps 10x: expected a whole number of at least 1" },
    { { "--steps", " 1" }, "hastings test: --steps  1: expected a whole number of at least 1" },
    { { "--steps", "+1" }, "hastings test: --steps +1: expected a whole number of at least 1" },
    { { "--steps", "0x10" }, "hastings test: --steps 0x10: expected a whole number of at least 1" },
    { { "--steps=" }, "hastings test: --steps \"\": expected a whole number of at least 1" },
    { { "--steps", "9007199254740993" },
      "hastings test: --steps 9007199254740993: expected a whole number of at most 2^53" },
    { { "--steps", "99999999999999999999999999" },
      "hastings test: --steps 99999999999999999999999999: expected a whole number of at most "
      "2^53" },
    { { "--seed", "-0" }, "hastings test: --seed -0: expected a whole number of at least 0" },
    { { "--steps" }, "hastings test: --steps needs a value, N" },
    { { "--rate", "0" }, "hastings test: --rate 0: expected a positive number" },
    { { "--rate", "nan" }, "hastings test: --rate nan: expected a positive number" },
    { { "--rate", "inf" }, "hastings test: --rate inf: expected a positive number" },
    { { "--rate", "1e999" }, "hastings test: --rate 1e999: expected a positive number" },
    { { "--rate", "1e-3,5" }, "hastings test: --rate 1e-3,5: expected a positive number" },
    { { "--precision", "f16" }, "hastings test: --precision f16: expected f32 or f64" },
    { { "--precision", "f3" }, "hastings test: --precision f3: expected f32 or f64" },
    { { "--precision", "f32|f64" }, "hastings test: --precision f32|f64: expected f32 or f64" },
    { { "--quick=1" }, "hastings test: --quick takes no value" },
    { { "--out", "" }, "hastings test: --out \"\": expected something" },
};

START_TEST(what_makes_no_sense_is_refused_with_a_sentence)
{
    app_arguments a;
    hs_message message;
    char *argv[MOST];
    memcpy(argv, wrong[_i].argv, sizeof argv);
    ck_assert(!parse(&a, &message, argv));
    ck_assert_str_eq(message.text, wrong[_i].says);
}
END_TEST

START_TEST(good_values)
{
    static char *const argv[][3] = { { "--steps", "1" },        { "--steps", "9007199254740992" },
                                     { "--seed", "0" },         { "--rate", ".5" },
                                     { "--precision", "f64" },  { "--rate=1e-300" },
                                     { "--steps", "000000012" } };
    for (size_t i = 0; i < sizeof argv / sizeof *argv; i++) {
        app_arguments a;
        hs_message message;
        char *words[4] = { argv[i][0], argv[i][1], NULL };
        ck_assert_msg(parse(&a, &message, words), "%s", message.text);
    }
}
END_TEST

START_TEST(help_wraps_at_80_columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (size_t i = 0; app_command_at(i); i++)
        app_command_help(f, app_command_at(i));
    app_command_help(f, NULL);
    fclose(f);
    size_t column = 0, options = 0;
    for (const char *c = text; *c; c++) {
        column = *c == '\n' ? 0 : column + 1;
        /* Examples are lines to copy, and stay whole. */
        const char *line = c - column + 1;
        ck_assert_msg(column <= 80 || !strncmp(line, "  hastings ", 11), "too long: %.120s", line);
    }
    for (size_t i = 0; app_command_at(i); i++) {
        const app_command *c = app_command_at(i);
        for (const app_option *o = c->options; o && o->name; o++, options++) {
            char written[80];
            snprintf(written, sizeof written, "  --%s", o->name);
            ck_assert_msg(strstr(text, written) != NULL, "help lacks --%s", o->name);
            ck_assert_msg((o->argument == NULL) == (o->type == APP_OPTION_FLAG), "--%s", o->name);
        }
        ck_assert_ptr_nonnull(c->examples);
        ck_assert(c->run != NULL);
    }
    ck_assert_uint_gt(options, 40);
    free(text);
}
END_TEST

START_TEST(wrapped_text)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    app_print_wrapped(
        f, "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee ffffffffff gggggggggg", 5, 3);
    fclose(f);
    ck_assert_str_eq(text, "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee ffffffffff\n"
                           "   gggggggggg\n");
    free(text);
}
END_TEST

/* ---- The program ----------------------------------------------------------------------------- */

enum { OUTPUT = 1 << 18 };
static char out[OUTPUT], err[OUTPUT];

static void read_back(FILE *f, char *text)
{
    rewind(f);
    text[fread(text, 1, OUTPUT - 1, f)] = '\0';
    fclose(f);
}

/* Runs the program in this process, with what it writes in `out` and `err`. */
static int call(char **words)
{
    char *argv[64] = { "hastings" };
    int n = 1;
    for (; words[n - 1]; n++)
        argv[n] = words[n - 1];
    FILE *to = tmpfile(), *errors = tmpfile();
    fflush(stdout);
    fflush(stderr);
    const int kept[2] = { dup(1), dup(2) };
    dup2(fileno(to), 1);
    dup2(fileno(errors), 2);
    const int code = app_cli(n, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(kept[0], 1);
    dup2(kept[1], 2);
    close(kept[0]);
    close(kept[1]);
    read_back(to, out);
    read_back(errors, err);
    return code;
}

#define CALL(...) call((char *[]){ __VA_ARGS__, NULL })

START_TEST(usage)
{
    ck_assert_int_eq(call((char *[]){ NULL }), 2);
    ck_assert_str_eq(out, "");
    ck_assert_ptr_nonnull(strstr(err, "usage: hastings COMMAND"));
    ck_assert_int_eq(CALL("--help"), 0);
    ck_assert_ptr_nonnull(strstr(out, "Exit codes: 0"));
    ck_assert_str_eq(err, "");
    ck_assert_int_eq(CALL("--version"), 0);
    ck_assert_ptr_nonnull(strstr(out, "hastings 0."));
    ck_assert_int_eq(CALL("help", "run"), 0);
    ck_assert_ptr_nonnull(strstr(out, "usage: hastings run NAME|FILE.json [OPTION...]"));
    char same[OUTPUT];
    strcpy(same, out);
    ck_assert_int_eq(CALL("run", "cross", "--help"), 0);
    ck_assert_str_eq(out, same);
    ck_assert_int_eq(CALL("--help", "run"), 0);
    ck_assert_str_eq(out, same);
}
END_TEST

static const struct {
    char *argv[MOST];
    int code;
    const char *says;
} calls[] = {
    { { "rnu" }, 2, "hastings: there is no command \"rnu\"; did you mean run?\n" },
    { { "--quite", "run" }, 2, "hastings: there is no option --quite; did you mean --quiet?\n" },
    { { "run", "--stpes", "1" },
      2,
      "hastings run: there is no option --stpes; did you mean --steps?\n" },
    { { "run" }, 2, "hastings run: which experiment? hastings list experiments shows all\n" },
    { { "run", "cross", "fit" }, 2, "hastings run: \"fit\" is one argument too many\n" },
    { { "run", "crss" }, 2, "did you mean \"cross\"?" },
    { { "run", "cross", "--label", "y" },
      2,
      "hastings run: --label names a column of --data FILE, which is missing\n" },
    { { "run", "cross", "--resume", "x" }, 2, "\"cross\" is one too many" },
    { { "run", "--resume", "x", "--steps", "3" }, 2, "--steps cannot be changed by --resume" },
    { { "list", "target" },
      2,
      "hastings list: there are no \"target\" to list; did you mean targets?\n" },
    { { "train" }, 2, "--target and --proposal are needed" },
    { { "train", "--target", "crosss", "--proposal", "mala" }, 2, "did you mean \"cross\"?" },
    { { "train", "--target", "cross", "--proposal", "mala", "--objective", "msdj" }, 2, "msjd" },
    { { "train", "--target", "cross", "--proposal", "mala", "--name=a/b" }, 2, "has no slash" },
    { { "sample" },
      2,
      "hastings sample: PROPOSAL.json is missing; hastings sample --help says more\n" },
    { { "sample", "nowhere.json" }, 1, "nowhere.json: cannot open it: No such file or directory" },
    { { "sample", "nowhere.json", "--out", "a.txt" },
      2,
      "expected one of .nc (ArviZ), .npy (NumPy), .csv (CmdStan)" },
    { { "sample", "experiments/fit.json" }, 1, "experiments/fit.json is not a proposal" },
    { { "sample", "README.md" }, 1, "README.md, line 1, column" },
    { { "diagnose", "nowhere.nc" }, 1, "nowhere.nc" },
    { { "fit", "walk", "--method", "newtn" },
      2,
      "--method newtn: expected newton or lines or least-squares or stochastic\n" },
    { { "fit", "both", "--method", "newton" }, 2, "--method newton is for one problem" },
    { { "fit", "run" }, 2, "a fit is of walk, mala or both, not of \"run\"" },
    { { "select" }, 2, "--target is needed" },
    { { "select", "--target", "cross", "--batches", "1" }, 2, "--batches must be at least 2" },
    { { "train", "--target", "logistic,data=odd\xff.csv", "--proposal", "mala" },
      2,
      "hastings train: --target logistic,data=odd\\xff.csv: expected UTF-8" },
    { { "train", "--target", "cross", "--proposal", "mala", "--name", "\xe9" },
      2,
      "--name \\xe9: expected UTF-8" },
    { { "select", "--target", "cross", "--schemes", "mala\xff" }, 2, "expected UTF-8" },
    { { "run", "cross", "--case", "L=\xff" }, 2, "expected UTF-8" },
    { { "run", "cross", "--json", "--out", "\xff" }, 2, "expected UTF-8" },
    { { "report", "--json", "\xff" }, 1, "\\xff: expected UTF-8" },
    { { "select", "--target", "cross", "--schemes", "mala;;hmc" }, 2, "--schemes: expected up to" },
    { { "select", "--target", "cross", "--schemes", "malla" }, 2, "did you mean \"mala\"?" },
    { { "report", "nowhere" }, 1, "nowhere" },
    { { "completion", "tcsh" }, 2, "hastings completion: \"tcsh\": expected bash, zsh or fish\n" },
};

START_TEST(exit_codes_and_messages)
{
    char *argv[MOST];
    memcpy(argv, calls[_i].argv, sizeof argv);
    ck_assert_int_eq(call(argv), calls[_i].code);
    ck_assert_msg(strstr(err, calls[_i].says) != NULL, "\"%s\" is not in \"%s\"", calls[_i].says,
                  err);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(too_many_threads_are_a_warning)
{
    ck_assert_int_eq(CALL("fit", "walk", "--rows", "400", "--dim", "10", "--threads", "1000"), 0);
    ck_assert_ptr_nonnull(strstr(err, "--threads 1000: there "));
    ck_assert_ptr_nonnull(strstr(err, "will not be faster"));
    ck_assert_ptr_nonnull(strstr(out, "A = "));
    ck_assert_int_eq(
        CALL("--quiet", "fit", "walk", "--rows", "400", "--dim", "10", "--threads", "1000"), 0);
    ck_assert_str_eq(err, "");
}
END_TEST

START_TEST(json_is_all_that_stdout_gets)
{
    static char *const commands[][6] = { { "list" },
                                         { "list", "targets" },
                                         { "fit", "mala", "--rows", "400" },
                                         { "fit", "both", "--rows", "400" } };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *argv[8] = { "--json" };
        memcpy(argv + 1, commands[i], sizeof commands[i]);
        ck_assert_int_eq(call(argv), 0);
        json_error_t error;
        json_t *json = json_loads(out, JSON_REJECT_DUPLICATES, &error);
        ck_assert_msg(json != NULL, "%s: %s", commands[i][0], error.text);
        ck_assert(json_is_object(json));
        json_decref(json);
    }
}
END_TEST

/* The list is the tables: every kind is in it. */
START_TEST(list_has_everything)
{
    ck_assert_int_eq(CALL("list"), 0);
    static const char *const some[] = { "cross ",    "logistic ", "multi-scheme ", "couplings=",
                                        "ab-initio", "gsm:",      "random-walk ",  "prior_sd=10" };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        ck_assert_msg(strstr(out, some[i]) != NULL, "%s", some[i]);
}
END_TEST

START_TEST(output_that_cannot_be_written)
{
    const int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        return;
    fflush(stdout);
    const int kept = dup(1);
    dup2(full, 1);
    close(full);
    char *argv[] = { "hastings", "list", NULL };
    FILE *errors = tmpfile();
    const int kept_errors = dup(2);
    dup2(fileno(errors), 2);
    const int code = app_cli(2, argv);
    dup2(kept, 1);
    dup2(kept_errors, 2);
    close(kept);
    close(kept_errors);
    clearerr(stdout);
    read_back(errors, err);
    ck_assert_int_eq(code, 1);
    ck_assert_ptr_nonnull(strstr(err, "hastings: the output could not be written: "));
}
END_TEST

static Suite *options_suite(void)
{
    Suite *suite = suite_create("cli options");
    TCase *parsing = tcase_create("parsing");
    tcase_add_test(parsing, both_ways_of_giving_a_value);
    tcase_add_test(parsing, the_last_of_two_counts);
    tcase_add_test(parsing, values_may_look_like_options_and_a_dash_is_a_word);
    tcase_add_loop_test(parsing, what_makes_no_sense_is_refused_with_a_sentence, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(parsing, good_values);
    tcase_add_test(parsing, help_wraps_at_80_columns);
    tcase_add_test(parsing, wrapped_text);
    suite_add_tcase(suite, parsing);
    TCase *program = tcase_create("program");
    tcase_set_timeout(program, 300);
    tcase_add_test(program, usage);
    tcase_add_loop_test(program, exit_codes_and_messages, 0, sizeof calls / sizeof *calls);
    tcase_add_test(program, too_many_threads_are_a_warning);
    tcase_add_test(program, json_is_all_that_stdout_gets);
    tcase_add_test(program, list_has_everything);
    tcase_add_test(program, output_that_cannot_be_written);
    suite_add_tcase(suite, program);
    return suite;
}

HS_TEST_MAIN(options_suite())
