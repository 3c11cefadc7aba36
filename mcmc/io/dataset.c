#include <hastings/mcmc/io/dataset.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "dataset_internal.h"

enum { LONGEST_LINE = 64000000 };

hs_dataset_options hs__dataset_options(const hs_dataset_options *options)
{
    hs_dataset_options o = options ? *options : (hs_dataset_options){ 0 };
    if (!o.max_rows)
        o.max_rows = 100000000;
    if (!o.max_features)
        o.max_features = 100000;
    if (!o.max_bytes)
        o.max_bytes = SIZE_MAX > UINT32_MAX ? (size_t)UINT32_MAX + 1 : SIZE_MAX / 2;
    return o;
}

hs_status hs__dataset_new(hs_dataset **data, size_t rows, size_t features,
                          const hs_dataset_options *o, const char *what, hs_message *message)
{
    if (rows > o->max_rows || features > o->max_features)
        return hs_message_fail(message, HS_EOVERFLOW,
                               "%.300s: %zu rows of %zu features, the limits are %zu and %zu", what,
                               rows, features, o->max_rows, o->max_features);
    hs_dataset *d = hs_alloc_zero(1, sizeof *d);
    if (!d)
        return hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory", what);
    const size_t columns = features + !o->no_intercept;
    d->rows = rows;
    d->features = features;
    d->columns = columns;
    d->x = hs_alloc_zero(hs_size_product(rows, columns), sizeof *d->x);
    d->y = hs_alloc_zero(rows, sizeof *d->y);
    d->mean = hs_alloc_zero(columns, sizeof *d->mean);
    d->sd = hs_alloc_zero(columns, sizeof *d->sd);
    d->names = hs_arena_alloc(&d->text, columns * sizeof *d->names);
    if (!d->x || !d->y || !d->mean || !d->sd || !d->names) {
        hs_dataset_free(d);
        return hs_memory_fail(message, hs_size_product(rows, columns, sizeof(double)),
                              "%.300s: out of memory for %zu rows of %zu features", what, rows,
                              features);
    }
    for (size_t i = 0; i < columns; i++) {
        d->names[i] = "";
        d->sd[i] = 1;
    }
    if (!o->no_intercept) {
        d->names[0] = "intercept";
        for (size_t r = 0; r < rows; r++)
            d->x[r * columns] = 1;
    }
    *data = d;
    return HS_OK;
}

void hs_dataset_free(hs_dataset *d)
{
    if (!d)
        return;
    hs_free(d->x);
    hs_free(d->y);
    hs_free(d->mean);
    hs_free(d->sd);
    hs_arena_free(&d->text);
    hs_free(d);
}

double *hs__dataset_row(const hs_dataset *d, size_t row)
{
    return d->x + row * d->columns + (d->columns - d->features);
}

hs_status hs__dataset_count_labels(hs_dataset *d, const char *what, hs_message *message)
{
    d->ones = 0;
    for (size_t r = 0; r < d->rows; r++)
        d->ones += d->y[r] == 1;
    if (d->ones == 0 || d->ones == d->rows)
        return hs_message_fail(message, HS_EINVAL,
                               "%.300s: there is one class only: all %zu labels are %d", what,
                               d->rows, d->ones != 0);
    return HS_OK;
}

/* ---- Files, inflated if they are gzipped ------------------------------------------------------ */

hs_status hs__input_open(input *s, const char *path, hs_message *message)
{
    errno = 0;
    *s = (input){ .path = path, .message = message, .file = gzopen(path, "rbe") };
    if (s->file)
        return HS_OK;
    return errno ? INPUT_FAIL(s, HS_EIO, "cannot open it: %s", path, strerror(errno))
                 : INPUT_FAIL(s, HS_ENOMEM, "out of memory", path);
}

void hs__input_close(input *s)
{
    if (s->file)
        gzclose_r(s->file);
}

/* Why fewer bytes came than were asked for: HS_OK if the file ended. */
static hs_status why_short(input *s)
{
    int error = Z_OK;
    const char *text = gzerror(s->file, &error);
    const size_t prefix = strlen(s->path); /* zlib's texts begin with "PATH: " */
    if (strncmp(text, s->path, prefix) == 0 && text[prefix] == ':')
        text += prefix + 2;
    if (error == Z_ERRNO)
        return INPUT_FAIL(s, HS_EIO, "cannot read it: %s", s->path, strerror(errno));
    if (error == Z_MEM_ERROR)
        return INPUT_FAIL(s, HS_ENOMEM, "out of memory to unpack it", s->path);
    if (error == Z_BUF_ERROR)
        return INPUT_FAIL(s, HS_EFORMAT, "truncated: its compressed data end too early", s->path);
    return error == Z_OK || error == Z_STREAM_END
               ? HS_OK
               : INPUT_FAIL(s, HS_EFORMAT, "damaged: %s", s->path, text);
}

hs_status hs__input_take(input *s, void *bytes, size_t n, size_t *taken)
{
    enum { MOST = 1 << 30 };
    int got = 1;
    for (*taken = 0; *taken < n && got > 0; *taken += got > 0 ? (size_t)got : 0)
        got = gzread(s->file, (char *)bytes + *taken,
                     n - *taken < MOST ? (unsigned)(n - *taken) : MOST);
    return *taken < n ? why_short(s) : HS_OK;
}

/* A block that is full gets twice the room, of which a string's end keeps one byte. */
static hs_status grow(input *s, char **bytes, size_t used, size_t room)
{
    char *grown = hs_grow(*bytes, used, room);
    if (!grown)
        return hs_memory_fail(s->message, room, "%.300s: out of memory for its bytes", s->path);
    *bytes = grown;
    return HS_OK;
}

hs_status hs__input_take_all(input *s, size_t n, unsigned char **bytes, size_t *taken)
{
    enum { FIRST = 1 << 16 };
    size_t room = 0, got = 0;
    char *block = NULL;
    hs_status status = HS_OK;
    *taken = 0;
    while (status == HS_OK && *taken == room && room < n) { /* less than the room: the end */
        room = room ? 2 * room : FIRST;
        room = room < n ? room : n;
        status = grow(s, &block, *taken, room);
        if (status == HS_OK)
            status = hs__input_take(s, block + *taken, room - *taken, &got);
        *taken += status == HS_OK ? got : 0;
    }
    *bytes = (unsigned char *)block;
    return status;
}

/* Looks at the bytes that were read last, so that devices, and pipes that never end, are left soon. *line is where
 * the last line begins. */
static hs_status check_text(const input *s, const char *bytes, size_t begin, size_t end,
                            size_t *line)
{
    char longest[HS_BYTES_TEXT];
    if (memchr(bytes + begin, '\0', end - begin))
        return INPUT_FAIL(s, HS_EFORMAT, "not a text file", s->path);
    size_t at = end;
    while (at > begin && bytes[at - 1] != '\n')
        at--;
    *line = at > begin ? at : *line;
    if (end - *line > LONGEST_LINE)
        return INPUT_FAIL(s, HS_EOVERFLOW, "a line longer than %s, the limit", s->path,
                          hs_bytes_text(LONGEST_LINE, longest));
    return HS_OK;
}

/* Reads on until the file ends; neither pipes nor gzipped files say their length. */
static hs_status read_text(input *s, size_t most, const char *why, size_t room, char **bytes,
                           size_t *length)
{
    enum { PIECE = 1 << 20 };
    char longest[HS_BYTES_TEXT];
    size_t line = 0, taken = 0;
    hs_status status = grow(s, bytes, 0, room);
    for (size_t used = 0; status == HS_OK; used += taken) {
        if (used + 1 == room)
            status = grow(s, bytes, used, room = 2 * room);
        const size_t wanted = room - 1 - used < PIECE ? room - 1 - used : PIECE;
        if (status == HS_OK)
            status = hs__input_take(s, *bytes + used, wanted, &taken);
        if (status == HS_OK)
            status = check_text(s, *bytes, used, used + taken, &line);
        if (status == HS_OK && used + taken > most)
            status = INPUT_FAIL(s, HS_EOVERFLOW, "longer than %s, %s", s->path,
                                hs_bytes_text(most, longest), why);
        if (status == HS_OK && taken < wanted) {
            *length = used + taken;
            (*bytes)[*length] = '\0';
            return HS_OK;
        }
    }
    return status;
}

hs_status hs__text_read(const char *path, size_t most, char **bytes, size_t *length,
                        hs_message *message)
{
    input s;
    struct stat found;
    size_t room = 1 << 16;
    const size_t memory = hs_memory_left() / 4; /* numbers take four times the bytes of "0," */
    *bytes = NULL;
    const char *why = most < memory ? "the limit" : "a quarter of the memory that is left";
    most = most < memory ? most : memory;
    hs_status status = hs__input_open(&s, path, message);
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0 &&
        (uintmax_t)found.st_size <= most)
        room = (size_t)found.st_size + 2;
    if (status == HS_OK)
        status = read_text(&s, most, why, room, bytes, length);
    hs__input_close(&s);
    if (status != HS_OK) {
        hs_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
