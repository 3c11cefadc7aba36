#include "trainer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/memory.h>
#include <hastings/tensor/number.h>

/* An integer of 64 bits as two exact doubles. */
static void add_integer(hs_params *ps, const char *name, uint64_t value)
{
    const double halves[2] = { (double)(value >> 32), (double)(value & 0xffffffffu) };
    hs_params_add(ps, name, hs_dims(2), hs_init_values(halves));
}

static bool is_half(double x)
{
    return x >= 0 && x <= 0xffffffff && floor(x) == x;
}

/* False if the file has other numbers than add_integer() makes. */
static bool get_integer(hs_params *ps, const char *name, uint64_t *value)
{
    double halves[2];
    hs_param_get(hs_params_find(ps, name), halves);
    if (!is_half(halves[0]) || !is_half(halves[1]))
        return false;
    *value = (uint64_t)halves[0] << 32 | (uint64_t)halves[1];
    return true;
}

/* What is not parameters or optimiser, as a store. */
static hs_params *state_store(const checkpoint *c, hs_dtype dtype)
{
    hs_params *ps = hs_params_new(HS_F64, 0);
    add_integer(ps, "step", *c->step);
    add_integer(ps, "seed", *c->seed);
    hs_params_add(ps, "adapted", hs_dims(1), hs_init_values(c->adapted));
    hs_params_add(ps, "record", hs_dims(CHECKPOINT_RECORD), hs_init_values(c->record));
    if (c->kept) {
        add_integer(ps, "kept_step", *c->kept_step);
        hs_params_add(ps, "kept_adapted", hs_dims(1), hs_init_values(c->kept_adapted));
        hs_params_add(ps, "kept", hs_dims(hs_params_size(c->params)), hs_init_values(c->kept));
    }
    if (c->chains) {
        double *chains = hs_alloc(c->numbers * sizeof *chains);
        if (chains)
            hs_numbers_get(dtype, c->chains, c->numbers, chains);
        if (chains)
            hs_params_add(ps, "chains", hs_dims(c->numbers), hs_init_values(chains));
        else
            hs_params_fail(ps, HS_ENOMEM, "out of memory");
        hs_free(chains);
    }
    return ps;
}

/* Whether the counts of a record, which come first, are counts; number 0 is of points in the curve. */
static bool is_record(const double *record)
{
    bool sound = record[0] <= HS_CURVE;
    for (int i = 0; i < CHECKPOINT_COUNTS; i++)
        sound = sound && record[i] >= 0 && record[i] <= 0x1p53 && floor(record[i]) == record[i];
    return sound;
}

/* False if a count is negative, broken or too large. */
static bool take_state(checkpoint *c, hs_params *ps, hs_dtype dtype)
{
    hs_param_get(hs_params_find(ps, "record"), c->record);
    if (!is_record(c->record) || !get_integer(ps, "step", c->step) ||
        !get_integer(ps, "seed", c->seed) ||
        (c->kept && !get_integer(ps, "kept_step", c->kept_step)))
        return false;
    hs_param_get(hs_params_find(ps, "adapted"), c->adapted);
    if (c->kept) {
        hs_param_get(hs_params_find(ps, "kept_adapted"), c->kept_adapted);
        hs_param_get(hs_params_find(ps, "kept"), c->kept);
    }
    const double *chains = c->chains ? hs_param_values(hs_params_find(ps, "chains")) : NULL;
    if (chains)
        hs_numbers_set(dtype, c->chains, c->numbers, chains);
    return true;
}

static bool state_path(hs_session *s, const char *path, const hs_optimizer *o, char *text,
                       size_t size)
{
    const int n = snprintf(text, size, "%s.%llu", path, (unsigned long long)hs_optimizer_steps(o));
    if (n < 0 || (size_t)n >= size)
        hs_session_fail(s, HS_EINVAL, "checkpoint: the path is too long: %s", path);
    return n >= 0 && (size_t)n < size;
}

bool hs__checkpoint_read(hs_session *s, const char *path, checkpoint *c)
{
    struct stat found;
    char beside[CHECKPOINT_PATH];
    hs_message message;
    if (stat(path, &found) != 0)
        return true;
    hs_status status = hs_params_load(c->params, c->optimizer, path, &message);
    if (!status && !state_path(s, path, c->optimizer, beside, sizeof beside))
        return false;
    hs_params *state = state_store(c, hs_session_dtype(s));
    if (!status && hs_params_status(state)) {
        status = hs_params_status(state);
        snprintf(message.text, sizeof message.text, "%s", hs_params_error(state));
    }
    if (!status)
        status = hs_params_load(state, NULL, beside, &message);
    if (!status && !take_state(c, state, hs_session_dtype(s)))
        status =
            hs_message_fail(&message, HS_EFORMAT,
                            "%.300s: damaged: a count is negative, broken or too large", beside);
    if (!status) {
        memcpy(c->previous, beside, sizeof beside);
    } else {
        hs_session_fail(s, status, "checkpoint: %s", message.text);
    }
    hs_params_free(state);
    return !status;
}

bool hs__checkpoint_write(hs_session *s, const char *path, checkpoint *c)
{
    char beside[CHECKPOINT_PATH];
    hs_message message = { "" };
    if (!state_path(s, path, c->optimizer, beside, sizeof beside))
        return false;
    hs_params *state = state_store(c, hs_session_dtype(s));
    hs_status status = hs_params_status(state);
    if (!status)
        status = hs_params_save(state, NULL, beside, &message);
    if (!status)
        status = hs_params_save(c->params, c->optimizer, path, &message);
    if (status)
        hs_session_fail(s, status, "checkpoint: %s",
                        message.text[0] ? message.text : hs_params_error(state));
    hs_params_free(state);
    if (status)
        return false;
    /* The one before is not needed any more. */
    if (c->previous[0] && strcmp(c->previous, beside) != 0)
        (void)unlink(c->previous);
    memcpy(c->previous, beside, sizeof beside);
    return true;
}
