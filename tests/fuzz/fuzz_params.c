/* Parameter files, with and without the state of each optimiser. */
#include <hastings/nn/file.h>

#include "fuzz_checksum.h"

enum { SIZE = 5 };

static hs_params *make_store(hs_dtype dtype)
{
    hs_params *ps = hs_params_new(dtype, 1);
    hs_params_add(ps, "weight", hs_dims(2, 2), hs_init_zero());
    hs_params_add(ps, "b", hs_scalar_shape(), hs_init_zero());
    fuzz_check(hs_params_status(ps) == HS_OK);
    return ps;
}

/* Loads the file. Saved again it has the same bytes, for all of it was read; a refused one changes nothing. */
static bool load(const char *path, hs_dtype dtype, const char *optimizer)
{
    hs_params *ps = make_store(dtype);
    hs_optimizer *o = NULL;
    hs_message message;
    if (optimizer) {
        o = hs_optimizer_new(ps, &(hs_optimizer_options){ .name = optimizer, .threads = 1 });
        fuzz_check(o);
    }
    const bool good = hs_params_load(ps, o, path, &message) == HS_OK;
    const char *again = fuzz_path("again.hsp");
    if (good) {
        const bool whole = hs_params_save(ps, o, again, &message) == HS_OK;
        fuzz_check(whole && (!o || fuzz_same_files(path, again)));
    } else {
        double values[SIZE];
        hs_params_get(ps, values);
        for (int i = 0; i < SIZE; i++)
            fuzz_check(values[i] == 0);
        fuzz_check(!o || hs_optimizer_steps(o) == 0);
        fuzz_refused(message.text);
    }
    fuzz_check(hs_params_status(ps) == HS_OK);
    hs_optimizer_free(o);
    hs_params_free(ps);
    return good;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    const char *path = fuzz_write_checked("net.hsp", data, size);
    const hs_optimizer_entry *entry;
    bool accepted = false;
    for (int dtype = HS_F32; dtype <= HS_F64; dtype++) {
        accepted |= load(path, (hs_dtype)dtype, NULL);
        for (size_t i = 0; (entry = hs_optimizer_list(i)); i++)
            accepted |= load(path, (hs_dtype)dtype, entry->name);
    }
    return accepted;
}
