/** Everything that is public, in one include: #include <hastings.h> */
#ifndef HASTINGS_H
#define HASTINGS_H

/* In C++ these are functions of C; what they include of the standard library comes first, as it may not be in there. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <hastings/tensor/api.h>
#include <hastings/tensor/blas.h>
#include <hastings/tensor/clock.h>
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>
#include <hastings/tensor/number.h>
#include <hastings/tensor/product.h>
#include <hastings/tensor/random.h>
#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>
#include <hastings/tensor/threads.h>

#include <hastings/autograd/check.h>
#include <hastings/autograd/ops.h>
#include <hastings/autograd/plan.h>
#include <hastings/autograd/carry.h>
#include <hastings/autograd/tape.h>

#include <hastings/nn/file.h>
#include <hastings/nn/init.h>
#include <hastings/nn/linear.h>
#include <hastings/nn/mlp.h>
#include <hastings/nn/optimizer.h>
#include <hastings/nn/params.h>

#include <hastings/flows/coupling.h>
#include <hastings/flows/elementary.h>
#include <hastings/flows/flow.h>

#include <hastings/mcmc/chains.h>
#include <hastings/mcmc/io/chains_file.h>
#include <hastings/mcmc/io/dataset.h>
#include <hastings/mcmc/diagnostics/diagnose.h>
#include <hastings/mcmc/diagnostics/ess.h>
#include <hastings/mcmc/diagnostics/figures.h>
#include <hastings/mcmc/io/netcdf.h>
#include <hastings/mcmc/proposal.h>
#include <hastings/mcmc/proposals/proposals.h>
#include <hastings/mcmc/diagnostics/replicate.h>
#include <hastings/mcmc/restart.h>
#include <hastings/mcmc/sample.h>
#include <hastings/mcmc/session.h>
#include <hastings/mcmc/io/stan_csv.h>
#include <hastings/mcmc/target.h>
#include <hastings/mcmc/targets/targets.h>
#include <hastings/mcmc/train.h>
#include <hastings/mcmc/transition.h>
#include <hastings/mcmc/tune.h>

#include <hastings/objectives/fit.h>
#include <hastings/objectives/objectives.h>
#include <hastings/objectives/reference.h>

#ifdef __cplusplus
}
#endif

#endif
