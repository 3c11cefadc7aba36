#include <math.h>
#include <string.h>

#include "clusters_internal.h"
#include <hastings/experiments/points.h>
#include "spec_internal.h"
#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/tensor/memory.h>

/* The surroundings of a proposal, besides its options. */
typedef struct {
    const hs_target *target;
    uint64_t replica;
    const app_points *points; /* draws of the target, or none */
    double *mean, *sd;        /* [dim] of them, auxiliary coordinates included; NULL: 0 and 1 */
} setting;

#define STEP                                                                                       \
    {                                                                                              \
        "step", APP_SPEC_NUMBER, "0", "first step; 0: near the optimum on a standard normal"       \
    }
#define WALK_OPTIONS                                                                               \
    STEP, { "log_step", APP_SPEC_FLAG, "no", "train the logarithm of the step" },                  \
        { "diagonal", APP_SPEC_FLAG, "no", "one step for each coordinate" },                       \
    {                                                                                              \
        "scaled", APP_SPEC_FLAG, "no", "steps in units of the target's standard deviations"        \
    }
#define WIDTH                                                                                      \
    {                                                                                              \
        "width", APP_SPEC_SIZE, "16", "width of the hidden layers"                                 \
    }
#define DEPTH                                                                                      \
    {                                                                                              \
        "depth", APP_SPEC_SIZE, "4", "number of hidden layers"                                     \
    }

static hs_walk_options walk_options(const spec *p, const setting *at)
{
    return (hs_walk_options){ .dim = hs_target_dim(at->target),
                              .step = app_spec_number(p, "step"),
                              .log_step = app_spec_flag(p, "log_step"),
                              .diagonal = app_spec_flag(p, "diagonal"),
                              .scale = app_spec_flag(p, "scaled") ? at->sd : NULL };
}

static hs_proposal *random_walk(const spec *p, const setting *at)
{
    const hs_walk_options o = walk_options(p, at);
    return hs_random_walk(p->session, &o);
}

static hs_proposal *mala(const spec *p, const setting *at)
{
    const hs_walk_options o = walk_options(p, at);
    return hs_mala(p->session, at->target, &o);
}

static hs_proposal *hmc(const spec *p, const setting *at)
{
    return hs_hmc(p->session, at->target,
                  &(hs_hmc_options){ .leapfrogs = app_spec_count(p, "leapfrogs"),
                                     .step = app_spec_number(p, "step"),
                                     .scale = app_spec_flag(p, "scaled") ? at->sd : NULL });
}

/* The first scheme; tries take turns with several, joined by "+". */
static int start_scheme(const spec *p, uint64_t replica)
{
    static const char *const words[] = { "networks", "resampling", "random-walk",
                                         "mala",     "latent",     NULL };
    const char *all = app_spec_text(p, "start"), *word = all;
    size_t n = 1;
    for (const char *c = all; *c; c++)
        n += *c == '+';
    for (uint64_t skip = replica % n; skip > 0; skip--)
        word = strchr(word, '+') + 1;
    const size_t length = strcspn(word, "+");
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == length && !strncmp(words[i], word, length))
            return i;
    return app_spec_word(p, "start", words); /* fails, saying what there is */
}

static hs_proposal *multi_scheme(const spec *p, const setting *at)
{
    const int scheme = start_scheme(p, at->replica);
    if (scheme < 0)
        return NULL;
    return hs_multi_scheme(p->session, &(hs_multi_scheme_options){
                                           .dim = hs_target_dim(at->target),
                                           .couplings = app_spec_count(p, "couplings"),
                                           .coupling_width = app_spec_count(p, "coupling_width"),
                                           .coupling_depth = app_spec_count(p, "coupling_depth"),
                                           .width = app_spec_count(p, "width"),
                                           .depth = app_spec_count(p, "depth"),
                                           .start = (hs_scheme)scheme,
                                           .mean = at->mean,
                                           .sd = at->sd,
                                           .step = app_spec_number(p, "step"),
                                           .noise = app_spec_number(p, "noise"),
                                           .replica = at->replica });
}

static hs_proposal *position_mixture(const spec *p, const setting *at)
{
    const size_t dim = hs_target_dim(at->target), components = app_spec_count(p, "components");
    double sd = app_spec_number(p, "sd"), *means = NULL;
    if (app_spec_flag(p, "clustered")) {
        if (!at->points || at->points->dim != dim || dim > CLUSTER_DIM) {
            hs_session_fail(
                p->session, HS_EINVAL,
                "proposal \"position-mixture\": clustered needs draws of a target of at "
                "most %d dimensions without auxiliary coordinates",
                CLUSTER_DIM);
            return NULL;
        }
        if (components > HS_MAX_WAYS) {
            hs_session_fail(p->session, HS_EINVAL,
                            "proposal \"position-mixture\": components=%zu, but at most %d can be",
                            components, (int)HS_MAX_WAYS);
            return NULL;
        }
        means = hs_session_alloc(p->session, hs_size_product(components, dim, sizeof *means));
        if (!means)
            return NULL;
        sd = app_find_clusters(at->points, components, means);
    }
    return hs_position_mixture(
        p->session, &(hs_position_mixture_options){ .dim = dim,
                                                    .components = components,
                                                    .width = app_spec_count(p, "width"),
                                                    .depth = app_spec_count(p, "depth"),
                                                    .means = means,
                                                    .sd = sd,
                                                    .diagonal = app_spec_flag(p, "diagonal"),
                                                    .replica = at->replica });
}

static hs_proposal *resampling_flow(const spec *p, const setting *at)
{
    hs_params *ps = hs_session_params(p->session, at->replica);
    if (!ps)
        return NULL;
    hs_flow *flow =
        hs_flow_nice_new(ps, &(hs_nice_options){ .name = "flow",
                                                 .dim = hs_target_dim(at->target),
                                                 .couplings = app_spec_count(p, "couplings"),
                                                 .width = app_spec_count(p, "width"),
                                                 .depth = app_spec_count(p, "depth") });
    return hs_independent_flow(p->session, flow, ps);
}

static const struct {
    app_spec_entry entry;
    hs_proposal *(*make)(const spec *p, const setting *at);
} kinds[] = {
    { { "random-walk", "y = x + step n, with standard normal n", { WALK_OPTIONS } }, random_walk },
    { { "mala", "y = x + step score(x) + sqrt(2 step) n", { WALK_OPTIONS } }, mala },
    { { "hmc",
        "Hamiltonian Monte Carlo, tuned instead of trained",
        { { "leapfrogs", APP_SPEC_SIZE, "5", "integrator steps of a proposal" },
          STEP,
          { "scaled", APP_SPEC_FLAG, "no",
            "mass matrix from the target's standard deviations" } } },
      hmc },
    { { "multi-scheme",
        "networks and a flow that can become many schemes (the paper's Eq. 4)",
        { { "couplings", APP_SPEC_COUNT, "4", "couplings of the flow; 0: no flow" },
          { "coupling_width", APP_SPEC_COUNT, "0", "width of the couplings' networks; 0: width" },
          { "coupling_depth", APP_SPEC_COUNT, "0", "depth of the couplings' networks; 0: depth" },
          WIDTH,
          DEPTH,
          { "start", APP_SPEC_TEXT, "networks",
            "first scheme: networks, resampling, random-walk, mala or latent; restarts take turns "
            "with several, joined by +" },
          { "step", APP_SPEC_NUMBER, "0", "step of the first scheme; 0: 2.38 / sqrt(dim)" },
          { "noise", APP_SPEC_NUMBER, "0",
            "noise on the weights of the first scheme; 0: 0.01" } } },
      multi_scheme },
    { { "position-mixture",
        "Gaussians, with weights that a network computes from x",
        { { "components", APP_SPEC_SIZE, "4", "number of Gaussians, at most 64" },
          WIDTH,
          DEPTH,
          { "sd", APP_SPEC_NUMBER, "1", "first standard deviation of the Gaussians" },
          { "clustered", APP_SPEC_FLAG, "no", "first means where draws of the target cluster" },
          { "diagonal", APP_SPEC_FLAG, "no", "no correlations inside a Gaussian" } } },
      position_mixture },
    { { "resampling-flow",
        "independent draws from a flow",
        { { "couplings", APP_SPEC_SIZE, "6", "couplings of the flow" }, WIDTH, DEPTH } },
      resampling_flow },
};

const app_spec_entry *app_spec_proposals(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i].entry : NULL;
}

/* Moments of the points; auxiliary coordinates are standard normals. */
static bool scales(setting *at, hs_session *s)
{
    const size_t dim = hs_target_dim(at->target), original = hs_target_original_dim(at->target);
    if (!at->points || !at->points->n)
        return true;
    if (at->points->dim != original) {
        hs_session_fail(s, HS_ESHAPE, "points of %zu coordinates for a target of %zu",
                        at->points->dim, original);
        return false;
    }
    at->mean = hs_session_alloc(s, hs_size_product(dim, sizeof(double)));
    at->sd = hs_session_alloc(s, hs_size_product(dim, sizeof(double)));
    if (!at->mean || !at->sd)
        return false;
    for (size_t j = original; j < dim; j++)
        at->sd[j] = 1;
    app_points_moments(at->points, at->mean, at->sd);
    return true;
}

hs_proposal *app_spec_proposal(hs_session *s, const hs_target *target, const char *text,
                               uint64_t replica, const double *points, size_t n)
{
    if (!target)
        return NULL;
    spec p;
    hs_proposal *made = NULL;
    /* The points are only read. */
    union {
        const double *given;
        double *x;
    } u = { points };
    const app_points all = { points ? n : 0, hs_target_original_dim(target), u.x };
    setting at = { .target = target, .replica = replica, .points = points && n ? &all : NULL };
    if (app_spec_open(&p, s, "proposal", app_spec_proposals, text) && scales(&at, s))
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (p.entry == &kinds[i].entry)
                made = kinds[i].make(&p, &at);
    app_spec_close(&p);
    return made;
}
