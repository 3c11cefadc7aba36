/* What training, evaluation and checkpoints have in common. */
#ifndef HASTINGS_MCMC_TRAINER_INTERNAL_H
#define HASTINGS_MCMC_TRAINER_INTERNAL_H

#include <hastings/autograd/plan.h>
#include <hastings/mcmc/train.h>

/* The loss of a batch of starts x proposals, as a plan. */
typedef struct {
    hs_session *session;
    const hs_target *target;
    const hs_proposal *proposal;
    const hs_train_options *options;
    size_t dim; /* original coordinates */
    hs_tape *tape;
    hs_plan *plan;
    hs_var x, adapted, loss, alpha, jump;
    void *starts; /* [starts][dim] in the session's number type, if points are given */
    double adapted_now;
    double adapted_number; /* the same in the session's number type */
} batch;

bool hs__batch_open(batch *b, hs_session *s, const hs_target *target, const hs_proposal *proposal,
                    const hs_train_options *options, bool gradients, bool trace);
void hs__batch_close(batch *b);

/* Picks start points from the list, if there is one. */
void hs__batch_pick(batch *b, uint64_t seed, uint64_t step);
bool hs__batch_run(batch *b, uint64_t seed, uint64_t step);

/* The state of a training on disk, in two files of the format of nn/file.h: `path` holds parameters and
 * optimiser, `path`.N, where N is the optimiser's number of steps, the rest. The second is written first
 * and the one before removed last, so that at any time `path` and the file it names belong together. */
enum { CHECKPOINT_PATH = 4096, CHECKPOINT_COUNTS = 4, CHECKPOINT_RECORD = 9 + 3 * HS_CURVE };

typedef struct {
    uint64_t *step, *seed;
    double *adapted;
    hs_params *params;
    hs_optimizer *optimizer;
    void *chains; /* states of persistent chains, or NULL */
    size_t numbers;
    uint64_t *kept_step; /* what a roll-back goes back to, if kept is not NULL */
    double *kept_adapted;
    double *kept;
    double *record; /* [CHECKPOINT_RECORD]: of what was reported so far, counts first */
    char previous[CHECKPOINT_PATH]; /* the second file that is on disk, or "" */
} checkpoint;

/* Reading leaves all as it is if there is no file. False after failing the session. */
bool hs__checkpoint_read(hs_session *s, const char *path, checkpoint *c);
bool hs__checkpoint_write(hs_session *s, const char *path, checkpoint *c);

#endif
