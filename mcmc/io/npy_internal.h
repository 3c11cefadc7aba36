/* Reading of .npy files; writing is chains.h. */
#ifndef HASTINGS_MCMC_IO_NPY_INTERNAL_H
#define HASTINGS_MCMC_IO_NPY_INTERNAL_H

#include <hastings/mcmc/chains.h>

enum {
    NPY_HEADER = 128,   /* bytes that we write: any three lengths fit */
    NPY_PREFIX = 10,    /* magic, version, length of the text */
    NPY_LONGEST = 65536 /* text that we read */
};

extern const unsigned char hs__npy_magic[6];

/* What the text of a header says. */
typedef struct {
    char descr[32];
    bool fortran_order;
    size_t rank;
    uint64_t shape[3]; /* the first three axes */
} npy_header;

/* Parses a Python dictionary such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), };
 * false if it is something else. */
bool hs__npy_parse(const char *text, size_t length, npy_header *header);

#endif
