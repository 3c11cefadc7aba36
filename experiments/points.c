#include <math.h>
#include <string.h>

#include <hastings/autograd/plan.h>
#include <hastings/experiments/points.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/tune.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>
#include <hastings/tensor/random.h>

void app_points_free(app_points *points)
{
    hs_free(points->x);
    *points = (app_points){ 0 };
}

static hs_status points_new(app_points *points, hs_session *s, size_t n, size_t dim)
{
    *points = (app_points){ n, dim, hs_alloc_zero(hs_size_product(n, dim), sizeof(double)) };
    return points->x ? HS_OK
                     : hs_session_no_memory(s, hs_size_product(n, dim, sizeof(double)),
                                            "out of memory for %zu points", n);
}

hs_status app_points_exact(app_points *points, hs_session *s, const hs_target *target, size_t n,
                           uint64_t seed)
{
    enum { BATCH = 1000 };
    const size_t all = hs_target_dim(target), dim = hs_target_original_dim(target);
    hs_status status = points_new(points, s, n, dim);
    if (status)
        return status;
    hs_tape *tape = hs_tape_new(hs_session_dtype(s));
    hs_var x = hs_target_draw(target, tape, HS_START, 0);
    hs_plan *plan = NULL;
    hs_message message;
    status = hs_plan_new(&plan, &x, 1,
                         &(hs_plan_options){ .starts = BATCH,
                                             .threads = hs_session_threads(s),
                                             .interrupted = hs_session_interrupted,
                                             .context = s,
                                             .message = &message });
    for (size_t i = 0; i < n && !status; i += BATCH) {
        status = hs_plan_run(plan, &(hs_run){ .seed = seed, .step = i / BATCH });
        const void *drawn = hs_plan_get(plan, x);
        for (size_t k = 0; k < BATCH && i + k < n && !status; k++)
            for (size_t j = 0; j < dim; j++)
                points->x[(i + k) * dim + j] =
                    hs_number_get(hs_session_dtype(s), drawn, k * all + j);
        if (hs_session_interrupted(s))
            status = hs_session_fail(s, HS_EINTERRUPTED, "%s", hs_status_text(HS_EINTERRUPTED));
    }
    if (status)
        hs_session_fail(s, status, "drawing from %s: %s", hs_target_name(target),
                        plan ? hs_plan_error(plan) : message.text);
    hs_plan_free(plan);
    hs_tape_free(tape);
    if (status)
        app_points_free(points);
    return status;
}

enum { MOST_NUMBERS = 20000000 };

hs_status app_points_reference(app_points *points, hs_session *s, const hs_target *target,
                               const app_reference_chain_options *options)
{
    app_reference_chain_options o = *options;
    o.proposals = o.proposals ? o.proposals : 500000;
    o.chains = o.chains ? o.chains : 100;
    o.chains = o.chains < o.proposals / 4 ? o.chains : 1;
    o.warmup = o.warmup ? o.warmup : 1000;
    o.acceptance = o.acceptance > 0 ? o.acceptance : 0.65;
    const size_t dim = hs_target_original_dim(target);
    *points = (app_points){ 0 };

    double *last = hs_alloc_zero(hs_size_product(o.chains, dim), sizeof *last);
    if (!last)
        return hs_session_no_memory(s, hs_size_product(o.chains, dim, sizeof *last),
                                    "out of memory for %zu chains", o.chains);
    hs_proposal *hmc = hs_hmc(s, target, NULL);
    hs_tune(s, target, hmc,
            &(hs_tune_options){ .chains = o.chains,
                                .steps = o.warmup,
                                .acceptance = o.acceptance,
                                .last = last,
                                .seed = o.seed,
                                .progress = o.progress,
                                .context = o.context },
            NULL);
    /* Some millions of numbers represent the target as well as all of them, and fit into memory. */
    const size_t draws = o.proposals / o.chains;
    const size_t thin = 1 + hs_size_product(o.proposals, dim) / MOST_NUMBERS;
    hs_chains *c = hs_sample(s, target, hmc,
                             &(hs_sample_options){ .chains = o.chains,
                                                   .draws = (draws + thin - 1) / thin,
                                                   .thin = thin,
                                                   .points = last,
                                                   .n_points = o.chains,
                                                   .seed = o.seed + 1,
                                                   .progress = o.progress,
                                                   .context = o.context });
    hs_free(last);
    hs_status status = hs_session_status(s);
    if (!status && c)
        status = points_new(points, s, c->chains * c->draws, dim);
    if (!status && c)
        memcpy(points->x, c->x, points->n * dim * sizeof *points->x);
    return status;
}

void app_points_moments(const app_points *points, double *mean, double *sd)
{
    for (size_t j = 0; j < points->dim; j++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < points->n; i++)
            sum += points->x[i * points->dim + j];
        mean[j] = sum / (double)points->n;
        for (size_t i = 0; i < points->n; i++)
            square += pow(points->x[i * points->dim + j] - mean[j], 2);
        sd[j] = sqrt(square / (double)points->n);
    }
}

hs_status app_points_save(const app_points *points, const char *path, hs_message *message)
{
    const hs_chains c = { .chains = 1, .draws = points->n, .dim = points->dim, .x = points->x };
    return hs_chains_save(&c, path, message);
}

hs_status app_points_load(app_points *points, const char *path, hs_message *message)
{
    hs_chains *c = NULL;
    *points = (app_points){ 0 };
    const hs_status status = hs_chains_load(&c, path, HS_CHAIN_FIRST, message);
    if (!status) {
        *points = (app_points){ c->chains * c->draws, c->dim, c->x };
        c->x = NULL;
    }
    hs_chains_free(c);
    return status;
}

hs_status app_points_resample(hs_chains **chains, const app_points *points, size_t count,
                              size_t draws, uint64_t seed, hs_message *message)
{
    const unsigned keep = HS_KEEP_ALPHA | HS_KEEP_JUMP | HS_KEEP_ACCEPTED;
    const hs_status status = hs_chains_new(chains, count, draws, points->dim, keep, message);
    if (status)
        return status;
    hs_chains *c = *chains;
    const size_t dim = points->dim;
    const bool one_each = points->n == count * draws; /* independent already */
    double *start = NULL;                             /* of the jump to the first draw */
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < draws; i++) {
            const size_t at = m * draws + i;
            const hs_address address = { .seed = seed, .step = (uint64_t)at >> 32 };
            const double u = hs_random_at(HS_F64, HS_UNIFORM, address, (uint32_t)at, 0);
            const size_t k = one_each ? at : (size_t)(u * (double)points->n);
            double *x = hs_chains_draw(c, m, i), jump = 0;
            memcpy(x, points->x + k * dim, dim * sizeof *x);
            const double *before = i ? start : points->x + (k + points->n / 2) % points->n * dim;
            for (size_t j = 0; j < dim; j++)
                jump += pow(x[j] - before[j], 2);
            start = x;
            c->alpha[at] = 1;
            c->accepted[at] = 1;
            c->jump[at] = jump;
        }
    return HS_OK;
}
