#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hastings/experiments/json_file.h>
#include <hastings/tensor/file.h>

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

json_t *app_json_read(const char *path, hs_message *message)
{
    hs_message_clear(message);
    FILE *file = fopen(path, "rbe");
    if (!file) {
        hs_message_fail(message, HS_EIO, "%s: cannot open it: %s", path, strerror(errno));
        return NULL;
    }
    json_error_t error;
    json_t *json = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        hs_message_fail(message, HS_EFORMAT, "%s, line %d, column %d: %s", path, error.line,
                        error.column, error.text);
    fclose(file);
    return json;
}
