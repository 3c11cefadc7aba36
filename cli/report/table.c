#include <hastings/cli/report/table.h>

#include <string.h>

#include "report_internal.h"

/* ---- Order: names as the experiment has them, then those that only cells have -------------- */

typedef struct {
    const char **name;
    size_t count, capacity;
} name_list;

static bool find_name(const name_list *list, const char *name, size_t *at)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0) {
            *at = i;
            return true;
        }
    return false;
}

static bool add_name(name_list *list, hs_arena *memory, const char *name)
{
    size_t at;
    if (find_name(list, name, &at))
        return true;
    if (list->count == list->capacity) {
        const size_t capacity = 2 * list->capacity + 8;
        const char **grown = hs_arena_alloc(memory, capacity * sizeof *grown);
        if (!grown)
            return false;
        if (list->count)
            memcpy(grown, list->name, list->count * sizeof *grown);
        list->name = grown;
        list->capacity = capacity;
    }
    list->name[list->count++] = name;
    return true;
}

/* `listed` has objects with names, or names; cells have them under `key`. */
static bool gather_names(name_list *list, hs_arena *memory, const json_t *listed,
                         const json_t *cells, const char *key)
{
    size_t i;
    json_t *item;
    json_array_foreach(listed, i, item)
    {
        const char *name =
            json_is_string(item) ? json_string_value(item) : app_text_of(item, "name");
        if (!add_name(list, memory, name))
            return false;
    }
    json_array_foreach(cells, i, item)
    {
        if (!add_name(list, memory, app_text_of(item, key)))
            return false;
    }
    return true;
}

/* ---- Making tables -------------------------------------------------------------------------- */

/* All cells: [group][line][column]. */
typedef struct {
    name_list groups, lines, columns;
    const json_t **cell;
} cell_grid;

static const json_t *grid_cell(const cell_grid *g, size_t group, size_t line, size_t column)
{
    return g->cell[(group * g->lines.count + line) * g->columns.count + column];
}

static bool fill_grid(cell_grid *g, hs_arena *memory, const json_t *result, bool by_case)
{
    const json_t *experiment = json_object_get(result, "experiment");
    const json_t *cells = json_object_get(result, "cells");
    const json_t *cases = json_object_get(experiment, "cases");
    const json_t *rows = json_object_get(experiment, "rows");
    const char *group = by_case ? "case" : "row", *line = by_case ? "row" : "case";
    if (!gather_names(&g->groups, memory, by_case ? cases : rows, cells, group) ||
        !gather_names(&g->lines, memory, by_case ? rows : cases, cells, line) ||
        !gather_names(&g->columns, memory, json_object_get(experiment, "columns"), cells, "column"))
        return false;
    const size_t count = g->groups.count * g->lines.count * g->columns.count;
    g->cell = hs_arena_alloc(memory, (count + 1) * sizeof(json_t *));
    if (!g->cell)
        return false;
    for (size_t i = 0; i < count; i++)
        g->cell[i] = NULL;
    size_t i, at[3];
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        if (find_name(&g->groups, app_text_of(cell, group), &at[0]) &&
            find_name(&g->lines, app_text_of(cell, line), &at[1]) &&
            find_name(&g->columns, app_text_of(cell, "column"), &at[2]))
            g->cell[(at[0] * g->lines.count + at[1]) * g->columns.count + at[2]] = cell;
    }
    return true;
}

/* Only lines and columns with a cell. */
static bool make_table(app_table *table, hs_arena *memory, const cell_grid *g, size_t group)
{
    name_list lines = { 0 }, columns = { 0 };
    for (size_t i = 0; i < g->lines.count; i++)
        for (size_t j = 0; j < g->columns.count; j++)
            if (grid_cell(g, group, i, j) && !add_name(&lines, memory, g->lines.name[i]))
                return false;
    for (size_t j = 0; j < g->columns.count; j++)
        for (size_t i = 0; i < g->lines.count; i++)
            if (grid_cell(g, group, i, j) && !add_name(&columns, memory, g->columns.name[j]))
                return false;
    *table = (app_table){ .name = g->groups.name[group],
                          .lines = lines.count,
                          .columns = columns.count,
                          .line = lines.name,
                          .column = columns.name };
    table->cell = hs_arena_alloc(memory, (lines.count * columns.count + 1) * sizeof(json_t *));
    table->paper = hs_arena_alloc(memory, columns.count + 1);
    if (!table->cell || !table->paper)
        return false;
    for (size_t j = 0; j < columns.count; j++) {
        table->paper[j] = false;
        for (size_t i = 0; i < lines.count; i++) {
            size_t line = 0, column = 0;
            (void)find_name(&g->lines, lines.name[i], &line);
            (void)find_name(&g->columns, columns.name[j], &column);
            const json_t *cell = grid_cell(g, group, line, column);
            table->cell[i * columns.count + j] = cell;
            table->paper[j] |= app_cell_paper(cell)[0] != '\0';
            table->judged |= app_verdict_of(app_text_of(cell, "verdict")) != APP_VERDICT_NONE;
        }
    }
    return true;
}

bool app_tables_make(app_tables *tables, const json_t *result)
{
    const json_t *experiment = json_object_get(result, "experiment");
    *tables = (app_tables){ .by_case = strcmp(app_text_of(experiment, "layout"), "rows") != 0 };
    cell_grid grid = { 0 };
    bool made = fill_grid(&grid, &tables->memory, result, tables->by_case);
    if (made) {
        const size_t bytes = (grid.groups.count + 1) * sizeof *tables->table;
        tables->table = hs_arena_alloc(&tables->memory, bytes);
        made = tables->table != NULL;
    }
    for (size_t i = 0; made && i < grid.groups.count; i++) {
        made = make_table(&tables->table[tables->count], &tables->memory, &grid, i);
        tables->count += made && tables->table[tables->count].lines > 0;
    }
    if (!made)
        app_tables_free(tables);
    return made;
}

void app_tables_free(app_tables *tables)
{
    hs_arena_free(&tables->memory);
    *tables = (app_tables){ 0 };
}

/* ---- What cells and columns say -------------------------------------------------------------- */

const char *app_cell_ours(const json_t *cell, char text[APP_FIGURE_TEXT])
{
    const char *own = app_text_of(cell, "text");
    if (!cell || (own[0] && strlen(own) < APP_FIGURE_TEXT)) {
        snprintf(text, APP_FIGURE_TEXT, "%s", own);
        return text;
    }
    return app_figure_text(number_of(cell, "mean"), number_of(cell, "sd"), text);
}

const char *app_cell_paper(const json_t *cell)
{
    return app_text_of(cell, "paper");
}

const char *app_column_title(const char *column)
{
    const app_figure_id id = app_figure_find(column);
    return id == APP_FIGURES ? column : app_column_at(id)->title;
}

const char *app_verdict_mark(app_verdict verdict)
{
    static const char *const marks[] = { "", "✓", "≈", "✗" };
    return marks[verdict <= APP_VERDICT_DIFFERS ? verdict : APP_VERDICT_NONE];
}

app_verdict_count app_verdicts(const json_t *result)
{
    app_verdict_count count = { { 0 }, 0 };
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(result, "cells"), i, cell)
    {
        const app_verdict verdict = app_verdict_of(app_text_of(cell, "verdict"));
        count.of[verdict]++;
        count.judged += verdict != APP_VERDICT_NONE;
    }
    return count;
}

void app_verdicts_sentence(app_buffer *b, const app_verdict_count *count)
{
    const size_t agree = count->of[APP_VERDICT_AGREES], close = count->of[APP_VERDICT_CLOSE];
    const size_t differ = count->of[APP_VERDICT_DIFFERS];
    if (count->judged == 0) {
        app_buffer_put(b, "No figure of this run is compared with the paper.");
        return;
    }
    if (agree == count->judged && agree > 1)
        app_buffer_print(b, "All %zu figures agree with the paper", agree);
    else
        app_buffer_print(b, "%zu of %zu figures agree%s with the paper", agree, count->judged,
                         agree == 1 ? "s" : "");
    if (close)
        app_buffer_print(b, ", %zu %s close", close, close == 1 ? "is" : "are");
    if (differ)
        app_buffer_print(b, "%s %zu differ%s", close ? " and" : ",", differ,
                         differ == 1 ? "s" : "");
    app_buffer_put(b, ".");
}
