#include <hastings/tensor/file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>

enum { BUFFER = 1 << 16, ATTEMPTS = 100, LONGEST_FOLDER = 3800 };

static void fail(hs_file *f, const char *what, int error)
{
    if (f->status == HS_OK)
        f->status = hs_message_fail(f->message, HS_EIO, "%.300s: cannot %s: %s", f->path, what,
                                    strerror(error));
}

void hs_file_create(hs_file *f, const char *path, hs_message *message)
{
    *f = (hs_file){ .message = message, .fd = -1 };
    hs_message_clear(message);
    const size_t size = strlen(path) + 1, room = size + 64;
    f->buffer = hs_alloc(BUFFER + size + room);
    if (!f->buffer) {
        f->status = hs_message_fail(message, HS_ENOMEM, "%.300s: out of memory for a buffer", path);
        return;
    }
    f->path = f->buffer + BUFFER;
    f->temporary = f->path + size;
    memcpy(f->path, path, size);
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) /* renaming would replace a device */
        f->status =
            hs_message_fail(message, HS_EIO, "%.300s: exists and is not a regular file", path);
    /* The name is ours alone: another process has another number, another thread meets O_EXCL. */
    for (int attempt = 0; f->status == HS_OK && f->fd < 0; attempt++) {
        snprintf(f->temporary, room, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && (errno != EEXIST || attempt + 1 == ATTEMPTS))
            fail(f, "create it", errno);
    }
}

uint64_t hs_file_written(const hs_file *f)
{
    return f->length - f->used;
}

/* Writes at an offset; returns the bytes that the system took. */
static size_t write_at(hs_file *f, const char *bytes, size_t n, uint64_t offset)
{
    size_t done = 0;
    while (f->status == HS_OK && done < n) {
        const ssize_t part = pwrite(f->fd, bytes + done, n - done, (off_t)(offset + done));
        if (part > 0) {
            done += (size_t)part;
        } else if (part == 0 || errno != EINTR) {
            char what[64];
            snprintf(what, sizeof what, "write its byte %llu", (unsigned long long)(offset + done));
            fail(f, what, part == 0 ? ENOSPC : errno);
        }
    }
    return done;
}

void hs_file_flush(hs_file *f)
{
    const uint64_t at = hs_file_written(f);
    f->length = at + write_at(f, f->buffer, f->used, at);
    f->used = 0;
}

void hs_file_put(hs_file *f, const void *bytes, size_t n)
{
    if (n > BUFFER - f->used)
        hs_file_flush(f);
    if (f->status != HS_OK)
        return;
    if (n > BUFFER) {
        f->length += write_at(f, bytes, n, f->length);
    } else if (n > 0) {
        memcpy(f->buffer + f->used, bytes, n);
        f->used += n;
        f->length += n;
    }
}

void hs_file_print(hs_file *f, const char *format, ...)
{
    for (int attempt = 0; attempt < 2 && f->status == HS_OK; attempt++) {
        const size_t room = BUFFER - f->used;
        va_list arguments;
        va_start(arguments, format);
        const int n = vsnprintf(f->buffer + f->used, room, format, arguments);
        va_end(arguments);
        if (n >= 0 && (size_t)n < room) {
            f->used += (size_t)n;
            f->length += (uint64_t)n;
            return;
        }
        hs_file_flush(f);
    }
    fail(f, "print a text of this length", EOVERFLOW);
}

void hs_file_replace(hs_file *f, uint64_t offset, const void *bytes, size_t n)
{
    write_at(f, bytes, n, offset);
}

void hs_file_cut(hs_file *f, uint64_t length)
{
    f->status = HS_OK;
    f->length = length;
    f->used = 0;
    if (ftruncate(f->fd, (off_t)length) != 0)
        fail(f, "shorten it", errno);
}

/* A rename is on disk when its folder is. Systems that cannot do this are left alone. */
static void sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    const int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

hs_status hs_file_commit(hs_file *f)
{
    hs_file_flush(f);
    if (f->status == HS_OK && fsync(f->fd) != 0)
        fail(f, "bring it to disk", errno);
    const bool created = f->fd >= 0;
    if (created && close(f->fd) != 0)
        fail(f, "close it", errno);
    if (f->status == HS_OK && rename(f->temporary, f->path) != 0)
        fail(f, "move the finished file here", errno);
    if (f->status == HS_OK)
        sync_folder(f->temporary);
    else if (created && !f->keep)
        unlink(f->temporary);
    hs_free(f->buffer);
    const hs_status status = f->status;
    *f = (hs_file){ .status = status, .fd = -1 };
    return status;
}

void hs_file_discard(hs_file *f)
{
    if (f->fd >= 0) {
        close(f->fd);
        unlink(f->temporary);
    }
    hs_free(f->buffer);
    *f = (hs_file){ .status = f->status, .fd = -1 };
}

/* The text before a number with digits alone that ends a text of n bytes; 0 if there is none, or no text before. */
static size_t before_number(const char *text, size_t n)
{
    const size_t end = n;
    while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9')
        n--;
    return n < end ? n : 0;
}

bool hs_file_is_temporary(const char *name)
{
    const size_t n = strlen(name), ending = strlen(".tmp");
    if (n < ending || strcmp(name + n - ending, ".tmp") != 0)
        return false;
    const size_t attempt = before_number(name, n - ending);
    if (attempt == 0 || name[attempt - 1] != '-')
        return false;
    const size_t process = before_number(name, attempt - 1);
    return process > 1 && name[process - 1] == '.';
}

hs_status hs_file_save(const char *path, const void *bytes, size_t n, hs_message *message)
{
    hs_file f;
    hs_file_create(&f, path, message);
    hs_file_put(&f, bytes, n);
    return hs_file_commit(&f);
}

hs_status hs_folder_make(const char *path, hs_message *message)
{
    char part[LONGEST_FOLDER];
    struct stat found;
    const size_t n = strlen(path);
    hs_message_clear(message);
    if (n == 0 || n >= sizeof part)
        return hs_message_fail(message, HS_EINVAL, "the name of a folder is empty or too long");
    for (size_t i = 1; i <= n; i++)
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(part, path, i);
            part[i] = '\0';
            if (mkdir(part, 0777) == 0)
                sync_folder(part);
            else if (errno != EEXIST)
                return hs_message_fail(message, HS_EIO, "%.300s: this folder cannot be made: %s",
                                       part, strerror(errno));
        }
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode))
        return hs_message_fail(message, HS_EIO, "%.300s: it is there, and is not a folder", path);
    return HS_OK;
}
