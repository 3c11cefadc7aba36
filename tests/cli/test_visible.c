/* Texts on a terminal: control characters and bytes that are not UTF-8 are shown, all else is as it was. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/cli/terminal/visible.h>
#include <hastings/tensor/api.h>

#include "support/hs_check.h"

static const struct {
    const char *text, *visible;
    size_t width;
} texts[] = {
    { "", "", 0 },
    { "plain ~", "plain ~", 7 },
    { "a\\b", "a\\b", 3 },
    { "\x1b[31mred\a", "\\x1b[31mred\\x07", 15 },
    { "two\nlines\r\t\x7f", "two\\x0alines\\x0d\\x09\\x7f", 24 },
    { "é 心 😀", "é 心 😀", 5 },
    /* CSI in one character, its neighbours, and the same byte alone. */
    { "\xc2\x9b", "\\x9b", 4 },
    { "\xc2\x9f\xc2\xa0", "\\x9f\xc2\xa0", 5 },
    { "\x9b", "\\x9b", 4 },
    /* A letter that is cut, too long a form of ESC, a number beyond Unicode. */
    { "ab\xe5\xbf", "ab\\xe5\\xbf", 10 },
    { "\xc0\x9b", "\\xc0\\x9b", 8 },
    { "\xf7\xbf\xbf\xbf", "\\xf7\\xbf\\xbf\\xbf", 16 },
};

static void vprint(FILE *f, const char *format, ...) HS_PRINTF(2, 3);

static void vprint(FILE *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    app_vprint_visible(f, format, arguments);
    va_end(arguments);
}

START_TEST(control_characters_are_shown)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(f);
    app_print_visible(f, texts[_i].text);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_str_eq(text, texts[_i].visible);
    ck_assert_uint_eq(app_visible_width(texts[_i].text), texts[_i].width);
    free(text);
}
END_TEST

START_TEST(long_texts_are_whole)
{
    enum { LENGTH = 3000 };
    char long_text[LENGTH + 1] = "", *text = NULL;
    size_t size = 0;
    memset(long_text, 'x', LENGTH);
    FILE *f = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(f);
    vprint(f, "%s\x1b", long_text);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_uint_eq(size, LENGTH + 4);
    ck_assert_str_eq(text + LENGTH, "\\x1b");
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("visible");
    TCase *c = tcase_create("visible");
    tcase_add_loop_test(c, control_characters_are_shown, 0, sizeof texts / sizeof *texts);
    tcase_add_test(c, long_texts_are_whole);
    suite_add_tcase(s, c);
    return s;
}

HS_TEST_MAIN(suite())
