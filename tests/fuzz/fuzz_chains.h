/* Chains of a file, for harnesses of formats that keep names and statistics. */
#ifndef HASTINGS_TESTS_FUZZ_FUZZ_CHAINS_H
#define HASTINGS_TESTS_FUZZ_FUZZ_CHAINS_H

#include <string.h>

#include <hastings/mcmc/io/chains_file.h>

#include "fuzz.h"

typedef struct {
    hs_chains *chains;
    hs_chain_names names;
} fuzz_chains;

/* Reads a file; false if it is refused, with a message and nothing else. */
static inline bool fuzz_chains_read(fuzz_chains *c, const char *path)
{
    hs_message message;
    if (hs_chains_read(&c->chains, &c->names, &path, 1, &message) == HS_OK) {
        fuzz_check(c->chains && c->names.count == c->chains->dim);
        return true;
    }
    fuzz_check(!c->chains && c->names.count == 0);
    return fuzz_refused(message.text);
}

static inline void fuzz_chains_free(fuzz_chains *c)
{
    hs_chain_names_free(&c->names);
    hs_chains_free(c->chains);
}

static inline bool fuzz_same_statistic(const double *a, const double *b, size_t n)
{
    return a && b ? fuzz_same_numbers(a, b, n) : !a && !b;
}

/* Checks that chains are the same to the last bit, but for their names. */
static inline void fuzz_check_same_chains(const hs_chains *a, const hs_chains *b)
{
    const size_t rows = a->chains * a->draws;
    fuzz_check(a->chains == b->chains && a->draws == b->draws && a->dim == b->dim);
    fuzz_check(fuzz_same_numbers(a->x, b->x, rows * a->dim));
    fuzz_check(fuzz_same_statistic(a->log_pi, b->log_pi, rows));
    fuzz_check(fuzz_same_statistic(a->alpha, b->alpha, rows));
    fuzz_check(fuzz_same_statistic(a->jump, b->jump, rows));
    fuzz_check(!a->accepted == !b->accepted);
    fuzz_check(!a->accepted || memcmp(a->accepted, b->accepted, rows) == 0);
}

/* Checks that names are the same. */
static inline void fuzz_check_same_names(const hs_chain_names *a, const hs_chain_names *b)
{
    fuzz_check(a->count == b->count);
    for (size_t i = 0; i < a->count; i++)
        fuzz_check(strcmp(a->name[i], b->name[i]) == 0);
}

#endif
