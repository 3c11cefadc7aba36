/* The table of chain formats: every row writes, is recognised, and gives the same numbers back. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/sample.h>
#include <hastings/mcmc/targets/targets.h>

#include "support/hs_check.h"

enum { CHAINS = 3, DRAWS = 40, DIM = 2 };

static char directory[] = "/tmp/hastings_formats_XXXXXX";

static void make_directory(void)
{
    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
    ck_assert_int_eq(rmdir(directory), 0);
}

static hs_chains *new_chains(void)
{
    hs_chains *c;
    ck_assert_int_eq(hs_chains_new(&c, CHAINS, DRAWS, DIM, HS_KEEP_ALL, NULL), HS_OK);
    for (size_t i = 0; i < CHAINS * DRAWS * DIM; i++)
        c->x[i] = (double)i / 7 - 3;
    for (size_t i = 0; i < CHAINS * DRAWS; i++)
        c->log_pi[i] = -(double)i / 3;
    return c;
}

/* Writes the chains, renames the files so that only their bytes tell the format, and reads them. */
static void check_format(const hs_chain_format *format)
{
    static const char *const names[] = { "mu", "tau" };
    char path[96], file[CHAINS][96], other[CHAINS][96];
    const char *paths[CHAINS];
    hs_chains *c = new_chains(), *d = NULL;
    hs_chain_names found;
    hs_message message;
    snprintf(path, sizeof path, "%s/draws%s", directory, format->ending);
    ck_assert_ptr_eq(hs_chain_format_of(path, &message), format);
    const hs_status status = hs_chains_write(c, names, path, &message);
    if (!format->built) {
        ck_assert_int_eq(status, HS_EINVAL);
        ck_assert_ptr_nonnull(strstr(message.text, "this build"));
        hs_chains_free(c);
        return;
    }
    ck_assert_msg(status == HS_OK, "%s", message.text);
    const size_t files = format->a_chain ? CHAINS : 1;
    for (size_t m = 0; m < files; m++) {
        char number[8] = "";
        if (format->a_chain)
            snprintf(number, sizeof number, "_%zu", m + 1);
        snprintf(file[m], sizeof file[m], "%s/draws%s%s", directory, number, format->ending);
        snprintf(other[m], sizeof other[m], "%s/%zu", directory, m);
        ck_assert_int_eq(rename(file[m], other[m]), 0);
        paths[m] = other[m];
    }
    ck_assert_msg(hs_chains_read(&d, &found, paths, files, &message) == HS_OK, "%s", message.text);
    ck_assert_uint_eq(d->chains, CHAINS);
    ck_assert_uint_eq(d->draws, DRAWS);
    ck_assert_uint_eq(d->dim, DIM);
    ck_assert_mem_eq(d->x, c->x, CHAINS * DRAWS * DIM * sizeof *c->x);
    ck_assert_uint_eq(found.count, DIM);
    ck_assert(!strcmp(found.name[1], "tau") || !strcmp(found.name[1], "x[1]"));
    for (size_t m = 0; m < files; m++)
        unlink(other[m]);
    hs_chain_names_free(&found);
    hs_chains_free(c);
    hs_chains_free(d);
}

START_TEST(every_row)
{
    size_t rows = 0;
    for (const hs_chain_format *f; (f = hs_chain_format_at(rows)); rows++)
        check_format(f);
    ck_assert_uint_ge(rows, 3);
    ck_assert_ptr_null(hs_chain_format_at(rows + 1));
}
END_TEST

/* Messages and documents have every row. */
START_TEST(every_row_is_listed)
{
    static char document[200000];
    char expected[256];
    hs_message message;
    FILE *file = fopen("docs/formats.md", "rb");
    ck_assert_ptr_nonnull(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    ck_assert_ptr_null(hs_chain_format_of("draws.txt", &message));
    ck_assert_ptr_null(hs_chain_format_of(".nc", NULL)); /* an ending alone is no name */
    ck_assert_ptr_null(hs_chain_format_of(NULL, NULL));
    const hs_chain_format *f;
    for (size_t i = 0; (f = hs_chain_format_at(i)); i++) {
        snprintf(expected, sizeof expected, "%s (%s)", f->ending, f->tool);
        ck_assert_msg(strstr(message.text, expected), "\"%s\" lacks %s", message.text, expected);
        snprintf(expected, sizeof expected, "| `%s` | %s | %s |\n", f->ending, f->tool, f->about);
        ck_assert_msg(strstr(document, expected), "docs/formats.md lacks: %s", expected);
    }
}
END_TEST

START_TEST(formats_that_stream)
{
    const hs_chain_format *f;
    for (size_t i = 0; (f = hs_chain_format_at(i)); i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/stream%s", directory, f->ending);
        hs_session *s = hs_session_new(NULL);
        const hs_chains *c = hs_sample(s, hs_target_gaussian(s, 2, NULL),
                                       hs_random_walk(s, &(hs_walk_options){ .dim = 2 }),
                                       &(hs_sample_options){ .draws = 10, .stream = path });
        ck_assert_int_eq(c != NULL, f->streams);
        if (!f->streams) {
            ck_assert_int_eq(hs_session_status(s), HS_EINVAL);
            ck_assert_ptr_nonnull(strstr(hs_session_error(s), "cannot be streamed to"));
        }
        hs_session_free(s);
        ck_assert_int_eq(unlink(path) == 0, f->streams);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("formats");
    TCase *c = tcase_create("formats");
    tcase_add_checked_fixture(c, make_directory, remove_directory);
    tcase_add_test(c, every_row);
    tcase_add_test(c, every_row_is_listed);
    tcase_add_test(c, formats_that_stream);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
