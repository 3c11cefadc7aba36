/* NumPy files of chains, in both orders of the axes. */
#include "fuzz.h"

#include <hastings/mcmc/chains.h>

/* A loaded array that is saved again reads equal. */
static void save_and_load(const hs_chains *c)
{
    hs_chains *again;
    hs_message message;
    const char *path = fuzz_path("again.npy");
    fuzz_check(hs_chains_save(c, path, &message) == HS_OK);
    fuzz_check(hs_chains_load(&again, path, HS_CHAIN_FIRST, &message) == HS_OK);
    fuzz_check(again->chains == c->chains && again->draws == c->draws && again->dim == c->dim);
    fuzz_check(fuzz_same_numbers(again->x, c->x, c->chains * c->draws * c->dim));
    hs_chains_free(again);
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    const char *path = fuzz_write("draws.npy", data, size);
    hs_status status = HS_OK;
    for (int order = HS_CHAIN_FIRST; order <= HS_DRAW_FIRST; order++) {
        hs_chains *chains;
        hs_message message;
        const hs_status before = status;
        status = hs_chains_load(&chains, path, (hs_draws_order)order, &message);
        fuzz_check(order == HS_CHAIN_FIRST || status == before);
        if (status != HS_OK) {
            fuzz_check(!chains && !fuzz_refused(message.text));
            continue;
        }
        save_and_load(chains);
        hs_chains_free(chains);
    }
    return status == HS_OK;
}
