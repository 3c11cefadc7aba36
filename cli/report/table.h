/**
 * The tables of a result: our figures beside the paper's.
 *
 *     app_table_print(stdout, result, 80, true);
 *
 *     L=8          acceptance          MSJD             ESS/proposal
 *                  ours      paper     ours    paper    ours       paper
 *     Ab Initio    0.66(2) ✓ 0.67(3)   21.4(4) ✓ 22(1)  0.28(3)  ✓ 0.33(5)
 *
 * The experiment's "columns" are the figures, in this order; its "layout" tells whether there is a table
 * for each case, with a line for each row, or the other way round. The paper's side is left out of a
 * column for which it has no figure.
 */
#ifndef HASTINGS_CLI_REPORT_TABLE_H
#define HASTINGS_CLI_REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <hastings/cli/report/buffer.h>
#include <hastings/experiments/figure.h>
#include <hastings/tensor/memory.h>

/** One table. Texts and cells belong to the result. */
typedef struct {
    const char *name; /**< of the case, or of the row if the layout is "rows" */
    size_t lines, columns;
    const char **line;   /**< [lines]: names */
    const char **column; /**< [columns]: as in the experiment, "ess_per_proposal" */
    const json_t **cell; /**< [lines][columns]; NULL where there is none */
    bool *paper;         /**< [columns]: the paper has a figure in this column */
    bool judged;         /**< a cell has a verdict */
} app_table;

typedef struct {
    app_table *table;
    size_t count;
    bool by_case; /**< the layout */
    hs_arena memory;
} app_tables;

/** Orders the cells of a result; false without memory. A result without cells gives no table. */
bool app_tables_make(app_tables *tables, const json_t *result);
void app_tables_free(app_tables *tables);

/** The cell in line i and column j; NULL if there is none. */
static inline const json_t *app_table_cell(const app_table *table, size_t i, size_t j)
{
    return table->cell[i * table->columns + j];
}

/** How many cells have which verdict, [app_verdict]; those without one that are compared with nothing are
 *  counted at APP_VERDICT_NONE. */
typedef struct {
    size_t of[APP_VERDICT_DIFFERS + 1];
    size_t judged; /**< all but APP_VERDICT_NONE */
} app_verdict_count;

app_verdict_count app_verdicts(const json_t *result);

/** "38 of 42 figures agree with the paper, 3 are close, 1 differs." appended; "No figure of this run is
 *  in the paper." if none is judged. */
void app_verdicts_sentence(app_buffer *b, const app_verdict_count *count);

/** "✓", "≈", "✗", "" */
const char *app_verdict_mark(app_verdict verdict);

/** What a column is called in tables: "ESS/proposal". Its own name if it is not known. */
const char *app_column_title(const char *column);

/** The text of a cell: ours, and the paper's; "" if there is none. */
const char *app_cell_ours(const json_t *cell, char text[APP_FIGURE_TEXT]);
const char *app_cell_paper(const json_t *cell);

/** Prints all tables in lines of at most `width` columns where that is possible (0: 80), else in several
 *  parts. HS_EIO or HS_ENOMEM. */
hs_status app_table_print(FILE *stream, const json_t *result, size_t width,
                          bool colour) HS_MUST_CHECK;

/** The same as Markdown, each after a heading of that many # (0: after its name in bold). */
void app_table_markdown(app_buffer *b, const json_t *result, int heading);

/** The cells as CSV: case,row,column,mean,sd,error,n,paper,paper_error,sigmas,verdict. A figure that is
 *  not there is an empty field. Texts are those of app_buffer_csv(). */
void app_table_csv(app_buffer *b, const json_t *result);

#endif
