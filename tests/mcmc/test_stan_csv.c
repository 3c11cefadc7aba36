/* Chains as CmdStan's CSV files: exact text, round trips, files as Stan writes them, every mistake;
 * and files of any kind. */
#include <dirent.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/io/netcdf.h>
#include <hastings/mcmc/io/stan_csv.h>

#include "support/full_disk.h"
#include "support/hs_check.h"
#include "support/scarce_memory.h"

static char directory[] = "/tmp/hastings_stan_XXXXXX";
static char stem[64], first[96], second[96];

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(stem, sizeof stem, "%s/draws", directory);
    snprintf(first, sizeof first, "%s_1.csv", stem);
    snprintf(second, sizeof second, "%s_2.csv", stem);
}

static void remove_directory(void)
{
    DIR *d = opendir(directory);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *entry; (entry = readdir(d));) {
        char path[400];
        ck_assert_ptr_null(strstr(entry->d_name, ".tmp"));
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(d);
    ck_assert_int_eq(rmdir(directory), 0);
}

static hs_chains *new_chains(size_t chains, size_t draws, size_t dim, unsigned keep)
{
    static const double odd[] = { (double)INFINITY, -(double)INFINITY, -0.0, 5e-324,
                                  1.7976931348623157e308 };
    hs_chains *c;
    ck_assert_int_eq(hs_chains_new(&c, chains, draws, dim, keep, NULL), HS_OK);
    for (size_t i = 0; i < chains * draws * dim; i++)
        c->x[i] = i % 7 == 3 ? odd[i / 7 % 5] : (double)i / 7 - 3;
    for (size_t i = 0; i < chains * draws; i++) {
        if (c->log_pi)
            c->log_pi[i] = -(double)i / 3;
        if (c->alpha)
            c->alpha[i] = (double)(i % 10) / 9;
        if (c->jump)
            c->jump[i] = (double)i / 11;
        if (c->accepted)
            c->accepted[i] = i % 3 == 0;
    }
    return c;
}

static void save(const hs_chains *c, const hs_stan_csv_options *options)
{
    hs_message message;
    ck_assert_msg(hs_chains_save_stan_csv(c, options, stem, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
}

static hs_chains *load(size_t count, hs_chain_names *names)
{
    hs_chains *c;
    hs_message message;
    const char *paths[] = { first, second };
    ck_assert_msg(hs_chains_read(&c, names, paths, count, &message) == HS_OK, "%s", message.text);
    ck_assert_str_eq(message.text, "");
    return c;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, strlen(text), file), strlen(text));
    ck_assert_int_eq(fclose(file), 0);
}

static void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
}

static void assert_load_fails(size_t count, hs_status status, const char *part)
{
    hs_chains *c = (hs_chains *)(void *)stem;
    hs_chain_names names;
    hs_message message;
    const char *paths[] = { first, second };
    const hs_status found = hs_chains_read(&c, &names, paths, count, &message);
    ck_assert_msg(found == status, "%s, expected %s: %s", hs_status_text(found),
                  hs_status_text(status), message.text);
    ck_assert_msg(strstr(message.text, part), "\"%s\" does not say \"%s\"", message.text, part);
    ck_assert_msg(strstr(message.text, paths[count - 1]), "\"%s\" does not name the file",
                  message.text);
    ck_assert_ptr_null(c);
    ck_assert_uint_eq(names.count, 0);
}

static void assert_array(const void *a, const void *b, size_t bytes)
{
    ck_assert_int_eq(a == NULL, b == NULL);
    if (a)
        ck_assert_mem_eq(a, b, bytes);
}

static void assert_same(const hs_chains *a, const hs_chains *b)
{
    ck_assert_uint_eq(a->chains, b->chains);
    ck_assert_uint_eq(a->draws, b->draws);
    ck_assert_uint_eq(a->dim, b->dim);
    const size_t rows = a->chains * a->draws, bytes = rows * sizeof(double);
    assert_array(a->x, b->x, bytes * a->dim);
    assert_array(a->log_pi, b->log_pi, bytes);
    assert_array(a->alpha, b->alpha, bytes);
    assert_array(a->jump, b->jump, bytes);
    assert_array(a->accepted, b->accepted, rows);
}

/* ---- Our own files --------------------------------------------------------------------------- */

START_TEST(exact_text)
{
    static const char *const names[] = { "mu", "theta[1]", "theta[2]" };
    hs_chains *c;
    ck_assert_int_eq(hs_chains_new(&c, 2, 2, 3, HS_KEEP_ALL, NULL), HS_OK);
    for (int i = 0; i < 12; i++)
        c->x[i] = 0.5 * i;
    c->log_pi[0] = -0.1;
    c->log_pi[1] = -1e300;
    c->alpha[0] = 1;
    c->alpha[1] = 0.25;
    c->jump[1] = 0.1;
    c->accepted[0] = 1;
    c->seconds = 1.5;
    save(c, &(hs_stan_csv_options){ .names = names, .model = "the cross", .warmup = 7, .seed = 9 });
    hs_chains_free(c);
    char text[4000];
    read_text(first, text, sizeof text);
    ck_assert_str_eq(text, "# stan_version_major = 2\n"
                           "# stan_version_minor = 37\n"
                           "# stan_version_patch = 0\n"
                           "# model = the_cross\n"
                           "# method = sample (Default)\n"
                           "#   sample\n"
                           "#     num_samples = 2\n"
                           "#     num_warmup = 7\n"
                           "#     save_warmup = 0\n"
                           "#     thin = 1\n"
                           "#     adapt\n"
                           "#       engaged = 1\n"
                           "#     algorithm = hmc (Default)\n"
                           "#       hmc\n"
                           "#         engine = nuts (Default)\n"
                           "#           nuts\n"
                           "#             max_depth = 10 (Default)\n"
                           "#         metric = diag_e (Default)\n"
                           "#         stepsize = 1 (Default)\n"
                           "# id = 1\n"
                           "# data\n"
                           "#   file =  (Default)\n"
                           "# init = 2 (Default)\n"
                           "# random\n"
                           "#   seed = 9\n"
                           "# output\n"
                           "#   file = draws_1.csv\n"
                           "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,"
                           "energy__,jump__,accepted__,mu,theta.1,theta.2\n"
                           "# Adaptation terminated\n"
                           "# Step size = 1\n"
                           "# Diagonal elements of inverse mass matrix:\n"
                           "# 1, 1, 1\n"
                           "-0.10000000000000001,1,1,1,1,0,0.10000000000000001,0,1,0,0.5,1\n"
                           "-1.0000000000000001e+300,0.25,1,1,1,0,1.0000000000000001e+300,"
                           "0.10000000000000001,0,1.5,2,2.5\n"
                           "# \n"
                           "#  Elapsed Time: 0 seconds (Warm-up)\n"
                           "#                1.500000000 seconds (Sampling)\n"
                           "#                1.500000000 seconds (Total)\n"
                           "# \n");
    read_text(second, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "# id = 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "#   file = draws_2.csv\n"));
}
END_TEST

START_TEST(round_trip)
{
    for (unsigned keep = 0; keep <= HS_KEEP_ALL; keep++) {
        hs_chains *c = new_chains(2, 5 + keep, 1 + keep % 4, keep);
        save(c, NULL);
        hs_chain_names names;
        hs_chains *d = load(2, &names);
        assert_same(c, d);
        ck_assert_uint_eq(names.count, c->dim);
        ck_assert_str_eq(names.name[0], "x[1]");
        hs_chains_free(c);
        hs_chains_free(d);
        hs_chain_names_free(&names);
    }
    hs_chains *c = new_chains(1, 4, 2, HS_KEEP_LOG_PI);
    c->seconds = 0.125;
    c->x[1] = c->log_pi[2] = (double)NAN;
    save(c, NULL);
    hs_chains *d = load(1, NULL);
    ck_assert(isnan(d->x[1]) && isnan(d->log_pi[2])); /* one nan is not all */
    ck_assert_double_eq(d->log_pi[3], -1);
    ck_assert_double_eq(d->seconds, 0.125);
    hs_chains_free(c);
    hs_chains_free(d);
}
END_TEST

/* Names as they are saved, in the header, and as they are shown when loaded. */
static void assert_names(const char *const *names, size_t count, const char *columns,
                         const char *const *shown)
{
    char text[4000];
    hs_chain_names found;
    hs_chains *c = new_chains(1, 4, count, 0);
    save(c, &(hs_stan_csv_options){ .names = names });
    hs_chains_free(c);
    read_text(first, text, sizeof text);
    const char *header = strstr(text, "energy__,");
    ck_assert_ptr_nonnull(header);
    header += strlen("energy__,");
    ck_assert_msg(strncmp(header, columns, strlen(columns)) == 0 && header[strlen(columns)] == '\n',
                  "expected %s, found %.200s", columns, header);
    c = load(1, &found);
    ck_assert_uint_eq(found.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(found.name[i], shown[i]);
    hs_chains_free(c);
    hs_chain_names_free(&found);
}

START_TEST(named_columns)
{
    static const char *const whole[] = { "Z[1,1]", "Z[2,1]", "Z[1,2]", "Z[2,2]", "mu", "t[1]" };
    assert_names(whole, 6, "Z.1.1,Z.2.1,Z.1.2,Z.2.2,mu,t.1", whole);
    static const char *const rows[] = { "Z[1,1]", "Z[1,2]", "Z[2,1]",
                                        "Z[2,2]" }; /* another order */
    static const char *const rows_shown[] = { "Z_1_1", "Z_1_2", "Z_2_1", "Z_2_2" };
    assert_names(rows, 4, "Z_1_1,Z_1_2,Z_2_1,Z_2_2", rows_shown);
    static const char *const zero[] = { "x[0]", "x[1]", "y[2]", "w[1", "w[]" };
    static const char *const zero_shown[] = { "x_0", "x_1", "y_2", "w_1", "w" };
    assert_names(zero, 5, "x_0,x_1,y_2,w_1,w", zero_shown);
    static const char *const odd[] = { "lp__",     "a, \"b\"", "a_b", "1st", "",
                                       "\xce\xb2", "_",        "a.b", "a b", "x" };
    static const char *const odd_shown[] = { "lp",  "a_b", "a_b_2", "x1st",  "x",
                                             "x_2", "x_3", "a_b_3", "a_b_4", "x_4" };
    assert_names(odd, 10, "lp,a_b,a_b_2,x1st,x,x_2,x_3,a_b_3,a_b_4,x_4", odd_shown);
    static const char *const twice[] = { "t[1]", "t[2]", "u", "t[1]", "t[2]" };
    static const char *const twice_shown[] = { "t[1]", "t[2]", "u", "t_1", "t_2" };
    assert_names(twice, 5, "t.1,t.2,u,t_1,t_2", twice_shown);
    static const char *const huge[] = { "x[999999999,999999999]", "x[99999999999]" };
    static const char *const huge_shown[] = { "x_999999999_999999999", "x_99999999999" };
    assert_names(huge, 2, "x_999999999_999999999,x_99999999999", huge_shown);
}
END_TEST

/* ---- Files of Stan --------------------------------------------------------------------------- */

START_TEST(files_of_stan)
{
    write_text(first, "# stan_version_major = 2\n"
                      "# model = eight_schools_model\n"
                      "#     num_samples = 5\n"
                      "#     num_warmup = 3\n"
                      "#     save_warmup = true\n"
                      "#     thin = 2\n"
                      "# delta = 0.8 (Default)\n"
                      "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,"
                      "mu,theta.1,theta.2,pair:1,pair:2.1\n"
                      "-9,0.1,1,1,1,0,9,-1,-1,-1,-1,-1\n"
                      "-8,0.2,1,1,1,0,8,-2,-2,-2,-2,-2\n"
                      "# Adaptation terminated\n"
                      "# Step size = 0.45\n"
                      "# Diagonal elements of inverse mass matrix:\n"
                      "# 12.8, 0.93, 0.97\n"
                      "-7.5,0.9,0.45,3,7,0,12.7,1,2,nan,4,5\n"
                      "-inf,1,0.45,3,7,0,inf,6e-3,7,Inf,9,10\r\n"
                      "-7,0.5,0.45,3,7,0,12, 11,+12 ,-13.,.5,15\n"
                      "# \n"
                      "#  Elapsed Time: 0.015 seconds (Warm-up)\n"
                      "#                0.002 seconds (Sampling)\n"
                      "#                0.017 seconds (Total)\n"
                      "\n");
    hs_chain_names names;
    hs_chains *c = load(1, &names);
    static const char *const shown[] = { "mu", "theta[1]", "theta[2]", "pair:1", "pair:2[1]" };
    static const double x[] = { 1, 2, 0, 4, 5, 6e-3, 7, 0, 9, 10, 11, 12, -13, 0.5, 15 };
    ck_assert_uint_eq(c->chains, 1);
    ck_assert_uint_eq(c->draws, 3); /* 5 draws, every other; those of the warm-up are left out */
    ck_assert_uint_eq(c->dim, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_str_eq(names.name[i], shown[i]);
    for (int i = 0; i < 15; i++)
        if (i != 2 && i != 7)
            ck_assert_double_eq(c->x[i], x[i]);
    ck_assert(isnan(c->x[2]) && isinf(c->x[7]));
    ck_assert_double_eq(c->log_pi[0], -7.5);
    ck_assert_double_eq(c->log_pi[1], -(double)INFINITY);
    ck_assert_double_eq(c->alpha[2], 0.5);
    ck_assert_double_eq(c->seconds, 0.002);
    ck_assert_ptr_null(c->jump);
    ck_assert_ptr_null(c->accepted);
    hs_chains_free(c);
    hs_chain_names_free(&names);
    write_text(first, "a,b\n1,2\n3,4\n"); /* no settings at all */
    c = load(1, NULL);
    ck_assert_uint_eq(c->draws, 2);
    ck_assert_double_eq(c->x[3], 4);
    ck_assert_ptr_null(c->log_pi);
    hs_chains_free(c);
}
END_TEST

START_TEST(wrong_files)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "it is empty" },
        { "# model = a\n# id = 1\n", "no line with the names of columns; it ends after line 2" },
        { "# id = 1\n1,2\n3,4\n", "line 2: expected the names of columns, which begin with a "
                                  "letter, found \"1,2\"" },
        { "a,,b\n1,2,3\n", "line 1, column 2 has no name" },
        { "lp__,energy__\n1,2\n", "line 1: all columns end in \"__\"" },
        { "a,b\n", "no draws follow" },
        { "a,b\n# 3\n\n", "no draws follow" },
        { "a,b\n1,2\n3\n", "line 3 has 1 columns, the header has 2" },
        { "a,b\n1,2\n# c\n3,4,5\n", "line 4 has 3 columns, the header has 2" },
        { "lp__,b\n1,2\n3,x4\n", "line 3, column 2 (b): \"x4\" is not a number" },
        { "lp__,b\n1,2\nabc,4\n", "line 3, column 1 (lp__): \"abc\" is not a number" },
        { "a,b\n1,\n", "line 2, column 2 (b): \"\" is not a number" },
        { "a,b\n1,0x10\n", "column 2 (b): \"0x10\" is not a number" },
        { "a,b\n1,nano\n", "column 2 (b): \"nano\" is not a number" },
        { "a,b\n1,1e\n", "column 2 (b): \"1e\" is not a number" },
        { "a,b\n1,2 3\n", "column 2 (b): \"2 3\" is not a number" },
        { "a,b\n1,\"2\"\n", "column 2 (b): \"\"2\"\" is not a number" },
        { "a\n"
          "1111111111222222222233333333334444444444555555555566666666667777777777\n",
          "column 1 (a): \"1111111111222222222233333333334444444444\" is not a number" },
        { "a,b\n1,2\n3,4", "line 3: truncated: the line does not end" },
        { "a,b", "line 1: truncated" },
        { "# num_samples = 3\na,b\n1,2\n3,4\n",
          "truncated: it has 2 draws after 0 of the warm-up, its settings say 3" },
        { "# num_samples = 1\na,b\n1,2\n3,4\n", "damaged: it has 2 draws" },
        { "# num_samples = 2\n# num_warmup = 1\n# save_warmup = 1\na,b\n1,2\n3,4\n",
          "truncated: it has 1 draws after 1 of the warm-up, its settings say 2" },
        { "# num_warmup = 9\n# save_warmup = 1\na,b\n1,2\n3,4\n",
          "all of its 2 draws are of the warm-up" },
        { "# thin = 0\na,b\n1,2\n3,4\n", "thin is not a positive number" },
        { "# num_samples = 2\n# num_warmup = 1\n# save_warmup = 1\na,b\n1,?\n3,4\n5,6\n",
          "line 5, column 2 (b): \"?\" is not a number" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(first, bad[i].text);
        assert_load_fails(1, HS_EFORMAT, bad[i].says);
    }
    FILE *file = fopen(first, "wb");
    ck_assert_uint_eq(fwrite("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 1, 16, file), 16);
    fclose(file);
    assert_load_fails(1, HS_EFORMAT, "not a text file");
    unlink(first);
    assert_load_fails(1, HS_EIO, "No such file");
    ck_assert_int_eq(mkdir(first, 0777), 0);
    assert_load_fails(1, HS_EIO, ": Is a directory");
    rmdir(first);
}
END_TEST

START_TEST(files_that_do_not_fit_together)
{
    write_text(first, "lp__,mu,theta.1\n1,2,3\n4,5,6\n");
    write_text(second, "lp__,mu,tau\n1,2,3\n4,5,6\n");
    assert_load_fails(2, HS_ESHAPE, "coordinate 1 is \"tau\", but \"theta[1]\" in ");
    write_text(second, "lp__,mu\n1,2\n4,5\n");
    assert_load_fails(2, HS_ESHAPE, "has chains of 2 draws in 1 dimensions");
    write_text(second, "lp__,mu,theta.1\n1,2,3\n");
    assert_load_fails(2, HS_ESHAPE, "has chains of 1 draws in 2 dimensions");
    write_text(second, "lp__,mu,theta.1\n1,2,3\n4,5,6,7\n");
    assert_load_fails(2, HS_EFORMAT, "line 3 has 4 columns");
    write_text(second, "lp__,mu,theta.1\n7,8,9\n10,11,12\n");
    hs_chains *c = load(2, NULL);
    ck_assert_double_eq(hs_chains_draw(c, 1, 1)[1], 12);
    ck_assert_double_eq(c->log_pi[2], 7);
    hs_chains_free(c);
}
END_TEST

/* Cut anywhere, a file is refused, but where only comments are missing. */
START_TEST(truncated_files)
{
    static char text[8000];
    hs_chains *c = new_chains(1, 4, 2, HS_KEEP_ALL);
    save(c, NULL);
    read_text(first, text, sizeof text);
    const size_t draws_end = (size_t)(strstr(text, "# \n#  Elapsed") - text);
    const char *paths[] = { first };
    for (size_t n = strlen(text); n-- > 0;) {
        text[n] = '\0';
        write_text(first, text);
        hs_chains *d;
        hs_message message;
        const hs_status status = hs_chains_read(&d, NULL, paths, 1, &message);
        if (status == HS_OK) {
            ck_assert_uint_ge(n, draws_end);
            assert_same(c, d);
        } else {
            ck_assert_int_eq(status, HS_EFORMAT);
            ck_assert(n != draws_end);
        }
        hs_chains_free(d);
    }
    hs_chains_free(c);
}
END_TEST

START_TEST(other_locales)
{
    static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR" };
    bool found = false;
    for (int i = 0; i < 4 && !found; i++)
        found = setlocale(LC_ALL, commas[i]) != NULL;
    if (!found)
        puts("skipped: no locale with a decimal comma");
    hs_chains *c = new_chains(1, 5, 2, HS_KEEP_ALL);
    save(c, NULL);
    hs_chains *d = load(1, NULL);
    assert_same(c, d);
    setlocale(LC_ALL, "C");
    hs_chains_free(c);
    hs_chains_free(d);
}
END_TEST

START_TEST(wrong_arguments)
{
    static const char *const missing[] = { "a", NULL };
    hs_message message;
    hs_chains *c = new_chains(1, 4, 2, 0), *d = c;
    ck_assert_int_eq(hs_chains_save_stan_csv(NULL, NULL, stem, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_save_stan_csv(c, NULL, NULL, NULL), HS_EINVAL);
    ck_assert_int_eq(
        hs_chains_save_stan_csv(c, &(hs_stan_csv_options){ .names = missing }, stem, &message),
        HS_EINVAL);
    ck_assert_ptr_nonnull(strstr(message.text, "name 1 of 2 is missing"));
    ck_assert_int_eq(hs_chains_save_stan_csv(c, NULL, "/nowhere/draws", &message), HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "/nowhere/draws_1.csv: cannot create it: No such"));
    ck_assert_int_eq(hs_chains_read(&d, NULL, missing, 0, &message), HS_EINVAL);
    ck_assert_ptr_null(d);
    ck_assert_int_eq(hs_chains_read(&d, NULL, missing + 1, 1, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_read(NULL, NULL, missing, 1, NULL), HS_EINVAL);
    hs_chains_free(c);
}
END_TEST

START_TEST(full_disk)
{
    hs_message message;
    hs_chains *small = new_chains(1, 4, 3, 0), *large = new_chains(1, 5000, 3, 0);
    save(small, NULL);
    fill_disk_after(100000);
    const hs_status status = hs_chains_save_stan_csv(large, NULL, stem, &message);
    empty_disk();
    ck_assert_int_eq(status, HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "File too large"));
    hs_chains *c = load(1, NULL); /* the old file stays */
    assert_same(small, c);
    hs_chains_free(c);
    hs_chains_free(small);
    hs_chains_free(large);
}
END_TEST

START_TEST(scarce_memory)
{
    static const char *const names[] = { "a", "a", "z[1]" };
    hs_message message;
    hs_chains *c = new_chains(2, 4, 3, HS_KEEP_ALL);
    const hs_stan_csv_options options = { .names = names };
    hs_set_allocator(&counting);
    hs_status status = HS_ENOMEM;
    for (fail_at = 1; status != HS_OK; fail_at++) {
        allocations = 0;
        status = hs_chains_save_stan_csv(c, &options, stem, &message);
        ck_assert(status == HS_OK || status == HS_ENOMEM);
        ck_assert_int_eq(living, 0);
        ck_assert_int_lt(fail_at, 100);
    }
    ck_assert_int_gt(fail_at, 4);
    status = HS_ENOMEM;
    for (fail_at = 1; status != HS_OK; fail_at++) {
        hs_chains *d;
        hs_chain_names found;
        const char *paths[] = { first, second };
        allocations = 0;
        status = hs_chains_read(&d, &found, paths, 2, &message);
        ck_assert(status == HS_OK || status == HS_ENOMEM);
        ck_assert_msg(status == HS_OK || strstr(message.text, "out of memory"), "%s", message.text);
        ck_assert_int_eq(d == NULL, status != HS_OK);
        hs_chains_free(d);
        hs_chain_names_free(&found);
        ck_assert_int_eq(living, 0);
        ck_assert_int_lt(fail_at, 100);
    }
    ck_assert_int_gt(fail_at, 8);
    hs_set_allocator(NULL);
    hs_chains_free(c);
}
END_TEST

/* ---- Files of any kind ----------------------------------------------------------------------- */

static void path_of(char path[96], const char *end)
{
    snprintf(path, 96, "%s%s", stem, end);
}

START_TEST(any_kind)
{
    static const char *const names[] = { "mu", "tau" };
    static const char *const ends[] = { ".npy", ".nc", ".csv" };
    hs_message message;
    if (!hs_chain_format_of("draws.nc", NULL)->built) {
        puts("skipped: this build has no NetCDF; test_formats.c tests the others");
        return;
    }
    hs_chains *c = new_chains(2, 5, 2, HS_KEEP_ALL), *d;
    hs_chain_names found;
    c->proposals = 100;
    char npy[96], nc[96], other[96];
    for (int i = 0; i < 3; i++) {
        path_of(other, ends[i]);
        ck_assert_msg(hs_chains_write(c, names, other, &message) == HS_OK, "%s", message.text);
    }
    path_of(npy, ".npy");
    path_of(nc, ".nc");
    /* Each alone. */
    const char *paths[3] = { npy };
    ck_assert_int_eq(hs_chains_read(&d, &found, paths, 1, &message), HS_OK);
    ck_assert_mem_eq(c->x, d->x, 20 * sizeof *c->x);
    ck_assert_ptr_null(d->alpha);
    ck_assert_str_eq(found.name[1], "x[1]");
    hs_chains_free(d);
    hs_chain_names_free(&found);
    paths[0] = nc;
    ck_assert_int_eq(hs_chains_read(&d, &found, paths, 1, &message), HS_OK);
    assert_same(c, d);
    ck_assert_uint_eq(d->proposals, 100);
    ck_assert_str_eq(found.name[1], "tau");
    hs_chains_free(d);
    hs_chain_names_free(&found);
    paths[0] = first;
    paths[1] = second;
    ck_assert_int_eq(hs_chains_read(&d, &found, paths, 2, &message), HS_OK);
    assert_same(c, d);
    ck_assert_str_eq(found.name[1], "tau");
    hs_chains_free(d);
    hs_chain_names_free(&found);
    /* All together, in any order: what one does not know, the whole does not. */
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ npy, second, nc }, 3, &message),
                     HS_OK);
    ck_assert_uint_eq(d->chains, 5);
    ck_assert_mem_eq(d->x, c->x, 20 * sizeof *c->x);
    ck_assert_mem_eq(d->x + 20, c->x + 10, 10 * sizeof *c->x);
    ck_assert_mem_eq(d->x + 30, c->x, 20 * sizeof *c->x);
    ck_assert_ptr_null(d->log_pi);
    ck_assert_ptr_null(d->accepted);
    ck_assert_uint_eq(d->proposals, 10 + 5 + 100);
    ck_assert_str_eq(found.name[0], "mu");
    hs_chains_free(d);
    hs_chain_names_free(&found);
    ck_assert_int_eq(hs_chains_read(&d, NULL, (const char *[]){ first, nc }, 2, NULL), HS_OK);
    ck_assert_mem_eq(d->jump + 5, c->jump, 10 * sizeof *c->jump);
    ck_assert_mem_eq(d->accepted + 5, c->accepted, 10);
    hs_chains_free(d);
    hs_chains_free(c);
}
END_TEST

START_TEST(any_kind_wrong)
{
    hs_message message;
    hs_chains *c = new_chains(1, 5, 2, 0), *d = c;
    hs_chain_names found;
    char npy[96];
    path_of(npy, ".npy");
    ck_assert_int_eq(hs_chains_write(c, NULL, npy, &message), HS_OK);
    hs_chains_free(c);
    write_text(first, "a,b\n1,2\n3,4\n");
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ npy, first }, 2, &message),
                     HS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(message.text, "draws_1.csv has chains of 2 draws in 2 dim"));
    ck_assert_ptr_null(d);
    ck_assert_uint_eq(found.count, 0);
    write_text(second, "a,c\n1,2\n3,4\n");
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ first, second }, 2, &message),
                     HS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(message.text, "coordinate 1 is \"c\", but \"b\" in"));
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ "/nowhere" }, 1, &message),
                     HS_EIO);
    ck_assert_ptr_nonnull(strstr(message.text, "/nowhere: cannot open it: No such file"));
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ directory }, 1, &message),
                     HS_EIO);
    ck_assert_int_eq(hs_chains_read(&d, &found, (const char *[]){ NULL }, 1, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_read(&d, &found, NULL, 0, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_read(NULL, NULL, NULL, 0, NULL), HS_EINVAL);
    c = new_chains(1, 5, 2, 0);
    ck_assert_int_eq(hs_chains_write(c, NULL, "draws.txt", &message), HS_EINVAL);
    ck_assert_ptr_nonnull(
        strstr(message.text, "draws.txt: unknown kind of file, expected one of .nc (ArviZ)"));
    ck_assert_int_eq(hs_chains_write(c, NULL, NULL, &message), HS_EINVAL);
    ck_assert_int_eq(hs_chains_write(NULL, NULL, npy, &message), HS_EINVAL);
    hs_chains_free(c);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("stan csv");
    TCase *c = tcase_create("stan csv");
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, exact_text);
    tcase_add_test(c, round_trip);
    tcase_add_test(c, named_columns);
    tcase_add_test(c, files_of_stan);
    tcase_add_test(c, wrong_files);
    tcase_add_test(c, files_that_do_not_fit_together);
    tcase_add_test(c, truncated_files);
    tcase_add_test(c, other_locales);
    tcase_add_test(c, wrong_arguments);
    tcase_add_test(c, full_disk);
    tcase_add_test(c, scarce_memory);
    tcase_add_test(c, any_kind);
    tcase_add_test(c, any_kind_wrong);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
