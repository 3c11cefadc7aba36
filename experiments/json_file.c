#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/experiments/json_file.h>
#include <hastings/tensor/file.h>
#include <hastings/tensor/memory.h>

static atomic_bool short_of_memory;

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block && bytes)
        atomic_store(&short_of_memory, true);
    return block;
}

void app_json_watch_memory(void)
{
    json_set_alloc_funcs(allocate, free);
}

char *app_json_dump(const json_t *json)
{
    char *text =
        json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) : NULL;
    if (!atomic_load(&short_of_memory))
        return text;
    free(text);
    return NULL;
}

hs_status app_json_save(const char *path, const json_t *json, hs_message *message)
{
    char *text = app_json_dump(json);
    if (!text)
        return hs_message_fail(message, HS_ENOMEM, "%s: out of memory for its text", path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator, which a file does not need */
    const hs_status status = hs_file_save(path, text, length + 1, message);
    free(text);
    return status;
}

/* A file that is being read, and how much more of it may be. */
typedef struct {
    FILE *file;
    size_t left;
    bool too_long;
    int error;
} source;

/* Both the end and an error end the text. */
static size_t read_some(void *buffer, size_t n, void *context)
{
    source *s = context;
    const size_t got = fread(buffer, 1, n, s->file);
    s->error = ferror(s->file) ? errno : 0;
    s->too_long = got > s->left;
    s->left -= s->too_long ? 0 : got;
    return s->too_long ? 0 : got;
}

json_t *app_json_read(const char *path, hs_message *message)
{
    enum { SWOLLEN = 100 }; /* bytes of memory for a byte of "{},{}," */
    const size_t most = hs_memory_left() / SWOLLEN;
    source s = { .file = fopen(path, "rbe"), .left = most };
    char longest[HS_BYTES_TEXT];
    json_error_t error;
    hs_message_clear(message);
    if (!s.file) {
        hs_message_fail(message, HS_EIO, "%s: cannot open it: %s", path, strerror(errno));
        return NULL;
    }
    json_t *json = json_load_callback(read_some, &s, JSON_REJECT_DUPLICATES, &error);
    fclose(s.file);
    if (s.error)
        hs_message_fail(message, HS_EIO, "%s: cannot read it: %s", path, strerror(s.error));
    else if (s.too_long)
        hs_message_fail(message, HS_EOVERFLOW,
                        "%s: longer than %s, a hundredth of the memory that is left", path,
                        hs_bytes_text(most, longest));
    else if (!json)
        hs_message_fail(message, HS_EFORMAT, "%s, line %d, column %d: %s", path, error.line,
                        error.column, error.text);
    if (json && (s.error || s.too_long)) {
        json_decref(json);
        return NULL;
    }
    return json;
}
