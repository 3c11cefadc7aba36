#include "netcdf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/tensor/memory.h>

#include <hastings/tensor/message.h>

static const unsigned char mark[NETCDF_MARK] = { 'h', 's', '-', 'c', 'r', 'c', '3', '2' };

void hs__netcdf_make_trailer(uint32_t crc, unsigned char trailer[NETCDF_TRAILER])
{
    memcpy(trailer, mark, NETCDF_MARK);
    for (int i = 0; i < 4; i++)
        trailer[NETCDF_MARK + i] = (unsigned char)(crc >> (8 * i));
}

/* Reads n bytes, or fewer at the end of the file; -1 with errno if that fails. */
static ssize_t read_block(int fd, unsigned char *bytes, size_t n)
{
    size_t done = 0;
    while (done < n) {
        const ssize_t part = read(fd, bytes + done, n - done);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return -1;
        if (part == 0)
            break;
        done += (size_t)part;
    }
    return (ssize_t)done;
}

/* Whether the file ends with the checksum of the rest: 1, or 0 if it is another, or -1 with errno.
 * A file without trailer is fine. */
static int compare(int fd, uint64_t bytes, unsigned char *block, size_t size)
{
    unsigned char trailer[NETCDF_TRAILER], expected[NETCDF_TRAILER];
    if (bytes < NETCDF_TRAILER)
        return 1;
    uint64_t left = bytes - NETCDF_TRAILER;
    if (lseek(fd, (off_t)left, SEEK_SET) < 0 || read_block(fd, trailer, sizeof trailer) < 0)
        return -1;
    if (memcmp(trailer, mark, NETCDF_MARK) != 0)
        return 1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    uLong crc = 0;
    while (left > 0) {
        const size_t part = left < size ? (size_t)left : size;
        const ssize_t n = read_block(fd, block, part);
        if (n < 0)
            return -1;
        crc = crc32_z(crc, block, (size_t)n);
        left -= part;
    }
    hs__netcdf_make_trailer((uint32_t)crc, expected);
    return memcmp(trailer, expected, sizeof trailer) == 0;
}

hs_status hs__netcdf_check_trailer(const char *path, uint64_t bytes, hs_message *message)
{
    enum { BLOCK = 1 << 18 };
    unsigned char *block = hs_alloc(BLOCK);
    if (!block)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for a buffer", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int same = fd < 0 ? -1 : compare(fd, bytes, block, BLOCK);
    hs_status status = HS_OK;
    if (same < 0)
        status =
            hs_message_fail(message, HS_EIO, "%.300s: cannot read it: %s", path, strerror(errno));
    else if (!same)
        status = hs_message_fail(message, HS_EFORMAT,
                                 "%.300s: damaged: its checksum is not that of its bytes", path);
    if (fd >= 0)
        close(fd);
    hs_free(block);
    return status;
}
