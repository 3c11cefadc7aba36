/* NetCDF files of chains: ArviZ's InferenceData. */
#include "fuzz_chains.h"

bool fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_chains c, again;
    hs_message message;
    if (size < 4 || (memcmp(data, "\x89HDF", 4) != 0 && memcmp(data, "CDF", 3) != 0))
        return false; /* other formats have harnesses of their own */
    if (!fuzz_chains_read(&c, fuzz_write("draws.nc", data, size)))
        return false;
    const char *path = fuzz_path("again.nc");
    fuzz_check(hs_chains_write(c.chains, c.names.name, path, &message) == HS_OK);
    fuzz_check(fuzz_chains_read(&again, path));
    fuzz_check_same_chains(c.chains, again.chains);
    fuzz_chains_free(&again);
    fuzz_chains_free(&c);
    return true;
}
