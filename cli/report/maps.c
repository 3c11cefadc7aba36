/* Maps of two dimensions: the density of a proposal from several points, and the weights of a mixture
 * over the plane. Of the first replication. */
#include "page_internal.h"

#include <string.h>

#include <hastings/experiments/inside.h>
#include <hastings/mcmc/chains.h>
#include <hastings/tensor/message.h>

enum { MOST_PANELS = 36, MOST_MAPS = 40, NARROW_PANELS = 4, MOST_COLUMNS = 6 };

/* Two numbers of a list; false if they are not there. */
static bool read_pair(const json_t *list, double pair[2])
{
    const json_t *a = json_array_get(list, 0), *b = json_array_get(list, 1);
    pair[0] = json_number_value(a);
    pair[1] = json_number_value(b);
    return json_is_number(a) && json_is_number(b);
}

static bool read_normal(const json_t *component, app_map_normal *normal)
{
    const json_t *covariance = json_object_get(component, "covariance");
    return read_pair(json_object_get(component, "mean"), normal->mean) &&
           read_pair(json_array_get(covariance, 0), normal->covariance[0]) &&
           read_pair(json_array_get(covariance, 1), normal->covariance[1]);
}

/* What a panel shows beside its values: the point that the proposal starts from, or the component that
 * the weight belongs to. */
static void mark_panel(page *p, const json_t *map, app_map_panel *panel, size_t i)
{
    double *start = hs_arena_alloc(&p->memory, 2 * sizeof *start);
    app_map_normal *normal = hs_arena_alloc(&p->memory, sizeof *normal);
    if (!start || !normal)
        return;
    if (read_pair(json_array_get(json_object_get(map, "starts"), i), start)) {
        panel->start = start;
        panel->title = app_page_text(p, "from (%.2g, %.2g)", start[0], start[1]);
    }
    if (read_normal(json_array_get(json_object_get(map, "components"), i), normal)) {
        panel->normals = normal;
        panel->normals_count = 1;
        panel->title = app_page_text(p, "component %zu", i + 1);
    }
}

static hs_status draw_map(page *p, const json_t *map, const char *title, bool weights,
                          const app_figure_out *out, size_t *panels, hs_message *message)
{
    char path[APP_INSIDE_PATH];
    hs_chains *values; /* three axes of numbers: [panel][y][x] */
    app_map_panel panel[MOST_PANELS] = { { 0 } };
    hs_status status = app_file_inside(p->folder, app_text_of(map, "file"), path, message);
    if (status == HS_OK)
        status = hs_chains_load(&values, path, HS_CHAIN_FIRST, message);
    if (status != HS_OK)
        return status == HS_EIO ? HS_EINVAL : status; /* not there is not a failure of the report */
    *panels = values->chains < MOST_PANELS ? values->chains : MOST_PANELS;
    for (size_t i = 0; i < *panels; i++) {
        panel[i].values = hs_chains_draw(values, i, 0);
        mark_panel(p, map, &panel[i], i);
    }
    /* Two figures fit beside each other if each has few panels. */
    app_maps_figure figure = { .title = title,
                               .width = *panels <= NARROW_PANELS ? 500 : 1000,
                               .panels = panel,
                               .panels_count = *panels,
                               .columns = weights                   ? 2
                                          : *panels <= MOST_COLUMNS ? *panels
                                                                    : 0,
                               .nx = values->dim,
                               .ny = values->draws };
    if (weights)
        figure.range[1] = 1;
    if (!read_pair(json_object_get(map, "x"), figure.x) ||
        !read_pair(json_object_get(map, "y"), figure.y))
        status = hs_message_fail(message, HS_EINVAL, "%.300s: result.json does not say its region",
                                 path);
    else
        status = app_figure_maps(&figure, out, message);
    hs_chains_free(values);
    return status;
}

/* The map of a job under `key`, "density" or "weights". */
static bool put_map(page *p, const json_t *job, const char *key)
{
    const json_t *map = json_object_get(job, key);
    if (!is_shown(job) || !app_text_of(map, "file")[0])
        return false;
    const bool weights = strcmp(key, "weights") == 0;
    const char *title =
        app_page_text(p, "%s, %s", app_text_of(job, "row"), app_text_of(job, "case"));
    picture pic;
    hs_message message = { "" };
    size_t panels = 0;
    app_picture_begin(&pic, p, app_text_of(job, "id"), key);
    const hs_status status = draw_map(p, map, title, weights, &pic.out, &panels, &message);
    pic.wide = panels > NARROW_PANELS;
    app_picture_end(
        &pic, p, status, &message,
        weights ? app_page_text(p,
                                "%zu maps of the weights of a mixture over the plane, %s; red "
                                "ellipses are the components.",
                                panels, title)
                : app_page_text(p,
                                "%zu maps of the density of the proposal from a point, which "
                                "is a red dot, %s.",
                                panels, title),
        "");
    return true;
}

/* Maps of one kind, by cases. */
static size_t put_kind(page *p, const char *key, const char *sentence, size_t most)
{
    size_t count = 0, i;
    json_t *job;
    const char *before = NULL;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        const char *name = app_text_of(job, "case");
        if (!is_shown(job) || !app_text_of(json_object_get(job, key), "file")[0])
            continue;
        if (count == 0)
            app_buffer_html(&p->html, "<p>%s</p>\n", sentence);
        if (count < most && (!before || strcmp(before, name) != 0)) {
            app_buffer_put(&p->html, before ? "</div>\n" : "");
            app_buffer_html(&p->html, "<h3>%s</h3>\n<div class=\"grid\">\n", name);
            before = name;
        }
        if (count++ < most)
            put_map(p, job, key);
    }
    app_buffer_put(&p->html, before ? "</div>\n" : "");
    if (count > most)
        app_buffer_html(&p->html, "<p class=\"soft\">These are the first %zu of %zu.</p>\n", most,
                        count);
    return count;
}

static bool has_map(const page *p)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(p->result, "jobs"), i, job)
    {
        if (is_shown(job) && (json_is_object(json_object_get(job, "density")) ||
                              json_is_object(json_object_get(job, "weights"))))
            return true;
    }
    return false;
}

void app_page_maps(page *p)
{
    if (!has_map(p))
        return;
    app_page_section(p, "maps", "Proposals");
    const size_t count =
        put_kind(p, "density",
                 "Where the trained proposal goes from the point that is marked in red: the "
                 "brighter, the more likely.",
                 MOST_MAPS);
    put_kind(p, "weights",
             "The weight that each component of the mixture, drawn in red, has at each place.",
             count < MOST_MAPS ? MOST_MAPS - count : 0);
    app_page_section_end(p);
}
