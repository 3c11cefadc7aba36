/* The training steps and samplers that are measured: what they are, and how they are run. */
#ifndef HASTINGS_BENCH_CASES_H
#define HASTINGS_BENCH_CASES_H

#include <hastings.h>
#include "mcmc/sampler_internal.h"
#include "mcmc/trainer_internal.h"

/* A proposal, a target and the size of a batch. Zeros mean that there is no such thing. */
typedef struct {
    const char *name, *title;
    const char *kind;   /* multi-scheme, random-walk, mala, mixture */
    const char *target; /* cross, gaussian, logistic */
    const char *data;   /* of logistic: a file in data/; NULL: made up, of `rows` rows */
    size_t rows, dim, augment;
    size_t couplings, width, depth, coupling_width, coupling_depth;
    size_t starts, proposals;
} bench_case;

/* The i-th case; NULL after the last. And one by its name; NULL if there is none. */
const bench_case *bench_case_at(size_t i);
const bench_case *bench_case_named(const char *name);

/* The i-th objective's name ("ab-initio", ...), NULL after the last; and the objective. */
const char *bench_objective_name(size_t i);
bool bench_objective(const char *name, hs_objective *objective);

/* A case made ready: session, target, proposal, and points to start from where the target has no exact draws. */
typedef struct {
    const bench_case *is;
    hs_session *session;
    hs_target *target, *plain; /* plain: without auxiliary coordinates */
    hs_proposal *proposal;
    hs_dataset *data;
    double *points; /* [n_points][original dim] or NULL */
    size_t n_points;
} problem;

/* False after a message on stderr; problem_close() is due in any case. */
bool problem_open(problem *p, const bench_case *is, hs_dtype dtype, int threads);
void problem_close(problem *p);

/* A training of a problem: each call of stepper_run is one whole gradient step with Adam. */
typedef struct {
    problem problem;
    hs_train_options options;
    batch batch;
    hs_optimizer *adam;
    uint64_t step;
} stepper;

bool stepper_open(stepper *s, const bench_case *is, const char *objective, hs_dtype dtype,
                  int threads);
void stepper_run(void *s);
void stepper_close(stepper *s);

enum { HMC_LEAPFROGS = 10 };

/* Chains on the posterior of a logistic regression; each call of chains_run moves all of them once. */
typedef struct {
    problem problem;
    sampler sampler;
    uint64_t step;
    double accepted; /* sum over transitions of the chains' mean acceptance probability */
} chains;

/* kind: random-walk, mala, hmc (10 leapfrog steps), multi-scheme. */
bool chains_open(chains *c, const bench_case *is, const char *kind, size_t count, hs_dtype dtype,
                 int threads);
void chains_run(void *c);
void chains_close(chains *c);

/* Writes a case with a loss and a gradient at given inputs into a folder, for peers to compare with: see
 * peers/steps.py. False after a message. */
bool problem_dump(const bench_case *is, const char *objective, hs_dtype dtype, const char *folder);

/* Writes what peers need to run the same chains into a folder that is there: the target, points to start from, and
 * the parameters if the proposal has networks. False after a message. */
bool chains_dump(const chains *c, const char *kind, const char *folder);

#endif
