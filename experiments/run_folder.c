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

static hs_status check_empty(const char *path, hs_message *m)
{
    DIR *d = opendir(path);
    int entries = 0;
    if (!d)
        return hs_message_fail(m, HS_EIO, "%s: it cannot be opened: %s", path, strerror(errno));
    while (readdir(d))
        entries++;
    closedir(d);
    if (entries > 2)
        return hs_message_fail(
            m, HS_EINVAL,
            "%s: there is something in this folder already; choose another with --out, or go "
            "on with an interrupted run with --resume %s",
            path, path);
    return HS_OK;
}

/* Removes the unfinished files of a killed run: X.PID-N.tmp. */
static void remove_unfinished(const char *folder)
{
    char path[JOB_PATH + 512];
    DIR *d = opendir(folder);
    for (struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d)) {
        const size_t n = strlen(entry->d_name);
        if (n > 4 && !strcmp(entry->d_name + n - 4, ".tmp")) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            (void)unlink(path);
        }
    }
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
    static const char *const parts[] = { "chains", "proposals", "figures", "work" };
    char path[JOB_PATH];
    hs_status status = hs_folder_make(r->out, m);
    if (!status)
        status = lock_folder(r, m);
    if (!status && !r->options->resume)
        status = check_empty(r->out, m);
    if (!status && r->options->resume)
        remove_unfinished(r->out);
    for (size_t i = 0; i < 4 && !status; i++) {
        snprintf(path, sizeof path, "%.3800s/%s", r->out, parts[i]);
        status = hs_folder_make(path, m);
        if (r->options->resume)
            remove_unfinished(path);
    }
    return status;
}
