#include <hastings/mcmc/io/chain_names.h>

void hs_chain_names_free(hs_chain_names *names)
{
    if (!names)
        return;
    hs_arena_free(&names->text);
    *names = (hs_chain_names){ 0 };
}
