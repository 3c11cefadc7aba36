/* Our figures beside the paper's: as tables with notes, and as bars. */
#include "page_internal.h"

#include <string.h>

enum { MOST_NOTES = 64, MOST_BARS = 18 };

/* ---- Notes: each text once, numbered as they are met ------------------------------------------ */

typedef struct {
    const char *text[MOST_NOTES];
    size_t count;
} note_list;

/* The number of a note, from 1; 0 if there is none, or no room. */
static size_t note_number(note_list *notes, const char *text)
{
    if (!text[0])
        return 0;
    for (size_t i = 0; i < notes->count; i++)
        if (strcmp(notes->text[i], text) == 0)
            return i + 1;
    if (notes->count == MOST_NOTES)
        return 0;
    notes->text[notes->count++] = text;
    return notes->count;
}

/* ---- Tables ------------------------------------------------------------------------------------ */

static void put_cell(page *p, const json_t *cell, bool paper, note_list *notes)
{
    const app_verdict verdict = app_verdict_of(app_text_of(cell, "verdict"));
    const char *name = verdict ? app_verdict_name(verdict) : "";
    const size_t note = note_number(notes, app_text_of(cell, "note"));
    char text[APP_FIGURE_TEXT], sigmas[48] = "";
    if (!isnan(number_of(cell, "sigmas")))
        snprintf(sigmas, sizeof sigmas, ", %.1f sigma", number_of(cell, "sigmas"));
    app_buffer *b = &p->html;
    app_buffer_html(b, "<td class=\"ours group %s\">%s", name, app_cell_ours(cell, text));
    if (verdict)
        app_buffer_html(
            b,
            "<span class=\"mark %s\" title=\"%s%s\"><span aria-hidden=\"true\">%s</span>"
            "<span class=\"sr\"> %s</span></span>",
            name, name, sigmas, app_verdict_mark(verdict), name);
    if (note)
        app_buffer_html(b, "<sup><a href=\"#note-%zu\" aria-label=\"note %zu\">%zu</a></sup>", note,
                        note, note);
    app_buffer_put(b, "</td>");
    if (paper)
        app_buffer_html(b, "<td class=\"paper %s\">%s</td>", name, app_cell_paper(cell));
}

static void put_headings(page *p, const app_table *table)
{
    app_buffer *b = &p->html;
    bool any = false;
    for (size_t j = 0; j < table->columns; j++)
        any |= table->paper[j];
    app_buffer_put(b, any ? "<thead><tr><td rowspan=\"2\"></td>" : "<thead><tr><td></td>");
    for (size_t j = 0; j < table->columns; j++)
        app_buffer_html(b,
                        table->paper[j]
                            ? "<th scope=\"colgroup\" class=\"group\" colspan=\"2\">%s</th>"
                            : "<th scope=\"col\" class=\"group\">%s</th>",
                        app_column_title(table->column[j]));
    app_buffer_put(b, "</tr>\n");
    if (any)
        app_buffer_put(b, "<tr>");
    for (size_t j = 0; any && j < table->columns; j++)
        app_buffer_put(b, table->paper[j] ? "<th scope=\"col\" class=\"group\">ours</th>"
                                            "<th scope=\"col\" class=\"paper\">paper</th>"
                                          : "<th scope=\"col\" class=\"group\">ours</th>");
    app_buffer_put(b, any ? "</tr></thead>\n" : "</thead>\n");
}

/* Where figures were compared as ratios. */
static void put_ratios(page *p, const app_table *table)
{
    for (size_t j = 0; j < table->columns; j++)
        for (size_t i = 0; i < table->lines; i++) {
            const char *by = app_text_of(app_table_cell(table, i, j), "ratio_to");
            if (!by[0])
                continue;
            app_buffer_html(
                &p->html,
                "<p class=\"soft\">%s is compared as a ratio to that of %s: the paper’s "
                "data are not the same as ours.</p>\n",
                app_column_title(table->column[j]), by);
            break;
        }
}

static void put_table(page *p, const app_table *table, note_list *notes)
{
    app_buffer *b = &p->html;
    app_buffer_html(
        b,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: %s\">\n"
        "<table>\n<caption>%s</caption>\n",
        table->name, table->name);
    put_headings(p, table);
    app_buffer_put(b, "<tbody>\n");
    for (size_t i = 0; i < table->lines; i++) {
        app_buffer_html(b, "<tr><th scope=\"row\">%s</th>", table->line[i]);
        for (size_t j = 0; j < table->columns; j++)
            put_cell(p, app_table_cell(table, i, j), table->paper[j], notes);
        app_buffer_put(b, "</tr>\n");
    }
    app_buffer_put(b, "</tbody>\n</table>\n</div>\n");
    put_ratios(p, table);
}

/* Notes on the experiment as a whole. */
static void put_general_notes(page *p)
{
    const char *note;
    size_t count = 0;
    for (size_t at = 0; (note = app_general_note(p->result, &at));)
        app_buffer_html(&p->html, count++ ? "<li>%s</li>\n" : "<ul class=\"notes\">\n<li>%s</li>\n",
                        note);
    app_buffer_put(&p->html, count ? "</ul>\n" : "");
}

void app_page_tables(page *p)
{
    app_tables tables;
    if (!app_tables_make(&tables, p->result)) {
        p->html.failed = true;
        return;
    }
    if (tables.count) {
        note_list notes = { .count = 0 };
        app_page_section(p, "tables", "Results");
        app_buffer_put(&p->html, "<p class=\"soft\">In parentheses: the error of the last digit. "
                                 "<a href=\"result.csv\">CSV</a> · "
                                 "<a href=\"result.md\">Markdown</a></p>\n");
        for (size_t i = 0; i < tables.count; i++)
            put_table(p, &tables.table[i], &notes);
        if (notes.count)
            app_buffer_put(&p->html, "<ol class=\"notes\">\n");
        for (size_t i = 0; i < notes.count; i++)
            app_buffer_html(&p->html, "<li id=\"note-%zu\">%s</li>\n", i + 1, notes.text[i]);
        if (notes.count)
            app_buffer_put(&p->html, "</ol>\n");
        put_general_notes(p);
        app_page_section_end(p);
    }
    app_tables_free(&tables);
}

/* ---- Bars -------------------------------------------------------------------------------------- */

static void put_bars(page *p, const app_table *table, size_t t, size_t j)
{
    const size_t n = table->lines;
    double *numbers = hs_arena_alloc(&p->memory, 4 * n * sizeof *numbers);
    if (!numbers)
        return;
    double *ours = numbers, *paper = ours + n, *error = paper + n, *paper_error = error + n;
    for (size_t i = 0; i < n; i++) {
        const json_t *cell = app_table_cell(table, i, j);
        ours[i] = number_of(cell, "mean");
        error[i] = number_of(cell, "sd");
        paper[i] = number_of(cell, "paper_value");
        paper_error[i] = number_of(cell, "paper_error");
    }
    const app_bars_series series[] = { { "ours", ours, error }, { "paper", paper, paper_error } };
    const char *column = app_column_title(table->column[j]);
    const app_bars_figure figure = { .title = app_page_text(p, "%s, %s", column, table->name),
                                     .width = 500,
                                     .value_label = column,
                                     .rows = table->line,
                                     .rows_count = n,
                                     .series = series,
                                     .series_count = 2,
                                     .log = app_page_wants_log(ours, 2 * n) };
    picture pic;
    hs_message message = { "" };
    app_picture_begin(&pic, p, app_page_text(p, "compare-%zu", t + 1), table->column[j]);
    const hs_status status = app_figure_bars(&figure, &pic.out, &message);
    app_picture_end(
        &pic, p, status, &message,
        app_page_text(p,
                      "Bars: %s of each line of the table %s, ours beside the paper's; the "
                      "numbers are in the table.",
                      column, table->name),
        "");
}

void app_page_bars(page *p)
{
    app_tables tables;
    size_t count = 0;
    if (!app_tables_make(&tables, p->result)) {
        p->html.failed = true;
        return;
    }
    for (size_t t = 0; t < tables.count; t++)
        for (size_t j = 0; j < tables.table[t].columns; j++) {
            const app_table *table = &tables.table[t];
            if (!table->paper[j] || !app_figure_judged(table->column[j]) || table->lines < 2 ||
                table->lines > 60)
                continue;
            if (count == 0) {
                app_page_section(p, "bars", "Beside the paper");
                app_buffer_put(&p->html, "<div class=\"grid\">\n");
            }
            if (count++ < MOST_BARS)
                put_bars(p, table, t, j);
        }
    if (count) {
        app_buffer_put(&p->html, "</div>\n");
        if (count > MOST_BARS)
            app_buffer_html(&p->html,
                            "<p class=\"soft\">These are the first %d of %zu; the tables "
                            "have all.</p>\n",
                            (int)MOST_BARS, count);
        app_page_section_end(p);
    }
    app_tables_free(&tables);
}
