/* The folder of a run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_internal.h"
#include <hastings/tensor/file.h>
#include <hastings/tensor/message.h>

static const char *const parts[] = { "chains", "proposals", "figures", "work" };
enum { PARTS = sizeof parts / sizeof *parts };

/* Opens a folder in another; NULL for a link, which may lead elsewhere. */
static DIR *open_real(int at, const char *name)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && fd >= 0)
        close(fd);
    return d;
}

/* Whether a folder has nothing but unfinished files, and the first n parts with nothing else either. */
static bool is_untouched(int at, const char *name, size_t n)
{
    DIR *d = open_real(at, name);
    bool untouched = d != NULL;
    for (struct dirent *entry = d ? readdir(d) : NULL; entry && untouched; entry = readdir(d)) {
        untouched = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
                    hs_file_is_temporary(entry->d_name);
        for (size_t i = 0; i < n && !untouched; i++)
            untouched = !strcmp(entry->d_name, parts[i]) && is_untouched(dirfd(d), parts[i], 0);
    }
    if (d)
        closedir(d);
    return untouched;
}

/* A new run needs a folder with nothing in it but what one leaves that is killed before it saves its result.json. */
static hs_status check_empty(const run *r, hs_message *m)
{
    if (r->folder < 0)
        return hs_message_fail(m, HS_EIO, "%s: it cannot be opened: %s", r->out, strerror(errno));
    if (is_untouched(r->folder, ".", PARTS))
        return HS_OK;
    return hs_message_fail(
        m, HS_EINVAL,
        "%s: there is something in this folder already; choose another with --out, or go on with "
        "an interrupted run with --resume %s",
        r->out, r->out);
}

hs_status app_run_lacks_result(const run *r, hs_message *m)
{
    const bool untouched = is_untouched(AT_FDCWD, r->out, PARTS);
    return hs_message_fail(
        m, HS_EIO, "%s/result.json is not there, so nothing says what to go on with; %s%s", r->out,
        untouched ? "begin the run again: hastings run NAME --out "
                  : "begin a run in a folder that is empty or new, with --out",
        untouched ? r->out : "");
}

/* Removes the unfinished files of a killed run. */
static void remove_unfinished(int at, const char *name)
{
    DIR *d = open_real(at, name);
    for (struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d))
        if (hs_file_is_temporary(entry->d_name))
            (void)unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

/* Locks the folder: two runs would replace each other's results. If the file system has no locks,
 * nothing keeps them apart. */
static hs_status lock_folder(run *r, hs_message *m)
{
    r->folder = open(r->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->folder >= 0 && flock(r->folder, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return hs_message_fail(m, HS_EINVAL, "%s: another run is at work in this folder", r->out);
    return HS_OK;
}

hs_status app_run_make_folder(run *r, hs_message *m)
{
    char path[JOB_PATH];
    hs_status status = hs_folder_make(r->out, m);
    if (!status)
        status = lock_folder(r, m);
    if (!status && !r->options->resume)
        status = check_empty(r, m);
    if (!status)
        remove_unfinished(r->folder, ".");
    for (size_t i = 0; i < PARTS && !status; i++) {
        snprintf(path, sizeof path, "%.3800s/%s", r->out, parts[i]);
        status = hs_folder_make(path, m);
        remove_unfinished(r->folder, parts[i]);
    }
    return status;
}
