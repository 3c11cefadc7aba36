/* Tables as Markdown and as CSV. */
#include <hastings/cli/table.h>

#include <string.h>

#include "report_internal.h"

static void put_line(hs_buffer *b, const hs_table *table, size_t i)
{
    hs_buffer_markdown(b, "| %s |", table->line[i]);
    for (size_t j = 0; j < table->columns; j++) {
        const json_t *cell = hs_table_cell(table, i, j);
        const hs_verdict verdict = hs_verdict_of(text_of(cell, "verdict"));
        char text[HS_FIGURE_TEXT];
        hs_buffer_markdown(b, " %s", hs_cell_ours(cell, text));
        if (verdict != HS_VERDICT_NONE)
            hs_buffer_print(b, " %s", hs_verdict_mark(verdict));
        hs_buffer_put(b, " |");
        if (table->paper[j])
            hs_buffer_markdown(b, " %s |", hs_cell_paper(cell));
    }
    hs_buffer_put(b, "\n");
}

static void put_table(hs_buffer *b, const hs_table *table)
{
    hs_buffer_put(b, "| |");
    for (size_t j = 0; j < table->columns; j++)
        hs_buffer_markdown(b, table->paper[j] ? " %s | paper |" : " %s |",
                           hs_column_title(table->column[j]));
    hs_buffer_put(b, "\n|---|");
    for (size_t j = 0; j < table->columns; j++)
        hs_buffer_put(b, table->paper[j] ? "---|---|" : "---|");
    hs_buffer_put(b, "\n");
    for (size_t i = 0; i < table->lines; i++)
        put_line(b, table, i);
}

void hs_table_markdown(hs_buffer *b, const json_t *result, int heading)
{
    hs_tables tables;
    if (!hs_tables_make(&tables, result)) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < tables.count; i++) {
        for (int n = 0; n < heading; n++)
            hs_buffer_put(b, "#");
        hs_buffer_markdown(b, heading > 0 ? " %s\n\n" : "**%s**\n\n", tables.table[i].name);
        put_table(b, &tables.table[i]);
        hs_buffer_put(b, "\n");
    }
    hs_tables_free(&tables);
}

static void put_number(hs_buffer *b, double x)
{
    hs_buffer_put(b, ",");
    if (isfinite(x))
        hs_buffer_print(b, "%.15g", x);
}

void hs_table_csv(hs_buffer *b, const json_t *result)
{
    hs_buffer_put(b, "case,row,column,mean,sd,error,n,paper,paper_error,sigmas,verdict\r\n");
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(result, "cells"), i, cell)
    {
        hs_buffer_csv(b, text_of(cell, "case"));
        hs_buffer_put(b, ",");
        hs_buffer_csv(b, text_of(cell, "row"));
        hs_buffer_put(b, ",");
        hs_buffer_csv(b, text_of(cell, "column"));
        put_number(b, number_of(cell, "mean"));
        put_number(b, number_of(cell, "sd"));
        put_number(b, number_of(cell, "error"));
        hs_buffer_print(b, ",%zu", json_array_size(json_object_get(cell, "values")));
        put_number(b, number_of(cell, "paper_value"));
        put_number(b, number_of(cell, "paper_error"));
        put_number(b, number_of(cell, "sigmas"));
        hs_buffer_put(b, ",");
        hs_buffer_csv(b, text_of(cell, "verdict"));
        hs_buffer_put(b, "\r\n");
    }
}
