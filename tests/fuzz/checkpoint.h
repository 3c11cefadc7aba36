/* The training of fuzz_checkpoint.c, whose checkpoints make_seeds.c makes. */
#ifndef HASTINGS_TESTS_FUZZ_CHECKPOINT_H
#define HASTINGS_TESTS_FUZZ_CHECKPOINT_H

#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/targets/targets.h>
#include <hastings/mcmc/train.h>
#include <hastings/objectives/objectives.h>

/* Numbers of the proposal, and those that Adam keeps of them. */
enum { CHECKPOINT_STEPS = 3, CHECKPOINT_DIM = 2, CHECKPOINT_NUMBERS = 1, CHECKPOINT_MOMENTS = 2 };

static inline hs_status checkpoint_train(hs_session *s, bool online, const char *path,
                                         uint64_t steps, hs_training *result)
{
    static const double points[] = { 0, 1, 2, 3 };
    hs_target *target = hs_target_gaussian(s, CHECKPOINT_DIM, NULL);
    hs_proposal *proposal =
        hs_random_walk(s, &(hs_walk_options){ .dim = CHECKPOINT_DIM, .step = 1 });
    return hs_train(s, target, proposal,
                    &(hs_train_options){ .objective = hs_gsm(0.5),
                                         .starts = 2,
                                         .proposals = 2,
                                         .steps = steps,
                                         .roll_backs = 1,
                                         .online = online,
                                         .points = points,
                                         .n_points = 2,
                                         .checkpoint = path,
                                         .checkpoint_every = 1 },
                    result);
}

#endif
