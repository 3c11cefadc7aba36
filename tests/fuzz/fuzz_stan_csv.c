/* CSV files of chains: CmdStan's. */
#include "fuzz_chains.h"

/* Writes chains as again_1.csv, and reads them. */
static void write_and_read(const fuzz_chains *c, fuzz_chains *again)
{
    hs_message message;
    const char *path = fuzz_path("again.csv");
    fuzz_check(hs_chains_write(c->chains, c->names.name, path, &message) == HS_OK);
    fuzz_check(fuzz_chains_read(again, fuzz_path("again_1.csv")));
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_chains c, again, third;
    if (size > 0 && (*data == 0x89 || *data == 0x93 || *data == 'C'))
        return false; /* may be of another format, which has a harness of its own */
    if (!fuzz_chains_read(&c, fuzz_write("draws.csv", data, size)))
        return false;
    write_and_read(&c, &again);
    fuzz_check(fuzz_same_numbers(c.chains->x, again.chains->x, c.chains->draws * c.chains->dim));
    /* Names and statistics that Stan cannot have are lost in the first file, and nothing in the second. */
    write_and_read(&again, &third);
    fuzz_check_same_chains(again.chains, third.chains);
    fuzz_check_same_names(&again.names, &third.names);
    fuzz_chains_free(&third);
    fuzz_chains_free(&again);
    fuzz_chains_free(&c);
    return true;
}
