#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include <hastings/tensor/memory.h>

bool fuzz_accepted;

static char folder[FUZZ_PATH / 2];
static long living;       /* blocks of the library that have not been given back */
static char refusal[512]; /* the last sentence of a refusal */

void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s does not hold; the last refusal was \"%s\"\n", file, line, condition,
            refusal);
    abort();
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *allocate(size_t bytes, void *context)
{
    (void)context;
    void *block =
        bytes > FUZZ_LARGEST ? NULL : aligned_alloc(HS_ALIGN, hs_align_up(bytes ? bytes : 1));
    if (block)
        __atomic_add_fetch(&living, 1, __ATOMIC_RELAXED);
    return block;
}

static void release(void *block, void *context)
{
    (void)context;
    if (block)
        __atomic_sub_fetch(&living, 1, __ATOMIC_RELAXED);
    free(block);
}

/* ---- Files ----------------------------------------------------------------------------------- */

const char *fuzz_path(const char *name)
{
    enum { PATHS = 16 };
    static char paths[PATHS][FUZZ_PATH];
    static size_t next;
    char *path = paths[next++ % PATHS];
    fuzz_check((size_t)snprintf(path, FUZZ_PATH, "%s/%s", folder, name) < FUZZ_PATH);
    return path;
}

const char *fuzz_write(const char *name, const void *bytes, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "wb");
    fuzz_check(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
    return path;
}

static size_t read_part(FILE *f, char bytes[4096])
{
    return f ? fread(bytes, 1, 4096, f) : 0;
}

bool fuzz_same_files(const char *a, const char *b)
{
    FILE *file[2] = { fopen(a, "rb"), fopen(b, "rb") };
    char bytes[2][4096];
    bool same = file[0] && file[1];
    for (size_t n = 1; same && n > 0;) {
        n = read_part(file[0], bytes[0]);
        same = read_part(file[1], bytes[1]) == n && memcmp(bytes[0], bytes[1], n) == 0;
    }
    for (int i = 0; i < 2; i++)
        if (file[i])
            fclose(file[i]);
    return same;
}

/* Empties a folder; true if it had no unfinished file in it. */
static bool empty_folder(const char *path)
{
    bool finished = true;
    DIR *d = opendir(path);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        char inside[2 * FUZZ_PATH];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        finished = finished && !strstr(entry->d_name, ".tmp");
        if (unlink(inside) != 0) {
            finished = empty_folder(inside) && finished;
            rmdir(inside);
        }
    }
    if (d)
        closedir(d);
    return finished;
}

static void remove_ours(void)
{
    empty_folder(folder);
    rmdir(folder);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

bool fuzz_refused(const char *sentence)
{
    fuzz_check(sentence && sentence[0]);
    snprintf(refusal, sizeof refusal, "%s", sentence);
    return false;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = hs_alloc(size + 1);
    fuzz_check(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

bool fuzz_same_numbers(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && (a[i] == a[i] || b[i] == b[i]))
            return false;
    return true;
}

bool fuzz_affordable(const char *text)
{
    enum { MOST = 16 };
    static const char digits[] = "0123456789";
    if (strchr(text, '/'))
        return false;
    for (text = strpbrk(text, digits); text; text = strpbrk(text + strspn(text, digits), digits))
        if (strtoull(text, NULL, 10) > MOST)
            return false;
    return true;
}

unsigned fuzz_take_u16(const uint8_t **data, size_t *size)
{
    unsigned value = 0;
    for (unsigned shift = 0; shift < 16 && *size > 0; shift += 8, (*data)++, (*size)--)
        value |= (unsigned)**data << shift;
    return value;
}

/* ---- libFuzzer ------------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    static const hs_allocator allocator = { allocate, release, NULL };
    const char *above = getenv("TMPDIR");
    hs_set_allocator(&allocator);
    snprintf(folder, sizeof folder, "%s/hastings-fuzz-XXXXXX",
             above                           ? above
             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                             : "/tmp");
    fuzz_check(mkdtemp(folder));
    atexit(remove_ours);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const long before = living;
    fuzz_accepted = fuzz_one(data, size);
    const long lost = living - before;
    fuzz_check(lost == 0);
    fuzz_check(empty_folder(folder));
    return 0;
}
