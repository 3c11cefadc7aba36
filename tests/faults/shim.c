/* A library for LD_PRELOAD that makes system calls and allocations fail, stops the program at one of them, or keeps a
 * journal of the calls that change the disk. The environment says what:
 *
 *     FAULTS_CALLS=write,fsync    the kinds of calls that count: write, fsync, rename, close, open, mkdir, malloc
 *     FAULTS_AT=7                 the call that is hit, from 1; 0: none
 *     FAULTS_ERROR=5              its errno; -9 and such: a signal instead, before the call, or in the middle of a write
 *     FAULTS_STAYS=1              all later calls of these kinds fail as well
 *     FAULTS_MODULES=hastings     allocations count if they come from these programs and libraries
 *     FAULTS_COUNT=FILE           the number of calls that counted is written there in the end
 *     FAULTS_JOURNAL=FOLDER       the journal, and the files as they were at each fsync
 *
 * Calls on paths of the system (/proc, /sys, /usr ...) and on streams do not count. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WRITE = 1,
    FSYNC = 2,
    RENAME = 4,
    CLOSE = 8,
    OPEN = 16,
    MKDIR = 32,
    MALLOC = 64,
    MOST_RANGES = 64
};

static struct {
    const char *name;
    int bit;
} const kinds[] = { { "write", WRITE },  { "fsync", FSYNC }, { "rename", RENAME },
                    { "close", CLOSE },  { "open", OPEN },   { "mkdir", MKDIR },
                    { "malloc", MALLOC } };

static bool ready;
static int counted, error, stays;
static long at;
static atomic_long calls, snapshots;
static const char *journal;
static struct {
    uintptr_t from, until;
} range[MOST_RANGES];
static size_t ranges;

/* ---- What the environment says --------------------------------------------------------------- */

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *wanted)
{
    const char *name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "hastings";
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && ranges < MOST_RANGES; i++) {
        char copy[256], *end = NULL;
        snprintf(copy, sizeof copy, "%s", (const char *)wanted);
        for (char *word = strtok_r(copy, ",", &end); word; word = strtok_r(NULL, ",", &end))
            if (info->dlpi_phdr[i].p_type == PT_LOAD && strstr(name, word)) {
                range[ranges].from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
                range[ranges].until = range[ranges].from + info->dlpi_phdr[i].p_memsz;
                ranges++;
                break;
            }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("FAULTS_CALLS"), *modules = getenv("FAULTS_MODULES");
    for (size_t i = 0; wanted && i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(wanted, kinds[i].name))
            counted |= kinds[i].bit;
    at = number("FAULTS_AT");
    error = (int)number("FAULTS_ERROR");
    stays = (int)number("FAULTS_STAYS");
    journal = getenv("FAULTS_JOURNAL");
    dl_iterate_phdr(add_module, (void *)(modules ? modules : "hastings"));
    ready = true;
}

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("FAULTS_COUNT");
    char text[32];
    ready = false;
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0)
        return;
    const int n = snprintf(text, sizeof text, "%ld\n", (long)calls);
    (void)!write(fd, text, (size_t)n);
    close(fd);
}

/* ---- Whether a call is hit ------------------------------------------------------------------- */

static bool is_hit(int kind)
{
    if (!ready || !(counted & kind))
        return false;
    const long n = atomic_fetch_add(&calls, 1) + 1;
    if (!at || (stays ? n < at : n != at))
        return false;
    if (error >= 0) {
        errno = error;
        return true;
    }
    raise(-error);
    return false;
}

static bool is_ours(const char *path)
{
    static const char *const systems[] = { "/proc", "/sys", "/dev/", "/usr",
                                           "/etc",  "/lib", "/var",  "/root" };
    for (size_t i = 0; path && i < sizeof systems / sizeof *systems; i++)
        if (!strncmp(path, systems[i], strlen(systems[i])) && strncmp(path, "/dev/shm", 8) != 0)
            return false;
    return path != NULL;
}

static const char *path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    return *path == '/' && is_ours(path) ? path : NULL;
}

/* ---- The journal ----------------------------------------------------------------------------- */

static void absolute(const char *path, char full[2 * PATH_MAX])
{
    char here[PATH_MAX];
    if (*path == '/' || !getcwd(here, sizeof here))
        snprintf(full, 2 * PATH_MAX, "%s", path);
    else
        snprintf(full, 2 * PATH_MAX, "%s/%s", here, path);
}

/* One line: the event and paths, with tabs between. */
static void note(const char *event, const char *path, const char *other)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char name[PATH_MAX], a[2 * PATH_MAX], b[2 * PATH_MAX] = "", line[5 * PATH_MAX];
    if (!journal || !path || !is_ours(path))
        return;
    const int before = errno;
    absolute(path, a);
    if (other)
        absolute(other, b);
    snprintf(name, sizeof name, "%s/journal", journal);
    const int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", event, a, b);
    pthread_mutex_lock(&lock);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd >= 0) {
        (void)!syscall(SYS_write, fd, line, (size_t)n);
        syscall(SYS_close, fd);
    }
    pthread_mutex_unlock(&lock);
    errno = before;
}

/* Keeps a copy of a file that was brought to disk. */
static void keep(int fd)
{
    char path[PATH_MAX], copy[PATH_MAX], bytes[1 << 14];
    struct stat found;
    if (!journal || !path_of(fd, path) || fstat(fd, &found))
        return;
    if (S_ISDIR(found.st_mode)) {
        note("folder", path, NULL);
        return;
    }
    snprintf(copy, sizeof copy, "%s/%ld", journal, atomic_fetch_add(&snapshots, 1));
    const int from = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    const int to = (int)syscall(SYS_openat, AT_FDCWD, copy, O_WRONLY | O_CREAT, 0666);
    ssize_t n;
    while (from >= 0 && to >= 0 && (n = syscall(SYS_read, from, bytes, sizeof bytes)) > 0)
        (void)!syscall(SYS_write, to, bytes, (size_t)n);
    syscall(SYS_close, from);
    syscall(SYS_close, to);
    note("sync", path, copy);
}

/* ---- The calls ------------------------------------------------------------------------------- */

#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* A signal comes when half of the bytes are written. */
static bool write_is_hit(int fd, const void *bytes, size_t n, off_t offset)
{
    char path[PATH_MAX];
    if (!ready || !(counted & WRITE) || !path_of(fd, path))
        return false;
    if (error == -SIGKILL && at && calls + 1 == at)
        syscall(offset < 0 ? SYS_write : SYS_pwrite64, fd, bytes, n / 2, offset);
    return is_hit(WRITE);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write);
    return write_is_hit(fd, bytes, n, -1) ? -1 : real(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    REAL(pwrite);
    return write_is_hit(fd, bytes, n, offset) ? -1 : real(fd, bytes, n, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset)
{
    REAL(pwrite64);
    return write_is_hit(fd, bytes, n, offset) ? -1 : real(fd, bytes, n, offset);
}

int fsync(int fd)
{
    REAL(fsync);
    const int result = is_hit(FSYNC) ? -1 : real(fd);
    if (!result)
        keep(fd);
    return result;
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    const int result = is_hit(RENAME) ? -1 : real(from, to);
    if (!result)
        note("rename", from, to);
    return result;
}

int unlink(const char *path)
{
    REAL(unlink);
    const int result = real(path);
    if (!result)
        note("unlink", path, NULL);
    return result;
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    const int result = is_hit(MKDIR) ? -1 : real(path, mode);
    if (!result)
        note("mkdir", path, NULL);
    return result;
}

int close(int fd)
{
    REAL(close);
    char path[PATH_MAX];
    if (!ready || !(counted & CLOSE) || !path_of(fd, path))
        return real(fd);
    const bool hit = is_hit(CLOSE);
    const int because = errno, result = real(fd);
    errno = hit ? because : errno;
    return hit ? -1 : result;
}

/* Opens a file, which may be a new one. */
static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode)
{
    if (is_ours(path) && is_hit(OPEN))
        return -1;
    const bool is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    const int fd = real(path, flags, mode);
    if (fd >= 0 && (is_new || (flags & O_TRUNC)))
        note("create", path, NULL);
    return fd;
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        REAL(name);                                                                                \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                            \
        va_end(more);                                                                              \
        return opened(real, path, flags, mode);                                                    \
    }
OPENS(open)
OPENS(open64)

#define FOPENS(name)                                                                               \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        REAL(name);                                                                                \
        if (is_ours(path) && is_hit(OPEN))                                                         \
            return NULL;                                                                           \
        FILE *file = real(path, mode);                                                             \
        if (file && *mode == 'w')                                                                  \
            note("create", path, NULL);                                                            \
        return file;                                                                               \
    }
FOPENS(fopen)
FOPENS(fopen64)

/* ---- Memory ---------------------------------------------------------------------------------- */

/* NOLINTBEGIN(readability-identifier-naming): glibc's own names of what is replaced below. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
/* NOLINTEND(readability-identifier-naming) */

static bool is_scarce(const void *caller)
{
    if (!ready || !(counted & MALLOC))
        return false;
    for (size_t i = 0; i < ranges; i++)
        if ((uintptr_t)caller >= range[i].from && (uintptr_t)caller < range[i].until)
            return is_hit(MALLOC);
    return false;
}

void *malloc(size_t n)
{
    return is_scarce(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    return is_scarce(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t n)
{
    return is_scarce(__builtin_return_address(0)) ? NULL : __libc_realloc(block, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return is_scarce(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **block, size_t alignment, size_t n)
{
    if (is_scarce(__builtin_return_address(0)))
        return ENOMEM;
    *block = __libc_memalign(alignment, n);
    return *block ? 0 : ENOMEM;
}
