/**
 * Draws of several chains: in memory, as a .npy file, or streamed to one.
 *
 *     hs_chains *c;
 *     hs_message message;
 *     if (hs_chains_new(&c, 4, 1000, 2, HS_KEEP_ALPHA | HS_KEEP_ACCEPTED, &message))
 *         fprintf(stderr, "%s\n", message.text);
 *     double *draw = hs_chains_draw(c, chain, n);              // [dim]
 *     ...
 *     if (hs_chains_save(c, "draws.npy", &message))            // shape (4, 1000, 2) to NumPy
 *         fprintf(stderr, "%s\n", message.text);
 *     hs_chains_free(c);
 *
 * Long runs need not fit in memory. A writer takes one step of all chains at a time:
 *
 *     hs_draws_writer *w;
 *     if (hs_draws_open(&w, "draws.npy", 4, 2, &message))
 *         ...
 *     while (running && hs_draws_append(w, state, &message) == HS_OK)   // state[4][2]
 *         ...
 *     if (hs_draws_close(w, &message))                         // shape (steps, 4, 2)
 *         fprintf(stderr, "%s\n", message.text);
 *
 * Both write under another name beside `path` (path.<process>-<n>.tmp) and rename when all is on
 * disk, so that `path` holds the old file or the new one. Closing a writer early, say after Ctrl-C,
 * stores the true count of steps. The header is kept up to date while a run goes on: if the program
 * is killed, the .tmp file can be read up to the last steps that reached the disk.
 *
 * Files are NumPy's format, version 1.0, little-endian 64-bit floats in C order. Reading takes
 * versions 1 to 3, and checks everything before it believes it.
 *
 * A chains object is a plain struct, which may be filled by hand; it belongs to whoever made it. A
 * writer belongs to one thread.
 */
#ifndef HASTINGS_MCMC_CHAINS_H
#define HASTINGS_MCMC_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hastings/nn/file.h>
#include <hastings/tensor/status.h>

typedef struct {
    size_t chains, draws, dim;
    double *x;               /**< [chains][draws][dim]: the state after each transition */
    double *log_pi;          /**< [chains][draws]: log density there; or NULL, as those below */
    double *alpha;           /**< [chains][draws]: acceptance probability of the transition */
    double *jump;            /**< [chains][draws]: alpha |y - x|^2 of the transition, over the
                                  original coordinates */
    unsigned char *accepted; /**< [chains][draws]: 1 if the proposal was taken */
    uint64_t proposals;      /**< made in all chains while drawing; 0: chains * draws */
    uint64_t gradients;      /**< of log pi evaluated; 0: none, or not counted */
    uint64_t nonfinite;      /**< proposals rejected since their log density was not finite */
    double seconds;          /**< that drawing took; 0: not measured */
} hs_chains;

/** Which of the arrays that may be NULL are wanted. */
enum {
    HS_KEEP_LOG_PI = 1,
    HS_KEEP_ALPHA = 2,
    HS_KEEP_JUMP = 4,
    HS_KEEP_ACCEPTED = 8,
    HS_KEEP_ALL = 15,
};

/** Makes chains with all numbers zero. HS_EOVERFLOW or HS_ENOMEM if they are too large; HS_EINVAL
 *  for none at all. `*chains` is NULL after a failure; `message` may be NULL. */
HS_API hs_status hs_chains_new(hs_chains **chains, size_t count, size_t draws, size_t dim,
                               unsigned keep, hs_message *message) HS_MUST_CHECK;

/** Frees chains and their arrays; NULL is allowed. */
HS_API void hs_chains_free(hs_chains *chains);

/** Draw n of chain m, dim numbers. */
static inline double *hs_chains_draw(const hs_chains *chains, size_t m, size_t n)
{
    return chains->x + (m * chains->draws + n) * chains->dim;
}

/** Saves x, shape (chains, draws, dim). HS_EIO if the file cannot be written. */
HS_API hs_status hs_chains_save(const hs_chains *chains, const char *path,
                                hs_message *message) HS_MUST_CHECK;

/** Which axis of a file comes first. */
typedef enum {
    HS_CHAIN_FIRST, /**< (chains, draws, dim), as hs_chains_save() and ArviZ have it */
    HS_DRAW_FIRST,  /**< (draws, chains, dim), as hs_draws_open() writes it */
} hs_draws_order;

/** Loads draws; the optional arrays are NULL. HS_EIO if the file cannot be read, HS_EFORMAT if it
 * is damaged or no .npy file, HS_EDTYPE if its numbers are not 64-bit floats, HS_ESHAPE if they are
 *  not an array of three axes in C order, HS_ENOMEM. What follows the array is ignored, as in
 * NumPy: a run that was killed may leave part of a step. */
HS_API hs_status hs_chains_load(hs_chains **chains, const char *path, hs_draws_order order,
                                hs_message *message) HS_MUST_CHECK;

/** A file of draws that is being written, in constant memory. */
typedef struct hs_draws_writer hs_draws_writer;

/** Opens a writer for steps of [chains][dim] numbers; `*writer` is NULL after a failure. */
HS_API hs_status hs_draws_open(hs_draws_writer **writer, const char *path, size_t chains,
                               size_t dim, hs_message *message) HS_MUST_CHECK;

/** Appends one step. An error, such as a full disk, sticks: later steps are refused with it. */
HS_API hs_status hs_draws_append(hs_draws_writer *writer, const double *step,
                                 hs_message *message) HS_MUST_CHECK;

/** Steps appended so far. */
HS_API uint64_t hs_draws_count(const hs_draws_writer *writer);

/** Puts the file in its place, and frees the writer; NULL is allowed. After a failed append the
 *  steps that are on disk as a whole are kept, and the first error is returned again. */
HS_API hs_status hs_draws_close(hs_draws_writer *writer, hs_message *message) HS_MUST_CHECK;

/** Removes what was written, and frees the writer; NULL is allowed. */
HS_API void hs_draws_discard(hs_draws_writer *writer);

#endif
