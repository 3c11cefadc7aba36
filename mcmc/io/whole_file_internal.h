/* Files that appear as a whole: written under another name beside their own, and renamed when all is
 * on disk. The first error sticks, so that callers check once, at the end:
 *
 *     whole_file f;
 *     hs__whole_create(&f, path, message);
 *     hs__whole_put(&f, bytes, n);
 *     return hs__whole_commit(&f);
 */
#ifndef HASTINGS_MCMC_IO_WHOLE_FILE_INTERNAL_H
#define HASTINGS_MCMC_IO_WHOLE_FILE_INTERNAL_H

#include <stddef.h>

#include <hastings/nn/file.h>

enum { WHOLE_BUFFER = 1 << 16 };

typedef struct {
    const char *path;
    hs_message *message;
    hs_status status;
    int fd;
    char *temporary; /* its name, and the buffer after it: one block */
    char *buffer;
    size_t used;
} whole_file;

void hs__whole_create(whole_file *f, const char *path, hs_message *message);
void hs__whole_put(whole_file *f, const void *bytes, size_t n);

/* Formatted text, of at most 1000 bytes. */
void hs__whole_print(whole_file *f, const char *format, ...) HS_PRINTF(2, 3);

/* Puts the file in its place; or, after an error, removes it. Frees everything. */
hs_status hs__whole_commit(whole_file *f);

#endif
