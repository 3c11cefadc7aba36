#include "stream_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <hastings/tensor/number.h>

enum { BLOCK = 4096 }; /* bytes that are converted or checked at once */

hs_status hs__stream_fail(stream *s, hs_status status, const char *format, ...)
{
    if (s->status != HS_OK)
        return s->status;
    char text[sizeof s->message->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return s->status = hs_message_fail(s->message, status, "%.300s: %.200s", s->path, text);
}

/* ---- Writing ------------------------------------------------------------------------------ */

stream hs__stream_count(void)
{
    return (stream){ .path = "", .counting = true };
}

void hs__stream_create(stream *s, const char *path, hs_message *message)
{
    *s = (stream){ .path = path, .message = message };
    hs_file_create(&s->out, path, message);
}

void hs__put_bytes(stream *s, const void *bytes, size_t n)
{
    s->position += n;
    if (s->counting)
        return;
    s->crc = crc32_z(s->crc, bytes, n);
    hs_file_put(&s->out, bytes, n);
}

void hs__put_u32(stream *s, uint32_t value)
{
    hs_little_endian(&value, sizeof value, 1);
    hs__put_bytes(s, &value, sizeof value);
}

void hs__put_u64(stream *s, uint64_t value)
{
    hs_little_endian(&value, sizeof value, 1);
    hs__put_bytes(s, &value, sizeof value);
}

void hs__put_numbers(stream *s, hs_dtype dtype, const void *numbers, size_t n)
{
    const size_t size = hs_dtype_size(dtype);
    if (s->counting)
        s->position += n * size;
    for (size_t done = 0, part; !s->counting && done < n * size; done += part) {
        unsigned char bytes[BLOCK];
        part = n * size - done < BLOCK ? n * size - done : BLOCK;
        memcpy(bytes, (const char *)numbers + done, part);
        hs_little_endian(bytes, size, part / size);
        hs__put_bytes(s, bytes, part);
    }
}

hs_status hs__stream_commit(stream *s)
{
    hs__put_u32(s, (uint32_t)s->crc);
    return hs_file_commit(&s->out);
}

/* ---- Reading ------------------------------------------------------------------------------ */

void hs__take_bytes(stream *s, void *bytes, size_t n)
{
    if (s->status == HS_OK && n > s->length - s->position)
        hs__stream_fail(s, HS_EFORMAT, "damaged: it ends in the middle of an item");
    const size_t taken = s->status == HS_OK ? fread(bytes, 1, n, s->in) : 0;
    memset((char *)bytes + taken, 0, n - taken); /* so that callers see no rubbish after an error */
    s->position += taken;
    if (taken < n)
        hs__stream_fail(s, HS_EIO, "cannot read byte %llu of %llu: %s",
                        (unsigned long long)s->position, (unsigned long long)s->length,
                        s->in && ferror(s->in) ? strerror(errno) : "the file became shorter");
}

uint32_t hs__take_u32(stream *s)
{
    uint32_t value;
    hs__take_bytes(s, &value, sizeof value);
    hs_little_endian(&value, sizeof value, 1);
    return value;
}

uint64_t hs__take_u64(stream *s)
{
    uint64_t value;
    hs__take_bytes(s, &value, sizeof value);
    hs_little_endian(&value, sizeof value, 1);
    return value;
}

void hs__take_numbers(stream *s, hs_dtype dtype, void *numbers, size_t n)
{
    const size_t size = hs_dtype_size(dtype);
    hs__take_bytes(s, numbers, n * size);
    hs_little_endian(numbers, size, n);
}

/* Sends all but the last four bytes of the file through the checksum. */
static void verify(stream *s, const unsigned char magic[STREAM_MAGIC], uint32_t version)
{
    const uint64_t found = s->length;
    if (found < STREAM_HEADER + 4) {
        hs__stream_fail(s, HS_EFORMAT,
                        "not a parameter file, or truncated: it has %llu bytes, fewer than a "
                        "header",
                        (unsigned long long)found);
        return;
    }
    unsigned char block[BLOCK];
    hs__take_bytes(s, block, STREAM_MAGIC);
    if (s->status == HS_OK && memcmp(block, magic, STREAM_MAGIC) != 0)
        hs__stream_fail(s, HS_EFORMAT,
                        "not a parameter file: its first bytes are not the magic ones");
    const uint32_t written_version = hs__take_u32(s);
    if (s->status == HS_OK && written_version != version)
        hs__stream_fail(s, HS_EFORMAT, "format version is %lu, expected %lu",
                        (unsigned long)written_version, (unsigned long)version);
    (void)hs__take_u32(s);
    const uint64_t written_length = hs__take_u64(s);
    if (s->status == HS_OK && written_length != found)
        hs__stream_fail(s, HS_EFORMAT, "%s: expected %llu bytes, found %llu",
                        found < written_length ? "truncated" : "something follows its end",
                        (unsigned long long)written_length, (unsigned long long)found);
    rewind(s->in);
    s->position = 0;
    while (s->status == HS_OK && s->position < found - 4) {
        const uint64_t left = found - 4 - s->position;
        const size_t part = left < BLOCK ? (size_t)left : BLOCK;
        hs__take_bytes(s, block, part);
        s->crc = crc32_z(s->crc, block, part);
    }
    const uint32_t stored = hs__take_u32(s);
    if (s->status == HS_OK && stored != s->crc)
        hs__stream_fail(s, HS_EFORMAT, "damaged: its checksum is %08lx, expected %08lx", s->crc,
                        (unsigned long)stored);
}

void hs__stream_open(stream *s, const char *path, const unsigned char magic[STREAM_MAGIC],
                     uint32_t version, hs_message *message)
{
    struct stat found;
    *s = (stream){ .path = path, .message = message, .in = fopen(path, "rbe") };
    hs_message_clear(message);
    if (!s->in || fstat(fileno(s->in), &found) != 0)
        hs__stream_fail(s, HS_EIO, "cannot open: %s", strerror(errno));
    else if (!S_ISREG(found.st_mode))
        hs__stream_fail(s, HS_EIO, "not a regular file");
    if (s->status != HS_OK)
        return;
    s->length = (uint64_t)found.st_size;
    verify(s, magic, version);
    rewind(s->in);
    s->position = 0;
}

hs_status hs__stream_close(stream *s)
{
    if (s->status == HS_OK && s->position + 4 != s->length)
        hs__stream_fail(s, HS_EFORMAT, "damaged: %llu bytes follow the last number",
                        (unsigned long long)(s->length - 4 - s->position));
    if (s->in)
        fclose(s->in);
    return s->status;
}
