/* What writing and reading of .npy files share. */
#ifndef HASTINGS_MCMC_IO_NPY_INTERNAL_H
#define HASTINGS_MCMC_IO_NPY_INTERNAL_H

#include <hastings/mcmc/chains.h>

enum {
    NPY_HEADER = 128, /* bytes that we write: any three lengths fit */
    NPY_PREFIX = 10,  /* magic, version, length of the text */
};

extern const unsigned char hs__npy_magic[6];

#endif
