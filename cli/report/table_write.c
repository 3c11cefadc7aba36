/* Tables as Markdown and as CSV. */
#include <hastings/cli/report/table.h>

#include <string.h>

#include "report_internal.h"

static void put_line(app_buffer *b, const app_table *table, size_t i)
{
    app_buffer_cell(b, "%s", table->line[i]);
    for (size_t j = 0; j < table->columns; j++) {
        const json_t *cell = app_table_cell(table, i, j);
        const char *mark = app_verdict_mark(app_verdict_of(app_text_of(cell, "verdict")));
        char text[APP_FIGURE_TEXT];
        app_buffer_cell(b, "%s%s%s", app_cell_ours(cell, text), mark[0] ? " " : "", mark);
        if (table->paper[j])
            app_buffer_cell(b, "%s", app_cell_paper(cell));
    }
    app_buffer_line(b);
}

static void put_table(app_buffer *b, const app_table *table, hs_arena *memory)
{
    const char **headings = hs_arena_alloc(memory, (2 * table->columns + 2) * sizeof(const char *));
    if (!headings) {
        b->failed = true;
        return;
    }
    size_t n = 0;
    headings[n++] = "";
    for (size_t j = 0; j < table->columns; j++) {
        headings[n++] = app_column_title(table->column[j]);
        if (table->paper[j])
            headings[n++] = "paper";
    }
    headings[n] = NULL;
    app_buffer_headings(b, headings);
    for (size_t i = 0; i < table->lines; i++)
        put_line(b, table, i);
}

void app_table_markdown(app_buffer *b, const json_t *result, int heading)
{
    app_tables tables;
    if (!app_tables_make(&tables, result)) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < tables.count; i++) {
        for (int n = 0; n < heading; n++)
            app_buffer_put(b, "#");
        app_buffer_markdown(b, heading > 0 ? " %s\n\n" : "**%s**\n\n", tables.table[i].name);
        put_table(b, &tables.table[i], &tables.memory);
        app_buffer_put(b, "\n");
    }
    app_tables_free(&tables);
}

static void app_put_number(app_buffer *b, double x)
{
    app_buffer_put(b, ",");
    if (isfinite(x))
        app_buffer_print(b, "%.15g", x);
}

void app_table_csv(app_buffer *b, const json_t *result)
{
    app_buffer_put(b, "case,row,column,mean,sd,error,n,paper,paper_error,sigmas,verdict\r\n");
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(result, "cells"), i, cell)
    {
        app_buffer_csv(b, app_text_of(cell, "case"));
        app_buffer_put(b, ",");
        app_buffer_csv(b, app_text_of(cell, "row"));
        app_buffer_put(b, ",");
        app_buffer_csv(b, app_text_of(cell, "column"));
        app_put_number(b, number_of(cell, "mean"));
        app_put_number(b, number_of(cell, "sd"));
        app_put_number(b, number_of(cell, "error"));
        app_buffer_print(b, ",%zu", json_array_size(json_object_get(cell, "values")));
        app_put_number(b, number_of(cell, "paper_value"));
        app_put_number(b, number_of(cell, "paper_error"));
        app_put_number(b, number_of(cell, "sigmas"));
        app_buffer_put(b, ",");
        app_buffer_csv(b, app_text_of(cell, "verdict"));
        app_buffer_put(b, "\r\n");
    }
}
