#include <hastings/mcmc/chains.h>

/* All arrays are counted before the first is taken: each of them may fit where all do not. */
static size_t bytes_needed(size_t rows, size_t dim, unsigned keep)
{
    size_t numbers = dim;
    for (unsigned flag = HS_KEEP_LOG_PI; flag <= HS_KEEP_JUMP; flag *= 2)
        numbers = hs_size_add(numbers, keep & flag ? 1 : 0);
    const size_t bytes = hs_size_product(rows, numbers, sizeof(double));
    return keep & HS_KEEP_ACCEPTED ? hs_size_add(bytes, rows) : bytes;
}

hs_status hs_chains_new(hs_chains **chains, size_t count, size_t draws, size_t dim, unsigned keep,
                        hs_message *message)
{
    hs_message_clear(message);
    if (!chains)
        return hs_message_fail(message, HS_EINVAL, "hs_chains_new: no place for the chains");
    *chains = NULL;
    if (count == 0 || draws == 0 || dim == 0)
        return hs_message_fail(message, HS_EINVAL,
                               "%zu chains of %zu draws in %zu dimensions: each must be at least 1",
                               count, draws, dim);
    const size_t rows = hs_size_product(count, draws), bytes = bytes_needed(rows, dim, keep);
    hs_chains *c = bytes <= hs_memory_left() ? hs_alloc_zero(1, sizeof *c) : NULL;
    if (c) {
        c->chains = count;
        c->draws = draws;
        c->dim = dim;
        c->x = hs_alloc_zero(rows * dim, sizeof *c->x);
        c->log_pi = keep & HS_KEEP_LOG_PI ? hs_alloc_zero(rows, sizeof *c->log_pi) : NULL;
        c->alpha = keep & HS_KEEP_ALPHA ? hs_alloc_zero(rows, sizeof *c->alpha) : NULL;
        c->jump = keep & HS_KEEP_JUMP ? hs_alloc_zero(rows, sizeof *c->jump) : NULL;
        c->accepted = keep & HS_KEEP_ACCEPTED ? hs_alloc_zero(rows, 1) : NULL;
    }
    if (!c || !c->x || (keep & HS_KEEP_LOG_PI && !c->log_pi) ||
        (keep & HS_KEEP_ALPHA && !c->alpha) || (keep & HS_KEEP_JUMP && !c->jump) ||
        (keep & HS_KEEP_ACCEPTED && !c->accepted)) {
        hs_chains_free(c);
        return hs_memory_fail(message, bytes,
                              "out of memory for %zu chains of %zu draws in %zu dimensions", count,
                              draws, dim);
    }
    *chains = c;
    return HS_OK;
}

void hs_chains_free(hs_chains *c)
{
    if (!c)
        return;
    hs_free(c->x);
    hs_free(c->log_pi);
    hs_free(c->alpha);
    hs_free(c->jump);
    hs_free(c->accepted);
    hs_free(c);
}

void hs_chain_names_free(hs_chain_names *names)
{
    if (!names)
        return;
    hs_arena_free(&names->text);
    *names = (hs_chain_names){ 0 };
}
