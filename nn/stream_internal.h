/* Checked, little-endian files on top of tensor/file.h: with a checksum, verified before they are
 * read. Errors stick to the stream, so that callers check once, at the end. Seen by nn/ alone. */
#ifndef HASTINGS_NN_STREAM_INTERNAL_H
#define HASTINGS_NN_STREAM_INTERNAL_H

#include <stdio.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/file.h>

enum { STREAM_MAGIC = 8, STREAM_HEADER = STREAM_MAGIC + 4 + 4 + 8 };

typedef struct {
    const char *path;
    hs_message *message;
    hs_status status;
    uint64_t position; /* bytes put or taken so far */
    uint64_t length;   /* of the file that is read, with the checksum */
    unsigned long crc;
    bool counting; /* writes nothing */
    hs_file out;   /* the file that is written */
    FILE *in;      /* the file that is read */
} stream;

/* The first error wins; returns its status. */
hs_status hs__stream_fail(stream *s, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

/* ---- Writing: a counting stream (hs__stream_count) writes nothing and learns the length. ---- */

stream hs__stream_count(void);
void hs__stream_create(stream *s, const char *path, hs_message *message);
void hs__put_bytes(stream *s, const void *bytes, size_t n);
void hs__put_u32(stream *s, uint32_t value);
void hs__put_u64(stream *s, uint64_t value);
void hs__put_numbers(stream *s, hs_dtype dtype, const void *numbers, size_t n);

/* Adds the checksum, and puts the file in its place; or, after an error, removes it. */
hs_status hs__stream_commit(stream *s);

/* ---- Reading ---- */

/* Opens a file and checks magic, version, length and checksum; then stands at its beginning. */
void hs__stream_open(stream *s, const char *path, const unsigned char magic[STREAM_MAGIC],
                     uint32_t version, hs_message *message);
void hs__take_bytes(stream *s, void *bytes, size_t n);
uint32_t hs__take_u32(stream *s);
uint64_t hs__take_u64(stream *s);
void hs__take_numbers(stream *s, hs_dtype dtype, void *numbers, size_t n);

/* Everything up to the checksum must have been taken. */
hs_status hs__stream_close(stream *s);

#endif
