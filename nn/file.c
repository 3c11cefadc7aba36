#include <string.h>

#include "optimizer_internal.h"
#include "params_internal.h"
#include "stream_internal.h"

enum { FILE_VERSION = 1 };

static const unsigned char file_magic[STREAM_MAGIC] = {
    0x89, 'H', 'S', 'P', '\r', '\n', 0x1a, '\n'
};

static hs_status fail_early(hs_message *message, const char *path, hs_status status,
                            const char *text)
{
    stream s = hs__stream_count();
    s.path = path;
    s.message = message;
    return hs__stream_fail(&s, status, "%s", text);
}

/* What keeps a store and an optimiser from being saved or loaded together; HS_OK if nothing. */
static hs_status check_pair(const hs_params *ps, const hs_optimizer *optimizer, const char *path,
                            hs_message *message)
{
    if (hs_params_status(ps) != HS_OK)
        return fail_early(message, path, hs_params_status(ps), hs_params_error(ps));
    if (optimizer && optimizer->store != ps)
        return fail_early(message, path, HS_EINVAL, "the optimiser belongs to another store");
    return HS_OK;
}

/* ---- Saving ------------------------------------------------------------------------------- */

static void put_vector(stream *s, const hs_params *ps, const void *vector)
{
    for (size_t i = 0; i < ps->count; i++)
        hs__put_numbers(s, ps->dtype, (const char *)vector + ps->entry[i].offset,
                        ps->entry[i].count);
}

static void put_all(stream *s, const hs_params *ps, const hs_optimizer *optimizer, uint64_t length)
{
    hs__put_bytes(s, file_magic, sizeof file_magic);
    hs__put_u32(s, FILE_VERSION);
    hs__put_u32(s, (uint32_t)hs_dtype_size(ps->dtype));
    hs__put_u64(s, length);
    hs__put_u64(s, ps->count);
    for (size_t i = 0; i < ps->count; i++) {
        const param_entry *entry = &ps->entry[i];
        const size_t name = strlen(entry->name);
        hs__put_u32(s, (uint32_t)name);
        hs__put_bytes(s, entry->name, name);
        hs__put_u32(s, (uint32_t)entry->shape.rank);
        for (int axis = 0; axis < entry->shape.rank; axis++)
            hs__put_u64(s, entry->shape.dim[axis]);
    }
    hs__put_u32(s, optimizer ? (uint32_t)optimizer->kind : 0);
    hs__put_u32(s, optimizer ? (uint32_t)optimizer->moments : 0);
    hs__put_u64(s, optimizer ? optimizer->steps : 0);
    put_vector(s, ps, ps->values);
    for (int i = 0; optimizer && i < optimizer->moments; i++)
        put_vector(s, ps, optimizer->moment[i]);
}

hs_status hs_params_save(const hs_params *ps, const hs_optimizer *optimizer, const char *path,
                         hs_message *message)
{
    const hs_status status = check_pair(ps, optimizer, path, message);
    if (status != HS_OK)
        return status;
    stream count = hs__stream_count();
    put_all(&count, ps, optimizer, 0);
    const uint64_t length = count.position + 4; /* the checksum */
    stream s;
    hs__stream_create(&s, path, message);
    put_all(&s, ps, optimizer, length);
    return hs__stream_commit(&s);
}

/* ---- Loading ------------------------------------------------------------------------------ */

/* What a file holds, kept apart until all of it has been read. */
typedef struct {
    void *values;
    void *moment[MAX_MOMENTS];
    uint64_t steps;
} file_content;

static void *take_vector(stream *s, const hs_params *ps)
{
    if (s->status != HS_OK)
        return NULL;
    char *vector = hs_alloc_zero(1, ps->bytes);
    if (!vector)
        hs__stream_fail(s, HS_ENOMEM, "out of memory for its numbers (%zu bytes)", ps->bytes);
    for (size_t i = 0; vector && i < ps->count; i++)
        hs__take_numbers(s, ps->dtype, vector + ps->entry[i].offset, ps->entry[i].count);
    return vector;
}

static void take_header(stream *s, const hs_params *ps)
{
    unsigned char magic[STREAM_MAGIC];
    hs__take_bytes(s, magic,
                   sizeof magic); /* checked, as are version and length, by hs__stream_open() */
    (void)hs__take_u32(s);
    const uint32_t number = hs__take_u32(s);
    (void)hs__take_u64(s);
    const uint64_t count = hs__take_u64(s);
    if (s->status == HS_OK && number != 4 && number != 8)
        hs__stream_fail(s, HS_EFORMAT, "damaged: numbers of %lu bytes", (unsigned long)number);
    if (s->status == HS_OK && number != hs_dtype_size(ps->dtype))
        hs__stream_fail(s, HS_EDTYPE, "its numbers are %s, expected %s",
                        hs_dtype_name(number == 4 ? HS_F32 : HS_F64), hs_dtype_name(ps->dtype));
    if (s->status == HS_OK && count != ps->count)
        hs__stream_fail(s, HS_EINVAL, "it has %llu parameters, expected %zu",
                        (unsigned long long)count, ps->count);
}

/* Compares the description of parameter i with the store's. */
static void take_entry(stream *s, const hs_params *ps, size_t i)
{
    const param_entry *entry = &ps->entry[i];
    char name[HS_NAME_LENGTH + 1] = "";
    const uint32_t length = hs__take_u32(s);
    if (s->status == HS_OK && length > HS_NAME_LENGTH)
        hs__stream_fail(s, HS_EFORMAT, "damaged: a name of %lu bytes", (unsigned long)length);
    else
        hs__take_bytes(s, name, length);
    const uint32_t rank = hs__take_u32(s);
    if (s->status == HS_OK && rank > HS_MAX_RANK)
        hs__stream_fail(s, HS_EFORMAT, "damaged: a shape of %lu axes", (unsigned long)rank);
    hs_shape shape = { s->status == HS_OK ? (int)rank : 0, { 0 } };
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dim[axis] = (size_t)hs__take_u64(s);
    if (s->status == HS_OK && strcmp(name, entry->name) != 0)
        hs__stream_fail(s, HS_EINVAL, "parameter %zu is \"%s\", expected \"%s\"", i, name,
                        entry->name);
    if (s->status == HS_OK && !hs_shape_equal(&shape, &entry->shape)) {
        char found[HS_SHAPE_TEXT], expected[HS_SHAPE_TEXT];
        hs__stream_fail(s, HS_ESHAPE, "parameter \"%s\" has shape %s, expected %s", name,
                        hs_shape_text(&shape, found), hs_shape_text(&entry->shape, expected));
    }
}

/* Whether an optimiser of this kind can keep that many moments. */
static bool is_state(uint32_t kind, uint32_t moments)
{
    const hs_optimizer_entry *entry = kind ? hs_optimizer_list(kind - 1) : NULL;
    return entry ? moments == (uint32_t)entry->least || moments == (uint32_t)entry->most
                 : kind == 0 && moments == 0;
}

static void take_all(stream *s, const hs_params *ps, const hs_optimizer *optimizer,
                     file_content *content)
{
    take_header(s, ps);
    for (size_t i = 0; i < ps->count && s->status == HS_OK; i++)
        take_entry(s, ps, i);
    const uint32_t kind = hs__take_u32(s), moments = hs__take_u32(s);
    content->steps = hs__take_u64(s);
    if (s->status == HS_OK && !is_state(kind, moments))
        hs__stream_fail(s, HS_EFORMAT, "damaged: optimiser number %lu with %lu moments",
                        (unsigned long)kind, (unsigned long)moments);
    if (s->status == HS_OK && optimizer && kind != (uint32_t)optimizer->kind)
        hs__stream_fail(s, HS_EINVAL, "it has the state of %s, expected %s",
                        kind ? hs_optimizer_list(kind - 1)->name : "no optimiser",
                        hs_optimizer_name(optimizer));
    if (s->status == HS_OK && optimizer && moments != (uint32_t)optimizer->moments)
        hs__stream_fail(s, HS_EINVAL, "its optimiser keeps %lu moments, expected %d",
                        (unsigned long)moments, optimizer->moments);
    content->values = take_vector(s, ps);
    for (uint32_t i = 0; i < moments && s->status == HS_OK; i++)
        content->moment[i] = take_vector(s, ps);
}

hs_status hs_params_load(hs_params *ps, hs_optimizer *optimizer, const char *path,
                         hs_message *message)
{
    hs_status status = check_pair(ps, optimizer, path, message);
    if (status != HS_OK)
        return status;
    stream s;
    file_content content = { 0 };
    hs__stream_open(&s, path, file_magic, FILE_VERSION, message);
    take_all(&s, ps, optimizer, &content);
    status = hs__stream_close(&s);
    if (status == HS_OK && ps->bytes)
        memcpy(ps->values, content.values, ps->bytes);
    if (status == HS_OK && optimizer) {
        for (int i = 0; i < optimizer->moments; i++)
            memcpy(optimizer->moment[i], content.moment[i], ps->bytes);
        optimizer->steps = content.steps;
    }
    hs_free(content.values);
    for (int i = 0; i < MAX_MOMENTS; i++)
        hs_free(content.moment[i]);
    return status;
}
