/* Tables as Markdown and as CSV. */
#include <hastings/cli/report/table.h>

#include <string.h>

#include "report_internal.h"

static void put_line(app_buffer *b, const app_table *table, size_t i)
{
    app_buffer_markdown(b, "| %s |", table->line[i]);
    for (size_t j = 0; j < table->columns; j++) {
        const json_t *cell = app_table_cell(table, i, j);
        const app_verdict verdict = app_verdict_of(app_text_of(cell, "verdict"));
        char text[APP_FIGURE_TEXT];
        app_buffer_markdown(b, " %s", app_cell_ours(cell, text));
        if (verdict != APP_VERDICT_NONE)
            app_buffer_print(b, " %s", app_verdict_mark(verdict));
        app_buffer_put(b, " |");
        if (table->paper[j])
            app_buffer_markdown(b, " %s |", app_cell_paper(cell));
    }
    app_buffer_put(b, "\n");
}

static void put_table(app_buffer *b, const app_table *table)
{
    app_buffer_put(b, "| |");
    for (size_t j = 0; j < table->columns; j++)
        app_buffer_markdown(b, table->paper[j] ? " %s | paper |" : " %s |",
                            app_column_title(table->column[j]));
    app_buffer_put(b, "\n|---|");
    for (size_t j = 0; j < table->columns; j++)
        app_buffer_put(b, table->paper[j] ? "---|---|" : "---|");
    app_buffer_put(b, "\n");
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
        put_table(b, &tables.table[i]);
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
