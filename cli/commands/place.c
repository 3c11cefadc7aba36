#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hastings/cli/commands/place.h>
#include <hastings/tensor/file.h>

/* Whether the open file is the one at the path, and empty: a reservation still. */
static bool is_reservation(int fd, const char *path)
{
    struct stat opened, found;
    return fstat(fd, &opened) == 0 && lstat(path, &found) == 0 && S_ISREG(opened.st_mode) &&
           opened.st_size == 0 && opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

/* Reserves a file; false, with EEXIST if the name is taken. A file system without locks has reservations too, but
 * cannot tell those of programs that were killed. */
static bool reserve_file(app_place *p)
{
    p->lock = open(p->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool made = p->lock >= 0;
    if (!made && errno != EEXIST)
        return false;
    if (!made)
        p->lock = open(p->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool locked = p->lock >= 0 && flock(p->lock, LOCK_EX | LOCK_NB) == 0;
    const bool lost = made && !locked && errno == EWOULDBLOCK;
    if ((made || locked) && !lost && is_reservation(p->lock, p->path))
        return true;
    if (p->lock >= 0)
        close(p->lock);
    p->lock = -1;
    errno = EEXIST;
    return false;
}

bool app_place_reserve(app_place *p, const char *folder, const char *stem, const char *ending,
                       const char *beside)
{
    *p = (app_place){ .lock = -1 };
    bool reserved = false, go_on = hs_folder_make(folder, NULL) == HS_OK;
    for (int i = 1; i < 10000 && go_on && !reserved; i++) {
        char number[16] = "", other[APP_PLACE_PATH];
        struct stat found;
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        const int n = snprintf(p->path, APP_PLACE_PATH, "%s/%s%s%s", folder, stem, number, ending);
        const int m = snprintf(other, APP_PLACE_PATH, "%s/%s%s%s", folder, stem, number,
                               beside ? beside : ending);
        errno = ENAMETOOLONG;
        go_on = n > 0 && n < APP_PLACE_PATH && m > 0 && m < APP_PLACE_PATH;
        if (!go_on || (beside && lstat(other, &found) == 0))
            continue;
        reserved = *ending ? reserve_file(p) : mkdir(p->path, 0777) == 0;
        go_on = reserved || errno == EEXIST;
    }
    if (!reserved)
        p->path[0] = '\0';
    return reserved;
}

void app_place_release(app_place *p)
{
    if (!p->path[0])
        return;
    if (p->lock < 0)
        (void)rmdir(p->path); /* which stays unless it is empty */
    else if (is_reservation(p->lock, p->path))
        (void)unlink(p->path);
    if (p->lock >= 0)
        close(p->lock);
    *p = (app_place){ .lock = -1 };
}
