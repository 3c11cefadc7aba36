/**
 * Files that appear as a whole: the one place where Hastings writes files.
 *
 *     hs_file f;
 *     hs_file_create(&f, "table.txt", &message);
 *     hs_file_print(&f, "%d rows\n", rows);
 *     hs_file_put(&f, bytes, count);
 *     if (hs_file_commit(&f) != HS_OK)
 *         fprintf(stderr, "%s\n", message.text);
 *
 * The bytes go to a temporary file beside the target. hs_file_commit() brings them to disk, renames
 * the file, and brings its folder to disk. At any time, even after a crash or on a full disk, the
 * path holds the old file or the new one. After a failure the temporary file is removed, and the
 * message says what failed and where.
 *
 * The first error sticks, and later calls do nothing, so that callers check once, at the end.
 */
#ifndef HASTINGS_TENSOR_FILE_H
#define HASTINGS_TENSOR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hastings/tensor/message.h>

/** A file that is being written. Callers read these fields, and may set `keep`. */
typedef struct {
    char *
        path; /**< where the file will appear; a copy of the caller's text, or NULL without memory */
    hs_message *message; /**< where the first error is described; may be NULL */
    hs_status status;    /**< the first error, or HS_OK */
    uint64_t length;     /**< bytes put so far */
    bool keep;       /**< leave the temporary file after a failure: its bytes are worth something */
    int fd;          /**< of the temporary file; -1: none */
    char *temporary; /**< name of the temporary file */
    char *buffer;    /**< bytes that are not written yet; one block with both names */
    size_t used;     /**< bytes in the buffer */
} hs_file;

/** Creates the temporary file. HS_EIO if the folder does not allow it, or if `path` exists and is not
 *  a regular file; HS_ENOMEM. Every created file ends with hs_file_commit() or hs_file_discard(),
 *  also after an error. */
HS_API void hs_file_create(hs_file *file, const char *path, hs_message *message);

HS_API void hs_file_put(hs_file *file, const void *bytes, size_t n); /**< appends `n` bytes */

/** Appends text in the manner of printf. */
HS_API void hs_file_print(hs_file *file, const char *format, ...) HS_PRINTF(2, 3);

/** Hands the buffer to the system, so that other programs see all bytes in the temporary file. */
HS_API void hs_file_flush(hs_file *file);

/** Bytes that the system has taken; the rest is in the buffer. */
HS_API uint64_t hs_file_written(const hs_file *file);

/** Replaces `n` bytes at `offset`, all of which the system has taken. */
HS_API void hs_file_replace(hs_file *file, uint64_t offset, const void *bytes, size_t n);

/** Forgets an error, and cuts the file after its first `length` bytes, which the system has taken:
 *  hs_file_commit() then saves these. */
HS_API void hs_file_cut(hs_file *file, uint64_t length);

/** Puts the file in its place and frees everything; after an error, removes it. Returns the first
 *  error. */
HS_API hs_status hs_file_commit(hs_file *file) HS_MUST_CHECK;

HS_API void hs_file_discard(hs_file *file); /**< removes the temporary file and frees everything */

/** Whether a name, without folders, is one that hs_file_create() gives to temporary files: NAME.PID-N.tmp. A process that
 *  is killed leaves such a file behind. */
HS_API bool hs_file_is_temporary(const char *name);

/** Writes a whole file of `n` bytes. `message` may be NULL. */
HS_API hs_status hs_file_save(const char *path, const void *bytes, size_t n,
                              hs_message *message) HS_MUST_CHECK;

/** Makes a folder, and those above it, and brings their names to disk. HS_OK also if it is there already; HS_EINVAL for
 *  a name that is empty or too long; HS_EIO. `message` may be NULL. */
HS_API hs_status hs_folder_make(const char *path, hs_message *message) HS_MUST_CHECK;

#endif
