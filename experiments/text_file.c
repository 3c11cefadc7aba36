#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/experiments/text_file.h>

static hs_status fail(hs_message *message, hs_status status, const char *format, ...)
    HS_PRINTF(3, 4);

static hs_status fail(hs_message *message, hs_status status, const char *format, ...)
{
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* A new file beside `path`, whose name is ours alone; -1, and errno, if there can be none. */
static int create_beside(const char *path, char *temporary, size_t size)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(temporary, size, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return fsync(fd) == 0;
}

hs_status app_text_save(const char *path, const void *text, size_t length, hs_message *message)
{
    fail(message, HS_OK, "%s", "");
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) /* renaming would replace a device */
        return fail(message, HS_EIO, "%s: exists and is not a regular file", path);
    const size_t size = strlen(path) + 64;
    char *temporary = malloc(size);
    if (!temporary)
        return fail(message, HS_ENOMEM, "%s: out of memory for its name", path);
    hs_status status = HS_OK;
    const int fd = create_beside(path, temporary, size);
    if (fd < 0) {
        status =
            fail(message, HS_EIO, "%s: cannot create %s: %s", path, temporary, strerror(errno));
    } else {
        if (!write_all(fd, text, length))
            status = fail(message, HS_EIO, "%s: cannot write it: %s", path, strerror(errno));
        if (close(fd) != 0 && !status)
            status = fail(message, HS_EIO, "%s: cannot close it: %s", path, strerror(errno));
        if (!status && rename(temporary, path) != 0)
            status = fail(message, HS_EIO, "%s: cannot move the finished file here: %s", path,
                          strerror(errno));
        if (status)
            unlink(temporary);
    }
    free(temporary);
    return status;
}

hs_status app_json_save(const char *path, const json_t *json, hs_message *message)
{
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
    if (!text)
        return fail(message, HS_ENOMEM, "%s: out of memory for its text", path);
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the terminator, which a file does not need */
    const hs_status status = app_text_save(path, text, length + 1, message);
    free(text);
    return status;
}

json_t *app_json_read(const char *path, hs_message *message)
{
    fail(message, HS_OK, "%s", "");
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail(message, HS_EIO, "%s: cannot open it: %s", path, strerror(errno));
        return NULL;
    }
    json_error_t error;
    json_t *json = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        fail(message, HS_EFORMAT, "%s, line %d, column %d: %s", path, error.line, error.column,
             error.text);
    fclose(file);
    return json;
}
