/* Checkpoints, from which trainings go on. The input is a byte of flags, the length of the first file in two bytes, that
 * file, and the second. */
#include "checkpoint.h"
#include "fuzz_checksum.h"

/* The optimiser's number of steps in the first file, which is in the name of the second. */
static uint64_t steps_of(const uint8_t *data, size_t size)
{
    enum { BEHIND = 4 + 8 * CHECKPOINT_NUMBERS * (1 + CHECKPOINT_MOMENTS) };
    uint64_t steps = 0;
    for (size_t i = 8; i-- > 0 && size >= BEHIND + 8;)
        steps = steps << 8 | data[size - BEHIND - 8 + i];
    return steps;
}

bool fuzz_one(const uint8_t *data, size_t size)
{
    const bool online = size > 0 && *data & 1;
    data += size > 0;
    size -= size > 0;
    const unsigned wanted = fuzz_take_u16(&data, &size);
    const size_t length = wanted < size ? wanted : size;
    char second[64];
    snprintf(second, sizeof second, "state.%llu", (unsigned long long)steps_of(data, length));
    const char *path = fuzz_write_checked("state", data, length);
    fuzz_write_checked(second, data + length, size - length);

    hs_session *s = hs_session_new(&(hs_session_options){ .seed = 1, .threads = 1 });
    hs_training result;
    const bool good = checkpoint_train(s, online, path, CHECKPOINT_STEPS, &result) == HS_OK;
    if (!good)
        fuzz_refused(hs_session_error(s));
    fuzz_check(result.points <= HS_CURVE);
    fuzz_check(!good || result.steps >= CHECKPOINT_STEPS);
    hs_session_free(s);
    return good;
}
