#include "stream_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <hastings/tensor/memory.h>

hs_status hs__stream_fail(stream *s, hs_status status, const char *format, ...)
{
    if (s->status != HS_OK)
        return s->status;
    s->status = status;
    if (s->message) {
        char *text = s->message->text;
        const size_t size = sizeof s->message->text;
        const int used = snprintf(text, size, "%.300s: ", s->path);
        va_list arguments;
        va_start(arguments, format);
        if (used >= 0 && (size_t)used < size)
            vsnprintf(text + used, size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return status;
}

static void start(stream *s, const char *path, hs_message *message)
{
    *s = (stream){ .path = path, .message = message, .fd = -1, .crc = crc32_z(0, NULL, 0) };
    if (message)
        message->text[0] = '\0';
    s->buffer = hs_alloc(STREAM_BUFFER);
    if (!s->buffer)
        hs__stream_fail(s, HS_ENOMEM, "out of memory for a buffer");
}

static void finish(stream *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    hs_free(s->buffer);
    hs_free(s->temporary);
    s->buffer = NULL;
    s->temporary = NULL;
}

/* ---- Writing ------------------------------------------------------------------------------ */

stream hs__stream_count(void)
{
    return (stream){ .path = "", .fd = -1 };
}

void hs__stream_create(stream *s, const char *path, uint64_t length, hs_message *message)
{
    start(s, path, message);
    s->length = length;
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) { /* renaming would replace a device */
        hs__stream_fail(s, HS_EIO, "exists and is not a regular file");
        return;
    }
    const size_t size = strlen(path) + 64;
    s->temporary = hs_alloc(size);
    if (!s->temporary)
        hs__stream_fail(s, HS_ENOMEM, "out of memory for its name");
    /* The name is ours alone: others have another process number, or met O_EXCL. */
    for (int attempt = 0; s->status == HS_OK && s->fd < 0; attempt++) {
        snprintf(s->temporary, size, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        s->fd = open(s->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (s->fd < 0 && (errno != EEXIST || attempt == 99))
            hs__stream_fail(s, HS_EIO, "cannot create %s: %s", s->temporary, strerror(errno));
    }
}

static void flush(stream *s)
{
    size_t done = 0;
    while (s->status == HS_OK && done < s->used) {
        const ssize_t n = write(s->fd, s->buffer + done, s->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            hs__stream_fail(s, HS_EIO, "cannot write byte %llu of %llu: %s",
                            (unsigned long long)(s->position - s->used + done),
                            (unsigned long long)s->length,
                            n == 0 ? "no progress" : strerror(errno));
    }
    s->used = 0;
}

static void put_raw(stream *s, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    s->position += n;
    while (s->fd >= 0 && s->status == HS_OK && n) {
        const size_t room = STREAM_BUFFER - s->used, part = n < room ? n : room;
        memcpy(s->buffer + s->used, from, part);
        s->used += part;
        from += part;
        n -= part;
        if (s->used == STREAM_BUFFER) {
            s->position -= n; /* for the message of a write that fails */
            flush(s);
            s->position += n;
        }
    }
}

void hs__put_bytes(stream *s, const void *bytes, size_t n)
{
    if (s->fd >= 0)
        s->crc = crc32_z(s->crc, bytes, n);
    put_raw(s, bytes, n);
}

static void encode(uint64_t value, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

void hs__put_u32(stream *s, uint32_t value)
{
    unsigned char bytes[4];
    encode(value, bytes, sizeof bytes);
    hs__put_bytes(s, bytes, sizeof bytes);
}

void hs__put_u64(stream *s, uint64_t value)
{
    unsigned char bytes[8];
    encode(value, bytes, sizeof bytes);
    hs__put_bytes(s, bytes, sizeof bytes);
}

enum { NUMBERS = 512 }; /* that are converted at once */

void hs__put_numbers(stream *s, hs_dtype dtype, const void *numbers, size_t n)
{
    const size_t size = hs_dtype_size(dtype);
    if (s->fd < 0) { /* only counting */
        s->position += n * size;
        return;
    }
    for (size_t first = 0; first < n && s->status == HS_OK; first += NUMBERS) {
        const size_t part = n - first < NUMBERS ? n - first : NUMBERS;
        unsigned char bytes[NUMBERS * 8];
        for (size_t i = 0; i < part; i++) {
            const char *from = (const char *)numbers + (first + i) * size;
            uint32_t narrow;
            uint64_t wide;
            if (dtype == HS_F32) {
                memcpy(&narrow, from, sizeof narrow);
                encode(narrow, bytes + 4 * i, 4);
            } else {
                memcpy(&wide, from, sizeof wide);
                encode(wide, bytes + 8 * i, 8);
            }
        }
        hs__put_bytes(s, bytes, part * size);
    }
}

/* A rename is on disk when its directory is. Systems that cannot do this are left alone. */
static void sync_directory(const char *path, char *scratch)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    memcpy(scratch, path, length);
    memcpy(scratch + length, length ? "" : ".", length ? 1 : 2);
    const int fd = open(scratch, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

hs_status hs__stream_commit(stream *s)
{
    unsigned char crc[4];
    encode(s->crc, crc, sizeof crc);
    put_raw(s, crc, sizeof crc);
    flush(s);
    if (s->status == HS_OK && fsync(s->fd) != 0)
        hs__stream_fail(s, HS_EIO, "cannot bring it to disk: %s", strerror(errno));
    const bool created = s->fd >= 0;
    if (created && close(s->fd) != 0)
        hs__stream_fail(s, HS_EIO, "cannot close it: %s", strerror(errno));
    s->fd = -1;
    if (s->status == HS_OK && rename(s->temporary, s->path) != 0)
        hs__stream_fail(s, HS_EIO, "cannot move the finished file here: %s", strerror(errno));
    if (s->status == HS_OK)
        sync_directory(s->path, s->temporary);
    else if (created)
        unlink(s->temporary);
    finish(s);
    return s->status;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* Reads the next part of the file, up to its length. */
static void refill(stream *s)
{
    const uint64_t left = s->length - s->position;
    const size_t want = left < STREAM_BUFFER ? (size_t)left : STREAM_BUFFER;
    s->used = 0;
    s->filled = 0;
    while (s->status == HS_OK && s->filled < want) {
        const ssize_t n = read(s->fd, s->buffer + s->filled, want - s->filled);
        if (n > 0)
            s->filled += (size_t)n;
        else if (n == 0 || errno != EINTR)
            hs__stream_fail(s, HS_EIO, "cannot read byte %llu of %llu: %s",
                            (unsigned long long)(s->position + s->filled),
                            (unsigned long long)s->length,
                            n == 0 ? "the file became shorter" : strerror(errno));
    }
}

static void take_raw(stream *s, void *bytes, size_t n)
{
    unsigned char *to = bytes;
    memset(bytes, 0, n); /* so that callers see no rubbish after an error */
    if (s->status == HS_OK && n > s->length - s->position)
        hs__stream_fail(s, HS_EFORMAT, "damaged: it ends in the middle of an item");
    while (s->status == HS_OK && n) {
        if (s->used == s->filled)
            refill(s);
        const size_t room = s->filled - s->used, part = n < room ? n : room;
        memcpy(to, s->buffer + s->used, part);
        s->used += part;
        s->position += part;
        to += part;
        n -= part;
    }
}

void hs__take_bytes(stream *s, void *bytes, size_t n)
{
    take_raw(s, bytes, n);
}

static uint64_t decode(const unsigned char *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint32_t hs__take_u32(stream *s)
{
    unsigned char bytes[4];
    hs__take_bytes(s, bytes, sizeof bytes);
    return (uint32_t)decode(bytes, sizeof bytes);
}

uint64_t hs__take_u64(stream *s)
{
    unsigned char bytes[8];
    hs__take_bytes(s, bytes, sizeof bytes);
    return decode(bytes, sizeof bytes);
}

void hs__take_numbers(stream *s, hs_dtype dtype, void *numbers, size_t n)
{
    const size_t size = hs_dtype_size(dtype);
    for (size_t first = 0; first < n && s->status == HS_OK; first += NUMBERS) {
        const size_t part = n - first < NUMBERS ? n - first : NUMBERS;
        unsigned char bytes[NUMBERS * 8];
        hs__take_bytes(s, bytes, part * size);
        for (size_t i = 0; i < part; i++) {
            char *to = (char *)numbers + (first + i) * size;
            const uint64_t wide = decode(bytes + i * size, size);
            const uint32_t narrow = (uint32_t)wide;
            if (dtype == HS_F32)
                memcpy(to, &narrow, sizeof narrow);
            else
                memcpy(to, &wide, sizeof wide);
        }
    }
}

/* The whole file but its last four bytes goes through the checksum. */
static void verify(stream *s, const unsigned char magic[STREAM_MAGIC], uint32_t version)
{
    const uint64_t found = s->length;
    unsigned char header[STREAM_HEADER];
    if (found < STREAM_HEADER + 4) {
        hs__stream_fail(s, HS_EFORMAT, "%s: it has %llu bytes, fewer than a header",
                        "not a parameter file, or truncated", (unsigned long long)found);
        return;
    }
    take_raw(s, header, sizeof header);
    s->crc = crc32_z(s->crc, header, sizeof header);
    const uint32_t written_version = (uint32_t)decode(header + STREAM_MAGIC, 4);
    const uint64_t written_length = decode(header + STREAM_MAGIC + 8, 8);
    if (s->status == HS_OK && memcmp(header, magic, STREAM_MAGIC) != 0)
        hs__stream_fail(s, HS_EFORMAT,
                        "not a parameter file: its first bytes are not the magic ones");
    if (s->status == HS_OK && written_version != version)
        hs__stream_fail(s, HS_EFORMAT, "format version is %lu, expected %lu",
                        (unsigned long)written_version, (unsigned long)version);
    if (s->status == HS_OK && written_length != found)
        hs__stream_fail(s, HS_EFORMAT, "%s: expected %llu bytes, found %llu",
                        found < written_length ? "truncated" : "something follows its end",
                        (unsigned long long)written_length, (unsigned long long)found);
    while (s->status == HS_OK && s->position < found - 4) {
        if (s->used == s->filled)
            refill(s);
        const uint64_t left = found - 4 - s->position;
        const size_t room = s->filled - s->used, part = left < room ? (size_t)left : room;
        s->crc = crc32_z(s->crc, s->buffer + s->used, part);
        s->used += part;
        s->position += part;
    }
    unsigned char stored[4];
    take_raw(s, stored, sizeof stored);
    if (s->status == HS_OK && decode(stored, 4) != s->crc)
        hs__stream_fail(s, HS_EFORMAT, "damaged: its checksum is %08lx, expected %08lx", s->crc,
                        (unsigned long)decode(stored, 4));
}

void hs__stream_open(stream *s, const char *path, const unsigned char magic[STREAM_MAGIC],
                     uint32_t version, hs_message *message)
{
    start(s, path, message);
    if (s->status != HS_OK)
        return;
    struct stat found;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &found) != 0)
        hs__stream_fail(s, HS_EIO, "cannot open: %s", strerror(errno));
    else if (!S_ISREG(found.st_mode))
        hs__stream_fail(s, HS_EIO, "not a regular file");
    if (s->status != HS_OK)
        return;
    s->length = (uint64_t)found.st_size;
    verify(s, magic, version);
    if (s->status == HS_OK && lseek(s->fd, 0, SEEK_SET) != 0)
        hs__stream_fail(s, HS_EIO, "cannot go back to its beginning: %s", strerror(errno));
    s->position = 0;
    s->used = s->filled = 0;
}

hs_status hs__stream_close(stream *s)
{
    if (s->status == HS_OK && s->position + 4 != s->length)
        hs__stream_fail(s, HS_EFORMAT, "damaged: %llu bytes follow the last number",
                        (unsigned long long)(s->length - 4 - s->position));
    finish(s);
    return s->status;
}
