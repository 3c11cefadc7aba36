/** Everything that is public, in one include: #include <hastings.h> */
#ifndef HASTINGS_H
#define HASTINGS_H

#include <hastings/tensor/blas.h>
#include <hastings/tensor/cpu.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/product.h>
#include <hastings/tensor/random.h>
#include <hastings/tensor/shape.h>
#include <hastings/tensor/status.h>
#include <hastings/tensor/threads.h>

#include <hastings/autograd/check.h>
#include <hastings/autograd/ops.h>
#include <hastings/autograd/plan.h>
#include <hastings/autograd/tape.h>

#include <hastings/nn/file.h>
#include <hastings/nn/init.h>
#include <hastings/nn/linear.h>
#include <hastings/nn/mlp.h>
#include <hastings/nn/optimizer.h>
#include <hastings/nn/params.h>

#endif
