/* The text header of .npy files, and loading. */
#include "npy_internal.h"
#include "chain_formats_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <hastings/tensor/memory.h>
#include <hastings/tensor/message.h>
#include <hastings/tensor/number.h>

const unsigned char hs__npy_magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* ---- The header: a Python dictionary -------------------------------------------------------- */

enum { LONGEST = 65536 }; /* text that we read */

/* What the text says. */
typedef struct {
    char descr[32];
    bool fortran_order;
    size_t rank;
    uint64_t shape[3]; /* the first three axes */
} npy_header;

typedef struct {
    const char *at, *end;
    bool ok;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n'))
        c->at++;
}

static bool next_is(cursor *c, char expected)
{
    skip_space(c);
    return c->at < c->end && *c->at == expected;
}

static bool take_if(cursor *c, char expected)
{
    const bool found = next_is(c, expected);
    c->at += found;
    return found;
}

static void take(cursor *c, char expected)
{
    c->ok = c->ok && take_if(c, expected);
}

static void take_string(cursor *c, char *text, size_t size)
{
    const char quote = next_is(c, '"') ? '"' : '\'';
    take(c, quote);
    size_t n = 0;
    for (; c->ok && c->at < c->end && *c->at != quote && n + 1 < size; n++)
        text[n] = *c->at++;
    text[n] = '\0';
    take(c, quote);
}

static bool take_word(cursor *c, const char *word)
{
    skip_space(c);
    const size_t n = strlen(word);
    const bool found = (size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0;
    c->at += found ? n : 0;
    return found;
}

static uint64_t take_integer(cursor *c)
{
    uint64_t value = 0;
    skip_space(c);
    bool any = false;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; any = true) {
        const uint64_t digit = (uint64_t)(*c->at++ - '0');
        c->ok = c->ok && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    c->ok = c->ok && any;
    return value;
}

static void take_shape(cursor *c, npy_header *header)
{
    take(c, '(');
    for (header->rank = 0; c->ok && !next_is(c, ')'); header->rank++) {
        const uint64_t length = take_integer(c);
        if (header->rank < 3)
            header->shape[header->rank] = length;
        if (!take_if(c, ','))
            c->ok = c->ok && next_is(c, ')');
    }
    take(c, ')');
}

/* Parses {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }; false for any other text. */
static bool parse(const char *text, size_t length, npy_header *header)
{
    cursor c = { text, text + length, true };
    *header = (npy_header){ 0 };
    unsigned seen = 0;
    take(&c, '{');
    while (c.ok && !next_is(&c, '}')) {
        char key[32];
        take_string(&c, key, sizeof key);
        take(&c, ':');
        unsigned which = 8;
        if (strcmp(key, "descr") == 0) {
            which = 1;
            if (next_is(&c, '[')) { /* a record: no plain number, but a sound file */
                strcpy(header->descr, "a record");
                return true;
            }
            take_string(&c, header->descr, sizeof header->descr);
        } else if (strcmp(key, "fortran_order") == 0) {
            which = 2;
            header->fortran_order = take_word(&c, "True");
            c.ok = c.ok && (header->fortran_order || take_word(&c, "False"));
        } else if (strcmp(key, "shape") == 0) {
            which = 4;
            take_shape(&c, header);
        }
        c.ok = c.ok && which != 8 && !(seen & which);
        seen |= which;
        if (!take_if(&c, ','))
            c.ok = c.ok && next_is(&c, '}');
    }
    return c.ok && seen == 7;
}

/* ---- Loading --------------------------------------------------------------------------------- */

typedef struct {
    FILE *file;
    const char *path;
    hs_message *message;
    uint64_t length, position;
} reader;

#define READER_FAIL(r, status, ...) hs_message_fail((r)->message, status, "%.300s: " __VA_ARGS__)

static hs_status read_exactly(reader *r, void *bytes, size_t n)
{
    const size_t done = fread(bytes, 1, n, r->file);
    r->position += done;
    if (done == n)
        return HS_OK;
    if (ferror(r->file))
        return READER_FAIL(r, HS_EIO, "cannot read it: %s", r->path, strerror(errno));
    return READER_FAIL(r, HS_EFORMAT, "truncated: it ends at byte %llu", r->path,
                       (unsigned long long)r->position);
}

static hs_status read_header(reader *r, npy_header *header)
{
    unsigned char prefix[12];
    hs_status status = read_exactly(r, prefix, NPY_PREFIX);
    if (status != HS_OK)
        return status;
    if (memcmp(prefix, hs__npy_magic, sizeof hs__npy_magic) != 0)
        return READER_FAIL(r, HS_EFORMAT, "not a .npy file (its first bytes are others)", r->path);
    const int version = prefix[6];
    if (version < 1 || version > 3)
        return READER_FAIL(r, HS_EFORMAT, "version %d of the .npy format is not known", r->path,
                           version);
    uint32_t length = prefix[8] | (uint32_t)prefix[9] << 8;
    if (version > 1) {
        status = read_exactly(r, prefix + 10, 2);
        if (status != HS_OK)
            return status;
        length |= (uint32_t)prefix[10] << 16 | (uint32_t)prefix[11] << 24;
    }
    if (length > LONGEST)
        return READER_FAIL(r, HS_EFORMAT, "damaged: a header of %lu bytes", r->path,
                           (unsigned long)length);
    char *text = hs_alloc(length + 1);
    if (!text)
        return READER_FAIL(r, HS_ENOMEM, "out of memory for its header", r->path);
    status = read_exactly(r, text, length);
    if (status == HS_OK && !parse(text, length, header))
        status = READER_FAIL(r, HS_EFORMAT, "damaged: its header cannot be understood", r->path);
    hs_free(text);
    return status;
}

static hs_status check_header(reader *r, const npy_header *header)
{
    if (strcmp(header->descr, "<f8") != 0)
        return READER_FAIL(r, HS_EDTYPE,
                           "its numbers are '%s', expected '<f8' (in NumPy: x.astype('<f8'))",
                           r->path, header->descr);
    if (header->rank != 3)
        return READER_FAIL(r, HS_ESHAPE, "it has %zu axes, expected 3: chains, draws, dim", r->path,
                           header->rank);
    if (header->fortran_order)
        return READER_FAIL(
            r, HS_ESHAPE,
            "it is in Fortran order, expected C order (in NumPy: numpy.ascontiguousarray(x))",
            r->path);
    uint64_t numbers = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (header->shape[axis] == 0)
            return READER_FAIL(r, HS_ESHAPE, "it has no draws: axis %d has length 0", r->path,
                               axis);
        if (header->shape[axis] > SIZE_MAX / 16 / numbers)
            return READER_FAIL(r, HS_EFORMAT, "damaged: impossibly large", r->path);
        numbers *= header->shape[axis];
    }
    if (numbers * 8 > r->length - r->position)
        return READER_FAIL(r, HS_EFORMAT, "truncated: %llu of %llu bytes of draws are there",
                           r->path, (unsigned long long)(r->length - r->position),
                           (unsigned long long)(numbers * 8));
    return HS_OK;
}

/* One step of all chains after the other. */
static hs_status read_steps(reader *r, hs_chains *c)
{
    const size_t row = c->chains * c->dim;
    double *step = hs_alloc(row * sizeof *step);
    hs_status status = HS_OK;
    if (!step)
        status = READER_FAIL(r, HS_ENOMEM, "out of memory for one step", r->path);
    for (size_t n = 0; n < c->draws && status == HS_OK; n++) {
        status = read_exactly(r, step, row * sizeof *step);
        for (size_t m = 0; m < c->chains && status == HS_OK; m++)
            memcpy(hs_chains_draw(c, m, n), step + m * c->dim, c->dim * sizeof *step);
    }
    hs_free(step);
    return status;
}

static hs_status load(reader *r, hs_draws_order order, hs_chains **chains)
{
    npy_header header;
    hs_status status = read_header(r, &header);
    if (status == HS_OK)
        status = check_header(r, &header);
    if (status != HS_OK)
        return status;
    const int first = order == HS_DRAW_FIRST;
    const size_t count = (size_t)header.shape[first], draws = (size_t)header.shape[1 - first];
    hs_message why;
    status = hs_chains_new(chains, count, draws, (size_t)header.shape[2], 0, &why);
    if (status != HS_OK)
        return READER_FAIL(r, status, "%s", r->path, why.text);
    hs_chains *c = *chains;
    const size_t numbers = count * draws * c->dim;
    status = first ? read_steps(r, c) : read_exactly(r, c->x, numbers * sizeof *c->x);
    hs_little_endian(c->x, sizeof *c->x, numbers);
    return status;
}

hs_status hs_chains_load(hs_chains **chains, const char *path, hs_draws_order order,
                         hs_message *message)
{
    hs_message_clear(message);
    if (!chains)
        return hs_message_fail(message, HS_EINVAL, "hs_chains_load: no place for the chains");
    *chains = NULL;
    if (!path || (order != HS_CHAIN_FIRST && order != HS_DRAW_FIRST))
        return hs_message_fail(message, HS_EINVAL, "hs_chains_load: no path, or an unknown order");
    reader r = { .path = path, .message = message };
    struct stat found;
    hs_status status;
    if (stat(path, &found) == 0 &&
        !S_ISREG(found.st_mode)) { /* opening a pipe could wait for ever */
        status = READER_FAIL(&r, HS_EIO, "not a regular file", path);
    } else if (!(r.file = fopen(path, "rbe")) || fstat(fileno(r.file), &found) != 0) {
        status = READER_FAIL(&r, HS_EIO, "cannot open it: %s", path, strerror(errno));
    } else {
        r.length = (uint64_t)found.st_size;
        status = load(&r, order, chains);
    }
    if (r.file)
        fclose(r.file);
    if (status != HS_OK) {
        hs_chains_free(*chains);
        *chains = NULL;
    }
    return status;
}

hs_status hs__npy_read(hs_chains **chains, hs_chain_names *names, const char *path,
                       hs_message *message)
{
    (void)names; /* arrays have none */
    return hs_chains_load(chains, path, HS_CHAIN_FIRST, message);
}

hs_status hs__npy_write(const hs_chains *chains, const char *const *names, const char *path,
                        hs_message *message)
{
    (void)names;
    return hs_chains_save(chains, path, message);
}
