/**
 * The tables of a result: our figures beside the paper's.
 *
 *     hs_table_print(stdout, result, 80, true);
 *
 *     L=8          acceptance          MSJD             ESS/proposal
 *                  ours      paper     ours    paper    ours       paper
 *     Ab Initio    0.66(2) ✓ 0.67(3)   21.4(4) ✓ 22(1)  0.28(3)  ✓ 0.33(5)
 *
 * The experiment's "columns" are the figures, in this order; its "layout" tells whether there is a table
 * for each case, with a line for each row, or the other way round. The paper's side is left out of a
 * column for which it has no figure.
 */
#ifndef HASTINGS_CLI_TABLE_H
#define HASTINGS_CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include <hastings/cli/report_buffer.h>
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
} hs_table;

typedef struct {
    hs_table *table;
    size_t count;
    bool by_case; /**< the layout */
    hs_arena memory;
} hs_tables;

/** Orders the cells of a result; false without memory. A result without cells gives no table. */
bool hs_tables_make(hs_tables *tables, const json_t *result);
void hs_tables_free(hs_tables *tables);

/** The cell in line i and column j; NULL if there is none. */
static inline const json_t *hs_table_cell(const hs_table *table, size_t i, size_t j)
{
    return table->cell[i * table->columns + j];
}

/** How many cells have which verdict, [hs_verdict]; those without one that are compared with nothing are
 *  counted at HS_VERDICT_NONE. */
typedef struct {
    size_t of[HS_VERDICT_DIFFERS + 1];
    size_t judged; /**< all but HS_VERDICT_NONE */
} hs_verdict_count;

hs_verdict_count hs_verdicts(const json_t *result);

/** "38 of 42 figures agree with the paper, 3 are close, 1 differs." appended; "No figure of this run is
 *  in the paper." if none is judged. */
void hs_verdicts_sentence(hs_buffer *b, const hs_verdict_count *count);

/** "✓", "≈", "✗", "" */
const char *hs_verdict_mark(hs_verdict verdict);

/** What a column is called in tables: "ESS/proposal". Its own name if it is not known. */
const char *hs_column_title(const char *column);

/** The text of a cell: ours, and the paper's; "" if there is none. */
const char *hs_cell_ours(const json_t *cell, char text[HS_FIGURE_TEXT]);
const char *hs_cell_paper(const json_t *cell);

/** Prints all tables in lines of at most `width` columns where that is possible (0: 80), else in several
 *  parts. HS_EIO or HS_ENOMEM. */
hs_status hs_table_print(FILE *stream, const json_t *result, size_t width,
                         bool colour) HS_MUST_CHECK;

/** The same as Markdown, each after a heading of that many # (0: after its name in bold). */
void hs_table_markdown(hs_buffer *b, const json_t *result, int heading);

/** The cells as CSV: case,row,column,mean,sd,error,n,paper,paper_error,sigmas,verdict. A figure that is
 *  not there is an empty field. */
void hs_table_csv(hs_buffer *b, const json_t *result);

#endif
