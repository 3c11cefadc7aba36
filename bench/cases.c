#include "cases.h"

#include <math.h>
#include <string.h>

#include <hastings/experiments/spec.h>
#include "mcmc/targets/targets_internal.h"

static const bench_case cases[] = {
    { .name = "cross8",
      .title = "cross, 8 couplings",
      .kind = "multi-scheme",
      .target = "cross",
      .dim = 2,
      .couplings = 8,
      .width = 16,
      .depth = 4,
      .coupling_width = 6,
      .coupling_depth = 3,
      .starts = 8,
      .proposals = 100 },
    { .name = "cross3",
      .title = "cross, 3 couplings",
      .kind = "multi-scheme",
      .target = "cross",
      .dim = 2,
      .couplings = 3,
      .width = 16,
      .depth = 4,
      .coupling_width = 6,
      .coupling_depth = 3,
      .starts = 8,
      .proposals = 100 },
    { .name = "german",
      .title = "German Credit",
      .kind = "multi-scheme",
      .target = "logistic",
      .data = "german.csv",
      .augment = 21,
      .couplings = 5,
      .width = 126,
      .depth = 4,
      .starts = 8,
      .proposals = 100 },
    { .name = "heart",
      .title = "Heart",
      .kind = "multi-scheme",
      .target = "logistic",
      .data = "heart.csv",
      .augment = 14,
      .couplings = 5,
      .width = 84,
      .depth = 4,
      .starts = 8,
      .proposals = 100 },
    { .name = "pima",
      .title = "Pima",
      .kind = "multi-scheme",
      .target = "logistic",
      .data = "pima.csv",
      .augment = 9,
      .couplings = 5,
      .width = 54,
      .depth = 4,
      .starts = 8,
      .proposals = 100 },
    { .name = "ripley",
      .title = "Ripley",
      .kind = "multi-scheme",
      .target = "logistic",
      .data = "ripley.csv",
      .augment = 6,
      .couplings = 5,
      .width = 27,
      .depth = 4,
      .starts = 8,
      .proposals = 100 },
    { .name = "rwm100",
      .title = "random walk, d = 100",
      .kind = "random-walk",
      .target = "gaussian",
      .dim = 100,
      .starts = 1,
      .proposals = 50 },
    { .name = "rwm1000",
      .title = "random walk, d = 1000",
      .kind = "random-walk",
      .target = "gaussian",
      .dim = 1000,
      .starts = 1,
      .proposals = 50 },
    { .name = "rwm10000",
      .title = "random walk, d = 10000",
      .kind = "random-walk",
      .target = "gaussian",
      .dim = 10000,
      .starts = 1,
      .proposals = 50 },
    { .name = "mala100",
      .title = "MALA, d = 100",
      .kind = "mala",
      .target = "gaussian",
      .dim = 100,
      .starts = 1,
      .proposals = 50 },
    { .name = "mala1000",
      .title = "MALA, d = 1000",
      .kind = "mala",
      .target = "gaussian",
      .dim = 1000,
      .starts = 1,
      .proposals = 50 },
    { .name = "mala10000",
      .title = "MALA, d = 10000",
      .kind = "mala",
      .target = "gaussian",
      .dim = 10000,
      .starts = 1,
      .proposals = 50 },
    { .name = "mixture",
      .title = "position-dependent mixture",
      .kind = "mixture",
      .target = "cross",
      .dim = 2,
      .width = 16,
      .depth = 4,
      .starts = 1,
      .proposals = 50 },
    { .name = "mnist",
      .title = "MNIST multi-scheme",
      .kind = "multi-scheme",
      .target = "logistic",
      .rows = 11339,
      .dim = 785,
      .couplings = 5,
      .width = 2355,
      .depth = 4,
      .starts = 1,
      .proposals = 1 },
};
enum { CASES = sizeof cases / sizeof *cases };

const bench_case *bench_case_at(size_t i)
{
    return i < CASES ? &cases[i] : NULL;
}

const bench_case *bench_case_named(const char *name)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

static const char *const objectives[] = { "ab-initio", "msjd", "l2hmc", "gsm", NULL };

const char *bench_objective_name(size_t i)
{
    return i < 4 ? objectives[i] : NULL;
}

bool bench_objective(const char *name, hs_objective *objective)
{
    hs_objective list[] = { hs_ab_initio(0.18125), hs_msjd(), hs_l2hmc(1), hs_gsm(0.6) };
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, objectives[i]) == 0) {
            *objective = list[i];
            return true;
        }
    return false;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- Problems ------------------------------------------------------------------------------- */

static bool complain(const problem *p, const char *what)
{
    const char *why = hs_session_error(p->session);
    fprintf(stderr, "%s: %s%s%s\n", p->is->name, what, *why ? ": " : "", why);
    return false;
}

/* Features N(0, 0.1^2) and a column of ones, labels by the toss of a coin: as large as MNIST's 3 against 5. */
static hs_dataset *made_up(size_t rows, size_t columns)
{
    hs_dataset *d = hs_alloc_zero(1, sizeof *d);
    double *x = hs_alloc(rows * columns * sizeof *x), *y = hs_alloc(rows * sizeof *y);
    if (!d || !x || !y) {
        hs_free(d), hs_free(x), hs_free(y);
        return NULL;
    }
    hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 1 }, 0, rows, columns, x);
    hs_random_rows(HS_F64, HS_UNIFORM, (hs_address){ .seed = 1, .stream = 1 }, 0, rows, 1, y);
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < columns; k++)
            x[i * columns + k] = k ? 0.1 * x[i * columns + k] : 1;
        y[i] = y[i] < 0.5;
        d->ones += y[i] > 0;
    }
    d->rows = rows;
    d->columns = columns;
    d->x = x;
    d->y = y;
    return d;
}

static bool open_data(problem *p)
{
    char path[4096];
    hs_message message;
    if (!p->is->data)
        p->data = made_up(p->is->rows, p->is->dim);
    else if (!app_find_file("data", p->is->data, path))
        fprintf(stderr, "data/%s is not there\n", p->is->data);
    else if (hs_dataset_load_csv(&p->data, path, NULL, &message))
        fprintf(stderr, "%s\n", message.text);
    return p->data != NULL;
}

/* Start points from the Laplace approximation, which stand for those of a long chain. */
static bool draw_points(problem *p)
{
    enum { POINTS = 1000, FEW = 100 };
    const size_t d = p->data->columns;
    const bool small = d < 100;
    p->n_points = small ? POINTS : FEW;
    p->points = hs_alloc(p->n_points * d * sizeof *p->points);
    double *mode = hs_alloc_zero(d, sizeof *mode), *factor = hs_alloc_zero(d * d, sizeof *factor);
    double *z = hs_alloc(d * sizeof *z);
    bool ok = p->points && mode && factor && z;
    if (ok && small)
        ok = !hs_laplace_approximation(p->session, p->plain, NULL, mode, factor) &&
             hs__cholesky_factor(factor, d);
    for (size_t i = 0; ok && i < p->n_points; i++) {
        hs_random_rows(HS_F64, HS_NORMAL, (hs_address){ .seed = 2 }, (uint32_t)i, 1, d, z);
        for (size_t k = 0; k < d; k++) {
            double x = small ? mode[k] : 0.1 * z[k];
            for (size_t j = 0; small && j <= k; j++)
                x += factor[k * d + j] * z[j];
            p->points[i * d + k] = x;
        }
    }
    hs_free(mode), hs_free(factor), hs_free(z);
    return ok;
}

static bool open_proposal(problem *p)
{
    const bench_case *c = p->is;
    hs_session *s = p->session;
    const size_t d = hs_target_dim(p->target), own = hs_target_original_dim(p->target);
    if (is(c->kind, "random-walk")) {
        p->proposal = hs_random_walk(s, &(hs_walk_options){ .dim = d });
    } else if (is(c->kind, "mala")) {
        p->proposal = hs_mala(s, p->target, NULL);
    } else if (is(c->kind, "mixture")) {
        const double centres[] = { 4, 0, -4, 0, 0, 4, 0, -4 };
        p->proposal = hs_position_mixture(
            s, &(hs_position_mixture_options){
                   .dim = d, .width = c->width, .depth = c->depth, .means = centres });
    } else {
        /* Near the posterior, where acceptance does not underflow: as resampling, or, in many dimensions, as
         * a walk of tiny steps. */
        double *mean = hs_alloc_zero(2 * d, sizeof *mean), *sd = mean + d;
        if (!mean)
            return false;
        for (size_t k = 0; k < d; k++)
            sd[k] = is(c->target, "cross") ? 3 : 1;
        for (size_t k = 0; k < own && p->points && c->data; k++) {
            double sum = 0, square = 0;
            for (size_t i = 0; i < p->n_points; i++) {
                sum += p->points[i * own + k];
                square += p->points[i * own + k] * p->points[i * own + k];
            }
            mean[k] = sum / (double)p->n_points;
            sd[k] = sqrt(square / (double)p->n_points - mean[k] * mean[k]);
        }
        p->proposal = hs_multi_scheme(
            s, &(hs_multi_scheme_options){ .dim = d,
                                           .couplings = c->couplings,
                                           .width = c->width,
                                           .depth = c->depth,
                                           .coupling_width = c->coupling_width,
                                           .coupling_depth = c->coupling_depth,
                                           .start = c->rows ? HS_AS_RANDOM_WALK : HS_AS_RESAMPLING,
                                           .step = c->rows ? 1e-3 : 0,
                                           .noise = c->rows ? 1e-6 : 0.01,
                                           .mean = mean,
                                           .sd = sd });
        hs_free(mean);
    }
    return p->proposal != NULL;
}

static bool open_target(problem *p)
{
    const bench_case *c = p->is;
    if (is(c->target, "cross")) {
        p->plain = hs_target_cross(p->session, NULL);
    } else if (is(c->target, "gaussian")) {
        p->plain = hs_target_gaussian(p->session, c->dim, NULL);
    } else {
        p->plain = open_data(p) ? hs_target_logistic(p->session, p->data, NULL) : NULL;
        if (!p->plain || !draw_points(p))
            return false;
    }
    p->target = c->augment ? hs_target_augment(p->session, p->plain, c->augment) : p->plain;
    return p->target != NULL;
}

bool problem_open(problem *p, const bench_case *c, hs_dtype dtype, int threads)
{
    *p = (problem){ .is = c };
    p->session = hs_session_new(
        &(hs_session_options){ .seed = 1, .float32 = dtype == HS_F32, .threads = threads });
    if (!open_target(p))
        return complain(p, "no target");
    return open_proposal(p) || complain(p, "no proposal");
}

void problem_close(problem *p)
{
    hs_session_free(p->session);
    if (p->data && !p->is->data) {
        hs_free(p->data->x), hs_free(p->data->y), hs_free(p->data);
        p->data = NULL;
    }
    hs_dataset_free(p->data);
    hs_free(p->points);
    *p = (problem){ 0 };
}

/* ---- Gradient steps ------------------------------------------------------------------------- */

bool stepper_open(stepper *s, const bench_case *c, const char *objective, hs_dtype dtype,
                  int threads)
{
    *s = (stepper){ 0 };
    if (!bench_objective(objective, &s->options.objective) ||
        !problem_open(&s->problem, c, dtype, threads))
        return false;
    s->options.starts = c->starts;
    s->options.proposals = c->proposals;
    s->options.points = s->problem.points;
    s->options.n_points = s->problem.n_points;
    if (!hs__batch_open(&s->batch, s->problem.session, s->problem.target, s->problem.proposal,
                        &s->options, true, false))
        return complain(&s->problem, "no plan");
    s->adam = hs_optimizer_new(hs_proposal_params(s->problem.proposal),
                               &(hs_optimizer_options){ "adam", .rate = 3e-4, .threads = threads });
    return s->adam != NULL;
}

void stepper_run(void *context)
{
    stepper *s = context;
    hs__batch_pick(&s->batch, 1, s->step);
    if (!hs__batch_run(&s->batch, 1, s->step++))
        complain(&s->problem, "a step failed");
    if (s->options.objective.adapt)
        s->batch.adapted_now =
            s->options.objective.adapt(&s->options.objective, s->batch.adapted_now,
                                       hs_plan_scalar(s->batch.plan, s->batch.alpha));
    if (hs_optimizer_step(s->adam))
        fprintf(stderr, "%s: %s\n", s->problem.is->name, hs_optimizer_error(s->adam));
}

void stepper_close(stepper *s)
{
    hs__batch_close(&s->batch);
    hs_optimizer_free(s->adam);
    problem_close(&s->problem);
    *s = (stepper){ 0 };
}

/* ---- Chains --------------------------------------------------------------------------------- */

bool chains_open(chains *c, const bench_case *of, const char *kind, size_t count, hs_dtype dtype,
                 int threads)
{
    *c = (chains){ 0 };
    problem *p = &c->problem;
    *p = (problem){ .is = of };
    p->session = hs_session_new(
        &(hs_session_options){ .seed = 1, .float32 = dtype == HS_F32, .threads = threads });
    if (!open_target(p))
        return complain(p, "no target");
    const size_t d = hs_target_dim(p->plain);
    const double size = of->data ? 1 : 0.1; /* of the steps */
    const hs_target *target = p->plain;
    if (is(kind, "random-walk")) {
        p->proposal =
            hs_random_walk(p->session, &(hs_walk_options){ .dim = d, .step = 0.06 * size });
    } else if (is(kind, "mala")) {
        p->proposal = hs_mala(p->session, target,
                              &(hs_walk_options){ .step = 0.5 * 0.09 * 0.09 * size * size });
    } else if (is(kind, "hmc")) {
        p->proposal = hs_hmc(
            p->session, target,
            &(hs_hmc_options){ .leapfrogs = HMC_LEAPFROGS, .step = 0.1 * size, .jitter = -1 });
    } else {
        target = p->target;
        open_proposal(p);
    }
    if (!p->proposal || !hs__sampler_open(&c->sampler, target, p->proposal, count, REMEMBERS_ALL))
        return complain(p, "no chains");
    double *state = hs_alloc(count * d * sizeof *state);
    for (size_t i = 0; state && i < count; i++)
        memcpy(state + i * d, p->points + i % p->n_points * d, d * sizeof *state);
    if (state)
        hs__sampler_set(&c->sampler, state);
    hs_free(state);
    return state != NULL;
}

void chains_run(void *context)
{
    chains *c = context;
    if (!hs__sampler_step(&c->sampler, 1, c->step++))
        complain(&c->problem, "a transition failed");
    const void *alpha = hs_plan_get(c->sampler.plan, c->sampler.alpha);
    const bool narrow = hs_session_dtype(c->problem.session) == HS_F32;
    double sum = 0;
    for (size_t i = 0; i < c->sampler.chains; i++)
        sum += narrow ? (double)((const float *)alpha)[i] : ((const double *)alpha)[i];
    c->accepted += sum / (double)c->sampler.chains;
}

void chains_close(chains *c)
{
    if (c->sampler.plan)
        hs__sampler_close(&c->sampler);
    problem_close(&c->problem);
}
