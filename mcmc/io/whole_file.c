#include "whole_file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>

#include <hastings/tensor/message.h>

static void fail(whole_file *f, const char *what, const char *why)
{
    if (f->status == HS_OK)
        f->status = hs_message_fail(f->message, HS_EIO, "%.300s: %s: %s", f->path, what, why);
}

void hs__whole_create(whole_file *f, const char *path, hs_message *message)
{
    *f = (whole_file){ .path = path, .message = message, .fd = -1 };
    const size_t room = strlen(path) + 64;
    f->temporary = hs_alloc(room + WHOLE_BUFFER);
    if (!f->temporary) {
        f->status = hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for a buffer", path);
        return;
    }
    f->buffer = f->temporary + room;
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) { /* renaming would replace a device */
        f->status =
            hs_message_fail(message, HS_EIO, "%.300s: exists and is not a regular file", path);
        return;
    }
    for (int attempt = 0; f->status == HS_OK && f->fd < 0; attempt++) {
        snprintf(f->temporary, room, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && (errno != EEXIST || attempt == 99))
            fail(f, "cannot create it", strerror(errno));
    }
}

static void write_all(whole_file *f, const char *bytes, size_t n)
{
    while (f->status == HS_OK && n > 0) {
        const ssize_t part = write(f->fd, bytes, n);
        if (part > 0) {
            bytes += part;
            n -= (size_t)part;
        } else if (part == 0 || errno != EINTR) {
            fail(f, "cannot write it", part == 0 ? "no progress" : strerror(errno));
        }
    }
}

void hs__whole_put(whole_file *f, const void *bytes, size_t n)
{
    if (f->status != HS_OK)
        return;
    if (n > WHOLE_BUFFER - f->used) {
        write_all(f, f->buffer, f->used);
        f->used = 0;
    }
    if (n > WHOLE_BUFFER) {
        write_all(f, bytes, n);
    } else {
        memcpy(f->buffer + f->used, bytes, n);
        f->used += n;
    }
}

void hs__whole_print(whole_file *f, const char *format, ...)
{
    char text[1001];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hs__whole_put(f, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* A rename is on disk when its directory is; where this cannot be done, the system decides. */
static void sync_directory(whole_file *f)
{
    char *slash = strrchr(f->temporary, '/');
    if (slash)
        slash[slash == f->temporary] = '\0';
    const int fd = open(slash ? f->temporary : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

hs_status hs__whole_commit(whole_file *f)
{
    write_all(f, f->buffer, f->used);
    if (f->status == HS_OK && fsync(f->fd) != 0)
        fail(f, "cannot bring it to disk", strerror(errno));
    const bool created = f->fd >= 0;
    if (created && close(f->fd) != 0)
        fail(f, "cannot close it", strerror(errno));
    if (f->status == HS_OK && rename(f->temporary, f->path) != 0)
        fail(f, "cannot rename the finished file", strerror(errno));
    if (f->status == HS_OK)
        sync_directory(f);
    else if (created)
        unlink(f->temporary);
    hs_free(f->temporary);
    f->temporary = NULL;
    return f->status;
}
