/* The paper's figures: what a trained proposal in the plane looks like. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include "clusters_internal.h"
#include "job_internal.h"
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

enum { GRID = 121, STARTS = 5 };

static bool wanted(const work *w, const hs_proposal *p, const char *figure)
{
    const json_t *figures = json_object_get(w->job->experiment, "figures");
    for (size_t i = 0; i < json_array_size(figures); i++)
        if (!strcmp(json_string_value(json_array_get(figures, i)), figure))
            return hs_proposal_dim(p) == 2 && w->points.dim == 2 && w->points.n > 0;
    return false;
}

/* What the draws of the target cover, and a little more, as squares. */
static void window(const work *w, double low[2], double high[2])
{
    double widest = 0;
    for (int j = 0; j < 2; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
        for (size_t i = 0; i < w->points.n; i++) {
            low[j] = fmin(low[j], w->points.x[2 * i + (size_t)j]);
            high[j] = fmax(high[j], w->points.x[2 * i + (size_t)j]);
        }
        widest = fmax(widest, high[j] - low[j]);
    }
    for (int j = 0; j < 2; j++) {
        const double centre = 0.5 * (low[j] + high[j]);
        low[j] = centre - 0.55 * widest;
        high[j] = centre + 0.55 * widest;
    }
}

/* The grid's points in the session's number type, once for each start: [repeat][GRID * GRID][2]. */
static void *grid_points(const work *w, const double low[2], const double high[2], size_t repeat)
{
    void *grid = hs_alloc_zero(repeat * GRID * GRID * 2, sizeof(double));
    const hs_dtype dtype = hs_session_dtype(w->session);
    for (size_t i = 0; grid && i < repeat * GRID * GRID; i++) {
        const size_t at[2] = { i % GRID, i / GRID % GRID };
        for (size_t j = 0; j < 2; j++) {
            const double x = low[j] + (high[j] - low[j]) * (double)at[j] / (GRID - 1);
            hs_number_set(dtype, grid, 2 * i + j, x);
        }
    }
    return grid;
}

static double value_at(const work *w, const void *values, size_t i)
{
    return hs_number_get(hs_session_dtype(w->session), values, i);
}

/* Saves maps [n][GRID][GRID] as figures/JOB-density.npy, say. */
static const char *keep_maps(work *w, const char *ending, double *maps, size_t n)
{
    char path[JOB_PATH];
    hs_message message = { "" };
    const hs_chains c = { .chains = n, .draws = GRID, .dim = GRID, .x = maps };
    if (app_job_path(w, path, "figures", ending)) {
        const hs_status status = hs_chains_save(&c, path, &message);
        if (status)
            hs_session_fail(w->session, status, "%s", message.text);
    }
    return app_record_text(w->record, "figures/%s%s", w->job->id, ending);
}

/* The ends of the window along a coordinate. */
static app_numbers range(const work *w, double low, double high)
{
    return app_record_numbers(w->record, (const double[]){ low, high }, 2);
}

/* Where the density is drawn from: the target's clusters, and the middle between them. */
static void start_points(const work *w, void *starts, double x[STARTS][2])
{
    double sd[2];
    app_find_clusters(&w->points, STARTS - 1, &x[0][0]);
    app_points_moments(&w->points, x[STARTS - 1], sd);
    hs_numbers_set(hs_session_dtype(w->session), starts, 2 * STARTS, &x[0][0]);
}

/* Mixtures of kernels have none, nor has HMC. */
static bool has_density(const work *w, const hs_proposal *p)
{
    hs_tape *tape = hs_tape_new(hs_session_dtype(w->session));
    hs_var x = hs_input(tape, "x", HS_ROW, hs_dims(2));
    hs_proposal_log_density(p, x, x);
    const bool has = hs_tape_status(tape) != HS_EINVAL;
    hs_tape_free(tape);
    return has;
}

void app_job_draw_density(work *w, const hs_proposal *p)
{
    double low[2], high[2], x[STARTS][2], starts[2 * STARTS];
    if (!wanted(w, p, "density") || !has_density(w, p))
        return;
    window(w, low, high);
    start_points(w, starts, x);
    void *grid = grid_points(w, low, high, STARTS);
    double *maps = hs_alloc_zero(STARTS * GRID * GRID, sizeof *maps);
    hs_tape *tape = hs_tape_new(hs_session_dtype(w->session));
    hs_var from = hs_input(tape, "start", HS_START, hs_dims(2));
    hs_var to = hs_input(tape, "end", HS_ROW, hs_dims(2));
    hs_var density = hs_exp(hs_proposal_log_density(p, to, from));
    hs_plan *plan = NULL;
    hs_message message = { "out of memory" };
    hs_status status = hs_plan_new(&plan, &density, 1,
                                   &(hs_plan_options){ .starts = STARTS,
                                                       .rows_per_start = GRID * GRID,
                                                       .threads = w->job->threads,
                                                       .interrupted = hs_session_interrupted,
                                                       .context = w->session,
                                                       .message = &message });
    if (!status && grid && maps) {
        hs_plan_set(plan, from, starts);
        hs_plan_set(plan, to, grid);
        status = hs_plan_run(plan, &(hs_run){ .seed = w->job->seed });
    }
    if (status || !grid || !maps) {
        hs_session_fail(w->session, status ? status : HS_ENOMEM, "density figure: %s",
                        plan && status ? hs_plan_error(plan) : message.text);
    } else {
        app_density *about = app_record_alloc(w->record, 1, sizeof *about);
        for (size_t i = 0; i < STARTS * GRID * GRID; i++)
            maps[i] = value_at(w, hs_plan_get(plan, density), i);
        if (about)
            *about = (app_density){ keep_maps(w, "-density.npy", maps, STARTS),
                                    range(w, low[0], high[0]), range(w, low[1], high[1]),
                                    app_record_numbers(w->record, &x[0][0], 2 * STARTS) };
        w->record->density = about;
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_free(grid);
    hs_free(maps);
}

/* Means and covariances of a position-dependent mixture, from its parameters: D L (D L)^T, D the
 * diagonal of sds, and L with ones on its diagonal. */
static app_list components(app_record *r, hs_params *ps, size_t n)
{
    app_component *all = app_record_alloc(r, n, sizeof *all);
    for (size_t k = 0; k < n && all; k++) {
        char name[32];
        double mean[2] = { 0 }, log_sd[2] = { 0 }, shear[4] = { 0 };
        snprintf(name, sizeof name, "mean.%zu", k);
        hs_param_get(hs_params_find(ps, name), mean);
        snprintf(name, sizeof name, "log_sd.%zu", k);
        hs_param_get(hs_params_find(ps, name), log_sd);
        snprintf(name, sizeof name, "shear.%zu", k);
        const hs_param lower = hs_params_find(ps, name);
        if (lower.index >= 0)
            hs_param_get(lower, shear);
        const double a = exp(log_sd[0]), b = exp(log_sd[1]), l = shear[2];
        const double covariance[] = { a * a, a * b * l, a * b * l, b * b * (1 + l * l) };
        all[k] =
            (app_component){ app_record_numbers(r, mean, 2), app_record_numbers(r, covariance, 4) };
    }
    return (app_list){ all, all ? n : 0 };
}

static bool has_components(const hs_proposal *p)
{
    hs_params *ps = hs_proposal_params(p);
    return ps && hs_params_find(ps, "mean.0").index >= 0;
}

void app_job_draw_weights(work *w, const hs_proposal *p)
{
    const size_t n = hs_proposal_ways(p);
    double low[2], high[2];
    if (!wanted(w, p, "weights") || !has_components(p))
        return;
    window(w, low, high);
    void *grid = grid_points(w, low, high, 1);
    double *maps = hs_alloc_zero(n * GRID * GRID, sizeof *maps);
    hs_tape *tape = hs_tape_new(hs_session_dtype(w->session));
    hs_var at = hs_input(tape, "position", HS_ROW, hs_dims(2));
    hs_var noise = hs_normal(tape, HS_ROW, hs_dims(hs_proposal_normals(p)), 0);
    hs_move moves[HS_MAX_WAYS];
    hs_var weight[HS_MAX_WAYS];
    hs_proposal_moves(p, at, noise, moves);
    for (size_t k = 0; k < n; k++)
        weight[k] = moves[k].weight;
    hs_plan *plan = NULL;
    hs_message message = { "out of memory" };
    hs_status status = hs_plan_new(&plan, weight, n,
                                   &(hs_plan_options){ .rows_per_start = GRID * GRID,
                                                       .threads = w->job->threads,
                                                       .interrupted = hs_session_interrupted,
                                                       .context = w->session,
                                                       .message = &message });
    if (!status && grid && maps) {
        hs_plan_set(plan, at, grid);
        status = hs_plan_run(plan, &(hs_run){ .seed = w->job->seed });
    }
    if (status || !grid || !maps) {
        hs_session_fail(w->session, status ? status : HS_ENOMEM, "weights figure: %s",
                        plan && status ? hs_plan_error(plan) : message.text);
    } else {
        app_weights *about = app_record_alloc(w->record, 1, sizeof *about);
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < GRID * GRID; i++)
                maps[k * GRID * GRID + i] = value_at(w, hs_plan_get(plan, weight[k]), i);
        if (about)
            *about = (app_weights){ keep_maps(w, "-weights.npy", maps, n),
                                    range(w, low[0], high[0]), range(w, low[1], high[1]),
                                    components(w->record, hs_proposal_params(p), n) };
        w->record->weights = about;
    }
    hs_plan_free(plan);
    hs_tape_free(tape);
    hs_free(grid);
    hs_free(maps);
}
