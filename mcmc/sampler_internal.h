/* Sampler: one Metropolis-Hastings transition of many chains at once, as a plan, for sampling,
 * tuning and online training. */
#ifndef HASTINGS_MCMC_SAMPLER_INTERNAL_H
#define HASTINGS_MCMC_SAMPLER_INTERNAL_H

#include <hastings/autograd/plan.h>
#include <hastings/autograd/carry.h>
#include <hastings/mcmc/transition.h>

/* Streams of random numbers in a step. The streams of a target's exact draws come first. */
enum {
    STREAM_START = 0,
    STREAM_AUXILIARY = STREAM_START + HS_DRAW_STREAMS,
    STREAM_NOISE,
    STREAM_ACCEPT,
    STREAM_WAY,
    STREAM_PICK, /* of start points from a list */
};

/* The start point of a transition: exact draws if `given` is NULL; else *given becomes an input of the
 * original coordinates, to which auxiliary ones are appended. */
hs_var hs__record_start(const hs_target *target, hs_tape *tape, hs_extent extent, hs_var *given);

/* The point of n that a row starts from, at random. */
size_t hs__pick_start(uint64_t seed, uint64_t step, size_t row, size_t n);

/* Values at the state that a sampler remembers from the step before: none, those independent of the
 * proposal's parameters (which may then change between steps), or all. */
typedef enum { FORGETS, REMEMBERS_TARGET, REMEMBERS_ALL } sampler_memory;

enum { SAMPLER_OUTPUTS = 7 };

typedef struct {
    hs_session *session;
    bool
        finishes; /* a step that has begun, even if the session is interrupted; else that fails, and moves nothing */
    hs_tape *tape;
    hs_plan *plan;
    size_t chains, dim; /* original coordinates */
    void *state;        /* [chains][dim], in the session's number type */
    hs_var x;
    union {
        struct {
            hs_var next, alpha, accepted, jump, log_pi, log_pi_x, nonfinite;
        };
        hs_var output[SAMPLER_OUTPUTS]; /* the same as a list */
    };
    hs_carried *known; /* values at the state that exist at y too: log density, score, networks */
    size_t knows;
    hs_var *next_known; /* the same at the next state */
    void **known_now;   /* [knows]: [chains][count] each, as the state */
    hs_plan *look;      /* computes them after the state was set */
    bool looked;
} sampler;

/* Makes a sampler; false after failing the session. A sampler that remembers is faster. After the
 * state was set, it computes the remembered values anew, perhaps with other bits. */
bool hs__sampler_open(sampler *sm, const hs_target *target, const hs_proposal *proposal,
                      size_t chains, sampler_memory memory);
void hs__sampler_close(sampler *sm);

/* After a step that failed: whether it did so because the session was interrupted, which is no error then. */
bool hs__sampler_was_interrupted(sampler *sm);

/* Sets the state from doubles, and reads it back. */
void hs__sampler_set(sampler *sm, const double *points);
void hs__sampler_get(const sampler *sm, double *points);

/* Draws the state exactly from the target; false after failing the session. */
bool hs__sampler_start_exactly(sampler *sm, const hs_target *target, uint64_t seed);

/* One transition of all chains. The outputs can be read from the plan; the state has moved. */
bool hs__sampler_step(sampler *sm, uint64_t seed, uint64_t step);

/* False, and the session fails, if the log density at the start of the last step was not finite. */
bool hs__sampler_check_start(sampler *sm);

/* An output of the last step as a double. */
double hs__sampler_value(const sampler *sm, hs_var output, size_t index);

#endif
