/* Tables for a terminal: columns are as wide as what is in them, and those that do not fit beside the
 * others form a second part below. */
#include <hastings/cli/report/table.h>
#include <hastings/cli/terminal/visible.h>

#include <string.h>

#include "report_internal.h"

enum { GAP = 2 }; /* blanks before a column */

static const char *const colours[] = { "", "\033[32m", "\033[33m", "\033[31m" };

static void put_padded(app_buffer *b, const char *text, size_t width)
{
    const size_t own = app_visible_width(text);
    char visible[APP_VISIBLE_TEXT];
    while (*text) {
        text = app_visible(text, visible);
        app_buffer_put(b, visible);
    }
    for (size_t n = own; n < width; n++)
        app_buffer_put(b, " ");
}

static size_t at_least(size_t width, const char *text)
{
    const size_t own = app_visible_width(text);
    return own > width ? own : width;
}

/* Widths of a column: our figures, and the paper's. */
typedef struct {
    size_t ours, paper; /* without blanks; paper is 0 if there is none */
    size_t all;         /* with the mark between them */
} column_width;

static column_width measure(const app_table *table, size_t j)
{
    column_width w = { 0, 0, 0 };
    if (table->paper[j]) {
        w.ours = at_least(0, "ours");
        w.paper = at_least(0, "paper");
    }
    for (size_t i = 0; i < table->lines; i++) {
        const json_t *cell = app_table_cell(table, i, j);
        char text[APP_FIGURE_TEXT];
        w.ours = at_least(w.ours, app_cell_ours(cell, text));
        if (table->paper[j])
            w.paper = at_least(w.paper, app_cell_paper(cell));
    }
    w.all = table->paper[j] ? w.ours + 3 + w.paper : w.ours;
    const size_t title = app_visible_width(app_column_title(table->column[j]));
    if (w.all < title) {
        *(table->paper[j] ? &w.paper : &w.ours) += title - w.all;
        w.all = title;
    }
    return w;
}

static void print_cell(app_buffer *b, const json_t *cell, column_width w, bool colour)
{
    char text[APP_FIGURE_TEXT];
    const app_verdict verdict = app_verdict_of(app_text_of(cell, "verdict"));
    put_padded(b, app_cell_ours(cell, text), w.ours);
    if (!w.paper)
        return;
    app_buffer_put(b, " ");
    app_buffer_put(b, colour ? colours[verdict] : "");
    put_padded(b, app_verdict_mark(verdict), 1);
    app_buffer_put(b, colour && verdict ? "\033[0m " : " ");
    put_padded(b, app_cell_paper(cell), w.paper);
}

static void end_line(app_buffer *b)
{
    while (b->length && b->bytes[b->length - 1] == ' ')
        b->bytes[--b->length] = '\0';
    app_buffer_put(b, "\n");
}

static void put_gap(app_buffer *b)
{
    put_padded(b, "", GAP);
}

/* Columns from .. to - 1 of a table, after the names of its lines. */
static void print_part(app_buffer *b, const app_table *table, size_t from, size_t to, size_t names,
                       bool colour)
{
    app_buffer_put(b, colour ? "\033[1m" : "");
    put_padded(b, from == 0 ? table->name : "", names);
    bool paper = false;
    for (size_t j = from; j < to; j++) {
        put_gap(b);
        put_padded(b, app_column_title(table->column[j]), measure(table, j).all);
        paper |= table->paper[j];
    }
    end_line(b);
    app_buffer_put(b, colour ? "\033[0m" : "");
    for (size_t j = from; paper && j < to; j++) {
        const column_width w = measure(table, j);
        if (j == from)
            put_padded(b, "", names);
        put_gap(b);
        put_padded(b, w.paper ? "ours" : "", w.paper ? w.ours + 3 : w.all);
        put_padded(b, w.paper ? "paper" : "", w.paper);
    }
    if (paper)
        end_line(b);
    for (size_t i = 0; i < table->lines; i++) {
        bool any = false;
        for (size_t j = from; j < to; j++)
            any |= app_table_cell(table, i, j) != NULL;
        if (!any)
            continue;
        put_padded(b, table->line[i], names);
        for (size_t j = from; j < to; j++) {
            put_gap(b);
            print_cell(b, app_table_cell(table, i, j), measure(table, j), colour);
        }
        end_line(b);
    }
}

static void print_table(app_buffer *b, const app_table *table, size_t width, bool colour)
{
    size_t names = app_visible_width(table->name);
    for (size_t i = 0; i < table->lines; i++)
        names = at_least(names, table->line[i]);
    for (size_t from = 0, to = 0; from < table->columns; from = to) {
        size_t used = names;
        while (to < table->columns) {
            const size_t more = GAP + measure(table, to).all;
            if (to > from && used + more > width)
                break;
            used += more;
            to++;
        }
        print_part(b, table, from, to, names, colour);
        app_buffer_put(b, "\n");
    }
}

static void print_all(app_buffer *b, const json_t *result, const app_tables *tables, size_t width,
                      bool colour)
{
    bool judged = false;
    for (size_t i = 0; i < tables->count; i++) {
        print_table(b, &tables->table[i], width, colour);
        judged |= tables->table[i].judged;
    }
    if (!judged)
        return;
    const app_verdict_count count = app_verdicts(result);
    app_verdicts_sentence(b, &count);
    app_buffer_put(b, "\n✓ within 2 sigma   ≈ within 3   ✗ beyond\n");
}

hs_status app_table_print(FILE *stream, const json_t *result, size_t width, bool colour)
{
    app_tables tables;
    app_buffer b = { 0 };
    if (!app_tables_make(&tables, result))
        return HS_ENOMEM;
    print_all(&b, result, &tables, width ? width : 80, colour);
    const hs_status status = app_buffer_write(&b, stream, NULL);
    app_tables_free(&tables);
    app_buffer_free(&b);
    return status;
}
