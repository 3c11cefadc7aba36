/* Checksums of parameter files (nn/file.h), which fuzzing would never guess. */
#ifndef HASTINGS_TESTS_FUZZ_FUZZ_CHECKSUM_H
#define HASTINGS_TESTS_FUZZ_FUZZ_CHECKSUM_H

#include <string.h>
#include <zlib.h>

#include <hastings/tensor/memory.h>

#include "fuzz.h"

/* Writes a parameter file with the length and the checksum that its bytes should have. */
static inline const char *fuzz_write_checked(const char *name, const uint8_t *data, size_t size)
{
    enum { LENGTH_AT = 16, LENGTH = 8, CHECKSUM = 4 };
    uint8_t *bytes = hs_alloc(size + 1);
    fuzz_check(bytes);
    if (size > 0)
        memcpy(bytes, data, size);
    for (size_t i = 0; i < LENGTH && size >= LENGTH_AT + LENGTH; i++)
        bytes[LENGTH_AT + i] = (uint8_t)((uint64_t)size >> 8 * i);
    if (size >= CHECKSUM) {
        const unsigned long crc = crc32_z(0, bytes, size - CHECKSUM);
        for (size_t i = 0; i < CHECKSUM; i++)
            bytes[size - CHECKSUM + i] = (uint8_t)(crc >> 8 * i);
    }
    const char *path = fuzz_write(name, bytes, size);
    hs_free(bytes);
    return path;
}

#endif
