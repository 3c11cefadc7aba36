#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/file.h>
#include <hastings/tensor/number.h>

#include "optimizer_internal.h"
#include "params_internal.h"

enum { FILE_VERSION = 1, CHECKSUM = 4, SHORTEST = 52 }; /* bytes of a file without parameters */

static const unsigned char file_magic[8] = { 0x89, 'H', 'S', 'P', '\r', '\n', 0x1a, '\n' };

/* HS_OK if the store and the optimiser can be saved or loaded together. */
static hs_status check_pair(const hs_params *ps, const hs_optimizer *optimizer, const char *path,
                            hs_message *message)
{
    if (hs_params_status(ps) != HS_OK)
        return hs_message_fail(message, hs_params_status(ps), "%.300s: %.200s", path,
                               hs_params_error(ps));
    if (optimizer && optimizer->store != ps)
        return hs_message_fail(message, HS_EINVAL, "%.300s: the optimiser belongs to another store",
                               path);
    return HS_OK;
}

typedef struct {
    hs_file file;
    unsigned long crc;
} writer;

/* Integers or numbers of `size` bytes. */
static void put(writer *w, const void *numbers, size_t size, size_t n)
{
    unsigned char bytes[4096];
    for (size_t done = 0, part; done < n * size; done += part) {
        part = n * size - done < sizeof bytes ? n * size - done : sizeof bytes;
        memcpy(bytes, (const char *)numbers + done, part);
        hs_little_endian(bytes, size, part / size);
        w->crc = crc32_z(w->crc, bytes, part);
        hs_file_put(&w->file, bytes, part);
    }
}

static void put_u32(writer *w, uint32_t value)
{
    put(w, &value, sizeof value, 1);
}

static void put_u64(writer *w, uint64_t value)
{
    put(w, &value, sizeof value, 1);
}

static void put_vector(writer *w, const hs_params *ps, const void *vector)
{
    for (size_t i = 0; i < ps->count; i++)
        put(w, (const char *)vector + ps->entry[i].offset, hs_dtype_size(ps->dtype),
            ps->entry[i].count);
}

hs_status hs_params_save(const hs_params *ps, const hs_optimizer *optimizer, const char *path,
                         hs_message *message)
{
    const hs_status status = check_pair(ps, optimizer, path, message);
    if (status != HS_OK)
        return status;
    const int moments = optimizer ? optimizer->moments : 0;
    uint64_t length = SHORTEST + ps->size * hs_dtype_size(ps->dtype) * (1 + (uint64_t)moments);
    for (size_t i = 0; i < ps->count; i++)
        length += 8 + strlen(ps->entry[i].name) + 8 * (uint64_t)ps->entry[i].shape.rank;
    writer w = { .crc = 0 };
    hs_file_create(&w.file, path, message);
    put(&w, file_magic, 1, sizeof file_magic);
    put_u32(&w, FILE_VERSION);
    put_u32(&w, (uint32_t)hs_dtype_size(ps->dtype));
    put_u64(&w, length);
    put_u64(&w, ps->count);
    for (size_t i = 0; i < ps->count; i++) {
        const param_entry *entry = &ps->entry[i];
        const size_t name = strlen(entry->name);
        put_u32(&w, (uint32_t)name);
        put(&w, entry->name, 1, name);
        put_u32(&w, (uint32_t)entry->shape.rank);
        for (int axis = 0; axis < entry->shape.rank; axis++)
            put_u64(&w, entry->shape.dim[axis]);
    }
    put_u32(&w, optimizer ? (uint32_t)optimizer->kind : 0);
    put_u32(&w, (uint32_t)moments);
    put_u64(&w, optimizer ? optimizer->steps : 0);
    put_vector(&w, ps, ps->values);
    for (int i = 0; i < moments; i++)
        put_vector(&w, ps, optimizer->moment[i]);
    put_u32(&w, (uint32_t)w.crc);
    return hs_file_commit(&w.file);
}

/* A whole file in memory. The first error sticks, so that callers check once, at the end. */
typedef struct {
    const char *path;
    hs_message *message;
    hs_status status;
    unsigned char *bytes;
    size_t length, position; /* length: without the checksum */
} reader;

static void fail(reader *r, hs_status status, const char *format, ...) HS_PRINTF(3, 4);

static void fail(reader *r, hs_status status, const char *format, ...)
{
    if (r->status != HS_OK)
        return;
    char text[sizeof r->message->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    r->status = hs_message_fail(r->message, status, "%.300s: %.200s", r->path, text);
}

static void read_bytes(reader *r, FILE *in, size_t size)
{
    if (size < SHORTEST) {
        fail(r, HS_EFORMAT, "not a parameter file, or truncated: it has only %zu bytes", size);
        return;
    }
    r->bytes = hs_alloc(size);
    r->length = size - CHECKSUM;
    if (!r->bytes)
        r->status = hs_memory_fail(r->message, size, "%.300s: out of memory", r->path);
    else if (fread(r->bytes, 1, size, in) < size)
        fail(r, HS_EIO, "cannot read its %zu bytes: %s", size,
             ferror(in) ? strerror(errno) : "the file became shorter");
}

static void read_file(reader *r)
{
    struct stat found;
    if (stat(r->path, &found) == 0 && !S_ISREG(found.st_mode)) {
        fail(r, HS_EIO, "not a regular file"); /* opening a pipe could wait for ever */
        return;
    }
    FILE *in = fopen(r->path, "rbe");
    if (!in || fstat(fileno(in), &found) != 0)
        fail(r, HS_EIO, "cannot open: %s", strerror(errno));
    else
        read_bytes(r, in, (size_t)found.st_size);
    if (in)
        fclose(in);
}

/* Integers or numbers of `size` bytes; zeros after an error. */
static void take(reader *r, void *numbers, size_t size, size_t n)
{
    if (r->status == HS_OK && n * size > r->length - r->position)
        fail(r, HS_EFORMAT, "damaged: it ends in the middle of an item");
    if (r->status != HS_OK) {
        memset(numbers, 0, n * size);
        return;
    }
    memcpy(numbers, r->bytes + r->position, n * size);
    hs_little_endian(numbers, size, n);
    r->position += n * size;
}

static uint32_t take_u32(reader *r)
{
    uint32_t value;
    take(r, &value, sizeof value, 1);
    return value;
}

static uint64_t take_u64(reader *r)
{
    uint64_t value;
    take(r, &value, sizeof value, 1);
    return value;
}

static void take_header(reader *r, const hs_params *ps)
{
    unsigned char magic[sizeof file_magic];
    take(r, magic, 1, sizeof magic);
    const uint32_t version = take_u32(r), number = take_u32(r);
    const uint64_t length = take_u64(r), count = take_u64(r), found = r->length + CHECKSUM;
    if (r->status != HS_OK)
        return;
    const unsigned long crc = crc32_z(0, r->bytes, r->length);
    uint32_t stored;
    memcpy(&stored, r->bytes + r->length, sizeof stored);
    hs_little_endian(&stored, sizeof stored, 1);
    if (memcmp(magic, file_magic, sizeof magic) != 0)
        fail(r, HS_EFORMAT, "not a parameter file: its first bytes are not the magic ones");
    else if (version != FILE_VERSION)
        fail(r, HS_EFORMAT, "format version is %lu, expected %d", (unsigned long)version,
             (int)FILE_VERSION);
    else if (length != found)
        fail(r, HS_EFORMAT, "%s: expected %llu bytes, found %llu",
             found < length ? "truncated" : "something follows its end", (unsigned long long)length,
             (unsigned long long)found);
    else if (stored != crc)
        fail(r, HS_EFORMAT, "damaged: its checksum is %08lx, expected %08lx", crc,
             (unsigned long)stored);
    else if (number != 4 && number != 8)
        fail(r, HS_EFORMAT, "damaged: numbers of %lu bytes", (unsigned long)number);
    else if (number != hs_dtype_size(ps->dtype))
        fail(r, HS_EDTYPE, "its numbers are %s, expected %s",
             hs_dtype_name(number == 4 ? HS_F32 : HS_F64), hs_dtype_name(ps->dtype));
    else if (count != ps->count)
        fail(r, HS_EINVAL, "it has %llu parameters, expected %zu", (unsigned long long)count,
             ps->count);
}

/* Compares the description of parameter i with the store's. */
static void take_entry(reader *r, const hs_params *ps, size_t i)
{
    const param_entry *entry = &ps->entry[i];
    char name[HS_NAME_LENGTH + 1] = "";
    const uint32_t length = take_u32(r);
    if (length > HS_NAME_LENGTH)
        fail(r, HS_EFORMAT, "damaged: a name of %lu bytes", (unsigned long)length);
    else
        take(r, name, 1, length);
    const uint32_t rank = take_u32(r);
    if (rank > HS_MAX_RANK)
        fail(r, HS_EFORMAT, "damaged: a shape of %lu axes", (unsigned long)rank);
    hs_shape shape = { r->status == HS_OK ? (int)rank : 0, { 0 } };
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dim[axis] = (size_t)take_u64(r);
    if (strcmp(name, entry->name) != 0)
        fail(r, HS_EINVAL, "parameter %zu is \"%s\", expected \"%s\"", i, name, entry->name);
    char found[HS_SHAPE_TEXT], expected[HS_SHAPE_TEXT];
    if (!hs_shape_equal(&shape, &entry->shape))
        fail(r, HS_ESHAPE, "parameter \"%s\" has shape %s, expected %s", name,
             hs_shape_text(&shape, found), hs_shape_text(&entry->shape, expected));
}

/* Whether an optimiser of this kind can keep that many moments. */
static bool is_state(uint32_t kind, uint32_t moments)
{
    const hs_optimizer_entry *entry = kind ? hs_optimizer_list(kind - 1) : NULL;
    return entry ? moments == (uint32_t)entry->least || moments == (uint32_t)entry->most
                 : kind == 0 && moments == 0;
}

/* The kind of the optimiser and its moments, and whether the rest of the file is as many numbers. */
static void take_state(reader *r, const hs_params *ps, const hs_optimizer *optimizer)
{
    const uint32_t kind = take_u32(r), moments = take_u32(r);
    if (!is_state(kind, moments))
        fail(r, HS_EFORMAT, "damaged: optimiser number %lu with %lu moments", (unsigned long)kind,
             (unsigned long)moments);
    if (r->status == HS_OK && optimizer && kind != (uint32_t)optimizer->kind)
        fail(r, HS_EINVAL, "it has the state of %s, expected %s",
             kind ? hs_optimizer_list(kind - 1)->name : "no optimiser",
             hs_optimizer_name(optimizer));
    if (optimizer && moments != (uint32_t)optimizer->moments)
        fail(r, HS_EINVAL, "its optimiser keeps %lu moments, expected %d", (unsigned long)moments,
             optimizer->moments);
    const size_t left = r->length - r->position;
    const size_t expected = 8 + ps->size * hs_dtype_size(ps->dtype) * (1 + (size_t)moments);
    if (left != expected)
        fail(r, HS_EFORMAT, "damaged: %zu bytes follow the optimiser, expected %zu", left,
             expected);
}

static void take_vector(reader *r, const hs_params *ps, void *vector)
{
    for (size_t i = 0; i < ps->count; i++)
        take(r, (char *)vector + ps->entry[i].offset, hs_dtype_size(ps->dtype), ps->entry[i].count);
}

hs_status hs_params_load(hs_params *ps, hs_optimizer *optimizer, const char *path,
                         hs_message *message)
{
    const hs_status status = check_pair(ps, optimizer, path, message);
    if (status != HS_OK)
        return status;
    reader r = { .path = path, .message = message };
    hs_message_clear(message);
    read_file(&r);
    take_header(&r, ps);
    for (size_t i = 0; i < ps->count && r.status == HS_OK; i++)
        take_entry(&r, ps, i);
    take_state(&r, ps, optimizer);
    if (r.status == HS_OK) { /* from here on nothing can fail */
        const uint64_t steps = take_u64(&r);
        take_vector(&r, ps, ps->values);
        for (int i = 0; optimizer && i < optimizer->moments; i++)
            take_vector(&r, ps, optimizer->moment[i]);
        if (optimizer)
            optimizer->steps = steps;
    }
    hs_free(r.bytes);
    return r.status;
}
